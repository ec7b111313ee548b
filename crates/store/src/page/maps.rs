//! Allocation maps: where they are, and what their bits and bytes mean.
//!
//! Bitmaps start at byte 194 of their page and hold 63,904 bits, one per extent; a PFS page holds 8,088 bytes, one per page, from
//! byte 100 on. Map pages have no slots.

use super::{EXTENT_PAGES, ExtentId, Page, PageId, PageType, UnitId};

/// Extents that one GAM, SGAM or IAM page covers.
pub const MAP_EXTENTS: u32 = 63_904;
/// Pages that they cover: a little less than 4 GB.
pub const MAP_PAGES: u32 = MAP_EXTENTS * EXTENT_PAGES;
/// Pages that one PFS page covers.
pub const PFS_PAGES: u32 = 8_088;

const BITS: usize = 194;
const ENTRIES: usize = 100;
const IAM_SEQUENCE: usize = 98;
const IAM_START: usize = 102;

/// PFS: the page is in use.
pub const ALLOCATED: u8 = 0x40;
/// PFS: the page is in a mixed extent.
pub const MIXED: u8 = 0x20;
/// PFS: the page is an IAM page.
pub const IAM: u8 = 0x10;

/// PFS: how full the page is, see [`fullness`].
pub const FULLNESS: u8 = 0x07;
/// Least free bytes in a page of fullness 0 to 3.
pub const FULLNESS_WITH_ROOM: [usize; 4] =
    [super::CAPACITY_BYTES, super::CAPACITY_BYTES / 2, super::CAPACITY_BYTES / 5, super::CAPACITY_BYTES / 20];

/// Returns the fullness of a page in a PFS entry: 0 empty, 1 to 50 %, 2 to 80 %, 3 to 95 %, 4 more.
pub fn fullness(free_bytes: usize) -> u8 {
    let used = super::CAPACITY_BYTES.saturating_sub(free_bytes) * 100;
    let capacity = super::CAPACITY_BYTES;
    match used {
        0 => 0,
        used if used <= 50 * capacity => 1,
        used if used <= 80 * capacity => 2,
        used if used <= 95 * capacity => 3,
        _ => 4,
    }
}

/// Returns the PFS page for a page, and the number of its entry there.
pub fn pfs_of(page: PageId) -> (PageId, u32) {
    let interval = page.page / PFS_PAGES;
    let place = if interval == 0 { 1 } else { interval * PFS_PAGES };
    (PageId { file: page.file, page: place }, page.page % PFS_PAGES)
}

/// Returns the GAM page for an extent, and its bit there.
pub fn gam_of(extent: ExtentId) -> (PageId, u32) {
    let interval = extent.extent / MAP_EXTENTS;
    let place = if interval == 0 { 2 } else { interval * MAP_PAGES };
    (PageId { file: extent.file, page: place }, extent.extent % MAP_EXTENTS)
}

/// Returns the SGAM page for an extent, the page after the GAM, and its bit there.
pub fn sgam_of(extent: ExtentId) -> (PageId, u32) {
    let (gam, bit) = gam_of(extent);
    (PageId { page: gam.page + 1, ..gam }, bit)
}

/// Returns the map page of minimally logged extents, the eighth page of the first extent of each interval,
/// and the extent's bit there.
pub fn minimally_logged_of(extent: ExtentId) -> (PageId, u32) {
    let interval = extent.extent / MAP_EXTENTS;
    (PageId { file: extent.file, page: interval * MAP_PAGES + 7 }, extent.extent % MAP_EXTENTS)
}

/// Returns true if an extent holds maps or other fixed pages and is never given to a table.
pub fn is_system_extent(extent: u32) -> bool {
    let first = extent.saturating_mul(EXTENT_PAGES);
    extent < 2
        || extent.is_multiple_of(MAP_EXTENTS)
        || (first..first.saturating_add(EXTENT_PAGES)).any(|page| page.is_multiple_of(PFS_PAGES))
}

