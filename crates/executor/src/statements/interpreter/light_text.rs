//! Recognises light requests: a few statements that read or write a few rows of stored tables by plain expressions.
//!
//! This is decided by syntax, once for each text, and in doubt against it: other requests only pay for a change of thread. If a
//! light statement has to wait for a lock or to plan a query at run time, it will [leave](databases::waiting::Placement::leave).

use introspection::functions;
use tsql::ObjectName;
use tsql::ast::{Delete, Execute, Insert, InsertSource, SetOption, Statement, StatementKind, Update};
use tsql::expression::{Expr, Literal};
use tsql::hints::TableHints;
use tsql::parse_batch;
use tsql::query::{JoinKind, Query, QueryBody, Select, SelectItem, SetOperator, TableSource};

/// Statements of a light batch.
const STATEMENTS_MAX: usize = 16;
/// Rows of a light VALUES, items of a light IN.
const ITEMS_MAX: usize = 64;
/// Tables of a light query.
const TABLES_MAX: usize = 8;
/// Depth of sp_executesql within a text.
const DEPTH_MAX: u32 = 1;

/// Returns the tables that light statements name; `None` if they are not light.
pub(crate) fn light_tables(statements: &[Statement]) -> Option<Vec<ObjectName>> {
    let mut tables = Vec::new();
    let light = statements.len() <= STATEMENTS_MAX
        && statements.iter().all(|statement| statement_is_light(statement, &mut tables, 0));
    light.then_some(tables)
}

fn statement_is_light(statement: &Statement, tables: &mut Vec<ObjectName>, depth: u32) -> bool {
    match &statement.kind {
        StatementKind::Query(query) => query_is_light(query, tables),
        StatementKind::Insert(insert) => insert_is_light(insert, tables),
        StatementKind::Update(update) => update_is_light(update, tables),
        StatementKind::Delete(delete) => delete_is_light(delete, tables),
        StatementKind::SetVariable { value, .. } | StatementKind::Print(value) => is_plain(value),
        StatementKind::SetOption(option) => match option {
            SetOption::Value { value, .. } => is_plain(value),
            _ => true,
        },
        StatementKind::Declare(declarations) => {
            declarations.iter().all(|declaration| declaration.value.as_ref().is_none_or(is_plain))
        }
        StatementKind::If { condition, then, otherwise } => {
            is_plain(condition)
                && statement_is_light(then, tables, depth)
                && otherwise.as_ref().is_none_or(|otherwise| statement_is_light(otherwise, tables, depth))
        }
        StatementKind::Block(statements) => {
            statements.len() <= STATEMENTS_MAX
                && statements.iter().all(|statement| statement_is_light(statement, tables, depth))
        }
        StatementKind::Execute(execute) => execute_is_light(execute, tables, depth),
        StatementKind::Use(_)
        | StatementKind::BeginTransaction(_)
        | StatementKind::Commit
        | StatementKind::Rollback(_)
        | StatementKind::Save(_)
        | StatementKind::Nothing => true,
        _ => false,
    }
}

/// Returns true for sp_executesql of a light constant text.
fn execute_is_light(execute: &Execute, tables: &mut Vec<ObjectName>, depth: u32) -> bool {
    if !execute.procedure.name.eq_ignore_ascii_case("sp_executesql") || depth >= DEPTH_MAX {
        return false;
    }
    let mut values = execute.arguments.iter().filter_map(|argument| argument.value.as_ref());
    let Some(Expr::Literal(Literal::Text { value: text, .. })) = values.next() else { return false };
    values.all(is_plain)
        && parse_batch(text, true).is_ok_and(|statements| {
            statements.len() <= STATEMENTS_MAX
                && statements.iter().all(|statement| statement_is_light(statement, tables, depth + 1))
        })
}

