//! INSTEAD OF triggers: the rows of a statement only go into `inserted` and `deleted`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use databases::catalogue::{Default, ModuleDefinition, TableDefinition, Trigger};
use databases::table::InputRows;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Assignment, Delete, Insert, InsertSource, Update};
use tsql::expression::{Expr, Literal};
use tsql::query::{CommonTable, Query, Select, SelectItem, TableSource};

use crate::session::Session;
use crate::session::fired::{Event, Fired, Rows};
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::VariableTable;
use crate::session::work::variables;
use crate::statements::dml::destination;
use crate::statements::dml::fire::{check_output, close, fire_instead, firing, logical_definition};
use crate::statements::dml::insert;
use crate::statements::dml::modify;
use crate::statements::dml::modify::assigned;
use crate::statements::dml::reference;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::resolve;

/// The name of a table under way in the store of variables; no name of the user's begins so.
const UNDER_WAY: &str = "\u{1}instead";

/// A table or view whose triggers take a statement's place.
pub(crate) struct Instead {
    table: Arc<TableDefinition>,
    triggers: Vec<Trigger>,
    /// The alias of the target in the statement.
    alias: String,
    /// FROM.
    from: Vec<TableSource>,
}

/// Finds the INSTEAD OF triggers of a statement's target; `None` if it has none. Errors: 40515 for one among several
/// sources.
pub(crate) fn find_instead(
    session: &Session,
    target: &ObjectName,
    from: &[TableSource],
    with: &[CommonTable],
    event: Event,
) -> Result<Option<Instead>, SqlError> {
    if target.is_variable() {
        return Ok(None);
    }
    let mut name = target.clone();
    let mut alias = target.name.clone();
    let mut sources = from.to_vec();
    if let Some(TableSource::Table { name: real, alias: own, .. }) =
        reference::reference_in(session, target, &mut sources, with)?
    {
        name = real.clone();
        alias = own.clone().unwrap_or_else(|| real.name.clone());
    }
    let table = match session.work.find(&name, &session.database)? {
        Some(table) => Arc::clone(&table.definition),
        None => {
            let real = resolve::resolved(session, &name)?;
            match (resolve::view_module(session, &real)?, session.work.find(&real, &session.database)?) {
                (Some(view), _) => Arc::new(view_as_table(&view.definition)),
                (None, Some(table)) => Arc::clone(&table.definition),
                (None, None) => return Ok(None),
            }
        }
    };
    if table.triggers.is_empty() {
        return Ok(None);
    }
    let triggers = firing(session, &table.triggers, event, true);
    if triggers.is_empty() {
        return Ok(None);
    }
    if from.len() > 1 || from.iter().any(|source| !matches!(source, TableSource::Table { .. })) {
        return Err(SqlError::unsupported(
            "UPDATE or DELETE … FROM of several tables with an INSTEAD OF trigger",
        ));
    }
    let from = match from.first() {
        Some(source) => vec![source.clone()],
        None => vec![TableSource::Table {
            name,
            alias: Some(alias.clone()),
            hints: std::default::Default::default(),
        }],
    };
    Ok(Some(Instead { table, triggers, alias, from }))
}

/// Returns a view's columns in the form of a table.
fn view_as_table(view: &ModuleDefinition) -> TableDefinition {
    TableDefinition {
        object_id: view.object_id,
        database: view.database.clone(),
        schema: view.schema.clone(),
        name: view.name.clone(),
        created_us: view.created_us,
        columns: view.columns.clone(),
        keys: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        compression: std::default::Default::default(),
        file_groups: std::default::Default::default(),
        partitioning: None,
        lock_escalation: std::default::Default::default(),
        lock_on_bulk_load: false,
        extended_properties: Vec::new(),
        triggers: view.triggers.clone(),
    }
}

/// Defines a table of the rows that a statement would have written, without anything that could refuse one.
fn loose_definition(session: &Session, table: &TableDefinition) -> TableDefinition {
    let mut definition = logical_definition(session, table);
    for (column, own) in definition.columns.iter_mut().zip(&table.columns) {
        column.nullable = true;
        if column.sql_type == SqlType::RowVersion {
            column.sql_type = SqlType::Binary { length: 8 };
        }
        column.default.clone_from(&own.default);
        if own.identity.is_some() {
            // It has no value yet.
            let text = "0".to_string();
            column.default = Some(Default { name: String::new(), object_id: 0, text });
        }
    }
    definition
}

