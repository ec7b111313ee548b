//! A cell between its canonical text and the clients' own types.

use crate::environment::{Column, Failure, failed};

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// 1900-01-01, counted from 0001-01-01.
const DAYS_TO_1900: i64 = 693_595;

/// A value in the parts that the protocol sends. Days count from 0001-01-01, ticks are 100 ns since midnight.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Bit(bool),
    Integer(i64),
    Real(f32),
    Float(f64),
    /// Digits without the point, and how many are behind it.
    Decimal {
        value: i128,
        scale: u8,
    },
    Date {
        days: i64,
    },
    Time {
        ticks: i64,
    },
    /// Also datetime and smalldatetime.
    Moment {
        days: i64,
        ticks: i64,
    },
    /// In UTC, with the offset of local time.
    Zoned {
        days: i64,
        ticks: i64,
        minutes: i64,
    },
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// Reads a canonical text; `None` is NULL.
    pub fn of(column: &Column, row: usize) -> Result<Option<Cell>, Failure> {
        let Some(text) = &column.texts[row] else { return Ok(None) };
        Ok(Some(match column.kind.as_str() {
            "bit" => Cell::Bit(text == "1"),
            "tinyint" | "smallint" | "int" | "bigint" => Cell::Integer(text.parse()?),
            "real" => Cell::Real(f32::from_bits(u32::from_str_radix(text, 16)?)),
            "float" => Cell::Float(f64::from_bits(u64::from_str_radix(text, 16)?)),
            "decimal" | "numeric" | "money" | "smallmoney" => {
                let scale = text.split_once('.').map_or(0, |(_, digits)| digits.len());
                Cell::Decimal { value: text.replace('.', "").parse()?, scale: u8::try_from(scale)? }
            }
            "date" => Cell::Date { days: days(text)? },
            "time" => Cell::Time { ticks: ticks(text)? },
            "datetime" | "smalldatetime" | "datetime2" => {
                Cell::Moment { days: days(&text[..10])?, ticks: ticks(&text[11..])? }
            }
            "datetimeoffset" => zoned(text)?,
            "binary" | "varbinary" | "image" => Cell::Bytes(
                (0..text.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&text[at..at + 2], 16))
                    .collect::<Result<_, _>>()?,
            ),
            _ => Cell::Text(text.clone()),
        }))
    }

    /// The canonical text.
    pub fn text(&self, column: &Column) -> String {
        match self {
            Cell::Bit(value) => u8::from(*value).to_string(),
            Cell::Integer(value) => value.to_string(),
            Cell::Real(value) => format!("{:08x}", value.to_bits()),
            Cell::Float(value) => format!("{:016x}", value.to_bits()),
            Cell::Decimal { value, scale } => decimal_text(*value, usize::from(*scale)),
            Cell::Date { days } => date_text(*days),
            Cell::Time { ticks } => time_text(*ticks),
            Cell::Moment { days, ticks } if column.kind == "datetime" => {
                // To milliseconds, as clients show the 300ths of a second of this type.
                let rounded = (ticks + 5_000) / 10_000 * 10_000;
                let text = time_text(rounded);
                format!("{} {}", date_text(*days), &text[..12])
            }
            Cell::Moment { days, ticks } => format!("{} {}", date_text(*days), time_text(*ticks)),
            Cell::Zoned { days, ticks, minutes } => {
                let local = days * TICKS_PER_DAY + ticks + minutes * 60 * TICKS_PER_SECOND;
                let sign = if *minutes < 0 { '-' } else { '+' };
                format!(
                    "{} {} {sign}{:02}:{:02}",
                    date_text(local.div_euclid(TICKS_PER_DAY)),
                    time_text(local.rem_euclid(TICKS_PER_DAY)),
                    minutes.abs() / 60,
                    minutes.abs() % 60
                )
            }
            Cell::Text(text) if column.kind == "uniqueidentifier" => text.to_lowercase(),
            Cell::Text(text) => text.clone(),
            Cell::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// Of a datetime: days since 1900 and 300ths of a second.
    pub fn datetime(days: i64, ticks: i64) -> (i32, u32) {
        let fragments = (ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
        ((days - DAYS_TO_1900) as i32, fragments as u32)
    }

    pub fn of_datetime(days: i32, fragments: u32) -> Cell {
        Cell::Moment {
            days: i64::from(days) + DAYS_TO_1900,
            ticks: i64::from(fragments) * TICKS_PER_SECOND / 300,
        }
    }

    /// Of a smalldatetime: days since 1900 and minutes.
    pub fn small_datetime(days: i64, ticks: i64) -> (u16, u16) {
        ((days - DAYS_TO_1900) as u16, (ticks / TICKS_PER_SECOND / 60) as u16)
    }

    pub fn of_small_datetime(days: u16, minutes: u16) -> Cell {
        Cell::Moment {
            days: i64::from(days) + DAYS_TO_1900,
            ticks: i64::from(minutes) * 60 * TICKS_PER_SECOND,
        }
    }
}

/// Ticks in units of 10^-scale seconds.
pub fn increments(ticks: i64, scale: u16) -> u64 {
    (ticks / 10_i64.pow(7 - u32::from(scale))) as u64
}

pub fn ticks_of(increments: u64, scale: u8) -> i64 {
    increments as i64 * 10_i64.pow(7 - u32::from(scale))
}

fn decimal_text(value: i128, scale: usize) -> String {
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn time_text(ticks: i64) -> String {
    let seconds = ticks / TICKS_PER_SECOND;
    format!(
        "{:02}:{:02}:{:02}.{:07}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        ticks % TICKS_PER_SECOND
    )
}

fn ticks(text: &str) -> Result<i64, Failure> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds = 0;
    for part in clock.split(':') {
        seconds = seconds * 60 + part.parse::<i64>()?;
    }
    Ok(seconds * TICKS_PER_SECOND + format!("{fraction:0<7}").parse::<i64>()?)
}

fn zoned(text: &str) -> Result<Cell, Failure> {
    let (moment, offset) = text.rsplit_once(' ').ok_or_else(|| failed("no offset"))?;
    let (hours, minutes) = offset[1..].split_once(':').ok_or_else(|| failed("no minutes"))?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let minutes = sign * (hours.parse::<i64>()? * 60 + minutes.parse::<i64>()?);
    let local = days(&moment[..10])? * TICKS_PER_DAY + ticks(&moment[11..])?;
    let utc = local - minutes * 60 * TICKS_PER_SECOND;
    Ok(Cell::Zoned { days: utc.div_euclid(TICKS_PER_DAY), ticks: utc.rem_euclid(TICKS_PER_DAY), minutes })
}

/// Days from 0001-01-01 to January 1 of a year.
fn days_before_year(year: i64) -> i64 {
    let years = year - 1;
    years * 365 + years / 4 - years / 100 + years / 400
}

fn month_lengths(year: i64) -> [i64; 12] {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

fn days(text: &str) -> Result<i64, Failure> {
    let (year, month, day) =
        (text[..4].parse::<i64>()?, text[5..7].parse::<usize>()?, text[8..10].parse::<i64>()?);
    let months: i64 = month_lengths(year)[..month - 1].iter().sum();
    Ok(days_before_year(year) + months + day - 1)
}

fn date_text(days: i64) -> String {
    let mut year = days / 366 + 1;
    while days_before_year(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - days_before_year(year);
    let mut month = 1;
    for length in month_lengths(year) {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", rest + 1)
}
