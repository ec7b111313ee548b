//! A format file describes the fields of a data file, and the columns that they fill.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use tds::{CodePage, Collation, SqlType};

use super::{FileCodePage, HostType};
use super::{format_text, format_xml};
use crate::format_file_error::{FormatFileError, FormatFileProblem};

/// The content of a format file, of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatFile {
    /// The version on the first line; XML format files have none and count as the newest.
    pub version: FormatVersion,
    /// The fields of the data file, in file order.
    pub fields: Vec<HostField>,
    /// The `ROW` of an XML format file: the columns of the rowset, in its order.
    pub rowset: Option<Vec<RowsetColumn>>,
}

/// A field of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostField {
    /// Host type, by which the field's bytes are read.
    pub host_type: HostType,
    /// Width of the length in front of it, in bytes: 0 (none), 1, 2, 4 or 8.
    pub prefix_length: u8,
    /// Length in bytes. It counts if there is neither prefix nor terminator. Otherwise it is only informative, and 0 means none.
    pub length: u32,
    /// Bytes that end the field; empty if there is no terminator.
    pub terminator: Vec<u8>,
    /// The column that the field fills, from 1; `None` if the field is skipped.
    pub column: Option<usize>,
    /// The column's name, for readers of the file only; columns are found by number.
    pub name: String,
    /// The encoding of a [`HostType::Char`] field.
    pub collation: FieldCollation,
}

/// The last token of a field's line: what encoding the text of a [`HostType::Char`] field has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FieldCollation {
    /// `""`: that of the reader's options (`-C`).
    #[default]
    Default,
    /// `RAW`: the bytes are already in the column's own code page.
    Raw,
    /// The encoding of a collation, unless [`FormatFile::drop_collations`] was called.
    Named {
        /// The name as the file spells it.
        name: String,
        /// Encoding that the name means.
        collation: Collation,
    },
}

/// A `COLUMN` of an XML format file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsetColumn {
    /// `SOURCE`: index (from 0) of the field in [`FormatFile::fields`].
    pub field: usize,
    /// `NAME`: name of the column.
    pub name: String,
    /// `xsi:type` with its length, precision and scale. Ignored by `bcp`, which takes the table's types; the type of the
    /// rowset for BULK INSERT and OPENROWSET.
    pub sql_type: SqlType,
    /// `NULLABLE`; absent means yes.
    pub nullable: bool,
}

/// The version of a non-XML format file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion(u8);

/// Kind of a format file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FormatFileKind {
    /// Lines of eight values.
    Text,
    /// XML (`-x`).
    Xml,
}

impl FormatFile {
    /// Leaves the encoding of every field to the reader's or writer's options (`-C`). Microsoft's library on Linux also ignores
    /// the collations of a format file.
    pub fn drop_collations(&mut self) {
        self.fields.iter_mut().for_each(|field| field.collation = FieldCollation::Default);
    }

    /// Finds the first field whose text has another encoding by its collation than `page`, and the
    /// collation's name.
    pub fn collation_against(&self, page: CodePage) -> Option<(&str, &str)> {
        self.fields.iter().find_map(|field| match &field.collation {
            FieldCollation::Named { name, collation }
                if field.host_type == HostType::Char && collation.code_page() != page =>
            {
                Some((field.name.as_str(), name.as_str()))
            }
            _ => None,
        })
    }

    /// Reads a format file of either kind: XML if its first character is `<`.
    ///
    /// # Errors
    /// It cannot be read, or is not as the documentation describes; the error says where, what was found, and what was
    /// expected.
    pub fn read(path: &Path) -> Result<Self, FormatFileError> {
        let name = path.display().to_string();
        let bytes = fs::read(path)
            .map_err(|error| FormatFileError::new(&name, None, FormatFileProblem::Io(error)))?;
        Self::parse(&bytes, &name)
    }

    /// Reads the bytes of a format file; `name` appears in errors. UTF-8, or with a byte-order mark UTF-16. Files of bcp on Windows
    /// have names in the client's code page, which nothing in them says. Names decide nothing, so any bytes will do for them, and
    /// terminators are the bytes that stand there.
    ///
    /// # Errors
    /// The errors of [`FormatFile::read`].
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, FormatFileError> {
        let Decoded { text, is_foreign } =
            decode(bytes).map_err(|problem| FormatFileError::new(name, None, problem))?;
        let mut file = if text.trim_start().starts_with('<') {
            format_xml::parse(&text, name)
        } else {
            format_text::parse(&text, name)
        }?;
        if is_foreign {
            file.restore_bytes();
        }
        Ok(file)
    }

