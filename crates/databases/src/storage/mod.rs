//! Storage of rows: the databases of a server, each with a store of pages of its own (`docs/store-engine.md`), tempdb among them, and
//! transactions over several of them.

mod adopted;
mod altering;
mod columns;
mod database;
mod database_transaction;
mod databases;
mod databases_transaction;
mod directory;
mod error;
mod figures;
mod folders;
mod isolation;
mod key_width;
mod keyed_table;
mod logging;
mod owners;
mod page_rows;
mod scan;
mod shown_row;
mod side_writer;
mod table_info;
mod text_order;
mod transaction_table;
mod trees;

pub use altering::AlteredTable;
pub use isolation::{ReadLock, Reads};
pub use logging::{LoadLogging, LoggingCondition};
pub use query::{Bound, KeyRange, KeySpan};
pub use store::{ResourceLimits, ServiceTier};

pub(crate) use columns::shown_value;
pub use database::Database;
pub(crate) use database::same_text;
pub use databases::Databases;
pub use databases_transaction::{Savepoint, Snapshot, Transaction};
pub use directory::OpenError;
pub use error::StoreError;
pub use figures::{
    DatabaseFigures, Figures, IndexPages, LOG_FILE_ID, all_caches, file_id, index_of, page_text,
    waits_by_type,
};
pub use folders::{DirectoryFolders, Folders, MARK};
pub(crate) use key_width::stored_bytes;
pub use key_width::{KeyWidth, is_key_column};
pub use page_rows::{CellPrefix, PageCell, PageRows, ScannedRows};
pub use scan::{LocatedScan, Scan};
pub(crate) use shown_row::shown_row;
pub use side_writer::SideWriter;
pub use store::{ColumnSource, RowLocator};
pub use store::{CopyRefusal, LengthPrefix, ValueContent, ValueForm, WireForm, WireRowCopier, WireRows};
pub use table_info::{LockMode, TableId, TableInfo};
pub use transaction_table::TransactionTable;
pub use trees::holds_filter;
