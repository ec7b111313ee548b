//! `bulkwire bench select-into`, small: every configuration is run and verified, and nothing stays behind.

use crate::served::Served;

const SMALL: [&str; 8] = ["--rows", "2000", "--rounds", "2", "--files", "1,3", "--maxdop", "1,2"];

#[test]
fn every_configuration_is_run_verified_and_measured() {
    let (results, page, printed) = Served::in_memory().results("select-into", &SMALL);
    let variants = results["variants"].as_array().unwrap();
    let names: Vec<&str> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["1 file, DOP 1", "1 file, DOP 2", "3 files, DOP 1", "3 files, DOP 2"]);
    for variant in variants {
        for run in variant["runs"].as_array().unwrap() {
            assert_eq!(run["rows"], 2000, "{variant}");
            // A heap of eleven columns, 105 bytes of data a row and more in its page.
            assert!(run["space"]["data_bytes"].as_u64().unwrap() > 2000 * 105, "{run}");
            let operations = run["log"]["operations"].as_array().unwrap();
            assert!(operations.iter().any(|one| one["operation"] == "LOP_COMMIT_XACT"), "{run}");
            // Under BULK_LOGGED no page of the copy is logged.
            assert!(
                run["log"]["record_bytes"].as_u64().unwrap() < run["space"]["data_bytes"].as_u64().unwrap(),
                "{run}"
            );
            assert!(run["waits"].is_object() && run["io"]["data"].is_object(), "{run}");
        }
    }
    assert_eq!(variants[0]["time_ratio"]["median"], 1.0);
    assert!(printed.contains("| 3 files, DOP 2"), "{printed}");
    assert!(page.contains("Elapsed time against the degree of parallelism"));
}

#[test]
fn a_wrong_row_fails_the_run_and_the_database_goes() {
    let said =
        Served::in_memory().failure("select-into", &[SMALL.as_slice(), &["--plant-wrong-row"]].concat());
    assert!(said.contains("not those that were sent"), "{said}");
}

#[test]
fn it_needs_a_database_of_its_own_and_file_groups() {
    let said = Served::in_memory().failure("select-into", &[SMALL.as_slice(), &["--in-place"]].concat());
    assert!(said.contains("needs a database of its own"), "{said}");
    let said = Served::in_memory().failure("select-into", &["--files", "0"]);
    assert!(said.contains("0 is not in 1..=1000"), "{said}");
}
