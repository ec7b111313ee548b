//! Fills character columns from text: decodes it from the file's encoding and checks its length.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use tds::{CodePage, Column, Length, SqlType};

use super::cells::Cells;
use super::column::{ColumnFiller, Report};
use super::value::{Fault, native};
use super::{Deviation, HostType, transliteration};
use crate::FormatError;

/// The encoding of a text field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// A code page.
    Page(CodePage),
    /// ISO 8859-1.
    Latin1,
    /// UTF-16LE.
    Wide,
}

impl TextForm {
    /// Decodes the text of a cell, if it is text.
    pub(super) fn decode(self, cell: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Latin1 => Some(latin1(cell)),
            Self::Page(CodePage::Utf8) => std::str::from_utf8(cell).ok().map(Cow::Borrowed),
            Self::Page(page) => page.decode(cell).ok(),
            Self::Wide => {
                let (units, rest) = cell.as_chunks::<2>();
                let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
                String::from_utf16(&units).ok().filter(|_| rest.is_empty()).map(Cow::Owned)
            }
        }
    }
}

/// Values of a character column.
pub(super) struct TextColumn {
    builder: StringBuilder,
    source: TextSource,
    limit: Limit,
    /// The code page the column stores, unless it stores all of Unicode.
    stored: Option<CodePage>,
    scratch: Vec<u8>,
}

enum TextSource {
    Text(TextForm),
    Spelled(HostType),
}

/// Limit that the original sets to the bytes of a field.
enum Limit {
    None,
    /// Bytes of the file: of a char or varchar column.
    Bytes(usize),
    /// UTF-16 units: of an nchar or nvarchar column. If text of a code page is one unit too long, that unit is silently cut.
    Units(usize),
}

impl TextColumn {
    pub(super) fn new(column: &Column, form: TextForm) -> Self {
        let wide = form == TextForm::Wide;
        let limit = match column.sql_type() {
            SqlType::Char { length } | SqlType::VarChar { length: Length::Units(length) } => {
                Limit::Bytes(usize::from(*length) * if wide { 2 } else { 1 })
            }
            SqlType::NChar { length } | SqlType::NVarChar { length: Length::Units(length) } => {
                Limit::Units(usize::from(*length))
            }
            _ => Limit::None,
        };
        Self { limit, ..Self::unlimited(column, form) }
    }

    /// Creates a column that takes text as it is.
    pub(super) fn unlimited(column: &Column, form: TextForm) -> Self {
        let stored = match column.sql_type() {
            SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text => {
                let page = column.type_info.collation.unwrap_or_default().code_page();
                (page != CodePage::Utf8).then_some(page)
            }
            _ => None,
        };
        Self {
            builder: StringBuilder::new(),
            source: TextSource::Text(form),
            limit: Limit::None,
            stored,
            scratch: Vec::new(),
        }
    }

    /// Creates a character column filled with native values, spelled out.
    pub(super) fn spelled(column: &Column, host_type: HostType) -> Self {
        Self { source: TextSource::Spelled(host_type), ..Self::new(column, TextForm::Page(CodePage::Utf8)) }
    }

    /// Appends the text of one cell, and reports its faults and deviations.
    #[inline]
    fn append(&mut self, cell: &[u8], row: u32, report: &mut Report) -> Result<(), Fault> {
        let form = match self.source {
            TextSource::Text(form) => form,
            TextSource::Spelled(host_type) => {
                self.scratch.clear();
                native::spell(host_type, cell, &mut self.scratch);
                if matches!(self.limit, Limit::Bytes(limit) if self.scratch.len() > limit) {
                    return Err(Fault::TooLong);
                }
                // Spelled values are ASCII.
                self.builder.append_value(std::str::from_utf8(&self.scratch).unwrap_or_default());
                return Ok(());
            }
        };
        let cell = self.without_surplus_blanks(cell, form);
        if let Limit::Bytes(limit) = self.limit
            && cell.len() > limit
        {
            return Err(Fault::TooLong);
        }
        let text = match form {
            TextForm::Page(page) => {
                if page == CodePage::Utf8 {
                    utf8(cell, row, report)
                } else {
                    match page.decode(cell) {
                        Ok(text) => text,
                        Err(_) => Cow::Owned(repaired(page, cell, row, report)),
                    }
                }
            }
            TextForm::Latin1 => latin1(cell),
            TextForm::Wide => utf16(cell, row, report),
        };
        if !text.is_ascii() || matches!(self.limit, Limit::Units(limit) if text.len() > limit) {
            self.append_checked(&text, form, row, report)
        } else {
            self.builder.append_value(&*text);
            Ok(())
        }
    }

