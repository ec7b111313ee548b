//! Recursive common tables: splits them into anchor and recursive step.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;

use super::super::computed::computed;
use super::super::datum::data_type;
use super::super::recursive::{RecursiveTable, WorkTable};
use super::aggregate::has_aggregate;
use super::scope::reference;
use super::{Binder, BoundQuery, BoundTable, OutputColumn, plan_error};
use tsql::SqlError;
use tsql::query::{CommonTable, JoinKind, QueryBody, Select, SelectItem, SetOperator, TableSource};
use tsql::same_name;

/// Turns that a recursion takes unless OPTION (MAXRECURSION) says otherwise.
const TURNS: u64 = 100;

/// The anchor and the step of a recursive common table. A step of several members is their UNION ALL.
pub(super) struct Parts<'q> {
    anchor: &'q QueryBody,
    step: Cow<'q, QueryBody>,
}

/// Splits a common table that names itself behind a UNION ALL; `None` for any other.
pub(super) fn recursion_of(table: &CommonTable) -> Option<Parts<'_>> {
    let uses = |body: &QueryBody| mentions(body, &table.name);
    let (mut anchor, mut members) = (&table.query.body, Vec::new());
    while uses(anchor) {
        let QueryBody::Set { operator: SetOperator::Union, all: true, left, right } = anchor else {
            return None;
        };
        if !uses(right) {
            return None;
        }
        members.push(right.as_ref());
        anchor = left;
    }
    let mut members = members.into_iter().rev();
    let mut step = Cow::Borrowed(members.next()?);
    for member in members {
        let (left, right) = (Box::new(step.into_owned()), Box::new(member.clone()));
        step = Cow::Owned(QueryBody::Set { operator: SetOperator::Union, all: true, left, right });
    }
    Some(Parts { anchor, step })
}

/// Makes error 252: a common table that names itself without a UNION ALL.
pub(super) fn not_recursive(name: &str) -> SqlError {
    SqlError::new(
        252,
        16,
        1,
        format!(
            "Recursive common table expression '{name}' does not contain a top-level UNION ALL operator."
        ),
    )
}

impl Binder<'_> {
    /// Binds a recursive common table.
    ///
    /// Errors: 240 for types that differ, 460 to 467 for what a step may not have.
    pub(super) fn recursive(
        &self,
        table: &CommonTable,
        Parts { anchor, step }: Parts<'_>,
    ) -> Result<BoundQuery, SqlError> {
        check_step(&step, &table.name)?;
        let anchor = self.body(anchor, None)?;
        let mut columns = anchor.columns.clone();
        for (column, name) in columns.iter_mut().zip(table.columns.iter().flatten()) {
            column.name.clone_from(name);
        }
        for column in &mut columns {
            *column = OutputColumn {
                collation: column.collation,
                ..OutputColumn::expression(column.name.clone(), column.sql_type.clone(), true)
            };
        }
        let names: Vec<String> = columns.iter().map(|_| self.fresh()).collect();
        let fields: Vec<Field> = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| Field::new(name, data_type(&column.sql_type), true))
            .collect();
        let work = Arc::new(WorkTable::new(Arc::new(Schema::new(fields))));
        self.recursions.borrow_mut().push((table.name.clone(), columns.clone(), Arc::clone(&work)));
        let step = self.body(&step, None);
        self.recursions.borrow_mut().pop();
        let step = step?;
        if step.columns.len() != columns.len() {
            return Err(SqlError::new(
                205,
                16,
                1,
                "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.",
            ));
        }
        for (own, other) in columns.iter().zip(&step.columns) {
            if own.sql_type != other.sql_type && !same_decimal(&own.sql_type, &other.sql_type) {
                return Err(SqlError::new(
                    240,
                    16,
                    1,
                    format!(
                        "Types don't match between the anchor and the recursive part in column \"{}\" of recursive query \"{}\".",
                        own.name, table.name
                    ),
                ));
            }
        }
        let turns = match self.max_recursion.get() {
            None => Some(TURNS),
            Some(0) => None,
            Some(turns) => Some(turns),
        };
        let provider = computed(RecursiveTable::new(anchor.plan, step.plan, work, turns));
        let scan =
            LogicalPlanBuilder::scan(self.fresh(), provider_as_source(provider), None).map_err(plan_error)?;
        let exprs: Vec<_> = names.iter().map(|name| reference(name).alias(self.fresh())).collect();
        let plan = scan.project(exprs).and_then(LogicalPlanBuilder::build).map_err(plan_error)?;
        Ok(BoundQuery { plan, columns })
    }

    /// Returns the rows of the turn before, while the step of a recursive common table is bound.
    pub(super) fn work_table(&self, name: &str) -> Option<BoundTable> {
        let recursions = self.recursions.borrow();
        let (_, columns, work) = recursions.iter().rfind(|(own, _, _)| same_name(own, name))?;
        Some(BoundTable { columns: columns.clone(), provider: computed(Arc::clone(work)) })
    }
}

