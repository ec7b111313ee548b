//! Which requests are light: a few statements that read or write a few rows of stored tables by plain expressions.
//!
//! This is decided by syntax, once for each text, and errs on the side of "not": what is not light only pays for a thread
//! hop. What a light statement turns out to need at run time (a lock that is taken, a query that must be planned after
//! all) makes it [leave](super::placement::Placement::leave).

use tsql::ObjectName;
use tsql::ast::{Execute, Insert, InsertSource, SetOption, Statement, StatementKind};
use tsql::expression::{Expr, Literal};
use tsql::parse_batch;
use tsql::query::{Query, QueryBody, SelectItem, TableSource};

/// Statements of a light batch.
const STATEMENTS_MAX: usize = 16;
/// Rows of a light VALUES, items of a light IN.
const ITEMS_MAX: usize = 64;
/// Depth of sp_executesql within a text.
const DEPTH_MAX: u32 = 1;

/// Functions that take no longer than their arguments are long, and look at no rows.
const FUNCTIONS: &[&str] = &[
    "ABS",
    "CEILING",
    "CHARINDEX",
    "CHOOSE",
    "COALESCE",
    "CONCAT",
    "CURRENT_TIMESTAMP",
    "DATALENGTH",
    "DATEADD",
    "DATEDIFF",
    "DATEPART",
    "DAY",
    "DB_ID",
    "DB_NAME",
    "ERROR_MESSAGE",
    "ERROR_NUMBER",
    "FLOOR",
    "GETDATE",
    "GETUTCDATE",
    "IDENT_CURRENT",
    "IIF",
    "ISNULL",
    "LEFT",
    "LEN",
    "LOWER",
    "LTRIM",
    "MONTH",
    "NEWID",
    "NULLIF",
    "RIGHT",
    "ROUND",
    "RTRIM",
    "SCOPE_IDENTITY",
    "SUBSTRING",
    "SUSER_NAME",
    "SUSER_SNAME",
    "SYSDATETIME",
    "SYSDATETIMEOFFSET",
    "SYSTEM_USER",
    "SYSUTCDATETIME",
    "TRIM",
    "UPPER",
    "USER_NAME",
    "XACT_STATE",
    "YEAR",
];

/// The tables that light statements name; None if they are not light.
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

/// sp_executesql of a constant text.
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
    let QueryBody::Select(select) = &query.body else { return false };
    let plain = query.with.is_empty()
        && query.order_by.is_empty()
        && query.offset.is_none()
        && !select.distinct
        && select.top.as_ref().is_none_or(|top| is_plain(&top.count))
        && select.into.is_none()
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.filter.as_ref().is_none_or(is_plain);
    let items = select.items.iter().all(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::Value { expr, .. } => is_plain(expr),
        // Assignments from rows have a way of their own.
        SelectItem::Assign { expr, .. } => select.from.is_empty() && is_plain(expr),
    });
    let from = match select.from.as_slice() {
        [] => true,
        [TableSource::Table { name, hints, .. }] if !hints.changes_reading() => {
            tables.push(name.clone());
            true
        }
        _ => false,
    };
    plain && items && from
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

/// No queries, and no functions but the quick ones.
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
        Expr::Function(call) => {
            call.schema.is_none()
                && FUNCTIONS.contains(&call.name.as_str())
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
            "SELECT COUNT(*) FROM t",
            "SELECT a FROM t ORDER BY a",
            "SELECT a FROM t, u",
            "SELECT (SELECT MAX(a) FROM t)",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)",
            "SELECT REPLICATE(CAST('x' AS varchar(max)), 1000000000)",
            "SELECT dbo.f(1)",
            "INSERT INTO t SELECT a FROM u",
            "UPDATE t SET a = 1",
            "WHILE 1 = 1 SELECT 1",
            "WAITFOR DELAY '00:00:01'",
            "EXEC sp_executesql N'SELECT COUNT(*) FROM t'",
            "EXEC sp_executesql @text",
            "CREATE TABLE t (a int)",
        ] {
            assert!(!light(text), "{text}");
        }
    }
}
