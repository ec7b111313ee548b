//! CREATE and ALTER of views, procedures, functions, sequences and synonyms.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{CreateMode, CreateModule, Declaration, ModuleBody, SequenceOptions, StatementKind};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// After CREATE, which stood at token `start`.
    pub(crate) fn create_module(&mut self, start: usize) -> Parsed<StatementKind> {
        let mode = if self.accept_words(&[Keyword::Or, Keyword::Alter]) {
            CreateMode::CreateOrAlter
        } else {
            CreateMode::Create
        };
        if mode == CreateMode::Create {
            if self.accept_word(Keyword::Sequence) {
                let name = self.object_name()?;
                return Ok(StatementKind::CreateSequence { name, options: self.sequence_options()? });
            }
            if self.accept_word(Keyword::Synonym) {
                let name = self.object_name()?;
                self.expect_word(Keyword::For)?;
                return Ok(StatementKind::CreateSynonym { name, target: self.object_name()? });
            }
        }
        self.module(start, mode)
    }

    /// After ALTER, which stood at token `start`.
    pub(crate) fn alter_module(&mut self, start: usize) -> Parsed<StatementKind> {
        if self.accept_word(Keyword::Sequence) {
            let name = self.object_name()?;
            return Ok(StatementKind::AlterSequence { name, options: self.sequence_options()? });
        }
        self.module(start, CreateMode::Alter)
    }

    fn module(&mut self, start: usize, mode: CreateMode) -> Parsed<StatementKind> {
        let Some(TokenKind::Word(word)) = self.kind().cloned() else { return Err(self.unexpected()) };
        let word = word.to_ascii_uppercase();
        let verb = if mode == CreateMode::Alter { "ALTER" } else { "CREATE" };
        if !matches!(word.as_str(), "VIEW" | "PROCEDURE" | "PROC" | "FUNCTION" | "TRIGGER") {
            return Err(SqlError::unsupported(&format!("{verb} {word}")).at_line(self.line()));
        }
        let first = self.tokens.iter().take(start).all(|token| token.kind == TokenKind::Symbol(";"));
        if !first {
            let word = if word == "PROC" { "PROCEDURE" } else { &word };
            let text = format!("'{verb} {word}' must be the first statement in a query batch.");
            return Err(SqlError::new(111, 15, 1, text).at_line(self.line()));
        }
        self.advance();
        let name = self.object_name()?;
        let body = match word.as_str() {
            "VIEW" => self.view()?,
            "FUNCTION" => self.function_definition()?,
            "TRIGGER" => self.trigger_definition()?,
            _ => self.procedure_definition()?,
        };
        while self.accept_symbol(";") {}
        self.expect_end()?;
        let text = self.text.to_string();
        Ok(StatementKind::CreateModule(Box::new(CreateModule { mode, name, body, text })))
    }

    fn view(&mut self) -> Parsed<ModuleBody> {
        let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
        self.module_options()?;
        let query = Box::new(self.query()?);
        let check = self.accept_words(&[Keyword::With, Keyword::Check, Keyword::Option]);
        Ok(ModuleBody::View { columns, query, check })
    }

    fn procedure_definition(&mut self) -> Parsed<ModuleBody> {
        let parameters = if matches!(self.kind(), Some(TokenKind::Variable(_))) {
            self.declarations()?
        } else if self.is_symbol("(") {
            self.parameters()?
        } else {
            Vec::new()
        };
        self.module_options()?;
        Ok(ModuleBody::Procedure { parameters, statements: self.body()? })
    }

    fn function_definition(&mut self) -> Parsed<ModuleBody> {
        let parameters = self.parameters()?;
        self.expect_word(Keyword::Returns)?;
        if self.accept_word(Keyword::Table) {
            self.module_options()?;
            self.expect_word(Keyword::Return)?;
            return Ok(ModuleBody::InlineFunction { parameters, query: Box::new(self.query()?) });
        }
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            self.expect_word(Keyword::Table)?;
            let result = self.table_variable(name)?;
            self.module_options()?;
            return Ok(ModuleBody::TableFunction { parameters, result, statements: self.body()? });
        }
        let returns = self.declared_type(1)?;
        self.module_options()?;
        Ok(ModuleBody::ScalarFunction { parameters, returns, statements: self.body()? })
    }

    /// `(@a int = 1, …)`.
    fn parameters(&mut self) -> Parsed<Vec<Declaration>> {
        self.expect_symbol("(")?;
        if self.accept_symbol(")") {
            return Ok(Vec::new());
        }
        let parameters = self.declarations()?;
        self.expect_symbol(")")?;
        Ok(parameters)
    }

    /// WITH SCHEMABINDING and the like, read and without effect, up to AS; a function may leave AS out.
    fn module_options(&mut self) -> Parsed<()> {
        if self.accept_word(Keyword::With) {
            loop {
                if self.accept_word(Keyword::Execute) || self.accept_word(Keyword::Exec) {
                    self.expect_word(Keyword::As)?;
                    if matches!(self.kind(), Some(TokenKind::Text { .. })) {
                        self.advance();
                    } else {
                        self.name()?;
                    }
                } else if self.accept_words(&[
                    Keyword::Returns,
                    Keyword::Null,
                    Keyword::On,
                    Keyword::Null,
                    Keyword::Input,
                ]) || self.accept_words(&[
                    Keyword::Called,
                    Keyword::On,
                    Keyword::Null,
                    Keyword::Input,
                ]) {
                } else {
                    self.name()?;
                    if self.accept_symbol("=") && !self.accept_word(Keyword::On) {
                        self.expect_word(Keyword::Off)?;
                    }
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        self.accept_words(&[Keyword::For, Keyword::Replication]);
        if self.accept_word(Keyword::As) || self.is_word(Keyword::Begin) || self.is_word(Keyword::Return) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    pub(crate) fn body(&mut self) -> Parsed<Vec<crate::ast::Statement>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements, &[])?;
        Ok(statements)
    }

    fn sequence_options(&mut self) -> Parsed<SequenceOptions> {
        let mut options = SequenceOptions::default();
        loop {
            if self.accept_word(Keyword::As) {
                options.sql_type = Some(self.sql_type(TypePlace::Declaration)?);
            } else if self.accept_words(&[Keyword::Start, Keyword::With]) {
                options.start = Some(self.signed()?);
            } else if self.accept_word(Keyword::Restart) {
                options.restart = true;
                if self.accept_word(Keyword::With) {
                    options.start = Some(self.signed()?);
                }
            } else if self.accept_words(&[Keyword::Increment, Keyword::By]) {
                options.increment = Some(self.signed()?);
            } else if self.accept_word(Keyword::Minvalue) {
                options.minimum = Some(self.signed()?);
            } else if self.accept_word(Keyword::Maxvalue) {
                options.maximum = Some(self.signed()?);
            } else if self.accept_word(Keyword::Cycle) {
                options.cycle = Some(true);
            } else if self.accept_word(Keyword::Cache) {
                if matches!(self.kind(), Some(TokenKind::Integer(_))) {
                    self.unsigned()?;
                }
            } else if self.accept_word(Keyword::No) {
                if self.accept_word(Keyword::Cycle) {
                    options.cycle = Some(false);
                } else if !(self.accept_word(Keyword::Minvalue)
                    || self.accept_word(Keyword::Maxvalue)
                    || self.accept_word(Keyword::Cache))
                {
                    return Err(self.unexpected());
                }
            } else {
                return Ok(options);
            }
        }
    }
}
