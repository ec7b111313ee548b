//! OUTPUT: returns the changed rows of a statement, or puts them into another table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use databases::catalogue::{TableDefinition, same_name};
use databases::table::InputRows;
use query::{Binder, BoundQuery, JoinedRows, OutputColumn, exact_schema};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Output as OutputClause, OutputInto};
use tsql::expression::Expr;
use tsql::query::SelectItem;

use crate::session::Session;
use crate::session::fired::Event;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{Response, ResultColumns};
use crate::statements::dml::change::take_rows;
use crate::statements::dml::destination;
use crate::statements::dml::fire::{fires, note_inserted};
use crate::statements::dml::target::{Chosen, output_columns};
use crate::statements::evaluation::environment::SessionEnvironment;

/// The result of an OUTPUT clause.
pub(crate) struct Shown {
    columns: ResultColumns,
    batches: Vec<RecordBatch>,
}

/// The tables that OUTPUT can name, side by side: a row for each changed row.
#[derive(Default)]
pub(crate) struct RowSet {
    columns: Vec<(String, OutputColumn)>,
    arrays: Vec<ArrayRef>,
    rows: Option<usize>,
}

impl RowSet {
    /// Adds a table's columns under a name.
    pub fn table(
        &mut self,
        name: &str,
        definition: &TableDefinition,
        batch: RecordBatch,
    ) -> Result<(), SqlError> {
        for (column, array) in output_columns(definition).into_iter().zip(batch.columns()) {
            self.column(name, column, Arc::clone(array))?;
        }
        self.rows = Some(batch.num_rows());
        Ok(())
    }

    /// Adds one column.
    pub fn column(&mut self, table: &str, column: OutputColumn, array: ArrayRef) -> Result<(), SqlError> {
        if self.rows.is_some_and(|rows| rows != array.len()) {
            return Err(SqlError::internal("OUTPUT of tables of unequal length"));
        }
        self.rows = Some(array.len());
        self.columns.push((table.to_string(), column));
        self.arrays.push(array);
        Ok(())
    }

    /// Adds the columns of other tables of FROM that [`further_items`] asked for, of the matches `picks`. They stand behind
    /// the first `skip` ones.
    pub fn further(&mut self, chosen: &Chosen, skip: usize, picks: &[usize]) -> Result<(), SqlError> {
        let values = take_rows(&chosen.values, picks)?;
        for (column, array) in chosen.columns.iter().zip(values.columns()).skip(skip) {
            // The alias of such an item is `table.column`, or `column` alone.
            let (table, name) = column.name.split_once(SEPARATOR).unwrap_or(("", &column.name));
            let column = OutputColumn { name: name.to_string(), ..column.clone() };
            self.column(table, column, Arc::clone(array))?;
        }
        Ok(())
    }

    /// Returns the rows in the form for the binder.
    pub fn joined(self) -> Result<JoinedRows, SqlError> {
        let fields: Vec<Field> = self
            .arrays
            .iter()
            .enumerate()
            .map(|(index, array)| Field::new(format!("column_{index}"), array.data_type().clone(), true))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(self.rows);
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), self.arrays, &options)
            .map_err(|error| SqlError::internal(error))?;
        Ok(JoinedRows { columns: self.columns, batch })
    }
}

/// Parts table and column in the alias of a further item; no name has it.
const SEPARATOR: char = '\u{0}';

/// Returns the columns of other tables than `inserted` and `deleted` that OUTPUT names, as items of the query that
/// chooses rows.
pub(crate) fn further_items(clause: Option<&OutputClause>) -> Vec<SelectItem> {
    let Some(clause) = clause else { return Vec::new() };
    let items = clause.into.iter().flat_map(|into| &into.items).chain(clause.shown.iter().flatten());
    let mut paths: Vec<Vec<String>> = Vec::new();
    for item in items {
        let (SelectItem::Value { expr, .. } | SelectItem::Assign { expr, .. }) = item else { continue };
        expr.clone().rewrite(&mut |part| {
            if let Expr::Column(path) = &part
                && !is_changed_table(path)
                && !paths.contains(path)
            {
                paths.push(path.clone());
            }
            part
        });
    }
    paths
        .into_iter()
        .map(|path| {
            let alias = match path.as_slice() {
                [.., table, column] => format!("{table}{SEPARATOR}{column}"),
                _ => path.concat(),
            };
            SelectItem::Value { expr: Expr::Column(path), alias: Some(alias) }
        })
        .collect()
}

