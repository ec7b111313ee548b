//! The client's end of a sign-in by the Windows package Kerberos (SSPI). A server's end needs keys of the machine's or the
//! service's account, and not a keytab: there is none here.

mod explanation;
mod initiator;
mod service;

use sign_in::Role;

use crate::end::{End, bytes_of};
use initiator::Initiator;

pub(crate) fn begin(role: Role) -> Result<Box<dyn End>, String> {
    match role {
        Role::Initiate { service, given, principal, binding } => {
            let binding = bytes_of(binding)?;
            Ok(Box::new(Initiator::new(&service, given, principal.as_deref(), binding.as_deref())?))
        }
        Role::Accept { .. } => {
            Err("a server takes Kerberos tickets on Linux and macOS only (--keytab)".to_owned())
        }
    }
}
