//! The session as the environment of the binder.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use databases::catalogue::{PartitionRanges, TableDefinition};
use databases::storage::{Reads, TableId};
use databases::store_error::store_error;
use databases::waiting::waiting;
use introspection::facts::Facts;
use introspection::system_views;
use introspection::system_views::Context;
use query::{
    BoundTable, Datum, Environment, InlineFunction, OutputColumn, ScalarFunction, StoredTable, TableFunction,
    ViewQuery,
};
use tds::{Collation, SqlType};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::{CHANGED, ModuleBody};
use tsql::bulk_file::BulkRowset;
use tsql::errors;
use tsql::hints::TableHints;
use tsql::query::Query;

use crate::bulk_file::rowset;
use crate::session::Session;
use crate::session::cursor::NamedCursor;
use crate::session::frame::Frame;
use crate::session::work::directory;
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place, QueryScan};
use crate::statements::evaluation::function;
use crate::statements::evaluation::isolation;
use crate::statements::evaluation::partition_number;
use crate::statements::evaluation::resolve;

/// A session and the variables in scope.
pub(crate) struct SessionEnvironment<'a> {
    session: &'a Session,
    frame: &'a Frame,
    /// Found when something first asks for them.
    facts: OnceCell<Arc<Facts>>,
    /// Stored tables that were asked for.
    tables: RefCell<Vec<(Place, TableId)>>,
    /// A function of the user's own was asked for, whose body may read any table.
    calls: Cell<bool>,
}

impl<'a> SessionEnvironment<'a> {
    pub fn new(session: &'a Session, frame: &'a Frame) -> Self {
        let (tables, calls) = (RefCell::default(), Cell::new(false));
        SessionEnvironment { session, frame, facts: OnceCell::new(), tables, calls }
    }

    /// Errors: 596 if the catalogue of databases cannot be read.
    fn known_facts(&self) -> Result<&Arc<Facts>, SqlError> {
        match self.facts.get() {
            Some(facts) => Ok(facts),
            None => {
                let facts = Arc::new(facts_of(self.session, self.frame)?);
                Ok(self.facts.get_or_init(|| facts))
            }
        }
    }

    /// Returns true if a bound expression may read a table, directly or within a function.
    pub fn may_read(&self, table: &OpenTable) -> bool {
        self.calls.get() || self.tables.borrow().contains(&(table.place, table.id))
    }

    fn view(&self, name: &ObjectName) -> Result<Option<BoundTable>, SqlError> {
        let facts = self.known_facts()?;
        let database = match &name.database {
            Some(database) => match facts.directory.database(database) {
                Some(database) => database.name.clone(),
                None => return Ok(None),
            },
            None => self.session.database.clone(),
        };
        let tables = self.session.work.view();
        let known = OnceCell::new();
        let rows = move |object_id: i32| {
            let known: &HashMap<i32, u64> = known.get_or_init(|| {
                let tables = facts.noted(tables.tables());
                tables.into_iter().map(|table| (table.definition.object_id, table.rows)).collect()
            });
            known.get(&object_id).map_or(0, |rows| *rows as i64)
        };
        let partition_rows = |table: &TableDefinition, ranges: &PartitionRanges, column: &str| {
            partition_number::rows_of_partitions(self.session, table, ranges, column)
        };
        let context = Context::new(facts, &database, &rows, &partition_rows);
        match system_views::view(name.schema.as_deref().unwrap_or(""), &name.name, &context) {
            Some(view) => facts.checked(view)?.into_table().map(Some),
            None => Ok(None),
        }
    }
}

