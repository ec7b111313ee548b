//! Files that SQL Server wrote, as sources: backups, data files, packages.

mod endpoint;
mod object;
mod shape;
mod source;

pub use endpoint::DatabaseFileEndpoint;
pub use source::{DatabaseFileRead, DatabaseFileSource};
