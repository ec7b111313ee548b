//! The statements by which rows of a stage insert, update, upsert and delete, as each says.

use tds::Value;

use super::{
    action::{ACTION_COLUMN, RowAction},
    merge::{Merge, Merged},
};
use crate::{
    client::Client,
    error::Error,
    table_name::{TableName, quoted},
};

/// Takes the rows from the stage, within a transaction. Deletions come first: they free what insertions may need.
pub(super) fn apply(merge: &Merge, client: &mut Client, stage: &TableName) -> Result<Merged, Error> {
    refuse_known(merge, client, stage)?;
    let results = client.query_values(&batch(merge, stage))?;
    // Triggers may have results of their own, before the last.
    let row = results.last().and_then(|table| table.rows.first());
    let count = |index: usize| match row.and_then(|row| row.get(index)) {
        Some(Value::BigInt(count)) => {
            u64::try_from(*count).map_err(|_| Error::unexpected("merging", "a negative count"))
        }
        _ => Err(Error::unexpected("merging", "no counts")),
    };
    let (staged, missing, deleted) = (count(0)?, count(1)?, count(2)?);
    let (updated, inserted, deleting) = (count(3)?, count(4)?, count(5)?);
    // The remaining rows, which did not delete.
    let unchanged = [deleting, updated, inserted, missing].into_iter().fold(staged, u64::saturating_sub);
    Ok(Merged { inserted, updated, unchanged, deleted, missing: missing + count(6)? })
}

/// Refuses rows that are to be new and whose key is known: an INSERT would double them where no index has the key.
fn refuse_known(merge: &Merge, client: &mut Client, stage: &TableName) -> Result<(), Error> {
    let found = client.query_values(&format!(
        "SELECT TOP (1) {keys} FROM {stage} AS s WHERE {insert} AND EXISTS \
         (SELECT 1 FROM {target} AS t WITH (UPDLOCK, SERIALIZABLE) WHERE {matches}) ORDER BY {keys}",
        keys = merge.key_names("s."),
        insert = is(&[RowAction::Insert]),
        target = merge.target(),
        matches = merge.matches(),
    ))?;
    match found.first().and_then(|table| table.rows.first()) {
        None => Ok(()),
        Some(key) => {
            let key = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Err(Error::KnownKey { key })
        }
    }
}

/// Writes the statements and their counts. Counts of the statements themselves would include those of triggers.
fn batch(merge: &Merge, stage: &TableName) -> String {
    let (target, matches) = (merge.target(), merge.matches());
    let (update, delete) = (is(&[RowAction::Update]), is(&[RowAction::Delete]));
    let missing =
        format!("NOT EXISTS (SELECT 1 FROM {target} AS t WITH (UPDLOCK, SERIALIZABLE) WHERE {matches})");
    let updating = format!(" AND {}", is(&[RowAction::Update, RowAction::Upsert]));
    let inserting = format!(" AND {}", is(&[RowAction::Insert, RowAction::Upsert]));
    let updates = merge.update(stage, &updating);
    let updates = updates.map(|update| format!("{update};\nSET @updated = ROWCOUNT_BIG();\n"));
    format!(
        "DECLARE @missing bigint, @gone bigint, @deleted bigint = 0, @updated bigint = 0, @inserted bigint = 0;\n\
         SET @missing = (SELECT COUNT_BIG(*) FROM {stage} AS s WHERE {update} AND {missing});\n\
         SET @gone = (SELECT COUNT_BIG(*) FROM {stage} AS s WHERE {delete} AND {missing});\n\
         DELETE t FROM {target} AS t WITH (UPDLOCK, SERIALIZABLE) JOIN {stage} AS s ON {matches} WHERE {delete};\n\
         SET @deleted = ROWCOUNT_BIG();\n{updates}{inserts}\n\
         SELECT (SELECT COUNT_BIG(*) FROM {stage}) AS staged, @missing AS missing, @deleted AS deleted, \
         @updated AS updated, @inserted AS inserted, \
         (SELECT COUNT_BIG(*) FROM {stage} AS s WHERE {delete}) AS deleting, @gone AS gone",
        updates = updates.unwrap_or_default(),
        inserts = merge.insert(stage, &inserting),
    )
}

/// Writes the condition that rows of the stage have one of these actions.
fn is(actions: &[RowAction]) -> String {
    let codes: Vec<String> = actions.iter().map(|action| action.code().to_string()).collect();
    format!("s.{} IN ({})", quoted(ACTION_COLUMN), codes.join(", "))
}
