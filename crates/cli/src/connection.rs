//! From connection flags to a client.

use load::{Client, Config};

use crate::args::ConnectionArgs;
use crate::failure::Failure;

/// Connects as the flags say.
pub fn open(flags: &ConnectionArgs) -> Result<Client, Failure> {
    let Some(url) = &flags.url else {
        return Err(Failure::Usage("no server: give --url or set BULKWIRE_URL".to_owned()));
    };
    let mut config = Config::parse(url)?;
    for keyword in &config.ignored {
        eprintln!("warning: {keyword} has no effect here");
    }
    if let Some(size) = flags.packet_size {
        config.packet_size_bytes = u16::try_from(size).ok();
    }
    Ok(Client::connect(&config)?)
}
