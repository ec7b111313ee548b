//! Every function, aggregate and window function in every place where an expression can stand: whatever a statement
//! answers, it is an answer that can be sent, and never the engine's own error.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::empty;
use executor::session::response::Response;
use executor::session::{Cancellation, Request, Session};
use executor::statements::{execute, open_session};
use tokio::sync::mpsc;

/// The internal error of the server.
const INTERNAL: i32 = 596;

const TEXTS: [&str; 9] = ["v", "n", "c", "vm", "nm", "cs", "ch", "u8", "NULL"];
const NUMBERS: [&str; 8] = ["i", "b", "d", "m", "f", "r", "bt", "NULL"];
const MOMENTS: [&str; 6] = ["dt", "sd", "d2", "da", "ti", "o"];
const OTHERS: [&str; 4] = ["g", "vb", "sv", "ti"];

/// Calls in which `$t` is a text, `$n` a number, `$m` a moment and `$a` anything.
const CALLS: &str = "
ASCII($t) UNICODE($t) LEN($t) DATALENGTH($a) UPPER($t) LOWER($t) LTRIM($t) RTRIM($t) TRIM($t) REVERSE($t)
TRIM('a'~FROM~$t) LTRIM($t,'a') LEFT($t,2) RIGHT($t,2) SUBSTRING($t,2,2) REPLACE($t,'a','xyz') REPLICATE($t,2)
CHARINDEX('b',$t) PATINDEX('%b%',$t) STUFF($t,1,1,'x') TRANSLATE($t,'ab','xy') CONCAT($a,$t) CONCAT_WS('-',$a,$t)
QUOTENAME($t) STRING_ESCAPE($t,'json') SOUNDEX($t) DIFFERENCE($t,'a') PARSENAME($t,1) FORMATMESSAGE('%s',$t)
$t+'x' $t+$t $t~COLLATE~Latin1_General_BIN2 'x'+$t~COLLATE~Greek_CI_AS HASHBYTES('MD5',$t) CHAR($n) NCHAR($n) SPACE($n) STR($n)
ISNUMERIC($a) ABS($n) SIGN($n) CEILING($n) FLOOR($n) ROUND($n,1) SQRT($n) SQUARE($n) EXP($n) LOG($n) LOG10($n) POWER($n,2)
SIN($n) COS($n) TAN($n) COT($n) ASIN($n/1000.0) ACOS($n/1000.0) ATAN($n) ATN2($n,1) RADIANS($n) DEGREES($n)
BIT_COUNT($n) LEFT_SHIFT($n,1) RIGHT_SHIFT($n,1) GET_BIT($n,1) SET_BIT($n,1) $n+1 $n-1.5 $n*$n $n/3 $n/CAST(NULL~AS~float) $n%2 -$n ~$n
$n&1 $n|1 $n^1 $n+NULL $n/NULLIF($n,$n) FORMAT($n,'N2') FORMAT($m,'d') DATEADD(day,1,$m) DATEDIFF(hour,$m,$m)
DATEDIFF_BIG(second,$m,$m) DATEPART(year,$m) DATENAME(month,$m) DATETRUNC(day,$m) YEAR($m) MONTH($m) DAY($m) EOMONTH($m) ISDATE($t)
SWITCHOFFSET($m,60) TODATETIMEOFFSET($m,60) $m+1 CURRENT_TIMEZONE() CURRENT_TIMEZONE_ID()
ISNULL($a,$a) COALESCE($a,$a) NULLIF($a,$a) IIF($a~IS~NULL,$a,$a) CHOOSE(1,$a,$a) GREATEST($a,$a) LEAST($a,$a)
CASE~WHEN~$a~IS~NULL~THEN~1~ELSE~2~END CAST($a~AS~varchar(9)) CAST($a~AS~nvarchar(max)) CAST($a~AS~sql_variant) TRY_CAST($t~AS~int)
CAST($a~AS~varbinary(9)) TRY_CONVERT(float,$t) CONVERT(char(30),$m,121) TRY_PARSE($t~AS~int) SQL_VARIANT_PROPERTY($a,'BaseType') CHECKSUM($a) BINARY_CHECKSUM($a)
ISJSON($t) JSON_VALUE($t,'$.a') JSON_QUERY($t,'$') NEWID() RAND() PI() GETDATE() GETUTCDATE() SYSUTCDATETIME() SYSDATETIMEOFFSET() DATEFROMPARTS(2024,1,2) SYSDATETIME() DB_NAME() OBJECT_ID($t) TYPE_NAME($n)
COL_NAME($n,1) SUSER_SNAME() (SELECT~MAX($a)~FROM~t) (SELECT~$a) (SELECT~TOP~1~$t~FROM~t)
";

