//! Comparing variants: families of types in the order of the T-SQL reference ("sql_variant"), and values within one.
//!
//! | Family, from the lowest | Compared as |
//! |---|---|
//! | uniqueidentifier | the bytes in SQL Server's order |
//! | binary | bytes |
//! | character | the key of the server's collation |
//! | exact numbers | units of 10^-38 |
//! | approximate numbers | float |
//! | dates and times | the instant; a time lies on 1900-01-01 |

use arrow::datatypes::i256;
use tds::SqlType;

use crate::collation::{GUID_ORDER, text_key};
use crate::convert::base_of;
use crate::datum::{DAYS_TO_1900, Datum, TICKS_PER_DAY};
use tsql::SqlError;

/// Bytes that compare as the variant of this body does.
pub(crate) fn variant_key(body: &[u8]) -> Result<Vec<u8>, SqlError> {
    let (value, base) = base_of(body)?;
    let moment = |ticks: i64| tagged(6, &ordered(ticks));
    Ok(match value {
        Datum::Null => Vec::new(),
        Datum::Guid(bytes) => {
            let places = GUID_ORDER.iter().filter_map(|place| bytes.get(*place).copied());
            tagged(1, &places.collect::<Vec<_>>())
        }
        Datum::Binary(bytes) => tagged(2, &bytes),
        Datum::RowVersion(version) => tagged(2, &version.to_be_bytes()),
        Datum::Text(text) => tagged(3, text_key(&text, true).as_bytes()),
        Datum::Bit(value) => exact(i128::from(value), 0),
        Datum::Int(value) => exact(i128::from(value), 0),
        Datum::Decimal(units) => exact(units, scale_of(&base)),
        Datum::Real(value) => tagged(5, &ordered_float(f64::from(value))),
        Datum::Float(value) => tagged(5, &ordered_float(value)),
        Datum::Date(days) => moment(days.saturating_mul(TICKS_PER_DAY)),
        Datum::Time(ticks) => moment((DAYS_TO_1900 * TICKS_PER_DAY).saturating_add(ticks)),
        Datum::Moment(ticks) => moment(ticks),
        Datum::Instant { ticks, .. } => moment(ticks),
    })
}

fn scale_of(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => *scale,
        SqlType::Money | SqlType::SmallMoney => 4,
        _ => 0,
    }
}

fn tagged(family: u8, bytes: &[u8]) -> Vec<u8> {
    [&[family], bytes].concat()
}

/// Flips the sign bit, so that bytes are in the order of numbers.
fn ordered(value: i64) -> [u8; 8] {
    (value ^ i64::MIN).to_be_bytes()
}

fn ordered_float(value: f64) -> [u8; 8] {
    // Both zeros are one.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 1 { (!bits).to_be_bytes() } else { (bits ^ 1 << 63).to_be_bytes() }
}

fn exact(units: i128, scale: u8) -> Vec<u8> {
    let unit = i256::from_i128(10).checked_pow(u32::from(38_u8.saturating_sub(scale)));
    let wide = unit.and_then(|unit| i256::from_i128(units).checked_mul(unit)).unwrap_or(i256::ZERO);
    let mut bytes = wide.to_be_bytes();
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
    }
    tagged(4, &bytes)
}
