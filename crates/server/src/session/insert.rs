//! INSERT.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use store::LockMode;
use tds::SqlType;

use super::Session;
use super::environment::SessionEnvironment;
use super::interpreter::Frame;
use super::output::Output;
use super::response::{Response, ResultColumns, command};
use super::work::OpenTable;
use crate::catalogue::TableDefinition;
use crate::engine::{Binder, BoundTable, Datum, MemoryTable, OutputColumn, Scope, exact_schema};
use crate::sql_error::SqlError;
use crate::table::{InputRows, TableWriter, WriteOptions, WritePlan};
use crate::tsql::ast::{Insert, InsertSource, ObjectName, Output as OutputClause};
use crate::tsql::expression::Expr;
use crate::tsql::query::TableSource;

impl Session {
    /// Runs an INSERT.
    pub(super) async fn insert(
        &mut self,
        insert: &Insert,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        self.begin_implicitly(output).await;
        let table = self.writable(&insert.table)?;
        let targets = self.targets(insert, &table.definition)?;
        let kind = frame.done_kind();
        if self.settings.format_only {
            output.done(kind, command::INSERT, None).await;
            return Ok(());
        }
        let mark = self.work.start_statement();
        let result = self.insert_rows(insert, table, &targets, frame).await;
        self.work.end_statement(&mark, result.is_ok())?;
        let (rows, identity, shown) = result?;
        if identity.is_some() {
            self.last.identity = identity;
            self.last.scope_identity = identity;
        }
        self.show(shown, output).await;
        self.last.rows = rows as i64;
        self.last.error = 0;
        let count = if self.settings.no_count { None } else { Some(rows) };
        output.done(kind, command::INSERT, count).await;
        Ok(())
    }

    /// The table of a name that rows go to. Errors: 208.
    pub(super) fn writable(&self, name: &ObjectName) -> Result<OpenTable, SqlError> {
        match self.work.find(name, &self.database)? {
            Some(table) => Ok(table),
            None => Err(SqlError::invalid_object(&name.to_string())),
        }
    }

    /// A writer for a statement that has begun.
    pub(super) fn writer(
        &mut self,
        table: &OpenTable,
        frame: &Frame,
        statement: &'static str,
        fresh: bool,
    ) -> Result<TableWriter, SqlError> {
        let options = WriteOptions { statement, default_for_null: false, check_constraints: true };
        self.writer_with(table, frame, options, fresh)
    }

    /// A writer with options. Locks the table: alone if it has unique keys, else beside other writers.
    pub(super) fn writer_with(
        &mut self,
        table: &OpenTable,
        frame: &Frame,
        options: WriteOptions,
        fresh: bool,
    ) -> Result<TableWriter, SqlError> {
        let plan = {
            let environment = SessionEnvironment::new(self, frame);
            WritePlan::new(Arc::clone(&table.definition), &Binder::new(&environment))?
        };
        let alone = fresh || !table.definition.unique_keys().is_empty();
        self.work.lock(table, if alone { LockMode::Exclusive } else { LockMode::Append })?;
        // The lock may have been waited for: what is in the table now is what counts.
        let now = self.work.refresh(table)?;
        self.work.offer_keys(table.definition.object_id);
        TableWriter::new(Arc::clone(&self.instance), self.work.pair(), now, plan, options, fresh)
    }

