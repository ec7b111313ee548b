//! Files that SQL Server wrote, as sources: backups, data files, packages. Packages are destinations, too.

mod definition;
mod destination;
mod endpoint;
mod modules;
mod object;
mod package_file;
mod shape;
mod source;

pub use destination::{PackageDestination, PackageTarget};
pub use endpoint::DatabaseFileEndpoint;
pub use modules::FailedModule;
pub(crate) use modules::make_modules;
pub use source::{DatabaseFileRead, DatabaseFileSource};
