//! Statements in FROM whose changed rows an INSERT takes.

use super::{Parsed, Parser};
use crate::ast::{CHANGED, Output, StatementKind};
use crate::keywords::Keyword;
use crate::names::ObjectName;
use crate::query::{Query, QueryBody, Select, SelectItem, TableSource};
use crate::sql_error::SqlError;

const NESTED: &str = "A nested INSERT, UPDATE, DELETE, or MERGE statement";

impl Parser<'_> {
    /// Returns true where a statement begins that changes rows.
    pub(crate) fn at_change(&self) -> bool {
        [Keyword::Insert, Keyword::Update, Keyword::Delete, Keyword::Merge]
            .into_iter()
            .any(|word| self.is_word(word))
    }

    /// Reads a statement in the place of a derived table, from its first word to its alias.
    ///
    /// Errors: 10716 without OUTPUT, 10720 for OUTPUT INTO, 10727 for one within another.
    pub(crate) fn changed_source(&mut self) -> Parsed<TableSource> {
        if self.in_change || self.change.is_some() {
            let text = format!(
                "{NESTED} is not allowed inside another nested INSERT, UPDATE, DELETE, or MERGE statement."
            );
            return Err(SqlError::new(10727, 15, 1, text).at_line(self.line()));
        }
        self.in_change = true;
        let read = match () {
            () if self.is_word(Keyword::Insert) => self.insert(Vec::new()),
            () if self.is_word(Keyword::Update) => self.update(Vec::new()),
            () if self.is_word(Keyword::Delete) => self.delete(Vec::new()),
            () => self.merge(Vec::new()),
        };
        self.in_change = false;
        let statement = read?;
        let Some(output) = output_of(&statement) else {
            return Err(match statement {
                StatementKind::Unsupported(error) => *error,
                _ => self.unexpected(),
            });
        };
        check_output(output).map_err(|error| error.at_line(self.line()))?;
        self.expect_symbol(")")?;
        let alias = self.table_alias()?.ok_or_else(|| self.unexpected())?;
        let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
        self.change = Some(Box::new(statement));
        let rows =
            TableSource::Table { name: ObjectName::bare(CHANGED), alias: None, hints: Default::default() };
        let select =
            Select { items: vec![SelectItem::Wildcard(Vec::new())], from: vec![rows], ..Select::default() };
        Ok(TableSource::Derived { query: Box::new(Query::select(select)), alias, columns })
    }
}

/// Returns the OUTPUT of a statement that changes rows; None for any other.
fn output_of(statement: &StatementKind) -> Option<Option<&Output>> {
    match statement {
        StatementKind::Insert(insert) => Some(insert.output.as_ref()),
        StatementKind::Update(update) => Some(update.output.as_ref()),
        StatementKind::Delete(delete) => Some(delete.output.as_ref()),
        StatementKind::Merge(merge) => Some(merge.output.as_ref()),
        _ => None,
    }
}

fn check_output(output: Option<&Output>) -> Result<(), SqlError> {
    if output.is_some_and(|output| output.into.is_some()) {
        let text =
            "An OUTPUT INTO clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE statement.";
        return Err(SqlError::new(10720, 15, 1, text));
    }
    match output {
        Some(_) => Ok(()),
        None => Err(SqlError::new(10716, 15, 1, format!("{NESTED} must have an OUTPUT clause."))),
    }
}

/// Checks an INSERT whose query has read a statement in its FROM. Errors: 10717, 10728, 10729.
pub(crate) fn check_change(query: &Query, has_top: bool, has_output: bool) -> Result<(), SqlError> {
    let QueryBody::Select(select) = &query.body else { return Err(misplaced_change()) };
    let is_rows = |source: &TableSource| match source {
        TableSource::Derived { query, .. } => is_change(query),
        _ => false,
    };
    match select.from.as_slice() {
        [source] if is_rows(source) => {}
        [TableSource::Derived { .. }] => return Err(misplaced_change()),
        _ => {
            let text = format!("{NESTED} is not allowed on either side of a JOIN or APPLY operator.");
            return Err(SqlError::new(10728, 15, 1, text));
        }
    }
    let clauses = [
        ("OUTPUT", has_output),
        ("TOP", has_top || select.top.is_some()),
        ("DISTINCT", select.distinct),
        ("GROUP BY", !select.group_by.is_empty()),
        ("HAVING", select.having.is_some()),
        ("ORDER BY", !query.order_by.is_empty()),
        ("WITH", !query.with.is_empty()),
        ("FOR", query.for_clause.is_some()),
    ];
    match clauses.into_iter().find(|(_, is_there)| *is_there) {
        None => Ok(()),
        Some((clause, _)) => {
            let text = format!(
                "The {clause} clause is not allowed when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement."
            );
            Err(SqlError::new(10717, 15, 1, text))
        }
    }
}

fn is_change(query: &Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => matches!(
            select.from.as_slice(),
            [TableSource::Table { name, .. }] if name.name == CHANGED
        ),
        _ => false,
    }
}

/// Returns 10729: a statement in the FROM of anything but the SELECT of an INSERT.
pub(crate) fn misplaced_change() -> SqlError {
    let text = format!(
        "{NESTED} is not allowed in a SELECT statement that is not the immediate source of rows for an INSERT statement."
    );
    SqlError::new(10729, 15, 1, text)
}
