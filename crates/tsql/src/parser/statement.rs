//! The statement dispatcher, blocks and control of flow.

use super::{Parsed, Parser};
use crate::ast::{ModuleWord, Statement, StatementKind};
use crate::errors;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::sql_error::SqlError;

/// The words that cannot stand inside a statement that is skipped: they begin another, or end a block.
const NEXT_STATEMENTS: &[&str] = &[
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BREAK",
    "CLOSE",
    "COMMIT",
    "CONTINUE",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DROP",
    "ELSE",
    "END",
    "EXEC",
    "EXECUTE",
    "FETCH",
    "IF",
    "INSERT",
    "KILL",
    "MERGE",
    "OPEN",
    "PRINT",
    "RAISERROR",
    "RETURN",
    "REVOKE",
    "ROLLBACK",
    "SELECT",
    "THROW",
    "TRUNCATE",
    "UPDATE",
    "USE",
    "WAITFOR",
    "WHILE",
];

impl Parser<'_> {
    /// All statements of a batch.
    pub(crate) fn batch(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.accept_symbol(";") {}
        // A batch may begin with the name of a procedure, without EXEC.
        if self.at_bare_procedure() {
            let line = self.line();
            statements.push(Statement { line, kind: self.execute_procedure(None)? });
        }
        self.statements_into(&mut statements, &[])?;
        self.expect_end()?;
        Ok(statements)
    }

    fn at_bare_procedure(&self) -> bool {
        match self.kind() {
            Some(TokenKind::Quoted(_)) | Some(TokenKind::Symbol(".")) => true,
            Some(TokenKind::Word(word)) => {
                let other = word.eq_ignore_ascii_case("THROW") || word.eq_ignore_ascii_case("GO");
                !(other || crate::keywords::is_reserved(word) || self.at_trigger_switch())
            }
            _ => false,
        }
    }

    /// Statements up to the end or to one of `ends` (not consumed).
    pub(crate) fn statements_into(&mut self, statements: &mut Vec<Statement>, ends: &[&str]) -> Parsed<()> {
        loop {
            while self.accept_symbol(";") {}
            if self.at_end() || ends.iter().any(|end| self.is_word(end)) {
                return Ok(());
            }
            statements.push(self.statement()?);
        }
    }

    pub(crate) fn statement(&mut self) -> Parsed<Statement> {
        let line = self.line();
        let start = self.at;
        let kind = match self.nested(Self::statement_kind) {
            Err(error) if self.may_be_skipped(start, &error) => {
                self.skip_refused(start);
                StatementKind::Unsupported(Box::new(error.at_line(line)))
            }
            other => other.map_err(|error| error.at_line(line))?,
        };
        while self.accept_symbol(";") {}
        Ok(Statement { line, kind })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if self.is_word("SELECT") || self.is_symbol("(") {
            return Ok(StatementKind::Query(Box::new(self.query()?)));
        }
        let Some(TokenKind::Word(word)) = self.kind() else { return Err(self.unexpected()) };
        match word.to_ascii_uppercase().as_str() {
            "WITH" => self.with_statement(),
            "INSERT" => self.insert(Vec::new()),
            "UPDATE" => self.update(Vec::new()),
            "DELETE" => self.delete(Vec::new()),
            "MERGE" => self.merge(Vec::new()),
            "CREATE" => self.create(),
            "DROP" => self.drop_statement(),
            "ALTER" => self.alter(),
            "TRUNCATE" => self.truncate(),
            "USE" => {
                self.advance();
                Ok(StatementKind::Use(self.name()?))
            }
            "SET" => self.set(),
            "DECLARE" => self.declare(),
            "IF" => self.if_statement(),
            "WHILE" => {
                self.advance();
                let condition = self.condition()?;
                Ok(StatementKind::While { condition, body: Box::new(self.statement()?) })
            }
            "BEGIN" => self.begin(),
            "COMMIT" => self.commit(),
            "ROLLBACK" => self.rollback(),
            "SAVE" => {
                self.advance();
                self.transaction_word()?;
                self.transaction_name()?.map(StatementKind::Save).ok_or_else(|| self.unexpected())
            }
            "BREAK" => self.simple(StatementKind::Break),
            "CONTINUE" => self.simple(StatementKind::Continue),
            "RETURN" => {
                self.advance();
                Ok(StatementKind::Return(if self.at_expression() { Some(self.expression()?) } else { None }))
            }
            "PRINT" => {
                self.advance();
                Ok(StatementKind::Print(self.expression()?))
            }
            "RAISERROR" => self.raiserror(),
            "THROW" => self.throw(),
            "EXEC" | "EXECUTE" => self.execute(),
            "BULK" => self.bulk_insert(),
            "CHECKPOINT" => self.checkpoint(),
            "BACKUP" => self.backup(),
            "DBCC" => self.dbcc(),
            "WAITFOR" => {
                self.advance();
                self.expect_word("DELAY")?;
                Ok(StatementKind::WaitForDelay(self.expression()?))
            }
            "GRANT" | "DENY" | "REVOKE" => self.permission(),
            "REVERT" | "SETUSER" => self.other_user(),
            "OPEN" => self.open_cursor(),
            "FETCH" => self.fetch_cursor(),
            "CLOSE" => self.close_cursor(),
            "DEALLOCATE" => self.deallocate_cursor(),
            // What sp_configure sets holds at once.
            "RECONFIGURE" => {
                self.advance();
                self.accept_words(&["WITH", "OVERRIDE"]);
                Ok(StatementKind::Nothing)
            }
            "KILL" => self.kill(),
            "RESTORE" | "GOTO" | "SHUTDOWN" => Err(SqlError::unsupported(&word.to_ascii_uppercase())),
            "ENABLE" | "DISABLE" if self.at_trigger_switch() => self.switch_triggers(),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a statement that this server refuses has a form whose end is known: then it is refused when it runs, which
    /// may be never.
    fn may_be_skipped(&self, start: usize, error: &SqlError) -> bool {
        let heads = ["DROP", "CREATE", "ALTER", "BACKUP", "RESTORE", "KILL", "SHUTDOWN", "GOTO"];
        let head = matches!(
            self.tokens.get(start).map(|token| &token.kind),
            Some(TokenKind::Word(word)) if heads.iter().any(|head| word.eq_ignore_ascii_case(head))
        );
        // A body of statements goes to the end of its batch.
        head && matches!(error.number, 40515 | 3701)
    }

    /// Skips the rest of a refused statement: up to the word that begins the next one, or to what ends a block.
    fn skip_refused(&mut self, start: usize) {
        let module = self.tokens.get(start..).into_iter().flatten().take(5).any(
            |token| matches!(&token.kind, TokenKind::Word(word) if word.eq_ignore_ascii_case("TRIGGER")),
        ) && !matches!(
            self.tokens.get(start).map(|token| &token.kind),
            Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case("DROP")
        );
        let open = |kind: &TokenKind| matches!(kind, TokenKind::Symbol("("));
        let closed = |kind: &TokenKind| matches!(kind, TokenKind::Symbol(")"));
        self.at = self.at.max(start + 1);
        let read = self.tokens.get(start..self.at).unwrap_or_default();
        let mut depth = read.iter().filter(|token| open(&token.kind)).count();
        depth = depth.saturating_sub(read.iter().filter(|token| closed(&token.kind)).count());
        while let Some(kind) = self.kind() {
            depth += usize::from(open(kind));
            depth = depth.saturating_sub(usize::from(closed(kind)));
            let ends = match kind {
                TokenKind::Symbol(symbol) => *symbol == ";",
                TokenKind::Word(word) => NEXT_STATEMENTS.iter().any(|next| word.eq_ignore_ascii_case(next)),
                _ => false,
            };
            if depth == 0 && ends && !module {
                return;
            }
            self.advance();
        }
    }

    fn simple(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.advance();
        Ok(kind)
    }

    /// Whether the current token can begin an expression.
    fn at_expression(&self) -> bool {
        match self.kind() {
            None | Some(TokenKind::Symbol(";")) => false,
            Some(TokenKind::Word(word)) => {
                !crate::keywords::is_reserved(word)
                    || ["CASE", "NULL", "CONVERT", "COALESCE", "CURRENT_TIMESTAMP"]
                        .iter()
                        .any(|allowed| word.eq_ignore_ascii_case(allowed))
                    || ["LEFT", "RIGHT", "NULLIF"].iter().any(|name| word.eq_ignore_ascii_case(name))
                        && self.is_symbol_ahead(1, "(")
            }
            Some(_) => true,
        }
    }

    /// WITH before a query, or before INSERT.
    fn with_statement(&mut self) -> Parsed<StatementKind> {
        let mark = self.at;
        self.advance();
        let tables = self.common_tables()?;
        if self.is_word("SELECT") || self.is_symbol("(") {
            self.at = mark;
            return Ok(StatementKind::Query(Box::new(self.query()?)));
        }
        match self.kind() {
            Some(TokenKind::Word(word)) => match word.to_ascii_uppercase().as_str() {
                "INSERT" => self.insert(tables),
                "UPDATE" => self.update(tables),
                "DELETE" => self.delete(tables),
                "MERGE" => self.merge(tables),
                _ => Err(self.unexpected()),
            },
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
            if !self.accept_word("ELSE") {
                break None;
            }
            if !self.is_word("IF") {
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
        if self.accept_word("TRY") {
            return self.try_catch();
        }
        if self.is_word("DISTRIBUTED") {
            return Err(SqlError::unsupported("BEGIN DISTRIBUTED TRANSACTION"));
        }
        if self.accept_word("TRAN") || self.accept_word("TRANSACTION") {
            let name = self.transaction_name()?;
            if self.accept_words(&["WITH", "MARK"]) && matches!(self.kind(), Some(TokenKind::Text { .. })) {
                self.advance();
            }
            return Ok(StatementKind::BeginTransaction(name));
        }
        let mut statements = Vec::new();
        self.statements_into(&mut statements, &["END"])?;
        self.expect_word("END")?;
        if statements.is_empty() {
            return Err(errors::SYNTAX_KEYWORD.with(["end"]));
        }
        Ok(StatementKind::Block(statements))
    }

    fn try_catch(&mut self) -> Parsed<StatementKind> {
        let mut tried = Vec::new();
        self.statements_into(&mut tried, &["END"])?;
        self.expect_word("END")?;
        self.expect_word("TRY")?;
        while self.accept_symbol(";") {}
        self.expect_word("BEGIN")?;
        self.expect_word("CATCH")?;
        let mut caught = Vec::new();
        self.statements_into(&mut caught, &["END"])?;
        self.expect_word("END")?;
        self.expect_word("CATCH")?;
        Ok(StatementKind::TryCatch { tried, caught })
    }

    fn transaction_word(&mut self) -> Parsed<()> {
        if self.accept_word("TRAN") { Ok(()) } else { self.expect_word("TRANSACTION") }
    }

    fn transaction_name(&mut self) -> Parsed<Option<String>> {
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            return Ok(Some(name));
        }
        // COMMIT at the end of a batch is followed by nothing or by a statement, whose word is reserved.
        Ok(if self.is_word("THROW") { None } else { self.accept_name() })
    }

    fn commit(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("TRAN") || self.accept_word("TRANSACTION") {
            self.transaction_name()?;
            if self.accept_word("WITH") {
                self.skip_parentheses()?;
            }
        } else {
            self.accept_word("WORK");
        }
        Ok(StatementKind::Commit)
    }

    fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("TRAN") || self.accept_word("TRANSACTION") {
            return Ok(StatementKind::Rollback(self.transaction_name()?));
        }
        self.accept_word("WORK");
        Ok(StatementKind::Rollback(None))
    }

    fn raiserror(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_symbol("(")?;
        let mut values = self.expressions()?.into_iter();
        self.expect_symbol(")")?;
        let mut log = false;
        if self.accept_word("WITH") {
            while let Some(option) = self.accept_name() {
                log |= option.eq_ignore_ascii_case("LOG");
                self.accept_symbol(",");
            }
        }
        match (values.next(), values.next(), values.next()) {
            (Some(message), Some(severity), Some(state)) => {
                Ok(StatementKind::RaisError { message, severity, state, arguments: values.collect(), log })
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
        self.expect_word("TABLE")?;
        Ok(StatementKind::TruncateTable(self.object_name()?))
    }

    fn drop_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let Some(TokenKind::Word(what)) = self.kind().cloned() else { return Err(self.unexpected()) };
        self.advance();
        let if_exists = self.accept_words(&["IF", "EXISTS"]);
        match what.to_ascii_uppercase().as_str() {
            "TABLE" => {
                let mut names = vec![self.object_name()?];
                while self.accept_symbol(",") {
                    names.push(self.object_name()?);
                }
                Ok(StatementKind::DropTable { names, if_exists })
            }
            "INDEX" => self.drop_index(if_exists),
            "SCHEMA" => Ok(StatementKind::DropSchema { name: self.name()?, if_exists }),
            "DATABASE" => {
                let mut names = vec![self.name()?];
                while self.accept_symbol(",") {
                    names.push(self.name()?);
                }
                Ok(StatementKind::DropDatabase { names, if_exists })
            }
            other @ ("VIEW" | "PROCEDURE" | "PROC" | "FUNCTION" | "SEQUENCE" | "SYNONYM" | "TRIGGER") => {
                let kind = match other {
                    "VIEW" => ModuleWord::View,
                    "FUNCTION" => ModuleWord::Function,
                    "SEQUENCE" => ModuleWord::Sequence,
                    "SYNONYM" => ModuleWord::Synonym,
                    "TRIGGER" => ModuleWord::Trigger,
                    _ => ModuleWord::Procedure,
                };
                let mut names = vec![self.object_name()?];
                while self.accept_symbol(",") {
                    names.push(self.object_name()?);
                }
                if kind == ModuleWord::Trigger && self.is_word("ON") {
                    return Err(SqlError::unsupported("DROP TRIGGER … ON").at_line(self.line()));
                }
                Ok(StatementKind::DropModule { kind, names, if_exists })
            }
            "TYPE" => Ok(StatementKind::DropType { name: self.object_name()?, if_exists }),
            other => Err(SqlError::unsupported(&format!("DROP {other}"))),
        }
    }

    fn drop_index(&mut self, if_exists: bool) -> Parsed<StatementKind> {
        let mut names = Vec::new();
        loop {
            let first = self.object_name()?;
            let entry = if self.accept_word("ON") {
                (first.name, self.object_name()?)
            } else {
                // The old form: DROP INDEX table.index.
                let table = first.schema.ok_or_else(|| self.unexpected())?;
                (first.name, ObjectName { database: None, schema: first.database, name: table })
            };
            names.push(entry);
            if self.accept_word("WITH") {
                self.index_settings("DROP INDEX")?;
            }
            if !self.accept_symbol(",") {
                return Ok(StatementKind::DropIndex { names, if_exists });
            }
        }
    }
}
