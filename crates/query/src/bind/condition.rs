//! Conditions: comparisons, LIKE, IN, EXISTS and what joins them.

use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlanBuilder, Operator, Subquery, lit};
use tds::SqlType;

use super::super::Datum;
use super::super::clr::ClrType;
use super::super::collation::{is_case_sensitive, key};
use super::super::convert::type_name;
use super::super::like::{Pattern, function_name};
use super::super::scalar::Scalar;
use super::super::size::{check_repeated, check_subquery};
use super::super::typed::{Typed, call_with, common_collation};
use super::super::types::{common_type, is_convertible, is_text};
use super::clause::{Clause, misplaced_aggregate};
use super::value::{is_not_grouped, truth_of, uncomputed};
use super::{Binder, Scope, plan_error};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{Comparison, Expr as Ast};
use tsql::query::Query;

impl Binder<'_> {
    /// Binds a condition: true, false or unknown. Errors: 4145 for a plain value.
    pub fn condition(&self, expr: &Ast, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        match expr {
            Ast::And(left, right) => {
                let (left, right) = both(self, left, right, false, scope)?;
                Ok(left.and(right))
            }
            Ast::Or(left, right) => {
                let (left, right) = both(self, left, right, true, scope)?;
                Ok(left.or(right))
            }
            Ast::Not(inner) => Ok(Expr::Not(Box::new(self.condition(inner, scope)?))),
            Ast::Compare(left, comparison, right)
                if matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                    && (is_null_word(left) || is_null_word(right))
                    && self.facts()?.options() & ANSI_NULLS == 0 =>
            {
                let (left_value, right_value) = (self.value(left, scope)?, self.value(right, scope)?);
                let (null, other) = match is_null_word(left) {
                    true => (left_value, right_value),
                    false => (right_value, left_value),
                };
                // Only the word NULL, and a variable that is NULL, are equal to it.
                if !null.constant.as_ref().is_some_and(Datum::is_null) {
                    return compare(other, *comparison, null);
                }
                let equal = *comparison == Comparison::Equal;
                Ok(if equal { other.expr.is_null() } else { other.expr.is_not_null() })
            }
            Ast::Compare(left, comparison, right) => {
                let (left, right) = self.operands(left, right, scope)?;
                compare(left, *comparison, right)
            }
            Ast::IsNull(inner, negated) => {
                let value = self.value(inner, scope)?.expr;
                Ok(if *negated { value.is_not_null() } else { value.is_null() })
            }
            Ast::Between { value, low, high, negated } => {
                let value = self.value(value, scope)?;
                check_repeated(&value.expr)?;
                let above = compare(value.clone(), Comparison::GreaterOrEqual, self.value(low, scope)?)?;
                let below = compare(value, Comparison::LessOrEqual, self.value(high, scope)?)?;
                Ok(negate(above.and(below), *negated))
            }
            Ast::InList { value, list, negated } => {
                let value = self.value(value, scope)?;
                let list = list.iter().map(|item| self.listed_value(item, scope));
                let list = list.collect::<Result<Vec<_>, _>>()?;
                self.look()?;
                Ok(negate(in_list(value, list)?, *negated))
            }
            Ast::Like { value, pattern, escape, negated } => {
                let escape = match escape {
                    Some(escape) => Some(self.value(escape, scope)?),
                    None => None,
                };
                let like = like(self.value(value, scope)?, self.value(pattern, scope)?, escape)?;
                Ok(negate(like, *negated))
            }
            Ast::Exists(query) => {
                let subquery = self.subquery(query, scope)?.0;
                Ok(Expr::Exists(Exists { subquery, negated: false }))
            }
            Ast::InQuery { value, query, negated } => {
                in_query(self, self.value(value, scope)?, query, *negated, scope)
            }
            Ast::Quantified { value, comparison, all, query } => {
                let value = self.value(value, scope)?;
                match (comparison, all) {
                    (Comparison::Equal, false) => in_query(self, value, query, false, scope),
                    (Comparison::NotEqual, true) => in_query(self, value, query, true, scope),
                    _ => quantified(self, value, *comparison, *all, query, scope),
                }
            }
            other => {
                let text = describe(other);
                Err(SqlError::new(
                    4145,
                    15,
                    1,
                    format!(
                        "An expression of non-boolean type specified in a context where a condition is expected, near '{text}'."
                    ),
                ))
            }
        }
    }

    /// Binds a query as part of an expression, and its columns. Errors: 130 in an aggregate, 144 in GROUP BY.
    pub(super) fn subquery(
        &self,
        query: &Query,
        scope: &Scope<'_>,
    ) -> Result<(Subquery, Vec<super::ScopeColumn>), SqlError> {
        if matches!(self.clause.get(), Clause::Aggregate | Clause::GroupBy) {
            return Err(misplaced_aggregate(self.clause.get()));
        }
        let bound = self.deeper(|| self.query(query, Some(scope)))?;
        check_subquery(&bound.plan)?;
        let columns = bound
            .plan
            .schema()
            .fields()
            .iter()
            .zip(bound.columns)
            .map(|(field, output)| super::ScopeColumn {
                table: None,
                schema: None,
                value: Typed::new(
                    super::scope::reference(field.name()),
                    output.sql_type.clone(),
                    output.nullable,
                )
                .with_collation(output.collation),
                output,
            })
            .collect();
        Ok((with_plan(bound.plan), columns))
    }
}

