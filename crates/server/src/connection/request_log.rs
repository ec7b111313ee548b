//! `--log-requests`: every request and how it ended, readably, on standard error.
//!
//! Long texts and values are cut with a note of how much is left out. It shows no password of a login, and no literal or value of
//! a request that mentions [secrets](databases::secrets).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use databases::log;
use databases::secrets;
use tds::Value;
use tds::conversation::server::Message;
use tds::login::Login7;
use tds::packet::PacketType;
use tds::rpc::{Parameter, ProcId, Procedure, RpcMessage, RpcRequest, parameter_status};
use tds::sql_batch::SqlBatch;
use tds::transaction_request::TransactionMessage;
use tds::version::TdsVersion;

use crate::connection::ConnectionError;
use crate::connection::responses::Answer;

/// Characters of a statement's text that are shown.
const TEXT_CHARS_MAX: usize = 4000;
/// Characters of any other value.
const VALUE_CHARS_MAX: usize = 120;
/// Parameters of a system procedure that may be statements and declarations.
const TEXTS_MAX: usize = 4;

/// Logs a login, without its password.
pub(super) fn login(spid: u16, login: &Login7, encrypted: bool) {
    let features: Vec<String> =
        login.features.iter().map(|feature| format!("{:02X}", feature.id())).collect();
    line(format!(
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

/// Logs any other request, and returns true if it mentions secrets.
pub(super) fn request(spid: u16, message: &Message, version: TdsVersion) -> bool {
    let mut secret = false;
    let text = match message.packet_type {
        PacketType::SqlBatch => SqlBatch::decode(&message.payload, version).map_or_else(
            |error| error.to_string(),
            |batch| {
                secret = secrets::mentions(&batch.text);
                format!("BATCH {}", statement(&batch.text, secret))
            },
        ),
        PacketType::Rpc => RpcMessage::decode(&message.payload, version).map_or_else(
            |error| error.to_string(),
            |rpc| {
                secret = rpc.requests.iter().any(is_secretive);
                let calls = rpc.requests.iter().map(|call| procedure_call(call, secret));
                calls.collect::<Vec<_>>().join("\n")
            },
        ),
        PacketType::TransactionManager => TransactionMessage::decode(&message.payload, version)
            .map_or_else(|error| error.to_string(), |message| format!("TRANSACTION {:?}", message.request)),
        other => format!("{other:?} of {} bytes", message.payload.len()),
    };
    let reset = if message.status.resets() { "RESET " } else { "" };
    log::paragraph(format!("[{spid}] {reset}{text}"));
    secret
}

/// Logs an attention that found nothing to stop.
pub(super) fn attention(spid: u16) {
    line(format!("[{spid}] ATTENTION"));
}

/// Logs the end of a request. The text of an error may repeat parts of a request that has secrets, so it is then
/// left out.
pub(super) fn answered(spid: u16, answer: &Answer, secret: bool, cancelled: bool, took: Duration) {
    let rows = match answer.rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let error = match &answer.error {
        Some(error) if secret => format!(", error {}", error.number),
        Some(error) => format!(", error {}: {}", error.number, shortened(&error.message, TEXT_CHARS_MAX)),
        None => String::new(),
    };
    let cancelled = if cancelled { ", cancelled" } else { "" };
    line(format!("[{spid}]   {rows} in {:.1} ms{error}{cancelled}", took.as_secs_f64() * 1000.0));
}

/// Logs a connection that did not end by the client's leaving.
pub(crate) fn ended(spid: u16, peer: SocketAddr, error: &ConnectionError) {
    line(format!("[{spid}] {peer}: connection ended: {error}"));
}

/// Logs a refused login.
pub(super) fn refused(spid: u16, peer: IpAddr, user: &str, why: &str) {
    line(format!("[{spid}] {peer}: login refused: user {user:?}{why}"));
}

/// Logs a bulk load that has ended.
pub(super) fn bulk(spid: u16, outcome: &str) {
    line(format!("[{spid}] BULK {outcome}"));
}

fn line(text: String) {
    log::line(text);
}

/// Returns true if a call's texts or names mention secrets, or if it executes a prepared statement, whose text is
/// not known here.
fn is_secretive(call: &RpcRequest) -> bool {
    let by_handle = matches!(call.procedure, Procedure::Id(ProcId::Execute));
    let named = matches!(&call.procedure, Procedure::Name(name) if secrets::mentions(name));
    by_handle
        || named
        || call.parameters.iter().any(|parameter| {
            let text = matches!(&parameter.value, Value::String(text) if secrets::mentions(text));
            text || secrets::mentions(&parameter.name)
        })
}

fn procedure_call(request: &RpcRequest, secret: bool) -> String {
    let name = match &request.procedure {
        Procedure::Name(name) => name.clone(),
        Procedure::Id(id) => id.name().to_owned(),
    };
    // The statement and the declarations that sp_executesql and its kind take first.
    let texts = match &request.procedure {
        Procedure::Id(ProcId::Execute) => 0,
        Procedure::Id(_) => TEXTS_MAX,
        Procedure::Name(name) if name.to_ascii_lowercase().ends_with("sp_executesql") => TEXTS_MAX,
        Procedure::Name(_) => 0,
    };
    let parameters = request.parameters.iter().enumerate();
    let parameters: Vec<String> =
        parameters.map(|(index, parameter)| argument(parameter, index < texts, secret)).collect();
    format!("RPC {name} {}", parameters.join(", "))
}

/// Writes `@name type = value`; a statement is shown as text.
fn argument(parameter: &Parameter, is_statement: bool, secret: bool) -> String {
    let output = if parameter.status & parameter_status::BY_REFERENCE != 0 { " OUTPUT" } else { "" };
    let value = match &parameter.value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) if is_statement && parameter.name.is_empty() => {
            format!("N'{}'", statement(text, secret))
        }
        Value::String(_) | Value::Binary(_) if secret => secrets::HIDDEN.to_owned(),
        Value::String(text) => format!("'{}'", shortened(text, VALUE_CHARS_MAX)),
        other => shortened(&other.to_string(), VALUE_CHARS_MAX),
    };
    match parameter.name.as_str() {
        "" => format!("{value}{output}"),
        name => format!("{name} {} = {value}{output}", parameter.type_info.sql_type),
    }
}

/// Writes a statement's text.
fn statement(text: &str, secret: bool) -> String {
    let text = text.trim();
    match secret {
        true => shortened(&secrets::without_literals(text), TEXT_CHARS_MAX),
        false => shortened(text, TEXT_CHARS_MAX),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_say_what_is_left_out() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß!", 3), "äöü… (2 more)");
    }
}
