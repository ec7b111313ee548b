//! Tables and everything else that has an `object_id`.

use databases::catalogue::{FIXED_ROLES, TableDefinition};
use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::modules;
use crate::system_views::system_objects;
use crate::system_views::triggers;
use crate::system_views::user_types;
use crate::view::{View, bit, int, kind, moment, text};

/// The columns that all views of objects begin with.
macro_rules! object_shape {
    ($($more:literal),*) => {
        concat!(
            "name sysname!\nobject_id int!\nprincipal_id int\nschema_id int!\nparent_object_id int! = 0\n",
            "type char(2)\ntype_desc nvarchar(60)\ncreate_date datetime!\nmodify_date datetime!\n",
            "is_ms_shipped bit! = 0\nis_published bit! = 0\nis_schema_published bit! = 0\n",
            $($more),*
        )
    };
}
pub(super) use object_shape;

const TABLES: &str = object_shape!(
    "lob_data_space_id int! = 0\nfilestream_data_space_id int\nmax_column_id_used int!\nlock_on_bulk_load bit! = 0\n",
    "uses_ansi_nulls bit = 1\nis_replicated bit = 0\nhas_replication_filter bit = 0\nis_merge_published bit = 0\n",
    "is_sync_tran_subscribed bit = 0\nhas_unchecked_assembly_data bit! = 0\ntext_in_row_limit int = 0\n",
    "large_value_types_out_of_row bit = 0\nis_tracked_by_cdc bit = 0\nlock_escalation tinyint = 0\n",
    "lock_escalation_desc nvarchar(60) = TABLE\nis_filetable bit = 0\nis_memory_optimized bit = 0\n",
    "durability tinyint = 0\ndurability_desc nvarchar(60) = SCHEMA_AND_DATA\ntemporal_type tinyint = 0\n",
    "temporal_type_desc nvarchar(60) = NON_TEMPORAL_TABLE\nhistory_table_id int\nis_remote_data_archive_enabled bit = 0\n",
    "is_external bit! = 0\nhistory_retention_period int\nhistory_retention_period_unit int\n",
    "history_retention_period_unit_desc nvarchar(10)\nis_node bit = 0\nis_edge bit = 0\nledger_type tinyint = 0\n",
    "ledger_type_desc nvarchar(60) = NON_LEDGER_TABLE\nis_dropped_ledger_table bit = 0"
);

const VIEWS: &str = object_shape!(
    "is_replicated bit = 0\nhas_replication_filter bit = 0\nhas_opaque_metadata bit! = 0\n",
    "has_unchecked_assembly_data bit! = 0\nwith_check_option bit! = 0\nis_date_correlation_view bit! = 0\n",
    "is_tracked_by_cdc bit = 0\nhas_snapshot bit = 0\nledger_view_type tinyint = 0\n",
    "ledger_view_type_desc nvarchar(60) = NON_LEDGER_VIEW\nis_dropped_ledger_view bit = 0"
);

const PROCEDURES: &str = object_shape!(
    "is_auto_executed bit! = 0\nis_execution_replicated bit = 0\nis_repl_serializable_only bit = 0\nskips_repl_constraints bit = 0"
);

const SEQUENCES: &str = object_shape!(
    "start_value bigint\nincrement bigint\nminimum_value bigint\nmaximum_value bigint\n",
    "is_cycling bit = 0\nis_cached bit = 1\ncache_size int\nsystem_type_id tinyint!\nuser_type_id int!\n",
    "precision tinyint!\nscale tinyint\ncurrent_value bigint\nis_exhausted bit! = 0\nlast_used_value bigint"
);

const MODULES: &str = "
    object_id int!
    definition text
    uses_ansi_nulls bit = 1
    uses_quoted_identifier bit = 1
    is_schema_bound bit = 0
    uses_database_collation bit = 0
    is_recompiled bit = 0
    null_on_null_input bit = 0
    execute_as_principal_id int
    uses_native_compilation bit = 0
    inline_type bit = 0
    is_inlineable bit = 0";

const PARAMETERS: &str = "
    object_id int!
    name sysname
    parameter_id int!
    system_type_id tinyint!
    user_type_id int!
    max_length smallint!
    precision tinyint!
    scale tinyint!
    is_output bit! = 0
    is_cursor_ref bit! = 0
    has_default_value bit! = 0
    is_xml_document bit! = 0
    default_value text
    xml_collection_id int! = 0
    is_readonly bit! = 0
    is_nullable bit = 1
    encryption_type int
    encryption_type_desc nvarchar(64)
    encryption_algorithm_name sysname
    column_encryption_key_id int
    column_encryption_key_database_name sysname";

