//! The client: connect to a server, load tables and export them.
//!
//! Blocking I/O over the standard library's sockets and rustls, and threads where work overlaps.
//!
//! | Module | What it is |
//! |---|---|
//! | [`config`] | connection strings and URLs |
//! | [`tcp`], [`tls`] | connecting to the server; `login` completes it |
//! | [`Client`] | batches, queries, calls, transactions, cancelling |
//! | [`TableDescription`] | what a load needs to know of a table |
//! | [`LoadPlan`] | every choice of a load, with its reason |
//! | [`load_parallel`] | the load itself, over one connection or several, with [`Ledger`] and [`RetryPolicy`]; [`load`](load()) in its simplest form |
//! | [`Tolerance`] | what becomes of the rows that cannot be loaded |
//! | [`BulkLoad`] | one connection's part, in one thread |
//! | [`TaskStage`] | a table that takes the rows of many processes, until one transaction publishes them |
//! | [`stage`] | tables that hold a load's rows until the target takes them all at once |
//! | [`forecast`] | what a load will take, before it begins |
//! | [`observation`] | figures of a running load, from the client and from the server |
//! | [`export`](export()) | results to a sink |
//! | [`read`] | a table or query by several connections |
//!
//! ```no_run
//! use bulkwire_load as load;
//! use load::{Client, Config, LoadOptions, LoadPlan, TableName};
//! # fn batches() -> (arrow::datatypes::SchemaRef, Vec<Result<arrow::record_batch::RecordBatch, std::io::Error>>) {
//! #     (arrow::datatypes::SchemaRef::new(arrow::datatypes::Schema::empty()), Vec::new())
//! # }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::connect(&Config::parse("mssql://sa:${env:SA_PASSWORD}@localhost/sales")?)?;
//! let table = client.describe(&"dbo.orders".parse::<TableName>()?)?;
//! let (schema, source) = batches();
//! let plan = LoadPlan::new(&client, &table, &schema, &LoadOptions::default())?;
//! println!("{plan}");
//! let report = load::load(&mut client, &plan, source.into_iter(), &mut |_| {})?;
//! println!("{report}");
//! # Ok(())
//! # }
//! ```

pub mod config;
pub mod forecast;
pub mod observation;
pub mod read;
pub mod report;
pub mod stage;
pub mod tcp;
pub mod tls;

mod beginning;
mod bulk;
mod bulk_insert;
mod catalogue_row;
mod client;
mod create_table;
mod describe;
mod doubt;
mod error;
mod export;
mod federated;
mod interruption;
mod kerberos;
mod key_order;
mod lanes;
mod load;
mod load_error;
mod login;
mod missing_table;
mod options;
mod parallel;
mod plan;
mod platform;
mod reject;
mod result;
pub mod retry;
mod session;
mod shared_client;
mod source;
mod source_head;
mod table_load;
mod table_name;
mod task_stage;
mod trace;
mod transport;
mod upsert;
mod value_order;
mod value_table;
mod whole_load;

pub use beginning::Beginning;
pub use bulk::{BulkLoad, BulkProgress};
pub use bulk_insert::{BulkInsertOptions, bulk_insert_statement};
pub use client::{CancelHandle, Client, ExecuteResult};
pub use config::{Config, ConfigError, VectorSupport};
pub use create_table::{
    create_schema_statement, create_table_statement, creation_script, drop_empty_statement, make_table,
    roomy_length, roomy_schema, unsized_advice,
};
pub use describe::{
    ColumnDescription, ColumnEncryption, ConstraintDescription, DatabaseDescription, IndexDescription,
    Partitioning, RecoveryModel, Storage, TableDescription, TriggerDescription, encrypted_columns,
};
pub use doubt::{Finding, Look};
pub use error::{Error, ServerError};
pub use export::{export, table_query};
pub use forecast::{Circumstances, Forecast, Forecaster};
pub use interruption::Interruption;
pub use key_order::{KeyOrder, OrderEvidence};
pub use lanes::Routing;
pub use load::load;
pub use load_error::{FailedBatch, LoadError, Progress};
pub use login::{Encryption, LoginError, ServerInfo};
pub use missing_table::name_nearest;
pub use observation::{Observation, Observed};
pub use options::{BatchTransaction, Connections, LoadOptions, SourceFacts};
pub use parallel::{
    BoxError, CommitWatch, CommittedBatch, CommittedChunk, Ledger, LedgerLoad, LedgerPlace, Limit,
    LoadIdentity, LoadState, ParallelOptions, ParallelReport, ParallelSource, RampStep, RetryNote, RowRanges,
    SourceBatches, SourceIdentity, Writers, load_parallel,
};
pub use plan::{Choice, CountRule, LoadPlan};
pub use reject::{RejectReason, RejectedRow, Tolerance};
pub use report::{ExportReport, LoadReport, Phases};
pub use result::{BATCH_ROWS, ResultStream};
pub use retry::RetryPolicy;
pub use shared_client::{LentClient, Query, RowStream, SharedClient, Unavailable, Waited};
pub use source::{Origin, Origins, SourceBatch, UnreadRow};
pub use stage::{
    ACTION_COLUMN, Mode, Published, RowAction, Stage, StageError, StagePlan, Strategy, TableShape,
};
pub use table_load::{Ending, LoadWay, TableLoad, forget_load};
pub use table_name::{TableName, literal, quoted};
pub use task_stage::{Gathered, TASK_COLUMN, TaskJob, TaskRows, TaskStage};
pub use upsert::{UpsertReport, upsert};
pub use value_table::{ValueTable, first_value};
pub use whole_load::{WholeLoad, WholeReport, load_whole};
