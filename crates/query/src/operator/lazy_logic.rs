//! AND and OR whose second operand is computed where the first does not decide.
//!
//! The engine computes both operands for every row of a batch, unless the first decides all of them. An operand that may fail, as a
//! division does, would fail for rows that a condition beside it keeps out.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit, when};
use datafusion::physical_expr::expressions::CaseExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::projection::remove_unnecessary_projections;

use crate::collation::is_key;
use crate::parameters::reads_outer_row;

/// Returns true for an expression that does more than compare columns and constants, and so may fail.
pub(crate) fn computes(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(match part {
            Expr::ScalarFunction(call) => !(is_key(call.name()) || reads_outer_row(&call.func)),
            Expr::Cast(_) | Expr::TryCast(_) => true,
            _ => false,
        })
    })
}

/// Returns an operator of an optimised plan, but no filter, with lazy expressions. Runs after all rules: the engine's make AND and OR of CASE.
pub(crate) fn with_lazy_logic(node: LogicalPlan) -> Result<LogicalPlan> {
    if matches!(node, LogicalPlan::TableScan(_)) || !has_logic(&node)? {
        return Ok(node);
    }
    let chooses = matches!(node, LogicalPlan::Join(_));
    let names = NamePreserver::new(&node);
    let lazy = node.map_expressions(|expr| {
        let name = names.save(&expr);
        let lazy = match chooses {
            true => lazy_choice(expr)?,
            false => lazy_value(expr)?,
        };
        Ok(Transformed::yes(name.restore(lazy)))
    })?;
    Ok(lazy.data)
}

fn has_logic(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(logic_of(part).is_some() && computes(part)?))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Returns an expression with the same values.
pub(crate) fn lazy_value(expr: Expr) -> Result<Expr> {
    let lazy = expr.transform_down(|part| {
        let Some(operator) = logic_of(&part) else { return Ok(Transformed::no(part)) };
        if !computes(&part)? {
            return Ok(Transformed::new(part, false, TreeNodeRecursion::Jump));
        }
        let mut operands = operands_of(part, operator)?.into_iter().rev();
        let Some(mut rest) = operands.next() else { return Ok(Transformed::yes(lit(true))) };
        for first in operands {
            let (decides, value) = match operator {
                Operator::And => (first.clone().is_false(), lit(false)),
                _ => (first.clone().is_true(), lit(true)),
            };
            rest = when(decides, value).otherwise(joined(first, operator, rest))?;
        }
        Ok(Transformed::new(rest, true, TreeNodeRecursion::Jump))
    })?;
    Ok(lazy.data)
}

/// Returns a condition that is true for the same rows: unknown may become false.
pub(crate) fn lazy_choice(expr: Expr) -> Result<Expr> {
    if logic_of(&expr) != Some(Operator::And) || !computes(&expr)? {
        return lazy_value(expr);
    }
    let mut operands = operands_of(expr, Operator::And)?.into_iter().rev();
    let Some(mut rest) = operands.next() else { return Ok(lit(true)) };
    for first in operands {
        rest = when(first, rest).otherwise(lit(false))?;
    }
    Ok(rest)
}

/// Returns the operands of nested ANDs or ORs: those that cannot fail as a single one, then the others as they are
/// written.
fn operands_of(expr: Expr, operator: Operator) -> Result<Vec<Expr>> {
    let (mut cheap, mut others) = (None, Vec::new());
    let mut waiting = vec![expr];
    while let Some(part) = waiting.pop() {
        match part {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op == operator => {
                waiting.push(*right);
                waiting.push(*left);
            }
            part if computes(&part)? => others.push(lazy_value(part)?),
            part => {
                cheap = Some(match cheap {
                    Some(before) => joined(before, operator, part),
                    None => part,
                });
            }
        }
    }
    Ok(cheap.into_iter().chain(others).collect())
}

fn joined(left: Expr, operator: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}

fn logic_of(expr: &Expr) -> Option<Operator> {
    match expr {
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => Some(binary.op),
        _ => None,
    }
}

/// The engine's rule that moves projections down, but for joins whose condition chooses by CASE what it computes. The engine
/// would compute below the join, for all rows, what the condition says of one side.
#[derive(Debug)]
pub(crate) struct LazyJoins;

impl PhysicalOptimizerRule for LazyJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_lazy = plan.exists(|node| {
            let filter = node.downcast_ref::<NestedLoopJoinExec>().and_then(NestedLoopJoinExec::filter);
            filter.map_or(Ok(false), |filter| filter.expression().exists(|part| Ok(part.is::<CaseExpr>())))
        })?;
        match is_lazy {
            true => plan.transform_down(remove_unnecessary_projections).data(),
            false => ProjectionPushdown::new().optimize(plan, config),
        }
    }

    fn name(&self) -> &str {
        "LazyJoins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
