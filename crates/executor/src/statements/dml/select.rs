//! SELECT: results, assignments, SELECT INTO.

use std::sync::Arc;

use databases::catalogue::{ColumnDefinition, has_ansi_padding};
use databases::instance::loads::Writing;
use databases::storage::ScannedRows;
use databases::table::InputRows;
use query::{Datum, Path, ResultStream, Streams, exact_schema};
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;
use tsql::expression::Expr;
use tsql::file_group::WrittenGroup;
use tsql::query::{Query, QueryBody, Select, SelectItem};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, ResultColumns, command};
use crate::session::work::{OpenTable, Place};
use crate::statements::ddl::new_table;
use crate::statements::dml::destination;
use crate::statements::dml::into_identity::{self, IdentityCall};
use crate::statements::dml::load_note;
use crate::statements::dml::parallel;
use crate::statements::dml::parallel::Placing;
use crate::statements::dml::plain::PlainRows;
use crate::statements::dml::sorted_columns::sorted_columns;
use crate::statements::dml::text_size;
use crate::statements::evaluation::environment::SessionEnvironment;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::evaluate::Chosen;
use crate::statements::evaluation::isolation;
use crate::statements::interpreter::transaction;

/// Runs a SELECT.
pub async fn run(
    session: &mut Session,
    query: &Query,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if let QueryBody::Select(select) = &query.body {
        if !select.from.is_empty() {
            transaction::begin_implicitly(session, output).await;
        }
        if select.into.is_none() && select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }))
        {
            return assign_from(session, query, select, frame, output).await;
        }
    }
    if assigns(&query.body) {
        let text = "Variable assignment is not allowed in a statement containing a top level UNION, INTERSECT or EXCEPT operator.";
        return Err(SqlError::new(10734, 15, 1, text));
    }
    if let Some(into) = into_of(&query.body) {
        let mut query = without_into(query);
        let call = into_identity::take_call(&mut query)?;
        return select_into(session, &query, call.as_ref(), &into, frame, output).await;
    }
    if isolation::locks_what_it_reads(session) {
        session.placement.leave().await;
    }
    if session.settings.format_only {
        let bound = evaluate::bind(session, query, frame)?;
        let columns = bound.columns.iter().map(|column| column.wire()).collect();
        let columns = ResultColumns { columns, schema: exact_schema(&bound.columns) };
        output.send(Response::Columns(columns)).await;
        output.done(frame.done_kind(), command::SELECT, Some(0)).await;
        return Ok(());
    }
    let Chosen { columns: shown, path, bound } =
        evaluate::choose(query, &SessionEnvironment::new(session, frame))?;
    let kind = frame.done_kind();
    let schema = exact_schema(&shown);
    let columns: Vec<tds::Column> = shown.iter().map(|column| column.wire()).collect();
    let cuts = !output.captures() && text_size::applies(&columns, session.settings.text_size);
    let cut = if cuts { columns.clone() } else { Vec::new() };
    let instance = Arc::clone(&session.instance);
    if !matches!(path, Path::Simple(_)) {
        session.placement.leave().await;
    }
    let takes_all = session.settings.row_count == 0 && !output.captures() && !cuts;
    let planned = || bound.ok_or_else(|| SqlError::internal("a query without its plan"));
    let started = match path {
        Path::Simple(query) => Ok(ResultStream::simple(Arc::clone(&schema), query, &session.cancellation)),
        Path::Plain(query) if session.takes_page_rows && takes_all => {
            match PlainRows::of(&query, &columns)? {
                Some(plain) => {
                    return send_plain(session, plain, ResultColumns { columns, schema }, kind, output).await;
                }
                None => instance.engine().start_full(planned()?, &session.cancellation).await,
            }
        }
        Path::Plain(..) | Path::Full => instance.engine().start_full(planned()?, &session.cancellation).await,
    };
    // An error of a row belongs to the result that it was to be in, and so does one of the arguments from which rows are made.
    if started.as_ref().err().is_none_or(is_of_values) {
        output.send(Response::Columns(ResultColumns { columns, schema })).await;
    }
    let mut stream = started?;
    let sorted = sorted_columns(query, &shown);
    if !sorted.is_empty() {
        output.send(Response::Order(sorted)).await;
    }
    let mut next = stream.next().await?;
    let mut rows = 0_u64;
    let limit = if session.settings.row_count == 0 { u64::MAX } else { session.settings.row_count };
    while let Some(batch) = next {
        output.check()?;
        let left = usize::try_from(limit - rows).unwrap_or(usize::MAX);
        let batch = if batch.num_rows() > left { batch.slice(0, left) } else { batch };
        let batch = if cuts { text_size::cut(&batch, &cut, session.settings.text_size)? } else { batch };
        rows += batch.num_rows() as u64;
        if batch.num_rows() > 0 {
            output.send(Response::Batch(batch)).await;
        }
        if rows >= limit {
            break;
        }
        next = stream.next().await?;
    }
    session.last.rows = rows as i64;
    session.last.error = 0;
    output.done(kind, command::SELECT, Some(rows)).await;
    Ok(())
}

