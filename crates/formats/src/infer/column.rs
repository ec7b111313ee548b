//! Running figures of one column after some of its values.

use std::collections::HashMap;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field, TimeUnit};
use rows::text::spelling::TextSpelling;

use super::InferredColumn;
use super::evidence::{Evidence, Example, NullWords};
use super::number::Number;
use super::rivals::{GROUPED_BY_POINTS, Rivals, Verdict};
use super::shape::Shape;
use crate::ColumnReading;
use crate::column_reading::{ValueSpelling, declared, is_null_word};
use crate::text_lengths::TextLengths;

/// Counts and shape of one text column.
pub(super) struct Tally {
    name: String,
    shape: Shape,
    lengths: TextLengths,
    nulls: u64,
    /// The value that the type so far is owed to.
    evidence: Option<Evidence>,
    /// Values stand between blanks, which say nothing of their types.
    is_padded: bool,
    /// The spellings of numbers and of dates that the user declares.
    declared: (Option<ValueSpelling>, Option<ValueSpelling>),
    /// The first value that was read by a declared spelling.
    example: Option<Example>,
    /// The shape of the values if the points in them stand between groups of three digits; `None` once they do not.
    by_points: Option<Shape>,
    /// Other readings of values that are text as SQL Server spells them.
    rivals: Option<Rivals>,
    null_words: Option<NullWords>,
    values: u64,
}

/// The place of a batch's rows.
pub(super) struct Place<'a> {
    /// Number of the file, from 0.
    pub(super) file: usize,
    /// Number in the file, from 1, of the row at an index of the batch.
    pub(super) row: &'a dyn Fn(usize) -> u64,
}

