//! UPDATE and DELETE: rows are chosen, then changed in place.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::take;
use databases::catalogue::TableDefinition;
use databases::table::InputRows;
use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Assignment, Delete, Update};
use tsql::errors;
use tsql::expression::Expr;
use tsql::query::{Select, SelectItem};

use crate::session::Session;
use crate::session::fired::Event;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::statements::dml::change;
use crate::statements::dml::change::RowChanges;
use crate::statements::dml::destination;
use crate::statements::dml::destination::write_options;
use crate::statements::dml::fire::{check_output, fire_held, hold, note_statement};
use crate::statements::dml::instead::{delete_instead, find_instead, update_instead};
use crate::statements::dml::output_clause;
use crate::statements::dml::output_clause::{RowSet, Shown};
use crate::statements::dml::positioned;
use crate::statements::dml::reference;
use crate::statements::dml::references;
use crate::statements::dml::select;
use crate::statements::dml::target;
use crate::statements::dml::target::{Chosen, Target};
use crate::statements::dml::through::Changes;
use crate::statements::dml::tries;
use crate::statements::dml::tries::Tries;
use crate::statements::evaluation::evaluate;
use crate::statements::interpreter::transaction;

/// Rows that a statement changes on its connection's thread.
const ROWS_CHANGED_AT_ONCE: usize = 64;

/// Runs a DELETE.
pub(crate) async fn run_delete(
    session: &mut Session,
    delete: &Delete,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if let Some(cursor) = &delete.current_of {
        let delete = positioned::delete_of(session, delete, cursor, frame)?;
        Box::pin(run_delete(session, &delete, frame, output)).await?;
        return positioned::changed_one(session);
    }
    transaction::begin_implicitly(session, output).await;
    if let Some(instead) = find_instead(session, &delete.target, &delete.from, &delete.with, Event::Delete)? {
        return delete_instead(session, delete, instead, frame, output).await;
    }
    let mut target = delete_target(session, delete)?;
    let renamed = target.renamed_output(delete.output.as_ref());
    let renamed = renamed.map(|output| Delete { output: Some(output), ..delete.clone() });
    let delete = renamed.as_ref().unwrap_or(delete);
    check_output(session, &target.table.definition, &[Event::Delete], delete.output.as_ref())?;
    if session.settings.format_only {
        output.done(frame.done_kind(), command::DELETE, None).await;
        return Ok(());
    }
    let mut tries = tries::begin_tries(session, true)?;
    tries::stay_or_leave(session, &mut tries, &target).await?;
    let result = loop {
        let result = delete_rows(session, delete, target, &tries, frame).await;
        if !tries::once_more(session, &mut tries, result.as_ref().err()).await? {
            break result;
        }
        target = delete_target(session, delete)?;
    };
    let own = result.is_ok() && hold(session);
    session.work.end_statement(&tries.mark, result.is_ok())?;
    let (rows, shown) = result?;
    fire_held(session, own, frame, output).await?;
    finish_change(session, rows, shown, command::DELETE, frame, output).await;
    Ok(())
}

fn delete_target(session: &Session, delete: &Delete) -> Result<Target, SqlError> {
    target::target_of(session, &delete.target, &delete.from, &delete.with, delete.hints, &Changes::Rows)
}

fn update_target(session: &Session, update: &Update) -> Result<Target, SqlError> {
    let columns = update.assignments.iter().filter_map(|assignment| assignment.column.clone()).collect();
    let changes = Changes::Columns(columns);
    target::target_of(session, &update.target, &update.from, &update.with, update.hints, &changes)
}

