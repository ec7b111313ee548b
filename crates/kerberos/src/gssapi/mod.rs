//! The ends of a sign-in by the system's GSSAPI: Linux and macOS.

mod acceptor;
mod explanation;
mod initiator;

use sign_in::Role;

use crate::end::{End, bytes_of};
use acceptor::Acceptor;
use initiator::Initiator;

pub(crate) fn begin(role: Role) -> Result<Box<dyn End>, String> {
    match role {
        Role::Initiate { service, given, principal, binding } => {
            let binding = bytes_of(binding)?;
            Ok(Box::new(Initiator::new(&service, given, principal.as_deref(), binding)?))
        }
        Role::Accept { service, binding } => {
            Ok(Box::new(Acceptor::new(service.as_deref(), bytes_of(binding)?)?))
        }
    }
}
