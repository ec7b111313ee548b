//! Guesses the format of an unknown text file: encoding, delimiter or column breaks, quoting, header, likely types. Only the head
//! of the file is read. A preview shows the guess, so that a person can see whether it is right.

mod against;
mod candidates;
mod delimited;
mod doubt;
mod fixed_width;
mod sample;

use std::fmt;

use arrow::datatypes::DataType;
use rows::mapping::{CreateOptions, sql_type_of};
use tds::{Collation, Column};

use crate::bcp::{FieldCollation, FormatFile, FormatVersion, HostField, HostType, terminator};
use crate::csv::{CsvReader, RowTerminator};
use crate::infer::{Finding, InferredColumn, InferredSchema, infer_reader};
use crate::{Compression, CsvOptions, Encoding, FormatError, Location};
pub use against::{Contradiction, contradiction};
pub use fixed_width::{FixedColumns, Positions, fixed_columns};
use sample::Sample;

/// Guess at a file's format.
#[derive(Debug, Clone, PartialEq)]
pub struct Sniffed {
    /// The file, as a person names it.
    pub file: String,
    /// Content of the file.
    pub content: Content,
    /// Number of bytes read, after decompression.
    pub sample_bytes: usize,
    /// The whole file was read.
    pub is_complete: bool,
}

/// Kind of a file's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// The file is empty.
    Empty,
    /// A format with a signature: `Apache Parquet`, `gzip` and so on.
    Known(&'static str),
    /// Content that is neither text nor a known format: a native file of bcp, perhaps.
    Binary,
    /// Content that is text, with the guess at its format.
    Text(Box<SniffedText>),
}

/// Guess at the format of a text file.
#[derive(Debug, Clone, PartialEq)]
pub struct SniffedText {
    /// Encoding of the text.
    pub encoding: Encoding,
    /// The file begins with a byte-order mark.
    pub byte_order_mark: bool,
    /// Terminator of rows.
    pub row_terminator: String,
    /// The last row ends like the others.
    pub last_row_is_terminated: bool,
    /// The first line is `sep=;`, as spreadsheets write it.
    pub separator_line: bool,
    /// Division of rows into fields.
    pub layout: Layout,
    /// The first row names the columns.
    pub header: bool,
    /// The columns, with likely types.
    pub columns: Vec<Column>,
    /// Number of rows read, without the header.
    pub rows: usize,
    /// Rows with another number of fields, or of another length.
    pub odd_rows: usize,
    /// The first rows, divided as guessed.
    pub preview: Vec<Vec<String>>,
    /// All characters at the head of the file are ASCII: one byte each, or two in UTF-16.
    pub is_ascii: bool,
    /// Columns whose values are spelled otherwise than SQL Server spells them, and those that stay text for a reason.
    pub findings: Vec<Finding>,
    /// Reasons why the guess may be wrong.
    pub doubts: Vec<String>,
    /// Evidence that the first row is one of data by its values, and not only because they are no names.
    pub first_row: FirstRow,
}

/// Evidence in the values of the first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRow {
    /// The values are no evidence.
    Unclear,
    /// The first row has whole numbers where the others have numbers, as a header of years has.
    Numbers,
    /// The first row has a date, an amount or the like in each column that has such values.
    Data,
}

/// Division of rows into fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Text between fields divides the row.
    Delimited {
        /// Text between two fields.
        delimiter: String,
        /// The quote character, if fields are quoted.
        quote: Option<u8>,
    },
    /// Positions divide the row: the start of each column but the first, and the length of a row.
    FixedWidth {
        /// Unit of the positions.
        positions: Positions,
        /// Start of each column but the first, from 0.
        breaks: Vec<usize>,
        /// The length of a row.
        width: usize,
    },
    /// The row is a single column.
    OneColumn,
}

/// Maximum number of bytes to read.
const SAMPLE_BYTES: usize = 1 << 20;
const PREVIEW_ROWS: usize = 8;
const PREVIEW_CELL_CHARS: usize = 28;

/// Reads the head of a file and guesses its format.
///
/// # Errors
/// The file cannot be read.
pub fn sniff(location: &Location, compression: Compression) -> Result<Sniffed, FormatError> {
    let Head { bytes, is_complete } = Head::read(location, compression)?;
    sniff_bytes(&bytes, is_complete, &location.to_string())
}

