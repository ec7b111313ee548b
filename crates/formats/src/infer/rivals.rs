//! Readings of a column whose values SQL Server spells otherwise: those that all values so far allow.
//!
//! A column is read so only if its values leave one reading. Where two are left that differ in a value, it stays text.

use rows::text::DateOrder;
use rows::text::spelling::{DecimalMark, NumberSpelling, ThousandsMark, YEAR_CUTOFF};

use super::shape::Shape;
use crate::column_reading::{ValueSpelling, plain_date};

/// The readings that are left, each with the shape of its values.
pub(super) struct Rivals {
    left: Vec<Rival>,
    /// The first value of each two readings that they take for different ones.
    doubts: Vec<(ValueSpelling, ValueSpelling, Doubt)>,
}

/// A reading of the values.
struct Rival {
    spelling: ValueSpelling,
    shape: Shape,
    /// A value that is not SQL Server's spelling, and what it becomes.
    example: Option<(String, String)>,
    /// A value has a mark between groups of digits.
    has_groups: bool,
    /// A hash (FNV-1a) of all values as they are read: readings that agree in it have the same values.
    digest: u64,
}

/// A value with two readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The value.
    pub value: String,
    /// Two of its readings.
    pub readings: [String; 2],
    /// The values are dates; otherwise they are numbers.
    pub is_date: bool,
}

/// What the values leave.
pub(super) enum Verdict {
    /// No reading.
    None,
    /// One reading, the shape of its values, and a value with what it becomes.
    One { spelling: ValueSpelling, shape: Shape, value: String, plain: String },
    /// Two, which differ.
    Two(Doubt),
}

/// Spellings of numbers without currency and percent, which nothing but an option allows.
const NUMBERS: [(DecimalMark, Option<ThousandsMark>); 8] = [
    (DecimalMark::Point, None),
    (DecimalMark::Point, Some(ThousandsMark::Comma)),
    (DecimalMark::Point, Some(ThousandsMark::Apostrophe)),
    (DecimalMark::Point, Some(ThousandsMark::Blank)),
    (DecimalMark::Comma, None),
    (DecimalMark::Comma, Some(ThousandsMark::Point)),
    (DecimalMark::Comma, Some(ThousandsMark::Apostrophe)),
    (DecimalMark::Comma, Some(ThousandsMark::Blank)),
];

const DATES: [DateOrder; 3] = [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay];

/// The spelling in which points stand between groups of three digits.
pub(super) const GROUPED_BY_POINTS: NumberSpelling = NumberSpelling {
    decimal: DecimalMark::Comma,
    thousands: Some(ThousandsMark::Point),
    currency: None,
    percent: None,
};

impl Rivals {
    /// Begins with the readings that the values so far allow, which have `shape` as SQL Server spells them. `by_points` is the
    /// shape that they have if their points stand between groups; `numbers` and `dates` say which readings are open.
    pub(super) fn new(shape: Shape, by_points: Option<Shape>, numbers: bool, dates: bool) -> Self {
        let mut left = Vec::new();
        let mut add = |spelling, shape| {
            left.push(Rival { spelling, shape, example: None, has_groups: false, digest: DIGEST_START })
        };
        let is_whole = matches!(shape, Shape::Number(number) if number.range.is_some());
        if numbers && (matches!(shape, Shape::Unseen | Shape::Number(_))) {
            let starts = (is_whole || shape == Shape::Unseen).then_some(shape);
            for (decimal, thousands) in NUMBERS {
                let spelling = NumberSpelling { decimal, thousands, ..NumberSpelling::default() };
                let shape = match decimal {
                    DecimalMark::Comma if spelling == GROUPED_BY_POINTS => by_points.or(starts),
                    DecimalMark::Comma => starts,
                    DecimalMark::Point => Some(shape),
                };
                if let Some(shape) = shape {
                    add(ValueSpelling::Numbers(spelling), shape);
                }
            }
        }
        if dates && matches!(shape, Shape::Unseen | Shape::Date | Shape::DateTime { .. }) {
            DATES.into_iter().for_each(|order| add(ValueSpelling::Dates(order, YEAR_CUTOFF), shape));
        }
        Self { left, doubts: Vec::new() }
    }