    /// Positions in the table of the columns that get values. Errors: 207, 264, 271, 273, 544, 545, 213.
    fn targets(&self, insert: &Insert, table: &TableDefinition) -> Result<Vec<usize>, SqlError> {
        let keeps = self.keeps_identity(table);
        let Some(names) = &insert.columns else {
            if insert.source == InsertSource::DefaultValues {
                return Ok(Vec::new());
            }
            let targets: Vec<usize> = table
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| column.computed.is_none() && column.sql_type != SqlType::RowVersion)
                .filter(|(_, column)| column.identity.is_none())
                .map(|(position, _)| position)
                .collect();
            if keeps {
                return Err(SqlError::new(
                    8101,
                    16,
                    1,
                    format!(
                        "An explicit value for the identity column in table '{}' can only be specified when a column list is used and IDENTITY_INSERT is ON.",
                        insert.table
                    ),
                ));
            }
            return Ok(targets);
        };
        let mut targets = Vec::with_capacity(names.len());
        for name in names {
            let position = table.position(name).ok_or_else(|| SqlError::invalid_column(name))?;
            if targets.contains(&position) {
                return Err(SqlError::new(
                    264,
                    16,
                    1,
                    format!(
                        "The column name '{name}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code."
                    ),
                ));
            }
            if let Some(column) = table.columns.get(position) {
                if column.computed.is_some() {
                    return Err(SqlError::new(
                        271,
                        16,
                        1,
                        format!(
                            "The column \"{}\" cannot be modified because it is either a computed column or is the result of a UNION operator.",
                            column.name
                        ),
                    ));
                }
                if column.sql_type == SqlType::RowVersion {
                    return Err(SqlError::new(
                        273,
                        16,
                        1,
                        "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.",
                    ));
                }
                if column.identity.is_some() && !keeps {
                    return Err(SqlError::identity_insert_off(&table.name));
                }
            }
            targets.push(position);
        }
        if let Some((position, _)) = table.identity()
            && keeps
            && !targets.contains(&position)
        {
            return Err(SqlError::identity_value_missing(&table.name));
        }
        Ok(targets)
    }

    /// Whether SET IDENTITY_INSERT is on for the table.
    pub(super) fn keeps_identity(&self, table: &TableDefinition) -> bool {
        let Some(name) = &self.settings.identity_insert else { return false };
        self.work
            .find(name, &self.database)
            .ok()
            .flatten()
            .is_some_and(|found| found.definition.object_id == table.object_id)
    }

    async fn insert_rows(
        &mut self,
        insert: &Insert,
        table: OpenTable,
        targets: &[usize],
        frame: &Frame,
    ) -> Result<(u64, Option<i64>, Option<Shown>), SqlError> {
        let width = table.definition.columns.len();
        let mut written = Vec::new();
        let keep = insert.output.is_some();
        let mut writer;
        match &insert.source {
            InsertSource::Values(rows) => {
                let input = self.values(rows, targets, &table.definition, frame).await?;
                writer = self.writer(&table, frame, "INSERT", false)?;
                let batch = writer.write(input)?;
                written.push(batch);
            }
            InsertSource::DefaultValues => {
                writer = self.writer(&table, frame, "INSERT", false)?;
                let columns = (0..width).map(|_| None).collect();
                written.push(writer.write(InputRows { columns, rows: 1 })?);
            }
            InsertSource::Query(query) => {
                let bound = self.bind(query, frame)?;
                self.count_matches(bound.columns.len(), targets.len(), insert.columns.is_some())?;
                let types: Vec<SqlType> =
                    bound.columns.iter().map(|column| column.sql_type.clone()).collect();
                let instance = Arc::clone(&self.instance);
                let mut stream = instance.engine().start(bound, &self.cancellation).await?;
                writer = self.writer(&table, frame, "INSERT", false)?;
                while let Some(batch) = stream.next().await? {
                    let mut columns: Vec<Option<(ArrayRef, SqlType)>> = (0..width).map(|_| None).collect();
                    for ((position, array), sql_type) in targets.iter().zip(batch.columns()).zip(&types) {
                        if let Some(slot) = columns.get_mut(*position) {
                            *slot = Some((Arc::clone(array), sql_type.clone()));
                        }
                    }
                    let batch = writer.write(InputRows { columns, rows: batch.num_rows() })?;
                    if keep {
                        written.push(batch);
                    }
                }
            }
        }
        let shown = match &insert.output {
            Some(clause) => {
                Some(self.output_rows(clause, &table.definition, Some(written), None, frame).await?)
            }
            None => None,
        };
        let (rows, identity) = (writer.rows, writer.last_identity);
        self.work.keep_keys(writer.into_keys());
        Ok((rows, identity, shown))
    }

    fn count_matches(&self, given: usize, wanted: usize, listed: bool) -> Result<(), SqlError> {
        if given == wanted {
            return Ok(());
        }
        if !listed {
            return Err(SqlError::column_count_mismatch());
        }
        let (number, than) = if given < wanted { (120, "fewer") } else { (121, "more") };
        Err(SqlError::new(
            number,
            15,
            1,
            format!(
                "The select list for the INSERT statement contains {than} items than the insert list. The number of SELECT values must match the number of INSERT columns."
            ),
        ))
    }

    /// The rows of VALUES.
    async fn values(
        &mut self,
        rows: &[Vec<Option<Expr>>],
        targets: &[usize],
        table: &TableDefinition,
        frame: &Frame,
    ) -> Result<InputRows, SqlError> {
        for row in rows {
            if row.len() != targets.len() {
                if rows.len() > 1 && rows.iter().any(|other| other.len() != row.len()) {
                    return Err(SqlError::new(
                        10709,
                        16,
                        1,
                        "The number of columns for each row in a table value constructor must be the same.",
                    ));
                }
                let (number, text) = if row.len() < targets.len() {
                    (
                        109,
                        "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.",
                    )
                } else {
                    (
                        110,
                        "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.",
                    )
                };
                return Err(if targets_are_whole(targets, table) {
                    SqlError::column_count_mismatch()
                } else {
                    SqlError::new(number, 15, 1, text)
                });
            }
        }
        let plan = {
            let environment = SessionEnvironment::new(self, frame);
            WritePlan::new(Arc::new(table.clone()), &Binder::new(&environment))?
        };
        let instance = Arc::clone(&self.instance);
        let mut columns: Vec<Option<(ArrayRef, SqlType)>> = table.columns.iter().map(|_| None).collect();
        for (index, position) in targets.iter().enumerate() {
            let mut values = Vec::with_capacity(rows.len());
            let mut types: Vec<SqlType> = Vec::new();
            for row in rows {
                let cell = row.get(index).and_then(Option::as_ref);
                let (value, sql_type) = match cell {
                    Some(expr) => {
                        let typed = {
                            let environment = SessionEnvironment::new(self, frame);
                            Binder::new(&environment).value(expr, &Scope::empty())?
                        };
                        let sql_type = typed.sql_type.clone();
                        (instance.engine().evaluate(typed).await?, sql_type)
                    }
                    None => match plan.defaults.get(*position).and_then(Option::as_ref) {
                        Some(default) => {
                            (instance.engine().evaluate(default.clone()).await?, default.sql_type.clone())
                        }
                        None => (Datum::Null, SqlType::Int),
                    },
                };
                values.push(value);
                types.push(sql_type);
            }
            let column_type =
                table.columns.get(*position).map_or(SqlType::Int, |column| column.sql_type.clone());
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some(column_of(values, types, &column_type)?);
            }
        }
        Ok(InputRows { columns, rows: rows.len() })
    }

    /// The rows of an OUTPUT clause.
    pub(super) async fn output_rows(
        &mut self,
        clause: &OutputClause,
        table: &TableDefinition,
        inserted: Option<Vec<RecordBatch>>,
        deleted: Option<Vec<RecordBatch>>,
        frame: &Frame,
    ) -> Result<Shown, SqlError> {
        let tables = [("inserted", inserted), ("deleted", deleted)];
        let mut sources = Vec::new();
        for (name, batches) in tables {
            let Some(batches) = batches else { continue };
            let columns: Vec<OutputColumn> = table
                .columns
                .iter()
                .map(|column| OutputColumn {
                    collation: column.collation(),
                    ..OutputColumn::expression(column.name.clone(), column.sql_type.clone(), column.nullable)
                })
                .collect();
            let provider =
                MemoryTable::provider(table.arrow_schema().as_ref(), batches).map_err(SqlError::internal)?;
            sources.push((name, BoundTable { columns, provider }));
        }
        let select = crate::tsql::query::Select {
            items: clause.items.clone(),
            from: vec![TableSource::Table {
                name: ObjectName::bare(sources.first().map_or("inserted", |(name, _)| *name)),
                alias: None,
            }],
            ..Default::default()
        };
        if sources.len() > 1 {
            return Err(SqlError::unsupported("OUTPUT of an UPDATE"));
        }
        let query = crate::tsql::query::Query {
            with: Vec::new(),
            body: crate::tsql::query::QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            offset: None,
            fetch: None,
        };
        let bound = {
            let environment = SessionEnvironment::new(self, frame);
            let environment = super::modify::WithTables { inner: environment, tables: sources };
            Binder::new(&environment).query(&query, None)?
        };
        let columns = ResultColumns {
            columns: bound.columns.iter().map(OutputColumn::wire).collect(),
            schema: exact_schema(&bound.columns),
        };
        let instance = Arc::clone(&self.instance);
        let batches = instance.engine().collect(bound, &self.cancellation).await?;
        Ok(Shown { columns, batches })
    }

    /// Sends the rows of an OUTPUT clause.
    pub(super) async fn show(&self, shown: Option<Shown>, output: &mut Output) {
        let Some(Shown { columns, batches }) = shown else { return };
        output.send(Response::Columns(columns)).await;
        for batch in batches {
            output.send(Response::Batch(batch)).await;
        }
    }
}

