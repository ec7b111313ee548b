//! UTF-16LE to UTF-8, made for short strings. It converts whole blocks of 16 code units. The last one
//! reads past the value's end, which is harmless: the bytes there belong to the same block of rows.

use super::error::RowDecodeErrorReason as Reason;

/// Code units of a block.
const UNITS: usize = 16;
const BLOCK_BYTES: usize = 2 * UNITS;

/// Appends the text of the `length` bytes at `start` of `block` to `out`. On error `out` is left as it was.
///
/// Whole blocks are narrowed from the start and from behind every run of characters beyond ASCII.
#[inline]
pub(super) fn append(block: &[u8], start: usize, length: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
    if !length.is_multiple_of(2) {
        return Err(Reason::OddUtf16 { length });
    }
    let before = out.len();
    let end = start + length;
    let mut at = start;
    while at < end {
        let Some(source) = block.get(at..at + BLOCK_BYTES).and_then(|source| source.first_chunk()) else {
            return rest(block.get(at..end).unwrap_or_default(), (at - start) / 2, before, out);
        };
        let left = ((end - at) / 2).min(UNITS);
        let (beyond, bytes) = narrow(source, left);
        if beyond != 0 && beyond < 0x800 {
            append_short(source, &bytes, left, out);
            at += 2 * left;
            continue;
        }
        let ascii = if beyond == 0 { left } else { ascii_units(source).min(left) };
        let ends = out.len() + ascii;
        out.extend_from_slice(&bytes);
        out.truncate(ends);
        at += 2 * ascii;
        if ascii < left {
            let run = block.get(at..end).unwrap_or_default();
            match append_run(run, (at - start) / 2, out) {
                Ok(units) => at += 2 * units,
                Err(reason) => {
                    out.truncate(before);
                    return Err(reason);
                }
            }
        }
    }
    Ok(())
}

/// Appends the text of UTF-16LE `bytes`. On error `out` is left as it was.
pub(super) fn append_all(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    append(bytes, 0, bytes.len(), out)
}

/// Returns the bits beyond ASCII that the first `units` (at most 16) have together, and the low bytes of all
/// 16.
#[inline]
fn narrow(source: &[u8; BLOCK_BYTES], units: usize) -> (u16, [u8; UNITS]) {
    let mut low = [0u8; UNITS];
    let mut beyond = 0u16;
    let masks = &HEAD_MASKS[units % (UNITS + 1)];
    for ((slot, unit), mask) in low.iter_mut().zip(source.as_chunks::<2>().0).zip(masks) {
        let unit = u16::from_le_bytes(*unit);
        beyond |= unit & mask;
        *slot = unit as u8;
    }
    (beyond, low)
}

/// Appends the first `units` of a block, none of which is beyond 7FF; `low` has the low bytes of all. The bytes between two
/// characters of two bytes are copied in one piece of fixed size.
#[inline]
fn append_short(source: &[u8; BLOCK_BYTES], low: &[u8; UNITS], units: usize, out: &mut Vec<u8>) {
    let mut padded = [0u8; 2 * UNITS];
    if let Some(head) = padded.first_chunk_mut() {
        *head = *low;
    }
    let mut beyond = beyond_ascii(source) & ((1u32 << units) - 1);
    let mut from = 0;
    let copy = |from: usize, to: usize, out: &mut Vec<u8>| {
        let end = out.len() + (to - from);
        let piece: Option<&[u8; UNITS]> = padded.get(from..).and_then(<[u8]>::first_chunk);
        out.extend_from_slice(piece.unwrap_or(&[0; UNITS]));
        out.truncate(end);
    };
    while beyond != 0 {
        let at = beyond.trailing_zeros() as usize;
        copy(from, at, out);
        let unit = source.as_chunks::<2>().0.get(at).map_or(0, |unit| u16::from_le_bytes(*unit));
        out.extend_from_slice(&two_bytes(unit));
        from = at + 1;
        beyond &= beyond - 1;
    }
    copy(from, units, out);
}

/// Marks each unit that is beyond ASCII with a bit.
#[inline]
fn beyond_ascii(source: &[u8; BLOCK_BYTES]) -> u32 {
    const HIGHEST: u64 = 0x8000_8000_8000_8000;
    source.as_chunks::<8>().0.iter().enumerate().fold(0, |bits, (index, word)| {
        let beyond = u64::from_le_bytes(*word) & NOT_ASCII;
        // The highest bit of each unit that has any.
        let highest = (((beyond & !HIGHEST) + !HIGHEST) | beyond) & HIGHEST;
        // Moves the bits side by side.
        let four = (highest >> 15).wrapping_mul(0x0001_0002_0004_0008) >> 48;
        bits | ((four & 0xf) as u32) << (4 * index)
    })
}