/// Returns true if a name belongs to `inserted` or `deleted`, or is `$action`.
fn is_changed_table(path: &[String]) -> bool {
    match path {
        [name] => name.starts_with('$'),
        [table, ..] => same_name(table, "inserted") || same_name(table, "deleted"),
        [] => true,
    }
}

/// Evaluates OUTPUT over changed rows: puts them INTO their table, and returns those to show.
pub(crate) async fn output_rows(
    session: &mut Session,
    clause: &OutputClause,
    rows: RowSet,
    frame: &Frame,
) -> Result<Option<Shown>, SqlError> {
    let rows = rows.joined()?;
    if let Some(into) = &clause.into {
        output_into(session, into, &rows, frame).await?;
    }
    let Some(items) = &clause.shown else { return Ok(None) };
    let bound = bind_rows(session, &rows, items, frame)?;
    let columns = ResultColumns {
        columns: bound.columns.iter().map(OutputColumn::wire).collect(),
        schema: exact_schema(&bound.columns),
    };
    let instance = Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await?;
    Ok(Some(Shown { columns, batches }))
}

/// Items over rows that are at hand.
pub(crate) fn bind_rows(
    session: &Session,
    rows: &JoinedRows,
    items: &[SelectItem],
    frame: &Frame,
) -> Result<BoundQuery, SqlError> {
    let environment = SessionEnvironment::new(session, frame);
    Binder::new(&environment).over_rows(rows, items)
}

async fn output_into(
    session: &mut Session,
    into: &OutputInto,
    rows: &JoinedRows,
    frame: &Frame,
) -> Result<(), SqlError> {
    let target = destination::writable(session, &into.table)?;
    let events = [Event::Insert, Event::Update, Event::Delete];
    if fires(session, &target.definition, &events) {
        let text = format!(
            "The target table '{}' of the OUTPUT INTO clause cannot have any enabled triggers.",
            into.table
        );
        return Err(SqlError::new(331, 16, 1, text));
    }
    let bound = bind_rows(session, rows, &into.items, frame)?;
    let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let instance = Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await?;
    let columns = Columns { table: &into.table, listed: into.columns.as_deref() };
    insert_batches(session, columns, &types, batches, None, frame).map(|_| ())
}

/// The columns that rows of a result go into.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// The table.
    pub table: &'a ObjectName,
    /// Their names; None: those that get a value without a list.
    pub listed: Option<&'a [String]>,
}

/// Inserts rows of a result, by the rules of INSERT … SELECT. Returns how many, and the last identity value. Each batch is dropped
/// as soon as it is written, unless the rows as stored are `kept`.
pub(crate) fn insert_batches(
    session: &mut Session,
    Columns { table: name, listed }: Columns<'_>,
    types: &[SqlType],
    batches: impl IntoIterator<Item = RecordBatch>,
    mut kept: Option<&mut Vec<RecordBatch>>,
    frame: &Frame,
) -> Result<(u64, Option<i64>), SqlError> {
    let table = destination::writable(session, name)?;
    let targets = destination::target_columns(session, name, listed, &table.definition)?;
    destination::count_matches(types.len(), targets.len(), listed.is_some())?;
    let mut writer = destination::writer_of(session, &table, frame, "INSERT", false)?;
    let fires = fires(session, &table.definition, &[Event::Insert]);
    let mut written = Vec::new();
    for batch in batches {
        let width = table.definition.columns.len();
        let rows = InputRows::placed(width, &targets, batch.columns(), types, batch.num_rows());
        let rows = writer.write(rows)?;
        if let Some(kept) = &mut kept {
            kept.push(rows.clone());
        }
        if fires {
            written.push(rows);
        }
    }
    writer.finish()?;
    if fires {
        note_inserted(session, &table.definition, written);
    }
    let result = (writer.rows, writer.last_identity);
    Ok(result)
}

/// Sends the rows of an OUTPUT clause.
pub(crate) async fn show_output(shown: Option<Shown>, output: &mut Output) {
    let Some(Shown { columns, batches }) = shown else { return };
    output.send(Response::Columns(columns)).await;
    for batch in batches {
        output.send(Response::Batch(batch)).await;
    }
}
