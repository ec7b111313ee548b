//! A table's description as JSON.

use load::{Partitioning, TableDescription};
use serde_json::{Value, json};

/// Makes the description of a table as one object.
pub(super) fn of(description: &TableDescription) -> Value {
    let columns = description.columns.iter().map(|column| {
        json!({
            "name": column.column.name,
            "type": column.column.sql_type().to_string(),
            "nullable": column.column.flags.is_nullable(),
            "identity": column.is_identity,
            "computed": column.is_computed,
            "rowversion": column.is_rowversion,
            "default": column.has_default,
            "collation": column.collation,
            "encryption": column.encryption.as_ref().map(ToString::to_string),
        })
    });
    let indexes = description.indexes.iter().map(|index| {
        let key =
            index.key.iter().map(|(name, descending)| json!({ "name": name, "descending": descending }));
        json!({
            "name": index.name,
            "clustered": description.clustered_index() == Some(index),
            "unique": index.is_unique,
            "primary_key": index.is_primary_key,
            "ignores_duplicate_keys": index.ignores_duplicate_keys,
            "disabled": index.is_disabled,
            "key": key.collect::<Vec<_>>(),
        })
    });
    let constraints = description.constraints.iter().map(|constraint| {
        json!({
            "name": constraint.name,
            "foreign_key": constraint.is_foreign_key,
            "disabled": constraint.is_disabled,
            "trusted": !constraint.is_not_trusted,
        })
    });
    let triggers = description.triggers.iter().map(|trigger| {
        json!({ "name": trigger.name, "instead_of": trigger.is_instead_of, "disabled": trigger.is_disabled })
    });
    json!({
        "table": description.name.to_string(),
        "view": description.is_view,
        "storage": description.storage.to_string(),
        "rows": description.rows,
        "database": description.database.name,
        "columns": columns.collect::<Vec<_>>(),
        "indexes": indexes.collect::<Vec<_>>(),
        "constraints": constraints.collect::<Vec<_>>(),
        "triggers": triggers.collect::<Vec<_>>(),
        "partitioning": description.partitioning.as_ref().map(partitioning),
    })
}

fn partitioning(partitioning: &Partitioning) -> Value {
    let boundaries = partitioning.boundaries.iter();
    json!({
        "scheme": partitioning.scheme,
        "function": partitioning.function,
        "column": partitioning.column,
        "range": if partitioning.is_right { "right" } else { "left" },
        "boundaries": boundaries
            .map(|value| if value.is_null() { Value::Null } else { Value::String(value.to_string()) })
            .collect::<Vec<_>>(),
        "rows": partitioning.rows,
        "unaligned_indexes": partitioning.unaligned_indexes,
    })
}
