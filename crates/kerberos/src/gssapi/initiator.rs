//! The client's end.

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::name::Name;
use libgssapi::oid::{
    GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_HOSTBASED_SERVICE, GSS_NT_KRB5_PRINCIPAL, OidSet,
};
use sign_in::{Reply, encoded};

use super::explanation::Situation;
use crate::end::End;

/// A sign-in with a ticket of the credential cache, or with one that a client keytab gets.
pub(crate) struct Initiator {
    context: ClientCtx,
    binding: Option<Vec<u8>>,
    situation: Situation,
}

impl Initiator {
    pub(crate) fn new(
        service: &str,
        given: bool,
        principal: Option<&str>,
        binding: Option<Vec<u8>>,
    ) -> Result<Self, String> {
        let mut situation = Situation::client(service, principal);
        let kind = if given { GSS_NT_KRB5_PRINCIPAL } else { GSS_NT_HOSTBASED_SERVICE };
        let target = Name::new(service.as_bytes(), Some(kind))
            .and_then(|name| name.canonicalize(Some(GSS_MECH_KRB5)))
            .map_err(|error| situation.explain(&error))?;
        // The name as it is asked for: the library has completed the host, and perhaps the realm.
        situation.service = target.to_string().trim_end_matches('@').to_owned();
        let own = principal
            .map(|principal| Name::new(principal.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL)))
            .transpose()
            .map_err(|error| situation.explain(&error))?;
        let mut mechanisms = OidSet::new();
        for mechanism in [GSS_MECH_KRB5, GSS_MECH_SPNEGO] {
            mechanisms.add(mechanism).map_err(|error| situation.explain(&error))?;
        }
        let ticket = Cred::acquire(own.as_ref(), None, CredUsage::Initiate, Some(&mechanisms))
            .map_err(|error| situation.explain(&error))?;
        // Without delegation: a server gets no ticket to act in the user's name.
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_INTEG_FLAG;
        // SPNEGO is what SQL Server's own clients send.
        let context = ClientCtx::new(Some(ticket), target, flags, Some(GSS_MECH_SPNEGO));
        Ok(Self { context, binding, situation })
    }
}

impl End for Initiator {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Reply, String> {
        let stepped = self.context.step(token, self.binding.as_deref());
        let token = stepped.map_err(|error| self.situation.explain(&error))?;
        let done = self.context.is_complete();
        if done && !self.context.flags().is_ok_and(|flags| flags.contains(CtxFlags::GSS_C_MUTUAL_FLAG)) {
            return Err("the server did not prove who it is".to_owned());
        }
        Ok(Reply { token: token.map(|token| encoded(&token)), done, ..Reply::default() })
    }
}
