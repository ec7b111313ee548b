//! EXEC, remote calls and the system procedures.

mod catalogue;
mod describe;
mod remote;

use tds::SqlType;

use super::Session;
use super::interpreter::{Flow, Frame};
use super::output::Output;
use super::response::{DoneKind, Response, ResultColumns, StatementDone, command};
use crate::catalogue::views::View;
use crate::engine::convert::{convert, display};
use crate::engine::{Datum, OutputColumn};
use crate::sql_error::SqlError;
use crate::tsql::ast::{Declaration, Execute};
use crate::tsql::expression::Expr;
use crate::tsql::parse_declarations;

/// A prepared statement (sp_prepare, sp_prepexec).
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    /// Its parameters.
    pub declarations: Vec<Declaration>,
    /// Its text.
    pub text: String,
}

/// An evaluated argument of a call.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    /// Name with its `@`; empty if unnamed.
    pub name: String,
    /// Value.
    pub value: Datum,
    /// Type.
    pub sql_type: SqlType,
    /// OUTPUT.
    pub output: bool,
    /// The variable to write an output back to, for EXEC.
    pub variable: Option<String>,
}

/// What a call gives back besides results.
pub(super) struct Outcome {
    /// Return status.
    pub status: i32,
    /// Values of output parameters by their position among the arguments.
    pub outputs: Vec<(usize, Datum, SqlType)>,
    /// The batch must not go on.
    pub stop: bool,
}

impl Outcome {
    pub(super) fn plain() -> Outcome {
        Outcome { status: 0, outputs: Vec::new(), stop: false }
    }
}

impl Session {
    /// EXEC of a procedure.
    pub(super) async fn execute_procedure(
        &mut self,
        execute: &Execute,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Flow, SqlError> {
        let mut arguments = Vec::with_capacity(execute.arguments.len());
        for argument in &execute.arguments {
            let (value, sql_type) = match &argument.value {
                Some(expr) => self.value(expr, frame).await?,
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
            });
        }
        let name = execute.procedure.name.to_ascii_lowercase();
        let database = execute.procedure.database.clone();
        let outcome = self.procedure(&name, database.as_deref(), &arguments, frame, output).await?;
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
        self.end_scope(outcome.status, frame, output).await;
        Ok(Flow::Next)
    }

    /// RETURNSTATUS and DONEPROC.
    async fn end_scope(&mut self, status: i32, frame: &Frame, output: &mut Output) {
        output.send(Response::ReturnStatus(status)).await;
        // The end of a scope within a scope is one of its statements.
        let kind = if frame.in_procedure { DoneKind::InProcedure } else { DoneKind::Procedure };
        let done = StatementDone { kind, command: command::EXECUTE, count: None, error: false, fatal: false };
        output.send(Response::Done(done)).await;
    }