fn same_decimal(left: &tds::SqlType, right: &tds::SqlType) -> bool {
    use tds::SqlType::{Decimal, Numeric};
    matches!(
        (left, right),
        (Decimal { precision: p1, scale: s1 } | Numeric { precision: p1, scale: s1 },
         Decimal { precision: p2, scale: s2 } | Numeric { precision: p2, scale: s2 }) if p1 == p2 && s1 == s2
    )
}

fn check_step(step: &QueryBody, name: &str) -> Result<(), SqlError> {
    let select = match step {
        QueryBody::Select(select) => select,
        QueryBody::Nested(_) => return Ok(()),
        QueryBody::Set { operator: SetOperator::Union, all: true, left, right } => {
            check_step(left, name)?;
            return check_step(right, name);
        }
        QueryBody::Set { .. } => return Err(not_recursive(name)),
    };
    let refuse = |number: i32, what: &str| {
        Err(SqlError::new(
            number,
            16,
            1,
            format!(
                "{what} not allowed in the recursive part of a recursive common table expression '{name}'."
            ),
        ))
    };
    if select.distinct {
        return refuse(460, "DISTINCT operator is");
    }
    if select.top.is_some() {
        return refuse(461, "The TOP or OFFSET operator is");
    }
    let aggregates = |items: &[SelectItem]| {
        items.iter().any(|item| matches!(item, SelectItem::Value { expr, .. } if has_aggregate(expr)))
    };
    if !select.group_by.is_empty() || select.having.is_some() || aggregates(&select.items) {
        return refuse(467, "GROUP BY, HAVING, or aggregate functions are");
    }
    if select.from.iter().any(|source| outer_join_with(source, name)) {
        return refuse(462, "Outer join is");
    }
    Ok(())
}

fn outer_join_with(source: &TableSource, name: &str) -> bool {
    match source {
        TableSource::Join { kind, left, right, .. } => {
            let itself = match kind {
                JoinKind::Left | JoinKind::OuterApply => source_mentions(right, name),
                JoinKind::Right => source_mentions(left, name),
                JoinKind::Full => source_mentions(left, name) || source_mentions(right, name),
                _ => false,
            };
            itself || outer_join_with(left, name) || outer_join_with(right, name)
        }
        _ => false,
    }
}

/// Returns true if a query's FROM names a table.
fn mentions(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select_mentions(select, name),
        QueryBody::Nested(query) => mentions(&query.body, name),
        QueryBody::Set { left, right, .. } => mentions(left, name) || mentions(right, name),
    }
}

fn select_mentions(select: &Select, name: &str) -> bool {
    select.from.iter().any(|source| source_mentions(source, name))
}

fn source_mentions(source: &TableSource, name: &str) -> bool {
    match source {
        TableSource::Table { name: own, .. } => own.schema.is_none() && same_name(&own.name, name),
        TableSource::Derived { query, .. } => mentions(&query.body, name),
        TableSource::Join { left, right, .. } => source_mentions(left, name) || source_mentions(right, name),
        TableSource::Pivot { source, .. } | TableSource::Unpivot { source, .. } => {
            source_mentions(source, name)
        }
        TableSource::Values { .. } | TableSource::Function { .. } | TableSource::BulkRowset { .. } => false,
    }
}
