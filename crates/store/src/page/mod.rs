//! An 8 KB page: 96 bytes of header, rows, and a slot array that grows down from the end.
//!
//! Offsets of the header's fields are those of SQL Server. Only three operations
//! change a page: [`insert`](Page::insert), [`remove`](Page::remove) and [`replace`](Page::replace). Each is a
//! function of the page's bytes, so repeating it from the log gives the same page again. Bytes that no row has any more become
//! zeros, which images of the page in the log leave out.
//!
//! # Header
//!
//! | Offset | Bytes | Field |
//! |---|---|---|
//! | 0 | 1 | header version, 1 |
//! | 1 | 1 | type: 1 data, 2 index, 3 text mix, 4 text tree, 8 GAM, 9 SGAM, 10 IAM, 11 PFS, 13 boot, 15 file header, 16 differential map, 17 map of minimally logged extents |
//! | 2 | 1 | type flags: 04; 80 = has compression information |
//! | 3 | 1 | level, 0 = leaf |
//! | 4 | 2 | flags: 0200 = checksum; 0001 = filled by a minimally logged operation, the log has no image of it; 0002 = its last row was once taken out |
//! | 6 | 2 | index id (with 24: the allocation unit) |
//! | 8 | 6 | previous page: page u32, file u16 |
//! | 14 | 2 | fixed part of the rows with the row header |
//! | 16 | 6 | next page |
//! | 22 | 2 | slots |
//! | 24 | 4 | object id |
//! | 28 | 2 | free bytes |
//! | 30 | 2 | first free byte behind the last row |
//! | 32 | 6 | the page's own address |
//! | 40 | 10 | log position of the last change: file u32, block u32, record u16 |
//! | 60 | 4 | CRC of all other bytes |

mod contents;
pub mod lsn;
pub mod maps;
pub mod unit;

use std::fmt;

use contents::Contents;
pub use contents::{FoundRows, RowForm};
use lsn::Lsn;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 8192;
/// Bytes of a page's header.
pub const HEADER_BYTES: usize = 96;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 2;
/// Bytes of a page for rows and their slots.
pub const CAPACITY_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// The longest row.
pub const ROW_LIMIT_BYTES: usize = 8060;
/// Length of a forwarding stub, and so the least length of a row of a heap.
pub const STUB_BYTES: usize = 9;
/// Pages of an extent, the unit of allocation.
pub const EXTENT_PAGES: u32 = 8;
/// Bytes of an extent.
pub const EXTENT_BYTES: usize = PAGE_BYTES * EXTENT_PAGES as usize;

const VERSION: usize = 0;
const TYPE: usize = 1;
const TYPE_FLAGS: usize = 2;
const LEVEL: usize = 3;
const FLAGS: usize = 4;
const INDEX: usize = 6;
const PREVIOUS: usize = 8;
const FIXED_LENGTH: usize = 14;
const NEXT: usize = 16;
const SLOTS: usize = 22;
const OBJECT: usize = 24;
const FREE_COUNT: usize = 28;
const FREE_DATA: usize = 30;
const ID: usize = 32;
const LSN: usize = 40;
const CHECKSUM: usize = 60;

const HEADER_VERSION: u8 = 1;
/// `m_flagBits`: the checksum field holds a checksum.
const HAS_CHECKSUM: u16 = 0x0200;
/// `m_flagBits`: the page was filled by a minimally logged operation, and the log has no image of it.
const UNLOGGED: u16 = 0x0001;
/// `m_flagBits`: the last row has been taken out of the page since it was formatted.
const EMPTIED: u16 = 0x0002;
/// `m_typeFlagBits` of a page with compression information.
const COMPRESSED: u8 = 0x80;

/// Address of a page: file number (from 1) and page number in the file. `0:0` means no page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PageId {
    /// Number of the file.
    pub file: u16,
    /// Number of the page in the file, from 0.
    pub page: u32,
}

impl PageId {
    /// The absence of a page: the end of a chain.
    pub const NONE: Self = Self { file: 0, page: 0 };

    /// Names page `page` of file `file`.
    pub fn new(file: u16, page: u32) -> Self {
        Self { file, page }
    }

    /// Returns the extent that the page is in.
    pub fn extent(self) -> ExtentId {
        ExtentId { file: self.file, extent: self.page / EXTENT_PAGES }
    }

