//! The Arrow experiment, small: every variant loads and verifies, the files are written, and nothing stays behind.

use crate::served::{Served, said};

#[test]
fn every_variant_is_run_and_verified() {
    let server = Served::start(None);
    let small = ["--rows", "2000", "--row-by-row", "20", "--rounds", "2", "--batch-rows", "500,3000"];
    let (results, page, table) = server.results("arrow", &small);

    // Three storages, two batch sizes, with and without TABLOCK, and row by row.
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 13);
    for variant in variants {
        let by_row = variant["variant"]["method"] == "row_by_row";
        let runs = variant["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2, "{variant}");
        for run in runs {
            assert_eq!(run["rows"], if by_row { 20 } else { 2000 }, "{variant}");
            let phases: Vec<&String> = run["phase_seconds"].as_object().unwrap().keys().collect();
            let expected: &[&str] = match (by_row, variant["variant"]["storage"].as_str().unwrap()) {
                (true, _) => &["encode", "wait"],
                (false, "heap_then_key") => &["encode", "key", "read", "send", "wait"],
                (false, _) => &["encode", "read", "send", "wait"],
            };
            assert_eq!(phases, expected, "{variant}");
        }
    }
    assert_eq!(
        table.lines().filter(|line| line.starts_with("| heap") || line.starts_with("| clustered")).count(),
        13
    );
    assert!(page.contains("heap, then key, 3,000 a batch, TABLOCK"));
}

#[test]
fn a_table_that_exists_is_left_alone() {
    let server = Served::start(None);
    let mut client = server.client();
    client.execute("CREATE TABLE dbo.kept (n int); INSERT INTO dbo.kept VALUES (1)").unwrap();
    let ran = server.bench("arrow", &["--table", "dbo.kept", "--rows", "10", "--rounds", "1"]);
    assert!(!ran.status.success());
    assert!(said(&ran).contains("[dbo].[kept] exists"), "{}", said(&ran));
    assert_eq!(client.query_values("SELECT n FROM dbo.kept").unwrap()[0].rows.len(), 1);
}
