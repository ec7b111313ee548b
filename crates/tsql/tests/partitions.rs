//! Partition functions, schemes, and what names partitions.

#![allow(clippy::unwrap_used, clippy::panic)]

use bulkwire_tsql::ast::{AlterAction, ConstraintKind, StatementKind};
use bulkwire_tsql::expression::Expr;
use bulkwire_tsql::index::IndexAction;
use bulkwire_tsql::parse_batch;
use bulkwire_tsql::partition::{LockEscalation, PartitionStatement, WrittenScheme};

fn one(text: &str) -> StatementKind {
    let mut statements = parse_batch(text, true).unwrap();
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0).kind
}

fn partition(text: &str) -> PartitionStatement {
    match one(text) {
        StatementKind::Partition(statement) => *statement,
        other => panic!("{text}: {other:?}"),
    }
}

fn scheme(name: &str, column: &str) -> Option<WrittenScheme> {
    Some(WrittenScheme { name: name.to_owned(), columns: vec![column.to_owned()] })
}

#[test]
fn functions_say_their_type_their_side_and_their_boundaries() {
    for (text, right, values) in [
        ("CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (1, 2)", false, 2),
        ("create partition function [f] (int) as range for values (1)", false, 1),
        ("CREATE PARTITION FUNCTION f (datetime2(3)) AS RANGE RIGHT FOR VALUES ()", true, 0),
        (
            "CREATE PARTITION FUNCTION f (char(2) COLLATE Latin1_General_BIN2) AS RANGE RIGHT FOR VALUES ('a', NULL)",
            true,
            2,
        ),
        ("CREATE PARTITION FUNCTION f (date) AS RANGE LEFT FOR VALUES (DATEADD(day, 1, @d));", false, 1),
    ] {
        let PartitionStatement::CreateFunction(create) = partition(text) else { panic!("{text}") };
        assert_eq!((create.name.as_str(), create.right, create.values.len()), ("f", right, values), "{text}");
        assert_eq!(create.parameters.len(), 1, "{text}");
        assert_eq!(create.collation.is_some(), text.contains("COLLATE"), "{text}");
    }
}

