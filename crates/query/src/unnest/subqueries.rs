//! Dependent joins in the place of subqueries.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, JoinType, Result, ScalarValue};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::{Case, Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator, TableScan,
    Union, cast, lit, when,
};

use super::fresh;
use super::lookups::joined_by_lookup;
use super::presence::joined_by_presence;
use crate::apply::ApplyTable;
use crate::computed::{computed, rows_of};
use crate::correlated::subquery_of;
use crate::function_table::FunctionTable;
use crate::lazy_logic::computes;
use crate::matched::ApplyKind;
use crate::recursive::RecursiveTable;

/// Removes subqueries from the expressions of a plan, including hidden plans.
pub(crate) fn without_subqueries(plan: &LogicalPlan) -> Result<LogicalPlan> {
    plan.clone().transform_up(rewritten).map(|transformed| transformed.data)
}

fn rewritten(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::TableScan(scan) = node {
        return scanned(scan);
    }
    if !has_subqueries(&node)? {
        return Ok(Transformed::no(node));
    }
    let before = node.schema().columns();
    let rewritten = match node {
        LogicalPlan::Filter(filter) => filtered(filter, &before)?,
        LogicalPlan::Join(join) => joined(join)?,
        node => {
            let [input] = node.inputs()[..] else {
                return Err(DataFusionError::Internal("a subquery in an operator without rows".to_owned()));
            };
            let mut applied = Applied::over(input.clone());
            let node = node.clone().map_expressions(|expr| applied.expr(expr).map(Transformed::yes))?.data;
            let exprs = node.expressions();
            let made = matches!(node, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_));
            let rebuilt = node.with_new_exprs(exprs, vec![applied.input])?;
            // A plan that passes on its input's columns has the new ones too.
            if made { rebuilt } else { only(rebuilt, &before)? }
        }
    };
    Ok(Transformed::yes(rewritten))
}

fn has_subqueries(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= holds_subquery(expr)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Returns true if an expression is or contains a subquery.
pub(super) fn holds_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))))
}

/// Keeps the columns of a plan that have these names.
fn only(plan: LogicalPlan, columns: &[Column]) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let exprs = columns.iter().map(|column| Expr::Column(present(column.clone(), &schema)));
    LogicalPlanBuilder::from(plan).project(exprs.collect::<Vec<_>>())?.build()
}

/// Returns the column as a schema has it: operators of dependent joins know no qualifiers.
fn present(column: Column, schema: &DFSchema) -> Column {
    match schema.maybe_index_of_column(&column) {
        None => Column::new_unqualified(column.name),
        Some(_) => column,
    }
}

/// Orders conditions: plain ones first, then those by which rows are joined, then those that need a value of a
/// subquery.
fn filtered(filter: Filter, before: &[Column]) -> Result<LogicalPlan> {
    let (mut plain, mut others) = (Vec::new(), Vec::new());
    for part in split_conjunction(&filter.predicate) {
        match holds_subquery(part)? {
            true => others.push(part.clone()),
            false => plain.push(part.clone()),
        }
    }
    let mut input = Arc::unwrap_or_clone(filter.input);
    if let Some(plain) = plain.into_iter().reduce(Expr::and) {
        input = LogicalPlanBuilder::from(input).filter(plain)?.build()?;
    }
    let mut rest = Vec::new();
    for part in others {
        match joined_by_presence(&input, &part)? {
            Some(joined) => input = joined,
            None => rest.push(part),
        }
    }
    if rest.is_empty() {
        return Ok(input);
    }
    // A condition is looked at for the rows only that those before it have left.
    for part in rest {
        let mut applied = Applied::over(input);
        let condition = applied.expr(part)?;
        input = LogicalPlanBuilder::from(applied.input).filter(condition)?.build()?;
    }
    only(input, before)
}

/// An operator's input, with dependent joins for the subqueries of its expressions.
struct Applied {
    input: LogicalPlan,
    known: Vec<Known>,
    /// Conditions that are columns of the input.
    marks: Vec<(Vec<Expr>, String)>,
}

/// A subquery that has been met: what is written once may stand in several places.
struct Known {
    subquery: Expr,
    /// For which rows it is asked: all of these conditions are true for them.
    asked: Vec<Expr>,
    /// The column of its value.
    value: Expr,
}

