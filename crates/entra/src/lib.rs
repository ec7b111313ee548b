//! Access tokens of Microsoft Entra: gets them for a client, and checks them for a server.
//!
//! A client says who it is ([`Identity`]), and the server that it connects to says where to sign in
//! ([`Place::resolve`]). [`token`] gets the token there, or from the memory of this process. A server checks
//! tokens with a [`Verifier`].

mod authority;
mod azure_cli;
mod certificate;
mod chain;
mod device_code;
mod error;
mod grant;
mod http;
mod identity;
mod jwt;
mod managed_identity;
mod memory;
mod patience;
mod token_answer;
mod workload_identity;

pub use authority::{AUTHORITY_VARIABLE, Place};
pub use error::EntraError;
pub use identity::{Identity, Proof, Way};
pub use jwt::{KeyError, TokenError, Verifier, name_in};
pub use memory::{forget, is_known, token};
pub use patience::Patience;
