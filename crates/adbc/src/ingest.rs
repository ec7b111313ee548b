//! Ingestion: loads bound rows into a table.

use std::time::Duration;

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::IngestMode;
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use drivers::refusal::{invalid, refused};
use load::{
    BoxError, Client, KeyOrder, LoadError, LoadOptions, LoadWay, Mode, OrderEvidence, RetryPolicy, Strategy,
    TableName, WholeLoad, create_table_statement, drop_empty_statement, load_whole, make_table, roomy_length,
};
use rows::mapping::CreateOptions;

use crate::error::{from_failed_load, from_load};

/// Options of a statement that concern ingestion.
pub(crate) struct IngestOptions {
    pub(crate) mode: IngestMode,
    pub(crate) catalog: Option<String>,
    pub(crate) db_schema: Option<String>,
    pub(crate) temporary: bool,
    pub(crate) load: LoadOptions,
    /// Treatment of the rows of a table that is appended to, in this driver's words.
    pub(crate) table_mode: Option<String>,
    pub(crate) key: Vec<String>,
    pub(crate) strategy: Option<Strategy>,
    /// Connections, where an option says so; 0: as many as make the load faster.
    pub(crate) writers: Option<usize>,
    /// Seconds for which transient errors are tried again.
    pub(crate) retry_for: Option<u32>,
    /// All rows, if they were bound as one batch: the text columns of a new table then get lengths that fit.
    pub(crate) sample: Option<RecordBatch>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            mode: IngestMode::Create,
            catalog: None,
            db_schema: None,
            temporary: false,
            load: LoadOptions::default(),
            table_mode: None,
            key: Vec::new(),
            strategy: None,
            writers: None,
            retry_for: None,
            sample: None,
        }
    }
}

/// An ingestion into a table.
pub(crate) struct Ingest<'a> {
    pub(crate) target: &'a str,
    pub(crate) options: &'a IngestOptions,
}

