//! One meaning, many spellings: generated changes and queries, each written in several ways that T-SQL gives the same meaning, leave the
//! same rows and counts.
//!
//! `BULKWIRE_WATCHDOG_SECONDS` makes it go on for so long, `BULKWIRE_WATCHDOG_SEED` begins elsewhere.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answers::{answer, login};
use crate::instances::empty;
use executor::session::Session;
use executor::statements::open_session;

/// Cases of each kind in the short run.
const CASES: u64 = 12;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }

    fn number_or_null(&mut self, limit: u64) -> String {
        if self.below(6) == 0 { "NULL".to_string() } else { self.below(limit).to_string() }
    }
}

/// Makes the tables `a` and `b`, the view `va` and the synonym `sa`. In `b` a key is there once if it is `unique`. Some of the tables have
/// so many rows that no condition meets that the engine plans its queries.
async fn make_tables(session: &mut Session, dice: &mut Dice, unique: bool) {
    let key = dice.of(&["", " PRIMARY KEY", " PRIMARY KEY NONCLUSTERED", " UNIQUE"]);
    let mut sql = String::from("DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b;");
    write!(
        sql,
        "CREATE TABLE a (id int NOT NULL{key}, k int NULL, v int NULL, f float NULL, s varchar(10) NULL);"
    )
    .unwrap();
    sql.push_str("CREATE TABLE b (id int NOT NULL, k int NULL, w int NULL);");
    for id in 0..3 + dice.below(9) {
        let (k, v, f) = (dice.number_or_null(5), dice.number_or_null(9), dice.number_or_null(99));
        let s = dice.of(&["'x'", "'Y'", "'y'", "NULL"]);
        write!(sql, "INSERT a VALUES ({id}, {k}, {v}, {f} / 8.0, {s});").unwrap();
    }
    for id in 0..2 + dice.below(6) {
        let k = if unique { id.to_string() } else { dice.number_or_null(5) };
        let w = dice.number_or_null(9);
        write!(sql, "INSERT b VALUES ({id}, {k}, {w});").unwrap();
    }
    if dice.below(3) == 0 {
        sql.push_str(
            "INSERT a SELECT 1000 + value, 1000 + value, 1000, 1, NULL FROM GENERATE_SERIES(1, 300);",
        );
        sql.push_str("INSERT b SELECT 1000 + value, 5000 + value, -1 FROM GENERATE_SERIES(1, 300);");
    }
    let lines = answer(session, &sql).await;
    assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}\n{sql}");
}

async fn session() -> Session {
    let mut session = open_session(Arc::new(empty()), login(51)).unwrap();
    for sql in [
        "CREATE TABLE a (id int NOT NULL, k int, v int, f float, s varchar(10)); CREATE TABLE b (id int, k int, w int)",
        "CREATE VIEW va AS SELECT id, k, v, s FROM a",
        "CREATE SYNONYM sa FOR a",
    ] {
        let lines = answer(&mut session, sql).await;
        assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
    }
    session
}

/// Runs the spellings, each on the same rows, and says where one differs from the first.
async fn compare(session: &mut Session, spellings: &[String], changes: bool) -> Option<String> {
    let mut first: Option<Vec<String>> = None;
    for spelling in spellings {
        let mut lines = match changes {
            true => {
                let state = "SELECT id, k, v, f, s FROM a ORDER BY id";
                answer(session, &format!("BEGIN TRAN; {spelling}; {state}; ROLLBACK")).await
            }
            false => answer(session, spelling).await,
        };
        // Types may differ in whether they allow NULL, and names are what the spellings differ in.
        lines.retain(|line| !line.starts_with('[') && !line.starts_with("status "));
        match &first {
            None if lines.iter().any(|line| line.starts_with("error")) => {
                return Some(format!("{spelling}\n  {lines:?}"));
            }
            None => first = Some(lines),
            Some(first) if *first == lines => {}
            Some(first) => {
                let rows = answer(
                    session,
                    "SELECT id, k, v, f, s FROM a WHERE id < 1000; SELECT * FROM b WHERE id < 1000",
                )
                .await;
                return Some(format!(
                    "{}\n  {first:?}\n{spelling}\n  {lines:?}\nover\n  {rows:?}",
                    spellings[0]
                ));
            }
        }
    }
    None
}

