//! The rules of faults.

use std::time::Duration;

/// A rule of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    /// Whom it is for.
    pub who: Who,
    /// The frequency of the fault.
    pub often: Often,
    /// The fault.
    pub fault: Fault,
}

/// The connections that a rule is for; absent conditions fit all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// Name of the program, as LOGIN7 gives it.
    pub application: Option<String>,
    /// Name of the login.
    pub login: Option<String>,
    /// Number of the connection, from 1.
    pub connection: Option<u64>,
    /// Each n-th connection.
    pub every: Option<u64>,
}

/// The frequency of a rule among the requests that it fits.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Often {
    /// Only the n-th match on a connection, from 1.
    pub nth: Option<u64>,
    /// Probability.
    pub chance: Option<f64>,
    /// Most matches on all connections together.
    pub times: Option<u64>,
    /// Most matches on one connection.
    pub times_per_connection: Option<u64>,
}

/// The fault that a rule injects.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// Delays and bandwidth of the connection.
    Link(LinkShape),
    /// Limits the session's bulk loads to a rate.
    Cap(Cap),
    /// Something at a byte of the connection.
    Byte { direction: Option<Direction>, at: ByteRange, act: PointAct },
    /// Something at a request.
    Request { target: Target, moment: Moment, happening: Happening },
    /// A cut at a random one of the next bytes after a request.
    Within { target: Target, bytes: u64, ending: Ending },
}

/// A byte, or a random one of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub first: u64,
    pub last: u64,
}

/// The requests that a rule fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub on: RequestKind,
    /// A part of the text, in lower case.
    pub text: Option<String>,
}

/// A connection's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkShape {
    /// From one end to the other.
    pub delay: Duration,
    /// In each direction.
    pub bytes_per_second: Option<u64>,
    /// Bytes that each direction holds at most.
    pub window_bytes: u32,
}

/// A rate of a session's bulk loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    Rows(u64),
    Bytes(u64),
}

/// The direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// In order, as a program that exits does.
    Close,
    /// The connection is reset.
    Reset,
}

/// The moment of a request at which a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After the request has arrived and before it is executed.
    Before,
    /// After this many rows of a bulk load.
    AfterRows(u64),
    /// After the request was executed, instead of its answer.
    After,
}

/// The fault of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happening {
    /// The request fails.
    Error(Failure),
    /// The connection ends.
    Cut(Ending),
    /// No answer ever comes; the connection stays open.
    Silence,
    /// The request takes longer.
    Stall(Duration),
}

/// An error that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub number: i32,
    pub message: Option<String>,
    pub class: Option<u8>,
    pub state: Option<u8>,
}

/// The fault at a place in the stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointAct {
    Cut(Ending),
    /// Bytes wait; without a time for ever.
    Stall(Option<Duration>),
}

/// A place in the stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub direction: Direction,
    /// After this many more bytes.
    pub at_byte: u64,
    pub act: PointAct,
}

/// The kind of a request, as rules distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Login,
    /// Text of T-SQL.
    Batch,
    /// Procedure calls.
    Rpc,
    /// Any end of a transaction that keeps it.
    Commit,
    /// The rows of a bulk load.
    Bulk,
    /// Any of them but a login.
    Any,
}

impl RequestKind {
    /// Returns the spelling of the file and the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Batch => "batch",
            Self::Rpc => "rpc",
            Self::Commit => "commit",
            Self::Bulk => "bulk",
            Self::Any => "request",
        }
    }
}

impl Direction {
    /// Returns the spelling of the file and the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to_server",
            Self::ToClient => "to_client",
        }
    }
}

impl Ending {
    /// Returns the participle for the log.
    pub fn participle(self) -> &'static str {
        match self {
            Self::Close => "closed",
            Self::Reset => "reset",
        }
    }
}

impl Moment {
    /// Returns the name for the log.
    pub fn name(self) -> String {
        match self {
            Self::Before => "before".to_owned(),
            Self::AfterRows(rows) => format!("after {rows} rows of"),
            Self::After => "after".to_owned(),
        }
    }
}

impl Happening {
    /// Returns the name for the log.
    pub fn name(&self) -> String {
        match self {
            Self::Error(failure) => format!("error {}", failure.number),
            Self::Cut(ending) => format!("connection {}", ending.participle()),
            Self::Silence => "silence".to_owned(),
            Self::Stall(time) => format!("stall of {} s", time.as_secs_f64()),
        }
    }
}