/// The first bytes of a file, after decompression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The bytes, at most a MiB.
    pub bytes: Vec<u8>,
    /// The file ends here: nothing was left out.
    pub is_complete: bool,
}

impl Head {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(location: &Location, compression: Compression) -> Result<Self, FormatError> {
        use std::io::Read as _;
        let file = location.to_string();
        let source = location.open_source()?;
        let mut input = compression.decompress(source.input).map_err(|error| error.in_file(&file))?;
        let mut bytes = Vec::new();
        input
            .by_ref()
            .take(SAMPLE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| FormatError::from(error).in_file(&file))?;
        let is_complete = bytes.len() <= SAMPLE_BYTES;
        bytes.truncate(SAMPLE_BYTES);
        Ok(Self { bytes, is_complete })
    }

    /// Guesses the format of the file in this encoding. A byte-order mark takes precedence.
    ///
    /// # Errors
    /// None that a file could cause.
    pub fn text_in(&self, encoding: Encoding) -> Result<Option<SniffedText>, FormatError> {
        Sample::decode(&self.bytes, self.is_complete, Some(encoding)).map(text).transpose()
    }
}

/// Looks at the head of a file that is in memory. `is_complete` says that nothing follows; `file` is its name.
///
/// # Errors
/// None that a file could cause.
pub fn sniff_bytes(bytes: &[u8], is_complete: bool, file: &str) -> Result<Sniffed, FormatError> {
    let content = if bytes.is_empty() {
        Content::Empty
    } else if let Some(known) = sample::known(bytes) {
        Content::Known(known)
    } else if let Some(sample) = Sample::decode(bytes, is_complete, None) {
        if sample::is_json_lines(&sample.text) {
            let content = Content::Known(
                "JSON, an object a line; no command reads it, convert it to CSV or Parquet first",
            );
            return Ok(Sniffed { file: file.to_owned(), content, sample_bytes: bytes.len(), is_complete });
        }
        Content::Text(Box::new(text(sample)?))
    } else {
        Content::Binary
    };
    Ok(Sniffed { file: file.to_owned(), content, sample_bytes: bytes.len(), is_complete })
}

fn text(sample: Sample) -> Result<SniffedText, FormatError> {
    let Sample { encoding, byte_order_mark, mut text, line_end, last_row_is_terminated, is_complete, .. } =
        sample;
    let mut named = None;
    if let Some((delimiter, rest)) = delimited::separator_line(&text, &line_end) {
        named = Some(delimiter);
        text = rest;
    }
    let separator_line = named.is_some();
    let looked_at = delimited::Text { text: &text, line_end: &line_end, is_complete };
    let guess = delimited::guess(looked_at, named);
    let mut doubts = doubt::of_text(&text, encoding, byte_order_mark, &line_end, guess.as_ref());
    let mut row_terminator = line_end.clone();
    let (layout, mut rows, odd_rows) = match guess {
        Some(guess) => {
            row_terminator = guess.row_terminator;
            (Layout::Delimited { delimiter: guess.delimiter, quote: guess.quote }, guess.rows, guess.odd_rows)
        }
        None => {
            let lines: Vec<&str> = text.split(line_end.as_str()).filter(|line| !line.is_empty()).collect();
            let wide = matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be);
            let by_units = wide.then(|| fixed_columns(&lines, Positions::Utf16Units)).flatten();
            match by_units.or_else(|| fixed_columns(&lines, Positions::Characters)) {
                Some(fixed) => {
                    let rows = lines.iter().map(|line| fixed.divide(line)).collect();
                    let FixedColumns { positions, breaks, width, odd_rows } = fixed;
                    (Layout::FixedWidth { positions, breaks, width }, rows, odd_rows)
                }
                None => (Layout::OneColumn, lines.iter().map(|line| vec![(*line).to_owned()]).collect(), 0),
            }
        }
    };
    let preview: Vec<Vec<String>> = rows.iter().take(PREVIEW_ROWS).cloned().collect();
    if matches!(layout, Layout::FixedWidth { .. }) {
        for cell in rows.iter_mut().flatten() {
            *cell = cell.trim().to_owned();
        }
    }
    let whole = types_of(&rows)?;
    let body = types_of(rows.get(1..).unwrap_or_default())?;
    let header = is_header(&rows, &whole, &body);
    let first_row = if header { FirstRow::Unclear } else { first_row(&rows, &whole, &body) };
    let inferred = if header { &body } else { &whole };
    doubts.extend(doubt::of_rows(&rows, odd_rows, inferred, &layout, header));
    let names: Vec<String> = match (header, rows.first()) {
        (true, Some(first)) => first.iter().map(|name| name.trim().to_owned()).collect(),
        _ => Vec::new(),
    };
    let findings = findings(inferred, &names);
    Ok(SniffedText {
        encoding,
        byte_order_mark,
        row_terminator,
        last_row_is_terminated,
        separator_line,
        columns: columns(inferred, names),
        rows: rows.len() - usize::from(header),
        layout,
        header,
        odd_rows,
        preview,
        is_ascii: text.is_ascii(),
        findings,
        doubts,
        first_row,
    })
}

