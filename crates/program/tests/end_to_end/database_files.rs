//! `bulkwire copy` and `describe` of files that SQL Server's tools wrote.

use std::fs;

use crate::fixture::Fixture;

/// A package of two tables with keys, a default, a check and a computed column, written for these tests.
const SHOP: &[u8] = include_bytes!("../../../copy/tests/fixtures/shop.bacpac");

#[test]
fn a_package_becomes_tables_with_keys_and_files() {
    let fixture = Fixture::new();
    fixture.file("shop.bacpac", SHOP);
    let copied = fixture.ok(&["copy", "shop.bacpac", "mssql:", "--tables", "*", "--with-keys"]);
    assert!(copied.stderr.contains("2 of 2 tables, 5 rows"), "{}", copied.stderr);
    assert_eq!(
        fixture.rows("SELECT id, name, code FROM shop.customer ORDER BY id"),
        "1,Ärger & Co,DE \n2,Kaufhaus 日本,JPN\n"
    );
    assert_eq!(
        fixture.rows("SELECT customer_id, at, amount, [double] FROM shop.[order line] ORDER BY at"),
        "1,1900-01-01 00:00:00.000,,\n1,2026-01-02 03:04:05.678,19.99,39.98\n2,9999-12-31 23:59:59.999,99999999.99,199999999.98\n"
    );
    let keys = "SELECT name, delete_referential_action_desc FROM sys.foreign_keys";
    assert_eq!(fixture.rows(keys), "FK_line_customer,CASCADE\n");
    assert_eq!(fixture.rows("SELECT IDENT_CURRENT('shop.customer')"), "2\n");
    let refused = "INSERT shop.[order line] (customer_id, amount) VALUES (1, -1)";
    assert_ne!(fixture.run(&["query", refused]).code, 0);

    fixture.ok(&["copy", "shop.bacpac#shop.[order line]", "lines.csv", "--quiet"]);
    assert_eq!(
        fs::read_to_string(fixture.path("lines.csv")).unwrap(),
        "customer_id,at,amount\n1,2026-01-02 03:04:05.678,19.99\n1,1900-01-01 00:00:00.000,\n2,9999-12-31 23:59:59.999,99999999.99\n"
    );
    // Capitals do not matter, and a name alone is enough where it is in one schema.
    fixture.ok(&["copy", "shop.bacpac#CUSTOMER", "customers.parquet", "--quiet"]);
}

#[test]
fn an_interrupted_copy_of_a_package_goes_on() {
    let fixture = Fixture::new();
    fixture.file("shop.bacpac", SHOP);
    let arguments = ["copy", "shop.bacpac#customer", "mssql:c", "--resume", "--load-id", "shop"];
    fixture.ok(&arguments);
    let again = fixture.ok(&arguments);
    assert!(again.stderr.contains("has copied everything"), "{}", again.stderr);
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM c"), "2\n");
}

#[test]
fn a_package_is_described_and_verified() {
    let fixture = Fixture::new();
    fixture.file("shop.bacpac", SHOP);
    let described = fixture.ok(&["describe", "shop.bacpac"]);
    for part in ["package of model and data of the database shop", "shop.order line", "clustered"] {
        assert!(described.stdout.contains(part), "{}", described.stdout);
    }
    let table = fixture.ok(&["describe", "shop.bacpac#order line"]);
    for part in
        ["decimal(12, 2)", "computed ([amount]*(2))", "FK_line_customer", "CK_line_amount ([amount]>=(0))"]
    {
        assert!(table.stdout.contains(part), "{}", table.stdout);
    }
    let verified = fixture.ok(&["describe", "shop.bacpac", "--verify"]);
    assert!(verified.stdout.contains("2 of 2 tables are sound, 5 rows"), "{}", verified.stdout);
    // A byte of the packed data: the archive's checksum or the row's form notices.
    let mut damaged = SHOP.to_vec();
    let at = damaged.windows(12).position(|window| window == b"Data/shop.cu").unwrap() + 60;
    damaged[at] ^= 0x10;
    fixture.file("bad.bacpac", damaged);
    let failed = fixture.run(&["describe", "bad.bacpac", "--verify"]);
    assert_eq!(failed.code, 1, "{}", failed.stdout);
    assert!(failed.stdout.contains("shop.customer: FAILED: bad.bacpac"), "{}", failed.stdout);
    assert!(failed.stdout.contains("shop.order line: 3 rows"), "{}", failed.stdout);
}

