//! Conditions, as steps of a query.

use datafusion::common::DFSchema;
use datafusion::logical_expr::Expr;
use tsql::SqlError;

use super::{Step, physical};
use crate::bind::plan_error;
use crate::unordered::cheap_first;

/// Splits a condition into steps: cheap parts of it first, which leave the others fewer rows.
pub(super) fn chosen(condition: &Expr, schema: &DFSchema) -> Result<Option<Vec<Step>>, SqlError> {
    let parts = match cheap_first(condition).map_err(plan_error)? {
        Some((first, second)) => vec![first, second],
        None => vec![condition.clone()],
    };
    let steps = parts.iter().map(|part| Ok(physical(part, schema)?.map(Step::Filter)));
    steps.collect()
}
