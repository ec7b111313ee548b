//! The proofs of a client's identity: passwords with their sources, and Kerberos tokens, bound to a TLS session.
//!
//! A [`Dialogue`] talks to a process of `bulkwire` that makes and checks Kerberos tokens with the system's GSSAPI
//! or SSPI. It is a process of its own, since a library that crashes there hurts nobody. A process serves one login: it reads a
//! [`Request`], answers with a [`Reply`] for each token, and ends with the login. Both are lines of JSON.

pub mod channel_binding;
pub mod command;
mod dialogue;
#[cfg(feature = "tls")]
mod master_secret;
mod message;
mod password;
mod program;
mod secret;

pub use dialogue::{Dialogue, SignInError, Step};
#[cfg(feature = "tls")]
pub use master_secret::MasterSecret;
pub use message::{LINE_MAX_BYTES, Reply, Request, Role, decoded, encoded};
pub use password::{Password, PasswordError};
pub use program::{PROGRAM, PROGRAM_VARIABLE, VERB, is_running, look_in, program};
pub use secret::Secret;
