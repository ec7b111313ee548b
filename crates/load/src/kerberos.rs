//! Signs in with a Kerberos ticket: which service is asked for, and the tokens of the login.

use std::{iter, time::Duration};

use sign_in::{Dialogue, Role, SignInError, Step, encoded};

use crate::platform;

/// The class of SQL Server's service principal names.
const SERVICE_CLASS: &str = "MSSQLSvc";

/// Begins a sign-in to the service of `host` and `port`, or to the one of that name. Returns the first token too. `binding` is
/// what the TLS session is known by.
pub(crate) fn begin(
    (host, port): (&str, u16),
    (spn, principal): (Option<&str>, Option<&str>),
    binding: Option<&[u8]>,
    limit: Option<Duration>,
) -> Result<(Dialogue, Vec<u8>), SignInError> {
    let role = Role::Initiate {
        service: spn.map_or_else(|| service(host, port), str::to_owned),
        given: spn.is_some(),
        principal: principal.map(str::to_owned),
        binding: binding.map(encoded),
    };
    let mut dialogue = Dialogue::start(sign_in::program(), role, iter::empty())?;
    let Step { token, .. } = dialogue.first(limit)?;
    Ok((dialogue, token))
}

/// Names the service of a server: always with its port, which SQL Server registers for named instances too. The
/// Kerberos library makes the host's name canonical, as krb5.conf says. No service is registered for `localhost`, which
/// becomes this machine's name.
fn service(host: &str, port: u16) -> String {
    let host = match host.eq_ignore_ascii_case("localhost") {
        true => platform::machine_name(),
        false => host.to_owned(),
    };
    format!("{SERVICE_CLASS}@{host}:{port}")
}
