//! Stages: what they are like, and how they come into their tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use load::stage::{How, ObstacleKind, Script, StageError};
use load::{
    Client, Config, Ending, Error, LoadOptions, LoadPlan, LoadWay, Mode, ParallelOptions, ParallelSource,
    Published, RetryPolicy, Stage, StagePlan, Strategy, TableLoad, TableName, TableShape, WholeLoad, Writers,
};
use tds::Value;

use crate::fixture::{Fixture, PASSWORD};

/// A table with one of everything that a stage can have.
const RICH: &str = "
CREATE TYPE dbo.label FROM nvarchar(30) NOT NULL;
GO
CREATE TABLE dbo.parent (p int NOT NULL CONSTRAINT pk_parent PRIMARY KEY);
CREATE TABLE dbo.rich (
    id int IDENTITY(5, 2) NOT NULL,
    name nvarchar(20) COLLATE Latin1_General_BIN2 NOT NULL CONSTRAINT df_name DEFAULT N'x',
    price decimal(9, 2) NULL DEFAULT 0,
    tag dbo.label,
    twice AS (price * 2) PERSISTED,
    more AS price + 1,
    code uniqueidentifier ROWGUIDCOL DEFAULT newid(),
    version rowversion,
    p int NULL CONSTRAINT fk_parent REFERENCES dbo.parent(p) ON DELETE CASCADE,
    at datetime2(3) NULL, zone datetimeoffset(7) NULL, day date NULL, hour time(0) NULL,
    raw varbinary(max) NULL, fixed binary(3) NULL, doc xml NULL, wide varchar(max) NULL, r real NULL, f float NULL,
    m money NULL, bits bit NOT NULL,
    CONSTRAINT pk_rich PRIMARY KEY CLUSTERED (id DESC) WITH (FILLFACTOR = 80, DATA_COMPRESSION = PAGE),
    CONSTRAINT uq_rich UNIQUE (name, code),
    CONSTRAINT ck_rich CHECK (price > -5)
);
ALTER TABLE dbo.rich WITH NOCHECK ADD CONSTRAINT ck_loose CHECK (r > 0);
ALTER TABLE dbo.rich ADD CONSTRAINT ck_off CHECK (f > 0);
ALTER TABLE dbo.rich NOCHECK CONSTRAINT ck_off;
CREATE INDEX ix_rich ON dbo.rich (name, day DESC) INCLUDE (price) WHERE price > 0 WITH (FILLFACTOR = 70, DATA_COMPRESSION = ROW);
CREATE UNIQUE INDEX ux_rich ON dbo.rich (code) WITH (IGNORE_DUP_KEY = ON);
GO
CREATE TABLE dbo.heap (a int NULL, b char(4) NULL) WITH (DATA_COMPRESSION = ROW);
";

fn client(fixture: &Fixture) -> Client {
    Client::connect(&config(fixture)).unwrap()
}

fn config(fixture: &Fixture) -> Config {
    let url = fixture.url("Encrypt=Off").replace("sa@", &format!("sa:{PASSWORD}@"));
    Config::parse_with(&url, &|_| None).unwrap()
}

fn table(name: &str) -> TableName {
    name.parse().unwrap()
}

fn batch(rows: std::ops::Range<i32>, text: &str) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.clone()));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.map(|_| text)));
    let fields = vec![Field::new("id", DataType::Int32, false), Field::new("v", DataType::Utf8, true)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![ids, texts]).unwrap()
}

/// Chooses, makes and fills a stage.
fn staged(
    client: &mut Client,
    target: &str,
    mode: Mode,
    strategy: Strategy,
    rows: &RecordBatch,
) -> Result<Stage, Error> {
    let described = client.describe(&table(target))?;
    let options = LoadOptions::default();
    let plan = StagePlan::choose(client, &described, &rows.schema(), mode, strategy, &options)?;
    let stage = plan.stage(&described, "0badcafe-1").expect("a route by a stage");
    stage.create(client)?;
    let described = stage.describe(client)?;
    let plan = LoadPlan::new(client, &described, &rows.schema(), &options)?;
    let source = std::iter::once(Ok::<_, std::io::Error>(rows.clone()));
    load::load(client, &plan, source, &mut |_| {}).map_err(|error| error.source)?;
    Ok(stage)
}

