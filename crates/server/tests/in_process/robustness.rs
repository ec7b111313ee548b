//! Any text gets an answer: no panic, no endless answer.

use std::sync::Arc;

use crate::instances::empty;
use executor::session::response::Response;
use executor::session::{Cancellation, ClientConnection, LoginSettings, Request, Session};
use executor::statements::{execute, open_session};
use tokio::sync::mpsc;

/// Values at the edges of their types, as T-SQL spells them.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2147483647",
    "(-2147483647 - 1)",
    "CAST('9223372036854775807' AS bigint)",
    "CAST('-9223372036854775808' AS bigint)",
    "99999999999999999999999999999999999999",
    "0.00000000000000000000000000000000000001",
    "1.5",
    "1e308",
    "-1e308",
    "$922337203685477.5807",
    "''",
    "'abc'",
    "N'日本'",
    "'2024-02-29'",
    "'0001-01-01'",
    "'9999-12-31 23:59:59.9999999'",
    "CAST('9999-12-31' AS date)",
    "CAST('0001-01-01' AS datetime2)",
    "CAST('9999-12-31 23:59:59.997' AS datetime)",
    "CAST('0001-01-01 00:00:00 +14:00' AS datetimeoffset)",
    "CAST('23:59:59.9999999' AS time)",
    "0x",
    "0xFFFFFFFFFFFFFFFFFF",
    "NULL",
    "CAST(1 AS bit)",
    "CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier)",
    "CAST(255 AS tinyint)",
    "CAST(3.4e38 AS real)",
];

/// Expressions of one to three values.
const SHAPES: &[&str] = &[
    "A + B",
    "A - B",
    "A * B",
    "A / B",
    "A % B",
    "A & B",
    "-A",
    "~A",
    "CAST(A AS int)",
    "CAST(A AS bigint)",
    "CAST(A AS tinyint)",
    "CAST(A AS decimal(38, 38))",
    "CAST(A AS decimal(5, 2))",
    "CAST(A AS money)",
    "CAST(A AS float)",
    "CAST(A AS real)",
    "CAST(A AS bit)",
    "CAST(A AS varchar(3))",
    "CAST(A AS nvarchar(max))",
    "CAST(A AS char(2))",
    "CAST(A AS binary(3))",
    "CAST(A AS date)",
    "CAST(A AS time(3))",
    "CAST(A AS datetime)",
    "CAST(A AS smalldatetime)",
    "CAST(A AS datetime2(5))",
    "CAST(A AS datetimeoffset)",
    "CAST(A AS uniqueidentifier)",
    "CONVERT(varchar(50), A, 121)",
    "CONVERT(varchar(50), A, 1)",
    "TRY_CAST(A AS datetime)",
    "CASE WHEN A = B THEN A ELSE B END",
    "ISNULL(A, B)",
    "COALESCE(A, B)",
    "NULLIF(A, B)",
    "IIF(A < B, 1, 2)",
    "LEN(A)",
    "DATALENGTH(A)",
    "SUBSTRING(A, B, B)",
    "LEFT(A, B)",
    "RIGHT(A, B)",
    "STUFF(A, B, B, A)",
    "REPLICATE(A, B)",
    "CHARINDEX(A, B)",
    "REPLACE(A, B, A)",
    "ROUND(A, B)",
    "ABS(A)",
    "POWER(A, B)",
    "CEILING(A)",
    "SQRT(A)",
    "DATEADD(year, A, B)",
    "DATEADD(nanosecond, A, B)",
    "DATEADD(day, A, B)",
    "DATEADD(month, A, B)",
    "DATEDIFF(second, A, B)",
    "DATEDIFF_BIG(nanosecond, A, B)",
    "DATEPART(iso_week, A)",
    "EOMONTH(A, B)",
    "YEAR(A)",
    "CONCAT(A, B)",
    "QUOTENAME(A)",
    "CHAR(A)",
    "SPACE(A)",
    "STR(A, B, B)",
    "DATEFROMPARTS(A, A, B)",
    "A + B + A * B",
    "CASE WHEN A LIKE B THEN 1 END",
    "CASE WHEN A IN (B, A) THEN 1 END",
    "SWITCHOFFSET(A, B)",
    "CHOOSE(A, B, A)",
];

