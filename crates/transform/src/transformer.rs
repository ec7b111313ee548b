//! Makes transformations ready to run.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use copy::{BoxError, Lookup, PreparedTransformation, RowStream, TransformEngine, Transformation};
use load::ACTION_COLUMN;
use query::memory::{MemoryBudget, Reservation};
use query::streaming::{Feed, Streaming};
use query::{Cancellation, DateReading, Engine, Tables};
use rows::Form;
use tds::{Collation, Column};
use tokio::runtime::{Builder, Runtime};

use crate::error::TransformError;
use crate::file_folder::FileFolder;
use crate::file_functions::TransformFacts;
use crate::form_change::{Changed, FormChange};
use crate::gathered_rows::GatheredRows;
use crate::row_wise_rows::RowWiseRows;
use crate::source_columns::{SourceColumns, pseudo_columns, sql_columns};

/// The name of the source in queries.
const SOURCE: &str = "source";

/// The engine for transformations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transformer;

impl TransformEngine for Transformer {
    fn prepare(
        &self,
        transformation: &Transformation,
        source: SchemaRef,
        lookups: Vec<Lookup>,
    ) -> Result<Box<dyn PreparedTransformation>, BoxError> {
        Ok(Box::new(Prepared::new(transformation, &source, lookups)?))
    }
}

/// A transformation that is ready to run.
struct Prepared {
    query: Streaming,
    feed: Feed,
    input: SourceColumns,
    output: FormChange,
    runtime: Runtime,
    /// Share of the memory budget that lookups take.
    held: Reservation,
}

impl Prepared {
    fn new(
        transformation: &Transformation,
        source: &SchemaRef,
        lookups: Vec<Lookup>,
    ) -> Result<Prepared, TransformError> {
        let collation = match &transformation.collation {
            Some(name) => {
                Some(Collation::from_name(name).ok_or_else(|| TransformError::Collation(name.clone()))?)
            }
            None => None,
        };
        let text = query_text(transformation)?;
        let budget = MemoryBudget::new(transformation.memory_limit);
        let mut held = Reservation::new(&budget);
        let mut tables = Tables::new();
        let folder = transformation.files.as_deref().map(FileFolder::open).transpose()?;
        tables.set_facts(Arc::new(TransformFacts::new(folder)));
        let (columns, mut outputs) = sql_columns(SOURCE, source.fields(), collation)?;
        let own = outputs.len();
        outputs.extend(pseudo_columns());
        let feed = tables.add_stream(SOURCE, outputs);
        let mut names = vec![SOURCE.to_owned()];
        for lookup in lookups {
            if names.iter().any(|name| tsql::same_name(name, &lookup.name)) {
                return Err(TransformError::NameTwice(lookup.name));
            }
            names.push(lookup.name.clone());
            add_lookup(&mut tables, lookup, collation, &mut held, transformation.memory_limit)?;
        }
        let engine = Engine::new(&budget, None)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(TransformError::Start)?;
        let cancellation = Cancellation::new();
        let dates = DateReading::Copy(transformation.spelling);
        let planning = Streaming::plan(&engine, &tables, &text, &feed, dates, &cancellation);
        let query = runtime.block_on(planning)?;
        let reads = match &query {
            Streaming::RowWise(query) => query.reads().to_vec(),
            Streaming::Gathering(_) => (0..own + pseudo_columns().len() + 1).collect(),
        };
        let input = SourceColumns::new(source.fields(), &columns, &reads)?;
        let output = output_change(&query, &transformation.form)?;
        Ok(Prepared { query, feed, input, output, runtime, held })
    }
}

impl PreparedTransformation for Prepared {
    fn schema(&self) -> SchemaRef {
        self.output.schema()
    }

    fn is_row_wise(&self) -> bool {
        matches!(self.query, Streaming::RowWise(_))
    }

    fn apply(self: Box<Self>, source: RowStream) -> RowStream {
        let schema = self.schema();
        let Prepared { query, feed, input, output, runtime, held } = *self;
        let batches: Box<dyn Iterator<Item = _> + Send> = match query {
            Streaming::RowWise(query) => {
                Box::new(RowWiseRows::new(source, query, input, output, runtime, held))
            }
            Streaming::Gathering(query) => {
                Box::new(GatheredRows::new(source, query, &feed, input, output, runtime, held))
            }
        };
        RowStream { schema, batches }
    }
}

/// Writes the SELECT that the options mean.
fn query_text(transformation: &Transformation) -> Result<String, TransformError> {
    let Transformation { select, condition, query, action, .. } = transformation;
    if let Some(query) = query {
        return match select.is_none() && condition.is_none() && action.is_none() {
            true => Ok(query.clone()),
            false => Err(TransformError::Overfull),
        };
    }
    // A comment at the end of a part ends with its line.
    let mut list = select.clone().unwrap_or_else(|| "*".to_owned());
    if let Some(action) = action {
        list += &format!("\n, (\n{action}\n) AS [{ACTION_COLUMN}]");
    }
    Ok(match condition {
        Some(condition) => format!("SELECT {list}\nFROM {SOURCE} WHERE {condition}"),
        None => format!("SELECT {list}\nFROM {SOURCE}"),
    })
}

/// Makes the change from the query's result into the form that is wanted.
fn output_change(query: &Streaming, form: &Form) -> Result<FormChange, TransformError> {
    let columns = query.columns();
    for (at, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(TransformError::Nameless(at + 1));
        }
        if columns.iter().take(at).any(|other| tsql::same_name(&other.name, &column.name)) {
            return Err(TransformError::ColumnTwice(column.name.clone()));
        }
    }
    let exact = query::exact_schema(columns);
    let targets: Vec<Column> = columns.iter().map(|column| column.wire()).collect();
    FormChange::new(exact.fields(), targets, form)
        .map_err(|error| TransformError::Form { table: "the result".to_owned(), error })
}

/// Reads a lookup into memory.
fn add_lookup(
    tables: &mut Tables,
    lookup: Lookup,
    collation: Option<Collation>,
    held: &mut Reservation,
    limit: usize,
) -> Result<(), TransformError> {
    let Lookup { name, rows } = lookup;
    let fields = rows.schema.fields();
    let (columns, outputs) = sql_columns(&name, fields, collation)?;
    let change = FormChange::new(fields, columns, &Form::Exact)
        .map_err(|error| TransformError::Form { table: name.clone(), error })?;
    let mut batches: Vec<RecordBatch> = Vec::new();
    let mut before = 0;
    for batch in rows.batches {
        let failed = |row: u64, error: String| TransformError::LookupRow { lookup: name.clone(), row, error };
        let batch = batch.map_err(|error| failed(before, error.to_string()))?;
        if let Some(unread) = batch.unread().first() {
            return Err(failed(unread.origin.row, unread.error.to_string()));
        }
        let Changed { batch: exact, misfits, .. } = change.apply(batch.batch().columns(), batch.rows());
        if let Some(mut misfit) = misfits.into_iter().next() {
            misfit.error.row = before + u64::from(misfit.row);
            return Err(TransformError::LookupValue { lookup: name, error: Box::new(misfit.error) });
        }
        let too_large = |_| TransformError::LookupSize { lookup: name.clone(), limit };
        held.take(exact.get_array_memory_size()).map_err(too_large)?;
        before += batch.rows() as u64;
        batches.push(exact);
    }
    Ok(tables.add_rows(name, outputs, batches)?)
}
