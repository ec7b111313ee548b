//! Reads the results of the catalogue queries.

use tds::{Column, ColumnFlags, SqlType};

use super::{
    ColumnDescription, ColumnEncryption, ConstraintDescription, DatabaseDescription, IndexDescription,
    RecoveryModel, Storage, TriggerDescription, encryption,
};
use crate::{
    catalogue_row::{CatalogueRow, rows},
    error::Error,
    value_table::ValueTable,
};

/// `sys.indexes.type` of a clustered B-tree.
pub(super) const KIND_CLUSTERED: u8 = 1;
/// `sys.indexes.type` of a clustered columnstore.
pub(super) const KIND_COLUMNSTORE: u8 = 5;
const KIND_HEAP: u8 = 0;

/// The results of [`super::queries::batch`] that come from the catalogue.
pub(super) const CATALOGUE_RESULTS: usize = 9;

pub(super) struct Facts {
    pub(super) object: Option<Object>,
    pub(super) columns: Vec<CatalogueColumn>,
    pub(super) storage: Storage,
    pub(super) indexes: Vec<IndexDescription>,
    pub(super) triggers: Vec<TriggerDescription>,
    pub(super) constraints: Vec<ConstraintDescription>,
    /// The number of rows of each partition.
    pub(super) rows: Vec<u64>,
    pub(super) database: DatabaseDescription,
}

pub(super) struct Object {
    pub(super) schema: String,
    pub(super) is_view: bool,
}

pub(super) struct CatalogueColumn {
    name: String,
    type_name: String,
    is_nullable: Option<bool>,
    is_identity: bool,
    is_computed: bool,
    /// A period's column, whose values are the server's.
    is_generated: bool,
    has_default: bool,
    collation: Option<String>,
    encryption: Option<ColumnEncryption>,
}

impl Facts {
    /// Reads the results of [`super::queries::batch`].
    pub(super) fn read(results: &[ValueTable]) -> Result<Self, Error> {
        let [objects, columns, indexes, keys, triggers, checks, foreign_keys, partitions, databases] =
            results
        else {
            let what = format!("{} results of the catalogue queries instead of 9", results.len());
            return Err(Error::unexpected("describing a table", what));
        };
        let index_rows: Vec<(i64, IndexDescription)> = rows(indexes).map(|row| index(&row, keys)).collect();
        let storage = match () {
            () if index_rows.iter().any(|(_, index)| index.kind == KIND_COLUMNSTORE) => Storage::Columnstore,
            () if index_rows.iter().any(|(_, index)| index.kind == KIND_CLUSTERED) => Storage::Clustered,
            () => Storage::Heap,
        };
        let constraint = |row: CatalogueRow<'_>, is_foreign_key| ConstraintDescription {
            name: row.text("name"),
            is_foreign_key,
            is_disabled: row.flag("is_disabled"),
            is_not_trusted: row.flag("is_not_trusted"),
        };
        Ok(Self {
            object: rows(objects)
                .map(|row| Object {
                    schema: row.text("schema_name"),
                    is_view: row.text("object_type").trim() == "V",
                })
                .next(),
            columns: rows(columns).map(|row| catalogue_column(&row)).collect(),
            storage,
            indexes: index_rows
                .into_iter()
                .map(|(_, index)| index)
                .filter(|index| index.kind != KIND_HEAP)
                .collect(),
            triggers: rows(triggers)
                .map(|row| TriggerDescription {
                    name: row.text("name"),
                    is_instead_of: row.flag("is_instead_of_trigger"),
                    is_disabled: row.flag("is_disabled"),
                })
                .collect(),
            constraints: rows(checks)
                .map(|row| constraint(row, false))
                .chain(rows(foreign_keys).map(|row| constraint(row, true)))
                .collect(),
            rows: rows_by_partition(partitions),
            database: rows(databases).map(|row| database(&row)).next().unwrap_or_default(),
        })
    }
}

