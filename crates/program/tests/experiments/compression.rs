//! `bulkwire bench compression`, small: every setting is run and verified, and nothing stays behind, whatever happens.

use crate::served;
use crate::served::Served;

const SMALL: [&str; 4] = ["--rows", "3000", "--rounds", "2"];

#[test]
fn every_setting_is_run_verified_and_measured() {
    let server = Served::in_memory();
    let (results, page, printed) = server.results("compression", &SMALL);
    let variants = results["variants"].as_array().unwrap();
    let names: Vec<&str> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "clustered, NONE",
            "clustered, ROW",
            "clustered, PAGE",
            "heap, TABLOCK, NONE",
            "heap, TABLOCK, ROW",
            "heap, TABLOCK, PAGE"
        ]
    );
    for shape in variants.chunks(3) {
        for variant in shape {
            let runs = variant["runs"].as_array().unwrap();
            assert_eq!(
                runs.iter().map(|run| run["rows"].as_u64().unwrap()).collect::<Vec<_>>(),
                [3000, 3000]
            );
            assert!(runs[1]["log"]["record_bytes"].is_u64(), "{variant}");
            assert!(runs[1]["io"]["data"]["writes"].is_u64(), "{variant}");
        }
        // Compression makes these rows smaller, each setting more than the one before; times say nothing at this size.
        let sizes: Vec<f64> = shape.iter().map(|variant| variant["size_ratio"].as_f64().unwrap()).collect();
        assert!(sizes[0] == 1.0 && sizes[1] < sizes[0] && sizes[2] < sizes[1], "{sizes:?}");
        assert!(shape[0]["estimate"].is_null());
        assert!(shape[2]["estimated_size_ratio"].as_f64().unwrap() < 1.0);
    }
    assert_eq!(results["recovery"], "simple");
    assert!(printed.contains("| heap, TABLOCK, PAGE"), "{printed}");
    assert!(page.contains("heap, TABLOCK, PAGE") && page.contains("<svg"));
}

#[test]
fn a_wrong_row_fails_the_run_and_the_database_goes() {
    let said =
        Served::in_memory().failure("compression", &[SMALL.as_slice(), &["--plant-wrong-row"]].concat());
    assert!(said.contains("not those that were sent"), "{said}");
}

#[test]
fn a_database_or_a_table_that_exists_is_left_alone() {
    let server = Served::in_memory();
    let mut client = server.client();
    client.execute("CREATE DATABASE mine").unwrap();
    let said = server.failure("compression", &[SMALL.as_slice(), &["--database", "mine"]].concat());
    assert!(said.contains("[mine] exists"), "{said}");
    let id = client.query_values("SELECT DB_ID('mine')").unwrap()[0].rows[0][0].to_string();
    assert!(id.parse::<i16>().is_ok(), "{id}");

    client
        .execute(
            "CREATE TABLE dbo.bulkwire_bench_copy (n int); INSERT INTO dbo.bulkwire_bench_copy VALUES (7)",
        )
        .unwrap();
    let ran = server.bench("compression", &[SMALL.as_slice(), &["--in-place"]].concat());
    assert!(!ran.status.success());
    assert!(served::said(&ran).contains("[dbo].[bulkwire_bench_copy] exists"), "{}", served::said(&ran));
    let kept = client.query_values("SELECT n FROM dbo.bulkwire_bench_copy").unwrap();
    assert_eq!(kept[0].rows[0][0].to_string(), "7");
}

#[test]
fn in_place_makes_no_database_and_leaves_its_settings() {
    let server = Served::in_memory();
    let (results, ..) =
        server.results("compression", &[SMALL.as_slice(), &["--in-place", "--compression", "none"]].concat());
    assert!(results["recovery"].is_null());
    assert_eq!(results["variants"].as_array().unwrap().len(), 2);
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_is_made() {
    let server = Served::in_memory();
    for (arguments, expected) in [
        (vec!["--rows", "0"], "0 is not in 1.."),
        (vec!["--rounds", "none"], "invalid digit"),
        (vec!["--shape", "round"], "possible values: clustered"),
        (vec!["--in-memory"], "cannot be used with"),
        (vec!["--in-place", "--recovery", "full"], "cannot be used with"),
        (vec!["--output", "no/such/folder/results.json"], "no file can be written there"),
    ] {
        let said = server.failure("compression", &arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
