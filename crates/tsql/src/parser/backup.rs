//! BACKUP and RESTORE.

use super::{Parsed, Parser};
use crate::administration::Administration;
use crate::ast::StatementKind;
use crate::backup::{Backup, BackupOptions, Expiry, Restore, RestoreKind, RestoreOptions, Stats};
use crate::expression::{Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Options of both statements about tapes and about errors, at their default here: a disk is not rewound, and the first
/// error ends the statement.
const DEFAULTS: &[&str] =
    &["NOREWIND", "NOUNLOAD", "REWIND", "UNLOAD", "STOP_ON_ERROR", "NO_CHECKSUM", "RESTART"];
/// Sizes of buffers, which change nothing of a file on disk.
const BUFFERS: &[&str] = &["BLOCKSIZE", "BUFFERCOUNT", "MAXTRANSFERSIZE"];
/// Words of BACKUP that say what happens anyway.
const BACKUP_DEFAULTS: &[&str] = &["NOINIT", "NOSKIP", "NOFORMAT", "NO_COMPRESSION"];
/// Options of BACKUP that are refused by name.
const BACKUP_REFUSED: &[&str] = &[
    "CONTINUE_AFTER_ERROR",
    "CREDENTIAL",
    "DIFFERENTIAL",
    "ENCRYPTION",
    "FILE_SNAPSHOT",
    "MEDIAPASSWORD",
    "METADATA_ONLY",
    "NORECOVERY",
    "NO_LOG",
    "NO_TRUNCATE",
    "PASSWORD",
    "SNAPSHOT",
    "STANDBY",
    "TRUNCATE_ONLY",
];
/// Options of RESTORE that are refused by name.
const RESTORE_REFUSED: &[&str] = &[
    "CONTINUE_AFTER_ERROR",
    "CREDENTIAL",
    "DBNAME",
    "ENABLE_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
    "FILESTREAM",
    "KEEP_CDC",
    "KEEP_REPLICATION",
    "KEEP_TEMPORAL_RETENTION",
    "LOADHISTORY",
    "MEDIAPASSWORD",
    "METADATA_ONLY",
    "NEW_BROKER",
    "PARTIAL",
    "PASSWORD",
    "RESTRICTED_USER",
    "SNAPSHOT",
    "STANDBY",
    "STOPAT",
    "STOPATMARK",
    "STOPBEFOREMARK",
];

impl Parser<'_> {
    /// Parses `BACKUP {DATABASE | LOG} x TO DISK = 'file' [WITH …]`. Errors: 40515 for devices and options that are not served.
    pub(super) fn backup(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        self.advance();
        let is_log = match () {
            () if self.accept_word(Keyword::Log) => true,
            () if self.accept_word(Keyword::Database) => false,
            () if self.is_bare_ahead(0, "CERTIFICATE")
                || self.is_bare_ahead(0, "MASTER")
                || self.is_bare_ahead(0, "SERVICE")
                || self.is_bare_ahead(0, "SYMMETRIC")
                || self.is_bare_ahead(0, "SERVER")
                || self.is_bare_ahead(0, "GROUP") =>
            {
                let what = self.any_word()?;
                return Err(SqlError::unsupported(&format!("BACKUP {what}")).at_line(line));
            }
            () => return Err(self.unexpected()),
        };
        let database = self.database_of_backup()?;
        self.refuse_parts("BACKUP")?;
        self.expect_word(Keyword::To)?;
        let mut files = self.devices()?;
        if self.is_bare_ahead(0, "MIRROR") {
            return Err(SqlError::unsupported("BACKUP … MIRROR TO").at_line(self.line()));
        }
        if files.len() > 1 {
            return Err(SqlError::unsupported("A backup on several devices").at_line(line));
        }
        let Some(file) = files.pop() else { return Err(self.unexpected()) };
        let mut options = BackupOptions::default();
        if self.accept_word(Keyword::With) {
            loop {
                self.backup_option(&mut options)?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        Self::administration(Administration::Backup(Box::new(Backup { is_log, database, file, options })))
    }

    fn database_of_backup(&mut self) -> Parsed<Expr> {
        Ok(match self.kind().cloned() {
            Some(TokenKind::Variable(name)) => {
                self.advance();
                Expr::Variable(name)
            }
            _ => Expr::Literal(Literal::Text { value: self.name()?, unicode: true }),
        })
    }

    /// Refuses the words between a database and its devices: parts of it.
    fn refuse_parts(&mut self, statement: &str) -> Parsed<()> {
        let line = self.line();
        for part in ["READ_WRITE_FILEGROUPS", "FILEGROUP", "FILE", "PAGE"] {
            if self.is_bare_ahead(0, part) {
                return Err(SqlError::unsupported(&format!("{statement} of {part}")).at_line(line));
            }
        }
        Ok(())
    }

    /// Parses devices: `DISK = 'file', …`. Errors: 40515 for others than files.
    fn devices(&mut self) -> Parsed<Vec<Expr>> {
        let mut files = Vec::new();
        loop {
            let line = self.line();
            if self.accept_word(Keyword::Disk) {
                self.expect_symbol("=")?;
                files.push(self.expression()?);
            } else {
                return Err(SqlError::unsupported("A backup device other than DISK").at_line(line));
            }
            if !self.accept_symbol(",") {
                return Ok(files);
            }
        }
    }

    fn value(&mut self) -> Parsed<Expr> {
        self.expect_symbol("=")?;
        self.expression()
    }

    fn stats(&mut self) -> Parsed<Stats> {
        Ok(Stats(if self.is_symbol("=") { Some(self.value()?) } else { None }))
    }

    fn backup_option(&mut self, options: &mut BackupOptions) -> Parsed<()> {
        let (line, unexpected) = (self.line(), self.unexpected());
        let option = self.any_word()?;
        match option.as_str() {
            "INIT" => options.init = true,
            "FORMAT" => (options.format, options.init) = (true, true),
            "SKIP" => options.skip = true,
            "COPY_ONLY" => options.copy_only = true,
            "CHECKSUM" => options.checksum = true,
            "COMPRESSION" if self.is_symbol("(") => {
                return Err(SqlError::unsupported("BACKUP … WITH COMPRESSION (…)").at_line(line));
            }
            "COMPRESSION" => options.compression = true,
            "STATS" => options.stats = Some(self.stats()?),
            "NAME" => options.name = Some(self.value()?),
            "DESCRIPTION" => options.description = Some(self.value()?),
            "MEDIANAME" => options.media_name = Some(self.value()?),
            "MEDIADESCRIPTION" => options.media_description = Some(self.value()?),
            "EXPIREDATE" => options.expires = Some(Expiry::Date(self.value()?)),
            "RETAINDAYS" => options.expires = Some(Expiry::Days(self.value()?)),
            word if DEFAULTS.contains(&word) || BACKUP_DEFAULTS.contains(&word) => {}
            word if BUFFERS.contains(&word) => drop(self.value()?),
            word if BACKUP_REFUSED.contains(&word) => {
                return Err(SqlError::unsupported(&format!("BACKUP … WITH {word}")).at_line(line));
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }

    /// Parses `RESTORE {DATABASE | LOG} x [FROM …] [WITH …]`, and the statements that show a backup. Errors: 40515 for
    /// devices, parts and options that are not served.
    pub(super) fn restore(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        self.advance();
        let kind = match () {
            () if self.accept_word(Keyword::Database) => RestoreKind::Database,
            () if self.accept_word(Keyword::Log) => RestoreKind::Log,
            () if self.accept_bare("HEADERONLY") => RestoreKind::HeaderOnly,
            () if self.accept_bare("FILELISTONLY") => RestoreKind::FileListOnly,
            () if self.accept_bare("LABELONLY") => RestoreKind::LabelOnly,
            () if self.accept_bare("VERIFYONLY") => RestoreKind::VerifyOnly,
            () if self.is_bare_ahead(0, "REWINDONLY")
                || self.is_bare_ahead(0, "MASTER")
                || self.is_bare_ahead(0, "SERVICE")
                || self.is_bare_ahead(0, "SYMMETRIC") =>
            {
                let what = self.any_word()?;
                return Err(SqlError::unsupported(&format!("RESTORE {what}")).at_line(line));
            }
            () => return Err(self.unexpected()),
        };
        let mut database = None;
        let has_database = matches!(kind, RestoreKind::Database | RestoreKind::Log);
        if has_database {
            database = Some(self.database_of_backup()?);
            self.refuse_parts("RESTORE")?;
        }
        let files = match has_database && !self.is_word(Keyword::From) {
            true => Vec::new(),
            false => {
                self.expect_word(Keyword::From)?;
                self.devices()?
            }
        };
        let mut options = RestoreOptions::default();
        if self.accept_word(Keyword::With) {
            loop {
                self.restore_option(&mut options)?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        Self::administration(Administration::Restore(Box::new(Restore { kind, database, files, options })))
    }

    fn restore_option(&mut self, options: &mut RestoreOptions) -> Parsed<()> {
        let (line, unexpected) = (self.line(), self.unexpected());
        let option = self.any_word()?;
        match option.as_str() {
            "NORECOVERY" => options.no_recovery = true,
            "RECOVERY" => options.no_recovery = false,
            "REPLACE" => options.replace = true,
            "CHECKSUM" => options.checksum = true,
            "STATS" => options.stats = Some(self.stats()?),
            "FILE" => options.set = Some(self.value()?),
            "MEDIANAME" => options.media_name = Some(self.value()?),
            "MOVE" => {
                let name = self.expression()?;
                self.expect_word(Keyword::To)?;
                options.moves.push((name, self.expression()?));
            }
            word if DEFAULTS.contains(&word) => {}
            word if BUFFERS.contains(&word) => drop(self.value()?),
            word if RESTORE_REFUSED.contains(&word) => {
                return Err(SqlError::unsupported(&format!("RESTORE … WITH {word}")).at_line(line));
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }
}
