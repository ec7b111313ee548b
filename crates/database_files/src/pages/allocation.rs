//! Allocation maps: which extents and pages are in use, and by which unit.

use super::{Page, PageAddress};
use crate::little_endian::u8_at;

/// Extents that one GAM, differential map or IAM covers. Bits beyond are not extents: they are set by chance.
pub(crate) const EXTENTS_PER_MAP: u32 = 63_904;
/// Pages that one PFS page covers.
pub(crate) const PAGES_PER_PFS: u32 = 8_088;

/// Offset of the bitmap in a page: slot 1 is a record of four bytes, then the bits.
const BITMAP_AT: usize = 194;
/// Offset of an IAM's first record.
const IAM_RECORD_AT: usize = 96;
/// Offset of the bytes of a PFS page.
const PFS_BYTES_AT: usize = 100;

/// The bits of a map, one for each of [`EXTENTS_PER_MAP`] extents, least bit first.
pub(crate) struct Bitmap<'a>(&'a [u8]);

impl<'a> Bitmap<'a> {
    /// Returns the map that a page holds.
    pub(crate) fn of(page: &'a Page) -> Self {
        let end = BITMAP_AT + EXTENTS_PER_MAP as usize / 8;
        Self(page.bytes().get(BITMAP_AT..end).unwrap_or_default())
    }

    /// Returns the extents whose bit is `set`, counted from the start of the map.
    pub(crate) fn extents(&self, set: bool) -> impl Iterator<Item = u32> + use<'a> {
        let bytes = self.0;
        (0..EXTENTS_PER_MAP).filter(move |extent| {
            let byte = bytes.get((extent / 8) as usize).copied().unwrap_or_default();
            (byte >> (extent % 8) & 1 == 1) == set
        })
    }
}

/// The part of a file that one IAM page maps.
pub(crate) struct IamRange {
    /// First page of the range.
    pub start: PageAddress,
    /// Pages of mixed extents.
    pub singles: Vec<PageAddress>,
}

impl IamRange {
    /// Reads the first record of an IAM page.
    pub(crate) fn of(page: &Page) -> Option<Self> {
        let record = page.bytes().get(IAM_RECORD_AT..)?;
        let start = PageAddress::at(record, 40)?;
        let singles = (0..8).filter_map(|at| PageAddress::at(record, 46 + 6 * at));
        Some(Self { start, singles: singles.filter(|address| !address.is_none()).collect() })
    }
}

/// Returns what a PFS page says of a page of its file: 40 allocated, 20 in a mixed extent, 10 an IAM, 08 with ghosts (hex).
pub(crate) fn free_space_byte(pfs: &Page, page: u32) -> Option<u8> {
    u8_at(pfs.bytes(), PFS_BYTES_AT + (page % PAGES_PER_PFS) as usize)
}
