//! Values as text: the server's CONVERT (`Display` of [`Value`]) and bcp's character mode ([`BcpText`]).

use std::fmt::{self, Write as _};

use crate::value::Value;

/// Prints as the server's CONVERT to varchar does, dates and times in style 121, binary in style 2 (hex, no `0x`).
///
/// `float` and `real` print the shortest digits that read back as the same value, which CONVERT's default style would
/// cut to six. NULL prints as `NULL`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Real(value) => fmt_float(f, &format!("{value:e}"), SERVER_REAL, ""),
            Self::Float(value) => fmt_float(f, &format!("{value:e}"), SERVER_FLOAT, ""),
            other => fmt_common(f, other, "0"),
        }
    }
}

/// Prints a value as `bcp -c` does. NULL is nothing, and a decimal below one has no zero before the point. A float
/// has 17 significant digits (`real`: 8) and always a point.
#[derive(Debug, Clone, Copy)]
pub struct BcpText<'a>(pub &'a Value);

impl fmt::Display for BcpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => Ok(()),
            Value::Real(value) => fmt_float(f, &format!("{value:.7e}"), BCP_REAL, ".0"),
            Value::Float(value) => fmt_float(f, &format!("{value:.16e}"), BCP_FLOAT, ".0"),
            Value::Variant(variant) => fmt::Display::fmt(&BcpText(&variant.value), f),
            other => fmt_common(f, other, ""),
        }
    }
}

/// Limits beyond which a float is printed with an exponent.
#[derive(Clone, Copy)]
struct Exponents {
    /// Exponent from which on the float has one.
    large: i32,
    /// Number of decimals beyond which the float has an exponent.
    decimals: usize,
}

const SERVER_REAL: Exponents = Exponents { large: 7, decimals: 12 };
const SERVER_FLOAT: Exponents = Exponents { large: 16, decimals: 21 };
const BCP_REAL: Exponents = Exponents { large: 7, decimals: 8 };
const BCP_FLOAT: Exponents = Exponents { large: 16, decimals: 17 };

/// Prints a value; `zero` stands before the point of a number below one.
fn fmt_common(f: &mut fmt::Formatter<'_>, value: &Value, zero: &str) -> fmt::Result {
    match value {
        // Printed by the callers.
        Value::Null | Value::Real(_) | Value::Float(_) => Ok(()),
        Value::Bit(bit) => f.write_char(if *bit { '1' } else { '0' }),
        Value::TinyInt(int) => write!(f, "{int}"),
        Value::SmallInt(int) => write!(f, "{int}"),
        Value::Int(int) => write!(f, "{int}"),
        Value::BigInt(int) => write!(f, "{int}"),
        Value::SmallMoney(units) => fmt_scaled(f, units.unsigned_abs().into(), *units < 0, 4, zero),
        Value::Money(units) => fmt_scaled(f, units.unsigned_abs().into(), *units < 0, 4, zero),
        Value::Decimal { magnitude, negative, scale, .. } => {
            fmt_scaled(f, *magnitude, *negative && *magnitude != 0, *scale, zero)
        }
        Value::Date(days) => fmt_date(f, i64::from(*days)),
        Value::Time { ticks, scale } => fmt_time(f, *ticks, *scale),
        Value::DateTime2 { days, ticks, scale } => {
            fmt_date(f, i64::from(*days))?;
            f.write_char(' ')?;
            fmt_time(f, *ticks, *scale)
        }
        Value::DateTimeOffset { days, ticks, scale, offset_minutes } => {
            fmt_date_time_offset(f, i64::from(*days), *ticks, *scale, *offset_minutes)
        }
        Value::DateTime { days, ticks } => {
            fmt_date(f, i64::from(*days) + DAYS_TO_1900)?;
            f.write_char(' ')?;
            // 1/300 s rounded to ms gives the well-known .000, .003, .007.
            fmt_time(f, (u64::from(*ticks) * 10 + 1) / 3, 3)
        }
        Value::SmallDateTime { days, minutes } => {
            fmt_date(f, i64::from(*days) + DAYS_TO_1900)?;
            f.write_char(' ')?;
            fmt_time(f, u64::from(*minutes) * 60, 0)
        }
        Value::String(text) => f.write_str(text),
        Value::Binary(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}")),
        Value::Guid(guid) => fmt_guid(f, guid),
        Value::Vector(vector) => fmt::Display::fmt(vector, f),
        Value::Variant(variant) => fmt::Display::fmt(&variant.value, f),
    }
}

