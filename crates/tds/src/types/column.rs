//! COLMETADATA (MS-TDS 2.2.7.4): the columns of a result set, and of a bulk load.

use std::fmt;

use crate::codec::{DecodeError, Reader, Writer};
use crate::collation::Collation;
use crate::sql_type::SqlType;
use crate::type_info::{Direction, Form, TypeInfo};
use crate::version::TdsVersion;

/// The token byte of COLMETADATA.
pub const COLMETADATA: u8 = 0x81;

/// UserType of a `rowversion` column, whose TYPE_INFO is that of `binary(8)`.
pub const USER_TYPE_ROWVERSION: u32 = 0x50;

/// One column of a result set or bulk load.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// Name of the column; may be empty for an expression.
    pub name: String,
    /// 0, or [`USER_TYPE_ROWVERSION`], or the id of an alias type.
    pub user_type: u32,
    /// Nullability, updateability and more.
    pub flags: ColumnFlags,
    /// Type of the column.
    pub type_info: TypeInfo,
    /// Name parts of the table; sent for `text`, `ntext` and `image` only.
    pub table_name: Vec<String>,
}

impl Column {
    /// Describes a column of a table as a server does, with unknown updateability as on real servers.
    pub fn new(
        name: impl Into<String>,
        sql_type: SqlType,
        nullable: bool,
        collation: Option<Collation>,
    ) -> Self {
        let user_type = if sql_type == SqlType::RowVersion { USER_TYPE_ROWVERSION } else { 0 };
        let mut flags = ColumnFlags(ColumnFlags::UPDATEABILITY_UNKNOWN);
        if nullable {
            flags.0 |= ColumnFlags::NULLABLE;
        }
        let type_info = TypeInfo::new(sql_type, nullable, collation);
        Self { name: name.into(), user_type, flags, type_info, table_name: Vec::new() }
    }

    /// Returns the type, in T-SQL's view.
    pub fn sql_type(&self) -> &SqlType {
        &self.type_info.sql_type
    }
}

/// The flag word of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    /// The column may be NULL.
    pub const NULLABLE: u16 = 0x0001;
    /// Text of the column compares case-sensitively.
    pub const CASE_SENSITIVE: u16 = 0x0002;
    /// The column can be written.
    pub const UPDATEABLE: u16 = 0x0004;
    /// The server does not say whether the column can be written. Real servers set this for all columns of tables.
    pub const UPDATEABILITY_UNKNOWN: u16 = 0x0008;
    /// The column is an identity.
    pub const IDENTITY: u16 = 0x0010;
    /// The column is computed, or an expression.
    pub const COMPUTED: u16 = 0x0020;
    /// A CLR type of fixed length.
    pub const FIXED_LENGTH_CLR: u16 = 0x0100;
    /// The column set of sparse columns.
    pub const SPARSE_COLUMN_SET: u16 = 0x0400;
    /// The column is encrypted (Always Encrypted).
    pub const ENCRYPTED: u16 = 0x0800;
    /// Added by the server for browse mode.
    pub const HIDDEN: u16 = 0x2000;
    /// Part of the key, in browse mode.
    pub const KEY: u16 = 0x4000;
    /// The sender does not know whether the column may be NULL.
    pub const NULLABILITY_UNKNOWN: u16 = 0x8000;

    /// Returns true if all bits of `flag` are set.
    pub fn has(self, flag: u16) -> bool {
        self.0 & flag == flag
    }

    /// Returns true if the column may be NULL, or if that is unknown.
    pub fn is_nullable(self) -> bool {
        self.0 & (Self::NULLABLE | Self::NULLABILITY_UNKNOWN) != 0
    }

    /// Returns true for an identity column.
    pub fn is_identity(self) -> bool {
        self.has(Self::IDENTITY)
    }

    /// Returns true for a computed column or an expression.
    pub fn is_computed(self) -> bool {
        self.has(Self::COMPUTED)
    }

    /// Returns true for a column that browse mode added.
    pub fn is_hidden(self) -> bool {
        self.has(Self::HIDDEN)
    }
}

impl fmt::Debug for ColumnFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnFlags({:#06x})", self.0)
    }
}

/// Reads the body of COLMETADATA, after its token byte, as TDS 7.2 and later have it.
///
/// `None` is the count FFFF: the statement has no metadata. A `binary(8)` with the UserType of rowversion becomes
/// [`SqlType::RowVersion`].
///
/// # Errors
/// Besides malformed bytes: columns encrypted by Always Encrypted, which a peer must not send unless the feature was
/// acknowledged.
pub fn decode_columns(r: &mut Reader<'_>, direction: Direction) -> Result<Option<Vec<Column>>, DecodeError> {
    decode_columns_of(r, direction, TdsVersion::V7_4)
}

