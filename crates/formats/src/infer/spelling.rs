//! Spelling of the numbers of a column, and the question if their values alone reproduce it. A column has numbers if all its
//! values with decimals have equally many, or if none has a needless one. `1.9` beside `1.10` is text: they are two versions.

use super::number::digits;

/// Features that the spellings of a column have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    /// The number of decimals, if it is the same everywhere.
    decimals: Agreed<u32>,
    /// No decimals end with a zero: 1, 1.5.
    is_shortest: bool,
    /// No decimals end with a zero, but for a lone zero behind the point: 1.0, 1.5.
    is_pointed: bool,
    /// A zero stands in front of a point that no other digit precedes.
    leading_zero: Agreed<bool>,
    /// The exponents' letter, the sign of those that are not negative, and the fewest digits.
    letter: Agreed<u8>,
    plus: Agreed<bool>,
    padded: Agreed<usize>,
    /// Maximum number of digits in front of the point of a value without exponent.
    plain_places: Option<i64>,
    /// A value has neither a point nor an exponent.
    has_whole: bool,
    /// The least exponent that is not negative.
    exponent_min: Option<i64>,
}

/// A trait of values: not seen, the same in all, or different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreed<T> {
    Unseen,
    On(T),
    Mixed,
}

impl<T: Copy + PartialEq> Agreed<T> {
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unseen, seen) | (seen, Self::Unseen) => seen,
            (Self::On(a), Self::On(b)) if a == b => self,
            _ => Self::Mixed,
        }
    }

    fn is_mixed(self) -> bool {
        matches!(self, Self::Mixed)
    }
}

/// `e+16`, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exponent {
    letter: u8,
    sign: Option<u8>,
    /// Digits, if the first of several is a zero, or there is but one.
    padded: Option<usize>,
    value: i64,
}

impl Exponent {
    /// Parses the exponent behind its letter; `None` if it is malformed or beyond any double.
    pub(super) fn parse(letter: u8, written: &[u8]) -> Option<Self> {
        let (sign, unsigned) = match written {
            [sign @ (b'+' | b'-'), rest @ ..] => (Some(*sign), rest),
            _ => (None, written),
        };
        let (number, rest) = digits(unsigned);
        if number.is_empty() || number.len() > 4 || !rest.is_empty() {
            return None;
        }
        let magnitude = number.iter().fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0'));
        let is_padded = number.len() == 1 || number.first() == Some(&b'0');
        Some(Self {
            letter,
            sign,
            padded: is_padded.then_some(number.len()),
            value: if sign == Some(b'-') { -magnitude } else { magnitude },
        })
    }

    pub(super) fn has_sign(&self) -> bool {
        self.sign.is_some()
    }
}

impl Spelling {
    /// Describes the spelling of one number. `places` counts the digits before the point, unless the number
    /// is zero.
    pub(super) fn of(
        integer: &[u8],
        fraction: &[u8],
        places: Option<i64>,
        exponent: Option<Exponent>,
    ) -> Self {
        let is_whole = fraction.is_empty() && exponent.is_none();
        let is_shortest = fraction.last() != Some(&b'0');
        let leading_zero = match integer {
            [] => Agreed::On(false),
            b"0" if !fraction.is_empty() => Agreed::On(true),
            _ => Agreed::Unseen,
        };
        let of_exponent = |exponent: Exponent| match exponent.value < 0 {
            true => (Agreed::Unseen, None),
            false => (Agreed::On(exponent.sign == Some(b'+')), Some(exponent.value)),
        };
        let (plus, exponent_min) = exponent.map_or((Agreed::Unseen, None), of_exponent);
        Self {
            // Whole numbers stand beside any decimals: 5 beside 19.90.
            decimals: if is_whole { Agreed::Unseen } else { Agreed::On(fraction.len() as u32) },
            is_shortest,
            is_pointed: fraction == b"0" || (is_shortest && (!fraction.is_empty() || exponent.is_some())),
            leading_zero,
            letter: exponent.map_or(Agreed::Unseen, |exponent| Agreed::On(exponent.letter)),
            plus,
            padded: exponent.and_then(|exponent| exponent.padded).map_or(Agreed::Unseen, Agreed::On),
            plain_places: if exponent.is_none() { places } else { None },
            has_whole: is_whole,
            exponent_min,
        }
    }

    pub(super) fn merge(self, other: Self) -> Self {
        let least = |a: Option<i64>, b: Option<i64>| a.into_iter().chain(b).min();
        Self {
            decimals: self.decimals.merge(other.decimals),
            is_shortest: self.is_shortest && other.is_shortest,
            is_pointed: self.is_pointed && other.is_pointed,
            leading_zero: self.leading_zero.merge(other.leading_zero),
            letter: self.letter.merge(other.letter),
            plus: self.plus.merge(other.plus),
            padded: self.padded.merge(other.padded),
            plain_places: self.plain_places.max(other.plain_places),
            has_whole: self.has_whole || other.has_whole,
            exponent_min: least(self.exponent_min, other.exponent_min),
        }
    }

    /// Returns true if a decimal's spelling follows from its value and the column's form.
    pub(super) fn is_of_decimals(&self) -> bool {
        (!self.decimals.is_mixed() || self.is_shortest || self.is_pointed) && !self.leading_zero.is_mixed()
    }

    /// Returns true if a double's spelling follows from its value and the column's form.
    pub(super) fn is_of_floats(&self) -> bool {
        let mixed = self.leading_zero.is_mixed()
            || self.letter.is_mixed()
            || self.plus.is_mixed()
            || self.padded.is_mixed();
        // A thousand is not 1000.0 here and 1e+03 there.
        let overlaps = self.plain_places.zip(self.exponent_min).is_some_and(|(places, least)| least < places);
        let all_scientific = !self.decimals.is_mixed() && self.plain_places.is_none() && !self.has_whole;
        !mixed && !overlaps && (self.is_shortest || self.is_pointed || all_scientific)
    }
}
