//! The WHERE clause of a filtered index.
//!
//! The grammar is that of the T-SQL reference: comparisons of a column with a constant, IN, IS [NOT] NULL, joined by AND.

use std::cmp::Ordering;

use arrow::array::ArrayRef;
use query::convert::convert;
use query::{Datum, is_case_sensitive, order_of};
use tds::SqlType;
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{Comparison, Expr, Literal, UnaryOperator};
use tsql::parse_expression;

use crate::catalogue::table::{ColumnDefinition, TableDefinition};

/// The filter of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFilter {
    /// The terms, all of which must hold.
    pub terms: Vec<FilterCondition>,
}

/// A condition of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterCondition {
    /// Position of the column in the table.
    pub column: usize,
    /// The condition for its value.
    pub test: ColumnTest,
}

/// The condition for a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnTest {
    /// IS NULL, or IS NOT NULL.
    Null(bool),
    /// The value compares so with one of these values of its type.
    Compare(Comparison, Vec<Datum>),
}

/// Makes error 10735: a filter that no index can have.
pub fn wrong_filter(index: &str, table: &str) -> SqlError {
    let text = format!("Incorrect WHERE clause for filtered index '{index}' on table '{table}'.");
    SqlError::new(10735, 15, 1, text)
}

impl RowFilter {
    /// Parses the filter of an index.
    ///
    /// # Errors
    /// Error 10735 for a condition that no filter can have, 207 for an unknown column.
    pub fn new(text: &str, index: &str, table: &TableDefinition) -> Result<RowFilter, SqlError> {
        let refused = || wrong_filter(index, &table.name);
        let mut terms = Vec::new();
        let mut open = vec![parse_expression(text)?];
        while let Some(expr) = open.pop() {
            match expr {
                Expr::And(left, right) => open.extend([*right, *left]),
                other => {
                    let (path, test) = parted(&other).ok_or_else(refused)?;
                    let name = path.last().ok_or_else(refused)?;
                    let column = table.position(name).ok_or_else(|| errors::INVALID_COLUMN.with([name]))?;
                    let definition = table.columns.get(column).ok_or_else(refused)?;
                    if definition.computed.is_some() {
                        return Err(computed(index, table, definition));
                    }
                    let test = match test {
                        Test::Null(null) => ColumnTest::Null(null),
                        Test::Compare(comparison, constants) => {
                            let values =
                                constants.iter().map(|constant| value_for(constant, &definition.sql_type));
                            ColumnTest::Compare(
                                comparison,
                                values.collect::<Option<_>>().ok_or_else(refused)?,
                            )
                        }
                    };
                    terms.push(FilterCondition { column, test });
                }
            }
        }
        Ok(RowFilter { terms })
    }

    /// Lists the positions of the columns that the filter reads.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().map(|term| term.column)
    }

    /// Marks the rows that pass the filter. `columns` gives the array of a column by its position in the
    /// table.
    pub fn mask(
        &self,
        table: &TableDefinition,
        rows: usize,
        columns: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<Vec<bool>, SqlError> {
        let mut mask = vec![true; rows];
        for term in &self.terms {
            let (Some(array), Some(column)) = (columns(term.column), table.columns.get(term.column)) else {
                return Err(SqlError::internal("a filter of a column that is not there"));
            };
            for (row, kept) in mask.iter_mut().enumerate().filter(|(_, kept)| **kept) {
                *kept = term.test.holds(&Datum::read(array.as_ref(), &column.sql_type, row)?, column);
            }
        }
        Ok(mask)
    }
}

impl ColumnTest {
    fn holds(&self, value: &Datum, column: &ColumnDefinition) -> bool {
        match self {
            ColumnTest::Null(null) => value.is_null() == *null,
            ColumnTest::Compare(comparison, constants) => {
                let fold = !is_case_sensitive(column.collation());
                let [less, equal, greater] = relations(*comparison);
                !value.is_null()
                    && constants.iter().any(|constant| match order_of(value, constant, fold) {
                        Ordering::Less => less,
                        Ordering::Equal => equal,
                        Ordering::Greater => greater,
                    })
            }
        }
    }
}

/// Returns for a comparison if it holds of less, equal and greater values.
pub fn relations(comparison: Comparison) -> [bool; 3] {
    match comparison {
        Comparison::Equal | Comparison::NotDistinct => [false, true, false],
        Comparison::NotEqual | Comparison::Distinct => [true, false, true],
        Comparison::Less => [true, false, false],
        Comparison::LessOrEqual => [true, true, false],
        Comparison::Greater => [false, false, true],
        Comparison::GreaterOrEqual => [false, true, true],
    }
}

