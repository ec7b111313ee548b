//! Databases of tables of Arrow record batches, in pages by SQL Server's rules.
//!
//! [`engine`] is all of it: an [`Engine`](engine::Engine) is an open database. The store knows neither TDS nor SQL. What lies beside it is what
//! those say who keep tables by ids: [`TableId`], [`TableInfo`], [`LockMode`], [`StoreError`].

mod codec;
mod directory;
pub mod engine;
mod error;
mod message;
mod quota;
mod table_info;

pub use directory::{HeldDirectory, OpenDirectoryError};
pub use error::{LockError, StoreError};
pub use quota::MemoryQuota;
pub use table_info::{LockMode, TableId, TableInfo};
