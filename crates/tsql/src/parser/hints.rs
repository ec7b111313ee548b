//! Table hints: `WITH (UPDLOCK, HOLDLOCK)`, and the old `(NOLOCK)`.

use super::{Parsed, Parser};
use crate::bulk_file::FileHints;
use crate::errors;
use crate::hints::{TableHint, TableHints};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses the hints of a table that is read, or none. Errors: 321, 1047.
    pub(super) fn source_hints(&mut self) -> Parsed<TableHints> {
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            self.advance();
        } else if !self.at_old_hints() {
            return Ok(TableHints::default());
        }
        self.hints_in_parentheses(None)
    }

    /// Parses the hints of a table whose rows are changed. Errors: 321, 1047, 1065.
    pub(super) fn change_hints(&mut self) -> Parsed<TableHints> {
        let line = self.line();
        let hints = self.source_hints()?;
        hints.check_target().map_err(|error| error.at_line(line))?;
        Ok(hints)
    }

    /// Parses the hints of a table that gets rows, including those about files.
    pub(super) fn insert_hints(&mut self) -> Parsed<(FileHints, TableHints)> {
        let (mut file, line) = (FileHints::default(), self.line());
        if !(self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(")) {
            return Ok((file, TableHints::default()));
        }
        self.advance();
        let hints = self.hints_in_parentheses(Some(&mut file))?;
        hints.check_target().map_err(|error| error.at_line(line))?;
        Ok((file, hints))
    }

    /// Returns true at the old spelling of a hint, `FROM t (NOLOCK)`.
    pub(super) fn at_old_hints(&self) -> bool {
        let is_hint = matches!(self.kind_ahead(1), Some(TokenKind::Word(word)) if TableHint::is_hint(word));
        let ends = || {
            let after = [",", ")", "="].iter().any(|symbol| self.is_symbol_ahead(2, symbol));
            after
                || self.is_symbol_ahead(2, "(")
                || matches!(self.kind_ahead(2), Some(TokenKind::Word(word)) if TableHint::is_hint(word))
        };
        self.is_symbol("(") && is_hint && ends()
    }

    fn hints_in_parentheses(&mut self, mut file: Option<&mut FileHints>) -> Parsed<TableHints> {
        let mut hints = TableHints::default();
        self.expect_symbol("(")?;
        loop {
            self.table_hint(&mut hints, file.as_deref_mut())?;
            // A comma may be left out between hints, and stands nowhere else.
            if !self.accept_symbol(",") && self.accept_symbol(")") {
                break;
            }
        }
        hints.check().map_err(|error| error.at_line(self.line()))?;
        Ok(hints)
    }

    /// Parses a hint and adds it to the others. Errors: 321.
    pub(super) fn table_hint(&mut self, hints: &mut TableHints, file: Option<&mut FileHints>) -> Parsed<()> {
        let Some(TokenKind::Word(word)) = self.kind().cloned() else { return Err(self.unexpected()) };
        let line = self.line();
        self.advance();
        let is_of_file = file.is_some_and(|file| file.set(&word));
        match TableHint::of(&word) {
            Some(hint) => hints.add(hint),
            None if is_of_file => {}
            None if word.eq_ignore_ascii_case("SNAPSHOT") => self.refuse("The hint SNAPSHOT"),
            None if TableHint::is_of_plan(&word) => self.plan_hint_value(&word.to_ascii_uppercase())?,
            None => return Err(errors::UNKNOWN_HINT.with([&word]).at_line(line)),
        }
        Ok(())
    }

    /// Parses `INDEX(i, …)`, `INDEX = i`, `FORCESEEK(i(a, …))`, `SPATIAL_WINDOW_MAX_CELLS = n`.
    fn plan_hint_value(&mut self, hint: &str) -> Parsed<()> {
        match hint {
            "INDEX" => {
                let equals = self.accept_symbol("=");
                if equals && !self.is_symbol("(") {
                    return self.index_reference();
                }
                self.expect_symbol("(")?;
                self.index_reference()?;
                while self.accept_symbol(",") {
                    self.index_reference()?;
                }
                self.expect_symbol(")")
            }
            "FORCESEEK" if self.accept_symbol("(") => {
                self.index_reference()?;
                self.names_in_parentheses()?;
                self.expect_symbol(")")
            }
            "SPATIAL_WINDOW_MAX_CELLS" => {
                self.expect_symbol("=")?;
                self.unsigned().map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Parses an index by its name or number.
    fn index_reference(&mut self) -> Parsed<()> {
        match self.kind() {
            Some(TokenKind::Integer(_)) => self.unsigned().map(drop),
            _ => self.name().map(drop),
        }
    }
}
