//! INSERT BULK: what the statement announces, and the writer that takes the rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use databases::catalogue::TableDefinition;
use databases::instance::loads::{LoadClock, WireNote, Writing};
use databases::storage::{LockMode, WireRows};
use databases::table::{
    DecodeReason, InputRows, Intake, LoadFacts, OrderCheck, TableWriter, WriteOptions, WritePlan,
};
use parking_lot::Mutex;
use query::{Binder, SerialReason};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{BulkHints, InsertBulk};
use tsql::{errors, same_name};

use crate::session::Session;
use crate::session::bulk_target::BulkTarget;
use crate::session::fired::{BulkFires, Event};
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::Response;
use crate::session::work::locks;
use crate::session::work::reads;
use crate::session::work::{BulkWork, OpenTable};
use crate::statements::dml::destination;
use crate::statements::dml::fire::{fires, fires_instead};
use crate::statements::dml::load_note;
use crate::statements::dml::references;
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::isolation;

/// Takes the rows of one bulk load. If it is dropped without [`finish`](Self::finish), no row stays.
pub struct BulkWriter {
    writer: Option<TableWriter>,
    work: BulkWork,
    /// Positions in the table of the declared columns.
    positions: Vec<usize>,
    width: usize,
    /// The way in which rows that come as bytes get into pages; `None` if no rows come so.
    intake: Option<Intake>,
    /// Rows that were copied.
    copied: u64,
    /// All bytes so far were too few to be copied.
    is_small: bool,
    /// The check of the order that ORDER promises.
    order: Option<OrderCheck>,
    definition: Arc<TableDefinition>,
    types: Vec<SqlType>,
    /// Types as INSERT BULK declares them.
    declared: Vec<SqlType>,
    finished: bool,
    clock: LoadClock,
    /// The rows, for triggers.
    kept: Option<Arc<Mutex<Vec<RecordBatch>>>>,
}

