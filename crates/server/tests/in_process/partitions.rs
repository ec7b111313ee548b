//! Partitions: `$PARTITION` against a plain model, a server that starts again, and a SWITCH that is cut short at every step.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering as Memory};

use crate::answers::{answer, login};
use crate::ending::EndingFolders;
use crate::instances::empty;
use databases::instance::Instance;
use databases::storage::{Databases, DirectoryFolders};
use executor::session::Session;
use executor::statements::open_session;
use proptest::prelude::*;
use store::EngineOptions;

/// Rows, errors and messages of a batch.
async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

async fn is_done(session: &mut Session, batch: &str) {
    assert_eq!(lines(session, batch).await, [""; 0], "{batch}");
}

/// A type with values in its order, as numbers that the model compares and as literals.
struct Kind {
    sql_type: &'static str,
    /// The least and the greatest number.
    range: (i64, i64),
    /// The literal of a number.
    literal: fn(i64) -> String,
    /// How two literals' values compare, by their numbers.
    compare: fn(i64, i64) -> Ordering,
}

/// Texts of some letters of both cases and blanks, numbered: the digits of the number in base 5.
fn text(mut number: i64) -> String {
    let mut text = String::new();
    while number > 0 {
        text.push(['a', 'B', 'b', ' ', 'Ä'][(number % 5) as usize]);
        number /= 5;
    }
    text
}

fn folded(number: i64) -> String {
    text(number).trim_end_matches(' ').to_lowercase()
}

fn day(number: i64) -> String {
    // Days since 0001-01-01 as year, month and day.
    let z = number + 306;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + carry)
}

const TICKS_PER_DAY: i64 = 864_000_000_000;

fn moment(number: i64) -> String {
    let (days, ticks) = (number.div_euclid(TICKS_PER_DAY), number.rem_euclid(TICKS_PER_DAY));
    let (seconds, fraction) = (ticks / 10_000_000, ticks % 10_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("'{}T{hours:02}:{minutes:02}:{seconds:02}.{fraction:07}'", day(days))
}

fn decimal(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}.{:04}", number.unsigned_abs() / 10_000, number.unsigned_abs() % 10_000)
}

const KINDS: &[Kind] = &[
    Kind {
        sql_type: "int",
        range: (i32::MIN as i64, i32::MAX as i64),
        literal: |number| number.to_string(),
        compare: |one, other| one.cmp(&other),
    },
    Kind {
        sql_type: "bigint",
        range: (i64::MIN + 1, i64::MAX),
        literal: |number| number.to_string(),
        compare: |one, other| one.cmp(&other),
    },
    Kind {
        sql_type: "date",
        range: (0, 3_652_058),
        literal: |number| format!("'{}'", day(number)),
        compare: |one, other| one.cmp(&other),
    },
    Kind {
        sql_type: "datetime2(7)",
        range: (0, 3_652_059 * TICKS_PER_DAY - 1),
        literal: moment,
        compare: |one, other| one.cmp(&other),
    },
    Kind {
        sql_type: "decimal(19, 4)",
        range: (-9_000_000_000_000_000_000, 9_000_000_000_000_000_000),
        literal: decimal,
        compare: |one, other| one.cmp(&other),
    },
    Kind {
        sql_type: "varchar(20)",
        range: (0, 3124),
        literal: |number| format!("'{}'", text(number)),
        compare: |one, other| folded(one).cmp(&folded(other)),
    },
    Kind {
        sql_type: "nvarchar(20) COLLATE Latin1_General_BIN2",
        range: (0, 3124),
        literal: |number| format!("N'{}'", text(number)),
        compare: |one, other| text(one).trim_end_matches(' ').cmp(text(other).trim_end_matches(' ')),
    },
];

/// Numbers of a kind: anywhere, near its ends, and near each other.
fn number((least, greatest): (i64, i64)) -> impl Strategy<Value = i64> {
    let near =
        move |base: i64| (base.saturating_sub(3).max(least)..=base.saturating_add(3).min(greatest)).boxed();
    let middle = least / 2 + greatest / 2;
    prop_oneof![least..=greatest, near(least), near(greatest), near(middle)]
}

fn case() -> impl Strategy<Value = (usize, bool, Vec<Option<i64>>, Vec<Option<i64>>)> {
    (0..KINDS.len(), any::<bool>()).prop_flat_map(|(kind, right)| {
        let numbers = || {
            let some = number(KINDS[kind].range);
            prop::collection::vec(prop::option::weighted(0.95, some), 0..12)
        };
        (Just(kind), Just(right), numbers(), numbers())
    })
}

/// The literal of a value; NULL is one.
fn literal(kind: &Kind, value: &Option<i64>) -> String {
    value.map_or("NULL".to_owned(), kind.literal)
}

