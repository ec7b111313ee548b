//! EXEC, remote calls and the system procedures.

mod application_lock;
mod columns;
mod cursors;
mod deduce;
mod describe;
mod each;
mod extended_property;
mod help;
mod keys;
mod messages;
mod odbc_type;
mod parameters;
mod prepared;
mod remote;
mod routines;
mod shown;
mod space;
mod tables;
mod triggers;

use tds::SqlType;

use parameters::Signature;
use query::convert::display;
use query::{Datum, OutputColumn};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::Execute;
use tsql::expression::Expr;
use tsql::parse_declarations;

use super::Session;
use super::interpreter::{Flow, Frame};
use super::output::Output;
use super::response::{DoneKind, Response, ResultColumns, StatementDone, command};
use super::work::VariableTable;
use crate::catalogue::views::View;

pub(super) use cursors::ApiCursors;
pub(super) use prepared::Prepared;

/// The names of the system's procedures.
pub(crate) fn procedure_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// The procedures that this server has.
const NAMES: &[&str] = &[
    "sp_addextendedproperty",
    "sp_addmessage",
    "sp_column_privileges",
    "sp_columns",
    "sp_columns_100",
    "sp_columns_90",
    "sp_configure",
    "sp_cursor",
    "sp_cursorclose",
    "sp_cursorexecute",
    "sp_cursorfetch",
    "sp_cursoropen",
    "sp_cursoroption",
    "sp_cursorprepare",
    "sp_cursorprepexec",
    "sp_cursorunprepare",
    "sp_databases",
    "sp_datatype_info",
    "sp_datatype_info_100",
    "sp_datatype_info_90",
    "sp_describe_first_result_set",
    "sp_describe_parameter_encryption",
    "sp_describe_undeclared_parameters",
    "sp_dropextendedproperty",
    "sp_dropmessage",
    "sp_estimate_data_compression_savings",
    "sp_execute",
    "sp_executesql",
    "sp_fkeys",
    "sp_getapplock",
    "sp_help",
    "sp_helpconstraint",
    "sp_helpindex",
    "sp_helptext",
    "sp_helptrigger",
    "sp_MSforeachdb",
    "sp_MSforeachtable",
    "sp_pkeys",
    "sp_prepare",
    "sp_prepexec",
    "sp_prepexecrpc",
    "sp_releaseapplock",
    "sp_rename",
    "sp_server_info",
    "sp_set_session_context",
    "sp_settriggerorder",
    "sp_spaceused",
    "sp_special_columns",
    "sp_special_columns_100",
    "sp_special_columns_90",
    "sp_sproc_columns",
    "sp_sproc_columns_100",
    "sp_sproc_columns_90",
    "sp_statistics",
    "sp_statistics_100",
    "sp_stored_procedures",
    "sp_table_privileges",
    "sp_tablecollations_100",
    "sp_tableoption",
    "sp_tables",
    "sp_tableswc",
    "sp_unprepare",
    "sp_updateextendedproperty",
    "sp_updatestats",
    "xp_msver",
];

const RENAME: Signature =
    Signature { name: "sp_rename", parameters: &["@objname", "@newname", "@objtype"], required: 2 };

const CONFIGURE: Signature =
    Signature { name: "sp_configure", parameters: &["@configname", "@configvalue"], required: 0 };
