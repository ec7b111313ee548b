//! Groups of few rows, with the engine's own aggregates and without its plans.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{Aggregate, EmitTo, Expr, ExprSchemable};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateFunctionExpr, LoweredAggregateBuilder};
use datafusion::physical_expr::expressions::Column;
use tsql::SqlError;

use crate::bind::plan_error;
use crate::first_of_group::FIRST_OF_GROUP;
use crate::lazy_logic::lazy_value;
use crate::scalar::sql_error_of;

/// GROUP BY, or DISTINCT.
pub(crate) struct Grouping {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    schema: SchemaRef,
}

impl Grouping {
    /// Returns the groups of a plan whose expressions can be evaluated directly, as `physical` decides; `None` if it
    /// has others.
    pub fn of(
        plan: &Aggregate,
        physical: impl Fn(&Expr, &DFSchema) -> std::result::Result<Option<Arc<dyn PhysicalExpr>>, SqlError>,
    ) -> std::result::Result<Option<Grouping>, SqlError> {
        let input = plan.input.schema();
        let mut keys = Vec::with_capacity(plan.group_expr.len());
        for expr in &plan.group_expr {
            let has_one_form = expr.get_type(input).is_ok_and(|data_type| has_one_form(&data_type));
            match physical(expr, input)? {
                Some(key) if has_one_form => keys.push(key),
                _ => return Ok(None),
            }
        }
        let mut aggregates = Vec::with_capacity(plan.aggr_expr.len());
        for expr in &plan.aggr_expr {
            let call = match expr {
                Expr::AggregateFunction(call) => call,
                Expr::Alias(alias) => match alias.expr.as_ref() {
                    Expr::AggregateFunction(call) => call,
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            };
            let of = &call.params;
            let is_plain = of.order_by.is_empty() && of.null_treatment.is_none() && of.filter.is_none();
            if of.distinct || !is_plain || call.func.name() == FIRST_OF_GROUP {
                return Ok(None);
            }
            let mut fields = Vec::with_capacity(of.args.len());
            for argument in &of.args {
                match (physical(argument, input)?, argument.to_field(input)) {
                    (Some(_), Ok((_, field))) => fields.push(field),
                    _ => return Ok(None),
                }
            }
            // Coercion is left to the planner.
            let Ok(wanted) = fields_with_udf(&fields, call.func.as_ref()) else { return Ok(None) };
            if fields.iter().zip(&wanted).any(|(own, wanted)| own.data_type() != wanted.data_type()) {
                return Ok(None);
            }
            let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
            let lazy = lazy_value(expr.clone()).map_err(plan_error)?;
            let lowered = LoweredAggregateBuilder::new(&lazy, input, input.as_arrow(), &props, &context);
            let aggregate = lowered.build().map_err(plan_error)?.aggregate;
            if !keys.is_empty() && !aggregate.groups_accumulator_supported() {
                return Ok(None);
            }
            aggregates.push(aggregate);
        }
        let fields = plan.schema.fields().iter().map(|field| loose(field)).collect::<Vec<_>>();
        Ok(Some(Grouping { keys, aggregates, schema: Arc::new(Schema::new(fields)) }))
    }

    /// Makes each distinct row of a plan a group; `None` if the planner must compare the rows.
    pub fn distinct(schema: &DFSchema) -> Option<Grouping> {
        let fields = schema.fields();
        if fields.is_empty() || !fields.iter().all(|field| has_one_form(field.data_type())) {
            return None;
        }
        let keys = fields
            .iter()
            .enumerate()
            .map(|(index, field)| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(field.name(), index)) });
        let schema = Arc::new(Schema::new(fields.iter().map(|field| loose(field)).collect::<Vec<_>>()));
        Some(Grouping { keys: keys.collect(), aggregates: Vec::new(), schema })
    }

    /// Returns true if there may be more than one group.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Computes the groups of all rows, in the order of their first rows; `None` if there are none.
    pub fn groups(&self, batches: &[RecordBatch]) -> std::result::Result<Option<RecordBatch>, SqlError> {
        let groups = match batches.first() {
            Some(first) => {
                let all =
                    concat_batches(&first.schema(), batches).map_err(|error| SqlError::internal(error))?;
                self.groups_of(Some(&all))
            }
            None if self.keys.is_empty() => self.groups_of(None),
            None => return Ok(None),
        };
        groups.map(Some).map_err(|error| sql_error_of(&error))
    }

    fn groups_of(&self, rows: Option<&RecordBatch>) -> Result<RecordBatch> {
        let values = |expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch| {
            expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows()))
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        let arguments = |aggregate: &AggregateFunctionExpr, rows: &RecordBatch| {
            aggregate.expressions().iter().map(|expr| values(expr, rows)).collect::<Result<Vec<_>>>()
        };
        let mut count = 1;
        if let (false, Some(rows)) = (self.keys.is_empty(), rows) {
            let keys = self.keys.iter().map(|key| values(key, rows)).collect::<Result<Vec<_>>>()?;
            let (groups, firsts) = numbered(&keys)?;
            count = firsts.len();
            for key in &keys {
                columns.push(take(key, &firsts, None)?);
            }
            for aggregate in &self.aggregates {
                let mut accumulator = aggregate.create_groups_accumulator()?;
                accumulator.update_batch(&arguments(aggregate, rows)?, &groups, None, count)?;
                columns.push(accumulator.evaluate(EmitTo::All)?);
            }
        } else {
            for aggregate in &self.aggregates {
                let mut accumulator = aggregate.create_accumulator()?;
                if let Some(rows) = rows {
                    accumulator.update_batch(&arguments(aggregate, rows)?)?;
                }
                columns.push(accumulator.evaluate()?.to_array()?);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Returns the group of each row, and the first row of each group.
fn numbered(keys: &[ArrayRef]) -> Result<(Vec<usize>, UInt32Array)> {
    let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
    let rows = RowConverter::new(fields)?.convert_columns(keys)?;
    let (mut known, mut groups, mut firsts) = (HashMap::new(), Vec::new(), Vec::new());
    for (number, row) in (0_u32..).zip(&rows) {
        let group = *known.entry(row).or_insert_with(|| {
            firsts.push(number);
            firsts.len() - 1
        });
        groups.push(group);
    }
    Ok((groups, UInt32Array::from(firsts)))
}

/// Returns true if equal values of a type are the same bytes, which floats with their two zeros are not.
pub(crate) fn has_one_form(data_type: &DataType) -> bool {
    !data_type.is_floating() && !data_type.is_nested()
}

/// Makes a field nullable: a kernel may know less than the plan.
fn loose(field: &Field) -> Field {
    field.clone().with_nullable(true)
}
