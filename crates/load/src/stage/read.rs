//! Reads a table's shape from the catalogue.

use super::{
    obstacle::{Obstacle, ObstacleKind},
    shape::{
        CheckShape, ColumnShape, Compression, ComputedShape, DataSpace, DefaultShape, Division,
        ForeignKeyShape, IdentityShape, IndexKind, IndexShape, KeyKind, Standing, TableShape,
    },
    type_text::type_text,
};
use crate::{
    catalogue_row::{CatalogueRow, rows},
    client::Client,
    error::Error,
    table_name::TableName,
    value_table::ValueTable,
};

impl TableShape {
    /// Reads the complete definition of a table; a view is not one. [`obstacles`](Self::obstacles) lists what a second table cannot have.
    pub fn read(client: &mut Client, table: &TableName) -> Result<Self, Error> {
        let mut obstacles = Vec::new();
        if table.is_temporary() {
            obstacles.push(Obstacle::new(ObstacleKind::TemporaryTable, ""));
        }
        if table.database.as_ref().is_some_and(|database| !database.eq_ignore_ascii_case(client.database())) {
            obstacles
                .push(Obstacle::new(ObstacleKind::OtherDatabase, table.database.clone().unwrap_or_default()));
        }
        if !obstacles.is_empty() {
            return Ok(Self::unread(table, obstacles));
        }
        let results = client.query_values(&catalogue_batch(table))?;
        let Catalogue(
            [
                objects,
                columns,
                identities,
                computed,
                defaults,
                indexes,
                index_columns,
                partitions,
                checks,
                foreign_keys,
                foreign_key_columns,
                others,
            ],
        ) = Catalogue::of(&results)?;
        let Some(object) = rows(objects).next() else {
            return Err(Error::NoTable {
                table: table.to_string(),
                database: client.database().to_owned(),
                nearest: None,
            });
        };
        let name =
            TableName { database: None, schema: Some(object.text("schema_name")), name: object.text("name") };
        let space = rows(indexes)
            .find(|row| matches!(row.integer("type"), Some(0 | 1 | 5)))
            .and_then(|row| data_space(&row, index_columns, partitions, false));
        let division = space.as_ref().and_then(|space| space.division.as_ref());
        let columns: Vec<ColumnShape> =
            rows(columns).map(|row| column(&row, identities, computed, defaults, &mut obstacles)).collect();
        let mut shapes = Vec::new();
        for row in rows(indexes).filter(|row| !row.flag("is_hypothetical")) {
            let shape = index(&row, index_columns, partitions, division.is_some(), &mut obstacles);
            let own =
                shape.as_ref().and_then(|index| index.space.as_ref()).and_then(|own| own.division.as_ref());
            let places = |of: Option<&Division>| of.map(|of| (of.function.clone(), of.column.clone()));
            if shape.is_some() && places(own) != places(division) {
                obstacles.push(Obstacle::new(ObstacleKind::UnalignedIndex, row.text("name")));
            }
            shapes.extend(shape);
        }
        if columns.is_empty() {
            return Err(Error::HiddenColumns { table: table.to_string() });
        }
        // A key that refers to what this login may not see can neither be copied nor be left out.
        let hidden = rows(foreign_keys).filter(|row| row.text("table_name").is_empty());
        obstacles.extend(hidden.map(|row| Obstacle::new(ObstacleKind::HiddenReference, row.text("name"))));
        table_obstacles(&object, &mut obstacles);
        obstacles.extend(rows(others).filter_map(|row| other_obstacle(&row)));
        Ok(Self {
            columns,
            indexes: shapes,
            heap_compression: compression(partitions, 0),
            // Large values of a partitioned table lie with their partitions.
            large_value_file_group: Some(object.text("large_value_space"))
                .filter(|name| !name.is_empty() && division.is_none()),
            space,
            checks: rows(checks)
                .map(|row| CheckShape {
                    name: row.text("name"),
                    definition: row.text("definition"),
                    standing: standing(&row),
                })
                .collect(),
            foreign_keys: rows(foreign_keys)
                .filter(|row| !row.text("table_name").is_empty())
                .map(|row| foreign_key(&row, foreign_key_columns))
                .collect(),
            lock_escalation: Some(object.text("lock_escalation_desc"))
                .filter(|level| !matches!(level.as_str(), "" | "TABLE")),
            obstacles,
            name,
        })
    }

