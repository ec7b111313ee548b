//! `bulkwire load`.

use crate::fixture::{Fixture, PASSWORD, text};

const PEOPLE: &str =
    "id,name,born,balance\n1,Åsa,1984-02-29,1200.50\n2,\"O'Brien, \"\"Pat\"\"\",,-3.25\n3,\"\",,0.00\n";

#[test]
fn creates_a_table_with_sized_types_and_loads_it() {
    let fixture = Fixture::new();
    fixture.file("people.csv", PEOPLE);
    let ran = fixture.ok(&["load", "dbo.people", "people.csv", "--create"]);
    assert!(ran.stderr.contains("[id] int NULL"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[name] nvarchar(20) NULL"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[balance] decimal(9, 2) NULL"), "{}", ran.stderr);
    assert!(ran.stderr.contains("3 rows in 1 batch"), "{}", ran.stderr);
    assert_eq!(
        fixture.rows("SELECT * FROM dbo.people ORDER BY id"),
        "1,Åsa,1984-02-29,1200.50\n2,\"O'Brien, \"\"Pat\"\"\",,-3.25\n3,\"\",,0.00\n"
    );
}

#[test]
fn truncates_first_and_reports_as_json() {
    let fixture = Fixture::new();
    fixture.file("people.csv", PEOPLE);
    fixture.ok(&["load", "people", "people.csv", "--create"]);
    let ran = fixture.ok(&["load", "people", "people.csv", "--truncate", "--json", "--batch-rows", "2"]);
    assert!(ran.stdout.contains("\"rows\":3") && ran.stdout.contains("\"batches\":2"), "{}", ran.stdout);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM people"), "3\n");
}

#[test]
fn says_how_much_of_a_load_into_pages_went_to_the_log() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL, s varchar(10) NULL)");
    let lines = |rows: std::ops::Range<u32>| rows.map(|row| format!("{row},x\n")).collect::<String>();
    fixture.file("many.csv", format!("n,s\n{}", lines(0..2000)));
    fixture.file("few.csv", format!("n,s\n{}", lines(0..3)));
    let ran = fixture.ok(&["load", "t", "many.csv", "--batch-rows", "1000"]);
    assert!(
        ran.stderr.contains("logging: 2 batches, 2,000 rows, SIMPLE: minimally logged"),
        "{}",
        ran.stderr
    );
    let ran = fixture.ok(&["load", "t", "many.csv", "--table-lock=off", "--json"]);
    let expected = "\"failed_conditions\":[\"TABLE_LOCK\"],\"minimally_logged\":false";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    let ran = fixture.ok(&["load", "t", "few.csv"]);
    let expected = "1 batch, 3 rows, SIMPLE: fully logged: too few rows for extents of their own";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn maps_columns_by_name_position_and_pairs() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (a int NULL, b varchar(10) NULL, c int NULL)");
    fixture.file("names.csv", "B,A\nx,1\n");
    fixture.ok(&["load", "t", "names.csv"]);
    fixture.file("bare.txt", "2|y|20\n");
    fixture.ok(&["load", "t", "bare.txt", "--no-header", "--delimiter", "|"]);
    fixture.ok(&["load", "t", "bare.txt", "--no-header", "--delimiter", "|", "--columns", "c,b,a"]);
    fixture.file("pairs.csv", "key,label,ignored\n4,z,9\n");
    fixture.ok(&["load", "t", "pairs.csv", "--map", "key=a", "--map", "label=b"]);
    fixture.file("swapped.csv", "c,b,a\n5,w,50\n");
    fixture.ok(&["load", "t", "swapped.csv", "--by-position"]);
    assert_eq!(fixture.rows("SELECT a, b, c FROM t ORDER BY a, b"), "1,x,\n2,y,20\n4,z,\n5,w,50\n20,y,2\n");
}

