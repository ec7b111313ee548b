//! A login that may read and write one table, and sees nothing else: no monitoring views, no schemas, no other objects, no DDL. What
//! needs no more than the table works, and what needs more is refused by the server's word for it.
//!
//! The embedded server has no permissions: the line takes them away.

use crate::claims::{self, *};
use crate::doubtful_server::shown_instead;
use crate::fixture::{Fixture, PASSWORD};
use crate::rewriting_line::{Reading, RewritingLine};

/// VIEW SERVER STATE, CREATE TABLE, and ALTER on an object are missing (sys.messages).
const NO_STATE: i32 = 300;
const NO_CREATE: i32 = 262;
const NO_ALTER: i32 = 1088;
const SECONDS: u32 = 100;

/// Views that show such a login nothing, or its table alone.
const VEILED: [(&str, &str); 6] = [
    ("schemas", "1 = 0"),
    ("allocation_units", "1 = 0"),
    ("database_principals", "1 = 0"),
    ("data_spaces", "1 = 0"),
    ("types", "is_user_defined = 0"),
    ("databases", "name = DB_NAME()"),
];

fn fixture() -> Fixture {
    let fixture = claims::fixture();
    fixture.sql("CREATE SCHEMA veil");
    for (view, shown) in VEILED {
        fixture.sql(&format!("CREATE VIEW veil.{view} AS SELECT * FROM sys.{view} WHERE {shown}"));
    }
    fixture.sql(
        "CREATE FUNCTION veil.rights(@name nvarchar(500), @class nvarchar(60), @right nvarchar(60)) RETURNS int AS \
         BEGIN RETURN IIF(@right IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') AND @class = 'OBJECT', 1, 0) END",
    );
    fixture
}

/// Returns the reading of a batch for such a login.
fn restricted(text: &str) -> Reading {
    // Temporary tables are everybody's.
    let makes = |what: &str| {
        let mut names = text.match_indices(what).map(|(at, _)| &text[at + what.len()..]);
        names.any(|name| !name.trim_start_matches(['[', ' ']).starts_with('#'))
    };
    if text.contains("sys.dm_") {
        return Reading::Refused(NO_STATE);
    }
    if makes("CREATE TABLE ") {
        return Reading::Refused(NO_CREATE);
    }
    if makes("ALTER TABLE ") || makes("TRUNCATE TABLE ") {
        return Reading::Refused(NO_ALTER);
    }
    let mut read = text.replace("HAS_PERMS_BY_NAME(", "veil.rights(");
    for (view, _) in VEILED {
        if let Reading::Instead(text) = shown_instead(&read, &format!("sys.{view}"), &format!("veil.{view}"))
        {
            read = text;
        }
    }
    if read == text { Reading::AsSent } else { Reading::Instead(read) }
}

#[test]
fn rights_on_one_table_are_enough_for_what_needs_no_more() {
    let fixture = fixture();
    for (index, (scenario, code)) in [
        (LoadOneBatch, 0),
        (LoadBatches, 0),
        (LoadAutocommit, 0),
        (Upsert, 0),
        (BcpIn, 0),
        (BcpInBatches, 0),
        (Query, 0),
        (Export, 0),
        (BcpOut, 0),
        (LoadCreated, 1),
        (LoadTruncated, 1),
        (LoadNoted, 1),
        (LoadStaged, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let line = RewritingLine::new(fixture.server.address(), |_, text| restricted(text), None);
        let (table, file) = (format!("one{index}"), format!("one{index}.csv"));
        let said = claims::run(&fixture, scenario, line.port, SECONDS, &table, &file);
        assert_eq!(said.code, code, "{scenario:?}: {}", said.text);
        if code == 1 {
            let is_named = [NO_CREATE, NO_ALTER].iter().any(|number| said.text.contains(&number.to_string()));
            assert!(is_named, "{scenario:?}: {}", said.text);
        }
        match scenario {
            Export | BcpOut => claims::judge_file(&fixture.path(&file), scenario, &said).unwrap(),
            _ => {
                let now = claims::count(&mut claims::direct(&fixture), &table);
                let allowed = claims::allowed(scenario, &said).unwrap();
                assert!(allowed.contains(&now), "{scenario:?}: {now} rows, {}", said.text);
            }
        }
    }
}

#[test]
fn commands_degrade_where_a_login_sees_its_table_alone() {
    let fixture = fixture();
    fixture.sql("CREATE TABLE keyed (n int NOT NULL PRIMARY KEY, s varchar(30) NULL)");
    fixture.sql("INSERT INTO keyed SELECT n, s FROM origin");
    for (index, (words, rows)) in [
        ("load {t} t.csv --url {url} --writers 2", ROWS),
        ("load {t} t.csv --url {url} --sole-writer", ROWS),
        ("load {t} t.csv --url {url} --mode append --strategy direct --report {t}.html", ROWS),
        ("load {t} t.csv --url {url} --dry-run --forecast", 0),
        ("copy t.csv {url}#{t}", ROWS),
        ("copy {url}#keyed {url}#{t}", ROWS),
        ("copy {url}#keyed {t}.parquet", 0),
        ("export keyed {t}.csv --url {url} --readers 2", 0),
        ("describe keyed --url {url}", 0),
        ("query SELECT(1) --url {url}", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("seen{index}");
        fixture.sql(&format!("CREATE TABLE {table} (n int NOT NULL PRIMARY KEY, s varchar(30) NULL)"));
        let line = RewritingLine::new(fixture.server.address(), |_, text| restricted(text), None);
        let server = format!("mssql://sa@127.0.0.1:{}/master", line.port);
        let words = words.split(' ').map(|word| match word.split_once('#') {
            Some((_, name)) => format!("{server}/{}?Encrypt=Off", name.replace("{t}", &table)),
            _ if word == "{url}" => format!("{server}?Encrypt=Off"),
            _ => word.replace("{t}", &table),
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = fixture.run_with_variables(&[("BULKWIRE_PASSWORD", PASSWORD)], &words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        let found = claims::count(&mut claims::direct(&fixture), &table);
        assert_eq!(found, rows, "{words:?}: {}", ran.stderr);
    }
}
