//! The choices that fit a file.

use formats::bcp::terminator;
use formats::sniff::{self, SniffedText};
use formats::{CsvOptions, Encoding, Format, FormatError};

use super::dialect::ChoiceError;
use super::ruler::Ruler;
use super::text_file::TextFile;
use crate::draft::{FixedWidth, Layout, Quote, TextChoices};

/// Choices that fit a file, and why they may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The choices.
    pub choices: TextChoices,
    /// Doubts about them.
    pub doubts: Vec<String>,
}

impl Guess {
    /// Guesses from the head of a file, in `encoding` if one is given. `None` if it is no text.
    ///
    /// # Errors
    /// None that a file could cause.
    pub fn of(file: &TextFile, encoding: Option<Encoding>) -> Result<Option<Self>, FormatError> {
        let text = match encoding {
            Some(encoding) => file.head.text_in(encoding)?,
            None => match sniff::sniff_bytes(&file.head.bytes, file.head.is_complete, &file.name)?.content {
                sniff::Content::Text(text) => Some(*text),
                _ => None,
            },
        };
        Ok(text.map(|text| Self::of_text(&text, file)))
    }

    fn of_text(text: &SniffedText, file: &TextFile) -> Self {
        let spelled = |text: &str| terminator::escape(text.as_bytes());
        let plain = matches!(text.row_terminator.as_str(), "\n" | "\r\n");
        // The suffix already says the rest.
        let known = match Format::from_path(std::path::Path::new(&file.name)) {
            Ok((Format::Csv(options), _)) => options,
            _ => CsvOptions::default(),
        };
        let mut choices = TextChoices {
            encoding: (text.encoding != Encoding::Utf8).then(|| name_of(text.encoding)),
            has_header: text.header,
            row_terminator: (!plain).then(|| spelled(&text.row_terminator)),
            skip_lines: usize::from(text.separator_line),
            ..TextChoices::default()
        };
        match &text.layout {
            sniff::Layout::Delimited { delimiter, quote } => {
                choices.delimiter = (*delimiter != known.delimiter).then(|| spelled(delimiter));
                choices.quote = match quote {
                    Some(b'"') => Quote::Default,
                    Some(other) => Quote::Char(char::from(*other)),
                    // A quote that is seen nowhere in the head may come later.
                    None if !text.preview.iter().flatten().any(|cell| cell.contains('"')) => Quote::Default,
                    None => Quote::None,
                };
            }
            sniff::Layout::OneColumn => {}
            sniff::Layout::FixedWidth { .. } => {
                choices.row_terminator = Some(spelled(&text.row_terminator));
                choices.layout =
                    Layout::FixedWidth(FixedWidth { trim_blanks: true, ..FixedWidth::default() });
                // The beginnings of columns are counted as in the format file.
                if let Ok(ruler) = Ruler::of(file, &choices)
                    && let Layout::FixedWidth(fixed) = &mut choices.layout
                {
                    fixed.breaks = ruler.guessed();
                }
            }
        }
        // The doubts' advice about options is for the command line.
        let doubts = text.doubts.iter().map(|doubt| match doubt.split_once("; --") {
            Some((doubt, _)) => doubt.to_owned(),
            None => doubt.clone(),
        });
        Self { choices, doubts: doubts.collect() }
    }
}

/// Returns the encoding of this name as `--encoding` spells it; `None` if none is named.
///
/// # Errors
/// There is none of this name.
pub fn spelled_encoding(text: &str) -> Result<Option<String>, ChoiceError> {
    if text.is_empty() {
        return Ok(None);
    }
    let encoding = text.parse::<Encoding>();
    encoding
        .map(|encoding| Some(name_of(encoding)))
        .map_err(|error| ChoiceError::new("encoding", error.to_string()))
}

/// Spells an encoding as `--encoding` does.
fn name_of(encoding: Encoding) -> String {
    match encoding {
        Encoding::Utf8 => "utf-8".to_owned(),
        Encoding::Utf16Le => "utf-16le".to_owned(),
        Encoding::Utf16Be => "utf-16be".to_owned(),
        Encoding::CodePage(number) => number.to_string(),
    }
}
