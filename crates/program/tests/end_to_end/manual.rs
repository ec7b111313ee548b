//! Manual pages.

use std::fs;

use crate::fixture::{Fixture, text};

#[test]
fn each_verb_has_a_manual_page() {
    let fixture = Fixture::new();
    let folder = fixture.path("share/man1");
    fixture.ok(&["manual", text(&folder)]);
    let help = fixture.ok(&["--help"]).stdout;
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut pages = 0;
    for verb in named.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help") {
        let page = fs::read_to_string(folder.join(format!("bulkwire-{verb}.1"))).unwrap();
        assert!(page.contains(&format!(".TH bulkwire-{verb} 1")), "{page}");
        pages += 1;
    }
    assert!(pages > 10, "{help}");
    let load = fs::read_to_string(folder.join("bulkwire-load.1")).unwrap();
    assert!(load.contains("\\-\\-truncate"), "{load}");
    assert!(fs::read_to_string(folder.join("bulkwire.1")).unwrap().contains("bulkwire\\-load"));
}

#[test]
fn pages_that_cannot_be_written_are_an_error() {
    let fixture = Fixture::new();
    let file = fixture.file("taken", "");
    let refused = fixture.run(&["manual", text(&file.join("man1"))]);
    assert!(refused.code == 1 && refused.stderr.contains("taken"), "{}", refused.stderr);
}
