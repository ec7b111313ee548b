//! Drafts, the words they make, and the packages.
#![allow(clippy::unwrap_used, clippy::panic)]

use clap::Parser;

use bulkwire_wizard::draft::{
    ChosenTable, ColumnChoice, DatabaseEnd, Draft, End, EndKind, Filling, FixedWidth, Layout, Quote, Secret,
    Spelling, Step, TargetColumn, What, Writers, shell_line,
};

fn csv_to_table() -> Draft {
    let mut draft = Draft::default();
    draft.source.file.path = "/data/in/orders 2026.csv".to_owned();
    server(&mut draft.destination, "dbo.orders");
    draft
}

fn server(end: &mut End, table: &str) {
    end.kind = EndKind::SqlServer;
    end.server.host = "db.example:1500".to_owned();
    end.server.database = "sales".to_owned();
    end.server.user = "loader".to_owned();
    end.table = table.to_owned();
}

fn column(source: &str, kind: &str) -> ColumnChoice {
    ColumnChoice {
        source: Some(source.to_owned()),
        name: source.to_owned(),
        kind: kind.to_owned(),
        ..ColumnChoice::default()
    }
}

/// What a draft is, the draft, its words, and lines that its package must have.
type Case = (&'static str, Draft, Vec<&'static str>, Vec<&'static str>);

fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();

    all.push((
        "a file to a table",
        csv_to_table(),
        vec!["/data/in/orders 2026.csv", "mssql://loader@db.example:1500/sales/dbo.orders"],
        vec![
            "source = \"/data/in/orders 2026.csv\"",
            "destination = { connection = \"destination\", table = \"dbo.orders\" }",
            "resume = false",
        ],
    ));

    let mut draft = csv_to_table();
    draft.text.delimiter = Some(";".to_owned());
    draft.text.encoding = Some("1252".to_owned());
    draft.text.quote = Quote::Char('\'');
    draft.text.has_header = false;
    draft.text.columns = vec!["id".to_owned(), "amount".to_owned()];
    draft.text.null_text = Some("\\N".to_owned());
    draft.text.skip_lines = 2;
    draft.way.mode = "upsert".to_owned();
    draft.way.key = "id, day".to_owned();
    draft.way.writers = Writers::Auto;
    draft.way.batch_rows = "5000".to_owned();
    draft.way.max_errors = "10".to_owned();
    draft.way.rejects = "/data/refused.jsonl".to_owned();
    draft.way.resumes = true;
    all.push((
        "text choices and the way",
        draft,
        vec![
            "/data/in/orders 2026.csv",
            "mssql://loader@db.example:1500/sales/dbo.orders",
            "--encoding=1252",
            "--delimiter=;",
            "--null-text=\\N",
            "--quote='",
            "--no-header",
            "--columns=id,amount",
            "--skip-lines=2",
            "--mode=upsert",
            "--key=id,day",
            "--writers=auto",
            "--batch-rows=5000",
            "--resume",
            "--max-errors=10",
            "--rejects=/data/refused.jsonl",
        ],
        vec![
            "key = [\"id\", \"day\"]",
            "batch_rows = 5000",
            "resume = true",
            "columns = [\"id\", \"amount\"]",
            "null_text = '\\N'",
        ],
    ));

    let mut draft = csv_to_table();
    let digits = |name, kind| ColumnChoice { source_kind: "Int32".to_owned(), ..column(name, kind) };
    draft.columns.columns = vec![digits("day", "date"), digits("amount", "money")];
    draft.way.nests_as_json = true;
    draft.way.drops_time_zone = true;
    all.push((
        "digits that are a date, and what columns cannot hold as it is",
        draft,
        vec![
            "/data/in/orders 2026.csv",
            "mssql://loader@db.example:1500/sales/dbo.orders",
            "--select=CAST(CAST([day] AS varchar(20)) AS date) AS [day], CAST([amount] AS money) AS [amount]",
            "--nested-as-json",
            "--drop-time-zone",
        ],
        vec!["nested_as_json = true", "drop_time_zone = true"],
    ));

    let mut draft = csv_to_table();
    draft.columns.columns = vec![
        column("id", "int"),
        ColumnChoice { expression: "UPPER(TRIM(name))".to_owned(), ..column("name", "") },
        ColumnChoice { is_ignored: true, ..column("note", "") },
    ];
    draft.columns.condition = "id <> '${x}'".to_owned();
    all.push((
        "columns with types and expressions",
        draft,
        vec![
            "/data/in/orders 2026.csv",
            "mssql://loader@db.example:1500/sales/dbo.orders",
            "--select=CAST([id] AS int) AS [id], UPPER(TRIM(name)) AS [name]",
            "--where=id <> '${x}'",
        ],
        vec!["where = \"id <> '$${x}'\""],
    ));

    let mut draft = csv_to_table();
    draft.columns.columns = vec![ColumnChoice { name: "key".to_owned(), ..column("id", "") }];
    draft.columns.targets =
        vec![TargetColumn { name: "key".to_owned(), kind: "int".to_owned(), is_required: false }];
    all.push((
        "names that are mapped to a table that is there",
        draft,
        vec!["/data/in/orders 2026.csv", "mssql://loader@db.example:1500/sales/dbo.orders", "--map=id=key"],
        vec!["map = [\"id=key\"]"],
    ));

    let mut draft = csv_to_table();
    draft.source.file.path = "/data/fixed.dat".to_owned();
    draft.text.layout = Layout::FixedWidth(FixedWidth {
        breaks: vec![3, 9],
        format_file: "/data/fixed.fmt".into(),
        trim_blanks: true,
        names: vec!["id".to_owned(), "a]b".to_owned(), "rest".to_owned()],
        types: vec!["int".to_owned()],
    });
    draft.text.encoding = Some("932".to_owned());
    all.push((
        "fixed width",
        draft,
        vec![
            "/data/fixed.dat",
            "mssql://loader@db.example:1500/sales/dbo.orders",
            "--format-file=/data/fixed.fmt",
            "--trim-blanks",
            "--encoding=932",
            "--declare=[id] int null, [a]]b] nvarchar(6) null, [rest] nvarchar(max) null",
            // The line of names is no row.
            "--skip-lines=1",
        ],
        vec!["format_file = \"/data/fixed.fmt\"", "trim_blanks = true"],
    ));

    let mut draft = Draft::default();
    server(&mut draft.source, "");
    draft.source.what = What::Query;
    draft.source.query = "SELECT 'a'\nFROM t".to_owned();
    draft.source.server.password = Secret::new("p@ss/w{}rd".to_owned());
    draft.source.server.trusts_certificate = true;
    draft.destination.file.path = "/out/t.txt".to_owned();
    draft.way.to_format = "csv".to_owned();
    draft.way.to_delimiter = "\t".to_owned();
    all.push((
        "a query to a file, with a password",
        draft,
        vec![
            "mssql://loader:${env:SOURCE_PASSWORD}@db.example:1500/sales?TrustServerCertificate=true",
            "/out/t.txt",
            "--query=SELECT 'a'\nFROM t",
            "--to-format=csv",
            "--to-delimiter=\t",
        ],
        vec![
            "url = \"mssql://loader@db.example:1500/sales?TrustServerCertificate=true\"",
            "password_env = \"SOURCE_PASSWORD\"",
        ],
    ));

    let mut draft = Draft::default();
    draft.source.kind = EndKind::Database;
    draft.source.database.address = "postgresql://ada:se%20cret@pg.example/shop".to_owned();
    draft.source.database.take_password_out();
    draft.source.table = "public.orders".to_owned();
    server(&mut draft.destination, "[my orders]");
    draft.destination.server.password_variable = "LOADER".to_owned();
    all.push((
        "PostgreSQL to SQL Server",
        draft,
        vec![
            "postgresql://ada:${env:SOURCE_PASSWORD}@pg.example/shop#public.orders",
            "mssql://loader:${env:LOADER}@db.example:1500/sales/[my%20orders]",
        ],
        vec![
            "url = \"postgresql://ada@pg.example/shop\"",
            "password_env = \"LOADER\"",
            "source = { connection = \"source\", table = \"public.orders\" }",
        ],
    ));

    let mut draft = csv_to_table();
    let login = &mut draft.destination.server;
    login.user.clear();
    login.is_integrated = true;
    login.host = "db\\sales".to_owned();
    login.password = Secret::new("of another login".to_owned());
    login.more = "Server SPN=MSSQLSvc/db".to_owned();
    all.push((
        "a Kerberos ticket",
        draft,
        vec![
            "/data/in/orders 2026.csv",
            "mssql://db%5Csales/sales/dbo.orders?IntegratedSecurity=true&ServerSPN=MSSQLSvc%2Fdb",
        ],
        vec!["url = \"mssql://db%5Csales/sales?IntegratedSecurity=true&ServerSPN=MSSQLSvc%2Fdb\""],
    ));

    let mut draft = Draft::default();
    draft.source.kind = EndKind::Database;
    draft.source.database.address = "odbc:Driver={MySQL};Server=h;Uid=u;Pwd=geheim".to_owned();
    draft.source.database.take_password_out();
    draft.source.table = "t".to_owned();
    draft.destination.file.path = "/out/t.parquet".to_owned();
    all.push((
        "ODBC to a file",
        draft,
        vec!["odbc:Driver={MySQL};Server=h;Uid=u;Pwd=${env:SOURCE_PASSWORD}#t", "/out/t.parquet"],
        vec!["url = \"odbc:Driver={MySQL};Server=h;Uid=u;Pwd=${env:SOURCE_PASSWORD}\""],
    ));

    let mut draft = Draft::default();
    server(&mut draft.source, "");
    draft.source.what = What::Tables;
    server(&mut draft.destination, "");
    draft.destination.server.host = "new.example".to_owned();
    draft.tables.jobs = 3;
    draft.tables.to_schema = "archive".to_owned();
    draft.tables.with_keys = true;
    draft.tables.tables = ["dbo.a b", "sales.orders", "sales.left_out"]
        .into_iter()
        .map(|name| ChosenTable {
            name: name.to_owned(),
            is_view: false,
            rows: None,
            bytes: None,
            is_chosen: name != "sales.left_out",
        })
        .collect();
    all.push((
        "several tables",
        draft,
        vec![
            "mssql://loader@db.example:1500/sales",
            "mssql://loader@new.example/sales",
            "--tables=dbo.a b,sales.orders",
            "--to-schema=archive",
            "--jobs=3",
            "--with-keys",
        ],
        vec![
            "[tasks.copy]",
            "source = { connection = \"source\" }",
            "destination = { connection = \"destination\" }",
            "tables = [\"dbo.a b\", \"sales.orders\"]",
            "to_schema = \"archive\"",
            "jobs = 3",
            "with_keys = true",
        ],
    ));
    all
}