    fn unread(name: &TableName, obstacles: Vec<Obstacle>) -> Self {
        Self {
            name: name.clone(),
            columns: Vec::new(),
            indexes: Vec::new(),
            heap_compression: Compression::None,
            space: None,
            large_value_file_group: None,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: None,
            obstacles,
        }
    }
}

const RESULTS: usize = 12;

/// The results of [`catalogue_batch`], in its order.
struct Catalogue<'a>([&'a ValueTable; RESULTS]);

impl<'a> Catalogue<'a> {
    fn of(results: &'a [ValueTable]) -> Result<Self, Error> {
        let all: Vec<&ValueTable> = results.iter().collect();
        let all = <[&ValueTable; RESULTS]>::try_from(all).map_err(|all| {
            let what = format!("{} results of the catalogue queries instead of {RESULTS}", all.len());
            Error::unexpected("reading a table's shape", what)
        })?;
        Ok(Self(all))
    }
}

/// Stars, where newer servers have columns that older ones lack: a column that is not there counts as not set.
fn catalogue_batch(table: &TableName) -> String {
    let id = format!("OBJECT_ID({})", table.object_literal());
    [
        format!(
            "SELECT o.*, SCHEMA_NAME(o.schema_id) AS schema_name, (SELECT d.name FROM sys.data_spaces AS d \
             WHERE d.data_space_id = o.lob_data_space_id AND d.is_default = 0) AS large_value_space \
             FROM sys.tables AS o WHERE o.object_id = {id}"
        ),
        format!(
            "SELECT c.*, COALESCE(t.name, TYPE_NAME(c.system_type_id)) AS type_name, COALESCE(t.is_user_defined, 0) AS is_user_defined, \
             SCHEMA_NAME(t.schema_id) AS type_schema FROM sys.columns AS c \
             LEFT JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = {id} ORDER BY c.column_id"
        ),
        format!(
            "SELECT column_id, CONVERT(nvarchar(50), seed_value) AS seed, CONVERT(nvarchar(50), increment_value) AS increment, is_not_for_replication \
             FROM sys.identity_columns WHERE object_id = {id}"
        ),
        format!("SELECT column_id, definition, is_persisted FROM sys.computed_columns WHERE object_id = {id}"),
        format!(
            "SELECT parent_column_id AS column_id, name, definition FROM sys.default_constraints WHERE parent_object_id = {id}"
        ),
        format!(
            "SELECT i.*, d.name AS space_name, d.is_default AS space_is_default, f.name AS function_name FROM sys.indexes AS i \
             LEFT JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id \
             LEFT JOIN sys.partition_schemes AS s ON s.data_space_id = i.data_space_id \
             LEFT JOIN sys.partition_functions AS f ON f.function_id = s.function_id \
             WHERE i.object_id = {id} ORDER BY i.index_id"
        ),
        format!(
            "SELECT ic.*, c.name FROM sys.index_columns AS ic \
             JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
             WHERE ic.object_id = {id} ORDER BY ic.index_id, ic.key_ordinal, ic.index_column_id"
        ),
        format!(
            "SELECT index_id, partition_number, data_compression FROM sys.partitions WHERE object_id = {id} \
             ORDER BY index_id, partition_number"
        ),
        format!(
            "SELECT name, definition, is_disabled, is_not_trusted, is_not_for_replication FROM sys.check_constraints \
             WHERE parent_object_id = {id} ORDER BY name"
        ),
        format!(
            "SELECT k.object_id, k.name, k.is_disabled, k.is_not_trusted, k.is_not_for_replication, \
             OBJECT_SCHEMA_NAME(k.referenced_object_id) AS schema_name, \
             OBJECT_NAME(k.referenced_object_id) AS table_name, k.delete_referential_action_desc AS on_delete, k.update_referential_action_desc AS on_update \
             FROM sys.foreign_keys AS k WHERE k.parent_object_id = {id} ORDER BY k.name"
        ),
        format!(
            "SELECT k.constraint_object_id, COL_NAME(k.parent_object_id, k.parent_column_id) AS name, \
             COL_NAME(k.referenced_object_id, k.referenced_column_id) AS referenced FROM sys.foreign_key_columns AS k \
             WHERE k.parent_object_id = {id} ORDER BY k.constraint_object_id, k.constraint_column_id"
        ),
        other_obstacles_query(&id),
    ]
    .join(";\n")
}

