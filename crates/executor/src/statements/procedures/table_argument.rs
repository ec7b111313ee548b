//! Table-valued parameters: the rows of a remote call, and tables that one scope passes to another.

use databases::catalogue::{ModuleDefinition, UserType};
use databases::table::InputRows;
use query::Datum;
use query::convert::convert;
use rows::{Decoder, Form};
use tds::rpc::Parameter;
use tds::{ColumnFlags, SqlType, TableParameter};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::Declaration;
use tsql::errors;

use crate::bulk_error;
use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::scopes;
use crate::session::work::variables;
use crate::session::work::{VariableAccess, VariableTable};
use crate::statements::dml::destination;
use crate::statements::evaluation::declared_type::{
    Declared, declared_type, definition_of_type, find_type, table_of_type,
};
use crate::statements::procedures::argument::Argument;

/// Rows of one batch on their way into the parameter's table.
const BATCH_ROWS: usize = 16 << 10;

/// Puts the rows of a remote call's parameter into a table of the store of variables; None if it is no table.
///
/// The type is the one that the client names, or else that of the procedure's parameter, or of the statement's declaration.
///
/// Errors: 2715 for an unknown type, 500 and 501 for columns that are not the type's, and those of INSERT.
pub(crate) fn receive_table(
    session: &mut Session,
    parameter: &Parameter,
    declared: Option<&SqlType>,
    number: usize,
    frame: &Frame,
) -> Result<Option<VariableTable>, SqlError> {
    let Some(table) = &parameter.table else { return Ok(None) };
    let found = type_of(session, table, declared, number)?;
    let name = if parameter.name.is_empty() { format!("@{number}") } else { parameter.name.clone() };
    scopes::enter(&mut session.work);
    let filled = fill(session, table, &found, &name, frame);
    let made = variables::take_variable(&mut session.work, &name);
    scopes::leave(&mut session.work)?;
    match (filled, made) {
        (Ok(()), Some(made)) => Ok(Some(made)),
        (Err(error), Some(made)) => {
            variables::drop_variable(&session.work, &made);
            Err(error)
        }
        (result, None) => result.and(Err(SqlError::internal("a table-valued parameter without a table"))),
    }
}

fn type_of(
    session: &Session,
    table: &TableParameter,
    declared: Option<&SqlType>,
    number: usize,
) -> Result<UserType, SqlError> {
    if table.name.is_empty() {
        return match declared.map(|declared| declared_type(session, declared, number, None)).transpose()? {
            Some(Declared::Table(found)) => Ok(*found),
            _ => Err(errors::UNKNOWN_TYPE.with([&number.to_string(), ""])),
        };
    }
    let part = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    let mut name =
        ObjectName { database: part(&table.database), schema: part(&table.schema), name: table.name.clone() };
    // Some clients put the whole name into its last part.
    if name.schema.is_none()
        && find_type(session, &name, None)?.is_none()
        && let Ok(parsed) = tsql::parse_object_name(&table.name)
    {
        name = parsed;
    }
    let found = find_type(session, &name, None)?.filter(|found| found.table().is_some());
    found.ok_or_else(|| errors::UNKNOWN_TYPE.with([&number.to_string(), &name.to_string()]))
}

