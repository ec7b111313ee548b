//! The wizard's printed command and package beside its own run: rows in their order, columns, keys and foreign keys are the same,
//! whatever the names.

use std::env;
use std::process::Command;
use std::sync::Arc;

use bulkwire_transform::Transformer;
use bulkwire_wizard::draft::{
    ChosenTable, ColumnChoice, Draft, End, EndKind, Filling, Secret, TargetColumn, What, Writers, quoted,
};
use copy::TransformEngine;

use crate::fixture::{Fixture, PASSWORD, Ran, text};

/// Names that a shell, a URL, TOML, patterns or T-SQL may misread.
const NAMES: [&str; 10] = [
    "a.b c",
    "x/y%20",
    "o'clock \"q\"",
    "br]ack[et",
    "日本😀",
    "${env:HOME} $x `id`",
    "a#b?c&d",
    "back\\slash",
    "p=q, st*r",
    "- lead",
];
const ROWS: u64 = 7;

/// Who runs a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Runner {
    Wizard,
    Command,
    Package,
}

const RUNNERS: [Runner; 3] = [Runner::Wizard, Runner::Command, Runner::Package];

fn server(fixture: &Fixture) -> End {
    let mut end = End { kind: EndKind::SqlServer, ..End::default() };
    end.server.host = fixture.server.address().to_string();
    end.server.database = "master".to_owned();
    end.server.user = "sa".to_owned();
    end.server.password = Secret::new(PASSWORD.to_owned());
    end.server.encrypt = "off".to_owned();
    end
}

fn table_of(fixture: &Fixture, table: &str) -> End {
    End { table: table.to_owned(), ..server(fixture) }
}

fn column(source: &str) -> ColumnChoice {
    ColumnChoice { source: Some(source.to_owned()), name: source.to_owned(), ..ColumnChoice::default() }
}

/// Runs a draft in one of the three ways.
fn run(fixture: &Fixture, draft: &Draft, runner: Runner) -> Result<(), String> {
    let variables = [("SOURCE_PASSWORD", PASSWORD), ("DESTINATION_PASSWORD", PASSWORD)];
    let told = |ran: Ran| match ran.code {
        0 => Ok(()),
        code => Err(format!("{code}: {}", ran.stderr)),
    };
    match runner {
        Runner::Wizard => {
            let engine: Arc<dyn TransformEngine> = Arc::new(Transformer);
            let spec = draft.spec_to_run().map_err(|error| error.to_string())?;
            let copied = copy::run(&spec, Some(&engine), &()).map_err(|error| error.to_string())?;
            copied.tables.iter().try_for_each(|table| match (&table.result, &table.failed_afterwards) {
                (Some(Ok(_)), None) => Ok(()),
                (result, afterwards) => Err(format!("{}: {result:?} {afterwards:?}", table.name)),
            })
        }
        Runner::Command => {
            let script =
                format!("bulkwire() {{ '{}' \"$@\"; }}\n{}", env!("CARGO_BIN_EXE_bulkwire"), draft.command());
            let mut shell = Command::new("sh");
            shell.args(["-c", &script]).envs(variables).env_remove("BULKWIRE_URL");
            let output = shell.current_dir(fixture.path("")).output().unwrap();
            match output.status.success() {
                true => Ok(()),
                false => Err(format!("{}\n{}", draft.command(), String::from_utf8_lossy(&output.stderr))),
            }
        }
        Runner::Package => {
            let file = fixture.file("printed.toml", draft.package());
            let ran = fixture.run_with_variables(&variables, &["run", text(&file), "--new"]);
            told(ran).map_err(|error| format!("{}\n{error}", draft.package()))
        }
    }
}

/// Returns what a table is and holds: columns, keys, rows in their order.
fn shown(fixture: &Fixture, table: &str) -> String {
    let id = format!("OBJECT_ID(N'{}')", table.replace('\'', "''"));
    let shown = fixture.ok(&[
        "query",
        &format!(
            "SELECT c.name, TYPE_NAME(c.user_type_id), c.max_length, c.is_nullable, c.is_identity, c.collation_name, d.definition \
             FROM sys.columns c LEFT JOIN sys.default_constraints d ON d.object_id = c.default_object_id \
             WHERE c.object_id = {id} ORDER BY c.column_id; \
             SELECT i.type_desc, i.is_unique, i.is_primary_key, k.key_ordinal, COL_NAME(k.object_id, k.column_id) FROM sys.indexes i \
             JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id WHERE i.object_id = {id} \
             ORDER BY i.index_id, k.key_ordinal; \
             SELECT OBJECT_NAME(f.referenced_object_id), COL_NAME(k.parent_object_id, k.parent_column_id), f.is_not_trusted \
             FROM sys.foreign_keys f JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id \
             WHERE f.parent_object_id = {id} ORDER BY 1, 2; \
             SELECT definition, is_not_trusted FROM sys.check_constraints WHERE parent_object_id = {id} ORDER BY 1; \
             SELECT * FROM {table}"
        ),
    ]);
    shown.stdout
}