/// A change of the rows of `a` that have a match in `b`, in every spelling.
fn change(dice: &mut Dice, unique: bool) -> Vec<String> {
    let of_b = dice.of(&["1 = 1", "y.w > 3", "y.w IS NULL OR y.w < 5", "y.id <> 2"]);
    let of_a = dice.of(&["1 = 1", "T.v > 2", "T.id % 2 = 0", "T.s = 'y'", "T.v IS NULL OR T.k > 1"]);
    let value = match unique {
        true => dice.of(&["y.w", "T.v + y.w", "y.w * 10 + T.id"]),
        false => dice.of(&["T.v + 1", "NULL", "T.id * 100", "ISNULL(T.v, -1)"]),
    };
    let deletes = !unique && dice.below(2) == 0;
    let over = |text: &str, table: &str| text.replace("T.", &format!("{table}."));
    let (a, x) = (|text: &str| over(text, "a"), |text: &str| over(text, "x"));
    let verb = |target: &str, own: &str| match deletes {
        true => format!("DELETE {target}"),
        false => format!("UPDATE {target} SET v = {}", over(value, own)),
    };
    let exists = format!("EXISTS (SELECT 1 FROM b y WHERE y.k = a.k AND ({of_b}))");
    // The value by a subquery, for spellings without a join.
    let alone = |own: &str| match unique {
        true => format!("(SELECT {} FROM b y WHERE y.k = {own}.k AND ({of_b}))", over(value, own)),
        false => over(value, own),
    };
    let plain = |target: &str, own: &str| match deletes {
        true => format!("DELETE {target}"),
        false => format!("UPDATE {target} SET v = {}", alone(own)),
    };
    let on = |own: &str| format!("y.k = {own}.k AND ({of_b})");
    let mut spellings = vec![format!("{} WHERE {exists} AND ({})", plain("a", "a"), a(of_a))];
    for target in ["x", "a", "dbo.a", "sa", "FROM a"] {
        if target.starts_with("FROM") && !deletes {
            continue;
        }
        spellings.push(format!("{} FROM a x JOIN b y ON {} WHERE {}", verb(target, "x"), on("x"), x(of_a)));
        spellings.push(format!(
            "{} FROM b y JOIN dbo.a AS x ON {} WHERE {}",
            verb(target, "x"),
            on("x"),
            x(of_a)
        ));
        spellings.push(format!("{} FROM a x, b y WHERE {} AND ({})", verb(target, "x"), on("x"), x(of_a)));
        spellings.push(format!(
            "{} FROM b y RIGHT JOIN a x ON {} WHERE y.id IS NOT NULL AND ({})",
            verb(target, "x"),
            on("x"),
            x(of_a)
        ));
        spellings.push(format!(
            "{} FROM a x CROSS APPLY (SELECT y.* FROM b y WHERE {}) AS y WHERE {}",
            verb(target, "x"),
            on("x"),
            x(of_a)
        ));
    }
    spellings.push(format!("{} FROM a JOIN b y ON {} WHERE {}", verb("a", "a"), on("a"), a(of_a)));
    spellings.push(format!("{} FROM b y WHERE {} AND ({})", verb("a", "a"), on("a"), a(of_a)));
    spellings.push(format!(
        "{} FROM a JOIN a z ON z.id = a.id JOIN b y ON {} WHERE {}",
        verb("a", "a"),
        on("z"),
        a(of_a)
    ));
    spellings.push(format!("{} FROM va x JOIN b y ON {} WHERE {}", verb("va", "x"), on("x"), x(of_a)));
    spellings.push(format!(
        "WITH c AS (SELECT * FROM a) {} FROM c x JOIN b y ON {} WHERE {}",
        verb("c", "x"),
        on("x"),
        x(of_a)
    ));
    spellings.push(format!(
        "WITH c AS (SELECT id, k, v, s FROM a WHERE {exists}) {} WHERE {}",
        plain("c", "c"),
        over(of_a, "c")
    ));
    spellings.push(format!(
        "{} WHERE a.k IN (SELECT y.k FROM b y WHERE {of_b}) AND ({})",
        plain("a", "a"),
        a(of_a)
    ));
    spellings.push(format!(
        "{} FROM (SELECT id, k, v, s FROM a) AS x JOIN b y ON {} WHERE {}",
        verb("x", "x"),
        on("x"),
        x(of_a)
    ));
    if !deletes && unique {
        spellings.push(format!(
            "WITH c AS (SELECT x.id, x.k, x.s, x.v, {} AS n FROM b y JOIN a x ON {} WHERE {}) UPDATE c SET v = n",
            x(value), on("x"), x(of_a)
        ));
    }
    let action = match deletes {
        true => "DELETE".to_string(),
        false => format!("UPDATE SET v = {}", over(value, "t")),
    };
    let source = match unique {
        true => format!("(SELECT y.id, y.k, y.w FROM b y WHERE {of_b})"),
        false => format!("(SELECT DISTINCT y.k FROM b y WHERE {of_b})"),
    };
    spellings.push(format!(
        "MERGE a t USING {source} AS y ON t.k = y.k WHEN MATCHED AND ({}) THEN {action};",
        over(of_a, "t")
    ));
    if !deletes {
        spellings.push(format!(
            "MERGE a t USING {source} AS y ON t.k = y.k WHEN MATCHED AND ({}) THEN UPDATE SET v = {};",
            over(of_a, "t"),
            alone("t")
        ));
    }
    spellings
}