/// Runs an INSERT BULK: checks it and says that rows are expected.
pub(crate) async fn run(
    session: &mut Session,
    insert: &InsertBulk,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if session.settings.format_only {
        output.done(frame.done_kind(), 0, None).await;
        return Ok(());
    }
    let table = destination::loadable(session, &insert.table)?;
    let mut columns = Vec::with_capacity(insert.columns.len());
    for column in &insert.columns {
        let position = table
            .definition
            .position(&column.name)
            .ok_or_else(|| errors::INVALID_COLUMN.with([&column.name]))?;
        let definition = table.definition.columns.get(position);
        if definition
            .is_some_and(|column| column.sql_type == SqlType::RowVersion || column.computed.is_some())
        {
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
        if columns.iter().any(|(_, known)| *known == position) {
            return Err(SqlError::new(
                2705,
                16,
                1,
                format!("Column '{}' is named twice in INSERT BULK.", column.name),
            ));
        }
        columns.push((column.name.clone(), position));
    }
    for (name, _) in &insert.hints.order {
        if table.definition.position(name).is_none() {
            return Err(errors::INVALID_COLUMN.with([name]));
        }
    }
    let types = insert.columns.iter().map(|column| column.sql_type.clone()).collect();
    let target = BulkTarget { table: insert.table.clone(), columns, types, hints: insert.hints.clone() };
    output.send(Response::BulkExpected(Box::new(target))).await;
    output.done(frame.done_kind(), 0, None).await;
    Ok(())
}

/// Begins the load that an INSERT BULK has announced: locks the table and prepares the writer.
///
/// The writer may be used on another thread while nothing else happens in the session. With TABLOCK a table with keys or indexes
/// is locked exclusively, and loads of any other table share the lock. Without TABLOCK all loads run in parallel.
pub fn begin_bulk(session: &mut Session, target: BulkTarget) -> Result<BulkWriter, SqlError> {
    begin_load(session, target, "INSERT BULK")
}

/// Begins a load for another statement than INSERT BULK.
pub(crate) fn begin_load(
    session: &mut Session,
    target: BulkTarget,
    command: &'static str,
) -> Result<BulkWriter, SqlError> {
    let frame = Frame::new(false);
    let mut table = destination::writable(session, &target.table)?;
    if !target.hints.check_constraints && distrust(session, &table)? {
        table = destination::writable(session, &target.table)?;
    }
    let plan = {
        let environment = SessionEnvironment::new(session, &frame);
        WritePlan::new(Arc::clone(&table.definition), &Binder::new(&environment))?
    };
    if target.hints.fire_triggers && fires_instead(session, &table.definition, Event::Insert) {
        return Err(SqlError::unsupported("FIRE_TRIGGERS with an INSTEAD OF trigger"));
    }
    let mut kept = None;
    session.bulk_fires = None;
    if target.hints.fire_triggers && fires(session, &table.definition, &[Event::Insert]) {
        let rows = Arc::<Mutex<Vec<RecordBatch>>>::default();
        kept = Some(Arc::clone(&rows));
        let own = session.work.begin_quietly();
        session.bulk_fires = Some(BulkFires { table: Arc::clone(&table.definition), rows, own });
    }
    let mut work = session.work.start_bulk()?;
    let writer = bulk_table_writer(session, &table, plan, &target.hints);
    let writer = writer.and_then(|writer| {
        writer.expect_load()?;
        if OrderCheck::is_clustered(&table.definition, &target.hints.order) {
            writer.expect_sorted()?;
        }
        // Who altered the table may have held the lock until now.
        let locked = destination::writable(session, &target.table)?.definition;
        match is_as_planned(&table.definition, &locked, &target) {
            true => Ok(writer),
            false => Err(errors::BULK_SCHEMA_CHANGED.error()),
        }
    });
    let writer = match writer {
        Ok(writer) => writer,
        Err(error) => {
            work.end(false)?;
            session.abandon_bulk();
            return Err(error);
        }
    };
    Ok(BulkWriter {
        writer: Some(writer),
        work,
        positions: target.columns.iter().map(|(_, position)| *position).collect(),
        width: table.definition.columns.len(),
        intake: None,
        copied: 0,
        is_small: true,
        order: OrderCheck::new(&table.definition, &target.hints.order),
        definition: table.definition,
        types: Vec::new(),
        declared: target.types,
        finished: false,
        clock: load_note::load_clock(session, command),
        kept,
    })
}

/// Returns true if a table still has the columns for which a load was planned.
fn is_as_planned(planned: &TableDefinition, now: &TableDefinition, target: &BulkTarget) -> bool {
    let is_there = |(name, position): &(String, usize)| {
        now.columns.get(*position).is_some_and(|column| same_name(&column.name, name))
    };
    planned.object_id == now.object_id
        && planned.columns == now.columns
        && target.columns.iter().all(is_there)
}

/// Rows that nobody checks end the trust in CHECK and FOREIGN KEY constraints, even if the load fails afterwards: the
/// definition cannot be changed once several loads are under way. Whether there was any.
pub(crate) fn distrust(session: &mut Session, table: &OpenTable) -> Result<bool, SqlError> {
    let mut definition = table.definition.as_ref().clone();
    let checks = definition.checks.iter_mut().map(|check| &mut check.trusted);
    let keys = definition.foreign_keys.iter_mut().map(|key| &mut key.trusted);
    let mut changed = false;
    for trusted in checks.chain(keys) {
        changed |= std::mem::replace(trusted, false);
    }
    if changed {
        let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
        let mark = session.work.start_statement()?;
        let result = session
            .work
            .write(table.place, |transaction| transaction.open(table.id)?.set_properties(&properties));
        session.work.end_statement(&mark, result.is_ok())?;
        result?;
    }
    Ok(changed)
}

fn bulk_table_writer(
    session: &mut Session,
    table: &OpenTable,
    plan: WritePlan,
    hints: &BulkHints,
) -> Result<TableWriter, SqlError> {
    // TABLOCK is a bulk update lock: such loads share the table with each other and with nobody else.
    let has_keys = locks::loads_alone(table);
    let table_lock = hints.table_lock || table.definition.lock_on_bulk_load;
    let mode = match table_lock {
        true if has_keys => LockMode::Exclusive,
        true => LockMode::Bulk,
        false if locks::writes_alone(table) || isolation::locks_ranges(session) && has_keys => {
            LockMode::Exclusive
        }
        false => LockMode::Append,
    };
    let mut references =
        if hints.check_constraints { references::references_of(session, table)? } else { Vec::new() };
    locks::lock(&session.work, table, mode)?;
    let now = reads::refresh(&session.work, table)?;
    let options = WriteOptions {
        statement: "INSERT",
        conflict: "INSERT",
        default_for_null: !hints.keep_nulls,
        check_constraints: hints.check_constraints,
        table_lock,
    };
    for reference in references.iter_mut().filter(|reference| reference.same_table) {
        reference.parent = now.clone();
    }
    TableWriter::new(
        Arc::clone(&session.instance),
        session.work.transactions(),
        now,
        plan,
        options,
        false,
        references,
    )
}

/// Rows of a batch that is written into pages: it is read again at once, and should still be in the processor's cache.
const BATCH_ROWS: usize = 16 << 10;

impl BulkWriter {
    /// Returns the best number of rows in a batch.
    pub fn batch_rows(&self) -> usize {
        BATCH_ROWS
    }

    /// Returns the types that INSERT BULK declares, in its order.
    pub fn declared(&self) -> &[SqlType] {
        &self.declared
    }

    /// Takes the stream's columns: as many as INSERT BULK declared, in its order. Their types may be others; values are
    /// converted.
    ///
    /// Errors: 4816 if the number differs.
    pub fn columns(&mut self, columns: &[tds::Column]) -> Result<(), SqlError> {
        if columns.len() != self.positions.len() {
            return Err(SqlError::new(
                4816,
                16,
                1,
                format!(
                    "Invalid column type from bcp client for colid {}.",
                    columns.len().min(self.positions.len()) + 1
                ),
            ));
        }
        self.types = columns.iter().map(|column| column.sql_type().clone()).collect();
        Ok(())
    }

    /// Takes the columns of a stream whose rows come as bytes, and decides how they get into pages.
    ///
    /// Errors: 4816, as of [`columns`](Self::columns).
    pub fn wire_columns(&mut self, columns: &[tds::Column]) -> Result<(), SqlError> {
        self.columns(columns)?;
        let Some(writer) = &self.writer else { return Ok(()) };
        let load = LoadFacts { columns, positions: &self.positions, fires_triggers: self.kept.is_some() };
        self.intake = Some(writer.intake(load)?);
        Ok(())
    }

    /// Returns true if some rows may be [copied](Self::append_wire_rows), as far as the columns say.
    pub fn copies_rows(&self) -> bool {
        matches!(self.intake, Some(Intake::Copy(_)))
    }

    /// Copies the first rows of `bytes`; the next row must come as a batch. No rows are copied if the load decodes them.
    pub fn append_wire_rows(&mut self, bytes: &[u8]) -> Result<WireRows, SqlError> {
        let (Some(writer), Some(Intake::Copy(copier))) = (&mut self.writer, &self.intake) else {
            return Ok(WireRows::default());
        };
        let Some(taken) = writer.append_wire_rows(copier, bytes)? else { return Ok(WireRows::default()) };
        self.is_small = false;
        self.copied += taken.rows;
        Ok(taken)
    }

    /// Reports the number of copied rows out of `rows`, and the reason why the others were decoded. `None`: they
    /// did not come as bytes.
    fn wire_note(&self, rows: u64) -> Option<WireNote> {
        let reason = match self.intake.as_ref()? {
            Intake::Decode(reason) => Some(*reason),
            Intake::Copy(_) if self.copied == rows => None,
            Intake::Copy(_) if self.is_small => Some(DecodeReason::FewRows),
            Intake::Copy(_) => Some(DecodeReason::Values),
        };
        Some(WireNote { copied: self.copied, reason: reason.map(DecodeReason::name) })
    }

    /// Counts what the calling thread has computed for the load, if another one [appends](Self::append).
    pub fn charge(&self) -> Result<(), SqlError> {
        self.writer.as_ref().map_or(Ok(()), TableWriter::charge)
    }

    /// Appends rows in the Exact form of the stream's columns.
    pub fn append(&mut self, batch: RecordBatch) -> Result<(), SqlError> {
        let mut columns: Vec<Option<(ArrayRef, SqlType)>> = (0..self.width).map(|_| None).collect();
        for ((position, array), sql_type) in self.positions.iter().zip(batch.columns()).zip(&self.types) {
            if let Some(slot) = columns.get_mut(*position) {
                *slot = Some((Arc::clone(array), sql_type.clone()));
            }
        }
        let Some(writer) = &mut self.writer else {
            return Err(SqlError::internal("a bulk load that is over"));
        };
        let rows = writer.prepare(InputRows { columns, rows: batch.num_rows() })?;
        if let Some(order) = &mut self.order {
            order.check(&self.definition, &rows)?;
        }
        writer.put(&rows)?;
        if let Some(kept) = &self.kept {
            kept.lock().push(rows);
        }
        Ok(())
    }

    /// Ends the load: commits it, or makes it part of the open transaction. Returns the row count.
    pub fn finish(mut self) -> Result<u64, SqlError> {
        let Some(mut writer) = self.writer.take() else {
            return Err(SqlError::internal("a bulk load that is over"));
        };
        // A row that refers to nothing undoes the load, when the writer is dropped.
        writer.finish()?;
        self.finished = true;
        let rows = writer.rows;
        let serial = Some(SerialReason::OneSource);
        let wire = self.wire_note(rows);
        let writing = Writing { rows, degree: 1, serial, logging: writer.take_logging()?, wire };
        self.work.end(true)?;
        self.work.remember(self.clock.finished(&self.definition, writing));
        Ok(rows)
    }

    /// Ends the load without a row. The same as dropping the writer.
    pub fn abort(self) {}
}

impl Drop for BulkWriter {
    fn drop(&mut self) {
        if !self.finished {
            self.writer = None;
            // There is nobody to tell: the load leaves no row whatever happens here.
            let _ = self.work.end(false);
        }
    }
}
