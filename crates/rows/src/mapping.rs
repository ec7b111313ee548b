//! The type mapping between Arrow and SQL Server, both directions. It is defined only here; `docs/type-mapping.md` is printed
//! from it.
//!
//! [`field_for`] gives the Arrow field of a column of a result set or a table, in one of two [forms](Form). [`sql_type_of`] and
//! [`column_for`] give the SQL type of an Arrow field if it is not decided otherwise (`--create`, a result set of the embedded
//! server). [`Plan`](crate::Plan) decides what may be loaded into an existing column of another type.

mod metadata;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use tds::{Collation, Column, Length, SqlType, VectorBase};

pub use metadata::{COLLATION_KEY, SQL_TYPE_KEY, declared_sql_type};

/// Arrow representation of SQL values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// The usual Arrow types, which users read. A value that they cannot hold is refused.
    Arrow(ReadOptions),
    /// The lossless form in which the embedded server stores and computes:
    /// * `datetime2(7)` is `FixedSizeBinary(8)`: big-endian count of 100 ns since 0001-01-01, so bytes order as time;
    /// * `datetimeoffset` is `FixedSizeBinary(10)`: the same count in UTC, then the offset in minutes as a big-endian
    ///   i16 with its sign bit flipped, so bytes order as (instant, offset);
    /// * `rowversion` is `UInt64`;
    /// * `vector` is `Binary`: header and elements as they travel (MS-TDS 2.2.5.5.7);
    /// * `sql_variant` is `Binary`: the body of the wire value (base type, properties, data; MS-TDS 2.2.5.5.4).
    Exact,
}

impl Default for Form {
    fn default() -> Self {
        Form::Arrow(ReadOptions::default())
    }
}

/// Choices for types that have several Arrow types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The Arrow type for seven fractional digits (`datetime2(7)`, `datetimeoffset(7)`).
    pub scale_7: Scale7,
    /// Representation of `datetimeoffset`.
    pub date_time_offset: OffsetForm,
    /// Representation of `uniqueidentifier`.
    pub guid: GuidForm,
}

/// Arrow type of a date and time with a resolution of 100 ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale7 {
    /// Nanoseconds: 1677-09-21 to 2262-04-11; other dates are refused.
    #[default]
    Nanoseconds,
    /// Microseconds: every date; a seventh digit other than 0 is refused.
    Microseconds,
    /// Microseconds: every date; the seventh digit is cut off.
    CutMicroseconds,
    /// Text, `2024-02-29 12:34:56.1234567`.
    Text,
}

/// Arrow type of a date and time with an offset from UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OffsetForm {
    /// The instant, as a timestamp in UTC. The offset is not kept.
    #[default]
    Instant,
    /// Text, `2024-02-29 12:34:56.1234567 +01:00`.
    Text,
}

/// Arrow type of a GUID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuidForm {
    /// `FixedSizeBinary(16)` in the order in which the text is written.
    #[default]
    Bytes,
    /// Text, upper case.
    Text,
}

/// Arrow's time zone of instants.
pub(crate) const UTC: &str = "UTC";

/// Returns a note that names the columns whose offsets from UTC are not kept; None if there are none.
pub fn note_of_offsets(schema: &arrow::datatypes::Schema) -> Option<String> {
    let is_instant = |field: &&Arc<Field>| matches!(field.data_type(), DataType::Timestamp(_, Some(_)));
    let names: Vec<&str> =
        schema.fields().iter().filter(is_instant).map(|field| field.name().as_str()).collect();
    (!names.is_empty())
        .then(|| format!("{}: datetimeoffset as instants in UTC, without the offsets", names.join(", ")))
}

