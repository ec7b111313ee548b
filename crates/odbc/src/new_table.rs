//! Types of new tables. ODBC has no words for types that every system understands, so the common systems have their own.

use adbc_core::error::Result;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use crate::error::unsupported;
use crate::parameters::is_uuid;

/// Puts a name between the quotes of the system.
pub(crate) fn quoted(name: &str, quote: Option<char>) -> String {
    match quote {
        Some(quote) => {
            let doubled = name.replace(quote, &format!("{quote}{quote}"));
            format!("{quote}{doubled}{quote}")
        }
        None => name.to_owned(),
    }
}

/// Writes `CREATE TABLE` for the columns of a schema.
pub(crate) fn create_statement(
    table: &str,
    schema: &Schema,
    system: &str,
    quote: Option<char>,
) -> Result<String> {
    let words = Words::of(system);
    let columns = schema.fields().iter().map(|field| {
        let name = quoted(field.name(), quote);
        let null = if field.is_nullable() { "" } else { " NOT NULL" };
        Ok(format!("{name} {}{null}", words.for_type(field, field.data_type())?))
    });
    Ok(format!("CREATE TABLE {table} ({})", columns.collect::<Result<Vec<_>>>()?.join(", ")))
}

/// Names of a system's types. `{p}` stands for digits of a second.
struct Words {
    boolean: &'static str,
    float: &'static str,
    double: &'static str,
    text: &'static str,
    binary: &'static str,
    uuid: &'static str,
    time: &'static str,
    timestamp: &'static str,
    zoned: &'static str,
    /// The most digits of a second.
    digits: u8,
}

impl Words {
    fn of(system: &str) -> Self {
        let standard = Self {
            boolean: "BOOLEAN",
            float: "REAL",
            double: "DOUBLE PRECISION",
            text: "VARCHAR(4000)",
            binary: "VARBINARY(4000)",
            uuid: "CHAR(36)",
            time: "TIME({p})",
            timestamp: "TIMESTAMP({p})",
            zoned: "TIMESTAMP({p}) WITH TIME ZONE",
            digits: 6,
        };
        let system = system.to_ascii_lowercase();
        match system.as_str() {
            // The second is how FreeTDS calls an older server.
            "microsoft sql server" | "sql server" => Self {
                boolean: "bit",
                float: "real",
                double: "float",
                text: "nvarchar(max)",
                binary: "varbinary(max)",
                uuid: "uniqueidentifier",
                time: "time({p})",
                timestamp: "datetime2({p})",
                zoned: "datetimeoffset({p})",
                digits: 7,
            },
            "postgresql" => Self { text: "text", binary: "bytea", uuid: "uuid", ..standard },
            "mysql" | "mariadb" => Self {
                double: "DOUBLE",
                text: "LONGTEXT",
                binary: "LONGBLOB",
                timestamp: "DATETIME({p})",
                zoned: "TIMESTAMP({p})",
                ..standard
            },
            "sqlite" => {
                Self { text: "TEXT", binary: "BLOB", time: "TIME", timestamp: "DATETIME", ..standard }
            }
            "oracle" => Self {
                boolean: "NUMBER(1)",
                float: "BINARY_FLOAT",
                double: "BINARY_DOUBLE",
                text: "CLOB",
                binary: "BLOB",
                time: "VARCHAR2(18)",
                ..standard
            },
            _ => standard,
        }
    }

    fn for_type(&self, field: &Field, data_type: &DataType) -> Result<String> {
        let word = match data_type {
            DataType::Boolean => self.boolean,
            DataType::Int8 | DataType::Int16 | DataType::UInt8 => "SMALLINT",
            DataType::Int32 | DataType::UInt16 => "INTEGER",
            DataType::Int64 | DataType::UInt32 => "BIGINT",
            DataType::UInt64 => "DECIMAL(20, 0)",
            DataType::Float16 | DataType::Float32 => self.float,
            DataType::Float64 => self.double,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale)
                if *scale >= 0 =>
            {
                return Ok(format!("DECIMAL({precision}, {scale})"));
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => self.text,
            DataType::FixedSizeBinary(16) if is_uuid(field) => self.uuid,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => self.binary,
            DataType::Date32 | DataType::Date64 => "DATE",
            DataType::Time32(unit) | DataType::Time64(unit) => return Ok(self.precise(self.time, *unit)),
            DataType::Timestamp(unit, None) => return Ok(self.precise(self.timestamp, *unit)),
            DataType::Timestamp(unit, Some(_)) => return Ok(self.precise(self.zoned, *unit)),
            DataType::Dictionary(_, values) => return self.for_type(field, values),
            DataType::RunEndEncoded(_, values) => return self.for_type(field, values.data_type()),
            other => return Err(unsupported(&format!("column {}: Arrow's type {other}", field.name()))),
        };
        Ok(word.to_owned())
    }

    fn precise(&self, word: &str, unit: TimeUnit) -> String {
        let digits: u8 = match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        };
        word.replace("{p}", &digits.min(self.digits).to_string())
    }
}
