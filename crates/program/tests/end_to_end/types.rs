//! Every type, with limits and NULL: in by SQL, out to a file, in again by bulk load, and compared.

use crate::fixture::Fixture;

/// Column type, and T-SQL literals of its values.
const TYPES: &[(&str, &[&str])] = &[
    ("bit", &["0", "1"]),
    ("tinyint", &["0", "255"]),
    ("smallint", &["-32768", "32767"]),
    ("int", &["-2147483648", "2147483647"]),
    ("bigint", &["-9223372036854775808", "9223372036854775807"]),
    ("real", &["-3.4E38", "0", "0.1"]),
    ("float", &["-1.7976931348623157E308", "4.9E-324", "0.1"]),
    ("decimal(38,0)", &["99999999999999999999999999999999999999", "-1"]),
    ("decimal(38,38)", &["0.99999999999999999999999999999999999999"]),
    ("numeric(5,2)", &["-999.99", "0.01"]),
    ("money", &["-922337203685477.5808", "922337203685477.5807"]),
    ("smallmoney", &["-214748.3648", "214748.3647"]),
    ("date", &["'0001-01-01'", "'9999-12-31'"]),
    ("time(0)", &["'00:00:00'", "'23:59:59'"]),
    ("time(3)", &["'00:00:00.001'", "'23:59:59.999'"]),
    ("time(7)", &["'00:00:00.0000001'", "'23:59:59.9999999'"]),
    ("datetime2(0)", &["'0001-01-01'", "'9999-12-31 23:59:59'"]),
    ("datetime2(3)", &["'0001-01-01 00:00:00.001'", "'9999-12-31 23:59:59.999'"]),
    ("datetime2(6)", &["'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"]),
    ("datetime2(7)", &["'0001-01-01 00:00:00.0000001'", "'9999-12-31 23:59:59.9999999'"]),
    ("datetimeoffset(7)", &["'2024-02-29 12:34:56.1234567 +05:30'", "'0001-01-02 00:00:00 -14:00'"]),
    ("datetime", &["'1753-01-01'", "'9999-12-31 23:59:59.997'"]),
    ("smalldatetime", &["'1900-01-01'", "'2079-06-06 23:59'"]),
    ("char(5)", &["''", "'abc'", "'abcde'"]),
    ("varchar(8000)", &["''", "'x'", "REPLICATE('é', 8000)"]),
    ("varchar(max)", &["''", "REPLICATE(CAST('abcdefghij' AS varchar(max)), 20000)"]),
    ("nchar(3)", &["N'日本'", "N'🚀x'"]),
    ("nvarchar(4000)", &["N''", "REPLICATE(N'語', 4000)"]),
    ("nvarchar(max)", &["N''", "N'quoted \" and , and '' in it'"]),
    ("varchar(20) COLLATE Japanese_CI_AS", &["N'日本語'"]),
    ("varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8", &["N'é日🚀'"]),
    ("binary(4)", &["0xDEADBEEF", "0x00000000"]),
    ("varbinary(8000)", &["0x", "0x00FF"]),
    ("varbinary(max)", &["0x", "0x0102"]),
    ("uniqueidentifier", &["'00112233-4455-6677-8899-AABBCCDDEEFF'"]),
    ("xml", &["N'<a b=\"1\">é</a>'"]),
    ("text", &["'text'"]),
    ("ntext", &["N'ntéxt'"]),
    ("image", &["0x0102"]),
    ("hierarchyid", &["'/1/2.5/'", "'/'"]),
    ("geometry", &["'LINESTRING (0 0, 1 1, 2 0)'"]),
    ("geography", &["'POINT (10 50)'"]),
];

fn table(fixture: &Fixture, name: &str, filled: bool) {
    let columns: Vec<String> =
        TYPES.iter().enumerate().map(|(index, (sql_type, _))| format!("c{index} {sql_type} NULL")).collect();
    fixture.sql(&format!("CREATE TABLE {name} (id int NOT NULL, {})", columns.join(", ")));
    if !filled {
        return;
    }
    fixture.sql(&format!("INSERT INTO {name} (id) VALUES (0)"));
    for row in 0..TYPES.iter().map(|(_, values)| values.len()).max().unwrap_or(0) {
        let values: Vec<&str> =
            TYPES.iter().map(|(_, values)| values.get(row).copied().unwrap_or("NULL")).collect();
        fixture.sql(&format!("INSERT INTO {name} VALUES ({}, {})", row + 1, values.join(", ")));
    }
}

