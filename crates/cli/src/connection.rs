//! Opens a connection by the connection flags.

use std::time::Duration;

use load::{Beginning, Client, Config, RetryPolicy};

use crate::args::ConnectionOptions;
use crate::failure::Failure;

/// Connects as the flags say.
pub fn open(flags: &ConnectionOptions) -> Result<Client, Failure> {
    open_by(flags, &Beginning { retry: RetryPolicy::NONE, hears: &|_| {} })
}

/// Connects as the flags say. Transient errors are waited out.
pub fn open_by(flags: &ConnectionOptions, beginning: &Beginning<'_>) -> Result<Client, Failure> {
    let Some(url) = &flags.url else {
        return Err(Failure::Usage("no server: give --url or set BULKWIRE_URL".to_owned()));
    };
    let mut config = Config::parse_and(url, &flags.keywords())?;
    for keyword in &config.ignored {
        say!("warning: {keyword} has no effect here");
    }
    flags.apply(&mut config);
    Ok(beginning.connect(&config)?)
}

/// Returns a limit of time; 0 is none.
pub fn time(seconds: u32) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}
