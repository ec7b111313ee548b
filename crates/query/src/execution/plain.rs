//! Queries for columns of all rows of a table, or of a range of its clustered key, as exports and drivers send them. They need no plan.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, Sort};

use crate::bind::BoundQuery;
use crate::key_range::{KeyRange, orders_as_stored};
use crate::plan_operator::PlanOperator;
use crate::provider::StoredTable;
use crate::row_scan::RowScan;
use tsql::SqlError;

/// Columns of rows of one table, as they are stored.
#[derive(Debug, Clone)]
pub struct PlainQuery {
    table: StoredTable,
    /// The table's column for each column of the result.
    positions: Vec<usize>,
    /// The rows, exactly, in the order of the clustered key; None: all, in any order.
    range: Option<KeyRange>,
}

impl PlainQuery {
    /// Opens the table. With a [range](Self::has_range) the caller makes sure that the scan is of it.
    ///
    /// # Errors
    /// The storage fails.
    pub fn open(&self) -> Result<Box<dyn RowScan>, SqlError> {
        self.table.open_range(Some(self.positions.clone()), self.range.as_ref())
    }

    /// Returns true if the rows are those of a range of the clustered key.
    pub fn has_range(&self) -> bool {
        self.range.is_some()
    }

    /// Returns the operator for shown plans.
    pub(crate) fn operator(&self) -> PlanOperator {
        PlanOperator::leaf(self.table.access(self.range.as_ref()))
    }

    /// Maps the columns of a plan to those of all rows of its table. `None`: the plan does more.
    fn of(plan: &LogicalPlan) -> Option<PlainQuery> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
                    return None;
                }
                let provider = source_as_provider(&scan.source).ok()?;
                let table = provider.downcast_ref::<StoredTable>()?.clone();
                let positions = (0..plan.schema().fields().len()).collect();
                Some(PlainQuery { table, positions, range: None })
            }
            LogicalPlan::SubqueryAlias(alias) => PlainQuery::of(&alias.input),
            LogicalPlan::Projection(projection) => {
                let below = PlainQuery::of(&projection.input)?;
                let position = |expr| below.position(unaliased(expr), &projection.input);
                let positions = projection.expr.iter().map(position).collect::<Option<Vec<_>>>()?;
                Some(PlainQuery { positions, ..below })
            }
            LogicalPlan::Filter(filter) => {
                let below = PlainQuery::of(&filter.input).filter(|below| below.range.is_none())?;
                let condition = below.stored(&filter.predicate, &filter.input)?;
                let range = Some(below.table.exact_range(&condition)?);
                Some(PlainQuery { range, ..below })
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => PlainQuery::of(&sort.input)?.sorted(sort),
            _ => None,
        }
    }

    /// Returns the query in an order, if it is that of the clustered key.
    fn sorted(self, sort: &Sort) -> Option<PlainQuery> {
        let key = self.table.clustered_key()?;
        for (index, wanted) in sort.expr.iter().enumerate() {
            let (position, descending) = *key.columns.get(index)?;
            let field = self.table.schema_ref().fields().get(position)?;
            // Nulls are the least values.
            let is_key = wanted.asc != descending && wanted.nulls_first == wanted.asc;
            if !is_key
                || !orders_as_stored(field.data_type())
                || self.position(&wanted.expr, &sort.input) != Some(position)
            {
                return None;
            }
        }
        let range = self.range.unwrap_or_else(|| KeyRange::all(false));
        Some(PlainQuery { range: Some(range), ..self })
    }

    /// Rewrites a condition over `input` with the names that the table has for its columns.
    fn stored(&self, condition: &Expr, input: &LogicalPlan) -> Option<Expr> {
        let named = condition.clone().transform(|part| {
            if !matches!(part, Expr::Column(_)) {
                return Ok(Transformed::no(part));
            }
            let position = self.position(&part, input);
            let field = position.and_then(|position| self.table.schema_ref().fields().get(position));
            let field =
                field.ok_or_else(|| DataFusionError::Internal("no column of the table".to_owned()))?;
            Ok(Transformed::yes(Expr::Column(Column::from_name(field.name()))))
        });
        Some(named.ok()?.data)
    }

    /// Returns the table's column that an expression over `input` is.
    fn position(&self, expr: &Expr, input: &LogicalPlan) -> Option<usize> {
        let Expr::Column(column) = expr else { return None };
        let index = input.schema().maybe_index_of_column(column)?;
        self.positions.get(index).copied()
    }
}

impl BoundQuery {
    /// Returns the query as a plain one, if it has only columns of rows of one table.
    pub fn plain(&self) -> Option<PlainQuery> {
        PlainQuery::of(&self.plan)
    }
}

fn unaliased(mut expr: &Expr) -> &Expr {
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    expr
}
