//! Column forms and value forms of functions give the same for random rows.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tds::{Collation, Length, SqlType};
use tsql::SqlError;

use crate::scalar::{Scalar, sql_error_of};
use crate::{Datum, OutputColumn, Tables, exact_schema};

/// Expressions over the columns of [`columns`].
const EXPRESSIONS: &[&str] = &[
    "UPPER(wide)",
    "LOWER(wide)",
    "UPPER(narrow)",
    "LOWER(narrow)",
    "UPPER(kana)",
    "TRIM(wide)",
    "LTRIM(narrow)",
    "RTRIM(fixed)",
    "LEN(wide)",
    "LEN(endless)",
    "LEN(kana)",
    "LEFT(wide, 3)",
    "LEFT(wide, small)",
    "RIGHT(wide, 3)",
    "RIGHT(narrow, small)",
    "SUBSTRING(wide, small, 4)",
    "SUBSTRING(endless, 2, small)",
    "REPLACE(wide, 'a', 'xyz')",
    "REPLACE(wide, N'ä', N'')",
    "REPLACE(strict, 'A', '')",
    "REPLACE(narrow, fixed, wide)",
    "REPLACE(wide, 'K', '-')",
    "REPLACE(wide, '', '-')",
    "REPLACE(wide, 'i', REPLICATE(N'abcdefgh', 500))",
    "wide + narrow",
    "narrow + fixed + 'x'",
    "narrow + REPLICATE('y', 8000)",
    "CONCAT(wide, '-', i, '-', money, d)",
    "CONCAT(narrow, fixed)",
    "CONCAT_WS(', ', wide, narrow, g)",
    "CONCAT_WS(narrow, wide, NULL, kana)",
    "COALESCE(i, wide, '7')",
    "ISNULL(narrow, wide)",
    "NULLIF(TRIM(wide), '')",
    "CASE WHEN wide < narrow THEN UPPER(wide) WHEN small > 2 THEN TRIM(narrow) ELSE fixed END",
    "CAST(wide AS nvarchar(3))",
    "CAST(wide AS varchar(3))",
    "CAST(wide AS varchar(40))",
    "CAST(wide AS char(5))",
    "CAST(wide AS nchar(7))",
    "CAST(narrow AS nvarchar(2))",
    "CAST(kana AS varchar(3))",
    "CAST(wide AS varchar(3)) COLLATE Japanese_CI_AS",
    "CAST(kana AS char(4))",
    "CAST(endless AS varchar(max))",
    "CAST(wide AS bit)",
    "CAST(wide AS tinyint)",
    "CAST(wide AS smallint)",
    "CAST(wide AS int)",
    "TRY_CAST(wide AS int)",
    "CAST(narrow AS bigint)",
    "TRY_CAST(narrow AS bigint)",
    "CAST(wide AS decimal(9,2))",
    "TRY_CAST(wide AS decimal(9,2))",
    "TRY_CAST(wide AS decimal(38,10))",
    "TRY_CAST(wide AS decimal(3,0))",
    "CAST(narrow AS money)",
    "TRY_CAST(narrow AS smallmoney)",
    "CAST(wide AS float)",
    "TRY_CAST(wide AS float)",
    "TRY_CAST(wide AS real)",
    "CAST(wide AS date)",
    "TRY_CAST(wide AS date)",
    "TRY_CAST(wide AS time(3))",
    "TRY_CAST(wide AS datetime)",
    "TRY_CAST(wide AS smalldatetime)",
    "TRY_CAST(wide AS datetime2)",
    "TRY_CAST(narrow AS datetime2(3))",
    "TRY_CAST(narrow AS datetimeoffset(2))",
    "TRY_CONVERT(date, wide, 104)",
    "TRY_CONVERT(datetime2(0), wide, 103)",
    "CAST(i AS varchar(11))",
    "CAST(i AS varchar(3))",
    "CAST(i AS char(12))",
    "CAST(i AS nvarchar(3))",
    "TRY_CAST(i AS nvarchar(3))",
    "CAST(g AS nvarchar(20))",
    "TRY_CAST(g AS varchar(4))",
    "CAST(money AS varchar(30))",
    "TRY_CAST(money AS nvarchar(4))",
    "CAST(long AS char(41))",
    "CAST(CAST(money AS nvarchar(30)) AS decimal(18,2))",
    "CAST(d AS varchar(10))",
    "CAST(d AS varchar(6))",
    "CAST(d AS nchar(12))",
    "CONVERT(varchar(10), d, 23)",
    "CAST(money AS decimal(18,2))",
    "CAST(money AS decimal(19,6))",
    "CAST(money AS decimal(5,1))",
    "TRY_CAST(money AS decimal(5,1))",
    "CAST(long AS decimal(38,0))",
    "TRY_CAST(long AS decimal(20,2))",
    "TRY_CAST(long AS decimal(38,20))",
    "CAST(price AS decimal(38,2))",
    "CAST(price AS decimal(12,2))",
    "CAST(i AS decimal(12,2))",
    "CAST(i AS decimal(4,0))",
    "TRY_CAST(g AS decimal(20,3))",
    "CAST(small AS decimal(38,38))",
    "TRY_CAST(g AS decimal(38,20))",
    "price + price",
    "price - money",
    "money + long",
    "long - long",
    "long + price",
    "price * price",
    "price * (1 - rate)",
    "price * (1 - rate) * (1 + rate)",
    "money * long",
    "long * long",
    "long * rate",
    "price / rate",
    "price / NULLIF(rate, 0)",
    "money / NULLIF(long, 0)",
    "long / price",
    "1 / long",
    "price / 7.0",
    "100.00 * price / NULLIF(money, 0)",
    "price % NULLIF(rate, 0)",
    "long % 7",
    "i * price",
    "g * money",
    "g + price",
    "0.2 * price",
    "-price",
    "-long",
    "-cash",
    "-change",
    "cash + cash",
    "cash - cash",
    "cash * cash",
    "cash / NULLIF(cash, 0)",
    "cash / change",
    "cash % NULLIF(change, 0)",
    "change * change",
    "change + change",
    "cash * 1.5",
    "CAST(g AS float) / NULLIF(CAST(g AS float) / NULLIF(i, 0), 0) + 0.0 * price",
];