/// Builds the query for objects that depend on a table beside its definition: a word for the kind, and a name.
fn other_obstacles_query(id: &str) -> String {
    // Texts of the catalogue have collations of their own, which cannot be joined with those of names.
    let one = |text: &str| format!("{text} COLLATE DATABASE_DEFAULT");
    let (name, table_name) = (one("k.name"), one("o.name"));
    let schema_name = one("OBJECT_SCHEMA_NAME(k.parent_object_id)");
    let referring = one("COALESCE(OBJECT_NAME(k.parent_object_id), N'a table that this login may not see')");
    let (state, permission, user) = (one("p.state_desc"), one("p.permission_name"), one("u.name"));
    let plain = one("name");
    [
        format!(
            "SELECT 'referring key' AS kind, {name} + N' of ' + COALESCE({schema_name} + N'.', N'') + {referring} AS name \
             FROM sys.foreign_keys AS k WHERE k.referenced_object_id = {id}"
        ),
        format!("SELECT 'trigger', {plain} FROM sys.triggers WHERE parent_id = {id}"),
        format!(
            "SELECT 'permission', {state} + N' ' + {permission} + N' to ' + {user} FROM sys.database_permissions AS p \
             JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id WHERE p.class = 1 AND p.major_id = {id}"
        ),
        format!(
            "SELECT 'property', {plain} FROM sys.extended_properties WHERE class IN (1, 7) AND (major_id = {id} \
             OR major_id IN (SELECT object_id FROM sys.objects WHERE parent_object_id = {id}))"
        ),
        format!("SELECT 'statistics', {plain} FROM sys.stats WHERE object_id = {id} AND user_created = 1"),
        format!("SELECT 'full text', N'' FROM sys.fulltext_indexes WHERE object_id = {id}"),
        format!("SELECT 'tracking', N'' FROM sys.change_tracking_tables WHERE object_id = {id}"),
        format!(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.object_id = o.object_id) THEN 'indexed view' \
             ELSE 'bound module' END, {table_name} FROM sys.objects AS o JOIN sys.sql_modules AS m ON m.object_id = o.object_id \
             WHERE m.is_schema_bound = 1 AND EXISTS (SELECT 1 FROM sys.sql_expression_dependencies AS d \
             WHERE d.referencing_id = o.object_id AND d.referenced_id = {id})"
        ),
    ]
    .join("\nUNION ALL ")
}

fn other_obstacle(row: &CatalogueRow<'_>) -> Option<Obstacle> {
    let kind = match row.text("kind").as_str() {
        "referring key" => ObstacleKind::ReferringKey,
        "trigger" => ObstacleKind::Trigger,
        "permission" => ObstacleKind::Permission,
        "property" => ObstacleKind::ExtendedProperty,
        "statistics" => ObstacleKind::Statistics,
        "full text" => ObstacleKind::FullText,
        "tracking" => ObstacleKind::ChangeTracking,
        "indexed view" => ObstacleKind::IndexedView,
        "bound module" => ObstacleKind::BoundModule,
        _ => return None,
    };
    Some(Obstacle::new(kind, row.text("name")))
}

