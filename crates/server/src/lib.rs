//! The embedded server: a TDS endpoint in one small process.
//!
//! | Room | What it is |
//! |---|---|
//! | `listener`, `transport`, `connection` | the wire: accepts, speaks TDS |
//! | [`statements`] | what runs: requests, batches, statements, procedures |
//! | [`session`] | one connection's state, and the [`session::response::Response`] events that answer it |
//! | `system_views` | the `sys` and `INFORMATION_SCHEMA` views |
//! | `functions` | functions that know the session, the server or the catalogue, by `facts` |
//!
//! What sessions share and what is stored is the crate `databases`.
//!
//! This is an independent implementation for tests, local work and experiments. It is not SQL Server; what it does
//! not have it refuses with an error.

mod bulk_error;
mod bulk_file;
mod connection;
mod facts;
mod faults;
pub mod functions;
mod init_script;
mod listener;
mod options;
mod program;
mod serving;
pub mod session;
pub mod statements;
mod system_views;
mod transport;
mod view;

pub use databases::file_access::FileAccess;
pub use faults::{FaultFileError, FaultPlan};
pub use init_script::InitError;
pub use listener::{RunningServer, Server, StartError};
pub use options::{DataLocation, EncryptionPolicy, Limits, Password, ServerOptions};
pub use program::run_program;
pub use transport::{CertificateError, CertificateSource};