fn compare(kind: &Kind, one: &Option<i64>, other: &Option<i64>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => (kind.compare)(*one, *other),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn partition_numbers_are_those_of_a_plain_model((kind, right, boundaries, values) in case()) {
        let kind = &KINDS[kind];
        let mut boundaries = boundaries;
        // The model knows no duplicates.
        let mut distinct: Vec<Option<i64>> = Vec::new();
        boundaries.retain(|boundary| {
            let new = distinct.iter().all(|own| compare(kind, own, boundary) != Ordering::Equal);
            if new { distinct.push(*boundary) }
            new
        });
        let mut asked = values;
        asked.extend(boundaries.iter().copied());
        asked.push(None);
        let expected: Vec<String> = asked.iter().map(|value| {
            // Every boundary that is below the value, or is it and belongs to the right, is behind.
            let behind = boundaries.iter().filter(|boundary| match compare(kind, boundary, value) {
                Ordering::Less => true,
                Ordering::Equal => right,
                Ordering::Greater => false,
            });
            (behind.count() + 1).to_string()
        }).collect();
        let list: Vec<String> = boundaries.iter().map(|boundary| literal(kind, boundary)).collect();
        let side = if right { "RIGHT" } else { "LEFT" };
        let made = format!(
            "CREATE PARTITION FUNCTION f ({}) AS RANGE {side} FOR VALUES ({})", kind.sql_type, list.join(", ")
        );
        let rows: Vec<String> = asked.iter().enumerate()
            .map(|(place, value)| format!("({place}, {})", literal(kind, value))).collect();
        let column = kind.sql_type;
        let table = format!("CREATE TABLE t (place int NOT NULL, v {column} NULL) ON s(v); INSERT t VALUES {}", rows.join(", "));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (numbers, counted) = runtime.block_on(async {
            let mut session = open_session(Arc::new(empty()), login(51)).unwrap();
            let told = lines(&mut session, &made).await;
            assert!(told.iter().all(|line| line.starts_with("info: Warning: Range value list")), "{made}: {told:?}");
            lines(&mut session, "CREATE PARTITION SCHEME s AS PARTITION f ALL TO ([PRIMARY])").await;
            is_done(&mut session, &table).await;
            let numbers = lines(&mut session, "SELECT $PARTITION.f(v) FROM t ORDER BY place").await;
            let counted = "SELECT partition_number FROM sys.partitions p CROSS APPLY GENERATE_SERIES(CAST(1 AS bigint), p.rows) WHERE object_id = OBJECT_ID('t') AND p.rows > 0 ORDER BY 1";
            (numbers, lines(&mut session, counted).await)
        });
        prop_assert_eq!(&numbers, &expected, "{}\n{}", made, table);
        // The counts of the catalogue are those of the numbers.
        let mut sorted: Vec<usize> = expected.iter().map(|number| number.parse().unwrap()).collect();
        sorted.sort_unstable();
        let counted: Vec<usize> = counted.iter().map(|number| number.parse().unwrap()).collect();
        prop_assert_eq!(counted, sorted, "{}\n{}", made, table);
    }
}

fn open(directory: &Path) -> Session {
    let instance = Instance::new(Databases::open(directory, true).unwrap()).unwrap();
    open_session(Arc::new(instance), login(51)).unwrap()
}

/// A table in three partitions, another of the same kind, and a table to switch in.
const MADE: &str = "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (1000, 2000); \
    CREATE PARTITION SCHEME ps AS PARTITION pf TO ([PRIMARY], [PRIMARY], [PRIMARY]); \
    CREATE TABLE facts (id int NOT NULL, v varchar(30) NULL, CONSTRAINT pk_facts PRIMARY KEY (id)) ON ps(id); \
    CREATE INDEX by_v ON facts (v); \
    CREATE TABLE stage (id int NOT NULL CHECK (id >= 1000 AND id < 2000), v varchar(30) NULL, CONSTRAINT pk_stage PRIMARY KEY (id)); \
    CREATE INDEX by_v ON stage (v); \
    INSERT facts SELECT value, CONCAT('fact ', value) FROM GENERATE_SERIES(0, 999); \
    INSERT stage SELECT value, CONCAT('stage ', value) FROM GENERATE_SERIES(1000, 1799)";

