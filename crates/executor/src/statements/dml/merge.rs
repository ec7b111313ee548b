//! MERGE: source and target are joined, and the first matching WHEN clause applies to each joined row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::compute::{concat, take};
use databases::table::{InputRows, TableWriter};
use query::{Datum, OutputColumn};
use tds::{Length, SqlType};
use tsql::SqlError;
use tsql::ast::{Merge, MergeAction, MergeClause, MergeWhen};
use tsql::expression::{Expr, Literal};
use tsql::hints::TableHints;
use tsql::query::{JoinKind, Query, Select, SelectItem, TableSource};

use crate::session::Session;
use crate::session::fired::Event;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::statements::dml::change;
use crate::statements::dml::change::{RowChanges, take_rows};
use crate::statements::dml::destination;
use crate::statements::dml::destination::write_options;
use crate::statements::dml::fire::{check_output, fire_held, hold};
use crate::statements::dml::modify;
use crate::statements::dml::modify::{assigned, updated_rows, values_of};
use crate::statements::dml::output_clause;
use crate::statements::dml::output_clause::{RowSet, Shown};
use crate::statements::dml::reference;
use crate::statements::dml::target;
use crate::statements::dml::target::{Chosen, Target, output_columns};
use crate::statements::dml::through::Changes;
use crate::statements::dml::tries;
use crate::statements::dml::tries::Tries;
use crate::statements::interpreter::transaction;

/// The column that tells rows of the source from rows without one: their numbers, where OUTPUT shows what becomes of them in the source's
/// order. No name of the user's has a blank in front.
const PRESENT: &str = " present";

/// The action of a joined row.
#[derive(Clone, Copy)]
struct Act {
    /// The number of the clause.
    clause: usize,
    /// The joined row.
    pair: usize,
    /// The target's row.
    row: Option<usize>,
}

/// Target and source of a MERGE side by side.
struct Joined<'a> {
    merge: &'a Merge,
    target: &'a Target,
    /// The alias of the source.
    alias: &'a str,
    /// The joined rows.
    chosen: &'a Chosen,
}

/// The actions of the joined rows, in their order and in that of the written rows.
#[derive(Clone, Copy, Default)]
struct Acts<'a> {
    all: &'a [Act],
    updated: &'a [Act],
    inserted: &'a [Act],
}

/// Runs a MERGE. Errors of its own: 8672 for a target row that two source rows would change.
pub async fn run(
    session: &mut Session,
    merge: &Merge,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    transaction::begin_implicitly(session, output).await;
    let mut target = merge_target(session, merge)?;
    let renamed = target.renamed_output(merge.output.as_ref());
    let renamed = renamed.map(|output| Merge { output: Some(output), ..merge.clone() });
    let merge = renamed.as_ref().unwrap_or(merge);
    let events = [Event::Insert, Event::Update, Event::Delete];
    check_output(session, &target.table.definition, &events, merge.output.as_ref())?;
    if target.table.definition.triggers.iter().any(|trigger| trigger.instead && !trigger.disabled) {
        return Err(SqlError::unsupported("MERGE into a table with an INSTEAD OF trigger"));
    }
    if session.settings.format_only {
        output.done(frame.done_kind(), command::MERGE, None).await;
        return Ok(());
    }
    let mut tries = tries::begin_tries(session, true)?;
    let result = loop {
        let result = merge_rows(session, merge, target, &tries, frame).await;
        if !tries::tries_again(session, &mut tries, result.as_ref().err())? {
            break result;
        }
        target = merge_target(session, merge)?;
    };
    let own = result.is_ok() && hold(session);
    session.work.end_statement(&tries.mark, result.is_ok())?;
    let (rows, identity, shown) = result?;
    if identity.is_some() {
        session.last.identity = identity;
        session.last.scope_identity = identity;
    }
    fire_held(session, own, frame, output).await?;
    modify::finish_change(session, rows, shown, command::MERGE, frame, output).await;
    Ok(())
}

