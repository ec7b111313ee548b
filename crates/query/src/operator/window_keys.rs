//! Windows whose partitions and orders are computed.
//!
//! The engine sorts by such a value and does not find its order again in the sorted rows. It fails then.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Window};

use crate::lazy_logic::computes;
use crate::unnest::fresh;

/// Returns true for windows that compute what they partition or order by.
fn computes_keys(window: &Window) -> Result<bool> {
    let mut found = false;
    for expr in &window.window_expr {
        found |= expr.exists(|part| {
            let Expr::WindowFunction(call) = part else { return Ok(false) };
            let mut computed = false;
            for key in call.params.partition_by.iter().chain(call.params.order_by.iter().map(|key| &key.expr))
            {
                computed |= computes(key)?;
            }
            Ok(computed)
        })?;
    }
    Ok(found)
}

/// Returns windows whose computed keys have become columns of their input.
pub(crate) fn over_columns(window: Window) -> Result<LogicalPlan> {
    if !computes_keys(&window)? {
        return Ok(LogicalPlan::Window(window));
    }
    let mut below: Vec<Expr> = window.input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut column_of = |key: Expr| -> Result<Expr> {
        if !computes(&key)? {
            return Ok(key);
        }
        let name = fresh();
        below.push(key.alias(&name));
        Ok(Expr::Column(Column::new_unqualified(name)))
    };
    let mut functions = Vec::with_capacity(window.window_expr.len());
    let fields = window.schema.fields().iter().skip(window.input.schema().fields().len());
    for (expr, field) in window.window_expr.into_iter().zip(fields) {
        let moved = expr.transform_down(|part| {
            let Expr::WindowFunction(mut call) = part else { return Ok(Transformed::no(part)) };
            for key in &mut call.params.partition_by {
                *key = column_of(std::mem::take(key))?;
            }
            for key in &mut call.params.order_by {
                key.expr = column_of(std::mem::take(&mut key.expr))?;
            }
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        })?;
        let same = moved.data.schema_name().to_string() == *field.name();
        functions.push(if same { moved.data } else { moved.data.alias(field.name()) });
    }
    let columns = window.schema.columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(Arc::unwrap_or_clone(window.input))
        .project(below)?
        .window(functions)?
        .project(columns.collect::<Vec<_>>())?
        .build()
}