impl Tally {
    pub(super) fn new(name: &str, is_padded: bool, spelling: &TextSpelling) -> Self {
        Self {
            name: name.to_owned(),
            shape: Shape::Unseen,
            lengths: TextLengths::default(),
            nulls: 0,
            evidence: None,
            is_padded,
            declared: declared(spelling),
            example: None,
            by_points: Some(Shape::Unseen),
            rivals: None,
            null_words: None,
            values: 0,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Looks at the values of a Utf8 array.
    pub(super) fn observe(&mut self, array: &dyn Array, place: &Place<'_>) {
        let Some(texts) = array.as_string_opt::<i32>() else { return };
        self.nulls += texts.null_count() as u64;
        for (index, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            self.lengths.observe(text);
            self.values += 1;
            let is_settled = self.shape == Shape::Text && self.rivals.as_ref().is_none_or(Rivals::is_empty);
            if is_settled {
                continue;
            }
            let text = if self.is_padded { text.trim_matches(' ') } else { text };
            match is_null_word(text) {
                true => self.note_null_word(text),
                false => self.observe_value(text, index, place),
            }
        }
    }

    fn note_null_word(&mut self, text: &str) {
        let words = self.null_words.get_or_insert_with(|| NullWords {
            word: text.trim().to_owned(),
            values: 0,
            of: 0,
        });
        words.values += 1;
    }

    fn observe_value(&mut self, text: &str, index: usize, place: &Place<'_>) {
        let seen = self.shape;
        let shape = self.shape_of(text);
        if seen != Shape::Text {
            let wider = seen.merge(shape);
            if wider != seen {
                self.note(wider, text, index, place);
            }
            self.shape = wider;
        }
        if self.shape == Shape::Text {
            let (by_points, declared) = (self.by_points, &self.declared);
            let is_open = (declared.0.is_none(), declared.1.is_none());
            let rivals =
                self.rivals.get_or_insert_with(|| Rivals::new(seen, by_points, is_open.0, is_open.1));
            rivals.observe(text);
        } else if let Some(by_points) = self.by_points {
            // Points between groups are points in front of decimals too, as long as each group has three digits.
            let wider = match shape {
                Shape::Number(number) if number.range.is_some() => Some(by_points.merge(shape)),
                Shape::Number(_) => {
                    GROUPED_BY_POINTS.plain(text).ok().map(|plain| by_points.merge(Shape::of(&plain)))
                }
                _ => None,
            };
            self.by_points = wider.filter(|wider| matches!(wider, Shape::Number(_)));
        }
    }

    /// Recognises the shape of a value, by the declared spellings first.
    fn shape_of(&mut self, text: &str) -> Shape {
        let shape = Shape::of(text);
        let (numbers, dates) = self.declared;
        let by_numbers = numbers.and_then(|numbers| numbers.plain(text)).map(|plain| plain.into_owned());
        let number = by_numbers.map(|plain| (Shape::of(&plain), plain));
        let found = match (number, shape) {
            (Some((number @ Shape::Number(_), plain)), _) => Some((number, plain)),
            (_, Shape::Number(_)) if numbers.is_some() => return Shape::Text,
            (_, Shape::Text) => {
                dates.and_then(|dates| dates.plain(text)).map(|plain| (Shape::of(&plain), plain.into_owned()))
            }
            _ => None,
        };
        let Some((shape, plain)) = found else { return shape };
        if self.example.is_none() && plain != text {
            self.example = Some(Example { value: text.to_owned(), plain, values: 0 });
        }
        shape
    }

    /// Keeps the value if the column's type changes with it.
    fn note(&mut self, wider: Shape, text: &str, index: usize, place: &Place<'_>) {
        let (before, after) = (Typed::of(self.shape.settle()), Typed::of(wider.settle()));
        let is_other = before.data_type != after.data_type || before.sql_type != after.sql_type;
        if self.evidence.is_none() || is_other {
            let before = (self.shape != Shape::Unseen).then(|| before.name());
            self.evidence = Some(Evidence::new(text, place.file, (place.row)(index), before));
        }
    }

    pub(super) fn finish(self, is_complete: bool) -> InferredColumn {
        let Self {
            name,
            shape,
            lengths,
            mut nulls,
            evidence,
            rivals,
            null_words,
            values,
            example,
            declared,
            ..
        } = self;
        let mut settled = match shape {
            // Declared numbers are no versions, 1.9 beside 1.10.
            Shape::Number(number) if declared.0.is_some() && number.fits_decimal() => shape,
            shape => shape.settle(),
        };
        let mut reading = ColumnReading::default();
        let mut example = example.filter(|_| settled != Shape::Text);
        let mut doubt = None;
        if settled == Shape::Text
            && let Some(rivals) = rivals
        {
            match rivals.verdict() {
                Verdict::None => {}
                Verdict::Two(found) => doubt = Some(found),
                Verdict::One { spelling, shape, value, plain } => {
                    settled = shape;
                    reading.values = Some(spelling);
                    example = Some(Example { value, plain, values: 0 });
                }
            }
        }
        let is_typed = !matches!(settled, Shape::Text | Shape::Unseen);
        let null_words = null_words.map(|words| NullWords { of: values, ..words });
        if let Some(words) = null_words.as_ref().filter(|_| is_typed) {
            reading.has_null_words = true;
            nulls += words.values;
        }
        if let Some(example) = &mut example {
            example.values = values - null_words.as_ref().map_or(0, |words| words.values);
        }
        let nullable = nulls > 0 || !is_complete;
        let typed = Typed::of(settled);
        let mut field = Field::new(&name, typed.data_type, nullable);
        if let Some(sql_type) = typed.sql_type {
            field = field.with_metadata(HashMap::from([("sql_type".to_owned(), sql_type)]));
        }
        InferredColumn {
            name,
            field,
            max_chars: lengths.max_chars,
            max_utf16_units: lengths.max_utf16_units,
            max_utf8_bytes: lengths.max_utf8_bytes,
            max_binary_bytes: typed.max_binary_bytes,
            nulls,
            ascii_only: lengths.is_ascii(),
            precision: typed.precision,
            scale: typed.scale,
            evidence,
            reading,
            example,
            null_words,
            doubt,
        }
    }
}

/// A shape's type.
struct Typed {
    data_type: DataType,
    sql_type: Option<String>,
    precision: Option<u8>,
    scale: Option<u8>,
    max_binary_bytes: Option<u64>,
}

impl Typed {
    fn of(shape: Shape) -> Self {
        match shape {
            Shape::Unseen | Shape::Text => Self::plain(DataType::Utf8),
            Shape::Boolean => Self::plain(DataType::Boolean),
            Shape::Number(number) => Self::number(number),
            Shape::Date => Self::plain(DataType::Date32),
            Shape::Time { scale } => Self::scaled("time", scale, time_type(scale)),
            Shape::DateTime { scale } => {
                Self::scaled("datetime2", scale, DataType::Timestamp(time_unit(scale), None))
            }
            Shape::DateTimeOffset { scale } => Self::scaled(
                "datetimeoffset",
                scale,
                DataType::Timestamp(time_unit(scale), Some("UTC".into())),
            ),
            Shape::Guid => Self {
                sql_type: Some("uniqueidentifier".into()),
                ..Self::plain(DataType::FixedSizeBinary(16))
            },
            Shape::Hex { bytes } => {
                Self { max_binary_bytes: Some(bytes as u64), ..Self::plain(DataType::Binary) }
            }
        }
    }

    fn number(number: Number) -> Self {
        if number.is_float {
            return Self::plain(DataType::Float64);
        }
        let within = |low: i64, high: i64| number.range.is_some_and(|(min, max)| low <= min && max <= high);
        let precision = (number.integer_digits + number.scale).max(1) as u8;
        let scale = number.scale as u8;
        let data_type = if within(0, 255) {
            DataType::UInt8
        } else if within(i16::MIN.into(), i16::MAX.into()) {
            DataType::Int16
        } else if within(i32::MIN.into(), i32::MAX.into()) {
            DataType::Int32
        } else if number.range.is_some() {
            DataType::Int64
        } else {
            DataType::Decimal128(precision, scale as i8)
        };
        Self { precision: Some(precision), scale: Some(scale), ..Self::plain(data_type) }
    }

    fn scaled(name: &str, scale: u8, data_type: DataType) -> Self {
        Self { sql_type: Some(format!("{name}({scale})")), scale: Some(scale), ..Self::plain(data_type) }
    }

    /// Names the type of SQL Server, for people.
    fn name(&self) -> String {
        match (&self.sql_type, &self.data_type) {
            (Some(sql_type), _) => sql_type.clone(),
            (None, DataType::Utf8) => "text".to_owned(),
            (None, DataType::Boolean) => "bit".to_owned(),
            (None, DataType::UInt8) => "tinyint".to_owned(),
            (None, DataType::Int16) => "smallint".to_owned(),
            (None, DataType::Int32) => "int".to_owned(),
            (None, DataType::Int64) => "bigint".to_owned(),
            (None, DataType::Float64) => "float".to_owned(),
            (None, DataType::Date32) => "date".to_owned(),
            (None, DataType::Decimal128(precision, scale)) => format!("decimal({precision},{scale})"),
            (None, _) => "varbinary".to_owned(),
        }
    }

    fn plain(data_type: DataType) -> Self {
        Self { data_type, sql_type: None, precision: None, scale: None, max_binary_bytes: None }
    }
}

fn time_unit(scale: u8) -> TimeUnit {
    match scale {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn time_type(scale: u8) -> DataType {
    match scale {
        0..=3 => DataType::Time32(time_unit(scale)),
        _ => DataType::Time64(time_unit(scale)),
    }
}
