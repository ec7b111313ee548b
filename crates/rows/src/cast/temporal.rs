//! date, time, datetime2, datetimeoffset, datetime and smalldatetime (MS-TDS 2.2.5.5.1).
//!
//! Dates count days since 0001-01-01, times of day count 10^-scale s.

use arrow::array::AsArray;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};

use super::{Fault, Source, Target, text_source};
use crate::cell_error::CellErrorReason;
use crate::encode::Fixed;
use crate::text::calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900, DAYS_TO_1970};
use crate::text::clock::ticks_per_day;
use crate::text::datetime;

const SECONDS_PER_DAY: i64 = 86_400;
/// Digits of the resolution in which the embedded server stores moments (100 ns).
const EXACT_SCALE: u8 = 7;
/// Largest offset from UTC, in minutes.
const OFFSET_MINUTES_MAX: i32 = 14 * 60;
/// datetime counts 1/300 s.
const DATETIME_TICKS_PER_DAY: u64 = 300 * SECONDS_PER_DAY as u64;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

type Reason = CellErrorReason;

/// Converts a column to dates: three bytes of days.
pub(super) fn dates<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| datetime::date(text, &options).map(i32::to_le_bytes))
            .map(|days| Fixed::Four(days.into()));
    }
    let truncate = source.options.allow_truncate;
    moments(source, target, |moment, _| {
        if moment.fraction != 0 && !truncate {
            return Err(Reason::TimeOfDay);
        }
        Ok(moment.days.to_le_bytes())
    })
    .map(|days| Fixed::Four(days.into()))
}

pub(super) fn times<'a>(source: &Source<'a, '_>, target: &Target, scale: u8) -> Result<Fixed<'a>, Fault> {
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| datetime::time(text, scale, &options).map(u64::to_le_bytes))
            .map(|ticks| Fixed::Eight(ticks.into()));
    }
    let digits = match source.data_type() {
        DataType::Time32(unit) | DataType::Time64(unit) => digits_of(unit),
        _ => 0,
    };
    let rescale = Rescale::new(digits, scale, source, target);
    let limit = SECONDS_PER_DAY * 10_i64.pow(digits.into());
    let convert = |ticks: i64| {
        if !(0..limit).contains(&ticks) {
            return Err(target.out_of_range());
        }
        let ticks = rescale.apply(ticks as u64)?;
        // 23:59:59.9 rounds to midnight of a day that a time does not have.
        if ticks == ticks_per_day(scale) { Err(target.out_of_range()) } else { Ok(ticks.to_le_bytes()) }
    };
    let ticks = match source.data_type() {
        DataType::Time32(TimeUnit::Second) => {
            source.map(source.primitive::<Time32SecondType>().values().iter(), |&ticks| convert(ticks.into()))
        }
        DataType::Time32(_) => source
            .map(source.primitive::<Time32MillisecondType>().values().iter(), |&ticks| convert(ticks.into())),
        DataType::Time64(TimeUnit::Microsecond) => {
            source.map(source.primitive::<Time64MicrosecondType>().values().iter(), |&ticks| convert(ticks))
        }
        DataType::Time64(_) => {
            source.map(source.primitive::<Time64NanosecondType>().values().iter(), |&ticks| convert(ticks))
        }
        _ => Err(Fault { index: 0, reason: target.out_of_range() }),
    };
    ticks.map(|ticks| Fixed::Eight(ticks.into()))
}

/// Casts to `datetime2`: ticks, then three bytes of days.
pub(super) fn date_times_2<'a>(
    source: &Source<'a, '_>,
    target: &Target,
    scale: u8,
) -> Result<Fixed<'a>, Fault> {
    let shift = 8 * super::time_len(scale);
    let pack = |days: i32, ticks: u64| (ticks | (days as u64) << shift).to_le_bytes();
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| {
            datetime::datetime2(text, scale, &options).map(|(days, ticks)| pack(days, ticks))
        })
        .map(|values| Fixed::Eight(values.into()));
    }
    let rescale = Rescale::new(digits(source), scale, source, target);
    let day = ticks_per_day(scale);
    moments(source, target, |moment, _| {
        let (days, ticks) = carry(moment.days, rescale.apply(moment.fraction)?, day, target)?;
        Ok(pack(days, ticks))
    })
    .map(|values| Fixed::Eight(values.into()))
}