/// Infers the types of cells, by the rules of [`infer`](crate::infer()).
fn types_of(rows: &[Vec<String>]) -> Result<InferredSchema, FormatError> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for row in rows {
        for index in 0..width {
            if index > 0 {
                text.push(UNIT);
            }
            // Characters that separate cells here are left out of the cells.
            let cell = row.get(index).map_or("", String::as_str);
            text.extend(cell.chars().filter(|character| !matches!(*character, UNIT | RECORD)));
        }
        text.push(RECORD);
    }
    let options = CsvOptions {
        delimiter: UNIT.to_string(),
        row_terminator: RowTerminator::Text(RECORD.to_string()),
        quote: None,
        header: false,
        columns: Some((1..=width).map(|number| format!("column{number}")).collect()),
        max_row_bytes: 2 * SAMPLE_BYTES.max(text.len()),
        ..CsvOptions::default()
    };
    infer_reader(CsvReader::new(std::io::Cursor::new(text), "sample", &options, 4096)?, None)
}

const UNIT: char = '\u{1F}';
const RECORD: char = '\u{1E}';

/// Returns true if the first row names the columns. It does if it is text where the others are not. It does
/// if it is text where the others are not. If all is text, it does if its values are distinct and none of
/// them occurs below.
fn is_header(rows: &[Vec<String>], whole: &InferredSchema, body: &InferredSchema) -> bool {
    let [first, rest @ ..] = rows else { return false };
    if rest.is_empty() || first.iter().any(|name| name.trim().is_empty()) {
        return false;
    }
    let mut names: Vec<String> = first.iter().map(|name| name.trim().to_lowercase()).collect();
    names.sort();
    names.dedup();
    if names.len() != first.len() {
        return false;
    }
    let types_differ = whole
        .columns
        .iter()
        .zip(&body.columns)
        .any(|(whole, body)| whole.field.data_type() != body.field.data_type());
    if types_differ {
        return first.iter().all(|name| name.trim().parse::<f64>().is_err());
    }
    let all_text = body.columns.iter().all(|column| column.field.data_type() == &DataType::Utf8);
    all_text
        && first.len() > 1
        && first.iter().all(|name| is_name(name.trim()))
        && !rest.iter().any(|row| row.iter().zip(first).any(|(cell, name)| cell == name))
}

/// Judges the first row by its values in the columns whose other values are more than text.
fn first_row(rows: &[Vec<String>], whole: &InferredSchema, body: &InferredSchema) -> FirstRow {
    let [first, rest @ ..] = rows else { return FirstRow::Unclear };
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::Null);
    let mut kind = FirstRow::Unclear;
    for ((cell, whole), body) in first.iter().zip(&whole.columns).zip(&body.columns) {
        let cell = cell.trim();
        if rest.is_empty() || body.evidence.is_none() || is_text(body.field.data_type()) {
            continue;
        }
        if cell.is_empty() || is_text(whole.field.data_type()) {
            return FirstRow::Unclear;
        }
        let is_whole = cell.bytes().all(|byte| byte.is_ascii_digit());
        kind = if is_whole && kind != FirstRow::Data { FirstRow::Numbers } else { FirstRow::Data };
    }
    kind
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && text.chars().count() <= 64
        && characters
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-' | '#' | '%' | '(' | ')' | '/'))
}