    /// EXEC ('…').
    pub(super) async fn execute_text(
        &mut self,
        text: &str,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Flow, SqlError> {
        let mut inner = frame.inner()?;
        let flow = self.run_text(text, &mut inner, output).await?;
        if flow == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.end_scope(0, frame, output).await;
        Ok(Flow::Next)
    }

    /// Runs a procedure of the system. Errors: 2812 for any other.
    pub(super) async fn procedure(
        &mut self,
        name: &str,
        database: Option<&str>,
        arguments: &[Argument],
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Outcome, SqlError> {
        match name {
            "sp_executesql" => {
                let statement =
                    text_of(arguments, 0, "@stmt").or_else(|| text_of(arguments, 0, "@statement"));
                let Some(statement) = statement else {
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
                self.parameterised(&statement, &declarations, values, 2, frame, output).await
            }
            "sp_tablecollations_100" | "sp_tablecollations_90" => {
                let table = text_of(arguments, 0, "@object").unwrap_or_default();
                let view = self.table_collations(database, &table)?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            "sp_describe_first_result_set" => {
                let statement = text_of(arguments, 0, "@tsql").unwrap_or_default();
                let declared = text_of(arguments, 1, "@params").unwrap_or_default();
                let view = self.describe_first_result(&statement, &declared)?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            "sp_columns" | "sp_columns_90" | "sp_columns_100" => {
                let view = self.catalogue_columns(arguments, frame)?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            "sp_tables" => {
                let view = self.catalogue_tables(arguments, frame)?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            "sp_pkeys" => {
                let view = self.catalogue_primary_keys(arguments, frame)?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            "sp_databases" => {
                let mut view =
                    View::new(&[("DATABASE_NAME", "name"), ("DATABASE_SIZE", "int"), ("REMARKS", "varchar")]);
                for database in &self.work.directory().databases {
                    view.push(vec![Datum::Text(database.name.clone()), Datum::Null, Datum::Null]);
                }
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
            // Accepted: they change nothing that this server has.
            "sp_reset_connection"
            | "sp_tableoption"
            | "sp_configure"
            | "sp_updatestats"
            | "sp_addextendedproperty" => Ok(Outcome::plain()),
            "sp_prepare" | "sp_prepexec" | "sp_execute" | "sp_unprepare" => {
                self.prepared_call(name, arguments, frame, output).await
            }
            other => Err(SqlError::unknown_procedure(other)),
        }
    }

    /// A statement with parameters, as a scope. `first` is the position of the first value among the call's arguments.
    pub(super) async fn parameterised(
        &mut self,
        text: &str,
        declarations: &[Declaration],
        values: &[Argument],
        first: usize,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Outcome, SqlError> {
        let mut inner = frame.inner()?;
        let mut bound: Vec<(usize, &Declaration)> = Vec::new();
        for (position, declaration) in declarations.iter().enumerate() {
            // By name if the client names its values, else by position.
            let named = values.iter().position(|value| {
                !value.name.is_empty() && value.name.eq_ignore_ascii_case(&declaration.name)
            });
            let found = named.or_else(|| (values.get(position)?.name.is_empty()).then_some(position));
            let value = match (found.and_then(|found| values.get(found)), &declaration.value) {
                (Some(value), _) => convert(value.value.clone(), &value.sql_type, &declaration.sql_type, 0)?,
                (None, Some(default)) => {
                    let (value, sql_type) = self.value(default, &inner).await?;
                    convert(value, &sql_type, &declaration.sql_type, 0)?
                }
                (None, None) => {
                    return Err(SqlError::new(
                        8178,
                        16,
                        1,
                        format!(
                            "The parameterized query '{}' expects the parameter '{}', which was not supplied.",
                            text.chars().take(80).collect::<String>(),
                            declaration.name
                        ),
                    ));
                }
            };
            inner.declare(&declaration.name, declaration.sql_type.clone(), value);
            if let Some(found) = found {
                bound.push((found, declaration));
            }
        }
        let flow = self.run_text(text, &mut inner, output).await?;
        let mut outcome = Outcome::plain();
        outcome.stop = flow == Flow::Stop;
        if let Flow::Return(status) = flow {
            outcome.status = status;
        }
        for (position, declaration) in bound {
            if values.get(position).is_some_and(|value| value.output) {
                let (value, sql_type) =
                    inner.variable(&declaration.name).unwrap_or((Datum::Null, declaration.sql_type.clone()));
                outcome.outputs.push((first + position, value, sql_type));
            }
        }
        Ok(outcome)
    }

    async fn prepared_call(
        &mut self,
        name: &str,
        arguments: &[Argument],
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Outcome, SqlError> {
        let handle =
            arguments.first().and_then(|argument| argument.value.as_int()).map(|handle| handle as i32);
        match name {
            "sp_unprepare" => match handle.and_then(|handle| self.prepared.remove(&handle)) {
                Some(_) => Ok(Outcome::plain()),
                None => Err(unknown_handle(handle)),
            },
            "sp_execute" => {
                let prepared = handle.and_then(|handle| self.prepared.get(&handle)).cloned();
                let prepared = prepared.ok_or_else(|| unknown_handle(handle))?;
                let values = arguments.get(1..).unwrap_or_default();
                self.parameterised(&prepared.text, &prepared.declarations, values, 1, frame, output).await
            }
            _ => {
                let declared = text_of(arguments, 1, "@params").unwrap_or_default();
                let text = text_of(arguments, 2, "@stmt").unwrap_or_default();
                let declarations = parse_declarations(&declared)?;
                crate::tsql::parse_batch(&text, self.settings.quoted_identifier)?;
                if let Some(old) = handle {
                    self.prepared.remove(&old);
                }
                let handle = self.next_handle;
                self.next_handle = self.next_handle.wrapping_add(1).max(1);
                let prepared = Prepared { declarations, text };
                self.prepared.insert(handle, prepared.clone());
                let mut outcome = if name == "sp_prepexec" {
                    let values = arguments.get(3..).unwrap_or_default();
                    self.parameterised(&prepared.text, &prepared.declarations, values, 3, frame, output)
                        .await?
                } else {
                    Outcome::plain()
                };
                outcome.outputs.insert(0, (0, Datum::Int(i64::from(handle)), SqlType::Int));
                Ok(outcome)
            }
        }
    }

    /// Sends a view as a statement's result.
    pub(super) async fn show_view(&mut self, view: View, output: &mut Output) -> Result<(), SqlError> {
        let batch = view.batch()?;
        let columns = ResultColumns {
            columns: view.columns.iter().map(OutputColumn::wire).collect(),
            schema: batch.schema(),
        };
        let rows = batch.num_rows() as u64;
        output.send(Response::Columns(columns)).await;
        if rows > 0 {
            output.send(Response::Batch(batch)).await;
        }
        self.last.rows = rows as i64;
        output.done(DoneKind::InProcedure, command::SELECT, Some(rows)).await;
        Ok(())
    }
}

fn unknown_handle(handle: Option<i32>) -> SqlError {
    SqlError::new(
        8179,
        16,
        2,
        format!("Could not find prepared statement with handle {}.", handle.unwrap_or(0)),
    )
}

/// The text of an argument by name or position; None if it is absent or NULL.
pub(super) fn text_of(arguments: &[Argument], position: usize, name: &str) -> Option<String> {
    let named = arguments.iter().find(|argument| argument.name.eq_ignore_ascii_case(name));
    let argument = named.or_else(|| arguments.get(position).filter(|argument| argument.name.is_empty()))?;
    if argument.value.is_null() {
        return None;
    }
    Some(display(&argument.value, &argument.sql_type))
}
