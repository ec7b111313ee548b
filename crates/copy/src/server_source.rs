//! A table, a view or a query of SQL Server as a source.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use load::{
    Beginning, Client, KeyOrder, SourceBatch, SourceIdentity, TableName, TableShape, Waited,
    read::{ParallelRead, ReadOptions, RowGate, RowSource, SplitPlan},
};
use rows::{Form, is_spliced, mapping::note_of_offsets};
use tds::Column;

use crate::{
    endpoint::SqlServerEndpoint,
    error::CopyError,
    row_stream::{BoxError, RowStream},
    rowversions::{with_schema, without_rowversions},
    source::{Description, ReadForm, Repeat, Source, Undecoded},
};

/// The rows to read: a table or a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerRows {
    /// A table or a view.
    Table(TableName),
    /// The result of a query.
    Query(String),
}

/// Rows of a database.
pub struct ServerSource {
    endpoint: SqlServerEndpoint,
    rows: ServerRows,
    options: ReadOptions,
    /// The read that has described the source and has not been handed out.
    started: Option<(bool, Started)>,
    /// Refused rows are shown by their values.
    shows_rows: bool,
}

struct Started {
    read: ParallelRead,
    /// Decides whether rows are decoded.
    gate: RowGate,
    /// The columns of the answer.
    columns: Vec<Column>,
    schema: SchemaRef,
    count: Option<u64>,
    /// The columns of a unique key in whose order rows come, with "descending".
    key: Vec<(String, bool)>,
    notes: Vec<String>,
}

impl ServerSource {
    /// Makes a source of an endpoint's table, or of a query.
    ///
    /// # Errors
    /// Neither is named, or both are.
    pub fn new(
        endpoint: SqlServerEndpoint,
        query: Option<String>,
        options: ReadOptions,
    ) -> Result<Self, CopyError> {
        let rows = match (endpoint.table.clone(), query) {
            (Some(table), None) => ServerRows::Table(table),
            (None, Some(query)) => ServerRows::Query(query),
            (Some(table), Some(_)) => {
                return Err(CopyError::Usage(format!(
                    "--query takes the place of the table {table}: name one of them"
                )));
            }
            (None, None) => {
                return Err(CopyError::Usage(format!(
                    "{endpoint}: name a table (mssql://host/database/schema.table), --query or --tables"
                )));
            }
        };
        Ok(Self { endpoint, rows, options, started: None, shows_rows: false })
    }

    /// Returns the table or query that is read.
    pub fn rows(&self) -> &ServerRows {
        &self.rows
    }

    fn beginning(&self) -> Beginning<'_> {
        Beginning { retry: self.options.beginning, hears: &self.options.hears }
    }

    fn connect(&self) -> Result<Client, CopyError> {
        let connected = self.beginning().connect(&self.endpoint.config);
        connected.map_err(|error| CopyError::client(self.endpoint.to_string(), error))
    }

    fn failed(&self, error: load::Error) -> CopyError {
        CopyError::client(self.name(), error)
    }

    fn start(&self, is_exact: bool) -> Result<Started, CopyError> {
        let mut client = self.connect()?;
        let form = if is_exact { Form::Exact } else { self.options.form.clone() };
        let options = ReadOptions { form, ..self.options.clone() };
        let (source, described) = match &self.rows {
            ServerRows::Table(table) => {
                let described = self.beginning().run(&mut client, &mut |client| client.describe(table));
                let described =
                    described.map_err(|error| self.failed(load::name_nearest(&mut client, table, error)))?;
                (RowSource::table(table.clone()), Some(described))
            }
            ServerRows::Query(query) => (RowSource::query(query.clone()), None),
        };
        let plan = self
            .beginning()
            .run(&mut client, &mut |client| SplitPlan::new(client, source.clone(), &options))
            .map_err(|error| self.failed(error))?;
        let key = plan.unique_key().map(|(name, descending)| (name.to_owned(), descending)).collect();
        let notes = plan.to_string().lines().map(str::to_owned).collect();
        let started = ParallelRead::start_undecided(client, plan, &options);
        let (mut read, gate) = started.map_err(|error| self.failed(error))?;
        let columns = read.columns(None).map_err(|error| self.failed(error))?;
        let Waited::Ready((columns, schema)) = columns else {
            return Err(self.failed(load::Error::Cancelled));
        };
        if columns.is_empty() {
            return Err(CopyError::Usage(format!("{}: the query returns no result", self.name())));
        }
        // The catalogue knows better than a result what takes no NULL.
        let schema = match &described {
            Some(table) => {
                let refined = table.refined(columns.clone());
                let fields =
                    schema.fields().iter().zip(&refined).map(|(field, column)| {
                        field.as_ref().clone().with_nullable(column.flags.is_nullable())
                    });
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            }
            None => schema,
        };
        let count = described.filter(|table| !table.is_view).map(|table| table.rows);
        Ok(Started { read, gate, columns, schema, count, key, notes })
    }

    /// Returns the read that is under way in this form, or a new one.
    fn started(&mut self, form: ReadForm) -> Result<&Started, CopyError> {
        if self.started.as_ref().is_none_or(|(is_exact, _)| *is_exact != form.is_exact) {
            self.started = None;
            self.started = Some((form.is_exact, self.start(form.is_exact)?));
        }
        match &self.started {
            Some((_, started)) => Ok(started),
            None => Err(self.failed(load::Error::Cancelled)),
        }
    }
}