    /// Gives terminators their bytes back, and names the characters of Windows' Western code page.
    fn restore_bytes(&mut self) {
        let shown = |name: &mut String| {
            let bytes = foreign::bytes_of(name.as_bytes());
            *name = CodePage::Cp1252
                .decode(&bytes)
                .map_or_else(|_| String::from_utf8_lossy(&bytes).into_owned(), std::borrow::Cow::into_owned);
        };
        for field in &mut self.fields {
            field.terminator = foreign::bytes_of(&field.terminator);
            shown(&mut field.name);
        }
        self.rowset.iter_mut().flatten().for_each(|column| shown(&mut column.name));
    }

    /// Writes the file as lines of eight values (seven in version 7.0), as `bcp … format` does.
    pub fn to_text(&self) -> String {
        self.to_text_for(FileCodePage::default())
    }

    /// Writes the file as a client with another code page does: for those the library leaves less room for
    /// names.
    pub fn to_text_for(&self, code_page: FileCodePage) -> String {
        let bytes_per_character = match code_page {
            FileCodePage::Page(page) if page.max_char_len_bytes() > 1 => 4,
            _ => 2,
        };
        format_text::print(self, bytes_per_character)
    }

    /// Writes the file in XML, as `bcp … format -x` does. `columns` are the table's.
    ///
    /// # Errors
    /// A field with a prefix and a terminator, or with neither and no length: XML format files have no such fields.
    pub fn to_xml(&self, columns: &[tds::Column]) -> Result<String, FormatFileError> {
        format_xml::print(self, columns)
    }

    /// Skips the fields that fill `column` (from 1) instead of loading them.
    pub fn skip_column(&mut self, column: usize) {
        for field in &mut self.fields {
            if field.column == Some(column) {
                field.column = None;
            }
        }
    }

    /// Checks that every field can be found in a file and that every column exists in a table of `columns` columns.
    ///
    /// # Errors
    /// The first field that cannot or does not.
    pub fn check(&self, name: &str, columns: usize) -> Result<(), FormatFileError> {
        for (index, field) in self.fields.iter().enumerate() {
            if let Some(found) = field.column.filter(|&column| column == 0 || column > columns) {
                let problem = FormatFileProblem::ServerColumn { columns, found };
                return Err(FormatFileError::new(name, Some(index as u64 + 3), problem));
            }
            // A terminator is searched only in a field without a length in front; otherwise it is skipped.
            let searched = field.prefix_length == 0;
            if searched && field.host_type == HostType::NChar && !field.terminator.len().is_multiple_of(2) {
                let problem = FormatFileProblem::Field {
                    field: index + 1,
                    problem: format!(
                        "the terminator \"{}\" of UTF-16 text has an odd number of bytes; is \\0 missing behind each character?",
                        super::terminator::escape(&field.terminator)
                    ),
                };
                return Err(FormatFileError::new(name, Some(index as u64 + 3), problem));
            }
        }
        Ok(())
    }
}

impl FormatFile {
    /// Checks that each field that fills a column says where its value ends: every value would be empty else. A field without any
    /// end can be written, as the bytes of one value.
    ///
    /// # Errors
    /// The first field that does not.
    pub fn check_readable(&self, name: &str) -> Result<(), FormatFileError> {
        let is_endless = |field: &HostField| {
            field.column.is_some()
                && field.prefix_length == 0
                && field.length == 0
                && field.terminator.is_empty()
                && field.host_type.size_bytes().is_none()
        };
        let Some(index) = self.fields.iter().position(is_endless) else { return Ok(()) };
        let named = self.fields.get(index).map_or("", |field| field.name.as_str());
        let problem = FormatFileProblem::Field {
            field: index + 1,
            problem: format!(
                "{named:?} has no prefix, no length and no terminator, so nothing says where its values end"
            ),
        };
        Err(FormatFileError::new(name, Some(index as u64 + 3), problem))
    }
}

impl HostField {
    /// Describes a field without prefix that ends at `terminator`.
    pub fn delimited(host_type: HostType, terminator: &[u8], column: usize, name: &str) -> Self {
        Self {
            host_type,
            prefix_length: 0,
            length: 0,
            terminator: terminator.to_vec(),
            column: Some(column),
            name: name.to_owned(),
            collation: FieldCollation::Default,
        }
    }
}

impl FieldCollation {
    /// Reads the last token of a field's line.
    pub(super) fn from_token(token: &str) -> Result<Self, FormatFileProblem> {
        match token {
            "" => Ok(Self::Default),
            "RAW" => Ok(Self::Raw),
            name => match Collation::from_name(name) {
                Some(collation) => Ok(Self::Named { name: name.to_owned(), collation }),
                None => Err(FormatFileProblem::Collation { found: name.to_owned() }),
            },
        }
    }

    /// Names a column's own collation, as generated format files do.
    pub fn of(collation: Collation) -> Self {
        match collation.name() {
            Some(name) => Self::Named { name: name.to_string(), collation },
            None => Self::Default,
        }
    }

