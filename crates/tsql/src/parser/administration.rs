//! ALTER DATABASE, CHECKPOINT, KILL, UPDATE STATISTICS, DBCC.

use super::{Parsed, Parser};
use crate::administration::{Administration, DatabaseChange, Dbcc, DbccArgument, Recovery};
use crate::ast::StatementKind;
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

impl Parser<'_> {
    pub(super) fn administration(kind: Administration) -> Parsed<StatementKind> {
        Ok(StatementKind::Administration(Box::new(kind)))
    }

    /// Parses KILL of a session.
    pub(super) fn kill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if matches!(self.kind(), Some(TokenKind::Text { .. })) {
            self.refuse("KILL of a distributed transaction");
            self.advance();
            if self.accept_word(Keyword::With) && !self.accept_word(Keyword::Statusonly) {
                self.expect_word(Keyword::Commit)?;
            }
            return Ok(StatementKind::Nothing);
        }
        let negative = self.accept_symbol("-");
        let id = i64::try_from(self.unsigned()?).unwrap_or(i64::MAX);
        let status_only = self.accept_word(Keyword::With);
        if status_only {
            self.expect_word(Keyword::Statusonly)?;
        }
        let session = if negative { -id } else { id };
        Self::administration(Administration::Kill { session, status_only })
    }

    /// Parses the rest of `ALTER DATABASE`.
    pub(super) fn alter_database(&mut self) -> Parsed<StatementKind> {
        let database = if self.accept_word(Keyword::Current) { None } else { Some(self.name()?) };
        let line = self.line();
        let mut changes = Vec::new();
        if self.accept_word(Keyword::Set) {
            loop {
                changes.push(self.database_option()?);
                if !self.accept_symbol(",") {
                    break;
                }
            }
            if self.accept_word(Keyword::With) {
                self.termination()?;
            }
        } else if self.is_word(Keyword::Modify) && self.is_symbol_ahead(1, "(") {
            self.advance();
            self.advance();
            changes.push(self.service()?);
        } else if let Some(change) = self.files_and_groups()? {
            changes.push(change);
        } else if self.at_secondary() {
            self.refused_clause("secondary_database", "ALTER DATABASE … of a replica")?;
        } else if self.accept_word(Keyword::Collate) {
            changes.push(DatabaseChange::Collation(self.name()?));
        } else {
            self.expect_word(Keyword::Modify)?;
            self.expect_bare("NAME")?;
            self.expect_symbol("=")?;
            self.name()?;
            let error = SqlError::unsupported("ALTER DATABASE … MODIFY NAME").at_line(line);
            changes.push(DatabaseChange::Refused(Box::new(error)));
        }
        Self::administration(Administration::AlterDatabase { database, changes })
    }

    /// Returns true where ALTER DATABASE goes on about another copy of the database, or about its log.
    fn at_secondary(&self) -> bool {
        let words = [
            "ADD SECONDARY",
            "REMOVE SECONDARY",
            "FAILOVER",
            "FORCE_FAILOVER_ALLOW_DATA_LOSS",
            "PERFORM CUTOVER",
            "MODIFY BACKUP_STORAGE_REDUNDANCY",
            "REBUILD LOG",
        ];
        let is_here =
            |words: &str| words.split(' ').enumerate().all(|(ahead, word)| self.is_bare_ahead(ahead, word));
        words.into_iter().any(is_here)
    }

    pub(super) fn recovery_model(&mut self) -> Parsed<Recovery> {
        match () {
            () if self.accept_word(Keyword::Full) => Ok(Recovery::Full),
            () if self.accept_word(Keyword::BulkLogged) => Ok(Recovery::BulkLogged),
            () if self.accept_word(Keyword::Simple) => Ok(Recovery::Simple),
            () => Err(self.unexpected()),
        }
    }

    /// Skips the clause about other connections. It has no effect, since options here wait for no connection.
    fn termination(&mut self) -> Parsed<()> {
        if self.accept_word(Keyword::NoWait) {
            return Ok(());
        }
        self.expect_word(Keyword::Rollback)?;
        if self.accept_word(Keyword::Immediate) {
            return Ok(());
        }
        self.expect_word(Keyword::After)?;
        self.unsigned()?;
        self.accept_word(Keyword::Seconds);
        Ok(())
    }

    /// Parses the rest of `MODIFY (`.
    pub(super) fn service(&mut self) -> Parsed<DatabaseChange> {
        let (mut edition, mut objective) = (None, None);
        loop {
            let option = self.name()?.to_ascii_uppercase();
            self.expect_symbol("=")?;
            match option.as_str() {
                "EDITION" => edition = Some(self.setting()?),
                "SERVICE_OBJECTIVE" if self.accept_word(Keyword::ElasticPool) => {
                    self.refused_clause("elastic_pool", "An elastic pool")?;
                }
                "SERVICE_OBJECTIVE" => objective = Some(self.setting()?),
                "MAXSIZE" => {
                    self.unsigned()?;
                    if !self.accept_word(Keyword::Mb) {
                        self.expect_word(Keyword::Gb)?;
                    }
                }
                _ => return Err(errors::SYNTAX.with([&option]).at_line(self.line())),
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(match (&edition, &objective) {
            (None, None) => DatabaseChange::Other,
            _ => DatabaseChange::Service { edition, objective },
        })
    }

    /// Parses a setting's value, with or without quotes.
    pub(super) fn setting(&mut self) -> Parsed<String> {
        match self.kind().cloned() {
            Some(TokenKind::Text { value, .. }) => {
                self.advance();
                Ok(value)
            }
            _ => self.name(),
        }
    }

    /// Parses `CHECKPOINT [duration]`.
    pub(super) fn checkpoint(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if matches!(self.kind(), Some(TokenKind::Integer(_))) {
            self.unsigned()?;
        }
        Self::administration(Administration::Checkpoint)
    }

    /// Parses the rest of `UPDATE STATISTICS`: `table [name | (name, …)] [WITH option, …]`.
    pub(super) fn update_statistics(&mut self) -> Parsed<StatementKind> {
        let table = self.local_name()?;
        if self.is_symbol("(") {
            self.names_in_parentheses()?;
        } else if matches!(self.kind(), Some(TokenKind::Word(_))) && !self.is_reserved()
            || matches!(self.kind(), Some(TokenKind::Quoted(_)))
        {
            self.name()?;
        }
        if self.accept_word(Keyword::With) {
            loop {
                self.statistics_option()?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        Self::administration(Administration::UpdateStatistics(table))
    }

    fn statistics_option(&mut self) -> Parsed<()> {
        if self.accept_word(Keyword::Sample) {
            self.unsigned()?;
            if !self.accept_word(Keyword::Percent) {
                self.expect_word(Keyword::Rows)?;
            }
            return Ok(());
        }
        if self.accept_word(Keyword::Resample) {
            if self.accept_words(&[Keyword::On, Keyword::Partitions]) {
                self.partition_spans()?;
            }
            return Ok(());
        }
        if [Keyword::Fullscan, Keyword::All, Keyword::Columns, Keyword::Index, Keyword::Norecompute]
            .iter()
            .any(|word| self.accept_word(*word))
        {
            return Ok(());
        }
        if self.accept_bare("STATS_STREAM") {
            self.expect_symbol("=")?;
            return match self.kind() {
                Some(TokenKind::Binary(_)) => {
                    self.refuse("STATS_STREAM");
                    self.advance();
                    Ok(())
                }
                _ => Err(self.unexpected()),
            };
        }
        let known = [
            Keyword::PersistSamplePercent,
            Keyword::Incremental,
            Keyword::Maxdop,
            Keyword::AutoDrop,
            Keyword::Rowcount,
            Keyword::Pagecount,
        ];
        if !known.iter().any(|word| self.accept_word(*word)) {
            return Err(self.unexpected());
        }
        self.expect_symbol("=")?;
        if !(self.accept_word(Keyword::On) || self.accept_word(Keyword::Off)) {
            self.unsigned()?;
        }
        Ok(())
    }

    /// Parses `DBCC command [(arguments)] [WITH options]`.
    pub(super) fn dbcc(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let command = self.name()?.to_ascii_uppercase();
        let mut arguments = Vec::new();
        if self.accept_symbol("(") && !self.accept_symbol(")") {
            loop {
                arguments.push(self.dbcc_argument()?);
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        let mut options = Vec::new();
        if self.accept_word(Keyword::With) {
            loop {
                options.push(self.name()?.to_ascii_uppercase());
                if self.accept_symbol("=") {
                    self.unsigned()?;
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        Self::administration(Administration::Dbcc(Dbcc { command, arguments, options }))
    }

    fn dbcc_argument(&mut self) -> Parsed<DbccArgument> {
        let is_name = match self.kind() {
            Some(TokenKind::Quoted(_)) => true,
            Some(TokenKind::Word(word)) => !word.eq_ignore_ascii_case("NULL"),
            _ => false,
        };
        if is_name {
            let start = self.start();
            self.local_name()?;
            return Ok(DbccArgument::Name(self.text_since(start)));
        }
        Ok(DbccArgument::Value(self.expression()?))
    }
}