/// Returns the Arrow type of values of `sql_type`.
pub fn data_type_for(sql_type: &SqlType, form: &Form) -> DataType {
    use DataType::*;
    let exact = *form == Form::Exact;
    let options = match form {
        Form::Arrow(options) => options.clone(),
        Form::Exact => ReadOptions::default(),
    };
    match sql_type {
        SqlType::Bit => Boolean,
        SqlType::TinyInt => UInt8,
        SqlType::SmallInt => Int16,
        SqlType::Int => Int32,
        SqlType::BigInt => Int64,
        SqlType::Real => Float32,
        SqlType::Float => Float64,
        SqlType::SmallMoney => Decimal128(10, 4),
        SqlType::Money => Decimal128(19, 4),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Decimal128(*precision, *scale as i8)
        }
        SqlType::Date => Date32,
        SqlType::Time { scale: 0 } => Time32(TimeUnit::Second),
        SqlType::Time { scale: 1..=3 } => Time32(TimeUnit::Millisecond),
        SqlType::Time { scale: 4..=6 } => Time64(TimeUnit::Microsecond),
        SqlType::Time { .. } => Time64(TimeUnit::Nanosecond),
        SqlType::SmallDateTime => Timestamp(TimeUnit::Second, None),
        SqlType::DateTime => Timestamp(TimeUnit::Millisecond, None),
        SqlType::DateTime2 { scale: 7.. } if exact => FixedSizeBinary(8),
        SqlType::DateTime2 { scale } => {
            timestamp_unit(*scale, options.scale_7).map_or(Utf8, |unit| Timestamp(unit, None))
        }
        SqlType::DateTimeOffset { .. } if exact => FixedSizeBinary(10),
        SqlType::DateTimeOffset { .. } if options.date_time_offset == OffsetForm::Text => Utf8,
        SqlType::DateTimeOffset { scale } => {
            timestamp_unit(*scale, options.scale_7).map_or(Utf8, |unit| Timestamp(unit, Some(UTC.into())))
        }
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Text
        | SqlType::NText
        | SqlType::Xml
        | SqlType::Json => Utf8,
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::Udt { .. } => Binary,
        SqlType::UniqueIdentifier if !exact && options.guid == GuidForm::Text => Utf8,
        SqlType::UniqueIdentifier => FixedSizeBinary(16),
        SqlType::RowVersion if exact => UInt64,
        SqlType::RowVersion => FixedSizeBinary(8),
        SqlType::Vector { .. } if exact => Binary,
        SqlType::Vector { dimensions, base } => {
            let element = match base {
                VectorBase::Float32 => Float32,
                VectorBase::Float16 => Float16,
            };
            FixedSizeList(Arc::new(Field::new_list_field(element, true)), i32::from(*dimensions))
        }
        SqlType::SqlVariant if exact => Binary,
        SqlType::SqlVariant => Utf8,
    }
}

/// Returns the unit of a timestamp with `scale` fractional digits; `None` for text.
fn timestamp_unit(scale: u8, scale_7: Scale7) -> Option<TimeUnit> {
    match (scale, scale_7) {
        (0, _) => Some(TimeUnit::Second),
        (1..=3, _) => Some(TimeUnit::Millisecond),
        (4..=6, _) | (_, Scale7::Microseconds | Scale7::CutMicroseconds) => Some(TimeUnit::Microsecond),
        (_, Scale7::Nanoseconds) => Some(TimeUnit::Nanosecond),
        (_, Scale7::Text) => None,
    }
}

/// Makes the Arrow field of a column as it is read.
///
/// Its metadata carries the SQL type ([`SQL_TYPE_KEY`]) and, for text, the collation's name ([`COLLATION_KEY`]), so that
/// [`sql_type_of`] and [`column_for`] restore the same column.
pub fn field_for(column: &Column, form: &Form) -> Field {
    let sql_type = &column.type_info.sql_type;
    Field::new(&column.name, data_type_for(sql_type, form), column.flags.is_nullable())
        .with_metadata(metadata::of(sql_type, column.type_info.collation))
}

