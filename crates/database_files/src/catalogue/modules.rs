//! Views, procedures, functions and triggers, whose texts are among the values of objects.

use super::system_tables::{ObjectRow, SystemTables};
use crate::definition::Module;

/// The bit of an object that came with the server, in the status of `sys.sysschobjs`.
const SHIPPED: u32 = 0x1;
/// The id of the schema `sys`.
const SYS: i32 = 4;

/// Makes the modules of users, in the order of their numbers: that of their creation.
pub(crate) fn modules(system: &SystemTables) -> Vec<Module> {
    let mut objects: Vec<&ObjectRow> = system
        .objects
        .iter()
        .filter(|object| kind(object.kind).is_some() && object.schema != SYS && object.status & SHIPPED == 0)
        .collect();
    objects.sort_by_key(|object| object.id);
    objects.into_iter().filter_map(|object| module(system, object)).collect()
}

/// Names a kind as models do; None for what is no module.
fn kind(kind: [u8; 2]) -> Option<&'static str> {
    Some(match &kind {
        b"V " => "SqlView",
        b"P " => "SqlProcedure",
        b"FN" => "SqlScalarFunction",
        b"IF" => "SqlInlineTableValuedFunction",
        b"TF" => "SqlMultiStatementTableValuedFunction",
        b"TR" => "SqlDmlTrigger",
        _ => return None,
    })
}

fn module(system: &SystemTables, object: &ObjectRow) -> Option<Module> {
    let schema = system.schemas.get(&object.schema)?;
    // Procedures have numbers, from 1; the first one is the procedure itself.
    let text = [0, 1].iter().find_map(|part| system.texts.get(&(object.id, *part)));
    let text = text.map(String::as_str).unwrap_or_default();
    // The text of an encrypted module is no statement.
    let is_statement = text.to_ascii_lowercase().contains("create");
    Some(Module {
        kind: kind(object.kind)?.to_owned(),
        name: format!("[{}].[{}]", schema.replace(']', "]]"), object.name.replace(']', "]]")),
        script: if is_statement { text.to_owned() } else { String::new() },
    })
}
