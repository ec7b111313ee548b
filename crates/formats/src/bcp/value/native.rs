//! Native values: little-endian bytes of a size that the type decides (MS-TDS 2.2.5.5.1, but for time, whose scale is
//! always 7 here, and decimal, which carries precision and scale).

use rows::text::calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900};
use rows::text::guid;

use super::super::{Deviation, HostType};
use super::instant::{Instant, TICKS_PER_DAY, TICKS_PER_MINUTE, milliseconds};
use super::{Fault, Remark, hex};

/// Returns the value's bytes at its type's size. Longer ones are cut and shorter ones filled up with zeros,
/// as the original does.
#[inline]
pub(in super::super) fn sized<const W: usize>(bytes: &[u8]) -> Result<([u8; W], Remark), Fault> {
    if let Ok(exact) = bytes.try_into() {
        return Ok((exact, None));
    }
    let mut value = [0; W];
    for (slot, byte) in value.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    let deviation = if bytes.len() > W { Deviation::CutByLength } else { Deviation::FilledUp };
    Ok((value, Some(deviation)))
}

/// Reads a native whole number of any width.
pub(in super::super) fn integer(host_type: HostType, bytes: &[u8]) -> Result<(i64, Remark), Fault> {
    Ok(match host_type {
        HostType::Bit | HostType::TinyInt => {
            let ([value], remark) = sized::<1>(bytes)?;
            (i64::from(value), remark)
        }
        HostType::SmallInt => {
            let (value, remark) = sized(bytes)?;
            (i64::from(i16::from_le_bytes(value)), remark)
        }
        HostType::Int => {
            let (value, remark) = sized(bytes)?;
            (i64::from(i32::from_le_bytes(value)), remark)
        }
        _ => {
            let (value, remark) = sized(bytes)?;
            (i64::from_le_bytes(value), remark)
        }
    })
}

/// Reads a `money`: the high half first.
#[inline]
pub(in super::super) fn money([a, b, c, d, e, f, g, h]: [u8; 8]) -> i64 {
    i64::from_le_bytes([e, f, g, h, a, b, c, d])
}

/// Reads a decimal: value and scale. Precision, scale and sign come first, then 4, 8, 12 or 16 bytes of
/// magnitude. The original checks neither the precision nor a sign other than 1.
pub(in super::super) fn decimal(bytes: &[u8]) -> Result<((i128, u8), Remark), Fault> {
    let [precision, scale, sign, magnitude @ ..] = bytes else { return Err(Fault::Length(bytes.len())) };
    if !matches!(magnitude.len(), 4 | 8 | 12 | 16) {
        return Err(Fault::Length(bytes.len()));
    }
    if *scale > 38 {
        return Err(Fault::Malformed("the scale of a decimal is none"));
    }
    let is_odd = !(1..=38).contains(precision) || scale > precision || *sign > 1;
    let mut wide = [0; 16];
    for (slot, byte) in wide.iter_mut().zip(magnitude) {
        *slot = *byte;
    }
    let value = i128::try_from(u128::from_le_bytes(wide)).map_err(|_| Fault::Range)?;
    // 1 is plus, and any other byte minus, as was observed.
    let value = if *sign == 1 { value } else { -value };
    Ok(((value, *scale), is_odd.then_some(Deviation::OddDecimal)))
}

/// Converts a decimal to the column's scale. Digits that the column does not keep are cut, as the original
/// does.
#[inline]
pub(in super::super) fn rescaled(
    (value, scale): (i128, u8),
    precision: u8,
    to_scale: u8,
) -> Result<(i128, Remark), Fault> {
    let limit = 10_i128.checked_pow(u32::from(precision)).ok_or(Fault::Range)?;
    let mut remark = None;
    let value = if scale <= to_scale {
        10_i128
            .checked_pow(u32::from(to_scale - scale))
            .and_then(|factor| value.checked_mul(factor))
            .ok_or(Fault::Range)?
    } else {
        let divisor = 10_i128.checked_pow(u32::from(scale - to_scale)).ok_or(Fault::Range)?;
        remark = (value % divisor != 0).then_some(Deviation::CutDecimal);
        value / divisor
    };
    if value.abs() < limit { Ok((value, remark)) } else { Err(Fault::Range) }
}

