//! A sign-in with the ticket of the user that is logged on.

use cross_krb5::{ClientCtx, InitiateFlags, PendingClientCtx, Step};
use sign_in::{Reply, encoded};

use super::explanation::explain;
use super::service::service_name;
use crate::end::End;

/// A sign-in in the name of the session's user, or of the account that a service runs as.
pub(crate) struct Initiator {
    service: String,
    /// The token that was made at once, until it is asked for.
    first: Option<Vec<u8>>,
    /// The context of the sign-in; None once it is complete or has failed.
    context: Option<PendingClientCtx>,
}

impl Initiator {
    pub(crate) fn new(
        service: &str,
        given: bool,
        principal: Option<&str>,
        binding: Option<&[u8]>,
    ) -> Result<Self, String> {
        let service = if given { service.to_owned() } else { service_name(service) };
        // The package Kerberos itself, and not Negotiate: that one would go on with NTLM where the service
        // has no ticket, and that would show only in the server's answer. The library requires that the
        // server proves who it is. TDS encrypts by TLS, so that nothing is asked for messages.
        let flags = InitiateFlags::DISABLE_CONFIDENTIALITY;
        let (context, token) = ClientCtx::new(flags, principal, &service, binding)
            .map_err(|error| explain(&format!("{error:#}"), &service, principal))?;
        let first = Some(token.to_vec());
        Ok(Self { service, first, context: Some(context) })
    }
}

impl End for Initiator {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String> {
        let Some(token) = token else {
            let token = self.first.take().map(|token| encoded(&token));
            return Ok(Reply { token, ..Reply::default() });
        };
        let context =
            self.context.take().ok_or("Kerberos: the sign-in is over, and the server sent one more token")?;
        let stepped =
            context.step(token).map_err(|error| explain(&format!("{error:#}"), &self.service, None))?;
        let (token, done) = match stepped {
            Step::Finished((_, token)) => (token.map(|token| encoded(&token)), true),
            Step::Continue((context, token)) => {
                self.context = Some(context);
                (Some(encoded(&token)), false)
            }
        };
        Ok(Reply { token, done, ..Reply::default() })
    }
}
