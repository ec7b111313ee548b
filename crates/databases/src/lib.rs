//! The part of the server below sessions: databases and their definitions, writing rows, open transactions, and what all sessions
//! share.
//!
//! | Room | What it is |
//! |---|---|
//! | [`catalogue`] | databases, schemas, tables, modules and types as they are declared |
//! | [`storage`] | databases of pages and transactions over them; the only module that uses the store |
//! | [`store_error`] | the store's errors under SQL Server's numbers |
//! | [`transactions`] | the open transactions of a session, and access to them from other threads |
//! | [`instance`] | what all sessions share: who is logged in, kept texts, sequences, application locks, recent loads |
//! | [`table`] | rows into tables: conversion, defaults, identities, keys, checks |
//!
//! [`waiting`] decides on which thread a request may wait, [`memory`] limits its memory, [`file_access`] its files; [`log`]
//! writes lines on standard error.

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