/// Binds two conditions of AND or OR. Where a constant decides, which for AND is false and for OR true, the other one may
/// be about columns that are not grouped.
fn both(
    binder: &Binder<'_>,
    left: &Ast,
    right: &Ast,
    deciding: bool,
    scope: &Scope<'_>,
) -> Result<(Expr, Expr), SqlError> {
    let may_be_dead = |bound: &Result<Expr, SqlError>| {
        scope.grouping.is_some() && bound.as_ref().err().is_some_and(is_not_grouped)
    };
    let (first, second) = (binder.condition(left, scope), binder.condition(right, scope));
    let decides =
        |bound: &Result<Expr, SqlError>| bound.as_ref().is_ok_and(|bound| truth_of(bound) == Some(deciding));
    match (first, second) {
        (first, second) if decides(&first) && may_be_dead(&second) => {
            Ok((first?, uncomputed(binder, || binder.condition(right, scope))?))
        }
        (first, second) if decides(&second) && may_be_dead(&first) => {
            Ok((uncomputed(binder, || binder.condition(left, scope))?, second?))
        }
        (first, second) => Ok((first?, second?)),
    }
}

fn in_query(
    binder: &Binder<'_>,
    value: Typed,
    query: &Query,
    negated: bool,
    scope: &Scope<'_>,
) -> Result<Expr, SqlError> {
    let (mut subquery, columns) = binder.subquery(query, scope)?;
    let [column] = columns.as_slice() else { return Err(one_column()) };
    let common = compared_type(&value, &column.value)?;
    let inner = column.value.clone().cast(&common)?;
    let name = binder.fresh();
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
        .project([key(&inner).alias(name)])
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    subquery = with_plan(plan);
    let expr = Box::new(key(&value.cast(&common)?));
    Ok(Expr::InSubquery(InSubquery { expr, subquery, negated }))
}