fn publish(client: &mut Client, stage: &Stage) -> Result<Published, Error> {
    stage.build(client)?;
    stage.publish(client, &mut |_| Ok(()))
}

fn count(client: &mut Client, sql: &str) -> i64 {
    match &client.query_values(sql).unwrap()[0].rows[0][0] {
        Value::Int(count) => i64::from(*count),
        Value::BigInt(count) => *count,
        other => panic!("{other:?}"),
    }
}

/// The shape with its names as the original has them.
fn renamed(mut shape: TableShape, name: &TableName, suffix: &str) -> TableShape {
    let strip = |name: &mut String| {
        if let Some(kept) = name.strip_suffix(suffix) {
            *name = kept.to_owned();
        }
    };
    shape.name = name.clone();
    shape.columns.iter_mut().filter_map(|c| c.default.as_mut()).for_each(|d| strip(&mut d.name));
    shape.indexes.iter_mut().for_each(|index| strip(&mut index.name));
    shape.checks.iter_mut().for_each(|check| strip(&mut check.name));
    shape.foreign_keys.iter_mut().for_each(|key| strip(&mut key.name));
    shape
}

#[test]
fn a_table_made_from_a_shape_has_that_shape() {
    let fixture = Fixture::new();
    fixture.file("rich.sql", RICH);
    fixture.ok(&["query", "-f", "rich.sql"]);
    let mut client = client(&fixture);
    for name in ["dbo.rich", "dbo.heap", "dbo.parent"] {
        let mut shape = TableShape::read(&mut client, &table(name)).unwrap();
        // Others refer to the parent, and not to its copy.
        shape.obstacles.retain(|obstacle| obstacle.kind != ObstacleKind::ReferringKey);
        assert_eq!(shape.obstacles, [], "{name}");
        let suffix = "__again";
        let copy = TableName { name: format!("{}{suffix}", shape.name.name), ..shape.name.clone() };
        let script = Script { shape: &shape, table: &copy, suffix };
        let statements: Vec<String> =
            [vec![script.create()], script.indexes(), script.constraints()].concat();
        for statement in &statements {
            client.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
        // A second run builds nothing.
        for statement in &statements[1..] {
            client.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
        let read = TableShape::read(&mut client, &copy).unwrap();
        assert_eq!(renamed(read, &shape.name, suffix), shape, "{name}");
    }
}

/// A reproducible source of numbers below a bound (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }

    fn half(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// CREATE TABLE of any columns, keys and indexes.
fn any_table(name: &str, numbers: &mut Numbers) -> Vec<String> {
    let types = [
        "int",
        "bigint",
        "smallint",
        "tinyint",
        "bit",
        "decimal(19, 4)",
        "numeric(5, 0)",
        "money",
        "smallmoney",
        "float",
        "real",
        "date",
        "datetime",
        "smalldatetime",
        "datetime2(3)",
        "time(7)",
        "datetimeoffset(2)",
        "char(5)",
        "varchar(40)",
        "nchar(3)",
        "nvarchar(25)",
        "nvarchar(max)",
        "varbinary(16)",
        "binary(4)",
        "uniqueidentifier",
        "varchar(max)",
        "varbinary(max)",
        "sql_variant",
        "xml",
    ];
    let mut columns =
        vec!["k0 int NOT NULL".to_owned(), "k1 varchar(20) NOT NULL".to_owned(), "k2 date NULL".to_owned()];
    for index in 0..numbers.below(8) {
        let sql_type = numbers.of(&types);
        let is_text = sql_type.contains("char");
        let collation = if is_text && numbers.half() { " COLLATE Latin1_General_100_CI_AI" } else { "" };
        let null = if numbers.half() { "NULL" } else { "NOT NULL" };
        let default = match (numbers.below(3), sql_type) {
            (0, "int" | "bigint" | "float") => {
                format!(" CONSTRAINT [df {name} {index}] DEFAULT ({index} + 1)")
            }
            (0, _) if is_text => " DEFAULT 'it''s'".to_owned(),
            _ => String::new(),
        };
        columns.push(format!("[c {index}] {sql_type}{collation} {null}{default}"));
    }
    if numbers.half() {
        columns.push("made AS (k0 * 2)".to_owned());
    }
    let compression = numbers.of(&["NONE", "ROW", "PAGE"]);
    let clustered = numbers.below(3);
    let clustering = if clustered == 1 { "CLUSTERED" } else { "NONCLUSTERED" };
    if clustered != 2 || numbers.half() {
        let order = numbers.of(&["k0", "k0 DESC", "k0, k1", "k1 DESC, k0"]);
        columns.push(format!("CONSTRAINT [pk {name}] PRIMARY KEY {clustering} ({order})"));
    }
    if numbers.half() {
        columns.push(format!("CONSTRAINT ck_{name} CHECK (k0 > {})", numbers.below(100)));
    }
    let compressed = if clustered == 1 { "NONE" } else { compression };
    let mut all = vec![format!(
        "CREATE TABLE dbo.{name} ({}) WITH (DATA_COMPRESSION = {compressed})",
        columns.join(", ")
    )];
    if clustered == 2 {
        let unique = numbers.of(&["", "UNIQUE "]);
        all.push(format!(
            "CREATE {unique}CLUSTERED INDEX cx ON dbo.{name} (k1, k0) WITH (DATA_COMPRESSION = {compression})"
        ));
    }
    for index in 0..numbers.below(3) {
        let included = numbers.of(&["", " INCLUDE (k2)"]);
        let filter = numbers.of(&["", " WHERE k0 > 5", " WHERE k0 IS NOT NULL"]);
        let options = numbers.of(&["", " WITH (FILLFACTOR = 60)", " WITH (DATA_COMPRESSION = PAGE)"]);
        all.push(format!("CREATE INDEX [ix {index}] ON dbo.{name} (k1 DESC){included}{filter}{options}"));
    }
    all
}

#[test]
fn any_shape_comes_back_from_its_script() {
    let fixture = Fixture::new();
    let mut client = client(&fixture);
    let mut numbers = Numbers(0x2545_F491_4F6C_DD1D);
    for round in 0..60 {
        let name = format!("t{round}");
        let statements = any_table(&name, &mut numbers);
        for statement in &statements {
            client.execute(statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
        let shape = TableShape::read(&mut client, &table(&format!("dbo.{name}"))).unwrap();
        let copy = TableName { name: format!("{name}__b"), ..shape.name.clone() };
        let script = Script { shape: &shape, table: &copy, suffix: "__b" };
        for statement in [vec![script.create()], script.indexes(), script.constraints()].concat() {
            client.execute(&statement).unwrap_or_else(|error| panic!("{error}\n{statement}"));
        }
        let read = TableShape::read(&mut client, &copy).unwrap();
        assert_eq!(renamed(read, &shape.name, "__b"), shape, "{statements:#?}");
    }
}

#[test]
fn readers_of_a_replaced_table_see_the_old_rows_or_the_new() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, v nvarchar(10) NULL CONSTRAINT df_t DEFAULT N'-', \
         CONSTRAINT ck_t CHECK (id >= 0)); CREATE INDEX ix_t ON dbo.t (v)",
    );
    let mut client = client(&fixture);
    let shape = TableShape::read(&mut client, &table("dbo.t")).unwrap();
    let first = batch(0..1_000, "old");
    let stage = staged(&mut client, "dbo.t", Mode::Append, Strategy::Swap, &first).unwrap();
    assert_eq!(publish(&mut client, &stage).unwrap().inserted, 1_000);
    assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE v = N'old'"), 1_000);

    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut client = self::client(&fixture);
            let mut seen = Vec::new();
            while !done.load(Ordering::SeqCst) || seen.len() < 3 {
                let rows = client
                    .query_values("SELECT COUNT(*), COUNT(CASE WHEN v = N'old' THEN 1 END) FROM dbo.t")
                    .unwrap();
                let row = &rows[0].rows[0];
                assert!(
                    matches!(
                        row[..],
                        [Value::Int(1_000), Value::Int(1_000)]
                            | [Value::Int(3_000), Value::Int(0)]
                            | [Value::Int(500), Value::Int(0)]
                    ),
                    "{row:?}"
                );
                seen.push(row.clone());
            }
        });
        for (rows, strategy) in
            [(3_000, Strategy::Auto), (500, Strategy::Swap), (3_000, Strategy::HeapThenKey)]
        {
            let rows = batch(0..rows, "new");
            let stage = staged(&mut client, "dbo.t", Mode::Replace, strategy, &rows).unwrap();
            let published = publish(&mut client, &stage).unwrap();
            assert_eq!(published.inserted, rows.num_rows() as u64);
            assert!(!stage.exists(&mut client).unwrap());
        }
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    // Names and all else are as before.
    assert_eq!(TableShape::read(&mut client, &table("dbo.t")).unwrap(), shape);
    assert_eq!(Stage::find_all(&mut client).unwrap(), []);
}

