//! Recognises light requests: those with light texts over stored tables.

use tds::Value;
use tds::rpc::ProcId;
use tds::rpc::Procedure;
use tds::rpc::RpcRequest;
use tds::transaction_request::TransactionRequest;

use super::light_text::light_tables;
use crate::session::Session;
use crate::session::request::Request;

/// Returns true if a session may begin a request on its connection's thread.
pub fn is_light(session: &Session, request: &Request) -> bool {
    match request {
        Request::Batch(text) => text_is_light(session, text),
        Request::Rpc(calls) => match calls.as_slice() {
            [call] => call_is_light(session, call),
            _ => false,
        },
        Request::Transaction(request) => matches!(
            request,
            TransactionRequest::Begin(_)
                | TransactionRequest::Commit { .. }
                | TransactionRequest::Rollback { .. }
                | TransactionRequest::Save { .. }
        ),
        Request::Refused(_) => true,
    }
}

pub(crate) fn text_is_light(session: &Session, text: &str) -> bool {
    // A text that does not parse is answered at once.
    let Ok(parsed) =
        session.instance.statements.parse(session.instance.name(), text, session.settings.quoted_identifier)
    else {
        return true;
    };
    let Some(tables) = parsed.light_tables(light_tables) else { return false };
    // Views are made when they are bound, which takes as long as there are tables.
    tables.iter().all(|name| matches!(session.work.find(name, &session.database), Ok(Some(_))))
}

pub(crate) fn call_is_light(session: &Session, call: &RpcRequest) -> bool {
    let text = |position: usize| match call.parameters.get(position).map(|parameter| &parameter.value) {
        Some(Value::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let by_id = match &call.procedure {
        Procedure::Id(id) => Some(*id),
        Procedure::Name(name) if name.eq_ignore_ascii_case("sp_executesql") => Some(ProcId::ExecuteSql),
        Procedure::Name(_) => None,
    };
    let text = match by_id {
        Some(ProcId::ExecuteSql) => text(0),
        Some(ProcId::PrepExec) => text(2),
        Some(ProcId::Execute) => {
            let handle = match call.parameters.first().map(|parameter| &parameter.value) {
                Some(Value::Int(handle)) => *handle,
                _ => return false,
            };
            session.prepared.get(&handle).map(|prepared| prepared.text.as_str())
        }
        Some(ProcId::Unprepare) => return true,
        _ => return false,
    };
    text.is_some_and(|text| text_is_light(session, text))
}