#[test]
fn reads_dialects_compression_and_standard_input() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL, s nvarchar(30) NULL)");
    fixture.file("raw.txt", "1|say \"hi\"\n2|\\N\n");
    let dialect = ["--no-header", "--no-quote", "--delimiter", "|", "--null-text", "\\N"];
    fixture.ok(&[&["load", "t", "raw.txt"], &dialect[..]].concat());
    fixture.file("latin.csv", b"n,s\n3,caf\xE9\n");
    fixture.ok(&["load", "t", "latin.csv", "--encoding", "1252"]);
    let utf16: Vec<u8> = "\u{FEFF}n,s\n4,日本\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.file("wide.csv", utf16);
    fixture.ok(&["load", "t", "wide.csv"]);
    for (file, n) in [("five.csv.gz", 5), ("six.csv.zst", 6)] {
        fixture.ok(&["export", "--query", &format!("SELECT {n} AS n, 'packed' AS s"), file]);
        fixture.ok(&["load", "t", file]);
    }
    let url = fixture.url("Encrypt=Off");
    let ran = fixture.run_with(&url, PASSWORD, &["load", "t", "-", "--format", "csv"], "n,s\n7,piped\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        fixture.rows("SELECT n, s FROM t ORDER BY n"),
        "1,\"say \"\"hi\"\"\"\n2,\n3,café\n4,日本\n5,packed\n6,packed\n7,piped\n"
    );
}

#[test]
fn creates_from_standard_input() {
    let fixture = Fixture::new();
    let url = fixture.url("Encrypt=Off");
    let arguments = ["load", "piped", "-", "--format", "csv", "--create"];
    let ran = fixture.run_with(&url, PASSWORD, &arguments, "n,s\n7,piped\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT * FROM piped"), "7,piped\n");
}

#[test]
fn loads_several_files_in_turn() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "n\n1\n2\n");
    fixture.file("b.csv", "n\n3\n");
    fixture.ok(&["load", "t", "a.csv", "b.csv", "--create"]);
    assert_eq!(fixture.rows("SELECT n FROM t ORDER BY n"), "1\n2\n3\n");
}

#[test]
fn identity_values_are_made_or_kept() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int IDENTITY(10,5) NOT NULL PRIMARY KEY, s varchar(10) NULL)");
    fixture.file("made.csv", "s\na\nb\n");
    fixture.ok(&["load", "t", "made.csv"]);
    fixture.file("kept.csv", "id,s\n99,c\n");
    let refused = fixture.run(&["load", "t", "kept.csv"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("id") && refused.stderr.contains("identity"), "{}", refused.stderr);
    fixture.ok(&["load", "t", "kept.csv", "--keep-identity"]);
    fixture.ok(&["load", "t", "made.csv"]);
    assert_eq!(fixture.rows("SELECT id, s FROM t ORDER BY id"), "10,a\n15,b\n99,c\n104,a\n109,b\n");
}

#[test]
fn nulls_take_defaults_unless_kept() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL, s varchar(10) NULL DEFAULT 'none')");
    fixture.file("t.csv", "n,s\n1,\n");
    fixture.ok(&["load", "t", "t.csv"]);
    fixture.file("t.csv", "n,s\n2,\n");
    fixture.ok(&["load", "t", "t.csv", "--keep-nulls"]);
    assert_eq!(fixture.rows("SELECT n, s FROM t ORDER BY n"), "1,none\n2,\n");
}

#[test]
fn constraints_are_checked_on_request() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL CHECK (n > 0))");
    fixture.file("t.csv", "n\n-1\n");
    fixture.ok(&["load", "t", "t.csv"]);
    let refused = fixture.run(&["load", "t", "t.csv", "--check-constraints"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("547"), "{}", refused.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "1\n");
}

#[test]
fn a_dry_run_prints_the_plan_and_loads_nothing() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NULL)");
    let file = fixture.file("t.csv", "n\n1\n");
    let ran = fixture.ok(&["load", "t", text(&file), "--dry-run", "--table-lock=off", "--batch-rows", "7"]);
    for expected in ["TABLOCK", "as asked", "batch rows", "heap"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "0\n");
}