/// Returns true for an error of JSON texts and their paths, which a query meets when it begins to make rows of them.
fn is_of_values(error: &SqlError) -> bool {
    (13_607..=13_625).contains(&error.number)
}

/// Answers with all rows of a table.
async fn send_plain(
    session: &mut Session,
    mut plain: PlainRows,
    columns: ResultColumns,
    kind: DoneKind,
    output: &mut Output,
) -> Result<(), SqlError> {
    output.send(Response::Columns(columns)).await;
    let mut next = plain.next_rows()?;
    let mut rows = 0_u64;
    while let Some(found) = next {
        output.check()?;
        rows += found.rows() as u64;
        match found {
            ScannedRows::Lying(rows) => output.send(Response::PageRows(rows)).await,
            ScannedRows::Batch(batch) if batch.num_rows() > 0 => output.send(Response::Batch(batch)).await,
            ScannedRows::Batch(_) => {}
        }
        next = plain.next_rows()?;
    }
    session.last.rows = rows as i64;
    session.last.error = 0;
    output.done(kind, command::SELECT, Some(rows)).await;
    Ok(())
}

/// Runs `SELECT @v = …`: shows nothing, and leaves the last row in the variables.
async fn assign_from(
    session: &mut Session,
    query: &Query,
    select: &Select,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let mut assignments = Vec::with_capacity(select.items.len());
    for item in &select.items {
        match item {
            SelectItem::Assign { variable, expr } => assignments.push((variable.clone(), expr.clone())),
            _ => {
                return Err(SqlError::new(
                    141,
                    15,
                    1,
                    "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.",
                ));
            }
        }
    }
    for (variable, _) in &assignments {
        if frame.variable(variable).is_none() {
            return Err(errors::UNDECLARED_VARIABLE.with([variable]));
        }
    }
    let kind = frame.done_kind();
    if session.settings.format_only {
        output.done(kind, command::SELECT, None).await;
        return Ok(());
    }
    let rows = if select.from.is_empty() && select.filter.is_none() {
        for (variable, expr) in &assignments {
            let (value, sql_type) = evaluate::value(session, expr, frame).await?;
            frame.assign(variable, value, &sql_type)?;
        }
        1
    } else {
        assign_rows(session, query, select, &assignments, frame).await?
    };
    // Nothing is shown, and so nothing ends for the client.
    session.last.rows = rows as i64;
    session.last.error = 0;
    Ok(())
}

/// Assigns row by row in the query's order, so that `SELECT @v = @v + a FROM t ORDER BY b` accumulates.
async fn assign_rows(
    session: &mut Session,
    query: &Query,
    select: &Select,
    assignments: &[(String, Expr)],
    frame: &mut Frame,
) -> Result<u64, SqlError> {
    let assigned: Vec<String> = assignments.iter().map(|(variable, _)| variable.to_lowercase()).collect();
    let mut accumulates = false;
    let mut paths: Vec<Vec<String>> = Vec::new();
    for (_, expr) in assignments {
        expr.clone().rewrite(&mut |part| {
            match &part {
                Expr::Variable(name) => accumulates |= assigned.contains(&name.to_lowercase()),
                Expr::Column(path) if !paths.contains(path) => paths.push(path.clone()),
                _ => {}
            }
            part
        });
    }
    let exprs: Vec<Expr> = if accumulates {
        paths.iter().cloned().map(Expr::Column).collect()
    } else {
        assignments.iter().map(|(_, expr)| expr.clone()).collect()
    };
    let items = exprs.into_iter().map(|expr| SelectItem::Value { expr, alias: None }).collect::<Vec<_>>();
    // Without any column there still is a row for each row.
    let items = if items.is_empty() {
        vec![SelectItem::Value { expr: Expr::Literal(tsql::expression::Literal::Null), alias: None }]
    } else {
        items
    };
    let mut query = query.clone();
    query.body = QueryBody::Select(Box::new(Select { items, ..select.clone() }));
    let bound = evaluate::bind(session, &query, frame)?;
    let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let instance = Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await?;
    let mut rows = 0;
    for batch in &batches {
        for row in 0..batch.num_rows() {
            rows += 1;
            let values = types
                .iter()
                .zip(batch.columns())
                .map(|(sql_type, array)| Datum::read(array.as_ref(), sql_type, row))
                .collect::<Result<Vec<_>, _>>()?;
            if !accumulates {
                for ((variable, _), (value, sql_type)) in
                    assignments.iter().zip(values.into_iter().zip(&types))
                {
                    frame.assign(variable, value, sql_type)?;
                }
                continue;
            }
            for (index, (value, sql_type)) in values.into_iter().zip(&types).enumerate() {
                frame.declare(&row_variable(index), sql_type.clone(), value);
            }
            for (variable, expr) in assignments {
                let expr = expr.clone().rewrite(&mut |part| match &part {
                    Expr::Column(path) => match paths.iter().position(|known| known == path) {
                        Some(index) => Expr::Variable(row_variable(index)),
                        None => part,
                    },
                    _ => part,
                });
                let (value, sql_type) = evaluate::value(session, &expr, frame).await?;
                frame.assign(variable, value, &sql_type)?;
            }
        }
    }
    Ok(rows)
}

