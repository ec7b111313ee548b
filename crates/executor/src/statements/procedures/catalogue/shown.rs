//! The contents of the catalogue procedures: the tables and modules of one database.

use std::sync::Arc;

use databases::catalogue::{Module, ModuleKind, TableDefinition, UserType, same_name};
use introspection::system_views;
use query::{Datum, Pattern};
use tsql::SqlError;
use tsql::{errors, parse_object_name};

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::evaluation::environment;

/// A database as the procedures show it.
pub(crate) struct Shown {
    /// The name of the database.
    pub database: String,
    /// Names of its schemas.
    pub schemas: Vec<String>,
    /// Names of all databases.
    pub databases: Vec<String>,
    /// Tables and their numbers of rows.
    pub tables: Vec<(Arc<TableDefinition>, u64)>,
    /// Views, procedures, functions and the like.
    pub modules: Vec<Arc<Module>>,
    /// Types of users.
    pub types: Vec<UserType>,
}

/// A name that a caller asks for.
pub(crate) enum Wanted {
    /// Any.
    All,
    /// A single name, whatever its case.
    Name(String),
    /// The names that match a pattern of LIKE; a backslash escapes.
    Like(Pattern),
}

impl Wanted {
    /// Makes a filter of a pattern, unless patterns are off; `None` selects all.
    pub fn pattern(text: Option<String>, off: bool) -> Wanted {
        match text {
            None => Wanted::All,
            Some(name) if off => Wanted::Name(name),
            Some(pattern) if pattern == "%" => Wanted::All,
            Some(pattern) => Wanted::Like(Pattern::new(&pattern, Some('\\'), true)),
        }
    }

    /// Makes a filter of exactly one name; `None` selects all.
    pub fn exact(text: Option<String>) -> Wanted {
        text.map_or(Wanted::All, Wanted::Name)
    }

    /// Returns true if the filter selects the name.
    pub fn is(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Name(wanted) => same_name(wanted, name),
            Wanted::Like(pattern) => pattern.matches(&name.to_lowercase()).unwrap_or(false),
        }
    }
}

impl Shown {
    /// Lists the selected tables, with their rows.
    pub fn tables<'a>(
        &'a self,
        name: &'a Wanted,
        owner: &'a Wanted,
    ) -> impl Iterator<Item = &'a TableDefinition> {
        self.tables
            .iter()
            .map(|(table, _)| table.as_ref())
            .filter(move |table| name.is(&table.name) && owner.is(&table.schema))
    }

    /// Lists the selected views, in the form of tables.
    pub fn views(&self, name: &Wanted, owner: &Wanted) -> Vec<Arc<TableDefinition>> {
        let mut views = system_views::as_tables(&self.modules, |kind| kind == ModuleKind::View);
        views.retain(|view| name.is(&view.name) && owner.is(&view.schema));
        views
    }

    /// Finds the one table of a name: of the owner, or else of dbo before other schemas.
    pub fn table(&self, name: &str, owner: Option<&str>) -> Option<&(Arc<TableDefinition>, u64)> {
        let mut found = self.tables.iter().filter(|(table, _)| {
            same_name(&table.name, name) && owner.is_none_or(|owner| same_name(&table.schema, owner))
        });
        let first = found.next()?;
        if owner.is_some() || same_name(&first.0.schema, "dbo") {
            return Some(first);
        }
        found.find(|(table, _)| same_name(&table.schema, "dbo")).or(Some(first))
    }

    /// The user's type that a text such as `dbo.t` names.
    pub fn type_named(&self, text: &str) -> Option<&UserType> {
        let name = parse_object_name(text).ok()?;
        let schema = name.schema.as_deref().unwrap_or("dbo");
        self.types.iter().find(|own| same_name(&own.schema, schema) && same_name(&own.name, &name.name))
    }

    /// Lists the system views, schema first.
    pub fn system_views(&self) -> Vec<(&'static str, &'static str)> {
        system_views::names()
    }

    /// Checks a qualifier, which may only repeat the database. Errors: 15250.
    pub fn check_qualifier(&self, qualifier: Option<&str>) -> Result<(), SqlError> {
        match qualifier {
            Some(qualifier) if !qualifier.trim().is_empty() && !same_name(qualifier, &self.database) => {
                Err(other_qualifier())
            }
            _ => Ok(()),
        }
    }

    /// As [`check_qualifier`](Self::check_qualifier), of procedures that do not take an empty one for any. Errors: 15250.
    pub fn check_own_qualifier(&self, qualifier: Option<&str>) -> Result<(), SqlError> {
        match qualifier {
            Some(qualifier) if qualifier.trim().is_empty() => Err(other_qualifier()),
            qualifier => self.check_qualifier(qualifier),
        }
    }

    /// Returns qualifier, owner and name of a table, as results begin.
    pub fn names(&self, table: &TableDefinition) -> Vec<Datum> {
        vec![
            Datum::Text(table.database.clone()),
            Datum::Text(table.schema.clone()),
            Datum::Text(table.name.clone()),
        ]
    }
}

fn other_qualifier() -> SqlError {
    let text =
        "The database name component of the object qualifier must be the name of the current database.";
    SqlError::new(15250, 16, 1, text)
}

/// Returns the database that a procedure was called in: `database..sp_tables`, or the current one. Errors: 911.
pub(crate) fn shown_by(session: &Session, database: Option<&str>, frame: &Frame) -> Result<Shown, SqlError> {
    let facts = environment::facts_of(session, frame)?;
    let wanted = database.filter(|database| !database.is_empty()).unwrap_or(&session.database);
    let entry = facts.directory.database(wanted).ok_or_else(|| errors::UNKNOWN_DATABASE.with([wanted]))?;
    let tables = session
        .work
        .view()
        .tables()?
        .into_iter()
        // Temporary tables can be asked for by name from anywhere.
        .filter(|table| {
            same_name(&table.definition.database, &entry.name) || table.definition.name.starts_with('#')
        })
        .map(|table| (table.definition, table.rows))
        .collect();
    let mut modules = session.work.view().modules()?;
    modules.retain(|module| same_name(&module.definition.database, &entry.name));
    let mut types = session.work.view().user_types()?;
    types.retain(|own| same_name(&own.database, &entry.name));
    Ok(Shown {
        types,
        modules,
        database: entry.name.clone(),
        schemas: entry.schemas.iter().map(|schema| schema.name.clone()).collect(),
        databases: facts.directory.databases.iter().map(|database| database.name.clone()).collect(),
        tables,
    })
}
