//! Views, procedures, functions, sequences and synonyms in the catalogue.

use std::sync::Arc;

use query::Datum;

use crate::system_views::columns;
use crate::system_views::entry::Context;
use crate::system_views::user_types;
use crate::view::{View, bit, int, kind, moment, text};
use databases::catalogue::{Module, ModuleDefinition, ModuleKind, SequenceCache, TableDefinition, same_name};
use query::system_types::{max_length, precision, scale, system_type};
use tsql::ast::ModuleBody;

/// Lists the database's modules.
pub(super) fn of(context: &Context<'_>) -> Vec<Arc<Module>> {
    let modules = context.facts.modules().iter();
    modules.filter(|module| same_name(&module.definition.database, context.database)).cloned().collect()
}

fn named<'a>(context: &Context<'_>, module: &ModuleDefinition) -> [(&'a str, Datum); 8] {
    [
        ("name", text(&module.name)),
        ("object_id", int(module.object_id)),
        ("schema_id", context.schema_id(&module.schema)),
        ("parent_object_id", int(module.parent_id)),
        ("type", kind(module.kind.letters())),
        ("type_desc", text(module.kind.description())),
        ("create_date", moment(module.created_us)),
        ("modify_date", moment(module.modified_us)),
    ]
}

/// Fills sys.objects.
pub(super) fn objects(context: &Context<'_>, view: &mut View) {
    for module in of(context) {
        view.add(named(context, &module.definition));
    }
}

/// Fills sys.views.
pub(super) fn views(context: &Context<'_>, view: &mut View) {
    for module in of(context).iter().filter(|module| module.definition.kind == ModuleKind::View) {
        view.add(named(context, &module.definition));
        view.set("with_check_option", bit(has_check_option(module)));
    }
}

/// Returns true for a view made WITH CHECK OPTION.
fn has_check_option(module: &Module) -> bool {
    matches!(module.body(), Ok(Some(ModuleBody::View { check: true, .. })))
}

/// Fills sys.procedures.
pub(super) fn procedures(context: &Context<'_>, view: &mut View) {
    for module in of(context).iter().filter(|module| module.definition.kind == ModuleKind::Procedure) {
        view.add(named(context, &module.definition));
    }
}

/// Fills sys.synonyms.
pub(super) fn synonyms(context: &Context<'_>, view: &mut View) {
    for module in of(context) {
        if let Some(target) = &module.definition.target {
            view.add(named(context, &module.definition));
            view.set("base_object_name", text(target));
        }
    }
}

/// Fills sys.sequences.
pub(super) fn sequences(context: &Context<'_>, view: &mut View) {
    for module in of(context) {
        let Some(sequence) = &module.definition.sequence else { continue };
        let Ok(sql_type) = sequence.type_text.parse::<tds::SqlType>() else { continue };
        let system = system_type(&sql_type);
        view.add(named(context, &module.definition));
        view.set("start_value", int(sequence.start));
        view.set("increment", int(sequence.increment));
        view.set("minimum_value", int(sequence.minimum));
        view.set("maximum_value", int(sequence.maximum));
        view.set("is_cycling", bit(sequence.cycle));
        view.set("system_type_id", int(system.system_type_id));
        view.set("user_type_id", int(system.user_type_id));
        view.set("precision", int(precision(&sql_type)));
        view.set("scale", int(scale(&sql_type)));
        view.set("is_exhausted", bit(sequence.next.is_none()));
        // What was set aside before the last start counts as used.
        let last = context.facts.last_identity(module.definition.object_id).or(sequence.last);
        view.set("current_value", int(last.unwrap_or(sequence.start)));
        view.set("last_used_value", last.map_or(Datum::Null, int));
        view.set("is_cached", bit(sequence.cache != SequenceCache::No));
        if let SequenceCache::Values(values) = sequence.cache {
            view.set("cache_size", int(values));
        }
    }
}

/// Fills sys.sql_modules.
pub(super) fn sql_modules(context: &Context<'_>, view: &mut View) {
    for module in of(context) {
        let definition = &module.definition;
        if !definition.text.is_empty() {
            view.add([
                ("object_id", int(definition.object_id)),
                ("definition", text(&definition.text)),
                ("uses_quoted_identifier", bit(definition.quoted_identifier)),
            ]);
        }
    }
}

/// Fills sys.parameters.
pub(super) fn parameters(context: &Context<'_>, view: &mut View) {
    let types = user_types::of(context);
    for module in of(context) {
        let first = i64::from(module.definition.kind != ModuleKind::ScalarFunction);
        for (parameter_id, parameter) in (first..).zip(&module.definition.parameters) {
            let own = user_types::named(&types, &parameter.type_text);
            let sql_type = parameter.type_text.parse::<tds::SqlType>();
            let sql_type = sql_type.or(if own.is_some() { Ok(tds::SqlType::Int) } else { Err(()) });
            let Ok(sql_type) = sql_type else { continue };
            let system = system_type(&sql_type);
            view.add([
                ("object_id", int(module.definition.object_id)),
                ("name", text(&parameter.name)),
                ("parameter_id", int(parameter_id)),
                ("system_type_id", int(system.system_type_id)),
                ("user_type_id", int(system.user_type_id)),
                ("max_length", int(max_length(&sql_type))),
                ("precision", int(precision(&sql_type))),
                ("scale", int(scale(&sql_type))),
                ("is_output", bit(parameter.output)),
            ]);
            columns::describe_vector(view, &sql_type);
            if let Some(own) = own {
                user_types::describe_parameter(view, own);
            }
        }
    }
}

/// Fills sys.columns with columns of views and of functions' tables.
pub(super) fn columns(context: &Context<'_>, view: &mut View) {
    for module in of(context) {
        for column in &module.definition.columns {
            let system = system_type(&column.sql_type);
            let collation = column.collation().and_then(|collation| collation.name());
            view.add([
                ("object_id", int(module.definition.object_id)),
                ("name", text(&column.name)),
                ("column_id", int(column.id)),
                ("system_type_id", int(system.system_type_id)),
                ("user_type_id", int(system.user_type_id)),
                ("max_length", int(max_length(&column.sql_type))),
                ("precision", int(precision(&column.sql_type))),
                ("scale", int(scale(&column.sql_type))),
                ("collation_name", collation.map_or(Datum::Null, |name| text(&name.to_string()))),
                ("is_nullable", bit(column.nullable)),
                ("is_ansi_padded", bit(columns::knows_padding(&column.sql_type))),
            ]);
            columns::describe_vector(view, &column.sql_type);
        }
    }
}

/// Fills INFORMATION_SCHEMA.TABLES, the views among them.
pub(super) fn standard_tables(context: &Context<'_>, view: &mut View) {
    for module in of(context).iter().filter(|module| module.definition.kind == ModuleKind::View) {
        view.add([
            ("TABLE_CATALOG", text(&module.definition.database)),
            ("TABLE_SCHEMA", text(&module.definition.schema)),
            ("TABLE_NAME", text(&module.definition.name)),
            ("TABLE_TYPE", text("VIEW")),
        ]);
    }
}

/// Fills INFORMATION_SCHEMA.VIEWS.
pub(super) fn standard_views(context: &Context<'_>, view: &mut View) {
    for module in of(context).iter().filter(|module| module.definition.kind == ModuleKind::View) {
        view.add([
            ("TABLE_CATALOG", text(&module.definition.database)),
            ("TABLE_SCHEMA", text(&module.definition.schema)),
            ("TABLE_NAME", text(&module.definition.name)),
            ("VIEW_DEFINITION", text(&module.definition.text)),
            ("CHECK_OPTION", text(if has_check_option(module) { "CASCADE" } else { "NONE" })),
        ]);
    }
}

/// Returns views in the form of tables, for system views that show the columns of both.
pub(super) fn views_as_tables(context: &Context<'_>) -> Vec<Arc<TableDefinition>> {
    as_tables(&of(context), |kind| kind == ModuleKind::View)
}

/// Returns views and table-valued functions in the form of tables.
pub(super) fn with_columns(context: &Context<'_>) -> Vec<Arc<TableDefinition>> {
    as_tables(&of(context), |_| true)
}

/// Returns the modules of the kinds wanted that have columns, in the form of tables.
pub fn as_tables(modules: &[Arc<Module>], wanted: impl Fn(ModuleKind) -> bool) -> Vec<Arc<TableDefinition>> {
    let own = modules
        .iter()
        .filter(|module| wanted(module.definition.kind) && !module.definition.columns.is_empty());
    own.map(|module| {
        let definition = &module.definition;
        Arc::new(TableDefinition {
            object_id: definition.object_id,
            database: definition.database.clone(),
            schema: definition.schema.clone(),
            name: definition.name.clone(),
            created_us: definition.created_us,
            columns: definition.columns.clone(),
            keys: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            compression: Default::default(),
            file_groups: Default::default(),
            partitioning: None,
            lock_escalation: Default::default(),
            lock_on_bulk_load: false,
            extended_properties: Vec::new(),
            triggers: definition.triggers.clone(),
        })
    })
    .collect()
}