const TRIGGERS: &str = "
    name sysname!
    object_id int!
    parent_class tinyint!
    parent_class_desc nvarchar(60)
    parent_id int!
    type char(2)!
    type_desc nvarchar(60)
    create_date datetime!
    modify_date datetime!
    is_ms_shipped bit! = 0
    is_disabled bit! = 0
    is_not_for_replication bit! = 0
    is_instead_of_trigger bit! = 0";

const SCHEMAS: &str = "
    name sysname!
    schema_id int!
    principal_id int = 1";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("tables", TABLES, tables),
    Entry::new("objects", object_shape!(), |context, view| {
        system_objects::tables(context, view);
        objects(context, view);
        modules::objects(context, view);
        user_types::objects(context, view);
    }),
    Entry::new("all_objects", object_shape!(), |context, view| {
        system_objects::tables(context, view);
        objects(context, view);
        modules::objects(context, view);
        user_types::objects(context, view);
        system_objects::views_and_procedures(context, view);
    }),
    Entry::new("system_objects", object_shape!(), system_objects::views_and_procedures),
    Entry::new("views", VIEWS, modules::views),
    Entry::new("all_views", VIEWS, |context, view| {
        modules::views(context, view);
        system_objects::views(context, view);
    }),
    Entry::new("system_views", VIEWS, system_objects::views),
    Entry::new("procedures", PROCEDURES, modules::procedures),
    Entry::new("sql_modules", MODULES, modules::sql_modules),
    Entry::new("all_sql_modules", MODULES, modules::sql_modules),
    Entry::empty("system_sql_modules", MODULES),
    Entry::new("parameters", PARAMETERS, modules::parameters),
    Entry::new("all_parameters", PARAMETERS, modules::parameters),
    Entry::empty("system_parameters", PARAMETERS),
    Entry::new("sequences", SEQUENCES, modules::sequences),
    Entry::new("synonyms", object_shape!("base_object_name nvarchar(1035)"), modules::synonyms),
    Entry::new("triggers", TRIGGERS, triggers::triggers),
    Entry::new(
        "trigger_events",
        "object_id int!\ntype int!\ntype_desc nvarchar(60)\nis_first bit\nis_last bit",
        triggers::trigger_events,
    ),
    Entry::new("schemas", SCHEMAS, |context, view| {
        for schema in context.database().iter().flat_map(|database| &database.schemas) {
            // Every schema belongs to dbo, but the fixed ones to the users of their names.
            let owner = if schema.id <= 4 { schema.id } else { 1 };
            view.add([
                ("name", text(&schema.name)),
                ("schema_id", int(schema.id)),
                ("principal_id", int(owner)),
            ]);
        }
        for (id, name) in FIXED_ROLES {
            view.add([("name", text(name)), ("schema_id", int(id)), ("principal_id", int(id))]);
        }
    }),
];

/// Returns the columns of a row that describe an object and the table that it belongs to.
pub(super) fn object<'a>(
    context: &Context<'_>,
    table: &TableDefinition,
    (name, object_id, parent): (&str, i32, i32),
    (letters, description): (&str, &str),
) -> [(&'a str, Datum); 8] {
    [
        ("name", text(name)),
        ("object_id", int(object_id)),
        ("schema_id", context.schema_id(&table.schema)),
        ("parent_object_id", int(parent)),
        ("type", kind(letters)),
        ("type_desc", text(description)),
        ("create_date", moment(table.created_us)),
        ("modify_date", moment(table.created_us)),
    ]
}

fn tables(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let names = (table.name.as_str(), table.object_id, 0);
        view.add(object(context, &table, names, ("U", "USER_TABLE")));
        view.set("max_column_id_used", int(table.next_column_id() - 1));
        view.set("lock_on_bulk_load", bit(table.lock_on_bulk_load));
        view.set("lock_escalation", int(table.lock_escalation.number()));
        view.set("lock_escalation_desc", text(table.lock_escalation.description()));
    }
}

fn objects(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        for found in table.objects() {
            let names = (found.name, found.object_id, found.parent);
            view.add(object(context, &table, names, (found.letters, found.description())));
        }
    }
}