async fn select_into(
    session: &mut Session,
    query: &Query,
    call: Option<&IdentityCall>,
    into: &Into,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let kind = frame.done_kind();
    if session.settings.format_only {
        evaluate::bind(session, query, frame)?;
        output.done(kind, command::SELECT, None).await;
        return Ok(());
    }
    let clock = load_note::load_clock(session, "SELECT INTO");
    let mark = session.work.start_change()?;
    let result = create_from(session, query, call, into, frame).await;
    session.work.end_statement(&mark, result.is_ok())?;
    let (table, writing) = result?;
    let rows = writing.rows;
    if table.place != Place::Variable {
        load_note::note_load(session, clock.finished(&table.definition, writing), output).await;
    }
    session.last.rows = rows as i64;
    session.last.error = 0;
    output.done(kind, command::SELECT_INTO, Some(rows).filter(|_| !session.settings.no_count)).await;
    Ok(())
}

async fn create_from(
    session: &mut Session,
    query: &Query,
    call: Option<&IdentityCall>,
    into: &Into,
    frame: &Frame,
) -> Result<(OpenTable, Writing), SqlError> {
    let bound = evaluate::bind(session, query, frame)?;
    let mut columns = Vec::with_capacity(bound.columns.len());
    for (index, column) in bound.columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(SqlError::new(
                1038,
                15,
                5,
                "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name.",
            ));
        }
        columns.push(ColumnDefinition {
            row_guid: false,
            id: index as i32 + 1,
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            nullable: column.nullable,
            collation: column.collation.and_then(|collation| collation.name()).map(|name| name.to_string()),
            identity: None,
            default: None,
            computed: None,
            persisted: false,
            ansi_padding_off: !session.settings.ansi_padding && has_ansi_padding(&column.sql_type),
            alias: None,
            sparse: false,
        });
    }
    let identity = into_identity::of_query(session, query, call, &bound.columns, &into.table.name)?;
    if let Some(identity) = identity
        && let Some(column) = columns.get_mut(identity.position)
    {
        (column.identity, column.nullable) = (Some(identity.identity), false);
    }
    let generated = identity.filter(|identity| identity.generated).map(|identity| identity.position);
    let mut definition = new_table::new_definition(session, &into.table, columns)?;
    definition.file_groups.rows = into.group.clone().flatten();
    let table = new_table::create_table_of(session, definition, &into.table)?;
    let types: Vec<SqlType> = bound.columns.iter().map(|column| column.sql_type.clone()).collect();
    let mut writer = destination::writer_of(session, &table, frame, "INSERT", false)?;
    let placing: Placing = Arc::new(move |batch| {
        let given = batch.columns().iter().cloned().zip(types.iter().cloned()).enumerate();
        let columns = given.map(|(position, value)| Some(value).filter(|_| generated != Some(position)));
        let columns = columns.collect();
        InputRows { columns, rows: batch.num_rows() }
    });
    let degree = parallel::degree_for(session, query, &table);
    let (degree, serial) = match parallel::start_streams(session, bound, degree).await? {
        Streams::One(mut stream, reason) => {
            while let Some(batch) = stream.next().await? {
                writer.write(placing(&batch))?;
            }
            (1, Some(reason))
        }
        Streams::Several(streams) => {
            let degree = streams.len();
            writer.rows = parallel::write_side_by_side(session, streams, &table, &writer, &placing).await?;
            (degree, None)
        }
    };
    let writing = Writing { rows: writer.rows, degree, serial, logging: writer.take_logging()?, wire: None };
    Ok((table, writing))
}

/// The table that a query makes.
struct Into {
    table: ObjectName,
    /// The file group, if the statement names one.
    group: Option<WrittenGroup>,
}

/// Finds INTO in the first SELECT of a query, including one with set operators.
fn into_of(body: &QueryBody) -> Option<Into> {
    match body {
        QueryBody::Select(select) => {
            let table = select.into.clone()?;
            Some(Into { table, group: select.into_group.clone() })
        }
        QueryBody::Set { left, .. } => into_of(left),
        QueryBody::Nested(_) => None,
    }
}

/// Returns a query without its INTO.
fn without_into(query: &Query) -> Query {
    let mut query = query.clone();
    let mut body = &mut query.body;
    loop {
        body = match body {
            QueryBody::Set { left, .. } => left,
            QueryBody::Select(select) => {
                (select.into, select.into_group) = (None, None);
                break;
            }
            QueryBody::Nested(_) => break,
        };
    }
    query
}

/// Names the variable that stands for a column of the present row; no T-SQL name has a blank.
pub(crate) fn row_variable(index: usize) -> String {
    format!("@ {index}")
}

/// Returns true if a branch of set operators assigns to variables.
fn assigns(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => {
            select.into.is_none() && select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }))
        }
        QueryBody::Nested(query) => assigns(&query.body),
        QueryBody::Set { left, right, .. } => assigns(left) || assigns(right),
    }
}