    /// Returns false for [`NONE`](Self::NONE).
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Returns the six bytes in which the address is stored: page, then file.
    pub fn to_bytes(self) -> [u8; 6] {
        let ([a, b, c, d], [e, f]) = (self.page.to_le_bytes(), self.file.to_le_bytes());
        [a, b, c, d, e, f]
    }

    /// Reads an address from its six bytes.
    pub fn from_bytes(bytes: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = bytes;
        Self { page: u32::from_le_bytes([a, b, c, d]), file: u16::from_le_bytes([e, f]) }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.page)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Address of an extent: its pages are `8 * extent` to `8 * extent + 7` of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtentId {
    /// Number of the file.
    pub file: u16,
    /// Number of the extent in the file, from 0.
    pub extent: u32,
}

impl ExtentId {
    /// Returns page `index` (0 to 7) of the extent.
    pub fn page(self, index: u32) -> PageId {
        PageId { file: self.file, page: self.extent.saturating_mul(EXTENT_PAGES).saturating_add(index) }
    }
}

/// Address of a row of a heap, which stays the same as long as the row exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId {
    /// Page of the row.
    pub page: PageId,
    /// Slot of the row in the page.
    pub slot: u16,
}

impl RowId {
    /// Returns the eight bytes in which the address is stored: page, file, slot.
    pub fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.page.to_bytes();
        let [g, h] = self.slot.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// Reads an address from its eight bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self { page: PageId::from_bytes([a, b, c, d, e, f]), slot: u16::from_le_bytes([g, h]) }
    }
}

/// Purpose of a page; the numbers are SQL Server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageType {
    /// Rows of a heap, or the leaf of a clustered tree.
    Data = 1,
    /// Upper levels of a tree, and leaves of nonclustered indexes.
    Index = 2,
    /// Fragments of large and overflowing values.
    TextMix = 3,
    /// Inner nodes of a large value.
    TextTree = 4,
    /// Map of the free extents.
    Gam = 8,
    /// Map of the mixed extents that have a free page.
    Sgam = 9,
    /// Map of the extents of one allocation unit.
    Iam = 10,
    /// Map of the free space of each page.
    Pfs = 11,
    /// The database's own page.
    Boot = 13,
    /// The first page of a file.
    FileHeader = 15,
    /// Map of the extents that changed since a full backup.
    DifferentialMap = 16,
    /// Map of the extents that minimally logged operations wrote since the last log backup.
    MinimallyLoggedMap = 17,
}

impl PageType {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Data,
            2 => Self::Index,
            3 => Self::TextMix,
            4 => Self::TextTree,
            8 => Self::Gam,
            9 => Self::Sgam,
            10 => Self::Iam,
            11 => Self::Pfs,
            13 => Self::Boot,
            15 => Self::FileHeader,
            16 => Self::DifferentialMap,
            17 => Self::MinimallyLoggedMap,
            _ => return None,
        })
    }
}

/// The owner of a page: the two halves of the allocation unit's id in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UnitId {
    /// Id of the table (`m_objId`).
    pub object: u32,
    /// Kind of the unit in the table (`m_indexId`).
    pub index: u16,
}

impl UnitId {
    /// Returns the id as `sys.allocation_units` shows it.
    pub fn allocation_unit_id(self) -> u64 {
        (u64::from(self.index) << 48) | (u64::from(self.object) << 16)
    }
}

/// Returns the rows of a page that were remembered, if they were expected in this form and the page has not changed since.
pub fn found_rows<'p>(page: &'p Page, form: &RowForm) -> Option<&'p FoundRows> {
    page.bytes.rows(form)
}

/// Remembers the rows of a page that were found and checked, for the next reader.
pub fn remember_rows(page: &Page, rows: FoundRows) {
    page.bytes.remember(rows);
}

/// The bytes of one page.
#[derive(Clone, PartialEq, Eq)]
pub struct Page {
    bytes: Contents<PAGE_BYTES>,
}

impl Page {
    /// Makes a page of zeros, as one that was never written.
    pub fn zeroed() -> Self {
        Self::from_bytes([0; PAGE_BYTES])
    }