/// Choices for the table that is made from a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Length of the longest value, if it is known: in UTF-16 code units for [`StringType::NVarChar`], in bytes of the
    /// code page for [`StringType::VarChar`], in bytes for binary columns. Unknown or beyond the limit of 8000 bytes
    /// becomes `max`.
    pub max_length: Option<u64>,
    /// SQL type of text columns.
    pub strings: StringType,
    /// Lists, structs and maps become JSON text; without this they are refused. Lists that are vectors need no leave.
    pub nested_as_json: bool,
    /// The server has no `vector`: lists of a fixed number of floats are nested types like others.
    pub without_vectors: bool,
}

/// The SQL type of text columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StringType {
    /// `nvarchar`, any character.
    #[default]
    NVarChar,
    /// `varchar`, the characters of the collation's code page.
    VarChar,
}

impl StringType {
    fn sized(self, max_length: Option<u64>) -> SqlType {
        match self {
            StringType::NVarChar => SqlType::NVarChar { length: sized(max_length, 4000) },
            StringType::VarChar => SqlType::VarChar { length: sized(max_length, 8000) },
        }
    }
}

fn sized(max_length: Option<u64>, limit: u16) -> Length {
    match max_length.map(u16::try_from) {
        Some(Ok(length)) if length <= limit => Length::Units(length.max(1)),
        _ => Length::Max,
    }
}

/// Returns the SQL type of a new column that holds `field`.
///
/// A type in the field's metadata takes precedence; a dictionary or run-end encoded field has the type of its values.
pub fn sql_type_of(field: &Field, options: &CreateOptions) -> Result<SqlType, MappingError> {
    if let Some(declared) = declared_sql_type(field)? {
        return Ok(declared);
    }
    if metadata::is_uuid(field) {
        return Ok(SqlType::UniqueIdentifier);
    }
    default_sql_type(field.data_type(), options)
        .map_err(|reason| MappingError::NoSqlType { field: field.name().clone(), reason })
}

/// Makes the column of a result set that shows `field`: its SQL type by [`sql_type_of`] without known
/// lengths, its collation from the metadata or else `SQL_Latin1_General_CP1_CI_AS`.
pub fn column_for(field: &Field) -> Result<Column, MappingError> {
    let options = CreateOptions { nested_as_json: true, ..CreateOptions::default() };
    let sql_type = sql_type_of(field, &options)?;
    let collation = match metadata::declared_collation(field)? {
        Some(collation) => Some(collation),
        None if sql_type.is_character() => Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
        None => None,
    };
    Ok(Column::new(field.name(), sql_type, field.is_nullable(), collation))
}

