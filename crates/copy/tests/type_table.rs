//! The table of types in `docs/copy.md`, printed from what a copy does with a column of each type.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;

use rows::Form;
use rows::mapping::{CreateOptions, field_for, sql_type_of};
use tds::{Collation, Column, Length, SqlType};

const BEGIN: &str = "<!-- begin: types, printed by crates/copy/tests/type_table.rs -->\n";
const END: &str = "<!-- end: types -->\n";

fn sql_types() -> Vec<SqlType> {
    vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Decimal { precision: 18, scale: 4 },
        SqlType::SmallMoney,
        SqlType::Money,
        SqlType::Real,
        SqlType::Float,
        SqlType::Date,
        SqlType::Time { scale: 0 },
        SqlType::Time { scale: 7 },
        SqlType::SmallDateTime,
        SqlType::DateTime,
        SqlType::DateTime2 { scale: 3 },
        SqlType::DateTime2 { scale: 7 },
        SqlType::DateTimeOffset { scale: 7 },
        SqlType::Char { length: 10 },
        SqlType::VarChar { length: Length::Units(50) },
        SqlType::VarChar { length: Length::Max },
        SqlType::NChar { length: 10 },
        SqlType::NVarChar { length: Length::Units(50) },
        SqlType::NVarChar { length: Length::Max },
        SqlType::Binary { length: 16 },
        SqlType::VarBinary { length: Length::Units(50) },
        SqlType::UniqueIdentifier,
        SqlType::Xml,
        SqlType::RowVersion,
        SqlType::SqlVariant,
    ]
}

fn table() -> String {
    let mut text = String::from(
        "| Column of SQL Server | in Arrow and Parquet | in a new table from that file | in a new table of SQL Server, directly |\n|---|---|---|---|\n",
    );
    for sql_type in sql_types() {
        let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        let column = Column::new("c", sql_type.clone(), true, collation);
        let field = field_for(&column, &Form::default());
        let from_file = match sql_type {
            // No table takes the rowversions of another.
            SqlType::RowVersion => "binary(8)".to_owned(),
            _ => sql_type_of(&field, &CreateOptions::default()).unwrap().to_string(),
        };
        let directly = match sql_type {
            SqlType::RowVersion => "binary(8)".to_owned(),
            _ => sql_type.to_string(),
        };
        writeln!(text, "| `{sql_type}` | {} | `{from_file}` | `{directly}` |", field.data_type()).unwrap();
    }
    text
}

#[test]
fn the_page_has_the_table_that_the_code_makes() {
    let path = std::path::Path::new("../../docs/copy.md");
    let page = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let (before, rest) = page.split_once(BEGIN).expect("the mark where the table begins");
    let (printed, behind) = rest.split_once(END).expect("the mark where the table ends");
    let made = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{made}{END}{behind}")).unwrap();
        return;
    }
    assert!(printed == made, "docs/copy.md is out of date; run this test with UPDATE_DOCS=1");
}
