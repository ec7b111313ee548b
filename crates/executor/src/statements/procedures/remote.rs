//! Calls of type 03.

use databases::catalogue::Module;
use query::Datum;
use query::convert::{check_vector, convert, type_name};
use tds::SqlType;
use tds::rpc::{Parameter, Procedure, RpcRequest};
use tsql::SqlError;
use tsql::ast::Declaration;
use tsql::sql_error::Reach;
use tsql::{parse_declarations, parse_object_name_on};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, OutputValue, Response, StatementDone, command};
use crate::session::work::scopes;
use crate::statements::evaluation::answer;
use crate::statements::interpreter::reach;
use crate::statements::interpreter::uncommittable;
use crate::statements::procedures::argument;
use crate::statements::procedures::argument::{Argument, Outcome};
use crate::statements::procedures::call;
use crate::statements::procedures::execute;
use crate::statements::procedures::table_argument::{drop_received, parameter_type, receive_table};

/// Runs one remote call and ends it with RETURNSTATUS, output values and DONEPROC.
pub(crate) async fn remote_call(session: &mut Session, call: RpcRequest, output: &mut Output) {
    let mut arguments: Vec<Argument> = call.parameters.iter().map(argument).collect();
    if let Some(error) = no_number(&arguments) {
        return answer::refuse(session, error, DoneKind::Procedure, output).await;
    }
    if call.parameters.len() > PARAMETERS_MAX {
        return answer::refuse(session, too_many_parameters(), DoneKind::Procedure, output).await;
    }
    // A scope around the call's own: the temporary tables that it makes end with it, as those of a procedure do.
    scopes::enter(&mut session.work);
    let result = called(session, &call, &mut arguments, output).await;
    let result = scopes::leave(&mut session.work).and(result);
    drop_received(session, &arguments);
    if output.stopped() {
        return;
    }
    let sent = result.and_then(|outcome| Ok((returned(&call, &arguments, &outcome)?, outcome)));
    match sent {
        Ok((values, outcome)) => {
            output.send(Response::ReturnStatus(outcome.status)).await;
            for value in values {
                output.send(Response::ReturnValue(value)).await;
            }
            if let (Some(error), false) = (outcome.unbalanced, outcome.stop) {
                return answer::refuse(session, error, DoneKind::Procedure, output).await;
            }
            let done = StatementDone {
                kind: DoneKind::Procedure,
                command: command::EXECUTE,
                count: None,
                error: outcome.stop || outcome.left,
                fatal: false,
            };
            output.send(Response::Done(done)).await;
        }
        Err(error) => {
            if reach::reach_of_call(&error, session.settings.abort_transaction) == Reach::Transaction {
                uncommittable::lose_transaction(session, &error, false, output).await;
            }
            answer::refuse(session, error, DoneKind::Procedure, output).await;
        }
    }
}

/// Parameters of one call.
const PARAMETERS_MAX: usize = 2100;

/// Makes error 8003.
fn too_many_parameters() -> SqlError {
    let text = "The incoming request has too many parameters. The server supports a maximum of 2100 parameters. Reduce the number of parameters and resend the request.";
    SqlError::new(8003, 16, 1, text)
}

async fn called(
    session: &mut Session,
    call: &RpcRequest,
    arguments: &mut [Argument],
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let (name, database, own) = match &call.procedure {
        Procedure::Name(name) => match parse_object_name_on(session.instance.name(), name) {
            Ok(parsed) => {
                let own = execute::own_procedure(session, &parsed)?;
                (parsed.name.to_ascii_lowercase(), parsed.database, own)
            }
            // 7202 of another server; what is no name names no procedure.
            Err(error) if error.number == 7202 => return Err(error),
            Err(_) => (name.to_ascii_lowercase(), None, None),
        },
        Procedure::Id(id) => (id.name().to_string(), None, None),
    };
    let mut frame = Frame::new(true);
    receive_tables(session, call, &name, own.as_deref(), arguments, &frame)?;
    match own {
        Some(module) => call::call_procedure(session, &module, arguments, &mut frame, output).await,
        None => {
            execute::run_system_procedure(session, &name, database.as_deref(), arguments, &mut frame, output)
                .await
        }
    }
}

fn argument(parameter: &Parameter) -> Argument {
    // A variant stands for its base value.
    let sql_type = match &parameter.value {
        tds::Value::Variant(variant) => variant.type_info.sql_type.clone(),
        _ => parameter.type_info.sql_type.clone(),
    };
    Argument {
        name: parameter.name.clone(),
        value: Datum::from_value(&parameter.value),
        sql_type,
        output: parameter.is_output(),
        variable: None,
        default: parameter.is_default() && parameter.table.is_none(),
        table: None,
    }
}

