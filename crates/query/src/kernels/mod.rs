//! Column forms of functions.
//!
//! A function is defined by its value form, which maps the values of a row to a value. A column form computes the same for all rows
//! of a batch without a [`Datum`](crate::Datum) for each value. It leaves rows to the value form that are rare or that fail, so the
//! value form alone knows errors and odd cases.

mod columns;
mod conversion;
mod decimals;
mod joins;
mod letter_case;
mod passes;
mod pieces;
#[cfg(test)]
mod tests;
mod text_column;

use std::sync::Arc;

use arrow::array::ArrayRef;
use tsql::SqlError;

pub(crate) use columns::{Columns, ValueForm};
pub(crate) use conversion::conversion;
pub(crate) use decimals::{cut, negation, operation};
pub(crate) use joins::{concatenated, joined, replaced};
pub(crate) use letter_case::{LetterCase, cased};
pub(crate) use pieces::{end_of, length, substring, trimmed, window};
pub(crate) use text_column::TextColumn;

/// Computes a column, or gives None if the value form is to compute it.
pub(crate) type ColumnForm = Arc<dyn Fn(&Columns<'_>) -> Result<Option<ArrayRef>, SqlError> + Send + Sync>;