#[test]
fn the_server_is_told_to_read_files_that_it_sees() {
    let fixture = Fixture::new();
    let said = |words: &[&str]| {
        let ran = fixture.ok(&[&["load", "t", "--server-side", "--dry-run"], words].concat());
        ran.stderr
    };
    assert_eq!(
        said(&["/data/it's.csv", "--keep-nulls", "--table-lock", "--batch-rows", "5", "--max-errors", "3"]),
        "BULK INSERT [t] FROM '/data/it''s.csv' WITH (FORMAT = 'CSV', FIELDTERMINATOR = ',', ROWTERMINATOR = '0x0a', \
         CODEPAGE = '65001', FIRSTROW = 2, MAXERRORS = 3, BATCHSIZE = 5, TABLOCK, KEEPNULLS)\n"
    );
    assert_eq!(
        said(&[
            r"d:\t.txt",
            "--no-header",
            "--no-quote",
            "--delimiter",
            "|",
            "--row-terminator",
            "\\n",
            "--encoding",
            "1252"
        ]),
        "BULK INSERT [t] FROM 'd:\\t.txt' WITH (FIELDTERMINATOR = '|', ROWTERMINATOR = '\\n', CODEPAGE = '1252', MAXERRORS = 0)\n"
    );
    assert_eq!(
        said(&["t.dat", "--format", "native"]),
        "BULK INSERT [t] FROM 't.dat' WITH (DATAFILETYPE = 'native', MAXERRORS = 0)\n"
    );
    assert_eq!(
        said(&["t.dat", "--format-file", "/data/t.xml", "--keep-identity"]),
        "BULK INSERT [t] FROM 't.dat' WITH (FORMATFILE = '/data/t.xml', MAXERRORS = 0, KEEPIDENTITY)\n"
    );
    for words in [&["-"][..], &["t.parquet"], &["t.csv", "--bisect"], &["t.csv", "--map", "a=b"]] {
        let ran = fixture.run(&[&["load", "t", "--server-side", "--dry-run"], words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn the_server_reads_files_below_its_bulk_directory() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|options| options.bulk_directories = vec![folder.path().to_owned()]);
    fixture.sql("CREATE TABLE t (n int NULL, s varchar(20) NULL)");
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "n,s\n1,\"a, b\"\n2,c\n").unwrap();
    let ran = fixture.ok(&["load", "t", text(&file), "--server-side"]);
    assert!(ran.stderr.contains("BULK INSERT [t]") && ran.stderr.contains("2 rows"), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY n"), "1,\"a, b\"\n2,c\n");
    let native = folder.path().join("t.n");
    fixture.ok(&["bcp", "t", "out", text(&native), "-n"]);
    fixture.ok(&["load", "t", text(&native), "--server-side", "--format", "native", "--truncate"]);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM t"), "2\n");
    std::fs::write(&file, "n,s\nx,c\n").unwrap();
    let refused = fixture.run(&["load", "t", text(&file), "--server-side"]);
    assert!(refused.code == 1 && refused.stderr.contains("Msg "), "{}", refused.stderr);
}

#[test]
fn clr_types_come_back_from_text_by_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::with(|options| options.bulk_directories = vec![folder.path().to_owned()]);
    let columns = "id int NOT NULL, node hierarchyid NULL, shape geometry NULL, spot geography NULL";
    fixture.sql(&format!("CREATE TABLE s ({columns}); CREATE TABLE t ({columns})"));
    fixture.sql(
        "INSERT s VALUES (1, '/1/2.5/', 'POLYGON ((0 0, 2 0, 2 2, 0 0))', 'POINT (10 50)'), (2, NULL, NULL, NULL)",
    );
    let csv = folder.path().join("s.csv");
    fixture.ok(&["export", "s", text(&csv)]);
    let characters = folder.path().join("s.txt");
    fixture.ok(&["bcp", "s", "out", text(&characters), "-c"]);
    let expected = "1,/1/2.5/,\"POLYGON ((0 0, 2 0, 2 2, 0 0))\",POINT (10 50)\n2,,,\n";
    let loads = || {
        let rows =
            fixture.rows("SELECT id, node.ToString(), shape.STAsText(), spot.STAsText() FROM t ORDER BY id");
        fixture.sql("TRUNCATE TABLE t");
        rows
    };
    fixture.ok(&["load", "t", text(&csv)]);
    assert_eq!(loads(), expected);
    fixture.ok(&["load", "t", text(&csv), "--server-side"]);
    assert_eq!(loads(), expected);
    fixture.sql(&format!("BULK INSERT t FROM '{}'", text(&characters)));
    assert_eq!(loads(), expected);
    // A rowset has the types of its format file: text there is converted as text is.
    let format = folder.path().join("t.fmt");
    fixture.ok(&["bcp", "t", "format", "nul", "-c", "-f", text(&format)]);
    let rowset = |columns: &str| {
        let (file, format) = (text(&characters), text(&format));
        format!("INSERT t SELECT {columns} FROM OPENROWSET(BULK '{file}', FORMATFILE = '{format}') AS f")
    };
    let bytes = "id, CONVERT(varbinary(max), node, 2), CONVERT(varbinary(max), shape, 2), CONVERT(varbinary(max), spot, 2)";
    fixture.sql(&rowset(bytes));
    assert_eq!(loads(), expected);
    std::fs::write(&characters, "1\t/1/2.5/\tPOLYGON ((0 0, 2 0, 2 2, 0 0))\tPOINT (10 50)\n2\t\t\t\n")
        .unwrap();
    fixture.sql(&rowset("*"));
    assert_eq!(loads(), expected);
    // Text that is no bytes is a bad row.
    std::fs::write(&csv, "id,node,shape,spot\n1,,POINT (1 2),\n").unwrap();
    for words in [&["load", "t", text(&csv)][..], &["load", "t", text(&csv), "--server-side"]] {
        let refused = fixture.run(words);
        assert!(refused.code == 1 && refused.stderr.contains("shape"), "{}", refused.stderr);
    }
}

