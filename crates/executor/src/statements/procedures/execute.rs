//! EXEC, remote calls and the system procedures.

use databases::catalogue::Module;
use databases::catalogue::procedure_names::NAMES;
use query::Datum;
use query::convert::display;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Execute, ModuleBody};
use tsql::errors;
use tsql::expression::{Expr, FunctionCall};
use tsql::parse_declarations;
use tsql::parse_object_name;
use tsql::parse_object_name_on;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::Response;
use crate::session::work::variables;
use crate::statements::ddl::module;
use crate::statements::ddl::rename;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::resolve;
use crate::statements::evaluation::scope::{self, Balance};
use crate::statements::procedures::application_lock;
use crate::statements::procedures::argument::{Argument, Outcome, text_of};
use crate::statements::procedures::call;
use crate::statements::procedures::cursors;
use crate::statements::procedures::each;
use crate::statements::procedures::extended_property;
use crate::statements::procedures::help;
use crate::statements::procedures::messages;
use crate::statements::procedures::parameters::Signature;
use crate::statements::procedures::prepared;
use crate::statements::procedures::show;
use crate::statements::procedures::space;
use crate::statements::procedures::table_option;
use crate::statements::procedures::texts;
use crate::statements::procedures::triggers;
use crate::statements::procedures::views;

const REFRESH_VIEW: Signature = Signature { name: "sp_refreshview", parameters: &["@viewname"], required: 1 };
const REFRESH_MODULE: Signature =
    Signature { name: "sp_refreshsqlmodule", parameters: &["@name", "@namespace"], required: 1 };
const RECOMPILE: Signature = Signature { name: "sp_recompile", parameters: &["@objname"], required: 1 };
const RENAME: Signature =
    Signature { name: "sp_rename", parameters: &["@objname", "@newname", "@objtype"], required: 2 };

const CONFIGURE: Signature =
    Signature { name: "sp_configure", parameters: &["@configname", "@configvalue"], required: 0 };
const SET_SESSION_CONTEXT: Signature =
    Signature { name: "sp_set_session_context", parameters: &["@key", "@value", "@read_only"], required: 2 };

/// Runs EXEC of a procedure. The flow says if an error has ended it.
pub(crate) async fn execute_procedure(
    session: &mut Session,
    execute: &Execute,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let named = match &execute.named_by {
        Some(variable) => {
            Some(Execute { procedure: named_procedure(session, variable, frame)?, ..execute.clone() })
        }
        None => None,
    };
    let execute = named.as_ref().unwrap_or(execute);
    if let Some(module) = own_procedure(session, &execute.procedure)?
        && let Some(call) = function_call(&module, execute)?
    {
        let (value, sql_type) = evaluate::value(session, &call, frame).await?;
        if let Some(status) = &execute.status {
            frame.assign(status, value, &sql_type)?;
        }
        show::end_scope(0, frame, output).await;
        return Ok(Flow::Next);
    }
    let mut arguments = Vec::with_capacity(execute.arguments.len());
    for argument in &execute.arguments {
        let table = match &argument.value {
            Some(Expr::Variable(name)) => variables::variable_named(&session.work, name).cloned(),
            _ => None,
        };
        let (value, sql_type) = match &argument.value {
            _ if table.is_some() => (Datum::Null, SqlType::Int),
            Some(expr) => evaluate::value(session, expr, frame).await?,
            None => (Datum::Null, SqlType::Int),
        };
        let variable = match &argument.value {
            Some(Expr::Variable(name)) if argument.output => Some(name.clone()),
            _ => None,
        };
        arguments.push(Argument {
            name: argument.name.clone().unwrap_or_default(),
            value,
            sql_type,
            output: argument.output,
            variable,
            default: argument.value.is_none(),
            table,
        });
    }
    let name = execute.procedure.name.to_ascii_lowercase();
    let database = execute.procedure.database.clone();
    let outcome = match own_procedure(session, &execute.procedure)? {
        Some(module) => call::call_procedure(session, &module, &arguments, frame, output).await?,
        None => run_system_procedure(session, &name, database.as_deref(), &arguments, frame, output).await?,
    };
    if outcome.left {
        show::end_failed_scope(frame, output).await;
        return Ok(Flow::Leave);
    }
    for (position, value, sql_type) in &outcome.outputs {
        if let Some(variable) = arguments.get(*position).and_then(|argument| argument.variable.as_ref()) {
            frame.assign(variable, value.clone(), sql_type)?;
        }
    }
    if let Some(status) = &execute.status {
        frame.assign(status, Datum::Int(i64::from(outcome.status)), &SqlType::Int)?;
    }
    if outcome.stop || output.stopped() {
        return Ok(Flow::Stop);
    }
    show::end_scope(outcome.status, frame, output).await;
    outcome.unbalanced.map_or(Ok(Flow::Next), Err)
}

