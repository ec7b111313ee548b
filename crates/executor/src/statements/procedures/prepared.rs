//! sp_executesql's body, sp_prepare, sp_prepexec, sp_execute, sp_unprepare.

use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::Declaration;
use tsql::errors;
use tsql::parse_declarations;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::prepared::Prepared;
use crate::statements::ddl::user_type::check_parameters;
use crate::statements::evaluation::declared_type::scalar_type;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::scope::{self, Balance};
use crate::statements::procedures::argument::{Argument, Outcome, text_of};
use crate::statements::procedures::table_argument::{Given, give};

/// Characters of a statement that an error shows.
const QUERY_SHOWN: usize = 80;

/// Runs a statement with parameters, as a scope. `first` is the position of the first value among the call's arguments.
pub(crate) async fn parameterised(
    session: &mut Session,
    text: &str,
    declarations: &[Declaration],
    values: &[Argument],
    first: usize,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let (mut inner, bound) = bind_parameters(session, text, declarations, values, frame).await?;
    let balance = Balance::before(session);
    let flow = scope::run_text(session, text, &mut inner, output).await?;
    let mut outcome = Outcome::of(&flow);
    if outcome.left {
        return Ok(outcome);
    }
    outcome.unbalanced = balance.after(session);
    for (position, declaration) in bound {
        let declaration =
            declarations.get(declaration).filter(|_| values.get(position).is_some_and(|value| value.output));
        if let Some(declaration) = declaration {
            let (value, sql_type) =
                inner.variable(&declaration.name).unwrap_or((Datum::Null, declaration.sql_type.clone()));
            outcome.outputs.push((first + position, value, sql_type));
        }
    }
    Ok(outcome)
}

/// Makes a scope with its parameters declared, and says which value went to which of them. Errors: 8178, 8144 and
/// conversions.
pub(crate) async fn bind_parameters(
    session: &mut Session,
    text: &str,
    declarations: &[Declaration],
    values: &[Argument],
    frame: &Frame,
) -> Result<(Frame, Vec<(usize, usize)>), SqlError> {
    if let Some(stranger) = values.iter().find(|value| {
        let name = &value.name;
        !name.is_empty() && !declarations.iter().any(|declared| declared.name.eq_ignore_ascii_case(name))
    }) {
        return Err(errors::NOT_A_PARAMETER.with([&stranger.name, ""]));
    }
    if values.len() > declarations.len() {
        return Err(errors::TOO_MANY_ARGUMENTS.with([""]));
    }
    check_parameters(session, declarations)?;
    let mut inner = frame.inner()?;
    // sp_executesql is a level of its own, and its text another.
    inner.nesting += 1;
    let mut bound: Vec<(usize, usize)> = Vec::new();
    for (position, declaration) in declarations.iter().enumerate() {
        // By name if the client names its values, else by position.
        let named = values
            .iter()
            .position(|value| !value.name.is_empty() && value.name.eq_ignore_ascii_case(&declaration.name));
        let found = named.or_else(|| (values.get(position)?.name.is_empty()).then_some(position));
        // One that is sent without a value is none.
        let argument = found.and_then(|found| values.get(found)).filter(|argument| !argument.default);
        let given = match (give(session, declaration, position + 1, argument, None)?, &declaration.value) {
            (Some(given), _) => given,
            (None, Some(default)) => {
                let (value, sql_type) = evaluate::value(session, default, &inner).await?;
                let declared = scalar_type(session, &declaration.sql_type, position + 1)?;
                Given::Value(convert(value, &sql_type, &declared, 0)?, declared)
            }
            (None, None) => {
                let declared: Vec<String> =
                    declarations.iter().map(|one| format!("{} {}", one.name, one.sql_type)).collect();
                let query = format!("({}){text}", declared.join(","));
                let query: String = query.chars().take(QUERY_SHOWN).collect();
                let name = &declaration.name;
                let text = format!(
                    "The parameterized query '{query}' expects the parameter '{name}', which was not supplied."
                );
                return Err(SqlError::new(8178, 16, 1, text));
            }
        };
        given.put(&declaration.name, &mut inner);
        if let Some(found) = found {
            bound.push((found, position));
        }
    }
    Ok((inner, bound))
}

