//! The file clauses of BULK INSERT and OPENROWSET(BULK …).

use super::names::ObjectName;

/// BULK INSERT.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkInsert {
    /// The target.
    pub table: ObjectName,
    /// The file, as the statement names it.
    pub file: String,
    /// WITH (…).
    pub options: BulkFileOptions,
}

/// OPENROWSET(BULK …).
#[derive(Debug, Clone, PartialEq)]
pub struct BulkRowset {
    /// The file, as the statement names it.
    pub file: String,
    /// The form of the rows.
    pub contents: RowsetContents,
    /// The other options.
    pub options: BulkFileOptions,
}

/// The result of OPENROWSET(BULK …).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsetContents {
    /// The rows that a format file describes.
    Rows,
    /// A single `varbinary(max)`.
    Blob,
    /// A single `varchar(max)` in the database's code page.
    Clob,
    /// One `nvarchar(max)`, from UTF-16 with a byte-order mark.
    NClob,
}

/// DATAFILETYPE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataFileType {
    /// Text in a code page.
    #[default]
    Char,
    /// UTF-16.
    WideChar,
    /// Native values.
    Native,
    /// Native values, text in UTF-16.
    WideNative,
}

/// CODEPAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodePageOption {
    /// The code page of Windows (1252).
    Acp,
    /// The code page of the command prompt (437).
    Oem,
    /// No conversion.
    Raw,
    /// The code page of this number.
    Number(u16),
}

/// The options of both, each once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BulkFileOptions {
    /// DATAFILETYPE.
    pub data_file_type: Option<DataFileType>,
    /// CODEPAGE.
    pub code_page: Option<CodePageOption>,
    /// FORMAT = 'CSV'.
    pub csv: bool,
    /// FIELDQUOTE.
    pub field_quote: Option<String>,
    /// FIELDTERMINATOR, as written.
    pub field_terminator: Option<String>,
    /// ROWTERMINATOR, as written.
    pub row_terminator: Option<String>,
    /// FORMATFILE.
    pub format_file: Option<String>,
    /// FIRSTROW, from 1.
    pub first_row: Option<u64>,
    /// LASTROW; 0 is the last.
    pub last_row: Option<u64>,
    /// MAXERRORS.
    pub max_errors: Option<u64>,
    /// ERRORFILE.
    pub error_file: Option<String>,
    /// BATCHSIZE.
    pub batch_rows: Option<u64>,
    /// ROWS_PER_BATCH.
    pub rows_per_batch: Option<u64>,
    /// KILOBYTES_PER_BATCH.
    pub kilobytes_per_batch: Option<u64>,
    /// ORDER: column, descending.
    pub order: Vec<(String, bool)>,
    /// TABLOCK.
    pub table_lock: bool,
    /// CHECK_CONSTRAINTS.
    pub check_constraints: bool,
    /// FIRE_TRIGGERS.
    pub fire_triggers: bool,
    /// KEEPIDENTITY.
    pub keep_identity: bool,
    /// KEEPNULLS.
    pub keep_nulls: bool,
}

/// Hints of `INSERT … WITH (…) SELECT … FROM OPENROWSET(BULK …)`. The defaults are the opposite of BULK INSERT's: constraints are
/// checked, and NULL stays NULL, unless a hint says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileHints {
    /// KEEPIDENTITY.
    pub keep_identity: bool,
    /// KEEPDEFAULTS.
    pub keep_defaults: bool,
    /// IGNORE_CONSTRAINTS.
    pub ignore_constraints: bool,
    /// IGNORE_TRIGGERS.
    pub ignore_triggers: bool,
}

impl FileHints {
    /// Sets the hint of a word; false if it is none of them.
    pub fn set(&mut self, word: &str) -> bool {
        let hint = match word.to_ascii_uppercase().as_str() {
            "KEEPIDENTITY" => &mut self.keep_identity,
            "KEEPDEFAULTS" => &mut self.keep_defaults,
            "IGNORE_CONSTRAINTS" => &mut self.ignore_constraints,
            "IGNORE_TRIGGERS" => &mut self.ignore_triggers,
            _ => return false,
        };
        *hint = true;
        true
    }

    /// Returns the first hint that is given.
    pub fn first(&self) -> Option<&'static str> {
        let hints = [
            (self.keep_identity, "KEEPIDENTITY"),
            (self.keep_defaults, "KEEPDEFAULTS"),
            (self.ignore_constraints, "IGNORE_CONSTRAINTS"),
            (self.ignore_triggers, "IGNORE_TRIGGERS"),
        ];
        hints.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}
