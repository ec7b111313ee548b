//! CREATE and ALTER INDEX, and the options of indexes, keys and tables.

use super::ddl::Place;
use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::index::{AlterIndex, CreateIndex, DataCompression, IndexAction, IndexSettings, Rebuild};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// The kind of an option's value.
#[derive(Clone, Copy)]
enum OptionValue {
    /// ON or OFF.
    Switch,
    /// ON, with more in parentheses, or OFF.
    Online,
    /// A number.
    Number,
    /// A number of minutes.
    Minutes,
    /// Another, which is kept.
    Kept,
}

/// The options of indexes, keys and tables, and their values.
const OPTIONS: &[(&str, OptionValue)] = &[
    ("ALLOW_PAGE_LOCKS", OptionValue::Switch),
    ("ALLOW_ROW_LOCKS", OptionValue::Switch),
    ("COMPRESSION_DELAY", OptionValue::Minutes),
    ("COMPRESS_ALL_ROW_GROUPS", OptionValue::Switch),
    ("DATA_COMPRESSION", OptionValue::Kept),
    ("DROP_EXISTING", OptionValue::Kept),
    ("FILLFACTOR", OptionValue::Kept),
    ("IGNORE_DUP_KEY", OptionValue::Kept),
    ("LOB_COMPACTION", OptionValue::Switch),
    ("MAXDOP", OptionValue::Number),
    ("MAX_DURATION", OptionValue::Minutes),
    ("ONLINE", OptionValue::Online),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", OptionValue::Switch),
    ("PAD_INDEX", OptionValue::Kept),
    ("RESUMABLE", OptionValue::Switch),
    ("SORT_IN_TEMPDB", OptionValue::Switch),
    ("STATISTICS_INCREMENTAL", OptionValue::Switch),
    ("STATISTICS_NORECOMPUTE", OptionValue::Switch),
    ("SYSTEM_VERSIONING", OptionValue::Kept),
    ("XML_COMPRESSION", OptionValue::Kept),
];

/// A statement that has options, and its name in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionPlace {
    /// CREATE INDEX.
    CreateIndex,
    /// CREATE TABLE, about the table.
    Table,
    /// PRIMARY KEY and UNIQUE.
    Key,
    /// REBUILD of an index.
    RebuildIndex,
    /// REBUILD of a table.
    RebuildTable,
    /// REBUILD PARTITION = n.
    RebuildPartition,
    /// REORGANIZE.
    Reorganize,
    /// ALTER INDEX … SET.
    Set,
    /// DROP INDEX.
    Drop,
    /// ALTER COLUMN.
    AlterColumn,
}

impl OptionPlace {
    fn name(self) -> &'static str {
        match self {
            OptionPlace::CreateIndex => "CREATE INDEX",
            OptionPlace::Table | OptionPlace::Key => "CREATE TABLE",
            OptionPlace::RebuildIndex => "ALTER INDEX REBUILD",
            OptionPlace::RebuildTable => "ALTER TABLE",
            OptionPlace::RebuildPartition => "ALTER INDEX REBUILD PARTITION",
            OptionPlace::Reorganize => "ALTER INDEX REORGANIZE",
            OptionPlace::Set => "ALTER INDEX SET",
            OptionPlace::Drop => "DROP INDEX",
            OptionPlace::AlterColumn => "ALTER TABLE ALTER COLUMN",
        }
    }

    /// Returns true if the statement has an option.
    fn has(self, option: &str) -> bool {
        if self == OptionPlace::AlterColumn {
            return option == "ONLINE";
        }
        match option {
            "COMPRESSION_DELAY" => matches!(self, OptionPlace::CreateIndex | OptionPlace::Set),
            "COMPRESS_ALL_ROW_GROUPS" | "LOB_COMPACTION" => self == OptionPlace::Reorganize,
            "DROP_EXISTING" => self == OptionPlace::CreateIndex,
            "SYSTEM_VERSIONING" => self == OptionPlace::Table,
            "DATA_COMPRESSION" | "XML_COMPRESSION" => {
                !matches!(self, OptionPlace::Reorganize | OptionPlace::Set | OptionPlace::Drop)
            }
            "MAXDOP" | "ONLINE" => {
                !matches!(self, OptionPlace::Table | OptionPlace::Reorganize | OptionPlace::Set)
            }
            "MAX_DURATION" | "RESUMABLE" | "SORT_IN_TEMPDB" => !matches!(
                self,
                OptionPlace::Table | OptionPlace::Reorganize | OptionPlace::Set | OptionPlace::Drop
            ),
            "ALLOW_PAGE_LOCKS"
            | "ALLOW_ROW_LOCKS"
            | "IGNORE_DUP_KEY"
            | "OPTIMIZE_FOR_SEQUENTIAL_KEY"
            | "STATISTICS_NORECOMPUTE" => !matches!(
                self,
                OptionPlace::Table
                    | OptionPlace::RebuildPartition
                    | OptionPlace::Reorganize
                    | OptionPlace::Drop
            ),
            "FILLFACTOR" | "PAD_INDEX" | "STATISTICS_INCREMENTAL" => matches!(
                self,
                OptionPlace::CreateIndex
                    | OptionPlace::Key
                    | OptionPlace::RebuildIndex
                    | OptionPlace::RebuildTable
            ),
            _ => false,
        }
    }
}