/// Casts to `datetimeoffset`: ticks and days in UTC, then the offset in minutes.
pub(super) fn date_time_offsets<'a>(
    source: &Source<'a, '_>,
    target: &Target,
    scale: u8,
) -> Result<Fixed<'a>, Fault> {
    let shift = 8 * super::time_len(scale);
    let pack = |days: i32, ticks: u64, minutes: i16| {
        let minutes = u128::from(minutes as u16);
        (u128::from(ticks) | (days as u128) << shift | minutes << (shift + 24)).to_le_bytes()
    };
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| {
            datetime::datetimeoffset(text, scale, &options)
                .map(|(days, ticks, minutes)| pack(days, ticks, minutes))
        })
        .map(|values| Fixed::Sixteen(values.into()));
    }
    let rescale = Rescale::new(digits(source), scale, source, target);
    let day = ticks_per_day(scale);
    moments(source, target, |moment, offset_minutes| {
        let (days, ticks) = carry(moment.days, rescale.apply(moment.fraction)?, day, target)?;
        Ok(pack(days, ticks, offset_minutes))
    })
    .map(|values| Fixed::Sixteen(values.into()))
}

/// Casts to `datetime`: days since 1900, then ticks of 1/300 s.
pub(super) fn date_times<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    let pack = |days: i32, ticks: u32| (u64::from(days as u32) | u64::from(ticks) << 32).to_le_bytes();
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| {
            datetime::datetime(text, &options).map(|(days, ticks)| pack(days, ticks))
        })
        .map(|values| Fixed::Eight(values.into()));
    }
    let to_nanoseconds = NANOSECONDS_PER_SECOND / 10_u64.pow(digits(source).into());
    let rounding = source.options.allow_rounding;
    moments(source, target, |moment, _| {
        let nanoseconds = moment.fraction * to_nanoseconds;
        let ticks = (nanoseconds * 3 + 5_000_000) / 10_000_000;
        // A tick is a third of ten milliseconds; it is read, and therefore taken, as the nearest millisecond.
        let milliseconds = (ticks * 10 + 1) / 3;
        let exact = nanoseconds * 3 == ticks * 10_000_000 || nanoseconds == milliseconds * 1_000_000;
        if !exact && !rounding {
            return Err(target.inexact());
        }
        let (days, ticks) = carry(moment.days, ticks, DATETIME_TICKS_PER_DAY, target)?;
        if days < DAYS_TO_1753 {
            return Err(target.out_of_range());
        }
        Ok(pack(days - DAYS_TO_1900, ticks as u32))
    })
    .map(|values| Fixed::Eight(values.into()))
}

/// Casts to `smalldatetime`: days since 1900, then minutes, two bytes each.
pub(super) fn small_date_times<'a>(source: &Source<'a, '_>, target: &Target) -> Result<Fixed<'a>, Fault> {
    let pack = |days: u16, minutes: u16| (u32::from(days) | u32::from(minutes) << 16).to_le_bytes();
    if text_source::is_text(source) {
        let options = text_source::options(source.options);
        return text_source::map(source, |text| {
            datetime::smalldatetime(text, &options).map(|(days, minutes)| pack(days, minutes))
        })
        .map(|values| Fixed::Four(values.into()));
    }
    let minute = 60 * 10_u64.pow(digits(source).into());
    let rounding = source.options.allow_rounding;
    moments(source, target, |moment, _| {
        let (mut minutes, rest) = (moment.fraction / minute, moment.fraction % minute);
        if rest != 0 {
            if !rounding {
                return Err(target.inexact());
            }
            minutes += u64::from(rest * 2 >= minute);
        }
        let (days, minutes) = carry(moment.days, minutes, 24 * 60, target)?;
        let days = u16::try_from(days - DAYS_TO_1900).map_err(|_| target.out_of_range())?;
        Ok(pack(days, minutes as u16))
    })
    .map(|values| Fixed::Four(values.into()))
}

