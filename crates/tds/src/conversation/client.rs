//! The client's end of the conversation: what to send, and the meaning of a server's bytes (MS-TDS 3.2.5).
//!
//! [`Connecting`] leads from the connected socket to the answer to LOGIN7. Then requests and answers alternate: [`Phase`] says
//! what may be sent and what a cancellation does, [`AnswerPackets`] takes packets apart, and [`Answer`] returns tokens and finds
//! the answer's end. [`Environment`] is the session's state that the server has reported.

mod answer;
mod connecting;
mod environment;
mod phase;

pub use answer::{Answer, AnswerEnd, AnswerPackets, AnswerStep};
pub use connecting::{
    Action, Connecting, Credential, LoginOutcome, LoginProblem, LoginStep, Tls, WantedEncryption,
};
pub use environment::{Environment, PacketSize};
pub use phase::{Cancel, Phase};
