//! The size and depth of a bound query. The engine walks plans recursively, some of them several times, so plans that are too
//! large are refused first.

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::scalar::sql_error_of;
use tsql::SqlError;
use tsql::errors;

/// Operators and expressions above each other.
const HEIGHT_MAX: usize = 2500;
/// Expressions of an expression that stands in several places of a plan.
const REPEATED_MAX: usize = 20_000;
/// Operators and expressions of a plan.
const SIZE_MAX: usize = 1_000_000;
/// Operators of a subquery, which may stand in several places.
const SUBQUERY_MAX: usize = 50_000;

/// Errors: 8623 for a plan that is too large or too deep.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<(), SqlError> {
    Walk { size: 0, size_max: SIZE_MAX }.plan(plan, 0).map_err(|error| sql_error_of(&error))
}

/// Errors: 8623 for a plan that is too large to stand in an expression.
pub(crate) fn check_subquery(plan: &LogicalPlan) -> Result<(), SqlError> {
    Walk { size: 0, size_max: SUBQUERY_MAX }.plan(plan, 0).map_err(|error| sql_error_of(&error))
}

/// Errors: 8623 for an expression that is too large to stand in several places.
pub(crate) fn check_repeated(expr: &Expr) -> Result<(), SqlError> {
    Walk { size: 0, size_max: REPEATED_MAX }.expr(expr, 0).map_err(|error| sql_error_of(&error))
}

/// The counts so far. Only subqueries are walked recursively, because the binder limits their depth.
struct Walk {
    size: usize,
    size_max: usize,
}

impl Walk {
    fn count(&mut self, height: usize) -> datafusion::common::Result<()> {
        self.size += 1;
        if self.size > self.size_max || height > HEIGHT_MAX {
            return Err(DataFusionError::External(Box::new(errors::TOO_COMPLEX.error())));
        }
        Ok(())
    }

    fn plan(&mut self, plan: &LogicalPlan, height: usize) -> datafusion::common::Result<()> {
        let mut open = vec![(plan, height)];
        while let Some((plan, height)) = open.pop() {
            self.count(height)?;
            open.extend(plan.inputs().into_iter().map(|input| (input, height + 1)));
            plan.apply_expressions(|expr| {
                self.expr(expr, height + 1)?;
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, height: usize) -> datafusion::common::Result<()> {
        let mut open = vec![(expr, height)];
        while let Some((expr, height)) = open.pop() {
            self.count(height)?;
            if let Expr::ScalarSubquery(subquery)
            | Expr::Exists(Exists { subquery, .. })
            | Expr::InSubquery(InSubquery { subquery, .. })
            | Expr::SetComparison(SetComparison { subquery, .. }) = expr
            {
                self.plan(&subquery.subquery, height + 1)?;
            }
            expr.apply_children(|child| {
                open.push((child, height + 1));
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(())
    }
}