/// Reads a native date or time of any type.
#[inline]
pub(in super::super) fn instant(host_type: HostType, bytes: &[u8]) -> Result<(Instant, Remark), Fault> {
    if bytes.is_empty() {
        return Err(Fault::Length(0));
    }
    let (instant, remark) = match host_type {
        HostType::DateTime => {
            let ([a, b, c, d, e, f, g, h], remark) = sized(bytes)?;
            let days = i32::from_le_bytes([a, b, c, d]);
            let ticks = u32::from_le_bytes([e, f, g, h]);
            let days = days.checked_add(DAYS_TO_1900).filter(|days| (DAYS_TO_1753..=DAYS_MAX).contains(days));
            match days {
                Some(days) if ticks < 86_400 * 300 => (
                    Instant { days, ticks: milliseconds(ticks) as u64 * 10_000, ..Instant::default() },
                    remark,
                ),
                Some(_) => return Err(Fault::Date),
                None => return Err(Fault::DateRange),
            }
        }
        HostType::DateTim4 => {
            let ([a, b, c, d], remark) = sized(bytes)?;
            let minutes = u16::from_le_bytes([c, d]);
            if minutes >= 1440 {
                return Err(Fault::Date);
            }
            let days = i32::from(u16::from_le_bytes([a, b])) + DAYS_TO_1900;
            let ticks = u64::from(minutes) * TICKS_PER_MINUTE as u64;
            (Instant { days, ticks, ..Instant::default() }, remark)
        }
        HostType::Date => {
            let ([a, b, c], remark) = sized(bytes)?;
            (Instant { days: i32::from_le_bytes([a, b, c, 0]), ..Instant::default() }, remark)
        }
        HostType::Time => {
            let ([a, b, c, d, e], remark) = sized(bytes)?;
            let ticks = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
            if ticks >= TICKS_PER_DAY {
                return Err(Fault::Time);
            }
            (Instant { days: DAYS_TO_1900, ticks, ..Instant::default() }, remark)
        }
        HostType::DateTime2 => {
            let ([a, b, c, d, e, f, g, h], remark) = sized(bytes)?;
            let ticks = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
            (Instant { days: i32::from_le_bytes([f, g, h, 0]), ticks, ..Instant::default() }, remark)
        }
        _ => {
            let ([a, b, c, d, e, f, g, h, i, j], remark) = sized(bytes)?;
            let ticks = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
            let days = i32::from_le_bytes([f, g, h, 0]);
            let offset_minutes = i16::from_le_bytes([i, j]);
            let out_of_range = !(0..=DAYS_MAX).contains(&days) || ticks >= TICKS_PER_DAY;
            if out_of_range || !(-840..=840).contains(&offset_minutes) {
                return Err(Fault::Date);
            }
            let utc = i64::from(days) * TICKS_PER_DAY as i64 + ticks as i64;
            let local = utc + i64::from(offset_minutes) * TICKS_PER_MINUTE;
            let days = local.div_euclid(TICKS_PER_DAY as i64) as i32;
            let ticks = local.rem_euclid(TICKS_PER_DAY as i64) as u64;
            (Instant { days, ticks, finer: false, offset_minutes }, remark)
        }
    };
    if !(0..=DAYS_MAX).contains(&instant.days) || instant.ticks >= TICKS_PER_DAY {
        return Err(Fault::Date);
    }
    Ok((instant, remark))
}

/// Reads a `uniqueidentifier` in the order of its text.
#[inline]
pub(in super::super) fn uniqueidentifier(bytes: &[u8]) -> Result<([u8; 16], Remark), Fault> {
    if bytes.is_empty() {
        return Err(Fault::Length(0));
    }
    let (value, remark) = sized(bytes)?;
    Ok((guid::swap_order(value), remark))
}

