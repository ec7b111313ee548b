//! The CLR types of SQL Server: hierarchyid, geometry and geography, between their text and their bytes.

mod hierarchy;
mod spatial;
mod spatial_text;

use tds::SqlType;

pub(super) use hierarchy::Hierarchy;
pub(super) use spatial::{Point, Shape, Spatial};

use tsql::SqlError;

/// The CLR types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClrType {
    /// hierarchyid.
    Hierarchy,
    /// geometry.
    Geometry,
    /// geography.
    Geography,
}

impl ClrType {
    /// Finds the type of a name.
    pub fn named(name: &str) -> Option<ClrType> {
        let types = [ClrType::Hierarchy, ClrType::Geometry, ClrType::Geography];
        types.into_iter().find(|clr| clr.name().eq_ignore_ascii_case(name))
    }

    /// Returns the CLR type of a SQL type.
    pub fn of(sql_type: &SqlType) -> Option<ClrType> {
        match sql_type {
            SqlType::Udt { schema, name, .. } if schema.is_empty() || schema.eq_ignore_ascii_case("sys") => {
                ClrType::named(name)
            }
            _ => None,
        }
    }

    /// Whether values of a SQL type have no order: geometry, geography and types of users.
    pub fn is_unordered(sql_type: &SqlType) -> bool {
        matches!(sql_type, SqlType::Udt { .. }) && ClrType::of(sql_type) != Some(ClrType::Hierarchy)
    }

    /// Returns the name of the type.
    pub fn name(self) -> &'static str {
        match self {
            ClrType::Hierarchy => "hierarchyid",
            ClrType::Geometry => "geometry",
            ClrType::Geography => "geography",
        }
    }

    /// Bytes of a value from its text. Errors: 6522 for text that is not a value of the type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, SqlError> {
        let bytes = match self {
            ClrType::Hierarchy => Hierarchy::parse(text).map(|value| value.bytes()),
            ClrType::Geometry => Spatial::parse(text, 0).map(|value| value.bytes(false)),
            ClrType::Geography => Spatial::parse(text, GEOGRAPHY_SRID).map(|value| value.bytes(true)),
        };
        bytes.ok_or_else(|| self.failed("24114", &format!("The text '{}' is not valid", head(text))))
    }

    /// Returns the bytes of a value. Errors: 6522 for more than the type can have.
    pub fn checked(self, bytes: Vec<u8>) -> Result<Vec<u8>, SqlError> {
        match self {
            ClrType::Hierarchy if bytes.len() > hierarchy::BYTES_MAX => {
                Err(self.failed("24000", &format!("A path has at most {} bytes", hierarchy::BYTES_MAX)))
            }
            _ => Ok(bytes),
        }
    }

    /// Decodes a value's bytes to text. Errors: 6522 for bytes that are not a value of the type.
    pub fn text(self, bytes: &[u8]) -> Result<String, SqlError> {
        let text = match self {
            ClrType::Hierarchy => Hierarchy::read(bytes).map(|value| value.to_string()),
            ClrType::Geometry => Spatial::read(bytes, false).map(|value| value.to_string()),
            ClrType::Geography => Spatial::read(bytes, true).map(|value| value.to_string()),
        };
        text.ok_or_else(|| self.failed("24210", "The serialized form of the value is not valid"))
    }

    /// Makes the error that the type's own code raises.
    pub fn failed(self, number: &str, reason: &str) -> SqlError {
        let text = format!(
            "A .NET Framework error occurred during execution of user-defined routine or aggregate \"{}\": {number}: {reason}.",
            self.name()
        );
        SqlError::new(6522, 16, 1, text)
    }
}

/// WGS 84, geography's reference system unless another is named.
pub const GEOGRAPHY_SRID: i32 = 4326;

fn head(text: &str) -> String {
    text.chars().take(60).collect()
}
