//! The paged engine: tables in 8 KB pages with SQL Server's record, allocation and logging rules.
//!
//! `docs/store-engine.md` has the design, the bytes on disk, and which layers stand.

pub mod block;
pub mod error;
pub mod kind;
pub mod layout;
pub mod lsn;
pub mod page;
pub mod record;
