//! INSERT.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use query::{Binder, Datum, Scope, SerialReason, Streams};
use store::LockMode;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Insert, InsertSource, StatementKind};
use tsql::expression::Expr;
use tsql::hints::TableHints;
use tsql::query::Query;

use super::Session;
use super::environment::SessionEnvironment;
use super::fire::{Event, check_output, fire_held, fires, hold, note_inserted};
use super::insert_file::placed;
use super::instead::{find_instead, insert_instead};
use super::interpreter::Frame;
use super::loads::Writing;
use super::output::{CapturedResult, Output};
use super::output_clause::{RowSet, Shown};
use super::parallel::Placing;
use super::response::command;
use super::uncommittable::uncommittable;
use super::work::{OpenTable, Place};
use crate::catalogue::TableDefinition;
use crate::memory::Reservation;
use crate::table::{InputRows, TableWriter, WriteOptions, WritePlan};

/// Rows of a table whose keys or identity values can be read without leaving the connection's thread.
const ROWS_READ_AT_ONCE: u64 = 1024;

/// What an INSERT did.
pub(super) struct Inserted {
    pub rows: u64,
    identity: Option<i64>,
    shown: Option<Shown>,
    /// How the rows of a query were written.
    writing: Option<Writing>,
}

impl Session {
    /// Runs an INSERT.
    pub(super) async fn insert(
        &mut self,
        insert: &Insert,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        self.begin_implicitly(output).await;
        if let Some(instead) = find_instead(self, &insert.table, &[], Event::Insert)? {
            return insert_instead(self, insert, instead, frame, output).await;
        }
        let through = self.insert_through(insert)?;
        let insert = through.as_ref().unwrap_or(insert);
        let table = self.writable(&insert.table)?;
        check_output(self, &table.definition, &[Event::Insert], insert.output.as_ref())?;
        let kind = frame.done_kind();
        if let InsertSource::Execute(call) = &insert.source {
            return self.insert_executed(insert, call, frame, output).await;
        }
        let targets = match &insert.source {
            InsertSource::DefaultValues => Vec::new(),
            InsertSource::Query(_) if insert.reads_file() => self.file_targets(insert, &table.definition)?,
            _ => self.targets(&insert.table, insert.columns.as_deref(), &table.definition)?,
        };
        if self.settings.format_only {
            output.done(kind, command::INSERT, None).await;
            return Ok(());
        }
        let clock = self.load_clock("INSERT SELECT");
        let mut tries = self.tries(!matches!(insert.source, InsertSource::Query(_)))?;
        self.stay_or_leave(&table).await;
        let definition = Arc::clone(&table.definition);
        let hurries = self.placement.is_on_connection();
        self.work.hurry(hurries);
        let mut result = self.insert_rows(insert, table.clone(), &targets, frame).await;
        if hurries {
            self.work.hurry(false);
            if result.as_ref().is_err_and(|error| error.number == 1222) {
                // Somebody has a page that it needs: that is waited for elsewhere.
                self.work.undo_statement(&tries.mark)?;
                self.placement.leave().await;
                result = self.insert_rows(insert, table.clone(), &targets, frame).await;
            }
        }
        while self.tries_again(&mut tries, result.as_ref().err())? {
            result = self.insert_rows(insert, table.clone(), &targets, frame).await;
        }
        let own = result.is_ok() && hold(self);
        self.work.end_statement(&tries.mark, result.is_ok())?;
        let ignored = self.work.take_ignored();
        let Inserted { rows, identity, shown, writing } = result?;
        if let Some(writing) = writing.filter(|writing| writing.is_load(insert.table_lock)) {
            self.note_load(clock.finished(&definition, writing), output).await;
        }
        if identity.is_some() {
            self.last.identity = identity;
            self.last.scope_identity = identity;
        }
        fire_held(self, own, frame, output).await?;
        self.show(shown, output).await;
        self.tell_ignored(ignored, output).await;
        self.last.rows = rows as i64;
        self.last.error = 0;
        let count = if self.settings.no_count { None } else { Some(rows) };
        output.done(kind, command::INSERT, count).await;
        Ok(())
    }

    /// 3604 after rows that IGNORE_DUP_KEY has left out.
    pub(super) async fn tell_ignored(&self, ignored: bool, output: &mut Output) {
        if ignored {
            self.inform(SqlError::duplicates_ignored(), output).await;
        }
    }

    /// A request on its connection's thread stays there only if writing to the table needs no waiting and no reading of it.
    async fn stay_or_leave(&mut self, table: &OpenTable) {
        if !self.placement.is_on_connection() {
            return;
        }
        let definition = &table.definition;
        let alone = self.work.writes_alone(table) || self.locks_ranges() && self.work.loads_alone(table);
        let read = table.rows > ROWS_READ_AT_ONCE
            && definition.identity().is_some()
            && self.instance.last_identity(definition.object_id).is_none();
        let mode = if alone { LockMode::Exclusive } else { LockMode::Append };
        if read || !definition.foreign_keys.is_empty() || !self.work.try_lock(table, mode) {
            self.placement.leave().await;
        }
    }