#[test]
fn drafts_become_words() {
    for (name, draft, words, _) in cases() {
        assert_eq!(draft.words(), words, "{name}");
    }
}

#[test]
fn drafts_become_packages_that_pass_the_check() {
    let folder = tempfile::tempdir().unwrap();
    for (name, draft, _, lines) in cases() {
        let text = draft.package();
        for line in lines {
            assert!(text.contains(line), "{name}: {line} is not in\n{text}");
        }
        let file = folder.path().join("package.toml");
        std::fs::write(&file, &text).unwrap();
        let checked = package::check(&file).unwrap();
        // The files of the drafts are not there, which is worth a warning.
        let findings = checked.findings.iter().filter(|finding| !finding.message.starts_with("there is no"));
        let findings: Vec<_> = findings.collect();
        assert!(findings.is_empty(), "{name}: {findings:?}\n{text}");
        assert!(checked.package.is_some(), "{name}");
    }
}

#[test]
fn a_password_is_in_the_words_that_run_alone() {
    let (_, draft, ..) = cases().into_iter().find(|(name, ..)| name.contains("password")).unwrap();
    let secret = "p%40ss%2Fw%7B%7Drd";
    assert!(draft.words_to_run().join(" ").contains(&format!("loader:{secret}@")));
    assert!(!draft.words().join(" ").contains("rd@"));
    assert!(!draft.package().contains("p@ss") && !draft.package().contains(secret));
    assert!(!format!("{draft:?}").contains("p@ss"));
    assert_eq!(draft.variables(), ["SOURCE_PASSWORD"]);
}