    /// Makes an empty page. `fixed_length` is the fixed part of its rows with the row header (`pminlen`).
    pub fn formatted(id: PageId, page_type: PageType, level: u8, unit: UnitId, fixed_length: u16) -> Self {
        let mut page = Self::zeroed();
        format(&mut page.bytes, id, page_type, level, unit, fixed_length);
        page
    }

    /// Takes bytes as they are; see [`verify`](Self::verify).
    pub fn from_bytes(bytes: [u8; PAGE_BYTES]) -> Self {
        Self { bytes: Contents::new(bytes) }
    }

    /// Returns the bytes of the page.
    pub fn bytes(&self) -> &[u8; PAGE_BYTES] {
        &self.bytes
    }

    /// Returns the bytes of the page, for code that knows the page's format (allocation maps).
    pub fn bytes_mut(&mut self) -> &mut [u8; PAGE_BYTES] {
        &mut self.bytes
    }

    /// Returns the page's own address.
    pub fn id(&self) -> PageId {
        PageId::from_bytes(array_at(&self.bytes, ID))
    }

    /// Returns the type; None if the engine does not know it, or the page was never written.
    pub fn page_type(&self) -> Option<PageType> {
        page_type(&self.bytes)
    }

    /// Returns the height above the leaves of a tree; 0 for all others.
    pub fn level(&self) -> u8 {
        level(&self.bytes)
    }

    /// Returns the allocation unit that the page belongs to.
    pub fn unit(&self) -> UnitId {
        unit(&self.bytes)
    }

    /// Returns the page before it on its level of a tree.
    pub fn previous(&self) -> PageId {
        PageId::from_bytes(array_at(&self.bytes, PREVIOUS))
    }

    /// Returns the page that follows this one in its chain.
    pub fn next(&self) -> PageId {
        PageId::from_bytes(array_at(&self.bytes, NEXT))
    }

    /// Sets both neighbours.
    pub fn set_links(&mut self, previous: PageId, next: PageId) {
        put(&mut self.bytes, PREVIOUS, &previous.to_bytes());
        put(&mut self.bytes, NEXT, &next.to_bytes());
    }

    /// Returns the log position of the last change.
    pub fn lsn(&self) -> Lsn {
        Lsn::from_bytes(array_at(&self.bytes, LSN))
    }

    /// Notes the log position of a change.
    pub fn set_lsn(&mut self, lsn: Lsn) {
        put(&mut self.bytes, LSN, &lsn.to_bytes());
    }

    /// Counts the slots, those of removed heap rows included.
    pub fn slot_count(&self) -> u16 {
        u16_at(&self.bytes, SLOTS).min((CAPACITY_BYTES / SLOT_BYTES) as u16)
    }

    /// Counts the bytes free for rows and slots, holes included.
    pub fn free_bytes(&self) -> usize {
        usize::from(u16_at(&self.bytes, FREE_COUNT)).min(CAPACITY_BYTES)
    }

    /// Returns the length of the rows' fixed part with the row header (`pminlen`).
    pub fn fixed_length(&self) -> usize {
        usize::from(u16_at(&self.bytes, FIXED_LENGTH))
    }

    /// Returns true if the page has compression information in front of its rows.
    pub fn is_compressed(&self) -> bool {
        is_compressed(&self.bytes)
    }

    /// Returns true if a compressed page should be compressed again, because 25 of its rows have changed, or
    /// more than a quarter.
    pub fn is_worn(&self) -> bool {
        let changes = u16_at(&self.bytes, CHANGES);
        changes >= 25 || changes > self.slot_count() / 4
    }

    /// Removes the compression information from a page without rows. Returns false and changes nothing if there is no
    /// information, or a row.
    pub fn discard_information(&mut self) -> bool {
        if !self.is_compressed() || self.slot_count() > 0 {
            return false;
        }
        self.bytes[TYPE_FLAGS] &= !COMPRESSED;
        set_fill(&mut self.bytes, 0, HEADER_BYTES, CAPACITY_BYTES);
        true
    }

    fn note_change(&mut self) {
        if self.is_compressed() {
            self.put_u16(CHANGES, u16_at(&self.bytes, CHANGES).saturating_add(1));
        }
    }