    /// The same INSERT into the table behind a view or synonym; None if it names a table.
    fn insert_through(&self, insert: &Insert) -> Result<Option<Insert>, SqlError> {
        if insert.table.is_variable() || self.work.find(&insert.table, &self.database)?.is_some() {
            return Ok(None);
        }
        let real = self.resolved(&insert.table)?;
        let Some(view) = self.view_module(&real)? else {
            return Ok((real != insert.table).then(|| Insert { table: real, ..insert.clone() }));
        };
        let target = self.target(&real, &[], &[], TableHints::default())?;
        let names = match &insert.columns {
            Some(names) => names.clone(),
            None => view.definition.columns.iter().map(|column| column.name.clone()).collect(),
        };
        let columns = names.iter().map(|name| target.column(name).to_string()).collect();
        let definition = &target.table.definition;
        let table = ObjectName {
            database: Some(definition.database.clone()),
            schema: Some(definition.schema.clone()),
            name: definition.name.clone(),
        };
        Ok(Some(Insert { table, columns: Some(columns), ..insert.clone() }))
    }

    /// The table of a name that rows go to. Errors: 208, 10700 and 286 for what may only be read.
    pub(super) fn writable(&self, name: &ObjectName) -> Result<OpenTable, SqlError> {
        super::table_argument::check_writable(self, name)?;
        let table = self.opened(name)?;
        if self.work.is_doomed() && table.place != Place::Variable {
            return Err(uncommittable());
        }
        Ok(table)
    }

    /// The table of a name, as rows of it may be locked.
    pub(super) fn opened(&self, name: &ObjectName) -> Result<OpenTable, SqlError> {
        match self.work.find(name, &self.database)? {
            Some(table) => {
                self.check_snapshot(&table)?;
                Ok(table)
            }
            None if name.is_variable() => Err(SqlError::undeclared_table(&name.name)),
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
        let options = super::modify::write_options(statement, statement);
        self.writer_with(table, frame, options, fresh)
    }

    /// A writer with options. Locks the table: alone if its keys change with its rows or that is asked for, else beside other writers.
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
        // Whoever changes rows has locked what he changes.
        let alone = options.table_lock
            || self.work.writes_alone(table)
            || self.locks_ranges() && self.work.loads_alone(table);
        // Referenced tables first: whoever deletes from one goes on to this table.
        let mut references = if options.check_constraints { self.references(table)? } else { Vec::new() };
        self.work.lock(table, if alone { LockMode::Exclusive } else { LockMode::Append })?;
        // The lock may have been waited for: what is in the table now is what counts.
        let now = self.work.refresh(table)?;
        for reference in references.iter_mut().filter(|reference| reference.same_table) {
            reference.parent = now.clone();
        }
        TableWriter::new(Arc::clone(&self.instance), self.work.pair(), now, plan, options, fresh, references)
    }

