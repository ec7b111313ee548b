//! The server's end.

use libgssapi::context::{SecurityContext, ServerCtx};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_KRB5_PRINCIPAL, OidSet};
use sign_in::{Reply, encoded};

use super::explanation::Situation;
use crate::end::End;

/// Accepts tokens of Kerberos, bare or inside SPNEGO, with the keys of the keytab that `KRB5_KTNAME` names.
pub(crate) struct Acceptor {
    context: ServerCtx,
    binding: Option<Vec<u8>>,
    situation: Situation,
}

impl Acceptor {
    pub(crate) fn new(service: Option<&str>, binding: Option<Vec<u8>>) -> Result<Self, String> {
        let situation = Situation::server(service);
        let explain = |error| situation.explain(&error);
        let name = service
            .map(|service| Name::new(service.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL)))
            .transpose()
            .map_err(explain)?;
        // Nothing else is accepted, NTLM least of all.
        let mut mechanisms = OidSet::new();
        for mechanism in [GSS_MECH_KRB5, GSS_MECH_SPNEGO] {
            mechanisms.add(mechanism).map_err(explain)?;
        }
        let keys =
            Cred::acquire(name.as_ref(), None, CredUsage::Accept, Some(&mechanisms)).map_err(explain)?;
        Ok(Self { context: ServerCtx::new(Some(keys)), binding, situation })
    }
}

impl End for Acceptor {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String> {
        let explain = |error| self.situation.explain(&error);
        let token = self.context.step(token.unwrap_or_default(), self.binding.as_deref()).map_err(explain)?;
        let done = self.context.is_complete();
        let principal = match done {
            true => {
                let name = self.context.source_name().map_err(explain)?;
                Some(String::from_utf8_lossy(&name.display_name().map_err(explain)?).into_owned())
            }
            false => None,
        };
        Ok(Reply { token: token.map(|token| encoded(&token)), done, principal, error: None })
    }
}
