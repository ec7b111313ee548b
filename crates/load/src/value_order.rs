//! The order in which SQL Server compares the values of a type, as far as a client can know it.

use tds::Value;

/// Seconds of a day.
pub(crate) const DAY_SECONDS: i128 = 86_400;
/// Places of a uniqueidentifier's bytes in the order in which SQL Server compares them.
pub(crate) const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
const FLOAT_SIGN: u64 = 1 << 63;

/// The position of a value among those of its type. Two of one type compare as the server compares the values;
/// those of different types must not be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderedValue {
    /// Whole numbers, decimals in units of their last digit, dates and times in units of their last digit.
    Number(i128),
    /// Floating point, as bits that ascend with the numbers.
    Float(u64),
    /// A uniqueidentifier, its bytes in the order of their weight.
    Guid(u128),
    /// Binary. Zeros at the end do not count: the server takes `0x01` and `0x0100` for equal.
    Bytes(Vec<u8>),
}

impl OrderedValue {
    /// Returns the place of a value; `None` for NULL, and for text and other types whose order is not known here.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let float = |number: f64| {
            // Both zeros are equal.
            let bits = if number == 0.0 { 0 } else { number.to_bits() };
            Self::Float(if bits & FLOAT_SIGN == 0 { bits ^ FLOAT_SIGN } else { !bits })
        };
        Some(match value {
            Value::Bit(bit) => Self::Number((*bit).into()),
            Value::TinyInt(number) => Self::Number((*number).into()),
            Value::SmallInt(number) => Self::Number((*number).into()),
            Value::Int(number) | Value::SmallMoney(number) | Value::Date(number) => {
                Self::Number((*number).into())
            }
            Value::BigInt(number) | Value::Money(number) => Self::Number((*number).into()),
            Value::Decimal { magnitude, negative, .. } => {
                let number = i128::try_from(*magnitude).ok()?;
                Self::Number(if *negative { -number } else { number })
            }
            Value::Real(number) => float((*number).into()),
            Value::Float(number) => float(*number),
            Value::Time { ticks, .. } => Self::Number((*ticks).into()),
            // An offset is only how an instant is shown.
            Value::DateTime2 { days, ticks, scale } | Value::DateTimeOffset { days, ticks, scale, .. } => {
                Self::Number(i128::from(*days) * ticks_a_day(*scale)? + i128::from(*ticks))
            }
            Value::DateTime { days, ticks } => {
                Self::Number(i128::from(*days) * DAY_SECONDS * 300 + i128::from(*ticks))
            }
            Value::SmallDateTime { days, minutes } => {
                Self::Number(i128::from(*days) * 1440 + i128::from(*minutes))
            }
            Value::Guid(bytes) => Self::Guid(u128::from_be_bytes(GUID_ORDER.map(|place| bytes[place]))),
            Value::Binary(bytes) => {
                let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                Self::Bytes(bytes.get(..length).unwrap_or_default().to_vec())
            }
            _ => return None,
        })
    }
}

/// Units of 10^-scale s of a day.
pub(crate) fn ticks_a_day(scale: u8) -> Option<i128> {
    Some(DAY_SECONDS * 10_i128.checked_pow(scale.into())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use tds::Value;

    use super::OrderedValue;

    #[test]
    fn values_stand_in_the_order_of_the_server() {
        let guid = |place: usize| {
            let mut bytes = [0; 16];
            bytes[place] = 1;
            Value::Guid(bytes)
        };
        // Each list ascends as SQL Server sorts it; the order of uniqueidentifier is that of its documentation.
        let ascending = [
            vec![
                Value::Float(-1e300),
                Value::Float(-1.5),
                Value::Float(0.0),
                Value::Float(1e-300),
                Value::Float(2.0),
            ],
            vec![Value::Real(-2.5), Value::Real(-0.5), Value::Real(0.25)],
            vec![Value::Bit(false), Value::Bit(true)],
            vec![
                Value::Binary(vec![]),
                Value::Binary(vec![1]),
                Value::Binary(vec![1, 0, 2]),
                Value::Binary(vec![2]),
            ],
            [3, 2, 1, 0, 5, 4, 7, 6, 9, 8, 15, 14, 13, 12, 11, 10].map(guid).to_vec(),
            vec![
                Value::DateTimeOffset { days: 1, ticks: 5, scale: 0, offset_minutes: 840 },
                Value::DateTimeOffset { days: 1, ticks: 6, scale: 0, offset_minutes: -840 },
            ],
        ];
        for values in ascending {
            let places: Vec<OrderedValue> =
                values.iter().map(|value| OrderedValue::of(value).unwrap()).collect();
            assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        }
    }

    #[test]
    fn values_that_the_server_takes_for_equal_are() {
        let equal = [
            (Value::Binary(vec![1]), Value::Binary(vec![1, 0, 0])),
            (Value::Float(0.0), Value::Float(-0.0)),
            (
                Value::DateTimeOffset { days: 1, ticks: 5, scale: 0, offset_minutes: 60 },
                Value::DateTimeOffset { days: 1, ticks: 5, scale: 0, offset_minutes: 0 },
            ),
        ];
        for (one, other) in equal {
            assert_eq!(OrderedValue::of(&one), OrderedValue::of(&other));
        }
    }

    #[test]
    fn text_has_no_order_here() {
        assert_eq!(OrderedValue::of(&Value::String("a".to_owned())), None);
        assert_eq!(OrderedValue::of(&Value::Null), None);
    }

    proptest! {
        #[test]
        fn floats_ascend(one in any::<f64>(), other in any::<f64>()) {
            prop_assume!(!one.is_nan() && !other.is_nan());
            let place = |number| OrderedValue::of(&Value::Float(number)).unwrap();
            prop_assert_eq!(one.partial_cmp(&other).unwrap(), place(one).cmp(&place(other)));
        }
    }
}