/// The result of an OUTPUT clause.
pub(super) struct Shown {
    columns: ResultColumns,
    batches: Vec<RecordBatch>,
}

fn targets_are_whole(targets: &[usize], table: &TableDefinition) -> bool {
    let insertable = table
        .columns
        .iter()
        .filter(|column| {
            column.computed.is_none() && column.sql_type != SqlType::RowVersion && column.identity.is_none()
        })
        .count();
    targets.len() == insertable && targets.is_sorted()
}

/// Values of several types as one column: in their own type if they agree, else each converted to the column's.
fn column_of(values: Vec<Datum>, types: Vec<SqlType>, to: &SqlType) -> Result<(ArrayRef, SqlType), SqlError> {
    let mut known =
        types.iter().zip(&values).filter(|(_, value)| !value.is_null()).map(|(sql_type, _)| sql_type);
    let first = known.next().cloned();
    if let Some(first) = first
        && known.all(|sql_type| *sql_type == first)
    {
        return Ok((Datum::array(&values, &first), first));
    }
    // Text keeps its length for the check of the column; everything else is converted here.
    let wide = if to.is_character() {
        SqlType::NVarChar { length: tds::Length::Max }
    } else if to.is_binary() {
        SqlType::VarBinary { length: tds::Length::Max }
    } else {
        to.clone()
    };
    let converted = values
        .into_iter()
        .zip(&types)
        .map(|(value, from)| crate::engine::convert::convert(value, from, &wide, 0))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((Datum::array(&converted, &wide), wide))
}
