//! The effect of an error beyond its statement.

use tsql::SqlError;

/// Whether an error ends the whole batch rather than the statement, as failed conversions do, and names that turn out to be none only
/// at run time.
pub(super) fn ends_batch(error: &SqlError) -> bool {
    is_failed_conversion(error)
        || matches!(error.number, 102 | 105 | 113 | 156 | 207 | 208 | 209 | 911 | 1205 | 3609 | 3616)
        || error.class >= 17
}

/// Whether an error takes the transaction with it: outside of TRY it is rolled back, within it becomes uncommittable.
pub(super) fn loses_transaction(error: &SqlError) -> bool {
    error.ends_transaction() || is_failed_conversion(error)
}

/// Whether a text was none of the type that it was converted to. An overflow (220, 8115) is no such error.
fn is_failed_conversion(error: &SqlError) -> bool {
    matches!(error.number, 235 | 241 | 242 | 245 | 293 | 295 | 8114 | 8169 | 9400..=9499)
}
