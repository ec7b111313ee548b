//! The embedded server: a TDS endpoint in one small process.
//!
//! | Room | What it is |
//! |---|---|
//! | `listener`, `transport`, `connection` | the wire: accepts, speaks TDS |
//! | `metrics` | metrics and health over HTTP, for who runs the server |
//! | `init_script`, `faults`, `serving` | scripts before the first client, faults on purpose, what connections share |
//!
//! The crate `executor` runs what connections read, `databases` keeps it.
//!
//! This is an independent implementation for tests, local work and experiments. It is not SQL Server; statements that it does not
//! support are refused with an error.

mod connection;
mod faults;
mod init_script;
mod listener;
mod metrics;
mod options;
mod program;
mod serving;
mod transport;

pub use databases::file_access::FileAccess;
pub use faults::{FaultFileError, FaultPlan};
pub use init_script::InitError;
pub use listener::{RunningServer, Server, StartError};
pub use options::{
    DataLocation, EncryptionPolicy, Entra, Kerberos, Limits, Password, RestoreFiles, RestoreRequest,
    Restorer, Restoring, ServerOptions,
};
pub use program::run_program;
pub use transport::{CertificateError, CertificateSource};