    /// Returns true if the page was filled by a minimally logged operation and has not changed since.
    pub fn is_unlogged(&self) -> bool {
        u16_at(&self.bytes, FLAGS) & UNLOGGED != 0
    }

    /// Returns true if the page once lost its last row, so that a tree of this single page has held rows
    /// before.
    pub fn was_emptied(&self) -> bool {
        u16_at(&self.bytes, FLAGS) & EMPTIED != 0
    }

    /// Clears the mark of minimal logging, since the log has an image of the page now.
    pub fn clear_unlogged(&mut self) {
        self.put_u16(FLAGS, u16_at(&self.bytes, FLAGS) & !UNLOGGED);
    }

    /// Returns the byte offset of the row in `slot`; None if there is none.
    pub fn row_offset(&self, slot: u16) -> Option<usize> {
        if slot >= self.slot_count() {
            return None;
        }
        let place = PAGE_BYTES.checked_sub(SLOT_BYTES * (usize::from(slot) + 1))?;
        let offset = usize::from(u16::from_le_bytes([*self.bytes.get(place)?, *self.bytes.get(place + 1)?]));
        (HEADER_BYTES..PAGE_BYTES).contains(&offset).then_some(offset)
    }

    /// Returns the row in `slot`; None if there is none or its length makes no sense.
    pub fn row(&self, slot: u16) -> Option<&[u8]> {
        let offset = self.row_offset(slot)?;
        let length = row_length(self, offset)?;
        self.bytes.get(offset..offset.checked_add(length)?)
    }

    /// Lists the rows with their slots.
    pub fn rows(&self) -> impl Iterator<Item = (u16, &[u8])> {
        (0..self.slot_count()).filter_map(|slot| Some((slot, self.row(slot)?)))
    }

    /// Puts a row into `slot`. With `shift` the slot is a new one, and those from there on move up (a tree, or a heap's next slot);
    /// without, it must be an empty one. [`remove`](Self::remove) with the same `shift` undoes it, and the other way round.
    /// Returns false and changes nothing if it does not fit.
    pub fn insert(&mut self, slot: u16, row: &[u8], shift: bool) -> bool {
        let count = self.slot_count();
        if slot > count || row.is_empty() {
            return false;
        }
        let reuse = !shift;
        if reuse && (slot == count || self.row_offset(slot).is_some()) {
            return false;
        }
        let needed = row.len() + if reuse { 0 } else { SLOT_BYTES };
        if needed > self.free_bytes() || row.len() > CAPACITY_BYTES - SLOT_BYTES {
            return false;
        }
        let slots_after = usize::from(count) + usize::from(!reuse);
        let Some(limit) = PAGE_BYTES.checked_sub(SLOT_BYTES * slots_after) else { return false };
        if usize::from(u16_at(&self.bytes, FREE_DATA)) + row.len() > limit {
            compact(self);
        }
        let start = usize::from(u16_at(&self.bytes, FREE_DATA));
        let Some(place) = self.bytes.get_mut(start..start + row.len()).filter(|_| start + row.len() <= limit)
        else {
            return false;
        };
        place.copy_from_slice(row);
        if !reuse {
            self.put_u16(SLOTS, count + 1);
            for moved in (slot..count).rev() {
                let offset = slot_offset(&self.bytes, moved);
                set_slot(&mut self.bytes, moved + 1, offset);
            }
        }
        set_slot(&mut self.bytes, slot, start as u16);
        self.put_u16(FREE_DATA, (start + row.len()) as u16);
        self.put_u16(FREE_COUNT, self.free_bytes().saturating_sub(needed) as u16);
        self.note_change();
        true
    }

    /// Takes the row out of `slot`. With `shift` the slot is removed too, and later ones move down; without, an empty slot stays.
    pub fn remove(&mut self, slot: u16, shift: bool) -> bool {
        let (Some(offset), Some(length)) = (self.row_offset(slot), self.row(slot).map(<[u8]>::len)) else {
            return false;
        };
        let count = self.slot_count();
        clear(&mut self.bytes, offset..offset + length);
        set_slot(&mut self.bytes, slot, 0);
        let mut freed = length;
        if shift {
            for moved in slot + 1..count {
                let offset = slot_offset(&self.bytes, moved);
                set_slot(&mut self.bytes, moved - 1, offset);
            }
            set_slot(&mut self.bytes, count - 1, 0);
            self.put_u16(SLOTS, count - 1);
            freed += SLOT_BYTES;
        }
        self.put_u16(FREE_COUNT, (self.free_bytes() + freed).min(CAPACITY_BYTES) as u16);
        if self.slot_count() == 0 {
            self.put_u16(FREE_DATA, rows_start(self) as u16);
            self.put_u16(FLAGS, u16_at(&self.bytes, FLAGS) | EMPTIED);
        }
        self.note_change();
        true
    }

