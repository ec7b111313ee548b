//! Indexes, statistics and partitions.

use databases::catalogue::definition_text;
use databases::catalogue::{IndexOptions, Partitioning, TableDefinition, same_name};
use databases::storage::{IndexPages, index_of};
use query::Datum;
use tsql::index::DataCompression;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::partitions::store_index;
use crate::system_views::user_types;
use crate::view::{View, bit, int, optional, text};

const INDEXES: &str = "
    object_id int!
    name sysname
    index_id int!
    type tinyint!
    type_desc nvarchar(60)
    is_unique bit
    data_space_id int = 1
    ignore_dup_key bit = 0
    is_primary_key bit
    is_unique_constraint bit
    fill_factor tinyint! = 0
    is_padded bit = 0
    is_disabled bit = 0
    is_hypothetical bit = 0
    is_ignored_in_optimization bit = 0
    allow_row_locks bit = 1
    allow_page_locks bit = 1
    has_filter bit
    filter_definition text
    compression_delay int
    suppress_dup_key_messages bit = 0
    auto_created bit = 0
    optimize_for_sequential_key bit = 0";

const INDEX_COLUMNS: &str = "
    object_id int!
    index_id int!
    index_column_id int!
    column_id int!
    key_ordinal tinyint!
    partition_ordinal tinyint! = 0
    is_descending_key bit
    is_included_column bit
    column_store_order_ordinal tinyint! = 0
    data_clustering_ordinal tinyint! = 0";

const STATS: &str = "
    object_id int!
    name sysname
    stats_id int!
    auto_created bit = 0
    user_created bit = 0
    no_recompute bit = 0
    has_filter bit
    filter_definition text
    is_temporary bit = 0
    is_incremental bit = 0
    has_persisted_sample bit = 0
    stats_generation_method int = 0
    stats_generation_method_desc varchar(80)
    auto_drop bit = 0";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("indexes", INDEXES, indexes),
    Entry::new("index_columns", INDEX_COLUMNS, index_columns),
    Entry::new("stats", STATS, stats),
    Entry::new(
        "stats_columns",
        "object_id int!\nstats_id int!\nstats_column_id int!\ncolumn_id int!",
        stats_columns,
    ),
    Entry::empty(
        "xml_indexes",
        "object_id int!\nname sysname\nindex_id int!\ntype tinyint!\ntype_desc nvarchar(60)\nusing_xml_index_id int\nsecondary_type char(1)",
    ),
    Entry::empty(
        "spatial_indexes",
        "object_id int!\nname sysname\nindex_id int!\ntype tinyint!\ntype_desc nvarchar(60)\nspatial_index_type tinyint!",
    ),
    Entry::empty(
        "fulltext_indexes",
        "object_id int!\nunique_index_id int!\nfulltext_catalog_id int\nis_enabled bit!",
    ),
    Entry::empty("hash_indexes", "object_id int!\nname sysname\nindex_id int!\nbucket_count int!"),
    Entry::empty(
        "periods",
        "name sysname\nperiod_type tinyint!\nperiod_type_desc nvarchar(60)\nobject_id int!\nstart_column_id int!\nend_column_id int!",
    ),
];

/// An index in the form of the views.
pub struct IndexRow<'t> {
    pub name: Option<&'t str>,
    pub id: i32,
    /// Type of the index (`sys.indexes.type`).
    pub kind: u8,
    unique: bool,
    primary: bool,
    constraint: bool,
    columns: &'t [(String, bool)],
    include: &'t [String],
    filter: Option<&'t str>,
    options: IndexOptions,
    pub compression: DataCompression,
    /// Partitioning of the index; None: not partitioned.
    pub partitioning: Option<&'t Partitioning>,
}

/// `sys.indexes.type` of columnstore indexes.
const CLUSTERED_COLUMNSTORE: u8 = 5;
const NONCLUSTERED_COLUMNSTORE: u8 = 6;