/// Returns the procedure whose name a variable has. Errors: 137, 2812, 7202.
fn named_procedure(session: &Session, variable: &str, frame: &Frame) -> Result<ObjectName, SqlError> {
    let Some((value, sql_type)) = frame.variable(variable) else {
        return Err(errors::UNDECLARED_VARIABLE.with([variable]));
    };
    let text = if value.is_null() { String::new() } else { display(&value, &sql_type) };
    if text.trim().is_empty() {
        return Err(errors::UNKNOWN_PROCEDURE.with([""]));
    }
    parse_object_name_on(session.instance.name(), &text)
}

/// Finds the user's procedure of a name; `None` if there is none, or if it is the system's.
pub(crate) fn own_procedure(
    session: &Session,
    name: &ObjectName,
) -> Result<Option<std::sync::Arc<Module>>, SqlError> {
    let system = name.schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case("sys"));
    let known = || {
        let more = ["sp_reset_connection", "sp_tablecollations", "sp_tablecollations_90"];
        NAMES.iter().chain(&more).any(|known| known.eq_ignore_ascii_case(&name.name))
    };
    if system || name.schema.is_none() && known() {
        return Ok(None);
    }
    let name = resolve::resolved(session, name)?;
    Ok(session.work.find_module(&name, &session.database)?.map(|(_, module)| module))
}

/// Returns the call that EXEC of a scalar function stands for; None for any other module. Errors: 201, 8144 and 8145 for arguments that do not fit.
fn function_call(module: &Module, execute: &Execute) -> Result<Option<Expr>, SqlError> {
    let Some(ModuleBody::ScalarFunction { parameters, .. }) = module.body()? else { return Ok(None) };
    let definition = &module.definition;
    let places = call::places(
        &definition.name,
        parameters,
        execute.arguments.iter().map(|argument| argument.name.as_deref().unwrap_or_default()),
    )?;
    let mut given: Vec<Option<Expr>> = parameters.iter().map(|parameter| parameter.value.clone()).collect();
    for (argument, place) in execute.arguments.iter().zip(places) {
        if let (Some(slot), Some(value)) = (given.get_mut(place), &argument.value) {
            *slot = Some(value.clone());
        }
    }
    let missing = |name: &str| errors::PARAMETER_MISSING.with([&definition.name, name]);
    let arguments = given.into_iter().zip(parameters);
    let arguments = arguments.map(|(value, parameter)| value.ok_or_else(|| missing(&parameter.name)));
    let arguments = arguments.collect::<Result<Vec<Expr>, SqlError>>()?;
    Ok(Some(Expr::Function(Box::new(FunctionCall {
        name: definition.name.clone(),
        database: Some(definition.database.clone()),
        schema: Some(definition.schema.clone()),
        arguments,
        star: false,
        distinct: false,
        over: None,
        within_group: Vec::new(),
        ignores_nulls: false,
    }))))
}

/// Runs EXEC ('…'). The flow says if an error has ended it.
pub(crate) async fn execute_text(
    session: &mut Session,
    text: &str,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let mut inner = frame.inner()?;
    let balance = Balance::before(session);
    let flow = scope::run_text(session, text, &mut inner, output).await?;
    match flow {
        Flow::Stop => return Ok(Flow::Stop),
        Flow::Leave => {
            show::end_failed_scope(frame, output).await;
            return Ok(Flow::Leave);
        }
        _ => {}
    }
    show::end_scope(0, frame, output).await;
    balance.after(session).map_or(Ok(Flow::Next), Err)
}

