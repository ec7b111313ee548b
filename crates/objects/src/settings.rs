//! Time limits and permissions, from the environment.

use std::env;
use std::net::IpAddr;
use std::time::Duration;

/// Returns the time for which tries go on after the first that failed.
pub(crate) fn retry_for() -> Duration {
    seconds("BULKWIRE_OBJECTS_RETRY_FOR", 60)
}

/// Returns the time for which a request may stand still.
pub(crate) fn stall() -> Duration {
    seconds("BULKWIRE_OBJECTS_TIMEOUT", 60).max(Duration::from_millis(100))
}

/// The wait before the first further try; each is twice as long as the one before, up to [`WAIT_MAX`].
pub(crate) const WAIT_MIN: Duration = Duration::from_millis(100);
/// The longest wait between tries.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);

fn seconds(name: &str, default: u32) -> Duration {
    let given = env::var(name).ok().and_then(|text| text.trim().parse::<u32>().ok());
    Duration::from_secs(given.unwrap_or(default).into())
}

/// Returns true if unencrypted requests to a host are allowed: to this machine, or to any if the environment
/// says so.
pub(crate) fn allows_http(host: &str) -> bool {
    is_loopback(host) || env::var("BULKWIRE_ALLOW_HTTP").is_ok_and(|text| is_yes(&text))
}

/// Returns true if a value of the environment means yes.
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// Returns true if a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn this_machine_is_known() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
    }
}
