//! Packages of SSIS become packages that are sound, and nothing is left out in silence.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use bulkwire_package::{ImportError, check, import_dtsx};

#[test]
fn the_common_tasks_are_translated() {
    let fixtures = Path::new("tests/fixtures");
    let imported = import_dtsx(&fs::read(fixtures.join("orders.dtsx")).unwrap(), "orders").unwrap();
    let expected = fixtures.join("orders.toml");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&expected, &imported.text).unwrap();
    }
    assert_eq!(imported.text, fs::read_to_string(expected).unwrap());
    // What it names is in the file as well.
    for part in &imported.left_out {
        assert!(imported.text.contains(&part.split_whitespace().collect::<Vec<_>>().join(" ")), "{part}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.toml");
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
    assert_eq!(import_dtsx(bomb.as_bytes(), "x"), Err(ImportError::DocumentType));
    assert_eq!(import_dtsx(root("&c;").as_bytes(), "x"), Err(ImportError::Entity));
    let deep = root(&("<a>".repeat(100_000) + &"</a>".repeat(100_000)));
    assert_eq!(import_dtsx(deep.as_bytes(), "x"), Err(ImportError::TooLarge));
    assert_eq!(import_dtsx(b"<html/>", "x"), Err(ImportError::Foreign("html".to_owned())));
    assert_eq!(import_dtsx(b"\xff\xff", "x"), Err(ImportError::Encoding));
    for text in ["", "<a", "<a></b>", "<DTS:Executable>", "<a b=></a>", "<Executable a='&x;'/>"] {
        assert!(import_dtsx(text.as_bytes(), "x").is_err(), "{text}");
    }
    assert!(import_dtsx(root("").as_bytes(), "x").unwrap().text.contains("[tasks]"));
}