/// Runs a draft in all three ways, each to a place of its own, and compares what is there. Returns the differences.
fn compare(
    fixture: &Fixture,
    what: &str,
    draft_of: &dyn Fn(Runner) -> Draft,
    shown: &dyn Fn(Runner) -> String,
) -> Vec<String> {
    let mut found = Vec::new();
    for runner in RUNNERS {
        if let Err(error) = run(fixture, &draft_of(runner), runner) {
            found.push(format!("{what}, {runner:?}: {error}"));
        }
    }
    if found.is_empty() {
        let expected = shown(Runner::Wizard);
        for runner in [Runner::Command, Runner::Package] {
            let shown = shown(runner);
            if shown != expected {
                let command = draft_of(runner).command();
                found.push(format!("{what}, {runner:?}: {command}\n{shown}\nin place of\n{expected}"));
            }
        }
    }
    found
}

fn named(name: &str, runner: Runner) -> String {
    format!("dbo.{}", quoted(&format!("{name} {runner:?}")))
}

#[test]
fn printed_copies_of_odd_names_do_what_the_wizard_does() {
    let fixture = Fixture::new();
    let mut ran = 0;
    let mut found = Vec::new();
    let all = env::var("BULKWIRE_SOAK_POINTS").is_ok();
    for (number, name) in NAMES.into_iter().enumerate() {
        let from = format!("dbo.{}", quoted(name));
        fixture.sql(&format!(
            "CREATE TABLE {from} (k int IDENTITY(3, 2) PRIMARY KEY, {} nvarchar(20) NULL, [c.1] decimal(9, 2) NOT NULL DEFAULT 1.5); \
             INSERT {from} ({0}, [c.1]) SELECT CONCAT(N'row é ', value), value / 4.0 FROM GENERATE_SERIES(1, {ROWS})",
            quoted(name)
        ));
        // To a table that is made, and to one that is there under other names.
        let draft = |runner| Draft {
            source: table_of(&fixture, &from),
            destination: table_of(&fixture, &named(name, runner)),
            ..Draft::default()
        };
        let of_table = |runner| self::shown(&fixture, &named(name, runner));
        found.extend(compare(&fixture, name, &draft, &of_table));
        let renamed = |runner| {
            let mut draft = draft(runner);
            draft.destination.table = named(&format!("{name} 2"), runner);
            fixture.sql(&format!(
                "IF OBJECT_ID(N'{}') IS NULL CREATE TABLE {} (k int PRIMARY KEY, {} nvarchar(20))",
                draft.destination.table.replace('\'', "''"),
                draft.destination.table,
                quoted(&format!("{name}=2"))
            ));
            draft.columns.columns = vec![
                column("k"),
                ColumnChoice { name: format!("{name}=2"), ..column(name) },
                ColumnChoice { is_ignored: true, ..column("c.1") },
            ];
            let target = |name: &str, kind: &str| TargetColumn {
                name: name.to_owned(),
                kind: kind.to_owned(),
                is_required: false,
            };
            draft.columns.targets = vec![target("k", "int"), target(&format!("{name}=2"), "nvarchar(20)")];
            draft
        };
        let of_renamed = |runner| self::shown(&fixture, &named(&format!("{name} 2"), runner));
        let query = |runner| {
            let mut draft = draft(runner);
            draft.source.what = What::Query;
            draft.source.query = format!("SELECT k, {} FROM {from}\nWHERE k > 5 -- '$x'", quoted(name));
            draft.destination.table = named(&format!("{name} 3"), runner);
            draft
        };
        let of_query = |runner| self::shown(&fixture, &named(&format!("{name} 3"), runner));
        // Each way with some of the names, and each name in some of the ways, unless there is time.
        if all || number % 3 == 0 {
            found.extend(compare(&fixture, &format!("{name}, renamed"), &renamed, &of_renamed));
        }
        if all || number % 3 == 1 {
            found.extend(compare(&fixture, &format!("{name}, query"), &query, &of_query));
        }
        // A star stands for other characters in the name of a file.
        if (all || number % 3 == 2) && !name.contains(['/', '*', '?']) {
            found.extend(of_a_file(&fixture, name));
        }
        ran += 1;
    }
    eprintln!("{ran} copies, each in three ways");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n\n"));
}

/// Copies the table of a name to a file of that name, and back.
fn of_a_file(fixture: &Fixture, name: &str) -> Vec<String> {
    let from = format!("dbo.{}", quoted(name));
    let columns = || [name, "k", "c.1"].map(column).to_vec();
    let path = |runner| text(&fixture.path(&format!("{name}{runner:?}.csv"))).to_owned();
    let out = |runner| {
        let mut draft = Draft { source: table_of(fixture, &from), ..Draft::default() };
        draft.destination.file.path = path(runner);
        draft.columns.columns = columns();
        draft.columns.columns[1].kind = "varchar(9)".to_owned();
        draft.columns.condition = format!("{} LIKE '%é [1-5]'", quoted(name));
        draft
    };
    let of_file = |runner| std::fs::read_to_string(path(runner)).unwrap();
    let mut found = compare(fixture, &format!("{name}.csv"), &out, &of_file);
    let table = |runner| named(&format!("{name} csv"), runner);
    let back = |runner| {
        let mut draft = Draft { destination: table_of(fixture, &table(runner)), ..Draft::default() };
        draft.source.file.path = path(Runner::Wizard);
        draft.columns.columns = columns();
        draft.columns.columns[0].filling = Filling::Value("it's ${x}".to_owned());
        draft
    };
    let of_back = |runner| shown(fixture, &table(runner));
    found.extend(compare(fixture, &format!("{name}.csv, back"), &back, &of_back));
    found
}