/// Rows of which nothing was sent: each column has its default.
fn fill_with_defaults(session: &mut Session, rows: u64, name: &str, frame: &Frame) -> Result<(), SqlError> {
    let mark = session.work.start_statement()?;
    let mut insert = || {
        let open = destination::writable(session, &ObjectName::bare(name))?;
        let mut writer = destination::writer_of(session, &open, frame, "INSERT", false)?;
        let mut left = usize::try_from(rows).unwrap_or(usize::MAX);
        while left > 0 {
            let rows = left.min(BATCH_ROWS);
            let columns = open.definition.columns.iter().map(|_| None).collect();
            writer.write(InputRows { columns, rows })?;
            left -= rows;
        }
        writer.finish()
    };
    let result = insert();
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

fn fill(
    session: &mut Session,
    table: &TableParameter,
    found: &UserType,
    name: &str,
    frame: &Frame,
) -> Result<(), SqlError> {
    let definition = definition_of_type(session, found, name)?;
    variables::declare_table(&mut session.work, &definition, Some(found.id))?;
    let Some(columns) = &table.columns else { return Ok(()) };
    if columns.len() != definition.columns.len() {
        let text = format!(
            "Trying to pass a table-valued parameter with {} column(s) where the corresponding user-defined table type requires {} column(s).",
            columns.len(),
            definition.columns.len()
        );
        return Err(SqlError::new(500, 16, 1, text));
    }
    let sent = table.sent_columns();
    let mut targets = Vec::with_capacity(sent.len());
    for (index, column) in columns.iter().enumerate() {
        if column.flags.has(tds::table_parameter::DEFAULT_COLUMN) {
            continue;
        }
        // The ordinals, from 1, where the columns are in another order.
        let place = match table.places.get(index) {
            Some(place) => usize::from(*place).checked_sub(1).filter(|place| *place < columns.len()),
            None => Some(index),
        };
        let place = place.filter(|place| !targets.contains(place));
        targets.push(place.ok_or_else(|| {
            let text =
                "The order of the columns of a table-valued parameter is no order of its type's columns.";
            SqlError::new(8031, 16, 1, text)
        })?);
    }
    let given = |position: &usize| definition.columns.get(*position);
    if let Some(column) = targets.iter().filter_map(given).find(|column| {
        column.identity.is_some() || column.computed.is_some() || column.sql_type == SqlType::RowVersion
    }) {
        let text = format!(
            "INSERT into an identity column not allowed on table variables. (Column \"{}\" of table-valued parameter \"{name}\" has to be sent as default.)",
            column.name
        );
        return Err(SqlError::new(1077, 16, 1, text));
    }
    if sent.is_empty() {
        return fill_with_defaults(session, table.row_count, name, frame);
    }
    let nullable: Vec<tds::Column> = sent
        .iter()
        .cloned()
        .map(|mut column| {
            column.flags = ColumnFlags(column.flags.0 | ColumnFlags::NULLABLE);
            column
        })
        .collect();
    let decoder = Decoder::new(&nullable, Form::Exact).map_err(|error| bulk_error::column(&error))?;
    let mut decoder = decoder.with_batch_rows(BATCH_ROWS);
    let types: Vec<SqlType> = sent.iter().map(|column| column.sql_type().clone()).collect();
    let mark = session.work.start_statement()?;
    let mut insert = || {
        let open = destination::writable(session, &ObjectName::bare(name))?;
        let mut writer = destination::writer_of(session, &open, frame, "INSERT", false)?;
        let mut rest = table.rows.as_slice();
        while !rest.is_empty() || decoder.rows_buffered() > 0 {
            let consumed = decoder.decode(rest).map_err(|error| bulk_error::value(&error, &sent))?;
            rest = rest
                .get(consumed..)
                .ok_or_else(|| SqlError::internal("more rows were decoded than were sent"))?;
            if decoder.rows_buffered() == 0 {
                return Err(SqlError::internal("rows that were found whole could not be decoded"));
            }
            if decoder.is_full() || rest.is_empty() {
                let batch = decoder.take_batch().map_err(|error| SqlError::internal(error))?;
                let width = definition.columns.len();
                writer.write(InputRows::placed(
                    width,
                    &targets,
                    batch.columns(),
                    &types,
                    batch.num_rows(),
                ))?;
            }
        }
        writer.finish()
    };
    let result = insert();
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

/// The content of an argument: a value, or a table under the parameter's name.
pub(crate) enum Given {
    /// A value of the parameter's type.
    Value(Datum, SqlType),
    /// A table that may only be read.
    Table(VariableTable),
}

/// Matches an argument with the declaration of its parameter. `None` for an argument that is not given.
///
/// Errors: 206 for a table where a value is wanted and the reverse, and conversions.
pub(crate) fn give(
    session: &mut Session,
    parameter: &Declaration,
    number: usize,
    argument: Option<&Argument>,
    database: Option<&str>,
) -> Result<Option<Given>, SqlError> {
    let clash = |left: &str, right: &str| {
        let text = format!("Operand type clash: {left} is incompatible with {right}");
        SqlError::new(206, 16, 2, text)
    };
    match (declared_type(session, &parameter.sql_type, number, database)?, argument) {
        (Declared::Table(found), None) => {
            let table = table_of_type(session, &found, &parameter.name)?;
            Ok(Some(Given::Table(table.with_access(VariableAccess::ReadOnly))))
        }
        (Declared::Table(found), Some(argument)) => match &argument.table {
            Some(table) if table.type_id == Some(found.id) => {
                Ok(Some(Given::Table(table.lent(VariableAccess::ReadOnly))))
            }
            Some(_) => Err(clash("table", &found.name)),
            // NULL and DEFAULT are a table without rows.
            None if argument.value.is_null() => give(session, parameter, number, None, database),
            None => Err(clash(&type_word(&argument.sql_type), &found.name)),
        },
        (Declared::Scalar(sql_type), Some(argument)) => {
            if argument.table.is_some() {
                return Err(clash("table type", &type_word(&sql_type)));
            }
            let value = convert(argument.value.clone(), &argument.sql_type, &sql_type, 0)?;
            Ok(Some(Given::Value(value, sql_type)))
        }
        (Declared::Scalar(_), None) => Ok(None),
    }
}

fn type_word(sql_type: &SqlType) -> String {
    let spelled = sql_type.to_string();
    spelled.split('(').next().unwrap_or_default().to_string()
}

impl Given {
    /// Puts the table into the scope of the call.
    pub fn put(self, name: &str, frame: &mut Frame) {
        match self {
            Given::Value(value, sql_type) => frame.declare_parameter(name, sql_type, value),
            Given::Table(table) => frame.tables.push((name.to_string(), table)),
        }
    }
}

/// Returns the type that a procedure declares of its parameter, for tables whose type the client does not name.
pub(crate) fn parameter_type(
    module: Option<&ModuleDefinition>,
    parameter: &Parameter,
    position: usize,
) -> Option<SqlType> {
    let parameters = &module?.parameters;
    let found = parameters
        .iter()
        .find(|own| !parameter.name.is_empty() && own.name.eq_ignore_ascii_case(&parameter.name))
        .or_else(|| parameters.get(position))?;
    let name = tsql::parse_object_name(&found.type_text).ok()?;
    Some(tsql::user_type::named_type(&name))
}

/// Drops the tables of a remote call.
pub(crate) fn drop_received(session: &Session, arguments: &[Argument]) {
    variables::drop_variables(&session.work, arguments.iter().filter_map(|argument| argument.table.as_ref()));
}
