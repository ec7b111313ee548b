//! Text scripts of transformations: source rows, options, and what comes out.
//!
//! A case begins with `#` and its name. Then come, each on a line of its own: `source` or `lookup NAME` followed by a line of
//! `name:type` and lines of values (`NULL` is NULL, `?` a row that could not be read); `select`, `where`, `transform`,
//! `collation`, `form exact`, `file NAME` with their text behind them; and `----`, behind which stands what comes out: the
//! columns, then each row behind the number of its row in the source, refused rows in their places. The result must not depend on
//! how the source is cut into batches: every case runs with several sizes.

use std::fs;
use std::path::Path;

use crate::case::Case;

#[test]
fn every_case_gives_what_it_says() {
    let folder = Path::new("tests/transformations");
    let mut failures = String::new();
    let mut count = 0;
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let mut printed = String::new();
        for case in Case::all(&text) {
            let out = case.run(usize::MAX);
            count += 1;
            for rows in [1, 2, 3, 7] {
                let cut = case.run(rows);
                if cut != out {
                    failures +=
                        &format!("{} in batches of {rows} rows:\n{cut}--- in one\n{out}\n", case.name);
                }
            }
            if out != case.expected {
                failures +=
                    &format!("{}: {}\n{out}--- expected\n{}\n", path.display(), case.name, case.expected);
            }
            printed += &case.printed(&out);
        }
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&path, printed).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 20, "only {count} cases");
}