/// Compares a value with every or some row of a query, through the query's smallest and largest key.
fn quantified(
    binder: &Binder<'_>,
    value: Typed,
    comparison: Comparison,
    all: bool,
    query: &Query,
    scope: &Scope<'_>,
) -> Result<Expr, SqlError> {
    use datafusion::functions_aggregate::count::count_udaf;
    use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
    if !all {
        // Some row fits unless every row fails to.
        let opposite = match comparison {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
            Comparison::Distinct => Comparison::NotDistinct,
            Comparison::NotDistinct => Comparison::Distinct,
        };
        let every = quantified(binder, value, opposite, true, query, scope)?;
        return Ok(Expr::Not(Box::new(every)));
    }
    let (subquery, columns) = binder.subquery(query, scope)?;
    check_repeated(&value.expr)?;
    let [column] = columns.as_slice() else { return Err(one_column()) };
    let common = compared_type(&value, &column.value)?;
    let inner = key(&column.value.clone().cast(&common)?);
    let value = key(&value.cast(&common)?);
    let aggregated = |aggregate: Expr| -> Result<Expr, SqlError> {
        let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
            .aggregate(Vec::<Expr>::new(), [aggregate.alias(binder.fresh())])
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
        Ok(Expr::ScalarSubquery(with_plan(plan)))
    };
    let of = |function| super::aggregate::aggregate(function, vec![inner.clone()], false, Vec::new());
    let smallest = || aggregated(of(min_udaf()));
    let largest = || aggregated(of(max_udaf()));
    let rows = aggregated(super::aggregate::aggregate(count_udaf(), vec![lit(1_i64)], false, Vec::new()))?;
    let known = aggregated(of(count_udaf()))?;
    let holds = match comparison {
        Comparison::Greater => value.gt(largest()?),
        Comparison::GreaterOrEqual => value.gt_eq(largest()?),
        Comparison::Less => value.lt(smallest()?),
        Comparison::LessOrEqual => value.lt_eq(smallest()?),
        Comparison::Equal => value.clone().eq(smallest()?).and(value.eq(largest()?)),
        Comparison::NotEqual => return Err(SqlError::internal("<> ALL is NOT IN")),
        Comparison::Distinct | Comparison::NotDistinct => {
            return Err(SqlError::internal("IS DISTINCT FROM has no quantifier"));
        }
    };
    // No row: true. A row that fails: false. Else a NULL among the rows leaves it unknown.
    let unknown = lit(datafusion::common::ScalarValue::Boolean(None));
    datafusion::logical_expr::when(rows.clone().eq(lit(0_i64)), lit(true))
        .when(Expr::Not(Box::new(holds.clone())), lit(false))
        .when(rows.not_eq(known), unknown)
        .otherwise(holds)
        .map_err(plan_error)
}

/// Makes error 116: a subquery of several columns where one is wanted.
pub(super) fn one_column() -> SqlError {
    SqlError::new(
        116,
        16,
        1,
        "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.",
    )
}

/// Wraps the plan as a subquery that knows its outer columns.
pub(super) fn with_plan(plan: datafusion::logical_expr::LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    let plain = || Subquery {
        subquery: std::sync::Arc::new(plan.clone()),
        outer_ref_columns,
        spans: Default::default(),
    };
    super::super::correlated::subquery_of(plan.clone()).unwrap_or_else(|_| plain())
}

/// The bit of `@@OPTIONS`.
const ANSI_NULLS: i64 = 32;

/// Returns true for NULL, or for a variable, which may be NULL.
fn is_null_word(expr: &Ast) -> bool {
    matches!(expr, Ast::Literal(tsql::expression::Literal::Null) | Ast::Variable(_))
}

fn negate(expr: Expr, negated: bool) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

/// Compares two values in their common type and by collation.
///
/// Errors: 402 for types that cannot be compared, 468 for two collations.
pub(crate) fn compare(left: Typed, comparison: Comparison, right: Typed) -> Result<Expr, SqlError> {
    let is_null = |side: &Typed| side.constant.as_ref().is_some_and(Datum::is_null);
    let (left_null, right_null) = (is_null(&left), is_null(&right));
    let (left, right) = comparable(left, right, comparison)?;
    if left_null || right_null {
        let other = if left_null { right } else { left };
        return Ok(match comparison {
            Comparison::Distinct => other.is_not_null(),
            Comparison::NotDistinct => other.is_null(),
            _ => lit(datafusion::common::ScalarValue::Boolean(None)),
        });
    }
    let operator = match comparison {
        Comparison::Equal => Operator::Eq,
        Comparison::NotEqual => Operator::NotEq,
        Comparison::Less => Operator::Lt,
        Comparison::LessOrEqual => Operator::LtEq,
        Comparison::Greater => Operator::Gt,
        Comparison::GreaterOrEqual => Operator::GtEq,
        Comparison::Distinct => Operator::IsDistinctFrom,
        Comparison::NotDistinct => Operator::IsNotDistinctFrom,
    };
    Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right))))
}

