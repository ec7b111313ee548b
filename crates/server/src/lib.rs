//! The embedded server: a TDS endpoint in one small process.
//!
//! Two halves meet at [`session`]. The wire half (`listener`, `connection`, `transport`) accepts connections and
//! speaks TDS; the T-SQL half runs what it is given:
//!
//! | Room | What it is |
//! |---|---|
//! | `functions` | functions that know the session, the server or the catalogue, by `facts` |
//! | [`catalogue`] | databases, schemas, tables; the `sys` and `INFORMATION_SCHEMA` views |
//! | `table` | rows into tables: conversion, defaults, identities, keys, checks |
//! | [`session`] | one connection's state; runs requests and sends [`session::response::Response`] events |
//! | [`storage`] | where rows live: databases of pages and transactions over them |
//!
//! This is an independent implementation for tests, local work and experiments. It is not SQL Server; what it does
//! not have it refuses with an error.

mod bulk_error;
mod bulk_file;
pub mod catalogue;
mod connection;
mod facts;
mod functions;
mod init_script;
pub mod instance;
mod listener;
mod log;
mod memory;
mod options;
mod program;
mod secrets;
pub mod session;
pub mod statements;
pub mod storage;
mod store_error;
mod table;
mod transport;
mod waiting;

pub use bulk_file::FileAccess;
pub use init_script::InitError;
pub use listener::{RunningServer, Server, StartError};
pub use options::{DataLocation, EncryptionPolicy, Limits, Password, ServerOptions};
pub use program::run_program;
pub use transport::{CertificateError, CertificateSource};
