//! DATETIMEFROMPARTS and its siblings: moments made of numbers.

use rows::text::calendar::days_from_civil;
use tds::SqlType;

use super::super::convert::place;
use super::super::datum::{TICKS_PER_DAY, TICKS_PER_SECOND};
use super::super::typed::Typed;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::strict;
use tsql::SqlError;

/// The numbers that a function takes, in order.
struct Shape {
    /// Year, month, day come first.
    date: bool,
    /// Then hour and minute, and second if there is one.
    seconds: bool,
    /// Then a fraction.
    fraction: bool,
    /// Then hours and minutes of the offset.
    offset: bool,
    /// Then the number of digits of the fraction, a constant.
    precision: bool,
}

/// Moments made of numbers.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar(
        "DATETIMEFROMPARTS",
        &["year", "month", "day", "hour", "minute", "second", "millisecond"],
        "datetime",
        |call| from_parts(call, Shape { seconds: true, fraction: true, ..DATE }, |_| SqlType::DateTime),
    ),
    scalar("SMALLDATETIMEFROMPARTS", &["year", "month", "day", "hour", "minute"], "smalldatetime", |call| {
        from_parts(call, DATE, |_| SqlType::SmallDateTime)
    }),
    scalar(
        "DATETIME2FROMPARTS",
        &["year", "month", "day", "hour", "minute", "second", "fraction", "precision"],
        "datetime2",
        |call| {
            let shape = Shape { seconds: true, fraction: true, precision: true, ..DATE };
            from_parts(call, shape, |scale| SqlType::DateTime2 { scale })
        },
    ),
    scalar(
        "DATETIMEOFFSETFROMPARTS",
        &[
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "fraction",
            "offset_hours",
            "offset_minutes",
            "precision",
        ],
        "datetimeoffset",
        |call| {
            let shape = Shape { date: true, seconds: true, fraction: true, offset: true, precision: true };
            from_parts(call, shape, |scale| SqlType::DateTimeOffset { scale })
        },
    ),
    scalar("TIMEFROMPARTS", &["hour", "minute", "second", "fraction", "precision"], "time", |call| {
        let shape = Shape { date: false, seconds: true, fraction: true, precision: true, ..DATE };
        from_parts(call, shape, |scale| SqlType::Time { scale })
    }),
];

/// A date, an hour and a minute.
const DATE: Shape = Shape { date: true, seconds: false, fraction: false, offset: false, precision: false };

fn from_parts(
    call: &Call<'_, dyn Facts>,
    shape: Shape,
    result: fn(u8) -> SqlType,
) -> Result<Typed, SqlError> {
    let (last, numbers) = match call.arguments.split_last() {
        Some((last, numbers)) if shape.precision => (Some(last), numbers),
        _ => (None, call.arguments),
    };
    let scale = match last {
        None => 3,
        Some(precision) => match precision.clone().cast(&SqlType::Int)?.constant {
            Some(Datum::Int(scale)) if (0..=7).contains(&scale) => scale as u8,
            Some(Datum::Int(scale)) => {
                let text = format!("Specified scale {scale} is invalid.");
                return Err(SqlError::new(1002, 15, 1, text));
            }
            _ => {
                let text = "Scale argument is not valid. Valid expressions for data type scale argument are integer constants and integer constant expressions.";
                return Err(SqlError::new(10760, 16, 1, text));
            }
        },
    };
    let result = result(scale);
    let cast = numbers.iter().map(|number| (number.clone(), SqlType::Int)).collect();
    let to = result.clone();
    strict(&format!("{}_{scale}", call.name), cast, result, move |values| {
        let numbers: Vec<i64> = values.iter().filter_map(Datum::as_int).collect();
        moment(&numbers, &shape, scale, &to).ok_or_else(|| {
            let name = super::super::convert::type_name(&to);
            SqlError::new(
                289,
                16,
                2,
                format!("Cannot construct data type {name}, some of the arguments have values which are not valid."),
            )
        })
    })
}

fn moment(numbers: &[i64], shape: &Shape, scale: u8, to: &SqlType) -> Option<Datum> {
    let mut numbers = numbers.iter().copied();
    let mut next = |low: i64, high: i64| numbers.next().filter(|number| (low..=high).contains(number));
    let mut ticks = 0;
    if shape.date {
        let (year, month, day) = (next(1, 9999)?, next(1, 12)?, next(1, 31)?);
        ticks = i64::from(days_from_civil(year as u32, month as u32, day as u32)?) * TICKS_PER_DAY;
    }
    ticks += next(0, 23)? * 3600 * TICKS_PER_SECOND + next(0, 59)? * 60 * TICKS_PER_SECOND;
    if shape.seconds {
        ticks += next(0, 59)? * TICKS_PER_SECOND;
    }
    if shape.fraction {
        // In units of the last digit.
        ticks += next(0, 10_i64.pow(u32::from(scale)) - 1)? * 10_i64.pow(u32::from(7 - scale));
    }
    let mut offset = 0;
    if shape.offset {
        let (hours, minutes) = (next(-14, 14)?, next(-59, 59)?);
        if hours * minutes < 0 {
            return None;
        }
        offset = i16::try_from(hours * 60 + minutes).ok().filter(|offset| (-840..=840).contains(offset))?;
    }
    match to {
        SqlType::Time { .. } => Some(Datum::Time(ticks)),
        _ => place(ticks, offset, to),
    }
}
