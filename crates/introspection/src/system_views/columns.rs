//! Columns, identity columns, computed columns.

use query::Datum;
use tds::SqlType;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::modules;
use crate::system_views::user_types;
use crate::view::{View, bit, int, optional, text};
use databases::catalogue::DEFAULT_COLLATION;
use databases::catalogue::definition_text;
use query::system_types::{max_length, precision, scale, system_type};

macro_rules! column_shape {
    ($($more:literal),*) => {
        concat!(
            "object_id int!\nname sysname\ncolumn_id int!\nsystem_type_id tinyint!\nuser_type_id int!\n",
            "max_length smallint!\nprecision tinyint! = 0\nscale tinyint! = 0\ncollation_name sysname\n",
            "is_nullable bit = 1\nis_ansi_padded bit! = 0\nis_rowguidcol bit! = 0\nis_identity bit! = 0\n",
            "is_computed bit = 0\nis_filestream bit! = 0\nis_replicated bit = 0\nis_non_sql_subscribed bit = 0\n",
            "is_merge_published bit = 0\nis_dts_replicated bit = 0\nis_xml_document bit! = 0\n",
            "xml_collection_id int! = 0\ndefault_object_id int! = 0\nrule_object_id int! = 0\n",
            $($more,)*
            "is_sparse bit = 0\nis_column_set bit = 0\ngenerated_always_type tinyint = 0\n",
            "generated_always_type_desc nvarchar(60) = NOT_APPLICABLE\nencryption_type int\n",
            "encryption_type_desc nvarchar(64)\nencryption_algorithm_name sysname\ncolumn_encryption_key_id int\n",
            "column_encryption_key_database_name sysname\nis_hidden bit! = 0\nis_masked bit! = 0\ngraph_type int\n",
            "graph_type_desc nvarchar(60)\nis_data_deletion_filter_column bit! = 0\nledger_view_column_type int\n",
            "ledger_view_column_type_desc nvarchar(60)\nis_dropped_ledger_column bit! = 0\n",
            "vector_dimensions int\nvector_base_type tinyint\nvector_base_type_desc nvarchar(10)"
        )
    };
}

const COLUMNS: &str = column_shape!();
const MASKED: &str = column_shape!("masking_function nvarchar(4000)\n");
const COMPUTED: &str =
    column_shape!("definition text\nuses_database_collation bit! = 1\nis_persisted bit! = 0\n");
const IDENTITY: &str = column_shape!(
    "seed_value bigint\nincrement_value bigint\nlast_value bigint\nis_not_for_replication bit = 0\n"
);

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("columns", COLUMNS, |context, view| {
        of_tables(context, view, Kept::All);
        modules::columns(context, view);
    }),
    Entry::new("all_columns", COLUMNS, |context, view| {
        of_tables(context, view, Kept::All);
        modules::columns(context, view);
        of_system_views(context, view);
    }),
    Entry::new("system_columns", COLUMNS, of_system_views),
    Entry::new("computed_columns", COMPUTED, |context, view| of_tables(context, view, Kept::Computed)),
    Entry::new("identity_columns", IDENTITY, |context, view| of_tables(context, view, Kept::Identity)),
    Entry::empty("masked_columns", MASKED),
];

#[derive(Clone, Copy, PartialEq)]
enum Kept {
    All,
    Computed,
    Identity,
}

/// Returns true if blanks or zeros may stand at the end of a column's values.
pub(super) fn knows_padding(sql_type: &SqlType) -> bool {
    sql_type.is_character() || sql_type.is_binary() || *sql_type == SqlType::SqlVariant
}

fn of_tables(context: &Context<'_>, view: &mut View, kept: Kept) {
    let types = user_types::of(context);
    for table in user_types::with_table_types(context) {
        for column in &table.columns {
            let keep = match kept {
                Kept::All => true,
                Kept::Computed => column.computed.is_some(),
                Kept::Identity => column.identity.is_some(),
            };
            if !keep {
                continue;
            }
            let system = system_type(&column.sql_type);
            let collation = column.collation().and_then(|collation| collation.name());
            view.add([
                ("object_id", int(table.object_id)),
                ("name", text(&column.name)),
                ("column_id", int(column.id)),
                ("system_type_id", int(system.system_type_id)),
                ("user_type_id", user_types::id_of_column(&types, column)),
                ("max_length", int(max_length(&column.sql_type))),
                ("precision", int(precision(&column.sql_type))),
                ("scale", int(scale(&column.sql_type))),
                ("collation_name", collation.map_or(Datum::Null, |name| text(&name.to_string()))),
                ("is_nullable", bit(column.nullable)),
                ("is_ansi_padded", bit(knows_padding(&column.sql_type) && !column.ansi_padding_off)),
                ("is_rowguidcol", bit(column.row_guid)),
                ("is_identity", bit(column.identity.is_some())),
                ("is_sparse", bit(column.sparse)),
                ("is_computed", bit(column.computed.is_some())),
                ("default_object_id", int(column.default.as_ref().map_or(0, |default| default.object_id))),
            ]);
            describe_vector(view, &column.sql_type);
            if let (Kept::Computed, Some(definition)) = (kept, &column.computed) {
                view.set("definition", text(&definition_text(definition)));
                view.set("is_persisted", bit(column.persisted));
            }
            if let (Kept::Identity, Some(identity)) = (kept, column.identity) {
                let last = context.facts.last_identity(table.object_id);
                view.set("seed_value", int(identity.seed));
                view.set("increment_value", int(identity.increment));
                view.set("last_value", last.map_or(Datum::Null, int));
            }
        }
    }
}

/// Sets the columns that only vectors have.
pub(super) fn describe_vector(view: &mut View, sql_type: &SqlType) {
    if let SqlType::Vector { dimensions, base } = sql_type {
        view.set("vector_dimensions", int(i64::from(*dimensions)));
        view.set("vector_base_type", int(i64::from(base.number())));
        view.set("vector_base_type_desc", text(base.name()));
    }
}

fn of_system_views(context: &Context<'_>, view: &mut View) {
    for (object_id, entry) in context.listed() {
        for (column_id, column) in (1_i64..).zip(View::shaped(entry.shape).columns) {
            let system = system_type(&column.sql_type);
            view.add([
                ("object_id", int(object_id)),
                ("name", text(&column.name)),
                ("column_id", int(column_id)),
                ("system_type_id", int(system.system_type_id)),
                ("user_type_id", int(system.user_type_id)),
                ("max_length", int(max_length(&column.sql_type))),
                ("precision", int(precision(&column.sql_type))),
                ("scale", int(scale(&column.sql_type))),
                ("collation_name", optional(column.sql_type.is_character().then_some(DEFAULT_COLLATION))),
                ("is_nullable", bit(column.nullable)),
                ("is_ansi_padded", bit(knows_padding(&column.sql_type))),
            ]);
        }
    }
}
