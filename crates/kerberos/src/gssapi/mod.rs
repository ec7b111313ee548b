//! The ends of a sign-in by the system's GSSAPI: Linux and macOS.

mod acceptor;
mod explanation;
mod initiator;
mod interface;
mod library;

use sign_in::Role;

use crate::end::{End, bytes_of};
use acceptor::Acceptor;
use initiator::Initiator;
use library::Library;

pub(crate) fn begin(role: Role) -> Result<Box<dyn End>, String> {
    let library = Library::open().map_err(missing)?;
    match role {
        Role::Initiate { service, given, principal, binding } => {
            let binding = bytes_of(binding)?;
            Ok(Box::new(Initiator::new(library, &service, given, principal.as_deref(), binding)?))
        }
        Role::Accept { service, binding } => {
            Ok(Box::new(Acceptor::new(library, service.as_deref(), bytes_of(binding)?)?))
        }
    }
}

/// Says what to install.
fn missing(said: String) -> String {
    format!(
        "Kerberos needs the system's GSSAPI library: install libgssapi-krb5-2 on Debian and Ubuntu, krb5-libs on Fedora and Red Hat \
         ({said})"
    )
}
