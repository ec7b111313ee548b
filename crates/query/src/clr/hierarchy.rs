//! hierarchyid: the path to a node, in bits that order as the nodes do (MS-SSCLRT, "HierarchyId Structure").

use std::fmt;

/// Ranges of numbers and the bits that spell them: `x` is a bit of the number, the last one says whether a level ends.
const PATTERNS: [(i64, i64, &str); 13] = [
    (-281_479_271_682_120, -4_294_971_465, "000100xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
    (-4_294_971_464, -4_169, "000101xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
    (-4_168, -73, "000110xxxxx0xxx0x1xxxT"),
    (-72, -9, "0010xx0x1xxxT"),
    (-8, -1, "00111xxxT"),
    (0, 3, "01xxT"),
    (4, 7, "100xxT"),
    (8, 15, "101xxxT"),
    (16, 79, "110xx0x1xxxT"),
    (80, 1_103, "1110xxx0xxx0x1xxxT"),
    (1_104, 5_199, "11110xxxxx0xxx0x1xxxT"),
    (5_200, 4_294_972_495, "111110xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
    (4_294_972_496, 281_479_271_683_151, "111111xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
];

/// Bytes that SQL Server allows.
pub(super) const BYTES_MAX: usize = 892;

/// A path: the numbers of each level, of which there are several where a node was put between two others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    levels: Vec<Vec<i64>>,
}

impl Hierarchy {
    /// Returns the root.
    pub fn root() -> Hierarchy {
        Hierarchy { levels: Vec::new() }
    }

    /// Reads a path such as `/1/2.5/`; None for anything else, and for paths that are too long.
    pub fn parse(text: &str) -> Option<Hierarchy> {
        let inside = text.strip_prefix('/')?;
        if inside.is_empty() {
            return Some(Hierarchy::root());
        }
        let levels = inside
            .strip_suffix('/')?
            .split('/')
            .map(|level| level.split('.').map(|number| number.parse().ok()).collect())
            .collect::<Option<Vec<Vec<i64>>>>()?;
        let value = Hierarchy { levels };
        let known = |number: &i64| {
            pattern_of(*number).is_some()
                && number.checked_add(1).is_some_and(|next| pattern_of(next).is_some())
        };
        let spelt = value.levels.iter().flatten().all(known);
        (spelt && value.bytes().len() <= BYTES_MAX).then_some(value)
    }

    /// Reads the bits; None if they are not a path.
    pub fn read(bytes: &[u8]) -> Option<Hierarchy> {
        let bit = |at: usize| bytes.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1);
        let end = bytes.len() * 8;
        let (mut at, mut levels, mut level) = (0, Vec::new(), Vec::new());
        // Behind the last level stand zeros up to the end of the byte.
        while (at..end).any(|at| bit(at) == Some(1)) {
            let (low, pattern) = PATTERNS.iter().find_map(|(low, _, pattern)| {
                let fixed = |(index, wanted): (usize, char)| match wanted {
                    'x' | 'T' => bit(at + index).is_some(),
                    digit => bit(at + index) == digit.to_digit(2).map(|digit| digit as u8),
                };
                pattern.chars().enumerate().all(fixed).then_some((*low, *pattern))
            })?;
            let mut number = 0_i64;
            for (index, _) in pattern.chars().enumerate().filter(|(_, wanted)| *wanted == 'x') {
                number = number << 1 | i64::from(bit(at + index)?);
            }
            at += pattern.len();
            let ends = bit(at - 1)? == 1;
            // A number that another of the same level follows is one more than it means.
            level.push(low + number - i64::from(!ends));
            if ends {
                levels.push(std::mem::take(&mut level));
            }
        }
        level.is_empty().then_some(Hierarchy { levels })
    }

    /// Encodes the path in bits, padded with zeros to whole bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bits = Vec::new();
        for level in &self.levels {
            for (position, number) in level.iter().enumerate() {
                let ends = position + 1 == level.len();
                let number = number + i64::from(!ends);
                let Some((low, pattern)) = pattern_of(number) else { continue };
                let mut left = pattern.matches('x').count();
                for wanted in pattern.chars() {
                    bits.push(match wanted {
                        'x' => {
                            left -= 1;
                            (number - low) >> left & 1 == 1
                        }
                        'T' => ends,
                        digit => digit == '1',
                    });
                }
            }
        }
        bits.chunks(8)
            .map(|byte| byte.iter().enumerate().fold(0, |all, (at, bit)| all | u8::from(*bit) << (7 - at)))
            .collect()
    }

    /// Returns the distance from the root.
    pub fn level(&self) -> usize {
        self.levels.len()
    }

    /// Returns the node `steps` above; None above the root.
    pub fn ancestor(&self, steps: usize) -> Option<Hierarchy> {
        let kept = self.levels.len().checked_sub(steps)?;
        Some(Hierarchy { levels: self.levels.iter().take(kept).cloned().collect() })
    }

    /// Returns true if the node is `other` or below it.
    pub fn is_descendant_of(&self, other: &Hierarchy) -> bool {
        self.levels.starts_with(&other.levels)
    }
}

impl fmt::Display for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/")?;
        for level in &self.levels {
            let numbers: Vec<String> = level.iter().map(i64::to_string).collect();
            write!(f, "{}/", numbers.join("."))?;
        }
        Ok(())
    }
}

fn pattern_of(number: i64) -> Option<(i64, &'static str)> {
    PATTERNS
        .iter()
        .find(|(low, high, _)| (*low..=*high).contains(&number))
        .map(|(low, _, pattern)| (*low, *pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_spelt_in_bits_that_order_as_they_do() {
        assert_eq!(Hierarchy::parse("/1/").map(|path| path.bytes()), Some(vec![0x58]));
        assert_eq!(Hierarchy::parse("/").map(|path| path.bytes()), Some(Vec::new()));
        let ordered = [
            "/",
            "/-5000/",
            "/-1/",
            "/0/",
            "/1/",
            "/1/1/",
            "/1/7/",
            "/1.1/",
            "/2/",
            "/3.-4.9/",
            "/16/",
            "/80/",
            "/2000/",
            "/6000/",
            "/5000000000/",
        ];
        let mut before: Option<Vec<u8>> = None;
        for text in ordered {
            let path = Hierarchy::parse(text);
            let bytes = path.as_ref().map(Hierarchy::bytes);
            assert_eq!(bytes.as_deref().and_then(Hierarchy::read), path, "{text}");
            assert_eq!(path.map(|path| path.to_string()), Some(text.to_string()));
            assert!(before < bytes, "{text}");
            before = bytes;
        }
        for bad in
            ["", "1", "/1", "1/", "//", "/a/", "/1./", "/99999999999999999999/", "/9223372036854775807/"]
        {
            assert_eq!(Hierarchy::parse(bad), None, "{bad}");
        }
        for bytes in [&[0xFF_u8; 9][..], &[0x01], &[0x58, 0x01]] {
            let _ = Hierarchy::read(bytes);
        }
    }
}
