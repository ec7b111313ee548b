//! The proleptic Gregorian calendar as SQL Server counts it: days since 0001-01-01.

/// 1900-01-01, day 0 of `datetime` and `smalldatetime`.
pub const DAYS_TO_1900: i32 = 693_595;
/// 1970-01-01, day 0 of Arrow's dates and timestamps.
pub const DAYS_TO_1970: i32 = 719_162;
/// 1753-01-01, the first day of `datetime`.
pub const DAYS_TO_1753: i32 = 639_905;
/// 9999-12-31, the last day of every type.
pub const DAYS_MAX: i32 = 3_652_058;

/// The months of a year in English, as SQL Server names them in us_english.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of a week in English, from Monday on: day 0 (0001-01-01) was one.
pub const WEEKDAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Returns the days since 0001-01-01, or `None` if there is no such day in the years 1 to 9999.
#[inline]
pub fn days_from_civil(year: u32, month: u32, day: u32) -> Option<i32> {
    let index = usize::try_from(month).ok()?.checked_sub(1)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = *MONTH_LENGTHS.get(index)? + u32::from(leap && month == 2);
    if day == 0 || day > length || year == 0 || year > 9999 {
        return None;
    }
    // Years that begin in March put the leap day last.
    let year = year - u32::from(month <= 2);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    i32::try_from(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year).ok()?.checked_sub(306)
}

/// Returns year, month and day of a count of days since 0001-01-01 from 0 to [`DAYS_MAX`]; other counts give
/// some other date.
#[inline]
pub fn civil_from_days(days: i32) -> (u32, u32, u32) {
    let shifted = days.clamp(0, DAYS_MAX).unsigned_abs() + 306;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u32::from(month <= 2), month, day)
}

/// Returns the number (1 to 12) of an English month name or its three-letter abbreviation.
pub(super) fn month_number(name: &[u8]) -> Option<u32> {
    let full = MONTH_NAMES.iter().position(|month| {
        name.eq_ignore_ascii_case(month.as_bytes())
            || name.len() == 3
                && month.as_bytes().get(..3).is_some_and(|short| short.eq_ignore_ascii_case(name))
    })?;
    u32::try_from(full + 1).ok()
}

const MONTH_LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