fn session() -> Session {
    let login = LoginSettings {
        database: String::new(),
        user: "sa".into(),
        application: String::new(),
        host: String::new(),
        spid: 51,
        ansi_defaults: true,
        is_encrypted: false,
        client: ClientConnection::default(),
    };
    open_session(Arc::new(empty()), login).unwrap()
}

#[test]
fn every_expression_at_the_edges_has_an_answer() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut session = session();
    let mut answered = 0;
    for shape in SHAPES {
        for (index, first) in VALUES.iter().enumerate() {
            // Every value meets every seventh other one, so that each run stays short and all pairs of types occur.
            for second in VALUES.iter().cycle().skip(index).step_by(7).take(5) {
                let expression = shape.replace('A', "\u{1}").replace('B', "\u{2}");
                // Letters of function names were replaced too: only stand-alone ones are meant.
                let expression = restore(&expression, first, second);
                let text = format!("SELECT {expression}");
                let (events, mut queue) = mpsc::channel(4);
                let last = runtime.block_on(async {
                    let running =
                        execute(&mut session, Request::Batch(text.clone()), events, Cancellation::new());
                    let listening = async {
                        let mut last = None;
                        while let Some(event) = queue.recv().await {
                            if let Response::Error(message) = &event {
                                assert!(message.number != 596, "{text}: {}", message.message);
                            }
                            last = Some(event);
                        }
                        last
                    };
                    tokio::join!(running, listening).1
                });
                assert!(matches!(last, Some(Response::Done(_))), "{text} ends without DONE");
                answered += 1;
            }
        }
    }
    assert_eq!(answered, SHAPES.len() * VALUES.len() * 5);
}

/// Puts the values where a letter stood alone, and the letters back where they are part of a word.
fn restore(marked: &str, first: &str, second: &str) -> String {
    let chars: Vec<char> = marked.chars().collect();
    let part_of_word = |ch: Option<&char>| {
        ch.is_some_and(|ch| ch.is_alphanumeric() || matches!(ch, '_' | '\u{1}' | '\u{2}'))
    };
    let mut text = String::new();
    for (at, ch) in chars.iter().enumerate() {
        let alone =
            !part_of_word(at.checked_sub(1).and_then(|at| chars.get(at))) && !part_of_word(chars.get(at + 1));
        match (ch, alone) {
            ('\u{1}', true) => text.push_str(first),
            ('\u{2}', true) => text.push_str(second),
            ('\u{1}', false) => text.push('A'),
            ('\u{2}', false) => text.push('B'),
            (other, _) => text.push(*other),
        }
    }
    text
}

/// A SELECT list has 4,096 columns at most, written out, by PIVOT or by a star.
#[test]
fn a_select_list_that_is_too_long_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut session = session();
    let listed =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(", ");
    let values = |count| format!("SELECT {}", listed(count, &|number| format!("{number} AS c{number}")));
    let pivot = |columns: &str, count| {
        let names = listed(count, &|number| format!("[{number}]"));
        format!(
            "SELECT {columns} FROM (SELECT value AS v, value AS k FROM GENERATE_SERIES(1, 9)) AS s \
             PIVOT (SUM(v) FOR k IN ({names})) AS p"
        )
    };
    let star = format!("SELECT a.*, b.* FROM ({}) AS a, ({}) AS b", values(2048), values(2049));
    let refused = "error 1056: The number of elements in the select list exceeds the maximum allowed number of 4096 elements.";
    for batch in [values(4097), pivot("*", 5000), pivot("[1], [2]", 5000), star] {
        let lines = runtime.block_on(crate::answers::answer(&mut session, &batch));
        assert_eq!(lines, [refused], "{}", &batch[..40]);
    }
    let lines = runtime.block_on(crate::answers::answer(&mut session, &values(4096)));
    // The columns, and their row.
    assert!(lines.len() == 2 && !lines[0].starts_with("error"), "{:.200}", lines[0]);
}
