//! MERGE.

use super::{Parsed, Parser};
use crate::ast::{Merge, MergeAction, MergeClause, MergeWhen, StatementKind};
use crate::keywords::Keyword;
use crate::query::CommonTable;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Errors beside syntax: 10713 without its semicolon, 5324, 10710, 10711 and 10714 for clauses that do not go together.
    pub(crate) fn merge(&mut self, with: Vec<CommonTable>) -> Parsed<StatementKind> {
        self.advance();
        let top = self.row_limit()?;
        self.accept_word(Keyword::Into);
        let target = self.table_name()?;
        let hints = self.change_hints()?;
        let alias = if self.accept_word(Keyword::As) { Some(self.name()?) } else { None };
        let alias = match alias {
            None if !self.is_word(Keyword::Using) => self.accept_name(),
            alias => alias,
        };
        self.expect_word(Keyword::Using)?;
        let source = self.joined_source()?;
        self.expect_word(Keyword::On)?;
        let condition = self.condition()?;
        let mut clauses = Vec::new();
        while self.accept_word(Keyword::When) {
            let clause = self.merge_clause()?;
            check_order(&clauses, &clause).map_err(|error| error.at_line(self.line()))?;
            clauses.push(clause);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.output()?;
        self.option_clause()?;
        // Within FROM a parenthesis ends it.
        if !self.is_symbol(";") && !self.in_change {
            let error =
                SqlError::new(10713, 15, 1, "A MERGE statement must be terminated by a semi-colon (;).");
            return Err(error.at_line(self.line()));
        }
        let merge = Merge { with, top, target, alias, source, condition, clauses, output, hints };
        Ok(StatementKind::Merge(Box::new(merge)))
    }

    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        let when = if self.accept_word(Keyword::Matched) {
            MergeWhen::Matched
        } else {
            self.expect_word(Keyword::Not)?;
            self.expect_word(Keyword::Matched)?;
            if self.accept_words(&[Keyword::By, Keyword::Source]) {
                MergeWhen::NotMatchedBySource
            } else {
                self.accept_words(&[Keyword::By, Keyword::Target]);
                MergeWhen::NotMatchedByTarget
            }
        };
        let condition = if self.accept_word(Keyword::And) { Some(self.condition()?) } else { None };
        self.expect_word(Keyword::Then)?;
        let line = self.line();
        let not_allowed = |number: i32, action: &str| {
            Err(SqlError::new(
                number,
                15,
                1,
                format!(
                    "An action of type '{action}' is not allowed in the '{}' clause of a MERGE statement.",
                    clause_name(when)
                ),
            )
            .at_line(line))
        };
        let action = if self.accept_word(Keyword::Update) {
            self.expect_word(Keyword::Set)?;
            if when == MergeWhen::NotMatchedByTarget {
                return not_allowed(10711, "UPDATE");
            }
            MergeAction::Update(self.assignments()?)
        } else if self.accept_word(Keyword::Delete) {
            if when == MergeWhen::NotMatchedByTarget {
                return not_allowed(10711, "DELETE");
            }
            MergeAction::Delete
        } else {
            self.expect_word(Keyword::Insert)?;
            if when != MergeWhen::NotMatchedByTarget {
                return not_allowed(10710, "INSERT");
            }
            self.merge_insert()?
        };
        Ok(MergeClause { when, condition, action })
    }

    fn merge_insert(&mut self) -> Parsed<MergeAction> {
        let columns = if self.is_symbol("(") { Some(self.merge_columns()?) } else { None };
        let values = if self.accept_words(&[Keyword::Default, Keyword::Values]) {
            Vec::new()
        } else {
            self.expect_word(Keyword::Values)?;
            self.value_row()?
        };
        Ok(MergeAction::Insert { columns, values })
    }

    fn merge_columns(&mut self) -> Parsed<Vec<String>> {
        self.expect_symbol("(")?;
        let mut names = Vec::new();
        loop {
            names.push(self.name()?);
            if self.is_symbol(".") {
                let text = "The insert column list used in the MERGE statement cannot contain multi-part identifiers. Use single part identifiers instead.";
                return Err(SqlError::new(10739, 15, 1, text).at_line(self.line()));
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(names)
    }
}

/// Spells a clause as messages do.
fn clause_name(when: MergeWhen) -> &'static str {
    match when {
        MergeWhen::Matched => "WHEN MATCHED",
        MergeWhen::NotMatchedByTarget => "WHEN NOT MATCHED",
        MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
    }
}

/// Checks that a clause may follow those before it. Errors: 5324, 10714.
fn check_order(before: &[MergeClause], clause: &MergeClause) -> Result<(), SqlError> {
    let name = clause_name(clause.when);
    let kind = |action: &MergeAction| match action {
        MergeAction::Update(_) => "UPDATE",
        MergeAction::Delete => "DELETE",
        MergeAction::Insert { .. } => "INSERT",
    };
    for earlier in before.iter().filter(|earlier| earlier.when == clause.when) {
        if kind(&earlier.action) == kind(&clause.action) {
            return Err(SqlError::new(
                10714,
                15,
                1,
                format!(
                    "An action of type '{}' cannot appear more than once in a '{name}' clause of a MERGE statement.",
                    kind(&clause.action)
                ),
            ));
        }
        if earlier.condition.is_none() {
            return Err(SqlError::new(
                5324,
                15,
                1,
                format!(
                    "In a MERGE statement, a '{name}' clause with a search condition cannot appear after a '{name}' clause with no search condition."
                ),
            ));
        }
    }
    Ok(())
}
