//! Files that the server reads itself: BULK INSERT and OPENROWSET(BULK …).
//!
//! The crate `formats` reads the files, so that server and client load the same file alike. [`FileAccess`](databases::file_access::FileAccess)
//! decides which files may be read, [`layout`] turns the statement's options into a layout, [`rows`] converts values by the
//! server's rules, and [`fault`] words errors as SQL Server does.

pub(crate) mod error_file;
pub(crate) mod fault;
pub(crate) mod layout;
pub(crate) mod rows;
pub(crate) mod rowset;
