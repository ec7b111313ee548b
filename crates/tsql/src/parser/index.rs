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
    /// ALTER TABLE … SET.
    SetTable,
    /// ALTER INDEX … RESUME.
    Resume,
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
            OptionPlace::SetTable => "ALTER TABLE",
            OptionPlace::Resume => "ALTER INDEX RESUME",
        }
    }

    /// Returns true if the statement has an option.
    fn has(self, option: &str) -> bool {
        match self {
            OptionPlace::AlterColumn => return option == "ONLINE",
            OptionPlace::SetTable => return false,
            OptionPlace::Resume => return matches!(option, "MAXDOP" | "MAX_DURATION"),
            _ => {}
        }
        match option {
            "COMPRESSION_DELAY" => matches!(self, OptionPlace::CreateIndex | OptionPlace::Set),
            "COMPRESS_ALL_ROW_GROUPS" | "LOB_COMPACTION" => self == OptionPlace::Reorganize,
            "DROP_EXISTING" => self == OptionPlace::CreateIndex,
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
        if columnstore && self.accept_word(Keyword::Order) {
            // ORDER is about segments, of which there are none.
            self.names_in_parentheses()?;
        }
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
        self.hash_index();
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
        } else if let Some(word) =
            ["RESUME", "PAUSE", "ABORT"].into_iter().find(|word| self.accept_bare(word))
        {
            let line = self.line();
            if word == "RESUME" && self.accept_word(Keyword::With) {
                self.index_settings(OptionPlace::Resume)?;
            }
            // Every change of an index ends with its statement.
            let error = nothing_to_resume(word, name.as_deref().unwrap_or("ALL"), &table.name).at_line(line);
            return Ok(StatementKind::Unsupported(Box::new(error)));
        } else if self.is_word(Keyword::With) || self.is_word(Keyword::For) {
            self.refuse("ALTER INDEX of a selective XML index");
            if self.accept_word(Keyword::With) {
                self.expect_bare("XMLNAMESPACES")?;
                self.clause("xml_namespaces")?;
            }
            self.expect_word(Keyword::For)?;
            self.clause("xml_path_changes")?;
            IndexAction::Disable
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
                partition = Some(match self.kind() {
                    Some(TokenKind::Integer(_)) => self.unsigned()?,
                    _ => {
                        self.refuse("PARTITION = with anything but a number or ALL");
                        self.expression()?;
                        1
                    }
                });
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
            if option.is_some() && seen.contains(&option) {
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

    /// Parses an option, adds it to the others and returns its name; `None` for one that is refused when the statement runs.
    pub(crate) fn index_setting(
        &mut self,
        place: OptionPlace,
        settings: &mut IndexSettings,
    ) -> Parsed<Option<&'static str>> {
        let (line, start, at) = (self.line(), self.start(), self.at);
        let written = self.any_word()?;
        let known = OPTIONS.iter().find(|(name, _)| *name == written && place.has(name));
        let Some((option, value)) = known else {
            if self.refused_setting(place, &written, at)? {
                return Ok(None);
            }
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
        // That of some partitions may be written several times.
        if *option == "DATA_COMPRESSION" && self.at_close_of_partitions(at) {
            return Ok(None);
        }
        Ok(Some(option))
    }

    /// Returns true if an option that began at a token has named partitions.
    fn at_close_of_partitions(&self, at: usize) -> bool {
        let read = self.tokens.get(at..self.at).unwrap_or_default();
        read.iter().any(|token| token.keyword == Some(Keyword::Partitions))
    }

    /// Parses an option that this server does not have, whose word has been read. Returns false, with nothing read, for a word
    /// that is none.
    fn refused_setting(&mut self, place: OptionPlace, written: &str, at: usize) -> Parsed<bool> {
        let behind = self.at;
        match (place, written) {
            (OptionPlace::Table | OptionPlace::SetTable, _) => {
                self.at = at;
                match self.clause("table_option") {
                    Err(_) if self.at == at => {
                        self.at = behind;
                        return Ok(false);
                    }
                    read => read?,
                }
            }
            (OptionPlace::Key | OptionPlace::RebuildIndex, "BUCKET_COUNT") => {
                self.expect_symbol("=")?;
                self.unsigned()?;
            }
            (OptionPlace::Drop, "MOVE") => {
                self.expect_word(Keyword::To)?;
                self.index_place()?;
            }
            // Nobody waits for an index here.
            (
                OptionPlace::Resume | OptionPlace::RebuildIndex | OptionPlace::RebuildTable,
                "WAIT_AT_LOW_PRIORITY",
            ) => {
                self.at = at;
                self.wait_at_low_priority()?;
                return Ok(true);
            }
            (OptionPlace::Drop, "FILESTREAM_ON") => self.index_place()?,
            _ => return Ok(false),
        }
        self.refuse(written);
        Ok(true)
    }

    /// Parses a file group or a partition scheme with its columns.
    fn index_place(&mut self) -> Parsed<()> {
        if matches!(self.kind(), Some(TokenKind::Text { .. })) {
            return self.literal_text().map(drop);
        }
        let name = self.group_name()?;
        if self.is_symbol("(") {
            self.scheme_columns(name)?;
        }
        Ok(())
    }

    /// Takes the word of a hash index. The statement is refused when it runs.
    pub(crate) fn hash_index(&mut self) {
        if self.is_word(Keyword::Hash)
            && (self.is_symbol_ahead(1, "(") || self.is_word_ahead(1, Keyword::With))
        {
            self.advance();
            self.refuse("A hash index");
        }
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
            "IGNORE_DUP_KEY" => {
                settings.ignore_dup_key = Some(self.on_or_off()?);
                if self.accept_symbol("(") {
                    self.expect_bare("SUPPRESS_MESSAGES")?;
                    self.expect_symbol("=")?;
                    if self.on_or_off()? {
                        self.refuse("SUPPRESS_MESSAGES = ON");
                    }
                    self.expect_symbol(")")?;
                }
            }
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
                    self.refused_clause("on_partitions", "DATA_COMPRESSION … ON PARTITIONS")?;
                }
            }
            // XML_COMPRESSION.
            _ => {
                if self.on_or_off()? {
                    self.refuse("XML_COMPRESSION = ON");
                }
                if self.is_word(Keyword::On) && self.is_word_ahead(1, Keyword::Partitions) {
                    self.clause("on_partitions")?;
                }
            }
        }
        Ok(())
    }

    /// Parses `WAIT_AT_LOW_PRIORITY (MAX_DURATION = n MINUTES, ABORT_AFTER_WAIT = NONE)`. It has no effect: nobody
    /// waits for an index here.
    pub(crate) fn wait_at_low_priority(&mut self) -> Parsed<()> {
        self.clause("low_priority")
    }

    fn on_or_off(&mut self) -> Parsed<bool> {
        if self.accept_word(Keyword::On) {
            return Ok(true);
        }
        self.expect_word(Keyword::Off).map(|()| false)
    }
}

/// Makes error 10638.
fn nothing_to_resume(verb: &str, index: &str, table: &str) -> SqlError {
    let text = format!(
        "ALTER INDEX '{verb}' failed. There is no pending resumable index operation for the index '{index}' on '{table}'."
    );
    SqlError::new(10638, 16, 2, text)
}

fn not_recognized(option: &str, statement: &str) -> SqlError {
    SqlError::new(155, 15, 1, format!("'{option}' is not a recognized {statement} option."))
}
