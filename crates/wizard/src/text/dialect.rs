//! Choices as options of the reader.

use formats::bcp::terminator;
use formats::{CsvOptions, Encoding, Format, RowTerminator};

use crate::draft::{Quote, TextChoices};

/// An error in a choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChoiceError {
    /// The field that it concerns.
    pub field: &'static str,
    /// The message for people.
    pub message: String,
}

impl ChoiceError {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

/// Returns the chosen encoding; `None` if that is left to the file.
pub(super) fn encoding(choices: &TextChoices) -> Result<Option<Encoding>, ChoiceError> {
    let parsed = choices.encoding.as_deref().map(str::parse::<Encoding>).transpose();
    parsed.map_err(|error| ChoiceError::new("encoding", error.to_string()))
}

/// Resolves the escapes of the command line in a text.
pub(super) fn unescaped(field: &'static str, text: &str) -> Result<String, ChoiceError> {
    let refused =
        || ChoiceError::new(field, format!("{text}: the escapes are \\t \\n \\r \\0 \\\\ and \\xHH (ASCII)"));
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            continue;
        }
        match rest.next() {
            Some('t' | 'n' | 'r' | '0' | '\\') => {}
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                let code = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
                code.filter(|_| digits.len() == 2).ok_or_else(refused)?;
            }
            _ => return Err(refused()),
        }
    }
    String::from_utf8(terminator::unescape(text)).map_err(|_| refused())
}

/// Returns the options of reading the delimited file at `path`.
pub(super) fn csv_options(choices: &TextChoices, path: &str) -> Result<CsvOptions, ChoiceError> {
    let mut options = match Format::from_path(std::path::Path::new(path)) {
        Ok((Format::Csv(options), _)) => options,
        _ => CsvOptions::default(),
    };
    if let Some(delimiter) = &choices.delimiter {
        options.delimiter = unescaped("delimiter", delimiter)?;
    }
    if let Some(row_terminator) = &choices.row_terminator {
        options.row_terminator = RowTerminator::Text(unescaped("row_terminator", row_terminator)?);
    }
    match choices.quote {
        Quote::Default => {}
        Quote::None => options.quote = None,
        Quote::Char(quote) => {
            let byte = u8::try_from(quote).ok().filter(u8::is_ascii);
            options.quote =
                Some(byte.ok_or_else(|| ChoiceError::new("quote", "The quote is an ASCII character."))?);
        }
    }
    options.header = choices.has_header;
    options.skip_lines = choices.skip_lines;
    options.skip_footer = choices.skip_footer;
    options.skip_initial_space = choices.skips_blanks;
    if let Some(escape) = choices.escape {
        let byte = u8::try_from(escape).ok().filter(u8::is_ascii);
        options.escape = Some(byte.ok_or_else(|| ChoiceError::new("escape", "It is an ASCII character."))?);
    }
    options.columns = (!choices.columns.is_empty()).then(|| choices.columns.clone());
    options.null_texts = choices.null_text.iter().cloned().collect();
    if let Some(encoding) = encoding(choices)? {
        options.encoding = encoding;
    }
    Ok(options)
}
