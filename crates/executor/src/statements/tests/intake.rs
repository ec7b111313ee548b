//! Each reason for which rows are decoded, as a table of cases.

use tds::{Collation, Column, Length, SqlType, TypeInfo};
use tsql::ObjectName;

use crate::statements::dml::destination;
use crate::statements::evaluation::resolve;
use crate::statements::tests::Bench;
use databases::table::WriteOptions;
use databases::table::{DecodeReason, Intake, LoadFacts};

/// What is done to the columns of the stream, which are those of the table otherwise.
type Change = fn(&mut Vec<Column>);

fn as_declared(_: &mut Vec<Column>) {}

fn typed(columns: &mut [Column], at: usize, sql_type: SqlType) {
    columns[at].type_info = TypeInfo::new(sql_type, true, Some(Collation::default()));
}

/// What a load into table `t`, which a text makes, decides. The hints are CHECK_CONSTRAINTS, and FIRE_TRIGGERS with a trigger to fire.
async fn decided(made: &str, change: Change, hints: [bool; 2]) -> Option<DecodeReason> {
    let [check_constraints, fires_triggers] = hints;
    let mut bench = Bench::new();
    bench.run(made).await.unwrap();
    let table = resolve::opened(&bench.session, &ObjectName::bare("t".to_string())).unwrap();
    let options = WriteOptions { check_constraints, ..destination::write_options("INSERT", "INSERT") };
    let mark = bench.session.work.start_statement().unwrap();
    let writer = destination::writer_with(&mut bench.session, &table, &bench.frame, options, false).unwrap();
    let mut columns: Vec<Column> = table.definition.columns.iter().map(|column| column.wire()).collect();
    change(&mut columns);
    // The stream names the table's columns in their order, unless one of them is `second`.
    let position = |column: &Column| table.definition.position(&column.name).unwrap();
    let positions: Vec<usize> = columns.iter().map(position).collect();
    let load = LoadFacts { columns: &columns, positions: &positions, fires_triggers };
    let intake = writer.intake(load).unwrap();
    drop(writer);
    bench.session.work.end_statement(&mark, false).unwrap();
    match intake {
        Intake::Copy(_) => None,
        Intake::Decode(reason) => Some(reason),
    }
}

const PLAIN: &str = "CREATE TABLE t (a int NOT NULL, b varchar(10) NULL, c nvarchar(10) NULL, d money NULL)";
const NONE: [bool; 2] = [false; 2];

#[tokio::test]
async fn rows_that_need_nothing_are_copied() {
    let copied: [(&str, Change); 11] = [
        (PLAIN, as_declared),
        // A value of fixed width may come anywhere.
        (PLAIN, |columns| columns.swap(0, 3)),
        // Values say how long they are, so that the stream may declare more or less than the table.
        (PLAIN, |columns| typed(columns, 2, SqlType::NVarChar { length: Length::Units(4000) })),
        (PLAIN, |columns| typed(columns, 2, SqlType::NChar { length: 4 })),
        // A NULL, for which the default would stand, is a matter of its row.
        ("CREATE TABLE t (a int NULL DEFAULT 1)", as_declared),
        // Numeric is another name.
        ("CREATE TABLE t (a decimal(9, 2) NULL)", |columns| {
            typed(columns, 0, SqlType::Numeric { precision: 9, scale: 2 });
        }),
        // A clustered table sorts records; the number that tells equal keys apart comes later.
        ("CREATE TABLE t (a int NOT NULL PRIMARY KEY, b varchar(10) NULL)", as_declared),
        ("CREATE TABLE t (a int NULL, b varchar(10) NULL) CREATE CLUSTERED INDEX c ON t (a)", as_declared),
        (
            "CREATE TABLE t (a int NOT NULL, b int NULL, PRIMARY KEY (a DESC)) CREATE INDEX i ON t (b)",
            as_declared,
        ),
        // Entries of a heap's index are made of its records.
        ("CREATE TABLE t (a int NOT NULL PRIMARY KEY NONCLUSTERED)", as_declared),
        // Constraints that nobody asked to be checked.
        (
            "CREATE TABLE p (a int PRIMARY KEY) CREATE TABLE t (a int NULL CHECK (a > 0) REFERENCES p)",
            as_declared,
        ),
    ];
    for (made, change) in copied {
        assert_eq!(decided(made, change, NONE).await, None, "{made}");
    }
}