    /// Positions in the table of the columns that get values. Errors: 207, 264, 271, 273, 544, 545, 213.
    pub(super) fn targets(
        &self,
        name: &ObjectName,
        columns: Option<&[String]>,
        table: &TableDefinition,
    ) -> Result<Vec<usize>, SqlError> {
        let keeps = self.keeps_identity(table);
        let Some(names) = columns else {
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
                        name
                    ),
                ));
            }
            return Ok(targets);
        };
        let mut targets = Vec::with_capacity(names.len());
        for name in names {
            let position = table.position(name).ok_or_else(|| SqlError::invalid_column(name))?;
            if targets.contains(&position) {
                return Err(SqlError::column_named_twice(name));
            }
            if let Some(column) = table.columns.get(position) {
                if column.computed.is_some() {
                    return Err(SqlError::computed_column(&column.name));
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

    pub(super) async fn insert_rows(
        &mut self,
        insert: &Insert,
        table: OpenTable,
        targets: &[usize],
        frame: &Frame,
    ) -> Result<Inserted, SqlError> {
        let width = table.definition.columns.len();
        let mut written = Vec::new();
        let fires = fires(self, &table.definition, &[Event::Insert]) && !insert.ignores_triggers();
        let keep = insert.output.is_some() || fires;
        let limit = self.limit(insert.top.as_ref(), usize::MAX, frame).await?;
        let mut writer;
        let mut how = None;
        match &insert.source {
            InsertSource::Values(rows) => {
                let listed = insert.columns.is_some();
                let rows = rows.get(..limit.min(rows.len())).unwrap_or_default();
                let input = self.values(rows, targets, &table.definition, listed, frame).await?;
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
                let batches = keep.then_some(&mut written);
                let (filled, degree, serial) =
                    self.insert_query(insert, query, &table, targets, limit, batches, frame).await?;
                writer = filled;
                how = Some((degree, serial));
            }
            InsertSource::Execute(_) => return Err(SqlError::internal("an EXECUTE that was not run")),
        }
        writer.finish()?;
        if fires {
            note_inserted(self, &table.definition, written.clone());
        }
        let shown = match &insert.output {
            Some(clause) => {
                let schema = table.definition.arrow_schema();
                let all = arrow::compute::concat_batches(&schema, &written).map_err(SqlError::internal)?;
                let mut rows = RowSet::default();
                rows.table("inserted", &table.definition, all)?;
                self.output_rows(clause, rows, frame).await?
            }
            None => None,
        };
        let (rows, identity) = (writer.rows, writer.last_identity);
        let writing = match how.filter(|_| table.place != Place::Variable) {
            Some((degree, serial)) => Some(Writing { rows, degree, serial, logging: writer.take_logging()? }),
            None => None,
        };
        Ok(Inserted { rows, identity, shown, writing })
    }

    /// Writes the rows of a query; returns how many tasks did, and why it was one. `written`: the rows are wanted.
    #[allow(clippy::too_many_arguments)]
    async fn insert_query(
        &mut self,
        insert: &Insert,
        query: &Query,
        table: &OpenTable,
        targets: &[usize],
        limit: usize,
        mut written: Option<&mut Vec<RecordBatch>>,
        frame: &Frame,
    ) -> Result<(TableWriter, usize, Option<SerialReason>), SqlError> {
        let table = match insert.from_file.ignore_constraints && self.distrust(table)? {
            true => self.work.refresh(table)?,
            false => table.clone(),
        };
        let bound = self.bind(query, frame)?;
        count_matches(bound.columns.len(), targets.len(), insert.columns.is_some())?;
        if insert.top.as_ref().is_some_and(|top| top.percent) {
            return Err(SqlError::unsupported("INSERT TOP … PERCENT"));
        }
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
        let degree = match insert.table_lock {
            false => Err(SerialReason::NoTableLock),
            true if written.is_some() || insert.top.is_some() => Err(SerialReason::Statement),
            true => self.degree(query, &table),
        };
        let streams = self.start_streams(bound, degree).await?;
        let options = self.file_write_options(insert);
        let mut writer = self.writer_with(&table, frame, options, false)?;
        let (mut stream, reason) = match streams {
            Streams::One(stream, reason) => (stream, reason),
            Streams::Several(streams) => {
                let degree = streams.len();
                let (width, targets) = (table.definition.columns.len(), targets.to_vec());
                let placing: Placing = Arc::new(move |batch| {
                    InputRows::placed(width, &targets, batch.columns(), &types, batch.num_rows())
                });
                writer.rows = self.write_side_by_side(streams, &table, &writer, &placing).await?;
                return Ok((writer, degree, None));
            }
        };
        let mut left = limit;
        while let Some(batch) = stream.next().await? {
            let batch = batch.slice(0, batch.num_rows().min(left));
            left -= batch.num_rows();
            if batch.num_rows() == 0 {
                break;
            }
            let input = placed(insert, &table.definition, targets, batch.columns(), &types);
            let batch = writer.write(input)?;
            if let Some(written) = &mut written {
                written.push(batch);
            }
        }
        Ok((writer, 1, Some(reason)))
    }

    /// The rows of VALUES.
    async fn values(
        &mut self,
        rows: &[Vec<Option<Expr>>],
        targets: &[usize],
        table: &TableDefinition,
        listed: bool,
        frame: &Frame,
    ) -> Result<InputRows, SqlError> {
        for row in rows {
            if row.len() != targets.len() && rows.iter().any(|other| other.len() != row.len()) {
                return Err(SqlError::new(
                    10709,
                    16,
                    1,
                    "The number of columns for each row in a table value constructor must be the same.",
                ));
            }
            value_count_matches(row.len(), targets.len(), listed)?;
        }
        let plan = {
            let environment = SessionEnvironment::new(self, frame);
            WritePlan::new(Arc::new(table.clone()), &Binder::new(&environment))?
        };
        let instance = Arc::clone(&self.instance);
        let mut columns: Vec<Option<(ArrayRef, SqlType)>> = table.columns.iter().map(|_| None).collect();
        for (index, position) in targets.iter().enumerate() {
            let mut values = Vec::with_capacity(rows.len());
            let mut types: Vec<SqlType> = Vec::with_capacity(rows.len());
            let bound = {
                let environment = SessionEnvironment::new(self, frame);
                let binder = Binder::new(&environment);
                let bind = |row: &Vec<Option<Expr>>| match row.get(index).and_then(Option::as_ref) {
                    Some(expr) => binder.listed_value(expr, &Scope::empty()).map(Some),
                    None => Ok(None),
                };
                rows.iter().map(bind).collect::<Result<Vec<_>, _>>()?
            };
            for typed in bound {
                let default = || plan.defaults.get(*position).cloned().flatten();
                let Some(typed) = typed.or_else(default) else {
                    values.push(Datum::Null);
                    types.push(SqlType::Int);
                    continue;
                };
                types.push(typed.sql_type.clone());
                values.push(match typed.constant {
                    Some(constant) => constant,
                    None => {
                        query::running::check()?;
                        instance.engine().evaluate(typed).await?
                    }
                });
            }
            let column_type =
                table.columns.get(*position).map_or(SqlType::Int, |column| column.sql_type.clone());
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some(column_of(values, types, &column_type)?);
            }
        }
        Ok(InputRows { columns, rows: rows.len() })
    }

    /// INSERT … EXECUTE: every result of the call goes into the table.
    async fn insert_executed(
        &mut self,
        insert: &Insert,
        call: &StatementKind,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        if insert.output.is_some() {
            return Err(SqlError::new(
                483,
                16,
                2,
                "The OUTPUT clause cannot be used in an INSERT...EXEC statement.",
            ));
        }
        if self.settings.format_only {
            output.done(frame.done_kind(), command::INSERT, None).await;
            return Ok(());
        }
        if output.captures() {
            return Err(SqlError::new(8164, 16, 1, "An INSERT EXEC statement cannot be nested."));
        }
        let in_procedure = std::mem::replace(&mut frame.in_procedure, true);
        output.capture(Reservation::new(self.instance.engine().memory()));
        let flow = match call {
            StatementKind::Execute(execute) => self.execute_procedure(execute, frame, output).await,
            StatementKind::ExecuteText(text) => match self.value(text, frame).await {
                Ok((text, sql_type)) => {
                    let text = query::convert::display(&text, &sql_type);
                    self.execute_text(&text, frame, output).await
                }
                Err(error) => Err(error),
            },
            _ => Err(SqlError::internal("INSERT … EXECUTE of another statement")),
        };
        let captured = output.captured();
        frame.in_procedure = in_procedure;
        flow?;
        output.check()?;
        let Some(captured) = captured else { return Err(SqlError::internal("no results are kept")) };
        captured.check()?;
        let mark = self.work.start_statement()?;
        self.triggered.clear();
        let result = self.insert_results(insert, &captured.results, frame);
        let own = result.is_ok() && hold(self);
        self.work.end_statement(&mark, result.is_ok())?;
        let ignored = self.work.take_ignored();
        let (rows, identity) = result?;
        self.tell_ignored(ignored, output).await;
        if identity.is_some() {
            self.last.identity = identity;
            self.last.scope_identity = identity;
        }
        fire_held(self, own, frame, output).await?;
        self.last.rows = rows as i64;
        self.last.error = 0;
        let count = if self.settings.no_count { None } else { Some(rows) };
        output.done(frame.done_kind(), command::INSERT, count).await;
        Ok(())
    }

    fn insert_results(
        &mut self,
        insert: &Insert,
        results: &[CapturedResult],
        frame: &Frame,
    ) -> Result<(u64, Option<i64>), SqlError> {
        let (mut rows, mut identity) = (0, None);
        for result in results {
            let types: Vec<SqlType> = result.columns.iter().map(|column| column.sql_type().clone()).collect();
            if insert.columns.as_ref().is_some_and(|columns| columns.len() != types.len()) {
                return Err(SqlError::column_count_mismatch());
            }
            let columns = insert.columns.as_deref();
            let inserted = self.insert_batches(&insert.table, columns, &types, &result.batches, frame)?;
            rows += inserted.0;
            identity = inserted.1.or(identity);
        }
        Ok((rows, identity))
    }
}

pub(super) fn count_matches(given: usize, wanted: usize, listed: bool) -> Result<(), SqlError> {
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

/// Whether VALUES has as many values as there are columns. Errors: 213, 109, 110.
pub(super) fn value_count_matches(given: usize, wanted: usize, listed: bool) -> Result<(), SqlError> {
    if given == wanted {
        return Ok(());
    }
    if !listed {
        return Err(SqlError::column_count_mismatch());
    }
    let (number, than) = if given < wanted { (109, "more") } else { (110, "fewer") };
    Err(SqlError::new(
        number,
        15,
        1,
        format!(
            "There are {than} columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."
        ),
    ))
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
        .map(|(value, from)| query::convert::convert(value, from, &wide, 0))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((Datum::array(&converted, &wide), wide))
}