/// Runs INSERT.
pub(crate) async fn insert_instead(
    session: &mut Session,
    insert: &Insert,
    instead: Instead,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    check_output(session, &instead.table, &[Event::Insert], insert.output.as_ref())?;
    if insert.output.is_some() || matches!(insert.source, InsertSource::Execute(_)) {
        return Err(SqlError::unsupported("OUTPUT INTO or EXECUTE with an INSTEAD OF trigger"));
    }
    if session.settings.format_only {
        output.done(frame.done_kind(), command::INSERT, None).await;
        return Ok(());
    }
    let own = session.work.begin_quietly();
    let result = inserted_rows(session, insert, &instead, frame).await;
    let result = match result {
        Ok((table, rows)) => {
            let Instead { table: of, triggers, .. } = instead;
            let fired = Fired {
                table: of,
                triggers,
                event: Event::Insert,
                inserted: Rows::Table(table),
                deleted: Rows::none(),
                assigned: None,
                rows,
            };
            fire_instead(session, fired, frame, output).await.map(|()| rows)
        }
        Err(error) => Err(error),
    };
    let rows = close(session, own, result)?;
    modify::finish_change(session, rows, None, command::INSERT, frame, output).await;
    Ok(())
}

async fn inserted_rows(
    session: &mut Session,
    insert: &Insert,
    instead: &Instead,
    frame: &Frame,
) -> Result<(VariableTable, u64), SqlError> {
    let targets = match &insert.source {
        InsertSource::DefaultValues => Vec::new(),
        _ => destination::target_columns(session, &insert.table, insert.columns.as_deref(), &instead.table)?,
    };
    let definition = loose_definition(session, &instead.table);
    let made = variables::make_variable(&mut session.work, &definition, None, &[])?;
    variables::put_variable(&mut session.work, UNDER_WAY, made);
    let mark = session.work.start_statement()?;
    let filled = match destination::writable(session, &ObjectName::bare(UNDER_WAY)) {
        Ok(open) => insert::insert_rows(session, (insert, None), open, &targets, frame).await,
        Err(error) => Err(error),
    };
    session.work.end_statement(&mark, filled.is_ok())?;
    taken(session, filled.map(|filled| filled.rows))
}

/// Returns the table being filled, and drops it if its rows cannot be computed.
fn taken(session: &mut Session, filled: Result<u64, SqlError>) -> Result<(VariableTable, u64), SqlError> {
    let Some(table) = variables::take_variable(&mut session.work, UNDER_WAY) else {
        return Err(SqlError::internal("rows without a table"));
    };
    match filled {
        Ok(rows) => Ok((table, rows)),
        Err(error) => {
            variables::drop_variable(&session.work, &table);
            Err(error)
        }
    }
}

/// Runs DELETE.
pub(crate) async fn delete_instead(
    session: &mut Session,
    delete: &Delete,
    instead: Instead,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    check_output(session, &instead.table, &[Event::Delete], delete.output.as_ref())?;
    if delete.output.is_some() {
        return Err(SqlError::unsupported("OUTPUT INTO with an INSTEAD OF trigger"));
    }
    let select = Select {
        items: own_columns(&instead),
        top: delete.top.clone(),
        from: instead.from.clone(),
        filter: delete.filter.clone(),
        ..Select::default()
    };
    let query = Query { with: delete.with.clone(), ..Query::select(select) };
    let changed = Changed { event: Event::Delete, query, assigned: Vec::new() };
    change_instead(session, instead, changed, command::DELETE, frame, output).await
}

/// Runs UPDATE.
pub(crate) async fn update_instead(
    session: &mut Session,
    update: &Update,
    instead: Instead,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    check_output(session, &instead.table, &[Event::Update], update.output.as_ref())?;
    if update.output.is_some() {
        return Err(SqlError::unsupported("OUTPUT INTO with an INSTEAD OF trigger"));
    }
    reference::check_assigned_table(&update.assignments, &update.target, &instead.alias)?;
    let positions = assigned(&update.assignments, &instead.table, str::to_string)?;
    let positions: Option<Vec<usize>> = positions.into_iter().collect();
    let Some(positions) = positions.filter(|_| update.assignments.iter().all(|own| own.variable.is_none()))
    else {
        return Err(SqlError::unsupported("SET of a variable with an INSTEAD OF trigger"));
    };
    let mut items = own_columns(&instead);
    for (assignment, position) in update.assignments.iter().zip(&positions) {
        let expr = assigned_value(&instead, assignment, *position)?;
        items.push(SelectItem::Value { expr, alias: None });
    }
    let select = Select {
        items,
        top: update.top.clone(),
        from: instead.from.clone(),
        filter: update.filter.clone(),
        ..Select::default()
    };
    let query = Query { with: update.with.clone(), ..Query::select(select) };
    let changed = Changed { event: Event::Update, query, assigned: positions };
    change_instead(session, instead, changed, command::UPDATE, frame, output).await
}