#[test]
fn a_load_that_dies_before_it_publishes_leaves_its_target_alone_and_a_stage_to_be_found() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL)");
    fixture.sql("INSERT INTO dbo.t VALUES (1, N'old')");
    let mut dying = client(&fixture);
    let stage = staged(&mut dying, "dbo.t", Mode::Replace, Strategy::Auto, &batch(0..10, "new")).unwrap();
    stage.build(&mut dying).unwrap();
    // In the transaction itself, behind every statement of it but COMMIT.
    let failed = stage.publish(&mut dying, &mut |_| Err(Error::Cancelled)).unwrap_err();
    assert!(matches!(failed, Error::Cancelled), "{failed}");
    drop(dying);
    let mut other = client(&fixture);
    assert_eq!(count(&mut other, "SELECT COUNT(*) FROM dbo.t WHERE v = N'old'"), 1);
    let found = Stage::find_all(&mut other).unwrap();
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!(found.name, table("dbo.t__bulkwire_0badcafe"));
    assert_eq!((found.load_id.as_str(), found.target.as_str()), ("0badcafe-1", "[dbo].[t]"));
    assert_eq!((found.mode.as_str(), found.strategy.as_str(), found.rows), ("replace", "heap-then-key", 10));
    found.drop(&mut other).unwrap();
    assert!(!stage.exists(&mut other).unwrap());
}

