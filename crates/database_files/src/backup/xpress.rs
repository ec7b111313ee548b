//! LZ77 with Huffman codes: MS-XCA 2.2, one table of codes for each block of up to 64 KB.

/// Symbols of a table: 256 bytes, then 256 pairs of a length and a number of offset bits.
const SYMBOLS: usize = 512;
/// Bytes of the code lengths, four bits each.
const TABLE_BYTES: usize = SYMBOLS / 2;
/// Longest code.
const CODE_BITS_MAX: u32 = 15;

/// Unpacks a block of one table, and makes `output` exactly `length` bytes longer.
///
/// # Errors
/// The codes do not make a whole tree, a match points before the start, or the input is too short.
pub(crate) fn unpack(
    input: &[u8],
    length: usize,
    output: &mut Vec<u8>,
    codes: &mut Codes,
) -> Result<(), Broken> {
    let (table, body) = input.split_at_checked(TABLE_BYTES).ok_or(Broken::Truncated)?;
    codes.fill(table)?;
    let start = output.len();
    let end = start + length;
    output.reserve(length);
    let mut bits = Bits::new(body);
    while output.len() < end {
        let symbol = bits.symbol(codes)?;
        let Some(pair) = symbol.checked_sub(256) else {
            output.push(symbol as u8);
            continue;
        };
        let mut run = usize::from(pair & 15);
        if run == 15 {
            run = bits.long_run()?;
        }
        let offset_bits = u32::from(pair >> 4);
        let offset = (1_usize << offset_bits) + bits.take(offset_bits) as usize;
        let run = run + 3;
        let from = output.len().checked_sub(offset).filter(|from| *from >= start).ok_or(Broken::Offset)?;
        if output.len() + run > end {
            return Err(Broken::Length);
        }
        match offset >= run {
            true => output.extend_from_within(from..from + run),
            // The match overlaps what it makes.
            false => (0..run).for_each(|step| {
                let byte = output.get(from + step).copied().unwrap_or_default();
                output.push(byte);
            }),
        }
    }
    Ok(())
}

/// An error in a packed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("its packed bytes end too early")]
    Truncated,
    #[error("its code lengths do not make a whole tree")]
    Codes,
    #[error("a match points before its start")]
    Offset,
    #[error("a match reaches beyond its end")]
    Length,
}

/// Codes of a block: for every 15 bits the symbol that they begin with, and the bits of its code.
pub(crate) struct Codes(Box<[(u16, u8)]>);

impl Codes {
    /// Makes an empty table, which every block fills.
    pub(crate) fn new() -> Self {
        Self(vec![(0, 0); 1 << CODE_BITS_MAX].into_boxed_slice())
    }

    /// Gives each symbol its run of the table: shortest codes first, then by symbol.
    fn fill(&mut self, table: &[u8]) -> Result<(), Broken> {
        let mut lengths = [0_u8; SYMBOLS];
        for (pair, byte) in lengths.chunks_exact_mut(2).zip(table) {
            pair.copy_from_slice(&[byte & 15, byte >> 4]);
        }
        let mut at = 0;
        for length in 1..=CODE_BITS_MAX {
            let run = 1 << (CODE_BITS_MAX - length);
            for (symbol, _) in (0_u16..).zip(&lengths).filter(|(_, of)| u32::from(**of) == length) {
                let entries = self.0.get_mut(at..at + run).ok_or(Broken::Codes)?;
                entries.fill((symbol, length as u8));
                at += run;
            }
        }
        match at == self.0.len() {
            true => Ok(()),
            false => Err(Broken::Codes),
        }
    }
}

/// Bits of words of 16, the highest first. Bytes of long runs stand between the words.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bits that were read and not used, from the highest on.
    word: u32,
    /// Used bits beyond the sixteen that are always there.
    spare: i32,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut bits = Self { bytes, at: 0, word: 0, spare: 16 };
        let (first, second) = (bits.next_word(), bits.next_word());
        bits.word = first << 16 | second;
        bits
    }

    /// Takes two bytes; past the end there are zeros.
    fn next_word(&mut self) -> u32 {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()).copied();
        self.at += 2;
        u32::from(u16::from_le_bytes(word.unwrap_or_default()))
    }

    /// Drops bits, and takes the next word if fewer than sixteen are left.
    #[inline]
    fn skip(&mut self, count: u32) {
        self.word = self.word.checked_shl(count).unwrap_or_default();
        self.spare -= count as i32;
        if self.spare < 0 {
            let word = self.next_word();
            self.word |= word << self.spare.unsigned_abs();
            self.spare += 16;
        }
    }

    #[inline]
    fn symbol(&mut self, codes: &Codes) -> Result<u16, Broken> {
        let index = (self.word >> (32 - CODE_BITS_MAX)) as usize;
        let (symbol, length) = codes.0.get(index).copied().unwrap_or_default();
        // Two words may be missing at the end: they are read before they are needed.
        if length == 0 || self.at > self.bytes.len() + 4 {
            return Err(Broken::Truncated);
        }
        self.skip(u32::from(length));
        Ok(symbol)
    }

    #[inline]
    fn take(&mut self, count: u32) -> u32 {
        let bits = if count == 0 { 0 } else { self.word >> (32 - count) };
        self.skip(count);
        bits
    }

    /// Reads a length above 14 from the bytes between the words.
    fn long_run(&mut self) -> Result<usize, Broken> {
        let byte = self.bytes.get(self.at).copied().ok_or(Broken::Truncated)?;
        self.at += 1;
        if byte < u8::MAX {
            return Ok(15 + usize::from(byte));
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let word = rest.first_chunk().copied().map(u16::from_le_bytes).ok_or(Broken::Truncated)?;
        self.at += 2;
        if word != 0 {
            return Ok(usize::from(word));
        }
        let long = rest.get(2..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes);
        self.at += 4;
        Ok(long.ok_or(Broken::Truncated)? as usize)
    }
}