/// Texts of which values are made.
const PIECES: &[&str] = &[
    "",
    "",
    " ",
    "  ",
    "a",
    "A",
    "aA",
    "Kk",
    "ä",
    "Ä",
    "ß",
    "ı",
    "İ",
    "ŉ",
    "\u{212A}",
    "𝄞",
    "é",
    "Ł",
    "中",
    "ｱ",
    "'",
    "1",
    "-1",
    "+7",
    "- 3",
    "12",
    "12.5",
    "0.005",
    "-0.005",
    "1234567.895",
    "99.995",
    "1e3",
    ".5",
    "5.",
    ".",
    "-",
    "true",
    "FALSE",
    "255",
    "256",
    "32768",
    "2147483648",
    "-2147483648",
    "9223372036854775808",
    "99999999999999999999999",
    "0.12345678901234567890",
    "$1.50",
    "1,234.5",
    "2024-02-29",
    "2024-02-30",
    "20240229",
    "2024-02-29T23:59:59.9999999",
    "2024-02-29 12:30",
    "12:30:15.1234567",
    "2024-02-29 12:30:15 +02:00",
    "29.02.2024",
    "02/03/2024",
    "Feb 3 2024",
    "1753-01-01",
    "0001-01-01",
    "9999-12-31 23:59:59.9999999",
    "NaN",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop",
];

/// Pseudo-random numbers (xorshift), the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn text(&mut self) -> String {
        let pieces = [1, 1, 1, 2, 3][self.below(5)];
        let text = (0..pieces).map(|_| PIECES[self.below(PIECES.len())]).collect::<String>();
        text.chars().take(40).collect()
    }

    fn number(&mut self) -> i128 {
        let digits = self.below(39) as u32;
        let sign = if self.below(2) == 0 { 1 } else { -1 };
        let noise = (self.below(usize::MAX) as i128) * (self.below(usize::MAX) as i128);
        sign * (noise % 10_i128.pow(digits.min(37))) / [1, 1, 5, 10][self.below(4)]
    }

    fn value(&mut self, sql_type: &SqlType) -> Datum {
        if self.below(7) == 0 {
            return Datum::Null;
        }
        let number = self.number();
        match sql_type {
            SqlType::Int if self.below(2) == 0 => Datum::Int(self.below(8) as i64 - 2),
            SqlType::Int => Datum::Int(i64::from(number as i32)),
            SqlType::BigInt => Datum::Int(number as i64),
            SqlType::SmallInt => Datum::Int(self.below(9) as i64 - 1),
            SqlType::Decimal { precision, .. } => Datum::Decimal(number % 10_i128.pow(u32::from(*precision))),
            SqlType::Money if self.below(3) == 0 => {
                Datum::Decimal([i64::MIN, i64::MAX, 0][self.below(3)].into())
            }
            SqlType::Money => Datum::Decimal(i128::from(number as i64 >> self.below(60))),
            SqlType::SmallMoney if self.below(3) == 0 => {
                Datum::Decimal([i32::MIN, i32::MAX, 0][self.below(3)].into())
            }
            SqlType::SmallMoney => Datum::Decimal(i128::from(number as i32 >> self.below(28))),
            SqlType::Date => Datum::Date(self.below(3_652_059) as i64),
            _ => Datum::Text(self.text()),
        }
    }
}

