//! SET, DECLARE, EXEC.

use tds::SqlType;

use super::expression::xml_method;
use super::name::unknown_server;
use super::query::{assignment_operator, compound};
use super::{Parsed, Parser};
use crate::ast::{Argument, CreateTable, Declaration, Execute, StatementKind};
use crate::errors;
use crate::expression::{Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::sql_error::SqlError;

impl Parser<'_> {
    pub(crate) fn set(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            if self.is_symbol(".") {
                let line = self.line();
                self.advance();
                let method = self.name()?;
                if !self.is_symbol("(") {
                    self.refuse("SET of a property");
                    self.expect_symbol("=")?;
                    self.expression()?;
                    return Ok(StatementKind::Nothing);
                }
                if method == "modify" {
                    let value = self.modified(Expr::Variable(name.clone()));
                    return Ok(StatementKind::SetVariable { name, value: value? });
                }
                self.expect_symbol("(")?;
                self.expressions()?;
                self.expect_symbol(")")?;
                let error = xml_method(&method).at_line(line);
                return Ok(StatementKind::Unsupported(Box::new(error)));
            }
            let operator = match self.kind() {
                Some(TokenKind::Symbol(symbol)) => assignment_operator(symbol),
                _ => None,
            };
            let Some(operator) = operator else { return Err(self.unexpected()) };
            self.advance();
            if self.is_word(Keyword::Cursor) {
                return self.assign_cursor(name);
            }
            let value = compound(&name, operator, self.expression()?);
            return Ok(StatementKind::SetVariable { name, value });
        }
        self.set_option()
    }

    pub(crate) fn declare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            let typed = usize::from(self.is_word_ahead(1, Keyword::As));
            if self.is_word_ahead(1 + typed, Keyword::Table) {
                self.at += 2 + typed;
                return self.table_variable(name).map(StatementKind::DeclareTable);
            }
        }
        if let Some(cursor) = self.declare_cursor()? {
            return Ok(cursor);
        }
        let line = self.line();
        let declarations = self.declarations()?;
        let old = |declared: &Declaration| {
            matches!(declared.sql_type, SqlType::Text | SqlType::NText | SqlType::Image)
        };
        if declarations.iter().any(old) {
            let text = "The text, ntext, and image data types are invalid for local variables.";
            return Err(SqlError::new(2739, 16, 1, text).at_line(line));
        }
        Ok(StatementKind::Declare(declarations))
    }

    /// Parses the columns of a table variable, after TABLE.
    pub(crate) fn table_variable(&mut self, name: String) -> Parsed<CreateTable> {
        self.note_declared(&name)?;
        self.table = ObjectName::bare(name.clone());
        let (columns, constraints) = self.table_body()?;
        Ok(CreateTable {
            name: ObjectName::bare(name),
            columns,
            constraints,
            indexes: std::mem::take(&mut self.inline_indexes),
            compression: Default::default(),
            file_groups: Default::default(),
            scheme: None,
        })
    }

    pub(crate) fn declarations(&mut self) -> Parsed<Vec<Declaration>> {
        let mut declarations = Vec::new();
        loop {
            let Some(TokenKind::Variable(name)) = self.kind().cloned() else { return Err(self.unexpected()) };
            self.note_declared(&name)?;
            self.advance();
            self.accept_word(Keyword::As);
            let sql_type = if self.accept_word(Keyword::Cursor) {
                self.refuse("A cursor parameter, or a cursor variable beside others");
                self.accept_word(Keyword::Varying);
                SqlType::Int
            } else {
                self.declared_type(declarations.len() + 1)?
            };
            // Every parameter and variable may be NULL.
            if self.accept_words(&[Keyword::Not, Keyword::Null]) {
                self.refuse("NOT NULL of a variable or parameter");
            }
            self.accept_word(Keyword::Null);
            let value = if self.accept_symbol("=") { Some(self.expression()?) } else { None };
            let output = self.accept_word(Keyword::Output) || self.accept_word(Keyword::Out);
            let read_only = self.accept_word(Keyword::Readonly);
            declarations.push(Declaration { name, sql_type, value, output, read_only });
            if !self.accept_symbol(",") {
                return Ok(declarations);
            }
        }
    }

    pub(crate) fn execute(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.is_word(Keyword::As) {
            return self.execute_as();
        }
        if self.accept_symbol("(") {
            let text = self.expression()?;
            if self.accept_symbol(",") {
                self.refuse("EXECUTE of a text with arguments");
                loop {
                    self.argument()?;
                    if !self.accept_symbol(",") {
                        break;
                    }
                }
            }
            self.expect_symbol(")")?;
            if self.is_word(Keyword::As) {
                self.refused_clause("executed_as", "EXECUTE … AS")?;
            }
            if self.accept_word(Keyword::At) {
                self.refuse("EXECUTE … AT");
                self.accept_bare("DATA_SOURCE");
                self.name()?;
            }
            self.execute_options()?;
            return Ok(StatementKind::ExecuteText(text));
        }
        let mut status = None;
        if let Some(TokenKind::Variable(name)) = self.kind().cloned()
            && self.is_symbol_ahead(1, "=")
        {
            self.advance();
            self.advance();
            status = Some(name);
        }
        self.execute_procedure(status)
    }

    /// Parses a procedure's name and arguments.
    pub(crate) fn execute_procedure(&mut self, status: Option<String>) -> Parsed<StatementKind> {
        let line = self.line();
        let named_by = match self.kind().cloned() {
            Some(TokenKind::Variable(name)) => {
                self.advance();
                Some(name)
            }
            _ => None,
        };
        let (server, procedure) = match &named_by {
            None => self.remote_name()?,
            Some(_) => (None, ObjectName::default()),
        };
        let numbered = self.procedure_number(&procedure)?;
        let mut arguments = Vec::new();
        if self.at_argument() {
            loop {
                arguments.push(self.argument()?);
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        self.execute_options()?;
        // Unlike that of a query, the server of a procedure is looked for when it is called.
        if let Some(server) = server {
            return Ok(StatementKind::Unsupported(Box::new(unknown_server(&server).at_line(line))));
        }
        if let Some(error) = numbered {
            return Ok(StatementKind::Unsupported(Box::new(error.at_line(line))));
        }
        Ok(StatementKind::Execute(Execute { status, procedure, named_by, arguments }))
    }

    /// Parses `WITH RECOMPILE, RESULT SETS …`, or nothing.
    fn execute_options(&mut self) -> Parsed<()> {
        let is_option = self.is_word_ahead(1, Keyword::Recompile)
            || self.is_bare_ahead(1, "RESULT") && self.is_word_ahead(2, Keyword::Sets);
        if !(self.is_word(Keyword::With) && is_option) {
            return Ok(());
        }
        self.advance();
        loop {
            if self.accept_bare("RESULT SETS") {
                self.refused_clause("result_sets", "EXECUTE … WITH RESULT SETS")?;
            } else {
                self.expect_word(Keyword::Recompile)?;
            }
            if !self.accept_symbol(",") {
                return Ok(());
            }
        }
    }

    /// Parses `;number` behind a procedure. Every procedure has the number 1; of another there is an error to raise
    /// when it is called.
    pub(crate) fn procedure_number(&mut self, procedure: &ObjectName) -> Parsed<Option<SqlError>> {
        if !(self.is_symbol(";") && matches!(self.kind_ahead(1), Some(TokenKind::Integer(_)))) {
            return Ok(None);
        }
        self.advance();
        let number = self.unsigned()?;
        let name = format!("{};{number}", procedure.name);
        Ok((number != 1).then(|| errors::UNKNOWN_PROCEDURE.with([&name])))
    }

    fn at_argument(&self) -> bool {
        match self.kind() {
            None | Some(TokenKind::Symbol(_)) => self.is_symbol("-") || self.is_symbol("+"),
            _ if self.at_label() => false,
            Some(TokenKind::Word(_)) => {
                !self.is_reserved() || self.is_word(Keyword::Null) || self.is_word(Keyword::Default)
            }
            Some(_) => true,
        }
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let mut name = None;
        if let Some(TokenKind::Variable(variable)) = self.kind().cloned()
            && self.is_symbol_ahead(1, "=")
        {
            self.note_argument();
            self.advance();
            self.advance();
            name = Some(variable);
        }
        if self.accept_word(Keyword::Default) {
            return Ok(Argument { name, value: None, output: false });
        }
        // A bare word is a string here.
        let value = match self.kind().cloned() {
            Some(TokenKind::Word(word)) if !self.is_reserved() => {
                self.advance();
                Expr::Literal(Literal::Text { value: word, unicode: true })
            }
            Some(TokenKind::Quoted(value)) => {
                self.advance();
                Expr::Literal(Literal::Text { value, unicode: true })
            }
            _ => self.expression()?,
        };
        let output = self.accept_word(Keyword::Output) || self.accept_word(Keyword::Out);
        Ok(Argument { name, value: Some(value), output })
    }
}
