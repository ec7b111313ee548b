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
fn what_such_files_cannot_do_is_refused_by_name() {
    let fixture = Fixture::new();
    fixture.file("shop.bacpac", SHOP);
    fixture.file("empty.bak", "");
    fixture.file("text.mdf", "no pages\n".repeat(4000));
    let cases: [(&[&str], &str); 9] = [
        (&["copy", "shop.bacpac#customer", "out.csv", "--backup-set", "2"], "a package is no backup"),
        (
            &["copy", "shop.bacpac", "out.csv"],
            "name a table (shop.bacpac#dbo.orders), or several by --tables",
        ),
        (&["copy", "shop.bacpac#nix", "out.csv"], "the file has shop.customer, shop.order line"),
        (&["copy", "empty.bak#t", "out.csv"], "empty.bak: it is too short for a data file or a backup"),
        (&["copy", "text.mdf#t", "out.csv"], "it is neither a data file (.mdf, .ndf) nor a backup"),
        (&["copy", "a.csv", "shop.bak"], "are read, not written"),
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
