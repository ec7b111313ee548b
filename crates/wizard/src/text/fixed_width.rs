//! Breaks as a format file of bcp. All columns have a width but the last, which takes the rest of its line.

use formats::Encoding;
use formats::bcp::{
    FieldCollation, FileCodePage, FormatFile, FormatVersion, HostField, HostType, terminator,
};

use super::dialect::{self, ChoiceError};
use super::look::{Look, shown};
use super::ruler::Ruler;
use super::text_file::TextFile;
use crate::draft::{FixedWidth, Layout, TextChoices};

/// Returns the encoding of a file, and the bytes of its byte-order mark.
pub(super) fn encoding_of(file: &TextFile, choices: &TextChoices) -> Result<(Encoding, usize), ChoiceError> {
    let (encoding, mark) = match file.mark() {
        Some(marked) => marked,
        None => (dialect::encoding(choices)?.unwrap_or_default(), 0),
    };
    let refused = |what: &str| {
        let message = format!(
            "Columns of fixed width are read by a format file of bcp, which knows no {what}. Write the file in UTF-8 or UTF-16LE."
        );
        Err(ChoiceError::new("encoding", message))
    };
    match encoding {
        Encoding::Utf16Be => refused("UTF-16BE"),
        Encoding::CodePage(number) if FileCodePage::from_number(number).is_none() => {
            refused(&encoding.to_string())
        }
        known => Ok((known, mark)),
    }
}

/// Returns the bytes that end a line.
pub(super) fn line_end(choices: &TextChoices, encoding: Encoding) -> Result<Vec<u8>, ChoiceError> {
    let text = match &choices.row_terminator {
        Some(text) => dialect::unescaped("row_terminator", text)?,
        None => "\n".to_owned(),
    };
    match text.is_empty() {
        true => Err(ChoiceError::new("row_terminator", "Say what ends a row.")),
        false if encoding == Encoding::Utf16Le => Ok(terminator::widen(text.as_bytes())),
        false => Ok(text.into_bytes()),
    }
}

/// Lines that are no rows: the header is one of them.
pub(super) fn skipped(choices: &TextChoices) -> usize {
    choices.skip_lines.saturating_add(usize::from(choices.has_header))
}

/// Returns the names of the columns: those that were typed, or those of the header, or numbers.
pub fn names(ruler: &Ruler, choices: &TextChoices, fixed: &FixedWidth) -> Vec<String> {
    let header = ruler.header().filter(|_| choices.has_header).map(|line| line.fields(&fixed.breaks));
    let mut names: Vec<String> = Vec::with_capacity(fixed.breaks.len() + 1);
    for index in 0..=fixed.breaks.len() {
        let typed = choices.columns.get(index).map(|name| name.trim().to_owned());
        let of_header = || {
            let field = header.as_ref()?.get(index)?;
            let text: String = field.iter().map(|(character, _)| *character).collect();
            Some(shown(text.trim(), Look::CELL_CHARS))
        };
        let name = typed.filter(|name| !name.is_empty()).or_else(of_header).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("column{}", index + 1));
        let is_taken = |name: &str| names.iter().any(|other| other.to_lowercase() == name.to_lowercase());
        let free = (2..).map(|number| format!("{name}_{number}")).find(|name| !is_taken(name));
        names.push(match is_taken(&name) {
            true => free.unwrap_or(name),
            false => name,
        });
    }
    names
}

/// Makes the format file for the breaks, and the encoding to read it with as `--encoding` spells it.
///
/// # Errors
/// The breaks are not in order, or stand within a character.
pub fn format_file(file: &TextFile, choices: &TextChoices) -> Result<FormatFile, ChoiceError> {
    let Layout::FixedWidth(fixed) = &choices.layout else {
        return Err(ChoiceError::new("layout", "This file has no columns of fixed width."));
    };
    let ruler = Ruler::of(file, choices)?;
    check(fixed, &ruler)?;
    let (encoding, _) = encoding_of(file, choices)?;
    let host_type = match encoding {
        Encoding::Utf16Le => HostType::NChar,
        _ => HostType::Char,
    };
    let names = names(&ruler, choices, fixed);
    let starts = std::iter::once(0).chain(fixed.breaks.iter().copied());
    let ends = fixed.breaks.iter().copied().map(Some).chain([None]);
    let mut fields = Vec::with_capacity(names.len());
    for (index, ((start, end), name)) in starts.zip(ends).zip(&names).enumerate() {
        let mut field = HostField::delimited(host_type, &[], index + 1, name);
        field.collation = FieldCollation::Default;
        match end {
            Some(end) => {
                let bytes = end.saturating_sub(start).saturating_mul(ruler.unit.bytes());
                field.length = u32::try_from(bytes)
                    .map_err(|_| ChoiceError::new("breaks", format!("{end} is too far to the right.")))?;
            }
            None => field.terminator = line_end(choices, encoding)?,
        }
        fields.push(field);
    }
    Ok(FormatFile { version: FormatVersion::default(), fields, rowset: None })
}

/// Refuses breaks that divide nothing.
fn check(fixed: &FixedWidth, ruler: &Ruler) -> Result<(), ChoiceError> {
    let refused = |text: String| Err(ChoiceError::new("breaks", text));
    if fixed.breaks.is_empty() {
        return refused("Set a break where the second column begins.".to_owned());
    }
    if fixed.breaks.first() == Some(&0) {
        return refused("The first column begins at 0 by itself.".to_owned());
    }
    if let Some(pair) = fixed.breaks.windows(2).find(|pair| pair.first() >= pair.last()) {
        return refused(format!("The breaks {pair:?} are not in order."));
    }
    if let Some((place, line)) = ruler.cuts(&fixed.breaks).first() {
        let unit = ruler.unit.plural();
        return refused(format!(
            "A character of line {line} takes several {unit}, and {place} lies within it."
        ));
    }
    Ok(())
}
