//! Dates and times.

use super::Culture;
use super::culture::Patterns;
use crate::Datum;
use crate::convert::Parts;
use crate::datum::{TICKS_PER_DAY, TICKS_PER_SECOND};

/// A moment as it is written.
struct Moment {
    parts: Parts,
    /// 0 is Monday.
    weekday: usize,
    /// Only a datetimeoffset has one.
    offset_minutes: Option<i16>,
    /// A time without a date: a span, whose separators must be escaped.
    span: bool,
}

/// Formats a moment; `None` if the pattern does not fit it.
pub(super) fn format(value: &Datum, pattern: &str, culture: &Culture) -> Option<String> {
    let (local, offset, span) = match value {
        Datum::Date(days) => (days * TICKS_PER_DAY, None, false),
        Datum::Time(ticks) => (*ticks, None, true),
        Datum::Moment(ticks) => (*ticks, None, false),
        Datum::Instant { ticks, offset_minutes } => {
            (ticks + i64::from(*offset_minutes) * 60 * TICKS_PER_SECOND, Some(*offset_minutes), false)
        }
        _ => return None,
    };
    let moment = Moment {
        parts: Parts::of(local, offset.unwrap_or(0)),
        // 0001-01-01 was a Monday.
        weekday: local.div_euclid(TICKS_PER_DAY).rem_euclid(7) as usize,
        offset_minutes: offset,
        span,
    };
    let mut chars = pattern.chars();
    let (first, second) = (chars.next(), chars.next());
    match (first, second) {
        (None, _) => standard(&moment, 'G', culture),
        (Some(letter), None) => standard(&moment, letter, culture),
        _ => custom(&moment, pattern, culture),
    }
}

fn standard(moment: &Moment, letter: char, culture: &Culture) -> Option<String> {
    if moment.span {
        let pattern = match letter {
            'c' | 't' | 'T' if moment.parts.fraction == 0 => "hh\\:mm\\:ss",
            'c' | 't' | 'T' => "hh\\:mm\\:ss\\.fffffff",
            'g' if moment.parts.fraction == 0 => "h\\:mm\\:ss",
            'g' => "h\\:mm\\:ss\\.FFFFFFF",
            'G' => "0\\:hh\\:mm\\:ss\\.fffffff",
            _ => return None,
        };
        let pattern = pattern.replace("0\\:", "'0:'");
        return custom(moment, &pattern, culture);
    }
    let Patterns { short_date, long_date, short_time, long_time, month_day, year_month } = &culture.patterns;
    let pattern = match letter {
        'd' => (*short_date).to_string(),
        'D' => (*long_date).to_string(),
        'f' => format!("{long_date} {short_time}"),
        'F' => format!("{long_date} {long_time}"),
        'g' => format!("{short_date} {short_time}"),
        'G' => format!("{short_date} {long_time}"),
        'm' | 'M' => (*month_day).to_string(),
        'o' | 'O' => "yyyy-MM-dd'T'HH:mm:ss.fffffffK".to_string(),
        'r' | 'R' => "ddd, dd MMM yyyy HH:mm:ss 'GMT'".to_string(),
        's' => "yyyy-MM-dd'T'HH:mm:ss".to_string(),
        't' => (*short_time).to_string(),
        'T' => (*long_time).to_string(),
        'u' => "yyyy-MM-dd HH:mm:ss'Z'".to_string(),
        'y' | 'Y' => (*year_month).to_string(),
        _ => return None,
    };
    // These are alike everywhere.
    let culture = if "oOrRsu".contains(letter) { Culture::named("").ok()? } else { culture };
    custom(moment, &pattern, culture)
}

fn custom(moment: &Moment, pattern: &str, culture: &Culture) -> Option<String> {
    let parts = &moment.parts;
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(ch) = chars.next() {
        match ch {
            '\'' | '"' => {
                let mut closed = false;
                for inner in chars.by_ref() {
                    if inner == ch {
                        closed = true;
                        break;
                    }
                    text.push(inner);
                }
                if !closed {
                    return None;
                }
                continue;
            }
            '\\' => {
                text.push(chars.next()?);
                continue;
            }
            // One letter alone, as a pattern of its own.
            '%' if chars.peek().is_some() => continue,
            _ => {}
        }
        if !"dMyhHmsfFtzK".contains(ch) {
            if moment.span {
                return None;
            }
            match ch {
                '/' => text.push_str(culture.date_separator),
                other => text.push(other),
            }
            continue;
        }
        let mut count = 1;
        while chars.peek() == Some(&ch) {
            chars.next();
            count += 1;
        }
        let two = |value: i64| if count == 1 { value.to_string() } else { format!("{value:02}") };
        match ch {
            'd' if moment.span => text.push_str(&format!("{:0>count$}", 0)),
            _ if moment.span && !"hmsfF".contains(ch) => return None,
            'd' if count < 3 => text.push_str(&two(i64::from(parts.day))),
            'd' => {
                text.push_str(match count {
                    3 => culture.short_day(moment.weekday)?,
                    _ => culture.days.get(moment.weekday)?,
                });
            }
            'M' if count < 3 => text.push_str(&two(i64::from(parts.month))),
            'M' => {
                text.push_str(match count {
                    3 => culture.short_month(parts.month)?,
                    _ => culture.months.get(usize::try_from(parts.month).ok()?.checked_sub(1)?)?,
                });
            }
            'y' if count <= 2 => text.push_str(&two(i64::from(parts.year % 100))),
            'y' => text.push_str(&format!("{:0count$}", parts.year)),
            'h' if moment.span => text.push_str(&two(parts.hour)),
            'h' => text.push_str(&two(if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 })),
            'H' => text.push_str(&two(parts.hour)),
            'm' => text.push_str(&two(parts.minute)),
            's' => text.push_str(&two(parts.second)),
            'f' | 'F' if count <= 7 => {
                let digits = format!("{:07}", parts.fraction);
                let kept = digits.get(..count)?;
                let kept = if ch == 'F' { kept.trim_end_matches('0') } else { kept };
                // A point before nothing goes.
                if kept.is_empty() && text.ends_with('.') {
                    text.pop();
                }
                text.push_str(kept);
            }
            't' => {
                let half = culture.halves.get(usize::from(parts.hour >= 12))?;
                text.extend(half.chars().take(if count == 1 { 1 } else { usize::MAX }));
            }
            'z' => {
                let minutes = moment.offset_minutes.unwrap_or(0);
                let sign = if minutes < 0 { '-' } else { '+' };
                let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
                text.push_str(&match count {
                    1 => format!("{sign}{hours}"),
                    2 => format!("{sign}{hours:02}"),
                    _ => format!("{sign}{hours:02}:{rest:02}"),
                });
            }
            'K' => {
                if let Some(minutes) = moment.offset_minutes {
                    let sign = if minutes < 0 { '-' } else { '+' };
                    let minutes = minutes.unsigned_abs();
                    text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
                }
            }
            _ => return None,
        }
    }
    Some(text)
}
