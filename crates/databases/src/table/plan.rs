//! Values that a write to a table must compute: defaults, computed columns, checks, bound once.

use std::sync::Arc;

use query::{Binder, BoundExpr, OutputColumn, Scope, ScopeColumn, Typed};
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::parse_expression;

use crate::catalogue::{Check, TableDefinition};

/// The bound expressions of a table.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// Definition of the table.
    pub definition: Arc<TableDefinition>,
    /// Default of each column, in the column's type.
    pub defaults: Vec<Option<Typed>>,
    /// Expression of each computed column, in the column's type.
    pub computed: Vec<Option<Typed>>,
    /// CHECK constraints that look at nothing but their row.
    pub checks: Vec<(Check, BoundExpr)>,
    /// CHECK constraints that call functions, which see the table with the row in it.
    pub called_checks: Vec<(Check, BoundExpr)>,
    /// A default or a computed column calls a function, which sees the table without the rows of the statement.
    pub calls: bool,
}

/// Returns true if an expression calls a function of the user's own.
pub fn calls_function(expr: &Expr) -> bool {
    let mut calls = false;
    expr.clone().rewrite(&mut |part| {
        calls |= matches!(&part, Expr::Function(call) if call.schema.is_some());
        part
    });
    calls
}

/// Returns true if the text of an expression calls a function of the user's own; false for text that cannot
/// be parsed.
pub fn text_calls_function(text: &str) -> bool {
    parse_expression(text).is_ok_and(|expr| calls_function(&expr))
}

/// Returns the name of a table's column in bound expressions.
pub fn column_name(position: usize) -> String {
    format!("column_{position}")
}

/// Returns the scope of a table's own expressions.
pub fn scope_of(definition: &TableDefinition) -> Scope<'static> {
    let columns = definition
        .columns
        .iter()
        .enumerate()
        .map(|(position, column)| {
            let value = Typed::column(column_name(position), column.sql_type.clone(), column.nullable)
                .with_collation(column.collation());
            ScopeColumn {
                table: Some(definition.name.clone()),
                schema: Some(definition.schema.clone()),
                output: OutputColumn::expression(
                    column.name.clone(),
                    column.sql_type.clone(),
                    column.nullable,
                ),
                value,
            }
        })
        .collect();
    Scope::of(columns, None)
}

impl WritePlan {
    /// Binds a table's expressions.
    pub fn new(definition: Arc<TableDefinition>, binder: &Binder<'_>) -> Result<WritePlan, SqlError> {
        let database = definition.database.clone();
        binder.of_database(&database, || Self::bound(definition, binder))
    }

    fn bound(definition: Arc<TableDefinition>, binder: &Binder<'_>) -> Result<WritePlan, SqlError> {
        let scope = scope_of(&definition);
        let mut defaults = Vec::with_capacity(definition.columns.len());
        let mut computed = Vec::with_capacity(definition.columns.len());
        let mut calls = false;
        for column in &definition.columns {
            defaults.push(match &column.default {
                Some(default) => {
                    let expr = parse_expression(&default.text)?;
                    calls |= calls_function(&expr);
                    let value = binder.value(&expr, &Scope::empty())?;
                    Some(value.cast(&column.sql_type)?)
                }
                None => None,
            });
            computed.push(match &column.computed {
                Some(text) => {
                    let expr = parse_expression(text)?;
                    calls |= calls_function(&expr);
                    Some(binder.value(&expr, &scope)?.cast(&column.sql_type)?)
                }
                None => None,
            });
        }
        let (mut checks, mut called_checks) = (Vec::new(), Vec::new());
        for check in definition.checks.iter().filter(|check| !check.disabled) {
            let expr = parse_expression(&check.text)?;
            let of_its_kind = if calls_function(&expr) { &mut called_checks } else { &mut checks };
            of_its_kind.push((check.clone(), binder.condition(&expr, &scope)?));
        }
        Ok(WritePlan { definition, defaults, computed, checks, called_checks, calls })
    }
}
