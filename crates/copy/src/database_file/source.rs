//! The rows of a table of such files.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use database_files::{DatabaseFile, Table, TableReader};
use load::{SourceBatch, TableShape};
use rows::{
    Form,
    mapping::{field_for, note_of_offsets},
};

use super::{endpoint::DatabaseFileEndpoint, shape::table_shape};
use crate::{
    error::CopyError,
    row_stream::{BoxError, RowStream},
    rowversions::{with_schema, without_rowversions},
    source::{Description, ReadForm, Repeat, Source},
};

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Threads that read one table, at most.
const THREADS_MAX: usize = 4;

/// The settings by which a file of SQL Server is read.
#[derive(Debug, Clone)]
pub struct DatabaseFileRead {
    /// The files and the table.
    pub endpoint: DatabaseFileEndpoint,
    /// The form of types that have several.
    pub form: Form,
}

/// Rows of a table of such files.
pub struct DatabaseFileSource {
    read: DatabaseFileRead,
    database: Arc<DatabaseFile>,
    table: usize,
}

impl DatabaseFileSource {
    /// Opens the files, and finds the table.
    ///
    /// # Errors
    /// They cannot be opened, or have no such table.
    pub fn new(read: DatabaseFileRead) -> Result<Self, CopyError> {
        let database = read.endpoint.open()?;
        let table = read.endpoint.table_index()?;
        Ok(Self { read, database, table })
    }

    fn table(&self) -> Result<Table, CopyError> {
        let table = self.database.tables().get(self.table).map(|table| (*table).clone());
        table.ok_or_else(|| CopyError::Usage(format!("{}: there is no such table", self.name())))
    }

    fn form(&self, form: ReadForm) -> Form {
        if form.is_exact { Form::Exact } else { self.read.form.clone() }
    }

    fn schema(&self, table: &Table, form: ReadForm) -> SchemaRef {
        let form = self.form(form);
        let fields = table.stored_columns().map(|column| {
            let wire =
                tds::Column::new(&column.name, column.sql_type.clone(), column.is_nullable, column.collation);
            field_for(&wire, &form)
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl Source for DatabaseFileSource {
    fn name(&self) -> String {
        self.read.endpoint.to_string()
    }

    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError> {
        let table = self.table()?;
        if let Some(reason) = &table.unreadable {
            return Err(CopyError::endpoint(self.name(), format!("table {}: {reason}", table.full_name())));
        }
        let schema = self.schema(&table, form);
        let mut notes = Vec::new();
        let computed: Vec<&str> = table
            .columns
            .iter()
            .filter(|column| column.computed.is_some())
            .map(|column| column.name.as_str())
            .collect();
        if !computed.is_empty() {
            notes
                .push(format!("{}: computed columns, whose values are not in the file", computed.join(", ")));
        }
        notes.extend(note_of_offsets(&schema));
        Ok(Description {
            schema: without_rowversions(&schema),
            rows: table.rows,
            bytes: table.bytes,
            has_names: true,
            notes,
        })
    }

    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(THREADS_MAX));
        let reader: TableReader = self
            .database
            .read(self.table, self.form(form), BATCH_ROWS, threads)
            .map_err(|error| CopyError::Stream(error.into()))?;
        let shown = without_rowversions(&reader.schema);
        let of_batches = Arc::clone(&shown);
        let batches = reader.map(move |batch| match batch {
            Ok(batch) => with_schema(batch, &of_batches).map(SourceBatch::from).map_err(BoxError::from),
            Err(error) => Err(BoxError::from(error)),
        });
        Ok(RowStream { schema: shown, batches: Box::new(batches) })
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        let fingerprint = self.read.endpoint.fingerprint()?;
        Ok(Repeat::InOrder(load::SourceIdentity { name: self.name(), fingerprint }))
    }

    fn table_shape(&mut self) -> Result<Option<TableShape>, CopyError> {
        Ok(Some(table_shape(&self.table()?)))
    }
}