#[test]
fn every_type_survives_every_format() {
    let fixture = Fixture::new();
    table(&fixture, "source", true);
    let expected = fixture.rows("SELECT * FROM source ORDER BY id");
    assert_eq!(expected.matches('\n').count(), 4, "{expected}");
    for file in ["t.csv", "t.parquet", "t.arrow"] {
        let target = format!("target_{}", file.replace('.', "_"));
        table(&fixture, &target, false);
        let exact = ["--datetime2", "text", "--datetimeoffset-text"];
        fixture.ok(&[&["export", "source", file], &exact[..]].concat());
        fixture.ok(&["load", &target, file]);
        let found = fixture.rows(&format!("SELECT * FROM {target} ORDER BY id"));
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn variants_are_loaded_as_text_and_read_as_text() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (v sql_variant NULL)");
    fixture.file("t.csv", "v\ntext é\n\n");
    fixture.ok(&["load", "t", "t.csv"]);
    fixture.ok(&["export", "t", "out.csv"]);
    assert_eq!(std::fs::read_to_string(fixture.path("out.csv")).unwrap(), "v\ntext é\n\n");
}

#[test]
fn values_read_back_as_they_were_written() {
    let fixture = Fixture::new();
    let cases = [
        (
            "CAST('2024-02-29 12:34:56.1234567 +05:30' AS datetimeoffset)",
            "2024-02-29 12:34:56.1234567 +05:30",
        ),
        ("CAST(-0.5 AS money)", "-0.5000"),
        ("CAST('1753-01-01 00:00:00.007' AS datetime)", "1753-01-01 00:00:00.007"),
        (
            "CAST('99999999999999999999999999999999999999' AS decimal(38,0))",
            "99999999999999999999999999999999999999",
        ),
        (
            "CAST('00112233-4455-6677-8899-aabbccddeeff' AS uniqueidentifier)",
            "00112233-4455-6677-8899-AABBCCDDEEFF",
        ),
        ("CAST(0.1 AS float)", "0.1"),
        ("CAST('ab' AS char(4)) + '|'", "ab  |"),
    ];
    for (expression, expected) in cases {
        assert_eq!(
            fixture.rows(&format!("SELECT {expression} AS v")),
            format!("{expected}\n"),
            "{expression}"
        );
    }
}

/// Vectors: into a table that is made for them, out to every format, and in again.
#[test]
fn vectors_survive_every_format() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE source (id int NOT NULL, v vector(3) NULL, h vector(2, float16) NULL)");
    fixture.sql("INSERT INTO source VALUES (1, '[0.1, -2, 3.4e38]', '[0.1, 65504]'), (2, NULL, NULL), (3, '[1e-45, 0, 16777216]', '[6e-8, -1]')");
    let expected = fixture.rows("SELECT * FROM source ORDER BY id");
    assert!(expected.contains("[0.1,-2.0,3.4E+38]"), "{expected}");
    for file in ["t.csv", "t.parquet", "t.arrow"] {
        fixture.ok(&["export", "source", file]);
        let made = format!("made_{}", file.replace('.', "_"));
        fixture.sql(&format!(
            "CREATE TABLE {made} (id int NOT NULL, v vector(3) NULL, h vector(2, float16) NULL)"
        ));
        fixture.ok(&["load", &made, file]);
        assert_eq!(fixture.rows(&format!("SELECT * FROM {made} ORDER BY id")), expected, "{file}");
    }
    for file in ["t.parquet", "t.arrow"] {
        fixture.ok(&["load", "created", file, "--create"]);
        let types = fixture.rows(
            "SELECT c.name, t.name AS type, vector_dimensions FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id \
             WHERE object_id = OBJECT_ID('created') ORDER BY c.column_id",
        );
        assert!(types.contains("v,vector,3") && types.contains("h,vector,2"), "{types}");
        assert_eq!(fixture.rows("SELECT * FROM created ORDER BY id"), expected, "{file}");
        fixture.sql("DROP TABLE created");
    }
    fixture.file("wrong.csv", "id,v\n1,\"[1,2,3]\"\n2,\"[1,2]\"\n");
    let refused = fixture.run(&["load", "source", "wrong.csv"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("2 dimensions, the column has 3"), "{}", refused.stderr);
}

/// bcp copies vectors as JSON text, or with -z as they are.
#[test]
fn vectors_by_bcp() {
    let fixture = Fixture::new();
    for table in ["source", "target"] {
        fixture.sql(&format!(
            "CREATE TABLE {table} (id int NOT NULL, v vector(2) NULL, h vector(1, float16) NULL)"
        ));
    }
    fixture.sql("INSERT INTO source VALUES (1, '[0.1, -2]', '[0.5]'), (2, NULL, NULL)");
    let expected = fixture.rows("SELECT * FROM source ORDER BY id");
    let round = |mode: &[&str]| {
        fixture.sql("TRUNCATE TABLE target");
        for words in [&["bcp", "source", "out", "t.dat"], &["bcp", "target", "in", "t.dat"]] {
            let ran = fixture.run(&[&words[..], mode].concat());
            assert_eq!(ran.code, 0, "{mode:?} {}{}", ran.stdout, ran.stderr);
        }
        assert_eq!(fixture.rows("SELECT * FROM target ORDER BY id"), expected, "{mode:?}");
        std::fs::read(fixture.path("t.dat")).unwrap()
    };
    assert_eq!(round(&["-c"]), b"1\t[1.0000000e-001,-2.0000000e+000]\t[5.0000000e-001]\n2\t\t\n");
    assert_eq!(round(&["-c", "-z1"]), b"1\t[0.1,-2]\t[0.5]\n2\t\t\n");
    round(&["-w"]);
    round(&["-n"]);
    let mut native = b"\x01\0\0\0\x10\0\xA9\x01\x02\0\0\0\0\0\xCD\xCC\xCC\x3D\0\0\0\xC0".to_vec();
    native.extend(b"\x0A\0\xA9\x01\x01\0\x01\0\0\0\0\x38\x02\0\0\0\xFF\xFF\xFF\xFF");
    assert_eq!(round(&["-n", "-z1"]), native);
    assert_ne!(round(&["-n", "-z"]), native);
}