/// Lists the indexes of a table; a table without a clustered one is a heap, index 0.
pub fn index_rows(table: &TableDefinition) -> Vec<IndexRow<'_>> {
    let mut rows = Vec::new();
    if !table.is_clustered() {
        rows.push(IndexRow {
            name: None,
            id: 0,
            kind: 0,
            unique: false,
            primary: false,
            constraint: false,
            columns: &[],
            include: &[],
            filter: None,
            options: IndexOptions::default(),
            compression: table.compression,
            partitioning: table.partitioning.as_ref(),
        });
    }
    // A clustered index is its table's rows.
    let compression = |clustered: bool, options: &IndexOptions| match clustered {
        true => table.compression,
        false => options.compression,
    };
    rows.extend(table.keys.iter().map(|key| IndexRow {
        name: Some(&key.name),
        id: key.index_id,
        kind: if key.clustered { 1 } else { 2 },
        unique: true,
        primary: key.primary,
        constraint: !key.primary,
        columns: &key.columns,
        include: &[],
        filter: None,
        options: key.options,
        compression: compression(key.clustered, &key.options),
        partitioning: if key.clustered { table.partitioning.as_ref() } else { key.partitioning.as_ref() },
    }));
    rows.extend(table.indexes.iter().map(|index| IndexRow {
        name: Some(&index.name),
        id: index.index_id,
        kind: match (index.columnstore, index.clustered) {
            (true, true) => CLUSTERED_COLUMNSTORE,
            (true, false) => NONCLUSTERED_COLUMNSTORE,
            (false, true) => 1,
            (false, false) => 2,
        },
        unique: index.unique,
        primary: false,
        constraint: false,
        columns: &index.columns,
        include: &index.include,
        filter: index.filter.as_deref(),
        options: index.options,
        compression: compression(index.clustered, &index.options),
        partitioning: if index.clustered { table.partitioning.as_ref() } else { index.partitioning.as_ref() },
    }));
    rows.sort_by_key(|row| row.id);
    rows
}

/// Shows each index of the database's tables, and heaps as indexes of number 0.
fn each_index(context: &Context<'_>, mut show: impl FnMut(&TableDefinition, &IndexRow<'_>)) {
    for table in user_types::with_table_types(context) {
        index_rows(&table).iter().for_each(|row| show(&table, row));
    }
}

fn indexes(context: &Context<'_>, view: &mut View) {
    each_index(context, |table, row| {
        let description = match row.kind {
            0 => "HEAP",
            1 => "CLUSTERED",
            CLUSTERED_COLUMNSTORE => "CLUSTERED COLUMNSTORE",
            NONCLUSTERED_COLUMNSTORE => "NONCLUSTERED COLUMNSTORE",
            _ => "NONCLUSTERED",
        };
        view.add([
            ("object_id", int(table.object_id)),
            ("name", optional(row.name)),
            ("index_id", int(row.id)),
            ("type", int(row.kind)),
            ("type_desc", text(description)),
            ("is_unique", bit(row.unique)),
            ("is_primary_key", bit(row.primary)),
            ("is_unique_constraint", bit(row.constraint)),
            ("fill_factor", int(row.options.fill_factor)),
            ("ignore_dup_key", bit(row.options.ignore_dup_key)),
            ("is_padded", bit(row.options.pad_index)),
            ("is_disabled", bit(row.options.disabled)),
            ("has_filter", bit(row.filter.is_some())),
            ("filter_definition", row.filter.map_or(Datum::Null, |filter| text(&definition_text(filter)))),
        ]);
        match row.partitioning.and_then(|by| context.facts.partitions().scheme(&table.database, &by.scheme)) {
            Some(scheme) => view.set("data_space_id", int(scheme.id)),
            None => {
                if let Some(group) = group_of(context, table, row) {
                    view.set("data_space_id", int(group));
                }
            }
        }
    });
}