/// Runs a procedure of the system. Errors: 2812 for any other.
pub(crate) async fn run_system_procedure(
    session: &mut Session,
    name: &str,
    database: Option<&str>,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    match name {
        "sp_executesql" => {
            let statement = text_of(arguments, 0, "@stmt").or_else(|| text_of(arguments, 0, "@statement"));
            let Some(statement) = statement else {
                // NULL is no statement.
                if arguments.first().is_some_and(|argument| argument.value.is_null()) {
                    return Ok(Outcome::plain());
                }
                return Err(SqlError::new(
                    214,
                    16,
                    2,
                    "Procedure expects parameter '@statement' of type 'ntext/nchar/nvarchar'.",
                ));
            };
            let declared = text_of(arguments, 1, "@params").unwrap_or_default();
            let declarations = parse_declarations(&declared)?;
            let values = arguments.get(2..).unwrap_or_default();
            prepared::parameterised(session, &statement, &declarations, values, 2, frame, output).await
        }
        // The procedure does what a pool's own reset does; SQLAlchemy's documentation calls it by name.
        "sp_reset_connection" => {
            for change in session.reset(false) {
                output.send(Response::Change(change)).await;
            }
            Ok(Outcome::plain())
        }
        "sp_configure" => configure(session, arguments, frame, output).await,
        "sp_updatestats" => {
            let text = "Statistics for all tables have been updated.";
            answer::inform(session, SqlError::new(15005, 0, 1, text), output).await;
            Ok(Outcome::plain())
        }
        "sp_tableoption" => {
            table_option::set_table_option(session, arguments)?;
            Ok(Outcome::plain())
        }
        "sp_settriggerorder" => {
            triggers::set_trigger_order(session, arguments)?;
            Ok(Outcome::plain())
        }
        "sp_addextendedproperty" | "sp_updateextendedproperty" | "sp_dropextendedproperty" => {
            extended_property::extended_property(session, name, database, arguments)?;
            Ok(Outcome::plain())
        }
        "sp_msforeachtable" | "sp_msforeachdb" => {
            each::for_each(session, name, arguments, frame, output).await
        }
        "sp_help" | "sp_helpindex" | "sp_helpconstraint" | "sp_helptext" => {
            help::run(session, name, arguments, frame, output).await
        }
        "sp_addmessage" | "sp_dropmessage" => {
            messages::change_messages(session, name, arguments)?;
            Ok(Outcome::plain())
        }
        "sp_describe_parameter_encryption" => {
            for view in messages::parameter_encryption(arguments)? {
                show::show_view(session, view, output).await?;
            }
            Ok(Outcome::plain())
        }
        "sp_spaceused" => {
            space::show_space(session, database, arguments, output).await?;
            Ok(Outcome::plain())
        }
        "sp_getapplock" => application_lock::get_application_lock(session, arguments).await,
        "sp_releaseapplock" => application_lock::release_application_lock(session, arguments),
        "sp_rename" => {
            let parameters = RENAME.bind(arguments)?;
            let (name, new) = (parameters.text(0), parameters.text(1).filter(|new| !new.is_empty()));
            let (Some(name), Some(new)) = (name, new) else {
                return Err(SqlError::new(
                    15223,
                    11,
                    1,
                    "Error: The input parameter 'newname' is not allowed to be null.",
                ));
            };
            rename::run(session, &name, &new, parameters.text(2).as_deref(), frame)?;
            let caution =
                "Caution: Changing any part of an object name could break scripts and stored procedures.";
            answer::inform(session, SqlError::new(15477, 0, 1, caution), output).await;
            Ok(Outcome::plain())
        }
        "sp_refreshview" | "sp_refreshsqlmodule" | "sp_recompile" => {
            refresh(session, name, arguments, frame)?;
            Ok(Outcome::plain())
        }
        "sp_set_session_context" => {
            let parameters = SET_SESSION_CONTEXT.bind(arguments)?;
            let key = parameters.text(0).filter(|key| !key.is_empty() && key.len() <= 256);
            let key = key.ok_or_else(|| {
                SqlError::new(15666, 16, 1, "Cannot set key in the session context. The size of the key cannot exceed 256 bytes or be NULL.")
            })?;
            if let Some(value) = parameters.argument(1) {
                let read_only = matches!(parameters.text(2).as_deref(), Some("1"));
                std::sync::Arc::make_mut(&mut session.context).set(
                    &key,
                    value.value.clone(),
                    value.sql_type.clone(),
                    read_only,
                )?;
            }
            Ok(Outcome::plain())
        }
        "sp_cursor" | "sp_cursoropen" | "sp_cursorprepare" | "sp_cursorexecute" | "sp_cursorprepexec"
        | "sp_cursorunprepare" | "sp_cursorfetch" | "sp_cursoroption" | "sp_cursorclose" => {
            cursors::cursor_call(session, name, arguments, frame, output).await
        }
        "sp_prepare" | "sp_prepexec" | "sp_prepexecrpc" | "sp_execute" | "sp_unprepare" => {
            prepared::prepared_call(session, name, arguments, frame, output).await
        }
        other => {
            if let Some(outcome) = texts::run(session, other, arguments, frame, output).await? {
                return Ok(outcome);
            }
            let view = views::catalogue_view(session, other, database, arguments, frame)?;
            let view = view.ok_or_else(|| errors::UNKNOWN_PROCEDURE.with([other]))?;
            show::show_view(session, view, output).await?;
            Ok(Outcome::plain())
        }
    }
}

