//! The log that a backup carries: whether the pages beside it are final, or some of them need what only the log has.
//!
//! A restore would repeat the log's records. A page whose position in the log is before that of a record has not seen it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    backup::{BackupSet, Lsn, Media},
    error::{FileError, Reason, Result, malformed},
    image::Image,
    little_endian::{array_at, u8_at, u16_at, u32_at},
    pages::{PageAddress, SECTOR_BYTES, sector_checksum_without},
};

/// Bytes of a block's head.
const BLOCK_HEAD_BYTES: usize = 40;
/// Largest block.
const BLOCK_BYTES_MAX: usize = 60 << 10;
/// Operations from here on have no page.
const WITHOUT_PAGE: u8 = 0x80;
/// The context of allocation bits of the differential map, which no row depends on.
const DIFFERENTIAL_BITS: u8 = 0x18;

/// Operations that concern transactions and checkpoints.
mod operation {
    pub const BEGIN: u8 = 0x80;
    pub const COMMIT: u8 = 0x81;
    pub const ABORT: u8 = 0x82;
    pub const CHECKPOINTS: [u8; 3] = [0x96, 0x98, 0x99];
}

/// Pages that the log would change, with the operation and the reason.
pub(crate) struct Unfinished(BTreeMap<PageAddress, String>);

impl Unfinished {
    /// Returns the first of these pages that the log would change, with the reason.
    pub(crate) fn find(&self, pages: impl IntoIterator<Item = PageAddress>) -> Option<(PageAddress, &str)> {
        if self.0.is_empty() {
            return None;
        }
        pages.into_iter().find_map(|page| self.0.get(&page).map(|reason| (page, reason.as_str())))
    }

    /// Returns the first page with its reason.
    pub(crate) fn first(&self) -> Option<(PageAddress, &str)> {
        self.0.first_key_value().map(|(page, reason)| (*page, reason.as_str()))
    }

    /// Returns no pages: those of a database that was shut down.
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }
}

/// A record of the log.
#[derive(Debug, Clone, Copy)]
struct Record {
    lsn: Lsn,
    transaction: [u8; 6],
    operation: u8,
    context: u8,
    page: Option<PageAddress>,
}

/// Finds the pages of an image that its backup's log would change.
///
/// # Errors
/// A block of the log is damaged, or a page cannot be read.
pub(crate) fn unfinished_pages(image: &Image, stripes: &[Media], set: usize) -> Result<Unfinished> {
    let Some(of_set) = stripes.first().and_then(|media| media.sets.get(set)) else {
        return Ok(Unfinished::none());
    };
    let mut records = Vec::new();
    for media in stripes {
        for piece in media.sets.get(set).map(|set| set.log.as_slice()).unwrap_or_default() {
            read_piece(media, piece.at, piece.length, of_set, &mut records)?;
        }
    }
    if !records.iter().any(|record| record.lsn == of_set.header.first_lsn) {
        let text = format!("the log in it does not begin at {}, as it says", of_set.header.first_lsn);
        return Err(FileError::new(image.name(), "the log", Reason::Incomplete(text)));
    }
    let is_quiet = records.iter().all(|record| operation::CHECKPOINTS.contains(&record.operation));
    if is_quiet && of_set.header.first_lsn == of_set.header.checkpoint_lsn {
        return Ok(Unfinished::none());
    }
    let mut pages = BTreeMap::new();
    for record in records.iter().filter(|record| record.context != DIFFERENTIAL_BITS) {
        let Some(address) = record.page else { continue };
        let page = image.page(address);
        let lsn = page.as_ref().ok().and_then(|page| Lsn::at(&page.lsn(), 0));
        if lsn.is_none_or(|lsn| lsn < record.lsn) {
            let reason =
                format!("the log's operation {:02x} at {} is not in it yet", record.operation, record.lsn);
            pages.entry(address).or_insert(reason);
        }
    }
    undo(&records, &mut pages);
    Ok(Unfinished(pages))
}