/// Returns the file group of an index's pages; None: it has none.
fn group_of(context: &Context<'_>, table: &TableDefinition, row: &IndexRow<'_>) -> Option<u16> {
    let pages = context.figures(&table.database)?.table(table)?;
    let wanted = store_index(row).map_or(IndexPages::Rows, IndexPages::Index);
    pages.all_units().find(|unit| index_of(pages, unit.id) == Some(wanted)).map(|unit| unit.group)
}

/// Lists the column ids of an index: of its keys with their order, then of the included columns. A clustered columnstore has all columns.
fn columns_of<'t>(table: &'t TableDefinition, row: &'t IndexRow<'t>) -> Vec<(i32, bool, bool)> {
    if row.kind == CLUSTERED_COLUMNSTORE {
        let stored = table.columns.iter().filter(|column| column.computed.is_none());
        return stored.map(|column| (column.id, false, true)).collect();
    }
    // The columns of a columnstore have no order, so none is a key.
    let columnstore = row.kind == NONCLUSTERED_COLUMNSTORE;
    let keys = row.columns.iter().map(|(name, descending)| (name, *descending, columnstore));
    let includes = row.include.iter().map(|name| (name, false, true));
    keys.chain(includes)
        .filter_map(|(name, descending, included)| {
            let column = table.columns.iter().find(|column| same_name(&column.name, name))?;
            Some((column.id, descending, included))
        })
        .collect()
}

fn index_columns(context: &Context<'_>, view: &mut View) {
    each_index(context, |table, row| {
        let columns = columns_of(table, row);
        let named = row.partitioning.and_then(|by| table.position(&by.column));
        let partitioning = named.and_then(|position| table.columns.get(position)).map(|column| column.id);
        for (ordinal, (column_id, descending, included)) in (1_i64..).zip(&columns) {
            let (column_id, descending, included) = (*column_id, *descending, *included);
            view.add([
                ("object_id", int(table.object_id)),
                ("index_id", int(row.id)),
                ("index_column_id", int(ordinal)),
                ("column_id", int(column_id)),
                ("key_ordinal", int(if included { 0 } else { ordinal })),
                ("partition_ordinal", int(i64::from(partitioning == Some(column_id)))),
                ("is_descending_key", bit(descending)),
                ("is_included_column", bit(included)),
            ]);
        }
        // A partitioning column that the index does not name.
        if let Some(column_id) =
            partitioning.filter(|id| columns.iter().all(|(column_id, ..)| column_id != id))
        {
            view.add([
                ("object_id", int(table.object_id)),
                ("index_id", int(row.id)),
                ("index_column_id", int(columns.len() as i64 + 1)),
                ("column_id", int(column_id)),
                ("key_ordinal", int(0)),
                ("partition_ordinal", int(1)),
                ("is_descending_key", bit(false)),
                ("is_included_column", bit(false)),
            ]);
        }
    });
}

fn stats(context: &Context<'_>, view: &mut View) {
    each_index(context, |table, row| {
        if row.id == 0 {
            return;
        }
        view.add([
            ("object_id", int(table.object_id)),
            ("name", optional(row.name)),
            ("stats_id", int(row.id)),
            ("has_filter", bit(row.filter.is_some())),
            ("filter_definition", row.filter.map_or(Datum::Null, |filter| text(&definition_text(filter)))),
        ]);
    });
}

fn stats_columns(context: &Context<'_>, view: &mut View) {
    each_index(context, |table, row| {
        let columnstore = matches!(row.kind, CLUSTERED_COLUMNSTORE | NONCLUSTERED_COLUMNSTORE);
        let keys = columns_of(table, row).into_iter().filter(|(_, _, included)| columnstore || !included);
        for (ordinal, (column_id, ..)) in (1_i64..).zip(keys) {
            view.add([
                ("object_id", int(table.object_id)),
                ("stats_id", int(row.id)),
                ("stats_column_id", int(ordinal)),
                ("column_id", int(column_id)),
            ]);
        }
    });
}
