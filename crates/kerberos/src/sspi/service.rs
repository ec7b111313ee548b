//! The name of the service whose ticket is asked for.

use std::net::IpAddr;

use dns_lookup::{AddrInfoHints, getaddrinfo};

/// Flag of `getaddrinfo` (ws2tcpip.h): completes a name by the search list of the machine.
const AI_FQDN: i32 = 0x0002_0000;
/// Flag of `getaddrinfo` (ws2tcpip.h): replaces an alias by the canonical name.
const AI_CANONNAME: i32 = 0x0000_0002;

/// Returns the principal of `CLASS@host:port`. Servers register themselves with their full name, which
/// Windows does not complete in a ticket's request.
pub(crate) fn service_name(service: &str) -> String {
    let (class, place) = service.split_once('@').unwrap_or(("", service));
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, format!(":{port}")),
        None => (place, String::new()),
    };
    format!("{class}/{}{port}", full_name(host).as_deref().unwrap_or(host))
}

/// Returns the host's full name, if the system knows it. An address has none.
fn full_name(host: &str) -> Option<String> {
    if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
        return None;
    }
    [AI_FQDN, AI_CANONNAME].into_iter().find_map(|flags| {
        let hints = AddrInfoHints { flags, ..AddrInfoHints::default() };
        let found = getaddrinfo(Some(host), None, Some(hints)).ok()?;
        let name = found.flatten().find_map(|found| found.canonname)?;
        Some(name.trim_end_matches('.').to_owned()).filter(|name| name.contains('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_its_class_and_its_port() {
        assert_eq!(service_name("MSSQLSvc@127.0.0.1:1433"), "MSSQLSvc/127.0.0.1:1433");
        // No such host: the name stays as it is.
        assert_eq!(service_name("MSSQLSvc@db.invalid:50000"), "MSSQLSvc/db.invalid:50000");
    }
}