/// A point in time: days since 0001-01-01, and the source's units since midnight.
#[derive(Clone, Copy)]
struct Moment {
    days: i32,
    fraction: u64,
}

/// Calls `convert` with every moment and its offset from UTC in minutes.
///
/// For a `datetimeoffset` moments are in UTC; for every other target they are local to the source's zone.
fn moments<U: Default + Clone>(
    source: &Source<'_, '_>,
    target: &Target,
    convert: impl Fn(Moment, i16) -> Result<U, Reason>,
) -> Result<Vec<U>, Fault> {
    match source.data_type() {
        DataType::Date32 => {
            let values = source.primitive::<Date32Type>().values();
            source.map(values.iter(), |&days| {
                convert(Moment { days: checked_days(days.into(), target)?, fraction: 0 }, 0)
            })
        }
        DataType::Date64 => {
            let values = source.primitive::<Date64Type>().values();
            let truncate = source.options.allow_truncate;
            source.map(values.iter(), |&milliseconds| {
                // Arrow asks for whole days here.
                if milliseconds % (SECONDS_PER_DAY * 1000) != 0 && !truncate {
                    return Err(Reason::TimeOfDay);
                }
                let days = milliseconds.div_euclid(SECONDS_PER_DAY * 1000);
                convert(Moment { days: checked_days(days, target)?, fraction: 0 }, 0)
            })
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let values = source.primitive::<TimestampSecondType>().values();
            timestamps::<SECONDS_PER_DAY, U>(source, target, values, convert)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let values = source.primitive::<TimestampMillisecondType>().values();
            timestamps::<{ SECONDS_PER_DAY * 1000 }, U>(source, target, values, convert)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let values = source.primitive::<TimestampMicrosecondType>().values();
            timestamps::<{ SECONDS_PER_DAY * 1_000_000 }, U>(source, target, values, convert)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let values = source.primitive::<TimestampNanosecondType>().values();
            timestamps::<{ SECONDS_PER_DAY * 1_000_000_000 }, U>(source, target, values, convert)
        }
        DataType::FixedSizeBinary(8) => {
            let values = source.array.as_fixed_size_binary().value_data().as_chunks::<8>().0;
            source.map(values.iter(), |&bytes| convert(exact_moment(bytes, target)?, 0))
        }
        DataType::FixedSizeBinary(10) => {
            let values = source.array.as_fixed_size_binary().value_data().as_chunks::<10>().0;
            source.map(values.iter(), |&[a, b, c, d, e, f, g, h, high, low]| {
                let moment = exact_moment([a, b, c, d, e, f, g, h], target)?;
                // The sign bit is flipped so that the bytes order as the offsets do.
                let minutes = (u16::from_be_bytes([high, low]) ^ 0x8000) as i16;
                if i32::from(minutes).abs() > OFFSET_MINUTES_MAX {
                    return Err(Reason::Malformed(Box::new(target.sql_type().clone())));
                }
                convert(moment, minutes)
            })
        }
        _ => Err(Fault { index: 0, reason: target.out_of_range() }),
    }
}