fn merge_target(session: &Session, merge: &Merge) -> Result<Target, SqlError> {
    let mut columns = Vec::new();
    let mut deletes = false;
    for clause in &merge.clauses {
        match &clause.action {
            MergeAction::Update(assignments) => {
                columns.extend(assignments.iter().filter_map(|assignment| assignment.column.clone()));
            }
            MergeAction::Insert { columns: listed, .. } => columns.extend(listed.iter().flatten().cloned()),
            MergeAction::Delete => deletes = true,
        }
    }
    let changes = if deletes { Changes::Rows } else { Changes::Columns(columns) };
    let mut target = target::target_of(session, &merge.target, &[], &merge.with, merge.hints, &changes)?;
    if let Some(alias) = &merge.alias {
        target.alias.clone_from(alias);
    }
    Ok(target)
}

async fn merge_rows(
    session: &mut Session,
    merge: &Merge,
    mut target: Target,
    tries: &Tries,
    frame: &Frame,
) -> Result<(u64, Option<i64>, Option<Shown>), SqlError> {
    let table = target.table.clone();
    let definition = Arc::clone(&table.definition);
    tries::lock_target(session, &table, tries, target.hints, true)?;
    let (source, alias) = present(&merge.source, merge.output.is_some())?;
    target.from = vec![join_of(source, &target, merge)];
    let items = vec![
        SelectItem::Value { expr: clause_of(merge, &target, &alias), alias: None },
        SelectItem::Wildcard(vec![alias.clone()]),
    ];
    let select = Select { items, from: target.from.clone(), ..Select::default() };
    let (chosen, candidates) = target::choose_rows(session, &target, select, true, frame).await?;
    let joined = Joined { merge, target: &target, alias: &alias, chosen: &chosen };
    let acts = acts_on(session, merge, &chosen, candidates.rows.num_rows(), frame).await?;
    tries::claim_rows(session, &table, &candidates, acts.iter().filter_map(|act| act.row))?;
    let mut changes = RowChanges::new(table, candidates);
    let mut inserts: Vec<(Vec<Act>, InputRows)> = Vec::new();
    let mut changing: Vec<(Vec<Act>, InputRows)> = Vec::new();
    for (index, clause) in merge.clauses.iter().enumerate() {
        let own: Vec<Act> = acts.iter().filter(|act| act.clause == index).copied().collect();
        match &clause.action {
            MergeAction::Delete => {
                for row in own.iter().filter_map(|act| act.row) {
                    if let Some(gone) = changes.gone.get_mut(row) {
                        *gone = true;
                    }
                }
            }
            MergeAction::Update(assignments) => {
                reference::check_assigned_table(assignments, &merge.target, &target.alias)?;
                let positions = assigned(assignments, &definition, |name| target.column(name).to_string())?;
                if positions.iter().any(Option::is_none) {
                    return Err(SqlError::unsupported("MERGE … UPDATE SET of a variable"));
                }
                let exprs = values_of(assignments, &positions, &target)?;
                let rows: Vec<usize> = own.iter().filter_map(|act| act.row).collect();
                let old = take_rows(changes.rows(), &rows)?;
                let set = matched_pairs(&joined, &own, Some(&old), clause.when)?;
                let values = evaluate_over(session, set, exprs, frame).await?;
                let columns = positions
                    .iter()
                    .zip(values)
                    .filter_map(|(position, (array, sql_type))| Some(((*position)?, array, sql_type)))
                    .collect();
                changes.changed.extend(&rows);
                changing.push((own, updated_rows(&definition, &old, columns)));
            }
            MergeAction::Insert { columns, values } => {
                let columns = columns.as_deref();
                let input = merge_insert(session, &joined, &own, columns, values, frame).await?;
                inserts.push((own, input));
            }
        }
    }
    if acts.is_empty() {
        let shown = merge_output(session, &joined, &changes, Acts::default(), frame);
        return Ok((0, None, shown.await?));
    }
    let mut writer = destination::writer_with(
        session,
        &changes.table.clone(),
        frame,
        write_options("UPDATE", "MERGE"),
        true,
    )?;
    let (updated, new) = completed(&mut writer, changing)?;
    writer.set_statement("INSERT");
    let (inserted, added) = completed(&mut writer, inserts)?;
    changes.new = new;
    changes.inserted.extend(added.clone());
    let identity = writer.last_identity;
    let rows = acts.len() as u64;
    let done = Acts { all: &acts, updated: &updated, inserted: &inserted };
    let shown = merge_output(session, &joined, &changes, done, frame).await?;
    let written: Vec<RecordBatch> = match &target.check {
        Some(_) => changes.new.iter().chain(&changes.inserted).cloned().collect(),
        None => Vec::new(),
    };
    change::apply(session, changes, writer, "MERGE", frame)?;
    if let Some(check) = &target.check {
        check.check(session, &definition, &written, frame).await?;
    }
    Ok((rows, identity, shown))
}

