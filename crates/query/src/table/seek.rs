//! Turns conditions into ranges of the clustered key or of an index: `column = constant`, IN, BETWEEN, LIKE 'beginning%', and AND
//! and OR of these. The ranges have all rows that satisfy the conditions, and may have more: the caller still checks them. A
//! condition gives no range if keys and comparisons might disagree.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Operator};
use tds::SqlType;

use crate::collation::{BINARY_KEY, GUID_ORDER, is_case_sensitive};
use crate::convert::length_limit;
use crate::datum::data_type;
use crate::key_range::{Bound, KeyRange, KeySpan, KeyTree, KeyedColumn, KeyedTable};
use crate::like::beginning;
use crate::scalar::Scalar;

/// Ranges that one scan reads; conditions that would need more are not used.
const SPANS_MAX: usize = 4096;

/// Finds the best ranges for conditions that all hold, over columns by their names in `table`. `None`: all rows must be
/// read.
pub(crate) fn seek(table: &dyn KeyedTable, conditions: &[Expr]) -> Option<KeyRange> {
    if conditions.is_empty() || !table.has_keys() {
        return None;
    }
    let mut conjuncts = Vec::new();
    conditions.iter().for_each(|condition| collect(table, condition, &mut conjuncts));
    best(table.keys(), &conjuncts)
}

/// Finds the range of the clustered key that has exactly the rows for which a condition holds. `None`: there is none,
/// or it may have other rows. `may_be_null` tells if the column at a position may be NULL.
pub(crate) fn seek_exactly(
    table: &dyn KeyedTable,
    condition: &Expr,
    may_be_null: impl Fn(usize) -> bool,
) -> Option<KeyRange> {
    let tree = table.keys().into_iter().find(|tree| tree.index.is_none())?;
    let mut terms = Terms::new();
    for condition in split_conjunction(condition) {
        let compared = match condition {
            Expr::BinaryExpr(binary) => {
                let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
                vec![match term(table, left, binary.op, right) {
                    Some(term) => (left, term),
                    None => (right, term(table, right, binary.op.swap()?, left)?),
                }]
            }
            Expr::Between(between) if !between.negated => {
                let column = between.expr.as_ref();
                let low = term(table, column, Operator::GtEq, &between.low)?;
                vec![(column, low), (column, term(table, column, Operator::LtEq, &between.high)?)]
            }
            _ => return None,
        };
        for (column, term) in compared {
            if !keeps_values(table.column(term.position)?.sql_type, column) {
                return None;
            }
            terms.push(term);
        }
    }
    let part = Part::of(&tree, &terms);
    if terms.is_empty() || part.fixed + part.sides != terms.len() {
        return None;
    }
    if let Some((position, descending)) = tree.columns.get(part.fixed).filter(|_| part.sides > 0) {
        // NULL is the least value.
        let lower = if *descending { &part.span.to } else { &part.span.from };
        let is_bounded = lower.as_ref().is_some_and(|bound| bound.columns.len() > part.fixed);
        if !is_bounded && may_be_null(*position) {
            return None;
        }
    }
    let single = tree.unique && part.fixed == tree.columns.len();
    Some(KeyRange { index: None, spans: vec![part.span], single, backward: false })
}

/// Returns true if keys compare as the condition does. The compared value is then exact in the column's type, or
/// makes no range. Times lose digits on their way into a key, and texts have several forms.
fn keeps_values(sql_type: &SqlType, column: &Expr) -> bool {
    match sql_type {
        // Wider whole numbers are the same ones.
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => true,
        SqlType::Decimal { .. } | SqlType::Date => matches!(column, Expr::Column(_)),
        _ => false,
    }
}

/// Returns true if a condition compares columns of a table that has keys with constants.
pub(crate) fn is_seekable(table: &dyn KeyedTable, condition: &Expr) -> bool {
    let mut conjuncts = Vec::new();
    if table.has_keys() {
        collect(table, condition, &mut conjuncts);
    }
    !conjuncts.is_empty()
}

/// Finds the range of the one row whose columns (positions) have these whole numbers; None: they are not the columns of a unique key, or a
/// column cannot hold its number.
pub(crate) fn seek_row(table: &dyn KeyedTable, values: &[(usize, i64)]) -> Option<KeyRange> {
    let mut terms = Terms::with_capacity(values.len());
    for (position, value) in values {
        let column = table.column(*position)?;
        if !matches!(column.sql_type, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt) {
            return None;
        }
        let value = value_for(column, &ScalarValue::Int64(Some(*value)))?;
        terms.push(Term { position: *position, relation: Relation::Equal, value });
    }
    let tree = table.keys().into_iter().find(|tree| tree.unique && tree.columns.len() == terms.len())?;
    let part = Part::of(&tree, &terms);
    (part.fixed == terms.len()).then(|| KeyRange {
        index: tree.index,
        spans: vec![part.span],
        single: true,
        backward: false,
    })
}

