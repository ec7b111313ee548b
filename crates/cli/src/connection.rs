//! Opens a connection by the connection flags.

use std::time::Duration;

use load::{Beginning, Client, Config, RetryPolicy};

use crate::args::ConnectionArgs;
use crate::failure::Failure;

/// Connects as the flags say.
pub fn open(flags: &ConnectionArgs) -> Result<Client, Failure> {
    open_by(flags, &Beginning { retry: RetryPolicy::NONE, hears: &|_| {} })
}

/// Connects as the flags say. Transient errors are waited out.
pub fn open_by(flags: &ConnectionArgs, beginning: &Beginning<'_>) -> Result<Client, Failure> {
    let Some(url) = &flags.url else {
        return Err(Failure::Usage("no server: give --url or set BULKWIRE_URL".to_owned()));
    };
    let mut config = Config::parse_and(url, &flags.keywords())?;
    for keyword in &config.ignored {
        say!("warning: {keyword} has no effect here");
    }
    apply(&mut config, flags);
    Ok(beginning.connect(&config)?)
}

/// Sets what the flags say beside the URL.
pub fn apply(config: &mut Config, flags: &ConnectionArgs) {
    if let Some(size) = flags.packet_size {
        config.packet_size_bytes = u16::try_from(size).ok();
    }
    if let Some(seconds) = flags.connect_timeout {
        config.connect_timeout = time(seconds);
    }
    if let Some(seconds) = flags.command_timeout {
        config.command_timeout = time(seconds);
    }
}

/// A limit of time, 0 for none.
pub fn time(seconds: u32) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}
