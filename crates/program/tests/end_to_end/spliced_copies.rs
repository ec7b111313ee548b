//! Copies from server to server whose rows pass undecoded, beside those that decode them.

use crate::fixture::Fixture;

const EVERY_TYPE: &str = "CREATE TABLE s (id int NOT NULL, i int NULL, n smallint NOT NULL, b bigint NULL, y tinyint NULL, \
    k bit NULL, f float NULL, r real NULL, m money NULL, sm smallmoney NULL, d decimal(9, 2) NULL, e decimal(38, 10) NULL, \
    t date NULL, tm time(3) NULL, dt datetime NULL, sd smalldatetime NULL, d2 datetime2(7) NULL, o datetimeoffset(4) NULL, \
    g uniqueidentifier NULL, c char(4) NULL, v varchar(20) NULL, w nvarchar(20) NULL, nc nchar(3) NULL, bi binary(3) NULL, \
    vb varbinary(9) NULL, vm varchar(max) NULL, wm nvarchar(max) NULL, bm varbinary(max) NULL, x xml NULL, tx text NULL, \
    nt ntext NULL, im image NULL, sv sql_variant NULL, rv rowversion)";

/// Rows with every value, with NULLs in changing columns, and with none.
const ROWS: &str = "INSERT INTO s (id, i, n, b, y, k, f, r, m, sm, d, e, t, tm, dt, sd, d2, o, g, c, v, w, nc, bi, vb, vm, wm, bm, x, tx, nt, im, sv) \
    SELECT a.value, NULLIF(a.value % 3, 0), -a.value, a.value * 10000000000, NULLIF(a.value % 5, 1), a.value % 2, a.value / 7.0, \
    NULLIF(a.value % 7, 2), a.value * 1.25, -a.value, NULLIF(a.value % 11, 3) * 1.01, a.value * -1.5, DATEADD(day, a.value, '2024-02-29'), \
    DATEADD(ms, a.value * 37, CAST('00:00' AS time(3))), DATEADD(s, a.value, '2001-01-01'), DATEADD(mi, a.value, '2001-01-01'), \
    DATEADD(ns, a.value * 100, CAST('1066-10-14' AS datetime2(7))), TODATETIMEOFFSET(DATEADD(s, a.value, CAST('2020-01-01' AS datetime2(4))), a.value % 840), \
    CASE WHEN a.value % 4 > 0 THEN NEWID() END, 'ab', REPLICATE('x', a.value % 21), NULLIF(REPLICATE(N'Ж', a.value % 21), N''), N'ß', \
    CAST(a.value AS binary(3)), CAST(a.value AS varbinary(9)), REPLICATE(CAST('long ' AS varchar(max)), a.value % 3000), \
    NULLIF(REPLICATE(CAST(N'länger ' AS nvarchar(max)), a.value % 1000), N''), CAST(REPLICATE('b', a.value % 100) AS varbinary(max)), \
    N'<a>' + CAST(a.value AS nvarchar(9)) + N'</a>', REPLICATE('t', a.value % 50), REPLICATE(N'ñ', a.value % 50), CAST(REPLICATE('i', a.value % 50) AS varbinary(max)), \
    CASE a.value % 4 WHEN 0 THEN CAST(a.value AS sql_variant) WHEN 1 THEN CAST(N'text' AS sql_variant) WHEN 2 THEN CAST(1.25 AS sql_variant) END \
    FROM GENERATE_SERIES(1, 400) AS a";

/// The values of a table as texts, for those that do not compare.
const SHOWN: &str = "id, i, n, b, y, k, f, r, m, sm, d, e, t, tm, dt, sd, d2, o, g, c, v, w, nc, bi, vb, vm, wm, bm, \
    CAST(x AS nvarchar(max)) AS x, CAST(tx AS varchar(max)) AS tx, CAST(nt AS nvarchar(max)) AS nt, CAST(im AS varbinary(max)) AS im, \
    CAST(sv AS nvarchar(100)) AS sv, CAST(SQL_VARIANT_PROPERTY(sv, 'BaseType') AS sysname) AS svt";

fn check_same(fixture: &Fixture, copy: &str) {
    for (left, right) in [("s", copy), (copy, "s")] {
        let differing = fixture.rows(&format!(
            "SELECT COUNT(*) FROM (SELECT {SHOWN} FROM {left} EXCEPT SELECT {SHOWN} FROM {right}) AS d"
        ));
        assert_eq!(differing, "0\n", "{left} without {right}");
    }
    assert_eq!(fixture.rows(&format!("SELECT COUNT(*) FROM {copy}")), "400\n");
}