/// Puts the rows of table-valued parameters into tables.
fn receive_tables(
    session: &mut Session,
    call: &RpcRequest,
    name: &str,
    own: Option<&Module>,
    arguments: &mut [Argument],
    frame: &Frame,
) -> Result<(), SqlError> {
    if call.parameters.iter().all(|parameter| parameter.table.is_none()) {
        return Ok(());
    }
    let statement = match own {
        Some(_) => None,
        None => statement_parameters(session, name, arguments)?,
    };
    for (position, parameter) in call.parameters.iter().enumerate() {
        let declared = match &statement {
            Some((first, declarations)) => {
                let named = declarations
                    .iter()
                    .find(|own| !parameter.name.is_empty() && own.name.eq_ignore_ascii_case(&parameter.name));
                let placed = position.checked_sub(*first).and_then(|position| declarations.get(position));
                named.or(placed).map(|declared| declared.sql_type.clone())
            }
            None => parameter_type(own.map(|module| &module.definition), parameter, position),
        };
        let table = receive_table(session, parameter, declared.as_ref(), position + 1, frame)?;
        if let Some(argument) = arguments.get_mut(position) {
            argument.table = table;
        }
    }
    Ok(())
}

/// Returns a statement's declared parameters, and the position of the first value among the call's arguments.
fn statement_parameters(
    session: &Session,
    name: &str,
    arguments: &[Argument],
) -> Result<Option<(usize, Vec<Declaration>)>, SqlError> {
    let declared = || parse_declarations(&argument::text_of(arguments, 1, "@params").unwrap_or_default());
    Ok(match name {
        "sp_executesql" => Some((2, declared()?)),
        "sp_prepexec" => Some((3, declared()?)),
        "sp_execute" => {
            let handle = arguments.first().and_then(|argument| argument.value.as_int());
            let prepared = handle.and_then(|handle| session.prepared.get(&i32::try_from(handle).ok()?));
            prepared.map(|prepared| (1, prepared.declarations.clone()))
        }
        _ => None,
    })
}

/// Returns the values of output parameters, each in the type that the client has declared. Errors: conversions.
fn returned(
    call: &RpcRequest,
    arguments: &[Argument],
    outcome: &Outcome,
) -> Result<Vec<OutputValue>, SqlError> {
    let mut values = Vec::with_capacity(outcome.outputs.len());
    for (position, value, sql_type) in &outcome.outputs {
        let argument = arguments.get(*position).filter(|argument| argument.output);
        let Some((argument, parameter)) = argument.zip(call.parameters.get(*position)) else { continue };
        let declared = declared_output(parameter, sql_type);
        let value = convert(value.clone(), sql_type, &declared, 0)?.to_value(&declared);
        let ordinal = u16::try_from(*position).unwrap_or(u16::MAX);
        values.push(OutputValue { ordinal, name: argument.name.clone(), sql_type: declared, value });
    }
    Ok(values)
}

/// Returns the type of a returned value: the client's, but for the types that no returned value has.
fn declared_output(parameter: &Parameter, of_procedure: &SqlType) -> SqlType {
    use tds::Length;
    let declared = &parameter.type_info.sql_type;
    let known = parameter.type_info.form != tds::type_info::Form::Null && *declared != SqlType::SqlVariant;
    match if known { declared } else { of_procedure } {
        SqlType::Text => SqlType::VarChar { length: Length::Max },
        SqlType::NText => SqlType::NVarChar { length: Length::Max },
        SqlType::Image => SqlType::VarBinary { length: Length::Max },
        other => other.clone(),
    }
}

/// Errors: 8023 for a float that is no number, which T-SQL's float cannot hold, alone or in a vector.
fn no_number(arguments: &[Argument]) -> Option<SqlError> {
    let position = arguments.iter().position(|argument| match argument.value {
        Datum::Float(value) => !value.is_finite(),
        Datum::Real(value) => !value.is_finite(),
        Datum::Binary(_) => check_vector(&argument.value, &argument.sql_type).is_err(),
        _ => false,
    })?;
    let argument = arguments.get(position)?;
    let text = format!(
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter {} (\"{}\"): The supplied value is not a valid instance of data type {}. Check the source data for invalid values. An example of an invalid value is data of numeric type with scale greater than precision.",
        position + 1,
        argument.name,
        type_name(&argument.sql_type)
    );
    Some(SqlError::new(8023, 16, 1, text))
}
