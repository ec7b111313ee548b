//! The partition of a value.

use tds::{SqlType, Value};

use crate::{describe::Partitioning, value_order::OrderedValue};

/// The ranges of a partition function, for values of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartitionRule {
    /// RANGE RIGHT: a boundary belongs to the partition on its right.
    is_right: bool,
    /// The boundaries, ascending. NULL is less than every value, and may be a boundary.
    boundaries: Vec<Option<OrderedValue>>,
}

impl PartitionRule {
    /// Makes the rule of a table whose partitioning column has this type; or says why there is none.
    pub(crate) fn new(partitioning: &Partitioning, sql_type: &SqlType) -> Result<Self, &'static str> {
        if sql_type.is_character() {
            return Err("text compares by its collation, which the server alone knows");
        }
        let boundaries = partitioning.boundaries.iter().map(|value| boundary(value, sql_type));
        let boundaries = boundaries.collect::<Result<Vec<_>, _>>()?;
        Self::of(partitioning.is_right, boundaries)
    }

    /// Makes the rule of these boundaries; or says why they make none.
    pub(crate) fn of(is_right: bool, boundaries: Vec<Option<OrderedValue>>) -> Result<Self, &'static str> {
        match boundaries.is_sorted_by(|one, next| one < next) {
            true => Ok(Self { is_right, boundaries }),
            false => Err("its boundaries do not ascend as they are compared here"),
        }
    }

    /// Returns the partition of a value, from 0. `None`: its order is not known here.
    pub(crate) fn partition_of(&self, value: &Value) -> Option<usize> {
        let value = match value {
            Value::Null => None,
            value => Some(OrderedValue::of(value)?),
        };
        Some(match self.is_right {
            true => self.boundaries.partition_point(|boundary| *boundary <= value),
            false => self.boundaries.partition_point(|boundary| *boundary < value),
        })
    }

    /// Returns the number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.boundaries.len() + 1
    }

    /// Returns true if a boundary belongs to the partition on its right.
    pub(crate) fn is_right(&self) -> bool {
        self.is_right
    }

    /// Returns the boundaries in ascending order.
    pub(crate) fn boundaries(&self) -> &[Option<OrderedValue>] {
        &self.boundaries
    }
}

/// Returns the position of a boundary among the values of the column's type.
fn boundary(value: &Value, sql_type: &SqlType) -> Result<Option<OrderedValue>, &'static str> {
    const OTHER: &str = "its boundaries are of another type than the column";
    // Units of the last digit: a boundary with fewer digits than the column's has more of them.
    let (own, wanted) = match (value, sql_type) {
        (Value::Null, _) => return Ok(None),
        (Value::Bit(_), SqlType::Bit)
        | (Value::TinyInt(_), SqlType::TinyInt)
        | (Value::SmallInt(_), SqlType::SmallInt)
        | (Value::Int(_), SqlType::Int)
        | (Value::BigInt(_), SqlType::BigInt)
        | (Value::Real(_), SqlType::Real)
        | (Value::Float(_), SqlType::Float)
        | (Value::SmallMoney(_), SqlType::SmallMoney)
        | (Value::Money(_), SqlType::Money)
        | (Value::Date(_), SqlType::Date)
        | (Value::DateTime { .. }, SqlType::DateTime)
        | (Value::SmallDateTime { .. }, SqlType::SmallDateTime)
        | (Value::Guid(_), SqlType::UniqueIdentifier)
        | (Value::Binary(_), SqlType::Binary { .. } | SqlType::VarBinary { .. }) => (0, 0),
        (
            Value::Decimal { scale: own, .. },
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. },
        )
        | (Value::Time { scale: own, .. }, SqlType::Time { scale })
        | (Value::DateTime2 { scale: own, .. }, SqlType::DateTime2 { scale })
        | (Value::DateTimeOffset { scale: own, .. }, SqlType::DateTimeOffset { scale }) => (*own, *scale),
        _ => return Err(OTHER),
    };
    let factor =
        wanted.checked_sub(own).and_then(|digits| 10_i128.checked_pow(digits.into())).ok_or(OTHER)?;
    match OrderedValue::of(value).ok_or(OTHER)? {
        OrderedValue::Number(number) => {
            number.checked_mul(factor).map(|number| Some(OrderedValue::Number(number))).ok_or(OTHER)
        }
        other => Ok(Some(other)),
    }
}
