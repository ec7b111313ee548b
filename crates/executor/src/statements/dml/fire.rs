//! Runs triggers. A statement's changes are kept until the statement is done, and then passed to the triggers.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use databases::catalogue::{TableDefinition, Trigger};
use databases::waiting::Placement;
use introspection::facts::UpdatedColumns;
use query::Cancellation;
use tokio::sync::mpsc;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ModuleBody;
use tsql::errors;
use tsql::module::TriggerEvents;

use crate::session::fired::{Event, Fired, Rows};
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response};
use crate::session::work::variables;
use crate::session::work::{Place, VariableAccess, VariableTable};
use crate::session::{LastStatement, Session};
use crate::statements::dml::change::RowChanges;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::scope;

/// 3616: a trigger has caught an error, which has made the transaction uncommittable all the same.
pub(crate) const ERROR_IN_TRIGGER: i32 = 3616;

/// Returns the triggers of a table that an event fires now. Disabled ones do not fire, and a running one does not fire
/// itself.
pub(crate) fn firing(session: &Session, triggers: &[Trigger], event: Event, instead: bool) -> Vec<Trigger> {
    let running = session.trigger_stack.last();
    let of = |events: TriggerEvents| match event {
        Event::Insert => events.insert,
        Event::Update => events.update,
        Event::Delete => events.delete,
    };
    let fires = |trigger: &&Trigger| {
        of(trigger.events)
            && trigger.instead == instead
            && !trigger.disabled
            && running != Some(&trigger.object_id)
    };
    let mut firing: Vec<Trigger> = triggers.iter().filter(fires).cloned().collect();
    firing.sort_by_key(|trigger| (!of(trigger.first), of(trigger.last)));
    firing
}

/// Returns true if any AFTER trigger of a table fires.
pub(crate) fn fires(session: &Session, table: &TableDefinition, events: &[Event]) -> bool {
    !table.triggers.is_empty()
        && events.iter().any(|event| !firing(session, &table.triggers, *event, false).is_empty())
}

/// Returns true if an INSTEAD OF trigger of a table fires.
pub(crate) fn fires_instead(session: &Session, table: &TableDefinition, event: Event) -> bool {
    !table.triggers.is_empty() && !firing(session, &table.triggers, event, true).is_empty()
}

/// Keeps the transaction of a successful statement open if it fires triggers, so that it and they are one transaction.
/// Returns true if that is the statement's own, to be [ended](close).
pub(crate) fn hold(session: &mut Session) -> bool {
    !session.triggered.is_empty() && session.work.adopt_statement()
}

/// Ends the transaction of a statement and its triggers.
pub(crate) fn close<T>(session: &mut Session, own: bool, result: Result<T, SqlError>) -> Result<T, SqlError> {
    session.triggered.clear();
    if own && session.work.depth() > 0 {
        match &result {
            Ok(_) => {
                session.work.commit()?;
            }
            Err(_) => {
                session.work.rollback();
            }
        }
    }
    result
}

/// Runs the triggers of a statement that [holds](hold) its transaction, and ends that.
pub(crate) async fn fire_held(
    session: &mut Session,
    own: bool,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if session.triggered.is_empty() {
        return Ok(());
    }
    let result = fire(session, frame, output).await;
    close(session, own, result)
}

/// Refuses OUTPUT that would show rows that a trigger may change (334).
pub(crate) fn check_output(
    session: &Session,
    table: &TableDefinition,
    events: &[Event],
    output: Option<&tsql::ast::Output>,
) -> Result<(), SqlError> {
    let shows = output.is_some_and(|output| output.shown.is_some());
    let enabled = events.iter().any(|event| {
        !firing(session, &table.triggers, *event, false).is_empty()
            || !firing(session, &table.triggers, *event, true).is_empty()
    });
    if shows && enabled {
        let text = format!(
            "The target table '{}' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.",
            table.name
        );
        return Err(SqlError::new(334, 16, 1, text));
    }
    Ok(())
}

/// Notes what a statement did to a table's rows.
pub(crate) fn note_changes(
    session: &mut Session,
    changes: &RowChanges,
    assigned: Option<Vec<usize>>,
) -> Result<(), SqlError> {
    let table = &changes.table.definition;
    if changes.table.place != Place::Shared || table.triggers.is_empty() {
        return Ok(());
    }
    let none = Rows::none;
    if !changes.inserted.is_empty() {
        let rows = changes.inserted.iter().map(|batch| batch.num_rows() as u64).sum();
        note(session, table, Event::Insert, Rows::Batches(changes.inserted.clone()), none(), None, rows);
    }
    if let Some(new) = &changes.new {
        let (inserted, deleted) = (Rows::Batches(vec![new.clone()]), Rows::Batches(vec![changes.old()?]));
        note(session, table, Event::Update, inserted, deleted, assigned, new.num_rows() as u64);
    }
    if changes.gone.contains(&true) {
        let deleted = changes.deleted()?;
        let rows = deleted.num_rows() as u64;
        note(session, table, Event::Delete, none(), Rows::Batches(vec![deleted]), None, rows);
    }
    Ok(())
}

