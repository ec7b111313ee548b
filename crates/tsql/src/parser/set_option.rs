//! SET of session options: which there are, and what values each takes. All is known when the batch is read.

use super::{Parsed, Parser};
use crate::ast::{SetOption, StatementKind};
use crate::expression::{Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Options that are ON or OFF.
const SWITCHES: &[&str] = &[
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
];

/// The words that may follow SET STATISTICS.
const STATISTICS: &[&str] = &["BULK", "IO", "PROFILE", "TIME", "XML"];

/// Least and greatest DEADLOCK_PRIORITY.
const PRIORITIES: std::ops::RangeInclusive<i64> = -10..=10;

impl Parser<'_> {
    /// Parses the rest of SET, where no variable stands. Errors: 195 for an unknown option, 102 and 156 for a wrong
    /// value.
    pub(crate) fn set_option(&mut self) -> Parsed<StatementKind> {
        if self.is_word(Keyword::Transaction) || self.is_word(Keyword::Tran) {
            self.advance();
            self.expect_word(Keyword::Isolation)?;
            self.expect_word(Keyword::Level)?;
            return self.isolation_level();
        }
        if self.accept_word(Keyword::IdentityInsert) {
            let table = self.local_name()?;
            let on = self.switch()?;
            return Ok(StatementKind::SetOption(SetOption::IdentityInsert { table, on }));
        }
        let (line, start) = (self.line(), self.start());
        let name = self.any_word()?;
        let written = self.text_since(start);
        for (refused, rule) in [("OFFSETS", "offsets"), ("FIPS_FLAGGER", "fips_flagger")] {
            if name == refused {
                self.refused_clause(rule, &format!("SET {refused}"))?;
                return Ok(StatementKind::Nothing);
            }
        }
        if name == "STATISTICS" {
            let names = self.switch_names("STATISTICS ", STATISTICS)?;
            return self.switched(names);
        }
        if SWITCHES.contains(&name.as_str()) {
            self.at -= 1;
            let names = self.switch_names("", SWITCHES)?;
            return self.switched(names);
        }
        let value = self.option_value(&name).ok_or_else(|| not_an_option(&written).at_line(line))??;
        Ok(StatementKind::SetOption(SetOption::Value { name, value }))
    }

    /// Parses `name, name`, each one of `known`.
    fn switch_names(&mut self, prefix: &str, known: &[&str]) -> Parsed<Vec<String>> {
        let mut names = Vec::new();
        loop {
            let (line, start) = (self.line(), self.start());
            let name = self.any_word()?;
            if !known.contains(&name.as_str()) {
                return Err(not_an_option(&self.text_since(start)).at_line(line));
            }
            names.push(format!("{prefix}{name}"));
            if !self.accept_symbol(",") {
                return Ok(names);
            }
        }
    }

    fn switched(&mut self, names: Vec<String>) -> Parsed<StatementKind> {
        let on = self.switch()?;
        Ok(StatementKind::SetOption(SetOption::Switch { names, on }))
    }

    fn isolation_level(&mut self) -> Parsed<StatementKind> {
        for words in [
            &[Keyword::Read, Keyword::Uncommitted][..],
            &[Keyword::Read, Keyword::Committed],
            &[Keyword::Repeatable, Keyword::Read],
            &[Keyword::Snapshot],
            &[Keyword::Serializable],
        ] {
            if self.accept_words(words) {
                return Ok(StatementKind::SetOption(SetOption::IsolationLevel(
                    words.iter().map(|word| word.text()).collect::<Vec<_>>().join(" "),
                )));
            }
        }
        Err(self.unexpected())
    }

    /// Parses the value of an option; `None` for an unknown option. A variable may stand for every value.
    fn option_value(&mut self, name: &str) -> Option<Parsed<Expr>> {
        let variable = match self.kind() {
            Some(TokenKind::Variable(variable)) => Some(Expr::Variable(variable.clone())),
            _ => None,
        };
        let read = match name {
            "DATEFIRST" | "ROWCOUNT" => Self::count_value,
            "LOCK_TIMEOUT" | "TEXTSIZE" | "QUERY_GOVERNOR_COST_LIMIT" => Self::number_value,
            "DATEFORMAT" | "LANGUAGE" => Self::word_value,
            "CONTEXT_INFO" => Self::binary_value,
            "DEADLOCK_PRIORITY" => Self::priority_value,
            _ => return None,
        };
        if let Some(variable) = variable {
            self.advance();
            return Some(Ok(variable));
        }
        Some(read(self))
    }

    fn count_value(&mut self) -> Parsed<Expr> {
        let value = self.unsigned()?;
        Ok(Expr::Literal(Literal::Integer(value.to_string())))
    }

    fn number_value(&mut self) -> Parsed<Expr> {
        let start = self.start();
        self.signed()?;
        super::parse_expression(&self.text_since(start))
    }

    /// Parses `us_english`, `[british]`, `'dmy'`.
    fn word_value(&mut self) -> Parsed<Expr> {
        let value = match self.kind().cloned() {
            Some(TokenKind::Text { value, .. }) => {
                self.advance();
                value
            }
            _ => self.name()?,
        };
        Ok(Expr::Literal(Literal::Text { value, unicode: true }))
    }

    fn binary_value(&mut self) -> Parsed<Expr> {
        let Some(TokenKind::Binary(bytes)) = self.kind().cloned() else { return Err(self.unexpected()) };
        self.advance();
        Ok(Expr::Literal(Literal::Binary(bytes)))
    }

    fn priority_value(&mut self) -> Parsed<Expr> {
        let unexpected = self.unexpected();
        if let Some(word) = ["LOW", "NORMAL", "HIGH"].into_iter().find(|word| self.accept_bare(word)) {
            return Ok(Expr::Literal(Literal::Text { value: word.to_owned(), unicode: true }));
        }
        let priority = self.signed()?;
        if !PRIORITIES.contains(&priority) {
            return Err(unexpected);
        }
        Ok(Expr::Literal(Literal::Text { value: priority.to_string(), unicode: true }))
    }

    /// Parses ON or OFF.
    pub(super) fn switch(&mut self) -> Parsed<bool> {
        if self.accept_word(Keyword::On) {
            return Ok(true);
        }
        self.expect_word(Keyword::Off)?;
        Ok(false)
    }
}

/// Makes error 195.
fn not_an_option(name: &str) -> SqlError {
    SqlError::new(195, 15, 5, format!("'{name}' is not a recognized SET option."))
}
