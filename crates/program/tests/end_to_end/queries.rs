//! `bulkwire query` and `bulkwire describe`.

use crate::fixture::{Fixture, PASSWORD};

#[test]
fn prints_tables_csv_and_json() {
    let fixture = Fixture::new();
    let sql = "SELECT 1 AS id, N'Å,\"b' AS name, CAST(NULL AS int) AS nothing, 0x0AFF AS raw, CAST(1 AS bit) AS flag";
    let table = fixture.ok(&["query", sql]).stdout;
    let expected = "id  name  nothing  raw     flag\n--  ----  -------  ------  ----\n 1  Å,\"b     NULL  0x0AFF  1\n(1 row)\n";
    assert_eq!(table, expected);
    let csv = fixture.ok(&["query", sql, "-o", "csv"]).stdout;
    assert_eq!(csv, "id,name,nothing,raw,flag\n1,\"Å,\"\"b\",,0x0AFF,1\n");
    let json = fixture.ok(&["query", sql, "-o", "json"]).stdout;
    assert_eq!(
        json,
        "[\n{\"id\":1,\"name\":\"Å,\\\"b\",\"nothing\":null,\"raw\":\"0AFF\",\"flag\":true}\n]\n"
    );
}

#[test]
fn prints_every_result_and_the_server_s_messages() {
    let fixture = Fixture::new();
    let ran = fixture.ok(&["query", "SELECT 1 AS a; PRINT 'between'; SELECT 2 AS b"]);
    assert_eq!(ran.stdout, "a\n-\n1\n(1 row)\n\nb\n-\n2\n(1 row)\n");
    assert!(ran.stderr.contains("between"), "{}", ran.stderr);
}

#[test]
fn cuts_long_results_and_says_so() {
    let fixture = Fixture::new();
    let ran = fixture.ok(&["query", "SELECT * FROM (VALUES (1),(2),(3)) v (n)", "--max-rows", "2"]);
    assert!(ran.stdout.ends_with("(3 rows, the first 2 shown)\n"), "{}", ran.stdout);
}

