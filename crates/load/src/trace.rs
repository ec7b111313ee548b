//! A connection and its requests as spans of `tracing`: without texts, literals and values.

use std::{fmt, time::Instant};

use tds::ServerMessage;
use tracing::{Span, debug, error_span};

/// The spans that a session's events stand in.
#[derive(Debug)]
pub(crate) struct Trace {
    connection: Span,
    /// The request under way; disabled between requests.
    request: Span,
    began: Option<Instant>,
}

impl Trace {
    /// Creates the trace of the connection whose span is current.
    pub(crate) fn new() -> Self {
        Self { connection: Span::current(), request: Span::none(), began: None }
    }

    /// Records that a request begins; `words` are its first, or its name.
    pub(crate) fn request(&mut self, kind: &'static str, words: impl fmt::Display) {
        self.request = error_span!(parent: &self.connection, "request", kind, %words);
        self.began = (!self.request.is_disabled()).then(Instant::now);
    }

    /// Records that the request's answer has been read.
    pub(crate) fn answered(&mut self, errors: &[ServerMessage], is_cancelled: bool) {
        if let Some(began) = self.began.take() {
            let milliseconds = began.elapsed().as_micros() as f64 / 1000.0;
            let error = errors.first().map(|error| error.number);
            debug!(parent: &self.request, error, is_cancelled, milliseconds, "answered");
        }
        self.request = Span::none();
    }

    /// Records that the connection is useless.
    pub(crate) fn broken(&mut self) {
        debug!(parent: &self.connection, "the connection is not used again");
        self.request = Span::none();
    }
}