#[test]
fn tables_of_a_server_become_a_package_and_tables_again() {
    let fixture = Fixture::new();
    fixture.sql("CREATE SCHEMA sales");
    fixture.sql(
        "CREATE TABLE dbo.region (id int IDENTITY(10, 5) CONSTRAINT pk_region PRIMARY KEY, name varchar(20) COLLATE Polish_CI_AS NOT NULL)",
    );
    fixture.sql(
        "CREATE TABLE sales.[order.line] (id int NOT NULL, part smallint NOT NULL, region_id int NULL CONSTRAINT fk_region REFERENCES dbo.region (id) ON DELETE CASCADE, \
         amount decimal(12, 2) NULL CONSTRAINT ck_amount CHECK (amount >= 0), twice AS amount * 2, at datetime2(3) NOT NULL CONSTRAINT df_at DEFAULT SYSUTCDATETIME(), \
         note nvarchar(max) NULL, code char(4) NOT NULL, version rowversion, CONSTRAINT pk_line PRIMARY KEY (id, part DESC))",
    );
    fixture.sql(
        "CREATE INDEX ix_amount ON sales.[order.line] (amount DESC) INCLUDE (code) WHERE amount IS NOT NULL",
    );
    fixture.sql("INSERT INTO dbo.region (name) VALUES ('Łódź'), ('North')");
    fixture.sql(
        "INSERT INTO sales.[order.line] (id, part, region_id, amount, at, note, code) SELECT value, value % 3, 10, value / 4.0, '2026-01-02 03:04:05.678', \
         REPLICATE(N'日本 ', value % 7), 'ab' FROM GENERATE_SERIES(1, 3000)",
    );
    let written =
        fixture.ok(&["copy", "mssql:", "shop.bacpac", "--tables", "*", "--with-keys", "--jobs", "2"]);
    assert!(written.stderr.contains("shop.bacpac: 2 tables"), "{}", written.stderr);
    let verified = fixture.ok(&["describe", "shop.bacpac", "--verify"]);
    assert!(verified.stdout.contains("2 of 2 tables are sound, 3,002 rows"), "{}", verified.stdout);
    let content = "SELECT COUNT(*), SUM(CAST(twice AS decimal(18, 2))), SUM(LEN(note)), MIN(code), MAX(at) FROM sales.[order.line]";
    let of_keys = "SELECT name, is_unique, type_desc, has_filter FROM sys.indexes WHERE OBJECT_NAME(object_id) IN ('region', 'order.line') ORDER BY name";
    let before = (fixture.rows(content), fixture.rows("SELECT * FROM dbo.region"), fixture.rows(of_keys));
    fixture.sql("DROP TABLE sales.[order.line]; DROP TABLE dbo.region; DROP SCHEMA sales");
    fixture.ok(&["copy", "shop.bacpac", "mssql:", "--tables", "*", "--with-keys", "--quiet"]);
    let after = (fixture.rows(content), fixture.rows("SELECT * FROM dbo.region"), fixture.rows(of_keys));
    assert_eq!(after, before);
    assert_eq!(
        fixture.rows("SELECT name, delete_referential_action_desc FROM sys.foreign_keys"),
        "fk_region,CASCADE\n"
    );
    // The model alone, and a table without the one that its foreign key refers to.
    fixture.ok(&["copy", "shop.bacpac", "model.dacpac", "--tables", "*", "--with-keys", "--quiet"]);
    let model = fixture.ok(&["describe", "model.dacpac"]);
    assert!(model.stdout.contains("package of a model alone"), "{}", model.stdout);
    let alone = fixture.ok(&["copy", "mssql:", "lines.bacpac", "--tables", "sales.*", "--with-keys"]);
    assert!(
        alone
            .stderr
            .contains("foreign key fk_region of sales.order.line is not written: it refers to dbo.region"),
        "{}",
        alone.stderr
    );
}

