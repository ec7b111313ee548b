//! GSSAPI's errors in words that say what helps.

use std::env;

use super::library::Error;

/// Sign-in that was being done: errors name it.
pub(crate) struct Situation {
    /// Principal of the service.
    pub service: String,
    principal: Option<String>,
    accepts: bool,
}

/// A text of the library's, and what helps then.
type Hint = (&'static str, fn(&Situation) -> String);

/// Hints for a client, in the order in which they are looked for: the library's texts repeat one another.
const CLIENT: &[Hint] = &[
    ("Clock skew too great", |_| {
        "the clocks of this machine and of the KDC or server differ too much: set them".to_owned()
    }),
    ("krbtgt/", |situation| {
        format!(
            "{} is in another realm, and the KDC has no way there: ServerSPN=MSSQLSvc/host:port@REALM names the right one",
            situation.service
        )
    }),
    ("ot found in Kerberos database", |situation| {
        format!(
            "the KDC does not know the service {0} (or the user): the server's SPN is another one, see `setspn -L`, and \
             ServerSPN=MSSQLSvc/host:port names it",
            situation.service
        )
    }),
    ("Cannot find KDC for realm", |_| {
        "the realm is not in krb5.conf ([realms], or dns_lookup_kdc), or it is the wrong one: ServerSPN=MSSQLSvc/host:port@REALM \
         names another"
            .to_owned()
    }),
    ("Cannot resolve", |_| "is the KDC in krb5.conf right, and DNS reachable?".to_owned()),
    ("Cannot contact any KDC", |_| "is the KDC reachable from here?".to_owned()),
    ("expired", |situation| format!("get a new ticket: {}", situation.kinit())),
    ("credential", |situation| format!("get a ticket: {}", situation.kinit())),
    ("an't find client principal", |situation| format!("get a ticket: {}", situation.kinit())),
    ("Matching", |situation| format!("get a ticket: {}", situation.kinit())),
    ("eytab", |_| "is the file in KRB5_CLIENT_KTNAME right?".to_owned()),
    ("Wrong principal", |situation| {
        format!("the server has no key of {}: ServerSPN=MSSQLSvc/host:port names its SPN", situation.service)
    }),
];

const SERVER: &[Hint] = &[
    ("channel bindings", |_| {
        "the client signed in to another TLS session than this one: something stands between that decrypts, or an attacker passes \
         its ticket on"
            .to_owned()
    }),
    ("Clock skew too great", |_| "the clocks of client and server differ too much: set them".to_owned()),
    ("Wrong principal", |_| {
        "the ticket is for another service: the client's SPN is no principal of the keytab".to_owned()
    }),
    ("not found in keytab", |_| {
        "the ticket is for a service or key that the keytab does not have: the client's SPN, or the key's number (kvno)".to_owned()
    }),
    ("eytab", |_| "is the file of --keytab there, readable, and has it the SPN?".to_owned()),
    ("ey table", |_| "is the file of --keytab there, readable, and has it the SPN?".to_owned()),
    ("mechanism", |_| "the client sent no Kerberos token: has it a ticket, or did it try NTLM?".to_owned()),
    ("token", |_| "the client sent no Kerberos token: has it a ticket, or did it try NTLM?".to_owned()),
];

impl Situation {
    pub(crate) fn client(service: &str, principal: Option<&str>) -> Self {
        Self { service: service.to_owned(), principal: principal.map(str::to_owned), accepts: false }
    }

    pub(crate) fn server(service: Option<&str>) -> Self {
        let service = service.unwrap_or("any service of the keytab").to_owned();
        Self { service, principal: None, accepts: true }
    }

    /// Describes the error, and the remedy if one is known.
    pub(crate) fn explain(&self, error: &Error) -> String {
        self.worded(&error.0)
    }

    fn worded(&self, said: &str) -> String {
        let said = said.trim().replace('\n', " ");
        // The mechanism's own words stand in brackets, behind those that all failures have.
        let own = said.split_once(" (").and_then(|(_, own)| own.strip_suffix(')'));
        let said = own.filter(|own| *own != "Unknown error").unwrap_or(&said);
        let hints = if self.accepts { SERVER } else { CLIENT };
        let hint = hints.iter().find(|(text, _)| said.contains(text)).map(|(_, hint)| hint(self));
        match (hint, self.accepts) {
            (Some(hint), _) => format!("Kerberos: {hint} ({said})"),
            (None, true) => format!("Kerberos: a client could not sign in to {} ({said})", self.service),
            (None, false) => format!("Kerberos: no sign-in to {} ({said})", self.service),
        }
    }

    /// Returns the command that gets a ticket.
    fn kinit(&self) -> String {
        let user = self.principal.clone().unwrap_or_else(|| "user@REALM".to_owned());
        match env::var_os("KRB5_CLIENT_KTNAME") {
            Some(_) => format!("`kinit {user}`; the keytab of KRB5_CLIENT_KTNAME gave none"),
            None => format!("`kinit {user}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_helps() {
        let client = Situation::client("MSSQLSvc/db:1433@X", Some("ann@X"));
        for (said, expected) in [
            ("No credentials were supplied (Ticket expired)", "get a new ticket: `kinit ann@X`"),
            ("No credentials (No Kerberos credentials available)", "get a ticket: `kinit ann@X`"),
            (
                "Unspecified (Server not found in Kerberos database)",
                "does not know the service MSSQLSvc/db:1433@X",
            ),
            ("Unspecified (Clock skew too great)", "clocks"),
            ("Unspecified (Server krbtgt/Y@X not found in Kerberos database)", "another realm"),
            ("Unspecified (Something (new))", "no sign-in to MSSQLSvc/db:1433@X (Something (new))"),
        ] {
            assert!(client.worded(said).contains(expected), "{}", client.worded(said));
        }
        let server = Situation::server(None);
        assert!(server.worded("A token was invalid").contains("NTLM"));
    }
}
