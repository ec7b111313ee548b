//! Correlated subqueries: their outer columns, and their form for one outer row.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

use crate::apply::ApplyTable;
use crate::computed::{computed, rows_of};
use crate::function_table::FunctionTable;
use crate::parameters::placeholder;
use crate::recursive::RecursiveTable;

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

/// Names of the outer columns that an expression uses, those of its subqueries included.
pub(crate) fn outer_names_of(expr: &Expr) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    collect_outer_of(expr, &mut names)?;
    Ok(names)
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

/// Returns true if a plan computes a new value for each row, such as NEWID, at any depth.
pub(crate) fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            if let Some(apply) = rows_of::<ApplyTable>(provider.as_ref()) {
                found |= is_volatile(&apply.left)? || is_volatile(&apply.right)?;
            } else if let Some(recursive) = rows_of::<RecursiveTable>(provider.as_ref()) {
                found |= is_volatile(&recursive.anchor)? || is_volatile(&recursive.step)?;
            } else if let Some(function) = rows_of::<FunctionTable>(provider.as_ref()) {
                found |= function.arguments.iter().any(Expr::is_volatile);
            }
        }
        node.apply_expressions(|expr| {
            found |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Wraps a plan as a subquery that knows its outer columns, including hidden ones.
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

/// Puts placeholders in place of the outer columns of these names.
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
        return source(computed(apply.with_sides(left, right)?));
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