/// Returns the type in which two values are compared.
fn common_of(left: &Typed, right: &Typed) -> SqlType {
    if left.untyped_null {
        right.sql_type.clone()
    } else if right.untyped_null {
        left.sql_type.clone()
    } else {
        common_type(&left.sql_type, &right.sql_type)
    }
}

/// Returns the type of [`common_of`]. Errors: 206 for types that cannot be compared.
fn compared_type(left: &Typed, right: &Typed) -> Result<SqlType, SqlError> {
    let known = !(left.untyped_null || right.untyped_null);
    if known && !is_convertible(&left.sql_type, &right.sql_type) {
        return Err(errors::TYPE_CLASH.with([&type_name(&left.sql_type), &type_name(&right.sql_type)]));
    }
    Ok(common_of(left, right))
}

fn comparable(left: Typed, right: Typed, comparison: Comparison) -> Result<(Expr, Expr), SqlError> {
    let common = common_of(&left, &right);
    let incomparable = |sql_type: &SqlType| {
        matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::Json)
            || ClrType::is_unordered(sql_type)
    };
    let vector = |value: &Typed| matches!(value.sql_type, SqlType::Vector { .. });
    if vector(&left) || vector(&right) {
        return Err(errors::VECTOR_COMPARED.error());
    }
    if left.sql_type == SqlType::Xml || right.sql_type == SqlType::Xml {
        let text = "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
        return Err(SqlError::new(305, 16, 1, text));
    }
    if incomparable(&left.sql_type) || incomparable(&right.sql_type) {
        let name = match comparison {
            Comparison::Equal => "equal to",
            Comparison::NotEqual => "not equal to",
            Comparison::Less => "less than",
            Comparison::LessOrEqual => "less than or equal to",
            Comparison::Greater => "greater than",
            Comparison::GreaterOrEqual => "greater than or equal to",
            Comparison::Distinct => "is distinct from",
            Comparison::NotDistinct => "is not distinct from",
        };
        return Err(SqlError::new(
            402,
            16,
            1,
            format!(
                "The data types {} and {} are incompatible in the {name} operator.",
                type_name(&left.sql_type),
                type_name(&right.sql_type)
            ),
        ));
    }
    compared_type(&left, &right)?;
    let collation = match (left.collation, right.collation) {
        (Some(one), _) if left.explicit && !right.explicit => Some(one),
        (_, Some(other)) if right.explicit && !left.explicit => Some(other),
        (Some(one), Some(other)) if one != other && is_text(&common) => {
            return Err(SqlError::new(
                468,
                16,
                9,
                format!(
                    "Cannot resolve the collation conflict between \"{}\" and \"{}\" in the {} operation.",
                    one.name().unwrap_or_default(),
                    other.name().unwrap_or_default(),
                    if comparison == Comparison::Equal { "equal to" } else { "comparison" },
                ),
            ));
        }
        (one, other) => one.or(other),
    };
    let left = left.cast(&common)?.with_collation(collation);
    let right = right.cast(&common)?.with_collation(collation);
    Ok((key(&left), key(&right)))
}

