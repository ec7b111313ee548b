//! Random changes to inputs, the same for the same seed.

/// A small deterministic generator (SplitMix64).
pub struct Random(u64);

/// Bytes that decoders compare with or count by.
const BYTES: [u8; 12] = [0, 1, 2, 4, 8, 0x10, 0x7F, 0x80, 0xAC, 0xD1, 0xFE, 0xFF];

/// Numbers around the ends of their ranges.
const NUMBERS: [u64; 10] = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX - 1];

/// Inputs do not grow beyond this.
const INPUT_MAX_BYTES: usize = 1 << 16;

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound.max(1) as u64) as usize
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Changes `input` in one to eight places; `other` is an input to take pieces from.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(8) {
        change(input, other, random);
    }
    input.truncate(INPUT_MAX_BYTES);
}

fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len());
    let length = 1 + random.below(16);
    match random.below(9) {
        0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
        1 if !input.is_empty() => input[at] = *random.pick(&BYTES),
        2 if !input.is_empty() => input[at] = random.next_u64() as u8,
        3 => {
            let width = 1 << random.below(4);
            let number = random.pick(&NUMBERS).to_le_bytes();
            for (slot, byte) in input.iter_mut().skip(at).zip(&number[..width]) {
                *slot = *byte;
            }
        }
        4 => {
            let bytes = vec![*random.pick(&BYTES); length];
            input.splice(at..at, bytes);
        }
        5 => {
            let end = (at + length).min(input.len());
            input.drain(at..end);
        }
        6 => input.truncate(at),
        7 => {
            let end = (at + length * 4).min(input.len());
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, piece);
        }
        _ => {
            let from = random.below(other.len());
            let piece = &other[from..(from + length * 8).min(other.len())];
            let end = if random.below(2) == 0 { at } else { (at + piece.len()).min(input.len()) };
            input.splice(at..end, piece.iter().copied());
        }
    }
}
