//! The embedded server: a TDS endpoint in one small process.
//!
//! | Room | What it is |
//! |---|---|
//! | `listener`, `transport`, `connection` | the wire: accepts, speaks TDS |
//! | [`statements`] | what runs: requests, batches, statements, procedures |
//! | [`session`] | one connection's state, and the [`session::response::Response`] events that answer it |
//! | [`instance`] | what all sessions share |
//! | [`catalogue`] | databases, schemas, tables as they are declared |
//! | `system_views` | the `sys` and `INFORMATION_SCHEMA` views |
//! | `functions` | functions that know the session, the server or the catalogue, by `facts` |
//! | `table` | rows into tables: conversion, defaults, identities, keys, checks |
//! | `transactions` | what a session has open, and access to it from other threads |
//! | [`storage`] | where rows live: databases of pages and transactions over them |
//!
//! This is an independent implementation for tests, local work and experiments. It is not SQL Server; what it does
//! not have it refuses with an error.

mod bulk_error;
mod bulk_file;
pub mod catalogue;
mod connection;
mod facts;
mod faults;
pub mod functions;
mod init_script;
pub mod instance;
mod listener;
mod log;
mod memory;
mod options;
mod program;
mod secrets;
mod serving;
pub mod session;
pub mod statements;
pub mod storage;
mod store_error;
mod system_views;
mod table;
mod transactions;
mod transport;
mod view;
mod waiting;

pub use bulk_file::FileAccess;
pub use faults::{FaultFileError, FaultPlan};
pub use init_script::InitError;
pub use listener::{RunningServer, Server, StartError};
pub use options::{DataLocation, EncryptionPolicy, Limits, Password, ServerOptions};
pub use program::run_program;
pub use transport::{CertificateError, CertificateSource};