#[test]
fn a_package_appears_when_all_of_it_has_arrived() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE a (n int NOT NULL)");
    fixture.sql("CREATE TABLE b (v sql_variant NULL)");
    fixture.sql("INSERT INTO a VALUES (1)");
    fixture.file("shop.bacpac", "what was there before");
    let failed = fixture.run(&["copy", "mssql:", "shop.bacpac", "--tables", "*"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    for part in ["column v: sql_variant has no form in a package that is known", "shop.bacpac is not written"]
    {
        assert!(failed.stderr.contains(part), "{}", failed.stderr);
    }
    assert_eq!(fs::read_to_string(fixture.path("shop.bacpac")).unwrap(), "what was there before");
    let left: Vec<_> =
        fs::read_dir(fixture.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
    fixture.sql("CREATE TABLE c (n int NOT NULL CONSTRAINT pk_c PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))");
    let planned = fixture.ok(&["copy", "mssql:c", "c.bacpac", "--with-keys", "--dry-run"]);
    assert!(planned.stderr.contains("IGNORE_DUP_KEY of pk_c"), "{}", planned.stderr);
    fixture.file("a.csv", "id,name\n1,x\n2,\n");
    fixture.ok(&["copy", "a.csv", "files.bacpac#shop.thing", "--quiet"]);
    fixture.ok(&["copy", "files.bacpac#shop.thing", "back.csv", "--quiet"]);
    assert_eq!(fs::read_to_string(fixture.path("back.csv")).unwrap(), "id,name\n1,x\n2,\n");
    let refused = fixture.run(&["copy", "a.csv", "files.bacpac#shop.thing", "--create"]);
    assert!(refused.stderr.contains("there is such a file already"), "{}", refused.stderr);
}

#[test]
fn what_such_files_cannot_do_is_refused_by_name() {
    let fixture = Fixture::new();
    fixture.file("shop.bacpac", SHOP);
    fixture.file("empty.bak", "");
    fixture.file("text.mdf", "no pages\n".repeat(4000));
    fixture.file("a.csv", "id\n1\n");
    let cases: [(&[&str], &str); 13] = [
        (&["copy", "shop.bacpac#customer", "out.csv", "--backup-set", "2"], "a package is no backup"),
        (
            &["copy", "shop.bacpac", "out.csv"],
            "name a table (shop.bacpac#dbo.orders), or several by --tables",
        ),
        (&["copy", "shop.bacpac#nix", "out.csv"], "the file has shop.customer, shop.order line"),
        (&["copy", "empty.bak#t", "out.csv"], "empty.bak: it is too short for a data file or a backup"),
        (&["copy", "text.mdf#t", "out.csv"], "it is neither a data file (.mdf, .ndf) nor a backup"),
        (&["copy", "a.csv", "shop.bak"], "data files and backups are read, not written"),
        (
            &["copy", "a.csv", "new.bacpac"],
            "name the table that the rows are written to (new.bacpac#dbo.orders)",
        ),
        (&["copy", "shop.bacpac#customer", "shop.bacpac"], "is both source and destination"),
        (&["copy", "shop.bacpac#customer", "new.bacpac", "--truncate"], "a file is replaced as a whole"),
        (
            &["copy", "shop.bacpac#customer", "new.bacpac", "--batch-rows", "5"],
            "--batch-rows is for loading SQL Server",
        ),
        (&["copy", "shop.bacpac#customer", "out.csv", "--query", "SELECT 1"], "a file has no queries"),
        (
            &["copy", "shop.bacpac#customer", "out.csv", "--readers", "2"],
            "--readers is for reading SQL Server",
        ),
        (&["copy", "shop.bacpac#customer", "out.csv", "--with-keys"], "--with-keys"),
    ];
    for (arguments, part) in cases {
        let refused = fixture.run(arguments);
        assert!(refused.code != 0 && refused.stderr.contains(part), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn modules_of_a_backup_follow_its_tables() {
    let fixture = Fixture::new();
    let folder = std::env::var("BULKWIRE_SQL_SERVER_FILES")
        .unwrap_or_else(|_| "../../../shared/data/sql-server-files".to_owned());
    let Ok(backup) = fs::canonicalize(std::path::Path::new(&folder).join("northwind-655/northwind-full.bak"))
    else {
        println!("skipped: the files of SQL Server are not there");
        return;
    };
    let backup = backup.to_str().unwrap();
    let words = ["copy", backup, "mssql:", "--tables", "*", "--with-keys", "--with-modules"];
    let copied = fixture.ok(&[words.as_slice(), &["--skip-failing-modules"]].concat());
    assert!(copied.stderr.contains(" modules made"), "{}", copied.stderr);
    // A view of a view, and a procedure.
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM [Order Subtotals]"), "830\n");
    assert_eq!(fixture.rows("SELECT COUNT(*) FROM [Sales by Category]"), "77\n");
    let again = fixture.run(&words);
    assert_ne!(again.code, 0);
    fixture.file("a.csv", "id\n1\n");
    let refused = fixture.run(&["copy", "a.csv", "mssql:t", "--with-modules"]);
    assert!(refused.stderr.contains("--with-modules is for copies of several tables"), "{}", refused.stderr);
}