    /// Puts another row in the place of one; its slot stays. Returns false and changes nothing if it does not fit.
    pub fn replace(&mut self, slot: u16, row: &[u8]) -> bool {
        let (Some(offset), Some(old)) = (self.row_offset(slot), self.row(slot).map(<[u8]>::len)) else {
            return false;
        };
        if row.is_empty() || row.len() > self.free_bytes() + old {
            return false;
        }
        let limit = PAGE_BYTES - SLOT_BYTES * usize::from(self.slot_count());
        let start = if row.len() <= old {
            offset
        } else {
            if usize::from(u16_at(&self.bytes, FREE_DATA)) + row.len() > limit {
                set_slot(&mut self.bytes, slot, 0);
                compact(self);
            } else {
                clear(&mut self.bytes, offset..offset + old);
            }
            usize::from(u16_at(&self.bytes, FREE_DATA))
        };
        let Some(place) = self.bytes.get_mut(start..start + row.len()).filter(|_| start + row.len() <= limit)
        else {
            return false;
        };
        place.copy_from_slice(row);
        if row.len() > old {
            self.put_u16(FREE_DATA, (start + row.len()) as u16);
        } else {
            clear(&mut self.bytes, offset + row.len()..offset + old);
        }
        set_slot(&mut self.bytes, slot, start as u16);
        self.put_u16(FREE_COUNT, (self.free_bytes() + old - row.len()) as u16);
        self.note_change();
        true
    }

    /// Counts the bytes that must stay free so that each row of a heap can become a forwarding stub:
    /// compressed rows may be shorter than one.
    pub fn stub_reserve_bytes(&self) -> usize {
        self.rows().map(|(_, row)| STUB_BYTES.saturating_sub(row.len())).sum()
    }

    /// Returns true if a row of `length` bytes fits, with a new slot if need be.
    pub fn fits(&self, length: usize) -> bool {
        length + SLOT_BYTES <= self.free_bytes()
    }

    /// Returns a free slot of a heap page: the first empty one, else the next.
    pub fn free_slot(&self) -> u16 {
        let count = self.slot_count();
        (0..count).find(|slot| self.row_offset(*slot).is_none()).unwrap_or(count)
    }

    /// Writes the checksum, as the last thing before the page goes to disk.
    pub fn seal(&mut self) {
        seal(&mut self.bytes);
    }

    /// Checks that the page was written at `id` and is intact: address, checksum, and consistent counts.
    pub fn verify(&self, id: PageId) -> Result<(), String> {
        verify(&self.bytes, id)
    }

    fn put_u16(&mut self, at: usize, value: u16) {
        put(&mut self.bytes, at, &value.to_le_bytes());
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Page({}, {:?}, {} slots, {} free, lsn {})",
            self.id(),
            self.page_type(),
            self.slot_count(),
            self.free_bytes(),
            self.lsn()
        )
    }
}

/// Moves all rows together, in the order of their offsets.
fn compact(page: &mut Page) {
    let mut rows: Vec<(usize, u16, usize)> = (0..page.slot_count())
        .filter_map(|slot| {
            let offset = page.row_offset(slot)?;
            Some((offset, slot, page.row(slot)?.len()))
        })
        .collect();
    rows.sort_unstable();
    let mut end = rows_start(page);
    for (offset, slot, length) in rows {
        if end + length > PAGE_BYTES {
            // Rows of a damaged page may overlap.
            break;
        }
        page.bytes.copy_within(offset..offset + length, end);
        set_slot(&mut page.bytes, slot, end as u16);
        end += length;
    }
    let behind = usize::from(u16_at(&page.bytes, FREE_DATA)).max(end);
    clear(&mut page.bytes, end..behind);
    page.put_u16(FREE_DATA, end as u16);
}