#[test]
fn a_new_table_has_room_for_the_values_of_all_files() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "n,s,d\n1,short,1.5\n");
    fixture.file("b.csv", format!("d,s,n\n2.25,{},5000000000\n", "x".repeat(130)));
    let ran = fixture.ok(&["load", "t", "a.csv", "b.csv", "--create"]);
    for column in ["[n] bigint NULL", "[s] nvarchar(200) NULL", "[d] decimal(9, 2) NULL"] {
        assert!(ran.stderr.contains(column), "{}", ran.stderr);
    }
    assert_eq!(fixture.rows("SELECT n, LEN(s), d FROM t ORDER BY n"), "1,5,1.50\n5000000000,130,2.25\n");
    // Files that say their types: the first has them, all have their lengths.
    fixture.ok(&["export", "--query", "SELECT 1 AS n, N'ab' AS s", "a.parquet"]);
    fixture.ok(&[
        "export",
        "--query",
        "SELECT 2 AS n, REPLICATE(CAST(N'ab' AS nvarchar(max)), 40) AS s",
        "b.arrow",
    ]);
    let ran = fixture.ok(&["load", "u", "a.parquet", "b.arrow", "--create"]);
    assert!(ran.stderr.contains("[s] nvarchar(100) "), "{}", ran.stderr);
    assert_eq!(fixture.rows("SELECT n, LEN(s) FROM u ORDER BY n"), "1,2\n2,80\n");
}

#[test]
fn two_loads_that_make_one_table_do_not_mix() {
    let fixture = Fixture::new();
    fixture.file("a.csv", "n\n1\n2\n");
    for round in 0..4 {
        let table = format!("t{round}");
        let words = ["load", &table, "a.csv", "--create", "--quiet"];
        let both = std::thread::scope(|scope| {
            let other = scope.spawn(|| fixture.run(&words));
            [fixture.run(&words), other.join().unwrap()]
        });
        let [won, lost] = if both[0].code == 0 {
            both
        } else {
            let [a, b] = both;
            [b, a]
        };
        assert_eq!((won.code, lost.code), (0, 1), "{}{}", won.stderr, lost.stderr);
        assert!(lost.stderr.contains("There is already an object named"), "{}", lost.stderr);
        assert!(lost.stderr.contains("without --create rows go into it"), "{}", lost.stderr);
        assert_eq!(fixture.rows(&format!("SELECT COUNT(*) FROM {table}")), "2\n");
    }
}

#[test]
fn a_plan_names_columns_without_a_length() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int, s nvarchar(max), b varbinary(max), sized varchar(10))");
    fixture.file("a.csv", "n,s,sized\n1,x,y\n");
    let ran = fixture.ok(&["load", "t", "a.csv", "--dry-run"]);
    assert!(ran.stderr.contains("(max) columns  s "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sized "), "{}", ran.stderr);
}
