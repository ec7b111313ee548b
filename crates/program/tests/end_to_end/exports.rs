//! `bulkwire export`.

use crate::fixture::{Fixture, PASSWORD, text};

const ROWS: &str = "SELECT * FROM (VALUES (1, N'Ü \"x\", y', CAST(1.50 AS decimal(9,2)), CAST('2024-02-29' AS date)), \
                    (2, N'', NULL, NULL), (3, NULL, -0.01, '0001-01-01')) v (id, s, d, day)";

#[test]
fn every_format_goes_out_and_in_again() {
    let fixture = Fixture::new();
    fixture.sql(&format!("SELECT * INTO source FROM ({ROWS}) s"));
    let expected = fixture.rows("SELECT * FROM source ORDER BY id");
    for name in ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.arrows", "t.csv.gz", "t.csv.zst"] {
        let table = format!("copy_{}", name.replace('.', "_"));
        fixture.ok(&["export", "source", name]);
        fixture.sql(&format!("SELECT * INTO {table} FROM source WHERE 1 = 0"));
        fixture.ok(&["load", &table, name]);
        assert_eq!(fixture.rows(&format!("SELECT * FROM {table} ORDER BY id")), expected, "{name}");
    }
}

#[test]
fn csv_keeps_null_and_empty_apart() {
    let fixture = Fixture::new();
    fixture.ok(&["export", "--query", &format!("{ROWS} ORDER BY id"), "t.csv"]);
    let written = std::fs::read_to_string(fixture.path("t.csv")).unwrap();
    assert_eq!(written, "id,s,d,day\n1,\"Ü \"\"x\"\", y\",1.50,2024-02-29\n2,\"\",,\n3,,-0.01,0001-01-01\n");
}

#[test]
fn standard_output_carries_data_and_nothing_else() {
    let fixture = Fixture::new();
    let ran = fixture.ok(&["export", "--query", "SELECT 1 AS n", "-", "--format", "csv"]);
    assert_eq!(ran.stdout, "n\n1\n");
}

#[test]
fn a_failed_export_leaves_no_file() {
    let fixture = Fixture::new();
    fixture.sql("SELECT CAST('9999-12-31' AS datetime2(7)) AS t INTO far");
    let ran = fixture.run(&["export", "far", "far.parquet"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("row 1") && ran.stderr.contains('t'), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(fixture.path("")).unwrap().count(), 0, "nothing half-written stays");
    fixture.ok(&["export", "far", "far.parquet", "--datetime2", "us"]);
    let nowhere = fixture.path("no/such/folder/t.csv");
    let ran = fixture.run_with(&fixture.url("Encrypt=Off"), PASSWORD, &["export", "far", text(&nowhere)], "");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no/such/folder"), "{}", ran.stderr);
}

#[test]
fn parquet_of_an_empty_table_keeps_its_columns() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL, b nvarchar(5) NULL)");
    fixture.ok(&["export", "t", "t.parquet"]);
    fixture.ok(&["load", "again", "t.parquet", "--create"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM again"), "0\n");
    let described = fixture.ok(&["describe", "again"]).stdout;
    assert!(described.contains("nvarchar(5)"), "{described}");
}

#[test]
fn a_second_result_is_not_dropped_in_silence() {
    let fixture = Fixture::new();
    fixture.ok(&["export", "--query", "PRINT 'x'; SELECT 1 AS a; PRINT 'y'", "one.csv"]);
    let ran = fixture.run(&["export", "--query", "SELECT 1 AS a; SELECT 2 AS b", "two.csv"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("more than one result"), "{}", ran.stderr);
    assert!(!fixture.path("two.csv").exists());
}
