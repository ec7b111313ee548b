//! Decodes the 11-column case: TDS rows in, Arrow batches out, one core.
//!
//! `cargo bench -p bulkwire-rows --bench decode [-- ROWS [REPEATS]]` prints rows/s and wire GB/s of the best
//! repeat; every repeat's row count and checksum are verified against what the rows were made of.

use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use rows::{Decoder, Form};
use tds::{Collation, Column, Length, SqlType};

/// Rows of a batch, as a server would take them.
const BATCH_ROWS: usize = 65_536;
/// Bytes that one read from a socket brings.
const READ_BYTES: usize = 256 * 1024;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let rows = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let repeats = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(7);
    for (name, case) in [
        ("ASCII, no nulls", Case { nulls: false, letters: ["u", "a", "u"] }),
        ("ü in one column", Case { nulls: false, letters: ["u", "a", "ü"] }),
        ("ü, é in every text", Case { nulls: false, letters: ["ü", "é", "ü"] }),
        ("one cell in ten NULL", Case { nulls: true, letters: ["u", "a", "u"] }),
    ] {
        run(name, rows, repeats, &case);
    }
}

struct Case {
    nulls: bool,
    /// A letter of each text.
    letters: [&'static str; 3],
}

fn run(name: &str, rows: u32, repeats: usize, case: &Case) {
    let columns = columns();
    let (wire, expected) = wire(rows, case);
    let mut best = Duration::MAX;
    for _ in 0..repeats {
        let decoded = decode(&columns, &wire);
        let verified = (decoded.rows, decoded.checksum) == (rows as usize, expected);
        assert!(verified, "{name}: the rows differ from what was encoded");
        best = best.min(decoded.time);
    }
    let seconds = best.as_secs_f64();
    println!(
        "{name:20} {rows} rows x {:.1} bytes: {:6.2} M rows/s, {:.2} GB/s (count and checksum {expected:016x} verified)",
        wire.len() as f64 / f64::from(rows),
        f64::from(rows) / seconds / 1e6,
        wire.len() as f64 / seconds / 1e9,
    );
}

#[derive(Default)]
struct Decoded {
    rows: usize,
    checksum: u64,
    /// Without the verification.
    time: Duration,
}

/// Reads the wire in pieces, as a connection does, and lets go of each batch when it is verified.
fn decode(columns: &[Column], wire: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let Ok(decoder) = Decoder::new(columns, Form::default()) else { return decoded };
    let mut decoder = decoder.with_batch_rows(BATCH_ROWS);
    let mut at = 0;
    loop {
        let started = Instant::now();
        while at < wire.len() && !decoder.is_full() {
            let piece = wire.get(at..(at + READ_BYTES).min(wire.len())).unwrap_or(&[]);
            let Ok(used) = decoder.decode(piece) else { return decoded };
            at += used;
        }
        let Ok(batch) = decoder.take_batch() else { return decoded };
        decoded.time += started.elapsed();
        if batch.num_rows() == 0 {
            return decoded;
        }
        decoded.rows += batch.num_rows();
        decoded.checksum = decoded.checksum.wrapping_add(checksum(&batch));
    }
}

fn columns() -> Vec<Column> {
    let nvarchar = || SqlType::NVarChar { length: Length::Units(100) };
    [
        ("id", SqlType::Int),
        ("col_int", SqlType::Int),
        ("col_bigint", SqlType::BigInt),
        ("col_float", SqlType::Float),
        ("col_bit", SqlType::Bit),
        ("col_date", SqlType::Date),
        ("col_datetime2", SqlType::DateTime2 { scale: 6 }),
        ("col_decimal", SqlType::Decimal { precision: 18, scale: 4 }),
        ("col_str1", nvarchar()),
        ("col_str2", SqlType::VarChar { length: Length::Units(100) }),
        ("col_str3", nvarchar()),
    ]
    .into_iter()
    .map(|(name, sql_type)| {
        Column::new(name, sql_type, name != "id", Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
    })
    .collect()
}

/// The rows on the wire, and the checksum of their values.
fn wire(rows: u32, case: &Case) -> (Vec<u8>, u64) {
    let Case { nulls, letters: [user, category, town] } = *case;
    let mut out = Vec::with_capacity(rows as usize * 150);
    let mut sum = 0u64;
    for row in 0..rows {
        let null = |column: u32| nulls && (row + column).is_multiple_of(10);
        out.push(0xd1);
        out.extend(row.to_le_bytes());
        sum = sum.wrapping_add(u64::from(row));
        let mut cell = |column: u32, empty: &[u8], length: &[u8], data: &[u8], value: u64| {
            if null(column) {
                out.extend_from_slice(empty);
            } else {
                out.extend_from_slice(length);
                out.extend_from_slice(data);
                sum = sum.wrapping_add(value.wrapping_mul(u64::from(column) + 1));
            }
        };
        let int = row as i32 * 7 - 100;
        cell(1, &[0], &[4], &int.to_le_bytes(), int as i64 as u64);
        let bigint = i64::from(row) * 1_000_003;
        cell(2, &[0], &[8], &bigint.to_le_bytes(), bigint as u64);
        let float = f64::from(row) * 0.5 + 0.25;
        cell(3, &[0], &[8], &float.to_le_bytes(), float.to_bits());
        cell(4, &[0], &[1], &[(row % 2) as u8], u64::from(row % 2));
        let days = 737_424 + row % 3650;
        cell(5, &[0], &[3], &days.to_le_bytes()[..3], u64::from(days - 719_162));
        let (time, date) = (u64::from(row) * 1_001_007 % 86_400_000_000, u64::from(738_885 + row / 86_400));
        let microseconds = (date - 719_162) * 86_400_000_000 + time;
        cell(6, &[0], &[8], &(time | date << 40).to_le_bytes(), microseconds);
        let units = u64::from(row) * 12_345 + 1;
        let mut decimal = [0u8; 9];
        decimal[0] = 1;
        decimal[1..].copy_from_slice(&units.to_le_bytes());
        cell(7, &[0], &[9], &decimal, units);
        let texts = [
            format!("{user}ser_{row:09}"),
            format!("c{category}t_{:04}@example", row % 1000),
            format!("Z{town}rich_{row:09}_text"),
        ];
        for (column, text) in (8..).zip(&texts) {
            let data: Vec<u8> = match column {
                // Latin-1 is in code page 1252.
                9 => text.chars().map(|character| character as u8).collect(),
                _ => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            };
            cell(column, &[0xff, 0xff], &(data.len() as u16).to_le_bytes(), &data, digest(text.as_bytes()));
        }
    }
    (out, sum)
}

fn checksum(batch: &RecordBatch) -> u64 {
    macro_rules! total {
        ($index:literal, $type:ty, $value:expr) => {{
            let column = batch.column($index).as_primitive::<$type>();
            let sum = column.iter().flatten().map($value).fold(0u64, u64::wrapping_add);
            sum.wrapping_mul($index + 1)
        }};
    }
    let text = |index: usize| {
        let column = batch.column(index).as_string::<i32>();
        let sum = column.iter().flatten().map(|text| digest(text.as_bytes())).fold(0u64, u64::wrapping_add);
        sum.wrapping_mul(index as u64 + 1)
    };
    let bits = batch.column(4).as_boolean().true_count() as u64 * 5;
    [
        total!(0, Int32Type, |value| value as u64),
        total!(1, Int32Type, |value| i64::from(value) as u64),
        total!(2, Int64Type, |value| value as u64),
        total!(3, Float64Type, f64::to_bits),
        bits,
        total!(5, Date32Type, |value| value as u64),
        total!(6, TimestampMicrosecondType, |value| value as u64),
        total!(7, Decimal128Type, |value| value as u64),
        text(8),
        text(9),
        text(10),
    ]
    .into_iter()
    .fold(0, u64::wrapping_add)
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