impl Ingest<'_> {
    /// Creates the table as the mode says, loads, and returns the number of rows.
    pub(crate) fn run(&self, client: &mut Client, rows: Box<dyn RecordBatchReader + Send>) -> Result<u64> {
        let table = self.table()?;
        let schema = rows.schema();
        let way = self.way()?;
        let is_made = self.prepare(client, &table, &schema)?;
        let IngestOptions { writers, retry_for, .. } = self.options;
        let connections = writers.map_or(Some(1), |writers| (writers > 0).then_some(writers));
        let options = LoadOptions { may_stage: true, ..self.options.load.clone() };
        let load = WholeLoad {
            table: &table,
            way,
            options: &options.with_writers(connections),
            writers: connections,
            retry: RetryPolicy::lasting(Duration::from_secs(retry_for.unwrap_or(0).into())),
            ledger: None,
            watch: &(),
            order: self,
        };
        let done = load_whole(client, &load, &schema, rows, &mut |_| {});
        if is_made
            && done.as_ref().is_err_and(|error| error.rows_committed == 0 && error.rows_in_doubt == 0)
            && !client.is_broken()
        {
            // The next try would stumble over it. The first error matters more than that of this.
            let _ = client.execute(&drop_empty_statement(&table));
        }
        let done = done.map_err(|error| self.failed(error))?;
        let published = done.published.map(|done| done.inserted.saturating_add(done.updated));
        Ok(published.unwrap_or_else(|| done.loaded.map_or(0, |loaded| loaded.load.rows_stored())))
    }

    fn failed(&self, error: LoadError) -> Error {
        match error.source {
            load::Error::Plan(_) => {
                let error = from_load(error.source);
                // ADBC's status for rows that are appended to a table of other columns.
                let status = if self.appends() { Status::AlreadyExists } else { error.status };
                Error { status, ..error }
            }
            _ => from_failed_load(error),
        }
    }

    /// Returns the treatment of rows that are there, if an option names one.
    fn way(&self) -> Result<LoadWay> {
        let IngestOptions { table_mode, key, strategy, .. } = self.options;
        if table_mode.is_none() && strategy.is_none() && key.is_empty() {
            return Ok(LoadWay::default());
        }
        if !self.appends() {
            let text =
                "bulkwire.ingest.mode, .key and .strategy are for the ingest modes append and create_append";
            return Err(refused(Status::InvalidState, text));
        }
        let mode = Mode::parse(table_mode.as_deref().unwrap_or("append"), key.clone());
        let mode = mode.map_err(|error| invalid(error.to_string()))?;
        Ok(LoadWay { mode, strategy: strategy.unwrap_or_default(), is_named: true })
    }

    fn appends(&self) -> bool {
        matches!(self.options.mode, IngestMode::Append | IngestMode::CreateAppend)
    }

    fn table(&self) -> Result<TableName> {
        let IngestOptions { catalog, db_schema, temporary, .. } = self.options;
        if *temporary && (catalog.is_some() || db_schema.is_some()) {
            return Err(invalid("a temporary table has neither a catalog nor a schema"));
        }
        let marked = *temporary && !self.target.starts_with('#');
        let name = if marked { format!("#{}", self.target) } else { self.target.to_owned() };
        Ok(TableName { database: catalog.clone(), schema: db_schema.clone(), name })
    }

    /// Makes the table as the mode says. Whether it was made.
    fn prepare(&self, client: &mut Client, table: &TableName, schema: &Schema) -> Result<bool> {
        let exists = match client.describe_recent(table) {
            Ok(_) => true,
            Err(load::Error::NoTable { .. }) => false,
            Err(error) => return Err(from_load(error)),
        };
        match (self.options.mode, exists) {
            (IngestMode::Append | IngestMode::CreateAppend, true) => Ok(false),
            (IngestMode::Append, false) => {
                Err(refused(Status::NotFound, format!("table {table} does not exist")))
            }
            (IngestMode::Create, true) => {
                Err(refused(Status::AlreadyExists, format!("table {table} exists already")))
            }
            (IngestMode::Replace, true) => {
                client.execute(&format!("DROP TABLE {table}")).map_err(from_load)?;
                self.create(client, table, schema).map(|()| true)
            }
            (IngestMode::Create | IngestMode::Replace | IngestMode::CreateAppend, false) => {
                self.create(client, table, schema).map(|()| true)
            }
        }
    }

    fn create(&self, client: &mut Client, table: &TableName, schema: &Schema) -> Result<()> {
        let lengths: Vec<Option<u64>> = match &self.options.sample {
            Some(batch) => batch.columns().iter().map(longest).collect::<std::result::Result<_, _>>()?,
            None => vec![None; schema.fields().len()],
        };
        let without_vectors = client.server_info().vectors == 0;
        let statement = create_table_statement(table, schema, |index, _| CreateOptions {
            without_vectors,
            max_length: lengths.get(index).copied().flatten().map(roomy_length),
            ..CreateOptions::default()
        });
        make_table(client, table, &statement.map_err(from_load)?).map_err(from_load)
    }
}

impl OrderEvidence for Ingest<'_> {
    /// Looks for the key's order in the sample, which has all rows.
    fn find(&self, order: &KeyOrder) -> std::result::Result<Option<String>, BoxError> {
        let Some(batch) = &self.options.sample else { return Ok(None) };
        let is_sorted = order.holds_for([Ok::<_, ArrowError>(batch.clone())])?;
        Ok(is_sorted.then(|| "the key of the bound rows was read".to_owned()))
    }
}

/// Counts the UTF-16 units of the longest text, or the bytes of the longest binary, of a column that has
/// such.
fn longest(array: &arrow::array::ArrayRef) -> std::result::Result<Option<u64>, Error> {
    use arrow::array::AsArray;
    use arrow::compute::cast;
    use arrow::datatypes::DataType;
    let longest = match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = cast(array, &DataType::LargeUtf8)?;
            texts.as_string::<i64>().iter().flatten().map(|text| text.encode_utf16().count()).max()
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let binaries = cast(array, &DataType::LargeBinary)?;
            binaries.as_binary::<i64>().iter().flatten().map(<[u8]>::len).max()
        }
        _ => return Ok(None),
    };
    Ok(Some(longest.unwrap_or_default() as u64))
}
