//! A checksum of a table's content: equal for the same rows in any order and any batching.
//!
//! Every row is hashed to 64 bits, columns in order; the hashes, and a second mixture of each, are summed. Sums do not depend on
//! the order, and a row that occurs twice counts twice. The checksum finds accidents, not forgeries.
//!
//! # What hashes equally
//!
//! | Values | Equal when |
//! |---|---|
//! | integers, signed or not, of every width | the number is the same |
//! | Decimal32 / 64 / 128 / 256 | value and scale are the same; precision does not count |
//! | Float16 / 32 / 64 | the number is the same when widened to 64 bits; all NaN are one, `-0` is `0` |
//! | Utf8, LargeUtf8, Utf8View | the text is the same, trailing blanks included |
//! | Binary, LargeBinary, BinaryView, FixedSizeBinary | the bytes are the same |
//! | Date32, Date64 | the day is the same |
//! | Time32, Time64 of every unit | the time of day is the same |
//! | Timestamp of every unit | the instant is the same; with and without a time zone differ, which zone does not count |
//! | FixedSizeList, List, LargeList of Float16 / 32 / 64 (a vector) | the numbers are the same |
//! | Dictionary, run-end encoded | as their values |
//! | NULL | in every type, Null included |
//!
//! Different families never hash equally: a date is not the timestamp at its midnight, 1 is not 1.0, and a Boolean is not an
//! integer. Column names, nullability and metadata do not count. Durations, intervals and other nested types are refused.

use std::fmt;

use arrow::array::{
    Array, AsArray, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray, PrimitiveArray,
};
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;

use crate::{FormatError, Reason};

/// The checksum of a table; compare with `==`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Checksum {
    /// Number of rows seen.
    pub rows: u64,
    /// Sum of the row hashes, modulo 2^64.
    pub sum: u64,
    /// Sum of a second mixture of each row hash, modulo 2^64.
    pub mixed_sum: u64,
}

impl Checksum {
    /// Adds up the checksums of two parts of a table.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            sum: self.sum.wrapping_add(other.sum),
            mixed_sum: self.mixed_sum.wrapping_add(other.mixed_sum),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}{:016x}", self.rows, self.sum, self.mixed_sum)
    }
}

/// Computes a [`Checksum`] batch by batch.
#[derive(Debug, Clone, Default)]
pub struct ContentChecksum {
    checksum: Checksum,
    row_hashes: Vec<u64>,
}