/// Returns what is found of the columns, by the names of the header if there is one.
fn findings(inferred: &InferredSchema, names: &[String]) -> Vec<Finding> {
    let of_column = |(index, column): (usize, &InferredColumn)| {
        let name = names.get(index).unwrap_or(&column.name).clone();
        column.findings().into_iter().map(move |finding| Finding { column: name.clone(), ..finding })
    };
    inferred.columns.iter().enumerate().flat_map(of_column).collect()
}

fn columns(inferred: &InferredSchema, names: Vec<String>) -> Vec<Column> {
    let mut names = names.into_iter();
    inferred
        .columns
        .iter()
        .map(|column| {
            let options = CreateOptions {
                max_length: Some(column.max_binary_bytes.unwrap_or(column.max_utf16_units)),
                ..CreateOptions::default()
            };
            let sql_type = sql_type_of(&column.field, &options)
                .unwrap_or(tds::SqlType::NVarChar { length: tds::Length::Max });
            let name = names.next().unwrap_or_else(|| column.name.clone());
            Column::new(name, sql_type, column.nulls > 0, Some(Collation::default()))
        })
        .collect()
}

impl SniffedText {
    /// Returns the options with which [`open`](crate::open) reads the file, if it is delimited (or of one
    /// column).
    pub fn csv_options(&self) -> Option<CsvOptions> {
        let (delimiter, quote) = match &self.layout {
            Layout::Delimited { delimiter, quote } => (delimiter.clone(), *quote),
            Layout::OneColumn => ("\u{1F}".to_owned(), None),
            Layout::FixedWidth { .. } => return None,
        };
        let row_terminator = match self.row_terminator.as_str() {
            "\n" | "\r\n" => RowTerminator::Auto,
            other => RowTerminator::Text(other.to_owned()),
        };
        Some(CsvOptions {
            delimiter,
            quote,
            header: self.header,
            encoding: self.encoding,
            row_terminator,
            columns: (!self.header).then(|| self.columns.iter().map(|column| column.name.clone()).collect()),
            skip_lines: usize::from(self.separator_line),
            ..CsvOptions::default()
        })
    }