/// Lists the map pages in extents `from..to` of a file, with their types.
pub fn map_pages(from: u32, to: u32) -> Vec<(u32, PageType)> {
    let pages = from.saturating_mul(EXTENT_PAGES)..to.saturating_mul(EXTENT_PAGES);
    let mut found = Vec::new();
    if pages.contains(&0) {
        found.extend([
            (0, PageType::FileHeader),
            (1, PageType::Pfs),
            (2, PageType::Gam),
            (3, PageType::Sgam),
        ]);
        found.extend([
            (6, PageType::DifferentialMap),
            (7, PageType::MinimallyLoggedMap),
            (9, PageType::Boot),
        ]);
    }
    let mut pfs = pages.start.next_multiple_of(PFS_PAGES).max(PFS_PAGES);
    while pages.contains(&pfs) {
        found.push((pfs, PageType::Pfs));
        pfs += PFS_PAGES;
    }
    let mut gam = pages.start.next_multiple_of(MAP_PAGES).max(MAP_PAGES);
    while pages.contains(&gam) {
        let maps = [
            (0, PageType::Gam),
            (1, PageType::Sgam),
            (6, PageType::DifferentialMap),
            (7, PageType::MinimallyLoggedMap),
        ];
        found.extend(maps.map(|(offset, page_type)| (gam + offset, page_type)));
        gam += MAP_PAGES;
    }
    found.sort_unstable_by_key(|(page, _)| *page);
    found
}

/// Makes an empty IAM page: number in its chain, and the first extent of the range that it covers.
pub fn iam_page(id: PageId, unit: UnitId, sequence: u32, first_extent: ExtentId) -> Page {
    let mut page = Page::formatted(id, PageType::Iam, 0, unit, 90);
    let bytes = page.bytes_mut();
    bytes[IAM_SEQUENCE..IAM_SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
    bytes[IAM_START..IAM_START + 6].copy_from_slice(&first_extent.page(0).to_bytes());
    page
}

/// Returns the first extent of the range that an IAM page covers.
pub fn iam_start(page: &Page) -> ExtentId {
    let start = page.bytes().get(IAM_START..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
    PageId::from_bytes(start).extent()
}

/// Reads bit `bit` of a bitmap page.
pub fn bit(page: &Page, bit: u32) -> bool {
    bit < MAP_EXTENTS
        && page.bytes().get(BITS + bit as usize / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

/// Lists the bits of a bitmap page that are set.
pub fn bits(page: &Page) -> impl Iterator<Item = u32> {
    let bytes = page.bytes().get(BITS..BITS + MAP_EXTENTS as usize / 8).unwrap_or_default();
    (0..).zip(bytes).filter(|(_, byte)| **byte != 0).flat_map(|(index, byte)| {
        (0..8).filter(move |bit| byte & (1 << bit) != 0).map(move |bit| index * 8 + bit)
    })
}

/// Sets `count` bits, all of which must have the other value. Otherwise it returns false and changes nothing.
pub fn set_bits(page: &mut Page, first: u32, count: u32, value: bool) -> bool {
    let Some(end) = first.checked_add(count).filter(|end| *end <= MAP_EXTENTS) else { return false };
    if (first..end).any(|index| bit(page, index) == value) {
        return false;
    }
    for index in first..end {
        if let Some(byte) = page.bytes_mut().get_mut(BITS + index as usize / 8) {
            *byte ^= 1 << (index % 8);
        }
    }
    true
}

/// Returns the entry of a page on its PFS page.
pub fn free_space(page: &Page, entry: u32) -> u8 {
    if entry >= PFS_PAGES { 0 } else { page.bytes().get(ENTRIES + entry as usize).copied().unwrap_or(0) }
}

/// Replaces entries if they are `before`. Otherwise it returns false and changes nothing.
pub fn set_free_space(page: &mut Page, first: u32, before: &[u8], after: &[u8]) -> bool {
    let start = ENTRIES + first as usize;
    if before.len() != after.len() || first as usize + before.len() > PFS_PAGES as usize {
        return false;
    }
    match page.bytes_mut().get_mut(start..start + before.len()) {
        Some(place) if place == before => {
            place.copy_from_slice(after);
            true
        }
        _ => false,
    }
}
