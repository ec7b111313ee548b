//! Values of sequences: a few are reserved at a time, so that not every value needs a write.

use std::sync::Arc;

use tsql::SqlError;

use crate::catalogue::{ModuleDefinition, SequenceDefinition};
use crate::instance::Instance;
use crate::store_error::store_error;

/// Values that were set aside.
#[derive(Debug, Clone, Copy)]
pub struct Reserve {
    /// First value that is set aside; None: the sequence has reached its end.
    pub next: Option<i64>,
    /// Number of values that are left.
    pub left: i64,
}

/// Values that are set aside at once; a server that is killed skips what is left of them.
pub const RESERVED: i64 = 50;

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
        let reserve =
            sequences.entry(definition.object_id).or_insert(Reserve { next: declared.next, left: 0 });
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
        if reserve.left == 0 {
            reserve.left = RESERVED;
            let mut ahead = reserve.next;
            for _ in 1..RESERVED {
                ahead = ahead.and_then(|value| after(declared, value));
            }
            self.set_aside(definition, key, ahead)?;
        }
        reserve.left -= 1;
        Ok(value)
    }

    /// Writes down that values up to `next` are taken. A sequence that is not committed yet has nothing to write down.
    fn set_aside(&self, definition: &ModuleDefinition, key: &str, next: Option<i64>) -> Result<(), SqlError> {
        let mut transaction = self.store().begin();
        let Some(info) = transaction.table(key) else { return Ok(()) };
        let Some(known) = self.module(&info)? else { return Ok(()) };
        if known.definition.object_id != definition.object_id {
            return Ok(());
        }
        let mut definition = known.definition.clone();
        if let Some(sequence) = &mut definition.sequence {
            sequence.next = next;
        }
        let properties = definition.to_properties().map_err(|error| SqlError::internal(error))?;
        let mut table = transaction.open(info.id).map_err(store_error)?;
        table.set_properties(&properties).map_err(store_error)?;
        transaction.commit().map_err(store_error)?;
        Ok(())
    }
}