impl Environment for SessionEnvironment<'_> {
    fn table(&self, name: &ObjectName, hints: TableHints) -> Result<BoundTable, SqlError> {
        if name.name == CHANGED
            && let Some(table) = &self.frame.changed
        {
            return Ok(table.clone());
        }
        if let Some(mut table) = self.session.work.find(name, &self.session.database)? {
            let reads = isolation::start_reading(self.session, &table, hints)?;
            if hints.changes_reading() || isolation::locks_what_it_reads(self.session) {
                // The lock may have waited for a change of the table itself.
                table = resolve::opened(self.session, name)?;
            }
            self.tables.borrow_mut().push((table.place, table.id));
            return Ok(bound_table(self.session, &table, reads));
        }
        if name.is_variable() {
            return Err(errors::UNDECLARED_TABLE.with([&name.name]));
        }
        let real = resolve::resolved(self.session, name)?;
        if real != *name {
            return self.table(&real, hints);
        }
        self.view(name)?.ok_or_else(|| errors::INVALID_OBJECT.with([&name.to_string()]))
    }

    fn bulk_rowset(&self, rowset: &BulkRowset) -> Result<BoundTable, SqlError> {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        waiting(|| rowset::open(rowset, self.session.instance.files(), collation))
    }

    fn view_query(&self, name: &ObjectName) -> Result<Option<ViewQuery>, SqlError> {
        let name = resolve::resolved(self.session, name)?;
        let Some(module) = resolve::view_module(self.session, &name)? else { return Ok(None) };
        let Some(ModuleBody::View { columns, query, .. }) = module.body()? else {
            return Ok(None);
        };
        let definition = &module.definition;
        let schema = Some(definition.schema.clone());
        Ok(Some(ViewQuery {
            database: definition.database.clone(),
            schema: definition.schema.clone(),
            columns: match definition.renamed_columns {
                true => Some(definition.columns.iter().map(|column| column.name.clone()).collect()),
                false => columns.clone(),
            },
            known: definition.columns.iter().map(|column| column.name.clone()).collect(),
            query: Query { schema, ..query.as_ref().clone() },
        }))
    }

    fn stands(&self, name: &ObjectName) -> Result<bool, SqlError> {
        let (work, database) = (&self.session.work, &self.session.database);
        Ok(work.find(name, database)?.is_some() || work.find_module(name, database)?.is_some())
    }

    fn scalar_function(
        &self,
        database: Option<&str>,
        schema: &str,
        name: &str,
    ) -> Result<ScalarFunction, SqlError> {
        if schema.eq_ignore_ascii_case(partition_number::PREFIX) {
            return partition_number::partition_function(self.session, database, name);
        }
        self.calls.set(true);
        function::scalar_function(self.session, database, schema, name, self.frame)
    }

    fn next_value(&self, name: &ObjectName) -> Result<ScalarFunction, SqlError> {
        let real = resolve::resolved(self.session, name)?;
        let found = self.session.work.find_module(&real, &self.session.database)?;
        let found = found.and_then(|(_, module)| {
            let returns = module.definition.sequence.as_ref()?.type_text.parse::<SqlType>().ok()?;
            Some((module, returns))
        });
        let Some((module, returns)) = found else {
            return Err(errors::INVALID_OBJECT.with([&name.to_string()]));
        };
        let instance = Arc::clone(&self.session.instance);
        let key = self.session.work.key_of(&real, &self.session.database);
        let decimal = returns.is_decimal();
        // However it is spelled.
        let sequence = module.definition.object_id.to_string();
        let kernel = move |_: &[Datum]| {
            let value = instance.next_of_sequence(&module.definition, &key)?;
            Ok(if decimal { Datum::Decimal(i128::from(value)) } else { Datum::Int(value) })
        };
        Ok(ScalarFunction {
            name: sequence,
            parameters: Vec::new(),
            defaults: Vec::new(),
            returns,
            kernel: Arc::new(kernel),
        })
    }

    fn table_function(&self, name: &ObjectName) -> Result<TableFunction, SqlError> {
        if let Some(function) = system_views::function(name, &self.session.database, self.known_facts()?) {
            return Ok(function);
        }
        if let Some(function) = function::describing_function(self.session, name)? {
            return Ok(function);
        }
        self.calls.set(true);
        let function = function::rows_function(self.session, name, self.frame)?;
        function.ok_or_else(|| errors::INVALID_OBJECT.with([&name.to_string()]))
    }

    fn inline_function(&self, name: &ObjectName) -> Result<Option<InlineFunction>, SqlError> {
        function::inline_function(self.session, name)
    }

    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError> {
        if name.eq_ignore_ascii_case("@@NESTLEVEL") {
            return Ok((Datum::Int(i64::from(self.frame.nesting)), SqlType::Int));
        }
        if name.eq_ignore_ascii_case("@@PROCID") {
            return Ok((Datum::Int(i64::from(self.frame.module_id)), SqlType::Int));
        }
        if name.starts_with("@@") {
            // A variable of the user's may be called like the system's functions.
            let known = self.session.global(name).or_else(|| self.frame.variable(name));
            return known.ok_or_else(|| errors::UNDECLARED_VARIABLE.with([name]));
        }
        self.frame.variable(name).ok_or_else(|| errors::UNDECLARED_VARIABLE.with([name]))
    }

    fn facts(&self) -> Result<Arc<dyn query::Facts>, SqlError> {
        let facts: Arc<Facts> = Arc::clone(self.known_facts()?);
        Ok(facts)
    }
}

