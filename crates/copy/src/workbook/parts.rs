//! The parts of a workbook's file, before anything believes them: checksums, sizes and cell references.
//!
//! A zip's entry is compared with its checksum only at its end, where a reader of XML need not arrive. A few kilobytes unpack to
//! gigabytes, and the reader of cells counts on with references that no sheet has. So every part that holds cells is read once before.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

/// Columns of a sheet, at most.
pub const COLUMNS_MAX: u32 = 16_384;
/// Rows of a sheet, at most.
pub const ROWS_MAX: u32 = 1 << 20;
/// Bytes that a part may have whatever it was packed to.
const UNPACKED_FREE: u64 = 256 << 20;
/// The largest ratio of a larger part's size to its packed size: text of cells packs to a tenth or a hundredth.
const UNPACKED_RATIO: u64 = 400;
/// Bytes of all parts, unpacked.
const UNPACKED_MAX: u64 = 16 << 30;
/// Bytes between two angle brackets. A cell holds 32,767 characters.
const TOKEN_MAX: usize = 4 << 20;
const PIECE_BYTES: usize = 64 << 10;

/// Reads the parts of a workbook that hold cells, if it is a zip.
///
/// # Errors
/// A part that is not what its checksum says, that unpacks to far more than cells do, or with a reference to no cell.
pub fn check(path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let mut file = BufReader::new(File::open(path).map_err(|error| failed(&error))?);
    if !is_zip(&mut file).map_err(|error| failed(&error))? {
        return Ok(());
    }
    let mut archive = ZipArchive::new(file).map_err(|error| failed(&error))?;
    let mut all = 0;
    for index in 0..archive.len() {
        let Ok(part) = archive.by_index(index) else {
            // Encrypted, or packed in a way that nothing here reads: the reader that needs it says so.
            continue;
        };
        let name = part.name().map(|name| name.into_owned()).unwrap_or_default();
        let Some(kind) = PartKind::of(&name) else { continue };
        let allowed = part.compressed_size().saturating_mul(UNPACKED_RATIO).max(UNPACKED_FREE);
        let mut check = Check { kind, token: Vec::new(), is_tag: false, name: &name };
        all += check.read(part, allowed)?;
        if all > UNPACKED_MAX {
            return Err(format!("the workbook unpacks to more than {} GB", UNPACKED_MAX >> 30));
        }
    }
    Ok(())
}

fn is_zip(file: &mut BufReader<File>) -> io::Result<bool> {
    let mut head = [0; 4];
    let is_zip = match file.read_exact(&mut head) {
        Ok(()) => head == *b"PK\x03\x04",
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error),
    };
    io::Seek::rewind(file)?;
    Ok(is_zip)
}

/// The kind of a part, which decides how much of it is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// Bytes, of which only the checksum counts.
    Bytes,
    /// XML.
    Xml,
    /// XML whose `r` attributes are references to cells and rows.
    Sheet,
}

impl PartKind {
    /// Returns the kind of a part; `None` for parts that hold no cells, such as pictures.
    fn of(name: &str) -> Option<PartKind> {
        let name = name.to_ascii_lowercase().replace('\\', "/");
        if name.starts_with("xl/worksheets/") && name.ends_with(".xml") {
            return Some(PartKind::Sheet);
        }
        let holds_cells = [
            "xl/workbook.",
            "xl/sharedstrings.",
            "xl/styles.",
            "xl/worksheets/",
            "xl/tables/",
            "content.xml",
        ];
        let is_read = name.ends_with(".rels") || holds_cells.iter().any(|start| name.starts_with(start));
        is_read.then_some(if name.ends_with(".bin") { PartKind::Bytes } else { PartKind::Xml })
    }
}

/// The look at a part.
struct Check<'a> {
    kind: PartKind,
    /// The bytes since the last angle bracket. Of a tag the bytes are kept, of text only their number.
    token: Vec<u8>,
    is_tag: bool,
    name: &'a str,
}

