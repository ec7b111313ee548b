//! Finds a few byte values in a text, eight bytes at a step.

/// Positions of up to three byte values, in order.
///
/// Fields are short, often under ten bytes, so a `memchr` call for each would cost more than the search. Here one
/// register holds the matches of eight bytes and is emptied before the next is loaded.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    needles: [u64; 3],
    word_start: usize,
    /// High bit of every byte that matched and has not been given out.
    matches: u64,
}

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const SEVEN_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;

impl<'a> Scanner<'a> {
    /// Starts at byte `start`. To look for fewer than three values give one of them twice.
    pub(crate) fn new(text: &'a [u8], start: usize, needles: [u8; 3]) -> Self {
        let mut scanner = Self {
            text,
            needles: needles.map(|needle| u64::from(needle) * LOW_BITS),
            word_start: start,
            matches: 0,
        };
        scanner.matches = scanner.load();
        scanner
    }

    /// Returns the position of the next match.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        while self.matches == 0 {
            self.word_start += 8;
            if self.word_start >= self.text.len() {
                self.word_start = self.text.len();
                return None;
            }
            self.matches = self.load();
        }
        let position = self.word_start + (self.matches.trailing_zeros() / 8) as usize;
        self.matches &= self.matches - 1;
        Some(position)
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        match self.text.get(self.word_start..self.word_start + 8).and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => self.matches_in(u64::from_le_bytes(bytes)),
            None => self.load_tail(),
        }
    }

    #[cold]
    fn load_tail(&self) -> u64 {
        let tail = self.text.get(self.word_start..).unwrap_or_default();
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(tail) {
            *to = *from;
        }
        let within = if tail.is_empty() { 0 } else { u64::MAX >> (64 - 8 * tail.len().min(8)) };
        self.matches_in(u64::from_le_bytes(bytes)) & within
    }

    #[inline(always)]
    fn matches_in(&self, word: u64) -> u64 {
        let [a, b, c] = self.needles;
        zero_bytes(word ^ a) | zero_bytes(word ^ b) | zero_bytes(word ^ c)
    }
}

/// Marks the high bit of every byte of `word` that is zero, exactly (no false match behind a true one).
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    !(((word & SEVEN_BITS) + SEVEN_BITS) | word | SEVEN_BITS)
}

#[cfg(test)]
mod tests {
    use super::Scanner;

    #[test]
    fn finds_what_a_plain_search_finds() {
        // Every byte value at every alignment, with neighbours that differ by one.
        let text: Vec<u8> =
            (0..=255u8).flat_map(|byte| [byte, byte.wrapping_add(1), 0, b',', byte]).collect();
        for start in 0..20 {
            for needle in [0, 1, b',', 0x7F, 0x80, 0x81, 0xFF] {
                let mut scanner = Scanner::new(&text, start, [needle, b'\n', b'"']);
                let found: Vec<usize> = std::iter::from_fn(|| scanner.next()).collect();
                let expected: Vec<usize> =
                    (start..text.len()).filter(|&i| [needle, b'\n', b'"'].contains(&text[i])).collect();
                assert_eq!(found, expected, "needle {needle} from {start}");
            }
        }
    }
}
