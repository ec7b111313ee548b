//! User-defined functions: each call runs the body in a session of its own that reads within the statement's
//! transaction.

use std::sync::Arc;

use databases::catalogue::{Module, ModuleDefinition};
use databases::waiting::waiting;
use parking_lot::Mutex;
use query::running;
use query::{Datum, FunctionRows, InlineFunction, OutputColumn, ScalarFunction, TableFunction, ViewQuery};
use tds::{Length, SqlType};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{Declaration, ModuleBody};
use tsql::errors;
use tsql::query::Query;

use crate::session::frame::Frame;
use crate::session::settings::Settings;
use crate::session::{LastStatement, Session};
use crate::statements::evaluation::declared_type::scalar_type;
use crate::statements::evaluation::described_columns;
use crate::statements::evaluation::resolve;

/// Functions within functions (SQL Server's limit is 32 too).
const NESTING_MAX: u32 = 32;
/// A body this deep gets a thread, and so a stack, of its own.
const NESTING_OF_THREAD: u32 = 4;
/// The stack size of such a thread.
const STACK_BYTES: usize = 16 << 20;

/// Runs a function's body.
struct Runner {
    session: Mutex<Session>,
    module: Arc<Module>,
    nesting: u32,
}

/// Finds a function that returns a value, for expressions. Errors: 4121, 217.
pub(crate) fn scalar_function(
    session: &Session,
    database: Option<&str>,
    schema: &str,
    name: &str,
    frame: &Frame,
) -> Result<ScalarFunction, SqlError> {
    let unknown = || {
        SqlError::new(
            4121,
            16,
            1,
            format!(
                "Cannot find either column \"{schema}\" or the user-defined function or aggregate \"{schema}.{name}\", or the name is ambiguous."
            ),
        )
    };
    let wanted = ObjectName {
        database: database.map(str::to_owned),
        schema: Some(schema.to_string()),
        name: name.to_string(),
    };
    let wanted = resolve::resolved(session, &wanted)?;
    let (_, module) = session.work.find_module(&wanted, &session.database)?.ok_or_else(unknown)?;
    let Some(ModuleBody::ScalarFunction { parameters, returns, .. }) = module.body()? else {
        return Err(unknown());
    };
    let defaults = parameters.iter().map(|parameter| parameter.value.clone()).collect();
    let parameters = parameter_types(session, parameters)?;
    let returns = scalar_type(session, returns, 1)?;
    let name = module.definition.qualified_name();
    let runner = runner_of(session, module, frame)?;
    let kernel = move |arguments: &[Datum]| runner.run(arguments, Runner::value);
    Ok(ScalarFunction { name, parameters, defaults, returns, kernel: Arc::new(kernel) })
}

/// Finds a function that returns a table; `None` if the name is no function's.
pub(crate) fn rows_function(
    session: &Session,
    name: &ObjectName,
    frame: &Frame,
) -> Result<Option<TableFunction>, SqlError> {
    let name = resolve::resolved(session, name)?;
    let Some((_, module)) = session.work.find_module(&name, &session.database)? else { return Ok(None) };
    let (parameters, defaults) = match module.body()? {
        Some(
            ModuleBody::InlineFunction { parameters, .. } | ModuleBody::TableFunction { parameters, .. },
        ) => (
            parameter_types(session, parameters)?,
            parameters.iter().map(|parameter| parameter.value.clone()).collect(),
        ),
        _ => return Ok(None),
    };
    let columns = columns_of(&module.definition);
    let display_name = module.definition.qualified_name();
    let runner = runner_of(session, module, frame)?;
    let rows = move |arguments: &[Datum]| runner.run(arguments, Runner::rows).map(FunctionRows::from);
    Ok(Some(TableFunction {
        columns,
        rows: Arc::new(rows),
        parameters: Some((display_name, parameters)),
        defaults,
    }))
}

/// Returns the query of an inline function; `None` if the name is no such function's.
pub(crate) fn inline_function(
    session: &Session,
    name: &ObjectName,
) -> Result<Option<InlineFunction>, SqlError> {
    let name = resolve::resolved(session, name)?;
    let Some((_, module)) = session.work.find_module(&name, &session.database)? else { return Ok(None) };
    let Some(ModuleBody::InlineFunction { parameters, query }) = module.body()? else { return Ok(None) };
    let definition = &module.definition;
    let types = parameter_types(session, parameters)?;
    let names = parameters.iter().map(|parameter| parameter.name.clone());
    Ok(Some(InlineFunction {
        name: definition.qualified_name(),
        query: ViewQuery {
            database: definition.database.clone(),
            schema: definition.schema.clone(),
            columns: None,
            known: definition.columns.iter().map(|column| column.name.clone()).collect(),
            query: Query { schema: Some(definition.schema.clone()), ..query.as_ref().clone() },
        },
        parameters: names.zip(types).collect(),
        defaults: parameters.iter().map(|parameter| parameter.value.clone()).collect(),
    }))
}

