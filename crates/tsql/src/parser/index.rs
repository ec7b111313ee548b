//! CREATE and ALTER INDEX, and the options of indexes, keys and tables.

use super::ddl::Place;
use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::index::{AlterIndex, CreateIndex, DataCompression, IndexAction, IndexSettings, Rebuild};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Options that change nothing of what is stored.
const WITHOUT_EFFECT: &[&str] = &[
    "SORT_IN_TEMPDB",
    "STATISTICS_NORECOMPUTE",
    "STATISTICS_INCREMENTAL",
    "ONLINE",
    "RESUMABLE",
    "MAX_DURATION",
    "ALLOW_ROW_LOCKS",
    "ALLOW_PAGE_LOCKS",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY",
    "MAXDOP",
    "COMPRESSION_DELAY",
    "COMPRESS_ALL_ROW_GROUPS",
    "LOB_COMPACTION",
    "WAIT_AT_LOW_PRIORITY",
];

impl Parser<'_> {
    pub(crate) fn create_index(
        &mut self,
        unique: bool,
        clustered: bool,
        columnstore: bool,
    ) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect_word(Keyword::On)?;
        let table = self.object_name()?;
        let columns = if columnstore && !self.is_symbol("(") { Vec::new() } else { self.ordered_columns()? };
        let include =
            if self.accept_word(Keyword::Include) { self.names_in_parentheses()? } else { Vec::new() };
        let filter = if self.accept_word(Keyword::Where) { Some(self.source_text()?.text) } else { None };
        let (settings, place) = self.index_options("CREATE INDEX")?;
        let (group, scheme) = Place::parted(place);
        if settings.ignore_dup_key == Some(true) && !unique {
            let text = "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.";
            return Err(SqlError::new(1916, 16, 4, text).at_line(self.line()));
        }
        Ok(StatementKind::CreateIndex(CreateIndex {
            name,
            table,
            unique,
            clustered,
            columnstore,
            columns,
            include,
            filter,
            settings,
            group,
            scheme,
        }))
    }

    /// What follows ALTER INDEX.
    pub(crate) fn alter_index(&mut self) -> Parsed<StatementKind> {
        let name = if self.accept_word(Keyword::All) { None } else { Some(self.name()?) };
        self.expect_word(Keyword::On)?;
        let table = self.object_name()?;
        let action = if self.accept_word(Keyword::Rebuild) {
            IndexAction::Rebuild(self.rebuild("ALTER INDEX")?)
        } else if self.accept_word(Keyword::Reorganize) {
            IndexAction::Reorganize { partition: self.rebuild("ALTER INDEX")?.partition }
        } else if self.accept_word(Keyword::Disable) {
            IndexAction::Disable
        } else if self.accept_word(Keyword::Set) {
            let settings = self.index_settings("ALTER INDEX")?;
            IndexAction::Set(settings)
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterIndex(AlterIndex { name, table, action }))
    }

    /// `[PARTITION = ALL | n] [WITH (…)]`.
    pub(crate) fn rebuild(&mut self, statement: &str) -> Parsed<Rebuild> {
        let mut partition = None;
        if self.accept_word(Keyword::Partition) {
            self.expect_symbol("=")?;
            if !self.accept_word(Keyword::All) {
                if !matches!(self.kind(), Some(TokenKind::Integer(_))) {
                    let what = "PARTITION = with anything but a number or ALL";
                    return Err(SqlError::unsupported(what).at_line(self.line()));
                }
                partition = Some(self.unsigned()?);
            }
        }
        let settings = match self.accept_word(Keyword::With) {
            true => self.index_settings(statement)?,
            false => IndexSettings::default(),
        };
        Ok(Rebuild { partition, settings })
    }

    /// `(option = value, …)`. Errors: 155 for an option that there is not.
    pub(crate) fn index_settings(&mut self, statement: &str) -> Parsed<IndexSettings> {
        self.expect_symbol("(")?;
        let mut settings = IndexSettings::default();
        loop {
            settings = self.index_setting(statement, settings)?;
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(settings)
    }

    /// One option, added to others.
    pub(crate) fn index_setting(&mut self, statement: &str, known: IndexSettings) -> Parsed<IndexSettings> {
        let mut settings = known;
        let line = self.line();
        let option = self.option_word()?;
        if option == "WAIT_AT_LOW_PRIORITY" && self.is_symbol("(") {
            self.skip_parentheses()?;
            return Ok(settings);
        }
        self.expect_symbol("=")?;
        match option.as_str() {
            "FILLFACTOR" => {
                let percent = self.unsigned()?;
                let known = u8::try_from(percent).ok().filter(|percent| (1..=100).contains(percent));
                settings.fill_factor = Some(known.ok_or_else(|| {
                    let text = format!(
                        "Fillfactor {percent} is not a valid percentage; fillfactor must be between 1 and 100."
                    );
                    SqlError::new(129, 15, 1, text).at_line(line)
                })?);
            }
            "PAD_INDEX" => settings.pad_index = Some(self.on_or_off()?),
            "DROP_EXISTING" => settings.drop_existing = self.on_or_off()?,
            "IGNORE_DUP_KEY" => settings.ignore_dup_key = Some(self.on_or_off()?),
            "DATA_COMPRESSION" => {
                settings.compression = Some(match self.option_word()?.as_str() {
                    "NONE" => DataCompression::None,
                    "ROW" => DataCompression::Row,
                    "PAGE" => DataCompression::Page,
                    // That of columnstore indexes, which are declared only.
                    "COLUMNSTORE" | "COLUMNSTORE_ARCHIVE" => DataCompression::None,
                    other => return Err(not_recognized(other, "DATA_COMPRESSION").at_line(line)),
                });
                // All partitions of a table or index are compressed alike.
                if self.is_word(Keyword::On) && self.is_word_ahead(1, Keyword::Partitions) {
                    let what = "DATA_COMPRESSION … ON PARTITIONS";
                    return Err(SqlError::unsupported(what).at_line(line));
                }
            }
            "XML_COMPRESSION" => {
                if self.on_or_off()? {
                    return Err(SqlError::unsupported("XML_COMPRESSION = ON").at_line(line));
                }
            }
            other if WITHOUT_EFFECT.contains(&other) => {
                if !(self.accept_word(Keyword::On) || self.accept_word(Keyword::Off)) {
                    self.unsigned()?;
                    self.accept_word(Keyword::Minutes);
                }
                if self.is_symbol("(") {
                    self.skip_parentheses()?;
                }
            }
            "SYSTEM_VERSIONING" => return Err(SqlError::unsupported("SYSTEM_VERSIONING").at_line(line)),
            other => return Err(not_recognized(other, statement).at_line(line)),
        }
        Ok(settings)
    }

    /// A word, reserved or not, in capitals.
    fn option_word(&mut self) -> Parsed<String> {
        match self.kind() {
            Some(TokenKind::Word(word)) => {
                let word = word.to_ascii_uppercase();
                self.advance();
                Ok(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn on_or_off(&mut self) -> Parsed<bool> {
        if self.accept_word(Keyword::On) {
            return Ok(true);
        }
        self.expect_word(Keyword::Off).map(|()| false)
    }
}

fn not_recognized(option: &str, statement: &str) -> SqlError {
    SqlError::new(155, 15, 1, format!("'{option}' is not a recognized {statement} option."))
}