/// Finds the range of the rows whose columns (positions) have these values, if a key begins with them.
pub fn seek_values(table: &dyn KeyedTable, columns: &[usize], values: &[ArrayRef]) -> Option<KeyRange> {
    seek_any(table, columns, std::iter::once(values))
}

/// Finds the ranges of the rows whose columns (positions) have one of these lists of values, if a key begins with them.
pub fn seek_any<'v>(
    table: &dyn KeyedTable,
    columns: &[usize],
    lists: impl Iterator<Item = &'v [ArrayRef]>,
) -> Option<KeyRange> {
    let alternatives = lists.map(|values| {
        let terms = columns.iter().zip(values).map(|(position, value)| {
            let value = ScalarValue::try_from_array(value, 0).ok()?;
            let value = value_for(table.column(*position)?, &value)?;
            Some(Term { position: *position, relation: Relation::Equal, value })
        });
        terms.collect::<Option<Vec<_>>>()
    });
    best(table.keys(), &[alternatives.collect::<Option<Vec<_>>>()?])
}

/// The comparison of a column with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    /// Less, or equal.
    UpTo,
    /// Less.
    Before,
    /// Greater, or equal.
    From,
    /// Greater.
    After,
    /// The column's text begins with the value.
    Begins,
}

/// A comparison of a column with a value of its type.
#[derive(Debug, Clone)]
struct Term {
    position: usize,
    relation: Relation,
    value: ArrayRef,
}

/// Comparisons that all hold.
type Terms = Vec<Term>;

/// Notes what a condition and those that it joins by AND say of columns: for each, the alternatives of which one holds.
fn collect(table: &dyn KeyedTable, condition: &Expr, conjuncts: &mut Vec<Vec<Terms>>) {
    if let Expr::BinaryExpr(binary) = condition
        && binary.op == Operator::And
    {
        collect(table, &binary.left, conjuncts);
        collect(table, &binary.right, conjuncts);
    } else {
        let found = alternatives(table, condition);
        conjuncts.extend(found.filter(|found| (1..=SPANS_MAX).contains(&found.len())));
    }
}

/// Alternatives of which one holds where a condition does, none if it never does; None: it says nothing.
fn alternatives(table: &dyn KeyedTable, condition: &Expr) -> Option<Vec<Terms>> {
    let found = match condition {
        Expr::Literal(ScalarValue::Boolean(None | Some(false)), _) => Vec::new(),
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And => match (alternatives(table, &binary.left), alternatives(table, &binary.right)) {
                (Some(left), Some(right)) => product(&left, &right).unwrap_or(left),
                (one, other) => one.or(other)?,
            },
            Operator::Or => {
                let mut all = alternatives(table, &binary.left)?;
                all.extend(alternatives(table, &binary.right)?);
                all
            }
            // A comparison with NULL is never true, whatever the operator but IS DISTINCT FROM.
            Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
                if is_null(&binary.left) || is_null(&binary.right) =>
            {
                Vec::new()
            }
            operator => {
                let term = term(table, &binary.left, operator, &binary.right);
                vec![vec![term.or_else(|| self::term(table, &binary.right, operator.swap()?, &binary.left))?]]
            }
        },
        Expr::InList(list) if !list.negated => {
            let items = list.list.iter().filter(|item| !is_null(item));
            let terms = items.map(|item| Some(vec![term(table, &list.expr, Operator::Eq, item)?]));
            terms.collect::<Option<Vec<_>>>()?
        }
        Expr::Between(between) if !between.negated => vec![vec![
            term(table, &between.expr, Operator::GtEq, &between.low)?,
            term(table, &between.expr, Operator::LtEq, &between.high)?,
        ]],
        Expr::ScalarFunction(call) => match call.args.as_slice() {
            [Expr::Column(column), Expr::Literal(pattern, _)] if call.func.inner().is::<Scalar>() => {
                let position = table.position(&column.name)?;
                let pattern = pattern.try_as_str().flatten()?;
                vec![vec![begins(table, position, beginning(call.func.name(), pattern)?)?]]
            }
            _ => return None,
        },
        _ => return None,
    };
    (found.len() <= SPANS_MAX).then_some(found)
}

/// Returns true if an expression is NULL, or the key by which NULL is compared.
fn is_null(expr: &Expr) -> bool {
    let keys = ["collation_key_ci", "collation_key_cs", "instant_key", "guid_key", BINARY_KEY];
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        Expr::ScalarFunction(call) if call.func.inner().is::<Scalar>() => {
            keys.contains(&call.func.name()) && call.args.iter().all(is_null)
        }
        _ => false,
    }
}

