//! Pass 1: walks the rows and notes where each cell starts.

use tds::LengthClass;

use super::error::RowDecodeErrorReason as Reason;

/// Maximum number of rows walked before their columns are gathered, so that a block and its cells stay in
/// cache.
const BLOCK_ROWS: usize = 512;
/// Fewest, however many columns there are.
const BLOCK_ROWS_MIN: usize = 16;
/// Cells whose starts are noted: a megabyte, or what the fewest rows take.
const BLOCK_CELLS: usize = 1 << 18;
/// A block ends before the row that would take it past this; a longer row is a block of its own.
pub(super) const BLOCK_BYTES: usize = 192 * 1024;
/// Stands for the start of a cell that the NULL bitmap of an NBCROW leaves out.
pub(super) const NULL_CELL: u32 = u32::MAX;
/// Maximum number of bytes of one long value (2 GiB less one), as of every large object of SQL Server.
const LONG_BYTES_MAX: u64 = i32::MAX as u64;
/// A row may not reach further than this from the start of its block before a cell's start is noted.
const REACH_MAX: usize = (u32::MAX / 2) as usize + (u32::MAX / 4) as usize;

pub(crate) const ROW: u8 = 0xd1;
pub(crate) const NBCROW: u8 = 0xd2;

/// Complete rows, one after another in the input.
pub(super) struct Block {
    pub rows: usize,
    /// Bytes from the start of the walk.
    pub bytes: usize,
    pub end: BlockEnd,
}

/// Reason why a block has no more rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockEnd {
    /// The block is full; another may follow.
    Full,
    /// The next token is not a row, or its row is not complete yet.
    Input,
    /// The next row is malformed.
    Malformed { column: usize, reason: Reason },
}

pub(super) struct Walker {
    classes: Vec<LengthClass>,
    /// Greatest number of rows of a block.
    rows_max: usize,
    /// The starts of the cells in bytes from the start of the block, `rows_max` for each column.
    starts: Vec<u32>,
    /// Place in a long value at which the input ended. The walk goes on there, so that a value that arrives
    /// in many pieces is walked once.
    resume: Option<Resume>,
}

/// A place inside an incomplete chunked value of the row at the head of the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resume {
    column: usize,
    /// Start of the value, from the row's start.
    value: usize,
    /// The next chunk's length, from the row's start.
    chunk: usize,
    /// Bytes in the chunks before it.
    found: u64,
}

/// Reason why a row's end was not reached.
pub(crate) enum Stop {
    Incomplete,
    Malformed { column: usize, reason: Reason },
}

impl Walker {
    pub fn new(classes: Vec<LengthClass>) -> Self {
        let rows_max = (BLOCK_CELLS / classes.len().max(1)).clamp(BLOCK_ROWS_MIN, BLOCK_ROWS);
        let starts = vec![0; rows_max * classes.len()];
        Self { classes, rows_max, starts, resume: None }
    }

    /// Lists for each column the starts of its cells, in bytes from the start of the block.
    pub fn lanes(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.chunks_exact(self.rows_max)
    }

    /// Walks at most `rows_max` rows from the head of `bytes`, which is where the last walk ended.
    pub fn walk(&mut self, bytes: &[u8], rows_max: usize) -> Block {
        let mut position = 0;
        let rows_max = rows_max.min(self.rows_max);
        for row in 0..rows_max {
            let walked = match bytes.get(position) {
                Some(&ROW) => self.plain_row(bytes, position, row),
                Some(&NBCROW) => self.compressed_row(bytes, position, row),
                _ => return Block { rows: row, bytes: position, end: BlockEnd::Input },
            };
            match walked {
                Ok(end) if end <= BLOCK_BYTES || row == 0 => position = end,
                Ok(_) => return Block { rows: row, bytes: position, end: BlockEnd::Full },
                Err(Stop::Incomplete) => return Block { rows: row, bytes: position, end: BlockEnd::Input },
                Err(Stop::Malformed { reason: Reason::RowTooLong, .. }) if row > 0 => {
                    return Block { rows: row, bytes: position, end: BlockEnd::Full };
                }
                Err(Stop::Malformed { column, reason }) => {
                    let end = BlockEnd::Malformed { column, reason };
                    return Block { rows: row, bytes: position, end };
                }
            }
        }
        Block { rows: rows_max, bytes: position, end: BlockEnd::Full }
    }

    /// Finds the end of the ROW token at `start`.
    #[inline]
    fn plain_row(&mut self, bytes: &[u8], start: usize, row: usize) -> Result<usize, Stop> {
        let mut position = start + 1;
        let lanes = self.starts.chunks_exact_mut(self.rows_max);
        for (column, (class, lane)) in self.classes.iter().zip(lanes).enumerate() {
            if let Some(slot) = lane.get_mut(row) {
                *slot = position as u32;
            }
            position = match *class {
                LengthClass::Fixed(width) => position + usize::from(width),
                LengthClass::ByteLen => {
                    let &length = bytes.get(position).ok_or(Stop::Incomplete)?;
                    position + 1 + usize::from(length)
                }
                LengthClass::UShortLen => short_end(bytes, position)?,
                class => long_end(bytes, class, start, position, column, &mut self.resume)?,
            };
        }
        row_end(bytes, position, self.classes.len())
    }