fn table_obstacles(object: &CatalogueRow<'_>, obstacles: &mut Vec<Obstacle>) {
    let flags = [
        ("temporal_type", ObstacleKind::Temporal),
        ("is_memory_optimized", ObstacleKind::MemoryOptimized),
        ("is_external", ObstacleKind::External),
        ("is_remote_data_archive_enabled", ObstacleKind::External),
        ("is_filetable", ObstacleKind::FileStream),
        ("filestream_data_space_id", ObstacleKind::FileStream),
        ("is_node", ObstacleKind::Graph),
        ("is_edge", ObstacleKind::Graph),
        ("ledger_type", ObstacleKind::Ledger),
        ("is_published", ObstacleKind::Replicated),
        ("is_schema_published", ObstacleKind::Replicated),
        ("is_replicated", ObstacleKind::Replicated),
        ("is_merge_published", ObstacleKind::Replicated),
        ("is_tracked_by_cdc", ObstacleKind::ChangeDataCapture),
        ("principal_id", ObstacleKind::Owner),
    ];
    let named = [
        ("lock_on_bulk_load", "table lock on bulk load"),
        ("large_value_types_out_of_row", "large value types out of row"),
        ("text_in_row_limit", "text in row"),
    ];
    obstacles.extend(
        flags.into_iter().filter(|(flag, _)| object.flag(flag)).map(|(_, kind)| Obstacle::new(kind, "")),
    );
    obstacles.dedup();
    obstacles.extend(
        named
            .into_iter()
            .filter(|(flag, _)| object.flag(flag))
            .map(|(_, name)| Obstacle::new(ObstacleKind::TableOption, name)),
    );
}

fn column(
    row: &CatalogueRow<'_>,
    identities: &ValueTable,
    computed: &ValueTable,
    defaults: &ValueTable,
    obstacles: &mut Vec<Obstacle>,
) -> ColumnShape {
    let name = row.text("name");
    let id = row.integer("column_id");
    let flags = [
        ("is_masked", ObstacleKind::MaskedColumn),
        ("encryption_type", ObstacleKind::EncryptedColumn),
        ("is_column_set", ObstacleKind::ColumnSet),
        ("generated_always_type", ObstacleKind::GeneratedColumn),
        ("xml_collection_id", ObstacleKind::XmlSchema),
        ("rule_object_id", ObstacleKind::BoundRule),
        ("is_filestream", ObstacleKind::FileStream),
    ];
    for (_, kind) in flags.into_iter().filter(|(flag, _)| row.flag(flag)) {
        obstacles.push(Obstacle::new(kind, name.clone()));
    }
    let default = rows(defaults)
        .find(|default| default.integer("column_id") == id)
        .map(|default| DefaultShape { name: default.text("name"), definition: default.text("definition") });
    if row.flag("default_object_id") && default.is_none() {
        obstacles.push(Obstacle::new(ObstacleKind::BoundRule, name.clone()));
    }
    let is_user_defined = row.flag("is_user_defined");
    // The collation of an alias type is the type's.
    let collation = Some(row.text("collation_name"))
        .filter(|name| !name.is_empty() && !is_user_defined && row.text("type_name") != "sysname");
    ColumnShape {
        type_text: type_text(row),
        is_nullable: row.flag("is_nullable"),
        collation,
        identity: rows(identities).find(|identity| identity.integer("column_id") == id).map(|identity| {
            IdentityShape {
                seed: identity.text("seed"),
                increment: identity.text("increment"),
                is_not_for_replication: identity.flag("is_not_for_replication"),
            }
        }),
        computed: rows(computed).find(|computed| computed.integer("column_id") == id).map(|computed| {
            ComputedShape {
                definition: computed.text("definition"),
                is_persisted: computed.flag("is_persisted"),
            }
        }),
        default,
        is_rowguidcol: row.flag("is_rowguidcol"),
        is_sparse: row.flag("is_sparse"),
        name,
    }
}

