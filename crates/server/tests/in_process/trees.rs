//! Keys and indexes in pages: what trees there are and how full, what a change of rows and a lookup touch, and the same answers as of
//! a bare heap whatever statements come.

use std::sync::Arc;

use crate::answers::{answer, login};
use crate::instances::empty;
use databases::instance::Instance;
use executor::session::Session;
use executor::statements::open_session;
use store::{Engine, ScanDetail};

struct Server {
    instance: Arc<Instance>,
    session: Session,
}

/// The lowest level of the rows of a table, or of an index.
struct Leaves {
    pages: u64,
    records: u64,
    density_percent: f64,
    forwarded: u64,
    compressed_pages: u64,
}

impl Server {
    fn new() -> Server {
        let instance = Arc::new(empty());
        let session = open_session(Arc::clone(&instance), login(51)).unwrap();
        Server { instance, session }
    }

    fn engine(&self) -> &Engine {
        self.instance.store().master().engine()
    }

    /// Rows and errors.
    async fn lines(&mut self, batch: &str) -> Vec<String> {
        let lines = answer(&mut self.session, batch).await;
        lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
    }

    async fn run(&mut self, batch: &str) {
        assert_eq!(self.lines(batch).await, [""; 0], "{batch}");
    }

    /// Ten thousand rows of 107 bytes: 4 of header, 4 + 96 of columns, 3 of the NULL bitmap.
    async fn fill(&mut self, table: &str) {
        self.run("CREATE TABLE digits (n int NOT NULL)").await;
        self.run("INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)").await;
        self.run(&format!("CREATE TABLE {table} (id int NOT NULL, text char(96) NOT NULL)")).await;
        self.run(&format!(
            "INSERT INTO {table} SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n, 'x' FROM digits a CROSS JOIN digits b CROSS JOIN digits c CROSS JOIN digits d"
        ))
        .await;
    }

    /// Figures of the lowest level of the rows or of an index, and what is in them.
    fn leaves(&self, table: &str, index: Option<&str>) -> Leaves {
        let snapshot = self.engine().snapshot();
        let table = snapshot.tables().find(|known| known.name.ends_with(&format!(".{table}"))).unwrap();
        let unit = match index {
            Some(index) => 256 + 4 * table.index(index).unwrap().id,
            None => 256,
        };
        let statistics = snapshot.physical_statistics(&table.name, ScanDetail::Detailed).unwrap();
        let leaves = statistics.iter().find(|level| level.unit.index == unit && level.level == 0).unwrap();
        let contents = leaves.contents.unwrap();
        Leaves {
            pages: leaves.pages,
            records: contents.records,
            density_percent: contents.density_percent,
            forwarded: contents.forwarded_records,
            compressed_pages: contents.compressed_pages,
        }
    }
}

/// Pages by the documented estimate: rows of `row` bytes and a slot each, whole rows left out below a fill factor of 100.
fn estimate(rows: u64, row: u64, fill: u64) -> u64 {
    let (full, free) = (8096 / (row + 2), 8096 * (100 - fill) / 100 / (row + 2));
    rows.div_ceil(full - free)
}

