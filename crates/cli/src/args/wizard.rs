//! Flags of `bulkwire wizard`.

use clap::Args;

/// Makes a copy in the browser.
///
/// A page on 127.0.0.1 leads from the source to the destination, shows the first rows, lets types and columns be corrected, and runs the
/// copy. It also shows the same copy as a command and as a package. The address that is printed lets one browser in.
#[derive(Debug, Args)]
pub struct WizardArgs {
    /// The source to begin with, as `bulkwire copy` spells it
    pub source: Option<String>,
    /// The port on 127.0.0.1 (default: any free one)
    #[arg(long, default_value = "0", hide_default_value = true, value_name = "PORT")]
    pub port: u16,
    /// Print the address, and leave the browser alone
    #[arg(long)]
    pub no_open: bool,
    /// End when nobody has used the page for so long and no copy runs, 0 for never
    #[arg(long, default_value = "3600", value_name = "SECONDS")]
    pub idle_limit: u32,
}
