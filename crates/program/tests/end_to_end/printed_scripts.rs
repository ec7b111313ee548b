//! The scripts that plans print, run beside what makes the same: columns, nullability, identity and collations are equal.

use crate::fixture::Fixture;

const ALL_TYPES: &str = "CREATE TABLE origin (a bit, b tinyint, c smallint, d int NOT NULL, e bigint, f real, g float, h decimal(9, 3), \
     i numeric(38, 10), j money, k smallmoney, l date, m time(3), n datetime, o datetime2(4), p datetimeoffset(2), q smalldatetime, \
     r char(5), s varchar(10) COLLATE Latin1_General_BIN2, t varchar(max), u nchar(3), v nvarchar(20), w nvarchar(max), x binary(4), \
     y varbinary(8), z varbinary(max), aa uniqueidentifier, ab xml, [a c] sql_variant, [a.d] rowversion, [a]]e] int IDENTITY(5, 2), \
     af vector(3), ag json); INSERT origin (d, h, v) VALUES (1, 1.5, N'é')";

fn columns(fixture: &Fixture, table: &str) -> String {
    fixture.rows(&format!(
        "SELECT c.name, TYPE_NAME(c.user_type_id), c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity, c.collation_name \
         FROM sys.columns AS c WHERE c.object_id = OBJECT_ID('{table}') ORDER BY c.column_id"
    ))
}

/// Returns the statements of a plan that make its table.
fn printed(text: &str) -> &str {
    let start = text.find("CREATE ").unwrap_or_else(|| panic!("no script: {text}"));
    let end = start + text[start..].find("\n)").unwrap() + 2;
    &text[start..end]
}

#[test]
fn a_printed_script_makes_the_table_that_a_copy_makes() {
    let fixture = Fixture::new();
    fixture.sql(ALL_TYPES);
    for file in ["all.parquet", "all.csv", "all.arrow"] {
        fixture.ok(&["export", "origin", file]);
    }
    fixture.file("odd.csv", "a,a,,d.e,\"f]g\",'h'\n1,x,2.5,2024-01-01,,true\n");
    let select = "d, v + 'x' AS vx, CAST(h AS decimal(5, 2)) AS [h.2], SUM(d) OVER () AS total";
    let query = "SELECT d, v + v AS vv, COUNT(*) OVER () AS n, 1.5 AS x, GETDATE() AS g FROM origin";
    let sources: [&[&str]; 7] = [
        &["all.parquet", "mssql:made.t"],
        &["all.csv", "mssql:made.t"],
        &["all.arrow", "mssql:made.t"],
        &["odd.csv", "mssql:made.t"],
        &["mssql:origin", "mssql:made.t"],
        &["mssql:origin", "mssql:made.t", "--select", select],
        &["mssql:", "mssql:made.t", "--query", query],
    ];
    for (number, words) in sources.into_iter().enumerate() {
        // The first finds no schema, and its script begins with it.
        let copy = [&["copy"], words].concat();
        let plan = fixture.ok(&[&copy[..], &["--dry-run"]].concat());
        let script = printed(&plan.stderr).replace("[made]", "[printed]");
        assert_eq!(script.contains("CREATE SCHEMA"), number == 0, "{script}");
        let file = fixture.file("script.sql", &script);
        fixture.ok(&["query", "--file", crate::fixture::text(&file)]);
        fixture.ok(&copy);
        let made = columns(&fixture, "made.t");
        assert!(!made.is_empty());
        assert_eq!(columns(&fixture, "printed.t"), made, "{words:?}: {script}");
        fixture.sql("DROP TABLE made.t; DROP TABLE printed.t");
    }
}

#[test]
fn a_printed_declaration_reads_the_file_as_it_was_guessed() {
    let fixture = Fixture::new();
    fixture.file("rows.txt", "1|two words|2.50|2024-02-29\n22|x|10.25|2024-03-01\n");
    let declared = fixture.ok(&["sniff", "rows.txt", "--declare"]);
    let declaration = declared.stdout.trim().to_owned();
    fixture.ok(&["sniff", "rows.txt", "--write-format-file", "rows.fmt"]);
    let by_format =
        ["convert", "rows.txt", "declared.csv", "--from-format-file", "rows.fmt", "--declare", &declaration];
    fixture.ok(&by_format);
    fixture.ok(&["convert", "rows.txt", "plain.csv", "--from", "csv", "--delimiter", "|", "--no-header"]);
    let rows = |file: &str| {
        let text = std::fs::read_to_string(fixture.path(file)).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    };
    assert_eq!(rows("declared.csv"), rows("plain.csv"));
}

/// What an error advises is what helps.
#[test]
fn the_options_that_an_error_names_read_the_file() {
    let fixture = Fixture::new();
    let cases = [
        ("semicolons.csv", "a;b\n1;x\n2;y\n", 2),
        ("tabs.csv", "a\tb\n1\tx\n2\ty\n", 2),
        ("pipes.csv", "a|b|c\n1|x|3\n2|y|4\n", 2),
        ("headless.csv", "1,2024-01-01,x\n2,2024-01-02,y\n", 2),
    ];
    for (name, text, rows) in cases {
        fixture.file(name, text);
        let refused = fixture.run(&["convert", name, "out.csv"]);
        assert_eq!(refused.code, 2, "{name}: {}", refused.stderr);
        let advice =
            refused.stderr.split("; say ").nth(1).unwrap_or_else(|| panic!("{name}: {}", refused.stderr));
        let advice = advice.split(" (").next().unwrap().split(", or ask").next().unwrap();
        let script = format!("'{}' convert {name} out.csv {advice}", env!("CARGO_BIN_EXE_bulkwire"));
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &script]).current_dir(fixture.path("")).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        let read = std::fs::read_to_string(fixture.path("out.csv")).unwrap();
        assert_eq!(read.lines().count(), rows + 1, "{script}: {read}");
    }
}