/// Chooses the joined rows that some clause is for, as far as TOP allows. Errors: 8672.
async fn acts_on(
    session: &mut Session,
    merge: &Merge,
    chosen: &Chosen,
    rows: usize,
    frame: &Frame,
) -> Result<Vec<Act>, SqlError> {
    let (clauses, sql_type) = chosen.column(0)?;
    let mut acts = Vec::new();
    for (pair, row) in chosen.rows.iter().enumerate() {
        let clause = Datum::read(clauses.as_ref(), &sql_type, pair)?.as_int();
        if let Some(clause) = clause.and_then(|clause| usize::try_from(clause).ok()) {
            acts.push(Act { clause, pair, row: *row });
        }
    }
    let present = chosen.columns.iter().position(|column| column.name == PRESENT);
    if let (Some(present), true) = (present, merge.output.is_some()) {
        let (numbers, sql_type) = chosen.column(present)?;
        let mut numbered = Vec::with_capacity(acts.len());
        for act in acts {
            let number = Datum::read(numbers.as_ref(), &sql_type, act.pair)?.as_int();
            // Target rows without a row of the source come last.
            numbered.push((number.unwrap_or(i64::MAX), act));
        }
        numbered.sort_by_key(|(number, _)| *number);
        acts = numbered.into_iter().map(|(_, act)| act).collect();
    }
    let limit = target::row_limit(session, merge.top.as_ref(), acts.len(), frame).await?;
    acts.truncate(limit);
    let mut touched = vec![false; rows];
    for row in acts.iter().filter_map(|act| act.row) {
        if let Some(touched) = touched.get_mut(row)
            && std::mem::replace(touched, true)
        {
            return Err(SqlError::new(
                8672,
                16,
                1,
                "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.",
            ));
        }
    }
    Ok(acts)
}

/// Puts source and target of some joined rows side by side. `old` are the target's rows; `None` where a clause cannot
/// see them.
fn matched_pairs(
    Joined { target, alias, chosen, .. }: &Joined<'_>,
    acts: &[Act],
    old: Option<&RecordBatch>,
    when: MergeWhen,
) -> Result<RowSet, SqlError> {
    let mut set = RowSet::default();
    if let Some(old) = old {
        for (column, array) in output_columns(&target.table.definition).into_iter().zip(old.columns()) {
            set.column(&target.alias, column, Arc::clone(array))?;
        }
    }
    if when != MergeWhen::NotMatchedBySource {
        let pairs: Vec<usize> = acts.iter().map(|act| act.pair).collect();
        source_columns(&mut set, alias, chosen, &pairs)?;
    }
    Ok(set)
}

async fn evaluate_over(
    session: &mut Session,
    set: RowSet,
    exprs: Vec<Expr>,
    frame: &Frame,
) -> Result<Vec<(ArrayRef, SqlType)>, SqlError> {
    let items: Vec<SelectItem> =
        exprs.into_iter().map(|expr| SelectItem::Value { expr, alias: None }).collect();
    let bound = output_clause::bind_rows(session, &set.joined()?, &items, frame)?;
    let columns = bound.columns.clone();
    let schema = query::exact_schema(&columns);
    let instance = Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await?;
    let batch =
        arrow::compute::concat_batches(&schema, &batches).map_err(|error| SqlError::internal(error))?;
    Ok(batch.columns().iter().cloned().zip(columns.into_iter().map(|column| column.sql_type)).collect())
}