pub(crate) async fn prepared_call(
    session: &mut Session,
    name: &str,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let handle = arguments.first().and_then(|argument| argument.value.as_int()).map(|handle| handle as i32);
    match name {
        "sp_unprepare" => match handle.and_then(|handle| session.prepared.remove(&handle)) {
            Some(_) => Ok(Outcome::plain()),
            None => Err(unknown_handle(handle)),
        },
        "sp_execute" => {
            let prepared = handle.and_then(|handle| session.prepared.get(&handle)).cloned();
            let prepared = prepared.ok_or_else(|| unknown_handle(handle))?;
            let values = arguments.get(1..).unwrap_or_default();
            parameterised(session, &prepared.text, &prepared.declarations, values, 1, frame, output).await
        }
        "sp_prepexecrpc" => {
            let values = arguments.get(2..).unwrap_or_default();
            let prepared = prepared_rpc(
                session.instance.name(),
                &text_of(arguments, 1, "@rpcCall").unwrap_or_default(),
                values,
            )?;
            if let Some(old) = handle {
                session.prepared.remove(&old);
            }
            let handle = keep_prepared(session, prepared.clone());
            let (text, declarations) = (&prepared.text, &prepared.declarations);
            let mut outcome = parameterised(session, text, declarations, values, 2, frame, output).await?;
            outcome.outputs.insert(0, (0, Datum::Int(i64::from(handle)), SqlType::Int));
            Ok(outcome)
        }
        _ => {
            let declared = text_of(arguments, 1, "@params").unwrap_or_default();
            let text = text_of(arguments, 2, "@stmt").unwrap_or_default();
            let declarations = parse_declarations(&declared)?;
            tsql::parse_batch_on(session.instance.name(), &text, session.settings.quoted_identifier)?;
            if let Some(old) = handle {
                session.prepared.remove(&old);
            }
            let prepared = Prepared { declarations, text };
            let handle = keep_prepared(session, prepared.clone());
            let mut outcome = if name == "sp_prepexec" {
                let values = arguments.get(3..).unwrap_or_default();
                parameterised(session, &prepared.text, &prepared.declarations, values, 3, frame, output)
                    .await?
            } else {
                Outcome::plain()
            };
            outcome.outputs.insert(0, (0, Datum::Int(i64::from(handle)), SqlType::Int));
            Ok(outcome)
        }
    }
}

/// Keeps a prepared statement; returns its handle.
pub(crate) fn keep_prepared(session: &mut Session, prepared: Prepared) -> i32 {
    let handle = session.next_handle;
    session.next_handle = session.next_handle.wrapping_add(1).max(1);
    session.prepared.insert(handle, prepared);
    handle
}

/// Parses the call of sp_prepexecrpc as a statement: a procedure's name, or ODBC's `{?=call name(?, …)}`, with
/// parameters of the values' types.
fn prepared_rpc(server: &str, call: &str, values: &[Argument]) -> Result<Prepared, SqlError> {
    let bare = call.trim().trim_start_matches('{').trim_end_matches('}').trim();
    let bare = bare.strip_prefix('?').map_or(bare, |rest| rest.trim_start().trim_start_matches('=').trim());
    let bare = match bare.split_at_checked(5) {
        Some((word, rest)) if word.eq_ignore_ascii_case("call ") => rest.trim(),
        _ => bare,
    };
    let name = bare.split_once('(').map_or(bare, |(name, _)| name).trim();
    let name = tsql::parse_object_name_on(server, name)?;
    let quoted =
        |part: Option<&str>| part.map(|part| format!("[{}]", part.replace(']', "]]"))).unwrap_or_default();
    let parts = [name.database.as_deref(), name.schema.as_deref(), Some(name.name.as_str())];
    // A schema that is left out keeps its place.
    let name: Vec<String> = parts.into_iter().skip_while(Option::is_none).map(quoted).collect();
    let (mut declared, mut passed) = (Vec::new(), Vec::new());
    for (number, value) in (1..).zip(values) {
        let own = match value.name.is_empty() {
            true => format!("@P{number}"),
            false => value.name.clone(),
        };
        let output = if value.output { " OUTPUT" } else { "" };
        declared.push(format!("{own} {}{output}", value.sql_type));
        passed.push(match value.name.is_empty() {
            true => format!("{own}{output}"),
            false => format!("{own} = {own}{output}"),
        });
    }
    let declarations = parse_declarations(&declared.join(", "))?;
    Ok(Prepared { declarations, text: format!("EXEC {} {}", name.join("."), passed.join(", ")) })
}

pub(crate) fn unknown_handle(handle: Option<i32>) -> SqlError {
    SqlError::new(
        8179,
        16,
        2,
        format!("Could not find prepared statement with handle {}.", handle.unwrap_or(0)),
    )
}
