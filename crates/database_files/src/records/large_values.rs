//! Values that do not stand in their row: text pages with a tree of links above the pieces.

use crate::{
    error::{FileError, Result, malformed},
    image::Image,
    little_endian::{u8_at, u16_at, u32_at, u64_at},
    pages::{Page, PageAddress, RecordAddress, kind},
};

/// Levels that a tree of links may have.
const LEVELS_MAX: usize = 8;
/// Largest value.
const VALUE_BYTES_MAX: u64 = i32::MAX as u64;

/// Kinds of records on text pages.
mod record_kind {
    pub const SMALL: u16 = 0;
    pub const NODE: u16 = 2;
    pub const DATA: u16 = 3;
    pub const OLD_ROOT: u16 = 4;
    pub const ROOT: u16 = 5;
    pub const NULL: u16 = 8;
}

/// The pointer that a row holds in place of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pointer<'a> {
    /// The pointer of text, ntext and image.
    Text(&'a [u8]),
    /// The root of a value of a max type, or of a row's overflow.
    Root(&'a [u8]),
}

/// Reads large values, and keeps the last page.
pub(crate) struct LargeValues<'a> {
    image: &'a Image,
    last: Option<Page>,
}

/// A link to a piece, with the end of its bytes in the value.
struct Link {
    end: u64,
    to: RecordAddress,
}

impl<'a> LargeValues<'a> {
    /// Reads values of an image.
    pub(crate) fn new(image: &'a Image) -> Self {
        Self { image, last: None }
    }

    /// Appends a value; false if it is NULL.
    ///
    /// # Errors
    /// A page cannot be read, or the pieces do not make the value.
    pub(crate) fn append(&mut self, pointer: Pointer<'_>, value: &mut Vec<u8>) -> Result<bool> {
        match pointer {
            Pointer::Text(bytes) => {
                let (id, at) = u64_at(bytes, 0)
                    .zip(RecordAddress::at(bytes, 8))
                    .filter(|_| bytes.len() == 16)
                    .ok_or_else(|| self.error(None, "a text pointer has not 16 bytes"))?;
                self.append_record(at, id, None, LEVELS_MAX, value)
            }
            Pointer::Root(bytes) => {
                let kind = u8_at(bytes, 0).filter(|kind| matches!(kind, 2 | 4));
                let timestamp = u32_at(bytes, 8).filter(|_| bytes.len() >= 24 && bytes.len() % 12 == 0);
                let Some((timestamp, _)) = timestamp.zip(kind) else {
                    return Err(self.error(None, "the root of a large value has an unknown form"));
                };
                let links: Vec<Link> =
                    (12..bytes.len()).step_by(12).filter_map(|at| short_link(bytes, at)).collect();
                self.append_links(&links, u64::from(timestamp) << 16, LEVELS_MAX, value)?;
                Ok(true)
            }
        }
    }

    /// Appends what a record holds: `length` bytes, if that is known.
    fn append_record(
        &mut self,
        at: RecordAddress,
        id: u64,
        length: Option<u64>,
        levels: usize,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let record = self.record(at)?;
        let bytes = record.as_slice();
        let wrong = |text: &str| FileError::new(self.image.name(), at.to_string(), malformed(text));
        if u16_at(bytes, 0) != Some(8) || u64_at(bytes, 4) != Some(id) {
            return Err(wrong("it is no piece of the large value that points to it"));
        }
        let before = value.len() as u64;
        match u16_at(bytes, 12) {
            Some(record_kind::SMALL) => {
                let count = usize::from(u16_at(bytes, 14).unwrap_or_default());
                let data = bytes.get(20..20 + count).ok_or_else(|| wrong("its length leads beyond it"))?;
                value.extend_from_slice(data);
            }
            Some(record_kind::DATA) => value.extend_from_slice(bytes.get(14..).unwrap_or_default()),
            Some(kind @ (record_kind::OLD_ROOT | record_kind::ROOT | record_kind::NODE)) => {
                let levels = levels
                    .checked_sub(1)
                    .ok_or_else(|| wrong("the tree of a large value has too many levels"))?;
                let count = usize::from(u16_at(bytes, 16).unwrap_or_default());
                let links: Option<Vec<Link>> = (0..count)
                    .map(|index| match kind {
                        record_kind::NODE => long_link(bytes, 20 + 16 * index),
                        _ => short_link(bytes, 24 + 12 * index),
                    })
                    .collect();
                let links = links.ok_or_else(|| wrong("its links lead beyond it"))?;
                self.append_links(&links, id, levels, value)?;
            }
            Some(record_kind::NULL) if length.is_none() => return Ok(false),
            _ => return Err(wrong("a piece of a large value is of an unknown kind")),
        }
        let appended = value.len() as u64 - before;
        match length.is_none_or(|length| length == appended) {
            true => Ok(true),
            false => Err(wrong("a piece of a large value has another length than the link to it says")),
        }
    }

    fn append_links(&mut self, links: &[Link], id: u64, levels: usize, value: &mut Vec<u8>) -> Result<()> {
        let mut before = 0;
        for link in links {
            let length = link.end.checked_sub(before).filter(|_| link.end <= VALUE_BYTES_MAX);
            let Some(length) = length else {
                return Err(self.error(Some(link.to.page), "the links of a large value are out of order"));
            };
            self.append_record(link.to, id, Some(length), levels, value)?;
            before = link.end;
        }
        Ok(())
    }

    /// Copies a record of a text page: the page may be replaced while its links are followed.
    fn record(&mut self, at: RecordAddress) -> Result<Vec<u8>> {
        let page = match self.last.take() {
            Some(page) if page.address() == at.page => page,
            Some(page) => self.image.page_into(at.page, page.into_bytes())?,
            None => self.image.page(at.page)?,
        };
        let page = self.last.insert(page);
        if !matches!(page.kind(), kind::TEXT_MIX | kind::TEXT_TREE) {
            return Err(self.image.error(at.page, malformed("it is no page of large values")));
        }
        let record = page.record(at.slot).map_err(|slot| self.image.bad_slot(at.page, slot))?;
        let whole = record.filter(|_| at.slot < page.slots()).and_then(|bytes| {
            let length = usize::from(u16_at(bytes, 2)?);
            bytes.get(..length).filter(|bytes| bytes.len() >= 14)
        });
        let missing = || {
            FileError::new(self.image.name(), at.to_string(), malformed("no piece of a large value is there"))
        };
        whole.map(<[u8]>::to_vec).ok_or_else(missing)
    }

    fn error(&self, page: Option<PageAddress>, text: &str) -> FileError {
        let place = page.map(|page| page.to_string()).unwrap_or_default();
        FileError::new(self.image.name(), place, malformed(text))
    }
}

fn short_link(bytes: &[u8], at: usize) -> Option<Link> {
    Some(Link { end: u64::from(u32_at(bytes, at)?), to: RecordAddress::at(bytes, at + 4)? })
}

fn long_link(bytes: &[u8], at: usize) -> Option<Link> {
    Some(Link { end: u64_at(bytes, at)?, to: RecordAddress::at(bytes, at + 8)? })
}
