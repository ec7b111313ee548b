//! The statement dispatcher, blocks and control of flow.

use super::change::misplaced_change;
use super::index::OptionPlace;
use super::{Parsed, Parser};
use crate::administration::Administration;
use crate::ast::{ModuleWord, Statement, StatementKind};
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses all statements of a batch.
    pub(crate) fn batch(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.accept_symbol(";") {}
        // A batch may begin with the name of a procedure, without EXEC.
        if self.at_bare_procedure() {
            let line = self.line();
            let call = self.execute_procedure(None)?;
            statements.push(Statement { line, kind: self.unless_refused(call, None) });
        }
        self.statements_into(&mut statements, &[])?;
        self.expect_end()?;
        self.check_labels()?;
        Ok(statements)
    }

    fn at_bare_procedure(&self) -> bool {
        match self.kind() {
            Some(TokenKind::Quoted(_)) | Some(TokenKind::Symbol(".")) => true,
            Some(TokenKind::Word(word)) => {
                let other = self.is_word(Keyword::Throw) || word.eq_ignore_ascii_case("GO");
                let statement = self.is_reserved() || self.at_trigger_switch() || self.at_unserved();
                !(other || statement || self.at_label())
            }
            _ => false,
        }
    }

    /// Statements up to the end or to one of `ends` (not consumed).
    pub(crate) fn statements_into(
        &mut self,
        statements: &mut Vec<Statement>,
        ends: &[Keyword],
    ) -> Parsed<()> {
        loop {
            while self.accept_symbol(";") {}
            let ended = ends.iter().any(|end| self.is_word(*end)) && !self.at_unserved();
            if self.at_end() || ended {
                return Ok(());
            }
            statements.push(self.statement()?);
        }
    }

    pub(crate) fn statement(&mut self) -> Parsed<Statement> {
        let line = self.line();
        let start = self.at;
        let around = self.refused.take();
        let read = self.nested(Self::statement_kind).map_err(|error| error.at_line(line))?;
        let kind = self.unless_refused(read, around);
        if matches!(kind, StatementKind::Unsupported(_)) {
            self.note_unserved(start);
        }
        if self.change.take().is_some() {
            return Err(misplaced_change().at_line(line));
        }
        while self.accept_symbol(";") {}
        Ok(Statement { line, kind })
    }

    /// Returns a statement that has been read, or its refusal if it has a part that this server does not have. `around` is that of
    /// the statement that it stands in.
    fn unless_refused(&mut self, read: StatementKind, around: Option<SqlError>) -> StatementKind {
        match std::mem::replace(&mut self.refused, around) {
            Some(refused) => StatementKind::Unsupported(Box::new(refused)),
            None => read,
        }
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if self.is_word(Keyword::Select) || self.is_symbol("(") {
            return Ok(StatementKind::Query(Box::new(self.query()?)));
        }
        if self.at_label() {
            return self.label();
        }
        if let Some(statement) = self.unserved()? {
            return Ok(statement);
        }
        let Some(keyword) = self.keyword_ahead(0) else { return Err(self.unexpected()) };
        match keyword {
            Keyword::With => self.with_statement(),
            Keyword::Insert => self.insert(Vec::new()),
            Keyword::Update => self.update(Vec::new()),
            Keyword::Delete => self.delete(Vec::new()),
            Keyword::Merge => self.merge(Vec::new()),
            Keyword::Create => self.create(),
            Keyword::Drop => self.drop_statement(),
            Keyword::Alter => self.alter(),
            Keyword::Truncate => self.truncate(),
            Keyword::Use => {
                self.advance();
                Ok(StatementKind::Use(self.name()?))
            }
            Keyword::Set => self.set(),
            Keyword::Declare => self.declare(),
            Keyword::If => self.if_statement(),
            Keyword::While => {
                self.advance();
                let condition = self.condition()?;
                Ok(StatementKind::While { condition, body: Box::new(self.statement()?) })
            }
            Keyword::Begin => self.begin(),
            Keyword::Commit => self.commit(),
            Keyword::Rollback => self.rollback(),
            Keyword::Save => {
                self.advance();
                self.transaction_word()?;
                self.transaction_name()?.map(StatementKind::Save).ok_or_else(|| self.unexpected())
            }
            Keyword::Break => self.simple(StatementKind::Break),
            Keyword::Continue => self.simple(StatementKind::Continue),
            Keyword::Return => {
                self.advance();
                Ok(StatementKind::Return(if self.at_expression() { Some(self.expression()?) } else { None }))
            }
            Keyword::Print => {
                self.advance();
                Ok(StatementKind::Print(self.expression()?))
            }
            Keyword::Raiserror => self.raiserror(),
            Keyword::Throw => self.throw(),
            Keyword::Exec | Keyword::Execute => self.execute(),
            Keyword::Bulk => self.bulk_insert(),
            Keyword::Checkpoint => self.checkpoint(),
            Keyword::Backup => self.served_or("backup", Self::backup),
            Keyword::Dbcc => self.dbcc(),
            Keyword::Waitfor => {
                self.advance();
                if self.is_symbol("(") {
                    self.refused_clause("waited_for", "WAITFOR (…)")?;
                    return Ok(StatementKind::Nothing);
                }
                if self.accept_bare("TIME") {
                    return Ok(StatementKind::WaitForTime(self.expression()?));
                }
                self.expect_word(Keyword::Delay)?;
                Ok(StatementKind::WaitForDelay(self.expression()?))
            }
            Keyword::Grant | Keyword::Deny | Keyword::Revoke => {
                let permission = Administration::Permission(self.permission()?);
                Ok(StatementKind::Administration(Box::new(permission)))
            }
            Keyword::Revert | Keyword::Setuser => self.other_user(),
            Keyword::Open => self.open_cursor(),
            Keyword::Fetch => self.fetch_cursor(),
            Keyword::Close => self.close_cursor(),
            Keyword::Deallocate => self.deallocate_cursor(),
            // The settings of sp_configure take effect at once.
            Keyword::Reconfigure => {
                self.advance();
                self.accept_words(&[Keyword::With, Keyword::Override]);
                Ok(StatementKind::Nothing)
            }
            Keyword::Kill => self.kill(),
            Keyword::Goto => self.go_to(),
            Keyword::Restore => self.served_or("restore", Self::restore),
            Keyword::Enable | Keyword::Disable if self.at_trigger_switch() => self.switch_triggers(),
            _ => Err(self.unexpected()),
        }
    }

    fn simple(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.advance();
        Ok(kind)
    }

    /// Returns true if the current token can begin an expression.
    fn at_expression(&self) -> bool {
        match self.kind() {
            None | Some(TokenKind::Symbol(";")) => false,
            _ if self.at_label() => false,
            Some(TokenKind::Word(_)) => match self.keyword_ahead(0) {
                Some(
                    Keyword::Case
                    | Keyword::Null
                    | Keyword::Convert
                    | Keyword::Coalesce
                    | Keyword::CurrentTimestamp,
                ) => true,
                Some(Keyword::Left | Keyword::Right | Keyword::Nullif) => self.is_symbol_ahead(1, "("),
                _ => !self.is_reserved(),
            },
            Some(_) => true,
        }
    }

    /// Parses WITH before a query, or before INSERT.
    fn with_statement(&mut self) -> Parsed<StatementKind> {
        let mark = self.at;
        self.advance();
        let tables = self.common_tables()?;
        if self.is_word(Keyword::Select) || self.is_symbol("(") {
            self.at = mark;
            return Ok(StatementKind::Query(Box::new(self.query()?)));
        }
        match self.keyword_ahead(0) {
            Some(Keyword::Insert) => self.insert(tables),
            Some(Keyword::Update) => self.update(tables),
            Some(Keyword::Delete) => self.delete(tables),
            Some(Keyword::Merge) => self.merge(tables),
            _ => Err(self.unexpected()),
        }
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        // ELSE IF goes on with the same statement: its branches are many rather than deep.
        let mut branches = Vec::new();
        let mut count = 0;
        let mut otherwise = loop {
            self.chained(&mut count)?;
            let line = self.line();
            self.advance();
            let condition = self.condition()?;
            branches.push((line, condition, Box::new(self.statement()?)));
            if !self.accept_word(Keyword::Else) {
                break None;
            }
            if !self.is_word(Keyword::If) {
                break Some(Box::new(self.statement()?));
            }
        };
        while let Some((line, condition, then)) = branches.pop() {
            let kind = StatementKind::If { condition, then, otherwise };
            if branches.is_empty() {
                return Ok(kind);
            }
            otherwise = Some(Box::new(Statement { line, kind }));
        }
        Err(self.unexpected())
    }

    fn begin(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word(Keyword::Try) {
            return self.try_catch();
        }
        if self.is_word(Keyword::Distributed)
            && (self.is_word_ahead(1, Keyword::Tran) || self.is_word_ahead(1, Keyword::Transaction))
        {
            self.refuse("BEGIN DISTRIBUTED TRANSACTION");
            self.advance();
        }
        if self.accept_word(Keyword::Tran) || self.accept_word(Keyword::Transaction) {
            let name = self.transaction_name()?;
            if self.accept_words(&[Keyword::With, Keyword::Mark])
                && matches!(self.kind(), Some(TokenKind::Text { .. }))
            {
                self.advance();
            }
            return Ok(StatementKind::BeginTransaction(name));
        }
        if self.is_bare_ahead(0, "ATOMIC") && self.is_word_ahead(1, Keyword::With) {
            self.at += 2;
            self.refused_clause("atomic_block", "BEGIN ATOMIC")?;
        }
        let mut statements = Vec::new();
        self.statements_into(&mut statements, &[Keyword::End])?;
        self.expect_word(Keyword::End)?;
        if statements.is_empty() {
            return Err(errors::SYNTAX_KEYWORD.with(["end"]));
        }
        Ok(StatementKind::Block(statements))
    }

    fn try_catch(&mut self) -> Parsed<StatementKind> {
        let mut tried = Vec::new();
        self.enter_tried();
        self.statements_into(&mut tried, &[Keyword::End])?;
        self.leave_tried();
        self.expect_word(Keyword::End)?;
        self.expect_word(Keyword::Try)?;
        while self.accept_symbol(";") {}
        self.expect_word(Keyword::Begin)?;
        self.expect_word(Keyword::Catch)?;
        let mut caught = Vec::new();
        self.enter_tried();
        self.statements_into(&mut caught, &[Keyword::End])?;
        self.leave_tried();
        self.expect_word(Keyword::End)?;
        self.expect_word(Keyword::Catch)?;
        Ok(StatementKind::TryCatch { tried, caught })
    }

    fn transaction_word(&mut self) -> Parsed<()> {
        if self.accept_word(Keyword::Tran) { Ok(()) } else { self.expect_word(Keyword::Transaction) }
    }

    fn transaction_name(&mut self) -> Parsed<Option<String>> {
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            return Ok(Some(name));
        }
        // COMMIT at the end of a batch is followed by nothing or by a statement, whose word is reserved.
        Ok(if self.is_word(Keyword::Throw) || self.at_label() { None } else { self.accept_name() })
    }

    fn commit(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word(Keyword::Tran) || self.accept_word(Keyword::Transaction) {
            self.transaction_name()?;
        } else if self.accept_word(Keyword::Work) {
            return Ok(StatementKind::Commit);
        }
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            // Each commit is on disk when it is answered.
            self.at += 2;
            self.expect_bare("DELAYED_DURABILITY")?;
            self.expect_symbol("=")?;
            self.switch()?;
            self.expect_symbol(")")?;
        }
        Ok(StatementKind::Commit)
    }

    fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word(Keyword::Tran) || self.accept_word(Keyword::Transaction) {
            return Ok(StatementKind::Rollback(self.transaction_name()?));
        }
        self.accept_word(Keyword::Work);
        Ok(StatementKind::Rollback(None))
    }

    fn raiserror(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_symbol("(")?;
        let mut values = self.expressions()?.into_iter();
        self.expect_symbol(")")?;
        let (mut log, mut at_once) = (false, false);
        if self.accept_word(Keyword::With) {
            loop {
                log |= self.is_bare_ahead(0, "LOG");
                at_once |= self.is_bare_ahead(0, "NOWAIT");
                if !["LOG", "NOWAIT", "SETERROR"].iter().any(|option| self.accept_bare(option)) {
                    return Err(self.unexpected());
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        match (values.next(), values.next(), values.next()) {
            (Some(message), Some(severity), Some(state)) => {
                let arguments = values.collect();
                Ok(StatementKind::RaisError { message, severity, state, arguments, log, at_once })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn throw(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if !self.at_expression() {
            return Ok(StatementKind::Throw(None));
        }
        let mut values = self.expressions()?.into_iter();
        match (values.next(), values.next(), values.next(), values.next()) {
            (Some(number), Some(message), Some(state), None) => {
                Ok(StatementKind::Throw(Some((number, message, state))))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn truncate(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_word(Keyword::Table)?;
        self.truncate_table()
    }

    fn drop_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let line = self.line();
        let what = self.any_word()?;
        let kind = self.at - 1;
        let if_exists = self.accept_words(&[Keyword::If, Keyword::Exists]);
        match what.as_str() {
            "TABLE" => Ok(StatementKind::DropTable { names: self.local_names()?, if_exists }),
            "INDEX" => self.drop_index(if_exists),
            "SCHEMA" => Ok(StatementKind::DropSchema { name: self.name()?, if_exists }),
            "DATABASE" => Ok(StatementKind::DropDatabase { names: self.name_list()?, if_exists }),
            "VIEW" | "PROCEDURE" | "PROC" | "FUNCTION" | "SEQUENCE" | "SYNONYM" | "TRIGGER" => {
                let kind = match what.as_str() {
                    "VIEW" => ModuleWord::View,
                    "FUNCTION" => ModuleWord::Function,
                    "SEQUENCE" => ModuleWord::Sequence,
                    "SYNONYM" => ModuleWord::Synonym,
                    "TRIGGER" => ModuleWord::Trigger,
                    _ => ModuleWord::Procedure,
                };
                let names = self.local_names()?;
                if kind == ModuleWord::Trigger && self.accept_word(Keyword::On) {
                    self.refuse("DROP TRIGGER … ON");
                    self.trigger_scope()?;
                }
                Ok(StatementKind::DropModule { kind, names, if_exists })
            }
            "PARTITION" if !if_exists => self.drop_partition(),
            "TYPE" => Ok(StatementKind::DropType { name: self.local_name()?, if_exists }),
            other => {
                self.at = kind;
                Err(self.other_object("DROP", other).at_line(line))
            }
        }
    }

    fn drop_index(&mut self, if_exists: bool) -> Parsed<StatementKind> {
        let mut names = Vec::new();
        loop {
            let first = self.local_name()?;
            let entry = if self.accept_word(Keyword::On) {
                (first.name, self.local_name()?)
            } else {
                // The old form: DROP INDEX table.index.
                let table = first.schema.ok_or_else(|| self.unexpected())?;
                (first.name, ObjectName { database: None, schema: first.database, name: table })
            };
            names.push(entry);
            if self.accept_word(Keyword::With) {
                self.index_settings(OptionPlace::Drop)?;
            }
            if !self.accept_symbol(",") {
                return Ok(StatementKind::DropIndex { names, if_exists });
            }
        }
    }
}
