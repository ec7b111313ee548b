//! UTF-8 to UTF-16LE, and lengths of text, written so that the compiler can use vector instructions: fixed-size blocks without
//! branches.

/// Bytes that one step of the widening loop reads; it writes twice as many.
pub(crate) const WIDEN_BYTES: usize = 16;

/// Computes the length of `text` in UTF-16 code units.
///
/// Every UTF-8 sequence has one byte that is not a continuation byte and stands for one unit; four-byte
/// sequences stand for two.
pub(crate) fn utf16_len(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().map(|&byte| usize::from((byte as i8) >= -0x40) + usize::from(byte >= 0xF0)).sum();
    };
    let units: usize = words.iter().map(|word| units_in(u64::from_le_bytes(*word))).sum();
    // The last eight bytes without those that are counted already; the zeros in their place count one each.
    let counted = 8 - rest.len() as u32;
    let last = u64::from_le_bytes(*last).checked_shr(8 * counted).unwrap_or(0);
    units + units_in(last) - counted as usize
}

/// Counts the UTF-16 units that start in eight bytes of UTF-8, in all bytes at once.
fn units_in(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Continuation bytes are 10xxxxxx, leads of four bytes 11110xxx.
    let continuations = (word >> 7) & !(word >> 6) & ONES;
    let wide_leads = (word >> 7) & (word >> 6) & (word >> 5) & (word >> 4) & ONES;
    8 + (wide_leads.wrapping_mul(ONES) >> 56) as usize - (continuations.wrapping_mul(ONES) >> 56) as usize
}

/// Bytes of a short text. Short texts are read to this length, however short they are, so that no branch
/// depends on the length.
pub(crate) const SHORT_BYTES: usize = 32;

/// Ones for the bytes of a short text and zeros for those behind it, read from an offset that depends on its
/// length.
static KEPT: [u8; 2 * SHORT_BYTES] = {
    let mut kept = [0; 2 * SHORT_BYTES];
    let mut byte = 0;
    while byte < SHORT_BYTES {
        kept[byte] = 0xFF;
        byte += 1;
    }
    kept
};

/// Computes the length in UTF-16 code units of the first `length` (at most [`SHORT_BYTES`]) bytes of `head`.
#[inline(always)]
pub(crate) fn short_utf16_len(head: &[u8; SHORT_BYTES], length: usize) -> usize {
    let kept = KEPT.get(SHORT_BYTES.saturating_sub(length)..).and_then(<[u8]>::first_chunk::<SHORT_BYTES>);
    let Some(kept) = kept else { return length };
    // The counter is a byte, so that the compiler counts all bytes of the head at once.
    let mut fewer = 0_u8;
    for (&byte, &kept) in head.iter().zip(kept) {
        let (continuation, wide_lead) = (u8::from((byte as i8) < -0x40), u8::from(byte >= 0xF0));
        fewer = fewer.wrapping_add(continuation.wrapping_sub(wide_lead) & kept);
    }
    length - usize::from(fewer)
}

/// Marks with a bit each byte beyond ASCII among the first `length` (at most [`SHORT_BYTES`]) of `head`.
#[inline(always)]
pub(crate) fn beyond_ascii(head: &[u8; SHORT_BYTES], length: usize) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Moves bit 0 of byte i to bit 56 + i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut bits = 0;
    for (index, word) in head.as_chunks::<8>().0.iter().enumerate() {
        let high = (u64::from_le_bytes(*word) >> 7) & ONES;
        bits |= ((high.wrapping_mul(GATHER) >> 56) as u32) << (8 * index);
    }
    bits & ((1u64 << length) - 1) as u32
}