#[tokio::test(flavor = "multi_thread")]
async fn fill_factors_show_in_pages() {
    let mut server = Server::new();
    server.fill("t").await;
    assert_eq!(server.leaves("t", None).pages, estimate(10_000, 107, 100));
    server.run("CREATE UNIQUE CLUSTERED INDEX cx ON t (id) WITH (FILLFACTOR = 50)").await;
    let half = server.leaves("t", None);
    assert_eq!((half.pages, half.records), (estimate(10_000, 107, 50), 10_000));
    assert!((45.0..55.0).contains(&half.density_percent), "{}", half.density_percent);
    server.run("ALTER INDEX cx ON t REBUILD WITH (FILLFACTOR = 100)").await;
    assert_eq!(server.leaves("t", None).pages, estimate(10_000, 107, 100));
    // A row of the index: 1 of status, 4 of the key (which leads to the row, too), no bitmap as nothing is nullable.
    server.run("CREATE INDEX ix ON t (id) WITH (FILLFACTOR = 25)").await;
    let quarter = server.leaves("t", Some("ix"));
    server.run("ALTER INDEX ix ON t REBUILD WITH (FILLFACTOR = 100)").await;
    let full = server.leaves("t", Some("ix"));
    assert_eq!((quarter.records, full.records), (10_000, 10_000));
    assert!((20.0..30.0).contains(&quarter.density_percent), "{}", quarter.density_percent);
    assert!(quarter.pages >= 3 * full.pages, "{} pages and {}", quarter.pages, full.pages);
    // Compression is of the pages, and goes again.
    server.run("ALTER TABLE t REBUILD WITH (DATA_COMPRESSION = PAGE)").await;
    let compressed = server.leaves("t", None);
    assert!(compressed.pages < estimate(10_000, 107, 100) / 4, "{}", compressed.pages);
    assert!(compressed.compressed_pages > 0);
    server.run("ALTER INDEX cx ON t REBUILD WITH (DATA_COMPRESSION = NONE)").await;
    assert_eq!(server.leaves("t", None).pages, estimate(10_000, 107, 100));
    assert_eq!(server.lines("SELECT COUNT(*), SUM(id) FROM t").await, ["10000 | 49995000"]);
    assert_eq!(server.engine().check().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_found_and_changed_by_its_key_alone() {
    let mut server = Server::new();
    server.fill("t").await;
    server.run("ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (id)").await;
    server.run("CREATE TABLE big (id int NOT NULL PRIMARY KEY NONCLUSTERED, text char(96) NOT NULL)").await;
    server.run("INSERT INTO big SELECT id, text FROM t").await;
    let lookups = |server: &Server| server.engine().cache_counts().lookups;
    let records =
        |server: &Server| server.engine().log_counts().iter().map(|count| count.records).sum::<u64>();
    for table in ["t", "big"] {
        let before = lookups(&server);
        let select = format!("SELECT id FROM {table} WHERE id = 7777");
        assert_eq!(server.lines(&select).await, ["7777"]);
        assert!(lookups(&server) - before < 40, "{} pages for one row", lookups(&server) - before);
        let before = (lookups(&server), records(&server));
        server.run(&format!("UPDATE {table} SET text = 'y' WHERE id = 7777")).await;
        server.run(&format!("DELETE FROM {table} WHERE id = 7778")).await;
        let (looked, logged) = (lookups(&server) - before.0, records(&server) - before.1);
        assert!(looked < 200, "{table}: {looked} pages for two rows");
        assert!(logged < 40, "{table}: {logged} log records for two rows");
        let select = format!("SELECT COUNT(*) FROM {table} WHERE text = 'y'");
        assert_eq!(server.lines(&select).await, ["1"]);
    }
    server.run("CREATE TABLE names (name varchar(20) NOT NULL PRIMARY KEY, id int NOT NULL, at datetime2(3) NOT NULL)").await;
    server
        .run("INSERT INTO names SELECT CONCAT('Name ', id), id, DATEADD(minute, id, '2024-01-01') FROM t")
        .await;
    server.run("CREATE INDEX ix ON names (at)").await;
    // Through the planner, too: a larger table, a sort, and values of other types than the columns'.
    for (condition, expected) in [
        ("name = 'NAME 4242'", "4242"),
        ("name = N'name 4242 '", "4242"),
        ("name >= 'name 4242' AND name < 'name 4243'", "4242"),
        ("at = '2024-01-01 00:05'", "5"),
        ("at = DATEADD(minute, 5, CAST('20240101' AS datetime2(3)))", "5"),
    ] {
        let before = lookups(&server);
        let select = format!("SELECT id FROM names WHERE {condition} ORDER BY id");
        assert_eq!(server.lines(&select).await, [expected], "{condition}");
        assert!(lookups(&server) - before < 40, "{condition}: {} pages", lookups(&server) - before);
    }
    for (condition, expected) in [
        ("name IN ('NAME 4242', N'name 17', 'nothing', NULL)", vec!["17", "4242"]),
        ("name = 'name 9' OR at = '2024-01-01 00:05' AND name = 'name 5'", vec!["5", "9"]),
        ("name LIKE 'Name 424_' AND id < 4242", vec!["4240", "4241"]),
        (
            "at BETWEEN '2024-01-01 00:05' AND '2024-01-01 00:06' OR at IN ('2024-01-01 00:01')",
            vec!["1", "5", "6"],
        ),
    ] {
        let before = lookups(&server);
        let select = format!("SELECT id FROM names WHERE {condition} ORDER BY id");
        assert_eq!(server.lines(&select).await, expected, "{condition}");
        assert!(lookups(&server) - before < 60, "{condition}: {} pages", lookups(&server) - before);
    }
    let before = lookups(&server);
    assert_eq!(
        server.lines("SELECT id FROM t WHERE id IN (9999, 5, 12345, 5) OR id = 7").await,
        ["5", "7", "9999"]
    );
    server.run("DELETE FROM t WHERE id IN (1, 3, 9000)").await;
    assert!(lookups(&server) - before < 200, "{} pages", lookups(&server) - before);
    // An index that leads to most of a table is not followed.
    server.run("UPDATE names SET at = '2025-01-01' WHERE id > 10").await;
    let before = lookups(&server);
    assert_eq!(server.lines("SELECT SUM(id) FROM names WHERE at = '2025-01-01'").await, ["49987167"]);
    assert!(lookups(&server) - before < 2000, "{} pages", lookups(&server) - before);
    assert_eq!(server.engine().check().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_refer_are_found_by_an_index() {
    let mut server = Server::new();
    server.fill("t").await;
    server.run("CREATE TABLE parent (id int NOT NULL PRIMARY KEY, code varchar(10) NOT NULL UNIQUE)").await;
    server.run("INSERT INTO parent SELECT id, CONCAT('c', id) FROM t WHERE id < 100").await;
    server
        .run(
            "CREATE TABLE child (id int NOT NULL, p int NULL, filler char(100) NOT NULL,
               CONSTRAINT fk_p FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
             CREATE TABLE coded (id int NOT NULL, code varchar(10) NULL, filler char(100) NOT NULL,
               CONSTRAINT fk_code FOREIGN KEY (code) REFERENCES parent (code) ON DELETE SET NULL)",
        )
        .await;
    server.run("INSERT INTO child SELECT id, id % 90, 'x' FROM t").await;
    server.run("INSERT INTO coded SELECT id, CONCAT('C', id % 95), 'x' FROM t").await;
    let lookups = |server: &Server| server.engine().cache_counts().lookups;
    server.run("BEGIN TRANSACTION").await;
    let before = lookups(&server);
    server.run("DELETE FROM parent WHERE id = 99").await;
    let scanned = lookups(&server) - before;
    server.run("ROLLBACK").await;
    server.run("CREATE INDEX ix_p ON child (p)").await;
    server.run("CREATE INDEX ix_code ON coded (code, id)").await;
    let before = lookups(&server);
    server.run("DELETE FROM parent WHERE id = 99").await;
    let sought = lookups(&server) - before;
    assert!(sought * 3 < scanned, "{sought} pages by index, {scanned} without");
    server.run("DELETE FROM parent WHERE id = 91").await;
    server.run("UPDATE parent SET id = 1000 WHERE id = 2").await;
    server.run("DELETE FROM parent WHERE id IN (3, 4)").await;
    let rows = server.lines("SELECT COUNT(*), SUM(CASE WHEN p = 1000 THEN 1 END), SUM(CASE WHEN p IN (2, 3, 4) THEN 1 END) FROM child");
    let of = |wanted: &dyn Fn(i32) -> bool| (0..10_000).filter(|id| wanted(*id)).count();
    let expected = (of(&|id| id % 90 != 3 && id % 90 != 4), of(&|id| id % 90 == 2));
    assert_eq!(rows.await, [format!("{} | {} | NULL", expected.0, expected.1)]);
    let codes = server.lines("SELECT COUNT(*), COUNT(code), COUNT(DISTINCT code) FROM coded").await;
    let coded = of(&|id| ![91, 3, 4].contains(&(id % 95)));
    assert_eq!(codes, [format!("10000 | {coded} | 92")]);
    assert_eq!(server.lines("SELECT COUNT(*) FROM child WHERE p = 1000").await, [expected.1.to_string()]);
    assert_eq!(server.engine().check().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_outgrow_their_pages_are_forwarded_and_come_back() {
    let mut server = Server::new();
    server.run("CREATE TABLE t (id int NOT NULL, text varchar(8000) NULL, large varchar(max) NULL)").await;
    for id in 0..300 {
        server.run(&format!("INSERT INTO t VALUES ({id}, REPLICATE('a', 50), NULL)")).await;
    }
    server.run("CREATE INDEX ix ON t (id)").await;
    assert_eq!(server.leaves("t", None).forwarded, 0);
    server.run("UPDATE t SET text = REPLICATE('b', 4000) WHERE id % 10 = 0").await;
    let forwarded = server.leaves("t", None).forwarded;
    assert!((20..=30).contains(&forwarded), "{forwarded}");
    // The index still leads to them, through their old places.
    assert_eq!(server.lines("SELECT LEN(text) FROM t WHERE id = 290").await, ["4000"]);
    server.run("UPDATE t SET text = REPLICATE('c', 7000), large = REPLICATE(CAST('d' AS varchar(max)), 30000) WHERE id = 290").await;
    assert_eq!(server.lines("SELECT LEN(text), LEN(large) FROM t WHERE id = 290").await, ["7000 | 30000"]);
    server.run("BEGIN TRANSACTION; UPDATE t SET text = NULL, large = NULL; DELETE FROM t WHERE id > 100; ROLLBACK").await;
    assert_eq!(
        server.lines("SELECT COUNT(*), SUM(LEN(text)), SUM(LEN(large)) FROM t").await,
        ["300 | 136500 | 30000"]
    );
    server.run("DELETE FROM t WHERE id % 10 = 0 AND id <> 290").await;
    server.run("ALTER TABLE t REBUILD").await;
    let leaves = server.leaves("t", None);
    assert_eq!((leaves.forwarded, leaves.records), (0, 271));
    assert_eq!(server.lines("SELECT LEN(text), LEN(large) FROM t WHERE id = 290").await, ["7000 | 30000"]);
    assert_eq!(server.engine().check().unwrap(), []);
}

/// Numbers that look random and are the same every time (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// A table's shape, and another one that refers to its key.
const SHAPES: &[&str] = &[
    "CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, a int NULL, b varchar(20) NULL, c varchar(max) NULL)",
    "CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY NONCLUSTERED WITH (FILLFACTOR = 60), a int NULL, b varchar(20) NULL, c varchar(max) NULL) WITH (DATA_COMPRESSION = ROW); CREATE INDEX ix ON t (b, a DESC)",
    "CREATE TABLE t (id int NOT NULL, a int NULL, b varchar(20) NULL, c varchar(max) NULL, CONSTRAINT pk UNIQUE (id)); CREATE CLUSTERED INDEX cx ON t (a DESC, b) WITH (FILLFACTOR = 80); CREATE INDEX ix ON t (b) INCLUDE (a)",
    "CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY (id DESC), a int NULL, b varchar(20) NULL, c varchar(max) NULL) WITH (DATA_COMPRESSION = PAGE); CREATE UNIQUE INDEX ux ON t (b, id) WITH (DATA_COMPRESSION = PAGE)",
];

fn statement(random: &mut Random) -> String {
    let id = random.below(60);
    let a = random.below(8);
    let b = ["NULL", "'x'", "'X '", "'longer text'", "'é'", "''"][random.below(6) as usize];
    let c = ["NULL", "'s'", "REPLICATE('m', 900)", "REPLICATE(CAST('l' AS varchar(max)), 9000)"]
        [random.below(4) as usize];
    let condition = match random.below(16) {
        0 | 1 => format!("id = {id}"),
        2 => format!("id BETWEEN {id} AND {}", id + 9),
        3 => format!("id >= {id} AND id < {}", id + 5),
        4 => format!("a = {a}"),
        5 => format!("a > {a} AND b = {b}"),
        6 => format!("b = {b}"),
        7 => format!("b = {b} AND a = {a}"),
        8 => format!("id IN ({id}, {}, {}, NULL, {})", id + 7, 59 - id, id + 7),
        9 => format!("(a = {a} OR a = {} OR a IN (1, 3)) AND id > {id}", 7 - a),
        10 => format!("id < 3 OR id BETWEEN {id} AND {} OR id >= 57", id + 4),
        11 => format!("(a = {a} AND b = {b}) OR id = {id} OR b = 'x' AND a > 5"),
        12 => format!("a IN ({a}, 2) AND b IN ('x', 'longer text', {b})"),
        13 => {
            format!("b LIKE '{}'", ["x%", "LONG%", "lo_g%", "É%", "x %", "%", "x"][random.below(7) as usize])
        }
        14 => format!("a = {a} AND b LIKE 'l%' OR id IN (1, 2)"),
        _ => format!("id % 7 = {}", random.below(7)),
    };
    match random.below(28) {
        0..=4 => format!("INSERT INTO t (id, a, b, c) VALUES ({id}, {a}, {b}, {c})"),
        5 => {
            format!(
                "INSERT INTO t (id, a, b, c) VALUES ({id}, {a}, {b}, {c}), ({}, NULL, {b}, 'second')",
                random.below(60)
            )
        }
        6 => "INSERT INTO t (id, a, b, c) SELECT id + 60, a, b, c FROM t WHERE id < 60 AND id % 5 = 1"
            .to_owned(),
        7..=9 => format!("UPDATE t SET a = {a}, c = {c} WHERE {condition}"),
        10 => format!("UPDATE t SET b = {b} WHERE {condition}"),
        11 => format!("UPDATE t SET id = id + {} WHERE {condition}", 1 + random.below(20)),
        12 => {
            format!("UPDATE t SET id = 59 - id WHERE id BETWEEN {} AND {}", id.min(59 - id), id.max(59 - id))
        }
        13 => format!("DELETE FROM t WHERE {condition}"),
        14 => format!("DELETE FROM t WHERE id > 59 OR {condition}"),
        15 => format!(
            "MERGE t USING (VALUES ({id}, {a}), ({}, {a})) AS s (id, a) ON t.id = s.id WHEN MATCHED AND t.a = {a} THEN DELETE WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a);",
            random.below(60)
        ),
        16 => "BEGIN TRANSACTION".to_owned(),
        17 => "IF @@TRANCOUNT > 0 SAVE TRANSACTION s".to_owned(),
        18 if a == 0 => "IF @@TRANCOUNT > 0 ROLLBACK".to_owned(),
        18 => "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION s".to_owned(),
        19 => "IF @@TRANCOUNT > 0 COMMIT".to_owned(),
        20 => format!("DELETE t FROM t JOIN t o ON o.id = t.id + 1 WHERE o.a = {a} AND t.id < {id}"),
        21 => "ALTER INDEX ALL ON t REBUILD".to_owned(),
        // What a refused definition undoes is more than the server without indexes has undone.
        22 => "IF NOT EXISTS (SELECT * FROM sys.indexes WHERE name = 'extra') CREATE UNIQUE INDEX extra ON t (a, b, id)"
            .to_owned(),
        23 => "DROP INDEX IF EXISTS extra ON t".to_owned(),
        24 => format!(
            "BEGIN TRY IF @@TRANCOUNT = 0 OR (SELECT COUNT(*) FROM t WHERE b IS NULL) < 2 BEGIN CREATE UNIQUE INDEX strict ON t (b) WHERE b IS NULL; DROP INDEX strict ON t END END TRY BEGIN CATCH END CATCH; SELECT id, a FROM t WHERE {condition} ORDER BY id"
        ),
        25 => format!(
            "IF COL_LENGTH('t', 'x') IS NULL ALTER TABLE t ADD x {} ELSE ALTER TABLE t DROP COLUMN x",
            ["varchar(10) NULL", "int NULL", "AS id * 2", "rowversion"][random.below(4) as usize]
        ),
        26 => format!(
            "ALTER TABLE t ALTER COLUMN c {} NULL",
            ["varchar(max)", "nvarchar(max)", "varchar(9000)"][random.below(3) as usize]
        ),
        _ => format!("SELECT id, a, b, LEN(c) FROM t WHERE {condition} ORDER BY id"),
    }
}

/// Errors by their numbers: which of several duplicates is found first is not promised.
fn comparable(lines: Vec<String>) -> Vec<String> {
    let number = |line: String| match line.strip_prefix("error ").and_then(|rest| rest.split(':').next()) {
        Some("2601" | "2627") => "error: duplicate".to_owned(),
        Some(number) => format!("error {number}"),
        None => line,
    };
    lines.into_iter().map(number).collect()
}

/// A heap for the same rows.
const BARE: &str = "CREATE TABLE t (id int NOT NULL, a int NULL, b varchar(20) NULL, c varchar(max) NULL)";

/// What of a statement a bare heap is given; `None`: nothing, as it is about indexes alone.
fn without_indexes(text: &str) -> Option<&str> {
    let is_of_index = ["ALTER INDEX", "IF NOT EXISTS (SELECT * FROM sys.indexes", "DROP INDEX"];
    match text.split_once("BEGIN CATCH END CATCH; ") {
        Some((_, rest)) => Some(rest),
        None => (!is_of_index.iter().any(|start| text.starts_with(start))).then_some(text),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_indexes_change_no_answer() {
    let mut changed = 0;
    let seeds = std::env::var("BULKWIRE_RANDOM_SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    for (number, shape) in SHAPES.iter().enumerate() {
        for seed in 0..seeds {
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (number as u64 + 1) << 32 ^ (seed + 1));
            let (mut bare, mut keyed) = (Server::new(), Server::new());
            bare.run(BARE).await;
            keyed.run(shape).await;
            let mut history = vec![(*shape).to_owned()];
            for _ in 0..60 {
                let text = statement(&mut random);
                history.push(text.clone());
                let mut found = comparable(answer(&mut keyed.session, &text).await);
                // Only keys refuse duplicates: a heap is not given such a statement.
                let is_refused = found.iter().any(|line| line == "error: duplicate");
                let same = without_indexes(&text).filter(|own| !is_refused || *own != text);
                if let Some(same) = same {
                    if same != text {
                        found.retain(|line| !line.starts_with("error"));
                    }
                    let expected = comparable(answer(&mut bare.session, same).await);
                    changed += usize::from(
                        expected.iter().any(|line| line.starts_with("affected") && line != "affected 0"),
                    );
                    assert_eq!(found, expected, "after\n{}", history.join("\n"));
                }
                let all = "SELECT id, a, b, LEN(c) FROM t ORDER BY id; SELECT COUNT(*) FROM t";
                let (expected, found) = (bare.lines(all).await, keyed.lines(all).await);
                assert_eq!(found, expected, "after\n{}", history.join("\n"));
            }
            for server in [&mut bare, &mut keyed] {
                server.run("WHILE @@TRANCOUNT > 0 COMMIT").await;
                let rows = server.lines("SELECT COUNT(*) FROM t").await;
                let stored = server
                    .lines(
                        "SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('t') AND index_id < 2",
                    )
                    .await;
                assert_eq!(stored, rows);
                assert_eq!(server.engine().check().unwrap(), [], "after\n{}", history.join("\n"));
            }
        }
    }
    assert!(changed > 60, "{changed} statements changed rows");
}
