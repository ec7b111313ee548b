//! The names that an expression can use.

use std::cell::Cell;

use datafusion::common::Column;
use datafusion::logical_expr::Expr;

use super::super::typed::{Typed, plan_field};
use super::OutputColumn;
use tsql::SqlError;
use tsql::errors;
use tsql::expression::Expr as Ast;
use tsql::same_name;

/// A column in scope.
#[derive(Debug, Clone)]
pub struct ScopeColumn {
    /// Alias or name of its table.
    pub table: Option<String>,
    /// Schema of its table, if the table has no alias.
    pub schema: Option<String>,
    /// The column as users see it.
    pub output: OutputColumn,
    /// The value as a plan gets it: a column of the plan, or a constant.
    pub value: Typed,
}

/// The columns in scope, and those of the query around it.
#[derive(Clone, Default)]
pub struct Scope<'p> {
    /// Columns in the order of FROM.
    pub columns: Vec<ScopeColumn>,
    /// The scope of the enclosing query.
    pub parent: Option<&'p Scope<'p>>,
    /// After GROUP BY: what was grouped and aggregated. Columns outside of it raise 8120.
    pub(super) grouping: Option<&'p super::aggregate::Grouping<'p>>,
    /// Windows may be used, and are collected here.
    pub(super) windows: Option<&'p super::window::Windows>,
    /// Without grouping: what an aggregate of these columns is that stands in a query inside.
    pub(super) inner_aggregates: InnerAggregates<'p>,
}

/// The owner of an aggregate in an inner query, if all its columns are of this scope.
#[derive(Clone, Copy, Default)]
pub(super) enum InnerAggregates<'p> {
    /// The aggregate belongs to the inner query.
    #[default]
    Own,
    /// One of this query, which must be bound again as a grouped query.
    Group(&'p Cell<bool>),
    /// Error 147.
    Refused,
}

impl<'p> Scope<'p> {
    /// Makes a scope without columns: constants and variables only.
    pub fn empty() -> Scope<'static> {
        Scope::default()
    }

    /// Makes a scope of columns.
    pub fn of(columns: Vec<ScopeColumn>, parent: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope { columns, parent, grouping: None, windows: None, inner_aggregates: InnerAggregates::Own }
    }

    /// Resolves a name to its value. Errors: 207, 209, 4104.
    pub(super) fn resolve(&self, parts: &[String]) -> Result<(Typed, OutputColumn), SqlError> {
        match self.find(parts)? {
            Some(column) => Ok((column.value.clone(), column.output.clone())),
            None => match self.parent {
                Some(parent) => {
                    let (value, output) = parent.resolve(parts)?;
                    Ok((outer(value), output))
                }
                None if parts.len() > 1 => Err(errors::UNBOUND_IDENTIFIER.with([&parts.join(".")])),
                None => Err(errors::INVALID_COLUMN.with([parts.first().map_or("", String::as_str)])),
            },
        }
    }

    fn find(&self, parts: &[String]) -> Result<Option<&ScopeColumn>, SqlError> {
        let Some((name, qualifier)) = parts.split_last() else { return Ok(None) };
        if name.eq_ignore_ascii_case("$IDENTITY") {
            let identity = |column: &&ScopeColumn| {
                column.output.flags.0 & tds::ColumnFlags::IDENTITY != 0 && column.is_of(qualifier)
            };
            return Ok(self.columns.iter().find(identity));
        }
        if name.eq_ignore_ascii_case("$ROWGUID") {
            let row_guid = |column: &&ScopeColumn| column.output.row_guid && column.is_of(qualifier);
            return Ok(self.columns.iter().find(row_guid));
        }
        let mut matches = self
            .columns
            .iter()
            .filter(|column| same_name(&column.output.name, name) && column.is_of(qualifier));
        let found = matches.next();
        if found.is_some() && matches.next().is_some() {
            return Err(errors::AMBIGUOUS_COLUMN.with([name]));
        }
        if found.is_none() && !qualifier.is_empty() && self.has_table(qualifier) {
            return Err(errors::INVALID_COLUMN.with([name]));
        }
        Ok(found)
    }

    /// Returns the table that a column in scope belongs to, as the query calls it.
    pub(super) fn table_of(&self, parts: &[String]) -> Option<String> {
        self.find(parts).ok().flatten().and_then(|column| column.table.clone())
    }

    /// Returns true if a name is a column of this scope itself.
    pub(super) fn has_column(&self, parts: &[String]) -> bool {
        parts.split_last().is_some_and(|(name, qualifier)| {
            let named = |column: &ScopeColumn| same_name(&column.output.name, name);
            self.columns.iter().any(|column| named(column) && column.is_of(qualifier))
        })
    }

    /// Returns true if the qualifier names a table in scope.
    pub(super) fn has_table(&self, qualifier: &[String]) -> bool {
        self.columns.iter().any(|column| column.is_of(qualifier))
    }
}

impl ScopeColumn {
    /// Returns true if `[database.][schema.]table` names this column's table; an empty qualifier names any.
    pub(super) fn is_of(&self, qualifier: &[String]) -> bool {
        let mut parts = qualifier.iter().rev();
        let Some(table) = parts.next() else { return true };
        if !self.table.as_deref().is_some_and(|own| same_name(own, table)) {
            return false;
        }
        match parts.next() {
            Some(schema) if !schema.is_empty() => {
                self.schema.as_deref().is_some_and(|own| same_name(own, schema))
            }
            _ => true,
        }
    }
}

/// Returns the value as a query inside sees it.
pub(super) fn outer(value: Typed) -> Typed {
    match value.expr {
        Expr::Column(column) => {
            // Plans assume that the column standing for it may be NULL.
            let field = plan_field(&column.name, &value.sql_type, true);
            Typed { expr: Expr::OuterReferenceColumn(field, column), ..value }
        }
        _ => value,
    }
}

/// Makes a reference to a column of the plan.
pub(super) fn reference(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Returns the name that a select item shows without an alias: a column's, as written; an expression has none.
pub(super) fn natural_name(expr: &Ast) -> String {
    match expr {
        Ast::Column(parts) => parts.last().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