/// Makes bytes zero that no row has any more.
fn clear(bytes: &mut [u8; PAGE_BYTES], place: std::ops::Range<usize>) {
    if let Some(place) = bytes.get_mut(place) {
        place.fill(0);
    }
}

/// Returns the offset at which rows may begin: after the compression information, if there is any.
fn rows_start(page: &Page) -> usize {
    match page.is_compressed() {
        true => HEADER_BYTES + information_bytes(&page.bytes).unwrap_or(0),
        false => HEADER_BYTES,
    }
}

/// Returns the offset of the row in a slot; 0: the slot is empty.
fn slot_offset(bytes: &[u8; PAGE_BYTES], slot: u16) -> u16 {
    PAGE_BYTES.checked_sub(SLOT_BYTES * (usize::from(slot) + 1)).map_or(0, |place| u16_at(bytes, place))
}

fn set_slot(bytes: &mut [u8; PAGE_BYTES], slot: u16, offset: u16) {
    if let Some(place) = PAGE_BYTES.checked_sub(SLOT_BYTES * (usize::from(slot) + 1)) {
        put(bytes, place, &offset.to_le_bytes());
    }
}

fn put(bytes: &mut [u8; PAGE_BYTES], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn row_length(page: &Page, offset: usize) -> Option<usize> {
    crate::record::length(page.bytes.get(offset..)?, page.fixed_length())
}

/// Writes the header of an empty page into `bytes` and leaves the rest as it is.
pub fn format(
    bytes: &mut [u8; PAGE_BYTES],
    id: PageId,
    page_type: PageType,
    level: u8,
    unit: UnitId,
    fixed_length: u16,
) {
    bytes[..HEADER_BYTES].fill(0);
    bytes[VERSION] = HEADER_VERSION;
    bytes[TYPE] = page_type as u8;
    bytes[TYPE_FLAGS] = 4;
    bytes[LEVEL] = level;
    bytes[FLAGS..FLAGS + 2].copy_from_slice(&HAS_CHECKSUM.to_le_bytes());
    bytes[INDEX..INDEX + 2].copy_from_slice(&unit.index.to_le_bytes());
    bytes[FIXED_LENGTH..FIXED_LENGTH + 2].copy_from_slice(&fixed_length.to_le_bytes());
    bytes[OBJECT..OBJECT + 4].copy_from_slice(&unit.object.to_le_bytes());
    bytes[ID..ID + 6].copy_from_slice(&id.to_bytes());
    set_fill(bytes, 0, HEADER_BYTES, CAPACITY_BYTES);
}

/// Sets slot count, first free byte and free bytes of a page whose rows and slots were written by other means.
pub fn set_fill(bytes: &mut [u8; PAGE_BYTES], slots: u16, free_data: usize, free_bytes: usize) {
    bytes[SLOTS..SLOTS + 2].copy_from_slice(&slots.to_le_bytes());
    bytes[FREE_COUNT..FREE_COUNT + 2].copy_from_slice(&(free_bytes as u16).to_le_bytes());
    bytes[FREE_DATA..FREE_DATA + 2].copy_from_slice(&(free_data as u16).to_le_bytes());
}

/// Counts the slots.
pub fn slot_count(bytes: &[u8; PAGE_BYTES]) -> u16 {
    u16_at(bytes, SLOTS).min((CAPACITY_BYTES / SLOT_BYTES) as u16)
}

/// Counts the bytes free for rows and slots.
pub fn free_bytes(bytes: &[u8; PAGE_BYTES]) -> usize {
    usize::from(u16_at(bytes, FREE_COUNT)).min(CAPACITY_BYTES)
}

/// Returns the page's own address, as [`Page::id`] does.
pub fn id(bytes: &[u8; PAGE_BYTES]) -> PageId {
    PageId::from_bytes(array_at(bytes, ID))
}

/// Returns the page's unit, as [`Page::unit`] does.
pub fn unit(bytes: &[u8; PAGE_BYTES]) -> UnitId {
    UnitId { object: u32::from_le_bytes(array_at(bytes, OBJECT)), index: u16_at(bytes, INDEX) }
}

/// Returns the page's level, as [`Page::level`] does.
pub fn level(bytes: &[u8; PAGE_BYTES]) -> u8 {
    bytes[LEVEL]
}

/// Returns the page's type, as [`Page::page_type`] does.
pub fn page_type(bytes: &[u8; PAGE_BYTES]) -> Option<PageType> {
    PageType::from_byte(bytes[TYPE])
}

/// Flag of compression information that has a dictionary.
pub(crate) const HAS_DICTIONARY: u8 = 4;
/// Offset at which compression information counts changed rows.
pub(crate) const CHANGES: usize = HEADER_BYTES + 1;

/// Returns the bytes of a compressed page's information record; None: the page is not compressed, or the
/// record runs over it.
pub(crate) fn information_bytes(page: &[u8; PAGE_BYTES]) -> Option<usize> {
    if !is_compressed(page) {
        return None;
    }
    let flags = *page.get(HEADER_BYTES)?;
    let at = if flags & HAS_DICTIONARY != 0 { 5 } else { 3 };
    let size =
        page.get(HEADER_BYTES + at..)?.first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes)))?;
    (size >= 5 && HEADER_BYTES + size <= PAGE_BYTES).then_some(size)
}

