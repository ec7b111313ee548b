//! Pages of 8,192 bytes: addresses, headers, slots, checksums, allocation maps.
//!
//! The layout is that of SQL Server 2005 to 2025 (`docs/database-files.md` says on which files each fact was checked).

mod allocation;
mod checksum;

use std::fmt;

pub(crate) use allocation::{Bitmap, EXTENTS_PER_MAP, IamRange, PAGES_PER_PFS, free_space_byte};
pub(crate) use checksum::{RunningChecksum, sector_checksum_without};

use crate::little_endian::{array_at, u8_at, u16_at, u32_at};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 8192;
/// Pages of an extent.
pub(crate) const EXTENT_PAGES: u32 = 8;
/// Bytes of an extent.
pub(crate) const EXTENT_BYTES: u64 = PAGE_BYTES as u64 * EXTENT_PAGES as u64;
/// Bytes of a page's header.
pub(crate) const HEADER_BYTES: usize = 96;
/// Bytes of a sector; checksums and torn bits go by sectors.
pub(crate) const SECTOR_BYTES: usize = 512;

/// A page's place: the file's number and the page's number in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageAddress {
    /// Number of the file; 1 is the first data file.
    pub file: u16,
    /// Number of the page in the file.
    pub page: u32,
}

impl PageAddress {
    /// Reads an address of six bytes: the page, then the file.
    pub(crate) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self { page: u32_at(bytes, offset)?, file: u16_at(bytes, offset + 4)? })
    }

    /// Returns true for the address that stands for no page.
    pub(crate) fn is_none(self) -> bool {
        self.file == 0 && self.page == 0
    }
}

impl fmt::Display for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}:{}", self.file, self.page)
    }
}

impl fmt::Debug for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.page)
    }
}

/// A record's place: a page and a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RecordAddress {
    pub page: PageAddress,
    pub slot: u16,
}

impl RecordAddress {
    /// Reads an address of eight bytes: page, file, slot.
    pub(crate) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self { page: PageAddress::at(bytes, offset)?, slot: u16_at(bytes, offset + 6)? })
    }
}

impl fmt::Display for RecordAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, slot {}", self.page, self.slot)
    }
}

/// Kinds of pages, byte 1 of the header.
pub(crate) mod kind {
    pub const DATA: u8 = 1;
    pub const TEXT_MIX: u8 = 3;
    pub const TEXT_TREE: u8 = 4;
    pub const GAM: u8 = 8;
    pub const IAM: u8 = 10;
    pub const PFS: u8 = 11;
    pub const BOOT: u8 = 13;
    pub const FILE_HEADER: u8 = 15;
    pub const DIFFERENTIAL_MAP: u8 = 16;
}

/// The flag of a page that has a checksum.
const HAS_CHECKSUM: u16 = 0x0200;
/// The flag of a page whose sectors bear torn bits.
const HAS_TORN_BITS: u16 = 0x0100;
/// The flag (of the byte behind the kind) of a page that is compressed.
const HAS_COMPRESSION_INFORMATION: u8 = 0x80;
/// The flag of a page whose body is encrypted.
const IS_ENCRYPTED: u16 = 0x0008;

/// A page whose torn bits are restored.
pub(crate) struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
}

impl Page {
    /// Makes a page of its bytes: verifies its checksum or its torn bits, and restores what the torn bits replaced.
    ///
    /// # Errors
    /// Says what does not agree.
    pub(crate) fn verified(mut bytes: Box<[u8; PAGE_BYTES]>) -> std::result::Result<Self, Damage> {
        let flags = u16_at(&*bytes, 4).unwrap_or_default();
        let found = u32_at(&*bytes, 60).unwrap_or_default();
        if flags & HAS_CHECKSUM != 0 {
            let computed = sector_checksum_without(&*bytes, 60);
            if computed != found {
                return Err(Damage::Checksum {
                    found,
                    computed,
                    may_be_encrypted: flags & IS_ENCRYPTED != 0,
                });
            }
        } else if flags & HAS_TORN_BITS != 0 {
            restore_torn_bits(&mut bytes, found)?;
        }
        Ok(Self { bytes })
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> &[u8; PAGE_BYTES] {
        &self.bytes
    }

    /// Gives the buffer back, to be filled again.
    pub(crate) fn into_bytes(self) -> Box<[u8; PAGE_BYTES]> {
        self.bytes
    }

    /// Returns the kind of the page.
    pub(crate) fn kind(&self) -> u8 {
        self.bytes[1]
    }

    /// Returns the address that its header gives.
    pub(crate) fn address(&self) -> PageAddress {
        PageAddress::at(&*self.bytes, 32).unwrap_or_default()
    }

    /// Returns the next page of the chain, if there is one.
    pub(crate) fn next(&self) -> Option<PageAddress> {
        PageAddress::at(&*self.bytes, 16).filter(|address| !address.is_none())
    }

    /// Returns true if what the rows share stands before them: the page is compressed.
    pub(crate) fn has_compression_information(&self) -> bool {
        self.bytes[2] & HAS_COMPRESSION_INFORMATION != 0
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> u16 {
        u16_at(&*self.bytes, 22).unwrap_or_default()
    }

    /// Returns the log position of the last change: virtual log file, block, record.
    pub(crate) fn lsn(&self) -> [u8; 10] {
        array_at(&*self.bytes, 40).unwrap_or_default()
    }

    /// Returns the bytes from a slot's record on, to the end of the page; None for an empty slot.
    ///
    /// # Errors
    /// The slot points into the header or into the slots.
    pub(crate) fn record(&self, slot: u16) -> std::result::Result<Option<&[u8]>, BadSlot> {
        let slots_begin = PAGE_BYTES.saturating_sub(2 * usize::from(self.slots()));
        let entry = PAGE_BYTES.checked_sub(2 * (usize::from(slot) + 1)).ok_or(BadSlot { slot })?;
        match usize::from(u16_at(&*self.bytes, entry).unwrap_or_default()) {
            0 => Ok(None),
            offset if offset < HEADER_BYTES || offset >= slots_begin => Err(BadSlot { slot }),
            offset => Ok(self.bytes.get(offset..slots_begin)),
        }
    }
}

/// A part of a page that does not agree with its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The checksum.
    Checksum { found: u32, computed: u32, may_be_encrypted: bool },
    /// The pattern of a sector: the page was written in part.
    Torn { sector: usize },
}

/// A slot that points to no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadSlot {
    pub slot: u16,
}

/// Puts the two low bits of each sector's last byte back, after comparing the pattern that took their place.
fn restore_torn_bits(bytes: &mut [u8; PAGE_BYTES], word: u32) -> std::result::Result<(), Damage> {
    let pattern = (word & 3) as u8;
    for sector in 1..PAGE_BYTES / SECTOR_BYTES {
        let last = sector * SECTOR_BYTES + SECTOR_BYTES - 1;
        let Some(byte) = bytes.get_mut(last) else { continue };
        if *byte & 3 != pattern {
            return Err(Damage::Torn { sector });
        }
        *byte = *byte & !3 | (word >> (2 * sector) & 3) as u8;
    }
    Ok(())
}

/// Returns the address that a page's header gives, if the bytes may be a page.
pub(crate) fn header_address(bytes: &[u8]) -> Option<PageAddress> {
    (u8_at(bytes, 0)? == 1).then(|| PageAddress::at(bytes, 32)).flatten().filter(|address| address.file != 0)
}