/// Adds the pages of transactions that have not ended, or have begun before the log does.
fn undo(records: &[Record], pages: &mut BTreeMap<PageAddress, String>) {
    let mut ended = HashSet::new();
    let mut touched: HashMap<[u8; 6], Vec<(PageAddress, Record)>> = HashMap::new();
    let mut begun = HashSet::new();
    for record in records {
        match (record.operation, record.page) {
            (operation::BEGIN, _) => drop(begun.insert(record.transaction)),
            (operation::COMMIT | operation::ABORT, _) => drop(ended.insert(record.transaction)),
            (_, Some(page)) if record.context != DIFFERENTIAL_BITS => {
                touched.entry(record.transaction).or_default().push((page, *record));
            }
            _ => {}
        }
    }
    let is_open = |transaction: &[u8; 6]| {
        *transaction != [0; 6] && !(begun.contains(transaction) && ended.contains(transaction))
    };
    for (_, touched) in touched.iter().filter(|(transaction, _)| is_open(transaction)) {
        for (page, record) in touched {
            let reason = format!(
                "the transaction of the log's operation {:02x} at {} has not ended",
                record.operation, record.lsn
            );
            pages.entry(*page).or_insert(reason);
        }
    }
}

/// Reads the blocks of a piece, and keeps the records between the backup's first and last position.
fn read_piece(media: &Media, at: u64, length: u64, set: &BackupSet, records: &mut Vec<Record>) -> Result<()> {
    let error = |at: u64, reason: Reason| {
        FileError::new(media.source.name(), format!("log block at byte {at}"), reason)
    };
    let end = at + length;
    let mut at = at;
    while at + BLOCK_HEAD_BYTES as u64 <= end {
        let mut head = [0; BLOCK_HEAD_BYTES];
        media
            .source
            .read_exact_at(&mut head, at)
            .map_err(|io| FileError::io(media.source.name(), "the log", &io))?;
        let size = usize::from(u16_at(&head, 6).unwrap_or_default());
        let is_block = matches!(head[0] >> 4, 5 | 9) && size >= SECTOR_BYTES && size % SECTOR_BYTES == 0;
        if !is_block {
            // Space that was never used.
            at += SECTOR_BYTES as u64;
            continue;
        }
        if size > BLOCK_BYTES_MAX || at + size as u64 > end {
            return Err(error(at, Reason::Truncated("it")));
        }
        let mut block = vec![0; size];
        media
            .source
            .read_exact_at(&mut block, at)
            .map_err(|io| FileError::io(media.source.name(), "the log", &io))?;
        let found = u32_at(&block, 24).unwrap_or_default();
        let computed = sector_checksum_without(&block, 24);
        if found != 0 && found != computed {
            return Err(error(at, Reason::Checksum { what: "it", found, computed }));
        }
        restore_parity(&mut block);
        let in_block =
            records_of(&block).ok_or_else(|| error(at, malformed("its slots do not lead to records")))?;
        records.extend(
            in_block
                .into_iter()
                .filter(|record| record.lsn >= set.header.first_lsn && record.lsn <= set.header.last_lsn),
        );
        at += size as u64;
    }
    Ok(())
}

/// Puts the first byte of each sector back, which a parity byte took the place of.
fn restore_parity(block: &mut [u8]) {
    for sector in 1..block.len() / SECTOR_BYTES {
        let true_byte = block.len().checked_sub(1 + sector).and_then(|at| block.get(at).copied());
        if let (Some(byte), Some(true_byte)) = (block.get_mut(sector * SECTOR_BYTES), true_byte) {
            *byte = true_byte;
        }
    }
}

/// Reads the records of a block.
fn records_of(block: &[u8]) -> Option<Vec<Record>> {
    let count = u16_at(block, 2)?;
    let slots_end = usize::from(u16_at(block, 4)?);
    let (virtual_log_file, number) = (u32_at(block, 12)?, u32_at(block, 16)?);
    (0..count)
        .map(|index| {
            let slot = slots_end.checked_sub(2 + 2 * usize::from(index))?;
            let record = block.get(usize::from(u16_at(block, slot)?)..)?;
            let operation = u8_at(record, 22)?;
            let page = match operation < WITHOUT_PAGE && usize::from(u16_at(record, 2)?) >= 46 {
                true => Some(PageAddress::at(record, 24)?),
                false => None,
            };
            Some(Record {
                lsn: Lsn { virtual_log_file, block: number, record: index + 1 },
                transaction: array_at(record, 16)?,
                operation,
                context: u8_at(record, 23)?,
                page: page.filter(|page| !page.is_none()),
            })
        })
        .collect()
}