/// Days of 1900-01-01 since 0001-01-01.
const DAYS_TO_1900: i64 = 693_595;

fn fmt_scaled(
    f: &mut fmt::Formatter<'_>,
    magnitude: u128,
    negative: bool,
    scale: u8,
    zero: &str,
) -> fmt::Result {
    let scale = usize::from(scale);
    let digits = format!("{magnitude:0>scale$}");
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    let whole = match whole.trim_start_matches('0') {
        "" if scale == 0 => "0",
        "" => zero,
        whole => whole,
    };
    if negative {
        f.write_char('-')?;
    }
    f.write_str(whole)?;
    if scale > 0 { write!(f, ".{fraction}") } else { Ok(()) }
}

/// Prints Rust's exponent form (`1.25e-7`) in T-SQL's. `whole` follows a number without a point.
fn fmt_float(f: &mut fmt::Formatter<'_>, text: &str, exponents: Exponents, whole: &str) -> fmt::Result {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        // NaN and infinities, which no float column holds.
        return f.write_str(text);
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => return write!(f, "{sign}0{whole}"),
        digits => digits,
    };
    f.write_str(sign)?;
    let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
    if exponent >= exponents.large || (exponent < 0 && zeros + digits.len() > exponents.decimals) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        return write!(f, "{first}.{rest}E{exponent:+}");
    }
    if exponent < 0 {
        return write!(f, "0.{:0<zeros$}{digits}", "");
    }
    let point = usize::try_from(exponent).unwrap_or(0) + 1;
    match digits.split_at_checked(point) {
        Some((digits, "")) => write!(f, "{digits}{whole}"),
        Some((digits, fraction)) => write!(f, "{digits}.{fraction}"),
        None => write!(f, "{digits:0<point$}{whole}"),
    }
}

/// Prints days since 0001-01-01 as `yyyy-mm-dd`, by the proleptic Gregorian calendar.
fn fmt_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    // Years start in March here, so that the leap day is the last of its year. 306 days lead from March to January.
    let days = days + 306;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) =
        if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    let year = era * 400 + year_of_era + carry;
    write!(f, "{year:04}-{month:02}-{day:02}")
}

fn fmt_time(f: &mut fmt::Formatter<'_>, ticks: u64, scale: u8) -> fmt::Result {
    let unit = 10_u64.pow(u32::from(scale.min(7)));
    let (seconds, fraction) = (ticks / unit, ticks % unit);
    write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    match usize::from(scale) {
        0 => Ok(()),
        width => write!(f, ".{fraction:0width$}"),
    }
}

fn fmt_date_time_offset(
    f: &mut fmt::Formatter<'_>,
    days: i64,
    ticks: u64,
    scale: u8,
    offset_minutes: i16,
) -> fmt::Result {
    let unit = 10_i128.pow(u32::from(scale.min(7)));
    let per_day = 86_400 * unit;
    let local = i128::from(days) * per_day + i128::from(ticks) + i128::from(offset_minutes) * 60 * unit;
    // Both fit: the sum of a day number and a time of day.
    let day = i64::try_from(local.div_euclid(per_day)).unwrap_or(0);
    let time = u64::try_from(local.rem_euclid(per_day)).unwrap_or(0);
    fmt_date(f, day)?;
    f.write_char(' ')?;
    fmt_time(f, time, scale)?;
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let offset = offset_minutes.unsigned_abs();
    write!(f, " {sign}{:02}:{:02}", offset / 60, offset % 60)
}