#[test]
fn what_only_a_switch_keeps_is_there_afterwards_or_the_publication_is_refused() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, v nvarchar(10) NULL, twice AS (id * 2) PERSISTED, \
         CONSTRAINT ck_t CHECK (id > -1)); CREATE INDEX ix_t ON dbo.t (v) WHERE id > 3; INSERT INTO dbo.t VALUES (1, N'old'); \
         EXEC sp_addextendedproperty 'about', 'a table', 'SCHEMA', 'dbo', 'TABLE', 't', 'COLUMN', 'v'",
    );
    fixture.sql("CREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS PRINT 'inserted'");
    let mut client = client(&fixture);
    let shape = TableShape::read(&mut client, &table("dbo.t")).unwrap();
    let kinds = [ObstacleKind::Trigger, ObstacleKind::ExtendedProperty];
    assert_eq!(shape.obstacles_to_rename().iter().map(|obstacle| obstacle.kind).collect::<Vec<_>>(), kinds);
    for strategy in [Strategy::HeapThenKey, Strategy::Swap] {
        let stage = staged(&mut client, "dbo.t", Mode::Replace, strategy, &batch(0..10, "new")).unwrap();
        match publish(&mut client, &stage) {
            Ok(published) => {
                assert_eq!((published.inserted, published.how), (10, How::Switched));
                assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE v = N'new'"), 10);
            }
            // A server that does not switch.
            Err(failed) => {
                assert_eq!(obstacles(&failed), kinds, "{failed}");
                assert!(failed.to_string().contains("Incorrect syntax near 'SWITCH'"), "{failed}");
                assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE v = N'old'"), 1);
                stage.drop(&mut client).unwrap();
            }
        }
        assert_eq!(TableShape::read(&mut client, &table("dbo.t")).unwrap(), shape);
    }
}