fn own_columns(instead: &Instead) -> Vec<SelectItem> {
    let columns = instead.table.columns.iter();
    columns
        .map(|column| {
            let expr = Expr::Column(vec![instead.alias.clone(), column.name.clone()]);
            SelectItem::Value { expr, alias: None }
        })
        .collect()
}

fn assigned_value(instead: &Instead, assignment: &Assignment, position: usize) -> Result<Expr, SqlError> {
    let column = instead.table.columns.get(position);
    Ok(match (&assignment.value, assignment.compound, column) {
        (Some(value), Some(operator), Some(column)) => {
            let own = Expr::Column(vec![instead.alias.clone(), column.name.clone()]);
            Expr::Binary(Box::new(own), operator, Box::new(value.clone()))
        }
        (Some(value), ..) => value.clone(),
        (None, _, column) => match column.and_then(|column| column.default.as_ref()) {
            Some(default) => tsql::parse_expression(&default.text)?,
            None => Expr::Literal(Literal::Null),
        },
    })
}

/// The rows that UPDATE or DELETE would have changed. The query yields the present rows, followed by the assigned
/// values.
struct Changed {
    event: Event,
    query: Query,
    assigned: Vec<usize>,
}

async fn change_instead(
    session: &mut Session,
    instead: Instead,
    changed: Changed,
    code: u16,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let bound = evaluate::bind(session, &changed.query, frame)?;
    if session.settings.format_only {
        output.done(frame.done_kind(), code, None).await;
        return Ok(());
    }
    let own = session.work.begin_quietly();
    let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let instance = Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await;
    let result = match batches {
        Ok(batches) => {
            let Instead { table, triggers, .. } = instead;
            fire_changed(session, table, triggers, &changed, (&batches, &types), frame, output).await
        }
        Err(error) => Err(error),
    };
    let rows = close(session, own, result)?;
    modify::finish_change(session, rows, None, code, frame, output).await;
    Ok(())
}

async fn fire_changed(
    session: &mut Session,
    table: Arc<TableDefinition>,
    triggers: Vec<Trigger>,
    changed: &Changed,
    (batches, types): (&[RecordBatch], &[SqlType]),
    frame: &Frame,
    output: &mut Output,
) -> Result<u64, SqlError> {
    let width = table.columns.len();
    let old: Vec<usize> = (0..width).collect();
    let (deleted, rows) = filled(session, &table, batches, types, &old, frame)?;
    let (mut inserted, mut assigned) = (Rows::none(), None);
    if changed.event == Event::Update {
        let mut new = old;
        for (index, position) in changed.assigned.iter().enumerate() {
            if let Some(slot) = new.get_mut(*position) {
                *slot = width + index;
            }
        }
        inserted = Rows::Table(filled(session, &table, batches, types, &new, frame)?.0);
        assigned = Some(changed.assigned.clone());
    }
    let (event, deleted) = (changed.event, Rows::Table(deleted));
    let fired = Fired { table, triggers, event, inserted, deleted, assigned, rows };
    fire_instead(session, fired, frame, output).await?;
    Ok(rows)
}

/// Rows of a query as rows of a table, whose columns are the query's of these numbers.
fn filled(
    session: &mut Session,
    table: &TableDefinition,
    batches: &[RecordBatch],
    types: &[SqlType],
    sources: &[usize],
    frame: &Frame,
) -> Result<(VariableTable, u64), SqlError> {
    let definition = loose_definition(session, table);
    let made = variables::make_variable(&mut session.work, &definition, None, &[])?;
    variables::put_variable(&mut session.work, UNDER_WAY, made);
    let mark = session.work.start_statement()?;
    let written = write_rows(session, batches, types, sources, frame);
    session.work.end_statement(&mark, written.is_ok())?;
    taken(session, written)
}

fn write_rows(
    session: &mut Session,
    batches: &[RecordBatch],
    types: &[SqlType],
    sources: &[usize],
    frame: &Frame,
) -> Result<u64, SqlError> {
    let open = destination::writable(session, &ObjectName::bare(UNDER_WAY))?;
    let mut writer = destination::writer_of(session, &open, frame, "UPDATE", false)?;
    let places: Vec<usize> = (0..sources.len()).collect();
    let types: Vec<SqlType> = sources.iter().filter_map(|source| types.get(*source).cloned()).collect();
    let mut rows = 0;
    for batch in batches {
        let arrays: Vec<ArrayRef> =
            sources.iter().filter_map(|source| batch.columns().get(*source).cloned()).collect();
        writer.write(InputRows::placed(sources.len(), &places, &arrays, &types, batch.num_rows()))?;
        rows += batch.num_rows() as u64;
    }
    writer.finish()?;
    Ok(rows)
}
