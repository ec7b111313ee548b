//! GROUP BY: from the grouped expressions to the engine's aggregate, grouping sets included.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{
    Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder, cast as arrow_cast, lit, when,
};
use tds::SqlType;

use super::super::Datum;
use super::super::collation::{is_lossy, key};
use super::super::typed::{Typed, call};
use super::aggregate::{Grouping, first_of};
use super::scope::reference;
use super::{Binder, Scope, plan_error};
use tsql::SqlError;
use tsql::expression::{Expr as Ast, FunctionCall};

/// The engine's name of the column that tells the set of a row. It has a bit for each expression, the first one's
/// highest, set if the row's set is without it.
const SET_COLUMN: &str = "__grouping_id";

impl Binder<'_> {
    /// Builds the plan of a grouping: one row a group, with its keys and aggregates under the names that stand for them
    /// above.
    pub(super) fn grouped_plan(
        &self,
        plan: LogicalPlan,
        grouping: &Grouping<'_>,
        sets: Option<&[Vec<usize>]>,
    ) -> Result<LogicalPlan, SqlError> {
        let mut group_exprs = Vec::with_capacity(grouping.keys.len());
        let mut aggregates: Vec<Expr> =
            grouping.aggregates.borrow().iter().map(|(name, expr)| expr.clone().alias(name)).collect();
        let mut outputs: Vec<Expr> =
            grouping.aggregates.borrow().iter().map(|(name, _)| reference(name)).collect();
        let width = grouping.keys.len();
        for (position, (below, above)) in grouping.keys.iter().enumerate() {
            let Expr::Column(column) = &above.expr else {
                return Err(SqlError::internal("a grouped expression without a column"));
            };
            if !is_lossy(below) {
                group_exprs.push(below.expr.clone().alias(&column.name));
                outputs.push(reference(&column.name));
                continue;
            }
            // Grouped by its key; one of the group's values is shown.
            group_exprs.push(key(below).alias(self.fresh()));
            let first = self.fresh();
            aggregates.push(first_of(below).alias(&first));
            let shown = match sets {
                None => reference(&first),
                Some(_) => when(left_out(position, width), lit(datafusion::common::ScalarValue::Null))
                    .otherwise(reference(&first))
                    .map_err(plan_error)?,
            };
            outputs.push(shown.alias(&column.name));
        }
        let mut builder = LogicalPlanBuilder::from(plan);
        match (sets, &grouping.set_column) {
            (Some(sets), Some(set_column)) => {
                // The expressions are computed below, so that the sets are of plain columns.
                let names: Vec<String> =
                    group_exprs.iter().map(|expr| expr.schema_name().to_string()).collect();
                let mut below: Vec<Expr> = builder.schema().columns().into_iter().map(Expr::Column).collect();
                below.extend(group_exprs);
                let sets = sets
                    .iter()
                    .map(|set| {
                        set.iter().filter_map(|position| Some(reference(names.get(*position)?))).collect()
                    })
                    .collect();
                let set = Expr::GroupingSet(GroupingSet::GroupingSets(sets));
                builder = builder
                    .project(below)
                    .and_then(|builder| builder.aggregate([set], aggregates))
                    .map_err(plan_error)?;
                outputs.push(arrow_cast(reference(SET_COLUMN), DataType::Int64).alias(set_column));
            }
            _ => builder = builder.aggregate(group_exprs, aggregates).map_err(plan_error)?,
        }
        builder.project(outputs).and_then(LogicalPlanBuilder::build).map_err(plan_error)
    }

    /// Binds GROUPING and GROUPING_ID, which tell the grouped expressions that the row's set leaves out.
    ///
    /// Errors: 8161 for an argument that is not grouped by.
    pub(super) fn grouping_call(
        &self,
        call_: &FunctionCall,
        scope: &Scope<'_>,
        result: SqlType,
    ) -> Result<Typed, SqlError> {
        let Some(grouping) = scope.grouping else {
            return Err(SqlError::new(
                8161,
                16,
                1,
                format!(
                    "Argument 1 of the {} function does not match any of the expressions in the GROUP BY clause.",
                    call_.name
                ),
            ));
        };
        let width = grouping.keys.len();
        let arguments: Vec<Ast> = call_.arguments.clone();
        let mut bits = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let bound = self.value(argument, grouping.below)?;
            let position = grouping.keys.iter().position(|(below, _)| below.expr == bound.expr);
            let position = position.ok_or_else(|| {
                SqlError::new(
                    8161,
                    16,
                    1,
                    format!(
                        "Argument {} of the {} function does not match any of the expressions in the GROUP BY clause.",
                        index + 1,
                        call_.name
                    ),
                )
            })?;
            bits.push(width - 1 - position);
        }
        let Some(set_column) = &grouping.set_column else {
            return Typed::constant(Datum::Int(0), result);
        };
        let set = Typed::new(reference(set_column), SqlType::BigInt, false);
        let name = format!("grouping_{bits:?}");
        Ok(call(&name, vec![set], result, move |arguments| {
            let Some(set) = arguments.first().and_then(Datum::as_int) else { return Ok(Datum::Null) };
            Ok(Datum::Int(bits.iter().fold(0, |value, bit| value << 1 | (set >> bit & 1))))
        }))
    }
}

/// Builds the condition that a row's grouping set lacks the expression at `position` of `width`.
fn left_out(position: usize, width: usize) -> Expr {
    let bit = 1_i64 << (width - 1 - position).min(62);
    let set = arrow_cast(reference(SET_COLUMN), DataType::Int64);
    datafusion::logical_expr::binary_expr(set, datafusion::logical_expr::Operator::BitwiseAnd, lit(bit))
        .not_eq(lit(0_i64))
}