#[tokio::test]
async fn each_reason_has_a_table_or_a_load_that_it_holds_for() {
    use DecodeReason::*;
    const CHECKED: [bool; 2] = [true, false];
    let cases: [(DecodeReason, &str, Change, [bool; 2]); 20] = [
        (Triggers, PLAIN, as_declared, [false, true]),
        (CheckConstraints, "CREATE TABLE t (a int CHECK (a > 0))", as_declared, CHECKED),
        (
            ForeignKeys,
            "CREATE TABLE p (a int PRIMARY KEY) CREATE TABLE t (a int REFERENCES p)",
            as_declared,
            CHECKED,
        ),
        (
            IgnoredDuplicates,
            "CREATE TABLE t (a int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))",
            as_declared,
            NONE,
        ),
        (
            WideKeys,
            "CREATE TABLE t (a varchar(1000) NOT NULL, b varchar(1000) NOT NULL) CREATE INDEX i ON t (a, b)",
            as_declared,
            NONE,
        ),
        (ComputedColumns, "CREATE TABLE t (a int, b AS a + 1)", |columns| drop(columns.pop()), NONE),
        (RowVersion, "CREATE TABLE t (a int, b rowversion)", |columns| drop(columns.pop()), NONE),
        (Identity, "CREATE TABLE t (a int IDENTITY, b int)", as_declared, NONE),
        (Identity, "CREATE TABLE t (a int, b int IDENTITY)", |columns| drop(columns.pop()), NONE),
        (MissingColumns, PLAIN, |columns| drop(columns.pop()), NONE),
        (TrimmedPadding, "SET ANSI_PADDING OFF CREATE TABLE t (a varchar(10) NULL)", as_declared, NONE),
        (LargeValues, "CREATE TABLE t (a nvarchar(max))", as_declared, NONE),
        (LargeValues, PLAIN, |columns| typed(columns, 1, SqlType::VarChar { length: Length::Max }), NONE),
        // Another type, another scale, another code page.
        (Conversion, PLAIN, |columns| typed(columns, 0, SqlType::BigInt), NONE),
        (
            Conversion,
            "CREATE TABLE t (a decimal(9, 2) NULL)",
            |columns| typed(columns, 0, SqlType::Decimal { precision: 9, scale: 3 }),
            NONE,
        ),
        (
            Conversion,
            PLAIN,
            |columns| typed(columns, 1, SqlType::NVarChar { length: Length::Units(10) }),
            NONE,
        ),
        (Indexes, "CREATE TABLE t (a int) CREATE INDEX i ON t (a) WHERE a > 0", as_declared, NONE),
        (
            Indexes,
            "CREATE TABLE t (a int) CREATE INDEX i ON t (a) WITH (DATA_COMPRESSION = ROW)",
            as_declared,
            NONE,
        ),
        (Compression, "CREATE TABLE t (a int) WITH (DATA_COMPRESSION = ROW)", as_declared, NONE),
        (ColumnOrder, PLAIN, |columns| columns.swap(1, 2), NONE),
    ];
    for (reason, made, change, hints) in cases {
        assert_eq!(decided(made, change, hints).await, Some(reason), "{made}");
    }
}

#[tokio::test]
async fn the_reason_that_is_named_is_the_first_that_holds() {
    // What the statement asks for comes before the table's definition, and that before its pages.
    let made = "CREATE TABLE t (a int IDENTITY PRIMARY KEY CHECK (a > 0), b nvarchar(max))";
    let both = decided(made, as_declared, [true, false]).await;
    assert_eq!(both, Some(DecodeReason::CheckConstraints));
    assert_eq!(decided(made, as_declared, NONE).await, Some(DecodeReason::Identity));
    let made = "CREATE TABLE t (a int PRIMARY KEY, b nvarchar(max))";
    assert_eq!(decided(made, as_declared, NONE).await, Some(DecodeReason::LargeValues));
}