    /// Makes a format file for the file, if one can describe it: bcp has neither quotes nor big-endian
    /// UTF-16, and counts widths in bytes.
    pub fn format_file(&self) -> Option<FormatFile> {
        let wide = match self.encoding {
            Encoding::Utf16Le => true,
            Encoding::Utf16Be => return None,
            _ => false,
        };
        let ending = |text: &str| {
            if wide { terminator::widen(text.as_bytes()) } else { text.as_bytes().to_vec() }
        };
        let host_type = if wide { HostType::NChar } else { HostType::Char };
        let last = self.columns.len().checked_sub(1)?;
        let mut fields = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let mut field = HostField::delimited(host_type, &[], index + 1, &column.name);
            field.collation = FieldCollation::Default;
            match &self.layout {
                Layout::Delimited { quote: Some(_), .. } => return None,
                Layout::Delimited { delimiter, .. } if index < last => field.terminator = ending(delimiter),
                Layout::FixedWidth { positions, breaks, width } => {
                    let counts_bytes = match (self.encoding, positions) {
                        (Encoding::Utf8, _) => self.is_ascii,
                        (_, positions) => !wide || *positions == Positions::Utf16Units,
                    };
                    if !counts_bytes {
                        return None;
                    }
                    let start =
                        index.checked_sub(1).and_then(|index| breaks.get(index)).copied().unwrap_or(0);
                    let end = breaks.get(index).copied().unwrap_or(*width);
                    field.length = u32::try_from(end.saturating_sub(start)).ok()? * if wide { 2 } else { 1 };
                    if index == last {
                        field.terminator = Vec::new();
                    }
                }
                _ => field.terminator = ending(&self.row_terminator),
            }
            fields.push(field);
        }
        if matches!(self.layout, Layout::FixedWidth { .. }) {
            let mut end = HostField::delimited(host_type, &ending(&self.row_terminator), 0, "end_of_row");
            end.column = None;
            fields.push(end);
        }
        Some(FormatFile { version: FormatVersion::default(), fields, rowset: None })
    }

    /// Writes a list of columns as [`declare`](crate::bcp::declare) reads it.
    pub fn declaration(&self) -> String {
        let column = |column: &Column| {
            let null = if column.flags.is_nullable() { "null" } else { "not null" };
            format!("[{}] {} {null}", column.name.replace(']', "]]"), column.sql_type())
        };
        self.columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Sniffed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = if self.is_complete { "whole file" } else { "head of the file" };
        writeln!(f, "{} ({} bytes, {part})", self.file, self.sample_bytes)?;
        match &self.content {
            Content::Empty => writeln!(f, "  empty"),
            Content::Known(known) => writeln!(f, "  {known}"),
            Content::Binary => writeln!(
                f,
                "  not text; a native file of bcp needs its format file, or the table that it came from"
            ),
            Content::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Display for SniffedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.byte_order_mark { ", with byte-order mark" } else { "" };
        writeln!(f, "  encoding        {}{mark}", self.encoding)?;
        let spelled = terminator::escape(self.row_terminator.as_bytes());
        let last = if self.last_row_is_terminated { "" } else { " (none behind the last row)" };
        writeln!(f, "  row terminator  {spelled}{last}")?;
        match &self.layout {
            Layout::Delimited { delimiter, quote } => {
                let quoted = quote
                    .map_or("no quotes".to_owned(), |quote| format!("quoted with {}", char::from(quote)));
                writeln!(f, "  delimiter       {} ({quoted})", terminator::escape(delimiter.as_bytes()))?;
            }
            Layout::FixedWidth { positions, breaks, width } => {
                let mut edges = vec![0];
                edges.extend_from_slice(breaks);
                edges.push(*width);
                let widths: Vec<String> =
                    edges.windows(2).map(|pair| (pair[1] - pair[0]).to_string()).collect();
                let counted = match positions {
                    Positions::Utf16Units if !self.is_ascii => "units of UTF-16",
                    _ => "characters",
                };
                writeln!(f, "  fixed width     {width} {counted}: {}", widths.join(" + "))?;
            }
            Layout::OneColumn => writeln!(f, "  delimiter       none")?,
        }
        if self.separator_line {
            writeln!(f, "  first line      names the delimiter (sep=)")?;
        }
        writeln!(f, "  header          {}", if self.header { "yes" } else { "no" })?;
        write!(f, "  rows            {}", self.rows)?;
        if self.odd_rows > 0 {
            write!(f, ", {} of another shape", self.odd_rows)?;
        }
        writeln!(f)?;
        for doubt in &self.doubts {
            writeln!(f, "  doubt           {doubt}")?;
        }
        for Finding { column, decision, reason } in &self.findings {
            writeln!(f, "  found           {column}: {decision}: {reason}")?;
        }
        writeln!(f, "  columns")?;
        let widest = self.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0).min(40);
        for column in &self.columns {
            let null = if column.flags.is_nullable() { "null" } else { "not null" };
            writeln!(f, "    {:<widest$}  {} {null}", column.name, column.sql_type())?;
        }
        self.fmt_preview(f)
    }
}

impl SniffedText {
    /// Prints the first rows, with a bar at every break.
    fn fmt_preview(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  preview")?;
        let fixed = matches!(self.layout, Layout::FixedWidth { .. });
        let shown: Vec<Vec<String>> = self
            .preview
            .iter()
            .map(|row| row.iter().map(|cell| if fixed { cell.clone() } else { shortened(cell) }).collect())
            .collect();
        let columns = shown.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|index| {
                let cells = shown.iter().filter_map(|row| row.get(index));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in &shown {
            f.write_str("    |")?;
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "{cell:<width$}|")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Puts a cell on one line, and shortens it.
fn shortened(cell: &str) -> String {
    let plain: String = cell.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
    if plain.chars().count() <= PREVIEW_CELL_CHARS {
        return plain;
    }
    let mut kept: String = plain.chars().take(PREVIEW_CELL_CHARS - 1).collect();
    kept.push('…');
    kept
}
