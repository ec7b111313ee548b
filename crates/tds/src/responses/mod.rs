//! The tokens of an answer.

pub mod done;
pub mod env_change;
pub mod routing;
pub mod server_message;
pub mod session_state;
pub mod token;