#[test]
fn a_connection_string_fills_the_form() {
    let mut end = End::default();
    end.server
        .read("Server=db\\sales,1500;Database=shop;Uid=ada;Pwd={p;}};w};Encrypt=strict;ApplicationIntent=ReadOnly")
        .unwrap();
    let server = &end.server;
    assert_eq!(
        (server.host.as_str(), server.database.as_str(), server.user.as_str()),
        ("db:1500", "shop", "ada")
    );
    assert_eq!((server.password.expose(), server.encrypt.as_str()), ("p;};w", "strict"));
    assert_eq!(server.more, "ApplicationIntent=ReadOnly");
    end.server.read("mssql://ada:${env:ADA}@db/shop?IntegratedSecurity=no").unwrap();
    assert_eq!((end.server.password_variable.as_str(), end.server.password.is_empty()), ("ADA", true));
    end.server.read("Server=db;Integrated Security=SSPI").unwrap();
    assert!(end.server.is_integrated && end.server.user.is_empty());
}

/// A command line of a copy.
#[derive(clap::Parser)]
struct Line {
    source: String,
    destination: String,
    #[command(flatten)]
    options: copy::Options,
}

#[test]
fn the_command_says_what_the_draft_runs() {
    for (name, draft, ..) in cases() {
        let words = draft.words_to_run();
        let line = Line::try_parse_from(std::iter::once("copy".to_owned()).chain(words.clone())).unwrap();
        assert_eq!([line.source, line.destination], words[..2], "{name}");
        assert_eq!(line.options, draft.options().unwrap(), "{name}");
    }
}