impl Check<'_> {
    /// Reads a part to its end, where its checksum is compared. Returns its size.
    fn read(&mut self, mut part: impl Read, allowed: u64) -> Result<u64, String> {
        let mut piece = vec![0; PIECE_BYTES];
        let (mut size, mut text) = (0, 0);
        loop {
            let count = match part.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("the workbook is damaged: {}: {error}", self.name)),
            };
            if count == 0 {
                return Ok(size);
            }
            size += count as u64;
            if size > allowed {
                return Err(format!(
                    "{} unpacks to more than {} MB, which is {UNPACKED_RATIO} times its size: such a part holds no cells",
                    self.name,
                    allowed >> 20
                ));
            }
            if self.kind != PartKind::Bytes {
                self.tokens(piece.get(..count).unwrap_or_default(), &mut text)?;
            }
        }
    }

    /// Follows the angle brackets of a piece. `text` is the length of the text so far.
    fn tokens(&mut self, mut piece: &[u8], text: &mut usize) -> Result<(), String> {
        while !piece.is_empty() {
            let end = piece.iter().position(|byte| *byte == if self.is_tag { b'>' } else { b'<' });
            let (part, rest) = piece.split_at(end.unwrap_or(piece.len()));
            *text += part.len();
            if *text > TOKEN_MAX {
                let limit = TOKEN_MAX >> 20;
                return Err(format!(
                    "{}: a text of more than {limit} MB, and a cell holds 32,767 characters",
                    self.name
                ));
            }
            if self.is_tag && self.kind == PartKind::Sheet {
                self.token.extend_from_slice(part);
            }
            piece = rest.get(1..).unwrap_or_default();
            if end.is_some() {
                if self.is_tag {
                    self.tag()?;
                }
                self.is_tag = !self.is_tag;
                self.token.clear();
                *text = 0;
            }
        }
        Ok(())
    }

    /// Looks at the reference of a whole tag of a cell or a row.
    fn tag(&self) -> Result<(), String> {
        let name = self.token.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let local = name.rsplit(|byte| *byte == b':').next().unwrap_or_default();
        if !matches!(local, b"c" | b"row") {
            return Ok(());
        }
        let Some(reference) = attribute(&self.token, b"r") else { return Ok(()) };
        if is_reference(reference, local == b"c") {
            return Ok(());
        }
        let shown: String = String::from_utf8_lossy(reference).chars().take(40).collect();
        Err(format!("{}: {shown:?} is no cell or row of a sheet, which ends with XFD1048576", self.name))
    }
}

/// Returns the value of an attribute of a tag.
fn attribute<'a>(tag: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = tag.iter().position(u8::is_ascii_whitespace).and_then(|at| tag.get(at..))?;
    loop {
        rest = rest.trim_ascii_start();
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let (found, value) = rest.split_at(equals);
        let value = value.get(1..)?.trim_ascii_start();
        let (quote, value) = value.split_first()?;
        let end = value.iter().position(|byte| byte == quote)?;
        if found.trim_ascii_end() == name {
            return value.get(..end);
        }
        rest = value.get(end + 1..)?;
    }
}

/// Returns true for `B7`, or `7` of a row, within the bounds of a sheet.
fn is_reference(text: &[u8], has_column: bool) -> bool {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (column, row) = text.split_at(letters);
    let number = |base: u32, digits: &[u8], value: fn(u8) -> u32| {
        digits.iter().try_fold(0_u32, |sum, digit| sum.checked_mul(base)?.checked_add(value(*digit)))
    };
    let column_number = number(26, column, |byte| u32::from(byte.to_ascii_uppercase() - b'A') + 1);
    let is_digits = !row.is_empty() && row.iter().all(u8::is_ascii_digit);
    let row_number = number(10, row, |byte| u32::from(byte.wrapping_sub(b'0')));
    is_digits
        && row_number.is_some_and(|row| (1..=ROWS_MAX).contains(&row))
        && column_number.is_some_and(|column| column <= COLUMNS_MAX && (column > 0) == has_column)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn checked(kind: PartKind, text: &str) -> Result<u64, String> {
        let check = || Check { kind, token: Vec::new(), is_tag: false, name: "xl/worksheets/sheet1.xml" };
        let whole = check().read(text.as_bytes(), UNPACKED_FREE);
        // However it is cut into pieces.
        let mut cut = check();
        let mut length = 0;
        let by_bytes = text.as_bytes().iter().try_for_each(|byte| cut.tokens(&[*byte], &mut length));
        assert_eq!(by_bytes.is_ok(), whole.is_ok(), "{text}");
        whole
    }

    #[test]
    fn references_end_with_the_sheet() {
        for (text, is_cell, is_good) in [
            ("A1", true, true),
            ("xfd1048576", true, true),
            ("XFE1", true, false),
            ("A1048577", true, false),
            ("A0", true, false),
            ("ZZZZZZZ99999999999", true, false),
            ("12", true, false),
            ("A", true, false),
            ("12", false, true),
            ("99999999999", false, false),
        ] {
            assert_eq!(is_reference(text.as_bytes(), is_cell), is_good, "{text}");
        }
    }

    #[test]
    fn a_sheet_with_a_reference_to_no_cell_is_refused() {
        assert!(
            checked(PartKind::Sheet, r#"<x:row r="1" ><x:c s="3" r='B2'><v>1</v></x:c></x:row>"#).is_ok()
        );
        assert!(checked(PartKind::Sheet, r#"<cols r="ZZZZZZZ9"/><f t="shared" r="nothing">1</f>"#).is_ok());
        let error = checked(PartKind::Sheet, r#"<row r="1"><c t="n" r="ZZZZZZZ99999999999"/>"#).unwrap_err();
        assert!(error.contains("ZZZZZZZ99999999999"), "{error}");
        assert!(checked(PartKind::Sheet, r#"<row r="4294967297">"#).is_err());
    }

    #[test]
    fn a_text_that_no_cell_holds_is_refused() {
        let text = |length: usize| format!("<v>{}</v>", " ".repeat(length));
        assert!(checked(PartKind::Xml, &text(TOKEN_MAX)).is_ok());
        assert!(checked(PartKind::Xml, &text(TOKEN_MAX + 1)).is_err());
        let mut check = Check { kind: PartKind::Bytes, token: Vec::new(), is_tag: false, name: "x.bin" };
        assert!(check.read(&[0; 100][..], 99).is_err());
    }
}