/// Decodes columns as [`decode_columns`] does, on a connection of this version: before 7.2 the UserType has
/// two bytes and the table name is one text in both directions.
pub fn decode_columns_of(
    r: &mut Reader<'_>,
    direction: Direction,
    version: TdsVersion,
) -> Result<Option<Vec<Column>>, DecodeError> {
    let count = r.u16("COLMETADATA count")?;
    if count == NO_METADATA {
        return Ok(None);
    }
    r.check_count(usize::from(count), COLUMN_BYTES_MIN, "COLMETADATA columns")?;
    (0..count).map(|_| decode_column(r, direction, version)).collect::<Result<Vec<_>, _>>().map(Some)
}

/// Appends the body of COLMETADATA, after its token byte.
pub fn encode_columns(columns: Option<&[Column]>, w: &mut Writer, direction: Direction) {
    encode_columns_of(columns, w, direction, TdsVersion::V7_4);
}

/// Encodes columns as [`encode_columns`] does, on a connection of this version; see [`decode_columns_of`].
pub fn encode_columns_of(
    columns: Option<&[Column]>,
    w: &mut Writer,
    direction: Direction,
    version: TdsVersion,
) {
    let Some(columns) = columns else { return w.u16(NO_METADATA) };
    match u16::try_from(columns.len()) {
        Ok(count) if count != NO_METADATA => w.u16(count),
        _ => return w.invalid("COLMETADATA count", format!("{} columns do not fit", columns.len())),
    }
    for column in columns {
        if version.has_wide_fields() {
            w.u32(column.user_type);
        } else {
            let user_type = w.length_u16(column.user_type as usize, "column UserType");
            w.u16(user_type);
        }
        w.u16(column.flags.0);
        column.type_info.encode(w, direction);
        if column.type_info.sql_type.is_legacy_lob() {
            encode_table_name(&column.table_name, w, table_name_form(direction, version));
        }
        w.b_varchar(&column.name, "column name");
    }
}

const NO_METADATA: u16 = 0xFFFF;

/// UserType (two bytes before 7.2), Flags, a one-byte TYPE_INFO and an empty name.
const COLUMN_BYTES_MIN: usize = 6;

fn decode_column(
    r: &mut Reader<'_>,
    direction: Direction,
    version: TdsVersion,
) -> Result<Column, DecodeError> {
    let user_type = match version.has_wide_fields() {
        true => r.u32("column UserType")?,
        false => u32::from(r.u16("column UserType")?),
    };
    let offset = r.position();
    let flags = ColumnFlags(r.u16("column Flags")?);
    if flags.has(ColumnFlags::ENCRYPTED) {
        return Err(DecodeError::invalid("column Flags", offset, "encrypted columns are not supported"));
    }
    let mut type_info = TypeInfo::decode(r, direction)?;
    // The pre-7.0 tokens have no form for it.
    if user_type == USER_TYPE_ROWVERSION
        && type_info.form == Form::Nullable
        && matches!(type_info.sql_type, SqlType::Binary { length: 8 })
    {
        type_info.sql_type = SqlType::RowVersion;
    }
    let table_name = match type_info.sql_type.is_legacy_lob() {
        true => decode_table_name(r, table_name_form(direction, version))?,
        false => Vec::new(),
    };
    let name = r.b_varchar("column name")?;
    Ok(Column { name, user_type, flags, type_info, table_name })
}

/// Returns the direction whose form the table name has: 7.1 knows only the single text that bulk clients
/// send.
fn table_name_form(direction: Direction, version: TdsVersion) -> Direction {
    if version.has_wide_fields() { direction } else { Direction::ClientToServer }
}

fn decode_table_name(r: &mut Reader<'_>, direction: Direction) -> Result<Vec<String>, DecodeError> {
    let parts = match direction {
        Direction::ServerToClient => r.u8("TableName parts")?,
        Direction::ClientToServer => 1,
    };
    let parts: Vec<String> = (0..parts).map(|_| r.us_varchar("TableName")).collect::<Result<_, _>>()?;
    // A single empty part says "no table".
    Ok(if parts.iter().all(String::is_empty) { Vec::new() } else { parts })
}

fn encode_table_name(parts: &[String], w: &mut Writer, direction: Direction) {
    match (direction, parts) {
        (Direction::ServerToClient, []) => w.bytes(&[1, 0, 0]),
        (Direction::ServerToClient, parts) => {
            let count = w.length_u8(parts.len(), "TableName parts");
            w.u8(count);
            for part in parts {
                w.us_varchar(part, "TableName");
            }
        }
        (Direction::ClientToServer, parts) => w.us_varchar(&parts.join("."), "TableName"),
    }
}

#[cfg(test)]
#[path = "column_tests.rs"]
mod tests;
