//! GRANT, DENY, REVOKE, and statements that act for somebody else.

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Whom permissions may be granted to: there are no others.
const PRINCIPALS: &[&str] = &["public", "guest"];

impl Parser<'_> {
    /// GRANT and REVOKE are without effect for those that there are, since the one login may do everything. DENY would be a promise that nobody
    /// keeps. Errors when run: 15151 for others, 4624 for dbo, 40515 for DENY.
    pub(crate) fn permission(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        let denies = self.is_word(Keyword::Deny);
        let revokes = self.is_word(Keyword::Revoke);
        self.advance();
        // Permissions have words of several statements; the principals end them.
        while !(self.is_word(Keyword::To) || revokes && self.is_word(Keyword::From)) {
            if self.at_end() || self.is_symbol(";") {
                return Err(self.unexpected());
            }
            self.advance();
        }
        self.advance();
        let mut refused = denies.then(|| SqlError::unsupported("DENY"));
        loop {
            // A reserved word, and the name of a role.
            let name = if self.accept_word(Keyword::Public) { "public".to_owned() } else { self.name()? };
            if refused.is_none() {
                refused = check_principal(&name);
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.accept_words(&[Keyword::With, Keyword::Grant, Keyword::Option]);
        self.accept_word(Keyword::Cascade);
        if self.accept_word(Keyword::As) {
            self.name()?;
        }
        Ok(match refused {
            Some(error) => StatementKind::Unsupported(Box::new(error.at_line(line))),
            None => StatementKind::Nothing,
        })
    }

    /// REVERT and SETUSER. Error when run: 40515.
    pub(crate) fn other_user(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        let what = if self.is_word(Keyword::Revert) { "REVERT" } else { "SETUSER" };
        self.advance();
        if matches!(self.kind(), Some(TokenKind::Text { .. })) {
            self.advance();
        }
        if self.accept_words(&[Keyword::With, Keyword::Cookie]) {
            self.expect_symbol("=")?;
            self.advance();
        }
        self.accept_words(&[Keyword::With, Keyword::Noreset]);
        Ok(StatementKind::Unsupported(Box::new(SqlError::unsupported(what).at_line(line))))
    }

    /// `EXECUTE AS …` from AS on. Error when run: 40515.
    pub(crate) fn execute_as(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        self.expect_word(Keyword::As)?;
        self.advance();
        if self.accept_symbol("=") {
            self.advance();
        }
        if self.accept_words(&[Keyword::With, Keyword::Cookie, Keyword::Into]) {
            self.advance();
        }
        self.accept_words(&[Keyword::With, Keyword::No, Keyword::Revert]);
        Ok(StatementKind::Unsupported(Box::new(SqlError::unsupported("EXECUTE AS").at_line(line))))
    }
}

/// Why nothing can be granted to a name. None: it can.
fn check_principal(name: &str) -> Option<SqlError> {
    if PRINCIPALS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    if ["dbo", "sa", "sys", "information_schema"].iter().any(|own| own.eq_ignore_ascii_case(name)) {
        let text = "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.";
        return Some(SqlError::new(4624, 16, 1, text));
    }
    let text =
        format!("Cannot find the user '{name}', because it does not exist or you do not have permission.");
    Some(SqlError::new(15151, 16, 1, text))
}
