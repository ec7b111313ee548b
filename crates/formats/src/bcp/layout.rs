//! Makes layouts from a table's columns: `-c`, `-w`, `-n`, `-N`, for the current version or an older one.

use tds::{Collation, Column, Length, SqlType, type_info};

use super::format_file::{FieldCollation, FormatFile, FormatVersion, HostField};
use super::{HostType, terminator};

/// Representation of values in a data file without a format file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataMode {
    /// `-c`: text in a code page.
    Character,
    /// `-w`: text in UTF-16LE.
    UnicodeCharacter,
    /// `-n`: native values, text in a code page.
    Native,
    /// `-N`: native values, text in UTF-16LE.
    UnicodeNative,
}

/// The server version whose native layout is used (`-V`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum NativeVersion {
    /// SQL Server 6.0.
    V60,
    /// SQL Server 6.5.
    V65,
    /// SQL Server 7.0.
    V70,
    /// SQL Server 2000.
    V80,
    /// SQL Server 2005.
    V90,
    /// SQL Server 2008 and everything since.
    #[default]
    Current,
}

/// The settings of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutOptions {
    /// Separates fields; given in UTF-8, and widened by Unicode modes. Default TAB. Not used by native modes.
    pub field_terminator: Vec<u8>,
    /// Ends rows; given in UTF-8, and widened by Unicode modes. Default LF, as on Linux.
    pub row_terminator: Vec<u8>,
    /// The server version whose native layout is used.
    pub native_version: NativeVersion,
    /// The version of the format file.
    pub format_version: FormatVersion,
    /// Character fields name their column's collation, as generated format files of a table do (those of a
    /// query do not). A named collation decides the field's encoding. Without a format file text is in the
    /// client's code page, so collations are left out.
    pub collations: bool,
    /// The collation named by sql_variant fields; the library takes the database's.
    pub variant_collation: Option<Collation>,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            field_terminator: b"\t".to_vec(),
            row_terminator: b"\n".to_vec(),
            native_version: NativeVersion::Current,
            format_version: FormatVersion::default(),
            collations: true,
            variant_collation: Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS),
        }
    }
}

impl DataMode {
    /// Returns true if fields are native values rather than text.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Native | Self::UnicodeNative)
    }

    /// Returns true if text is UTF-16.
    pub fn is_unicode(self) -> bool {
        matches!(self, Self::UnicodeCharacter | Self::UnicodeNative)
    }
}

impl NativeVersion {
    /// Returns the version of a `-V` value: 60, 65, 70, 80, 90, 100 and so on to 170.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            60 => Self::V60,
            65 => Self::V65,
            70 => Self::V70,
            80 => Self::V80,
            90 => Self::V90,
            100 | 110 | 120 | 130 | 140 | 150 | 160 | 170 => Self::Current,
            _ => return None,
        })
    }
}

impl FormatFile {
    /// Makes the layout of a data file with all of a table's `columns`, as the vendor's library lays them out
    /// and describes them in a generated format file.
    pub fn for_columns(columns: &[Column], mode: DataMode, options: &LayoutOptions) -> Self {
        let last = columns.len().saturating_sub(1);
        let fields = columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let mut field = if mode.is_native() {
                    native_field(column, mode.is_unicode(), options.native_version)
                } else {
                    let end = if index == last { &options.row_terminator } else { &options.field_terminator };
                    text_field(column, mode.is_unicode(), end)
                };
                if options.collations {
                    field.collation = written_collation(column, options.variant_collation);
                }
                field.column = Some(index + 1);
                field.name.clone_from(&column.name);
                field
            })
            .collect();
        Self { version: options.format_version, fields, rowset: None }
    }

    /// Returns the fields as a file of an older native version stores them. Before 2008 a date or time is
    /// UTF-16 text behind a two-byte prefix, although the format file that belongs to the data still says
    /// `SQLTIME` and so on.
    pub(super) fn stored_fields(&self, version: NativeVersion) -> Vec<HostField> {
        let mut fields = self.fields.clone();
        if version < NativeVersion::Current {
            for field in &mut fields {
                if matches!(
                    field.host_type,
                    HostType::Date | HostType::Time | HostType::DateTime2 | HostType::DateTimeOffset
                ) {
                    field.host_type = HostType::NChar;
                    field.prefix_length = 2;
                    field.length = 0;
                }
            }
        }
        fields
    }
}

/// Makes a field of `-c` or `-w`.
fn text_field(column: &Column, unicode: bool, end: &[u8]) -> HostField {
    let sql_type = column.sql_type();
    let (host_type, length, end) = if unicode {
        (HostType::NChar, wide_text_length(sql_type), terminator::widen(end))
    } else {
        (HostType::Char, text_length(sql_type), end.to_vec())
    };
    HostField {
        host_type,
        prefix_length: 0,
        length,
        terminator: end,
        column: None,
        name: String::new(),
        collation: FieldCollation::Default,
    }
}

/// Makes a field of `-n` or `-N`.
fn native_field(column: &Column, unicode: bool, version: NativeVersion) -> HostField {
    let sql_type = &column_type_of(column.sql_type(), version);
    let host_type = HostType::native(sql_type, unicode);
    HostField {
        host_type,
        prefix_length: native_prefix(column, sql_type, version),
        length: native_length(sql_type, host_type),
        terminator: Vec::new(),
        column: None,
        name: String::new(),
        collation: FieldCollation::Default,
    }
}

