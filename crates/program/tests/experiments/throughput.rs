//! `bulkwire bench throughput`, short: every test loads and is verified, and nothing stays behind.

use crate::served::Served;

const SHORT: [&str; 4] = ["--seconds", "2", "--sample-seconds", "1"];

#[test]
fn every_test_loads_and_is_verified() {
    let server = Served::in_memory();
    let (results, page, printed) = server.results(
        "throughput",
        &[
            SHORT.as_slice(),
            &["--tier", "S2,none", "--threads", "2", "--batch-rows", "20", "--ramp-rows", "5,10"],
            &["--batches-per-second", "4"],
        ]
        .concat(),
    );
    let tests = results["tests"].as_array().unwrap();
    let names: Vec<&str> = tests.iter().map(|test| test["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "S2, UT, 2 threads, 20 rows a batch",
            "S2, LT 4 a second, 2 threads, 5 rows a batch",
            "S2, LT 4 a second, 2 threads, 10 rows a batch",
            "no tier, UT, 2 threads, 20 rows a batch",
            "no tier, LT 4 a second, 2 threads, 5 rows a batch",
            "no tier, LT 4 a second, 2 threads, 10 rows a batch",
        ]
    );
    for test in tests {
        let run = &test["runs"][0];
        let number = |name: &str| run[name].as_u64().unwrap();
        // Whole batches, and of LT no more than eight of each thread, however slow the machine is.
        assert!(number("rows") > 0, "{run}");
        assert_eq!(number("rows"), number("batches") * test["test"]["batch_rows"].as_u64().unwrap(), "{run}");
        assert_eq!(number("errors"), 0, "{run}");
        if test["test"]["pace"] != "unlimited" {
            assert!(number("batches") <= 16, "{run}");
            assert!(
                number("batches") + number("missed_for_server") + number("missed_by_client") <= 17,
                "{run}"
            );
        }
        // Two seconds hold no whole interval, which is not the same as that the server does not tell.
        assert_eq!(run["resources"], serde_json::json!([]), "{run}");
    }
    assert_eq!(tests[0]["published"]["megabytes_per_minute"], 37.5);
    assert!(tests[3]["published"].is_null());
    assert!(printed.contains("| S2, UT, 2 threads, 20 rows a batch"), "{printed}");
    assert!(page.contains("rows/s against rows a batch"));
}

#[test]
fn a_wrong_row_fails_the_test_and_the_database_goes() {
    let said =
        Served::in_memory().failure("throughput", &[SHORT.as_slice(), &["--plant-wrong-row"]].concat());
    assert!(said.contains("not those that were sent"), "{said}");
}

#[test]
fn tiers_that_the_server_lacks_and_odd_options_are_refused() {
    let server = Served::in_memory();
    let refused = [
        (vec!["--tier", "S99"], "cannot set the service tier S99"),
        (vec!["--mode", "lt"], "--ramp-rows"),
        (vec!["--batches-per-second", "0"], "a number from 0.01 to 1000 is expected"),
        (vec!["--tier", "S1", "--in-place"], "cannot be used with"),
    ];
    for (arguments, expected) in refused {
        let said = server.failure("throughput", &[SHORT.as_slice(), &arguments].concat());
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