fn query_is_light(query: &Query, tables: &mut Vec<ObjectName>) -> bool {
    query.with.is_empty()
        && query.for_clause.is_none()
        && query.order_by.iter().all(|item| is_plain(&item.expr))
        && query.offset.as_ref().is_none_or(is_plain)
        && query.fetch.as_ref().is_none_or(is_plain)
        && body_is_light(&query.body, tables)
}

fn body_is_light(body: &QueryBody, tables: &mut Vec<ObjectName>) -> bool {
    match body {
        QueryBody::Select(select) => select_is_light(select, tables),
        QueryBody::Set { operator: SetOperator::Union, left, right, .. } => {
            body_is_light(left, tables) && body_is_light(right, tables)
        }
        QueryBody::Set { .. } | QueryBody::Nested(_) => false,
    }
}

fn select_is_light(select: &Select, tables: &mut Vec<ObjectName>) -> bool {
    let plain = select.top.as_ref().is_none_or(|top| is_plain(&top.count))
        && select.into.is_none()
        && select.grouping_sets.is_none()
        && select.group_by.iter().all(is_plain)
        && select.having.as_ref().is_none_or(is_plain)
        && select.filter.as_ref().is_none_or(|filter| condition_is_light(filter, tables));
    let items = select.items.iter().all(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::Value { expr, .. } => is_plain(expr),
        // Assignments from rows have a way of their own.
        SelectItem::Assign { expr, .. } => select.from.is_empty() && is_plain(expr),
    });
    plain && items && select.from.iter().all(|source| source_is_light(source, tables))
}

fn source_is_light(source: &TableSource, tables: &mut Vec<ObjectName>) -> bool {
    match source {
        TableSource::Table { name, hints, .. } if !hints.changes_reading() && tables.len() < TABLES_MAX => {
            tables.push(name.clone());
            true
        }
        TableSource::Derived { query, .. } => query_is_light(query, tables),
        TableSource::Join { kind: JoinKind::Inner | JoinKind::Left | JoinKind::Cross, left, right, on } => {
            source_is_light(left, tables)
                && source_is_light(right, tables)
                && on.as_ref().is_none_or(is_plain)
        }
        _ => false,
    }
}

/// Returns true for a light condition, in which EXISTS may stand beside others.
fn condition_is_light(condition: &Expr, tables: &mut Vec<ObjectName>) -> bool {
    match condition {
        Expr::And(left, right) => condition_is_light(left, tables) && condition_is_light(right, tables),
        Expr::Exists(query) => query_is_light(query, tables),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::Exists(query) => query_is_light(query, tables),
            inner => is_plain(inner),
        },
        condition => is_plain(condition),
    }
}

fn insert_is_light(insert: &Insert, tables: &mut Vec<ObjectName>) -> bool {
    tables.push(insert.table.clone());
    let source = match &insert.source {
        InsertSource::Values(rows) => {
            rows.len() <= ITEMS_MAX && rows.iter().flatten().flatten().all(is_plain)
        }
        InsertSource::DefaultValues => true,
        _ => false,
    };
    source && insert.output.is_none()
}

fn update_is_light(update: &Update, tables: &mut Vec<ObjectName>) -> bool {
    tables.push(update.target.clone());
    update.with.is_empty()
        && update.from.is_empty()
        && update.output.is_none()
        && update.hints == TableHints::default()
        && update.top.as_ref().is_none_or(|top| is_plain(&top.count))
        && update.filter.as_ref().is_none_or(is_plain)
        && update
            .assignments
            .iter()
            .all(|assignment| assignment.variable.is_none() && assignment.value.as_ref().is_none_or(is_plain))
}

fn delete_is_light(delete: &Delete, tables: &mut Vec<ObjectName>) -> bool {
    tables.push(delete.target.clone());
    delete.with.is_empty()
        && delete.from.is_empty()
        && delete.output.is_none()
        && delete.hints == TableHints::default()
        && delete.top.as_ref().is_none_or(|top| is_plain(&top.count))
        && delete.filter.as_ref().is_none_or(is_plain)
}