const WINDOWS: [&str; 14] = [
    "SUM(v) OVER ()",
    "SUM(v) OVER (PARTITION BY k)",
    "COUNT(*) OVER ()",
    "COUNT(v) OVER (PARTITION BY s)",
    "AVG(v) OVER (PARTITION BY k)",
    "MAX(v) OVER (ORDER BY id)",
    "MIN(k) OVER (PARTITION BY s ORDER BY id)",
    "ROW_NUMBER() OVER (ORDER BY id)",
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id)",
    "RANK() OVER (ORDER BY v)",
    "DENSE_RANK() OVER (PARTITION BY s ORDER BY k DESC)",
    "LAG(v) OVER (ORDER BY id)",
    "LEAD(k, 2) OVER (ORDER BY id)",
    "CAST(SUM(f) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) * 8 AS int)",
];

/// Expressions of two windows.
const OF_WINDOWS: [&str; 9] = [
    "$1",
    "$1 + $1",
    "$1 + $2",
    "ISNULL($1, 0) - ISNULL($2, 0)",
    "CASE WHEN $1 > 2 THEN $1 ELSE $2 END",
    "CASE $1 WHEN $2 THEN 'same' ELSE 'other' END",
    "100.0 * v / NULLIF($1, 0)",
    "NULLIF($1, $2)",
    "IIF($1 % 2 = 0, $1, NULL)",
];

/// A query with windows, bare and inside of expressions, and the same over a common table.
fn windows(dice: &mut Dice) -> Vec<String> {
    let (one, two) = (dice.of(&WINDOWS), dice.of(&WINDOWS));
    let written = dice.of(&OF_WINDOWS);
    let direct = written.replace("$1", one).replace("$2", two);
    let through = written.replace("$1", "w1").replace("$2", "w2");
    let common = format!("WITH c AS (SELECT *, {one} AS w1, {two} AS w2 FROM a) ");
    match dice.below(3) {
        0 => vec![
            format!("{common}SELECT id, w1, {through} FROM c ORDER BY id"),
            format!("SELECT id, {one} AS p, {direct} AS q FROM a ORDER BY id"),
            format!("SELECT id, {one} AS p, {direct} AS q FROM a AS x ORDER BY x.id"),
            format!("SELECT id, p, q FROM (SELECT id, {one} AS p, {direct} AS q FROM a) AS d ORDER BY id"),
        ],
        1 => vec![
            format!("{common}SELECT id, w2 FROM c ORDER BY {through}, id"),
            format!("SELECT id, {two} FROM a ORDER BY {direct}, id"),
            format!("SELECT id, {two} AS q FROM a ORDER BY {direct}, a.id"),
        ],
        _ => vec![
            format!("{common}SELECT {through}, {through}, w1, w1 FROM c ORDER BY id"),
            format!("SELECT {direct}, {direct}, {one}, {one} FROM a ORDER BY id"),
        ],
    }
}

