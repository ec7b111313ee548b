//! Warns if a file does not match the options for reading it, as far as these are defaults that the user did not choose.

use std::fmt;

use super::sample::Sample;
use super::{Content, FirstRow, Layout, SniffedText, delimited, shortened, sniff_bytes};
use crate::bcp::terminator;
use crate::{Compression, CsvOptions, FormatError, Location};

/// Contradiction between the head of a file and the options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contradiction {
    /// The first line names the delimiter (`sep=;`), and would be read as a row.
    SeparatorLine {
        /// The delimiter that it names.
        delimiter: String,
    },
    /// The delimiter is in no row, and another one divides the rows evenly.
    Delimiter {
        /// The delimiter of the options.
        assumed: String,
        /// The delimiter that divides the rows.
        found: String,
        /// Number of fields that the delimiter makes.
        fields: usize,
        /// Terminator of the rows, if it is no plain line end.
        row_terminator: Option<String>,
        /// The delimiter of the options is in the rows too, and divides them unevenly.
        is_uneven: bool,
    },
    /// The first row has values like those below, and would be taken for the names of the columns.
    FirstRow {
        /// Values of the first row.
        values: Vec<String>,
        /// No header looks like this row; false: a header of years does.
        is_certain: bool,
    },
}

/// Bytes of the head of a file that are looked at.
const HEAD_BYTES: usize = 64 << 10;

/// Checks whether the head of a file contradicts `options`. A pipe, which can be read only once, is not checked.
///
/// # Errors
/// The file cannot be read.
pub fn contradiction(
    location: &Location,
    compression: Compression,
    options: &CsvOptions,
) -> Result<Option<Contradiction>, FormatError> {
    use std::io::Read as _;
    if !location.is_rereadable() {
        return Ok(None);
    }
    let file = location.to_string();
    let input = location.open_source()?.input;
    let mut head = Vec::new();
    compression
        .decompress(input)
        .map_err(|error| error.in_file(&file))?
        .take(HEAD_BYTES as u64 + 1)
        .read_to_end(&mut head)
        .map_err(|error| FormatError::from(error).in_file(&file))?;
    let is_complete = head.len() <= HEAD_BYTES;
    head.truncate(HEAD_BYTES);
    contradiction_in(&head, is_complete, options)
}

fn contradiction_in(
    head: &[u8],
    is_complete: bool,
    options: &CsvOptions,
) -> Result<Option<Contradiction>, FormatError> {
    let Content::Text(text) = sniff_bytes(head, is_complete, "")?.content else { return Ok(None) };
    let first_row = first_row(&text, options);
    let Layout::Delimited { delimiter, .. } = text.layout else {
        return Ok(first_row.filter(|_| text.layout == Layout::OneColumn));
    };
    if text.separator_line && options.skip_lines == 0 {
        return Ok(Some(Contradiction::SeparatorLine { delimiter }));
    }
    // Lines that are skipped may be anything; so may the rows of a file of another kind.
    let is_held = text.preview.iter().flatten().any(|cell| cell.contains(&options.delimiter));
    let is_alike = delimiter == options.delimiter || is_held || options.delimiter.contains(&delimiter);
    let is_thin = text.odd_rows * 20 > text.rows || delimiter == ":" || options.skip_lines > 0;
    if delimiter == options.delimiter {
        return Ok(first_row);
    }
    let is_uneven = is_held && text.odd_rows == 0 && !is_even(head, is_complete, options);
    if (is_alike && !is_uneven) || is_thin || delimiter.contains(&options.delimiter) {
        return Ok(None);
    }
    let plain = matches!(text.row_terminator.as_str(), "\n" | "\r\n" | "\r" | "\r\r\n");
    Ok(Some(Contradiction::Delimiter {
        assumed: options.delimiter.clone(),
        found: delimiter,
        fields: text.columns.len(),
        row_terminator: (!plain).then_some(text.row_terminator),
        is_uneven,
    }))
}

/// Returns true if the options' delimiter divides the rows into the same number of fields.
fn is_even(head: &[u8], is_complete: bool, options: &CsvOptions) -> bool {
    let Some(sample) = Sample::decode(head, is_complete, None) else { return true };
    let text = delimited::Text { text: &sample.text, line_end: &sample.line_end, is_complete };
    delimited::is_even(text, &options.delimiter, options.quote)
}

/// Finds the contradiction of a first row that is to name the columns.
fn first_row(text: &SniffedText, options: &CsvOptions) -> Option<Contradiction> {
    if !options.header || options.skip_lines > 0 || text.first_row == FirstRow::Unclear {
        return None;
    }
    let values = text.preview.first()?.iter().map(|value| shortened(value)).collect();
    Some(Contradiction::FirstRow { values, is_certain: text.first_row == FirstRow::Data })
}

impl Contradiction {
    /// Returns the options of the command line that fit the file.
    pub fn remedy(&self) -> String {
        let quoted = |text: &str| format!("'{}'", terminator::escape(text.as_bytes()));
        match self {
            Self::SeparatorLine { delimiter } => format!("--skip-lines 1 --delimiter {}", quoted(delimiter)),
            Self::Delimiter { found, row_terminator: None, .. } => format!("--delimiter {}", quoted(found)),
            Self::Delimiter { found, row_terminator: Some(row), .. } => {
                format!("--delimiter {} --row-terminator {} --no-quote", quoted(found), quoted(row))
            }
            Self::FirstRow { .. } => "--no-header".to_owned(),
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeparatorLine { .. } => {
                f.write_str("the first line names the delimiter (sep=), and is no row")
            }
            Self::Delimiter { assumed, found, fields, is_uneven, .. } => {
                let (found, assumed) =
                    (terminator::escape(found.as_bytes()), terminator::escape(assumed.as_bytes()));
                write!(f, "the rows look like {fields} fields with {found} between them; ")?;
                match is_uneven {
                    true => write!(f, "the delimiter {assumed} divides them unevenly"),
                    false => write!(f, "none holds the delimiter {assumed}"),
                }
            }
            Self::FirstRow { values, .. } => write!(
                f,
                "the first row looks like data ({}), and would be taken for the names of the columns",
                values.join(", ")
            ),
        }
    }
}