/// Combines each of the one with each of the other. `None`: they are too many.
fn product(left: &[Terms], right: &[Terms]) -> Option<Vec<Terms>> {
    (left.len() * right.len() <= SPANS_MAX).then(|| {
        let joined = |left: &Terms, right: &Terms| left.iter().chain(right).cloned().collect();
        left.iter().flat_map(|left| right.iter().map(move |right| joined(left, right))).collect()
    })
}

/// Makes the range of a column's texts that begin with `beginning`.
fn begins(table: &dyn KeyedTable, position: usize, beginning: String) -> Option<Term> {
    let column = table.column(position)?;
    // Blanks at the end count for nothing in a key.
    let mut beginning = beginning.trim_end_matches(' ');
    if !is_case_sensitive(column.collation) {
        // The next small letter may depend on the characters behind it.
        let plain = beginning.find(|ch: char| !ch.is_ascii()).unwrap_or(beginning.len());
        beginning = beginning.get(..plain)?.trim_end_matches(' ');
    }
    if beginning.is_empty() || !column.sql_type.is_character() {
        return None;
    }
    Some(Term { position, relation: Relation::Begins, value: text_for(column, beginning)? })
}

fn term(table: &dyn KeyedTable, side: &Expr, operator: Operator, constant: &Expr) -> Option<Term> {
    let (name, key) = column_of(side)?;
    let position = table.position(name)?;
    let column = table.column(position)?;
    let is_strict = keeps_values(column.sql_type, side);
    let relation = match operator {
        Operator::Eq => Relation::Equal,
        Operator::Lt if is_strict => Relation::Before,
        Operator::Gt if is_strict => Relation::After,
        Operator::Lt | Operator::LtEq => Relation::UpTo,
        Operator::Gt | Operator::GtEq => Relation::From,
        _ => return None,
    };
    // Text, instants and identifiers are compared by keys of their own; those of a tree are the same.
    let wanted = match column.sql_type {
        sql_type if sql_type.is_character() => {
            Some(if is_case_sensitive(column.collation) { "collation_key_cs" } else { "collation_key_ci" })
        }
        SqlType::DateTimeOffset { .. } => Some("instant_key"),
        SqlType::UniqueIdentifier => Some("guid_key"),
        // A binary of the same length is compared as it is.
        SqlType::VarBinary { .. } => Some(BINARY_KEY),
        SqlType::Binary { .. } => key.filter(|key| *key == BINARY_KEY),
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
    Some(Term { position, relation, value: value_for(column, &value)? })
}

/// Returns the column of an expression that orders as it does, and the function that makes its key, if there is one.
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

/// Returns a value that has this key.
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
            // The offset is zero minutes; its sign bit is flipped.
            let value = ticks.iter().copied().chain([0x80, 0]).collect();
            Some(ScalarValue::FixedSizeBinary(10, Some(value)))
        }
        // A folded text is one that folds to itself.
        ("collation_key_ci" | "collation_key_cs" | BINARY_KEY, value) => Some(value.clone()),
        _ => None,
    }
}

