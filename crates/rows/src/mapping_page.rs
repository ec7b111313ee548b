//! `docs/type-mapping.md`, printed from the code that does the mapping.

use std::fmt::Write;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use tds::{Length, SqlType, VectorBase};

use crate::cast::{Acceptance, CastOptions, accept};

use crate::mapping::{
    CreateOptions, Form, GuidForm, OffsetForm, ReadOptions, Scale7, data_type_for, default_sql_type,
};

/// Writes the text of `docs/type-mapping.md`.
pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    reading(&mut text);
    creating(&mut text);
    loading(&mut text);
    text
}

const INTRODUCTION: &str = "\
# Type mapping

Printed from `crates/rows/src/mapping.rs`; a test fails when this page differs from the code.

[Reading](#reading-sql-server-to-arrow), [creating](#creating-arrow-to-sql-server), [loading](#loading-arrow-into-an-existing-column).

";

fn reading(text: &mut String) {
    text.push_str(
        "## Reading: SQL Server to Arrow

*Exact form* is how the embedded server stores values without loss; where it is empty, it equals the Arrow form.
*Other choices* can be asked for. A value that the Arrow type cannot hold is refused.

| SQL type | Arrow type | Other choices | Exact form |
|---|---|---|---|
",
    );
    let choices = [
        ReadOptions { scale_7: Scale7::Microseconds, ..ReadOptions::default() },
        ReadOptions { date_time_offset: OffsetForm::Text, ..ReadOptions::default() },
        ReadOptions { guid: GuidForm::Text, ..ReadOptions::default() },
        ReadOptions { scale_7: Scale7::Text, ..ReadOptions::default() },
    ];
    for (name, sql_type) in sql_types() {
        let arrow = data_type_for(&sql_type, &Form::default());
        let mut others: Vec<String> = Vec::new();
        for options in &choices {
            let other = data_type_for(&sql_type, &Form::Arrow(options.clone()));
            if other != arrow && !others.contains(&code(&other)) {
                others.push(code(&other));
            }
        }
        let exact = data_type_for(&sql_type, &Form::Exact);
        let exact = if exact == arrow { String::new() } else { code(&exact) };
        let arrow = code(&arrow).replace("(18, 4)", "(p, s)");
        line(text, &[format!("`{name}`"), arrow, others.join(", "), exact]);
    }
    text.push('\n');
}

fn creating(text: &mut String) {
    text.push_str(
        "## Creating: Arrow to SQL Server

The column that `--create` makes, and the column of a result set, unless the field's metadata names a SQL type
(key `sql_type`; for text also `collation`). Dictionary and run-end encoded fields take their values' type. `n` is
the length of the longest value where it is known; unknown or too long becomes `max`. Text can be made `varchar`
instead. Nested types need leave to become JSON text. A list of a fixed number of floats becomes a `vector` of as many
dimensions (`Float32` up to 1998, `Float16` up to 3996), unless the server has no such type.

| Arrow type | SQL type |
|---|---|
",
    );
    let options = CreateOptions { nested_as_json: true, ..CreateOptions::default() };
    for data_type in arrow_types() {
        let target = match default_sql_type(&data_type, &options) {
            Ok(SqlType::NVarChar { .. }) if !data_type.is_nested() => "`nvarchar(n)`".to_owned(),
            Ok(SqlType::VarBinary { .. }) => "`varbinary(n)`".to_owned(),
            Ok(sql_type) => format!("`{sql_type}`"),
            Err(reason) => format!("refused: {reason}"),
        };
        line(text, &[code(&data_type), target]);
    }
    text.push_str("| field with extension type `arrow.uuid` | `uniqueidentifier` |\n\n");
}

fn loading(text: &mut String) {
    text.push_str(
        "## Loading: Arrow into an existing column

`=` is a type of the same kind, `~` a conversion of each value; both check range, length and precision before anything
is sent, and refuse a value that would change. `opt` needs an option: leave to write JSON for nested types, leave to
drop the time zone. Other options allow rounding, truncation and a replacement for characters that the target's code
page lacks. `varchar`, `char`, `text`, `ntext`, `xml` and `json` take what `nvarchar` takes; `datetime` and
`smalldatetime` what `datetime2` takes; `binary`, `image` and CLR types what `varbinary` takes (CLR types no text); the
integers what `int` takes, `real` what `float`, `smallmoney` and `numeric` what `decimal` takes. Dictionary and run-end
encoded columns take the way of their values, each distinct value once.

A `vector` takes lists of numbers, JSON arrays in text, and its own stored bytes. Every value must have as many elements
as the column has dimensions, none of them NULL, NaN or infinite. Numbers of a list must come through unchanged unless
rounding is allowed; those of text are rounded to the element's type, as the server does it.

",
    );
    use SqlType::*;
    let n = Length::Units(50);
    let targets = [
        Bit,
        Int,
        Decimal { precision: 18, scale: 4 },
        Float,
        Date,
        Time { scale: 7 },
        DateTime2 { scale: 7 },
        DateTimeOffset { scale: 7 },
        NVarChar { length: n },
        VarBinary { length: n },
        UniqueIdentifier,
        Vector { dimensions: 3, base: VectorBase::Float32 },
        SqlVariant,
    ];
    let name = |sql_type: &SqlType| {
        let spelled = sql_type.to_string();
        format!("`{}`", spelled.split('(').next().unwrap_or_default())
    };
    let header: Vec<String> =
        std::iter::once("Arrow type".to_owned()).chain(targets.iter().map(name)).collect();
    line(text, &header);
    line(text, &vec!["---".to_owned(); header.len()]);
    for data_type in arrow_types() {
        let mut cells = vec![code(&data_type)];
        for target in &targets {
            let strict = accept(&data_type, None, target, &CastOptions::default());
            let lenient =
                CastOptions { nested_as_json: true, drop_time_zone: true, ..CastOptions::default() };
            cells.push(match (strict, accept(&data_type, None, target, &lenient)) {
                (Ok(Acceptance::Natural), _) => "=".to_owned(),
                (Ok(Acceptance::Converted), _) => "~".to_owned(),
                (Err(_), Ok(_)) => "opt".to_owned(),
                (Err(_), Err(_)) => String::new(),
            });
        }
        line(text, &cells);
    }
}

/// Lists an example of each SQL type, under the name the page shows.
pub(crate) fn sql_types() -> Vec<(String, SqlType)> {
    use SqlType::*;
    let mut types = vec![Bit, TinyInt, SmallInt, Int, BigInt, Real, Float, SmallMoney, Money];
    types.extend([Date, Time { scale: 0 }, Time { scale: 3 }, Time { scale: 6 }, Time { scale: 7 }]);
    types.extend([SmallDateTime, DateTime]);
    types.extend([0, 3, 6, 7].map(|scale| DateTime2 { scale }));
    types.extend([0, 3, 6, 7].map(|scale| DateTimeOffset { scale }));
    let mut named: Vec<(String, SqlType)> =
        types.into_iter().map(|sql_type| (sql_type.to_string(), sql_type)).collect();
    let n = Length::Units(50);
    named.extend(
        [
            ("decimal(p, s)", Decimal { precision: 18, scale: 4 }),
            ("numeric(p, s)", Numeric { precision: 18, scale: 4 }),
            ("char(n)", Char { length: 50 }),
            ("varchar(n)", VarChar { length: n }),
            ("varchar(max)", VarChar { length: Length::Max }),
            ("text", Text),
            ("nchar(n)", NChar { length: 50 }),
            ("nvarchar(n)", NVarChar { length: n }),
            ("nvarchar(max)", NVarChar { length: Length::Max }),
            ("ntext", NText),
            ("xml", Xml),
            ("json", Json),
            ("binary(n)", Binary { length: 50 }),
            ("varbinary(n)", VarBinary { length: n }),
            ("varbinary(max)", VarBinary { length: Length::Max }),
            ("image", Image),
            ("uniqueidentifier", UniqueIdentifier),
            ("rowversion", RowVersion),
            ("vector(n)", Vector { dimensions: 3, base: VectorBase::Float32 }),
            ("vector(n, float16)", Vector { dimensions: 3, base: VectorBase::Float16 }),
            ("sql_variant", SqlVariant),
            (
                "CLR types",
                Udt {
                    database: String::new(),
                    schema: "sys".to_owned(),
                    name: "geography".to_owned(),
                    assembly: String::new(),
                },
            ),
        ]
        .map(|(name, sql_type)| (name.to_owned(), sql_type)),
    );
    named
}

/// Lists an example of each Arrow type.
pub(crate) fn arrow_types() -> Vec<DataType> {
    use DataType::*;
    let item = || Arc::new(Field::new("item", Int32, true));
    let mut types = vec![Null, Boolean, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
    types.extend([Float16, Float32, Float64]);
    types.extend([Decimal32(9, 2), Decimal64(18, 4), Decimal128(38, 10), Decimal256(38, 10)]);
    types.extend([Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView]);
    types.extend([FixedSizeBinary(8), FixedSizeBinary(10), FixedSizeBinary(16), Date32, Date64]);
    types.extend([Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond)]);
    types.extend([Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond)]);
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    types.extend(units.map(|unit| Timestamp(unit, None)));
    types.extend(units.map(|unit| Timestamp(unit, Some("+01:00".into()))));
    types.push(Dictionary(Box::new(Int32), Box::new(Utf8)));
    types.push(RunEndEncoded(
        Arc::new(Field::new("run_ends", Int32, false)),
        Arc::new(Field::new("values", Float64, true)),
    ));
    types.extend([List(item()), FixedSizeList(item(), 3)]);
    types.extend(
        [Float32, Float16].map(|element| FixedSizeList(Arc::new(Field::new("item", element, true)), 3)),
    );
    types.push(Struct(Fields::from(vec![item()])));
    types.push(Duration(TimeUnit::Second));
    types.push(Interval(arrow::datatypes::IntervalUnit::MonthDayNano));
    types
}

fn code(data_type: &DataType) -> String {
    format!("`{data_type}`")
}

fn line(text: &mut String, cells: &[String]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