async fn delete_rows(
    session: &mut Session,
    delete: &Delete,
    target: Target,
    tries: &Tries,
    frame: &Frame,
) -> Result<(u64, Option<Shown>), SqlError> {
    let table = target.table.clone();
    tries::lock_target(session, &table, tries, target.hints, true)?;
    let items = output_clause::further_items(delete.output.as_ref());
    let select =
        Select { items, from: target.from.clone(), filter: delete.filter.clone(), ..Select::default() };
    let reads = delete.output.is_some()
        || !table.definition.triggers.is_empty()
        || !references::referring_tables(session, &table.definition)?.is_empty();
    let (chosen, candidates) = target::choose_rows(session, &target, select, reads, frame).await?;
    let count = candidates.rows.num_rows();
    let first = first_matches(session, &chosen, count, delete.top.as_ref(), frame).await?;
    tries::claim_rows(session, &table, &candidates, first.iter().map(|(row, _)| *row))?;
    let mut changes = RowChanges::new(table, candidates);
    for (row, _) in &first {
        if let Some(gone) = changes.gone.get_mut(*row) {
            *gone = true;
        }
    }
    let shown = match &delete.output {
        Some(clause) => {
            let mut rows = RowSet::default();
            rows.table("deleted", &changes.table.definition, changes.deleted()?)?;
            rows.further(&chosen, 0, &first.iter().map(|(_, index)| *index).collect::<Vec<_>>())?;
            output_clause::output_rows(session, clause, rows, frame).await?
        }
        None => None,
    };
    if first.is_empty() {
        note_statement(session, &changes.table.definition, &[Event::Delete], None);
        return Ok((0, shown));
    }
    let options = write_options("UPDATE", "DELETE");
    let writer = destination::writer_with(session, &changes.table.clone(), frame, options, true)?;
    change::apply(session, changes, writer, "DELETE", frame)?;
    Ok((first.len() as u64, shown))
}

/// Takes the target's chosen rows in their order, each with the first of its matches, as far as TOP allows.
async fn first_matches(
    session: &mut Session,
    chosen: &Chosen,
    rows: usize,
    top: Option<&tsql::query::Top>,
    frame: &Frame,
) -> Result<Vec<(usize, usize)>, SqlError> {
    let mut first: Vec<Option<usize>> = vec![None; rows];
    for (index, row) in chosen.rows.iter().enumerate() {
        if let Some(slot) = row.and_then(|row| first.get_mut(row))
            && slot.is_none()
        {
            *slot = Some(index);
        }
    }
    let mut matches: Vec<(usize, usize)> =
        first.into_iter().enumerate().filter_map(|(row, index)| Some((row, index?))).collect();
    let limit = target::row_limit(session, top, matches.len(), frame).await?;
    matches.truncate(limit);
    if matches.len() > ROWS_CHANGED_AT_ONCE {
        tries::leave(session).await;
    }
    Ok(matches)
}

/// Runs an UPDATE.
pub(crate) async fn run_update(
    session: &mut Session,
    update: &Update,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if let Some(cursor) = &update.current_of {
        let update = positioned::update_of(session, update, cursor, frame)?;
        Box::pin(run_update(session, &update, frame, output)).await?;
        return positioned::changed_one(session);
    }
    transaction::begin_implicitly(session, output).await;
    if let Some(instead) = find_instead(session, &update.target, &update.from, &update.with, Event::Update)? {
        return update_instead(session, update, instead, frame, output).await;
    }
    let mut target = update_target(session, update)?;
    let renamed = target.renamed_output(update.output.as_ref());
    let renamed = renamed.map(|output| Update { output: Some(output), ..update.clone() });
    let update = renamed.as_ref().unwrap_or(update);
    check_output(session, &target.table.definition, &[Event::Update], update.output.as_ref())?;
    if session.settings.format_only {
        output.done(frame.done_kind(), command::UPDATE, None).await;
        return Ok(());
    }
    let sets_variables = update.assignments.iter().any(|assignment| assignment.variable.is_some());
    let mut tries = tries::begin_tries(session, !sets_variables)?;
    tries::stay_or_leave(session, &mut tries, &target).await?;
    let result = loop {
        let result = update_rows(session, update, target, &tries, frame).await;
        if !tries::once_more(session, &mut tries, result.as_ref().err()).await? {
            break result;
        }
        target = update_target(session, update)?;
    };
    let own = result.is_ok() && hold(session);
    session.work.end_statement(&tries.mark, result.is_ok())?;
    let (rows, shown) = result?;
    fire_held(session, own, frame, output).await?;
    finish_change(session, rows, shown, command::UPDATE, frame, output).await;
    Ok(())
}