/// Returns the value as one row of the column's type. `None`: NULL, or a value that the column cannot hold.
fn value_for(column: KeyedColumn<'_>, value: &ScalarValue) -> Option<ArrayRef> {
    let wanted = data_type(column.sql_type);
    if value.is_null() || matches!(column.sql_type, SqlType::Real | SqlType::Float) {
        return None;
    }
    let array = value.to_array().ok()?;
    if column.sql_type.is_character() {
        return text_for(column, array.as_string_opt::<i32>()?.value(0));
    }
    if column.sql_type.is_binary() {
        let value = array.as_binary_opt::<i32>()?.value(0);
        let length = value.len();
        let limit = length_limit(column.sql_type).unwrap_or(usize::MAX);
        if column.trims_padding {
            return (value.last() != Some(&0) && length <= limit).then_some(array);
        }
        if matches!(column.sql_type, SqlType::Binary { .. }) && length < limit {
            let mut padded = value.to_vec();
            padded.resize(limit, 0);
            return Some(Arc::new(BinaryArray::from_vec(vec![&padded])));
        }
        return (length <= limit).then_some(array);
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

/// Returns text as the column would hold it.
fn text_for(column: KeyedColumn<'_>, text: &str) -> Option<ArrayRef> {
    let text = text.trim_end_matches(' ');
    let collation = column.collation?;
    let units = match column.sql_type.is_unicode() {
        true => text.encode_utf16().count(),
        false if collation.is_utf8() => text.len(),
        false => collation.code_page().encoded_len(text).ok()?,
    };
    let limit = length_limit(column.sql_type).unwrap_or(usize::MAX);
    let missing = limit.checked_sub(units)?;
    let fixed =
        !column.trims_padding && matches!(column.sql_type, SqlType::Char { .. } | SqlType::NChar { .. });
    let padded = if fixed { format!("{text}{}", " ".repeat(missing)) } else { text.to_owned() };
    Some(Arc::new(StringArray::from(vec![padded])))
}

/// Chooses the ranges that leave the fewest rows by the conditions: a whole unique key first, then those with most
/// columns fixed, the clustered key before an index.
fn best(trees: Vec<KeyTree>, conjuncts: &[Vec<Terms>]) -> Option<KeyRange> {
    let mut best: Option<((bool, usize, bool, bool), KeyRange)> = None;
    for tree in trees {
        let alternatives = alternatives_in(&tree, conjuncts);
        let parts: Vec<Part> = alternatives.iter().map(|terms| Part::of(&tree, terms)).collect();
        let clustered = tree.index.is_none();
        let fixed = parts.iter().map(|part| part.fixed).min().unwrap_or(0);
        let least: Vec<&Part> = parts.iter().filter(|part| part.fixed == fixed).collect();
        let ranged = !least.is_empty() && least.iter().all(|part| part.sides > 0);
        // Half a range of an index alone may lead to most of the table, row by row.
        let narrow = ranged && (clustered || least.iter().all(|part| part.sides == 2));
        if fixed == 0 && !narrow {
            continue;
        }
        let single = tree.unique && fixed == tree.columns.len() && parts.len() == 1;
        let rank = (single, fixed, ranged, clustered);
        if best.as_ref().is_some_and(|(known, _)| *known >= rank) {
            continue;
        }
        let spans = parts.into_iter().map(|part| part.span).collect();
        best = Some((rank, KeyRange { index: tree.index, spans, single, backward: false }));
    }
    best.map(|(_, range)| range)
}

/// Restricts the conditions to the columns of a key, as alternatives of which one holds.
fn alternatives_in(tree: &KeyTree, conjuncts: &[Vec<Terms>]) -> Vec<Terms> {
    let place = |term: &Term| tree.columns.iter().position(|(position, _)| *position == term.position);
    let mut own: Vec<(usize, Vec<Terms>)> = Vec::new();
    for conjunct in conjuncts {
        let within =
            |terms: &Terms| -> Terms { terms.iter().filter(|term| place(term).is_some()).cloned().collect() };
        let alternatives: Vec<Terms> = conjunct.iter().map(within).collect();
        // One that is free of the key leaves all of it.
        if alternatives.iter().any(Vec::is_empty) {
            continue;
        }
        let first = alternatives.iter().flatten().filter_map(place).min().unwrap_or(usize::MAX);
        own.push((first, alternatives));
    }
    // The first columns count most: those behind them are left out if they are too many together.
    own.sort_by_key(|(first, _)| *first);
    own.into_iter().fold(vec![Terms::new()], |known, (_, more)| product(&known, &more).unwrap_or(known))
}

/// The part of a key that an alternative allows.
struct Part {
    span: KeySpan,
    /// Columns that have one value.
    fixed: usize,
    /// Bounds of the next one: 0 to 2.
    sides: usize,
}

impl Part {
    fn of(tree: &KeyTree, terms: &[Term]) -> Part {
        let mut fixed: Vec<&Term> = Vec::new();
        for (position, _) in &tree.columns {
            let equal =
                terms.iter().find(|term| term.position == *position && term.relation == Relation::Equal);
            match equal {
                Some(term) => fixed.push(term),
                None => break,
            }
        }
        let (mut low, mut high, mut begins, mut descends) = (None, None, false, false);
        if let Some((position, descending)) = tree.columns.get(fixed.len()) {
            let of = |relation: Relation| {
                terms.iter().find(|term| term.position == *position && term.relation == relation)
            };
            low = of(Relation::From).or_else(|| of(Relation::After));
            high = of(Relation::UpTo).or_else(|| of(Relation::Before));
            descends = *descending;
            if descends {
                std::mem::swap(&mut low, &mut high);
            }
            if let Some(term) = of(Relation::Begins) {
                (low, high, begins) = (Some(term), Some(term), true);
            }
        }
        let bound = |last: Option<&Term>| {
            let terms: Vec<&Term> = fixed.iter().copied().chain(last).collect();
            let is_open =
                last.is_some_and(|term| matches!(term.relation, Relation::Before | Relation::After));
            (!terms.is_empty()).then(|| Bound {
                included: !is_open,
                columns: terms.iter().map(|term| term.position).collect(),
                values: terms.iter().map(|term| Arc::clone(&term.value)).collect(),
            })
        };
        let sides = usize::from(low.is_some()) + usize::from(high.is_some());
        Part {
            span: KeySpan { from: bound(low), to: bound(high), begins, descends },
            fixed: fixed.len(),
            sides,
        }
    }
}
