//! Makes the options of a load into a table, for every verb that loads.

use std::time::Duration;

use load::{BatchTransaction, LoadOptions, RetryPolicy};
use rows::text::spelling::TextSpelling;
use rows::{CastOptions, Mapping};

use crate::options::{BulkOptions, Choice, ColumnOptions, ConversionOptions, WriterCount, WriterOptions};

/// Time for which transient errors are tried again, if it is not given.
const RETRY_FOR: Duration = Duration::from_secs(300);

/// Returns how rows are loaded. Columns go by name, unless the options say otherwise.
pub fn load_options(
    bulk: &BulkOptions,
    columns: &ColumnOptions,
    conversions: &ConversionOptions,
    writers: &WriterOptions,
    spelling: TextSpelling,
) -> LoadOptions {
    let mapping = match (columns.map.is_empty(), columns.by_position) {
        (false, _) => Mapping::Explicit(columns.map.clone()),
        (true, true) => Mapping::ByPosition,
        (true, false) => Mapping::ByName,
    };
    LoadOptions {
        mapping,
        cast: CastOptions {
            allow_truncate: conversions.allow_truncate,
            allow_rounding: conversions.allow_rounding,
            replacement: conversions.replacement,
            nested_as_json: conversions.nested_as_json,
            drop_time_zone: conversions.drop_time_zone,
            spelling,
            ..CastOptions::default()
        },
        batch_rows: bulk.batch_rows,
        table_lock: bulk.table_lock.map(|choice| choice == Choice::On),
        by_partition: writers.by_partition.map(|choice| choice == Choice::On),
        keep_identity: bulk.keep_identity,
        keep_nulls: bulk.keep_nulls,
        check_constraints: bulk.check_constraints,
        fire_triggers: bulk.fire_triggers,
        allow_encrypted_values: bulk.allow_encrypted_values,
        transaction: match bulk.autocommit {
            true => BatchTransaction::Autocommit,
            false => BatchTransaction::Explicit,
        },
        order: bulk.order.clone(),
        ..LoadOptions::default()
    }
    .with_writers(writers.count())
}

impl WriterOptions {
    /// Returns how many connections load; `None`: as many as make the load faster.
    pub fn count(&self) -> Option<usize> {
        match self.writers {
            Some(WriterCount::Fixed(writers)) => Some(writers.into()),
            Some(WriterCount::Auto) => None,
            None => Some(1),
        }
    }

    /// Returns what is tried again: nothing, unless the options say anything of writers.
    pub fn retry(&self) -> RetryPolicy {
        let patience = match self.retry_for {
            Some(seconds) => Duration::from_secs(seconds.into()),
            None if self.is_asked() => RETRY_FOR,
            None => Duration::ZERO,
        };
        if patience.is_zero() { RetryPolicy::NONE } else { RetryPolicy::lasting(patience) }
    }
}
