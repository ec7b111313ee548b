//! Boundaries that divide the values between two ends evenly, for types whose values can be counted.

use tds::Value;

use crate::value_order::{DAY_SECONDS, GUID_ORDER, OrderedValue, ticks_a_day};

const SIGN: u128 = 1 << 127;

/// Returns at most `count - 1` ascending values that divide those from `least` to `most`; `None` if the type cannot be
/// counted. Only the balance of the ranges depends on them.
pub(crate) fn boundaries(least: &Value, most: &Value, count: usize) -> Option<Vec<Value>> {
    let (low, high) = (position(least)?, position(most)?);
    let span = high.checked_sub(low)?;
    let count = u128::try_from(count).ok()?.max(1);
    let mut found = Vec::new();
    let mut last = low;
    for index in 1..count {
        // In two parts, so that it does not overflow; the second is less than `count` squared.
        let offset = span / count * index + span % count * index / count;
        let at = low + offset;
        if at > last {
            found.push(value_at(least, at)?);
            last = at;
        }
    }
    Some(found)
}

/// Returns the position of a value among all values of its type.
fn position(value: &Value) -> Option<u128> {
    match OrderedValue::of(value)? {
        OrderedValue::Number(number) => Some(number as u128 ^ SIGN),
        OrderedValue::Guid(position) => Some(position),
        OrderedValue::Float(_) | OrderedValue::Bytes(_) => None,
    }
}

/// Returns the next value of the type; `None` if it is the last one, or its type cannot be counted.
pub(crate) fn next(value: &Value) -> Option<Value> {
    let at = position(value)?.checked_add(1)?;
    value_at(value, at).filter(is_in_calendar)
}

/// Returns true if a date or time is in the calendar: the position behind the last one is not.
fn is_in_calendar(value: &Value) -> bool {
    /// Days from 0001-01-01 to behind 9999-12-31, and from 1900-01-01.
    const DAYS: i32 = 3_652_059;
    const DATETIME_DAYS: i32 = 2_958_464;
    match value {
        Value::Date(days) | Value::DateTime2 { days, .. } | Value::DateTimeOffset { days, .. } => {
            *days < DAYS
        }
        Value::DateTime { days, .. } => *days < DATETIME_DAYS,
        Value::Time { ticks, scale } => ticks_a_day(*scale).is_some_and(|day| i128::from(*ticks) < day),
        _ => true,
    }
}

/// Returns the value at a position, of the type of `like`.
fn value_at(like: &Value, position: u128) -> Option<Value> {
    let number = (position ^ SIGN) as i128;
    Some(match like {
        Value::TinyInt(_) => Value::TinyInt(number.try_into().ok()?),
        Value::SmallInt(_) => Value::SmallInt(number.try_into().ok()?),
        Value::Int(_) => Value::Int(number.try_into().ok()?),
        Value::SmallMoney(_) => Value::SmallMoney(number.try_into().ok()?),
        Value::Date(_) => Value::Date(number.try_into().ok()?),
        Value::BigInt(_) => Value::BigInt(number.try_into().ok()?),
        Value::Money(_) => Value::Money(number.try_into().ok()?),
        Value::Decimal { precision, scale, .. } => Value::Decimal {
            magnitude: number.unsigned_abs(),
            negative: number < 0,
            precision: *precision,
            scale: *scale,
        },
        Value::Time { scale, .. } => Value::Time { ticks: number.try_into().ok()?, scale: *scale },
        Value::DateTime2 { scale, .. } => {
            let (days, ticks) = days_and_ticks(number, ticks_a_day(*scale)?)?;
            Value::DateTime2 { days, ticks, scale: *scale }
        }
        Value::DateTimeOffset { scale, .. } => {
            let (days, ticks) = days_and_ticks(number, ticks_a_day(*scale)?)?;
            Value::DateTimeOffset { days, ticks, scale: *scale, offset_minutes: 0 }
        }
        Value::DateTime { .. } => {
            let (days, ticks) = days_and_ticks(number, DAY_SECONDS * 300)?;
            Value::DateTime { days, ticks: ticks.try_into().ok()? }
        }
        Value::SmallDateTime { .. } => {
            let (days, minutes) = days_and_ticks(number, 1440)?;
            Value::SmallDateTime { days: days.try_into().ok()?, minutes: minutes.try_into().ok()? }
        }
        Value::Guid(_) => {
            let mut bytes = [0; 16];
            for (place, byte) in GUID_ORDER.into_iter().zip(position.to_be_bytes()) {
                bytes[place] = byte;
            }
            Value::Guid(bytes)
        }
        _ => return None,
    })
}

