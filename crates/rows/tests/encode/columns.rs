//! Columns to encode: every kind of source with a target it fits, values chosen near the edges.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use half::f16;
use proptest::prelude::*;
use tds::{Collation, Column, SqlType};

/// Per cent of NULLs: none, few, half, all.
pub fn null_densities() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(3), Just(50), Just(100)]
}

/// A small random generator; the seed comes from the property test.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// In `low..=high`, often an edge.
    fn between(&mut self, low: i128, high: i128) -> i128 {
        match self.below(8) {
            0 => low,
            1 => high,
            2 => 0.clamp(low, high),
            3 => 1.clamp(low, high),
            4 => (-1).clamp(low, high),
            _ => {
                let wide = u128::from(self.next()) << 64 | u128::from(self.next());
                low.wrapping_add((wide % high.wrapping_sub(low) as u128) as i128)
            }
        }
    }

    /// Text of the alphabet, of an interesting length of at most `units` UTF-16 units and bytes of its code page.
    fn text(&mut self, alphabet: &[char], units: usize) -> String {
        let length = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => units,
            3 => 15 + self.below(4) as usize,
            _ => self.below(40) as usize,
        };
        let mut text = String::new();
        for _ in 0..length.min(units) {
            text.push(alphabet[self.below(alphabet.len() as u64) as usize]);
        }
        text
    }
}

const ASCII: &[char] = &['a', 'Z', '0', ' ', '~', '\0'];
const LATIN: &[char] = &['a', 'b', 'c', 'é', 'ß', '€', 'ÿ'];
const GREEK: &[char] = &['α', 'Ω', 'x'];
const ANY: &[char] = &['a', 'b', 'c', 'd', 'é', '€', '漢', '\u{FFFD}', '\u{E000}'];
const ASTRAL: &[char] = &['a', '😀', '𝄞', 'é'];

type Make = fn(&mut Random, usize, Option<NullBuffer>) -> ArrayRef;

/// A source and its target.
pub struct Kind {
    target: &'static str,
    nullable: bool,
    make: Make,
}

/// A column of `rows` rows, cut out of a longer array at `offset`; `nulls` per cent are NULL if the target allows it.
pub fn column(
    kind: usize,
    name: &str,
    seed: u64,
    offset: usize,
    rows: usize,
    nulls: u64,
) -> (ArrayRef, Column) {
    let Kind { target, nullable, make } = KINDS[kind];
    let mut random = Random(seed);
    let len = offset + rows + 3;
    let nulls = (nullable && nulls > 0)
        .then(|| (0..len).map(|_| random.below(100) >= nulls).collect::<Vec<bool>>().into());
    let array = make(&mut random, len, nulls).slice(offset, rows);
    (array, target_column(name, target, nullable))
}

/// A column of the type spelled `target`; `greek:` and `utf8:` in front choose the collation.
pub fn target_column(name: &str, target: &str, nullable: bool) -> Column {
    let (collation, spelled) = match target.split_once(':') {
        Some(("greek", spelled)) => (Collation::from_name("Greek_CI_AS").unwrap(), spelled),
        Some(("utf8", spelled)) => (Collation::LATIN1_GENERAL_100_CI_AS_SC_UTF8, spelled),
        _ => (Collation::SQL_LATIN1_GENERAL_CP1_CI_AS, target),
    };
    let sql_type: SqlType = spelled.parse().unwrap();
    let collation = sql_type.is_character().then_some(collation);
    Column::new(name, sql_type, nullable, collation)
}

macro_rules! primitive {
    ($target:literal, $nullable:literal, $arrow:ty, |$random:ident| $value:expr) => {
        Kind {
            target: $target,
            nullable: $nullable,
            make: |$random, len, nulls| {
                let values: Vec<_> = (0..len).map(|_| $value).collect();
                Arc::new(PrimitiveArray::<$arrow>::new(values.into(), nulls))
            },
        }
    };
    ($target:literal, $nullable:literal, $arrow:ty as $data_type:expr, |$random:ident| $value:expr) => {
        Kind {
            target: $target,
            nullable: $nullable,
            make: |$random, len, nulls| {
                let values: Vec<_> = (0..len).map(|_| $value).collect();
                Arc::new(PrimitiveArray::<$arrow>::new(values.into(), nulls).with_data_type($data_type))
            },
        }
    };
}