async fn update_rows(
    session: &mut Session,
    update: &Update,
    target: Target,
    tries: &Tries,
    frame: &mut Frame,
) -> Result<(u64, Option<Shown>), SqlError> {
    let table = target.table.clone();
    let definition = Arc::clone(&table.definition);
    reference::check_assigned_table(&update.assignments, &update.target, &target.alias)?;
    let positions = assigned(&update.assignments, &definition, |name| target.column(name).to_string())?;
    let assigns = positions.iter().copied().flatten().collect::<Vec<_>>();
    let keys = definition.unique_keys();
    let changes_keys = keys.iter().any(|key| key.uses().any(|column| assigns.contains(&column)));
    tries::lock_target(session, &table, tries, target.hints, changes_keys)?;
    let exprs = values_of(&update.assignments, &positions, &target)?;
    // With variables the rows are gone through one by one: a variable may be used in what follows.
    let one_by_one = update.assignments.iter().any(|assignment| assignment.variable.is_some());
    let paths = column_paths(&exprs);
    let wanted: Vec<Expr> =
        if one_by_one { paths.iter().cloned().map(Expr::Column).collect() } else { exprs.clone() };
    let values = wanted.len();
    let mut items: Vec<SelectItem> =
        wanted.into_iter().map(|expr| SelectItem::Value { expr, alias: None }).collect();
    items.extend(output_clause::further_items(update.output.as_ref()));
    let select =
        Select { items, from: target.from.clone(), filter: update.filter.clone(), ..Select::default() };
    let (chosen, candidates) = target::choose_rows(session, &target, select, true, frame).await?;
    let count = candidates.rows.num_rows();
    let matches = first_matches(session, &chosen, count, update.top.as_ref(), frame).await?;
    tries::claim_rows(session, &table, &candidates, matches.iter().map(|(row, _)| *row))?;
    let picks: Vec<usize> = matches.iter().map(|(_, index)| *index).collect();
    let columns = if one_by_one {
        let assigned = Assigned { positions: &positions, exprs: &exprs, paths: &paths };
        let picked = Picked { chosen: &chosen, further: values, picks: &picks };
        values_one_by_one(session, update, assigned, picked, frame).await?
    } else {
        let indices = UInt64Array::from_iter_values(picks.iter().map(|index| *index as u64));
        let mut columns = Vec::with_capacity(values);
        for (index, position) in positions.iter().enumerate() {
            let (array, sql_type) = chosen.column(index)?;
            let array = take(&array, &indices, None).map_err(|error| SqlError::internal(error))?;
            columns.extend(position.map(|position| (position, array, sql_type)));
        }
        columns
    };
    let mut changes = RowChanges::new(table, candidates);
    changes.changed = matches.iter().map(|(row, _)| *row).collect();
    let old = changes.old()?;
    let rows = changes.changed.len();
    if rows > 0 {
        let options = write_options("UPDATE", "UPDATE");
        let mut writer = destination::writer_with(session, &changes.table.clone(), frame, options, true)?;
        changes.new = Some(writer.prepare(updated_rows(&definition, &old, columns))?);
        let new = changes.new.clone();
        change::apply(session, changes, writer, "UPDATE", frame)?;
        if let Some(check) = &target.check {
            check.check(session, &definition, &new, frame).await?;
        }
        note_statement(session, &definition, &[Event::Update], Some(&assigns));
        let picked = Picked { chosen: &chosen, further: values, picks: &picks };
        let shown = update_output(session, update, &definition, (old, new), picked, frame);
        return Ok((rows as u64, shown.await?));
    }
    note_statement(session, &definition, &[Event::Update], Some(&assigns));
    let picked = Picked { chosen: &chosen, further: values, picks: &picks };
    let shown = update_output(session, update, &definition, (old.clone(), Some(old)), picked, frame);
    Ok((0, shown.await?))
}

