//! The catalogue queries. They run on SQL Server 2012 and later and on the embedded server, in one batch.

use crate::table_name::{TableName, literal};

/// Writes the query for the columns of a table or view, with all facts that this server's catalogue has of them.
pub(super) fn columns_alone(table: &TableName) -> String {
    let p = table.catalogue_prefix();
    let object = table.object_literal();
    format!(
        "SELECT c.* FROM {p}sys.columns AS c WHERE c.object_id = OBJECT_ID({object}) ORDER BY c.column_id"
    )
}

/// Writes the batch that describes the partitions of a table; [`super::partitioning::of`] reads its results in this
/// order.
pub(super) fn partitioning(table: &TableName) -> String {
    let p = table.catalogue_prefix();
    let id = format!("OBJECT_ID({})", table.object_literal());
    format!(
        "SELECT i.index_id, i.name AS index_name, s.name AS scheme_name, f.name AS function_name, f.function_id, \
         f.boundary_value_on_right, c.name AS column_name FROM {p}sys.indexes AS i \
         LEFT JOIN {p}sys.partition_schemes AS s ON s.data_space_id = i.data_space_id \
         LEFT JOIN {p}sys.partition_functions AS f ON f.function_id = s.function_id \
         LEFT JOIN {p}sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1 \
         LEFT JOIN {p}sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
         WHERE i.object_id = {id} ORDER BY i.index_id;\n\
         SELECT v.boundary_id, v.value FROM {p}sys.indexes AS i \
         JOIN {p}sys.partition_schemes AS s ON s.data_space_id = i.data_space_id \
         JOIN {p}sys.partition_range_values AS v ON v.function_id = s.function_id \
         WHERE i.object_id = {id} AND i.index_id IN (0, 1) ORDER BY v.boundary_id"
    )
}

/// Writes the batch that describes a table; [`super::Facts::read`] reads its results in this order.
pub(super) fn batch(table: &TableName) -> String {
    let p = table.catalogue_prefix();
    let id = format!("OBJECT_ID({})", table.object_literal());
    let database = match (table.is_temporary(), &table.database) {
        (true, _) => literal("tempdb"),
        (false, Some(database)) => literal(database),
        (false, None) => "DB_NAME()".to_owned(),
    };
    let schema = schema_name("o", table);
    [
        // No row of another view decides whether there is a table: a login may see the table and not its schema.
        format!(
            "SELECT {schema} AS schema_name, o.name AS table_name, o.type AS object_type \
             FROM {p}sys.objects AS o WHERE o.object_id = {id}"
        ),
        // All columns of the view: servers before 2016 lack those of encryption.
        format!(
            "SELECT c.*, COALESCE(t.name, TYPE_NAME(c.system_type_id)) AS type_name FROM {p}sys.columns AS c \
             LEFT JOIN {p}sys.types AS t ON t.user_type_id = c.user_type_id \
             WHERE c.object_id = {id} ORDER BY c.column_id"
        ),
        format!(
            "SELECT index_id, name, type, is_unique, is_primary_key, is_unique_constraint, is_disabled, ignore_dup_key \
             FROM {p}sys.indexes WHERE object_id = {id} ORDER BY index_id"
        ),
        format!(
            "SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key \
             FROM {p}sys.index_columns AS ic JOIN {p}sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
             WHERE ic.object_id = {id} AND ic.key_ordinal > 0 ORDER BY ic.index_id, ic.key_ordinal"
        ),
        format!("SELECT name, is_disabled, is_instead_of_trigger FROM {p}sys.triggers WHERE parent_id = {id} ORDER BY name"),
        format!("SELECT name, is_disabled, is_not_trusted FROM {p}sys.check_constraints WHERE parent_object_id = {id} ORDER BY name"),
        format!("SELECT name, is_disabled, is_not_trusted FROM {p}sys.foreign_keys WHERE parent_object_id = {id} ORDER BY name"),
        format!("SELECT index_id, partition_number, rows FROM {p}sys.partitions WHERE object_id = {id} AND index_id IN (0, 1)"),
        format!("SELECT name, recovery_model, collation_name, compatibility_level FROM sys.databases WHERE name = {database}"),
        // Only a result says how columns are sent. A statement that fails would break a transaction that is open.
        match table.is_temporary() {
            // Servers exist whose catalogue has no temporary tables.
            true => format!("SELECT TOP 0 * FROM {table}"),
            false => format!("IF {id} IS NOT NULL SELECT TOP 0 * FROM {table}"),
        },
    ]
    .join(";\n")
}

/// Writes the schema of the object in a row of `sys.objects` under this alias.
fn schema_name(alias: &str, table: &TableName) -> String {
    match (&table.database, table.is_temporary()) {
        (_, true) => format!("OBJECT_SCHEMA_NAME({alias}.object_id, DB_ID(N'tempdb'))"),
        (Some(database), false) => {
            format!("OBJECT_SCHEMA_NAME({alias}.object_id, DB_ID({}))", literal(database))
        }
        (None, false) => format!("SCHEMA_NAME({alias}.schema_id)"),
    }
}
