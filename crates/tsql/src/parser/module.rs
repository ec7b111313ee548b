//! CREATE and ALTER of views, procedures, functions, sequences and synonyms.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{
    Cache, CreateMode, CreateModule, Declaration, ModuleBody, SequenceOptions, Statement, StatementKind,
};
use crate::expression::{Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::query::{Query, Select};
use crate::sql_error::SqlError;

/// The first words of what describes a sequence.
const SEQUENCE_OPTIONS: &[&str] =
    &["AS", "START", "RESTART", "INCREMENT", "MINVALUE", "MAXVALUE", "CYCLE", "CACHE"];

impl Parser<'_> {
    /// Parses the rest of CREATE, which stood at token `start`.
    pub(crate) fn create_module(&mut self, start: usize) -> Parsed<StatementKind> {
        let mode = if self.accept_words(&[Keyword::Or, Keyword::Alter]) {
            CreateMode::CreateOrAlter
        } else {
            CreateMode::Create
        };
        if mode == CreateMode::Create {
            if self.accept_word(Keyword::Sequence) {
                let name = self.local_name()?;
                return Ok(StatementKind::CreateSequence { name, options: self.sequence_options()? });
            }
            if self.accept_word(Keyword::Synonym) {
                let name = self.local_name()?;
                self.expect_word(Keyword::For)?;
                let (server, target) = self.remote_name()?;
                return Ok(StatementKind::CreateSynonym { name, server, target });
            }
        }
        self.module(start, mode)
    }

    /// Parses the rest of ALTER, which stood at token `start`.
    pub(crate) fn alter_module(&mut self, start: usize) -> Parsed<StatementKind> {
        if self.accept_word(Keyword::Sequence) {
            let name = self.local_name()?;
            return Ok(StatementKind::AlterSequence { name, options: self.sequence_options()? });
        }
        self.module(start, CreateMode::Alter)
    }

    fn module(&mut self, start: usize, mode: CreateMode) -> Parsed<StatementKind> {
        let Some(TokenKind::Word(word)) = self.kind().cloned() else { return Err(self.unexpected()) };
        let word = word.to_ascii_uppercase();
        let verb = if mode == CreateMode::Alter { "ALTER" } else { "CREATE" };
        if !matches!(word.as_str(), "VIEW" | "PROCEDURE" | "PROC" | "FUNCTION" | "TRIGGER") {
            if mode == CreateMode::CreateOrAlter {
                return Err(self.unexpected());
            }
            let line = self.line();
            return Err(self.other_object(verb, &word).at_line(line));
        }
        let first = self.tokens.iter().take(start).all(|token| token.kind == TokenKind::Symbol(";"));
        if !first {
            let word = if word == "PROC" { "PROCEDURE" } else { &word };
            let text = format!("'{verb} {word}' must be the first statement in a query batch.");
            return Err(SqlError::new(111, 15, 1, text).at_line(self.line()));
        }
        let statement = self.module_from(start, mode)?;
        while self.accept_symbol(";") {}
        self.expect_end()?;
        Ok(statement)
    }

    /// Parses a module from its kind on; the statement began at token `start`.
    pub(crate) fn module_from(&mut self, start: usize, mode: CreateMode) -> Parsed<StatementKind> {
        let word = self.any_word()?;
        let first = self.tokens.get(start).map_or(0, |token| token.start);
        let name = self.local_name()?;
        if matches!(word.as_str(), "PROC" | "PROCEDURE") && self.procedure_number(&name)?.is_some() {
            self.refuse("CREATE PROCEDURE … ;number");
        }
        let body = match word.as_str() {
            "VIEW" => self.view()?,
            "FUNCTION" => self.function_definition()?,
            "TRIGGER" => self.trigger_definition()?,
            _ => self.procedure_definition()?,
        };
        // Comments around a statement that fills its batch belong to its text.
        let fills = self.tokens.iter().take(start).all(|token| token.kind == TokenKind::Symbol(";"))
            && self.tokens.iter().skip(self.at).all(|token| token.kind == TokenKind::Symbol(";"));
        let text = if fills { self.text.to_string() } else { self.text_since(first) };
        Ok(StatementKind::CreateModule(Box::new(CreateModule { mode, name, body, text })))
    }

    fn view(&mut self) -> Parsed<ModuleBody> {
        let columns = if self.is_symbol("(") { Some(self.names_in_parentheses()?) } else { None };
        self.module_options(&["ENCRYPTION", "SCHEMABINDING", "VIEW_METADATA"], false)?;
        self.expect_word(Keyword::As)?;
        let query = Box::new(self.query()?);
        let check = self.accept_words(&[Keyword::With, Keyword::Check, Keyword::Option]);
        Ok(ModuleBody::View { columns, query, check })
    }

    fn procedure_definition(&mut self) -> Parsed<ModuleBody> {
        let mut parameters = if matches!(self.kind(), Some(TokenKind::Variable(_))) {
            self.declarations()?
        } else if self.is_symbol("(") {
            self.parameters()?
        } else {
            Vec::new()
        };
        // A bare word is a string as a default, as it is as an argument.
        for parameter in &mut parameters {
            if let Some(Expr::Column(parts)) = &mut parameter.value
                && let [word] = parts.as_mut_slice()
            {
                let value = std::mem::take(word);
                parameter.value = Some(Expr::Literal(Literal::Text { value, unicode: true }));
            }
        }
        self.module_options(&["ENCRYPTION", "RECOMPILE", "SCHEMABINDING"], true)?;
        if self.accept_words(&[Keyword::For, Keyword::Replication]) {
            self.refuse("CREATE PROCEDURE … FOR REPLICATION");
        }
        self.expect_word(Keyword::As)?;
        if self.external_body("external_method", "CREATE PROCEDURE … EXTERNAL NAME")? {
            return Ok(ModuleBody::Procedure { parameters, statements: Vec::new() });
        }
        Ok(ModuleBody::Procedure { parameters, statements: self.body()? })
    }

    fn function_definition(&mut self) -> Parsed<ModuleBody> {
        let parameters = self.parameters()?;
        self.expect_word(Keyword::Returns)?;
        if self.accept_word(Keyword::Table) {
            if self.is_symbol("(") {
                return self.external_table_function(parameters);
            }
            self.function_options()?;
            self.expect_word(Keyword::Return)?;
            return Ok(ModuleBody::InlineFunction { parameters, query: Box::new(self.query()?) });
        }
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            self.expect_word(Keyword::Table)?;
            let result = self.table_variable(name)?;
            self.function_options()?;
            let statements = self.function_block()?;
            return Ok(ModuleBody::TableFunction { parameters, result, statements });
        }
        let returns = self.declared_type(1)?;
        self.function_options()?;
        if self.external_body("external_method", "CREATE FUNCTION … EXTERNAL NAME")? {
            return Ok(ModuleBody::ScalarFunction { parameters, returns, statements: Vec::new() });
        }
        Ok(ModuleBody::ScalarFunction { parameters, returns, statements: self.function_block()? })
    }

    /// Parses `(name type, …) … EXTERNAL NAME …`, behind RETURNS TABLE.
    fn external_table_function(&mut self, parameters: Vec<Declaration>) -> Parsed<ModuleBody> {
        self.clause("external_columns")?;
        self.function_options()?;
        if self.accept_word(Keyword::Order) {
            self.ordered_columns()?;
            self.accept_word(Keyword::As);
        }
        if !self.external_body("external_method", "CREATE FUNCTION … EXTERNAL NAME")? {
            return Err(self.unexpected());
        }
        let query = Box::new(Query::select(Select::default()));
        Ok(ModuleBody::InlineFunction { parameters, query })
    }

    /// Parses `EXTERNAL NAME assembly.class.method` in the place of a body, if it stands there. The statement is refused when it runs.
    pub(crate) fn external_body(&mut self, rule: &str, what: &str) -> Parsed<bool> {
        let found = self.is_word(Keyword::External);
        if found {
            self.refused_clause(rule, what)?;
        }
        Ok(found)
    }

    /// Parses `EXECUTE AS CALLER | SELF | OWNER | 'user'`.
    pub(crate) fn module_executor(&mut self) -> Parsed<()> {
        self.advance();
        self.expect_word(Keyword::As)?;
        let known = ["CALLER", "SELF", "OWNER"].iter().any(|word| self.accept_bare(word));
        if known { Ok(()) } else { self.literal_text().map(drop) }
    }

    /// Parses `(@a int = 1, …)`.
    fn parameters(&mut self) -> Parsed<Vec<Declaration>> {
        self.expect_symbol("(")?;
        if self.accept_symbol(")") {
            return Ok(Vec::new());
        }
        let parameters = self.declarations()?;
        self.expect_symbol(")")?;
        Ok(parameters)
    }

    /// Parses WITH and options of words, which hide or guard the text and have no other effect.
    fn module_options(&mut self, known: &[&str], executes_as: bool) -> Parsed<()> {
        if !self.accept_word(Keyword::With) {
            return Ok(());
        }
        loop {
            if executes_as && (self.is_word(Keyword::Execute) || self.is_word(Keyword::Exec)) {
                self.module_executor()?;
            } else if executes_as && self.accept_bare("NATIVE_COMPILATION") {
                self.refuse("NATIVE_COMPILATION");
            } else if known.contains(&"INLINE") && self.accept_bare("INLINE") {
                self.expect_symbol("=")?;
                self.switch()?;
            } else if !known.iter().any(|words| self.accept_bare(words)) {
                return Err(self.unexpected());
            }
            if !self.accept_symbol(",") {
                return Ok(());
            }
        }
    }

    /// Parses the options of a function, and AS, which may be left out.
    fn function_options(&mut self) -> Parsed<()> {
        let known =
            ["ENCRYPTION", "SCHEMABINDING", "RETURNS NULL ON NULL INPUT", "CALLED ON NULL INPUT", "INLINE"];
        self.module_options(&known, true)?;
        self.accept_word(Keyword::As);
        Ok(())
    }

    /// Parses the body of a function of statements, which is one block.
    fn function_block(&mut self) -> Parsed<Vec<Statement>> {
        let unexpected = self.unexpected();
        match self.is_word(Keyword::Begin).then(|| self.statement()).transpose()? {
            Some(block @ Statement { kind: StatementKind::Block(_), .. }) => Ok(vec![block]),
            // BEGIN ATOMIC.
            Some(Statement { kind: StatementKind::Unsupported(refused), .. }) => {
                self.refused.get_or_insert(*refused);
                Ok(Vec::new())
            }
            _ => Err(unexpected),
        }
    }

    pub(crate) fn body(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements, &[])?;
        Ok(statements)
    }

    fn sequence_options(&mut self) -> Parsed<SequenceOptions> {
        let mut options = SequenceOptions::default();
        let mut seen: Vec<&str> = Vec::new();
        loop {
            // Each option stands once, with NO before it or without.
            let unexpected = self.unexpected();
            let word = self.keyword_ahead(usize::from(self.is_word(Keyword::No))).map_or("", Keyword::text);
            if !word.is_empty() && seen.contains(&word) && SEQUENCE_OPTIONS.contains(&word) {
                return Err(unexpected);
            }
            seen.push(word);
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
                let counted = matches!(self.kind(), Some(TokenKind::Integer(_)));
                options.cache = Some(if counted { Cache::Values(self.unsigned()?) } else { Cache::Any });
            } else if self.accept_word(Keyword::No) {
                if self.accept_word(Keyword::Cycle) {
                    options.cycle = Some(false);
                } else if self.accept_word(Keyword::Cache) {
                    options.cache = Some(Cache::No);
                } else if self.accept_word(Keyword::Minvalue) {
                    options.minimum = Some(i64::MIN);
                } else if self.accept_word(Keyword::Maxvalue) {
                    options.maximum = Some(i64::MAX);
                } else {
                    return Err(self.unexpected());
                }
            } else {
                return Ok(options);
            }
        }
    }
}
