//! Correlated subqueries: their outer columns, their form for one outer row, and their execution where the engine cannot turn
//! them into joins.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::source_as_provider;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery};
use datafusion::physical_plan::ExecutionPlan;

use crate::apply::{ApplyKind, ApplyTable};
use crate::computed::{computed, rows_of};
use crate::function_table::FunctionTable;
use crate::in_order::in_order;
use crate::parameters::placeholder;
use crate::planner::planned;
use crate::recursive::RecursiveTable;
use crate::scalar::sql_error_of;

/// Names of the outer columns that a plan uses at any depth.
pub(crate) fn outer_names(plan: &LogicalPlan) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    collect_outer(plan, &mut names)?;
    Ok(names)
}

fn collect_outer(plan: &LogicalPlan, names: &mut BTreeSet<String>) -> Result<()> {
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            if let Some(apply) = rows_of::<ApplyTable>(provider.as_ref()) {
                collect_outer(&apply.left, names)?;
                collect_outer(&apply.right, names)?;
            } else if let Some(function) = rows_of::<FunctionTable>(provider.as_ref()) {
                for argument in &function.arguments {
                    collect_outer_of(argument, names)?;
                }
            } else if let Some(recursive) = rows_of::<RecursiveTable>(provider.as_ref()) {
                collect_outer(&recursive.anchor, names)?;
                collect_outer(&recursive.step, names)?;
            }
        }
        node.apply_expressions(|expr| {
            collect_outer_of(expr, names)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

fn collect_outer_of(expr: &Expr, names: &mut BTreeSet<String>) -> Result<()> {
    expr.apply(|part| {
        match part {
            Expr::OuterReferenceColumn(_, column) => {
                names.insert(column.name.clone());
            }
            Expr::ScalarSubquery(subquery)
            | Expr::Exists(Exists { subquery, .. })
            | Expr::InSubquery(InSubquery { subquery, .. }) => collect_outer(&subquery.subquery, names)?,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// A plan as a subquery that knows its outer columns, hidden ones included.
pub(crate) fn subquery_of(plan: LogicalPlan) -> Result<Subquery> {
    let mut outer_ref_columns = plan.all_out_ref_exprs();
    let known: BTreeSet<String> = outer_ref_columns
        .iter()
        .filter_map(|expr| match expr {
            Expr::OuterReferenceColumn(_, column) => Some(column.name.clone()),
            _ => None,
        })
        .collect();
    for name in outer_names(&plan)?.into_iter().filter(|name| !known.contains(name)) {
        let column = datafusion::common::Column::new_unqualified(&name);
        let field = arrow::datatypes::Field::new(&name, arrow::datatypes::DataType::Null, true);
        outer_ref_columns.push(Expr::OuterReferenceColumn(Arc::new(field), column));
    }
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Default::default() })
}

/// The plan with placeholders for the outer columns of these names.
pub(crate) fn with_placeholders(plan: &LogicalPlan, names: &BTreeSet<String>) -> Result<LogicalPlan> {
    plan.clone()
        .transform_up(|node| {
            let node = match node {
                LogicalPlan::TableScan(mut scan) => {
                    if let Ok(provider) = source_as_provider(&scan.source)
                        && let Some(replaced) = table_with_placeholders(provider.as_ref(), names)?
                    {
                        scan.source = replaced;
                    }
                    LogicalPlan::TableScan(scan)
                }
                other => other,
            };
            let node = node.map_expressions(|expr| expr_with_placeholders(expr, names))?;
            Ok(Transformed::yes(node.data))
        })
        .map(|transformed| transformed.data)
}

fn table_with_placeholders(
    provider: &dyn datafusion::catalog::TableProvider,
    names: &BTreeSet<String>,
) -> Result<Option<Arc<dyn datafusion::logical_expr::TableSource>>> {
    let source = |table: Arc<dyn datafusion::catalog::TableProvider>| {
        Ok(Some(datafusion::datasource::provider_as_source(table)))
    };
    if let Some(apply) = rows_of::<ApplyTable>(provider) {
        let (left, right) = (with_placeholders(&apply.left, names)?, with_placeholders(&apply.right, names)?);
        return source(computed(ApplyTable::new(left, right, apply.kind.clone())?));
    }
    if let Some(function) = rows_of::<FunctionTable>(provider) {
        let arguments = function
            .arguments
            .iter()
            .map(|argument| expr_with_placeholders(argument.clone(), names).map(|argument| argument.data))
            .collect::<Result<Vec<_>>>()?;
        return source(computed(function.with_arguments(arguments)));
    }
    if let Some(recursive) = rows_of::<RecursiveTable>(provider) {
        let anchor = with_placeholders(&recursive.anchor, names)?;
        let step = with_placeholders(&recursive.step, names)?;
        return source(computed(recursive.with_plans(anchor, step)));
    }
    Ok(None)
}

fn expr_with_placeholders(expr: Expr, names: &BTreeSet<String>) -> Result<Transformed<Expr>> {
    let inner = |subquery: &Subquery| subquery_of(with_placeholders(&subquery.subquery, names)?);
    expr.transform_up(|part| {
        Ok(match part {
            Expr::OuterReferenceColumn(field, column) if names.contains(&column.name) => {
                Transformed::yes(placeholder(&column.name, &field))
            }
            Expr::ScalarSubquery(subquery) => Transformed::yes(Expr::ScalarSubquery(inner(&subquery)?)),
            Expr::Exists(Exists { subquery, negated }) => {
                Transformed::yes(Expr::Exists(Exists { subquery: inner(&subquery)?, negated }))
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery: inner(&subquery)?, negated }))
            }
            other => Transformed::no(other),
        })
    })
}

/// Plans a query; subqueries that cannot be turned into joins are run for each row of the query around them.
pub(crate) async fn physical_plan(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    let error = match planned(state, plan).await {
        Ok(plan) => return in_order(plan),
        Err(error) => error,
    };
    if sql_error_of(&error).is_cancelled() {
        return Err(error);
    }
    match with_applies(plan)? {
        Some(rewritten) => in_order(planned(state, &rewritten).await?),
        None => Err(error),
    }
}

/// The plan with each correlated subquery as an operator of its own; None if it has none.
fn with_applies(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut next = 0;
    let rewritten = plan.clone().transform_up_with_subqueries(|node| rewrite_node(node, &mut next))?;
    Ok(rewritten.transformed.then_some(rewritten.data))
}

fn rewrite_node(node: LogicalPlan, next: &mut usize) -> Result<Transformed<LogicalPlan>> {
    // Where rows are chosen the engine joins IN and EXISTS; elsewhere it has no such values.
    let chooses = matches!(node, LogicalPlan::Filter(_));
    let applied = |expr: &Expr| match expr {
        Expr::Exists(_) | Expr::InSubquery(_) if !chooses => Ok(true),
        _ => is_correlated(expr),
    };
    let mut correlated = false;
    node.apply_expressions(|expr| {
        correlated |= expr.exists(applied)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !correlated {
        return Ok(Transformed::no(node));
    }
    let [input] = node.inputs()[..] else {
        return Err(DataFusionError::NotImplemented(
            "a subquery that looks at both sides of a join condition".to_string(),
        ));
    };
    let before = input.schema().columns();
    let mut input = input.clone();
    let node = node.clone().map_expressions(|expr| {
        expr.transform_up(|part| {
            if !applied(&part)? {
                return Ok(Transformed::no(part));
            }
            *next += 1;
            let name = format!("a{next}");
            let (kind, subquery, negated) = match part {
                Expr::ScalarSubquery(subquery) => (ApplyKind::Scalar(name.clone()), subquery, false),
                Expr::Exists(Exists { subquery, negated }) => {
                    (ApplyKind::Exists(name.clone()), subquery, negated)
                }
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    let value = format!("v{next}");
                    let mut exprs: Vec<Expr> =
                        input.schema().columns().into_iter().map(Expr::Column).collect();
                    exprs.push(expr.alias(&value));
                    input = LogicalPlanBuilder::from(input.clone()).project(exprs)?.build()?;
                    (ApplyKind::In { name: name.clone(), value }, subquery, negated)
                }
                other => return Ok(Transformed::no(other)),
            };
            let table = ApplyTable::new(input.clone(), subquery.subquery.as_ref().clone(), kind)?;
            input = table.into_plan(&format!("apply{next}"))?;
            let reference = Expr::Column(datafusion::common::Column::new_unqualified(&name));
            Ok(Transformed::yes(if negated { Expr::Not(Box::new(reference)) } else { reference }))
        })
    })?;
    let exprs = node.data.expressions();
    let rebuilt = match node.data {
        // A filter hands on what comes in: the operators' columns are left out again above it.
        LogicalPlan::Filter(filter) => LogicalPlanBuilder::from(input)
            .filter(filter.predicate)?
            .project(before.into_iter().map(Expr::Column))?
            .build()?,
        other => other.with_new_exprs(exprs, vec![input])?,
    };
    Ok(Transformed::yes(rebuilt))
}

fn is_correlated(expr: &Expr) -> Result<bool> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. }) => Ok(!outer_names(&subquery.subquery)?.is_empty()),
        _ => Ok(false),
    }
}
