//! User-defined procedures.

use databases::catalogue::Module;
use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Declaration, ModuleBody};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::statements::evaluation::declared_type::scalar_type;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::scope::{self, Balance};
use crate::statements::procedures::argument::{Argument, Outcome};
use crate::statements::procedures::table_argument::{Given, give};

/// Runs a procedure. Errors: 201, 8143, 8144, 8145 and 8162 for arguments that do not fit, 217 for too deep nesting.
pub(crate) async fn call_procedure(
    session: &mut Session,
    module: &Module,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let name = &module.definition.name;
    let Some(ModuleBody::Procedure { parameters, statements }) = module.body()? else {
        return Err(SqlError::new(
            2809,
            16,
            1,
            format!("The request for procedure '{name}' failed because '{name}' is not a procedure object."),
        ));
    };
    let temporary = module.definition.name.starts_with('#');
    let types = Some(module.definition.database.clone()).filter(|_| !temporary);
    let mut inner = frame.inner()?;
    inner.procedure.clone_from(name);
    inner.module_id = module.definition.object_id;
    let places = places(name, parameters, arguments.iter().map(|argument| argument.name.as_str()))?;
    let mut given: Vec<Option<usize>> = vec![None; parameters.len()];
    for (argument, place) in places.iter().enumerate() {
        if let Some(slot) = given.get_mut(*place) {
            *slot = Some(argument);
        }
    }
    for (number, (parameter, argument)) in (1..).zip(parameters.iter().zip(&given)) {
        let argument = argument.and_then(|argument| arguments.get(argument));
        let argument = argument.filter(|argument| !argument.default);
        let given = give(session, parameter, number, argument, types.as_deref())?;
        let given = match (given, &parameter.value) {
            (Some(given), _) => {
                if let Some(argument) = argument
                    && argument.output
                    && argument.variable.is_some()
                    && !parameter.output
                {
                    let text = format!(
                        "The formal parameter \"{}\" was not declared as an OUTPUT parameter, but the actual parameter passed in requested output.",
                        parameter.name
                    );
                    return Err(SqlError::new(8162, 16, 2, text));
                }
                given
            }
            (None, Some(default)) => {
                let (value, sql_type) = evaluate::value(session, default, &inner).await?;
                let declared = scalar_type(session, &parameter.sql_type, number)?;
                Given::Value(convert(value, &sql_type, &declared, 0)?, declared)
            }
            (None, None) => {
                let text = format!(
                    "Procedure or function '{name}' expects parameter '{}', which was not supplied.",
                    parameter.name
                );
                return Err(SqlError::new(201, 16, 4, text));
            }
        };
        given.put(&parameter.name, &mut inner);
    }
    // The names in a temporary procedure are looked up in its caller's database.
    let home = types.unwrap_or_else(|| session.database.clone());
    let database = std::mem::replace(&mut session.database, home);
    let balance = Balance::before(session);
    let flow = scope::run_statements(session, statements, &mut inner, output).await;
    session.database = database;
    let flow = flow?;
    let mut outcome = Outcome::of(&flow);
    if outcome.left {
        return Ok(outcome);
    }
    outcome.unbalanced = balance.after(session);
    for (position, (argument, place)) in arguments.iter().zip(&places).enumerate() {
        if let Some(parameter) = parameters.get(*place)
            && argument.output
            && parameter.output
        {
            let (value, sql_type) = inner.variable(&parameter.name).unwrap_or((Datum::Null, SqlType::Int));
            outcome.outputs.push((position, value, sql_type));
        }
    }
    Ok(outcome)
}

/// Returns for each argument, by its name or an empty one, the position of its parameter. Errors: 8143, 8144, 8145.
pub(super) fn places<'a>(
    name: &str,
    parameters: &[Declaration],
    arguments: impl ExactSizeIterator<Item = &'a str>,
) -> Result<Vec<usize>, SqlError> {
    if arguments.len() > parameters.len() {
        let text = format!("Procedure or function {name} has too many arguments specified.");
        return Err(SqlError::new(8144, 16, 2, text));
    }
    let mut places: Vec<usize> = Vec::with_capacity(arguments.len());
    for (position, argument) in arguments.enumerate() {
        let place = if argument.is_empty() {
            position
        } else {
            let named = parameters.iter().position(|parameter| parameter.name.eq_ignore_ascii_case(argument));
            named.ok_or_else(|| {
                let text = format!("{argument} is not a parameter for procedure {name}.");
                SqlError::new(8145, 16, 2, text)
            })?
        };
        if places.contains(&place) {
            let text = format!("Parameter '{argument}' was supplied multiple times.");
            return Err(SqlError::new(8143, 16, 1, text));
        }
        places.push(place);
    }
    Ok(places)
}