#[test]
fn schemes_name_file_groups() {
    let PartitionStatement::CreateScheme { name, function, all, groups } =
        partition("CREATE PARTITION SCHEME s AS PARTITION f TO ([PRIMARY], [primary], fg2, \"default\")")
    else {
        panic!("no scheme")
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!((name.as_str(), function.as_str(), all), ("s", "f", false));
    assert_eq!(groups, [named("PRIMARY"), named("primary"), named("fg2"), None]);
    let next = |text: &str| match partition(text) {
        PartitionStatement::NextUsed { group, .. } => group,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(next("ALTER PARTITION SCHEME s NEXT USED fg2"), Some(named("fg2")));
    assert_eq!(next("ALTER PARTITION SCHEME s NEXT USED [PRIMARY]"), Some(named("PRIMARY")));
    assert_eq!(next("ALTER PARTITION SCHEME s NEXT USED;"), None);
    // The next statement is no file group.
    assert_eq!(parse_batch("ALTER PARTITION SCHEME s NEXT USED SELECT 1", true).unwrap().len(), 2);
}

#[test]
fn boundaries_come_and_go() {
    let split = partition("ALTER PARTITION FUNCTION f() SPLIT RANGE (5)");
    assert!(matches!(split, PartitionStatement::Split { value: Some(Expr::Literal(_)), .. }), "{split:?}");
    let merge = partition("ALTER PARTITION FUNCTION f () MERGE RANGE (@v)");
    assert!(matches!(merge, PartitionStatement::Merge { value: Some(Expr::Variable(_)), .. }), "{merge:?}");
    let empty = partition("ALTER PARTITION FUNCTION f () SPLIT RANGE ()");
    assert!(matches!(empty, PartitionStatement::Split { value: None, .. }), "{empty:?}");
    assert_eq!(partition("DROP PARTITION FUNCTION f"), PartitionStatement::DropFunction("f".to_owned()));
    assert_eq!(partition("DROP PARTITION SCHEME s"), PartitionStatement::DropScheme("s".to_owned()));
}

#[test]
fn tables_keys_and_indexes_go_on_schemes() {
    let text = "CREATE TABLE t (a int PRIMARY KEY NONCLUSTERED ON s1(a), b int, UNIQUE (b, a) ON [PRIMARY]) ON s2([b]) WITH (DATA_COMPRESSION = PAGE)";
    let StatementKind::CreateTable(create) = one(text) else { panic!("no table") };
    assert_eq!((create.scheme, create.file_groups.rows), (scheme("s2", "b"), None));
    let key = |kind: &ConstraintKind| match kind {
        ConstraintKind::Key { group, scheme, .. } => (group.clone(), scheme.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(key(&create.columns[0].constraints[0].kind), (None, scheme("s1", "a")));
    assert_eq!(key(&create.constraints[0].kind), (Some(Some("PRIMARY".to_owned())), None));
    for (text, wanted, group) in [
        ("CREATE INDEX i ON t (a) ON s(a)", scheme("s", "a"), None),
        (
            "CREATE UNIQUE CLUSTERED INDEX i ON t (a) WITH (DROP_EXISTING = ON) ON [s] ([a])",
            scheme("s", "a"),
            None,
        ),
        ("CREATE INDEX i ON t (a) ON fg2", None, Some(Some("fg2".to_owned()))),
        ("CREATE INDEX i ON t (a)", None, None),
    ] {
        let StatementKind::CreateIndex(index) = one(text) else { panic!("{text}") };
        assert_eq!((index.scheme, index.group), (wanted, group), "{text}");
    }
}

#[test]
fn statements_name_partitions() {
    for (text, from, to) in [
        ("ALTER TABLE a SWITCH TO b", false, false),
        ("ALTER TABLE a SWITCH PARTITION 2 TO dbo.b", true, false),
        ("ALTER TABLE a SWITCH TO b PARTITION $PARTITION.f('2024-01-01')", false, true),
        ("ALTER TABLE a SWITCH PARTITION @n + 1 TO b PARTITION 3;", true, true),
    ] {
        let StatementKind::AlterTable { action: AlterAction::SwitchRows(switch), .. } = one(text) else {
            panic!("{text}")
        };
        assert_eq!((switch.from.is_some(), switch.to.is_some()), (from, to), "{text}");
    }
    let StatementKind::TruncateTable { partitions, .. } =
        one("TRUNCATE TABLE t WITH (PARTITIONS (1, 3 TO 5, @n))")
    else {
        panic!("no TRUNCATE")
    };
    let spans: Vec<bool> = partitions.iter().map(|span| span.to.is_some()).collect();
    assert_eq!(spans, [false, true, false]);
    let StatementKind::AlterIndex(index) =
        one("ALTER INDEX i ON t REBUILD PARTITION = 3 WITH (DATA_COMPRESSION = PAGE)")
    else {
        panic!("no REBUILD")
    };
    let IndexAction::Rebuild(rebuild) = index.action else { panic!("no REBUILD") };
    assert_eq!(
        (rebuild.partition, rebuild.settings.compression),
        (Some(3), Some(bulkwire_tsql::index::DataCompression::Page))
    );
    let escalation = |text: &str| match one(text) {
        StatementKind::AlterTable { action: AlterAction::LockEscalation(escalation), .. } => escalation,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(escalation("ALTER TABLE t SET (LOCK_ESCALATION = AUTO)"), LockEscalation::Auto);
    assert_eq!(escalation("ALTER TABLE t SET (LOCK_ESCALATION = TABLE)"), LockEscalation::Table);
    let refused = one("ALTER TABLE t SET (LOCK_ESCALATION = DISABLE)");
    assert!(matches!(&refused, StatementKind::Unsupported(error) if error.number == 40515), "{refused:?}");
}

#[test]
fn calls_of_partition_functions_keep_their_database() {
    for (text, database) in [
        ("$PARTITION.f(1)", None),
        ("db.$PARTITION.f(1)", Some("db")),
        ("dbo.f(1)", None),
        ("db.dbo.f(1)", Some("db")),
    ] {
        let Expr::Function(call) = bulkwire_tsql::parse_expression(text).unwrap() else { panic!("{text}") };
        assert_eq!((call.database.as_deref(), call.name.as_str()), (database, "f"), "{text}");
    }
}

#[test]
fn what_is_not_in_the_grammar_is_refused() {
    for (text, number) in [
        ("CREATE PARTITION FUNCTION f () AS RANGE LEFT FOR VALUES (1)", 7702),
        ("CREATE PARTITION FUNCTION f (int) AS LIST FOR VALUES (1)", 102),
        ("CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES", 156),
        ("CREATE PARTITION FUNCTION dbo.f (int) AS RANGE LEFT FOR VALUES (1)", 102),
        ("CREATE PARTITION SCHEME s AS PARTITION f TO ()", 102),
        ("CREATE PARTITION t", 102),
        ("ALTER PARTITION FUNCTION f SPLIT RANGE (1)", 102),
        ("ALTER PARTITION FUNCTION f () RANGE (1)", 102),
        ("DROP PARTITION FUNCTION IF EXISTS f", 156),
        ("ALTER TABLE t SET (LOCK_ESCALATION = ROW)", 102),
        ("ALTER INDEX i ON t REBUILD PARTITION = 3 WITH (FILLFACTOR = 80)", 155),
        ("CREATE PARTITION SCHEME s AS PARTITION f TO (PRIMARY)", 156),
        ("TRUNCATE TABLE t WITH (PARTITIONS ())", 102),
        ("CREATE TABLE t (a varchar(max)) TEXTIMAGE_ON s(a)", 102),
    ] {
        let found = parse_batch(text, true).map_err(|error| error.number);
        assert_eq!(found.err(), Some(number), "{text}");
    }
}
