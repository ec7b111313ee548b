#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clap::Parser;
use store::{ResourceLimits, ServiceTier};

use crate::program::{Arguments, options};

/// What the limits of the store are with these words on the command line; None: the words are refused.
fn limits(words: &[&str]) -> Option<Option<ResourceLimits>> {
    let words = ["bulkwire-server"].iter().chain(words);
    let arguments = Arguments::try_parse_from(words).ok()?;
    Some(options(arguments, String::new()).limits.resources)
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