impl Applied {
    fn over(input: LogicalPlan) -> Applied {
        Applied { input, known: Vec::new(), marks: Vec::new() }
    }

    /// Puts columns in place of the subqueries of an expression.
    fn expr(&mut self, expr: Expr) -> Result<Expr> {
        let name = expr.schema_name().to_string();
        if !holds_subquery(&expr)? {
            return self.present(expr);
        }
        let replaced = self.replaced(expr, &[])?;
        let replaced = self.present(replaced)?;
        let same = matches!(replaced, Expr::Alias(_)) || replaced.schema_name().to_string() == name;
        Ok(if same { replaced } else { replaced.alias(name) })
    }

    /// Puts columns in place of subqueries that are needed only for rows where all the conditions are true.
    fn replaced(&mut self, expr: Expr, asked: &[Expr]) -> Result<Expr> {
        if !holds_subquery(&expr)? {
            return Ok(expr);
        }
        match expr {
            Expr::Case(case) if case.expr.is_none() => self.case(case, asked),
            Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
                self.logic(binary, asked)
            }
            expr => {
                let part = expr.map_children(|child| self.replaced(child, asked).map(Transformed::yes))?.data;
                match part {
                    Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => {
                        self.asked(part, asked)
                    }
                    part => Ok(part),
                }
            }
        }
    }

    /// Rewrites CASE: a branch is needed where the conditions before it are not true, and a result where its own is.
    fn case(&mut self, mut case: Case, asked: &[Expr]) -> Result<Expr> {
        let mut asked = asked.to_vec();
        for (condition, result) in &mut case.when_then_expr {
            let own = self.replaced(std::mem::take(condition.as_mut()), &asked)?;
            let mut chosen = asked.clone();
            // A condition that differs from one time to the next is not computed twice.
            if !own.is_volatile() {
                chosen.push(own.clone().is_true());
                asked.push(own.clone().is_not_true());
            }
            **result = self.replaced(std::mem::take(result.as_mut()), &chosen)?;
            **condition = own;
        }
        if let Some(otherwise) = &mut case.else_expr {
            **otherwise = self.replaced(std::mem::take(otherwise.as_mut()), &asked)?;
        }
        Ok(Expr::Case(case))
    }

    /// Rewrites AND and OR: the second operand is needed where the first does not decide. Comparisons of columns come
    /// first.
    fn logic(&mut self, binary: BinaryExpr, asked: &[Expr]) -> Result<Expr> {
        let BinaryExpr { mut left, op, mut right } = binary;
        if holds_subquery(&left)? && !holds_subquery(&right)? && !computes(&right)? {
            std::mem::swap(&mut left, &mut right);
        }
        let left = self.replaced(*left, asked)?;
        let mut asked = asked.to_vec();
        if !left.is_volatile() {
            asked.push(match op {
                Operator::And => left.clone().is_not_false(),
                _ => left.clone().is_not_true(),
            });
        }
        let right = self.replaced(*right, &asked)?;
        Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
    }

    fn present(&self, expr: Expr) -> Result<Expr> {
        let schema = self.input.schema();
        let fitted = expr.transform_up(|part| match part {
            Expr::Column(column) => Ok(Transformed::yes(Expr::Column(present(column, schema)))),
            part => Ok(Transformed::no(part)),
        })?;
        Ok(fitted.data)
    }

    /// Joins the value of a subquery to the rows that need it, and returns its column.
    fn asked(&mut self, subquery: Expr, asked: &[Expr]) -> Result<Expr> {
        let known =
            self.known.iter().find(|known| known.subquery == subquery && asked.starts_with(&known.asked));
        if let Some(known) = known {
            return Ok(known.value.clone());
        }
        let value = self.subquery(subquery.clone(), asked)?;
        self.known.push(Known { subquery, asked: asked.to_vec(), value: value.clone() });
        Ok(value)
    }

    fn subquery(&mut self, subquery: Expr, asked: &[Expr]) -> Result<Expr> {
        if let Expr::ScalarSubquery(subquery) = &subquery
            && let Some((joined, value)) = joined_by_lookup(&self.input, &subquery.subquery)?
        {
            self.input = joined;
            return Ok(value);
        }
        let mark = self.mark(asked)?;
        let name = fresh();
        let (kind, subquery, negated) = match subquery {
            Expr::ScalarSubquery(subquery) => (ApplyKind::Scalar(name.clone()), subquery, false),
            Expr::Exists(Exists { subquery, negated }) => {
                (ApplyKind::Exists(name.clone()), subquery, negated)
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let value = fresh();
                // The value is computed where it is asked for.
                let expr = match &mark {
                    Some(mark) if computes(&expr)? => {
                        let data_type = expr.get_type(self.input.schema())?;
                        let nothing = lit(ScalarValue::try_from(&data_type)?);
                        when(reference(mark), *expr).otherwise(nothing)?
                    }
                    _ => *expr,
                };
                self.with_column(expr, &value)?;
                (ApplyKind::In { name: name.clone(), value }, subquery, negated)
            }
            other => return Ok(other),
        };
        let right = without_subqueries(&subquery.subquery)?;
        let apply = ApplyTable::new(self.input.clone(), right, kind)?.where_asked(mark);
        self.input = apply.into_plan(&fresh())?;
        Ok(if negated { Expr::Not(Box::new(reference(&name))) } else { reference(&name) })
    }

    /// Returns the column of the input that marks the rows for which conditions are true; `None` if there are no
    /// conditions.
    fn mark(&mut self, asked: &[Expr]) -> Result<Option<String>> {
        let Some((last, before)) = asked.split_last() else { return Ok(None) };
        if let Some((_, name)) = self.marks.iter().find(|(known, _)| known == asked) {
            return Ok(Some(name.clone()));
        }
        let condition = match self.mark(before)? {
            Some(before) => when(reference(&before), last.clone()).otherwise(lit(false))?,
            None => last.clone(),
        };
        let name = fresh();
        self.with_column(condition, &name)?;
        self.marks.push((asked.to_vec(), name.clone()));
        Ok(Some(name))
    }

    /// Puts a value beside the input's rows.
    fn with_column(&mut self, value: Expr, name: &str) -> Result<()> {
        let value = self.present(value)?;
        let mut exprs: Vec<Expr> = self.input.schema().columns().into_iter().map(Expr::Column).collect();
        exprs.push(value.alias(name));
        self.input = LogicalPlanBuilder::from(self.input.clone()).project(exprs)?.build()?;
        Ok(())
    }
}