    /// Returns true if no reading is left.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Drops the readings that a value does not allow.
    pub(super) fn observe(&mut self, value: &str) {
        let mut readings: Vec<(ValueSpelling, String)> = Vec::new();
        self.left.retain_mut(|rival| {
            let Some(plain) = plain(rival.spelling, value) else { return false };
            let shape = rival.shape.merge(Shape::of(&plain));
            let is_of_kind = match rival.spelling {
                ValueSpelling::Numbers(_) => matches!(shape, Shape::Number(_)),
                ValueSpelling::Dates(..) => matches!(shape, Shape::Date | Shape::DateTime { .. }),
            };
            if !is_of_kind {
                return false;
            }
            rival.shape = shape;
            rival.has_groups |= has_groups(rival.spelling, value, &plain);
            let step = |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            rival.digest = plain.bytes().chain([0]).fold(rival.digest, step);
            if rival.example.is_none() && plain != value {
                rival.example = Some((value.to_owned(), plain.clone()));
            }
            readings.push((rival.spelling, plain));
            true
        });
        while let Some((one, plain)) = readings.pop() {
            for (other, reading) in readings.iter().filter(|(_, reading)| *reading != plain) {
                if !self.doubts.iter().any(|(a, b, _)| a == other && *b == one) {
                    let readings = [reading.clone(), plain.clone()];
                    let is_date = matches!(one, ValueSpelling::Dates(..));
                    self.doubts.push((*other, one, Doubt { value: value.to_owned(), readings, is_date }));
                }
            }
        }
    }

    /// Decides.
    pub(super) fn verdict(self) -> Verdict {
        let usable: Vec<Rival> = self.left.into_iter().filter(Rival::is_likely).collect();
        let Some((first, others)) = usable.split_first() else { return Verdict::None };
        let differs = |other: &&Rival| other.digest != first.digest || other.shape != first.shape;
        if let Some(other) = others.iter().find(differs) {
            let doubt =
                self.doubts.into_iter().find(|(a, b, _)| (a, b) == (&first.spelling, &other.spelling));
            return doubt.map_or(Verdict::None, |(_, _, doubt)| Verdict::Two(doubt));
        }
        // Only numbers as SQL Server spells them may be versions, 1.9 beside 1.10.
        let shape = match first.shape {
            Shape::Number(number) if number.fits_decimal() => first.shape,
            shape => shape.settle(),
        };
        match (shape, first.example.clone()) {
            (Shape::Text | Shape::Unseen, _) | (_, None) => Verdict::None,
            (shape, Some((value, plain))) => Verdict::One { spelling: first.spelling, shape, value, plain },
        }
    }
}

const DIGEST_START: u64 = 0xcbf2_9ce4_8422_2325;

impl Rival {
    /// Returns true unless the values may as well be codes: groups of digits alone are numbers of telephones, accounts and
    /// addresses too, and so are digits with a hyphen behind them.
    fn is_likely(&self) -> bool {
        match (self.spelling, self.shape) {
            (ValueSpelling::Numbers(numbers), Shape::Number(number)) => match numbers.thousands {
                Some(ThousandsMark::Comma | ThousandsMark::Apostrophe) => self.has_groups,
                Some(ThousandsMark::Point | ThousandsMark::Blank) => self.has_groups && number.scale > 0,
                None => number.scale > 0,
            },
            _ => true,
        }
    }
}

/// Returns true if marks between groups were left out of a number: it has lost more characters than signs and the point may be.
fn has_groups(spelling: ValueSpelling, value: &str, plain: &str) -> bool {
    let ValueSpelling::Numbers(NumberSpelling { thousands: Some(_), .. }) = spelling else { return false };
    let is_other = |c: &char| !c.is_ascii_digit() && !"()-\u{2212}eE".contains(*c);
    value.chars().filter(is_other).count() > plain.chars().filter(is_other).count()
}

/// Spells a value as SQL Server does, if it may be of this reading. A column is not taken for dates or numbers by signs that codes
/// have as well: plus signs, and years of two digits behind single digits and points, which versions have.
fn plain(spelling: ValueSpelling, value: &str) -> Option<String> {
    match spelling {
        _ if value.trim() != value => None,
        ValueSpelling::Numbers(_) if value.starts_with('+') => None,
        ValueSpelling::Numbers(_) => spelling.plain(value).map(std::borrow::Cow::into_owned),
        ValueSpelling::Dates(order, cutoff) => {
            let date = value.split([' ', 'T']).next().unwrap_or_default();
            let parts: Vec<&str> = date.split('.').collect();
            if let [first, second, year] = parts.as_slice()
                && year.len() == 2
                && (order == DateOrder::YearMonthDay || first.len() != 2 || second.len() != 2)
            {
                return None;
            }
            plain_date(value, Some(order), Some(cutoff))
        }
    }
}
