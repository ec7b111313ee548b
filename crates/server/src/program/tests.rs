#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clap::Parser;
use store::{ResourceLimits, ServiceTier};

use crate::program::{Arguments, exposure, options};

/// What the limits of the store are with these words on the command line; None: the words are refused.
fn limits(words: &[&str]) -> Option<Option<ResourceLimits>> {
    let words = ["bulkwire serve"].iter().chain(words);
    let arguments = Arguments::try_parse_from(words).ok()?;
    Some(options(arguments, String::new(), |_| Err(String::new())).limits.resources)
}

#[test]
fn three_options_hold_a_server_to_limits() {
    assert_eq!(limits(&[]), Some(None));
    let tier = limits(&["--service-objective", "s1"]).flatten().unwrap();
    assert_eq!(tier, ServiceTier::S1.limits());
    assert_eq!(tier.dtu, Some(20));
    let rate = limits(&["--log-rate-limit", "500000"]).flatten().unwrap();
    assert_eq!(rate, ResourceLimits::custom(Some(500_000), None));
    let both = limits(&["--log-rate-limit", "500000", "--processor-limit", "0.5"]).flatten().unwrap();
    assert_eq!(both, ResourceLimits::custom(Some(500_000), Some(0.5)));
    assert_eq!((both.tier, both.processors), (None, Some(0.5)));
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    for words in [
        ["--service-objective", "S99"].as_slice(),
        &["--service-objective", "S1", "--log-rate-limit", "1"],
        &["--service-objective", "S1", "--processor-limit", "1"],
        &["--processor-limit", "0"],
        &["--processor-limit", "-1"],
        &["--processor-limit", "inf"],
        &["--log-rate-limit", "fast"],
    ] {
        assert_eq!(limits(words), None, "{words:?}");
    }
}

/// What a server with these words and this password is warned of.
fn warnings(words: &[&str], password: &str) -> Vec<String> {
    let words = ["bulkwire serve"].iter().chain(words);
    exposure::warnings(&Arguments::try_parse_from(words).unwrap(), Some(password))
}

#[test]
fn what_is_open_to_others_is_said() {
    for (words, password, expected) in [
        ([].as_slice(), "Try-it-0ut", None),
        (&["--address", "0.0.0.0"], "Try-it-0ut", Some("--encryption optional")),
        (&["--address", "::", "--encryption", "off"], "Try-it-0ut", Some("--encryption off")),
        (&["--address", "0.0.0.0", "--encryption", "required"], "Try-it-0ut", None),
        (&["--address", "10.0.0.1", "--encryption", "strict"], "Try-it-0ut", None),
        (&["--address", "::1"], "Try-it-0ut", None),
        (&["--address", "::ffff:127.0.0.1"], "Try-it-0ut", None),
        (&[], "x", Some("one letter")),
        (&[], "xxxxxxxx", Some("one letter")),
    ] {
        let said = warnings(words, password);
        match expected {
            None => assert!(said.is_empty(), "{words:?} {password}: {said:?}"),
            Some(text) => {
                assert!(said.len() == 1 && said[0].contains(text), "{words:?} {password}: {said:?}")
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn keys_and_passwords_that_others_can_read_are_said() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    fs::write(&file, "x").unwrap();
    let path = file.to_str().unwrap();
    for (mode, is_open) in
        [(0o600, false), (0o400, false), (0o640, false), (0o644, true), (0o660, true), (0o666, true)]
    {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        for words in [
            ["--password-file", path].as_slice(),
            &["--certificate", "c.pem", "--key", path],
            &["--keytab", path, "--trusted-principal", "*"],
        ] {
            let said = warnings(words, "Try-it-0ut");
            assert_eq!(said.len(), usize::from(is_open), "{words:?} {mode:o}: {said:?}");
            assert!(said.iter().all(|said| said.contains(&format!("{mode:04o}"))), "{said:?}");
        }
    }
}
