//! Files that the server reads itself: BULK INSERT and OPENROWSET(BULK …).
//!
//! The files' formats are those of the room `formats`, so that the server and the client load the same file alike; what is
//! here decides which files may be read ([`access`]), turns the statement's options into a layout ([`layout`]), converts
//! values by the server's rules and words what is wrong as SQL Server does ([`rows`], [`fault`]).

pub(crate) mod access;
pub(crate) mod error_file;
pub(crate) mod fault;
pub(crate) mod layout;
pub(crate) mod rows;
pub(crate) mod rowset;

pub use access::FileAccess;