fn reference(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Rewrites a join whose condition has subqueries, which may look at both sides.
fn joined(mut join: Join) -> Result<LogicalPlan> {
    let columns = join.schema.columns();
    let keys = std::mem::take(&mut join.on).into_iter().map(|(left, right)| left.eq(right));
    let condition = keys.chain(join.filter.take()).reduce(Expr::and).unwrap_or_else(|| lit(true));
    let joined = match join.join_type {
        JoinType::Inner => {
            let (plain, others): (Vec<&Expr>, Vec<&Expr>) = split_conjunction(&condition)
                .into_iter()
                .partition(|part| !holds_subquery(part).unwrap_or(true));
            join.filter = plain.into_iter().cloned().reduce(Expr::and);
            let pairs = LogicalPlan::Join(join);
            match others.into_iter().cloned().reduce(Expr::and) {
                Some(condition) => LogicalPlanBuilder::from(pairs).filter(condition)?.build()?,
                None => pairs,
            }
        }
        JoinType::Left => optional(&join.left, &join.right, condition)?,
        JoinType::Right => optional(&join.right, &join.left, condition)?,
        // The pairs and the left rows without one, and then the right rows without one.
        JoinType::Full => {
            let pairs = only(optional(&join.left, &join.right, condition.clone())?, &columns)?;
            let found = LogicalPlanBuilder::from(join.left.as_ref().clone())
                .filter(seen_from(condition, join.right.schema())?)?
                .build()?;
            let subquery = subquery_of(found)?;
            let alone = LogicalPlanBuilder::from(join.right.as_ref().clone())
                .filter(Expr::Exists(Exists { subquery, negated: true }))?
                .build()?;
            let own = alone.schema().columns();
            let exprs = join.schema.iter().map(|(qualifier, field)| {
                let column = Column::new(qualifier.cloned(), field.name());
                let expr = match own.contains(&column) {
                    true => Expr::Column(column),
                    false => cast(lit(ScalarValue::Null), field.data_type().clone()),
                };
                expr.alias(field.name())
            });
            let alone = LogicalPlanBuilder::from(alone).project(exprs.collect::<Vec<_>>())?.build()?;
            let inputs = vec![Arc::new(pairs), Arc::new(alone)];
            LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)
        }
        other => {
            return Err(DataFusionError::Internal(format!("a subquery in the condition of a {other} join")));
        }
    };
    only(without_subqueries(&joined)?, &columns)
}

