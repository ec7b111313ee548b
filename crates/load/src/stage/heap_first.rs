//! Whether the rows of an append are better loaded into a heap whose key is built at the end, without having been asked for.

use super::{mode::Mode, shape::TableShape};
use crate::{
    catalogue_row::rows,
    client::Client,
    describe::{Storage, TableDescription},
    error::Error,
    options::{Connections, LoadOptions},
    table_name::{TableName, literal},
};

/// Smaller sources are about one batch, which a table lock and one sort serve as well.
const SOURCE_BYTES_MIN: u64 = 32 << 20;

/// Why a heap comes first.
pub(super) const REASON: &str = "several connections fill a heap side by side, and the key is built once; in the table itself each batch \
     would be merged among the rows of the others";

/// Whether a heap should come first, as far as the description of the table tells. What could turn out differently from a
/// load into the table itself excludes it: constraints, triggers, identities.
pub(crate) fn is_worth_it(target: &TableDescription, mode: &Mode, options: &LoadOptions) -> bool {
    let has_several = match options.connections {
        Connections::One => false,
        Connections::Several => true,
        // Sorted rows are built by one connection as fast, and cost the server less.
        Connections::Auto => !options.source.looks_sorted,
    };
    let is_large = options.source.bytes.is_some_and(|bytes| bytes >= SOURCE_BYTES_MIN);
    let has_constraints = target.constraints.iter().any(|constraint| !constraint.is_disabled);
    *mode == Mode::Append
        && options.may_stage
        && has_several
        && is_large
        && target.storage == Storage::Clustered
        && !target.is_view
        && !target.name.is_temporary()
        && target.rows == 0
        && target.partitions == 1
        && options.order.is_empty()
        && options.table_lock.is_none()
        && !options.fire_triggers
        && target.triggers.iter().all(|trigger| trigger.is_disabled)
        && (options.check_constraints || !has_constraints)
        && !target.columns.iter().any(|column| column.is_identity || column.is_rowversion)
        && !target.indexes.iter().any(|index| index.ignores_duplicate_keys || index.is_disabled)
}

/// The shape of the stage, or why there can be none.
pub(super) fn shape(client: &mut Client, table: &TableName) -> Result<Result<TableShape, String>, Error> {
    let refused = |why: String| {
        Ok(Err(format!("rows go into the table itself, although a heap would be faster: {why}")))
    };
    let shape = TableShape::read(client, table)?;
    let obstacles = shape.obstacles_to_any();
    if !obstacles.is_empty() {
        return refused(super::error::list(&obstacles));
    }
    let schema = shape.name.schema.as_deref().unwrap_or("dbo");
    let asked = client.query_values(&format!(
        "SELECT HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'CREATE TABLE') AS makes, \
         HAS_PERMS_BY_NAME({}, 'SCHEMA', 'ALTER') AS places, HAS_PERMS_BY_NAME({}, 'OBJECT', 'ALTER') AS switches",
        literal(&crate::table_name::quoted(schema)),
        literal(&shape.name.to_string()),
    ));
    let allowed = match asked {
        Ok(allowed) => allowed,
        Err(error) if error.server_message().is_some() => Vec::new(),
        Err(error) => return Err(error),
    };
    let is_allowed = allowed.iter().flat_map(rows).next().is_some_and(|row| {
        ["makes", "places", "switches"].iter().all(|column| row.integer(column) == Some(1))
    });
    match is_allowed {
        true => Ok(Ok(shape)),
        false => refused("the login may not create a table in this schema, or not alter this one".to_owned()),
    }
}
