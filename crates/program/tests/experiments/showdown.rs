//! `bulkwire bench showdown`, small: every program moves every file both ways and is verified, and nothing stays behind.

use std::collections::BTreeMap;

use crate::served::Served;

#[test]
fn every_program_moves_every_file_and_is_verified() {
    let files = tempfile::tempdir().unwrap();
    let files = files.path().canonicalize().unwrap();
    let server = Served::start(Some(&files));
    let folder = files.to_str().unwrap();
    let (results, page, printed) = server.results(
        "showdown",
        &[
            "--rows",
            "100,300",
            "--rounds",
            "1",
            "--file-directory",
            folder,
            "--server-file-directory",
            folder,
        ],
    );
    assert_eq!(std::fs::read_dir(&files).unwrap().count(), 0, "files are left");
    let sizes = results["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 2);
    for (size, rows) in sizes.iter().zip([100, 300]) {
        // bcp three files, BULK INSERT, load and copy four, with and without TABLOCK; two special cases; bcp out and copy three,
        // export four.
        let variants = size["variants"].as_array().unwrap();
        assert_eq!(variants.len(), 2 * 15 + 2 + 10);
        for variant in variants {
            let runs = variant["runs"].as_array().unwrap();
            assert_eq!(runs.len(), 1, "{variant}");
            for run in runs {
                assert_eq!(run["rows"], rows, "{variant}");
                let import = variant["variant"]["direction"] == "import";
                assert_eq!(run["space"]["data_bytes"].is_u64(), import, "{run}");
                assert_eq!(run["physical"]["page_density_percent"].is_f64(), import, "{run}");
                let tells = variant["variant"]["mover"] == "load";
                assert_eq!(!run["phase_seconds"].as_object().unwrap().is_empty(), tells, "{variant}");
            }
        }
        assert_eq!(size["file_bytes"]["fixed_width"], rows * 624);
        let findings: BTreeMap<&str, f64> = size["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                (finding["name"].as_str().unwrap(), finding["measured"]["median"].as_f64().unwrap())
            })
            .collect();
        assert_eq!(findings.len(), 14, "{findings:?}");
        let ratio = findings["bytes of the file: fixed width / delimited (bcp)"];
        assert!((2.7..3.1).contains(&ratio), "{ratio}");
        // The blanks of the fixed fields are in the table.
        assert!(findings["table: fixed width / delimited (bcp, blanks kept)"] > 2.0, "{findings:?}");
    }
    assert!(printed.contains("Export of 300 rows"), "{printed}");
    assert!(page.contains("time against the size of the file"));
}

#[test]
fn what_is_wrong_in_the_table_or_in_the_file_fails_the_run() {
    let server = Served::in_memory();
    let small =
        ["--rows", "50", "--rounds", "1", "--file", "delimited", "--mover", "load", "--plant-wrong-row"];
    let said = server.failure("showdown", &[small.as_slice(), &["--direction", "import"]].concat());
    assert!(said.contains("not those that were sent"), "{said}");
    let said = server.failure("showdown", &[small.as_slice(), &["--direction", "export"]].concat());
    assert!(said.contains("not those of the table"), "{said}");
}

#[test]
fn what_cannot_be_run_is_said() {
    let server = Served::in_memory();
    let said = server.failure("showdown", &["--mover", "bcp", "--file", "csv"]);
    assert!(said.contains("bcp has no CSV"), "{said}");
    let said = server.failure("showdown", &["--mover", "bulk-insert", "--rows", "10"]);
    assert!(said.contains("--server-file-directory"), "{said}");
}
