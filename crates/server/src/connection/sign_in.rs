//! Accepts Kerberos tickets: the tokens of a login go to the program that checks them.

use std::ffi::OsStr;
use std::time::Duration;

use sign_in::{Dialogue, Role, SignInError, Step, encoded};
use tds::conversation::server::{Conversation, Event};
use tds::packet::PACKET_SIZE_INITIAL_BYTES;
use tds::token::Token;
use tds::version::TdsVersion;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::connection::ConnectionError;
use crate::connection::packet_reader::PacketReader;
use crate::connection::response_writer::ResponseWriter;
use crate::options::Kerberos;
use crate::transport::Transport;

/// Sign-ins at one time: each is a process. Further ones wait.
static ROOM: Semaphore = Semaphore::const_new(32);

/// The outcome of a sign-in.
pub(super) enum Outcome {
    /// The client is this principal; the token, which may be empty, goes before the answer to the login.
    Known { principal: String, token: Vec<u8> },
    /// Nobody knows who the client is.
    Unknown(SignInError),
    /// The client left.
    Left,
}

/// Has the client's tokens checked, of which this is the first.
pub(super) async fn accept(
    transport: &mut Transport,
    mut conversation: Conversation,
    mut token: Vec<u8>,
    settings: &Kerberos,
    binding: Option<Vec<u8>>,
    limit: Duration,
    (version, spid): (TdsVersion, u16),
) -> Result<(Conversation, Outcome), ConnectionError> {
    let _room = ROOM.acquire().await.map_err(|error| ConnectionError::Lost(error.to_string()))?;
    let settings = settings.clone();
    let begun = spawn_blocking(move || begin(&settings, binding.as_deref(), limit));
    let mut dialogue = match begun.await.map_err(|error| ConnectionError::Lost(error.to_string()))? {
        Ok(dialogue) => dialogue,
        Err(error) => return Ok((conversation, Outcome::Unknown(error))),
    };
    loop {
        let stepped = spawn_blocking(move || {
            let step = dialogue.step(&token, Some(limit));
            (dialogue, step)
        });
        let (same, step) = stepped.await.map_err(|error| ConnectionError::Lost(error.to_string()))?;
        dialogue = same;
        match step {
            Ok(Step { token, done: true, principal: Some(principal) }) => {
                return Ok((conversation, Outcome::Known { principal, token }));
            }
            Ok(Step { token: reply, done: false, .. }) => {
                let mut writer = ResponseWriter::new(&mut *transport, PACKET_SIZE_INITIAL_BYTES, spid);
                writer.tokens(|w| Token::Sspi(reply).encode(w, version))?;
                writer.finish().await?;
            }
            Ok(_) => {
                let error = SignInError::Broken("it knows no principal".to_owned());
                return Ok((conversation, Outcome::Unknown(error)));
            }
            Err(error) => return Ok((conversation, Outcome::Unknown(error))),
        }
        conversation.sign_in_continues();
        let mut reader = PacketReader::new(&mut *transport, conversation);
        let event = reader.event().await?.map(|(event, _)| event);
        (_, conversation) = reader.into_parts();
        match event {
            Some(Event::SignIn(next)) => token = next,
            Some(event) => return Err(ConnectionError::Unexpected(format!("{event:?}").into())),
            None => return Ok((conversation, Outcome::Left)),
        }
    }
}

/// Starts the program, which says at once whether it has keys. `binding` is what the TLS session is known by.
pub(crate) fn begin(
    settings: &Kerberos,
    binding: Option<&[u8]>,
    limit: Duration,
) -> Result<Dialogue, SignInError> {
    let role = Role::Accept { service: settings.service.clone(), binding: binding.map(encoded) };
    let environment: [(&str, &OsStr); 1] = [("KRB5_KTNAME", settings.keytab.as_os_str())];
    let mut dialogue = Dialogue::start(sign_in::program(), role, environment)?;
    dialogue.first(Some(limit))?;
    Ok(dialogue)
}
