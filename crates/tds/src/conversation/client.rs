//! The client's end: what to send when, and what a server's bytes mean (MS-TDS 3.2.5).
//!
//! [`Connecting`] leads from the connected socket to the answer to LOGIN7. Then requests and answers alternate: [`Phase`]
//! says what may be sent and what a cancellation does, [`AnswerPackets`] takes packets apart, and [`Answer`] hands out
//! tokens and finds the answer's end. [`Environment`] is what the server has said about the session.

mod answer;
mod connecting;
mod environment;
mod phase;

pub use answer::{Answer, AnswerEnd, AnswerPackets, AnswerStep};
pub use connecting::{Action, Connecting, Credential, LoginOutcome, LoginProblem, Tls, WantedEncryption};
pub use environment::{Environment, PacketSize};
pub use phase::{Cancel, Phase};