/// Writes the first `length` (at most [`SHORT_BYTES`]) bytes of UTF-8 `text` as UTF-16LE over `out`. The
/// [`SHORT_BYTES`] units behind may be overwritten too. False, with useless bytes in `out`, if `text` or
/// `out` ends too early for that, or the text is longer than `units`.
///
/// Whole blocks are widened from the start and from behind every character that is not ASCII.
#[inline(always)]
pub(crate) fn transcode_short(text: &[u8], length: usize, units: usize, out: &mut [u8]) -> bool {
    let out = out.as_chunks_mut::<2>().0;
    let (Some(head), Some(target)) = (text.first_chunk(), out.first_chunk_mut::<SHORT_BYTES>()) else {
        return false;
    };
    widen_block(head, target);
    let mut beyond = u64::from(beyond_ascii(head, length));
    // Bytes of the text that have no unit of their own.
    let mut surplus = 0;
    while beyond != 0 {
        let at = beyond.trailing_zeros() as usize;
        let to = at - surplus;
        let rest = text.get(at..).unwrap_or_default();
        let Some(first) = rest.first_chunk::<2>() else { return false };
        let (scalar, used) = match first {
            &[lead @ ..0xE0, next] => (u32::from(lead & 0x1F) << 6 | u32::from(next & 0x3F), 2),
            _ => decode_sequence(rest),
        };
        let mut written = 1;
        if scalar < 0x1_0000 {
            let Some(unit) = out.get_mut(to) else { return false };
            *unit = (scalar as u16).to_le_bytes();
        } else {
            let pair = out.get_mut(to..).and_then(<[_]>::first_chunk_mut::<2>);
            let Some(pair) = pair else { return false };
            *pair = surrogates(scalar);
            written = 2;
        }
        let (next, to) = (at + used, to + written);
        if next < to || to > units {
            return false;
        }
        surplus = next - to;
        beyond &= u64::MAX.checked_shl(next as u32).unwrap_or(0);
        if beyond.checked_shr(next as u32).unwrap_or(0) & 1 == 1 {
            continue;
        }
        let source = text.get(next..).and_then(<[u8]>::first_chunk);
        let target = out.get_mut(to..).and_then(<[_]>::first_chunk_mut::<SHORT_BYTES>);
        let (Some(source), Some(target)) = (source, target) else { return false };
        widen_block(source, target);
    }
    true
}

/// Returns the two units of a character beyond the basic plane.
#[inline(always)]
fn surrogates(scalar: u32) -> [[u8; 2]; 2] {
    let offset = scalar.wrapping_sub(0x1_0000);
    let (high, low) = (0xD800 | ((offset >> 10) as u16 & 0x3FF), 0xDC00 | (offset as u16 & 0x3FF));
    [high.to_le_bytes(), low.to_le_bytes()]
}

/// Writes ASCII `text` as UTF-16LE over the first `2 * text.len()` bytes of `out`.
///
/// `out` must be at least that long; text that does not fit is left out.
#[inline]
pub(crate) fn widen_ascii(text: &[u8], out: &mut [u8]) {
    let mut out = out.as_chunks_mut::<2>().0;
    let (blocks, mut rest) = text.as_chunks::<WIDEN_BYTES>();
    for block in blocks {
        let Some((target, after)) = out.split_first_chunk_mut() else { return };
        widen_block(block, target);
        out = after;
    }
    if let (Some((half, after)), true) = (rest.split_first_chunk::<8>(), out.len() >= 8) {
        let (target, after_target) = out.split_at_mut(8);
        if let Some(target) = target.first_chunk_mut() {
            widen_block(half, target);
        }
        (rest, out) = (after, after_target);
    }
    for (&byte, unit) in rest.iter().zip(out) {
        *unit = [byte, 0];
    }
}

/// Widens ASCII bytes to UTF-16LE units. By way of numbers: the compiler makes vector instructions of that.
#[inline(always)]
pub(crate) fn widen_block<const N: usize>(block: &[u8; N], out: &mut [[u8; 2]; N]) {
    let units: [u16; N] = std::array::from_fn(|index| u16::from(block[index]));
    for (bytes, unit) in out.iter_mut().zip(units) {
        *bytes = unit.to_le_bytes();
    }
}