fn in_list(value: Typed, list: Vec<Typed>) -> Result<Expr, SqlError> {
    if list.len() > 1 {
        check_repeated(&value.expr)?;
    }
    // Constants that the value is compared with in the same way stand in one list, which is looked up by hash.
    let mut lists: Vec<(Expr, Vec<Expr>)> = Vec::new();
    let mut terms = Vec::new();
    let mut known: Option<(Typed, SqlType, Expr)> = None;
    for item in list {
        if item.constant.is_none() || value.constant.is_some() {
            terms.push(compare(value.clone(), Comparison::Equal, item)?);
            continue;
        }
        let alike = known.as_ref().filter(|(other, _, _)| {
            other.sql_type == item.sql_type
                && other.collation == item.collation
                && other.untyped_null == item.untyped_null
        });
        let (left, right) = match alike {
            Some((_, common, left)) => {
                let collation = value.collation.or(item.collation);
                (left.clone(), key(&item.cast(common)?.with_collation(collation)))
            }
            None => {
                let common = common_of(&value, &item);
                let (left, right) = comparable(value.clone(), item.clone(), Comparison::Equal)?;
                known = Some((item, common, left.clone()));
                (left, right)
            }
        };
        if !is_constant(&right) {
            terms.push(left.eq(right));
            continue;
        }
        match lists.iter_mut().find(|(own, _)| *own == left) {
            Some((_, items)) => items.push(right),
            None => lists.push((left, vec![right])),
        }
    }
    for (left, mut items) in lists {
        match items.len() {
            1 => terms.extend(items.pop().map(|item| left.eq(item))),
            _ => terms.push(left.in_list(items, false)),
        }
    }
    // A balanced tree: a long list must not nest deeply.
    while terms.len() > 1 {
        let mut next = Vec::with_capacity(terms.len().div_ceil(2));
        let mut pairs = terms.into_iter();
        while let Some(left) = pairs.next() {
            next.push(match pairs.next() {
                Some(right) => left.or(right),
                None => left,
            });
        }
        terms = next;
    }
    Ok(terms.pop().unwrap_or_else(|| lit(false)))
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}

fn like(value: Typed, pattern: Typed, escape: Option<Typed>) -> Result<Expr, SqlError> {
    let unicode = [Some(&value), Some(&pattern), escape.as_ref()]
        .into_iter()
        .flatten()
        .any(|argument| argument.sql_type.is_unicode());
    let text = SqlType::NVarChar { length: tds::Length::Max };
    // Bytes beside texts of a code page are such a text.
    let narrow = SqlType::VarChar { length: tds::Length::Max };
    let as_text = |argument: Typed| match argument.sql_type.is_binary() && !unicode {
        true => argument.cast(&narrow)?.cast(&text),
        false => argument.cast(&text),
    };
    let (collation, _) = common_collation([&value, &pattern]);
    let fold = !is_case_sensitive(collation);
    let escape = match escape.map(|escape| escape.constant) {
        None => None,
        Some(Some(Datum::Text(text))) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => {
            return Err(SqlError::new(
                506,
                16,
                1,
                "The invalid escape character was specified in a LIKE predicate.",
            ));
        }
    };
    let name = function_name(fold, !unicode, escape);
    let (value, pattern) = (as_text(value)?, as_text(pattern)?);
    let constant = match &pattern.constant {
        Some(Datum::Text(text)) => Some(Pattern::new(text, escape, fold).over_blanks(!unicode)),
        _ => None,
    };
    let name = match &pattern.constant {
        Some(Datum::Text(text)) => format!("{name}_{text}"),
        _ => name,
    };
    let function =
        Scalar::by_value(&name, vec![text.clone(), text.clone()], SqlType::Bit, move |arguments| {
            Ok(match arguments {
                [Datum::Text(value), Datum::Text(pattern)] => {
                    let value = if fold { text_key_untrimmed(value) } else { value.clone() };
                    Datum::Bit(match &constant {
                        Some(constant) => constant.matches(&value)?,
                        None => Pattern::new(pattern, escape, fold).over_blanks(!unicode).matches(&value)?,
                    })
                }
                _ => Datum::Null,
            })
        });
    Ok(call_with(function, vec![value, pattern]).expr)
}

fn text_key_untrimmed(text: &str) -> String {
    text.to_lowercase()
}

fn describe(expr: &Ast) -> String {
    match expr {
        Ast::Column(parts) => parts.last().cloned().unwrap_or_default(),
        Ast::Variable(name) => name.clone(),
        Ast::Function(call) => call.name.to_lowercase(),
        Ast::Literal(tsql::expression::Literal::Integer(digits)) => digits.clone(),
        Ast::Literal(tsql::expression::Literal::Text { value, .. }) => value.clone(),
        _ => ")".to_string(),
    }
}