/// Returns true for an expression without queries and without any but the quick functions.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Column(_) | Expr::Variable(_) => true,
        Expr::Unary(_, value) | Expr::Not(value) | Expr::IsNull(value, _) | Expr::Collate(value, _) => {
            is_plain(value)
        }
        Expr::Binary(left, _, right)
        | Expr::Compare(left, _, right)
        | Expr::And(left, right)
        | Expr::Or(left, right) => is_plain(left) && is_plain(right),
        Expr::Between { value, low, high, .. } => is_plain(value) && is_plain(low) && is_plain(high),
        Expr::InList { value, list, .. } => {
            list.len() <= ITEMS_MAX && is_plain(value) && list.iter().all(is_plain)
        }
        Expr::Like { value, pattern, .. } => is_plain(value) && is_plain(pattern),
        Expr::Cast { value, style, .. } => {
            is_plain(value) && style.as_ref().is_none_or(|style| is_plain(style))
        }
        Expr::Case { operand, branches, otherwise } => {
            operand.as_deref().is_none_or(is_plain)
                && branches.iter().all(|(when, then)| is_plain(when) && is_plain(then))
                && otherwise.as_deref().is_none_or(is_plain)
        }
        Expr::Function(call) => {
            call.schema.is_none()
                && functions::is_light(&call.name)
                && call.over.is_none()
                && call.arguments.iter().all(is_plain)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn light(text: &str) -> bool {
        light_tables(&parse_batch(text, true).unwrap()).is_some()
    }

    #[test]
    fn point_statements_are_light() {
        for text in [
            "SELECT a, b FROM t WHERE id = 5",
            "SELECT TOP (1) * FROM dbo.t WHERE id = @id AND b LIKE 'x%'",
            "SELECT @@VERSION",
            "SELECT DISTINCT a FROM t ORDER BY a DESC",
            "SELECT a, COUNT(*) FROM t GROUP BY a HAVING SUM(b) > 1",
            "SELECT a FROM t UNION ALL SELECT CASE WHEN b = 1 THEN 2 ELSE 3 END FROM u",
            "SELECT t.a FROM t LEFT JOIN u ON u.a = t.a WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.a = t.a)",
            "SELECT x FROM (SELECT a + 1 AS x FROM t) AS d WHERE x > 1",
            "UPDATE t SET a += 1, b = DEFAULT WHERE a = 5",
            "DELETE FROM t WHERE a = 5",
            "INSERT INTO t (a, b) VALUES (1, GETDATE()), (2, DEFAULT)",
            "INSERT INTO t DEFAULT VALUES SELECT SCOPE_IDENTITY()",
            "IF @@TRANCOUNT > 0 COMMIT TRAN",
            "SET NOCOUNT ON BEGIN TRANSACTION",
            "EXEC sp_executesql N'INSERT INTO t VALUES (@a)', N'@a int', @a = 1",
        ] {
            assert!(light(text), "{text}");
        }
    }

    #[test]
    fn what_may_compute_is_not() {
        for text in [
            "SELECT (SELECT MAX(a) FROM t)",
            "SELECT a FROM t EXCEPT SELECT a FROM u",
            "SELECT a FROM t WHERE a IN (SELECT a FROM u)",
            "SELECT REPLICATE(CAST('x' AS varchar(max)), 1000000000)",
            "SELECT dbo.f(1)",
            "INSERT INTO t SELECT a FROM u",
            "UPDATE t SET a = 1 OUTPUT inserted.a",
            "UPDATE t SET a = u.a FROM u WHERE u.b = t.b",
            "DELETE t FROM t JOIN u ON t.a = u.a",
            "WHILE 1 = 1 SELECT 1",
            "WAITFOR DELAY '00:00:01'",
            "EXEC sp_executesql N'SELECT a FROM t CROSS APPLY f(a)'",
            "EXEC sp_executesql @text",
            "CREATE TABLE t (a int)",
        ] {
            assert!(!light(text), "{text}");
        }
    }
}