/// Writes UTF-8 `text` as UTF-16LE over the head of `out`, which holds exactly its UTF-16 form.
///
/// Runs of ASCII are widened a block at a time, the rest is decoded sequence by sequence. `text` comes from an
/// Arrow string array, so it is valid UTF-8. Invalid bytes would be written as the units that their lead byte
/// announces, never past the end of `out`.
pub(crate) fn transcode_utf16(text: &[u8], out: &mut [u8]) {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let mut text = text;
    let mut out = out.as_chunks_mut::<2>().0;
    while let Some(&lead) = text.first() {
        // Eight bytes are widened whether they are ASCII or not; what is not is written over next.
        if let (Some(block), Some(target)) = (text.first_chunk::<8>(), out.first_chunk_mut::<8>()) {
            widen_block(block, target);
            let ascii = (u64::from_le_bytes(*block) & HIGH_BITS).trailing_zeros() as usize / 8;
            if ascii > 0 {
                (text, out) =
                    (text.get(ascii..).unwrap_or_default(), out.get_mut(ascii..).unwrap_or_default());
                continue;
            }
        } else if lead < 0x80 {
            let Some((unit, rest)) = out.split_first_mut() else { return };
            *unit = [lead, 0];
            (text, out) = (text.get(1..).unwrap_or_default(), rest);
            continue;
        }
        let (scalar, used) = decode_sequence(text);
        if scalar < 0x1_0000 {
            let Some((unit, rest)) = out.split_first_mut() else { return };
            *unit = (scalar as u16).to_le_bytes();
            out = rest;
        } else {
            let Some((pair, rest)) = out.split_first_chunk_mut::<2>() else { return };
            *pair = surrogates(scalar);
            out = rest;
        }
        text = text.get(used..).unwrap_or_default();
    }
}

/// Decodes the scalar value at the head of `text` (whose first byte is not ASCII), and returns its length in
/// bytes too.
fn decode_sequence(text: &[u8]) -> (u32, usize) {
    let continuation = |index: usize| u32::from(text.get(index).copied().unwrap_or(0x80) & 0x3F);
    let lead = u32::from(text.first().copied().unwrap_or(0));
    match lead {
        0xF0.. => ((lead & 0x07) << 18 | continuation(1) << 12 | continuation(2) << 6 | continuation(3), 4),
        0xE0.. => ((lead & 0x0F) << 12 | continuation(1) << 6 | continuation(2), 3),
        _ => ((lead & 0x1F) << 6 | continuation(1), 2),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let expected: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(2 * utf16_len(text.as_bytes()), expected.len(), "{text:?}");
        // The text behind must not change the result.
        let mut padded = [text.as_bytes(), "é€😀é€😀é€😀é€😀".as_bytes()].concat();
        padded.resize(text.len() + 2 * SHORT_BYTES, 0xC3);
        if let (true, Some(head)) = (text.len() <= SHORT_BYTES, padded.first_chunk()) {
            assert_eq!(2 * short_utf16_len(head, text.len()), expected.len(), "{text:?}");
            let bits = beyond_ascii(head, text.len());
            let beyond = text.bytes().map(|byte| u32::from(byte >= 0x80)).sum::<u32>();
            assert_eq!(bits.count_ones(), beyond, "{text:?}");
            let slack = 2 * SHORT_BYTES;
            let mut out = vec![0xEE; expected.len() + slack + 1];
            assert!(transcode_short(&padded, text.len(), expected.len() / 2, &mut out), "{text:?}");
            assert_eq!(out[..expected.len()], expected, "{text:?}");
            assert_eq!(out.last(), Some(&0xEE), "{text:?}: written beyond the slack");
        }
        let mut out = vec![0xEE; expected.len()];
        transcode_utf16(text.as_bytes(), &mut out);
        assert_eq!(out, expected, "{text:?}");
        if text.is_ascii() {
            let mut out = vec![0xEE; expected.len()];
            widen_ascii(text.as_bytes(), &mut out);
            assert_eq!(out, expected, "{text:?}");
        }
    }

    #[test]
    fn every_length_around_the_block_size() {
        for length in 0..70 {
            check(&"abcdefghijklmnopqrstuvwxyz0123456789".chars().cycle().take(length).collect::<String>());
            check(&"é€😀x".chars().cycle().take(length).collect::<String>());
        }
    }

    #[test]
    fn one_accent_at_every_place() {
        for length in 0..=30 {
            for at in 0..=length {
                let text: String = (0..=length).map(|index| if index == at { 'ß' } else { 'x' }).collect();
                check(&text);
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "\\PC{0,80}") {
            check(&text);
        }

        #[test]
        fn agrees_on_mostly_ascii(text in "[a-z]{0,40}[à-ÿ€😀]{0,2}[a-z ]{0,40}") {
            check(&text);
        }
    }
}