/// Converts timestamps of a unit of which a day has `DAY`; a constant, so that dividing by it costs a
/// multiplication.
fn timestamps<const DAY: i64, U: Default + Clone>(
    source: &Source<'_, '_>,
    target: &Target,
    values: &[i64],
    convert: impl Fn(Moment, i16) -> Result<U, Reason>,
) -> Result<Vec<U>, Fault> {
    let split = |value: i64| (value.div_euclid(DAY), value.rem_euclid(DAY));
    let moment = |days: i64, fraction: i64| {
        Ok(Moment { days: checked_days(days, target)?, fraction: fraction as u64 })
    };
    let Some(zone) = source.zone else {
        return source.map(values.iter(), |&value| {
            let (days, fraction) = split(value);
            convert(moment(days, fraction)?, 0)
        });
    };
    let per_second = DAY / SECONDS_PER_DAY;
    let keeps_offset = matches!(target.sql_type(), tds::SqlType::DateTimeOffset { .. });
    let rounding = source.options.allow_rounding;
    source.map(values.iter(), |&value| {
        let (days, fraction) = split(value);
        // Checked first: the zone's rules know no other years.
        let utc = moment(days, fraction)?;
        let seconds =
            zone.offset_seconds(value.div_euclid(per_second)).ok_or_else(|| target.out_of_range())?;
        if keeps_offset {
            // Before standard time, offsets were not whole minutes.
            if seconds % 60 != 0 && !rounding {
                return Err(target.inexact());
            }
            return convert(utc, (f64::from(seconds) / 60.0).round() as i16);
        }
        let local = fraction + i64::from(seconds) * per_second;
        convert(moment(days + local.div_euclid(DAY), local.rem_euclid(DAY))?, 0)
    })
}

fn checked_days(days_since_1970: i64, target: &Target) -> Result<i32, Reason> {
    let days = days_since_1970.saturating_add(DAYS_TO_1970.into());
    match i32::try_from(days) {
        Ok(days @ 0..=DAYS_MAX) => Ok(days),
        _ => Err(target.out_of_range()),
    }
}

/// Reads the stored form of a moment: big-endian count of 100 ns since 0001-01-01.
fn exact_moment(bytes: [u8; 8], target: &Target) -> Result<Moment, Reason> {
    let ticks = u64::from_be_bytes(bytes);
    let day = ticks_per_day(EXACT_SCALE);
    match i32::try_from(ticks / day) {
        Ok(days @ 0..=DAYS_MAX) => Ok(Moment { days, fraction: ticks % day }),
        _ => Err(Reason::Malformed(Box::new(target.sql_type().clone()))),
    }
}

/// Carries a day that rounding has filled up.
#[inline]
fn carry(days: i32, ticks: u64, day: u64, target: &Target) -> Result<(i32, u64), Reason> {
    if ticks < day {
        return Ok((days, ticks));
    }
    if days == DAYS_MAX { Err(target.out_of_range()) } else { Ok((days + 1, 0)) }
}

/// Returns the fractional digits of a source of moments.
fn digits(source: &Source<'_, '_>) -> u8 {
    match source.data_type() {
        DataType::Timestamp(unit, _) => digits_of(unit),
        DataType::FixedSizeBinary(_) => EXACT_SCALE,
        _ => 0,
    }
}

fn digits_of(unit: &TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Fractional digits of the source to fractional digits of the target.
struct Rescale<'t> {
    multiply: u64,
    divide: u64,
    rounding: bool,
    target: &'t Target,
}

impl<'t> Rescale<'t> {
    fn new(from: u8, to: u8, source: &Source<'_, '_>, target: &'t Target) -> Self {
        let multiply = 10_u64.pow(to.saturating_sub(from).into());
        let divide = 10_u64.pow(from.saturating_sub(to).into());
        Rescale { multiply, divide, rounding: source.options.allow_rounding, target }
    }

    #[inline]
    fn apply(&self, fraction: u64) -> Result<u64, Reason> {
        if self.divide == 1 {
            return Ok(fraction * self.multiply);
        }
        let (quotient, rest) = (fraction / self.divide, fraction % self.divide);
        if rest == 0 {
            return Ok(quotient);
        }
        if !self.rounding {
            return Err(self.target.inexact());
        }
        Ok(quotient + u64::from(rest * 2 >= self.divide))
    }
}
