//! Errors as bcp shows them: an SQLSTATE of ODBC 2, a number, a text.

use std::fmt;

use load::Error;
use tds::ServerMessage;

/// Bytes of a text that are shown.
const TEXT_BYTES_MAX: usize = 512;

/// An error or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    state: &'static str,
    native: i32,
    text: String,
    is_server: bool,
    is_warning: bool,
}

impl Diagnostic {
    /// Makes an error that the client has found. `state` is of ODBC 2 or 3.
    pub fn client(state: &str, text: impl Into<String>) -> Self {
        Self { state: odbc_2(state), native: 0, text: text.into(), is_server: false, is_warning: false }
    }

    /// Makes a message of the server.
    pub fn server(message: &ServerMessage) -> Self {
        let is_warning = message.class <= INFORMATION_CLASS_MAX;
        let state = if is_warning { "01000" } else { state_of(message.number) };
        let text = message.message.trim_end().to_owned();
        Self { state, native: message.number, text, is_server: true, is_warning }
    }

    /// Makes a message of the server without a number.
    pub fn information(text: &str) -> Self {
        let text = text.trim_end().to_owned();
        Self { state: "01000", native: 0, text, is_server: true, is_warning: true }
    }

    /// Makes the diagnostics of an error: one for each of the server's messages, or one for an error of the client.
    pub fn all_of(error: &Error) -> Vec<Self> {
        match error {
            Error::Server(error) => error.messages().map(Self::server).collect(),
            Error::Login(login) => match &**login {
                load::LoginError::Refused(error) => error.messages().map(Self::server).collect(),
                other => vec![Self::client("08001", other.to_string())],
            },
            Error::Connect(_) | Error::Tls(_) => vec![Self::client("08001", error.to_string())],
            Error::Io { .. } | Error::Broken | Error::Protocol { .. } => {
                vec![Self::client("08S01", error.to_string())]
            }
            Error::TimedOut { .. } => vec![Self::client("S1T00", error.to_string())],
            Error::InDoubt { source, .. } => Self::all_of(source),
            Error::NoTable { table, .. } => vec![Self {
                state: "S0002",
                native: INVALID_OBJECT_NAME,
                text: format!("Invalid object name '{table}'."),
                is_server: true,
                is_warning: false,
            }],
            other => vec![Self::client("S1000", other.to_string())],
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_warning { "Warning" } else { "Error" };
        let origin = if self.is_server { "[SQL Server]" } else { "" };
        let end = self.text.floor_char_boundary(TEXT_BYTES_MAX);
        let text = self.text.get(..end).unwrap_or_default();
        write!(
            f,
            "SQLState = {}, NativeError = {}\n{kind} = [bulkwire]{origin}{text}",
            self.state, self.native
        )
    }
}

/// Messages up to this class are no errors.
const INFORMATION_CLASS_MAX: u8 = 10;
const INVALID_OBJECT_NAME: i32 = 208;

/// Converts a state of ODBC 3 to ODBC 2, for which bcp is written (ODBC, "SQLSTATE mappings").
fn odbc_2(state: &str) -> &'static str {
    const MAPPED: [(&str, &str); 8] = [
        ("HY000", "S1000"),
        ("HY001", "S1001"),
        ("HYT00", "S1T00"),
        ("22018", "22005"),
        ("22007", "22008"),
        ("42S02", "S0002"),
        ("42S22", "S0022"),
        ("07009", "S1002"),
    ];
    const KEPT: [&str; 9] = ["22001", "22003", "22005", "22008", "08001", "08S01", "28000", "23000", "S1T00"];
    let mapped = MAPPED.iter().find(|(from, _)| *from == state).map(|(_, to)| *to);
    mapped.or_else(|| KEPT.into_iter().find(|kept| *kept == state)).unwrap_or("S1000")
}

/// Returns the state that the ODBC driver gives an error of the server.
fn state_of(number: i32) -> &'static str {
    match number {
        515 | 547 | 2601 | 2627 => "23000",
        208 | 3701 | 4902 => "S0002",
        207 => "S0022",
        2714 => "S0001",
        18450..=18499 => "28000",
        1205 => "40001",
        220 | 232 | 8115 => "22003",
        241 | 242 | 517 => "22008",
        245 | 248 | 295 | 8114 => "22005",
        2628 | 8152 => "22001",
        8134 => "22012",
        _ => "37000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: i32, class: u8, text: &str) -> ServerMessage {
        ServerMessage {
            number,
            state: 1,
            class,
            message: text.to_owned(),
            server: String::new(),
            procedure: String::new(),
            line: 1,
        }
    }

    #[test]
    fn errors_and_warnings_take_two_lines() {
        let error = Diagnostic::server(&message(2627, 14, "Violation of PRIMARY KEY constraint 'k'."));
        assert_eq!(
            error.to_string(),
            "SQLState = 23000, NativeError = 2627\n\
             Error = [bulkwire][SQL Server]Violation of PRIMARY KEY constraint 'k'."
        );
        let warning = Diagnostic::server(&message(3621, 0, "The statement has been terminated."));
        assert_eq!(
            warning.to_string(),
            "SQLState = 01000, NativeError = 3621\n\
             Warning = [bulkwire][SQL Server]The statement has been terminated."
        );
    }

    #[test]
    fn states_are_those_of_odbc_2() {
        let text = Diagnostic::client("22018", "Invalid character value for cast specification").to_string();
        assert_eq!(
            text,
            "SQLState = 22005, NativeError = 0\nError = [bulkwire]Invalid character value for cast specification"
        );
        assert!(Diagnostic::client("HY000", "x").to_string().starts_with("SQLState = S1000,"));
    }

    #[test]
    fn texts_are_cut_at_512_bytes_and_never_inside_a_character() {
        let text = Diagnostic::client("HY000", format!("{}é", "x".repeat(511))).to_string();
        assert!(text.ends_with('x') && text.matches('x').count() == 511, "{text}");
    }
}
