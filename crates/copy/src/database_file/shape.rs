//! A table of a file as the definition of a table of SQL Server.

use database_files::{Action, Check, Column, ForeignKey, Index, KeyKind, Table};
use load::{
    TableName, TableShape,
    stage::{
        CheckShape, ColumnShape, Compression, ComputedShape, DefaultShape, ForeignKeyShape, IdentityShape,
        IndexKind, IndexShape, KeyKind as ShapeKey, Obstacle, ObstacleKind, Standing,
    },
};

/// Returns the definition that makes an equal table.
pub(crate) fn table_shape(table: &Table) -> TableShape {
    let name = TableName { database: None, schema: Some(table.schema.clone()), name: table.name.clone() };
    let made_up = MadeUpNames { table: &table.name };
    TableShape {
        columns: table.columns.iter().map(|column| column_shape(column, &made_up)).collect(),
        indexes: table.indexes.iter().map(|index| index_shape(index, &made_up)).collect(),
        heap_compression: Compression::None,
        space: None,
        large_value_file_group: None,
        checks: table
            .checks
            .iter()
            .enumerate()
            .map(|(number, check)| check_shape(number, check, &made_up))
            .collect(),
        foreign_keys: table.foreign_keys.iter().map(|key| foreign_key_shape(key, &made_up)).collect(),
        lock_escalation: None,
        obstacles: table
            .left_out
            .iter()
            .map(|what| Obstacle { kind: ObstacleKind::IndexKind, name: what.clone() })
            .collect(),
        name,
    }
}

/// Names of constraints whose names the first server made up.
struct MadeUpNames<'a> {
    table: &'a str,
}

impl MadeUpNames<'_> {
    fn or(&self, name: Option<&String>, prefix: &str, part: &str) -> String {
        name.cloned().unwrap_or_else(|| {
            let whole = format!("{prefix}_{}_{part}", self.table);
            whole.chars().take(120).collect()
        })
    }
}

fn column_shape(column: &Column, made_up: &MadeUpNames<'_>) -> ColumnShape {
    ColumnShape {
        name: column.name.clone(),
        type_text: column.sql_type.to_string(),
        is_nullable: column.is_nullable,
        collation: column.collation.and_then(|collation| collation.name()),
        identity: column.identity.as_ref().map(|identity| IdentityShape {
            seed: identity.seed.clone(),
            increment: identity.increment.clone(),
            is_not_for_replication: false,
        }),
        computed: column
            .computed
            .as_ref()
            .map(|of| ComputedShape { definition: of.definition.clone(), is_persisted: of.is_persisted }),
        default: column.default.as_ref().map(|default| DefaultShape {
            name: made_up.or(default.name.as_ref(), "DF", &column.name),
            definition: default.definition.clone(),
        }),
        is_rowguidcol: column.is_rowguidcol,
        is_sparse: column.is_sparse,
    }
}

fn index_shape(index: &Index, made_up: &MadeUpNames<'_>) -> IndexShape {
    let columns: Vec<&str> = index.key.iter().map(|(name, _)| name.as_str()).collect();
    let prefix = match index.key_kind {
        Some(KeyKind::Primary) => "PK",
        Some(KeyKind::Unique) => "UQ",
        None => "IX",
    };
    IndexShape {
        name: made_up.or(index.name.as_ref(), prefix, &columns.join("_")),
        kind: if index.is_clustered { IndexKind::Clustered } else { IndexKind::Nonclustered },
        key_kind: index.key_kind.map(|kind| match kind {
            KeyKind::Primary => ShapeKey::Primary,
            KeyKind::Unique => ShapeKey::Unique,
        }),
        is_unique: index.is_unique,
        key: index.key.clone(),
        included: index.included.clone(),
        filter: index.filter.clone(),
        fill_factor: index.fill_factor,
        is_padded: false,
        ignores_duplicate_keys: false,
        allows_row_locks: true,
        allows_page_locks: true,
        is_for_sequential_keys: false,
        compression: Compression::None,
        space: None,
    }
}

fn check_shape(number: usize, check: &Check, made_up: &MadeUpNames<'_>) -> CheckShape {
    CheckShape {
        name: made_up.or(check.name.as_ref(), "CK", &(number + 1).to_string()),
        definition: check.definition.clone(),
        standing: Standing {
            is_disabled: check.is_disabled,
            is_not_trusted: check.is_not_trusted,
            is_not_for_replication: false,
        },
    }
}

fn foreign_key_shape(key: &ForeignKey, made_up: &MadeUpNames<'_>) -> ForeignKeyShape {
    let action = |action: Action| {
        match action {
            Action::None => "NO_ACTION",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET_NULL",
            Action::SetDefault => "SET_DEFAULT",
        }
        .to_owned()
    };
    ForeignKeyShape {
        name: made_up.or(key.name.as_ref(), "FK", &key.columns.join("_")),
        columns: key.columns.clone(),
        references: TableName {
            database: None,
            schema: Some(key.to_schema.clone()),
            name: key.to_table.clone(),
        },
        referenced: key.to_columns.clone(),
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        standing: Standing {
            is_disabled: key.is_disabled,
            is_not_trusted: key.is_not_trusted,
            is_not_for_replication: false,
        },
    }
}
