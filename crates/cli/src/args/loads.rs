//! Flags of `bulkwire loads`.

use clap::{Args, Subcommand};

use super::ConnectionOptions;

/// `bulkwire loads`.
#[derive(Debug, Args)]
pub struct LoadsArgs {
    /// The action on the recorded loads.
    #[command(subcommand)]
    pub action: LoadsAction,
}

/// The actions on the loads that the database has recorded.
#[derive(Debug, Subcommand)]
pub enum LoadsAction {
    /// List the recorded loads, the latest first, and stages that belong to none of them
    List(LoadsListArgs),
    /// Continue a load as it was begun: with the same table, files and options
    Resume(LoadsNamedArgs),
    /// Remove a load's records and drop its stage; rows in the table stay
    Forget(LoadsNamedArgs),
}

/// `bulkwire loads list`.
#[derive(Debug, Args)]
pub struct LoadsListArgs {
    #[command(flatten)]
    pub place: LedgerArgs,
    /// Print JSON, an object a line
    #[arg(long)]
    pub json: bool,
}

/// A load of the list.
#[derive(Debug, Args)]
pub struct LoadsNamedArgs {
    /// The name of the load
    pub load_id: String,
    #[command(flatten)]
    pub place: LedgerArgs,
}

/// The place of the ledger.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    #[command(flatten)]
    pub connection: ConnectionOptions,
    /// Schema of the tables that record loads
    #[arg(long, value_name = "SCHEMA", default_value = "dbo")]
    pub ledger_schema: String,
}
