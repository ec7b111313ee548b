//! FOR JSON and FOR XML: all rows of a query become one text.

use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use tds::SqlType;

use super::aggregate::aggregate;
use super::scope::reference;
use super::{Binder, BoundQuery, OutputColumn, plan_error};
use crate::functions::{self, long_text};
use crate::rows_as_text::{TextColumn, rows_as_text};
use tsql::SqlError;
use tsql::expression::Expr as Ast;
use tsql::for_clause::ForClause;

/// The name of the one column, as SQL Server calls it.
const COLUMN: &str = "F52E2B61-18A1-11d1-B105-00805F49916B";

impl Binder<'_> {
    /// Writes the rows of `plan` as text: the columns called `names`, in the order of `sorts`.
    pub(super) fn as_text(
        &self,
        clause: &ForClause,
        plan: LogicalPlan,
        names: &[String],
        columns: Vec<TextColumn>,
        sorts: Vec<Sort>,
    ) -> Result<BoundQuery, SqlError> {
        let function = rows_as_text(clause, columns)?;
        let arguments: Vec<Expr> = names.iter().map(|name| reference(name)).collect();
        let text = aggregate(function, arguments, false, sorts).alias(self.fresh());
        let plan = LogicalPlanBuilder::from(plan)
            .aggregate(Vec::<Expr>::new(), [text])
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
        let (name, sql_type) = match clause {
            ForClause::Json(_) => (format!("JSON_{COLUMN}"), long_text()),
            ForClause::Xml(xml) if xml.typed => (format!("XML_{COLUMN}"), SqlType::Xml),
            ForClause::Xml(_) => (format!("XML_{COLUMN}"), long_text()),
        };
        Ok(BoundQuery { plan, columns: vec![OutputColumn::expression(name, sql_type, true)] })
    }
}

/// Drops the row of an empty text, which becomes NULL where a value is wanted.
pub fn without_empty_text(bound: BoundQuery) -> Result<BoundQuery, SqlError> {
    let text = bound.plan.schema().columns().into_iter().map(Expr::Column).next();
    let text = text.ok_or_else(|| SqlError::internal("a text of rows without a column"))?;
    let plan =
        LogicalPlanBuilder::from(bound.plan).filter(text.is_not_null()).and_then(LogicalPlanBuilder::build);
    Ok(BoundQuery { plan: plan.map_err(plan_error)?, columns: bound.columns })
}

/// Returns true if the expression yields text that `clause` inserts unescaped. XML is known by its type.
pub(super) fn is_nested(clause: &ForClause, written: Option<&Ast>) -> bool {
    matches!(clause, ForClause::Json(_)) && written.is_some_and(is_json)
}

/// Returns true if the expression yields JSON and not a string: FOR JSON with its brackets, and the functions that
/// make JSON.
pub(super) fn is_json(written: &Ast) -> bool {
    match written {
        Ast::Subquery(query) => {
            matches!(query.for_clause.as_deref(), Some(ForClause::Json(inner)) if !inner.without_wrapper)
        }
        Ast::Function(call) => {
            let function = functions::find(&call.name).filter(|_| call.schema.is_none());
            function.is_some_and(|function| function.signature.makes_json)
        }
        _ => false,
    }
}
