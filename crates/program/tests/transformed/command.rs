//! `bulkwire copy` with transformations, as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ORDERS: &str = "id,name,amount\n1, anna ,12.50\n2,bob,x\n3, carol,7\n";

fn bulkwire(folder: &Path, words: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_bulkwire");
    Command::new(program).args(words).current_dir(folder).env_remove("BULKWIRE_URL").output().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("orders.csv"), ORDERS).unwrap();
    folder
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

fn error_of(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const LIST: &str = "id, UPPER(TRIM(name)) AS name, CAST(amount AS decimal(9,2)) AS amount, $row AS line";

#[test]
fn rows_are_transformed_and_bad_ones_refused() {
    let folder = folder();
    let words = ["copy", "orders.csv", "out.csv", "--select", LIST, "--rejects", "bad.jsonl"];
    let output = bulkwire(folder.path(), &words);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(folder.path(), "out.csv"), "id,name,amount,line\n1,ANNA,12.50,1\n3,CAROL,7.00,3\n");
    let rejected = read(folder.path(), "bad.jsonl");
    for part in
        [r#""row":2"#, r#""column":"amount""#, r#""value":"x""#, r#""code":"8114""#, r#""file":"orders.csv""#]
    {
        assert!(rejected.contains(part), "{part} in {rejected}");
    }
}

#[test]
fn without_a_limit_the_first_bad_row_ends_the_copy() {
    let folder = folder();
    let error = error_of(&bulkwire(folder.path(), &["copy", "orders.csv", "out.csv", "--select", LIST]));
    assert!(
        error
            .contains("row 2: column \"amount\": Error converting data type nvarchar to numeric. (value: x)"),
        "{error}"
    );
    assert!(!folder.path().join("out.csv").exists());
}

#[test]
fn a_query_from_a_file_joins_lookups_of_other_formats() {
    let folder = folder();
    fs::write(folder.path().join("cities.csv"), "id,city\n1,Lisbon\n3,Porto\n").unwrap();
    let output = bulkwire(folder.path(), &["copy", "cities.csv", "cities.parquet"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let query = "SELECT s.id, c.city, $file AS came_from\nFROM source s LEFT JOIN cities c ON c.id = s.id";
    fs::write(folder.path().join("q.sql"), query).unwrap();
    let words =
        ["copy", "orders.csv", "out.csv", "--transform", "q.sql", "--lookup", "cities=cities.parquet"];
    let output = bulkwire(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = "id,city,came_from\n1,Lisbon,orders.csv\n2,,orders.csv\n3,Porto,orders.csv\n";
    assert_eq!(read(folder.path(), "out.csv"), expected);
}

#[test]
fn file_name_and_row_number_are_those_of_each_file() {
    let folder = folder();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/a.csv"), "v\nx\ny\n").unwrap();
    fs::write(folder.path().join("in/b.csv"), "v\nz\n").unwrap();
    let words =
        ["copy", "in/*.csv", "out.csv", "--select", "v, $file AS f, $row AS r", "--where", "v <> 'x'"];
    let output = bulkwire(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(folder.path(), "out.csv"), "v,f,r\ny,in/a.csv,2\nz,in/b.csv,1\n");
}

#[test]
fn wrong_words_are_refused_with_what_is_wrong() {
    let folder = folder();
    let cases: [(&[&str], &str); 8] = [
        (&["--select", "nothing"], "line 1: Msg 207: Invalid column name 'nothing'."),
        (&["--where", "id ="], "Msg 102"),
        (&["--lookup", "a=orders.csv"], "--lookup belongs to a transformation"),
        (&["--memory-limit", "1GB"], "--memory-limit belongs to a transformation"),
        (&["--select", "id", "--transform", "q.sql"], "cannot be used with"),
        (&["--transform", "missing.sql"], "missing.sql"),
        (&["--select", "READ_FILE(name) AS x"], "READ_FILE needs --files DIR"),
        (&["--select", "id", "--lookup", "nonsense"], "write NAME=ENDPOINT"),
    ];
    for (words, text) in cases {
        let words: Vec<&str> = ["copy", "orders.csv", "out.csv"].iter().chain(words).copied().collect();
        let error = error_of(&bulkwire(folder.path(), &words));
        assert!(error.contains(text), "{words:?}: {error}");
        assert!(!folder.path().join("out.csv").exists());
    }
}

#[test]
fn files_are_written_below_one_folder() {
    let folder = folder();
    fs::create_dir(folder.path().join("files")).unwrap();
    let list = "id, WRITE_FILE(id + '.txt', TRIM(name)) AS bytes";
    let words = ["copy", "orders.csv", "out.csv", "--select", list, "--files", "files"];
    let output = bulkwire(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(folder.path(), "out.csv"), "id,bytes\n1,4\n2,3\n3,5\n");
    assert_eq!(read(folder.path(), "files/3.txt"), "carol");
    let again = error_of(&bulkwire(folder.path(), &words));
    assert!(again.contains("could not be written"), "{again}");
    let out = "id, WRITE_FILE('../' + id, name, 'overwrite') AS bytes";
    let error = error_of(&bulkwire(
        folder.path(),
        &["copy", "orders.csv", "x.csv", "--select", out, "--files", "files"],
    ));
    assert!(error.contains("only files below the folder of --files"), "{error}");
}
