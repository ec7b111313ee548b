//! CREATE DATABASE. Files and options are read and without effect, since a database is a folder of the server's.

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::keywords::Keyword;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses the rest of CREATE DATABASE. Errors: 40515 for snapshots, copies, attached files, and for keys and the
    /// like.
    pub(crate) fn create_database(&mut self) -> Parsed<StatementKind> {
        self.refuse_other_database_objects("CREATE")?;
        let name = self.name()?;
        let line = self.line();
        self.refuse_copy()?;
        if self.is_symbol("(") {
            // The options of a cloud's databases.
            self.advance();
            self.service()?;
        }
        if self.accept_bare("CONTAINMENT") {
            self.expect_symbol("=")?;
            self.containment("CREATE DATABASE")?;
        }
        if self.accept_word(Keyword::On) {
            self.accept_word(Keyword::Primary);
            self.described_files()?;
            while self.accept_symbol(",") {
                self.expect_word(Keyword::Filegroup)?;
                self.name()?;
                if self.accept_word(Keyword::Contains) {
                    let what = "CREATE DATABASE with a file group of another kind";
                    return Err(SqlError::unsupported(what).at_line(self.line()));
                }
                self.accept_word(Keyword::Default);
                self.described_files()?;
            }
        }
        self.refuse_copy()?;
        if self.accept_words(&[Keyword::Log, Keyword::On]) {
            self.described_files()?;
        }
        let collation = if self.accept_word(Keyword::Collate) { Some(self.name()?) } else { None };
        if self.accept_word(Keyword::With) {
            loop {
                self.creation_option()?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        if self.is_word(Keyword::For)
            && (self.is_bare_ahead(1, "ATTACH") || self.is_bare_ahead(1, "ATTACH_REBUILD_LOG"))
        {
            return Err(SqlError::unsupported("CREATE DATABASE … FOR ATTACH").at_line(line));
        }
        Ok(StatementKind::CreateDatabase { name, collation })
    }

    /// Parses `AS SNAPSHOT OF x` and `AS COPY OF x` to their end and refuses them. Error: 40515.
    fn refuse_copy(&mut self) -> Parsed<()> {
        let line = self.line();
        if !self.accept_word(Keyword::As) {
            return Ok(());
        }
        let snapshot = self.accept_bare("SNAPSHOT");
        if !snapshot {
            self.expect_bare("COPY")?;
        }
        self.expect_word(Keyword::Of)?;
        self.local_name()?;
        let what =
            if snapshot { "CREATE DATABASE … AS SNAPSHOT OF" } else { "CREATE DATABASE … AS COPY OF" };
        Err(SqlError::unsupported(what).at_line(line))
    }

    /// Parses `(NAME = a, …), (NAME = b, …)`; a comma may also begin a file group.
    fn described_files(&mut self) -> Parsed<()> {
        self.file_spec()?;
        while self.is_symbol(",") && self.is_symbol_ahead(1, "(") {
            self.advance();
            self.file_spec()?;
        }
        Ok(())
    }

    /// Parses the value of CONTAINMENT, which must be NONE: databases contain nothing here. Error: 40515 for PARTIAL.
    pub(super) fn containment(&mut self, statement: &str) -> Parsed<()> {
        if self.is_bare_ahead(0, "PARTIAL") {
            let what = format!("{statement} … CONTAINMENT = PARTIAL");
            return Err(SqlError::unsupported(&what).at_line(self.line()));
        }
        self.expect_bare("NONE")
    }

    fn creation_option(&mut self) -> Parsed<()> {
        for option in ["DB_CHAINING", "TRUSTWORTHY"] {
            if self.accept_bare(option) {
                self.accept_symbol("=");
                return self.switch().map(drop);
            }
        }
        for option in ["NESTED_TRIGGERS", "TRANSFORM_NOISE_WORDS", "LEDGER"] {
            if self.accept_bare(option) {
                self.expect_symbol("=")?;
                return self.switch().map(drop);
            }
        }
        for option in ["DEFAULT_FULLTEXT_LANGUAGE", "DEFAULT_LANGUAGE", "TWO_DIGIT_YEAR_CUTOFF"] {
            if self.accept_bare(option) {
                self.expect_symbol("=")?;
                return self.language();
            }
        }
        if self.is_bare_ahead(0, "CATALOG_COLLATION") {
            self.advance();
            self.expect_symbol("=")?;
            return self.name().map(drop);
        }
        Err(self.unexpected())
    }
}
