//! sp_tablecollations_100, and sp_describe_first_result_set with its function.

use introspection::system_views::{View, max_length, precision, scale, type_id_of_name};
use query::{Datum, OutputColumn};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Execute, Statement, StatementKind};
use tsql::expression::{Expr, Literal};
use tsql::query::{Query, QueryBody, SelectItem};
use tsql::{parse_batch_on, parse_declarations, parse_object_name};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::interpreter::FunctionValues;
use crate::statements::evaluation::declared_type::describe_declarations;
use crate::statements::evaluation::described_columns;
use crate::statements::evaluation::evaluate;
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::deduce;
use crate::statements::procedures::parameters::Signature;
use crate::statements::procedures::views;

/// Collations of a table's columns: `colid`, `name`, `tds_collation`, `collation`, in column order.
pub(crate) fn table_collations(
    session: &Session,
    database: Option<&str>,
    table: &str,
) -> Result<View, SqlError> {
    let mut view =
        View::new(&[("colid", "int"), ("name", "name"), ("tds_collation", "binary5"), ("collation", "name")]);
    let mut name = parse_object_name(table)?;
    if name.database.is_none() {
        name.database = database.filter(|database| !database.is_empty()).map(str::to_string);
    }
    let Some(table) = session.work.find(&name, &session.database)? else { return Ok(view) };
    for column in &table.definition.columns {
        let collation = column.collation();
        view.push(vec![
            Datum::Int(i64::from(column.id)),
            Datum::Text(column.name.clone()),
            collation.map_or(Datum::Null, |collation| Datum::Binary(collation.to_bytes().to_vec())),
            collation
                .and_then(|collation| collation.name())
                .map_or(Datum::Null, |name| Datum::Text(name.to_string())),
        ]);
    }
    Ok(view)
}

/// Describes the columns of a batch's first result, one row each.
pub(crate) fn describe_first_result(session: &Session, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = FIRST_RESULT.bind(arguments)?;
    let text = parameters.text(0).unwrap_or_default();
    let declared = parameters.text(1).unwrap_or_default();
    let sources = parameters.int(2).unwrap_or(0) > 0;
    let mut view = described_columns::of_procedure();
    for (ordinal, column) in (1_i64..).zip(&columns_of_first_result(session, &text, &declared)?) {
        let wire = wire_columns(column);
        view.push(described(session, ordinal, column, sources).into_iter().chain(wire).collect());
    }
    Ok(view)
}

/// Returns the rows of `sys.dm_exec_describe_first_result_set`. An error of the procedure is a row here.
pub(crate) fn first_result_rows(session: &mut Session, arguments: &[Datum]) -> FunctionValues {
    let text = |position: usize| arguments.get(position).and_then(Datum::as_text).unwrap_or_default();
    let sources = arguments.get(2).and_then(Datum::as_int).unwrap_or(0) > 0;
    match columns_of_first_result(session, text(0), text(1)) {
        Ok(columns) => (1_i64..)
            .zip(&columns)
            .map(|(ordinal, column)| {
                let no_error = std::iter::repeat_n(Datum::Null, described_columns::ERROR.len());
                described(session, ordinal, column, sources).into_iter().chain(no_error).collect()
            })
            .collect(),
        Err(error) => vec![described_columns::refused(&error)],
    }
}

fn columns_of_first_result(
    session: &Session,
    text: &str,
    declared: &str,
) -> Result<Vec<OutputColumn>, SqlError> {
    let mut frame = Frame::new(true);
    describe_declarations(session, &parse_declarations(declared)?, &mut frame)?;
    let statements = parse_batch_on(session.instance.name(), text, session.settings.quoted_identifier)?;
    Ok(first_result(session, &statements, &mut frame)?.unwrap_or_default())
}

