//! Records of the log: changes of pages, and ends of transactions.

use super::figures::{LogContext, LogPlace};
use crate::codec::{CodecError, Reader, Writer};
use crate::page::lsn::Lsn;
use crate::page::maps;
use crate::page::{PAGE_BYTES, Page, PageId, UnitId};

/// Shorter runs of zeros are kept in an image.
const LEAST_GAP: usize = 16;
/// Offset of the position of the transaction's record before this one.
const PREVIOUS: usize = 8;
/// Kind of an operation: a change; of a change: a new page.
const CHANGE: u8 = 4;
const FORMAT: u8 = 2;

/// A record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The transaction, or 0 for a record that is never undone.
    pub transaction: u64,
    /// The transaction's record before this one.
    pub previous: Lsn,
    /// The page that it is about, and its unit.
    pub place: LogPlace,
    /// Operation that the record describes.
    pub operation: Operation,
}

/// Operation of a log record, with what redo and undo need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// The transaction's first record.
    Begin,
    /// The transaction is committed; rows added to (or removed from) tables, by object id.
    Commit {
        /// Object id and difference.
        row_counts: Vec<(u32, i64)>,
    },
    /// A commit that was withdrawn for lack of space. It has no effect, and the length of the commit record.
    Withdrawn {
        /// Differences of row counts that the withdrawn commit had.
        row_counts: Vec<(u32, i64)>,
    },
    /// The transaction is part of one over several databases: it is committed if their coordinator has decided so. This log does
    /// not know the outcome.
    Prepare {
        /// Number of the transaction at its coordinator.
        global: u64,
        /// Differences of row counts that the commit will have.
        row_counts: Vec<(u32, i64)>,
    },
    /// A decision in the coordinator's log: the transaction that is prepared under this number is committed.
    /// Zero is a decision that was withdrawn for lack of space. The record belongs to no transaction.
    Decision {
        /// Number of the transaction at its coordinator, as in [`Prepare`](Self::Prepare).
        global: u64,
    },
    /// The transaction has been undone completely.
    End,
    /// A page changed.
    Change(Change),
    /// A change that undoes another one. It is never undone itself.
    Compensation {
        /// The transaction's next record to undo.
        undo_next: Lsn,
        /// Change that undoes the other one.
        change: Change,
    },
}

/// A change of one page. Doing it again to the same page gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The page as a whole, before its first change since a checkpoint. It repairs a torn write of the page.
    Image {
        /// Page that the image is of.
        page: PageId,
        /// Bytes of the page.
        image: Box<Page>,
    },
    /// The page as a whole, new.
    Format {
        /// Page that is formatted.
        page: PageId,
        /// Bytes of the page.
        image: Box<Page>,
    },
    /// New content of a page in use, as a whole: the root of a tree that becomes higher.
    Reformat {
        /// Page whose content is replaced.
        page: PageId,
        /// Bytes of the page before, but for log position and checksum.
        before: Box<Page>,
        /// Bytes of the page from now on.
        after: Box<Page>,
    },
    /// A record is put into a slot, see [`Page::insert`].
    Insert {
        /// Page that the record is put into.
        page: PageId,
        /// Slot of the record, from 0.
        slot: u16,
        /// True if later slots move up.
        shift: bool,
        /// Bytes of the record.
        row: Vec<u8>,
    },
    /// A record is taken out of a slot, see [`Page::remove`].
    Remove {
        /// Page that the record is taken out of.
        page: PageId,
        /// Slot of the record, from 0.
        slot: u16,
        /// True if later slots move down.
        shift: bool,
        /// The record that was there.
        row: Vec<u8>,
    },
    /// A record takes the place of another, see [`Page::replace`].
    Replace {
        /// Page of the record.
        page: PageId,
        /// Slot of the record, from 0.
        slot: u16,
        /// The record that was there.
        before: Vec<u8>,
        /// The record that is there now.
        after: Vec<u8>,
    },
    /// The neighbours of a page.
    Links {
        /// Page whose neighbours change.
        page: PageId,
        /// Previous and next before.
        before: (PageId, PageId),
        /// Previous and next after.
        after: (PageId, PageId),
    },
    /// Bits of an allocation map, all of which had the other value.
    SetBits {
        /// The map page.
        page: PageId,
        /// Number of the first bit.
        first: u32,
        /// Number of bits.
        count: u32,
        /// New value of the bits.
        value: bool,
    },
    /// Entries of a page that says how full each page is.
    SetFreeSpace {
        /// The PFS page.
        page: PageId,
        /// Number of the first entry.
        first: u32,
        /// Entries before the change.
        before: Vec<u8>,
        /// Entries after the change.
        after: Vec<u8>,
    },
}

