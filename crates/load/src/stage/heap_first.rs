//! Decides, without an option, if the rows of an append are better loaded into a heap whose key and indexes are built at the
//! end.

use super::{mode::Mode, shape::TableShape};
use crate::{
    catalogue_row::rows,
    client::Client,
    describe::{Storage, TableDescription},
    error::Error,
    options::{Connections, LoadOptions},
    plan::batch_bytes,
    table_name::{TableName, literal},
};

/// Smaller sources are about one batch, which a table lock and one sort serve as well.
const SOURCE_BYTES_MIN: u64 = 32 << 20;

/// The bytes of a source that must be seen before a heap is known to pay.
pub(crate) const SEEN_BYTES_MIN: u64 = SOURCE_BYTES_MIN;

/// Says why a heap comes first.
pub(super) fn reason(target: &TableDescription, options: &LoadOptions) -> &'static str {
    match (target.storage, options.connections) {
        (Storage::Heap, _) => {
            "the rows are several batches: a heap without indexes takes them as they come, and the indexes are built once; \
             in the table itself each batch would be merged into them"
        }
        _ if has_secondary(target) => {
            "the rows are several batches: a heap takes them as they come, and the key and the indexes are built once; in the \
             table itself each batch would be merged into the indexes"
        }
        (_, Connections::One) => {
            "the rows are several batches out of order: a heap takes them as they come, and the key is built once; in the \
             table itself each batch would be sorted and merged among the rows of the others"
        }
        (_, Connections::Several | Connections::Auto) => {
            "several connections fill a heap side by side, and the key is built once; in the table itself each batch \
             would be merged among the rows of the others"
        }
    }
}

/// Returns true if loading into a heap first should pay, by the description of the table. Constraints, triggers and
/// identities exclude it, because the result could differ from a direct load.
pub(crate) fn is_worth_it(target: &TableDescription, mode: &Mode, options: &LoadOptions) -> bool {
    // Rows that come in order are added at the end of the clustered tree, whatever the number of batches. In other indexes they
    // belong everywhere all the same.
    let is_added_at_the_end = options.source.looks_sorted && !has_secondary(target);
    let bytes_min = match options.connections {
        // A number of rows that was asked for says when they are to be seen.
        _ if options.batch_rows.is_some() => None,
        Connections::One if is_added_at_the_end => None,
        Connections::One => Some(batch_bytes(target, options)),
        Connections::Several => Some(SOURCE_BYTES_MIN),
        // Sorted rows are built by one connection as fast, and cost the server less.
        Connections::Auto => (!is_added_at_the_end).then_some(SOURCE_BYTES_MIN),
    };
    let is_large = options.source.bytes.zip(bytes_min).is_some_and(|(bytes, least)| bytes >= least);
    let has_trees = match target.storage {
        Storage::Clustered => options.order.is_empty() || has_secondary(target),
        Storage::Heap => has_secondary(target),
        Storage::Columnstore => false,
    };
    // A stage's rows are checked with those that are there, or never.
    let is_unchecked = target.constraints.iter().any(|constraint| {
        !constraint.is_disabled && (!options.check_constraints || constraint.is_not_trusted)
    });
    *mode == Mode::Append
        && options.may_stage
        && is_large
        && has_trees
        && !target.is_view
        && !target.name.is_temporary()
        && target.rows == 0
        && target.partitions == 1
        && options.table_lock.is_none()
        && !options.fire_triggers
        && target.triggers.iter().all(|trigger| trigger.is_disabled)
        && !is_unchecked
        && !target.columns.iter().any(|column| column.is_identity || column.is_rowversion)
        && !target.indexes.iter().any(|index| index.ignores_duplicate_keys || index.is_disabled)
}

/// Returns true if the table has indexes besides the clustered one.
fn has_secondary(target: &TableDescription) -> bool {
    target.secondary_indexes().next().is_some()
}

/// Reads the shape of the stage, or says why there can be none.
pub(super) fn shape(client: &mut Client, table: &TableName) -> Result<Result<TableShape, String>, Error> {
    let refused = |why: String| {
        Ok(Err(format!("rows go into the table itself, although a heap would be faster: {why}")))
    };
    let shape = match TableShape::read(client, table) {
        Ok(shape) => shape,
        // Nobody has asked for a stage: what cannot be seen of the table ends no load.
        Err(Error::Server(error)) if !error.is_fatal() => {
            return refused(format!("the server does not describe it: {error}"));
        }
        Err(error) => return Err(error),
    };
    let obstacles = shape.obstacles_to_any();
    if !obstacles.is_empty() {
        return refused(super::error::list(&obstacles));
    }
    let schema = shape.name.schema.as_deref().unwrap_or("dbo");
    // The stage belongs to the schema's owner: what may be done with the table alone says nothing of it.
    let mut wanted = vec![("DB_NAME()".to_owned(), "DATABASE", "CREATE TABLE")];
    let in_schema = literal(&crate::table_name::quoted(schema));
    wanted.extend(["ALTER", "SELECT", "INSERT"].map(|right| (in_schema.clone(), "SCHEMA", right)));
    wanted.push((literal(&shape.name.to_string()), "OBJECT", "ALTER"));
    let parents = shape.foreign_keys.iter().map(|key| literal(&key.references.to_string()));
    wanted.extend(parents.map(|parent| (parent, "OBJECT", "REFERENCES")));
    let wanted = wanted.iter().map(|(name, class, right)| format!("({name}, '{class}', '{right}')"));
    let asked = client.query_values(&format!(
        "SELECT MIN(ISNULL(HAS_PERMS_BY_NAME(w.securable, w.class, w.permission), 0)) AS allowed \
         FROM (VALUES {}) AS w(securable, class, permission)",
        wanted.collect::<Vec<_>>().join(", ")
    ));
    let allowed = match asked {
        Ok(allowed) => allowed,
        Err(error) if error.server_message().is_some() => Vec::new(),
        Err(error) => return Err(error),
    };
    let is_allowed =
        allowed.iter().flat_map(rows).next().is_some_and(|row| row.integer("allowed") == Some(1));
    match is_allowed {
        true => Ok(Ok(shape)),
        false => refused("the login may not create and fill a table in this schema, not alter this one, or not refer to those of its foreign keys".to_owned()),
    }
}