fn fmt_guid(f: &mut fmt::Formatter<'_>, guid: &[u8; 16]) -> fmt::Result {
    const TEXT_ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (place, index) in TEXT_ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            f.write_char('-')?;
        }
        write!(f, "{:02X}", guid[index])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn decimal(magnitude: u128, negative: bool, scale: u8) -> Value {
        Value::Decimal { magnitude, negative, precision: 38, scale }
    }

    #[test]
    fn server_and_bcp_text() {
        let guid =
            [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF];
        let cases: &[(Value, &str, &str)] = &[
            (Value::Null, "NULL", ""),
            (Value::Bit(true), "1", "1"),
            (Value::BigInt(i64::MIN), "-9223372036854775808", "-9223372036854775808"),
            (decimal(50, false, 2), "0.50", ".50"),
            (decimal(50, true, 2), "-0.50", "-.50"),
            (decimal(0, true, 2), "0.00", ".00"),
            (decimal(0, false, 0), "0", "0"),
            (decimal(12345, false, 2), "123.45", "123.45"),
            (
                decimal(10_u128.pow(38) - 1, true, 38),
                "-0.99999999999999999999999999999999999999",
                "-.99999999999999999999999999999999999999",
            ),
            (Value::Money(5000), "0.5000", ".5000"),
            (Value::SmallMoney(-100), "-0.0100", "-.0100"),
            (Value::Money(i64::MIN), "-922337203685477.5808", "-922337203685477.5808"),
            (Value::Float(100.0), "100", "100.0"),
            (Value::Float(0.0), "0", "0.0"),
            (Value::Float(-1.5), "-1.5", "-1.5"),
            (Value::Float(0.1), "0.1", "0.10000000000000001"),
            (Value::Float(1e15), "1000000000000000", "1000000000000000.0"),
            (Value::Float(1e16), "1.0E+16", "1.0E+16"),
            (Value::Real(1e-5), "0.00001", "9.9999997E-6"),
            (Value::Real(f32::MAX), "3.4028235E+38", "3.4028235E+38"),
            (Value::Date(738_944), "2024-02-29", "2024-02-29"),
            (Value::Date(0), "0001-01-01", "0001-01-01"),
            (Value::Date(3_652_058), "9999-12-31", "9999-12-31"),
            (Value::Date(719_162), "1970-01-01", "1970-01-01"),
            (Value::Time { ticks: 1, scale: 7 }, "00:00:00.0000001", "00:00:00.0000001"),
            (Value::Time { ticks: 86_399, scale: 0 }, "23:59:59", "23:59:59"),
            (
                Value::DateTime { days: -53_690, ticks: 0 },
                "1753-01-01 00:00:00.000",
                "1753-01-01 00:00:00.000",
            ),
            (Value::DateTime { days: 0, ticks: 1 }, "1900-01-01 00:00:00.003", "1900-01-01 00:00:00.003"),
            (Value::DateTime { days: 0, ticks: 2 }, "1900-01-01 00:00:00.007", "1900-01-01 00:00:00.007"),
            (
                Value::DateTime { days: 2_958_463, ticks: 25_919_999 },
                "9999-12-31 23:59:59.997",
                "9999-12-31 23:59:59.997",
            ),
            (
                Value::SmallDateTime { days: 65_535, minutes: 1439 },
                "2079-06-06 23:59:00",
                "2079-06-06 23:59:00",
            ),
            (
                Value::DateTime2 { days: 719_162, ticks: 1_234_567, scale: 7 },
                "1970-01-01 00:00:00.1234567",
                "1970-01-01 00:00:00.1234567",
            ),
            (
                Value::DateTimeOffset { days: 719_162, ticks: 0, scale: 0, offset_minutes: 60 },
                "1970-01-01 01:00:00 +01:00",
                "1970-01-01 01:00:00 +01:00",
            ),
            (
                Value::DateTimeOffset { days: 719_162, ticks: 0, scale: 2, offset_minutes: -570 },
                "1969-12-31 14:30:00.00 -09:30",
                "1969-12-31 14:30:00.00 -09:30",
            ),
            (Value::Binary(vec![0, 0xAB]), "00AB", "00AB"),
            (Value::String("é".into()), "é", "é"),
            (
                Value::Guid(guid),
                "00112233-4455-6677-8899-AABBCCDDEEFF",
                "00112233-4455-6677-8899-AABBCCDDEEFF",
            ),
        ];
        for (value, server, bcp) in cases {
            assert_eq!(value.to_string(), *server, "{value:?}");
            assert_eq!(BcpText(value).to_string(), *bcp, "{value:?}");
        }
    }
}