const COUNTS: &str = "SELECT OBJECT_NAME(object_id), index_id, partition_number, rows FROM sys.partitions WHERE object_id IN (OBJECT_ID('facts'), OBJECT_ID('stage')) AND rows > 0 ORDER BY 1, 2, 3";

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = open(folder.path());
    is_done(&mut session, MADE).await;
    is_done(&mut session, "ALTER TABLE stage SWITCH TO facts PARTITION 2").await;
    // What is not committed is not there.
    is_done(&mut session, "BEGIN TRAN; ALTER TABLE facts SWITCH PARTITION 2 TO stage; ALTER PARTITION FUNCTION pf () MERGE RANGE (1000); CREATE PARTITION FUNCTION more (int) AS RANGE LEFT FOR VALUES (1)").await;
    drop(session);
    let mut session = open(folder.path());
    let expected =
        ["facts | 1 | 1 | 1000", "facts | 1 | 2 | 800", "facts | 2 | 1 | 1000", "facts | 2 | 2 | 800"];
    assert_eq!(lines(&mut session, COUNTS).await, expected);
    let asked = "SELECT name, fanout FROM sys.partition_functions; SELECT $PARTITION.pf(1999), $PARTITION.pf(2000); SELECT COUNT(*) FROM sys.destination_data_spaces";
    assert_eq!(lines(&mut session, asked).await, ["pf | 3", "2 | 3", "3"]);
    is_done(&mut session, "ALTER TABLE facts SWITCH PARTITION 2 TO stage; ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf () SPLIT RANGE (500)").await;
    drop(session);
    let mut session = open(folder.path());
    let expected = [
        "facts | 1 | 1 | 500",
        "facts | 1 | 2 | 500",
        "facts | 2 | 1 | 500",
        "facts | 2 | 2 | 500",
        "stage | 1 | 1 | 800",
        "stage | 2 | 1 | 800",
    ];
    assert_eq!(lines(&mut session, COUNTS).await, expected);
    is_done(&mut session, "DROP TABLE facts; DROP PARTITION SCHEME ps; DROP PARTITION FUNCTION pf; DBCC CHECKDB WITH NO_INFOMSGS").await;
    drop(session);
    let mut session = open(folder.path());
    let asked = "SELECT COUNT(*) FROM sys.partition_functions; SELECT COUNT(*) FROM sys.partition_schemes";
    assert_eq!(lines(&mut session, asked).await, ["0", "0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_function_is_an_error_of_what_asks_for_it() {
    let databases = Databases::in_memory(None).unwrap();
    let instance = Arc::new(Instance::new(databases.clone()).unwrap());
    let mut session = open_session(instance, login(51)).unwrap();
    is_done(
        &mut session,
        "CREATE PARTITION FUNCTION pf (int) AS RANGE LEFT FOR VALUES (1); CREATE TABLE t (a int)",
    )
    .await;
    let found =
        databases.snapshot().tables().into_iter().find(|table| table.properties.starts_with("partition "));
    let found = found.unwrap();
    let mut transaction = databases.begin();
    let cut = found.properties.get(..found.properties.len() - 3).unwrap();
    transaction.open(found.id).unwrap().set_properties(cut).unwrap();
    transaction.commit().unwrap();
    for batch in
        ["SELECT $PARTITION.pf(1)", "SELECT name FROM sys.partition_functions", "DROP PARTITION FUNCTION pf"]
    {
        let told = lines(&mut session, batch).await;
        let damaged =
            told.iter().any(|line| line.starts_with("error 596") && line.contains("partition function"));
        assert!(damaged, "{batch}: {told:?}");
    }
    assert_eq!(lines(&mut session, "SELECT COUNT(*) FROM t").await, ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_is_done_or_not_wherever_the_process_ends() {
    let start = i64::MAX / 2;
    let (mut steps, mut end) = (0, None);
    let (mut done, mut undone) = (0, 0);
    loop {
        let folder = tempfile::tempdir().unwrap();
        let left = Arc::new(AtomicI64::new(start));
        {
            let folders = DirectoryFolders::open(folder.path(), false).unwrap();
            let folders = Box::new(EndingFolders { folders, left: Arc::clone(&left) });
            let databases = Databases::open_in(folders, EngineOptions::default()).unwrap();
            let instance = Arc::new(Instance::new(databases).unwrap());
            let mut session = open_session(instance, login(51)).unwrap();
            is_done(&mut session, MADE).await;
            is_done(&mut session, "CHECKPOINT").await;
            left.store(end.unwrap_or(start), Memory::SeqCst);
            // Rows move one by one, since the target has others.
            lines(&mut session, "ALTER TABLE stage SWITCH TO facts PARTITION 2").await;
            lines(&mut session, "CHECKPOINT").await;
            if end.is_none() {
                steps = start - left.load(Memory::SeqCst);
            }
        }
        let instance = Instance::new(Databases::open(folder.path(), false).unwrap()).unwrap();
        let mut session = open_session(Arc::new(instance), login(51)).unwrap();
        let counts = lines(&mut session, "SELECT (SELECT COUNT(*) FROM facts), (SELECT COUNT(*) FROM stage), (SELECT COUNT(*) FROM facts WITH (INDEX(by_v)) WHERE v LIKE 'stage%')").await;
        match counts.first().map(String::as_str) {
            Some("1800 | 0 | 800") => done += 1,
            Some("1000 | 800 | 0") => undone += 1,
            other => panic!("after {end:?} of {steps}: {other:?}"),
        }
        is_done(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS").await;
        end = match end {
            None => Some(0),
            Some(end) if end >= steps => break,
            Some(end) => Some(end + 1),
        };
    }
    println!("{steps} operations: {done} times done, {undone} times not");
    assert!(steps > 3 && done > 1 && undone > 0, "{steps}: {done}, {undone}");
}
