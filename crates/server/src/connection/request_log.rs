//! `--log-requests`: every request and how it ended, readably, on standard error.
//!
//! Long texts and values are cut with a note of how much is left out. Passwords do not appear: not those of logins, and not
//! those that a statement spells out.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tds::Value;
use tds::login::Login7;
use tds::packet::PacketType;
use tds::rpc::{Parameter, Procedure, RpcMessage, RpcRequest, parameter_status};
use tds::sql_batch::SqlBatch;
use tds::transaction_request::TransactionMessage;
use tds::version::TdsVersion;

use super::ConnectionError;
use super::packet_reader::Message;
use super::responses::Answer;

/// Characters of a statement's text that are shown.
const TEXT_CHARS_MAX: usize = 4000;
/// Characters of any other value.
const VALUE_CHARS_MAX: usize = 120;

/// A login, without its password.
pub(super) fn login(spid: u16, login: &Login7, encrypted: bool) {
    let features: Vec<String> =
        login.features.iter().map(|feature| format!("{:02X}", feature.id())).collect();
    line(&format!(
        "[{spid}] LOGIN7 user={:?} app={:?} library={:?} host={:?} database={:?} packet_size={} features=[{}]{}",
        login.user_name,
        login.app_name,
        login.client_interface_name,
        login.host_name,
        login.database,
        login.packet_size_bytes,
        features.join(" "),
        if encrypted { " encrypted" } else { "" },
    ));
}

/// Any other request.
pub(super) fn request(spid: u16, message: &Message, version: TdsVersion) {
    let text = match message.packet_type {
        PacketType::SqlBatch => SqlBatch::decode(&message.payload, version)
            .map_or_else(|error| error.to_string(), |batch| format!("BATCH {}", statement(&batch.text))),
        PacketType::Rpc => RpcMessage::decode(&message.payload, version).map_or_else(
            |error| error.to_string(),
            |rpc| rpc.requests.iter().map(procedure_call).collect::<Vec<_>>().join("\n      "),
        ),
        PacketType::TransactionManager => TransactionMessage::decode(&message.payload, version)
            .map_or_else(|error| error.to_string(), |message| format!("TRANSACTION {:?}", message.request)),
        PacketType::Attention => "ATTENTION".to_owned(),
        other => format!("{other:?} of {} bytes", message.payload.len()),
    };
    let reset = if message.status.resets() { "RESET " } else { "" };
    line(&format!("[{spid}] {reset}{text}"));
}

/// How a request ended.
pub(super) fn answered(spid: u16, answer: &Answer, cancelled: bool, took: Duration) {
    let rows = match answer.rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let error = match &answer.error {
        Some(error) => format!(", error {}: {}", error.number, shortened(&error.message, TEXT_CHARS_MAX)),
        None => String::new(),
    };
    let cancelled = if cancelled { ", cancelled" } else { "" };
    line(&format!("[{spid}]   {rows} in {:.1} ms{error}{cancelled}", took.as_secs_f64() * 1000.0));
}

/// A connection that did not end by the client's leaving.
pub(crate) fn ended(spid: u16, peer: SocketAddr, error: &ConnectionError) {
    line(&format!("[{spid}] {peer}: connection ended: {error}"));
}

/// A bulk load that has ended.
pub(super) fn bulk(spid: u16, outcome: &str) {
    line(&format!("[{spid}] BULK {outcome}"));
}

/// Standard error may be closed or full: the log is then cut short, and nothing else.
fn line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn procedure_call(request: &RpcRequest) -> String {
    let name = match &request.procedure {
        Procedure::Name(name) => name.clone(),
        Procedure::Id(id) => id.name().to_owned(),
    };
    let parameters: Vec<String> = request.parameters.iter().map(argument).collect();
    format!("RPC {name} {}", parameters.join(", "))
}

