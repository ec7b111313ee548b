//! The origin of a page: when, by which command line and on which processor its figures were measured.

use std::time::{SystemTime, UNIX_EPOCH};

/// Describes the origin in a line for people.
pub fn line() -> String {
    let words: Vec<String> = std::env::args().skip(1).map(|word| without_secret(&word)).collect();
    let processor = processor().map_or_else(String::new, |name| format!(" on {name}"));
    format!("Measured on {}{processor} by: bulkwire {}", today(), words.join(" "))
}

/// Hides the password of a URL, and the value of a setting that names one.
fn without_secret(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((login, place)) = rest.rsplit_once('@')
        && let Some((user, _)) = login.split_once(':')
    {
        return format!("{scheme}://{user}:***@{place}");
    }
    let lower = word.to_ascii_lowercase();
    match ["password", "pwd", "token"].iter().any(|name| lower.contains(name)) && word.contains('=') {
        true => "***".to_owned(),
        false => word.to_owned(),
    }
}

/// Returns the name of the processor, where the system says it.
fn processor() -> Option<String> {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = told.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the date of today in UTC, as 2026-11-28.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (year, month, day) = date_of(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns the date that is `days` after 1970-01-01. Years begin in March here, so that a leap day ends its year.
fn date_of(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (calendar_month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + next, calendar_month, day - (153 * month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::{date_of, without_secret};

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_785, (2026, 11, 28)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date_of(days), date, "{days}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        assert_eq!(without_secret("mssql://sa:p@w@db/x"), "mssql://sa:***@db/x");
        assert_eq!(without_secret("Server=db;Password=x"), "***");
        assert_eq!(without_secret("--rows=5"), "--rows=5");
    }
}
