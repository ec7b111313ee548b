//! `--log-requests`: every request, readably, on standard error.

use std::io::{self, Write};
use std::net::SocketAddr;

use tds::login::Login7;
use tds::packet::PacketType;
use tds::rpc::{Procedure, RpcMessage, RpcRequest};
use tds::sql_batch::SqlBatch;
use tds::transaction_request::TransactionMessage;
use tds::version::TdsVersion;

use super::ConnectionError;
use super::packet_reader::Message;

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
            .map_or_else(|error| error.to_string(), |batch| format!("BATCH {}", batch.text)),
        PacketType::Rpc => RpcMessage::decode(&message.payload, version).map_or_else(
            |error| error.to_string(),
            |rpc| rpc.requests.iter().map(procedure_call).collect::<Vec<_>>().join("; "),
        ),
        PacketType::TransactionManager => TransactionMessage::decode(&message.payload, version)
            .map_or_else(|error| error.to_string(), |message| format!("TRANSACTION {:?}", message.request)),
        other => format!("{other:?} of {} bytes", message.payload.len()),
    };
    line(&format!("[{spid}] {text}"));
}

/// A connection that did not end by the client's leaving.
pub(crate) fn ended(spid: u16, peer: SocketAddr, error: &ConnectionError) {
    line(&format!("[{spid}] {peer}: connection ended: {error}"));
}

/// Standard error may be closed or full: the log is then cut short, and nothing else.
fn line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A bulk load that has ended.
pub(super) fn bulk(spid: u16, outcome: &str) {
    line(&format!("[{spid}] BULK {outcome}"));
}

fn procedure_call(request: &RpcRequest) -> String {
    let name = match &request.procedure {
        Procedure::Name(name) => name.clone(),
        Procedure::Id(id) => id.name().to_owned(),
    };
    let parameters: Vec<String> = request
        .parameters
        .iter()
        .map(|parameter| {
            format!(
                "{}{}{}",
                parameter.name,
                if parameter.name.is_empty() { "" } else { " = " },
                parameter.value
            )
        })
        .collect();
    format!("RPC {name} {}", parameters.join(", "))
}
