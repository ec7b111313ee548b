//! The server's end.

use sign_in::{Reply, encoded};

use super::explanation::Situation;
use super::interface::{ACCEPT, KERBEROS_PRINCIPAL};
use super::library::{Context, Credential, Library, Name};
use crate::end::End;

/// Accepts tokens of Kerberos, bare or inside SPNEGO, with the keys of the keytab that `KRB5_KTNAME` names.
pub(crate) struct Acceptor {
    context: Context,
    binding: Option<Vec<u8>>,
    situation: Situation,
}

impl Acceptor {
    pub(crate) fn new(
        library: &'static Library,
        service: Option<&str>,
        binding: Option<Vec<u8>>,
    ) -> Result<Self, String> {
        let situation = Situation::server(service);
        let name = service.map(|service| Name::new(library, service, KERBEROS_PRINCIPAL)).transpose();
        let name = name.map_err(|error| situation.explain(&error))?;
        let keys = Credential::acquire(library, name.as_ref(), ACCEPT);
        let keys = keys.map_err(|error| situation.explain(&error))?;
        Ok(Self { context: Context::new(keys), binding, situation })
    }
}

impl End for Acceptor {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String> {
        let accepted = self.context.accept(token.unwrap_or_default(), self.binding.as_deref());
        let (token, client) = accepted.map_err(|error| self.situation.explain(&error))?;
        let principal = client.map(|client| client.text()).transpose();
        let principal = principal.map_err(|error| self.situation.explain(&error))?;
        let done = self.context.is_done();
        Ok(Reply { token: token.map(|token| encoded(&token)), done, principal, error: None })
    }
}
