//! The layout of a file by a statement's options.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use databases::file_access::{FileAccess, cannot_open};
use formats::bcp::{
    ByteOrderMark, DataMode, FileCodePage, FormatFile, HostReadOptions, LayoutOptions, RowsetColumn,
    TextFields, terminator,
};
use formats::{CsvOptions, Encoding, RowTerminator};
use tds::{CodePage, Column, SqlType};
use tsql::SqlError;
use tsql::bulk_file::{BulkFileOptions, CodePageOption, DataFileType};
use tsql::errors;

/// Rows of a batch as it is read.
const BATCH_ROWS: usize = 65_536;

/// The layout by which a file is read.
pub(crate) enum Layout {
    /// As bcp's formats describe it.
    Host {
        /// The fields of the format.
        format: Box<FormatFile>,
        /// The rest.
        options: Box<HostReadOptions>,
    },
    /// As FORMAT = 'CSV' has it.
    Csv {
        /// The dialect of CSV.
        options: Box<CsvOptions>,
        /// For each field of the file the position of the column that it fills.
        fields: Vec<Option<usize>>,
        /// The types of the columns by the format file.
        rowset: Option<Vec<RowsetColumn>>,
        /// Rows before the first one to load.
        skipped_rows: u64,
        /// The last row to load.
        last_row: Option<u64>,
    },
}

impl Layout {
    /// Makes the layout of a file with the fields of `columns`: all of a table's, or those of a format file's rowset.
    /// `skipped` are the positions of columns whose fields are skipped.
    ///
    /// Errors: 4880, 4878, 5339, 42225, and what is wrong with a format file.
    pub fn new(
        file: &Path,
        options: &BulkFileOptions,
        format: Option<FormatFile>,
        columns: &[Column],
        skipped: &[usize],
    ) -> Result<(Self, Option<SqlError>), SqlError> {
        let last_row = options.last_row.filter(|row| *row > 0);
        let first_row = options.first_row.unwrap_or(1).max(1);
        if last_row.is_some_and(|last| first_row > last) {
            return Err(SqlError::new(
                4880,
                16,
                1,
                "Cannot bulk load. When you use the FIRSTROW and LASTROW parameters, the value for FIRSTROW cannot be greater than the value for LASTROW.",
            ));
        }
        if options.csv {
            let csv = csv_options(options, columns)?;
            let skipped_rows = first_row - 1;
            let (csv, fields, rowset) = match format {
                None => (csv, (0..columns.len()).map(Some).collect(), None),
                Some(format) => {
                    let (described, fields) = described_csv(&format, csv, options)?;
                    (described, fields, format.rowset)
                }
            };
            return Ok((Self::Csv { options: Box::new(csv), fields, rowset, skipped_rows, last_row }, None));
        }
        let (mode, notice) = data_mode(file, options, format.is_some())?;
        let mut format = match format {
            Some(format) => format,
            None if mode.is_native() && columns.iter().any(is_vector) => {
                return Err(errors::VECTOR_BULK.error());
            }
            None => FormatFile::for_columns(columns, mode, &layout_options(options, mode)?),
        };
        // CODEPAGE 65001 goes before the collations of a format file; any other code page behind them.
        if options.code_page == Some(CodePageOption::Number(65001)) {
            format.drop_collations();
        }
        for position in skipped {
            format.skip_column(position + 1);
        }
        let read = HostReadOptions {
            code_page: code_page(options.code_page)?,
            byte_order_mark: if mode.is_unicode() { ByteOrderMark::Strip } else { ByteOrderMark::Vendor },
            first_row,
            last_row,
            text_fields: TextFields::Keep,
            keep_raw_rows: options.error_file.is_some(),
            batch_rows: BATCH_ROWS,
            ..HostReadOptions::default()
        };
        Ok((Self::Host { format: Box::new(format), options: Box::new(read) }, notice))
    }
}

/// Returns the dialect of a file whose fields a format file names; the quotes are those of the statement. Also returns
/// the position of the column that each field fills.
fn described_csv(
    format: &FormatFile,
    csv: CsvOptions,
    options: &BulkFileOptions,
) -> Result<(CsvOptions, Vec<Option<usize>>), SqlError> {
    let described = format
        .quoted_layout()
        .map_err(|problem| SqlError::new(4862, 16, 1, format!("Cannot bulk load because {problem}.")))?;
    let encoding = match options.code_page {
        None => described.options.encoding,
        Some(_) => csv.encoding,
    };
    let fields = described.columns.iter().map(|number| number.and_then(|number| number.checked_sub(1)));
    Ok((CsvOptions { quote: csv.quote, encoding, ..described.options }, fields.collect()))
}

fn is_vector(column: &Column) -> bool {
    matches!(column.sql_type(), SqlType::Vector { .. })
}

/// Reads FORMATFILE.
///
/// Errors: 4860, 4861; 4862 with the line that is wrong.
pub(crate) fn format_file(name: &str, access: &FileAccess) -> Result<FormatFile, SqlError> {
    let path = access.existing(name)?;
    FormatFile::read(&path).map_err(|error| {
        SqlError::new(
            4862,
            16,
            1,
            format!("Cannot bulk load because the format file \"{name}\" could not be read. {error}"),
        )
    })
}

