//! The lines that go to the program and come from it.

use serde::{Deserialize, Serialize};

/// The longest line that either side reads. A token is at most as long as a login, 128 KiB, and doubles as text.
pub const LINE_MAX_BYTES: u64 = 512 << 10;

/// The purpose of the process; its first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Role {
    /// Sign in to a server.
    Initiate {
        /// The service: `MSSQLSvc@host:port`, whose host name the library completes, or with `given` a principal as it is.
        service: String,
        /// True if `service` is a principal to be used unchanged.
        given: bool,
        /// The owner of the ticket, if not the default principal.
        principal: Option<String>,
        /// The channel binding, which ties the sign-in to its TLS session, in hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binding: Option<String>,
    },
    /// Accept a client's sign-in.
    Accept {
        /// The service's principal; any of the keytab if absent.
        service: Option<String>,
        /// The channel binding, which ties the sign-in to its TLS session, in hexadecimal digits. A client that
        /// sends another one is refused; one that sends none is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binding: Option<String>,
    },
}

/// A line to the program: first with a role, then with the other end's tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The purpose of the process, in the first line alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Role>,
    /// The other end's token in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A line from the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// A token for the other end in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// True if each end knows who the other is, as far as this end can tell.
    #[serde(default)]
    pub done: bool,
    /// The client's principal, when a sign-in was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The reason why there is no sign-in, with advice. Nothing follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Bytes as hexadecimal digits.
pub fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes hexadecimal digits.
pub fn decoded(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bytes_survive_as_digits_and_other_text_is_no_bytes() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decoded(&encoded(&bytes)), Some(bytes));
        assert_eq!(decoded(""), Some(Vec::new()));
        for text in ["0", "0g", "+1", "é", "é0", " 1"] {
            assert_eq!(decoded(text), None, "{text:?}");
        }
    }

    #[test]
    fn lines_hold_what_they_need_alone() {
        let service = "MSSQLSvc@db:1433".to_owned();
        let begin = Some(Role::Initiate { service, given: false, principal: None, binding: None });
        let line = serde_json::to_string(&Request { begin: begin.clone(), token: None }).unwrap();
        assert_eq!(
            line,
            r#"{"begin":{"role":"initiate","service":"MSSQLSvc@db:1433","given":false,"principal":null}}"#
        );
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap().begin, begin);
        assert_eq!(serde_json::to_string(&Reply::default()).unwrap(), r#"{"done":false}"#);
        assert_eq!(serde_json::from_str::<Reply>("{}").unwrap(), Reply::default());
    }
}
