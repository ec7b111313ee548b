//! Queries over a stream of batches, one of whose tables is the stream: what a transformation of rows on their way is.
//!
//! A query in which each row comes of one row of the stream runs batch by batch ([`RowWise`]). Conditions and select
//! lists are evaluated here, and a join finds the other tables hashed once. A value that cannot be computed then costs
//! its row alone. A query that must see all rows, as ORDER BY does, runs as one plan ([`Gathering`]).

mod carried_row;
mod evaluation;
mod gathering;
mod readings;
mod row_wise;
mod source_rows;
mod streamed_join;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use tsql::SqlError;

use crate::bind::OutputColumn;
use crate::output_column::exact_schema;
use crate::planner::physical_plan;
use crate::running::Running;
use crate::scalar::plan_error;
use crate::size::check_plan;
use crate::standalone::{Tables, parsed_query};
use crate::unordered::without_unordered;
use crate::{Cancellation, DateReading, Engine};

pub use gathering::Gathering;
pub use row_wise::{FailedRow, Portion, RowWise, Transformed};
pub use source_rows::Feed;
pub(crate) use source_rows::is_stream;

/// The column that numbers the rows of a batch. No name of a user begins with a blank and is found by it.
pub(crate) const ROW_COLUMN: &str = " row";
/// A call that changes something outside of the query. The caller of [`Streaming::plan`] binds it under this name.
pub const ACTING_CALL: &str = "WRITE_FILE";

/// A query over a stream, ready to run.
pub enum Streaming {
    /// Batch by batch.
    RowWise(RowWise),
    /// All rows at once.
    Gathering(Gathering),
}

impl Streaming {
    /// Plans a SELECT over `tables`, one of which `feed` fills. `dates` says how texts become dates.
    ///
    /// # Errors
    /// The SELECT has wrong syntax, names or types; 40515 if it reads the stream more than once.
    pub async fn plan(
        engine: &Engine,
        tables: &Tables,
        text: &str,
        feed: &Feed,
        dates: DateReading,
        cancellation: &Cancellation,
    ) -> Result<Streaming, SqlError> {
        let (query, line) = parsed_query(text)?;
        let at_line = |error: SqlError| if error.line == 0 { error.at_line(line) } else { error };
        let running = Running::new(cancellation, engine.memory()).reading_dates(dates);
        let planned = |query: tsql::query::Query| async move {
            let bound = tables.bind_query(&query)?;
            check_plan(&bound.plan)?;
            let plan = physical_plan(&engine.state, &bound.plan).await.map_err(plan_error)?;
            let plan =
                without_unordered(plan).and_then(streamed_join::with_stream_probing).map_err(plan_error)?;
            let readings = readings::readings(&bound.plan).map_err(plan_error)?;
            Ok::<_, SqlError>((plan, bound.columns, readings))
        };
        let (plan, columns, readings) = running.clone().all(planned(query.clone())).await.map_err(at_line)?;
        if readings > 1 {
            let text = "The source is read once: name it once in the query.";
            return Err(SqlError::new(40515, 16, 1, text).at_line(line));
        }
        let result = ResultColumns::new(&columns);
        let context = Arc::clone(&engine.context);
        if streamed_join::is_chain(&plan) {
            return Ok(Streaming::RowWise(RowWise::of_chain(&plan, result, running)?));
        }
        let mut numbered = query;
        if streamed_join::is_row_wise(&plan) && carried_row::carry(&mut numbered, feed.name()) {
            let (plan, ..) = running.clone().all(planned(numbered)).await.map_err(at_line)?;
            if streamed_join::is_row_wise(&plan) {
                return RowWise::of_joins(plan, result, feed, running, context).await.map(Streaming::RowWise);
            }
        }
        Gathering::new(plan, result, running, context, cancellation).map(Streaming::Gathering)
    }

    /// Returns the columns of the result.
    pub fn columns(&self) -> &[OutputColumn] {
        match self {
            Streaming::RowWise(query) => &query.result().columns,
            Streaming::Gathering(query) => &query.result().columns,
        }
    }
}

/// The columns of a result, and the schema of its batches.
#[derive(Debug, Clone)]
pub(crate) struct ResultColumns {
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) schema: SchemaRef,
}

impl ResultColumns {
    fn new(columns: &[OutputColumn]) -> ResultColumns {
        let mut columns = columns.to_vec();
        for column in &mut columns {
            column.flags = tds::ColumnFlags(column.flags.0 & !tds::ColumnFlags::HIDDEN);
        }
        let schema = exact_schema(&columns);
        ResultColumns { columns, schema }
    }
}

/// The context in which plans run.
type Context = Arc<TaskContext>;
