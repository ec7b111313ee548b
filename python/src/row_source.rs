//! The source of a reader's rows: one connection, or several.

use std::time::Duration;

use arrow::array::RecordBatch;
use load::read::{Consistency, Gentle, ParallelRead, ReadOptions, Readers, RowSource, SplitPlan};
use load::{Error, LentClient, RowStream, TableName, Waited};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rows::Form;

use crate::parameters::Parameter;
use crate::{failure, interrupt};

/// Rows that are being read.
pub(crate) enum Rows {
    /// The connection itself reads.
    One(RowStream),
    /// Several connections, which only read.
    Several(Box<ParallelRead>),
}

impl Rows {
    /// Waits at most `patience` for the next batch; `None` is the end.
    pub(crate) fn next_within(&mut self, patience: Duration) -> Waited<Option<Result<RecordBatch, Error>>> {
        match self {
            Self::One(rows) => rows.next_within(patience),
            Self::Several(rows) => rows.next_within(patience),
        }
    }

    /// Waits for the next batch; `None` is the end.
    pub(crate) fn next_blocking(&mut self) -> Option<Result<RecordBatch, Error>> {
        match self {
            Self::One(rows) => rows.next_blocking(),
            Self::Several(rows) => rows.next_blocking(),
        }
    }
}

/// A read over several connections, from the keywords of `read`.
pub(crate) struct Wanted {
    source: RowSource,
    options: ReadOptions,
}

impl Wanted {
    /// Reads the dictionary that `bulkwire.Connection.read` makes of its keywords.
    pub(crate) fn from_python(
        py: Python<'_>,
        sql: Option<&str>,
        parameters: Vec<Parameter>,
        form: Form,
        batch_rows: usize,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let text = |name: &str| -> PyResult<Option<String>> {
            match options.get_item(name)? {
                Some(value) if !value.is_none() => value.extract().map(Some),
                _ => Ok(None),
            }
        };
        let source = match (sql, text("table")?) {
            (Some(sql), None) => RowSource::Query { sql: sql.to_owned(), parameters },
            (None, Some(table)) => {
                let name: TableName = table.parse().map_err(|error| failure::from_error(py, error))?;
                RowSource::table(name)
            }
            _ => return Err(failure::usage(py, "read takes a query, or table=…")),
        };
        let unknown =
            |name: &'static str| move |problem: String| failure::usage(py, format!("{name}: {problem}"));
        let readers = text("readers")?.unwrap_or_else(|| "1".to_owned());
        let consistent = text("consistent")?.unwrap_or_else(|| "none".to_owned());
        let is_gentle = match options.get_item("gentle")? {
            Some(value) => value.is_truthy()?,
            None => false,
        };
        let options = ReadOptions {
            readers: readers.parse::<Readers>().map_err(unknown("readers"))?,
            split_by: text("split_by")?,
            consistency: consistent.parse::<Consistency>().map_err(unknown("consistent"))?,
            gentle: is_gentle.then(Gentle::default),
            form,
            batch_rows: Some(batch_rows),
            ..ReadOptions::default()
        };
        Ok(Self { source, options })
    }

    /// Plans by the connection, which is free again then, and starts the readers. Returns the plan as it is printed, too.
    pub(crate) fn start(self, py: Python<'_>, client: LentClient) -> PyResult<(Box<ParallelRead>, String)> {
        client.check_transaction().map_err(|error| failure::from_error(py, error))?;
        if client.in_transaction() {
            return Err(failure::usage(
                py,
                "readers are connections of their own and do not see what the open transaction has done; commit it first",
            ));
        }
        let handle = client.cancel_handle();
        let Self { source, options } = self;
        let started = interrupt::run(
            py,
            move || {
                let mut client = client;
                let plan = SplitPlan::new(&mut client, source, &options)?;
                let shown = plan.to_string();
                let read = ParallelRead::start(&client, plan, &options)?;
                Ok((Box::new(read), shown))
            },
            // A connection that is gone needs no cancelling.
            || drop(handle.cancel()),
            |_| Ok(()),
        )?;
        started.map_err(|error| failure::from_error(py, error))
    }
}
