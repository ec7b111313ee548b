//! Statements and clauses that this server reads to their end and does not run.
//!
//! Their grammars are written in files beside this one, in the notation of [`notation`]. A statement among them is refused by its
//! name when it runs (40515), and what does not fit its grammar is an error of syntax when its batch is read (102, 156).

mod matching;
mod notation;

use std::sync::OnceLock;

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::errors;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;
use matching::Matching;
use notation::{Grammar, Head};

/// The files of rules.
const FILES: &[&str] = &[
    include_str!("availability.txt"),
    include_str!("backups.txt"),
    include_str!("broker.txt"),
    include_str!("clauses.txt"),
    include_str!("cloud.txt"),
    include_str!("events.txt"),
    include_str!("external.txt"),
    include_str!("indexes.txt"),
    include_str!("keys.txt"),
    include_str!("security.txt"),
    include_str!("server.txt"),
];

fn grammar() -> Parsed<&'static Grammar> {
    static GRAMMAR: OnceLock<Result<Grammar, String>> = OnceLock::new();
    GRAMMAR.get_or_init(|| Grammar::read(FILES)).as_ref().map_err(SqlError::internal)
}

impl Parser<'_> {
    /// Parses a statement that is never served, if one begins here. Errors: 102 and 156.
    pub(super) fn unserved(&mut self) -> Parsed<Option<StatementKind>> {
        let grammar = grammar()?;
        let Some(head) = self.unserved_head(grammar) else { return Ok(None) };
        let name = head.words.join(" ");
        let refused = SqlError::unsupported(&name).at_line(self.line());
        self.at += head.words.len();
        self.reads(grammar, head.rule)?;
        Ok(Some(StatementKind::Unsupported(Box::new(refused))))
    }

    /// Returns true if such a statement begins here.
    pub(super) fn at_unserved(&self) -> bool {
        grammar().is_ok_and(|grammar| self.unserved_head(grammar).is_some())
    }

    fn unserved_head<'g>(&self, grammar: &'g Grammar) -> Option<&'g Head> {
        let Some(TokenKind::Word(first)) = self.kind() else { return None };
        let heads = grammar.heads(&first.to_ascii_uppercase());
        heads.iter().find(|head| {
            head.words.iter().enumerate().skip(1).all(|(ahead, word)| self.is_bare_ahead(ahead, word))
        })
    }

    /// Says why there is no statement for a kind of object, whose word is the current token: 343 for an unknown one, otherwise
    /// 102 or 156 behind it.
    pub(super) fn other_object(&mut self, verb: &str, kind: &str) -> SqlError {
        let is_known =
            |grammar: &Grammar| grammar.heads(verb).iter().any(|head| head.words.get(1) == Some(&kind));
        match grammar() {
            Err(error) => error,
            Ok(grammar) if is_known(grammar) => {
                self.advance();
                self.unexpected()
            }
            Ok(_) => {
                let text =
                    format!("Unknown object type '{kind}' used in a CREATE, DROP, or ALTER statement.");
                SqlError::new(343, 15, 1, text)
            }
        }
    }

    /// Parses a clause by the rule of its name. Errors: 102 and 156.
    pub(super) fn clause(&mut self, rule: &str) -> Parsed<()> {
        let grammar = grammar()?;
        let missing = || SqlError::internal(format!("no rule '{rule}'"));
        let number = grammar.named(rule).ok_or_else(missing)?;
        self.reads(grammar, number)
    }

    /// Parses a clause by the rule of its name and refuses the statement that it stands in when that runs.
    pub(super) fn refused_clause(&mut self, rule: &str, what: &str) -> Parsed<()> {
        self.refuse(what);
        self.clause(rule)
    }

    /// Parses by `parse`, or by the rule of its name if `parse` finds something that this server does not have (40515).
    pub(super) fn served_or(
        &mut self,
        rule: &str,
        parse: impl FnOnce(&mut Self) -> Parsed<StatementKind>,
    ) -> Parsed<StatementKind> {
        let start = self.at;
        match self.tried(parse) {
            Err(refused) if refused.number == errors::UNSUPPORTED.number => {
                self.at = start;
                self.clause(rule)?;
                Ok(StatementKind::Unsupported(Box::new(refused)))
            }
            read => read,
        }
    }

    /// Reads what a rule describes. The error stands where no branch of the rule went further.
    fn reads(&mut self, grammar: &Grammar, rule: usize) -> Parsed<()> {
        let mut matching = Matching::new(grammar, self.at);
        let fits = matching.rule(self, rule);
        // An optional part that breaks off leaves a symbol behind that begins no statement.
        let is_broken = self.at < matching.furthest()
            && matches!(self.kind(), Some(TokenKind::Symbol(symbol)) if !matches!(*symbol, ";" | "(" | ")"));
        if fits && !is_broken {
            return Ok(());
        }
        self.at = matching.furthest();
        Err(matching.into_error().unwrap_or_else(|| self.unexpected()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_understood() {
        assert_eq!(Grammar::read(FILES).err(), None);
    }
}