/// Runs sp_refreshview, sp_refreshsqlmodule, and sp_recompile, which only looks for the object: no plan is kept. Errors: 15009.
fn refresh(
    session: &mut Session,
    procedure: &str,
    arguments: &[Argument],
    frame: &Frame,
) -> Result<(), SqlError> {
    let signature = match procedure {
        "sp_refreshview" => REFRESH_VIEW,
        "sp_recompile" => RECOMPILE,
        _ => REFRESH_MODULE,
    };
    let parameters = signature.bind(arguments)?;
    let text = parameters.text(0).unwrap_or_default();
    let missing = || {
        let text = format!(
            "The object '{text}' does not exist in database '{}' or is invalid for this operation.",
            session.database
        );
        SqlError::new(15009, 16, 1, text)
    };
    let name = parse_object_name(&text).map_err(|_| missing())?;
    if procedure == "sp_recompile" {
        let (work, database) = (&session.work, &session.database);
        let is_there = work.find(&name, database)?.is_some() || work.find_module(&name, database)?.is_some();
        return if is_there { Ok(()) } else { Err(missing()) };
    }
    if let Some(namespace) = parameters.text(1)
        && !namespace.eq_ignore_ascii_case("OBJECT")
    {
        return Err(SqlError::unsupported(&format!("sp_refreshsqlmodule of {namespace}")));
    }
    module::refresh_module(session, &name, procedure == "sp_refreshview", frame)
}

/// Runs sp_configure, which shows options or sets one at once. Errors: 15123, 15124, 15129, 40515.
async fn configure(
    session: &mut Session,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let parameters = CONFIGURE.bind(arguments)?;
    let given = parameters.argument(1).filter(|argument| !argument.value.is_null());
    if given.is_some() && parameters.int(1).is_none() {
        return Err(SqlError::new(8114, 16, 5, "Error converting data type nvarchar to int."));
    }
    let (Some(name), Some(value)) = (parameters.text(0), parameters.int(1)) else {
        let shown = texts::run(session, "sp_configure", arguments, frame, output).await?;
        return Ok(shown.unwrap_or_else(Outcome::plain));
    };
    let configuration = session.instance.configuration();
    let option = configuration.find(&name)?;
    configuration.set(&option, value)?;
    let text = format!(
        "Configuration option '{}' changed from {} to {value}. Run the RECONFIGURE statement to install.",
        option.name, option.value
    );
    answer::inform(session, SqlError::new(15457, 0, 1, text), output).await;
    Ok(Outcome::plain())
}
