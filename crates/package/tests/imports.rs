//! Packages of SSIS become packages that are sound, and nothing is left out in silence.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use bulkwire_package::{ImportError, SsisProject, check, import_dtsx, packages_of_project};

const FIXTURES: &str = "tests/fixtures";

/// The project of the fixture of a daily load.
fn warehouse() -> SsisProject {
    let mut project = SsisProject::default();
    for name in ["Source_DB.conmgr", "Warehouse_DB.conmgr", "Project.params"] {
        project.add(name, &fs::read(Path::new(FIXTURES).join("warehouse").join(name)).unwrap()).unwrap();
    }
    project
}

#[test]
fn the_common_tasks_are_translated() {
    translates("orders.dtsx", &SsisProject::default());
}

#[test]
fn a_lesson_with_class_ids_and_a_file_without_header_is_translated() {
    translates("rates.dtsx", &SsisProject::default());
}

#[test]
fn sets_of_rows_are_translated() {
    translates("summary.dtsx", &SsisProject::default());
}

#[test]
fn a_daily_load_uses_the_connections_of_its_project() {
    translates("warehouse/Daily.dtsx", &warehouse());
    let listed = fs::read(Path::new(FIXTURES).join("warehouse/Daily.dtproj")).unwrap();
    assert_eq!(packages_of_project(&listed).unwrap(), ["Daily.dtsx"]);
}

#[test]
fn an_archive_holds_packages_and_project() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let folder = Path::new(FIXTURES).join("warehouse");
    for name in ["Source_DB.conmgr", "Warehouse_DB.conmgr", "Project.params", "Daily.dtsx"] {
        let part = if name == "Daily.dtsx" { "..%2FDaily%20load.dtsx" } else { name };
        archive.start_file(part, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, &fs::read(folder.join(name)).unwrap()).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    let (project, packages) = SsisProject::of_archive(&bytes).unwrap();
    assert_eq!(project, warehouse());
    // A name decides no folder.
    let names: Vec<&str> = packages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Daily load.dtsx"]);
    assert!(matches!(SsisProject::of_archive(b"PK"), Err(ImportError::Archive(_))));
}

#[test]
fn servers_sign_in_as_asked() {
    let project = warehouse().signing_in("etl".to_owned(), "ETL_PASSWORD".to_owned());
    let bytes = fs::read(Path::new(FIXTURES).join("warehouse/Daily.dtsx")).unwrap();
    let text = import_dtsx(&bytes, "Daily", &project).unwrap().text;
    assert!(
        text.contains("url = \"mssql://etl@db.example/ShopDW\"\npassword_env = \"ETL_PASSWORD\""),
        "{text}"
    );
    assert!(!text.contains("IntegratedSecurity"), "{text}");
}

/// Translates a fixture, compares it with what is kept, and checks it.
fn translates(fixture: &str, project: &SsisProject) {
    let fixtures = Path::new(FIXTURES);
    let imported = import_dtsx(&fs::read(fixtures.join(fixture)).unwrap(), "fixture", project).unwrap();
    let expected = fixtures.join(fixture).with_extension("toml");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&expected, &imported.text).unwrap();
    }
    assert_eq!(imported.text, fs::read_to_string(expected).unwrap());
    // What it names is in the file as well.
    for part in &imported.left_out {
        assert!(imported.text.contains(&part.split_whitespace().collect::<Vec<_>>().join(" ")), "{part}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package.toml");
    fs::write(&path, &imported.text).unwrap();
    fs::write(
        folder.path().join("Report.toml"),
        "[variables]\nday = ''\n[tasks.a]\ntype = 'program'\ncommand = ['true', '${day}']\n",
    )
    .unwrap();
    let checked = check(&path).unwrap();
    let findings: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
    assert!(checked.package.is_some(), "{findings:#?}");
}

#[test]
fn hostile_documents_are_refused() {
    let root = |inner: &str| format!("<DTS:Executable xmlns:DTS=\"x\">{inner}</DTS:Executable>");
    let bomb =
        "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><DTS:Executable>&c;</DTS:Executable>";
    assert_eq!(import_dtsx(bomb.as_bytes(), "x", &SsisProject::default()), Err(ImportError::DocumentType));
    assert_eq!(import_dtsx(root("&c;").as_bytes(), "x", &SsisProject::default()), Err(ImportError::Entity));
    let deep = root(&("<a>".repeat(100_000) + &"</a>".repeat(100_000)));
    assert_eq!(import_dtsx(deep.as_bytes(), "x", &SsisProject::default()), Err(ImportError::TooLarge));
    assert_eq!(
        import_dtsx(b"<html/>", "x", &SsisProject::default()),
        Err(ImportError::Foreign("html".to_owned()))
    );
    assert_eq!(import_dtsx(b"\xff\xff", "x", &SsisProject::default()), Err(ImportError::Encoding));
    for text in ["", "<a", "<a></b>", "<DTS:Executable>", "<a b=></a>", "<Executable a='&x;'/>"] {
        assert!(import_dtsx(text.as_bytes(), "x", &SsisProject::default()).is_err(), "{text}");
    }
    assert!(import_dtsx(root("").as_bytes(), "x", &SsisProject::default()).unwrap().text.contains("[tasks]"));
}