impl LogRecord {
    /// Returns true if undoing the transaction needs a compensation for this record.
    pub fn is_undoable(&self) -> bool {
        matches!(&self.operation, Operation::Change(change) if self.transaction != 0 && change.has_inverse())
    }

    /// Returns the record's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        put_head(&mut out, self.transaction, self.previous, self.place);
        match &self.operation {
            Operation::Begin => out.u8(1),
            Operation::Commit { row_counts } | Operation::Withdrawn { row_counts } => {
                let withdrawn = matches!(self.operation, Operation::Withdrawn { .. });
                out.u8(if withdrawn { 6 } else { 2 });
                put_row_counts(&mut out, row_counts);
            }
            Operation::Prepare { global, row_counts } => {
                out.u8(7);
                out.u64(*global);
                put_row_counts(&mut out, row_counts);
            }
            Operation::Decision { global } => {
                out.u8(8);
                out.u64(*global);
            }
            Operation::End => out.u8(3),
            Operation::Change(change) => {
                out.u8(CHANGE);
                change.encode(&mut out);
            }
            Operation::Compensation { undo_next, change } => {
                out.u8(5);
                put_lsn(&mut out, *undo_next);
                change.encode(&mut out);
            }
        }
        out.into_bytes()
    }

    /// Parses a record that [`encode`](Self::encode) has made.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let transaction = reader.u64("transaction")?;
        let previous = take_lsn(&mut reader)?;
        let context = reader.u8("context")?;
        let context = LogContext::from_byte(context)
            .ok_or_else(|| reader.invalid("context", format!("{context} is none")))?;
        let unit = match context {
            LogContext::None => UnitId::default(),
            _ => UnitId { object: reader.u32("object")?, index: reader.u16("index")? },
        };
        let place = LogPlace { unit, context };
        let operation = match reader.u8("operation")? {
            1 => Operation::Begin,
            kind @ (2 | 6) => {
                let row_counts = take_row_counts(&mut reader)?;
                if kind == 2 { Operation::Commit { row_counts } } else { Operation::Withdrawn { row_counts } }
            }
            3 => Operation::End,
            CHANGE => Operation::Change(Change::decode(&mut reader)?),
            5 => {
                let undo_next = take_lsn(&mut reader)?;
                Operation::Compensation { undo_next, change: Change::decode(&mut reader)? }
            }
            7 => {
                let global = reader.u64("global transaction")?;
                Operation::Prepare { global, row_counts: take_row_counts(&mut reader)? }
            }
            8 => Operation::Decision { global: reader.u64("global transaction")? },
            other => return Err(reader.invalid("operation", format!("{other} is none"))),
        };
        reader.finish("record")?;
        Ok(Self { transaction, previous, place, operation })
    }
}

impl Change {
    /// Returns the page that changes.
    pub fn page(&self) -> PageId {
        match self {
            Self::Image { page, .. }
            | Self::Format { page, .. }
            | Self::Reformat { page, .. }
            | Self::Insert { page, .. }
            | Self::Remove { page, .. }
            | Self::Replace { page, .. }
            | Self::Links { page, .. }
            | Self::SetBits { page, .. }
            | Self::SetFreeSpace { page, .. } => *page,
        }
    }