const SET_SESSION_CONTEXT: Signature =
    Signature { name: "sp_set_session_context", parameters: &["@key", "@value", "@read_only"], required: 2 };

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
    /// DEFAULT stands in its place.
    pub default: bool,
    /// The table of a table-valued parameter.
    pub table: Option<VariableTable>,
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
            let table = match &argument.value {
                Some(Expr::Variable(name)) => self.work.variable(name).cloned(),
                _ => None,
            };
            let (value, sql_type) = match &argument.value {
                _ if table.is_some() => (Datum::Null, SqlType::Int),
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
                default: argument.value.is_none(),
                table,
            });
        }
        let name = execute.procedure.name.to_ascii_lowercase();
        let database = execute.procedure.database.clone();
        let outcome = match self.own_procedure(&execute.procedure)? {
            Some(module) => self.call_procedure(&module, &arguments, frame, output).await?,
            None => self.procedure(&name, database.as_deref(), &arguments, frame, output).await?,
        };
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

    /// The user's procedure of a name; None if there is none, or if it is the system's.
    pub(super) fn own_procedure(
        &self,
        name: &ObjectName,
    ) -> Result<Option<std::sync::Arc<crate::catalogue::Module>>, SqlError> {
        let system = name.schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case("sys"));
        let known = || {
            let more = ["sp_reset_connection", "sp_tablecollations", "sp_tablecollations_90"];
            NAMES.iter().chain(&more).any(|known| known.eq_ignore_ascii_case(&name.name))
        };
        if system || name.schema.is_none() && known() {
            return Ok(None);
        }
        let name = self.resolved(name)?;
        Ok(self.work.find_module(&name, &self.database)?.map(|(_, module)| module))
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
                self.parameterised(&statement, &declarations, values, 2, frame, output).await
            }
            // What a pool's own reset does; SQLAlchemy's documentation calls it by name.
            "sp_reset_connection" => {
                for change in self.reset(false) {
                    output.send(Response::Change(change)).await;
                }
                Ok(Outcome::plain())
            }
            // Accepted: they change nothing that this server has.
            "sp_configure" => {
                let parameters = CONFIGURE.bind(arguments)?;
                self.configure(parameters.text(0), parameters.int(1), output).await?;
                Ok(Outcome::plain())
            }
            "sp_updatestats" => {
                let text = "Statistics for all tables have been updated.";
                self.inform(SqlError::new(15005, 0, 1, text), output).await;
                Ok(Outcome::plain())
            }
            "sp_tableoption" => Ok(Outcome::plain()),
            "sp_settriggerorder" => {
                triggers::set_trigger_order(self, arguments)?;
                Ok(Outcome::plain())
            }
            "sp_addextendedproperty" | "sp_updateextendedproperty" | "sp_dropextendedproperty" => {
                self.extended_property(name, database, arguments)?;
                Ok(Outcome::plain())
            }
            "sp_msforeachtable" | "sp_msforeachdb" => self.for_each(name, arguments, frame, output).await,
            "sp_help" | "sp_helpindex" | "sp_helpconstraint" | "sp_helptext" => {
                self.help(name, arguments, frame, output).await
            }
            "sp_addmessage" | "sp_dropmessage" => {
                self.change_messages(name, arguments)?;
                Ok(Outcome::plain())
            }
            "sp_describe_parameter_encryption" => {
                for view in self.parameter_encryption(arguments)? {
                    self.show_view(view, output).await?;
                }
                Ok(Outcome::plain())
            }
            "sp_spaceused" => {
                self.space_used(database, arguments, output).await?;
                Ok(Outcome::plain())
            }
            "sp_getapplock" => self.get_application_lock(arguments).await,
            "sp_releaseapplock" => self.release_application_lock(arguments),
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
                self.rename(&name, &new, parameters.text(2).as_deref(), frame)?;
                let caution =
                    "Caution: Changing any part of an object name could break scripts and stored procedures.";
                self.inform(SqlError::new(15477, 0, 1, caution), output).await;
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
                    std::sync::Arc::make_mut(&mut self.context).set(
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
                self.cursor_call(name, arguments, frame, output).await
            }
            "sp_prepare" | "sp_prepexec" | "sp_prepexecrpc" | "sp_execute" | "sp_unprepare" => {
                self.prepared_call(name, arguments, frame, output).await
            }
            other => {
                let view = self.catalogue_view(other, database, arguments, frame)?;
                let view = view.ok_or_else(|| SqlError::unknown_procedure(other))?;
                self.show_view(view, output).await?;
                Ok(Outcome::plain())
            }
        }
    }

    /// The result of a procedure that only shows something; None if there is no such procedure.
    pub(super) fn catalogue_view(
        &self,
        name: &str,
        database: Option<&str>,
        arguments: &[Argument],
        frame: &Frame,
    ) -> Result<Option<View>, SqlError> {
        let shown = || self.shown(database, frame);
        Ok(Some(match name {
            "sp_tablecollations_100" | "sp_tablecollations_90" | "sp_tablecollations" => {
                let table = text_of(arguments, 0, "@object").unwrap_or_default();
                self.table_collations(database, &table)?
            }
            "sp_describe_first_result_set" => self.describe_first_result(arguments)?,
            "sp_describe_undeclared_parameters" => self.describe_parameters(arguments)?,
            "sp_datatype_info" | "sp_datatype_info_90" | "sp_datatype_info_100" => {
                odbc_type::datatype_info(name, arguments)?
            }
            "sp_columns" | "sp_columns_90" | "sp_columns_100" => {
                columns::columns(&shown()?, name, arguments)?
            }
            "sp_special_columns" | "sp_special_columns_90" | "sp_special_columns_100" => {
                columns::special_columns(&shown()?, name, arguments)?
            }
            "sp_tables" => tables::tables(&shown()?, arguments, false)?,
            "sp_tableswc" => tables::tables(&shown()?, arguments, true)?,
            "sp_table_privileges" => tables::table_privileges(&shown()?, arguments)?,
            "sp_column_privileges" => tables::column_privileges(&shown()?, arguments)?,
            "sp_databases" => tables::databases(&shown()?),
            "sp_pkeys" => keys::primary_keys(&shown()?, arguments)?,
            "sp_fkeys" => keys::foreign_keys(&shown()?, arguments)?,
            "sp_statistics" | "sp_statistics_100" => keys::statistics(&shown()?, arguments)?,
            "sp_stored_procedures" => routines::stored_procedures(&shown()?, arguments)?,
            "sp_sproc_columns" | "sp_sproc_columns_90" | "sp_sproc_columns_100" => {
                routines::procedure_columns(&shown()?, name, arguments)?
            }
            "sp_estimate_data_compression_savings" => self.compression_savings(database, arguments)?,
            "sp_helptrigger" => triggers::help_trigger(&shown()?, arguments)?,
            "sp_server_info" => routines::server_info(arguments)?,
            "xp_msver" => routines::server_versions(arguments),
            _ => return Ok(None),
        }))
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

/// The text of an argument by name or position; None if it is absent or NULL. tiberius leaves the @ out.
pub(super) fn text_of(arguments: &[Argument], position: usize, name: &str) -> Option<String> {
    let bare = |name: &str| name.trim_start_matches('@').to_ascii_lowercase();
    let named = arguments.iter().find(|argument| bare(&argument.name) == bare(name));
    let argument = named.or_else(|| arguments.get(position).filter(|argument| argument.name.is_empty()))?;
    if argument.value.is_null() {
        return None;
    }
    Some(text_of_value(argument))
}

fn text_of_value(argument: &Argument) -> String {
    display(&argument.value, &argument.sql_type)
}
