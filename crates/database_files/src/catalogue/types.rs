//! Columns of the catalogue as T-SQL types, and the catalogue's numbers of collations.

use tds::{Collation, Length, SqlType};

use super::system_tables::ColumnRow;

/// A column's type, or the reason why its values are not read.
pub(crate) fn sql_type(column: &ColumnRow) -> Result<SqlType, String> {
    let bytes = u16::try_from(column.length).unwrap_or_default();
    let is_max = column.length < 0;
    let length = if is_max { Length::Max } else { Length::Units(bytes) };
    let units = if is_max { Length::Max } else { Length::Units(bytes / 2) };
    let (precision, scale) = (column.precision, column.scale);
    Ok(match column.system_type {
        34 => SqlType::Image,
        35 => SqlType::Text,
        36 => SqlType::UniqueIdentifier,
        40 => SqlType::Date,
        41 => SqlType::Time { scale },
        42 => SqlType::DateTime2 { scale },
        43 => SqlType::DateTimeOffset { scale },
        48 => SqlType::TinyInt,
        52 => SqlType::SmallInt,
        56 => SqlType::Int,
        58 => SqlType::SmallDateTime,
        59 => SqlType::Real,
        60 => SqlType::Money,
        61 => SqlType::DateTime,
        62 => SqlType::Float,
        98 => SqlType::SqlVariant,
        99 => SqlType::NText,
        104 => SqlType::Bit,
        106 => SqlType::Decimal { precision, scale },
        108 => SqlType::Numeric { precision, scale },
        122 => SqlType::SmallMoney,
        127 => SqlType::BigInt,
        165 => SqlType::VarBinary { length },
        167 => SqlType::VarChar { length },
        173 => SqlType::Binary { length: bytes },
        175 => SqlType::Char { length: bytes },
        189 => SqlType::RowVersion,
        231 => SqlType::NVarChar { length: units },
        239 => SqlType::NChar { length: bytes / 2 },
        240 => clr_type(column.user_type)?,
        241 => return Err("xml in its binary form is not read".to_owned()),
        244 => return Err("json in its binary form is not read".to_owned()),
        other => return Err(format!("the type number {other} is unknown")),
    })
}

/// The CLR types that every database has.
fn clr_type(user_type: i32) -> Result<SqlType, String> {
    let name = match user_type {
        128 => "hierarchyid",
        129 => "geometry",
        130 => "geography",
        _ => return Err("a CLR type of the database's own is not read".to_owned()),
    };
    Ok(SqlType::Udt {
        database: String::new(),
        schema: "sys".to_owned(),
        name: name.to_owned(),
        assembly: String::new(),
    })
}

/// The catalogue's numbers of languages, and the Windows locales that they stand for.
const LOCALES: [(u32, u32); 15] = [
    (0x01, 0x0401),
    (0x03, 0x0404),
    (0x07, 0x0408),
    (0x08, 0x0409),
    (0x0c, 0x040d),
    (0x10, 0x0411),
    (0x11, 0x0412),
    (0x13, 0x0415),
    (0x15, 0x0419),
    (0x19, 0x041e),
    (0x1a, 0x041f),
    (0x1f, 0x0427),
    (0x20, 0x042a),
    (0x24, 0x0804),
    (0x28, 0x0c0a),
];

/// Returns the collation of a number of the catalogue; None for a language whose number is unknown.
///
/// The lowest byte is a language, the next two are the flags of the wire's form, the highest is a sort id.
pub(crate) fn collation(number: u32) -> Option<Collation> {
    let (_, locale) = LOCALES.iter().find(|(language, _)| *language == number & 0xff)?;
    let flags = number >> 8 & 0xffff;
    Some(Collation { info: locale | flags << 16, sort_id: (number >> 24) as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_collations_are_known() {
        let named = |number| collation(number).and_then(|collation| collation.name());
        assert_eq!(named(0x3400_d008).as_deref(), Some("SQL_Latin1_General_CP1_CI_AS"));
        assert_eq!(named(0x0000_d008).as_deref(), Some("Latin1_General_CI_AS"));
        assert_eq!(named(0x0000_d0ff), None);
        let pages = [
            (0x03, 950),
            (0x07, 1253),
            (0x0c, 1255),
            (0x10, 932),
            (0x11, 949),
            (0x15, 1251),
            (0x19, 874),
            (0x1a, 1254),
            (0x1f, 1257),
            (0x20, 1258),
            (0x24, 936),
        ];
        for (language, page) in pages {
            let found = collation(0xd000 | language).map(|collation| collation.code_page().number());
            assert_eq!(found, Some(page), "{language:x}");
        }
    }
}
