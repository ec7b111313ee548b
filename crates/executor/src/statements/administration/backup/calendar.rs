//! Moments of backups, to the second, and the server's ticks.

use database_files::Moment;
use query::datum::TICKS_PER_DAY;

const TICKS_PER_SECOND: i64 = 10_000_000;
/// Days of 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from the first of March of the year 0 to the first of January of the year 1.
const DAYS_TO_MARCH: i64 = 306;

/// Returns the ticks since 0001-01-01 of a moment; None for one that is not in the calendar of datetime.
pub(super) fn ticks(moment: Moment) -> Option<i64> {
    let [year, month, day, hour, minute, second] = moment.map(i64::from);
    if year < 1753 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the day of a leap year is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_MARCH;
    Some(days * TICKS_PER_DAY + (hour * 3600 + minute * 60 + second) * TICKS_PER_SECOND)
}

/// Returns the moment of ticks.
pub(super) fn moment(ticks: i64) -> Moment {
    let (days, rest) = (ticks.div_euclid(TICKS_PER_DAY) + DAYS_TO_MARCH, ticks.rem_euclid(TICKS_PER_DAY));
    let (era, of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400, if month < 10 { month + 3 } else { month - 9 });
    let year = if month <= 2 { year + 1 } else { year };
    let seconds = rest / TICKS_PER_SECOND;
    [year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60]
        .map(|part| u16::try_from(part).unwrap_or_default())
}

/// Returns the moment of now.
pub(super) fn now() -> Moment {
    moment(query::facts::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_leap_years_are_found_again() {
        for known in [
            [2024, 2, 29, 23, 59, 58],
            [2000, 3, 1, 0, 0, 0],
            [1999, 12, 31, 12, 0, 1],
            [2100, 2, 28, 1, 2, 3],
        ] {
            assert_eq!(ticks(known).map(moment), Some(known));
        }
        // The first of January 1900 is day 693,595.
        assert_eq!(ticks([1900, 1, 1, 0, 0, 0]), Some(693_595 * TICKS_PER_DAY));
        assert_eq!(ticks([0, 0, 0, 0, 0, 0]), None);
    }
}