enum Test<'e> {
    Null(bool),
    Compare(Comparison, Vec<&'e Expr>),
}

/// Splits a condition into its column and the test of it.
fn parted(expr: &Expr) -> Option<(&[String], Test<'_>)> {
    let (column, test) = match expr {
        Expr::IsNull(column, negated) => (column.as_ref(), Test::Null(!negated)),
        // A filter has comparisons for which NULL is never true.
        Expr::Compare(_, Comparison::Distinct | Comparison::NotDistinct, _) => return None,
        Expr::Compare(left, comparison, right) => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(_), right) => (left.as_ref(), Test::Compare(*comparison, vec![right])),
            (left, _) => (right.as_ref(), Test::Compare(turned(*comparison), vec![left])),
        },
        Expr::InList { value, list, negated: false } => {
            (value.as_ref(), Test::Compare(Comparison::Equal, list.iter().collect()))
        }
        _ => return None,
    };
    match column {
        Expr::Column(path) => Some((path, test)),
        _ => None,
    }
}

/// Turns a comparison round, as its sides are exchanged.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Returns a constant as a value of a type; None: it is no constant, or NULL.
fn value_for(constant: &Expr, wanted: &SqlType) -> Option<Datum> {
    let (value, from) = constant_of(constant)?;
    convert(value, &from, wanted, 0).ok().filter(|value| !value.is_null())
}

/// Returns a constant as a value of a type, if it becomes one without loss; None: it is no constant, or NULL.
pub fn constant_as(constant: &Expr, wanted: &SqlType) -> Option<Datum> {
    let (value, from) = constant_of(constant)?;
    let converted = convert(value.clone(), &from, wanted, 0).ok().filter(|value| !value.is_null())?;
    let is_exact = match (&value, &converted) {
        (Datum::Text(before), Datum::Text(after)) => {
            before.trim_end_matches(' ') == after.trim_end_matches(' ')
        }
        (Datum::Text(_), Datum::Int(_) | Datum::Decimal(_)) => {
            // Wide enough for whole numbers, and for the digits of money and most decimals.
            let wide = SqlType::Numeric { precision: 38, scale: 18 };
            let as_written = convert(value, &from, &wide, 0).ok()?;
            convert(converted.clone(), wanted, &wide, 0).is_ok_and(|own| own == as_written)
        }
        (Datum::Text(_), _) => true,
        _ => convert(converted.clone(), wanted, &from, 0).is_ok_and(|back| back == value),
    };
    Some(converted).filter(|_| is_exact)
}

/// Returns the value and type of a constant: a number is its digits, from which every numeric type can be
/// read.
fn constant_of(expr: &Expr) -> Option<(Datum, SqlType)> {
    let text = |text: &str| {
        let length = tds::Length::Max;
        Some((Datum::Text(text.to_owned()), SqlType::NVarChar { length }))
    };
    match expr {
        Expr::Literal(Literal::Integer(digits) | Literal::Decimal(digits) | Literal::Money(digits)) => {
            text(digits)
        }
        Expr::Literal(Literal::Float(digits)) => Some((Datum::Float(digits.parse().ok()?), SqlType::Float)),
        Expr::Literal(Literal::Text { value, .. }) => text(value),
        Expr::Literal(Literal::Binary(bytes)) => {
            Some((Datum::Binary(bytes.clone()), SqlType::VarBinary { length: tds::Length::Max }))
        }
        Expr::Unary(UnaryOperator::Minus, inner) => match constant_of(inner)? {
            (Datum::Text(digits), _) => text(&format!("-{digits}")),
            (Datum::Float(value), sql_type) => Some((Datum::Float(-value), sql_type)),
            _ => None,
        },
        Expr::Unary(UnaryOperator::Plus, inner) => constant_of(inner),
        Expr::Cast { value, sql_type, style, lenient: false, .. } => {
            let style = match style.as_deref().map(constant_of) {
                None => 0,
                Some(Some((Datum::Text(digits), _))) => digits.parse().ok()?,
                Some(_) => return None,
            };
            let (value, from) = constant_of(value)?;
            Some((convert(value, &from, sql_type, style).ok()?, sql_type.clone()))
        }
        _ => None,
    }
}

fn computed(index: &str, table: &TableDefinition, column: &ColumnDefinition) -> SqlError {
    let text = format!(
        "Filtered index '{index}' cannot be created on table '{}' because the column '{}' in the filter expression is a computed column. Rewrite the filter expression so that it does not include this column.",
        table.name, column.name
    );
    SqlError::new(10609, 16, 1, text)
}
