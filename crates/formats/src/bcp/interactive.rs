//! The questions of bcp's dialogue: how a storage type is entered, and the default of each question.

use tds::{Column, Length, SqlType};

use super::HostType;
use super::layout::{LayoutOptions, native_length, native_prefix, text_length, wide_text_length};

/// Codes of the dialogue: case matters, and the letters in brackets may be left out.
const CODES: &[(&str, &str, HostType)] = &[
    ("c", "char", HostType::Char),
    ("w", "w", HostType::NChar),
    ("T", "Text", HostType::Char),
    ("W", "W", HostType::NChar),
    ("x", "x", HostType::Binary),
    ("I", "Image", HostType::Image),
    ("i", "int", HostType::Int),
    ("s", "smallint", HostType::SmallInt),
    ("t", "tinyint", HostType::TinyInt),
    ("B", "Bigint", HostType::BigInt),
    ("u", "u", HostType::UniqueId),
    ("U", "U", HostType::Udt),
    ("d", "date", HostType::DateTime),
    ("D", "D", HostType::DateTim4),
    ("de", "de", HostType::Date),
    ("te", "te", HostType::Time),
    ("d2", "d2", HostType::DateTime2),
    ("do", "do", HostType::DateTimeOffset),
    ("n", "n", HostType::Decimal),
    ("f", "float", HostType::Flt8),
    ("r", "r", HostType::Flt4),
    ("m", "money", HostType::Money),
    ("M", "M", HostType::Money4),
    ("b", "bit", HostType::Bit),
    ("V", "Variant", HostType::Variant),
    ("X", "X", HostType::NChar),
];

/// Returns the storage type that an answer means: a code, or a code continued as far as the original shows it
/// (`c`, `cha`, `char`). `d` is datetime; `de` is date.
pub fn storage_type(answer: &str) -> Option<HostType> {
    let exact = CODES.iter().find(|(code, ..)| *code == answer);
    let longer =
        || CODES.iter().find(|(code, whole, _)| answer.starts_with(code) && whole.starts_with(answer));
    exact.or_else(longer).map(|(_, _, host_type)| *host_type)
}

/// Returns the default type that the question shows in brackets: the column's native type, as the original
/// names it.
pub fn proposed_storage_name(column: &Column) -> &'static str {
    match column.sql_type() {
        SqlType::Char { .. } | SqlType::VarChar { .. } => "char",
        SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::Json => "nchar",
        SqlType::Text => "text",
        SqlType::NText => "ntext",
        SqlType::Xml => "xml",
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::RowVersion => "binary",
        SqlType::Image => "image",
        SqlType::Bit => "bit",
        SqlType::TinyInt => "tinyint",
        SqlType::SmallInt => "smallint",
        SqlType::Int => "int",
        SqlType::BigInt => "bigint",
        SqlType::Real => "real",
        SqlType::Float => "float",
        SqlType::Decimal { .. } => "decimal",
        SqlType::Numeric { .. } => "numeric",
        SqlType::Money => "money",
        SqlType::SmallMoney => "smallmoney",
        SqlType::DateTime => "datetime",
        SqlType::SmallDateTime => "smalldatetime",
        SqlType::Date => "date",
        SqlType::Time { .. } => "time",
        SqlType::DateTime2 { .. } => "datetime2",
        SqlType::DateTimeOffset { .. } => "datetimeoffset",
        SqlType::UniqueIdentifier => "uniqueidentifier",
        SqlType::SqlVariant => "sql_variant",
        SqlType::Vector { .. } => "binary",
        SqlType::Udt { .. } => "udt",
    }
}

/// Returns the default width of the length in front of a field. For the column's native type it is that
/// type's width. For text of a column that is not text it is one byte if the column may be NULL, since only
/// the length can say so (documentation, "Prefix length").
pub fn proposed_prefix_length(column: &Column, host_type: HostType) -> u8 {
    let sql_type = column.sql_type();
    let version = LayoutOptions::default().native_version;
    let own = HostType::native(sql_type, false) == host_type || HostType::native(sql_type, true) == host_type;
    let variable = sql_type.is_character() || sql_type.is_binary() || *sql_type == SqlType::SqlVariant;
    if own || variable {
        return native_prefix(column, sql_type, version);
    }
    match sql_type {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } | SqlType::RowVersion => 1,
        _ => u8::from(column.flags.is_nullable()),
    }
}

/// Returns the default length of a field. The question is asked for text and bytes without a length in front.
pub fn proposed_length(column: &Column, host_type: HostType) -> u32 {
    let sql_type = column.sql_type();
    match host_type {
        HostType::Char => text_length(sql_type),
        HostType::NChar if sql_type.is_unicode() => native_length(sql_type, host_type),
        HostType::NChar => wide_text_length(sql_type),
        HostType::Binary | HostType::Image | HostType::Udt | HostType::Variant => match sql_type {
            SqlType::Binary { length } => u32::from(*length),
            SqlType::VarBinary { length: Length::Units(length) } => u32::from(*length),
            SqlType::RowVersion => 8,
            SqlType::Vector { .. } => sql_type.max_length_bytes().unwrap_or(0),
            _ => 0,
        },
        sized => sized.size_bytes().map_or(0, |size| size as u32),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::bcp::declare;

    #[test]
    fn codes_may_be_cut_short() {
        for (answer, host_type) in [
            ("c", HostType::Char),
            ("cha", HostType::Char),
            ("char", HostType::Char),
            ("d", HostType::DateTime),
            ("dat", HostType::DateTime),
            ("de", HostType::Date),
            ("d2", HostType::DateTime2),
            ("D", HostType::DateTim4),
            ("t", HostType::TinyInt),
            ("te", HostType::Time),
            ("T", HostType::Char),
            ("i", HostType::Int),
            ("I", HostType::Image),
            ("B", HostType::BigInt),
            ("b", HostType::Bit),
        ] {
            assert_eq!(storage_type(answer), Some(host_type), "{answer}");
        }
        for answer in ["", "chars", "C", "dx", "varchar", "q"] {
            assert_eq!(storage_type(answer), None, "{answer}");
        }
    }

    #[test]
    fn proposals_follow_the_column() {
        let columns = declare(
            "a money null, b nvarchar(20) not null, c int not null, d varchar(max) null, e decimal(9,2) not null",
        )
        .unwrap();
        let proposals: Vec<String> = columns
            .iter()
            .map(|column| {
                let native = HostType::native(column.sql_type(), false);
                format!(
                    "{} {} {} | char {} {}",
                    proposed_storage_name(column),
                    proposed_prefix_length(column, native),
                    proposed_length(column, native),
                    proposed_prefix_length(column, HostType::Char),
                    proposed_length(column, HostType::Char)
                )
            })
            .collect();
        assert_eq!(
            proposals,
            [
                "money 1 8 | char 1 30",
                "nchar 2 40 | char 2 40",
                "int 0 4 | char 0 12",
                "char 8 0 | char 8 0",
                "decimal 1 19 | char 1 41"
            ]
        );
    }
}