#[test]
fn a_ledger_row_is_written_in_the_transaction_of_the_publication() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL); CREATE TABLE dbo.ledger (n int)");
    let mut client = client(&fixture);
    let stage = staged(&mut client, "dbo.t", Mode::Replace, Strategy::Auto, &batch(0..10, "new")).unwrap();
    stage.build(&mut client).unwrap();
    let mut open = Vec::new();
    let published = stage.publish(&mut client, &mut |client| {
        open.push(client.in_transaction());
        client.execute("INSERT INTO dbo.ledger VALUES (10)").map(|_| ())
    });
    assert!(matches!(published.unwrap().how, How::Switched | How::Renamed { .. }));
    assert_eq!(open, [true]);
    assert_eq!(count(&mut client, "SELECT SUM(n) FROM dbo.ledger"), 10);
}

#[test]
fn an_identity_goes_on_where_the_stage_ended() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (n int IDENTITY(10, 5) NOT NULL, id int NOT NULL, v nvarchar(10) NULL)");
    let mut client = client(&fixture);
    for rows in [4, 2] {
        let rows = batch(0..rows, "new");
        let stage = staged(&mut client, "dbo.t", Mode::Replace, Strategy::Auto, &rows).unwrap();
        publish(&mut client, &stage).unwrap();
        assert_eq!(count(&mut client, "SELECT MIN(n) FROM dbo.t"), 10);
        let last = 10 + 5 * (rows.num_rows() as i64 - 1);
        assert_eq!(count(&mut client, "SELECT MAX(n) FROM dbo.t"), last);
        client.execute("INSERT INTO dbo.t (id, v) VALUES (-1, N'later')").unwrap();
        assert!((last + 5..=last + 10).contains(&count(&mut client, "SELECT MAX(n) FROM dbo.t")));
    }
}

fn obstacles(error: &Error) -> Vec<ObstacleKind> {
    let (Error::Stage(error), mut kinds) = (error, Vec::new()) else { panic!("{error}") };
    if let StageError::Obstacles { obstacles, .. } | StageError::NoWayToPublish { obstacles, .. } = &**error {
        kinds = obstacles.iter().map(|obstacle| obstacle.kind).collect();
    }
    kinds
}

#[test]
fn what_a_stage_cannot_keep_is_refused_by_name() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL); \
         CREATE TABLE dbo.child (id int NOT NULL CONSTRAINT fk_child REFERENCES dbo.t (id))",
    );
    let mut client = client(&fixture);
    let rows = batch(0..2, "new");
    let failed = staged(&mut client, "dbo.t", Mode::Replace, Strategy::Auto, &rows).unwrap_err();
    assert_eq!(obstacles(&failed), [ObstacleKind::ReferringKey]);
    assert_eq!(
        failed.to_string(),
        "a stage cannot take the place of [dbo].[t]: a foreign key refers to it (fk_child of dbo.child)"
    );
    for (sql, column) in [
        ("CREATE VIEW dbo.v AS SELECT 1 AS id, N'' AS v", "dbo.v"),
        ("CREATE TABLE #t (id int NOT NULL, v nvarchar(10) NULL)", "#t"),
    ] {
        client.execute(sql).unwrap();
        let failed = staged(&mut client, column, Mode::Replace, Strategy::Auto, &rows).unwrap_err();
        assert_eq!(obstacles(&failed).len(), 1, "{failed}");
    }
}

