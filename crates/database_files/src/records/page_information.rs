//! The information record of a compressed page: beginnings of values (an anchor for each column) and whole values (a dictionary)
//! that the rows of the page share.
//!
//! It stands at byte 96: flags (2 anchors, 4 dictionary), changes u16, the end of each part that is there u16, the anchors as a
//! record, the dictionary: its count u16, the ends of its entries u16 from its start, their bytes. Ends count from byte 96.

use super::compressed::{Cell, cells};
use crate::little_endian::{u8_at, u16_at};
use crate::pages::{HEADER_BYTES, Page};

/// The flag of anchors.
const HAS_ANCHORS: u8 = 2;
/// The flag of a dictionary.
const HAS_DICTIONARY: u8 = 4;
/// Bytes before the ends of the parts.
const ENDS_AT: usize = 3;
/// Bytes before the parts if both have an end.
const BOTH_ENDS: u16 = 7;

/// What the rows of a page share.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PageInformation<'a> {
    /// By column; None where values have all of their bytes.
    anchors: Vec<Option<&'a [u8]>>,
    entries: Vec<&'a [u8]>,
}

impl<'a> PageInformation<'a> {
    /// Reads the record of a page; a page without one has rows with all of their bytes. None if its parts do not fit.
    pub(crate) fn of(page: &'a Page) -> Option<Self> {
        match page.has_compression_information() {
            true => Self::parse(page.bytes().get(HEADER_BYTES..)?),
            false => Some(Self::default()),
        }
    }

    /// Reads the record of its bytes.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let flags = u8_at(bytes, 0)?;
        let (has_anchors, has_dictionary) = (flags & HAS_ANCHORS != 0, flags & HAS_DICTIONARY != 0);
        let mut end_at = ENDS_AT;
        // A dictionary alone may have the end of no anchors before its own: where it begins.
        if !has_anchors && u16_at(bytes, ENDS_AT) == Some(BOTH_ENDS) {
            end_at += 2;
        }
        let mut end = |is_there: bool| -> Option<Option<usize>> {
            if !is_there {
                return Some(None);
            }
            let end = usize::from(u16_at(bytes, end_at)?);
            end_at += 2;
            Some(Some(end))
        };
        let (anchors_end, dictionary_end) = (end(has_anchors)?, end(has_dictionary)?);
        let mut start = end_at;
        let mut information = Self::default();
        if let Some(end) = anchors_end {
            let mut anchors = Vec::new();
            cells(bytes.get(start..end)?, &mut anchors)?;
            let of_column = |cell: &Cell<'a>| match cell {
                Cell::Bytes([]) => None,
                Cell::Bytes(bytes) => Some(*bytes),
                _ => None,
            };
            information.anchors = anchors.iter().map(of_column).collect();
            start = end;
        }
        if let Some(end) = dictionary_end {
            let dictionary = bytes.get(start..end)?;
            let count = usize::from(u16_at(dictionary, 0)?);
            let mut start = 2 + 2 * count;
            for index in 0..count {
                let end = usize::from(u16_at(dictionary, 2 + 2 * index)?);
                information.entries.push(dictionary.get(start..end)?);
                start = end;
            }
        }
        Some(information)
    }

    /// Returns the bytes of a value of a column. `into` is a buffer for values that share their beginning with the anchor.
    ///
    /// # Errors
    /// The value refers to what is not there, or to more of an anchor than one byte counts: sources disagree on the form of two.
    pub(crate) fn value<'b>(
        &self,
        column: usize,
        value: Shared<'b>,
        into: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], &'static str>
    where
        'a: 'b,
    {
        let stored = match value {
            Shared::Bytes(bytes) => bytes,
            Shared::Symbol(number) => {
                self.entries.get(number).copied().ok_or("no entry of the page's dictionary has its number")?
            }
        };
        let Some(anchor) = self.anchors.get(column).copied().flatten() else { return Ok(stored) };
        let Some((&shared, rest)) = stored.split_first() else { return Ok(anchor) };
        if shared & 0x80 != 0 {
            return Err("it shares more than 127 bytes with other values of its page, which is not read");
        }
        let shared =
            anchor.get(..usize::from(shared)).ok_or("it shares more bytes than its page's anchor has")?;
        into.clear();
        into.extend(shared);
        into.extend(rest);
        Ok(into)
    }
}

/// A value whose bytes the page may have elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shared<'a> {
    /// Bytes of the record.
    Bytes(&'a [u8]),
    /// An entry of the dictionary.
    Symbol(usize),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn value(
        information: &PageInformation<'_>,
        column: usize,
        value: Shared<'_>,
    ) -> Result<Vec<u8>, &'static str> {
        let mut into = Vec::new();
        information.value(column, value, &mut into).map(<[u8]>::to_vec)
    }

    #[test]
    fn anchors_and_entries_are_put_together() {
        // Anchors: 'hello', none. Dictionary: 03 'p!' (of the first column) and 'xyz'.
        let anchors = [0x01, 0x02, 0x06, b'h', b'e', b'l', b'l', b'o'];
        let dictionary = [2, 0, 9, 0, 12, 0, 3, b'p', b'!', b'x', b'y', b'z'];
        let anchors_end = 7 + anchors.len() as u8;
        let mut bytes = vec![6, 0, 0, anchors_end, 0, anchors_end + dictionary.len() as u8, 0];
        bytes.extend(anchors);
        bytes.extend(dictionary);
        let information = PageInformation::parse(&bytes).unwrap();
        assert_eq!(value(&information, 0, Shared::Symbol(0)).unwrap(), b"help!");
        assert_eq!(value(&information, 0, Shared::Bytes(&[])).unwrap(), b"hello");
        assert_eq!(value(&information, 0, Shared::Bytes(b"\0new")).unwrap(), b"new");
        assert_eq!(value(&information, 1, Shared::Symbol(1)).unwrap(), b"xyz");
        assert!(value(&information, 0, Shared::Bytes(&[6])).is_err());
        assert!(value(&information, 0, Shared::Bytes(&[0x80, 1])).is_err());
        assert!(value(&information, 1, Shared::Symbol(2)).is_err());
        for end in 0..bytes.len() {
            assert_eq!(PageInformation::parse(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_part_that_is_not_there_has_no_end() {
        let anchors_alone = [2, 0, 0, 9, 0, 0x01, 0x01, 0x02, b'a'];
        let information = PageInformation::parse(&anchors_alone).unwrap();
        assert_eq!(value(&information, 0, Shared::Bytes(&[])).unwrap(), b"a");
        let dictionary_alone = [4, 0, 0, 11, 0, 1, 0, 6, 0, b'b', b'c'];
        let with_both_ends = [4, 0, 0, 7, 0, 13, 0, 1, 0, 6, 0, b'b', b'c'];
        for bytes in [&dictionary_alone[..], &with_both_ends] {
            let information = PageInformation::parse(bytes).unwrap();
            assert_eq!(value(&information, 5, Shared::Symbol(0)).unwrap(), b"bc");
        }
    }
}