impl ContentChecksum {
    /// Begins a checksum of no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the rows of `batch`.
    ///
    /// # Errors
    /// [`Reason::UnsupportedType`] for a type the table above does not name; nothing is added then.
    pub fn update(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.row_hashes.clear();
        self.row_hashes.resize(batch.num_rows(), ROW_SEED);
        for (array, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
            let hashes = value_hashes(array.as_ref()).map_err(|error| error.in_column(field.name()))?;
            for (row, value) in self.row_hashes.iter_mut().zip(hashes) {
                *row = fold(row.rotate_left(5) ^ value, K0);
            }
        }
        for &row in &self.row_hashes {
            self.checksum.sum = self.checksum.sum.wrapping_add(row);
            self.checksum.mixed_sum = self.checksum.mixed_sum.wrapping_add(fold(row ^ K1, K2));
        }
        self.checksum.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Returns the checksum of all rows so far.
    pub fn finish(&self) -> Checksum {
        self.checksum
    }
}

/// Hashes every value of a column.
fn value_hashes(array: &dyn Array) -> Result<Vec<u64>, FormatError> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Null => vec![NULL; array.len()],
        T::Boolean => {
            let values = array.as_boolean();
            each(array, |row| word(BOOLEAN, u64::from(values.value(row))))
        }
        T::Int8 => integers(array.as_primitive::<Int8Type>()),
        T::Int16 => integers(array.as_primitive::<Int16Type>()),
        T::Int32 => integers(array.as_primitive::<Int32Type>()),
        T::Int64 => integers(array.as_primitive::<Int64Type>()),
        T::UInt8 => integers(array.as_primitive::<UInt8Type>()),
        T::UInt16 => integers(array.as_primitive::<UInt16Type>()),
        T::UInt32 => integers(array.as_primitive::<UInt32Type>()),
        T::UInt64 => {
            let values = array.as_primitive::<UInt64Type>();
            each(array, |row| integer(i128::from(values.value(row))))
        }
        T::Float16 => primitives(array.as_primitive::<Float16Type>(), |value| float(f64::from(value))),
        T::Float32 => primitives(array.as_primitive::<Float32Type>(), |value| float(f64::from(value))),
        T::Float64 => primitives(array.as_primitive::<Float64Type>(), float),
        T::Decimal32(_, scale) => {
            let seed = decimal_seed(*scale);
            primitives(array.as_primitive::<Decimal32Type>(), |value| wide(seed, i128::from(value)))
        }
        T::Decimal64(_, scale) => {
            let seed = decimal_seed(*scale);
            primitives(array.as_primitive::<Decimal64Type>(), |value| wide(seed, i128::from(value)))
        }
        T::Decimal128(_, scale) => {
            let seed = decimal_seed(*scale);
            primitives(array.as_primitive::<Decimal128Type>(), |value| wide(seed, value))
        }
        T::Decimal256(_, scale) => {
            let seed = decimal_seed(*scale);
            primitives(array.as_primitive::<Decimal256Type>(), |value| match value.to_i128() {
                Some(value) => wide(seed, value),
                None => bytes(seed, &value.to_le_bytes()),
            })
        }
        T::Date32 => {
            primitives(array.as_primitive::<Date32Type>(), |days| word(DATE, i64::from(days) as u64))
        }
        T::Date64 => {
            primitives(array.as_primitive::<Date64Type>(), |ms| word(DATE, ms.div_euclid(86_400_000) as u64))
        }
        T::Time32(TimeUnit::Second) => primitives(array.as_primitive::<Time32SecondType>(), |value| {
            time(i64::from(value), 1_000_000_000)
        }),
        T::Time32(_) => primitives(array.as_primitive::<Time32MillisecondType>(), |value| {
            time(i64::from(value), 1_000_000)
        }),
        T::Time64(TimeUnit::Microsecond) => {
            primitives(array.as_primitive::<Time64MicrosecondType>(), |value| time(value, 1_000))
        }
        T::Time64(_) => primitives(array.as_primitive::<Time64NanosecondType>(), |value| time(value, 1)),
        T::Timestamp(unit, zone) => timestamps(array, *unit, zone.is_some()),
        T::Utf8 => texts(array.as_string::<i32>()),
        T::LargeUtf8 => texts(array.as_string::<i64>()),
        T::Utf8View => views(array.as_string_view(), TEXT),
        T::Binary => binaries(array.as_binary::<i32>()),
        T::LargeBinary => binaries(array.as_binary::<i64>()),
        T::BinaryView => views(array.as_binary_view(), BINARY),
        T::FixedSizeBinary(_) => {
            let values: &FixedSizeBinaryArray = array.as_fixed_size_binary();
            each(array, |row| bytes(BINARY, values.value(row)))
        }
        T::FixedSizeList(item, _) if item.data_type().is_floating() => {
            let lists = array.as_fixed_size_list();
            let (values, width) = (lists.values(), lists.value_length());
            vectors(array, values, |row| (i64::from(lists.value_offset(row)), i64::from(width)))?
        }
        T::List(item) if item.data_type().is_floating() => {
            let lists = array.as_list::<i32>();
            let start = |row: usize| i64::from(lists.value_offsets().get(row).copied().unwrap_or(0));
            vectors(array, lists.values(), |row| (start(row), start(row + 1) - start(row)))?
        }
        T::LargeList(item) if item.data_type().is_floating() => {
            let lists = array.as_list::<i64>();
            let start = |row: usize| lists.value_offsets().get(row).copied().unwrap_or(0);
            vectors(array, lists.values(), |row| (start(row), start(row + 1) - start(row)))?
        }
        T::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = value_hashes(dictionary.values().as_ref())?;
            let keys = dictionary.normalized_keys();
            // The key behind a NULL is arbitrary, and the dictionary may be empty.
            each(array, |row| keys.get(row).and_then(|&key| values.get(key)).copied().unwrap_or(NULL))
        }
        T::RunEndEncoded(ends, _) => match ends.data_type() {
            T::Int16 => runs::<Int16Type>(array)?,
            T::Int32 => runs::<Int32Type>(array)?,
            _ => runs::<Int64Type>(array)?,
        },
        other => {
            let reason = Reason::UnsupportedType { data_type: other.clone(), format: "a checksum" };
            return Err(FormatError::new(reason));
        }
    })
}

/// Hashes lists of numbers; `span` gives the start and length of each row's.
fn vectors(
    array: &dyn Array,
    values: &dyn Array,
    span: impl Fn(usize) -> (i64, i64),
) -> Result<Vec<u64>, FormatError> {
    let elements = value_hashes(values)?;
    Ok(each(array, |row| {
        let (start, length) = span(row);
        let start = usize::try_from(start).unwrap_or(0);
        let end = start.saturating_add(usize::try_from(length).unwrap_or(0));
        let elements = elements.get(start..end).unwrap_or(&[]);
        elements.iter().fold(word(VECTOR, length as u64), |hash, element| word(hash, *element))
    }))
}

fn runs<R: RunEndIndexType>(array: &dyn Array) -> Result<Vec<u64>, FormatError> {
    let Some(runs) = array.as_any().downcast_ref::<arrow::array::RunArray<R>>() else {
        return Ok(Vec::new());
    };
    let values = value_hashes(runs.values().as_ref())?;
    let hash = |row| values.get(runs.get_physical_index(row)).copied().unwrap_or(NULL);
    Ok((0..array.len()).map(hash).collect())
}

/// Hashes each value of an array; NULL has a hash of its own, the same for every type.
#[inline(always)]
fn each(array: &dyn Array, hash: impl Fn(usize) -> u64) -> Vec<u64> {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => (0..array.len()).map(hash).collect(),
        Some(nulls) => {
            (0..array.len()).map(|row| if nulls.is_null(row) { NULL } else { hash(row) }).collect()
        }
    }
}