#[test]
fn a_stage_for_an_empty_table_does_not_bury_rows_that_came_meanwhile() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL)");
    let mut client = client(&fixture);
    let stage =
        staged(&mut client, "dbo.t", Mode::Append, Strategy::HeapThenKey, &batch(0..10, "new")).unwrap();
    client.execute("INSERT INTO dbo.t VALUES (77, N'other')").unwrap();
    let failed = publish(&mut client, &stage).unwrap_err();
    let Error::Stage(error) = &failed else { panic!("{failed}") };
    assert!(matches!(**error, StageError::NoLongerEmpty { .. }), "{failed}");
    assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t"), 1);
    stage.drop(&mut client).unwrap();
    let failed =
        staged(&mut client, "dbo.t", Mode::Append, Strategy::HeapThenKey, &batch(0..10, "new")).unwrap_err();
    assert!(failed.to_string().contains("needs an empty table"), "{failed}");
}

#[test]
fn an_upsert_leaves_rows_alone_that_do_not_differ_by_a_byte() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL, other int NULL); \
         INSERT INTO dbo.t VALUES (0, N'a', 7), (1, N'A', 7), (2, N'a ', 7), (3, NULL, 7), (9, N'a', 7)",
    );
    let mut client = client(&fixture);
    let key = || vec!["ID".to_owned()];
    let rows = batch(0..6, "a");
    let stage = staged(&mut client, "dbo.t", Mode::Upsert { keys: key() }, Strategy::Auto, &rows).unwrap();
    let published = publish(&mut client, &stage).unwrap();
    let expected =
        Published { inserted: 2, updated: 3, unchanged: 1, deleted: 0, missing: 0, how: How::Merged };
    assert_eq!(published, expected);
    assert_eq!(
        fixture.rows("SELECT * FROM dbo.t ORDER BY id"),
        "0,a,7\n1,a,7\n2,a,7\n3,a,7\n4,a,\n5,a,\n9,a,7\n"
    );

    let rows = batch(4..8, "b");
    let stage = staged(&mut client, "dbo.t", Mode::InsertNew { keys: key() }, Strategy::Auto, &rows).unwrap();
    let published = publish(&mut client, &stage).unwrap();
    let expected =
        Published { inserted: 2, updated: 0, unchanged: 2, deleted: 0, missing: 0, how: How::Merged };
    assert_eq!(published, expected);
    assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE v = N'b'"), 2);

    let twice = RecordBatch::try_new(
        rows.schema(),
        vec![Arc::new(Int32Array::from(vec![1, 2, 2])), Arc::new(StringArray::from(vec!["x", "y", "z"]))],
    );
    for mode in [Mode::Upsert { keys: key() }, Mode::InsertNew { keys: key() }] {
        let stage = staged(&mut client, "dbo.t", mode, Strategy::Auto, twice.as_ref().unwrap()).unwrap();
        let failed = publish(&mut client, &stage).unwrap_err();
        assert_eq!(failed.to_string(), "2 rows of the source have the key (2); only one row can win");
        stage.drop(&mut client).unwrap();
    }
    assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE v IN (N'x', N'y', N'z')"), 0);
}