const AGGREGATES: [&str; 8] = [
    "SUM(v)",
    "COUNT(*)",
    "COUNT(v)",
    "MAX(id)",
    "MIN(v)",
    "AVG(v)",
    "SUM(SUM(v)) OVER ()",
    "COUNT(*) * SUM(COUNT(*)) OVER ()",
];

/// A grouped query with aggregates, bare and inside of expressions, and the same over a common table.
fn aggregates(dice: &mut Dice) -> Vec<String> {
    let (one, two) = (dice.of(&AGGREGATES), dice.of(&AGGREGATES));
    let written = dice.of(&OF_WINDOWS).replace("v / ", "3 / ");
    let (direct, through) =
        (written.replace("$1", one).replace("$2", two), written.replace("$1", "w1").replace("$2", "w2"));
    let group = dice.of(&["k", "k % 2", "ISNULL(k, 7)", "UPPER(s)"]);
    let common =
        format!("WITH c AS (SELECT {group} AS g, {one} AS w1, {two} AS w2 FROM a GROUP BY {group}) ");
    let plain = format!("SELECT {group} AS g, {one} AS p, {direct} AS q FROM a GROUP BY {group} ORDER BY ");
    vec![
        format!("{common}SELECT g, w1, {through} FROM c ORDER BY g"),
        format!("{plain}g"),
        format!("{plain}1"),
        format!("{plain}{group}"),
    ]
}

/// ORDER BY, TOP, OFFSET and DISTINCT by name, position and expression.
fn orders(dice: &mut Dice) -> Vec<String> {
    let item = dice.of(&[
        "k",
        "k + 1",
        "-v",
        "ISNULL(v, 5)",
        "UPPER(s)",
        "k % 3",
        "CASE WHEN v > 3 THEN 1 ELSE 0 END",
    ]);
    let way = dice.of(&["", " DESC"]);
    let rows = 1 + dice.below(6);
    let (top, offset) = match dice.below(3) {
        0 => (String::new(), String::new()),
        1 => (format!("TOP ({rows}) "), String::new()),
        _ => (String::new(), format!(" OFFSET {} ROWS FETCH NEXT {rows} ROWS ONLY", dice.below(3))),
    };
    if dice.below(3) == 0 {
        let plain = format!("SELECT DISTINCT {top}{item} AS e FROM a ORDER BY ");
        return vec![
            format!(
                "SELECT {top}e FROM (SELECT {item} AS e FROM a GROUP BY {item}) AS q ORDER BY e{way}{offset}"
            ),
            format!("{plain}e{way}{offset}"),
            format!("{plain}1{way}{offset}"),
            format!("{plain}{item}{way}{offset}"),
            format!("SELECT {top}{item} FROM a GROUP BY {item} ORDER BY {item}{way}{offset}"),
        ];
    }
    let plain = format!("SELECT {top}{item} AS e, id FROM a ORDER BY ");
    vec![
        format!(
            "SELECT {top}e, id FROM (SELECT {item} AS e, id FROM a) AS q ORDER BY q.e{way}, q.id{offset}"
        ),
        format!("{plain}e{way}, id{offset}"),
        format!("{plain}1{way}, 2{offset}"),
        format!("{plain}{item}{way}, a.id{offset}"),
        format!(
            "WITH c AS (SELECT {item} AS e, id AS i FROM a) SELECT {top}e, i FROM c ORDER BY 1{way}, i{offset}"
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn one_meaning_has_many_spellings() {
    let seconds = std::env::var("BULKWIRE_WATCHDOG_SECONDS").map_or(0, |seconds| seconds.parse().unwrap());
    let seed: u64 = std::env::var("BULKWIRE_WATCHDOG_SEED").map_or(1, |seed| seed.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut session = session().await;
    let (mut case, mut failures) = (0, Vec::new());
    while case < CASES || Instant::now() < end {
        let mut dice = Dice((seed + case) << 20);
        let unique = dice.below(2) == 0;
        make_tables(&mut session, &mut dice, unique).await;
        let changes = change(&mut dice, unique);
        let queries = [windows(&mut dice), windows(&mut dice), aggregates(&mut dice), orders(&mut dice)];
        failures.extend(compare(&mut session, &changes, true).await);
        for spellings in &queries {
            failures.extend(compare(&mut session, spellings, false).await);
        }
        case += 1;
        if failures.len() > 5 {
            break;
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {case} cases from seed {seed}:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