    /// Finds the end of the NBCROW token at `start`: a bitmap of NULLs comes first (MS-TDS 2.2.7.14).
    fn compressed_row(&mut self, bytes: &[u8], start: usize, row: usize) -> Result<usize, Stop> {
        let bitmap_end = start + 1 + self.classes.len().div_ceil(8);
        let bitmap = bytes.get(start + 1..bitmap_end).ok_or(Stop::Incomplete)?;
        let mut position = bitmap_end;
        let lanes = self.starts.chunks_exact_mut(self.rows_max);
        for (column, (class, lane)) in self.classes.iter().zip(lanes).enumerate() {
            let Some(slot) = lane.get_mut(row) else { continue };
            if bitmap.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1) {
                *slot = NULL_CELL;
                continue;
            }
            *slot = position as u32;
            position = match *class {
                LengthClass::Fixed(width) => position + usize::from(width),
                LengthClass::ByteLen => {
                    let &length = bytes.get(position).ok_or(Stop::Incomplete)?;
                    position + 1 + usize::from(length)
                }
                LengthClass::UShortLen => short_end(bytes, position)?,
                class => long_end(bytes, class, start, position, column, &mut self.resume)?,
            };
        }
        row_end(bytes, position, self.classes.len())
    }
}

/// Finds the end of a row, if the input reaches it.
#[inline]
pub(crate) fn row_end(bytes: &[u8], position: usize, columns: usize) -> Result<usize, Stop> {
    if position > bytes.len() {
        Err(Stop::Incomplete)
    } else if position > REACH_MAX {
        Err(Stop::Malformed { column: columns.saturating_sub(1), reason: Reason::RowTooLong })
    } else {
        Ok(position)
    }
}

#[inline]
fn short_end(bytes: &[u8], position: usize) -> Result<usize, Stop> {
    let prefix = bytes.get(position..position + 2).ok_or(Stop::Incomplete)?;
    let length = u16::from_le_bytes([prefix[0], prefix[1]]);
    Ok(position + 2 + if length == u16::MAX { 0 } else { usize::from(length) })
}

/// Finds the end of a chunked value, a legacy large object or a variant.
#[cold]
pub(crate) fn long_end(
    bytes: &[u8],
    class: LengthClass,
    row_start: usize,
    position: usize,
    column: usize,
    resume: &mut Option<Resume>,
) -> Result<usize, Stop> {
    let malformed = |reason| Stop::Malformed { column, reason };
    let end = match class {
        LengthClass::Plp => chunked_end(bytes, row_start, position, column, resume)?,
        LengthClass::LongLen => match *bytes.get(position).ok_or(Stop::Incomplete)? {
            0 => position + 1,
            pointer => {
                // Text pointer, 8 bytes of timestamp, then the length.
                let length_at = position + 1 + usize::from(pointer) + 8;
                let length = u64::from(word(bytes, length_at)?);
                length_at + 4 + in_memory(length).map_err(malformed)?
            }
        },
        LengthClass::Variant => {
            let length = u64::from(word(bytes, position)?);
            position + 4 + in_memory(length).map_err(malformed)?
        }
        LengthClass::Fixed(width) => position + usize::from(width),
        LengthClass::ByteLen => position + 1 + usize::from(*bytes.get(position).ok_or(Stop::Incomplete)?),
        LengthClass::UShortLen => short_end(bytes, position)?,
    };
    if end > REACH_MAX { Err(malformed(Reason::RowTooLong)) } else { Ok(end) }
}

/// Finds the end of a partially length-prefixed value: total or "unknown", chunks, an empty chunk.
fn chunked_end(
    bytes: &[u8],
    row_start: usize,
    position: usize,
    column: usize,
    resume: &mut Option<Resume>,
) -> Result<usize, Stop> {
    let header = bytes.get(position..position + 8).ok_or(Stop::Incomplete)?;
    let announced = u64::from_le_bytes(header.try_into().map_err(|_| Stop::Incomplete)?);
    if announced == super::plp::NULL {
        return Ok(position + 8);
    }
    let malformed = |reason| Stop::Malformed { column, reason };
    let value = position - row_start;
    let (mut at, mut found) = match resume.take() {
        Some(place) if row_start == 0 && place.column == column && place.value == value => {
            (place.chunk, place.found)
        }
        other => {
            // The place belongs to another value, for which it is still valid.
            *resume = other;
            (position + 8, 0)
        }
    };
    loop {
        let Ok(length) = word(bytes, at) else {
            *resume = Some(Resume { column, value, chunk: at - row_start, found });
            return Err(Stop::Incomplete);
        };
        if length == 0 {
            break;
        }
        found += u64::from(length);
        in_memory(found).map_err(malformed)?;
        // Waiting for the chunk would not make it right.
        if announced != super::plp::UNKNOWN && found > announced {
            return Err(malformed(Reason::ChunkTotal { announced, found }));
        }
        at += 4 + length as usize;
    }
    if announced != super::plp::UNKNOWN && announced != found {
        return Err(malformed(Reason::ChunkTotal { announced, found }));
    }
    Ok(at + 4)
}

#[inline]
pub(crate) fn word(bytes: &[u8], position: usize) -> Result<u32, Stop> {
    let word = bytes.get(position..position.saturating_add(4)).ok_or(Stop::Incomplete)?;
    Ok(u32::from_le_bytes(word.try_into().map_err(|_| Stop::Incomplete)?))
}

/// Checks that a large object of SQL Server may have this length.
fn in_memory(length: u64) -> Result<usize, Reason> {
    let limit = LONG_BYTES_MAX as usize;
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(Reason::TooLong { length: usize::try_from(length).unwrap_or(usize::MAX), limit }),
    }
}