#[test]
fn upserts_into_one_table_at_the_same_time_take_turns() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL)");
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let fixture = &fixture;
                scope.spawn(move || {
                    let mut client = client(fixture);
                    let rows = batch(writer * 50..writer * 50 + 100, "v");
                    let mode = Mode::Upsert { keys: vec!["id".to_owned()] };
                    let load = WholeLoad {
                        table: &table("dbo.t"),
                        way: LoadWay { mode, strategy: Strategy::Auto, is_named: true },
                        options: &LoadOptions::default(),
                        writers: Some(1),
                        retry: RetryPolicy::NONE,
                        ledger: None,
                        watch: &(),
                        order: &(),
                    };
                    let source = [Ok::<_, std::io::Error>(rows.clone())].into_iter();
                    let done = load::load_whole(&mut client, &load, &rows.schema(), source, &mut |_| {});
                    done.unwrap().published.unwrap()
                })
            })
            .collect();
        let all: Vec<Published> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        assert_eq!(all.iter().map(|published| published.inserted).sum::<u64>(), 250);
        assert_eq!(all.iter().map(|published| published.unchanged).sum::<u64>(), 150);
    });
    let mut client = client(&fixture);
    assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t"), 250);
    assert_eq!(Stage::find_all(&mut client).unwrap(), []);
}

#[test]
fn a_stage_is_part_of_a_transaction_that_is_open() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL); INSERT INTO dbo.t VALUES (1, N'old')");
    let mut client = client(&fixture);
    for commits in [false, true] {
        client.begin(tds::Isolation::Current).unwrap();
        let stage = staged(&mut client, "dbo.t", Mode::Replace, Strategy::Auto, &batch(0..5, "new")).unwrap();
        publish(&mut client, &stage).unwrap();
        assert!(client.in_transaction());
        if commits {
            client.commit().unwrap()
        } else {
            client.rollback().unwrap()
        }
        let rows = if commits { 5 } else { 1 };
        assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t"), rows);
        assert_eq!(Stage::find_all(&mut client).unwrap(), []);
    }
}

#[test]
fn rows_that_came_meanwhile_do_not_make_a_load_fail_that_chose_its_stage_itself() {
    let fixture = Fixture::new();
    let mut client = client(&fixture);
    for (meanwhile, expected) in
        [("", How::Switched), ("INSERT dbo.t VALUES (-1, N'other', 'x')", How::Inserted { refusal: None })]
    {
        fixture.sql(
            "DROP TABLE IF EXISTS dbo.t; CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL, \
             w varchar(5) DEFAULT 'y', x AS id + 1)",
        );
        let rows = batch(0..100, "v");
        let mut options = LoadOptions { may_stage: true, ..LoadOptions::default() }.with_writers(Some(2));
        options.source.bytes = Some(1 << 30);
        let mut load = TableLoad::new(table("dbo.t"), LoadWay::default(), None);
        load.choose(&mut client, &rows.schema(), &options).unwrap();
        assert!(load.stage().is_some());
        load.make_stage(&mut client).unwrap();
        let plan = load.plan(&mut client, &rows.schema(), &options).unwrap();
        let source =
            ParallelSource { plan, tolerance: None, batches: Box::new([Ok(rows.into())].into_iter()) };
        let parallel = ParallelOptions { writers: Writers::Fixed(2), ..ParallelOptions::default() };
        load.load(&mut client, vec![source], &parallel, &mut |_| {}).unwrap();
        if !meanwhile.is_empty() {
            fixture.sql(meanwhile);
        }
        let ended = load.finish(&mut client, RetryPolicy::NONE, &mut |_| {}).unwrap();
        let Ending::Published(published) = ended else { panic!("{ended:?}") };
        assert_eq!((published.inserted, published.how), (100, expected));
        let others = i64::from(!meanwhile.is_empty());
        assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t"), 100 + others);
        assert_eq!(count(&mut client, "SELECT COUNT(*) FROM dbo.t WHERE w = 'y' AND x = id + 1"), 100);
        assert_eq!(Stage::find_all(&mut client).unwrap(), []);
    }
}

