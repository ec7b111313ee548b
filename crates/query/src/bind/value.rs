//! Values: names, constants, operators, CASE, subqueries, calls.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Case, Expr, LogicalPlan, LogicalPlanBuilder, TryCast};
use datafusion::physical_expr::create_physical_expr;
use tds::{CodePage, Length, SqlType};

use super::super::convert::in_code_page;
use super::super::scalar::Scalar;
use super::super::size::check_repeated;
use super::super::typed::{Typed, call_with, common_collation, unify};
use super::super::types::is_numeric;
use super::super::{Datum, arithmetic, functions};
use super::condition::{one_column, with_plan};
use super::from::argument_of;
use super::{Binder, Scope, plan_error};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{BinaryOperator, Comparison, Expr as Ast, Literal, UnaryOperator};
use tsql::query::Query;

impl Binder<'_> {
    /// Binds a value with its type.
    pub fn value(&self, expr: &Ast, scope: &Scope<'_>) -> Result<Typed, SqlError> {
        if let Some(grouping) = scope.grouping
            && let Some(found) = self.grouped(expr, grouping)?
        {
            return Ok(found);
        }
        match expr {
            Ast::Literal(constant) => literal(constant),
            Ast::Variable(name) => {
                if let Some(argument) = argument_of(self, name) {
                    return Ok(argument);
                }
                let (value, sql_type) = self.environment.variable(name)?;
                let nullable = !name.starts_with("@@") || value.is_null();
                Ok(Typed { nullable, ..Typed::constant(value, sql_type)? })
            }
            Ast::Column(parts) => match scope.resolve(parts) {
                Ok((value, _)) => Ok(value),
                Err(error) => property_value(parts, scope).unwrap_or(Err(error)),
            },
            Ast::Unary(operator, inner) => {
                let value = self.value(inner, scope)?;
                match operator {
                    UnaryOperator::Plus => Ok(value),
                    UnaryOperator::Minus => arithmetic::negate(value),
                    UnaryOperator::BitNot => arithmetic::complement(value),
                }
            }
            Ast::Binary(left, BinaryOperator::Concatenate, right) => {
                let (left, right) = self.operands(left, right, scope)?;
                let constant = left.constant.is_some() && right.constant.is_some();
                let value = arithmetic::concatenate_any(left, right)?;
                Ok(if constant { folded(value) } else { value })
            }
            Ast::Binary(left, operator, right) => {
                let (left, right) = self.operands(left, right, scope)?;
                let joins = *operator == BinaryOperator::Add
                    && (left.sql_type.is_character() || right.sql_type.is_character());
                if joins && self.facts()?.options() & CONCAT_NULL_YIELDS_NULL == 0 {
                    return arithmetic::bind(or_empty(left)?, *operator, or_empty(right)?);
                }
                let null = is_null(&left) || is_null(&right);
                let constant = left.constant.is_some() && right.constant.is_some();
                let value = arithmetic::bind(left, *operator, right)?;
                // Nothing is computed that can only be NULL.
                if null && is_numeric(&value.sql_type) {
                    return Typed::constant(Datum::Null, value.sql_type);
                }
                Ok(if constant { folded(value) } else { value })
            }
            Ast::Case { operand, branches, otherwise } => {
                case_value(self, operand.as_deref(), branches, otherwise.as_deref(), scope)
            }
            Ast::Cast { value, sql_type, style, lenient, .. } => {
                let style = match style {
                    Some(style) => self.constant_int(style, scope)?,
                    None => 0,
                };
                self.value(value, scope)?.convert(sql_type, style, *lenient)
            }
            Ast::Collate(inner, name) => {
                let value = self.value(inner, scope)?;
                let collation = tds::Collation::from_name(name)
                    .ok_or_else(|| SqlError::new(448, 16, 1, format!("Invalid collation '{name}'.")))?;
                let value = if value.sql_type.is_character() {
                    value
                } else {
                    value.cast(&SqlType::VarChar { length: Length::Units(30) })?
                };
                value.collate(collation)
            }
            Ast::Subquery(query) => scalar_subquery(self, query, scope),
            Ast::NextValue(name) => {
                let function = self.environment.next_value(name)?;
                let kernel = self.row.value(&function);
                let scalar = Scalar::by_value(
                    &format!("next_value_{}", function.name),
                    Vec::new(),
                    function.returns,
                    move |arguments| kernel(arguments),
                );
                Ok(call_with(scalar.volatile(), Vec::new()))
            }
            Ast::Function(call) => self.function_call(call, scope),
            // A condition where a value must be.
            Ast::Compare(..)
            | Ast::And(..)
            | Ast::Or(..)
            | Ast::Not(_)
            | Ast::IsNull(..)
            | Ast::Between { .. }
            | Ast::InList { .. }
            | Ast::InQuery { .. }
            | Ast::Like { .. }
            | Ast::Exists(_)
            | Ast::Quantified { .. } => Err(errors::SYNTAX.with(["="])),
        }
    }

    /// Binds two operands. If one side is NULL, both become NULL, and the other one is not computed.
    pub(super) fn operands(
        &self,
        left: &Ast,
        right: &Ast,
        scope: &Scope<'_>,
    ) -> Result<(Typed, Typed), SqlError> {
        match (self.value(left, scope), self.value(right, scope)) {
            (Ok(left), Ok(right)) => Ok((left, right)),
            (Ok(known), Err(_)) if is_null(&known) => Ok((known, never_computed(self, right, scope)?)),
            (Err(_), Ok(known)) if is_null(&known) => Ok((never_computed(self, left, scope)?, known)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Binds a constant whole number (styles, positions).
    pub(super) fn constant_int(&self, expr: &Ast, scope: &Scope<'_>) -> Result<i32, SqlError> {
        match self.value(expr, scope)?.cast(&SqlType::Int)?.constant {
            Some(Datum::Int(value)) => Ok(value as i32),
            Some(_) => Ok(0),
            None => Err(SqlError::unsupported("A style or position that is not a constant")),
        }
    }
}

fn case_value(
    binder: &Binder<'_>,
    operand: Option<&Ast>,
    branches: &[(Ast, Ast)],
    otherwise: Option<&Ast>,
    scope: &Scope<'_>,
) -> Result<Typed, SqlError> {
    let mut conditions = Vec::with_capacity(branches.len());
    let mut results = Vec::with_capacity(branches.len() + 1);
    let operand = match operand {
        Some(operand) => {
            let operand = binder.value(operand, scope)?;
            check_repeated(&operand.expr)?;
            Some(operand)
        }
        None => None,
    };
    // A branch before is taken always.
    let mut decided = false;
    for (when, then) in branches {
        binder.look()?;
        conditions.push(match &operand {
            None => binder.condition(when, scope)?,
            Some(operand) => {
                let when = binder.value(when, scope)?;
                super::condition::compare(operand.clone(), Comparison::Equal, when)?
            }
        });
        let known = scope.grouping.and(conditions.last().and_then(truth_of));
        results.push(match known.filter(|_| !decided) {
            Some(true) => {
                let value = binder.value(then, scope)?;
                decided = true;
                value
            }
            Some(false) => never_computed(binder, then, scope)?,
            None if decided => never_computed(binder, then, scope)?,
            None => binder.value(then, scope)?,
        });
    }
    if results.iter().all(|result| result.untyped_null)
        && otherwise.is_none_or(|o| *o == Ast::Literal(Literal::Null))
    {
        return Err(SqlError::new(
            8133,
            16,
            1,
            "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.",
        ));
    }
    results.push(match otherwise {
        Some(otherwise) if decided => never_computed(binder, otherwise, scope)?,
        Some(otherwise) => binder.value(otherwise, scope)?,
        None => Typed::null(),
    });
    choose(conditions, results)
}

/// Binds a value of which only the type counts: it need not be grouped by.
pub(super) fn never_computed(binder: &Binder<'_>, expr: &Ast, scope: &Scope<'_>) -> Result<Typed, SqlError> {
    match binder.value(expr, scope) {
        Err(error) if scope.grouping.is_some() && is_not_grouped(&error) => {
            let value = uncomputed(binder, || binder.value(expr, scope))?;
            Typed::constant(Datum::Null, value.sql_type)
        }
        bound => bound,
    }
}

/// Binds an expression that is never computed, of which only the type counts.
pub(super) fn uncomputed<T>(binder: &Binder<'_>, bind: impl FnOnce() -> T) -> T {
    let before = binder.is_uncomputed.replace(true);
    let result = bind();
    binder.is_uncomputed.set(before);
    result
}

/// Returns true for the errors of a column that is neither grouped nor aggregated.
pub(super) fn is_not_grouped(error: &SqlError) -> bool {
    matches!(error.number, 8120 | 8121 | 8127)
}

/// Binds a query as a value: NULL for no row, error 512 for several.
fn scalar_subquery(binder: &Binder<'_>, query: &Query, scope: &Scope<'_>) -> Result<Typed, SqlError> {
    let (mut subquery, columns) = binder.subquery(query, scope)?;
    let [column] = columns.as_slice() else { return Err(one_column()) };
    // Plans above know from here on that the value is NULL where the query has no row.
    let field = subquery.subquery.schema().field(0);
    if !field.is_nullable() && !always_has_row(&subquery.subquery) {
        let own = Expr::Column(Column::new_unqualified(field.name()));
        let value = Expr::TryCast(TryCast::new(Box::new(own), field.data_type().clone()));
        let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
            .project([value.alias(binder.fresh())])
            .and_then(LogicalPlanBuilder::build);
        subquery = with_plan(plan.map_err(plan_error)?);
    }
    let mut value = Typed { expr: Expr::ScalarSubquery(subquery), ..column.value.clone() };
    value.nullable = true;
    Ok(value)
}

/// Returns true for a query of aggregates without groups.
fn always_has_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => always_has_row(&projection.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Binds `column.Property` of a CLR type; `None` if the last part is no property.
fn property_value(parts: &[String], scope: &Scope<'_>) -> Option<Result<Typed, SqlError>> {
    let (property, column) = parts.split_last()?;
    if column.is_empty() || !functions::is_value_method(property) {
        return None;
    }
    let (value, _) = scope.resolve(column).ok()?;
    Some(functions::value_method(value, property, Vec::new()))
}

/// Binds a constant, as written.
pub(super) fn literal(literal: &Literal) -> Result<Typed, SqlError> {
    match literal {
        Literal::Null => Ok(Typed::null()),
        Literal::Integer(digits) => match digits.parse::<i32>() {
            Ok(value) => Typed::constant(Datum::Int(i64::from(value)), SqlType::Int),
            // More than an int holds is a numeric of that many digits.
            Err(_) => decimal_literal(digits),
        },
        Literal::Decimal(digits) => decimal_literal(digits),
        Literal::Float(digits) => {
            let value = digits.parse::<f64>().map_err(|_| errors::SYNTAX.with([digits]))?;
            if value.is_infinite() {
                return Err(errors::FLOAT_OUT_OF_RANGE.with([digits]));
            }
            Typed::constant(Datum::Float(value), SqlType::Float)
        }
        Literal::Money(digits) => {
            // `$` and `$.` are nothing.
            let is_zero = !digits.bytes().any(|byte| byte.is_ascii_digit());
            let rounding = rows::text::ParseOptions { allow_rounding: true, ..Default::default() };
            let units = rows::text::money::money(if is_zero { "0" } else { digits }, &rounding)
                .map_err(|_| SqlError::overflow("money", "money"))?;
            Typed::constant(Datum::Decimal(i128::from(units)), SqlType::Money)
        }
        Literal::Text { value, unicode } => {
            let units = if *unicode { value.encode_utf16().count() } else { value.chars().count() };
            let limit = if *unicode { 4000 } else { 8000 };
            let sql_type = super::super::types::text_of(*unicode, (units <= limit).then_some(units));
            let value = match unicode {
                true => value.clone(),
                false => in_code_page(value, CodePage::Cp1252).unwrap_or_else(|| value.clone()),
            };
            Typed::constant(Datum::Text(value), sql_type)
        }
        Literal::Binary(bytes) => {
            let length = match bytes.len() {
                length @ 0..=8000 => Length::Units(length.max(1) as u16),
                _ => Length::Max,
            };
            Typed::constant(Datum::Binary(bytes.clone()), SqlType::VarBinary { length })
        }
    }
}

/// The bit of `@@OPTIONS`.
const CONCAT_NULL_YIELDS_NULL: i64 = 4096;

/// Replaces NULL by the empty text; leaves other values alone.
fn or_empty(value: Typed) -> Result<Typed, SqlError> {
    let sql_type = if value.untyped_null {
        SqlType::VarChar { length: Length::Units(1) }
    } else {
        value.sql_type.clone()
    };
    if !sql_type.is_character() {
        return Ok(value);
    }
    let empty = Typed::constant(Datum::Text(String::new()), SqlType::VarChar { length: Length::Units(1) })?;
    coalesce(vec![value.cast(&sql_type)?, empty])
}

fn decimal_literal(digits: &str) -> Result<Typed, SqlError> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let precision = (whole.len() + fraction.len()).max(1);
    if precision > 38 {
        return Err(errors::NUMBER_OUT_OF_RANGE.with([digits]));
    }
    let units = format!("{whole}{fraction}");
    let units = if units.is_empty() {
        0
    } else {
        units.parse::<i128>().map_err(|_| errors::SYNTAX.with([digits]))?
    };
    let sql_type = SqlType::Numeric { precision: precision as u8, scale: fraction.len() as u8 };
    Typed::constant(Datum::Decimal(units), sql_type)
}

fn is_null(value: &Typed) -> bool {
    value.constant.as_ref().is_some_and(Datum::is_null)
}

/// Evaluates a condition of constants; `None` if it has other parts.
pub(super) fn truth_of(condition: &Expr) -> Option<bool> {
    let unknown = |part: &Expr| {
        Ok(!matches!(
            part,
            Expr::Literal(..) | Expr::BinaryExpr(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotNull(_)
        ))
    };
    if condition.exists(unknown).unwrap_or(true) {
        return None;
    }
    let value = computed(condition)?;
    let value = value.as_boolean_opt()?;
    Some(value.is_valid(0) && value.value(0))
}

/// Folds a value of constants into a single one. A value that cannot be computed is left: it may never be needed.
fn folded(value: Typed) -> Typed {
    let constant =
        computed(&value.expr).and_then(|array| Datum::read(array.as_ref(), &value.sql_type, 0).ok());
    let constant = constant.and_then(|constant| Typed::constant(constant, value.sql_type.clone()).ok());
    match constant {
        Some(constant) => constant.with_collation(value.collation),
        None => value,
    }
}

fn computed(expr: &Expr) -> Option<ArrayRef> {
    let nothing = DFSchema::empty();
    let context = PhysicalPlanningContext::default();
    let physical = create_physical_expr(expr, &nothing, &ExecutionProps::new(), &context).ok()?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).ok()?;
    physical.evaluate(&row).ok()?.into_array(1).ok()
}

/// Builds CASE WHEN condition THEN result … ELSE the last result.
pub(super) fn choose(conditions: Vec<Expr>, results: Vec<Typed>) -> Result<Typed, SqlError> {
    let collation = common_collation(&results);
    let nullable = results.iter().any(|result| result.nullable);
    let (results, sql_type) = unify(results)?;
    let mut results =
        results.into_iter().map(|result| result.under(collation)).collect::<Result<Vec<_>, _>>()?;
    let otherwise = results.pop().map(|result| Box::new(result.expr));
    let branches = conditions
        .into_iter()
        .zip(results)
        .map(|(condition, result)| (Box::new(condition), Box::new(result.expr)))
        .collect::<Vec<_>>();
    if branches.is_empty() {
        return Err(SqlError::internal("a CASE without branches"));
    }
    let expr = Expr::Case(Case::new(None, branches, otherwise));
    let collation = if sql_type.is_character() { collation } else { (None, false) };
    Ok(Typed::new(expr, sql_type, nullable).collated(collation))
}

pub(super) fn coalesce(values: Vec<Typed>) -> Result<Typed, SqlError> {
    if values.len() < 2 {
        return Err(errors::SYNTAX.with([")"]));
    }
    if values.iter().all(|value| value.untyped_null) {
        return Err(SqlError::new(
            4127,
            16,
            1,
            "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.",
        ));
    }
    for value in &values {
        check_repeated(&value.expr)?;
    }
    let nullable = values.iter().all(|value| value.nullable);
    let conditions =
        values.iter().take(values.len() - 1).map(|value| value.expr.clone().is_not_null()).collect();
    let mut typed = choose(conditions, values)?;
    typed.nullable = nullable;
    Ok(typed)
}