/// Returns the SQL type that holds every value of `data_type`.
pub(crate) fn default_sql_type(data_type: &DataType, options: &CreateOptions) -> Result<SqlType, NoSqlType> {
    use DataType::*;
    let decimal = |precision: u8, scale: i8| {
        // Arrow allows negative scales (trailing zeros) and scales beyond the precision (leading zeros).
        let scale_digits = scale.max(0) as u8;
        let digits = u16::from(precision) + u16::from(scale.min(0).unsigned_abs());
        let digits = digits.max(u16::from(scale_digits));
        match u8::try_from(digits) {
            Ok(precision) if precision <= 38 => Ok(SqlType::Decimal { precision, scale: scale_digits }),
            _ => Err(NoSqlType::TooPrecise { digits }),
        }
    };
    let scale_of = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 7,
    };
    Ok(match data_type {
        // A bare NULL is an int to SQL Server too.
        Null => SqlType::Int,
        Boolean => SqlType::Bit,
        UInt8 => SqlType::TinyInt,
        Int8 | Int16 => SqlType::SmallInt,
        UInt16 | Int32 => SqlType::Int,
        UInt32 | Int64 => SqlType::BigInt,
        UInt64 => SqlType::Decimal { precision: 20, scale: 0 },
        Float16 | Float32 => SqlType::Real,
        Float64 => SqlType::Float,
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale) => decimal(*precision, *scale)?,
        Date32 | Date64 => SqlType::Date,
        Time32(unit) | Time64(unit) => SqlType::Time { scale: scale_of(unit) },
        Timestamp(unit, None) => SqlType::DateTime2 { scale: scale_of(unit) },
        Timestamp(unit, Some(_)) => SqlType::DateTimeOffset { scale: scale_of(unit) },
        Utf8 | LargeUtf8 | Utf8View => options.strings.sized(options.max_length),
        Binary | LargeBinary | BinaryView => SqlType::VarBinary { length: sized(options.max_length, 8000) },
        FixedSizeBinary(width) => match u16::try_from(*width) {
            Ok(length @ 1..=8000) => SqlType::Binary { length },
            _ => SqlType::VarBinary { length: Length::Max },
        },
        Dictionary(_, values) => default_sql_type(values, options)?,
        RunEndEncoded(_, values) => default_sql_type(values.data_type(), options)?,
        FixedSizeList(item, size) if !options.without_vectors && vector_of(item, *size).is_some() => {
            vector_of(item, *size).ok_or_else(|| NoSqlType::Nested(data_type.clone()))?
        }
        List(_) | LargeList(_) | ListView(_) | LargeListView(_) | FixedSizeList(..) | Struct(_) | Map(..) => {
            if !options.nested_as_json {
                return Err(NoSqlType::Nested(data_type.clone()));
            }
            StringType::NVarChar.sized(None)
        }
        Duration(unit) => return Err(NoSqlType::Duration(*unit)),
        Interval(unit) => return Err(NoSqlType::Interval(*unit)),
        Union(..) => return Err(NoSqlType::Union),
    })
}

/// Returns the vector type of lists of `size` floats.
fn vector_of(item: &Field, size: i32) -> Option<SqlType> {
    let base = match item.data_type() {
        DataType::Float32 => VectorBase::Float32,
        DataType::Float16 => VectorBase::Float16,
        _ => return None,
    };
    let dimensions = u16::try_from(size).ok()?;
    (1..=base.max_dimensions()).contains(&dimensions).then_some(SqlType::Vector { dimensions, base })
}

/// Reason why a field has no column, or a column no field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// No SQL type holds the field's values.
    #[error("column {field:?}: {reason}")]
    NoSqlType {
        /// Name of the field.
        field: String,
        /// Reason why no SQL type holds the values.
        reason: NoSqlType,
    },
    /// The field's metadata does not name a SQL type or a collation.
    #[error("column {field:?}: the metadata {key:?} = {text:?} is not understood")]
    Metadata {
        /// Name of the field.
        field: String,
        /// The metadata key.
        key: &'static str,
        /// Value of the metadata entry.
        text: String,
    },
}

/// Reason why an Arrow type has no SQL type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSqlType {
    /// More decimal digits than `decimal(38)` has.
    TooPrecise {
        /// Number of digits needed.
        digits: u16,
    },
    /// A nested type, and JSON text was not asked for.
    Nested(DataType),
    /// SQL Server has no type for a span of time.
    Duration(TimeUnit),
    /// SQL Server has no type for a calendar interval.
    Interval(IntervalUnit),
    /// SQL Server has no type for a union.
    Union,
}

impl fmt::Display for NoSqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSqlType::TooPrecise { digits } => {
                write!(f, "a decimal of {digits} digits does not fit decimal(38)")
            }
            NoSqlType::Nested(data_type) => {
                write!(f, "{data_type} is nested; the option nested_as_json stores it as JSON text")
            }
            NoSqlType::Duration(_) => f.write_str(
                "SQL Server has no type for a duration; cast it to an integer of a unit of your choice first",
            ),
            NoSqlType::Interval(_) => {
                f.write_str("SQL Server has no type for an interval; cast it to text or integers first")
            }
            NoSqlType::Union => f.write_str("SQL Server has no type for a union"),
        }
    }
}

#[cfg(test)]
mod tests;
