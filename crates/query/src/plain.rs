//! Queries for columns of all rows of a table, as exports and drivers send them. They need no plan.

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::bind::BoundQuery;
use super::provider::StoredTable;

impl BoundQuery {
    /// The table and the positions of its columns, if the query is nothing but columns of all rows of one table.
    pub fn plain(&self) -> Option<(StoredTable, Vec<usize>)> {
        columns_of(&self.plan)
    }
}

/// The table of a plan, and for each column of the plan that of the table; None: there is more to it.
fn columns_of(plan: &LogicalPlan) -> Option<(StoredTable, Vec<usize>)> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
                return None;
            }
            let provider = source_as_provider(&scan.source).ok()?;
            let table = provider.downcast_ref::<StoredTable>()?.clone();
            Some((table, (0..plan.schema().fields().len()).collect()))
        }
        LogicalPlan::SubqueryAlias(alias) => columns_of(&alias.input),
        LogicalPlan::Projection(projection) => {
            let (table, below) = columns_of(&projection.input)?;
            let mut columns = Vec::with_capacity(projection.expr.len());
            for expr in &projection.expr {
                let Expr::Column(column) = unaliased(expr) else { return None };
                let index = projection.input.schema().maybe_index_of_column(column)?;
                columns.push(*below.get(index)?);
            }
            Some((table, columns))
        }
        _ => None,
    }
}

fn unaliased(mut expr: &Expr) -> &Expr {
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    expr
}