#[inline(always)]
fn primitives<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>, hash: impl Fn(P::Native) -> u64) -> Vec<u64> {
    let values = array.values();
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().map(|&value| hash(value)).collect(),
        Some(nulls) => {
            values.iter().zip(nulls).map(|(&value, valid)| if valid { hash(value) } else { NULL }).collect()
        }
    }
}

fn integers<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> Vec<u64>
where
    P::Native: Into<i64>,
{
    primitives(array, |value| {
        let value: i64 = value.into();
        word(if value < 0 { NEGATIVE_INTEGER } else { INTEGER }, value as u64)
    })
}

/// Agrees with [`integers`] where 64 signed bits suffice.
fn integer(value: i128) -> u64 {
    word(if value < 0 { NEGATIVE_INTEGER } else { INTEGER }, value as u64)
}

fn float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    word(FLOAT, value.to_bits())
}

fn time(value: i64, nanoseconds: i64) -> u64 {
    word(TIME, value.wrapping_mul(nanoseconds) as u64)
}

fn timestamps(array: &dyn Array, unit: TimeUnit, zoned: bool) -> Vec<u64> {
    let seed = if zoned { ZONED_TIMESTAMP } else { TIMESTAMP };
    // Seconds and nanoseconds apart: every unit's whole range fits.
    let hash = move |value: i64, per_second: i64| {
        let seconds = value.div_euclid(per_second);
        let nanoseconds = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
        word(word(seed, seconds as u64), nanoseconds as u64)
    };
    match unit {
        TimeUnit::Second => primitives(array.as_primitive::<TimestampSecondType>(), |value| hash(value, 1)),
        TimeUnit::Millisecond => {
            primitives(array.as_primitive::<TimestampMillisecondType>(), |value| hash(value, 1_000))
        }
        TimeUnit::Microsecond => {
            primitives(array.as_primitive::<TimestampMicrosecondType>(), |value| hash(value, 1_000_000))
        }
        TimeUnit::Nanosecond => {
            primitives(array.as_primitive::<TimestampNanosecondType>(), |value| hash(value, 1_000_000_000))
        }
    }
}

fn texts<O: arrow::array::OffsetSizeTrait>(array: &GenericByteArray<GenericStringType<O>>) -> Vec<u64> {
    each(array, |row| bytes(TEXT, array.value(row).as_bytes()))
}

fn binaries<O: arrow::array::OffsetSizeTrait>(array: &GenericByteArray<GenericBinaryType<O>>) -> Vec<u64> {
    each(array, |row| bytes(BINARY, array.value(row)))
}

fn views<V: ByteViewType + ?Sized>(array: &GenericByteViewArray<V>, seed: u64) -> Vec<u64> {
    each(array, |row| bytes(seed, array.value(row).as_ref()))
}

fn decimal_seed(scale: i8) -> u64 {
    word(DECIMAL, scale as u64)
}

fn wide(seed: u64, value: i128) -> u64 {
    word(word(seed, value as u64), (value >> 64) as u64)
}

#[inline(always)]
fn word(seed: u64, value: u64) -> u64 {
    fold(seed ^ value, K0 ^ seed.rotate_left(32))
}

/// Hashes bytes, eight at a step; the length goes into the seed, so padding the last step with zeros confuses
/// nothing.
#[inline(always)]
fn bytes(seed: u64, value: &[u8]) -> u64 {
    let mut hash = seed ^ (value.len() as u64).wrapping_mul(K2);
    let (words, tail) = value.as_chunks::<8>();
    for bytes in words {
        hash = fold(hash ^ u64::from_le_bytes(*bytes), K0);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    fold(hash ^ u64::from_le_bytes(last), K1)
}

/// Folds both halves of a 128-bit product: every input bit reaches every output bit.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

// Fractional digits of square roots of primes, odd.
const K0: u64 = 0x6A09_E667_F3BC_C909;
const K1: u64 = 0xBB67_AE85_84CA_A73B;
const K2: u64 = 0x3C6E_F372_FE94_F82B;
const ROW_SEED: u64 = 0xA54F_F53A_5F1D_36F1;
const NULL: u64 = 0x510E_527F_ADE6_82D1;
const BOOLEAN: u64 = 0x9B05_688C_2B3E_6C1F;
const INTEGER: u64 = 0x1F83_D9AB_FB41_BD6B;
const NEGATIVE_INTEGER: u64 = 0x5BE0_CD19_137E_2179;
const FLOAT: u64 = 0xCBBB_9D5D_C105_9ED9;
const DECIMAL: u64 = 0x629A_292A_367C_D507;
const TEXT: u64 = 0x9159_015A_3070_DD17;
const BINARY: u64 = 0x152F_ECD8_F70E_5939;
const DATE: u64 = 0x6733_2667_FFC0_0B31;
const TIME: u64 = 0x8EB4_4A87_6858_1511;
const TIMESTAMP: u64 = 0xDB0C_2E0D_64F9_8FA7;
const VECTOR: u64 = 0x428A_2F98_D728_AE22;
const ZONED_TIMESTAMP: u64 = 0x47B5_481D_BEFA_4FA5;
