//! The likeness of texts: EDIT_DISTANCE, JARO_WINKLER_DISTANCE and what is made of them.

use tds::SqlType;

use super::super::typed::Typed;
use super::super::{Datum, Facts, running};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{strict, wide_text};
use tsql::SqlError;

/// Functions of likeness.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("EDIT_DISTANCE", &["left", "right"], "int", edit_distance).optional(&["most"]),
    scalar("EDIT_DISTANCE_SIMILARITY", &["left", "right"], "int", |call| {
        compared(call, SqlType::Int, |left, right| {
            let longest = left.len().max(right.len());
            let share = if longest == 0 { 1.0 } else { 1.0 - edits(left, right)? as f64 / longest as f64 };
            Ok(Datum::Int((100.0 * share).round() as i64))
        })
    }),
    scalar("JARO_WINKLER_DISTANCE", &["left", "right"], "float", |call| {
        compared(call, SqlType::Float, |left, right| Ok(Datum::Float(1.0 - jaro_winkler(left, right))))
    }),
    scalar("JARO_WINKLER_SIMILARITY", &["left", "right"], "int", |call| {
        compared(call, SqlType::Int, |left, right| {
            Ok(Datum::Int((100.0 * jaro_winkler(left, right)).round() as i64))
        })
    }),
];

type Measure = fn(&[char], &[char]) -> Result<Datum, SqlError>;

fn compared(call: &Call<'_, dyn Facts>, result: SqlType, measure: Measure) -> Result<Typed, SqlError> {
    let [left, right] = call.take()?;
    strict(call.name, vec![(left, wide_text()), (right, wide_text())], result, move |values| match values {
        [Datum::Text(left), Datum::Text(right)] => {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            measure(&left, &right)
        }
        _ => Ok(Datum::Null),
    })
}

fn edit_distance(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [left, right] = call.take()?;
    let most = call.argument_or(2, Datum::Int(-1), SqlType::Int)?;
    let arguments = vec![(left, wide_text()), (right, wide_text()), (most, SqlType::Int)];
    strict(call.name, arguments, SqlType::Int, |values| match values {
        [Datum::Text(left), Datum::Text(right), _] => {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            // A limit may end the reckoning early, and the whole distance is as good an answer.
            edits(&left, &right).map(|distance| Datum::Int(distance as i64))
        }
        _ => Ok(Datum::Null),
    })
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that make one text of another (Damerau and Levenshtein,
/// each part of a text changed once).
fn edits(left: &[char], right: &[char]) -> Result<usize, SqlError> {
    let mut before_last = vec![0_usize; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, one) in left.iter().enumerate() {
        running::check()?;
        let mut next = Vec::with_capacity(last.len());
        next.push(row + 1);
        for (column, other) in right.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut least = cell(&last, column) + usize::from(one != other);
            least = least.min(cell(&last, column + 1) + 1).min(cell(&next, column) + 1);
            let swapped = row > 0
                && column > 0
                && left.get(row - 1) == Some(other)
                && right.get(column - 1) == Some(one);
            if swapped {
                least = least.min(cell(&before_last, column - 1) + 1);
            }
            next.push(least);
        }
        before_last = std::mem::replace(&mut last, next);
    }
    Ok(last.last().copied().unwrap_or(0))
}

/// Signs at the beginning that count for more if both texts have them.
const PREFIX_MAX: usize = 4;
/// The weight of each of them.
const PREFIX_WEIGHT: f64 = 0.1;

/// Returns the likeness of Jaro and Winkler, from 0 to 1.
fn jaro_winkler(left: &[char], right: &[char]) -> f64 {
    let jaro = jaro(left, right);
    let prefix = left.iter().zip(right).take(PREFIX_MAX).take_while(|(one, other)| one == other).count();
    jaro + prefix as f64 * PREFIX_WEIGHT * (1.0 - jaro)
}

fn jaro(left: &[char], right: &[char]) -> f64 {
    if left.is_empty() && right.is_empty() {
        return 1.0;
    }
    // Signs match if they are no further apart than that.
    let reach = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; right.len()];
    let mut of_left = Vec::new();
    for (at, sign) in left.iter().enumerate() {
        let mut span = at.saturating_sub(reach)..(at + reach + 1).min(right.len());
        let found = span.find(|at| right.get(*at) == Some(sign) && taken.get(*at) == Some(&false));
        if let Some(slot) = found.and_then(|at| taken.get_mut(at)) {
            *slot = true;
            of_left.push(sign);
        }
    }
    let of_right = right.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(sign, _)| sign);
    let moved = of_left.iter().zip(of_right).filter(|(one, other)| **one != *other).count();
    let matches = of_left.len() as f64;
    if of_left.is_empty() {
        return 0.0;
    }
    let moved = (moved / 2) as f64;
    (matches / left.len() as f64 + matches / right.len() as f64 + (matches - moved) / matches) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_books() {
        for (left, right, distance, likeness) in [
            ("", "", 0, 1.0),
            ("colour", "color", 1, 0.966_667),
            ("kitten", "sitting", 3, 0.746_032),
            ("centre", "center", 1, 0.966_667),
            ("martha", "marhta", 1, 0.961_111),
            ("dwayne", "duane", 2, 0.84),
            ("abc", "", 3, 0.0),
            ("abc", "xyz", 3, 0.0),
        ] {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            assert_eq!(edits(&left, &right), Ok(distance));
            assert!((jaro_winkler(&left, &right) - likeness).abs() < 1e-6, "{left:?} {right:?}");
        }
    }
}
