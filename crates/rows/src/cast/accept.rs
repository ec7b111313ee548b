//! Arrow types that may be loaded into each SQL type, and the options that a load needs for it.

use arrow::datatypes::DataType;
use tds::{SqlType, VectorBase};

use super::{CastOptions, Zone};
use crate::mapping::NoSqlType;

/// Reason why an Arrow type cannot be loaded into a SQL type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no sensible conversion.
    #[error("{source_type} cannot become {target}")]
    NoConversion {
        /// Type of the source column.
        source_type: DataType,
        /// Type of the target column.
        target: SqlType,
    },
    /// SQL Server has no such type.
    #[error("{0}")]
    NoSqlType(NoSqlType),
    /// A nested type, which [`CastOptions::nested_as_json`] would allow.
    #[error("{0} is nested; the option nested_as_json writes it as JSON text")]
    Nested(DataType),
    /// A time zone, which [`CastOptions::drop_time_zone`] would allow to drop.
    #[error("{target} has no offset from UTC; the zone {zone:?} would be lost, and that was not asked for")]
    TimeZone {
        /// Zone of the source column.
        zone: String,
        /// Type of the target column.
        target: SqlType,
    },
    /// Lists of another length than the vector has dimensions.
    #[error("{source_type} has {found} elements, {target} has another number")]
    Dimensions {
        /// Type of the source column.
        source_type: DataType,
        /// Elements of each list.
        found: i32,
        /// Type of the target column.
        target: SqlType,
    },
    /// The source's time zone is not in the database.
    #[error("unknown time zone {0:?}")]
    UnknownZone(String),
}

/// Way in which an Arrow type is loaded into a SQL type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The types are of the same kind, so that nothing is lost. Values are still checked for range and
    /// length.
    Natural,
    /// Each value is converted, and must not lose anything.
    Converted,
}

/// Families of Arrow types that are converted alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Boolean,
    Number,
    Text,
    Bytes(Option<i32>),
    Date,
    Time,
    Timestamp,
    Nested,
}

