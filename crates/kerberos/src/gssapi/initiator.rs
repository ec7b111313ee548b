//! The client's end.

use sign_in::{Reply, encoded};

use super::explanation::Situation;
use super::interface::{HOST_BASED_SERVICE, INITIATE, KERBEROS, KERBEROS_PRINCIPAL};
use super::library::{Context, Credential, Error, Library, Name};
use crate::end::End;

/// A sign-in with a ticket of the credential cache, or with one that a client keytab gets.
pub(crate) struct Initiator {
    context: Context,
    target: Name,
    binding: Option<Vec<u8>>,
    situation: Situation,
}

impl Initiator {
    pub(crate) fn new(
        library: &'static Library,
        service: &str,
        given: bool,
        principal: Option<&str>,
        binding: Option<Vec<u8>>,
    ) -> Result<Self, String> {
        let mut situation = Situation::client(service, principal);
        let target = target_of(library, service, given).map_err(|error| situation.explain(&error))?;
        // The name as it is asked for: the library has completed the host, and perhaps the realm.
        let asked = target.text().map_err(|error| situation.explain(&error))?;
        situation.service = asked.trim_end_matches('@').to_owned();
        let ticket = ticket_of(library, principal).map_err(|error| situation.explain(&error))?;
        Ok(Self { context: Context::new(ticket), target, binding, situation })
    }
}

impl End for Initiator {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String> {
        let stepped = self.context.initiate(&self.target, token, self.binding.as_deref());
        let token = stepped.map_err(|error| self.situation.explain(&error))?;
        let done = self.context.is_done();
        if done && !self.context.is_mutual() {
            return Err("the server did not prove who it is".to_owned());
        }
        Ok(Reply { token: token.map(|token| encoded(&token)), done, ..Reply::default() })
    }
}

fn target_of(library: &'static Library, service: &str, given: bool) -> Result<Name, Error> {
    let kind = if given { KERBEROS_PRINCIPAL } else { HOST_BASED_SERVICE };
    Name::new(library, service, kind)?.canonical(KERBEROS)
}

/// Finds the ticket of `principal`, or the one that is there.
fn ticket_of(library: &'static Library, principal: Option<&str>) -> Result<Credential, Error> {
    let own = principal.map(|principal| Name::new(library, principal, KERBEROS_PRINCIPAL)).transpose()?;
    Credential::acquire(library, own.as_ref(), INITIATE)
}
