//! Injected faults between the wire and the session.

use std::sync::Arc;
use std::time::Duration;

use databases::instance::counts::Counts;
use executor::session::request::Request;
use tds::Value;
use tds::rpc::RpcRequest;
use tds::transaction_request::TransactionRequest;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::connection::fault_sink::FaultSink;
use crate::faults::{
    ConnectionFaults, Ending, Failure, Faults, Happening, Moment, Point, RequestFault, RequestKind,
};
use crate::transport::{Broken, Line, LineControl};

/// Read at once by what forgets it.
const REST_BYTES: usize = 4 << 10;

/// The faults of a connection and the line on which they happen.
pub(super) struct FaultyLine {
    faults: ConnectionFaults,
    control: Arc<LineControl>,
}

/// The course of a request under faults.
pub(super) enum Course {
    /// The request is executed; its answer is sent after a delay.
    Goes(Duration),
    /// The request is executed; its answer is not sent.
    Unanswered(Loss),
    /// The request is not executed.
    NotDone(Loss),
}

/// The event that replaces an answer.
pub(super) enum Loss {
    Error(Failure),
    Cut(Ending),
    Silence,
}

impl FaultyLine {
    /// Applies the rules for a socket before its login.
    pub fn open(
        socket: TcpStream,
        counts: &Arc<Counts>,
        faults: &Arc<Faults>,
        spid: u16,
    ) -> (Line, Broken, FaultyLine) {
        let connection = faults.connection(spid);
        let control = Arc::new(LineControl::new(connection.name()));
        let mut line = FaultyLine { faults: connection, control: Arc::clone(&control) };
        line.take_line_faults();
        let (socket, broken) = Line::new(socket, counts, faults.concern_lines().then_some(control));
        (socket, broken, line)
    }

    /// Chooses the fault for a login.
    pub async fn login(&mut self, application: &str, login: &str) -> Course {
        self.faults.client(application, login);
        self.take_line_faults();
        let fault = self.fault(RequestKind::Login, false, "");
        self.course(fault).await
    }

    /// Chooses the fault for a request other than a bulk load.
    pub async fn request(&mut self, request: &Request) -> Course {
        let text = text_of(request);
        let kind = match request {
            Request::Rpc(_) => RequestKind::Rpc,
            Request::Transaction(TransactionRequest::Commit { .. }) => RequestKind::Commit,
            Request::Transaction(_) | Request::Refused(_) => RequestKind::Any,
            Request::Batch(_) => RequestKind::Batch,
        };
        let fault = self.fault(kind, kind == RequestKind::Commit || commits(&text), &text);
        self.course(fault).await
    }

    /// Chooses the fault for a bulk load, and the limits for its rows.
    pub async fn bulk(&mut self) -> (Course, Option<FaultSink>) {
        let fault = self.fault(RequestKind::Bulk, false, "");
        let (at_row, fault) = match fault {
            Some(RequestFault { moment: Moment::AfterRows(rows), happening, told }) => {
                (Some((rows, happening, told)), None)
            }
            fault => (None, fault),
        };
        let paces = self.faults.paces();
        let sink = (at_row.is_some() || !paces.lock().is_empty())
            .then(|| FaultSink::new(paces, at_row, self.faults.name(), Arc::clone(&self.control)));
        (self.course(fault).await, sink)
    }

    /// Ends the connection.
    pub fn cut(&self, ending: Ending) {
        self.control.cut(ending);
    }

    fn fault(&mut self, kind: RequestKind, is_commit: bool, text: &str) -> Option<RequestFault> {
        let (fault, points) = self.faults.request(kind, is_commit, text);
        for point in points {
            self.control.point_ahead(point);
        }
        fault
    }

    async fn course(&self, fault: Option<RequestFault>) -> Course {
        let Some(RequestFault { moment, happening, told }) = fault else {
            return Course::Goes(Duration::ZERO);
        };
        self.faults.note(&told);
        let loss = match happening {
            Happening::Error(failure) => Loss::Error(failure),
            Happening::Cut(ending) => Loss::Cut(ending),
            Happening::Silence => Loss::Silence,
            Happening::Stall(time) if moment == Moment::After => return Course::Goes(time),
            Happening::Stall(time) => {
                sleep(time).await;
                return Course::Goes(Duration::ZERO);
            }
        };
        match moment {
            Moment::After => Course::Unanswered(loss),
            Moment::Before | Moment::AfterRows(_) => Course::NotDone(loss),
        }
    }

    /// Applies the faults of the line that came to hold since the last call.
    fn take_line_faults(&mut self) {
        let line = self.faults.line();
        if let Some(shape) = line.shape {
            self.control.shape(shape);
        }
        line.points.into_iter().for_each(|point: Point| self.control.point(point));
    }
}

/// Reads and forgets until the client leaves.
pub(super) async fn pass_over<R: AsyncRead + Unpin>(from: &mut R) {
    let mut rest = vec![0; REST_BYTES];
    while matches!(from.read(&mut rest).await, Ok(1..)) {}
}

/// Returns the text of a request as far as rules look at it.
fn text_of(request: &Request) -> String {
    match request {
        Request::Batch(text) => text.clone(),
        Request::Rpc(calls) => calls.iter().map(text_of_call).collect::<Vec<_>>().join("\n"),
        Request::Transaction(_) | Request::Refused(_) => String::new(),
    }
}

fn text_of_call(call: &RpcRequest) -> String {
    let texts = call.parameters.iter().filter_map(|parameter| match &parameter.value {
        Value::String(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns true if the text has the word COMMIT.
fn commits(text: &str) -> bool {
    let mut words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.any(|word| word.eq_ignore_ascii_case("commit"))
}