impl Source for ServerSource {
    fn name(&self) -> String {
        match &self.rows {
            ServerRows::Table(_) => self.endpoint.to_string(),
            ServerRows::Query(_) => format!("a query of {}", self.endpoint),
        }
    }

    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError> {
        let started = self.started(form)?;
        let notes = started.notes.iter().cloned().chain(note_of_offsets(&started.schema));
        Ok(Description {
            schema: without_rowversions(&started.schema),
            rows: started.count,
            bytes: None,
            has_names: true,
            notes: notes.collect(),
        })
    }

    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError> {
        self.started(form)?;
        let name = self.name();
        let Some((_, Started { mut read, gate, schema, .. })) = self.started.take() else {
            return Err(self.failed(load::Error::Cancelled));
        };
        let shown = without_rowversions(&schema);
        let of_batches = Arc::clone(&shown);
        let batches = std::iter::from_fn(move || {
            // Unless the destination has decided otherwise.
            gate.open(None);
            let batch = read.next_blocking()?;
            Some(match batch {
                Ok(batch) if is_spliced(&batch) => Ok(SourceBatch::from(batch)),
                Ok(batch) => with_schema(batch, &of_batches).map(SourceBatch::from).map_err(BoxError::from),
                Err(error) => Err(CopyError::client(name.clone(), error).into()),
            })
        });
        Ok(RowStream { schema: shown, batches: Box::new(batches) })
    }

    fn undecoded(&mut self, form: ReadForm) -> Result<Undecoded, CopyError> {
        if self.shows_rows {
            return Ok(Undecoded::Never("refused rows are shown by their values"));
        }
        let Started { gate, columns, .. } = self.started(form)?;
        Ok(Undecoded::Rows { columns: columns.clone(), gate: gate.clone() })
    }

    fn collect_unread(&mut self) {
        self.shows_rows = true;
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        let ServerRows::Table(table) = self.rows.clone() else {
            return Ok(Repeat::No(
                "a query has no order that is the same every time; name a table with a unique clustered key"
                    .to_owned(),
            ));
        };
        let is_exact = self.started.as_ref().is_none_or(|(is_exact, _)| *is_exact);
        if self.started(ReadForm { is_exact, is_typed: false })?.key.is_empty() {
            return Ok(Repeat::No(format!(
                "the rows of {table} have no order that is the same every time: it has no unique clustered key"
            )));
        }
        let name = format!("{} as bulkwire reads it", self.endpoint);
        // Others may change the table meanwhile. Rows that were committed before are compared.
        Ok(Repeat::InOrder(SourceIdentity { name, fingerprint: String::new() }))
    }

    fn follows(&mut self, form: ReadForm, order: &KeyOrder) -> Result<Option<&'static str>, CopyError> {
        let started = self.started(form)?;
        let fields = started.schema.fields();
        let wanted = order.key.iter().zip(&order.sources);
        let wanted = wanted
            .map(|((_, descending), index)| (fields.get(*index).map(|field| field.name()), *descending));
        let known = started.key.iter().map(|(name, descending)| (Some(name), *descending));
        // The first columns of a unique key are sorted, but not unique.
        let is_known = match order.is_unique {
            true => wanted.eq(known),
            false => order.key.len() <= started.key.len() && wanted.eq(known.take(order.key.len())),
        };
        Ok(is_known.then_some("rows come in the order of the source's key"))
    }

    fn table_shape(&mut self) -> Result<Option<TableShape>, CopyError> {
        let ServerRows::Table(table) = &self.rows else { return Ok(None) };
        let mut client = self.connect()?;
        let described = self.beginning().run(&mut client, &mut |client| client.describe(table));
        let described = described.map_err(|error| self.failed(error))?;
        let in_other =
            table.database.as_ref().is_some_and(|name| !name.eq_ignore_ascii_case(client.database()));
        if described.is_view || table.is_temporary() || in_other {
            return Ok(None);
        }
        let read = self.beginning().run(&mut client, &mut |client| TableShape::read(client, table));
        read.map(Some).map_err(|error| self.failed(error))
    }
}
