//! Flags of `bulkwire loads`.

use clap::{Args, Subcommand};

use super::ConnectionArgs;

/// `bulkwire loads`.
#[derive(Debug, Args)]
pub struct LoadsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: LoadsAction,
}

/// What to do with the loads that the database has notes of.
#[derive(Debug, Subcommand)]
pub enum LoadsAction {
    /// List the loads, the latest first, and stages that no load of the list has
    List(LoadsListArgs),
    /// Continue a load as it was begun: with the same table, files and options
    Resume(LoadsNamedArgs),
    /// Forget a load and drop its stage; rows that are in the table stay there
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
    /// Its name
    pub load_id: String,
    #[command(flatten)]
    pub place: LedgerArgs,
}

/// Where the notes are.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Schema of the tables that hold the notes
    #[arg(long, value_name = "SCHEMA", default_value = "dbo")]
    pub ledger_schema: String,
}
