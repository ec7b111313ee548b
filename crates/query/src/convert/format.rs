//! Values as text, by the styles of CONVERT.

use tds::SqlType;

use super::super::datum::{Datum, TICKS_PER_DAY, TICKS_PER_SECOND};
use super::super::running;
use super::number::{decimal_text, rescale, scale_of};

/// Returns the text of a value as PRINT and error messages show it; empty for NULL.
pub fn display(value: &Datum, sql_type: &SqlType) -> String {
    match value {
        Datum::Null => String::new(),
        Datum::Text(text) => text.clone(),
        // A CLR type has no text but by its own code.
        Datum::Binary(bytes) if matches!(sql_type, SqlType::Udt { .. }) => hex(bytes, 1),
        // The default style has a text for every value of the type.
        other => format(other, sql_type, default_style(sql_type)).unwrap_or_default(),
    }
}

fn default_style(sql_type: &SqlType) -> i32 {
    if matches!(sql_type, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image) {
        1
    } else {
        0
    }
}

/// Formats a value; `None` if its type has no text (CLR types).
pub(super) fn format(value: &Datum, from: &SqlType, style: i32) -> Option<String> {
    Some(match value {
        Datum::Null => String::new(),
        Datum::Text(text) => text.clone(),
        Datum::Bit(value) => u8::from(*value).to_string(),
        Datum::Int(value) => value.to_string(),
        Datum::Decimal(units) if matches!(from, SqlType::Money | SqlType::SmallMoney) => money(*units, style),
        Datum::Decimal(units) => decimal_text(*units, scale_of(from)),
        Datum::Real(value) => float(f64::from(*value), style, 9),
        Datum::Float(value) => float(*value, style, 17),
        Datum::Guid(guid) => self::guid(guid),
        Datum::RowVersion(version) => hex(&version.to_be_bytes(), style),
        Datum::Binary(bytes)
            if !matches!(from, SqlType::SqlVariant | SqlType::Udt { .. } | SqlType::Vector { .. }) =>
        {
            hex(bytes, style)
        }
        Datum::Binary(body) if *from == SqlType::SqlVariant => {
            let (value, base) = super::variant::base_of(body).ok()?;
            return format(&value, &base, style);
        }
        Datum::Binary(bytes) if matches!(from, SqlType::Vector { .. }) => {
            tds::Vector::from_bytes(bytes).ok()?.to_string()
        }
        Datum::Binary(_) => return None,
        Datum::Date(days) => moment(Parts::of(days * TICKS_PER_DAY, 0), from, style),
        Datum::Time(ticks) => moment(Parts::of(*ticks, 0), from, style),
        Datum::Moment(ticks) => moment(Parts::of(*ticks, 0), from, style),
        Datum::Instant { ticks, offset_minutes } => {
            let local = ticks + i64::from(*offset_minutes) * 60 * TICKS_PER_SECOND;
            moment(Parts::of(local, *offset_minutes), from, style)
        }
    })
}

fn hex(bytes: &[u8], style: i32) -> String {
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    if style != 2 {
        text.push_str("0x");
    }
    for byte in bytes {
        text.push_str(&format!("{byte:02X}"));
    }
    text
}

fn guid(bytes: &[u8; 16]) -> String {
    let digits = hex(bytes, 2);
    let parts: Vec<&str> = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
        .iter()
        .filter_map(|(from, to)| digits.get(*from..*to))
        .collect();
    parts.join("-")
}

/// Formats money. Style 0: two digits; 1: with commas; 2: four digits.
fn money(units: i128, style: i32) -> String {
    if style == 2 {
        return decimal_text(units, 4);
    }
    let text = decimal_text(rescale(units, 4, 2).unwrap_or(units / 100), 2);
    if style != 1 {
        return text;
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "00"));
    let mut grouped = String::new();
    for (index, ch) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(ch);
    }
    format!("{sign}{grouped}.{fraction}")
}

/// Formats a float. Style 0: at most six digits; 1: eight, 2: sixteen in scientific form; 3: all that are needed.
fn float(value: f64, style: i32, digits_max: usize) -> String {
    match style {
        1 => scientific(value, 8),
        2 => scientific(value, 16),
        3 => scientific(value, digits_max),
        _ => general(value, 6),
    }
}

fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.abs())
}

/// Formats like C's `%g`, with an exponent of three digits.
fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let rounded = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -5 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:03}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

/// A local moment taken apart.
pub struct Parts {
    /// 1 to 9999.
    pub year: u32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
    /// Ticks of 100 ns within the second.
    pub fraction: i64,
    /// East of UTC.
    pub offset_minutes: i16,
}

impl Parts {
    /// Splits a local moment in ticks of 100 ns into its parts.
    pub fn of(local_ticks: i64, offset_minutes: i16) -> Parts {
        let days = local_ticks.div_euclid(TICKS_PER_DAY);
        let (year, month, day) = rows::text::calendar::civil_from_days(days as i32);
        let seconds = local_ticks.rem_euclid(TICKS_PER_DAY) / TICKS_PER_SECOND;
        Parts {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: local_ticks.rem_euclid(TICKS_PER_SECOND),
            offset_minutes,
        }
    }
}

