//! Conditions that a key answers: `column = constant` and the like, as a range of the clustered key or of an index.
//!
//! A range holds all rows that satisfy the conditions, and may hold more: whoever asked still checks them. What is not surely the same
//! in a key as in a comparison gives no range.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};
use tds::SqlType;

use super::collation::{GUID_ORDER, is_case_sensitive};
use super::convert::length_limit;
use super::datum::data_type;
use super::scalar::Scalar;
use crate::catalogue::{ColumnDefinition, TableDefinition};
use crate::storage::{Bound, KeyRange, KeyTree, key_trees};

/// The best range for conditions that all hold, over columns by their names in `table`; None: all rows are to be looked at.
pub(super) fn seek(table: &TableDefinition, conditions: &[Expr]) -> Option<KeyRange> {
    if conditions.is_empty() || !table.has_indexes() {
        return None;
    }
    let mut terms = Vec::new();
    conditions.iter().for_each(|condition| collect(table, condition, &mut terms));
    best(key_trees(table), &terms)
}

/// Whether a condition compares a column of a table that has keys with a constant.
pub(super) fn is_seekable(table: &TableDefinition, condition: &Expr) -> bool {
    let mut terms = Vec::new();
    if table.has_indexes() {
        collect(table, condition, &mut terms);
    }
    !terms.is_empty()
}

/// The range of the rows whose columns (positions) have these values, if a key begins with them.
pub(crate) fn seek_values(
    table: &TableDefinition,
    columns: &[usize],
    values: &[ArrayRef],
) -> Option<KeyRange> {
    let terms = columns.iter().zip(values).map(|(position, value)| {
        let value = ScalarValue::try_from_array(value, 0).ok()?;
        let value = value_for(table.columns.get(*position)?, &value)?;
        Some(Term { position: *position, operator: Operator::Eq, value })
    });
    best(key_trees(table), &terms.collect::<Option<Vec<_>>>()?)
}

/// A comparison of a column with a value of its type.
#[derive(Debug)]
struct Term {
    position: usize,
    operator: Operator,
    value: ArrayRef,
}

fn collect(table: &TableDefinition, condition: &Expr, terms: &mut Vec<Term>) {
    let Expr::BinaryExpr(binary) = condition else { return };
    if binary.op == Operator::And {
        collect(table, &binary.left, terms);
        collect(table, &binary.right, terms);
        return;
    }
    let term = match term(table, &binary.left, binary.op, &binary.right) {
        None => binary.op.swap().and_then(|op| term(table, &binary.right, op, &binary.left)),
        found => found,
    };
    terms.extend(term);
}