fn columns() -> Vec<OutputColumn> {
    let latin = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let text = |name: &str, sql_type, collation| OutputColumn {
        collation,
        ..OutputColumn::expression(name, sql_type, true)
    };
    let units = Length::Units(40);
    vec![
        text("wide", SqlType::NVarChar { length: units }, latin),
        text("narrow", SqlType::VarChar { length: units }, latin),
        text("kana", SqlType::VarChar { length: Length::Units(80) }, Collation::from_name("Japanese_CI_AS")),
        text("strict", SqlType::NVarChar { length: units }, Collation::from_name("Latin1_General_CS_AS")),
        text("fixed", SqlType::Char { length: 10 }, latin),
        text("endless", SqlType::NVarChar { length: Length::Max }, latin),
        OutputColumn::expression("i", SqlType::Int, true),
        OutputColumn::expression("g", SqlType::BigInt, true),
        OutputColumn::expression("small", SqlType::SmallInt, true),
        OutputColumn::expression("money", SqlType::Decimal { precision: 18, scale: 4 }, true),
        OutputColumn::expression("long", SqlType::Decimal { precision: 38, scale: 10 }, true),
        OutputColumn::expression("d", SqlType::Date, true),
        OutputColumn::expression("price", SqlType::Decimal { precision: 15, scale: 2 }, true),
        OutputColumn::expression("rate", SqlType::Decimal { precision: 3, scale: 2 }, true),
        OutputColumn::expression("cash", SqlType::Money, true),
        OutputColumn::expression("change", SqlType::SmallMoney, true),
    ]
}

fn rows(random: &mut Random, count: usize) -> RecordBatch {
    let columns = columns();
    let arrays = columns.iter().map(|column| {
        let values: Vec<Datum> = (0..count).map(|_| random.value(&column.sql_type)).collect();
        Datum::array(&values, &column.sql_type)
    });
    RecordBatch::try_new(exact_schema(&columns), arrays.collect()).unwrap()
}

/// An expression with column forms, and without them.
fn both(tables: &Tables, expression: &str) -> [Arc<dyn PhysicalExpr>; 2] {
    let plan = tables.bind(&format!("SELECT {expression} AS result FROM t")).unwrap().plan;
    let LogicalPlan::Projection(projection) = &plan else { panic!("no select list: {plan}") };
    let physical = |expr: &Expr| {
        let schema = projection.input.schema();
        create_physical_expr(expr, schema, &Default::default(), &Default::default()).unwrap()
    };
    let expr = projection.expr[0].clone().unalias();
    let mut forms = 0;
    let by_value = expr.clone().transform(|part| {
        let Expr::ScalarFunction(call) = &part else { return Ok(Transformed::no(part)) };
        let Some(scalar) = call.func.inner().downcast_ref::<Scalar>() else {
            return Ok(Transformed::no(part));
        };
        forms += usize::from(scalar.has_column_form());
        let plain = Arc::new(scalar.clone().with_column_form(None, None).into());
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(plain, call.args.clone()))))
    });
    let by_value = by_value.unwrap().data;
    assert!(forms > 0, "{expression} has no column form");
    [physical(&expr), physical(&by_value)]
}

fn computed(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef, SqlError> {
    let value = expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows()));
    value.map_err(|error| sql_error_of(&error))
}

#[test]
fn both_forms_agree() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut tables = Tables::new();
    tables.add("t", columns(), []);
    let batches: Vec<RecordBatch> = (0..4).map(|_| rows(&mut random, 250)).collect();
    for expression in EXPRESSIONS {
        let [by_column, by_value] = both(&tables, expression);
        let mut failed = 0;
        for batch in &batches {
            // Rows one by one, and together; slices begin within their buffers.
            let whole = [batch.clone(), batch.slice(17, 100), batch.slice(3, 0)];
            let single = (0..batch.num_rows()).map(|row| batch.slice(row, 1));
            for rows in whole.into_iter().chain(single) {
                let (one, other) = (computed(&by_column, &rows), computed(&by_value, &rows));
                failed += usize::from(rows.num_rows() == 1 && other.is_err());
                assert_eq!(one, other, "{expression} of {rows:?}");
            }
        }
        assert!(failed < 1000, "{expression} gave no value");
    }
}