async fn merge_insert(
    session: &mut Session,
    joined: &Joined<'_>,
    acts: &[Act],
    columns: Option<&[String]>,
    values: &[Option<Expr>],
    frame: &Frame,
) -> Result<InputRows, SqlError> {
    let Joined { merge, target, .. } = joined;
    let definition = &target.table.definition;
    let width = definition.columns.len();
    if values.is_empty() {
        return Ok(InputRows { columns: (0..width).map(|_| None).collect(), rows: acts.len() });
    }
    let names: Option<Vec<String>> =
        columns.map(|columns| columns.iter().map(|name| target.column(name).to_string()).collect());
    let targets = destination::target_columns(session, &merge.target, names.as_deref(), definition)?;
    destination::value_count_matches(values.len(), targets.len(), columns.is_some())?;
    let (mut places, mut exprs) = (Vec::new(), Vec::new());
    for (position, value) in targets.iter().zip(values) {
        // A DEFAULT is a column that is not given.
        if let Some(value) = value {
            places.push(*position);
            exprs.push(value.clone());
        }
    }
    if exprs.is_empty() {
        return Ok(InputRows { columns: (0..width).map(|_| None).collect(), rows: acts.len() });
    }
    let set = matched_pairs(joined, acts, None, MergeWhen::NotMatchedByTarget)?;
    let values = evaluate_over(session, set, exprs, frame).await?;
    let (arrays, types): (Vec<ArrayRef>, Vec<SqlType>) = values.into_iter().unzip();
    Ok(InputRows::placed(width, &places, &arrays, &types, acts.len()))
}

/// Computes the rows of OUTPUT.
async fn merge_output(
    session: &mut Session,
    Joined { merge, target, alias, chosen }: &Joined<'_>,
    changes: &RowChanges,
    Acts { all: acts, updated, inserted }: Acts<'_>,
    frame: &Frame,
) -> Result<Option<Shown>, SqlError> {
    let Some(clause) = &merge.output else { return Ok(None) };
    // `inserted`: changed rows first, then new ones; NULL for those that went.
    let place = |of: &[Act], act: &Act| of.iter().position(|other| other.pair == act.pair);
    let mut new_rows = Vec::with_capacity(acts.len());
    for act in acts {
        let index = match place(updated, act) {
            Some(index) => Some(index),
            None => place(inserted, act).map(|index| updated.len() + index),
        };
        new_rows.push(index.map(|index| index as u64));
    }
    let new_rows = UInt64Array::from(new_rows);
    let old_rows = UInt64Array::from_iter(acts.iter().map(|act| act.row.map(|row| row as u64)));
    let actions: ArrayRef = Arc::new(StringArray::from_iter_values(acts.iter().map(|act| {
        match merge.clauses.get(act.clause).map(|clause| &clause.action) {
            Some(MergeAction::Update(_)) => "UPDATE",
            Some(MergeAction::Delete) => "DELETE",
            _ => "INSERT",
        }
    })));
    let mut set = RowSet::default();
    let new: Vec<&RecordBatch> = changes.new.iter().chain(&changes.inserted).collect();
    let definition = &target.table.definition;
    for (index, column) in output_columns(definition).into_iter().enumerate() {
        let parts: Vec<&dyn Array> =
            new.iter().filter_map(|batch| batch.columns().get(index)).map(AsRef::as_ref).collect();
        let all = match (parts.is_empty(), changes.rows().columns().get(index)) {
            (true, Some(whole)) => whole.slice(0, 0),
            _ => concat(&parts).map_err(|error| SqlError::internal(error))?,
        };
        let array = take(&all, &new_rows, None).map_err(|error| SqlError::internal(error))?;
        set.column("inserted", OutputColumn { nullable: true, ..column }, array)?;
    }
    for (column, array) in output_columns(definition).into_iter().zip(changes.rows().columns()) {
        let array = take(array, &old_rows, None).map_err(|error| SqlError::internal(error))?;
        set.column("deleted", OutputColumn { nullable: true, ..column }, array)?;
    }
    let action = SqlType::NVarChar { length: Length::Units(10) };
    set.column("", OutputColumn::expression("$action", action, true), actions)?;
    let pairs: Vec<usize> = acts.iter().map(|act| act.pair).collect();
    source_columns(&mut set, alias, chosen, &pairs)?;
    output_clause::output_rows(session, clause, set, frame).await
}

/// Adds the source's columns of some joined rows.
fn source_columns(set: &mut RowSet, alias: &str, chosen: &Chosen, pairs: &[usize]) -> Result<(), SqlError> {
    let values = take_rows(&chosen.values, pairs)?;
    // The first column is the clause; the last, or the one of that name, the mark.
    for (column, array) in chosen.columns.iter().zip(values.columns()).skip(1) {
        if column.name != PRESENT {
            set.column(alias, column.clone(), Arc::clone(array))?;
        }
    }
    Ok(())
}

