//! Resolves names through synonyms and views.

use std::sync::Arc;

use databases::catalogue::{Module, ModuleKind};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::work::OpenTable;
use crate::statements::evaluation::isolation;

/// Synonyms of synonyms beyond which a name is taken for none.
const SYNONYMS_MAX: usize = 8;

/// Returns the query of a view, with its column names; `None` if the name is no view's.
pub(crate) fn view_module(session: &Session, name: &ObjectName) -> Result<Option<Arc<Module>>, SqlError> {
    let found = session.work.find_module(name, &session.database)?;
    Ok(found.map(|(_, module)| module).filter(|module| module.definition.kind == ModuleKind::View))
}

/// Resolves a name: follows synonyms to the object that they stand for.
pub(crate) fn resolved(session: &Session, name: &ObjectName) -> Result<ObjectName, SqlError> {
    let mut name = name.clone();
    for _ in 0..SYNONYMS_MAX {
        let found = session.work.find_module(&name, &session.database)?;
        let Some(target) = found.and_then(|(_, module)| module.definition.target.clone()) else { break };
        name = tsql::parse_object_name_on(session.instance.name(), &target)?;
    }
    Ok(name)
}

/// Opens the table of a name, so that rows of it may be locked.
pub(crate) fn opened(session: &Session, name: &ObjectName) -> Result<OpenTable, SqlError> {
    match session.work.find(name, &session.database)? {
        Some(table) => {
            isolation::check_snapshot(session, &table)?;
            Ok(table)
        }
        None if name.is_variable() => Err(errors::UNDECLARED_TABLE.with([&name.name])),
        None => Err(errors::INVALID_OBJECT.with([&name.to_string()])),
    }
}