/// Spells a native value as `-c` would, for conversion to another type and for error files. Bytes that are no
/// value of the type become hex.
pub(in super::super) fn spell(host_type: HostType, bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if spell_value(host_type, bytes, out).is_err() {
        out.truncate(start);
        hex::spell(bytes, out);
    }
}

fn spell_value(host_type: HostType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    use std::io::Write as _;
    let unwritten = |_| Fault::Syntax;
    match host_type {
        HostType::Bit | HostType::TinyInt | HostType::SmallInt | HostType::Int | HostType::BigInt => {
            write!(out, "{}", integer(host_type, bytes)?.0).map_err(unwritten)
        }
        HostType::Flt4 => write!(out, "{}", f32::from_le_bytes(sized(bytes)?.0)).map_err(unwritten),
        HostType::Flt8 => write!(out, "{}", f64::from_le_bytes(sized(bytes)?.0)).map_err(unwritten),
        HostType::Money => fixed_point(i128::from(money(sized(bytes)?.0)), 4, out),
        HostType::Money4 => fixed_point(i128::from(i32::from_le_bytes(sized(bytes)?.0)), 4, out),
        HostType::Decimal | HostType::Numeric => {
            let ((value, scale), _) = decimal(bytes)?;
            fixed_point(value, scale, out)
        }
        HostType::DateTime
        | HostType::DateTim4
        | HostType::Date
        | HostType::Time
        | HostType::DateTime2
        | HostType::DateTimeOffset => {
            spell_instant(host_type, instant(host_type, bytes)?.0, out);
            Ok(())
        }
        HostType::UniqueId => {
            let (value, _) = uniqueidentifier(bytes)?;
            for (index, byte) in value.iter().enumerate() {
                if matches!(index, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                hex::spell(&[*byte], out);
            }
            Ok(())
        }
        HostType::Char
        | HostType::NChar
        | HostType::Binary
        | HostType::Image
        | HostType::Variant
        | HostType::Udt => {
            hex::spell(bytes, out);
            Ok(())
        }
    }
}

fn fixed_point(value: i128, scale: u8, out: &mut Vec<u8>) -> Result<(), Fault> {
    use std::io::Write as _;
    let divisor = 10_u128.pow(u32::from(scale.min(38)));
    let magnitude = value.unsigned_abs();
    let sign = if value < 0 { "-" } else { "" };
    let (whole, fraction) = (magnitude / divisor, magnitude % divisor);
    let written = match (whole, scale) {
        (_, 0) => write!(out, "{sign}{whole}"),
        (0, _) => write!(out, "{sign}.{fraction:0width$}", width = usize::from(scale)),
        _ => write!(out, "{sign}{whole}.{fraction:0width$}", width = usize::from(scale)),
    };
    written.map_err(|_| Fault::Syntax)
}

fn spell_instant(host_type: HostType, instant: Instant, out: &mut Vec<u8>) {
    use rows::text::calendar::civil_from_days;
    use std::io::Write as _;
    let (year, month, day) = civil_from_days(instant.days);
    let seconds = instant.ticks / super::instant::TICKS_PER_SECOND;
    let fraction = instant.ticks % super::instant::TICKS_PER_SECOND;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    // Writing into a vector does not fail.
    let _ = match host_type {
        HostType::Date => write!(out, "{year:04}-{month:02}-{day:02}"),
        HostType::Time => write!(out, "{h:02}:{m:02}:{s:02}.{fraction:07}"),
        HostType::DateTim4 => write!(out, "{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}"),
        HostType::DateTime => {
            write!(out, "{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}.{:03}", fraction / 10_000)
        }
        HostType::DateTime2 => {
            write!(out, "{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}.{fraction:07}")
        }
        _ => {
            let minutes = instant.offset_minutes.unsigned_abs();
            let sign = if instant.offset_minutes < 0 { '-' } else { '+' };
            write!(
                out,
                "{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}.{fraction:07} {sign}{:02}:{:02}",
                minutes / 60,
                minutes % 60
            )
        }
    };
}