/// Returns the columns of the first result of some statements; `None` if none of them has a result.
fn first_result(
    session: &Session,
    statements: &[Statement],
    frame: &mut Frame,
) -> Result<Option<Vec<OutputColumn>>, SqlError> {
    for statement in statements {
        let found = match &statement.kind {
            StatementKind::Query(query) if shows(query) => {
                let bound =
                    evaluate::bind(session, query, frame).map_err(|error| error.at_line(statement.line))?;
                Some(bound.columns)
            }
            StatementKind::Declare(declarations) => {
                describe_declarations(session, declarations, frame)?;
                None
            }
            StatementKind::Block(inner) => first_result(session, inner, frame)?,
            StatementKind::Unsupported(error) => return Err(error.as_ref().clone()),
            StatementKind::TryCatch { tried, .. } => first_result(session, tried, frame)?,
            StatementKind::While { body, .. } => first_result(session, std::slice::from_ref(body), frame)?,
            StatementKind::If { then, otherwise, .. } => {
                match (first_result(session, std::slice::from_ref(then), frame)?, otherwise) {
                    (None, Some(otherwise)) => first_result(session, std::slice::from_ref(otherwise), frame)?,
                    (found, _) => found,
                }
            }
            StatementKind::Execute(execute) => result_of_procedure(session, execute, frame)?,
            StatementKind::ExecuteText(Expr::Literal(Literal::Text { value, .. })) => {
                let inner =
                    parse_batch_on(session.instance.name(), value, session.settings.quoted_identifier)?;
                first_result(session, &inner, &mut frame.inner()?)?
            }
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the columns that a system procedure shows.
fn result_of_procedure(
    session: &Session,
    execute: &Execute,
    frame: &mut Frame,
) -> Result<Option<Vec<OutputColumn>>, SqlError> {
    let name = execute.procedure.name.to_ascii_lowercase();
    let literal = |position: usize| match execute.arguments.get(position).map(|argument| &argument.value) {
        Some(Some(Expr::Literal(Literal::Text { value, .. }))) => Some(value.clone()),
        _ => None,
    };
    if name == "sp_executesql" {
        let Some(text) = literal(0) else { return Ok(None) };
        let mut inner = frame.inner()?;
        describe_declarations(session, &parse_declarations(&literal(1).unwrap_or_default())?, &mut inner)?;
        let statements = parse_batch_on(session.instance.name(), &text, session.settings.quoted_identifier)?;
        return first_result(session, &statements, &mut inner);
    }
    let arguments: Vec<Argument> = execute
        .arguments
        .iter()
        .enumerate()
        .map(|(position, argument)| Argument {
            name: argument.name.clone().unwrap_or_default(),
            value: literal(position).map_or(Datum::Null, Datum::Text),
            sql_type: SqlType::NVarChar { length: tds::Length::Max },
            output: false,
            variable: None,
            default: false,
            table: None,
        })
        .collect();
    let view =
        views::catalogue_view(session, &name, execute.procedure.database.as_deref(), &arguments, frame)?;
    Ok(view.map(|view| view.columns))
}

fn described(session: &Session, ordinal: i64, column: &OutputColumn, sources: bool) -> Vec<Datum> {
    let int = |value: i64| Datum::Int(value);
    let text = |value: &str| Datum::Text(value.to_string());
    let spelled = deduce::compact(&column.sql_type);
    let base = spelled.split('(').next().unwrap_or_default();
    let type_id = type_id_of_name(base).map_or(Datum::Null, |id| int(i64::from(id)));
    let wire = column.wire();
    let collation = wire.type_info.collation;
    let source = column.source.as_ref().filter(|_| sources);
    let (schema, table) = match source {
        Some((table, _)) => match table.split_once('.') {
            Some((schema, table)) => (text(schema), text(table)),
            None => (Datum::Null, text(table)),
        },
        None => (Datum::Null, Datum::Null),
    };
    let source_column = source.map_or(Datum::Null, |(_, column)| text(column));
    let database = if source.is_some() { text(&session.database) } else { Datum::Null };
    let type_name = match &column.sql_type {
        SqlType::RowVersion => "timestamp".to_string(),
        _ => spelled.clone(),
    };
    vec![
        Datum::Bit(false),
        int(ordinal),
        if column.name.is_empty() { Datum::Null } else { text(&column.name) },
        Datum::Bit(column.nullable),
        type_id,
        text(&type_name),
        int(i64::from(max_length(&column.sql_type))),
        int(i64::from(precision(&column.sql_type))),
        int(i64::from(scale(&column.sql_type))),
        collation.and_then(|collation| collation.name()).map_or(Datum::Null, |name| text(&name.to_string())),
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Bit(false),
        Datum::Bit(collation.is_some_and(|collation| collation.case_sensitive())),
        Datum::Bit(false),
        Datum::Null,
        database,
        schema,
        table,
        source_column,
        Datum::Bit(wire.flags.is_identity()),
        if sources { Datum::Bit(is_in_unique_key(session, column)) } else { Datum::Null },
        Datum::Bit(wire.flags.has(tds::ColumnFlags::UPDATEABILITY_UNKNOWN)),
        Datum::Bit(wire.flags.is_computed() && column.source.is_some()),
        Datum::Bit(false),
        Datum::Null,
        Datum::Null,
        Datum::Null,
    ]
}

/// Describes the wire type of a column.
fn wire_columns(column: &OutputColumn) -> [Datum; 4] {
    let wire = column.wire();
    let mut writer = tds::Writer::new();
    wire.type_info.encode(&mut writer, tds::Direction::ServerToClient);
    let token = writer.finish().ok().and_then(|bytes| bytes.first().copied()).unwrap_or(0);
    let collation = wire.type_info.collation;
    let int = |value: i64| Datum::Int(value);
    [
        int(i64::from(token)),
        int(i64::from(wire.type_info.max_length)),
        collation.map_or(Datum::Null, |collation| int(i64::from(collation.info as i32))),
        collation.map_or(Datum::Null, |collation| int(i64::from(collation.sort_id))),
    ]
}

fn is_in_unique_key(session: &Session, column: &OutputColumn) -> bool {
    let Some((table, name)) = &column.source else { return false };
    let table = parse_object_name(table).and_then(|name| session.work.find(&name, &session.database));
    let Ok(Some(table)) = table else { return false };
    let position = table.definition.position(name);
    let keys = table.definition.unique_keys();
    let mut whole = keys.iter().filter(|key| key.filter.is_none());
    whole.any(|key| key.columns.iter().any(|at| Some(*at) == position))
}

/// Returns true if a query sends rows, rather than assigning variables or making a table.
fn shows(query: &Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => {
            select.into.is_none()
                && !select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }))
        }
        _ => true,
    }
}

const FIRST_RESULT: Signature = Signature {
    name: "sp_describe_first_result_set",
    parameters: &["@tsql", "@params", "@browse_information_mode"],
    required: 1,
};