#[test]
fn a_shell_reads_the_words_again() {
    let words = ["plain-1.csv", "a b", "it's", "${env:X}", ""].map(str::to_owned);
    assert_eq!(shell_line(&words), "plain-1.csv 'a b' 'it'\\''s' '${env:X}' ''");
    assert_eq!(shell_line(&["--where=a > 1".to_owned()]), "--where='a > 1'");
    if cfg!(unix) {
        let (_, draft, ..) = cases().into_iter().find(|(name, ..)| name.starts_with("a query")).unwrap();
        let command = draft.command();
        let mut shell = std::process::Command::new("sh");
        let script = format!("bulkwire() {{ shift; printf '%s\\0' \"$@\"; }}\n{command}");
        let output = shell.args(["-c", &script]).output().unwrap();
        let read = String::from_utf8(output.stdout).unwrap();
        assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), draft.words(), "{command}");
    }
}

#[test]
fn steps_are_reached_in_order() {
    let mut draft = Draft::default();
    assert_eq!(draft.obstacle(Step::Review), Some(Step::Source));
    draft.source.file.path = "/data/t.parquet".to_owned();
    assert!(!draft.steps().contains(&Step::Format));
    assert_eq!(draft.obstacle(Step::Review), Some(Step::Destination));
    server(&mut draft.destination, "t");
    assert_eq!(draft.obstacle(Step::Review), None);
    draft.way.mode = "upsert".to_owned();
    // The key is the table's own.
    assert_eq!(draft.obstacle(Step::Review), None);
    draft.source.file.path = "/data/t.txt".to_owned();
    assert_eq!(draft.after(Step::Source), Step::Format);
}

#[test]
fn passwords_leave_the_address() {
    for (text, address, password, variable) in [
        ("postgresql://u:p%40ss@h:5/d?x=1", "postgresql://u@h:5/d?x=1", "p@ss", ""),
        ("postgresql://u:${env:PG}@h/d", "postgresql://u@h/d", "", "PG"),
        ("odbc:Driver={a;b};Uid=u;Pwd={p;}};q}", "odbc:Driver={a;b};Uid=u", "p;};q", ""),
        ("sqlite:a.db", "sqlite:a.db", "", ""),
    ] {
        let mut end = DatabaseEnd { address: text.to_owned(), ..DatabaseEnd::default() };
        end.take_password_out();
        assert_eq!((end.address.as_str(), end.password.expose()), (address, password), "{text}");
        assert_eq!(end.password_variable, variable, "{text}");
    }
}

