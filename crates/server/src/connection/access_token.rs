//! Accepts access tokens of Microsoft Entra: asks for one where the client has none yet, and checks it.

use std::time::SystemTime;

use entra::{TokenError, Verifier};
use tds::conversation::server::{Conversation, Event};
use tds::fed_auth::{FedAuthInfo, FedAuthRequest};
use tds::packet::PACKET_SIZE_INITIAL_BYTES;
use tds::token::Token;
use tds::version::TdsVersion;

use crate::connection::ConnectionError;
use crate::connection::packet_reader::PacketReader;
use crate::connection::response_writer::ResponseWriter;
use crate::options::Entra;
use crate::transport::Transport;

/// The outcome of a sign-in.
pub(super) enum Outcome {
    /// The token names this user or application.
    Known(String),
    /// The token says nothing that is believed, for this reason.
    Unknown(String),
    /// The client left.
    Left,
}

/// Checks the token of a login, or the one that follows it.
pub(super) async fn accept(
    transport: &mut Transport,
    mut conversation: Conversation,
    request: &FedAuthRequest,
    login_was_encrypted: bool,
    (settings, verifier): (&Entra, &Verifier),
    (version, spid): (TdsVersion, u16),
) -> Result<(Conversation, Outcome), ConnectionError> {
    let unknown = |reason: &str| Outcome::Unknown(reason.to_owned());
    match request {
        FedAuthRequest::SecurityToken { token, .. } if login_was_encrypted => {
            Ok((conversation, checked(verifier, token.expose())))
        }
        FedAuthRequest::Adal { .. } if transport.is_encrypted() => {
            let info = FedAuthInfo {
                sts_url: Some(settings.sign_in_url.clone().unwrap_or_else(|| settings.issuer.clone())),
                service_principal: settings.audiences.first().cloned(),
                other: Vec::new(),
            };
            let mut writer = ResponseWriter::new(&mut *transport, PACKET_SIZE_INITIAL_BYTES, spid);
            writer.tokens(|w| Token::FedAuthInfo(info).encode(w, version))?;
            writer.finish().await?;
            conversation.access_token_asked();
            let mut reader = PacketReader::new(&mut *transport, conversation);
            let event = reader.event().await?.map(|(event, _)| event);
            (_, conversation) = reader.into_parts();
            match event {
                Some(Event::AccessToken(message)) => {
                    Ok((conversation, checked(verifier, message.token.expose())))
                }
                Some(_) => Err(ConnectionError::Unexpected("something else than an access token".into())),
                None => Ok((conversation, Outcome::Left)),
            }
        }
        FedAuthRequest::Other { .. } => {
            Ok((conversation, unknown("the client signs in with an unknown library")))
        }
        _ => Ok((conversation, unknown("an access token is not taken in the clear"))),
    }
}

/// Tokens travel as UTF-16.
fn checked(verifier: &Verifier, token: &[u8]) -> Outcome {
    let (units, rest) = token.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let text = String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or(TokenError::Form);
    match text.and_then(|text| verifier.principal(&text, SystemTime::now())) {
        Ok(name) => Outcome::Known(name),
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}