macro_rules! texts {
    ($target:literal, $array:ty, $alphabet:expr, $units:expr) => {
        Kind {
            target: $target,
            nullable: true,
            make: |random, len, nulls| {
                let values: Vec<String> = (0..len).map(|_| random.text($alphabet, $units)).collect();
                let array = <$array>::from_iter_values(&values);
                Arc::new(with_nulls(array, nulls))
            },
        }
    };
}

macro_rules! binaries {
    ($target:literal, $array:ty, $limit:expr) => {
        Kind {
            target: $target,
            nullable: true,
            make: |random, len, nulls| {
                let values: Vec<Vec<u8>> =
                    (0..len).map(|_| random.text(ASCII, $limit).into_bytes()).collect();
                let array = <$array>::from_iter_values(&values);
                Arc::new(with_nulls(array, nulls))
            },
        }
    };
}

/// Adds NULLs to an array. Their slots keep the values, as Arrow allows.
fn with_nulls<A: Array + From<ArrayData>>(array: A, nulls: Option<NullBuffer>) -> A {
    let builder = array.to_data().into_builder().nulls(nulls);
    A::from(builder.build().unwrap())
}

fn fixed_size(
    random: &mut Random,
    len: usize,
    nulls: Option<NullBuffer>,
    width: i32,
    mut value: impl FnMut(&mut Random) -> Vec<u8>,
) -> ArrayRef {
    let bytes: Vec<u8> = (0..len).flat_map(|_| value(random)).collect();
    Arc::new(FixedSizeBinaryArray::new(width, bytes.into(), nulls))
}

const DAY_MIN: i128 = -719_162;
const DAY_MAX: i128 = 3_652_058 - 719_162;
const TICKS_MAX: i128 = 3_652_059 * 864_000_000_000 - 1;

fn timestamp(random: &mut Random, per_second: i128) -> i64 {
    let day = 86_400 * per_second;
    let (low, high) = (DAY_MIN * day, DAY_MAX * day + day - 1);
    random.between(low.max(i64::MIN.into()), high.min(i64::MAX.into())) as i64
}

