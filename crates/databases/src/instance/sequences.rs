//! Values of sequences: a few are reserved at a time, so that not every value needs a write.

use std::sync::Arc;

use tsql::SqlError;

use crate::catalogue::{ModuleDefinition, SequenceCache, SequenceDefinition};
use crate::instance::Instance;
use crate::store_error::store_error;

/// Values that were set aside.
#[derive(Debug, Clone, Copy)]
pub struct Reserve {
    /// First value that is set aside; None: the sequence has reached its end.
    pub next: Option<i64>,
    /// Number of values that are left.
    pub left: u32,
    /// The last value that was given out.
    pub last: Option<i64>,
}

/// Returns how many values are set aside at once; a server that is killed skips what is left of them.
fn reserved(cache: SequenceCache) -> u32 {
    match cache {
        SequenceCache::Any => 50,
        SequenceCache::Values(values) => values.max(1),
        SequenceCache::No => 1,
    }
}

/// Returns the value after another one; None after the last.
pub fn after(sequence: &SequenceDefinition, value: i64) -> Option<i64> {
    let next = value
        .checked_add(sequence.increment)
        .filter(|next| (sequence.minimum..=sequence.maximum).contains(next));
    match next {
        None if sequence.cycle && sequence.increment > 0 => Some(sequence.minimum),
        None if sequence.cycle => Some(sequence.maximum),
        next => next,
    }
}

impl Instance {
    /// Takes the next value of a sequence.
    ///
    /// # Errors
    /// Error 11728 if there is none left.
    pub fn next_of_sequence(
        self: &Arc<Self>,
        definition: &ModuleDefinition,
        key: &str,
    ) -> Result<i64, SqlError> {
        let Some(declared) = &definition.sequence else {
            return Err(SqlError::internal("a sequence without values"));
        };
        let mut sequences = self.sequences.lock();
        let reserve = sequences.entry(definition.object_id).or_insert(Reserve {
            next: declared.next,
            left: 0,
            last: None,
        });
        let Some(value) = reserve.next else {
            return Err(SqlError::new(
                11728,
                16,
                1,
                format!(
                    "The sequence object '{}' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.",
                    definition.name
                ),
            ));
        };
        reserve.next = after(declared, value);
        reserve.last = Some(value);
        if reserve.left == 0 {
            reserve.left = reserved(declared.cache);
            let (mut last, mut ahead) = (value, reserve.next);
            for _ in 1..reserve.left {
                last = ahead.unwrap_or(last);
                ahead = ahead.and_then(|value| after(declared, value));
            }
            self.set_aside(definition, key, ahead, last)?;
        }
        reserve.left -= 1;
        Ok(value)
    }

    /// Writes down that values up to `next` are taken. A sequence that is not committed yet has nothing to write down.
    fn set_aside(
        &self,
        definition: &ModuleDefinition,
        key: &str,
        next: Option<i64>,
        last: i64,
    ) -> Result<(), SqlError> {
        let mut transaction = self.store().begin();
        let Some(info) = transaction.table(key) else { return Ok(()) };
        let Some(known) = self.module(&info)? else { return Ok(()) };
        if known.definition.object_id != definition.object_id {
            return Ok(());
        }
        let mut definition = known.definition.clone();
        if let Some(sequence) = &mut definition.sequence {
            (sequence.next, sequence.last) = (next, Some(last));
        }
        let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
        let mut table = transaction.open(info.id).map_err(store_error)?;
        table.set_properties(&properties).map_err(store_error)?;
        transaction.commit().map_err(store_error)?;
        Ok(())
    }
}