/// Returns the type that stood for a column before its type existed (documentation of `-V`).
fn column_type_of(sql_type: &SqlType, version: NativeVersion) -> SqlType {
    match (sql_type, version) {
        (SqlType::BigInt, NativeVersion::V60 | NativeVersion::V65 | NativeVersion::V70) => {
            SqlType::Decimal { precision: 19, scale: 0 }
        }
        (SqlType::SqlVariant, NativeVersion::V60 | NativeVersion::V65) => SqlType::Text,
        (SqlType::SqlVariant, NativeVersion::V70) => SqlType::NVarChar { length: Length::Units(4000) },
        (other, _) => other.clone(),
    }
}

/// Returns the width of the length in front of a native field, as observed with the vendor's library.
pub(super) fn native_prefix(column: &Column, sql_type: &SqlType, version: NativeVersion) -> u8 {
    let nullable = column.flags.is_nullable();
    match sql_type {
        // The token that the server sends decides here; it usually follows the nullable flag.
        SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Real
        | SqlType::Float
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::DateTime
        | SqlType::SmallDateTime => u8::from(column.type_info.form != type_info::Form::Fixed),
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => {
            u8::from(nullable)
        }
        SqlType::Bit | SqlType::UniqueIdentifier | SqlType::Decimal { .. } | SqlType::Numeric { .. } => 1,
        SqlType::Char { .. } if !nullable => 0,
        SqlType::Text | SqlType::NText | SqlType::Image | SqlType::SqlVariant => 4,
        _ if is_long(sql_type) => {
            if version <= NativeVersion::V80 {
                4
            } else {
                8
            }
        }
        _ => 2,
    }
}

fn is_long(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::VarChar { length } | SqlType::NVarChar { length } | SqlType::VarBinary { length } => {
            *length == Length::Max
        }
        SqlType::Xml | SqlType::Json | SqlType::Udt { .. } => true,
        _ => false,
    }
}

pub(super) fn native_length(sql_type: &SqlType, host_type: HostType) -> u32 {
    if let Some(size) = host_type.size_bytes() {
        return size as u32;
    }
    let units = |length: &Length| match length {
        Length::Units(units) => u32::from(*units),
        Length::Max => 0,
    };
    let wide = host_type == HostType::NChar;
    match sql_type {
        SqlType::Char { length } => u32::from(*length) * if wide { 2 } else { 1 },
        SqlType::VarChar { length } => units(length) * if wide { 2 } else { 1 },
        SqlType::NChar { length } => u32::from(*length) * 2,
        SqlType::NVarChar { length } => units(length) * 2,
        SqlType::Binary { length } => u32::from(*length),
        SqlType::VarBinary { length } => units(length),
        SqlType::RowVersion => 8,
        SqlType::Vector { .. } => sql_type.max_length_bytes().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the longest text of a value of `-c`, in bytes, as the vendor's library counts it.
pub(super) fn text_length(sql_type: &SqlType) -> u32 {
    let units = |length: &Length| match length {
        Length::Units(units) => u32::from(*units),
        Length::Max => 0,
    };
    match sql_type {
        SqlType::Bit => 1,
        SqlType::TinyInt => 5,
        SqlType::SmallInt => 7,
        SqlType::Int => 12,
        SqlType::BigInt => 21,
        SqlType::Real | SqlType::Float | SqlType::Money | SqlType::SmallMoney => 30,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 41,
        SqlType::DateTime | SqlType::SmallDateTime => 24,
        SqlType::Date => 11,
        SqlType::Time { .. } => 19,
        SqlType::DateTime2 { .. } => 30,
        SqlType::DateTimeOffset { .. } | SqlType::UniqueIdentifier => 37,
        SqlType::Char { length } => u32::from(*length),
        SqlType::VarChar { length } => units(length),
        SqlType::NChar { length } => u32::from(*length) * 2,
        SqlType::NVarChar { length } => units(length) * 2,
        SqlType::Binary { length } => u32::from(*length) * 2,
        SqlType::VarBinary { length } => units(length) * 2,
        SqlType::RowVersion => 16,
        SqlType::SqlVariant => 8000,
        SqlType::Text
        | SqlType::NText
        | SqlType::Image
        | SqlType::Xml
        | SqlType::Json
        | SqlType::Vector { .. }
        | SqlType::Udt { .. } => 0,
    }
}

/// Returns the longest text of a value of `-w`, in bytes: twice that of `-c`, except for Unicode types and
/// sql_variant.
pub(super) fn wide_text_length(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::SqlVariant => text_length(sql_type),
        _ => text_length(sql_type) * 2,
    }
}

/// Returns the collation of character columns and of sql_variant; none for xml and everything else.
fn written_collation(column: &Column, variant: Option<Collation>) -> FieldCollation {
    let collation = match column.sql_type() {
        SqlType::Xml | SqlType::Json => None,
        SqlType::SqlVariant => variant,
        sql_type if sql_type.is_character() => column.type_info.collation,
        _ => None,
    };
    collation.map_or(FieldCollation::Default, FieldCollation::of)
}