/// Joins COLMETADATA with what the catalogue adds.
pub(super) fn column(column: Column, catalogue: &[CatalogueColumn]) -> ColumnDescription {
    let known = catalogue.iter().find(|known| known.name == column.name);
    let is_rowversion = *column.sql_type() == SqlType::RowVersion
        || known.is_some_and(|known| matches!(known.type_name.as_str(), "timestamp" | "rowversion"));
    let mut described = ColumnDescription {
        type_name: known.map_or_else(|| column.sql_type().to_string(), |known| known.type_name.clone()),
        is_identity: known.map_or_else(|| column.flags.has(ColumnFlags::IDENTITY), |known| known.is_identity),
        is_computed: known.map_or_else(|| column.flags.has(ColumnFlags::COMPUTED), |known| known.is_computed),
        has_default: known.is_some_and(|known| known.has_default),
        is_required: known.is_some_and(|known| {
            let fills_itself =
                known.is_identity || known.is_computed || known.is_generated || known.has_default;
            known.is_nullable == Some(false) && !fills_itself && !is_rowversion
        }),
        collation: known.and_then(|known| known.collation.clone()),
        encryption: known.and_then(|known| known.encryption.clone()),
        is_rowversion,
        column,
    };
    // Servers exist that flag every column of a result as nullable.
    if known.is_some_and(|known| known.is_nullable == Some(false)) {
        described.forbid_null();
    }
    described
}

fn catalogue_column(row: &CatalogueRow<'_>) -> CatalogueColumn {
    CatalogueColumn {
        name: row.text("name"),
        type_name: row.text("type_name"),
        is_nullable: row.integer("is_nullable").map(|flag| flag != 0),
        is_identity: row.flag("is_identity"),
        is_computed: row.flag("is_computed"),
        is_generated: row.integer("generated_always_type").unwrap_or_default() != 0,
        has_default: row.integer("default_object_id").unwrap_or_default() != 0,
        collation: Some(row.text("collation_name")).filter(|name| !name.is_empty()),
        encryption: encryption::of_column(row),
    }
}

fn index(row: &CatalogueRow<'_>, keys: &ValueTable) -> (i64, IndexDescription) {
    let id = row.integer("index_id").unwrap_or_default();
    let key = rows(keys)
        .filter(|key| key.integer("index_id") == Some(id))
        .map(|key| (key.text("name"), key.flag("is_descending_key")))
        .collect();
    let index = IndexDescription {
        name: row.text("name"),
        kind: row.integer("type").and_then(|kind| u8::try_from(kind).ok()).unwrap_or_default(),
        key,
        is_unique: row.flag("is_unique"),
        is_primary_key: row.flag("is_primary_key"),
        ignores_duplicate_keys: row.flag("ignore_dup_key"),
        is_disabled: row.flag("is_disabled"),
    };
    (id, index)
}

fn rows_by_partition(partitions: &ValueTable) -> Vec<u64> {
    let mut counts: Vec<(i64, u64)> = rows(partitions)
        .map(|row| {
            let count = row.integer("rows").and_then(|rows| u64::try_from(rows).ok());
            (row.integer("partition_number").unwrap_or_default(), count.unwrap_or_default())
        })
        .collect();
    counts.sort_unstable();
    counts.into_iter().map(|(_, count)| count).collect()
}

fn database(row: &CatalogueRow<'_>) -> DatabaseDescription {
    DatabaseDescription {
        name: row.text("name"),
        recovery_model: match row.integer("recovery_model") {
            Some(1) => Some(RecoveryModel::Full),
            Some(2) => Some(RecoveryModel::BulkLogged),
            Some(3) => Some(RecoveryModel::Simple),
            _ => None,
        },
        collation: Some(row.text("collation_name")).filter(|name| !name.is_empty()),
        compatibility_level: row.integer("compatibility_level").and_then(|level| u8::try_from(level).ok()),
    }
}
