//! Windows that have become alike, computed once.
//!
//! The engine takes what neighbouring windows have in common out of them. Of two that are alike it takes the whole call, which it cannot
//! plan then.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Replaces a window that one below computes already by that one's column. Names of columns are unique over a plan.
#[derive(Debug)]
pub(crate) struct WindowTwins;

impl OptimizerRule for WindowTwins {
    fn name(&self) -> &str {
        "window_twins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        let twins: Vec<Option<Column>> =
            window.window_expr.iter().map(|expr| twin(expr, &window.input)).collect();
        if twins.iter().all(Option::is_none) {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let Window { input, window_expr, schema } = window;
        let own = schema.columns().into_iter().skip(input.schema().fields().len());
        let (mut kept, mut made) = (Vec::new(), Vec::new());
        for ((expr, twin), column) in window_expr.into_iter().zip(twins).zip(own) {
            match twin {
                Some(twin) => made.push(Expr::Column(twin).alias_qualified(column.relation, column.name)),
                None => {
                    kept.push(expr);
                    made.push(Expr::Column(column));
                }
            }
        }
        let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).chain(made).collect();
        let builder = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input));
        let builder = if kept.is_empty() { builder } else { builder.window(kept)? };
        Ok(Transformed::yes(builder.project(columns)?.build()?))
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        expr => expr,
    }
}

/// Returns the column of the same call among the windows below.
fn twin(expr: &Expr, input: &LogicalPlan) -> Option<Column> {
    if expr.is_volatile() {
        return None;
    }
    let mut below = input;
    loop {
        match below {
            LogicalPlan::Window(window) => {
                let columns = window.schema.columns().into_iter().skip(window.input.schema().fields().len());
                let mut calls = window.window_expr.iter().zip(columns);
                let found = calls.find(|(other, column)| {
                    bare(other) == bare(expr) && input.schema().maybe_index_of_column(column).is_some()
                });
                if let Some((_, column)) = found {
                    return Some(column);
                }
                below = &window.input;
            }
            LogicalPlan::Projection(projection) => below = &projection.input,
            _ => return None,
        }
    }
}