#[test]
fn rows_of_every_type_pass_and_arrive_as_they_were() {
    let fixture = Fixture::new();
    fixture.sql(EVERY_TYPE);
    fixture.sql(ROWS);
    let spliced = fixture.ok(&["copy", "mssql:s", "mssql:dbo.t"]);
    assert!(spliced.stderr.contains("spliced: 34 of 34 columns"), "{}", spliced.stderr);
    check_same(&fixture, "t");
    // The rowversions are bytes of a table that has its own.
    assert_eq!(
        fixture.rows("SELECT COUNT(*) FROM s JOIN t ON s.id = t.id AND CAST(s.rv AS binary(8)) = t.rv"),
        "400\n"
    );
    let decoded = fixture.ok(&["copy", "mssql:s", "mssql:dbo.u", "--max-errors", "1"]);
    assert!(decoded.stderr.contains("decoded"), "{}", decoded.stderr);
    assert!(decoded.stderr.contains("refused rows are shown by their values"), "{}", decoded.stderr);
    check_same(&fixture, "u");
    // Nullable columns become NOT NULL ones' neighbours and the other way round; batches are cut; rows go through a stage.
    fixture.sql("ALTER TABLE s ADD CONSTRAINT pk PRIMARY KEY (id)");
    for (index, options) in [
        &["--batch-rows", "300"][..],
        &["--writers", "3", "--readers", "2"],
        &["--writers", "2", "--resume"],
        &["--mode", "replace"],
        &["--retry-for", "0"],
        &["--gentle"],
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("o{index}");
        fixture.sql(
            &EVERY_TYPE
                .replace("TABLE s", &format!("TABLE {table}"))
                .replace("n smallint NOT NULL", "n smallint NULL"),
        );
        let target = format!("mssql:dbo.{table}");
        let done = fixture.ok(&[&["copy", "mssql:s", &target], options].concat());
        assert!(done.stderr.contains("spliced: 33 of 33 columns"), "{options:?}: {}", done.stderr);
        check_same(&fixture, &table);
    }
}

#[test]
fn columns_that_must_be_decoded_are_named_and_copied_all_the_same() {
    let fixture = Fixture::new();
    fixture
        .sql("CREATE TABLE s (a int NOT NULL, b varchar(9) COLLATE Latin1_General_CI_AS NULL, c int NULL)");
    fixture.sql("INSERT INTO s VALUES (1, 'ab', 3), (2, NULL, 4)");
    fixture.sql("CREATE TABLE t (a bigint NOT NULL, b varchar(9) COLLATE Cyrillic_General_CI_AS NULL, c int NOT NULL)");
    let copied = fixture.ok(&["copy", "mssql:s", "mssql:dbo.t"]);
    for said in [
        "decoded",
        "a: int is to become bigint",
        "b: its text is in code page 1252, the target's in 1251",
        "c: the target takes no NULL, and the source may have one",
    ] {
        assert!(copied.stderr.contains(said), "{said:?} in {}", copied.stderr);
    }
    assert_eq!(fixture.rows("SELECT * FROM t ORDER BY a"), "1,ab,3\n2,,4\n");
    let transformed = fixture.ok(&["copy", "mssql:s", "mssql:dbo.u", "--where", "a = 2"]);
    assert!(transformed.stderr.contains("they are transformed"), "{}", transformed.stderr);
    assert_eq!(fixture.rows("SELECT * FROM u"), "2,,4\n");
    // Columns in another order, and some left out, pass.
    fixture.sql("CREATE TABLE v (c int NULL, extra int NULL, a int NULL)");
    let mapped = fixture.ok(&["copy", "mssql:s", "mssql:dbo.v", "--map", "a=a", "--map", "c=c"]);
    assert!(mapped.stderr.contains("spliced: 2 of 2 columns"), "{}", mapped.stderr);
    assert_eq!(fixture.rows("SELECT * FROM v ORDER BY a"), "3,,1\n4,,2\n");
    // A NULL that does not fit is refused by row and column, as ever.
    fixture.sql("INSERT INTO s VALUES (3, 'x', NULL)");
    let refused = fixture.run(&["copy", "mssql:s", "mssql:dbo.t"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("row 3, column \"c\""), "{}", refused.stderr);
}