/// The joined rows that an UPDATE takes its values from.
#[derive(Clone, Copy)]
struct Picked<'a> {
    chosen: &'a Chosen,
    /// The index of the first column that only OUTPUT reads.
    further: usize,
    /// Numbers of the rows, one for each row that changes.
    picks: &'a [usize],
}

/// The assignments of an UPDATE.
#[derive(Clone, Copy)]
struct Assigned<'a> {
    /// The column of each assignment; None: a variable.
    positions: &'a [Option<usize>],
    exprs: &'a [Expr],
    /// The columns that they read.
    paths: &'a [Vec<String>],
}

/// Computes the rows of OUTPUT.
async fn update_output(
    session: &mut Session,
    update: &Update,
    definition: &TableDefinition,
    (old, new): (RecordBatch, Option<RecordBatch>),
    picked: Picked<'_>,
    frame: &Frame,
) -> Result<Option<Shown>, SqlError> {
    let Some(clause) = &update.output else { return Ok(None) };
    let mut rows = RowSet::default();
    if let Some(new) = new {
        rows.table("inserted", definition, new)?;
    }
    rows.table("deleted", definition, old)?;
    rows.further(picked.chosen, picked.further, picked.picks)?;
    output_clause::output_rows(session, clause, rows, frame).await
}

/// Computes the new values of an UPDATE that assigns variables, row by row in the table's order.
async fn values_one_by_one(
    session: &mut Session,
    update: &Update,
    Assigned { positions, exprs, paths }: Assigned<'_>,
    Picked { chosen, picks, .. }: Picked<'_>,
    frame: &mut Frame,
) -> Result<Vec<(usize, ArrayRef, SqlType)>, SqlError> {
    let rewritten: Vec<Expr> = exprs.iter().map(|expr| over_row(expr, paths)).collect();
    let mut columns: Vec<Vec<Datum>> = positions.iter().map(|_| Vec::with_capacity(picks.len())).collect();
    let mut column_types: Vec<Option<SqlType>> = positions.iter().map(|_| None).collect();
    for pick in picks {
        for (index, _) in paths.iter().enumerate() {
            let (array, sql_type) = chosen.column(index)?;
            let value = Datum::read(array.as_ref(), &sql_type, *pick)?;
            frame.declare(&select::row_variable(index), sql_type, value);
        }
        for (index, (assignment, expr)) in update.assignments.iter().zip(&rewritten).enumerate() {
            let (value, sql_type) = evaluate::value(session, expr, frame).await?;
            if let Some(variable) = &assignment.variable {
                frame.assign(variable, value.clone(), &sql_type)?;
            }
            if let (Some(values), Some(slot)) = (columns.get_mut(index), column_types.get_mut(index)) {
                let known = slot.get_or_insert_with(|| sql_type.clone()).clone();
                values.push(convert(value, &sql_type, &known, 0)?);
            }
        }
    }
    let mut values = Vec::new();
    for ((position, data), sql_type) in positions.iter().zip(columns).zip(column_types) {
        if let Some(position) = position {
            let sql_type = sql_type.unwrap_or(SqlType::Int);
            values.push((*position, Datum::array(&data, &sql_type), sql_type));
        }
    }
    Ok(values)
}

pub(crate) async fn finish_change(
    session: &mut Session,
    rows: u64,
    shown: Option<Shown>,
    code: u16,
    frame: &Frame,
    output: &mut Output,
) {
    output_clause::show_output(shown, output).await;
    session.last.rows = rows as i64;
    session.last.error = 0;
    let count = if session.settings.no_count { None } else { Some(rows) };
    output.done(frame.done_kind(), code, count).await;
}

