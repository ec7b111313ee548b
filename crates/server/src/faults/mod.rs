//! Faults that a server injects on purpose, so that clients can test what they do about them.
//!
//! [`FaultPlan`] is what the file says, [`Faults`] what a server makes of it, and [`ConnectionFaults`] what is left of it for one
//! connection. Nothing here touches a socket or a session: `transport::relay` and `connection::faulty` do as they are told.

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
