//! The columns by which a result is sorted, for the ORDER token.

use query::OutputColumn;
use tsql::expression::{Expr, Literal};
use tsql::query::{Query, QueryBody, Select, SelectItem};

/// Returns the numbers of the columns, from 1, by which a query's ORDER BY sorts its result; only those before the first
/// value that is none of the result's columns.
pub(super) fn sorted_columns(query: &Query, shown: &[OutputColumn]) -> Vec<u16> {
    if query.for_clause.is_some() {
        return Vec::new();
    }
    let select = match &query.body {
        QueryBody::Select(select) => Some(select.as_ref()),
        _ => None,
    };
    let numbers = query.order_by.iter().map_while(|item| number_of(&item.expr, select, shown));
    numbers.collect()
}

fn number_of(expr: &Expr, select: Option<&Select>, shown: &[OutputColumn]) -> Option<u16> {
    let number = match expr {
        Expr::Literal(Literal::Integer(digits)) => {
            digits.parse::<usize>().ok().filter(|number| (1..=shown.len()).contains(number))
        }
        _ => listed(expr, select).or_else(|| named(expr, shown)),
    };
    number.and_then(|number| u16::try_from(number).ok())
}

/// Finds an expression in a select list whose items are a column each.
fn listed(expr: &Expr, select: Option<&Select>) -> Option<usize> {
    let items = &select?.items;
    let expands = |item: &SelectItem| !matches!(item, SelectItem::Value { .. });
    if items.iter().any(expands) {
        return None;
    }
    // An alias comes before a column of the same name.
    let alias = |item: &SelectItem| match (item, expr) {
        (SelectItem::Value { alias: Some(alias), .. }, Expr::Column(path)) => {
            matches!(path.as_slice(), [name] if name.eq_ignore_ascii_case(alias))
        }
        _ => false,
    };
    let same = |item: &SelectItem| matches!(item, SelectItem::Value { expr: listed, .. } if listed == expr);
    items.iter().position(alias).or_else(|| items.iter().position(same)).map(|place| place + 1)
}

/// Finds a column by its name, if one alone has it.
fn named(expr: &Expr, shown: &[OutputColumn]) -> Option<usize> {
    let Expr::Column(path) = expr else { return None };
    let name = path.last()?;
    let mut places = shown.iter().enumerate().filter(|(_, column)| column.name.eq_ignore_ascii_case(name));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place + 1)
}
