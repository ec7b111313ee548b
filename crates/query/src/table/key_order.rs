//! First and last rows by a clustered key: `TOP … ORDER BY key`, MIN and MAX of its first column. The rows of the table are read in the
//! order of the key, as far as they are wanted, and not sorted.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr, TableScan, Union,
};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::key_range::orders_as_stored;
use crate::provider::StoredTable;

/// The rule of the planner. It runs when limits are at sorts, and before columns are left out.
#[derive(Debug)]
pub(crate) struct KeyOrder;

impl OptimizerRule for KeyOrder {
    fn name(&self) -> &str {
        "key_order"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up(|node| match node {
            LogicalPlan::Aggregate(aggregate) => match extremes(&aggregate)? {
                Some(rewritten) => Ok(Transformed::yes(rewritten)),
                None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
            },
            LogicalPlan::Sort(sort) if sort.fetch.is_some() => top(sort),
            node => Ok(Transformed::no(node)),
        })
    }
}

/// Reads the first rows of a table by its key.
fn top(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let columns = sort.expr.iter().map(|wanted| {
        let (table, position) = origin(&wanted.expr, &sort.input)?;
        // Nulls are the least values.
        (wanted.nulls_first == wanted.asc).then_some((table, position, !wanted.asc))
    });
    let Some(columns) = columns.collect::<Option<Vec<_>>>() else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let Some(backward) = columns.first().and_then(|(table, ..)| {
        let key = table.clustered_key()?;
        let turned = columns.first()?.2 != key.columns.first()?.1;
        let mut wanted = columns.iter().zip(0..);
        let is_key = wanted.all(|((_, position, descending), index)| {
            let stored = table.schema_ref().fields().get(*position);
            stored.is_some_and(|field| orders_as_stored(field.data_type()))
                && key.columns.get::<usize>(index) == Some(&(*position, *descending != turned))
        });
        is_key.then_some(turned)
    }) else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let input = Arc::new(read_by_key(Arc::unwrap_or_clone(sort.input), backward)?);
    Ok(Transformed::yes(LogicalPlan::Sort(Sort { input, ..sort })))
}

/// Returns the table's column that an expression over `plan` is. `None`: it is computed, or there is more than one
/// table.
fn origin(expr: &Expr, plan: &LogicalPlan) -> Option<(StoredTable, usize)> {
    let expr = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        expr => expr,
    };
    let Expr::Column(column) = expr else { return None };
    let index = plan.schema().maybe_index_of_column(column)?;
    match plan {
        LogicalPlan::TableScan(scan) => {
            let table = stored(scan)?;
            let position = match &scan.projection {
                Some(projection) => *projection.get(index)?,
                None => index,
            };
            Some((table, position))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let (relation, field) = alias.input.schema().qualified_field(index);
            origin(&Expr::from((relation, field)), &alias.input)
        }
        LogicalPlan::Filter(filter) => origin(expr, &filter.input),
        LogicalPlan::Projection(projection) => origin(projection.expr.get(index)?, &projection.input),
        _ => None,
    }
}

fn stored(scan: &TableScan) -> Option<StoredTable> {
    let provider = source_as_provider(&scan.source).ok().filter(|_| scan.fetch.is_none())?;
    provider.downcast_ref::<StoredTable>().cloned()
}

/// Reads the rows of the plan's one table in the order of the key.
fn read_by_key(plan: LogicalPlan, backward: bool) -> Result<LogicalPlan> {
    let plan = plan.transform_down(|node| match node {
        LogicalPlan::TableScan(mut scan) => {
            if let Some(table) = stored(&scan) {
                scan.source = provider_as_source(Arc::new(table.by_key(backward)));
            }
            Ok(Transformed::new(LogicalPlan::TableScan(scan), true, TreeNodeRecursion::Stop))
        }
        node => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}

/// Takes MIN and MAX of a key's first column from its first row and its last one that have a value.
fn extremes(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    if !aggregate.group_expr.is_empty() || aggregate.aggr_expr.is_empty() {
        return Ok(None);
    }
    let wanted: Option<Vec<(&Expr, bool)>> = aggregate.aggr_expr.iter().map(extreme).collect();
    let Some(wanted) = wanted else { return Ok(None) };
    let Some((column, _)) =
        wanted.first().copied().filter(|(first, _)| wanted.iter().all(|(own, _)| own == first))
    else {
        return Ok(None);
    };
    let Some((table, position)) = origin(column, &aggregate.input) else { return Ok(None) };
    let stored = table.schema_ref().fields().get(position);
    let first = table.clustered_key().and_then(|key| key.columns.first().copied());
    let Some((_, descends)) = first.filter(|(first, _)| {
        *first == position && stored.is_some_and(|field| orders_as_stored(field.data_type()))
    }) else {
        return Ok(None);
    };
    let mut ends = Vec::new();
    for largest in [false, true] {
        if wanted.iter().any(|(_, own)| *own == largest) {
            let rows = read_by_key(aggregate.input.as_ref().clone(), largest != descends)?;
            let order = SortExpr::new(column.clone(), !largest, !largest);
            let mut rows = LogicalPlanBuilder::from(rows);
            if stored.is_some_and(|field| field.is_nullable()) {
                rows = rows.filter(column.clone().is_not_null())?;
            }
            ends.push(Arc::new(rows.sort_with_limit([order], Some(1))?.build()?));
        }
    }
    let input = match ends.as_slice() {
        [end] => Arc::clone(end),
        _ => {
            Arc::new(LogicalPlan::Union(Union { schema: Arc::clone(aggregate.input.schema()), inputs: ends }))
        }
    };
    let rewritten = Aggregate::try_new_with_schema(
        input,
        Vec::new(),
        aggregate.aggr_expr.clone(),
        Arc::clone(&aggregate.schema),
    )?;
    Ok(Some(LogicalPlan::Aggregate(rewritten)))
}

/// Returns the column of a MIN or MAX without conditions of its own, and true for MAX.
fn extreme(expr: &Expr) -> Option<(&Expr, bool)> {
    let expr = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        expr => expr,
    };
    let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else { return None };
    let largest = match func.name() {
        "min" => false,
        "max" => true,
        _ => return None,
    };
    match params.args.as_slice() {
        [column @ Expr::Column(_)] if params.filter.is_none() => Some((column, largest)),
        _ => None,
    }
}
