//! The identity column of a table that SELECT INTO makes: one of the source's, or that of the function IDENTITY.

use std::sync::Arc;

use databases::catalogue::{Identity, TableDefinition, same_name};
use query::OutputColumn;
use tds::{ColumnFlags, SqlType};
use tsql::SqlError;
use tsql::ast::ModuleBody;
use tsql::expression::{Expr, Literal};
use tsql::query::{CommonTable, Query, QueryBody, SelectItem, TableSource};

use crate::session::Session;
use crate::statements::ddl::definition::can_be_identity;
use crate::statements::evaluation::resolve;

/// Views and derived tables in each other beyond which no column is traced.
const DEPTH_MAX: usize = 16;

/// The identity column that a new table gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewIdentity {
    /// The index of the column.
    pub position: usize,
    /// The seed and the increment.
    pub identity: Identity,
    /// True if the values are made for the rows, rather than kept.
    pub generated: bool,
}

/// `IDENTITY (type, seed, increment) AS name`, taken out of a select list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IdentityCall {
    name: String,
    sql_type: SqlType,
    identity: Identity,
}

/// Puts a constant in the place of IDENTITY (…) in the select list of a query. Errors: 2749 for a type that counts not.
pub(crate) fn take_call(query: &mut Query) -> Result<Option<IdentityCall>, SqlError> {
    let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
    for item in &mut select.items {
        let SelectItem::Value { expr, alias: Some(name) } = item else { continue };
        let Expr::Function(call) = expr else { continue };
        if call.schema.is_some() || call.name != "IDENTITY" {
            continue;
        }
        let [typed @ Expr::Cast { sql_type, .. }, seed, increment] = call.arguments.as_slice() else {
            continue;
        };
        if !can_be_identity(sql_type) {
            let text = format!(
                "Identity column '{name}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable."
            );
            return Err(SqlError::new(2749, 16, 2, text));
        }
        let identity = Identity {
            seed: number(seed),
            increment: number(increment),
            reseeded: None,
            reseeded_unused: false,
        };
        let call = IdentityCall { name: name.clone(), sql_type: sql_type.clone(), identity };
        *expr = typed.clone();
        return Ok(Some(call));
    }
    Ok(None)
}

/// Returns a constant with its sign, as the parser has read it.
fn number(expr: &Expr) -> i64 {
    match expr {
        Expr::Literal(Literal::Integer(digits)) => digits.parse().unwrap_or(1),
        Expr::Unary(_, inner) => -number(inner),
        _ => 1,
    }
}

/// Returns the identity column of the table that `query` makes. Errors: 8108 for one that is made beside one that is
/// kept.
pub(crate) fn of_query(
    session: &Session,
    query: &Query,
    call: Option<&IdentityCall>,
    columns: &[OutputColumn],
    table: &str,
) -> Result<Option<NewIdentity>, SqlError> {
    let mut kept = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.flags.0 & ColumnFlags::IDENTITY != 0)
        .map(|(position, _)| position);
    // A column that is listed twice is an identity at neither place.
    let kept = match (kept.next(), kept.next()) {
        (Some(position), None) => {
            let source = source_table(session, query, &query.with, 0)?;
            let identity = source.and_then(|source| source.identity().map(|(_, identity)| identity));
            identity.map(|identity| NewIdentity {
                position,
                identity: Identity { reseeded: None, ..identity },
                generated: false,
            })
        }
        _ => None,
    };
    let Some(call) = call else { return Ok(kept) };
    if let Some(column) = kept.and_then(|kept| columns.get(kept.position)) {
        let text = format!(
            "Cannot add identity column, using the SELECT INTO statement, to table '{table}', which already has column '{}' that inherits the identity property.",
            column.name
        );
        return Err(SqlError::new(8108, 16, 1, text));
    }
    let position = columns
        .iter()
        .position(|column| same_name(&column.name, &call.name) && column.sql_type == call.sql_type);
    Ok(position.map(|position| NewIdentity { position, identity: call.identity, generated: true }))
}

/// Returns the one table whose rows a query yields, each once: no join, no set operator, no grouping, no DISTINCT.
/// `None` for others.
fn source_table(
    session: &Session,
    query: &Query,
    with: &[CommonTable],
    depth: usize,
) -> Result<Option<Arc<TableDefinition>>, SqlError> {
    if depth > DEPTH_MAX {
        return Ok(None);
    }
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(inner) => return source_table(session, inner, with, depth + 1),
        QueryBody::Set { .. } => return Ok(None),
    };
    if select.distinct
        || select.having.is_some()
        || select.grouping_sets.is_some()
        || !select.group_by.is_empty()
    {
        return Ok(None);
    }
    match select.from.as_slice() {
        [TableSource::Derived { query, .. }] => source_table(session, query, with, depth + 1),
        [TableSource::Table { name, .. }] => {
            let common =
                with.iter().rev().find(|common| name.schema.is_none() && same_name(&common.name, &name.name));
            if let Some(common) = common {
                return source_table(session, &common.query, &[], depth + 1);
            }
            let name = resolve::resolved(session, name)?;
            if let Some(table) = session.work.find(&name, &session.database)? {
                return Ok(Some(table.definition));
            }
            let Some(view) = resolve::view_module(session, &name)? else { return Ok(None) };
            match view.body()? {
                Some(ModuleBody::View { query, .. }) => source_table(session, query, &query.with, depth + 1),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
