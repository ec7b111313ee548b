//! Tables of files that SQL Server wrote, without a server: data files (.mdf, .ndf), backups (.bak) and packages (.bacpac).
//!
//! | Module | What it is |
//! |---|---|
//! | [`DatabaseFile`] | a file of whichever kind |
//! | [`PagedDatabase`] | a database in data files or backups |
//! | [`Package`] | a database in a package |
//! | [`Table`] and its parts | what a file defines |
//! | [`BackupFile`], [`BackupWriter`] | label and headers of a file of backups; the embedded server's backups |
//! | `backup` | the container of a backup, plain and compressed |
//! | `image` | where each page lies in the files |
//! | `pages`, `records` | pages, rows and large values, byte by byte |
//! | `catalogue` | the system tables |
//! | `log` | pages that only the log makes final |
//! | `scan` | the rows of a table as record batches |
//! | `compressed_value`, `scsu` | values of compressed rows, restored |
//! | `row_writer`, `stored_value`, `wire_row` | rows and values in the form in which a server sends them, which `rows` decodes |
//!
//! Every structure is checked where it is read: checksums, addresses, lengths, links. Bytes that do not agree are an error with the
//! page and the slot, never a row.

mod backup;
mod backup_file;
mod catalogue;
mod compressed_value;
mod database;
mod database_file;
mod definition;
mod description;
mod error;
mod image;
mod little_endian;
mod log;
mod packages;
mod pages;
mod parallel;
mod random_access;
mod reading;
mod records;
mod row_writer;
mod scan;
mod scsu;
mod stored_value;
mod wire_row;

pub use backup::{BackupHeader, BackupKind, BackupWriter, HeaderFile, Lsn, MediaLabel, Moment};
pub use backup_file::{BackupFile, OwnBackup};
pub use database::PagedDatabase;
pub use database_file::{DatabaseFile, SUFFIXES, is_database_file};
pub use definition::{
    Action, Check, Column, Computed, Default, ForeignKey, Identity, Index, KeyKind, Module, Table,
};
pub use description::{Description, Origin};
pub use error::{FileError, Reason, Result};
pub use packages::{DatabaseProperties, Package, PackageWriter, TableWriter};
pub use random_access::{InMemory, LocalFile, ReadAt};
pub use reading::TableReader;
