//! The spelling of dates and numbers in texts of a source, where it is another than SQL Server's own.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{DateOrder, TextError};

/// The spelling of dates and numbers that the user of a source declares. The default is SQL Server's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSpelling {
    /// Order of day, month and year in all-digit dates that do not begin with a year of four digits; without it they are refused.
    pub date_order: Option<DateOrder>,
    /// The last year that two digits stand for, 2049 in SQL Server; without it years of two digits are refused.
    pub year_cutoff: Option<u16>,
    /// The spelling of numbers.
    pub numbers: Option<NumberSpelling>,
}

/// The year that SQL Server has as its "two digit year cutoff" by default.
pub const YEAR_CUTOFF: u16 = 2049;

/// The spelling of numbers. Parentheses and a minus sign behind the digits mean a negative number in all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NumberSpelling {
    /// The mark in front of the decimals.
    pub decimal: DecimalMark,
    /// The mark between groups of digits; without one such a mark is refused.
    pub thousands: Option<ThousandsMark>,
    /// The sign of a currency that may stand on either side; any other is refused.
    pub currency: Option<CurrencySign>,
    /// The meaning of a percent sign; without it a percent sign is refused.
    pub percent: Option<Percent>,
}

/// The mark in front of decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DecimalMark {
    /// `1.5`
    #[default]
    Point,
    /// `1,5`
    Comma,
}

/// The mark between groups of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThousandsMark {
    /// `1,234`
    Comma,
    /// `1.234`
    Point,
    /// `1 234`, with any blank: plain, no-break, thin or narrow.
    Blank,
    /// `1'234`, straight or typographic.
    Apostrophe,
}

/// The meaning of a percent sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Percent {
    /// `12%` is 12.
    Number,
    /// `12%` is 0.12.
    Fraction,
}

/// A currency's sign or code: `€`, `EUR`, `kr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CurrencySign {
    bytes: [u8; CurrencySign::BYTES_MAX],
    length: u8,
}

impl CurrencySign {
    const BYTES_MAX: usize = 12;

    /// Returns the sign as it is written.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Debug for CurrencySign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl FromStr for CurrencySign {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = trimmed(text);
        let is_part_of_numbers = |c: char| c.is_ascii_digit() || "+-.,()%'".contains(c);
        if trimmed.is_empty() || trimmed.len() > Self::BYTES_MAX || trimmed.contains(is_part_of_numbers) {
            return Err("expected the sign or the code of a currency, such as € or EUR".to_owned());
        }
        let mut bytes = [0; Self::BYTES_MAX];
        bytes.iter_mut().zip(trimmed.bytes()).for_each(|(slot, byte)| *slot = byte);
        Ok(Self { bytes, length: trimmed.len() as u8 })
    }
}

impl DecimalMark {
    fn char(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }
}

impl ThousandsMark {
    fn is(self, c: char) -> bool {
        match self {
            Self::Comma => c == ',',
            Self::Point => c == '.',
            Self::Blank => is_blank(c),
            Self::Apostrophe => matches!(c, '\'' | '\u{2019}'),
        }
    }
}

impl NumberSpelling {
    /// Returns true if the mark of decimals stands between groups too.
    pub fn is_contradictory(&self) -> bool {
        self.thousands.is_some_and(|mark| mark.is(self.decimal.char()))
    }