/// What a load of these rows, of about 7.6 kB each, has chosen: whether a stage, and whether ORDER.
fn chosen(client: &mut Client, ids: &[i32], writers: Option<usize>, options: &LoadOptions) -> (bool, bool) {
    let filler = "x".repeat(7_600);
    let batches: Vec<RecordBatch> = ids
        .chunks(500)
        .map(|ids| {
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(ids.iter().map(|_| &filler)));
            let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
            RecordBatch::try_from_iter([("id", ids), ("v", texts)]).unwrap()
        })
        .collect();
    let load = WholeLoad {
        table: &table("dbo.t"),
        way: LoadWay::default(),
        options: &LoadOptions { may_stage: true, ..options.clone() }.with_writers(writers),
        writers,
        retry: RetryPolicy::NONE,
        ledger: None,
        watch: &(),
        order: &(),
    };
    let schema = batches[0].schema();
    let source = batches.into_iter().map(Ok::<_, std::io::Error>);
    let done = load::load_whole(client, &load, &schema, source, &mut |_| {}).unwrap();
    let plan = done.plan.to_string();
    let (rows, sum) = (ids.len() as i64, ids.iter().map(|id| i64::from(*id)).sum::<i64>());
    assert_eq!(count(client, "SELECT COUNT_BIG(*) FROM dbo.t"), rows);
    assert_eq!(count(client, "SELECT SUM(CAST(id AS bigint)) FROM dbo.t"), sum);
    assert_eq!(done.published.is_some(), plan.contains("heap-then-key"), "{plan}");
    client.execute("TRUNCATE TABLE dbo.t").unwrap();
    (done.published.is_some(), !done.plan.hints.order.is_empty())
}

#[test]
fn rows_that_come_as_a_stream_are_looked_at_before_their_way_is_chosen() {
    // More than a batch of a table with rows of this estimate, and more than is read ahead.
    const MANY: i32 = 9_000;
    let fixture = Fixture::new();
    let mut client = client(&fixture);
    fixture.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v varchar(8000) NOT NULL)");
    let rising = |count: i32| (0..count).collect::<Vec<_>>();
    let scattered = |count: i32| (0..count).map(|row| row * 7919 % count).collect::<Vec<_>>();
    let defaults = LoadOptions::default();
    for writers in [Some(1), Some(2), None] {
        assert_eq!(chosen(&mut client, &scattered(MANY), writers, &defaults), (true, false), "{writers:?}");
        // Few rows are all read ahead, and then their order is known.
        assert_eq!(chosen(&mut client, &scattered(200), writers, &defaults), (false, false), "{writers:?}");
        assert_eq!(chosen(&mut client, &rising(200), writers, &defaults), (false, true), "{writers:?}");
    }
    for writers in [Some(1), None] {
        assert_eq!(chosen(&mut client, &rising(MANY), writers, &defaults), (false, false), "{writers:?}");
    }
    // A number of rows says when they are to be seen.
    let batches = LoadOptions { batch_rows: Some(1_000), ..LoadOptions::default() };
    assert_eq!(chosen(&mut client, &scattered(MANY), Some(1), &batches), (false, false));
    // Other indexes take the rows one by one in any order.
    let sorted = LoadOptions { order: vec![("id".to_owned(), false)], ..LoadOptions::default() };
    for (create, is_keyed) in [
        ("(id int NOT NULL, v varchar(8000) NOT NULL)", false),
        ("(id int NOT NULL PRIMARY KEY, v varchar(8000) NOT NULL)", true),
    ] {
        fixture.sql(&format!("DROP TABLE dbo.t; CREATE TABLE dbo.t {create}; CREATE INDEX i ON dbo.t (id)"));
        for writers in [Some(1), None] {
            assert_eq!(chosen(&mut client, &rising(MANY), writers, &defaults), (true, false), "{create}");
            assert!(!chosen(&mut client, &rising(200), writers, &defaults).0, "{create}");
            if is_keyed {
                assert!(chosen(&mut client, &rising(MANY), writers, &sorted).0, "{create}");
            }
        }
    }
    fixture
        .sql("DROP TABLE dbo.t; CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v varchar(8000) NOT NULL)");
    client.begin(tds::Isolation::Current).unwrap();
    assert_eq!(chosen(&mut client, &scattered(MANY), Some(1), &defaults), (false, false));
    client.rollback().unwrap();
    assert_eq!(Stage::find_all(&mut client).unwrap(), []);
}