fn days_and_ticks(number: i128, a_day: i128) -> Option<(i32, u64)> {
    Some((number.div_euclid(a_day).try_into().ok()?, number.rem_euclid(a_day).try_into().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use tds::Value;

    use super::{boundaries, next, position, value_at};

    fn countable() -> impl Strategy<Value = (Value, Value)> {
        let of = |number: i64, wide: i128, kind: u8| match kind % 12 {
            0 => Value::TinyInt(number as u8),
            1 => Value::SmallInt(number as i16),
            2 => Value::Int(number as i32),
            3 => Value::BigInt(number),
            4 => Value::Money(number),
            5 => Value::Decimal {
                magnitude: wide.unsigned_abs() % 10_u128.pow(38),
                negative: wide < 0,
                precision: 38,
                scale: 3,
            },
            6 => Value::Date(number.rem_euclid(3_652_059) as i32),
            7 => Value::Time { ticks: number.rem_euclid(86_400_000) as u64, scale: 3 },
            8 => Value::DateTime2 {
                days: number.rem_euclid(3_652_059) as i32,
                ticks: wide.rem_euclid(864_000_000_000) as u64,
                scale: 7,
            },
            9 => Value::DateTime {
                days: (number % 100_000).unsigned_abs() as i32 - 50_000,
                ticks: wide.rem_euclid(25_920_000) as u32,
            },
            10 => Value::SmallDateTime { days: number as u16, minutes: wide.rem_euclid(1440) as u16 },
            _ => Value::Guid(wide.to_le_bytes()),
        };
        (any::<i64>(), any::<i128>(), any::<i64>(), any::<i128>(), any::<u8>())
            .prop_map(move |(a, wide_a, b, wide_b, kind)| (of(a, wide_a, kind), of(b, wide_b, kind)))
    }

    proptest! {
        #[test]
        fn values_are_parted_in_order((a, b) in countable(), count in 1..200_usize) {
            let (least, most) = if position(&a) <= position(&b) { (a, b) } else { (b, a) };
            let found = boundaries(&least, &most, count).unwrap();
            prop_assert!(found.len() < count.max(2));
            let positions: Vec<u128> = found.iter().map(|value| position(value).unwrap()).collect();
            prop_assert!(positions.is_sorted_by(|a, b| a < b));
            prop_assert!(positions.first().is_none_or(|first| *first > position(&least).unwrap()));
            prop_assert!(positions.last().is_none_or(|last| *last <= position(&most).unwrap()));
        }

        #[test]
        fn positions_read_back((value, like) in countable()) {
            let _ = like;
            let at = position(&value).unwrap();
            let back = value_at(&value, at).unwrap();
            prop_assert_eq!(position(&back), Some(at));
        }
    }

    #[test]
    fn a_value_is_followed_by_the_next_one_of_its_type() {
        assert_eq!(next(&Value::Int(-1)), Some(Value::Int(0)));
        assert_eq!(next(&Value::TinyInt(255)), None);
        assert_eq!(next(&Value::Date(3_652_058)), None);
        let midnight = Value::DateTime { days: 1, ticks: 86_400 * 300 - 1 };
        assert_eq!(next(&midnight), Some(Value::DateTime { days: 2, ticks: 0 }));
        assert_eq!(next(&Value::Time { ticks: 86_399, scale: 0 }), None);
        assert_eq!(next(&Value::String("a".to_owned())), None);
    }

    #[test]
    fn text_cannot_be_counted() {
        let text = Value::String("a".to_owned());
        assert_eq!(boundaries(&text, &text, 4), None);
    }
}
