//! The number of a row of the stream, carried through a query to its result.

use tsql::expression::Expr;
use tsql::query::{CommonTable, JoinKind, Query, QueryBody, Select, SelectItem, TableSource};
use tsql::same_name;

use super::ROW_COLUMN;

/// Adds the number of the stream's row as the last column of the result. False if the stream is read where its rows
/// cannot be followed; the query is then of no use.
pub(super) fn carry(query: &mut Query, source: &str) -> bool {
    carry_from(query, source, &mut Vec::new())
}

/// Makes a query carry the row number through, and returns false if it cannot. `carriers` are common tables that carry
/// it already.
fn carry_from(query: &mut Query, source: &str, carriers: &mut Vec<String>) -> bool {
    let outside = carriers.len();
    for CommonTable { name, columns, query: inner } in &mut query.with {
        if carry_from(inner, source, carriers) {
            columns.iter_mut().for_each(|columns| columns.push(ROW_COLUMN.to_owned()));
            carriers.push(name.clone());
        }
    }
    let carried = match &mut query.body {
        QueryBody::Select(select) => carry_select(select, source, carriers),
        QueryBody::Nested(inner) => carry_from(inner, source, carriers),
        QueryBody::Set { .. } => false,
    };
    carriers.truncate(outside);
    carried
}

fn carry_select(select: &mut Select, source: &str, carriers: &mut Vec<String>) -> bool {
    let carried = select.from.iter_mut().any(|table| carry_table(table, source, carriers));
    if carried {
        let expr = Expr::Column(vec![ROW_COLUMN.to_owned()]);
        select.items.push(SelectItem::Value { expr, alias: None });
    }
    carried
}

fn carry_table(table: &mut TableSource, source: &str, carriers: &mut Vec<String>) -> bool {
    match table {
        TableSource::Table { name, .. } => {
            let bare = name.database.is_none() && name.schema.is_none();
            bare && (same_name(&name.name, source)
                || carriers.iter().any(|carrier| same_name(carrier, &name.name)))
        }
        TableSource::Derived { query, columns, .. } => {
            let carried = carry_from(query, source, carriers);
            if let (true, Some(columns)) = (carried, columns) {
                columns.push(ROW_COLUMN.to_owned());
            }
            carried
        }
        TableSource::Join { kind, left, right, .. } => {
            let inner = !matches!(kind, JoinKind::CrossApply | JoinKind::OuterApply);
            carry_table(left, source, carriers) || (inner && carry_table(right, source, carriers))
        }
        _ => false,
    }
}