fn runner_of(session: &Session, module: Arc<Module>, frame: &Frame) -> Result<Arc<Runner>, SqlError> {
    let nesting = frame.nesting + 1;
    if nesting > NESTING_MAX {
        return Err(errors::NESTED_TOO_DEEPLY.error());
    }
    let session = session_of_function(session, &module.definition.database)?;
    Ok(Arc::new(Runner { session: Mutex::new(session), module, nesting }))
}

/// Makes a session that reads within the statement's transaction.
fn session_of_function(session: &Session, database: &str) -> Result<Session, SqlError> {
    Ok(Session {
        instance: Arc::clone(&session.instance),
        login: session.login.clone(),
        settings: Settings {
            isolation_level: session.settings.isolation_level,
            lock_timeout_ms: session.settings.lock_timeout_ms,
            date_format: session.settings.date_format,
            language: session.settings.language,
            date_first: session.settings.date_first,
            ..Settings::new(true)
        },
        database: database.to_owned(),
        work: session.work.for_function(),
        cancellation: session.cancellation.clone(),
        last: LastStatement::default(),
        ..Session::open(Arc::clone(&session.instance), session.login.clone(), session.interpreter)?
    })
}

/// Makes `sys.dm_exec_describe_first_result_set`; `None` for any other name.
pub(crate) fn describing_function(
    session: &Session,
    name: &ObjectName,
) -> Result<Option<TableFunction>, SqlError> {
    let is_system = name.schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case("sys"));
    if !is_system || !name.name.eq_ignore_ascii_case("dm_exec_describe_first_result_set") {
        return Ok(None);
    }
    let database = name.database.as_deref().unwrap_or(&session.database);
    let inner = Mutex::new(session_of_function(session, database)?);
    let rows = move |arguments: &[Datum]| {
        waiting(|| {
            let mut session = inner.lock();
            Ok(FunctionRows::from((session.interpreter.describe)(&mut session, arguments)))
        })
    };
    let text = SqlType::NVarChar { length: Length::Max };
    Ok(Some(TableFunction {
        columns: described_columns::of_function().columns,
        rows: Arc::new(rows),
        parameters: Some((name.name.clone(), vec![text.clone(), text, SqlType::TinyInt])),
        defaults: Vec::new(),
    }))
}

impl Runner {
    fn value(&self, arguments: &[Datum]) -> Result<Datum, SqlError> {
        let mut session = self.session.lock();
        (session.interpreter.value)(&mut session, &self.module, arguments, self.nesting)
    }

    fn rows(&self, arguments: &[Datum]) -> Result<Vec<Vec<Datum>>, SqlError> {
        let mut session = self.session.lock();
        (session.interpreter.rows)(&mut session, &self.module, arguments, self.nesting)
    }

    fn run<T: Send>(
        &self,
        arguments: &[Datum],
        call: fn(&Runner, &[Datum]) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if !self.nesting.is_multiple_of(NESTING_OF_THREAD) {
            return waiting(|| call(self, arguments));
        }
        let runtime = tokio::runtime::Handle::try_current().ok();
        let running = running::current();
        waiting(|| {
            std::thread::scope(|scope| {
                let body = || {
                    let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
                    match &running {
                        Some(running) => running.step(|| call(self, arguments)),
                        None => call(self, arguments),
                    }
                };
                let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, body);
                let thread = thread.map_err(|error| SqlError::internal(error))?;
                thread.join().unwrap_or_else(|_| Err(SqlError::internal("the body of a function stopped")))
            })
        })
    }
}

/// Returns the types of a function's parameters. Errors: 2715.
pub(crate) fn parameter_types(
    session: &Session,
    parameters: &[Declaration],
) -> Result<Vec<SqlType>, SqlError> {
    (1..)
        .zip(parameters)
        .map(|(number, parameter)| scalar_type(session, &parameter.sql_type, number))
        .collect()
}

/// Returns the columns of a view's or function's rows.
pub(crate) fn columns_of(definition: &ModuleDefinition) -> Vec<OutputColumn> {
    definition
        .columns
        .iter()
        .map(|column| OutputColumn {
            collation: column.collation(),
            ..OutputColumn::expression(column.name.clone(), column.sql_type.clone(), true)
        })
        .collect()
}