/// Returns the facts that functions ask for, as of now.
///
/// Errors: 596 if the catalogue of databases cannot be read.
pub(crate) fn facts_of(session: &Session, frame: &Frame) -> Result<Facts, SqlError> {
    let view = session.work.view();
    let reader = Box::new(move || Ok(view.tables()?.into_iter().map(|table| table.definition).collect()));
    let instance = Arc::clone(&session.instance);
    let mut facts = Facts::new(&session.database, directory::of(&session.work)?, reader);
    facts.login = session.login.user.clone();
    facts.host = session.login.host.clone();
    facts.application = session.login.application.clone();
    facts.server = session.instance.name().to_string();
    facts.spid = session.login.spid;
    let sessions = session.instance.sessions().clone();
    facts.sessions = Box::new(move || sessions.all());
    facts.application_locks = Some(session.application_locks.view());
    facts.configuration = Arc::clone(session.instance.configuration());
    let texts = Arc::clone(&session.instance);
    facts.kept_texts = Box::new(move || texts.statements.texts());
    let loading = Arc::clone(&session.instance);
    facts.loads = Box::new(move || loading.loads().all());
    let waiting = Arc::clone(&session.instance);
    facts.waits = Box::new(move || waiting.waits().counts());
    facts.counts = Some(Arc::clone(session.instance.counts()));
    facts.scope_identity = session.last.scope_identity;
    facts.row_count = session.last.rows;
    facts.transaction_count = i64::from(session.work.depth());
    facts.is_uncommittable = session.work.is_doomed();
    facts.isolation_level = session.settings.isolation_level;
    facts.session_options = session.settings.shown();
    facts.options = session.settings.options();
    facts.session_context = Arc::clone(&session.context);
    facts.row_version = session.instance.row_version();
    facts.date_first = session.settings.date_first;
    facts.cursors = cursor_states(session, frame);
    facts.context_info = session.settings.context_info.clone();
    facts.error = frame.error.clone();
    let modules = session.work.view();
    facts.module_reader = Box::new(move || modules.modules());
    facts.updated = frame.trigger.clone();
    facts.triggers.clone_from(&session.trigger_stack);
    let (finder, database) = (session.work.view(), session.database.clone());
    facts.table_finder = Some(Box::new(move |name| {
        let found = finder.find(name, &database)?.filter(|_| !name.is_variable());
        Ok(found.map(|table| table.definition))
    }));
    let types = session.work.view();
    facts.type_reader = Box::new(move || types.user_types());
    let partitions = session.work.view();
    facts.partition_reader = Box::new(move || partitions.partitions());
    let store = session.instance.store().clone();
    facts.figures_reader = Box::new(move || Some(store.figures()));
    facts.identities = Box::new(move |object_id| {
        if let Some(reserve) = instance.sequences.lock().get(&object_id) {
            return Ok(reserve.last);
        }
        instance
            .last_identity(object_id)
            .map_or_else(|| instance.stored_identity(object_id), |last| Ok(Some(last)))
    });
    Ok(facts)
}

/// Makes a stored table readable by queries.
fn bound_table(session: &Session, table: &OpenTable, reads: Reads) -> BoundTable {
    let definition = &table.definition;
    let columns = definition
        .columns
        .iter()
        .map(|column| OutputColumn {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            collation: column.collation(),
            nullable: column.nullable,
            flags: tds::ColumnFlags(column.wire().flags.0 & !tds::ColumnFlags::NULLABLE),
            source: Some((definition.qualified_name(), column.name.clone())),
            row_guid: column.row_guid,
            untyped_null: false,
        })
        .collect();
    let keyed: Arc<dyn query::KeyedTable> = Arc::<TableDefinition>::clone(definition);
    let keyed = Some(keyed);
    let open = reads::opener(&session.work, table, reads);
    let provider = StoredTable::new(definition.arrow_schema().as_ref(), keyed, move |projection, range| {
        let scan = open(projection, range).map_err(store_error)?;
        Ok(Box::new(QueryScan::from(scan)))
    });
    BoundTable { columns, provider: Arc::new(provider) }
}

/// Lists CURSOR_STATUS of every cursor in sight, by scope and name.
pub(crate) fn cursor_states(session: &Session, frame: &Frame) -> Vec<(&'static str, String, i64)> {
    let state = |scope: &'static str| {
        move |(name, cursor): (&String, &NamedCursor)| (scope, name.clone(), cursor.status())
    };
    let mut states: Vec<_> = session.cursors.iter().map(state("global")).collect();
    for (name, cursor) in &frame.cursors {
        let scope = if name.starts_with('@') { "variable" } else { "local" };
        states.push((scope, name.clone(), cursor.status()));
    }
    // A variable without a cursor.
    let bare = frame.cursor_variables.iter().filter(|name| !frame.cursors.contains_key(*name));
    states.extend(bare.map(|name| ("variable", name.clone(), -2)));
    states
}