/// `@name type = value`; the statement and the declarations that sp_executesql and its kind take first are shown as text.
fn argument(parameter: &Parameter) -> String {
    let output = if parameter.status & parameter_status::BY_REFERENCE != 0 { " OUTPUT" } else { "" };
    let value = match &parameter.value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) if parameter.name.is_empty() => format!("N'{}'", statement(text)),
        Value::String(text) => {
            let hidden = parameter.name.to_ascii_lowercase().contains("password");
            if hidden { HIDDEN.to_owned() } else { format!("'{}'", shortened(text, VALUE_CHARS_MAX)) }
        }
        other => shortened(&other.to_string(), VALUE_CHARS_MAX),
    };
    match parameter.name.as_str() {
        "" => format!("{value}{output}"),
        name => format!("{name} {} = {value}{output}", parameter.type_info.sql_type),
    }
}

/// A statement's text, its further lines indented.
fn statement(text: &str) -> String {
    shortened(&without_passwords(text.trim()), TEXT_CHARS_MAX).replace('\n', "\n      ")
}

fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (head, tail) = text.split_at(end);
            format!("{head}… ({} more)", tail.chars().count())
        }
    }
}

/// What stands for a password.
const HIDDEN: &str = "'***'";

/// Procedures that take a password by position.
const SECRETIVE: [&str; 4] = ["sp_addlogin", "sp_password", "sp_addlinkedsrvlogin", "sp_setapprole"];

/// The text with what follows `PASSWORD =` or `SECRET =` (CREATE LOGIN, ALTER USER, …) taken out.
fn without_passwords(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if let Some(name) = SECRETIVE.iter().find(|name| lower.contains(**name)) {
        return format!("(not shown, because it calls {name})");
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find_password(rest) {
        let (head, tail) = rest.split_at(at);
        shown.push_str(head);
        shown.push_str(HIDDEN);
        rest = after_text(tail);
    }
    shown.push_str(rest);
    shown
}

/// Where the text literal after the first `PASSWORD =` begins.
fn find_password(text: &str) -> Option<usize> {
    // Lower-casing ASCII alone leaves every position as it is.
    let lower = text.to_ascii_lowercase();
    let words = ["password", "secret"].into_iter().flat_map(|word| lower.match_indices(word));
    let literals = words.filter_map(|(at, word)| {
        let rest = lower.get(at + word.len()..)?.trim_start().strip_prefix('=')?.trim_start();
        let literal = rest.strip_prefix('n').filter(|rest| rest.starts_with('\'')).unwrap_or(rest);
        literal.starts_with('\'').then(|| lower.len() - rest.len())
    });
    literals.min()
}

/// What follows the text literal, `N'…'` or `'…'`, at the head.
fn after_text(literal: &str) -> &str {
    let mut quotes =
        literal.char_indices().filter(|(_, ch)| *ch == '\'').map(|(at, _)| at).skip(1).peekable();
    while let Some(at) = quotes.next() {
        if quotes.peek() == Some(&(at + 1)) {
            quotes.next();
            continue;
        }
        return literal.get(at + 1..).unwrap_or_default();
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            (
                "CREATE LOGIN a WITH PASSWORD = N'it''s', CHECK_POLICY = OFF",
                "CREATE LOGIN a WITH PASSWORD = '***', CHECK_POLICY = OFF",
            ),
            (
                "ALTER LOGIN a WITH password='x' OLD_PASSWORD='y'",
                "ALTER LOGIN a WITH password='***' OLD_PASSWORD='***'",
            ),
            ("SELECT password FROM t WHERE password = @p", "SELECT password FROM t WHERE password = @p"),
            ("x PASSWORD = 'open", "x PASSWORD = '***'"),
            ("EXEC sp_addlogin 'a', 'b'", "(not shown, because it calls sp_addlogin)"),
            (
                "CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 's'",
                "CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = '***'",
            ),
            ("İ PASSWORD = 'ß' é", "İ PASSWORD = '***' é"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn long_values_say_what_is_left_out() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß!", 3), "äöü… (2 more)");
    }
}