    /// Returns the number as SQL Server spells it: `-10861.80` for `10.861,80-`.
    ///
    /// # Errors
    /// The text is no number of this spelling. Groups have three digits, or, as in India, two in front of the last three.
    pub fn plain<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, TextError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Cow::Borrowed(text));
        }
        let Amount { is_negative, is_percent, digits } = self.amount(text)?;
        let malformed = self.malformed();
        let (mantissa, exponent) = match digits.find(['e', 'E']).and_then(|at| digits.split_at_checked(at)) {
            Some(parts) => parts,
            None => (digits, ""),
        };
        let (whole, fraction) = mantissa.split_once(self.decimal.char()).unwrap_or((mantissa, ""));
        let has_point = whole.len() < mantissa.len();
        let whole = self.ungrouped(whole).ok_or(malformed)?;
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_digits(fraction) || (is_percent && !exponent.is_empty()) {
            return Err(malformed);
        }
        let sign = if is_negative { "-" } else { "" };
        if is_percent && self.percent == Some(Percent::Fraction) {
            let padded = format!("{whole:0>3}");
            let (whole, moved) = padded.split_at_checked(padded.len() - 2).ok_or(malformed)?;
            let whole = whole.trim_start_matches('0');
            return Ok(Cow::Owned(format!("{sign}{:0>1}.{moved}{fraction}", whole)));
        }
        let point = if has_point { "." } else { "" };
        Ok(Cow::Owned(format!("{sign}{whole}{point}{fraction}{exponent}")))
    }

    /// Takes signs, parentheses, currency and percent from around the digits, each of them once.
    fn amount<'t>(&self, text: &'t str) -> Result<Amount<'t>, TextError> {
        let mut rest = trimmed(text);
        if rest.is_empty() {
            return Err(TextError::Empty);
        }
        let (mut negative, mut is_percent, mut has_currency) = (None, false, false);
        let either_end =
            |text: &'t str, sign: &str| text.strip_prefix(sign).or_else(|| text.strip_suffix(sign));
        loop {
            let before = rest.len();
            if negative.is_none() {
                let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
                if let Some(inner) = inner {
                    (negative, rest) = (Some(true), inner);
                } else if let Some(unsigned) = rest.strip_prefix('+') {
                    (negative, rest) = (Some(false), unsigned);
                } else if let Some(unsigned) =
                    MINUS_SIGNS.into_iter().find_map(|minus| either_end(rest, minus))
                {
                    (negative, rest) = (Some(true), unsigned);
                }
            }
            let currency = self.currency.as_ref().filter(|_| !has_currency);
            if let Some(bare) = currency.and_then(|sign| either_end(rest, sign.as_str())) {
                (has_currency, rest) = (true, bare);
            }
            if self.percent.is_some()
                && !is_percent
                && let Some(bare) = either_end(rest, "%")
            {
                (is_percent, rest) = (true, bare);
            }
            rest = trimmed(rest);
            if rest.len() == before {
                return Ok(Amount { is_negative: negative == Some(true), is_percent, digits: rest });
            }
        }
    }

    /// Returns the digits in front of the decimals without the marks between their groups.
    fn ungrouped<'t>(&self, whole: &'t str) -> Option<Cow<'t, str>> {
        if whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Cow::Borrowed(whole));
        }
        let mark = self.thousands?;
        let groups: Vec<&str> = whole.split(|c| mark.is(c)).collect();
        let [first, middle @ .., last] = groups.as_slice() else { return None };
        let of = |length: usize| middle.iter().all(|group| group.len() == length);
        let is_even = (of(3) && first.len() <= 3) || (of(2) && first.len() <= 2);
        let is_whole = !first.is_empty() && last.len() == 3 && is_even;
        let digits = groups.concat();
        (is_whole && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(Cow::Owned(digits))
    }

    fn malformed(&self) -> TextError {
        TextError::Syntax {
            expected: match self.decimal {
                DecimalMark::Point => "a number with a decimal point, as the options spell it",
                DecimalMark::Comma => "a number with a decimal comma, as the options spell it",
            },
        }
    }
}

/// The digits of a number, marks included, and what stood around them.
struct Amount<'t> {
    is_negative: bool,
    is_percent: bool,
    digits: &'t str,
}

/// The hyphen and the minus sign of typographers.
const MINUS_SIGNS: [&str; 2] = ["-", "\u{2212}"];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\u{A0}' | '\u{2009}' | '\u{202F}')
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c| is_blank(c) || c == '\t')
}