#[test]
fn printed_modes_do_what_the_wizard_does() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE dbo.origin (a int, b varchar(9), c int, PRIMARY KEY (a, b)); INSERT dbo.origin SELECT value, 'x', value FROM GENERATE_SERIES(1, 9)");
    let mut found = Vec::new();
    for (number, (mode, create)) in ["append", "truncate", "replace", "upsert", "insert-new"]
        .iter()
        .zip(["never", "", "if-missing", "never", ""])
        .enumerate()
    {
        let table = |runner| named(mode, runner);
        let draft = |runner| {
            let table = table(runner);
            fixture.sql(&format!(
                "IF OBJECT_ID(N'{table}') IS NULL BEGIN CREATE TABLE {table} (a int, b varchar(9), c int, PRIMARY KEY (a, b)); \
                 INSERT {table} VALUES ({}, 'x', 100), (50, 'y', 100) END",
                if number == 0 { 60 } else { 3 }
            ));
            let mut draft = Draft {
                source: table_of(&fixture, "dbo.origin"),
                destination: table_of(&fixture, &table),
                ..Draft::default()
            };
            draft.way.mode = (*mode).to_owned();
            draft.way.create = create.to_owned();
            draft.way.key = if number > 2 { "a, b".to_owned() } else { String::new() };
            draft.way.batch_rows = "4".to_owned();
            draft.way.writers = Writers::Count(2);
            draft.way.resumes = number % 2 == 0;
            draft.way.checks_constraints = true;
            draft
        };
        let sorted = |runner| {
            let shown = self::shown(&fixture, &table(runner));
            let mut lines: Vec<&str> = shown.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        found.extend(compare(&fixture, mode, &draft, &sorted));
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn printed_copies_of_tables_do_what_the_wizard_does() {
    let fixture = Fixture::new();
    for schema in ["shop", "[my shop]", "[Wizard]", "[Command]", "[Package]"] {
        fixture.sql(&format!("CREATE SCHEMA {schema}"));
    }
    fixture.sql(
        "CREATE TABLE [my shop].[pa.rent] (id int IDENTITY(1, 1) CONSTRAINT pk_p PRIMARY KEY, n nvarchar(9) CONSTRAINT u_n UNIQUE); \
         CREATE TABLE shop.[o'child 日] (id int CONSTRAINT pk_c PRIMARY KEY, p int NOT NULL CONSTRAINT fk_c REFERENCES [my shop].[pa.rent] (id), \
         v int CONSTRAINT d_v DEFAULT 7 CONSTRAINT c_v CHECK (v > 0)); \
         CREATE TABLE shop.[br]]acket] (id int CONSTRAINT pk_g PRIMARY KEY, c int CONSTRAINT fk_g REFERENCES shop.[o'child 日] (id)); \
         CREATE INDEX by_c ON shop.[br]]acket] (c); \
         INSERT [my shop].[pa.rent] (n) SELECT value FROM GENERATE_SERIES(1, 20); \
         INSERT shop.[o'child 日] (id, p) SELECT value, value FROM GENERATE_SERIES(1, 20); \
         INSERT shop.[br]]acket] SELECT value, value FROM GENERATE_SERIES(1, 20)",
    );
    let tables = ["[my shop].[pa.rent]", "shop.[o'child 日]", "shop.[br]]acket]"];
    let mut found = Vec::new();
    for with_keys in [true, false] {
        let draft = |runner| {
            let mut draft =
                Draft { source: server(&fixture), destination: server(&fixture), ..Draft::default() };
            draft.source.what = What::Tables;
            let chosen = |name: &&str| ChosenTable {
                name: (*name).to_owned(),
                is_view: false,
                rows: None,
                bytes: None,
                is_chosen: true,
            };
            draft.tables.tables = tables.iter().map(chosen).collect();
            draft.tables.to_schema = format!("{runner:?}");
            draft.tables.with_keys = with_keys;
            draft.tables.jobs = 2;
            draft
        };
        let shown = |runner| {
            ["[pa.rent]", "[o'child 日]", "[br]]acket]"]
                .map(|name| {
                    let table = format!("[{runner:?}].{name}");
                    let shown = self::shown(&fixture, &table);
                    shown.replace(&format!("{runner:?}"), "")
                })
                .concat()
        };
        found.extend(compare(&fixture, &format!("tables, keys {with_keys}"), &draft, &shown));
        for runner in RUNNERS {
            for name in ["[br]]acket]", "[o'child 日]", "[pa.rent]"] {
                fixture.sql(&format!("DROP TABLE IF EXISTS [{runner:?}].{name}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