/// Rows as they were, with other values in some columns.
pub(crate) fn updated_rows(
    definition: &TableDefinition,
    old: &RecordBatch,
    values: Vec<(usize, ArrayRef, SqlType)>,
) -> InputRows {
    let mut columns: Vec<Option<(ArrayRef, SqlType)>> = definition
        .columns
        .iter()
        .zip(old.columns())
        .map(|(column, array)| match &column.sql_type {
            SqlType::RowVersion => None,
            _ if column.computed.is_some() => None,
            sql_type => Some((Arc::clone(array), sql_type.clone())),
        })
        .collect();
    for (position, array, sql_type) in values {
        if let Some(slot) = columns.get_mut(position) {
            *slot = Some((array, sql_type));
        }
    }
    InputRows { columns, rows: old.num_rows() }
}

/// Returns the assigned expressions, with DEFAULT and compound operators spelled out.
pub(crate) fn values_of(
    assignments: &[Assignment],
    positions: &[Option<usize>],
    target: &Target,
) -> Result<Vec<Expr>, SqlError> {
    assignments
        .iter()
        .zip(positions)
        .map(|(assignment, position)| match (&assignment.value, position) {
            (Some(value), _) => Ok(match (assignment.compound, &assignment.column) {
                (Some(operator), Some(column)) => {
                    let own = Expr::Column(vec![target.alias.clone(), column.clone()]);
                    Expr::Binary(Box::new(own), operator, Box::new(value.clone()))
                }
                _ => value.clone(),
            }),
            (None, Some(position)) => default_of(&target.table.definition, *position),
            (None, None) => Err(errors::SYNTAX_KEYWORD.with(["DEFAULT"])),
        })
        .collect()
}

/// Lists the columns that expressions name, each once.
fn column_paths(exprs: &[Expr]) -> Vec<Vec<String>> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    for expr in exprs {
        expr.clone().rewrite(&mut |part| {
            if let Expr::Column(path) = &part
                && !paths.contains(path)
            {
                paths.push(path.clone());
            }
            part
        });
    }
    paths
}

/// Rewrites an expression over the variables that stand for the columns of the present row.
fn over_row(expr: &Expr, paths: &[Vec<String>]) -> Expr {
    expr.clone().rewrite(&mut |part| match &part {
        Expr::Column(path) => match paths.iter().position(|known| known == path) {
            Some(index) => Expr::Variable(select::row_variable(index)),
            None => part,
        },
        _ => part,
    })
}

/// Positions of the columns that SET names; None where only a variable is set. `column` finds the table's name of a
/// column.
///
/// Errors: 207, 264, 271, 272, 8102.
pub(crate) fn assigned(
    assignments: &[Assignment],
    definition: &TableDefinition,
    column: impl Fn(&str) -> String,
) -> Result<Vec<Option<usize>>, SqlError> {
    let mut positions: Vec<Option<usize>> = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let Some(name) = &assignment.column else {
            positions.push(None);
            continue;
        };
        let position =
            definition.position(&column(name)).ok_or_else(|| errors::INVALID_COLUMN.with([name]))?;
        if positions.contains(&Some(position)) {
            return Err(errors::COLUMN_NAMED_TWICE.with([name]));
        }
        if let Some(column) = definition.columns.get(position) {
            if column.identity.is_some() {
                return Err(SqlError::new(
                    8102,
                    16,
                    1,
                    format!("Cannot update identity column '{}'.", column.name),
                ));
            }
            if column.sql_type == SqlType::RowVersion {
                return Err(SqlError::new(272, 16, 1, "Cannot update a timestamp column."));
            }
            if column.computed.is_some() {
                return Err(errors::COMPUTED_COLUMN.with([&column.name]));
            }
        }
        positions.push(Some(position));
    }
    Ok(positions)
}

fn default_of(definition: &TableDefinition, position: usize) -> Result<Expr, SqlError> {
    match definition.columns.get(position).and_then(|column| column.default.as_ref()) {
        Some(default) => tsql::parse_expression(&default.text),
        None => Ok(Expr::Literal(tsql::expression::Literal::Null)),
    }
}