#[test]
fn a_choice_is_a_part_of_a_select_list() {
    let added =
        ColumnChoice { name: "line".to_owned(), expression: "$row".to_owned(), ..ColumnChoice::default() };
    let cases = [
        (column("id", ""), "[id]"),
        (ColumnChoice { name: "c".to_owned(), ..column("a]b", "") }, "[a]]b] AS [c]"),
        (column("id", "int"), "CAST([id] AS int) AS [id]"),
        (ColumnChoice { inferred: "date".to_owned(), ..column("id", "") }, "CAST([id] AS date) AS [id]"),
        (ColumnChoice { inferred: "date".to_owned(), ..column("id", "int") }, "CAST([id] AS int) AS [id]"),
        (
            ColumnChoice {
                inferred: "nvarchar(5)".to_owned(),
                expression: "LEN(id)".to_owned(),
                ..column("id", "")
            },
            "LEN(id) AS [id]",
        ),
        (
            ColumnChoice { filling: Filling::BlankIsNull, ..column("id", "date") },
            "CAST(NULLIF(TRIM([id]), '') AS date) AS [id]",
        ),
        (
            ColumnChoice { filling: Filling::Value("it's".to_owned()), ..column("id", "") },
            "COALESCE([id], N'it''s') AS [id]",
        ),
        (added, "$row AS [line]"),
    ];
    for (choice, expected) in cases {
        assert_eq!(choice.select(), expected);
    }
}

#[test]
fn spellings_of_the_text_reach_command_and_package() {
    let mut draft = csv_to_table();
    draft.text.spelling = Spelling {
        date_order: "dmy".to_owned(),
        decimal: ",".to_owned(),
        thousands: ".".to_owned(),
        currency: "€".to_owned(),
        percent: "fraction".to_owned(),
    };
    draft.text.skip_footer = 1;
    draft.text.escape = Some('\\');
    draft.text.skips_blanks = true;
    let words = draft.words().join(" ");
    for word in [
        "--date-order=dmy",
        "--decimal=,",
        "--thousands=.",
        "--currency=€",
        "--percent=fraction",
        "--skip-footer=1",
        "--escape=\\",
        "--skip-initial-space",
    ] {
        assert!(words.contains(word), "{word}: {words}");
    }
    let package = draft.package();
    for key in [
        "date_order = \"dmy\"",
        "decimal = \",\"",
        "thousands = \".\"",
        "currency = \"€\"",
        "percent = \"fraction\"",
        "skip_footer = 1",
        "skip_initial_space = true",
    ] {
        assert!(package.contains(key), "{key}: {package}");
    }
}

#[test]
fn rows_are_looked_at_whatever_the_spellings() {
    let mut draft = csv_to_table();
    draft.text.spelling = Spelling { date_order: "dmy".to_owned(), ..Spelling::default() };
    draft.spec_of_source().unwrap();
    draft.spec_of_preview().unwrap();
    draft.columns.condition = "1 = 1".to_owned();
    draft.spec_of_preview().unwrap();
}

#[test]
fn what_nobody_has_said_of_the_destination_is_proposed() {
    let mut draft = csv_to_table();
    draft.destination = End::default();
    draft.propose_destination();
    assert_eq!(draft.destination.table, "orders_2026");
    draft.destination.table = "mine".to_owned();
    draft.propose_destination();
    assert_eq!(draft.destination.table, "mine");

    let mut draft = Draft::default();
    server(&mut draft.source, "dbo.t");
    draft.propose_destination();
    assert_eq!(draft.destination.server.host, draft.source.server.host);
    assert_eq!(draft.destination.table, "");
    let next = Draft::beside(&draft);
    assert_eq!((next.source.server.host, next.source.table.as_str()), (draft.source.server.host, ""));
}