    /// Returns the token as it is written.
    pub fn token(&self) -> &str {
        match self {
            Self::Default => "\"\"",
            Self::Raw => "RAW",
            Self::Named { name, .. } => name,
        }
    }
}

impl FormatVersion {
    /// 7.0, of seven values a line.
    pub const V7: Self = Self(7);
    /// 14.0, which the vendor's current library writes; it reads no newer version.
    pub const V14: Self = Self(14);
    /// 16.0, the newest version that this crate reads.
    pub const V16: Self = Self(16);

    /// Counts the values on a field's line.
    pub fn tokens(self) -> usize {
        if self <= Self::V7 { 7 } else { 8 }
    }
}

impl Default for FormatVersion {
    fn default() -> Self {
        Self::V14
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.0", self.0)
    }
}

impl FromStr for FormatVersion {
    type Err = FormatFileProblem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_suffix(".0")
            .and_then(|major| major.parse().ok())
            .filter(|major| (7..=16).contains(major))
            .map(Self)
            .ok_or_else(|| FormatFileProblem::Version { found: text.to_owned() })
    }
}

/// The text of a format file.
struct Decoded {
    text: String,
    /// The text is in no known encoding: each byte beyond ASCII is a [`foreign`] character.
    is_foreign: bool,
}

/// Bytes of an unknown encoding within text: each is a character of the private use area, which is no blank and no quote.
mod foreign {
    const FIRST: u32 = 0xF700;

    /// Decodes the bytes of a file in no known encoding, each to a character.
    pub(super) fn text_of(bytes: &[u8]) -> String {
        let character = |byte: &u8| match byte.is_ascii() {
            true => char::from(*byte),
            false => char::from_u32(FIRST + u32::from(*byte)).unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        bytes.iter().map(character).collect()
    }

    /// Restores the bytes of such a text, given in UTF-8.
    pub(super) fn bytes_of(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars() {
                let byte = u32::from(character).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok());
                match byte.filter(|byte| !byte.is_ascii()) {
                    Some(byte) => bytes.push(byte),
                    None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            bytes.extend_from_slice(chunk.invalid());
        }
        bytes
    }
}

fn decode(bytes: &[u8]) -> Result<Decoded, FormatFileProblem> {
    let not_text = |offset: usize| FormatFileProblem::NotText {
        byte: bytes.get(offset).copied().unwrap_or_default(),
        offset,
    };
    let units = |wide: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = wide.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(not_text(bytes.len() - 1));
        }
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).map_err(|_| not_text(2))
    };
    let known = |text: String| Decoded { text, is_foreign: false };
    match bytes {
        [0xFF, 0xFE, wide @ ..] => units(wide, u16::from_le_bytes).map(known),
        [0xFE, 0xFF, wide @ ..] => units(wide, u16::from_be_bytes).map(known),
        _ => {
            let plain = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            Ok(match std::str::from_utf8(plain) {
                Ok(text) => known(text.to_owned()),
                Err(_) => Decoded { text: foreign::text_of(plain), is_foreign: true },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Names of any code page, blanks of Unicode and backslashes among their bytes, and a terminator beyond ASCII.
    #[test]
    fn names_of_a_clients_code_page_are_read() {
        let text = b"14.0\n2\n1 SQLCHAR 0 10 \"\xA7\" 1 Stra\xDFe\xA0\x85 \"\"\n2 SQLCHAR 0 0 \"\\n\" 2 \xA4\x5C\xA6\xE2 \"\"\n";
        let file = FormatFile::parse(text, "f.fmt").unwrap();
        let names: Vec<&str> = file.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["Stra\u{df}e\u{a0}\u{2026}", "\u{a4}\\\u{a6}\u{e2}"]);
        assert_eq!(file.fields[0].terminator, [0xA7]);
        let utf8 = "14.0\n1\n1 SQLCHAR 0 10 \"\u{a7}\" 1 Straße \"\"\n";
        let file = FormatFile::parse(utf8.as_bytes(), "f.fmt").unwrap();
        assert_eq!(file.fields[0].terminator, "\u{a7}".as_bytes());
    }

    #[test]
    fn a_field_without_an_end_is_not_read() {
        let parse =
            |line: &str| FormatFile::parse(format!("14.0\n1\n1 {line} \"\"\n").as_bytes(), "f.fmt").unwrap();
        let error = parse("SQLBINARY 0 0 \"\" 1 body").check_readable("f.fmt").unwrap_err().to_string();
        assert!(error.contains("\"body\" has no prefix, no length and no terminator"), "{error}");
        for line in
            ["SQLINT 0 0 \"\" 1 n", "SQLCHAR 0 5 \"\" 1 t", "SQLCHAR 2 0 \"\" 1 t", "SQLCHAR 0 0 \"\" 0 t"]
        {
            assert!(parse(line).check_readable("f.fmt").is_ok(), "{line}");
        }
    }
}
