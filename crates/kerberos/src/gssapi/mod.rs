//! The ends of a sign-in by the system's GSSAPI: Linux and macOS.

mod acceptor;
mod explanation;
mod initiator;

use sign_in::Role;

use crate::End;
use acceptor::Acceptor;
use initiator::Initiator;

pub(crate) fn begin(role: Role) -> Result<Box<dyn End>, String> {
    match role {
        Role::Initiate { service, given, principal } => {
            Ok(Box::new(Initiator::new(&service, given, principal.as_deref())?))
        }
        Role::Accept { service } => Ok(Box::new(Acceptor::new(service.as_deref())?)),
    }
}
