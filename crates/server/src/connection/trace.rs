//! Requests as spans of `tracing`, and how they ended as events: without texts, literals and values.
//!
//! A statement shows its first words and an error its number, since the rest may be a client's data.

use std::time::Instant;

use tds::conversation::server::ClientRequest;
use tds::rpc::{Procedure, RpcRequest};
use tds::{FirstWords, Value};
use tracing::{Span, debug, error_span, info};

use crate::connection::bulk_receiver::BulkOutcome;
use crate::connection::responses::Answer;

/// Makes the span of a request.
pub(super) fn request(request: &ClientRequest, resets: bool) -> Span {
    match request {
        ClientRequest::Batch(batch) => {
            error_span!("request", kind = "batch", resets, words = %FirstWords(&batch.text))
        }
        ClientRequest::Rpc(rpc) => {
            error_span!("request", kind = "call", resets, words = rpc.requests.first().map(call_words))
        }
        ClientRequest::Transaction(message) => {
            error_span!("request", kind = "transaction", resets, words = message.request.kind())
        }
        ClientRequest::UnannouncedBulk => error_span!("request", kind = "bulk load", resets),
    }
}

/// Returns a procedure's name, and the first words of the statement that it runs.
fn call_words(call: &RpcRequest) -> String {
    let Procedure::Id(id) = &call.procedure else {
        let Procedure::Name(name) = &call.procedure else { return String::new() };
        return FirstWords(name).to_string();
    };
    let statement = call.parameters.iter().find_map(|parameter| match &parameter.value {
        Value::String(text) if parameter.name.is_empty() => Some(FirstWords(text)),
        _ => None,
    });
    match statement {
        Some(words) => format!("{} {words}", id.name()),
        None => id.name().to_owned(),
    }
}

/// Records the end of a request.
pub(super) fn answered(answer: &Answer, is_cancelled: bool, began: Instant) {
    let error = answer.error.as_ref().map(|error| error.number);
    info!(rows = answer.rows, error, is_cancelled, milliseconds = milliseconds(began), "answered");
}

/// Records the end of a bulk load.
pub(super) fn loaded(outcome: &BulkOutcome) {
    match outcome {
        BulkOutcome::Loaded { rows } => info!(rows, "answered"),
        BulkOutcome::Failed(error) => info!(error = error.number, "answered"),
        BulkOutcome::Cancelled => info!(is_cancelled = true, "answered"),
    }
}

/// Records an attention that found nothing to stop.
pub(super) fn attention() {
    debug!("attention without a request");
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_micros() as f64 / 1000.0
}
