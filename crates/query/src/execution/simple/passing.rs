//! The rows that a simple query's steps pass on, batch by batch.

use arrow::array::RecordBatch;
use tsql::SqlError;

use super::{Source, Step, rows_of};
use crate::row_steps::{is_of_a_row, rows_before};

/// Returns the next rows of the source of which the steps leave any. None of the steps needs all rows.
pub(super) fn passed(source: &mut Source, steps: &mut [Step]) -> Result<Option<RecordBatch>, SqlError> {
    loop {
        if steps.iter().any(|step| matches!(step, Step::Limit(_, Some(0)))) {
            return Ok(None);
        }
        let Some(batch) = rows_of(source)? else { return Ok(None) };
        let counting = steps.iter().any(|step| matches!(step, Step::Limit(..)));
        let before = if counting { Some(steps.to_vec()) } else { None };
        let passed = match apply_all(steps, batch.clone()) {
            Err(error) if batch.num_rows() > 1 && is_of_a_row(&error) => {
                // The rows before the one that fails are rows of the result.
                let before = before.unwrap_or_else(|| steps.to_vec());
                let good = rows_before(batch.num_rows(), |rows| {
                    let mut after = before.clone();
                    let passed = apply_all(&mut after, batch.slice(0, rows)).ok()?;
                    Some((passed, after))
                });
                *source = Source::Failed(error);
                match good {
                    // A limit that they reach comes before the error.
                    Some((passed, after)) => {
                        steps.clone_from_slice(&after);
                        passed
                    }
                    None => batch.slice(0, 0),
                }
            }
            passed => passed?,
        };
        if passed.num_rows() > 0 {
            return Ok(Some(passed));
        }
    }
}

/// Applies steps to rows, one after the other.
fn apply_all(steps: &mut [Step], mut batch: RecordBatch) -> Result<RecordBatch, SqlError> {
    for step in steps {
        if batch.num_rows() == 0 {
            break;
        }
        batch = step.apply(batch)?;
    }
    Ok(batch)
}
