//! Options of the connection to the server.

use std::time::Duration;

use clap::Args;
use load::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The connection to a server, for every verb that connects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConnectionOptions {
    /// Server=…;Database=…;Uid=…;Pwd=… or mssql://user@host:port/database; secrets may come from
    /// BULKWIRE_PASSWORD or BULKWIRE_ACCESS_TOKEN
    #[arg(
        long,
        env = "BULKWIRE_URL",
        hide_env_values = true,
        value_name = "URL",
        help_heading = "Connection"
    )]
    pub url: Option<String>,
    /// How to prove who you are, in the words of connection strings: SqlPassword, ActiveDirectoryDefault,
    /// ActiveDirectoryServicePrincipal, ActiveDirectoryManagedIdentity, ActiveDirectoryWorkloadIdentity,
    /// ActiveDirectoryAzCli, ActiveDirectoryDeviceCodeFlow or ActiveDirectoryAccessToken
    #[arg(long, value_name = "METHOD", help_heading = "Connection")]
    pub authentication: Option<String>,
    /// The one place that gives access tokens, if it is none of Microsoft's
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    pub authority: Option<String>,
    /// A file whose only line is the password
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub password_file: Option<String>,
    /// A command whose first line of output is the password
    #[arg(long, value_name = "COMMAND", help_heading = "Connection", conflicts_with = "password_file")]
    pub password_command: Option<String>,
    /// The service under which the system's keyring has the password
    #[arg(
        long,
        value_name = "SERVICE",
        help_heading = "Connection",
        conflicts_with_all = ["password_file", "password_command"]
    )]
    pub password_keyring: Option<String>,
    /// TDS packet size to ask for, in bytes (512 to 32767)
    #[arg(long, value_name = "BYTES", help_heading = "Connection", value_parser = clap::value_parser!(u32).range(512..=32767))]
    #[schemars(range(min = 512, max = 32767))]
    pub packet_size: Option<u32>,
    /// Time for connecting and logging in, 0 for no limit (default: 15)
    #[arg(long, value_name = "SECONDS", help_heading = "Connection")]
    pub connect_timeout: Option<u32>,
    /// How long the server may be silent over a request, 0 for no limit (default: 600)
    #[arg(long, value_name = "SECONDS", help_heading = "Connection")]
    pub command_timeout: Option<u32>,
}

impl ConnectionOptions {
    /// Sets what the options say beside the URL.
    pub fn apply(&self, config: &mut Config) {
        if let Some(size) = self.packet_size {
            config.packet_size_bytes = u16::try_from(size).ok();
        }
        if let Some(seconds) = self.connect_timeout {
            config.connect_timeout = time(seconds);
        }
        if let Some(seconds) = self.command_timeout {
            config.command_timeout = time(seconds);
        }
    }

    /// Returns the options that identify the client, as keywords of a connection string.
    pub fn keywords(&self) -> Vec<(&'static str, String)> {
        let flags = [
            ("Authentication", &self.authentication),
            ("Authority", &self.authority),
            ("Password File", &self.password_file),
            ("Password Command", &self.password_command),
            ("Password Keyring", &self.password_keyring),
        ];
        flags.into_iter().filter_map(|(keyword, value)| Some((keyword, value.clone()?))).collect()
    }
}

/// Returns a limit of time; 0 is none.
fn time(seconds: u32) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}