fn index(
    row: &CatalogueRow<'_>,
    columns: &ValueTable,
    partitions: &ValueTable,
    names_space: bool,
    obstacles: &mut Vec<Obstacle>,
) -> Option<IndexShape> {
    let id = row.integer("index_id")?;
    let name = row.text("name");
    let own = || rows(columns).filter(|column| column.integer("index_id") == Some(id));
    let kind = match row.integer("type") {
        Some(0) => return None,
        Some(1) => IndexKind::Clustered,
        Some(2) => IndexKind::Nonclustered,
        Some(5) if !own().any(|column| column.flag("column_store_order_ordinal")) => {
            IndexKind::ClusteredColumnstore
        }
        Some(6) if !own().any(|column| column.flag("column_store_order_ordinal")) => {
            IndexKind::NonclusteredColumnstore
        }
        _ => {
            obstacles.push(Obstacle::new(ObstacleKind::IndexKind, name));
            return None;
        }
    };
    if row.flag("is_disabled") {
        obstacles.push(Obstacle::new(ObstacleKind::DisabledIndex, name.clone()));
    }
    Some(IndexShape {
        kind,
        key_kind: match (row.flag("is_primary_key"), row.flag("is_unique_constraint")) {
            (true, _) => Some(KeyKind::Primary),
            (false, true) => Some(KeyKind::Unique),
            (false, false) => None,
        },
        is_unique: row.flag("is_unique"),
        key: own()
            .filter(|column| column.flag("key_ordinal"))
            .map(|column| (column.text("name"), column.flag("is_descending_key")))
            .collect(),
        included: own()
            .filter(|column| column.flag("is_included_column"))
            .map(|column| column.text("name"))
            .collect(),
        filter: Some(row.text("filter_definition")).filter(|filter| !filter.is_empty()),
        fill_factor: row.integer("fill_factor").and_then(|factor| u8::try_from(factor).ok()).unwrap_or(0),
        is_padded: row.flag("is_padded"),
        ignores_duplicate_keys: row.flag("ignore_dup_key"),
        allows_row_locks: row.flag("allow_row_locks"),
        allows_page_locks: row.flag("allow_page_locks"),
        is_for_sequential_keys: row.flag("optimize_for_sequential_key"),
        compression: compression(partitions, id),
        space: data_space(row, columns, partitions, names_space),
        name,
    })
}

/// Returns the file group or partition scheme of an index. Beside a partitioned table the default file group has to
/// be named too: without a name an index would be partitioned as the table is.
fn data_space(
    row: &CatalogueRow<'_>,
    columns: &ValueTable,
    partitions: &ValueTable,
    names_default: bool,
) -> Option<DataSpace> {
    let name = Some(row.text("space_name")).filter(|name| !name.is_empty())?;
    let id = row.integer("index_id")?;
    let function = Some(row.text("function_name")).filter(|name| !name.is_empty());
    let division = function.map(|function| Division {
        function,
        column: rows(columns)
            .find(|column| {
                column.integer("index_id") == Some(id) && column.integer("partition_ordinal") == Some(1)
            })
            .map(|column| column.text("name"))
            .unwrap_or_default(),
        compressions: compressions(partitions, id).collect(),
    });
    let is_named = division.is_some() || names_default || !row.flag("space_is_default");
    is_named.then_some(DataSpace { name, division })
}

/// Returns the compression of a whole index: that of its first partition.
fn compression(partitions: &ValueTable, index: i64) -> Compression {
    compressions(partitions, index).next().unwrap_or_default()
}

/// Returns the compression of each partition.
fn compressions(partitions: &ValueTable, index: i64) -> impl Iterator<Item = Compression> + '_ {
    let own = rows(partitions).filter(move |row| row.integer("index_id") == Some(index));
    own.map(|row| match row.integer("data_compression") {
        Some(1) => Compression::Row,
        Some(2) => Compression::Page,
        Some(4) => Compression::Archive,
        _ => Compression::None,
    })
}

fn standing(row: &CatalogueRow<'_>) -> Standing {
    Standing {
        is_disabled: row.flag("is_disabled"),
        is_not_trusted: row.flag("is_not_trusted"),
        is_not_for_replication: row.flag("is_not_for_replication"),
    }
}

fn foreign_key(row: &CatalogueRow<'_>, columns: &ValueTable) -> ForeignKeyShape {
    let own =
        || rows(columns).filter(|column| column.integer("constraint_object_id") == row.integer("object_id"));
    ForeignKeyShape {
        name: row.text("name"),
        columns: own().map(|column| column.text("name")).collect(),
        references: TableName {
            database: None,
            schema: Some(row.text("schema_name")),
            name: row.text("table_name"),
        },
        referenced: own().map(|column| column.text("referenced")).collect(),
        on_delete: row.text("on_delete"),
        on_update: row.text("on_update"),
        standing: standing(row),
    }
}
