//! INSERT, UPDATE, DELETE.

use super::query::{assignment_operator, compound};
use super::{Parsed, Parser};
use crate::sql_error::SqlError;
use crate::tsql::ast::{Delete, Insert, InsertSource, Output, StatementKind, Update};
use crate::tsql::expression::Expr;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    pub(crate) fn insert(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("BULK") {
            return self.insert_bulk();
        }
        self.refuse_top("INSERT")?;
        self.accept_word("INTO");
        let table = self.object_name()?;
        self.table_hints()?;
        let columns =
            if self.is_symbol("(") && !self.at_query() { Some(self.names_in_parentheses()?) } else { None };
        let output = self.output()?;
        let source = if self.accept_words(&["DEFAULT", "VALUES"]) {
            InsertSource::DefaultValues
        } else if self.accept_word("VALUES") {
            InsertSource::Values(self.value_rows()?)
        } else if self.is_word("EXEC") || self.is_word("EXECUTE") {
            return Err(SqlError::unsupported("INSERT … EXECUTE").at_line(self.line()));
        } else {
            InsertSource::Query(Box::new(self.query()?))
        };
        Ok(StatementKind::Insert(Box::new(Insert { table, columns, source, output })))
    }

    fn refuse_top(&mut self, statement: &str) -> Parsed<()> {
        if self.is_word("TOP") {
            return Err(SqlError::unsupported(&format!("{statement} TOP")).at_line(self.line()));
        }
        Ok(())
    }

    fn value_rows(&mut self) -> Parsed<Vec<Vec<Option<Expr>>>> {
        let mut rows = Vec::new();
        loop {
            self.expect_symbol("(")?;
            let mut row = Vec::new();
            loop {
                row.push(if self.accept_word("DEFAULT") { None } else { Some(self.expression()?) });
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
            rows.push(row);
            if !self.accept_symbol(",") {
                return Ok(rows);
            }
        }
    }

    fn output(&mut self) -> Parsed<Option<Output>> {
        if !self.accept_word("OUTPUT") {
            return Ok(None);
        }
        let items = self.select_items()?;
        if self.is_word("INTO") {
            return Err(SqlError::unsupported("OUTPUT INTO").at_line(self.line()));
        }
        Ok(Some(Output { items }))
    }

    pub(crate) fn update(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("STATISTICS") {
            self.object_name()?;
            while !self.at_end() && !self.is_symbol(";") {
                self.advance();
            }
            return Ok(StatementKind::Nothing);
        }
        self.refuse_top("UPDATE")?;
        let target = self.object_name()?;
        self.table_hints()?;
        self.expect_word("SET")?;
        let mut assignments = Vec::new();
        loop {
            assignments.push(self.assignment()?);
            if !self.accept_symbol(",") {
                break;
            }
        }
        let output = self.output()?;
        let from = if self.accept_word("FROM") { self.table_sources()? } else { Vec::new() };
        let filter = self.where_clause()?;
        Ok(StatementKind::Update(Box::new(Update { target, assignments, from, filter, output })))
    }

    fn assignment(&mut self) -> Parsed<(String, Option<Expr>)> {
        let mut name = match self.kind() {
            Some(TokenKind::Variable(_)) => {
                return Err(SqlError::unsupported("UPDATE … SET of a variable").at_line(self.line()));
            }
            _ => self.name()?,
        };
        while self.accept_symbol(".") {
            name = self.name()?;
        }
        let operator = match self.kind() {
            Some(TokenKind::Symbol(symbol)) => assignment_operator(symbol),
            _ => None,
        };
        let Some(operator) = operator else { return Err(self.unexpected()) };
        self.advance();
        if self.accept_word("DEFAULT") {
            return Ok((name, None));
        }
        let value = self.expression()?;
        let value = match operator {
            None => value,
            Some(_) => match compound("", operator, value) {
                Expr::Binary(_, operator, right) => {
                    Expr::Binary(Box::new(Expr::Column(vec![name.clone()])), operator, right)
                }
                other => other,
            },
        };
        Ok((name, Some(value)))
    }

    pub(crate) fn delete(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.refuse_top("DELETE")?;
        self.accept_word("FROM");
        let target = self.object_name()?;
        self.table_hints()?;
        let output = self.output()?;
        let from = if self.accept_word("FROM") { self.table_sources()? } else { Vec::new() };
        let filter = self.where_clause()?;
        Ok(StatementKind::Delete(Box::new(Delete { target, from, filter, output })))
    }

    fn where_clause(&mut self) -> Parsed<Option<Expr>> {
        let filter = if self.accept_word("WHERE") {
            if self.is_word("CURRENT") {
                return Err(SqlError::unsupported("WHERE CURRENT OF").at_line(self.line()));
            }
            Some(self.condition()?)
        } else {
            None
        };
        if self.accept_word("OPTION") {
            self.skip_parentheses()?;
        }
        Ok(filter)
    }
}
