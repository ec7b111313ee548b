//! The bodies of functions: each call runs in a session of its own that reads within the statement's transaction.

use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::task::Wake;
use std::task::Waker;
use std::thread::Thread;

use arrow::array::RecordBatch;
use databases::catalogue::Module;
use databases::memory::Reservation;
use databases::storage::Reads;
use databases::store_error::store_error;
use query::Datum;
use tds::SqlType;
use tokio::sync::mpsc;
use tsql::SqlError;
use tsql::ast::Declaration;
use tsql::ast::ModuleBody;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::work::OpenTable;
use crate::session::work::reads;
use crate::session::work::scopes;
use crate::statements::ddl::declared_columns;
use crate::statements::evaluation::declared_type::scalar_type;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::function::parameter_types;
use crate::statements::evaluation::scope;
use crate::statements::interpreter::dispatch;

pub(crate) async fn function_value(
    session: &mut Session,
    module: &Module,
    arguments: &[Datum],
    nesting: u32,
) -> Result<Datum, SqlError> {
    let Some(ModuleBody::ScalarFunction { parameters, returns, statements }) = module.body()? else {
        return Err(SqlError::internal("a function without a body"));
    };
    let mut frame = function_frame(session, module, parameters, arguments, nesting)?;
    frame.returns = Some(scalar_type(session, returns, 1)?);
    let (sender, _receiver) = mpsc::channel(1);
    let mut output = Output::new(sender, session.cancellation.clone());
    output.capture(Reservation::new(session.instance.engine().memory()));
    let ran = scope::run_statements(session, statements, &mut frame, &mut output).await;
    ran.map_err(SqlError::raised_anew)?;
    output.check()?;
    Ok(frame.returned.unwrap_or(Datum::Null))
}

pub(crate) async fn function_rows(
    session: &mut Session,
    module: &Module,
    arguments: &[Datum],
    nesting: u32,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    let types: Vec<SqlType> =
        module.definition.columns.iter().map(|column| column.sql_type.clone()).collect();
    let batches = match module.body()? {
        Some(ModuleBody::InlineFunction { parameters, query }) => {
            let frame = function_frame(session, module, parameters, arguments, nesting)?;
            let bound = evaluate::bind(session, query, &frame)?;
            let instance = Arc::clone(&session.instance);
            instance.engine().collect(bound, &session.cancellation).await?
        }
        Some(ModuleBody::TableFunction { parameters, result, statements }) => {
            let mut frame = function_frame(session, module, parameters, arguments, nesting)?;
            let (sender, _receiver) = mpsc::channel(1);
            let mut output = Output::new(sender, session.cancellation.clone());
            output.capture(Reservation::new(session.instance.engine().memory()));
            scopes::enter(&mut session.work);
            let ran = match declared_columns::declare_table(session, result, &frame) {
                Ok(()) => {
                    let ran = dispatch::run_scope(session, statements, &mut frame, &mut output).await;
                    ran.map(|_| ()).map_err(SqlError::raised_anew)
                }
                Err(error) => Err(error),
            };
            let rows = match ran {
                Ok(()) => session.work.find(&result.name, &session.database).and_then(|table| match table {
                    Some(table) => contents(session, &table),
                    None => Ok(Vec::new()),
                }),
                Err(error) => Err(error),
            };
            scopes::leave(&mut session.work)?;
            output.check()?;
            rows?
        }
        _ => return Err(SqlError::internal("a function without a body")),
    };
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().zip(&types);
            rows.push(
                values.map(|(array, sql_type)| Datum::read(array.as_ref(), sql_type, row)).collect::<Result<
                    Vec<_>,
                    _,
                >>(
                )?,
            );
        }
    }
    Ok(rows)
}

pub(crate) fn function_frame(
    session: &Session,
    module: &Module,
    parameters: &[Declaration],
    arguments: &[Datum],
    nesting: u32,
) -> Result<Frame, SqlError> {
    let mut frame = Frame::new(true);
    frame.nesting = nesting;
    frame.module_id = module.definition.object_id;
    // Errors go to the statement that calls.
    frame.tries = 1;
    let types = parameter_types(session, parameters)?;
    for ((parameter, sql_type), value) in parameters.iter().zip(types).zip(arguments) {
        frame.declare(&parameter.name, sql_type, value.clone());
    }
    Ok(frame)
}

/// Reads all rows of a table.
pub fn contents(session: &Session, table: &OpenTable) -> Result<Vec<RecordBatch>, SqlError> {
    let scan = (reads::opener(&session.work, table, Reads::Statement))(None, None).map_err(store_error)?;
    scan.collect::<Result<_, _>>().map_err(store_error)
}

/// Waits for a future on this thread. Unlike a runtime's own function, it may be nested.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Computes the value of a scalar function.
pub fn value(
    session: &mut Session,
    module: &Module,
    arguments: &[Datum],
    nesting: u32,
) -> Result<Datum, SqlError> {
    block_on(function_value(session, module, arguments, nesting))
}

/// Computes the rows of a function that returns a table.
pub fn rows(
    session: &mut Session,
    module: &Module,
    arguments: &[Datum],
    nesting: u32,
) -> Result<Vec<Vec<Datum>>, SqlError> {
    block_on(function_rows(session, module, arguments, nesting))
}