/// Decides if a column of `source` goes into a column of `target`, and in what way. `declared` is the SQL
/// type that the source field's metadata names.
pub(crate) fn accept(
    source: &DataType,
    declared: Option<&SqlType>,
    target: &SqlType,
    options: &CastOptions,
) -> Result<Acceptance, Refusal> {
    use Acceptance::{Converted, Natural};
    let no_conversion = || Refusal::NoConversion { source_type: source.clone(), target: target.clone() };
    let family = match source {
        DataType::Null => return Ok(Natural),
        DataType::Dictionary(_, values) => return accept(values, declared, target, options),
        DataType::RunEndEncoded(_, values) => return accept(values.data_type(), declared, target, options),
        DataType::Duration(unit) => return Err(Refusal::NoSqlType(NoSqlType::Duration(*unit))),
        DataType::Interval(unit) => return Err(Refusal::NoSqlType(NoSqlType::Interval(*unit))),
        DataType::Union(..) => return Err(Refusal::NoSqlType(NoSqlType::Union)),
        source if is_list(source) && matches!(target, SqlType::Vector { .. }) => {
            return accept_vector(source, target);
        }
        DataType::Boolean => Family::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Family::Text,
        DataType::FixedSizeBinary(width) => Family::Bytes(Some(*width)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Family::Bytes(None),
        DataType::Date32 | DataType::Date64 => Family::Date,
        DataType::Time32(_) | DataType::Time64(_) => Family::Time,
        DataType::Timestamp(_, zone) => {
            if let Some(zone) = zone {
                if Zone::parse(zone).is_none() {
                    return Err(Refusal::UnknownZone(zone.to_string()));
                }
                let keeps_offset =
                    matches!(target, SqlType::DateTimeOffset { .. } | SqlType::SqlVariant) || is_text(target);
                if !keeps_offset && target.is_temporal() && !options.drop_time_zone {
                    return Err(Refusal::TimeZone { zone: zone.to_string(), target: target.clone() });
                }
            }
            Family::Timestamp
        }
        source if source.is_nested() => {
            if is_text(target) && !options.nested_as_json {
                return Err(Refusal::Nested(source.clone()));
            }
            Family::Nested
        }
        source if source.is_numeric() => Family::Number,
        _ => return Err(no_conversion()),
    };
    let acceptance = match (family, target) {
        (Family::Boolean, SqlType::Bit) => Some(Natural),
        (Family::Boolean, target) if is_number(target) => Some(Converted),
        (Family::Number, SqlType::Bit) if !source.is_floating() => Some(Converted),
        (Family::Number, target) if is_number(target) => {
            let same = match target {
                SqlType::Real | SqlType::Float => source.is_floating(),
                SqlType::Decimal { .. } | SqlType::Numeric { .. } | SqlType::Money | SqlType::SmallMoney => {
                    !source.is_floating()
                }
                _ => source.is_integer(),
            };
            Some(if same { Natural } else { Converted })
        }
        (Family::Number, SqlType::RowVersion) if *source == DataType::UInt64 => Some(Natural),
        (Family::Date, SqlType::Date) => Some(Natural),
        (Family::Date, target) if has_date(target) => Some(Converted),
        (Family::Time, SqlType::Time { .. }) => Some(Natural),
        (Family::Timestamp, SqlType::Date) => Some(Converted),
        (Family::Timestamp, target) if has_date(target) => Some(Natural),
        (Family::Bytes(Some(16)), SqlType::UniqueIdentifier) => Some(Natural),
        (Family::Bytes(Some(8)), SqlType::DateTime2 { .. } | SqlType::RowVersion) => Some(Natural),
        (Family::Bytes(Some(10)), SqlType::DateTimeOffset { .. }) => Some(Natural),
        (
            Family::Bytes(_),
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. },
        ) => Some(Natural),
        // Bytes have no text form unless they are known to stand for something that has.
        (Family::Bytes(Some(_)), target) if is_text(target) => match declared {
            Some(SqlType::UniqueIdentifier | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }) => {
                Some(Converted)
            }
            _ => None,
        },
        // Bytes are a vector only if they are known to be one.
        (Family::Bytes(None), SqlType::Vector { .. }) => {
            matches!(declared, Some(SqlType::Vector { .. })).then_some(Natural)
        }
        (Family::Bytes(None), target)
            if is_text(target) && matches!(declared, Some(SqlType::Vector { .. })) =>
        {
            Some(Converted)
        }
        (Family::Text, SqlType::RowVersion) | (Family::Nested, SqlType::SqlVariant) => None,
        (Family::Text, target) if is_text(target) => Some(Natural),
        (Family::Text, _) => Some(Converted),
        (Family::Bytes(_), SqlType::SqlVariant) => Some(Natural),
        (_, SqlType::SqlVariant) => Some(Converted),
        (Family::Nested, target) if is_text(target) => Some(Converted),
        (Family::Bytes(_), _) => None,
        (_, target) if is_text(target) => Some(Converted),
        _ => None,
    };
    acceptance.ok_or_else(no_conversion)
}

fn is_list(source: &DataType) -> bool {
    element_of(source).is_some()
}

/// Returns the type of the elements of a list.
fn element_of(source: &DataType) -> Option<&DataType> {
    match source {
        DataType::FixedSizeList(item, _)
        | DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item.data_type()),
        _ => None,
    }
}

/// Accepts lists of numbers as vectors.
fn accept_vector(source: &DataType, target: &SqlType) -> Result<Acceptance, Refusal> {
    let element = element_of(source);
    let numbers = element.is_some_and(|element| {
        element.is_numeric() && !matches!(element, DataType::Decimal256(..)) || *element == DataType::Null
    });
    let SqlType::Vector { dimensions, base } = target else {
        return Err(Refusal::NoConversion { source_type: source.clone(), target: target.clone() });
    };
    if !numbers {
        return Err(Refusal::NoConversion { source_type: source.clone(), target: target.clone() });
    }
    if let DataType::FixedSizeList(_, found) = source
        && *found != i32::from(*dimensions)
    {
        let (source_type, found, target) = (source.clone(), *found, target.clone());
        return Err(Refusal::Dimensions { source_type, found, target });
    }
    let natural = match base {
        VectorBase::Float32 => matches!(element, Some(DataType::Float32 | DataType::Float16)),
        VectorBase::Float16 => matches!(element, Some(DataType::Float16)),
    };
    Ok(if natural { Acceptance::Natural } else { Acceptance::Converted })
}

fn is_text(target: &SqlType) -> bool {
    target.is_character() || matches!(target, SqlType::Xml | SqlType::Json)
}

fn is_number(target: &SqlType) -> bool {
    matches!(
        target,
        SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Real
            | SqlType::Float
            | SqlType::SmallMoney
            | SqlType::Money
    ) || target.is_decimal()
}

fn has_date(target: &SqlType) -> bool {
    target.is_temporal() && !matches!(target, SqlType::Time { .. })
}
