//! CREATE DATABASE. Files and options are read and without effect, since a database is a folder of the server's.

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::keywords::Keyword;

impl Parser<'_> {
    /// Parses the rest of CREATE DATABASE. Errors: 40515 for snapshots, copies, attached files, and for keys and the
    /// like.
    pub(crate) fn create_database(&mut self) -> Parsed<StatementKind> {
        let name = self.name()?;
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
        let mut named = true;
        if self.accept_word(Keyword::On) {
            self.accept_word(Keyword::Primary);
            named &= self.described_files()?;
            while self.accept_symbol(",") {
                self.expect_word(Keyword::Filegroup)?;
                self.name()?;
                self.other_contents()?;
                self.accept_word(Keyword::Default);
                named &= self.described_files()?;
            }
        }
        self.refuse_copy()?;
        if self.accept_words(&[Keyword::Log, Keyword::On]) {
            named &= self.described_files()?;
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
            self.advance();
            self.refused_clause("attached", "CREATE DATABASE … FOR ATTACH")?;
        } else if !named {
            return Err(self.unexpected());
        }
        Ok(StatementKind::CreateDatabase { name, collation })
    }

    /// Parses `AS SNAPSHOT OF x` and `AS COPY OF x` to their end and refuses them. Error: 40515.
    fn refuse_copy(&mut self) -> Parsed<()> {
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
        self.refuse(what);
        if self.is_symbol("(") {
            self.advance();
            self.service()?;
        }
        Ok(())
    }

    /// Parses `(NAME = a, …), (NAME = b, …)`; a comma may also begin a file group.
    /// Returns false if one has no name.
    fn described_files(&mut self) -> Parsed<bool> {
        let mut named = !self.attached_file()?.name.is_empty();
        while self.is_symbol(",") && self.is_symbol_ahead(1, "(") {
            self.advance();
            named &= !self.attached_file()?.name.is_empty();
        }
        Ok(named)
    }

    /// Parses the value of CONTAINMENT, which must be NONE: databases contain nothing here. Error: 40515 for PARTIAL.
    pub(super) fn containment(&mut self, statement: &str) -> Parsed<()> {
        if self.accept_bare("PARTIAL") {
            self.refuse(&format!("{statement} … CONTAINMENT = PARTIAL"));
            return Ok(());
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
        if self.accept_bare("FILESTREAM") {
            self.refuse("CREATE DATABASE … WITH FILESTREAM");
            return self.settings_in_parentheses();
        }
        if self.accept_bare("PERSISTENT_LOG_BUFFER") {
            return self.refused_clause("log_buffer", "PERSISTENT_LOG_BUFFER");
        }
        if self.is_bare_ahead(0, "CATALOG_COLLATION") {
            self.advance();
            self.expect_symbol("=")?;
            return self.name().map(drop);
        }
        Err(self.unexpected())
    }
}