fn moment(parts: Parts, from: &SqlType, style: i32) -> String {
    let Parts { year, month, day, hour, minute, second, .. } = parts;
    let short = year % 100;
    let (has_date, has_time) = (!matches!(from, SqlType::Time { .. }), *from != SqlType::Date);
    let dated = |date: String, time: String, separator: &str| match (has_date, has_time) {
        (true, true) => format!("{date}{separator}{time}"),
        (true, false) => date,
        _ => time,
    };
    // Few styles name the month.
    let month_name = || running::language().short_month(month);
    let half = if hour < 12 { "AM" } else { "PM" };
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    // Each style makes the parts that it has.
    let clock = || format!("{hour:02}:{minute:02}:{second:02}");
    let fraction = || fraction(&parts, from);
    let iso_date = || format!("{year:04}-{month:02}-{day:02}");
    let offset = || offset(&parts, from);
    // The new types have 121 as their style 0.
    let style = match (style, from) {
        (0, SqlType::DateTime | SqlType::SmallDateTime) => 100,
        (0, _) => 121,
        (other, _) => other,
    };
    match style {
        1 => format!("{month:02}/{day:02}/{short:02}"),
        101 => format!("{month:02}/{day:02}/{year:04}"),
        2 => format!("{short:02}.{month:02}.{day:02}"),
        102 => format!("{year:04}.{month:02}.{day:02}"),
        3 => format!("{day:02}/{month:02}/{short:02}"),
        103 => format!("{day:02}/{month:02}/{year:04}"),
        4 => format!("{day:02}.{month:02}.{short:02}"),
        104 => format!("{day:02}.{month:02}.{year:04}"),
        5 => format!("{day:02}-{month:02}-{short:02}"),
        105 => format!("{day:02}-{month:02}-{year:04}"),
        6 => format!("{day:02} {} {short:02}", month_name()),
        106 => format!("{day:02} {} {year:04}", month_name()),
        7 => format!("{} {day:02}, {short:02}", month_name()),
        107 => format!("{} {day:02}, {year:04}", month_name()),
        8 | 24 | 108 => clock(),
        9 | 109 => dated(
            format!("{} {day:2} {year:04}", month_name()),
            format!("{twelve:2}:{minute:02}:{second:02}{}{half}", fraction().replacen('.', ":", 1)),
            " ",
        ),
        10 => format!("{month:02}-{day:02}-{short:02}"),
        110 => format!("{month:02}-{day:02}-{year:04}"),
        11 => format!("{short:02}/{month:02}/{day:02}"),
        111 => format!("{year:04}/{month:02}/{day:02}"),
        12 => format!("{short:02}{month:02}{day:02}"),
        112 => format!("{year:04}{month:02}{day:02}"),
        13 | 113 => dated(
            format!("{day:02} {} {year:04}", month_name()),
            format!("{}{}", clock(), fraction().replacen('.', ":", 1)),
            " ",
        ),
        14 | 114 => format!("{}{}", clock(), fraction().replacen('.', ":", 1)),
        20 | 120 => dated(iso_date(), clock(), " "),
        22 => dated(
            format!("{month:02}/{day:02}/{short:02}"),
            format!("{twelve:2}:{minute:02}:{second:02} {half}"),
            " ",
        ),
        23 => iso_date(),
        100 => {
            dated(format!("{} {day:2} {year:04}", month_name()), format!("{twelve:2}:{minute:02}{half}"), " ")
        }
        126 | 127 => {
            let clock = format!("{}{}", clock(), iso_fraction(&fraction()));
            format!("{}{}", dated(iso_date(), clock, "T"), offset())
        }
        _ => {
            let text = dated(iso_date(), format!("{}{}", clock(), fraction()), " ");
            let offset = offset();
            if offset.is_empty() { text } else { format!("{text} {offset}") }
        }
    }
}

/// Formats the fraction as `.123`, with as many digits as the type keeps; empty for none.
fn fraction(parts: &Parts, from: &SqlType) -> String {
    let digits = match from {
        SqlType::DateTime => 3,
        SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => {
            usize::from(*scale)
        }
        SqlType::SmallDateTime => 3,
        _ => 0,
    };
    if digits == 0 {
        return String::new();
    }
    let ticks = format!("{:07}", parts.fraction);
    format!(".{}", ticks.get(..digits).unwrap_or(&ticks))
}

/// Drops a zero fraction, as ISO 8601 does.
fn iso_fraction(fraction: &str) -> String {
    if fraction.bytes().skip(1).all(|byte| byte == b'0') { String::new() } else { fraction.to_string() }
}

fn offset(parts: &Parts, from: &SqlType) -> String {
    if !matches!(from, SqlType::DateTimeOffset { .. }) {
        return String::new();
    }
    let sign = if parts.offset_minutes < 0 { '-' } else { '+' };
    let minutes = parts.offset_minutes.unsigned_abs();
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