/// Returns true for a compressed page, as [`Page::is_compressed`] does.
pub fn is_compressed(bytes: &[u8; PAGE_BYTES]) -> bool {
    bytes[TYPE_FLAGS] & COMPRESSED != 0
}

/// Marks a page as one with compression information in front of its rows.
pub fn set_compressed(bytes: &mut [u8; PAGE_BYTES]) {
    bytes[TYPE_FLAGS] |= COMPRESSED;
}

/// Marks a page as filled by a minimally logged operation.
pub fn set_unlogged(bytes: &mut [u8; PAGE_BYTES]) {
    bytes[FLAGS] |= UNLOGGED as u8;
}

/// Notes the log position of a change.
pub fn set_lsn(bytes: &mut [u8; PAGE_BYTES], lsn: Lsn) {
    bytes[LSN..LSN + 10].copy_from_slice(&lsn.to_bytes());
}

/// Notes the page's address and neighbours, which a bulk writer learns after it has filled the page.
pub fn set_address(bytes: &mut [u8; PAGE_BYTES], id: PageId, previous: PageId, next: PageId) {
    bytes[ID..ID + 6].copy_from_slice(&id.to_bytes());
    bytes[PREVIOUS..PREVIOUS + 6].copy_from_slice(&previous.to_bytes());
    bytes[NEXT..NEXT + 6].copy_from_slice(&next.to_bytes());
}

/// Writes the checksum.
pub fn seal(bytes: &mut [u8; PAGE_BYTES]) {
    let sum = checksum(bytes);
    bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Checks a page, as [`Page::verify`] does.
pub fn verify(bytes: &[u8; PAGE_BYTES], id: PageId) -> Result<(), String> {
    let stored = u32::from_le_bytes(array_at(bytes, CHECKSUM));
    let computed = checksum(bytes);
    if stored != computed {
        return Err(format!("checksum {computed:#010x}, stored {stored:#010x}"));
    }
    let found = PageId::from_bytes(array_at(bytes, ID));
    if found != id {
        return Err(format!("it says that it is page {found}"));
    }
    if PageType::from_byte(bytes[TYPE]).is_none() {
        return Err(format!("page type {}", bytes[TYPE]));
    }
    let (slots, free) = (usize::from(u16_at(bytes, SLOTS)), usize::from(u16_at(bytes, FREE_COUNT)));
    let free_data = usize::from(u16_at(bytes, FREE_DATA));
    let slots_start = PAGE_BYTES.checked_sub(slots * SLOT_BYTES);
    if free > CAPACITY_BYTES || free_data < HEADER_BYTES || slots_start.is_none_or(|start| free_data > start)
    {
        return Err(format!("{slots} slots, {free} bytes free, first free byte {free_data}"));
    }
    Ok(())
}

/// Computes the CRC-32 of the page but for its checksum field.
fn checksum(bytes: &[u8; PAGE_BYTES]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CHECKSUM]);
    crc.update(&bytes[CHECKSUM + 4..]);
    crc.finalize()
}

fn u16_at(bytes: &[u8; PAGE_BYTES], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8; PAGE_BYTES], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests;