impl Parser<'_> {
    pub(crate) fn create_index(
        &mut self,
        unique: bool,
        clustered: bool,
        columnstore: bool,
    ) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect_word(Keyword::On)?;
        let table = self.local_name()?;
        if unique && columnstore {
            return Err(SqlError::new(35_301, 15, 1, "The statement failed because a columnstore index cannot be unique. Create the columnstore index without the UNIQUE keyword or create a unique index without the COLUMNSTORE keyword.").at_line(self.line()));
        }
        let columns = if columnstore && !self.is_symbol("(") { Vec::new() } else { self.ordered_columns()? };
        let include =
            if self.accept_word(Keyword::Include) { self.names_in_parentheses()? } else { Vec::new() };
        let filter = if self.accept_word(Keyword::Where) { Some(self.source_text()?.text) } else { None };
        let (settings, place) = self.index_options(OptionPlace::CreateIndex)?;
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

    /// Parses `name [UNIQUE] [CLUSTERED | NONCLUSTERED] [COLUMNSTORE] [(columns)] …` after INDEX in a table's
    /// definition. Behind a column, the index is on that column.
    pub(crate) fn inline_index(&mut self, column: Option<&str>) -> Parsed<CreateIndex> {
        let name = self.name()?;
        let unique = self.accept_word(Keyword::Unique);
        let clustered = self.accept_word(Keyword::Clustered);
        if !clustered {
            self.accept_word(Keyword::Nonclustered);
        }
        let columnstore = column.is_none() && !unique && self.accept_word(Keyword::Columnstore);
        let columns = match column {
            Some(column) if !self.is_symbol("(") => vec![(column.to_owned(), false)],
            _ if columnstore && !self.is_symbol("(") => Vec::new(),
            _ => self.ordered_columns()?,
        };
        if columnstore && self.accept_word(Keyword::Order) {
            // ORDER is about segments, of which there are none.
            self.names_in_parentheses()?;
        }
        let include =
            if self.accept_word(Keyword::Include) { self.names_in_parentheses()? } else { Vec::new() };
        let filter = if self.accept_word(Keyword::Where) { Some(self.source_text()?.text) } else { None };
        let (settings, place) = self.index_options(OptionPlace::Key)?;
        let (group, scheme) = Place::parted(place);
        let table = self.table.clone();
        Ok(CreateIndex {
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
        })
    }

    /// Parses the rest of ALTER INDEX.
    pub(crate) fn alter_index(&mut self) -> Parsed<StatementKind> {
        let name = if self.accept_word(Keyword::All) { None } else { Some(self.name()?) };
        self.expect_word(Keyword::On)?;
        let table = self.local_name()?;
        let action = if self.accept_word(Keyword::Rebuild) {
            IndexAction::Rebuild(self.rebuild(OptionPlace::RebuildIndex)?)
        } else if self.accept_word(Keyword::Reorganize) {
            IndexAction::Reorganize { partition: self.rebuild(OptionPlace::Reorganize)?.partition }
        } else if self.accept_word(Keyword::Disable) {
            IndexAction::Disable
        } else if self.accept_word(Keyword::Set) {
            let settings = self.index_settings(OptionPlace::Set)?;
            IndexAction::Set(settings)
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterIndex(AlterIndex { name, table, action }))
    }

    /// Parses `[PARTITION = ALL | n] [WITH (…)]`.
    pub(crate) fn rebuild(&mut self, place: OptionPlace) -> Parsed<Rebuild> {
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
        let place = match (place, partition) {
            (OptionPlace::RebuildIndex | OptionPlace::RebuildTable, Some(_)) => OptionPlace::RebuildPartition,
            _ => place,
        };
        let settings = match self.accept_word(Keyword::With) {
            true => self.index_settings(place)?,
            false => IndexSettings::default(),
        };
        Ok(Rebuild { partition, settings })
    }

    /// Parses `(option = value, …)`. Errors: 155 for an unknown option.
    pub(crate) fn index_settings(&mut self, place: OptionPlace) -> Parsed<IndexSettings> {
        self.expect_symbol("(")?;
        let mut settings = IndexSettings::default();
        let mut seen = Vec::new();
        loop {
            let unexpected = self.unexpected();
            let option = self.index_setting(place, &mut settings)?;
            if seen.contains(&option) {
                return Err(unexpected);
            }
            seen.push(option);
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(settings)
    }

    /// Parses an option, adds it to the others and returns its name.
    pub(crate) fn index_setting(
        &mut self,
        place: OptionPlace,
        settings: &mut IndexSettings,
    ) -> Parsed<&'static str> {
        let (line, start) = (self.line(), self.start());
        let written = self.any_word()?;
        let known = OPTIONS.iter().find(|(name, _)| *name == written && place.has(name));
        let Some((option, value)) = known else {
            return Err(not_recognized(&self.text_since(start), place.name()).at_line(line));
        };
        self.expect_symbol("=")?;
        match value {
            OptionValue::Switch => drop(self.on_or_off()?),
            OptionValue::Online => {
                if self.on_or_off()? && self.accept_symbol("(") {
                    self.wait_at_low_priority()?;
                    self.expect_symbol(")")?;
                }
            }
            OptionValue::Number => drop(self.unsigned()?),
            OptionValue::Minutes => {
                self.unsigned()?;
                self.accept_word(Keyword::Minutes);
            }
            OptionValue::Kept => self.kept_setting(option, settings, line)?,
        }
        Ok(option)
    }

    /// Parses the value of an option that has an effect.
    fn kept_setting(&mut self, option: &str, settings: &mut IndexSettings, line: u32) -> Parsed<()> {
        match option {
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
                settings.compression = Some(match self.any_word()?.as_str() {
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
            _ => return Err(SqlError::unsupported("SYSTEM_VERSIONING").at_line(line)),
        }
        Ok(())
    }

    /// Parses `WAIT_AT_LOW_PRIORITY (MAX_DURATION = n MINUTES, ABORT_AFTER_WAIT = NONE)`. It has no effect: nobody
    /// waits for an index here.
    fn wait_at_low_priority(&mut self) -> Parsed<()> {
        self.expect_bare("WAIT_AT_LOW_PRIORITY")?;
        self.expect_symbol("(")?;
        self.expect_bare("MAX_DURATION")?;
        self.expect_symbol("=")?;
        self.unsigned()?;
        self.accept_word(Keyword::Minutes);
        self.expect_symbol(",")?;
        self.expect_bare("ABORT_AFTER_WAIT")?;
        self.expect_symbol("=")?;
        let known = ["NONE", "SELF", "BLOCKERS"].iter().any(|word| self.accept_bare(word));
        if !known {
            return Err(self.unexpected());
        }
        self.expect_symbol(")")
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
