//! Labels and GOTO.

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

/// The labels of a batch, and the statements that go to them.
#[derive(Default)]
pub(super) struct Labels {
    /// Each label, with the TRY and CATCH blocks around it.
    declared: Vec<(String, Vec<u32>)>,
    /// Each GOTO with its line, and the blocks around it.
    jumps: Vec<(String, u32, Vec<u32>)>,
    /// The TRY and CATCH blocks that are being read, from the outside.
    around: Vec<u32>,
    /// The number of blocks so far.
    blocks: u32,
}

impl Parser<'_> {
    /// Returns true at a name with a colon behind it.
    pub(super) fn at_label(&self) -> bool {
        let named = match self.kind() {
            Some(TokenKind::Word(_)) => !self.is_reserved(),
            Some(TokenKind::Quoted(_)) => true,
            _ => false,
        };
        named && self.is_symbol_ahead(1, ":")
    }

    /// Parses `name:`. Errors: 132 for a label that the batch has already.
    pub(super) fn label(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        let name = self.name()?;
        self.expect_symbol(":")?;
        if self.labels.declared.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            return Err(errors::LABEL_REDECLARED.with([&name]).at_line(line));
        }
        let around = self.labels.around.clone();
        self.labels.declared.push((name.clone(), around));
        Ok(StatementKind::Label(name))
    }

    /// Parses GOTO.
    pub(super) fn go_to(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        self.expect_word(Keyword::Goto)?;
        let name = self.name()?;
        self.labels.jumps.push((name.clone(), line, self.labels.around.clone()));
        Ok(StatementKind::GoTo(name))
    }

    /// Notes that a TRY or CATCH block begins.
    pub(super) fn enter_tried(&mut self) {
        self.labels.blocks += 1;
        self.labels.around.push(self.labels.blocks);
    }

    /// Notes that a TRY or CATCH block ends.
    pub(super) fn leave_tried(&mut self) {
        self.labels.around.pop();
    }

    /// Looks at every GOTO once all labels are known. Errors: 133 for a label that there is not, 1026 for one within
    /// a TRY or CATCH block that the GOTO is not in.
    pub(super) fn check_labels(&self) -> Parsed<()> {
        for (name, line, from) in &self.labels.jumps {
            let known = self.labels.declared.iter().find(|(label, _)| label.eq_ignore_ascii_case(name));
            let Some((_, to)) = known else { return Err(errors::UNKNOWN_LABEL.with([name]).at_line(*line)) };
            if !from.starts_with(to) {
                return Err(errors::GOTO_INTO_TRY.error().at_line(*line));
            }
        }
        Ok(())
    }
}