pub const KINDS: &[Kind] = &[
    // Exact numbers.
    primitive!("int", false, Int32Type, |random| random.between(i32::MIN.into(), i32::MAX.into()) as i32),
    primitive!("int", true, Int32Type, |random| random.between(i32::MIN.into(), i32::MAX.into()) as i32),
    primitive!("tinyint", true, UInt8Type, |random| random.next() as u8),
    primitive!("tinyint", false, UInt8Type, |random| random.next() as u8),
    primitive!("smallint", true, Int16Type, |random| random.next() as i16),
    primitive!("smallint", false, Int8Type, |random| random.next() as i8),
    primitive!("int", true, UInt16Type, |random| random.next() as u16),
    primitive!("bigint", true, UInt32Type, |random| random.next() as u32),
    primitive!("bigint", false, Int64Type, |random| random.between(i64::MIN.into(), i64::MAX.into()) as i64),
    primitive!("bigint", true, Int64Type, |random| random.between(i64::MIN.into(), i64::MAX.into()) as i64),
    primitive!("decimal(20, 0)", true, UInt64Type, |random| random.next()),
    primitive!("money", true, Int32Type, |random| random.next() as i32),
    primitive!("smallmoney", true, Int16Type, |random| random.next() as i16),
    primitive!("float", true, Int32Type, |random| random.next() as i32),
    primitive!("nvarchar(20)", true, Int64Type, |random| random.between(i64::MIN.into(), i64::MAX.into())
        as i64),
    primitive!("decimal(9, 2)", true, Decimal32Type as DataType::Decimal32(9, 2), |random| {
        random.between(-999_999_999, 999_999_999) as i32
    }),
    primitive!("decimal(19, 4)", true, Decimal64Type as DataType::Decimal64(18, 4), |random| {
        random.between(-999_999_999_999_999_999, 999_999_999_999_999_999) as i64
    }),
    primitive!("decimal(18, 4)", true, Decimal128Type as DataType::Decimal128(18, 4), |random| {
        random.between(-999_999_999_999_999_999, 999_999_999_999_999_999)
    }),
    primitive!("numeric(28, 6)", true, Decimal128Type as DataType::Decimal128(20, 4), |random| {
        random.between(1 - 10_i128.pow(20), 10_i128.pow(20) - 1)
    }),
    primitive!("decimal(38, 10)", false, Decimal128Type as DataType::Decimal128(38, 10), |random| {
        random.between(1 - 10_i128.pow(38), 10_i128.pow(38) - 1)
    }),
    primitive!("decimal(38, 10)", true, Decimal256Type as DataType::Decimal256(38, 10), |random| {
        i256::from_i128(random.between(1 - 10_i128.pow(38), 10_i128.pow(38) - 1))
    }),
    primitive!("money", false, Decimal128Type as DataType::Decimal128(19, 4), |random| {
        random.between(i64::MIN.into(), i64::MAX.into())
    }),
    primitive!("smallmoney", true, Decimal128Type as DataType::Decimal128(10, 4), |random| {
        random.between(i32::MIN.into(), i32::MAX.into())
    }),
    // Floating point.
    primitive!("real", true, Float16Type, |random| f16::from_f32(random.between(-60000, 60000) as f32)),
    primitive!("real", false, Float32Type, |random| random.between(-1000, 1000) as f32 / 7.0),
    primitive!("float", true, Float64Type, |random| random.between(-1000, 1000) as f64 / 7.0),
    primitive!("float", false, Float32Type, |random| random.between(-1000, 1000) as f32 / 7.0),
    // Bits.
    Kind { target: "bit", nullable: true, make: booleans },
    Kind { target: "bit", nullable: false, make: booleans },
    Kind { target: "int", nullable: true, make: booleans },
    // Dates and times.
    primitive!("date", true, Date32Type, |random| random.between(DAY_MIN, DAY_MAX) as i32),
    primitive!("date", false, Date64Type, |random| random.between(DAY_MIN, DAY_MAX) as i64 * 86_400_000),
    primitive!("datetime2(0)", true, Date32Type, |random| random.between(DAY_MIN, DAY_MAX) as i32),
    primitive!("time(0)", true, Time32SecondType, |random| random.between(0, 86_399) as i32),
    primitive!("time(3)", true, Time32MillisecondType, |random| random.between(0, 86_399_999) as i32),
    primitive!("time(6)", true, Time64MicrosecondType, |random| random.between(0, 86_399_999_999) as i64),
    primitive!("time(7)", false, Time64NanosecondType, |random| random.between(0, 863_999_999_999) as i64
        * 100),
    primitive!("datetime2(0)", true, TimestampSecondType, |random| timestamp(random, 1)),
    primitive!("datetime2(3)", true, TimestampMillisecondType, |random| timestamp(random, 1000)),
    primitive!("datetime2(6)", true, TimestampMicrosecondType, |random| timestamp(random, 1_000_000)),
    primitive!("datetime2(7)", false, TimestampMicrosecondType, |random| timestamp(random, 1_000_000)),
    primitive!("datetime2(7)", true, TimestampNanosecondType, |random| {
        timestamp(random, 1_000_000_000) / 100 * 100
    }),
    primitive!("datetimeoffset(6)", true, TimestampMicrosecondType as
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), |random| timestamp(random, 1_000_000)),
    primitive!("datetimeoffset(3)", true, TimestampMillisecondType as
        DataType::Timestamp(TimeUnit::Millisecond, Some("+05:30".into())), |random| timestamp(random, 1000)),
    primitive!("datetimeoffset(0)", false, TimestampSecondType, |random| timestamp(random, 1)),
    primitive!("datetime", true, TimestampMillisecondType, |random| {
        // Ticks of 1/300 s, read as milliseconds, from 1753 on.
        let ticks = random.between(0, 25_919_999);
        (random.between(-79_257, DAY_MAX) * 86_400_000 + (ticks * 10 + 1) / 3) as i64
    }),
    primitive!("datetime", false, TimestampSecondType, |random| {
        (random.between(-79_257, DAY_MAX) * 86_400 + random.between(0, 86_399)) as i64
    }),
    primitive!("smalldatetime", true, TimestampSecondType, |random| {
        (random.between(-25_567, 65_535 - 25_567) * 86_400 + 60 * random.between(0, 1439)) as i64
    }),
    // The exact forms of the embedded server.
    Kind {
        target: "datetime2(7)",
        nullable: true,
        make: |random, len, nulls| {
            fixed_size(random, len, nulls, 8, |random| {
                (random.between(0, TICKS_MAX) as u64).to_be_bytes().to_vec()
            })
        },
    },
    Kind {
        target: "datetimeoffset(7)",
        nullable: true,
        make: |random, len, nulls| {
            fixed_size(random, len, nulls, 10, |random| {
                let ticks = (random.between(0, TICKS_MAX) as u64).to_be_bytes();
                let offset = (random.between(-840, 840) + 0x8000) as u16;
                [&ticks[..], &offset.to_be_bytes()].concat()
            })
        },
    },
    // Text.
    texts!("nvarchar(100)", StringArray, ASCII, 100),
    texts!("nvarchar(100)", StringArray, ANY, 100),
    texts!("nvarchar(100)", StringViewArray, ASTRAL, 50),
    texts!("nchar(30)", LargeStringArray, ANY, 30),
    texts!("nvarchar(max)", StringArray, ASTRAL, 3000),
    texts!("nvarchar(max)", LargeStringArray, ASCII, 9000),
    texts!("ntext", StringArray, ANY, 100),
    texts!("varchar(100)", StringArray, ASCII, 100),
    texts!("varchar(100)", StringViewArray, LATIN, 100),
    texts!("char(20)", StringArray, LATIN, 20),
    texts!("greek:varchar(50)", LargeStringArray, GREEK, 50),
    texts!("utf8:varchar(200)", StringArray, ASTRAL, 50),
    texts!("varchar(max)", StringArray, LATIN, 9000),
    texts!("text", StringArray, LATIN, 100),
    texts!("xml", StringArray, ANY, 100),
    texts!("json", StringArray, ANY, 100),
    // Bytes.
    binaries!("varbinary(100)", BinaryArray, 100),
    binaries!("binary(60)", LargeBinaryArray, 60),
    binaries!("varbinary(max)", BinaryViewArray, 9000),
    binaries!("image", BinaryArray, 100),
    Kind {
        target: "binary(5)",
        nullable: true,
        make: |random, len, nulls| {
            fixed_size(random, len, nulls, 5, |random| random.next().to_le_bytes()[..5].to_vec())
        },
    },
    Kind {
        target: "uniqueidentifier",
        nullable: true,
        make: |random, len, nulls| {
            fixed_size(random, len, nulls, 16, |random| {
                [random.next().to_le_bytes(), random.next().to_le_bytes()].concat()
            })
        },
    },
    // Text that is parsed.
    Kind {
        target: "int",
        nullable: true,
        make: |random, len, nulls| {
            let values: Vec<String> = (0..len).map(|_| (random.next() as i32).to_string()).collect();
            Arc::new(with_nulls(StringArray::from_iter_values(&values), nulls))
        },
    },
    Kind {
        target: "varbinary(20)",
        nullable: true,
        make: |random, len, nulls| {
            let values: Vec<String> = (0..len).map(|_| format!("{:016X}", random.next())).collect();
            Arc::new(with_nulls(StringViewArray::from_iter_values(&values), nulls))
        },
    },
    Kind {
        target: "uniqueidentifier",
        nullable: true,
        make: |random, len, nulls| {
            let mut guid = || {
                let (a, b) = (random.next(), random.next());
                let group = |value: u64, from: usize, to: usize| format!("{value:016x}")[from..to].to_owned();
                let [first, second, third] = [group(a, 0, 8), group(a, 8, 12), group(a, 12, 16)];
                format!("{{{first}-{second}-{third}-{}-{}}}", group(b, 0, 4), group(b, 4, 16))
            };
            let values: Vec<String> = (0..len).map(|_| guid()).collect();
            Arc::new(with_nulls(LargeStringArray::from_iter_values(&values), nulls))
        },
    },
    // Shared values.
    Kind { target: "nvarchar(40)", nullable: true, make: text_dictionary },
    Kind { target: "varchar(40)", nullable: true, make: text_dictionary },
    Kind { target: "nvarchar(max)", nullable: true, make: text_dictionary },
    Kind {
        target: "decimal(10, 0)",
        nullable: true,
        make: |random, len, nulls| {
            let keys: Vec<u8> = (0..len).map(|_| random.below(300).min(200) as u8).collect();
            let values = Int32Array::from_iter((0..201).map(|value| (value % 7 != 0).then_some(value - 100)));
            Arc::new(DictionaryArray::new(UInt8Array::new(keys.into(), nulls), Arc::new(values)))
        },
    },
    Kind { target: "bigint", nullable: true, make: runs },
    Kind { target: "int", nullable: true, make: runs },
    // Variants.
    primitive!("sql_variant", true, Int32Type, |random| random.next() as i32),
    primitive!("sql_variant", true, Float64Type, |random| random.between(-1000, 1000) as f64),
    primitive!("sql_variant", true, Date32Type, |random| random.between(DAY_MIN, DAY_MAX) as i32),
    primitive!("sql_variant", true, TimestampMicrosecondType, |random| timestamp(random, 1_000_000)),
    primitive!("sql_variant", true, Decimal128Type as DataType::Decimal128(18, 4), |random| {
        random.between(-999_999_999_999_999_999, 999_999_999_999_999_999)
    }),
    Kind { target: "sql_variant", nullable: true, make: booleans },
    texts!("sql_variant", StringArray, ANY, 100),
    binaries!("sql_variant", BinaryArray, 100),
    // Nested, and nothing at all.
    Kind {
        target: "nvarchar(max)",
        nullable: true,
        make: |random, len, nulls| {
            let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..len).map(|_| {
                Some((0..random.below(4)).map(|item| (item != 2).then_some(item as i32)).collect::<Vec<_>>())
            }));
            Arc::new(with_nulls(lists, nulls))
        },
    },
    Kind { target: "int", nullable: true, make: |_, len, _| Arc::new(NullArray::new(len)) },
    Kind { target: "varchar(max)", nullable: true, make: |_, len, _| Arc::new(NullArray::new(len)) },
    Kind { target: "text", nullable: true, make: |_, len, _| Arc::new(NullArray::new(len)) },
    Kind { target: "sql_variant", nullable: true, make: |_, len, _| Arc::new(NullArray::new(len)) },
];

fn booleans(random: &mut Random, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let values: Vec<bool> = (0..len).map(|_| random.below(2) == 1).collect();
    Arc::new(BooleanArray::new(values.into(), nulls))
}

fn text_dictionary(random: &mut Random, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let keys: Vec<i32> = (0..len).map(|_| random.below(12) as i32).collect();
    let mut values: Vec<Option<String>> = (0..11).map(|_| Some(random.text(LATIN, 40))).collect();
    // A NULL among the values, and a value too long for any target, which no row shows.
    values.push(None);
    values.push(Some("x".repeat(9000)));
    Arc::new(DictionaryArray::new(Int32Array::new(keys.into(), nulls), Arc::new(StringArray::from(values))))
}

fn runs(random: &mut Random, len: usize, _: Option<NullBuffer>) -> ArrayRef {
    let mut ends = Vec::new();
    let mut values = Vec::new();
    let mut end = 0;
    while end < len {
        end = (end + 1 + random.below(90) as usize).min(len);
        ends.push(end as i32);
        values.push((random.below(4) > 0).then(|| random.next() as i32));
    }
    let (ends, values) = (Int32Array::from(ends), Int32Array::from(values));
    Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
}
