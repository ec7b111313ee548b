//! Table value constructors: VALUES as a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::TreeNode;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union};
use tds::SqlType;

use super::super::computed::computed;
use super::super::datum::data_type;
use super::super::row_list::RowList;
use super::super::typed::{Typed, unify};
use super::super::{Datum, MemoryTable};
use super::scope::reference;
use super::{Binder, BoundQuery, OutputColumn, Scope, plan_error};
use tsql::SqlError;
use tsql::expression::Expr as Ast;

/// Values from one look at the cancellation to the next.
const LOOK: usize = 1024;

impl Binder<'_> {
    /// Binds a table value constructor. Errors: 10709.
    pub(super) fn values(
        &self,
        rows: &[Vec<Ast>],
        names: &[String],
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery, SqlError> {
        let scope = Scope::of(Vec::new(), parent);
        let width = names.len();
        if rows.iter().any(|row| row.len() != width) {
            return Err(SqlError::new(
                10709,
                16,
                1,
                "The number of columns for each row in a table value constructor must be the same.",
            ));
        }
        let by_column = self.row.of_list(|| listed_columns(self, rows, width, &scope))?;
        let mut columns = Vec::with_capacity(width);
        for ((values, sql_type), name) in by_column.iter().zip(names) {
            let nullable = values.iter().any(|value| value.nullable);
            columns.push(OutputColumn::expression(name.clone(), sql_type.clone(), nullable));
        }
        self.look()?;
        let plan = match constants(&by_column, rows.len())? {
            Some(batch) => {
                let schema = batch.schema();
                let provider = MemoryTable::provider(&schema, vec![batch]).map_err(plan_error)?;
                listed_table(self, provider, &schema)?
            }
            None if by_column.iter().flat_map(|(values, _)| values).all(stands_alone) => {
                let schema = schema_of(&by_column);
                let exprs =
                    by_column.into_iter().map(|(values, _)| values.into_iter().map(|value| value.expr));
                let table = RowList::new(Arc::clone(&schema), exprs.map(Iterator::collect).collect());
                listed_table(self, computed(table), &schema)?
            }
            None => joined_rows(self, &by_column, rows.len())?,
        };
        Ok(BoundQuery { plan, columns })
    }

    /// Binds a value among the many of a list.
    pub fn listed_value(&self, expr: &Ast, scope: &Scope<'_>) -> Result<Typed, SqlError> {
        match expr {
            Ast::Literal(literal) => super::value::literal(literal),
            _ => {
                self.look()?;
                self.value(expr, scope)
            }
        }
    }
}

/// Binds the values of a list by their columns.
fn listed_columns(
    binder: &Binder<'_>,
    rows: &[Vec<Ast>],
    width: usize,
    scope: &Scope<'_>,
) -> Result<Vec<(Vec<Typed>, SqlType)>, SqlError> {
    let mut by_column = Vec::with_capacity(width);
    for column in 0..width {
        let mut values = Vec::with_capacity(rows.len());
        for (index, expr) in rows.iter().filter_map(|row| row.get(column)).enumerate() {
            if index % LOOK == 0 {
                binder.look()?;
            }
            values.push(binder.row.at(index, || binder.listed_value(expr, scope))?);
        }
        by_column.push(unify(values)?);
    }
    Ok(by_column)
}

/// Lists a table's columns under fresh names.
fn listed_table(
    binder: &Binder<'_>,
    provider: Arc<dyn datafusion::catalog::TableProvider>,
    schema: &Schema,
) -> Result<LogicalPlan, SqlError> {
    let exprs = schema.fields().iter().map(|field| reference(field.name()).alias(binder.fresh()));
    LogicalPlanBuilder::scan(binder.fresh(), provider_as_source(provider), None)
        .and_then(|scan| scan.project(exprs.collect::<Vec<_>>()))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Rows with subqueries, or that look at the query around them: one SELECT a row.
fn joined_rows(
    binder: &Binder<'_>,
    by_column: &[(Vec<Typed>, SqlType)],
    rows: usize,
) -> Result<LogicalPlan, SqlError> {
    let names: Vec<String> = by_column.iter().map(|_| binder.fresh()).collect();
    let mut inputs = Vec::with_capacity(rows);
    for row in 0..rows {
        let exprs = by_column
            .iter()
            .zip(&names)
            .filter_map(|((values, _), name)| Some(values.get(row)?.expr.clone().alias(name)));
        let one = LogicalPlanBuilder::empty(true).project(exprs.collect::<Vec<_>>());
        inputs.push(Arc::new(one.and_then(LogicalPlanBuilder::build).map_err(plan_error)?));
    }
    match inputs.len() {
        1 => Ok(inputs.pop().map_or_else(LogicalPlan::default, Arc::unwrap_or_clone)),
        _ => Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union).map_err(plan_error),
    }
}

fn schema_of(by_column: &[(Vec<Typed>, SqlType)]) -> Arc<Schema> {
    let field = |(index, (_, sql_type)): (usize, &(Vec<Typed>, SqlType))| {
        Field::new(format!("column_{index}"), data_type(sql_type), true)
    };
    Arc::new(Schema::new(by_column.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// Returns the rows if all of them are constants.
fn constants(by_column: &[(Vec<Typed>, SqlType)], rows: usize) -> Result<Option<RecordBatch>, SqlError> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(by_column.len());
    for (values, sql_type) in by_column {
        let constants = values.iter().map(|value| value.constant.clone()).collect::<Option<Vec<Datum>>>();
        let Some(constants) = constants else { return Ok(None) };
        arrays.push(Datum::array(&constants, sql_type));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema_of(by_column), arrays, &options)
        .map(Some)
        .map_err(|error| SqlError::internal(error))
}

/// Returns true if a value needs neither another query nor the rows of the query around it.
fn stands_alone(value: &Typed) -> bool {
    let looks_elsewhere = |part: &Expr| {
        Ok(matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Column(_)
        ))
    };
    value.constant.is_some() || !value.expr.exists(looks_elsewhere).unwrap_or(true)
}
