//! How to reach the server.

use clap::Args;

/// Connection flags, shared by every verb that connects.
#[derive(Debug, Args)]
pub struct ConnectionArgs {
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
    /// TDS packet size to ask for, in bytes (512 to 32767)
    #[arg(long, value_name = "BYTES", help_heading = "Connection", value_parser = clap::value_parser!(u32).range(512..=32767))]
    pub packet_size: Option<u32>,
    /// Time for connecting and logging in, 0 for no limit (default: 15)
    #[arg(long, value_name = "SECONDS", help_heading = "Connection")]
    pub connect_timeout: Option<u32>,
    /// How long the server may be silent over a request, 0 for no limit (default: 600)
    #[arg(long, value_name = "SECONDS", help_heading = "Connection")]
    pub command_timeout: Option<u32>,
}