#[test]
fn reads_sql_from_standard_input() {
    let fixture = Fixture::new();
    let ran = fixture.run_with(&fixture.url("Encrypt=Off"), PASSWORD, &["query", "-"], "SELECT 42 AS n");
    assert!(ran.stdout.contains("42"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn server_errors_name_number_and_line() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["query", "SELECT 1;\nSELECT nothing FROM nowhere"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("Msg 208, Level 16") && ran.stderr.contains("nowhere"), "{}", ran.stderr);
}

#[test]
fn describes_columns_keys_and_the_plan() {
    let fixture = Fixture::new();
    fixture.sql(
        "CREATE TABLE dbo.t (id int IDENTITY(1,1) NOT NULL CONSTRAINT pk_t PRIMARY KEY, v nvarchar(20) NULL DEFAULT N'x', \
         n int NOT NULL CONSTRAINT ck_n CHECK (n > 0), at rowversion)",
    );
    fixture.sql("CREATE UNIQUE INDEX ux_v ON dbo.t (v DESC)");
    let shown = fixture.ok(&["describe", "dbo.t"]).stdout;
    for expected in [
        "[dbo].[t] (clustered",
        "identity",
        "default",
        "rowversion",
        "pk_t",
        "ux_v",
        "v DESC",
        "ck_n",
        "TABLOCK",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn json_keeps_every_digit_the_order_of_columns_and_every_column() {
    let fixture = Fixture::new();
    let sql = "SELECT CAST(12345678901234567890123456789012345678 AS decimal(38, 0)) AS z, \
               CAST(1.5 AS decimal(9, 3)) AS a, N'\"q\"' AS [k\"], CAST(NULL AS int) AS n";
    let ran = fixture.ok(&["query", sql, "--output", "json"]);
    assert_eq!(
        ran.stdout,
        "[\n{\"z\":12345678901234567890123456789012345678,\"a\":1.500,\"k\\\"\":\"\\\"q\\\"\",\"n\":null}\n]\n"
    );
    let twice = fixture.run(&["query", "SELECT 1 AS a, 2 AS a", "--output", "json"]);
    assert_eq!(twice.code, 2);
    assert!(twice.stderr.contains("alias"), "{}", twice.stderr);
}

#[test]
fn rows_and_messages_before_an_error_are_shown() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["query", "SELECT 41 AS a; PRINT 'said'; RAISERROR('late', 16, 1)"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("41"), "{}", ran.stdout);
    let said = ran.stderr.find("said").unwrap();
    assert!(said < ran.stderr.find("late").unwrap(), "{}", ran.stderr);
}

#[test]
fn prints_json_lines_and_markdown() {
    let fixture = Fixture::new();
    let sql = "SELECT 1 AS n, N'a|b\n<c>' AS s; SELECT CAST(NULL AS int) AS x";
    let lines = fixture.ok(&["query", sql, "--format", "jsonl"]).stdout;
    assert_eq!(lines, "{\"n\":1,\"s\":\"a|b\\n<c>\"}\n{\"x\":null}\n");
    let markdown = fixture.ok(&["query", sql, "--format", "markdown"]).stdout;
    assert_eq!(markdown, "| n | s |\n| ---: | --- |\n| 1 | a\\|b<br>&lt;c> |\n\n| x |\n| ---: |\n| NULL |\n");
    let cut = ["query", "SELECT * FROM (VALUES (1),(2),(3)) v (n)", "--format", "jsonl", "--max-rows", "2"];
    assert_eq!(fixture.ok(&cut).stdout, "{\"n\":1}\n{\"n\":2}\n");
}

#[test]
fn runs_scripts_batch_by_batch_and_stops_at_the_first_that_fails() {
    let fixture = Fixture::new();
    let script = "CREATE TABLE #t (n int)\nGO\nINSERT #t VALUES (1)\nPRINT 'more'\nGO 3\nSELECT COUNT(*) AS n FROM #t\nGO\n";
    fixture.file("good.sql", script);
    let ran = fixture.ok(&["query", "-f", "good.sql", "--format", "csv"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("n\n3\n", "more\n(1 row affected)\n".repeat(3).as_str())
    );
    let piped =
        fixture.run_with(&fixture.url("Encrypt=Off"), PASSWORD, &["query", "-", "--format", "csv"], script);
    assert_eq!((piped.code, piped.stdout.as_str()), (0, "n\n3\n"), "{}", piped.stderr);
    let wide: Vec<u8> =
        std::iter::once(0xFEFF).chain(script.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fixture.file("wide.sql", wide);
    assert_eq!(fixture.ok(&["query", "-f", "wide.sql", "--format", "csv"]).stdout, "n\n3\n");

    fixture.file("bad.sql", "SELECT 1 AS a\nGO\n\nSELECT nothing FROM nowhere\nGO\nSELECT 2 AS b\n");
    let ran = fixture.run(&["query", "-f", "bad.sql", "--format", "csv"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "a\n1\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("bad.sql, batch from line 3: Msg 208"), "{}", ran.stderr);
    fixture.file("go.sql", "SELECT 1\nGO away\n");
    assert_eq!(fixture.run(&["query", "-f", "go.sql"]).code, 2);
    assert_eq!(fixture.run(&["query", "-f", "none.sql"]).code, 2);
    assert_eq!(fixture.run(&["query", "SELECT 1", "-f", "good.sql"]).code, 2);
    assert_eq!(fixture.run(&["query"]).code, 2);
}

#[test]
fn takes_typed_parameters() {
    let fixture = Fixture::new();
    let sql = "SELECT @a + 1 AS a, @b AS b, @c AS c, @d AS d, @e AS e, @f AS f, @g AS g, @h AS h";
    let parameters = [
        "a:int=41",
        "b=x'; DROP TABLE t --",
        "@c:decimal(5,2)=-1.5",
        "d:date=2026-11-22",
        "e:int",
        "f:uniqueidentifier=6F9619FF-8B86-D011-B42D-00C04FC964FF",
        "g:varbinary(4)=0x0AFF",
        "h:datetimeoffset(0)=2026-01-01 12:00:00 +02:00",
    ];
    let mut arguments = vec!["query", sql, "--format", "csv"];
    arguments.extend(parameters.iter().flat_map(|parameter| ["--param", parameter]));
    assert_eq!(
        fixture.ok(&arguments).stdout,
        "a,b,c,d,e,f,g,h\n42,x'; DROP TABLE t --,-1.50,2026-11-22,,6F9619FF-8B86-D011-B42D-00C04FC964FF,0x0AFF,2026-01-01 12:00:00 +02:00\n"
    );
    let ran = fixture.run(&["query", "SELECT @a", "--param", "a:int=x"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("not a whole number"), "{}", ran.stderr);
}
