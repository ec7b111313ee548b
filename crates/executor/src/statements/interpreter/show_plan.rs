//! SET SHOWPLAN_TEXT: which statements have plans, and of which queries.

use tsql::SqlError;
use tsql::ast::{InsertSource, SetOption, Statement, StatementKind};
use tsql::expression::Expr;
use tsql::query::{Query, Select, SelectItem, TableSource};

/// Errors: 1067 for a SET SHOWPLAN beside other statements.
pub(crate) fn check_batch(statements: &[Statement]) -> Result<(), SqlError> {
    let switches = |statement: &Statement| match &statement.kind {
        StatementKind::SetOption(SetOption::Switch { names, .. }) => {
            names.iter().any(|name| name.starts_with("SHOWPLAN_"))
        }
        _ => false,
    };
    match statements.iter().find(|statement| switches(statement)) {
        Some(statement) if statements.len() > 1 => {
            let text = "The SET SHOWPLAN statements must be the only statements in the batch.";
            Err(SqlError::new(1067, 15, 1, text).at_line(statement.line))
        }
        _ => Ok(()),
    }
}

/// Returns the statements inside a statement.
pub fn inner(statement: &Statement) -> Vec<&Statement> {
    match &statement.kind {
        StatementKind::If { then, otherwise, .. } => {
            std::iter::once(then.as_ref()).chain(otherwise.as_deref()).collect()
        }
        StatementKind::While { body, .. } => vec![body],
        StatementKind::Block(statements) => statements.iter().collect(),
        StatementKind::TryCatch { tried, caught } => tried.iter().chain(caught).collect(),
        _ => Vec::new(),
    }
}

/// Returns the query that a statement runs, and the operator that takes the rows. `None`: it has no plan.
pub(crate) fn planned(kind: &StatementKind) -> Option<(Option<String>, Query)> {
    let target = |name: &tsql::ObjectName, from: &[TableSource], hints| match from {
        [] => vec![TableSource::Table { name: name.clone(), alias: None, hints }],
        from => from.to_vec(),
    };
    match kind {
        StatementKind::Query(query) => {
            let mut query = query.as_ref().clone();
            let mut change = None;
            if let tsql::query::QueryBody::Select(select) = &mut query.body {
                if let Some(into) = select.into.take() {
                    change = Some(format!("Table Insert(OBJECT:([{}]))", into.name));
                }
                for item in &mut select.items {
                    if let SelectItem::Assign { expr, .. } = item {
                        *item = SelectItem::Value { expr: expr.clone(), alias: None };
                    }
                }
            }
            Some((change, query))
        }
        StatementKind::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => Some((
                Some(format!("Table Insert(OBJECT:([{}]))", insert.table.name)),
                query.as_ref().clone(),
            )),
            _ => None,
        },
        StatementKind::Update(update) => {
            let values = update.assignments.iter().filter_map(|assignment| assignment.value.clone());
            let select = Select {
                items: values.map(|expr| SelectItem::Value { expr, alias: None }).collect(),
                from: target(&update.target, &update.from, update.hints),
                filter: update.filter.clone(),
                top: update.top.clone(),
                ..Select::default()
            };
            let change = format!("Table Update(OBJECT:([{}]))", update.target.name);
            Some((Some(change), with(select, &update.with)))
        }
        StatementKind::Delete(delete) => {
            let one = Expr::Literal(tsql::expression::Literal::Integer("1".to_owned()));
            let select = Select {
                items: vec![SelectItem::Value { expr: one, alias: None }],
                from: target(&delete.target, &delete.from, delete.hints),
                filter: delete.filter.clone(),
                top: delete.top.clone(),
                ..Select::default()
            };
            let change = format!("Table Delete(OBJECT:([{}]))", delete.target.name);
            Some((Some(change), with(select, &delete.with)))
        }
        _ => None,
    }
}

fn with(select: Select, tables: &[tsql::query::CommonTable]) -> Query {
    Query { with: tables.to_vec(), ..Query::select(select) }
}

/// Puts a plan below the operator that changes a table.
pub fn below(change: Option<String>, mut lines: Vec<String>) -> Vec<String> {
    if let Some(change) = change {
        for line in lines.iter_mut().skip(1) {
            line.insert_str(0, "     ");
        }
        lines.insert(1, format!("  |--{change}"));
    }
    lines
}