/// Joins all rows of one plan with those of the other for which a condition holds.
fn optional(left: &LogicalPlan, right: &LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    let chosen =
        LogicalPlanBuilder::from(right.clone()).filter(seen_from(condition, left.schema())?)?.build()?;
    ApplyTable::new(left.clone(), without_subqueries(&chosen)?, ApplyKind::Outer)?.into_plan(&fresh())
}

/// Rewrites a condition for a query around which there are the columns of `outside`.
fn seen_from(condition: Expr, outside: &DFSchema) -> Result<Expr> {
    let seen = condition.transform_up(|part| {
        Ok(match part {
            Expr::Column(column) if outside.maybe_index_of_column(&column).is_some() => {
                let (_, field) = Expr::Column(column.clone()).to_field(outside)?;
                let field = Arc::new(field.as_ref().clone().with_nullable(true));
                Transformed::yes(Expr::OuterReferenceColumn(field, column))
            }
            part => Transformed::no(part),
        })
    })?;
    Ok(seen.data)
}

/// Rewrites a scan, if it hides plans, or looks at subqueries.
fn scanned(mut scan: TableScan) -> Result<Transformed<LogicalPlan>> {
    let provider = source_as_provider(&scan.source);
    let Ok(provider) = provider else { return Ok(Transformed::no(LogicalPlan::TableScan(scan))) };
    if let Some(apply) = rows_of::<ApplyTable>(provider.as_ref()) {
        let (left, right) = (without_subqueries(&apply.left)?, without_subqueries(&apply.right)?);
        scan.source = provider_as_source(computed(apply.with_sides(left, right)?));
        return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
    }
    if let Some(recursive) = rows_of::<RecursiveTable>(provider.as_ref()) {
        let (anchor, step) = (without_subqueries(&recursive.anchor)?, without_subqueries(&recursive.step)?);
        scan.source = provider_as_source(computed(recursive.with_plans(anchor, step)));
        return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
    }
    let Some(function) = rows_of::<FunctionTable>(provider.as_ref()) else {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    };
    let mut asks = false;
    for argument in &function.arguments {
        asks |= holds_subquery(argument)?;
    }
    if !asks {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    }
    // The arguments are computed as a row, for which the function is called.
    let names: Vec<String> = function.arguments.iter().map(|_| fresh()).collect();
    let row = LogicalPlanBuilder::empty(true)
        .project(function.arguments.iter().zip(&names).map(|(argument, name)| argument.clone().alias(name)))?
        .build()?;
    let arguments = row.schema().fields().iter().map(|field| {
        let outer = Arc::new(field.as_ref().clone().with_nullable(true));
        Expr::OuterReferenceColumn(outer, Column::new_unqualified(field.name()))
    });
    let call = computed(function.with_arguments(arguments.collect()));
    let call = LogicalPlanBuilder::scan(fresh(), provider_as_source(call), None)?.build()?;
    let applied = ApplyTable::new(without_subqueries(&row)?, call, ApplyKind::Cross)?.into_plan(&fresh())?;
    // Under the names of the scan.
    let exprs = scan.projected_schema.iter().map(|(qualifier, field)| {
        let own = Expr::Column(Column::new_unqualified(field.name()));
        match qualifier {
            Some(qualifier) => own.alias_qualified(Some(qualifier.clone()), field.name()),
            None => own,
        }
    });
    let applied = LogicalPlanBuilder::from(applied).project(exprs.collect::<Vec<_>>())?.build()?;
    Ok(Transformed::yes(applied))
}