/// Aggregates; `$a` is anything.
const AGGREGATES: [&str; 15] = [
    "COUNT($a)",
    "COUNT(DISTINCT $a)",
    "COUNT_BIG($a)",
    "APPROX_COUNT_DISTINCT($a)",
    "SUM($a)",
    "SUM(DISTINCT $a)",
    "AVG($a)",
    "AVG(DISTINCT $a)",
    "MIN($a)",
    "MAX($a)",
    "STDEV($a)",
    "STDEVP($a)",
    "VAR(DISTINCT $a)",
    "VARP($a)",
    "STRING_AGG($a, ',')",
];

/// What precedes OVER; `$a` is anything.
const WINDOWED: [&str; 18] = [
    "ROW_NUMBER()",
    "RANK()",
    "DENSE_RANK()",
    "NTILE(2)",
    "PERCENT_RANK()",
    "CUME_DIST()",
    "LAG($a)",
    "LEAD($a, 1, $a)",
    "FIRST_VALUE($a)",
    "LAST_VALUE($a)",
    "COUNT($a)",
    "COUNT(*)",
    "SUM($a)",
    "AVG($a)",
    "MIN($a)",
    "MAX($a)",
    "STDEV($a)",
    "SUM(1)",
];

const TABLES: &str = "CREATE TABLE t (i int, b bigint, d decimal(10,2), m money, f float, r real, bt bit, v varchar(20), n nvarchar(20), c char(5), vm varchar(max), nm nvarchar(max), cs varchar(20) COLLATE Latin1_General_CS_AS, ch varchar(20) COLLATE Chinese_PRC_CI_AS, u8 varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8, dt datetime, sd smalldatetime, d2 datetime2, da date, ti time(3), o datetimeoffset, g uniqueidentifier, vb varbinary(10), sv sql_variant)
SELECT * INTO e FROM t
INSERT t VALUES (65, 66, 1.25, 2, 1.5, 0.25, 1, 'abé', N'ab中', 'ab', 'ab', N'ab→', 'aB', N'中b', N'日ü', '20240102 03:04:05', '20240102', '2024-01-02 03:04:05.1234567', '2024-01-02', '01:02:03', '2024-01-02 03:04:05 +02:00', '6F9619FF-8B86-D011-B42D-00C04FC964FF', 0x0102, 7)
INSERT t VALUES (-1, -2, -3, -4, -5, -6, 0, 'łß', N'Ł', 'b', 'c', N'{\"a\":1}', 'x', 'y', 'z', '19000101', '19000101', '0001-01-01', '0001-01-01', '00:00', '0001-01-02 00:00 +00:00', NEWID(), 0x, 'x')
INSERT t (i) VALUES (NULL)
INSERT t (i, v) VALUES (1, '')";

/// What a statement sends that cannot be sent, or the engine's own error.
async fn faults(session: &mut Session, batch: &str) -> Vec<String> {
    let (events, mut queue) = mpsc::channel(2);
    let run = execute(session, Request::Batch(batch.to_owned()), events, Cancellation::new());
    let (_, faults) = tokio::join!(run, async {
        let (mut faults, mut plan) = (Vec::new(), None);
        while let Some(event) = queue.recv().await {
            match event {
                Response::Columns(result) => match rows::Plan::for_result(&result.schema, &result.columns) {
                    Ok(found) => plan = Some(found),
                    Err(error) => faults.push(error.to_string()),
                },
                Response::Batch(batch) => {
                    if let Some(Err(error)) = plan.as_ref().map(|plan| plan.bind(&batch, 0).map(drop)) {
                        faults.push(error.to_string());
                    }
                }
                Response::Error(error) if error.number == INTERNAL => faults.push(error.message),
                _ => {}
            }
        }
        faults
    });
    faults
}

/// A template with each of its places filled by one column after the other: as many as the longest list has.
fn filled(template: &str) -> BTreeSet<String> {
    let all: Vec<&str> =
        [&TEXTS[..8], &NUMBERS[..7], &MOMENTS, &OTHERS].into_iter().flatten().copied().collect();
    let lists: [(&str, Vec<&str>); 4] =
        [("$t", TEXTS.to_vec()), ("$n", NUMBERS.to_vec()), ("$m", MOMENTS.to_vec()), ("$a", all)];
    let longest =
        lists.iter().filter(|(place, _)| template.contains(place)).map(|(_, list)| list.len()).max();
    (0..longest.unwrap_or(1))
        .map(|turn| {
            lists.iter().fold(template.to_owned(), |text, (place, list)| {
                text.replace(place, list.get(turn % list.len()).unwrap())
            })
        })
        .collect()
}

/// Statements with an expression over the rows of `t`, which has NULLs, and of `e`, which is empty.
fn places(expr: &str) -> Vec<String> {
    vec![
        format!("SELECT {expr} FROM t"),
        format!("SELECT x.r FROM (SELECT {expr} AS r FROM t) AS x WHERE x.r IS NOT NULL ORDER BY x.r"),
        format!("SELECT {expr}, COUNT(*) FROM t GROUP BY {expr}"),
        format!(
            "SELECT MAX(x.r), CASE WHEN MIN(x.r) = MAX(x.r) THEN MIN(x.r) END, CONCAT(MAX(x.r), N'x') FROM (SELECT {expr} AS r FROM e) AS x"
        ),
        format!("SELECT {expr} FROM t UNION SELECT {expr} FROM e"),
    ]
}

