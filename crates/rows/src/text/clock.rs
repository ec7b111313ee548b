//! A time of day and its rounding to the unit of a type.

use super::TextError;

/// Seconds of a day.
pub const SECONDS_PER_DAY: u32 = 86_400;

/// A time of day as written: nanoseconds, and whether smaller digits were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Seconds since midnight, below 86,400.
    pub seconds: u32,
    /// Nanoseconds of the second, below 10^9.
    pub nanoseconds: u32,
    /// Non-zero digits followed the ninth.
    pub finer: bool,
}

impl Clock {
    /// The time of midnight.
    pub const MIDNIGHT: Self = Self { seconds: 0, nanoseconds: 0, finer: false };

    /// Returns the units of 10^-`scale` s since midnight (`scale` 0 to 7); 86,400 x 10^scale when rounding
    /// carries into the next day.
    #[inline]
    pub fn ticks(self, scale: u8, allow_rounding: bool) -> Result<u64, TextError> {
        let unit = NANOSECONDS_PER_TICK.get(usize::from(scale)).copied().unwrap_or(1);
        let per_second = u64::from(1_000_000_000 / unit);
        let ticks = u64::from(self.seconds) * per_second + u64::from(self.nanoseconds / unit);
        let rest = self.nanoseconds % unit;
        if rest == 0 && !self.finer {
            return Ok(ticks);
        }
        if !allow_rounding {
            return Err(TextError::NeedsRounding { scale });
        }
        Ok(ticks + u64::from(rest * 2 >= unit))
    }

    /// Returns the units of 1/300 s since midnight; 25,920,000 when rounding carries into the next day.
    /// Milliseconds that end in 0, 3 or 7 are the type's own spelling, so they need no permission to round.
    pub(super) fn three_hundredths(self, allow_rounding: bool) -> Result<u32, TextError> {
        let rounded = (u64::from(self.nanoseconds) * 3 + 5_000_000) / 10_000_000;
        let of_second = u32::try_from(rounded).unwrap_or(300);
        let milliseconds = self.nanoseconds / 1_000_000;
        let own_spelling = !self.finer
            && self.nanoseconds.is_multiple_of(1_000_000)
            && matches!(milliseconds % 10, 0 | 3 | 7);
        if !own_spelling && !allow_rounding {
            return Err(TextError::NeedsDateTimeRounding);
        }
        Ok(self.seconds * 300 + of_second)
    }

    /// Returns the minutes since midnight; 1440 when rounding carries into the next day.
    pub(super) fn minutes(self, allow_rounding: bool) -> Result<u16, TextError> {
        let exact = self.seconds.is_multiple_of(60) && self.nanoseconds == 0 && !self.finer;
        if !exact && !allow_rounding {
            return Err(TextError::NeedsMinuteRounding);
        }
        Ok(u16::try_from((self.seconds + 30) / 60).unwrap_or(u16::MAX))
    }

    pub(super) fn is_midnight(self) -> bool {
        self == Self::MIDNIGHT
    }
}

/// Nanoseconds in a unit of 10^-scale s, scale 0 to 9.
const NANOSECONDS_PER_TICK: [u32; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// Returns the number of ticks of 10^-scale s in a day; the scale is at most 7.
pub const fn ticks_per_day(scale: u8) -> u64 {
    SECONDS_PER_DAY as u64 * 10u64.pow(if scale > 7 { 7 } else { scale as u32 })
}
