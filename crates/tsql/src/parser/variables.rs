//! Variables that a batch uses and has not declared before. SQL Server looks for them when it reads a batch, before any of
//! it runs (errors 137 and 1087).

use std::collections::{HashMap, HashSet};

use super::{Parsed, Parser};
use crate::errors;
use crate::lexer::{Token, TokenKind};
use crate::sql_error::SqlError;

/// A variable that a text uses and does not declare before: a parameter of the text, or an error.
#[derive(Debug, Clone, PartialEq)]
pub struct UndeclaredVariable {
    /// Its name with the `@`, as it is written.
    pub name: String,
    /// The name in lower case, by which variables are looked up.
    pub key: String,
    /// The line of its first use.
    pub line: u32,
    /// It stands where a table stands.
    pub is_table: bool,
}

impl UndeclaredVariable {
    /// Makes the error for a variable that is no parameter either: 137, for tables 1087.
    pub fn error(&self) -> SqlError {
        let error = if self.is_table { &errors::UNDECLARED_TABLE } else { &errors::UNDECLARED_VARIABLE };
        error.with([&self.name]).at_line(self.line)
    }
}

/// The places of a batch's variables, by the number of their token.
#[derive(Default)]
pub(super) struct Variables {
    /// Where each variable is declared, by its name in lower case: names are unique within a batch or a module, in whatever branch.
    declared: HashMap<String, usize>,
    /// Names of arguments in calls, which are the called procedure's.
    arguments: HashSet<usize>,
    /// Variables that stand where a table stands.
    tables: HashSet<usize>,
    /// Statements that are refused when they run, whatever their variables are.
    unserved: Vec<(usize, usize)>,
}

impl Parser<'_> {
    /// Notes a variable that is declared. Errors: 134 if one of that name is already.
    pub(crate) fn note_declared(&mut self, name: &str) -> Parsed<()> {
        let before = self.tokens.get(..=self.at).unwrap_or(&self.tokens);
        let is_name = |token: &Token| matches!(&token.kind, TokenKind::Variable(found) if found == name);
        let at = before.iter().rposition(is_name).unwrap_or(self.at);
        match self.variables.declared.insert(name.to_lowercase(), at) {
            None => Ok(()),
            Some(_) => Err(errors::VARIABLE_REDECLARED.with([name]).at_line(self.line())),
        }
    }

    /// Notes that the current token is the name of an argument.
    pub(super) fn note_argument(&mut self) {
        self.variables.arguments.insert(self.at);
    }

    /// Notes that the current token is a variable in place of a table.
    pub(super) fn note_table_variable(&mut self) {
        self.variables.tables.insert(self.at);
    }

    /// Notes that the tokens from `start` to the current one are of a statement that is refused when it runs.
    pub(super) fn note_unserved(&mut self, start: usize) {
        self.variables.unserved.push((start, self.at));
    }

    /// Returns the variables that the text does not declare before it uses them, each once, in the order of their uses.
    pub(super) fn undeclared(&self) -> Vec<UndeclaredVariable> {
        let Variables { declared, arguments, tables, unserved } = &self.variables;
        let mut found: Vec<UndeclaredVariable> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let TokenKind::Variable(name) = &token.kind else { continue };
            let is_other = name.starts_with("@@")
                || arguments.contains(&at)
                || unserved.iter().any(|(from, to)| (*from..*to).contains(&at));
            let key = name.to_lowercase();
            let is_known = declared.get(&key).is_some_and(|from| *from <= at);
            if !is_other && !is_known && !found.iter().any(|noted| noted.key == key) {
                let is_table = tables.contains(&at);
                found.push(UndeclaredVariable { name: name.clone(), key, line: token.line, is_table });
            }
        }
        found
    }
}