    /// Returns true if the change does not depend on what the page held.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Image { .. } | Self::Format { .. })
    }

    /// Applies the change. Returns false, without any effect, if the page is not in the state that the change expects.
    pub fn apply(&self, target: &mut Page) -> bool {
        match self {
            Self::Image { image, .. } | Self::Format { image, .. } => {
                *target = (**image).clone();
                true
            }
            Self::Reformat { before, after, .. } => {
                let same = before.rows().eq(target.rows()) && before.level() == target.level();
                if same {
                    // The links to neighbours stay: they are no part of the content.
                    let (previous, next) = (target.previous(), target.next());
                    *target = (**after).clone();
                    target.set_links(previous, next);
                }
                same
            }
            Self::Insert { slot, shift, row, .. } => target.insert(*slot, row, *shift),
            Self::Remove { slot, shift, row, .. } => {
                target.row(*slot) == Some(row.as_slice()) && target.remove(*slot, *shift)
            }
            Self::Replace { slot, before, after, .. } => {
                target.row(*slot) == Some(before.as_slice()) && target.replace(*slot, after)
            }
            Self::Links { before, after, .. } => {
                // The two links may belong to different transactions: the one that does not change here may
                // have changed meanwhile.
                let (previous, next) = (target.previous(), target.next());
                let same = (before.0 == after.0 || previous == before.0)
                    && (before.1 == after.1 || next == before.1);
                if same {
                    let previous = if before.0 == after.0 { previous } else { after.0 };
                    let next = if before.1 == after.1 { next } else { after.1 };
                    target.set_links(previous, next);
                }
                same
            }
            Self::SetBits { first, count, value, .. } => maps::set_bits(target, *first, *count, *value),
            Self::SetFreeSpace { first, before, after, .. } => {
                maps::set_free_space(target, *first, before, after)
            }
        }
    }

    /// Returns true if only the backward link of a page changes, which no snapshot reads.
    pub fn is_backward_link(&self) -> bool {
        matches!(self, Self::Links { before, after, .. } if before.1 == after.1)
    }

    /// Returns true if undoing the change takes another change.
    pub fn has_inverse(&self) -> bool {
        !self.is_whole()
    }

    /// Returns the change that undoes this one; None if none is needed, since the page itself is freed.
    pub fn inverse(&self) -> Option<Self> {
        if !self.has_inverse() {
            return None;
        }
        Some(match self.clone() {
            Self::Image { .. } | Self::Format { .. } => return None,
            Self::Reformat { page, before, after } => Self::Reformat { page, before: after, after: before },
            Self::Insert { page, slot, shift, row } => Self::Remove { page, slot, shift, row },
            Self::Remove { page, slot, shift, row } => Self::Insert { page, slot, shift, row },
            Self::Replace { page, slot, before, after } => {
                Self::Replace { page, slot, before: after, after: before }
            }
            Self::Links { page, before, after } => Self::Links { page, before: after, after: before },
            Self::SetBits { page, first, count, value } => {
                Self::SetBits { page, first, count, value: !value }
            }
            Self::SetFreeSpace { page, first, before, after } => {
                Self::SetFreeSpace { page, first, before: after, after: before }
            }
        })
    }

    fn encode(&self, out: &mut Writer) {
        let kind = match self {
            Self::Image { .. } => 1,
            Self::Format { .. } => FORMAT,
            Self::Insert { .. } => 3,
            Self::Remove { .. } => 4,
            Self::Replace { .. } => 5,
            Self::Links { .. } => 6,
            Self::SetBits { .. } => 7,
            Self::SetFreeSpace { .. } => 8,
            Self::Reformat { .. } => 9,
        };
        out.u8(kind);
        put_page(out, self.page());
        match self {
            Self::Image { image, .. } | Self::Format { image, .. } => put_image(out, image.bytes()),
            Self::Reformat { before, after, .. } => {
                put_image(out, before.bytes());
                put_image(out, after.bytes());
            }
            Self::Insert { slot, shift, row, .. } | Self::Remove { slot, shift, row, .. } => {
                out.u32(u32::from(*slot));
                out.u8(u8::from(*shift));
                out.bytes(row);
            }
            Self::Replace { slot, before, after, .. } => {
                out.u32(u32::from(*slot));
                put_difference(out, before, after);
            }
            Self::Links { before, after, .. } => {
                for page in [before.0, before.1, after.0, after.1] {
                    put_page(out, page);
                }
            }
            Self::SetBits { first, count, value, .. } => {
                out.u32(*first);
                out.u32(*count);
                out.u8(u8::from(*value));
            }
            Self::SetFreeSpace { first, before, after, .. } => {
                out.u32(*first);
                put_runs(out, before);
                put_runs(out, after);
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let kind = reader.u8("change")?;
        let page = take_page(reader)?;
        Ok(match kind {
            1 => Self::Image { page, image: Box::new(take_image(reader)?) },
            FORMAT => Self::Format { page, image: Box::new(take_image(reader)?) },
            3 | 4 => {
                let slot = take_u16(reader, "slot")?;
                let shift = reader.u8("shift")? != 0;
                let row = reader.bytes("row")?.to_vec();
                if kind == 3 {
                    Self::Insert { page, slot, shift, row }
                } else {
                    Self::Remove { page, slot, shift, row }
                }
            }
            5 => {
                let slot = take_u16(reader, "slot")?;
                let (before, after) = take_difference(reader)?;
                Self::Replace { page, slot, before, after }
            }
            6 => {
                let mut pages = [PageId::NONE; 4];
                for place in &mut pages {
                    *place = take_page(reader)?;
                }
                let [a, b, c, d] = pages;
                Self::Links { page, before: (a, b), after: (c, d) }
            }
            7 => Self::SetBits {
                page,
                first: reader.u32("first bit")?,
                count: reader.u32("bits")?,
                value: reader.u8("value")? != 0,
            },
            8 => Self::SetFreeSpace {
                page,
                first: reader.u32("first entry")?,
                before: take_runs(reader)?,
                after: take_runs(reader)?,
            },
            9 => Self::Reformat {
                page,
                before: Box::new(take_image(reader)?),
                after: Box::new(take_image(reader)?),
            },
            other => return Err(reader.invalid("change", format!("{other} is none"))),
        })
    }
}

fn put_row_counts(out: &mut Writer, row_counts: &[(u32, i64)]) {
    out.count(row_counts.len());
    for (object, difference) in row_counts {
        out.u32(*object);
        out.u64(*difference as u64);
    }
}

fn take_row_counts(reader: &mut Reader<'_>) -> Result<Vec<(u32, i64)>, CodecError> {
    let count = reader.count(12, "row counts")?;
    (0..count).map(|_| Ok((reader.u32("object")?, reader.u64("difference")? as i64))).collect()
}

/// A log record of a new page. It is made without a copy of the page, and before the transaction's previous record is known.
#[derive(Debug)]
pub struct FormatRecord {
    pub(super) bytes: Vec<u8>,
    pub(super) context: LogContext,
}

impl FormatRecord {
    /// Makes the [`Change::Format`] of a page with these bytes.
    pub fn new(transaction: u64, place: LogPlace, page: PageId, bytes: &[u8; PAGE_BYTES]) -> Self {
        let mut out = Writer::with_capacity(PAGE_BYTES + 256);
        put_head(&mut out, transaction, Lsn::ZERO, place);
        out.u8(CHANGE);
        out.u8(FORMAT);
        put_page(&mut out, page);
        put_image(&mut out, bytes);
        Self { bytes: out.into_bytes(), context: place.context }
    }

    /// Sets the transaction's record before this one.
    pub fn set_previous(&mut self, previous: Lsn) {
        let mut out = Writer::default();
        put_lsn(&mut out, previous);
        let previous = out.into_bytes();
        if let Some(place) = self.bytes.get_mut(PREVIOUS..PREVIOUS + previous.len()) {
            place.copy_from_slice(&previous);
        }
    }
}

/// Writes the fields with which every record begins.
fn put_head(out: &mut Writer, transaction: u64, previous: Lsn, place: LogPlace) {
    out.u64(transaction);
    put_lsn(out, previous);
    out.u8(place.context as u8);
    if place.context != LogContext::None {
        out.u32(place.unit.object);
        out.u16(place.unit.index);
    }
}

fn put_lsn(out: &mut Writer, lsn: Lsn) {
    out.u32(lsn.file);
    out.u32(lsn.block);
    out.u32(u32::from(lsn.record));
}

fn take_lsn(reader: &mut Reader<'_>) -> Result<Lsn, CodecError> {
    Ok(Lsn { file: reader.u32("lsn")?, block: reader.u32("lsn")?, record: take_u16(reader, "lsn")? })
}

fn put_page(out: &mut Writer, page: PageId) {
    out.u32(page.page);
    out.u32(u32::from(page.file));
}

fn take_page(reader: &mut Reader<'_>) -> Result<PageId, CodecError> {
    Ok(PageId { page: reader.u32("page")?, file: take_u16(reader, "file")? })
}

fn take_u16(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, CodecError> {
    let value = reader.u32(field)?;
    u16::try_from(value).map_err(|_| reader.invalid(field, format!("{value} is too large")))
}

/// Writes the page without its long runs of zeros: pieces of offset, length, bytes.
fn put_image(out: &mut Writer, bytes: &[u8; PAGE_BYTES]) {
    /// Words that are looked at together.
    const GROUP: usize = 8;
    let mut pieces: Vec<(usize, usize)> = Vec::with_capacity(8);
    let mut add = |start: usize, length: usize| match pieces.last_mut() {
        Some((_, end)) if start < *end + LEAST_GAP => *end = start + length,
        _ => pieces.push((start, start + length)),
    };
    let (words, _) = bytes.as_chunks::<8>();
    for (index, group) in words.as_chunks::<GROUP>().0.iter().enumerate() {
        let start = index * GROUP * 8;
        // Most groups have either no word of zeros, or only such words.
        let zeros = group.iter().map(|word| usize::from(u64::from_ne_bytes(*word) == 0)).sum::<usize>();
        match zeros {
            0 => add(start, GROUP * 8),
            GROUP => {}
            _ => {
                let words = group.iter().enumerate().filter(|(_, word)| **word != [0; 8]);
                words.for_each(|(index, _)| add(start + index * 8, 8));
            }
        }
    }
    out.count(pieces.len());
    for (start, end) in pieces {
        out.u32(start as u32);
        out.bytes(bytes.get(start..end).unwrap_or_default());
    }
}

fn take_image(reader: &mut Reader<'_>) -> Result<Page, CodecError> {
    let mut bytes = [0; PAGE_BYTES];
    for _ in 0..reader.count(8, "pieces")? {
        let start = reader.u32("offset")? as usize;
        let piece = reader.bytes("piece")?;
        let place = start.checked_add(piece.len()).and_then(|end| bytes.get_mut(start..end));
        place.ok_or_else(|| reader.invalid("piece", "it runs over the page"))?.copy_from_slice(piece);
    }
    Ok(Page::from_bytes(bytes))
}

/// Writes two versions of a row: the lengths of their common beginning and end, then the bytes that differ.
fn put_difference(out: &mut Writer, before: &[u8], after: &[u8]) {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (rest_before, rest_after) =
        (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let tail = rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(a, b)| a == b).count();
    out.bytes(before.get(..head).unwrap_or_default());
    out.bytes(before.get(before.len() - tail..).unwrap_or_default());
    out.bytes(rest_before.get(..rest_before.len() - tail).unwrap_or_default());
    out.bytes(rest_after.get(..rest_after.len() - tail).unwrap_or_default());
}

fn take_difference(reader: &mut Reader<'_>) -> Result<(Vec<u8>, Vec<u8>), CodecError> {
    let (head, tail) = (reader.bytes("common head")?, reader.bytes("common tail")?);
    let (before, after) = (reader.bytes("before")?, reader.bytes("after")?);
    Ok(([head, before, tail].concat(), [head, after, tail].concat()))
}

/// Writes bytes in which the same value stands many times in a row: pairs of count and value.
fn put_runs(out: &mut Writer, bytes: &[u8]) {
    let runs: Vec<&[u8]> = bytes.chunk_by(|a, b| a == b).collect();
    out.count(runs.len());
    for run in runs {
        out.u32(run.len() as u32);
        out.u8(run.first().copied().unwrap_or(0));
    }
}

fn take_runs(reader: &mut Reader<'_>) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    for _ in 0..reader.count(5, "runs")? {
        let length = reader.u32("run")? as usize;
        let value = reader.u8("value")?;
        if bytes.len() + length > PAGE_BYTES {
            return Err(reader.invalid("run", "it runs over the page"));
        }
        bytes.resize(bytes.len() + length, value);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
