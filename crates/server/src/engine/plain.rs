//! Queries that are all rows of a table, some of its columns: what exports and drivers' reads are. There is nothing to plan.

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::bind::BoundQuery;
use super::provider::StoredTable;
use crate::session::work::store_error;
use crate::sql_error::SqlError;
use crate::storage::{Scan, ScannedRows};

/// Rows of one table, in the order in which it is read.
pub struct PlainRows {
    scan: Scan,
}

impl PlainRows {
    /// Opens the table of a query that is nothing but columns of it, if their values are on the wire as they are stored; None for all other
    /// queries.
    pub(super) fn of(bound: &BoundQuery) -> Result<Option<PlainRows>, SqlError> {
        let Some((table, projection)) = columns_of(&bound.plan) else { return Ok(None) };
        let result: Vec<tds::Column> = bound.columns.iter().map(|column| column.wire()).collect();
        let mut scan = table.open(Some(projection), &[]).map_err(store_error)?;
        Ok(scan.hand_out_as_it_lies(&result).then_some(PlainRows { scan }))
    }

    /// The next rows; None at the end.
    pub fn next_rows(&mut self) -> Result<Option<ScannedRows>, SqlError> {
        self.scan.next_rows().transpose().map_err(store_error)
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