/// For each count of units, the bits that must be clear in each unit of a block.
const HEAD_MASKS: [[u16; UNITS]; UNITS + 1] = {
    let mut masks = [[0u16; UNITS]; UNITS + 1];
    let mut count = 0;
    while count <= UNITS {
        let mut unit = 0;
        while unit < count {
            masks[count][unit] = 0xff80;
            unit += 1;
        }
        count += 1;
    }
    masks
};

/// Counts the ASCII units before the first that is not ASCII.
#[inline]
fn ascii_units(source: &[u8; BLOCK_BYTES]) -> usize {
    let mut units = UNITS;
    // The loop runs from the back, so that the first unit beyond ASCII is the one that stays.
    for (index, word) in source.as_chunks::<8>().0.iter().enumerate().rev() {
        let beyond = u64::from_le_bytes(*word) & NOT_ASCII;
        if beyond != 0 {
            units = 4 * index + beyond.trailing_zeros() as usize / 16;
        }
    }
    units
}

/// Appends the characters beyond ASCII at the head of `bytes`: how many units they have. `first_unit` is the index of the first.
#[inline]
fn append_run(bytes: &[u8], first_unit: usize, out: &mut Vec<u8>) -> Result<usize, Reason> {
    let mut units = 0;
    loop {
        let rest = bytes.get(2 * units..).unwrap_or_default();
        match rest.first_chunk::<2>().map(|unit| u16::from_le_bytes(*unit)) {
            None | Some(0..0x80) => return Ok(units),
            Some(unit @ 0x80..0x800) => {
                out.extend_from_slice(&two_bytes(unit));
                units += 1;
            }
            Some(unit) => units += append_unit(unit, rest, first_unit + units, out)?,
        }
    }
}

/// Decodes the end of a block, where no whole one is left.
#[cold]
#[inline(never)]
fn rest(bytes: &[u8], first_unit: usize, before: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
    let done = transcode(bytes, first_unit, out);
    if done.is_err() {
        out.truncate(before);
    }
    done
}

/// The bits that none of four units has if all are ASCII.
const NOT_ASCII: u64 = 0xff80_ff80_ff80_ff80;

#[inline]
fn two_bytes(unit: u16) -> [u8; 2] {
    [0xc0 | (unit >> 6) as u8, continuation(u32::from(unit))]
}

/// Appends the character that begins with `unit`, beyond 7FF, at the head of `bytes`: how many units it has. `index` is the
/// unit's in its value.
#[inline]
fn append_unit(unit: u16, bytes: &[u8], index: usize, out: &mut Vec<u8>) -> Result<usize, Reason> {
    if !(0xd800..0xe000).contains(&unit) {
        let unit = u32::from(unit);
        out.extend_from_slice(&[0xe0 | (unit >> 12) as u8, continuation(unit >> 6), continuation(unit)]);
        return Ok(1);
    }
    let low = bytes.get(2..).and_then(<[u8]>::first_chunk::<2>).map(|low| u16::from_le_bytes(*low));
    let Some(low) = low.filter(|low| unit < 0xdc00 && (0xdc00..0xe000).contains(low)) else {
        return Err(Reason::InvalidUtf16 { unit: index });
    };
    let scalar = 0x1_0000 + ((u32::from(unit) & 0x3ff) << 10) + (u32::from(low) & 0x3ff);
    out.extend_from_slice(&[
        0xf0 | (scalar >> 18) as u8,
        continuation(scalar >> 12),
        continuation(scalar >> 6),
        continuation(scalar),
    ]);
    Ok(2)
}

/// Decodes code unit by code unit, but four at a time where they are ASCII. `first_unit` is the index of the
/// first.
fn transcode(bytes: &[u8], first_unit: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
    out.reserve(bytes.len());
    let mut rest = bytes;
    loop {
        if let Some((four, after)) = rest.split_first_chunk::<8>()
            && u64::from_le_bytes(*four) & NOT_ASCII == 0
        {
            out.extend_from_slice(&[four[0], four[2], four[4], four[6]]);
            rest = after;
            continue;
        }
        let Some((unit, after)) = rest.split_first_chunk::<2>() else { return Ok(()) };
        let index = first_unit + (bytes.len() - rest.len()) / 2;
        match u16::from_le_bytes(*unit) {
            unit @ 0..0x80 => out.push(unit as u8),
            unit @ 0x80..0x800 => out.extend_from_slice(&two_bytes(unit)),
            unit => {
                let units = append_unit(unit, rest, index, out)?;
                rest = rest.get(2 * units..).unwrap_or_default();
                continue;
            }
        }
        rest = after;
    }
}

#[inline]
fn continuation(bits: u32) -> u8 {
    0x80 | (bits & 0x3f) as u8
}
