//! Calls of type 03.

use tds::rpc::{Procedure, RpcRequest, parameter_status};

use super::super::Session;
use super::super::interpreter::Frame;
use super::super::output::Output;
use super::super::response::{DoneKind, OutputValue, Response, StatementDone, command};
use super::Argument;
use crate::engine::Datum;
use crate::tsql::parse_object_name;

impl Session {
    /// Runs one remote call and ends it with RETURNSTATUS, output values and DONEPROC.
    pub(in crate::session) async fn remote_call(&mut self, call: RpcRequest, output: &mut Output) {
        let (name, database) = match &call.procedure {
            Procedure::Name(name) => match parse_object_name(name) {
                Ok(name) => (name.name.to_ascii_lowercase(), name.database),
                Err(_) => (name.to_ascii_lowercase(), None),
            },
            Procedure::Id(id) => (procedure_name(*id), None),
        };
        let arguments: Vec<Argument> = call
            .parameters
            .iter()
            .map(|parameter| {
                // A variant stands for its base value.
                let sql_type = match &parameter.value {
                    tds::Value::Variant(variant) => variant.type_info.sql_type.clone(),
                    _ => parameter.type_info.sql_type.clone(),
                };
                Argument {
                    name: parameter.name.clone(),
                    value: Datum::from_value(&parameter.value),
                    sql_type,
                    output: parameter.status & parameter_status::BY_REFERENCE != 0,
                    variable: None,
                    default: parameter.status & parameter_status::DEFAULT_VALUE != 0,
                }
            })
            .collect();
        let mut frame = Frame::new(true);
        let own = match &call.procedure {
            Procedure::Name(name) => {
                parse_object_name(name).ok().and_then(|name| self.own_procedure(&name).transpose())
            }
            Procedure::Id(_) => None,
        };
        let result = match own {
            Some(Ok(module)) => self.call_procedure(&module, &arguments, &mut frame, output).await,
            Some(Err(error)) => Err(error),
            None => self.procedure(&name, database.as_deref(), &arguments, &mut frame, output).await,
        };
        if output.stopped() {
            return;
        }
        match result {
            Ok(outcome) => {
                output.send(Response::ReturnStatus(outcome.status)).await;
                for (position, value, sql_type) in outcome.outputs {
                    let argument = arguments.get(position).filter(|argument| argument.output);
                    let Some(argument) = argument else { continue };
                    let ordinal = u16::try_from(position).unwrap_or(u16::MAX);
                    let value = value.to_value(&sql_type);
                    let output_value = OutputValue { ordinal, name: argument.name.clone(), sql_type, value };
                    output.send(Response::ReturnValue(output_value)).await;
                }
                let error = outcome.stop;
                let done = StatementDone {
                    kind: DoneKind::Procedure,
                    command: command::EXECUTE,
                    count: None,
                    error,
                    fatal: false,
                };
                output.send(Response::Done(done)).await;
            }
            Err(error) => self.refuse(error, DoneKind::Procedure, output).await,
        }
    }
}

/// The name of a procedure that is called by number (MS-TDS 2.2.6.6).
fn procedure_name(id: tds::rpc::ProcId) -> String {
    match id as u16 {
        1 => "sp_cursor",
        2 => "sp_cursoropen",
        3 => "sp_cursorprepare",
        4 => "sp_cursorexecute",
        5 => "sp_cursorprepexec",
        6 => "sp_cursorunprepare",
        7 => "sp_cursorfetch",
        8 => "sp_cursoroption",
        9 => "sp_cursorclose",
        10 => "sp_executesql",
        11 => "sp_prepare",
        12 => "sp_execute",
        13 => "sp_prepexec",
        14 => "sp_prepexecrpc",
        _ => "sp_unprepare",
    }
    .to_string()
}