/// Notes that rows were put into a table.
pub(crate) fn note_inserted(session: &mut Session, table: &Arc<TableDefinition>, rows: Vec<RecordBatch>) {
    let count = rows.iter().map(|batch| batch.num_rows() as u64).sum();
    let none = Rows::none();
    note(session, table, Event::Insert, Rows::Batches(rows), none, None, count);
}

/// Notes the statement's own triggers, which run even if it changed no row.
pub(crate) fn note_statement(
    session: &mut Session,
    table: &Arc<TableDefinition>,
    events: &[Event],
    assigned: Option<&[usize]>,
) {
    for event in events {
        let own = session
            .triggered
            .iter_mut()
            .find(|fired| fired.table.object_id == table.object_id && fired.event == *event);
        match own {
            Some(fired) if *event == Event::Update => fired.assigned = assigned.map(<[usize]>::to_vec),
            Some(_) => {}
            None => {
                let none = Rows::none;
                let assigned = assigned.filter(|_| *event == Event::Update).map(<[usize]>::to_vec);
                note(session, table, *event, none(), none(), assigned, 0);
            }
        }
    }
}

fn note(
    session: &mut Session,
    table: &Arc<TableDefinition>,
    event: Event,
    inserted: Rows,
    deleted: Rows,
    assigned: Option<Vec<usize>>,
    rows: u64,
) {
    let triggers = firing(session, &table.triggers, event, false);
    if !triggers.is_empty() {
        let table = Arc::clone(table);
        session.triggered.push(Fired { table, triggers, event, inserted, deleted, assigned, rows });
    }
}

/// Runs INSTEAD OF triggers over rows that a statement would have written.
pub(crate) async fn fire_instead(
    session: &mut Session,
    fired: Fired,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    session.triggered.push(fired);
    fire(session, frame, output).await
}

/// Runs the triggers that a statement has fired.
///
/// Errors: 3609 if one of them ended the transaction; what went wrong in one of them, which has undone the transaction.
pub(crate) async fn fire(session: &mut Session, frame: &Frame, output: &mut Output) -> Result<(), SqlError> {
    let fired = std::mem::take(&mut session.triggered);
    if fired.is_empty() {
        return Ok(());
    }
    session.placement.leave().await;
    let last = session.last.clone();
    for one in fired {
        let inserted = logical_table(session, &one.table, one.inserted)?;
        let deleted = logical_table(session, &one.table, one.deleted)?;
        let updated = updated_columns(&one.table, one.event, one.assigned.as_deref());
        let mut result = Ok(());
        for trigger in &one.triggers {
            session.last.rows = i64::try_from(one.rows).unwrap_or(i64::MAX);
            let tables = [("inserted", &inserted), ("deleted", &deleted)];
            result = run(session, &one.table, trigger, tables, Arc::clone(&updated), frame, output).await;
            if result.is_err() {
                break;
            }
        }
        variables::drop_variable(&session.work, &inserted);
        variables::drop_variable(&session.work, &deleted);
        result?;
    }
    // @@IDENTITY is that of the triggers, if they have inserted something.
    session.last = LastStatement { identity: session.last.identity, ..last };
    Ok(())
}

