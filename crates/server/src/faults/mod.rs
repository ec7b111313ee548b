//! Faults that a server injects on purpose, so that clients can test how they handle them. [`FaultPlan`] is the content of the
//! file, [`Faults`] its state in a server, and [`ConnectionFaults`] the part for one connection. The module touches neither
//! sockets nor sessions: `transport::relay` and `connection::faulty` carry its decisions out.

mod chooser;
mod file;
mod messages;
mod pace;
mod rule;

pub use file::{FaultFileError, FaultPlan};

pub(crate) use chooser::{ConnectionFaults, Faults, RequestFault};
pub(crate) use pace::Pace;
pub(crate) use rule::{
    Direction, Ending, Failure, Happening, LinkShape, Moment, Point, PointAct, RequestKind,
};