/// Returns DATAFILETYPE, unless the file's byte-order mark says otherwise.
fn data_mode(
    file: &Path,
    options: &BulkFileOptions,
    has_format_file: bool,
) -> Result<(DataMode, Option<SqlError>), SqlError> {
    let declared = options.data_file_type.unwrap_or_default();
    let mode = match declared {
        DataFileType::Char => DataMode::Character,
        DataFileType::WideChar => DataMode::UnicodeCharacter,
        DataFileType::Native => DataMode::Native,
        DataFileType::WideNative => DataMode::UnicodeNative,
    };
    if has_format_file || mode.is_native() {
        return Ok((mode, None));
    }
    let marked = begins_with_mark(file)?;
    let notice = |number, was: &str, is: &str, why: &str| {
        let text = format!(
            "Bulk load: DataFileType was incorrectly specified as {was}. DataFileType will be assumed to be {is} because the data file {why} a Unicode signature."
        );
        Some(SqlError::new(number, 10, 1, text))
    };
    Ok(match (declared, marked) {
        (DataFileType::Char, true) => (DataMode::UnicodeCharacter, notice(4830, "char", "widechar", "has")),
        (DataFileType::WideChar, false) => {
            (DataMode::Character, notice(4831, "widechar", "char", "does not have"))
        }
        _ => (mode, None),
    })
}

/// Returns true if the file begins with the mark of UTF-16, little-endian.
fn begins_with_mark(file: &Path) -> Result<bool, SqlError> {
    let name = file.display().to_string();
    let mut head = Vec::new();
    let opened = File::open(file).map_err(|error| cannot_open(&name, &error))?;
    opened.take(2).read_to_end(&mut head).map_err(|error| cannot_open(&name, &error))?;
    Ok(head == [0xFF, 0xFE])
}

fn layout_options(options: &BulkFileOptions, mode: DataMode) -> Result<LayoutOptions, SqlError> {
    let default = LayoutOptions { collations: false, ..LayoutOptions::default() };
    if mode.is_native() {
        return Ok(default);
    }
    Ok(LayoutOptions {
        field_terminator: terminator_bytes(options.field_terminator.as_deref(), b"\t")?,
        row_terminator: terminator_bytes(options.row_terminator.as_deref(), b"\n")?,
        ..default
    })
}

fn terminator_bytes(written: Option<&str>, default: &[u8]) -> Result<Vec<u8>, SqlError> {
    match written {
        None => Ok(default.to_vec()),
        Some(text) => terminator::parse_argument(text).map_err(|error| {
            SqlError::new(4862, 16, 1, format!("Cannot bulk load. The terminator '{text}' is none: {error}"))
        }),
    }
}

/// Returns the encoding of text in a code page. Without CODEPAGE it is UTF-8.
fn code_page(option: Option<CodePageOption>) -> Result<FileCodePage, SqlError> {
    Ok(match option {
        None => FileCodePage::Page(CodePage::Utf8),
        Some(CodePageOption::Acp) => FileCodePage::Page(CodePage::Cp1252),
        Some(CodePageOption::Oem) => FileCodePage::Page(CodePage::Cp437),
        Some(CodePageOption::Raw) => FileCodePage::Raw,
        Some(CodePageOption::Number(number)) => {
            FileCodePage::from_number(number).ok_or_else(|| unknown_code_page(number))?
        }
    })
}

fn unknown_code_page(number: u16) -> SqlError {
    SqlError::new(2775, 16, 1, format!("The code page {number} is not supported by the server."))
}

fn csv_options(options: &BulkFileOptions, columns: &[Column]) -> Result<CsvOptions, SqlError> {
    let wide = match options.data_file_type.unwrap_or_default() {
        DataFileType::Char => false,
        DataFileType::WideChar => true,
        DataFileType::Native | DataFileType::WideNative => {
            let text = "The DATAFILETYPE of a file in the CSV format must be char or widechar.";
            return Err(SqlError::new(5339, 16, 1, text));
        }
    };
    let encoding = match (wide, options.code_page) {
        (true, _) => Encoding::Utf16Le,
        (false, None) => Encoding::Utf8,
        (false, Some(page)) => {
            let number = match page {
                CodePageOption::Acp | CodePageOption::Raw => 1252,
                CodePageOption::Oem => 437,
                CodePageOption::Number(number) => number,
            };
            Encoding::from_code_page(number).ok_or_else(|| unknown_code_page(number))?
        }
    };
    let quote = options.field_quote.as_deref().unwrap_or("\"");
    let quote = match quote.as_bytes() {
        [quote] if quote.is_ascii() && !matches!(quote, b'\n' | b'\r' | 0) => *quote,
        _ => {
            let text = "Invalid quote character specified for bulk load. Quote character can be one single byte or Unicode character.";
            return Err(SqlError::new(4878, 16, 1, text));
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let row_terminator = match &options.row_terminator {
        None => RowTerminator::Auto,
        Some(written) => match text(terminator_bytes(Some(written), b"")?).as_str() {
            "\n" | "\r\n" => RowTerminator::Auto,
            other => RowTerminator::Text(other.to_owned()),
        },
    };
    Ok(CsvOptions {
        delimiter: text(terminator_bytes(options.field_terminator.as_deref(), b",")?),
        quote: Some(quote),
        header: false,
        columns: Some(columns.iter().map(|column| column.name.clone()).collect()),
        encoding,
        row_terminator,
        ..CsvOptions::default()
    })
}
