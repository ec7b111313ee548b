//! Allocation units: the pages that hold the rows of a rowset, found through chains of allocation maps (IAM).

use std::collections::{HashMap, HashSet};

use crate::{
    error::{Result, malformed},
    image::Image,
    little_endian::{i64_at, u8_at},
    pages::{Bitmap, EXTENT_PAGES, IamRange, PAGES_PER_PFS, Page, PageAddress, free_space_byte, kind},
    records::{FixedVar, RecordKind},
};

/// The bit of a page that is in use.
const ALLOCATED: u8 = 0x40;
/// Chains that are longer lead in a circle: a file has at most 2^32 pages.
const CHAIN_MAX: usize = 1 << 24;

/// An allocation unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    /// 1 rows, 2 large values, 3 row overflow.
    pub kind: u8,
    /// First allocation map.
    pub first_map: PageAddress,
}

/// All units, by the rowset that owns them.
pub(crate) struct Units(HashMap<i64, Vec<Unit>>);

/// The rowset of `sysrowsets`, from which all others are found.
pub(crate) const SYSROWSETS: i64 = 5 << 16;

impl Units {
    /// Reads the table of allocation units, whose pages are a chain.
    ///
    /// # Errors
    /// A page is damaged, or no page of the table.
    pub(crate) fn read(image: &Image, first: PageAddress) -> Result<Self> {
        let mut units: HashMap<i64, Vec<Unit>> = HashMap::new();
        let mut next = Some(first);
        let mut pages = 0;
        while let Some(address) = next {
            let page = image.page(address)?;
            pages += 1;
            if page.kind() != kind::DATA || pages > CHAIN_MAX {
                return Err(image.error(address, malformed("it is no page of the table of allocation units")));
            }
            for slot in 0..page.slots() {
                let record = page.record(slot).map_err(|slot| image.bad_slot(address, slot))?;
                let Some(bytes) = record.filter(|bytes| is_row(bytes)) else { continue };
                let unit = FixedVar::parse(bytes).and_then(|record| {
                    let fixed = record.fixed(0, 45)?;
                    let unit = Unit { kind: u8_at(fixed, 12)?, first_map: PageAddress::at(fixed, 39)? };
                    Some((i64_at(fixed, 13)?, unit))
                });
                let (owner, unit) = unit.ok_or_else(|| {
                    image.error(
                        address,
                        malformed(format!("slot {slot} is no row of the table of allocation units")),
                    )
                })?;
                units.entry(owner).or_default().push(unit);
            }
            next = page.next();
        }
        Ok(Self(units))
    }

    /// Returns the unit of a rowset that holds its rows.
    pub(crate) fn of_rows(&self, rowset: i64) -> Option<Unit> {
        self.0.get(&rowset)?.iter().find(|unit| unit.kind == 1).copied()
    }
}

impl Units {
    /// Returns all units of a rowset.
    pub(crate) fn of(&self, rowset: i64) -> &[Unit] {
        self.0.get(&rowset).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns true if a record is one that a scan returns: a row in its place, or one that has moved.
pub(crate) fn is_row(record: &[u8]) -> bool {
    record
        .first()
        .is_some_and(|status| matches!(RecordKind::of(*status), RecordKind::Row | RecordKind::Forwarded))
}

/// The pages of a unit, in the order of its maps.
pub(crate) struct UnitPages;

impl UnitPages {
    /// Lists the pages of a unit that are in use.
    ///
    /// # Errors
    /// A map is damaged, or the maps lead in a circle.
    pub(crate) fn list(image: &Image, unit: Unit) -> Result<Vec<PageAddress>> {
        Self::list_all(image, unit).map(|(_, pages)| pages)
    }

    /// Lists the allocation maps of a unit, and its pages that are in use.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub(crate) fn list_all(image: &Image, unit: Unit) -> Result<(Vec<PageAddress>, Vec<PageAddress>)> {
        let (mut maps, mut pages) = (Vec::new(), Vec::new());
        let mut free_space = FreeSpace { image, page: None };
        let mut next = Some(unit.first_map).filter(|address| !address.is_none());
        let mut seen = HashSet::new();
        while let Some(address) = next {
            if !seen.insert(address) {
                return Err(image.error(address, malformed("the chain of allocation maps leads in a circle")));
            }
            maps.push(address);
            let map = image.page(address)?;
            let range = IamRange::of(&map).filter(|_| map.kind() == kind::IAM);
            let range = range.ok_or_else(|| image.error(address, malformed("it is no allocation map")))?;
            for single in range.singles {
                if free_space.is_allocated(single)? {
                    pages.push(single);
                }
            }
            for extent in Bitmap::of(&map).extents(true) {
                for page in 0..EXTENT_PAGES {
                    let page = PageAddress {
                        page: range.start.page.saturating_add(extent * EXTENT_PAGES + page),
                        ..range.start
                    };
                    if free_space.is_allocated(page)? {
                        pages.push(page);
                    }
                }
            }
            next = map.next();
        }
        Ok((maps, pages))
    }
}

/// The map of free space that was asked last.
struct FreeSpace<'a> {
    image: &'a Image,
    page: Option<(PageAddress, Page)>,
}

impl FreeSpace<'_> {
    fn is_allocated(&mut self, page: PageAddress) -> Result<bool> {
        // Maps recur among the pages of large files, and are no rows.
        if page.page.is_multiple_of(PAGES_PER_PFS) {
            return Ok(false);
        }
        let of = PageAddress { page: page.page / PAGES_PER_PFS, ..page };
        if self.page.as_ref().is_none_or(|(at, _)| *at != of) {
            self.page = Some((of, self.image.free_space_map(page)?));
        }
        let byte = self.page.as_ref().and_then(|(_, map)| free_space_byte(map, page.page));
        Ok(byte.unwrap_or_default() & ALLOCATED != 0)
    }
}
