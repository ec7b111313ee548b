//! SSPI's errors in words that say what helps.

/// A code of SSPI (winerror.h), a part of its English text, and what helps: the library passes on a code, or the text in the
/// system's language.
const HINTS: &[(&str, &str, Hint)] = &[
    ("0x80090303", "target is unknown or unreachable", Hint::Service),
    ("0x80090322", "target principal name is incorrect", Hint::Service),
    ("0x8009030e", "credentials are available", Hint::Ticket),
    ("0x8009030c", "logon attempt failed", Hint::Ticket),
    ("0x8009030d", "credentials supplied to the package were not recognized", Hint::Ticket),
    ("0x80090311", "authority could be contacted", Hint::Domain),
    ("0x80090324", "clocks on the client and server", Hint::Clocks),
];

#[derive(Clone, Copy)]
enum Hint {
    Service,
    Ticket,
    Domain,
    Clocks,
}

/// Describes the error, and the remedy if one is known.
pub(crate) fn explain(said: &str, service: &str, principal: Option<&str>) -> String {
    let said = said.trim().replace(['\r', '\n'], " ");
    let lower = said.to_ascii_lowercase();
    let hint = HINTS.iter().find(|(code, text, _)| lower.contains(code) || said.contains(text));
    let hint = match hint.map(|(_, _, hint)| *hint) {
        None => return format!("Kerberos: no sign-in to {service} ({said})"),
        Some(Hint::Service) => format!(
            "the domain does not know the service {service}, or the server has no key of it: the server's SPN is another one, see \
             `setspn -L`, and ServerSPN=MSSQLSvc/host:port names it"
        ),
        Some(Hint::Ticket) => match principal {
            Some(user) => format!(
                "no ticket of {user}: Windows signs in as who is logged on; leave User ID away, or start the program by \
                 `runas /netonly /user:{user}`"
            ),
            None => "no ticket: log on to the domain, or start the program by `runas /netonly /user:DOMAIN\\name`; `klist` shows \
                     the tickets"
                .to_owned(),
        },
        Some(Hint::Domain) => {
            "no domain controller answers: is this machine in the domain, and its network (VPN) there?".to_owned()
        }
        Some(Hint::Clocks) => {
            "the clocks of this machine and of the domain or server differ too much: set them".to_owned()
        }
    };
    format!("Kerberos: {hint} ({said})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_helps() {
        for (said, expected) in [
            ("acquiring credentials: Keine Anmeldeinformationen (0x8009030E)", "log on to the domain"),
            ("ClientCtx::step failed The specified target is unknown or unreachable\r\n", "`setspn -L`"),
            ("ClientCtx::step failed The clocks on the client and server machines are skewed.", "set them"),
            (
                "ClientCtx::step failed Something new",
                "no sign-in to MSSQLSvc/db:1433 (ClientCtx::step failed Something new)",
            ),
        ] {
            let explained = explain(said, "MSSQLSvc/db:1433", None);
            assert!(explained.starts_with("Kerberos: ") && explained.contains(expected), "{explained}");
        }
        let named = explain("acquiring credentials (0x8009030E)", "MSSQLSvc/db:1433", Some("ann@X"));
        assert!(named.contains("runas /netonly /user:ann@X"), "{named}");
    }
}
