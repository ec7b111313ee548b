//! What a write to a table must compute: defaults, computed columns, checks, bound once.

use std::sync::Arc;

use query::{Binder, BoundExpr, OutputColumn, Scope, ScopeColumn, Typed};
use tsql::SqlError;
use tsql::parse_expression;

use crate::catalogue::{Check, TableDefinition};

/// The bound expressions of a table.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// The table.
    pub definition: Arc<TableDefinition>,
    /// Default of each column, in the column's type.
    pub defaults: Vec<Option<Typed>>,
    /// Expression of each computed column, in the column's type.
    pub computed: Vec<Option<Typed>>,
    /// CHECK constraints.
    pub checks: Vec<(Check, BoundExpr)>,
}

/// The name of a table's column in bound expressions.
pub fn column_name(position: usize) -> String {
    format!("column_{position}")
}

/// The scope of a table's own expressions.
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
        for column in &definition.columns {
            defaults.push(match &column.default {
                Some(default) => {
                    let value = binder.value(&parse_expression(&default.text)?, &Scope::empty())?;
                    Some(value.cast(&column.sql_type)?)
                }
                None => None,
            });
            computed.push(match &column.computed {
                Some(text) => Some(binder.value(&parse_expression(text)?, &scope)?.cast(&column.sql_type)?),
                None => None,
            });
        }
        let checks = definition
            .checks
            .iter()
            .filter(|check| !check.disabled)
            .map(|check| Ok((check.clone(), binder.condition(&parse_expression(&check.text)?, &scope)?)))
            .collect::<Result<Vec<_>, SqlError>>()?;
        Ok(WritePlan { definition, defaults, computed, checks })
    }
}