    /// Removes those blanks at the end of a cell that are beyond the column's length, which the original
    /// drops.
    fn without_surplus_blanks<'a>(&self, mut cell: &'a [u8], form: TextForm) -> &'a [u8] {
        let (blank, limit_bytes): (&[u8], usize) = match (form, &self.limit) {
            (TextForm::Wide, _) if !cell.len().is_multiple_of(2) => return cell,
            (TextForm::Wide, Limit::Bytes(limit)) => (b" \0", *limit),
            (TextForm::Wide, Limit::Units(limit)) => (b" \0", limit * 2),
            (_, Limit::Bytes(limit)) => (b" ", *limit),
            // The number of units is known only when the bytes are decoded.
            (_, Limit::Units(_)) | (_, Limit::None) => return cell,
        };
        while cell.len() > limit_bytes
            && let Some(shorter) = cell.strip_suffix(blank)
        {
            cell = shorter;
        }
        cell
    }

    /// Appends text that may be too long, or may hold characters that the column's code page lacks.
    fn append_checked(
        &mut self,
        text: &str,
        form: TextForm,
        row: u32,
        report: &mut Report,
    ) -> Result<(), Fault> {
        let mut text = Cow::Borrowed(text);
        if let Limit::Units(limit) = self.limit {
            let mut units = text.encode_utf16().count();
            while units > limit && text.ends_with(' ') {
                let shorter = text.len() - 1;
                text = match text {
                    Cow::Borrowed(text) => Cow::Borrowed(text.get(..shorter).unwrap_or_default()),
                    Cow::Owned(text) => Cow::Owned(text.get(..shorter).unwrap_or_default().to_owned()),
                };
                units -= 1;
            }
            if units > limit + 1 || (units > limit && form == TextForm::Wide) {
                return Err(Fault::TooLong);
            }
            if units > limit {
                report.remarks.push((row, Deviation::CutToColumn));
                let last = text.char_indices().next_back().map_or(0, |(index, _)| index);
                text = Cow::Owned(text.get(..last).unwrap_or_default().to_owned());
            }
        }
        if let Some(page) = self.stored
            && page.encode(&text).is_err()
        {
            report.remarks.push((row, Deviation::UnmappableText));
            text = Cow::Owned(transliteration::encodable(&text, page));
        }
        self.builder.append_value(&*text);
        Ok(())
    }
}

impl ColumnFiller for TextColumn {
    fn fill(&mut self, cells: Cells<'_>, report: &mut Report) {
        for (row, cell) in (0_u32..).zip(cells.iter()) {
            match cell {
                None => self.builder.append_null(),
                Some(cell) => {
                    if let Err(fault) = self.append(cell, row, report) {
                        self.builder.append_null();
                        report.faults.push((row, fault));
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

#[inline]
fn utf8<'a>(cell: &'a [u8], row: u32, report: &mut Report) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(cell);
    if matches!(text, Cow::Owned(_)) {
        report.remarks.push((row, Deviation::InvalidText));
    }
    text
}

fn latin1(cell: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(cell) {
        Ok(ascii) if ascii.is_ascii() => Cow::Borrowed(ascii),
        _ => Cow::Owned(cell.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// Decodes UTF-16LE. An odd byte at the end is dropped.
fn utf16<'a>(cell: &[u8], row: u32, report: &mut Report) -> Cow<'a, str> {
    let (units, rest) = cell.as_chunks::<2>();
    if !rest.is_empty() {
        report.remarks.push((row, Deviation::OddBytes));
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let mut text = String::with_capacity(cell.len() / 2);
    let mut broken = false;
    for character in char::decode_utf16(units) {
        text.push(character.unwrap_or_else(|_| {
            broken = true;
            char::REPLACEMENT_CHARACTER
        }));
    }
    if broken {
        report.remarks.push((row, Deviation::InvalidText));
    }
    Cow::Owned(text)
}

/// Decodes bytes that are not all text of the code page, as far as they are.
fn repaired(page: CodePage, cell: &[u8], row: u32, report: &mut Report) -> String {
    report.remarks.push((row, Deviation::InvalidText));
    let mut text = String::new();
    let mut rest = cell;
    let longest = page.max_char_len_bytes();
    while !rest.is_empty() {
        let decoded = (1..=longest.min(rest.len())).find_map(|length| {
            let (head, tail) = rest.split_at(length);
            page.decode(head).ok().map(|text| (text.into_owned(), tail))
        });
        match decoded {
            Some((character, tail)) => {
                text.push_str(&character);
                rest = tail;
            }
            None => {
                text.push(char::REPLACEMENT_CHARACTER);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    text
}