fn term(table: &TableDefinition, column: &Expr, operator: Operator, constant: &Expr) -> Option<Term> {
    if !matches!(operator, Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq) {
        return None;
    }
    let (name, key) = column_of(column)?;
    let position = table.columns.iter().position(|own| own.name == name)?;
    let column = table.columns.get(position)?;
    // Text, instants and identifiers are compared by keys of their own; those of a tree are the same.
    let wanted = match &column.sql_type {
        sql_type if sql_type.is_character() => {
            Some(if is_case_sensitive(column.collation()) { "collation_key_cs" } else { "collation_key_ci" })
        }
        SqlType::DateTimeOffset { .. } => Some("instant_key"),
        SqlType::UniqueIdentifier => Some("guid_key"),
        _ => None,
    };
    if key != wanted {
        return None;
    }
    let value = match (constant, wanted) {
        (Expr::Literal(value, _), None) => value.clone(),
        (Expr::Literal(value, _), Some(wanted)) => from_key(wanted, value)?,
        // Not computed yet.
        (Expr::ScalarFunction(call), Some(wanted)) if call.func.name() == wanted => {
            match call.args.as_slice() {
                [Expr::Literal(value, _)] => value.clone(),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Term { position, operator, value: value_for(column, &value)? })
}

/// The column of an expression that orders as it does, and the function that makes its key, if there is one.
fn column_of(expr: &Expr) -> Option<(&str, Option<&str>)> {
    match expr {
        Expr::Column(column) => Some((&column.name, None)),
        // Only widening ones stand in comparisons; the value is brought back, or there is no range.
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Column(column) => Some((&column.name, None)),
            _ => None,
        },
        Expr::ScalarFunction(call) if call.func.inner().is::<Scalar>() => match call.args.as_slice() {
            [Expr::Column(column)] => Some((&column.name, Some(call.func.name()))),
            _ => None,
        },
        _ => None,
    }
}

/// A value that has this key.
fn from_key(key: &str, value: &ScalarValue) -> Option<ScalarValue> {
    match (key, value) {
        ("guid_key", ScalarValue::FixedSizeBinary(16, Some(bytes))) => {
            let mut value = vec![0; 16];
            for (byte, place) in bytes.iter().zip(GUID_ORDER) {
                *value.get_mut(place)? = *byte;
            }
            Some(ScalarValue::FixedSizeBinary(16, Some(value)))
        }
        ("instant_key", ScalarValue::FixedSizeBinary(8, Some(ticks))) => {
            let value = ticks.iter().copied().chain([0, 0]).collect();
            Some(ScalarValue::FixedSizeBinary(10, Some(value)))
        }
        // A folded text is one that folds to itself.
        ("collation_key_ci" | "collation_key_cs", value) => Some(value.clone()),
        _ => None,
    }
}

/// The value as one row of the column's type; None: NULL, or nothing that the column could hold.
fn value_for(column: &ColumnDefinition, value: &ScalarValue) -> Option<ArrayRef> {
    let wanted = data_type(&column.sql_type);
    if value.is_null() || matches!(column.sql_type, SqlType::Real | SqlType::Float) {
        return None;
    }
    let array = value.to_array().ok()?;
    if column.sql_type.is_character() {
        return text_for(column, array.as_string_opt::<i32>()?.value(0));
    }
    if column.sql_type.is_binary() {
        let length = array.as_binary_opt::<i32>()?.value(0).len();
        let limit = length_limit(&column.sql_type).unwrap_or(usize::MAX);
        let fixed = matches!(column.sql_type, SqlType::Binary { .. });
        return (if fixed { length == limit } else { length <= limit }).then_some(array);
    }
    if array.data_type() == &wanted {
        return Some(array);
    }
    let number = |data_type: &DataType| data_type.is_integer() || matches!(data_type, DataType::Boolean);
    if let (DataType::FixedSizeBinary(width), DataType::FixedSizeBinary(own)) = (array.data_type(), &wanted) {
        return (width == own).then_some(array);
    }
    if !number(array.data_type()) || !number(&wanted) {
        return None;
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let own = cast_with_options(&array, &wanted, &strict).ok()?;
    let back = cast_with_options(&own, array.data_type(), &strict).ok()?;
    (back.as_ref() == array.as_ref()).then_some(own)
}

/// Text as the column would hold it.
fn text_for(column: &ColumnDefinition, text: &str) -> Option<ArrayRef> {
    let text = text.trim_end_matches(' ');
    let collation = column.collation()?;
    let units = match column.sql_type.is_unicode() {
        true => text.encode_utf16().count(),
        false if collation.is_utf8() => text.len(),
        false => collation.code_page().encoded_len(text).ok()?,
    };
    let limit = length_limit(&column.sql_type).unwrap_or(usize::MAX);
    let missing = limit.checked_sub(units)?;
    let fixed = matches!(column.sql_type, SqlType::Char { .. } | SqlType::NChar { .. });
    let padded = if fixed { format!("{text}{}", " ".repeat(missing)) } else { text.to_owned() };
    Some(Arc::new(StringArray::from(vec![padded])))
}

/// The range that leaves the fewest rows, as far as the terms say: a whole unique key first, then that with most columns fixed, the
/// clustered key before an index.
fn best(trees: Vec<KeyTree>, terms: &[Term]) -> Option<KeyRange> {
    let mut best: Option<((bool, usize, bool, bool), KeyRange)> = None;
    for tree in trees {
        let mut fixed: Vec<&Term> = Vec::new();
        for (position, _) in &tree.columns {
            let equal = terms.iter().find(|term| term.position == *position && term.operator == Operator::Eq);
            match equal {
                Some(term) => fixed.push(term),
                None => break,
            }
        }
        let (mut low, mut high) = (None, None);
        if let Some((position, descending)) = tree.columns.get(fixed.len()) {
            let of = |operators: [Operator; 2]| {
                terms.iter().find(|term| term.position == *position && operators.contains(&term.operator))
            };
            (low, high) = (of([Operator::Gt, Operator::GtEq]), of([Operator::Lt, Operator::LtEq]));
            if *descending {
                std::mem::swap(&mut low, &mut high);
            }
        }
        let clustered = tree.index.is_none();
        let ranged = low.is_some() || high.is_some();
        // A range of an index alone may lead to most of the table, row by row.
        if fixed.is_empty() && !(clustered && ranged) {
            continue;
        }
        let single = tree.unique && fixed.len() == tree.columns.len();
        let rank = (single, fixed.len(), ranged, clustered);
        if best.as_ref().is_some_and(|(known, _)| *known >= rank) {
            continue;
        }
        let bound = |last: Option<&Term>| {
            let terms: Vec<&Term> = fixed.iter().copied().chain(last).collect();
            (!terms.is_empty()).then(|| Bound {
                columns: terms.iter().map(|term| term.position).collect(),
                values: terms.iter().map(|term| Arc::clone(&term.value)).collect(),
            })
        };
        best = Some((rank, KeyRange { index: tree.index, from: bound(low), to: bound(high), single }));
    }
    best.map(|(_, range)| range)
}
