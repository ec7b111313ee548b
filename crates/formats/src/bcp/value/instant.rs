//! Converts dates and times between native bytes, text, and the exact form of the type mapping.

use rows::text::calendar::{DAYS_MAX, DAYS_TO_1753, DAYS_TO_1900, DAYS_TO_1970};

use super::Fault;

/// Units of 100 ns in a day, a minute and a second.
pub(in super::super) const TICKS_PER_DAY: u64 = 864_000_000_000;
pub(in super::super) const TICKS_PER_MINUTE: i64 = 600_000_000;
pub(in super::super) const TICKS_PER_SECOND: u64 = 10_000_000;

/// A date and a time of day, with an offset from UTC where there is one. Local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Instant {
    /// Days since 0001-01-01.
    pub(in super::super) days: i32,
    /// Units of 100 ns since midnight.
    pub(in super::super) ticks: u64,
    /// The text had digits beyond 100 ns.
    pub(in super::super) finer: bool,
    /// Minutes east of UTC.
    pub(in super::super) offset_minutes: i16,
}

impl Instant {
    /// Returns the units of 10^-scale s since midnight; refuses a finer time.
    fn scaled(self, scale: u8) -> Result<u64, Fault> {
        let unit = 10_u64.pow(7 - u32::from(scale.min(7)));
        if self.finer || !self.ticks.is_multiple_of(unit) {
            Err(Fault::DateOverflow)
        } else {
            Ok(self.ticks / unit)
        }
    }

    /// Returns the days since 1970.
    pub(in super::super) fn date(self) -> i32 {
        self.days - DAYS_TO_1970
    }

    /// Makes a `time(scale)` in the unit of the exact form.
    pub(in super::super) fn time(self, scale: u8) -> Result<i64, Fault> {
        let ticks = self.scaled(scale)?;
        let digits = match scale {
            0 => 0,
            1..=3 => 3,
            4..=6 => 6,
            _ => 9,
        };
        Ok((ticks * 10_u64.pow(digits - u32::from(scale.min(7)))) as i64)
    }

    /// Makes a `datetime2(scale)`, scale below 7, in the unit of the exact form since 1970.
    pub(in super::super) fn timestamp(self, scale: u8) -> Result<i64, Fault> {
        let time = self.time(scale.min(6))?;
        let per_day = match scale {
            0 => 86_400,
            1..=3 => 86_400_000,
            _ => 86_400_000_000,
        };
        Ok(i64::from(self.date()) * per_day + time)
    }

    /// Makes a `datetime2(7)`: 100 ns since 0001-01-01, big-endian.
    pub(in super::super) fn exact(self) -> Result<[u8; 8], Fault> {
        let ticks = self.scaled(7)?;
        Ok((self.days as u64 * TICKS_PER_DAY + ticks).to_be_bytes())
    }

    /// Makes a `datetimeoffset(scale)`: 100 ns since 0001-01-01 in UTC, big-endian, then the offset with its
    /// sign bit flipped.
    pub(in super::super) fn exact_offset(self, scale: u8) -> Result<[u8; 10], Fault> {
        self.scaled(scale)?;
        let local = self.days as i64 * TICKS_PER_DAY as i64 + self.ticks as i64;
        let utc = local - i64::from(self.offset_minutes) * TICKS_PER_MINUTE;
        if !(0..(i64::from(DAYS_MAX) + 1) * TICKS_PER_DAY as i64).contains(&utc) {
            return Err(Fault::Date);
        }
        let [a, b, c, d, e, f, g, h] = (utc as u64).to_be_bytes();
        let [i, j] = (self.offset_minutes as u16 ^ 0x8000).to_be_bytes();
        Ok([a, b, c, d, e, f, g, h, i, j])
    }

    /// Makes a `datetime` in ms since 1970: rounded to 1/300 s, whose ticks end in 0, 3 and 7 ms.
    pub(in super::super) fn datetime(self) -> Result<i64, Fault> {
        if self.finer || !self.ticks.is_multiple_of(10_000) {
            return Err(Fault::DateOverflow);
        }
        let days = self.days;
        let mut ticks = (self.ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
        if ticks >= 86_400 * 300 {
            // The original does not carry into the next day.
            ticks = 86_400 * 300 - 1;
        }
        if !(DAYS_TO_1753..=DAYS_MAX).contains(&days) {
            return Err(Fault::DateRange);
        }
        Ok(i64::from(days - DAYS_TO_1970) * 86_400_000 + milliseconds(ticks as u32))
    }

    /// Makes a `smalldatetime` in seconds since 1970. Seconds are refused.
    pub(in super::super) fn smalldatetime(self) -> Result<i64, Fault> {
        let minute = TICKS_PER_MINUTE as u64;
        if !(DAYS_TO_1900..=DAYS_TO_1900 + 65_535).contains(&self.days) {
            return Err(Fault::DateRange);
        }
        if self.finer || !self.ticks.is_multiple_of(minute) {
            return Err(Fault::DateOverflow);
        }
        Ok(i64::from(self.date()) * 86_400 + (self.ticks / minute) as i64 * 60)
    }
}

/// Converts 1/300 s to ms, as SQL Server rounds them: 0, 3, 7, 10 ….
pub(in super::super) fn milliseconds(ticks: u32) -> i64 {
    (i64::from(ticks) * 10 + 1) / 3
}