async fn run(
    session: &mut Session,
    table: &TableDefinition,
    trigger: &Trigger,
    tables: [(&str, &VariableTable); 2],
    updated: Arc<UpdatedColumns>,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let name = ObjectName {
        database: Some(table.database.clone()),
        schema: Some(table.schema.clone()),
        name: trigger.name.clone(),
    };
    let Some((_, module)) = session.work.find_module(&name, &table.database)? else { return Ok(()) };
    let Some(ModuleBody::Trigger { statements, .. }) = module.body()? else {
        return Ok(());
    };
    let mut inner = frame.inner()?;
    inner.procedure.clone_from(&trigger.name);
    inner.module_id = trigger.object_id;
    inner.trigger = Some(updated);
    inner.tables = tables
        .into_iter()
        .map(|(name, table)| (name.to_string(), table.lent(VariableAccess::Logical)))
        .collect();
    let depth = session.work.depth();
    let database = std::mem::replace(&mut session.database, table.database.clone());
    // An error in a trigger takes the transaction with it.
    let aborts = std::mem::replace(&mut session.settings.abort_transaction, true);
    session.trigger_stack.push(trigger.object_id);
    let flow = Box::pin(scope::run_statements(session, statements, &mut inner, output)).await;
    session.trigger_stack.pop();
    session.settings.abort_transaction = aborts;
    session.database = database;
    match flow? {
        // The client knows why.
        Flow::Stop | Flow::Leave => Err(errors::CANCELLED.error()),
        _ if session.work.is_doomed() => {
            let text = "An error was raised during trigger execution. The batch has been aborted and the user transaction, if any, has been rolled back.";
            Err(SqlError::new(ERROR_IN_TRIGGER, 16, 1, text))
        }
        _ if session.work.depth() < depth => {
            let text = "The transaction ended in the trigger. The batch has been aborted.";
            Err(SqlError::new(3609, 16, 1, text))
        }
        _ => Ok(()),
    }
}

/// Returns a table's definition as `inserted` and `deleted` have it: columns alone.
pub(crate) fn logical_definition(session: &Session, table: &TableDefinition) -> TableDefinition {
    let mut definition = TableDefinition {
        object_id: session.instance.new_object_id(),
        database: "tempdb".to_string(),
        schema: "dbo".to_string(),
        name: "inserted".to_string(),
        keys: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        ..table.clone()
    };
    for column in &mut definition.columns {
        column.identity = None;
        column.default = None;
        column.computed = None;
    }
    definition
}

fn logical_table(
    session: &mut Session,
    table: &TableDefinition,
    rows: Rows,
) -> Result<VariableTable, SqlError> {
    match rows {
        Rows::Table(table) => Ok(table),
        Rows::Batches(batches) => {
            let definition = logical_definition(session, table);
            let schema = definition.arrow_schema();
            // The same arrays; a column of another table's batch may say otherwise that it has no NULL.
            let batches = batches
                .into_iter()
                .filter(|batch| batch.num_rows() > 0)
                .map(|batch| concat_batches(&batch.schema(), [&batch]))
                .map(|batch| {
                    let batch = batch.map_err(|error| SqlError::internal(error))?;
                    RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())
                        .map_err(|error| SqlError::internal(error))
                })
                .collect::<Result<Vec<_>, _>>()?;
            variables::make_variable(&mut session.work, &definition, None, &batches)
        }
    }
}

fn updated_columns(table: &TableDefinition, event: Event, assigned: Option<&[usize]>) -> Arc<UpdatedColumns> {
    let highest = table.columns.iter().map(|column| column.id).max().unwrap_or(0);
    let mut mask = vec![0_u8; usize::try_from(highest).unwrap_or(0).div_ceil(8)];
    let mut columns = Vec::with_capacity(table.columns.len());
    for (position, column) in table.columns.iter().enumerate() {
        let updated = match event {
            Event::Insert => true,
            Event::Update => assigned.is_none_or(|assigned| assigned.contains(&position)),
            Event::Delete => false,
        };
        let bit = usize::try_from(column.id).ok().and_then(|id| id.checked_sub(1));
        if updated
            && let Some(bit) = bit
            && let Some(byte) = mask.get_mut(bit / 8)
        {
            *byte |= 1 << (bit % 8);
        }
        columns.push((column.name.clone(), updated));
    }
    Arc::new(UpdatedColumns { columns, mask })
}

/// Runs the triggers of a bulk load that [fires them](super::bulk::BulkFires), and ends the load's transaction.
pub(crate) async fn fire_bulk(
    session: &mut Session,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let Some(fires) = session.bulk_fires.take() else { return Ok(()) };
    let rows = std::mem::take(&mut *fires.rows.lock());
    note_inserted(session, &fires.table, rows);
    let result = fire(session, frame, output).await;
    close(session, fires.own, result)
}

/// Runs the triggers of a successful bulk load. Their answers go to `events`, with an error and its DONE. Returns whether the
/// load stays.
pub async fn fire_after_bulk(
    session: &mut Session,
    events: mpsc::Sender<Response>,
    cancellation: Cancellation,
) -> bool {
    // The load's own cancellation ended with it.
    session.watch(&cancellation);
    session.place(Placement::default());
    let mut output = Output::new(events, cancellation);
    let result = fire_bulk(session, &Frame::new(false), &mut output).await;
    match result {
        Ok(()) => true,
        Err(error) if error.is_cancelled() => false,
        Err(error) => {
            answer::refuse(session, error, DoneKind::Statement, &mut output).await;
            false
        }
    }
}