async fn sweep(statements: impl IntoIterator<Item = String>) -> (usize, Vec<String>) {
    let mut session = open_session(Arc::new(empty()), login(51)).unwrap();
    let refused: Vec<String> =
        answer(&mut session, TABLES).await.into_iter().filter(|line| line.starts_with("error")).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let (mut count, mut wrong) = (0, Vec::new());
    for statement in statements {
        count += 1;
        for fault in faults(&mut session, &statement).await {
            wrong.push(format!("{statement}\n    {}", fault.lines().collect::<Vec<_>>().join(" ")));
        }
    }
    (count, wrong)
}

fn report((count, wrong): (usize, Vec<String>)) {
    println!("{count} statements");
    assert!(wrong.is_empty(), "{} of {count} statements:\n{}", wrong.len(), wrong.join("\n"));
}

fn calls() -> Vec<String> {
    CALLS
        .split_whitespace()
        .map(|call| if call == "~$n" { call.into() } else { call.replace('~', " ") })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_answer_wherever_they_stand() {
    let exprs: BTreeSet<String> = calls().iter().flat_map(|call| filled(call)).collect();
    report(sweep(exprs.iter().flat_map(|expr| places(expr))).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_answer_wherever_they_stand() {
    let exprs: BTreeSet<String> = AGGREGATES.iter().flat_map(|aggregate| filled(aggregate)).collect();
    let statements = exprs.iter().flat_map(|expr| {
        [
            format!("SELECT {expr}, CONCAT({expr}, 'x') FROM t"),
            format!("SELECT x.r FROM (SELECT {expr} AS r FROM t GROUP BY bt) AS x ORDER BY x.r"),
            format!("SELECT bt, ISNULL({expr}, {expr}) FROM t GROUP BY bt HAVING {expr} IS NOT NULL"),
            format!("SELECT (SELECT {expr} FROM e), {expr} FROM e"),
        ]
    });
    report(sweep(statements).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_answer_over_every_type() {
    let exprs: BTreeSet<String> = WINDOWED.iter().flat_map(|function| filled(function)).collect();
    let orders: Vec<String> = filled("ORDER BY $a").into_iter().collect();
    let more = ["ORDER BY (SELECT NULL)", "PARTITION BY v ORDER BY NEWID()", "", "PARTITION BY sv"];
    let mut statements: Vec<String> = exprs
        .iter()
        .flat_map(|expr| more.map(|over| format!("SELECT {expr} OVER ({over}) FROM t")))
        .collect();
    for order in &orders {
        for function in ["ROW_NUMBER()", "RANK()", "SUM(i)", "COUNT(*)", "MAX(d)", "LAST_VALUE(v)"] {
            statements.push(format!("SELECT {function} OVER ({order}) FROM t"));
            statements.push(format!("SELECT x.r FROM (SELECT {function} OVER (PARTITION BY bt {order} DESC) AS r FROM t) AS x ORDER BY x.r"));
        }
    }
    report(sweep(statements).await);
}

/// Names of the page that are called, but are no functions of values: types, tables, parts of other statements.
const NOT_SWEPT: &str = "VARCHAR NVARCHAR CHAR DECIMAL NUMERIC STRING_SPLIT GENERATE_SERIES 2";

#[test]
fn the_sweep_has_every_function_of_the_page() {
    let page = Path::new(".").join("../../docs/tsql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = |title: &str| {
        let start = page.find(&format!("## {title}\n")).expect("a section of the page");
        let rest = &page[start + 3..];
        rest[..rest.find("\n## ").unwrap_or(rest.len())].to_owned()
    };
    let mut swept: BTreeSet<String> = BTreeSet::new();
    let lists = [calls(), AGGREGATES.map(String::from).to_vec(), WINDOWED.map(String::from).to_vec()];
    lists.concat().iter().for_each(|call| swept.extend(called(call)));
    swept.extend(NOT_SWEPT.split_whitespace().map(String::from));
    let missing: Vec<String> = ["CASE, NULL functions", "Conversions", "Text functions", "Numbers", "Dates"]
        .into_iter()
        .flat_map(|title| called(&section(title)))
        .filter(|name| !swept.contains(name))
        .collect();
    assert!(missing.is_empty(), "functions of docs/tsql.md that the sweep leaves out: {missing:?}");
}

/// Words in capitals before a parenthesis.
fn called(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices('(') {
        let head: String = text[..at]
            .chars()
            .rev()
            .take_while(|ch| ch.is_ascii_uppercase() || ch.is_ascii_digit() || *ch == '_')
            .collect();
        if !head.is_empty() {
            names.insert(head.chars().rev().collect());
        }
    }
    names
}