/// Completes the rows of several clauses, in their order.
fn completed(
    writer: &mut TableWriter,
    rows: Vec<(Vec<Act>, InputRows)>,
) -> Result<(Vec<Act>, Option<RecordBatch>), SqlError> {
    let (mut acts, mut batches) = (Vec::new(), Vec::new());
    for (own, input) in rows {
        if input.rows > 0 {
            batches.push(writer.prepare(input)?);
            acts.extend(own);
        }
    }
    let batch = match batches.first() {
        Some(first) => Some(
            arrow::compute::concat_batches(&first.schema(), &batches)
                .map_err(|error| SqlError::internal(error))?,
        ),
        None => None,
    };
    Ok((acts, batch))
}

/// Marks every row of the source, perhaps by its number, and gives it an alias.
fn present(source: &TableSource, numbered: bool) -> Result<(TableSource, String), SqlError> {
    let alias = match source {
        TableSource::Table { name, alias, .. } => alias.clone().unwrap_or_else(|| name.name.clone()),
        TableSource::Derived { alias, .. }
        | TableSource::Values { alias, .. }
        | TableSource::Pivot { alias, .. }
        | TableSource::Unpivot { alias, .. } => alias.clone(),
        TableSource::BulkRowset { alias, .. } => alias.clone(),
        TableSource::Function { name, alias, .. } => alias.clone().unwrap_or_else(|| name.name.clone()),
        TableSource::Join { .. } => {
            return Err(SqlError::unsupported("MERGE … USING a join without parentheses"));
        }
    };
    let mark = match numbered {
        true => tsql::parse_expression("ROW_NUMBER() OVER (ORDER BY (SELECT NULL))")?,
        false => Expr::Literal(Literal::Integer("1".to_string())),
    };
    let mark = SelectItem::Value { expr: mark, alias: Some(PRESENT.to_string()) };
    let select = Select {
        items: vec![SelectItem::Wildcard(Vec::new()), mark],
        from: vec![source.clone()],
        ..Select::default()
    };
    let derived =
        TableSource::Derived { query: Box::new(Query::select(select)), alias: alias.clone(), columns: None };
    Ok((derived, alias))
}

/// Joins source and target: all of the source, and all of the target if a clause is for rows without a source.
fn join_of(source: TableSource, target: &Target, merge: &Merge) -> TableSource {
    let by_source = merge.clauses.iter().any(|clause| clause.when == MergeWhen::NotMatchedBySource);
    let mut own = target.from.first().cloned();
    if let Some(TableSource::Table { alias, .. }) = &mut own {
        *alias = Some(target.alias.clone());
    }
    TableSource::Join {
        kind: if by_source { JoinKind::Full } else { JoinKind::Left },
        left: Box::new(source),
        right: Box::new(own.unwrap_or(TableSource::Table {
            name: merge.target.clone(),
            alias: Some(target.alias.clone()),
            hints: TableHints::default(),
        })),
        on: Some(merge.condition.clone()),
    }
}

/// Builds the expression that finds a joined row's clause by number; NULL for none.
fn clause_of(merge: &Merge, target: &Target, alias: &str) -> Expr {
    let is_null = |expr: Expr, negated: bool| Expr::IsNull(Box::new(expr), negated);
    let in_target = |negated| is_null(target.row(), negated);
    let mark = Expr::Column(vec![alias.to_string(), PRESENT.to_string()]);
    let in_source = |negated| is_null(mark.clone(), negated);
    let and = |left, right| Expr::And(Box::new(left), Box::new(right));
    let branches = merge
        .clauses
        .iter()
        .enumerate()
        .map(|(index, MergeClause { when, condition, .. })| {
            let fits = match when {
                MergeWhen::Matched => and(in_target(true), in_source(true)),
                MergeWhen::NotMatchedByTarget => in_target(false),
                MergeWhen::NotMatchedBySource => in_source(false),
            };
            let fits = match condition {
                Some(condition) => and(fits, condition.clone()),
                None => fits,
            };
            (fits, Expr::Literal(Literal::Integer(index.to_string())))
        })
        .collect();
    Expr::Case { operand: None, branches, otherwise: None }
}
