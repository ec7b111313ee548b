//! What a server keeps, below any session: databases and what is declared of them, rows on their way in, open
//! transactions, and what all sessions share.
//!
//! | Room | What it is |
//! |---|---|
//! | [`catalogue`] | databases, schemas, tables, modules and types as they are declared |
//! | [`storage`] | where rows live: databases of pages and transactions over them; the one room that knows the store |
//! | [`store_error`] | the store's errors under SQL Server's numbers |
//! | [`transactions`] | what a session has open, and access to it from other threads |
//! | [`instance`] | what all sessions share: who is logged in, kept texts, sequences, application locks, recent loads |
//! | [`table`] | rows into tables: conversion, defaults, identities, keys, checks |
//!
//! [`waiting`] says on which thread a request may wait, [`memory`] how much it may hold, [`file_access`] which files it
//! may touch; [`log`] writes lines on standard error.

pub mod catalogue;
pub mod file_access;
pub mod instance;
pub mod log;
pub mod memory;
pub mod secrets;
pub mod storage;
pub mod store_error;
pub mod table;
pub mod transactions;
pub mod waiting;
