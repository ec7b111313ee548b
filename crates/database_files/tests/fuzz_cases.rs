//! Runs the saved inputs of the fuzzer through the fuzz cases of this crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The cases name the crate as its users do.
extern crate bulkwire_database_files as database_files;

#[path = "../../../fuzz/cases/database_files.rs"]
mod cases;

#[test]
fn every_saved_input_passes() {
    let corpus = std::path::Path::new(".").join("../../fuzz/corpus");
    for (name, case) in cases::CASES {
        let (mut inputs, mut accepted) = (0, 0);
        for entry in std::fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")) {
            inputs += 1;
            accepted += usize::from(case(&std::fs::read(entry.unwrap().path()).unwrap()));
        }
        assert!(accepted > 0, "{name}: none of {inputs} inputs is accepted, so nothing is tested");
    }
}
