//! The experiment of Arrow record batches into one table, by storage, batch size, table lock and method
//! (docs/benchmarks.md, "The Arrow experiment"): `bulkwire bench arrow`.

mod command;
mod html;
mod row_by_row;
mod run;
mod summary;
mod variant;

use std::error::Error;

use load::{Client, Config, TableName, literal};
use tds::Value;

pub use command::ArrowArguments;
pub use html::page;
pub use run::Run;
pub use summary::{Figures, PublishedRatio, Results};
pub use variant::{Method, Storage, Variant};

use crate::experiment::{Interrupt, Interrupted, Outcome, turns};
use crate::server_process::ServerProcess;
use crate::source::Source;
use run::{Session, drop_table};

/// Settings of the experiment: its target, rows and variants.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Connection string of the target; without one an embedded server that keeps rows in memory is started.
    pub target: Option<String>,
    /// The table that is made and dropped. It must not exist.
    pub table: String,
    /// Rows of a run.
    pub rows: u64,
    /// Rows of a run that sends statements row by row.
    pub row_by_row_rows: u64,
    /// Rounds, each of which runs every variant once.
    pub rounds: usize,
    /// Variants to run; the others are compared with the first one.
    pub variants: Vec<Variant>,
}

/// Runs the experiment. Calls `on_finished` for every finished run with its round from 0, the variant, and the run.
///
/// # Errors
/// A target that cannot be reached, a table that exists, and a run whose rows did not all arrive as they were sent. The table
/// is dropped in any case, or said to be there still.
pub fn measure(
    settings: &Settings,
    interrupt: &Interrupt,
    on_finished: &mut dyn FnMut(usize, &Variant, &Run),
) -> Outcome<Results> {
    let server = match settings.target {
        None => Some(ServerProcess::start(&["--in-memory"])?),
        Some(_) => None,
    };
    let url = match (&settings.target, &server) {
        (Some(target), _) => target.clone(),
        (None, Some(server)) => server.url(),
        (None, None) => return Err("no server".into()),
    };
    let config = Config::parse(&url)?;
    let mut client = Client::connect(&config)?;
    let registered = interrupt.register(&client);
    let table: TableName = settings.table.parse()?;
    refuse_existing(&mut client, &table)?;
    let source = Source::new(settings.rows.max(settings.row_by_row_rows))?;
    let mut results = Results::new(settings, &client, server.is_some());
    let mut session =
        Session { client: &mut client, table: &table, source: &source, server: server.as_ref() };
    let measured = turns(settings.rounds, settings.variants.len()).try_for_each(|(round, index)| {
        let Some(variant) = settings.variants.get(index) else { return Ok(()) };
        interrupt.check()?;
        let rows = match variant.method {
            Method::Bulk => settings.rows,
            Method::RowByRow => settings.row_by_row_rows,
        };
        let run = session.run(variant, rows).map_err(|error| format!("{variant}: {error}"))?;
        on_finished(round, variant, &run);
        results.add(index, run);
        Ok::<(), Box<dyn Error + Send + Sync>>(())
    });
    drop(registered);
    drop(client);
    // The embedded server goes with its rows; elsewhere a connection of its own drops the table, for the other may be broken.
    let dropped = match server {
        Some(_) => Ok(()),
        None => Client::connect(&config)
            .map_err(Into::into)
            .and_then(|mut client| drop_table(&mut client, &table))
            .map_err(|error| format!("table {table} may be left on the server: {error}")),
    };
    let measured = match measured {
        Err(error) if interrupt.is_asked() && !error.is::<Interrupted>() => {
            Err(format!("interrupted: {error}").into())
        }
        measured => measured,
    };
    match (measured, dropped) {
        (Err(error), Err(left)) => return Err(format!("{error}; {left}").into()),
        (Err(error), Ok(())) => return Err(error),
        (Ok(()), Err(left)) => return Err(left.into()),
        (Ok(()), Ok(())) => {}
    }
    results.settle();
    Ok(results)
}

fn refuse_existing(client: &mut Client, table: &TableName) -> Outcome<()> {
    let found = client.query_values(&format!("SELECT OBJECT_ID({})", literal(&table.to_string())))?;
    match load::first_value(&found) {
        Some(Value::Null) => Ok(()),
        _ => Err(format!("{table} exists; --table names another, which is made and dropped").into()),
    }
}
