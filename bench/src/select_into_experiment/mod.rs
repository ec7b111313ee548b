//! The experiment of parallel inserts into striped file groups (docs/benchmarks.md, "The SELECT INTO experiment"):
//! `bulkwire bench select-into`.

mod command;
mod file_group;
mod run;
mod summary;

use std::fmt;

use load::{LoadOptions, LoadPlan, TableName};
use serde::Serialize;

pub use command::SelectIntoArguments;
pub use run::Run;
pub use summary::{Figures, Results};

use crate::eleven_columns;
use crate::experiment::{Interrupt, Outcome, Recovery, Surroundings, Target, TargetArguments, turns, verify};
use crate::source::Source;
use run::Place;

/// Settings of the experiment: its target, rows, rounds and variants.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Server that the experiment measures.
    pub target: TargetArguments,
    /// Rows of the source.
    pub rows: u64,
    /// Rounds, each of which runs every variant once.
    pub rounds: usize,
    /// Variants to run; the others are compared with the first one.
    pub variants: Vec<Variant>,
    /// Recovery model of the experiment's database.
    pub recovery: Recovery,
    /// Directory for data files, as the server sees it; None: that of the database's first file.
    pub file_directory: Option<String>,
    /// Size with which each data file begins, in megabytes of 1,048,576 bytes; enough for the rows without it.
    pub file_size_mb: Option<u64>,
    /// Spoil every copy before it is verified.
    pub plant_wrong_row: bool,
}

/// A combination of files and degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Data files of the file group.
    pub files: u16,
    /// MAXDOP of the statement.
    pub max_dop: u16,
}

impl Variant {
    /// Lists every combination, in this order.
    pub fn combinations(files: &[u16], max_dops: &[u16]) -> Vec<Variant> {
        files
            .iter()
            .flat_map(|&files| max_dops.iter().map(move |&max_dop| Variant { files, max_dop }))
            .collect()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.files == 1 { "" } else { "s" };
        write!(f, "{} file{plural}, DOP {}", self.files, self.max_dop)
    }
}

/// Runs the experiment. Calls `on_finished` for every finished run with its round from 0, the variant, and the run.
///
/// # Errors
/// A server that cannot be reached or has no file groups, a database that exists, a run whose rows are not those of the source. What
/// was made on the server is dropped in any case, or said to be there still.
pub fn measure(
    settings: &Settings,
    interrupt: &Interrupt,
    on_finished: &mut dyn FnMut(usize, &Variant, &Run),
) -> Outcome<Results> {
    if settings.target.in_place {
        return Err("--in-place: the experiment adds file groups, and so needs a database of its own".into());
    }
    let target = Target::open(&settings.target, &[], interrupt)?;
    let measured = measure_on(&target, settings, on_finished);
    target.close(&[], measured)
}

fn measure_on(
    target: &Target,
    settings: &Settings,
    on_finished: &mut dyn FnMut(usize, &Variant, &Run),
) -> Outcome<Results> {
    let mut client = target.connect()?;
    settings.recovery.set(target, &mut client)?;
    file_group::make_all(&mut client, settings)?;
    let mut results = Results::new(settings, Surroundings::of(target, &mut client));
    let (source, copy) = (target.table("bulkwire_bench_source"), target.table("bulkwire_bench_copy"));
    let rows = Source::new(settings.rows)?;
    let sent = rows.checksum(settings.rows)?;
    load_source(&mut client, &source, &rows)?;
    drop(rows);
    verify(&mut client, &source, sent)?;
    let mut place = Place { target, client: &mut client, source: &source, copy: &copy, sent };
    for (round, index) in turns(settings.rounds, settings.variants.len()) {
        let Some(variant) = settings.variants.get(index) else { continue };
        target.interrupt().check()?;
        let run = place.run(variant, settings).map_err(|error| format!("{variant}: {error}"))?;
        on_finished(round, variant, &run);
        results.add(index, run);
    }
    results.settle();
    Ok(results)
}

fn load_source(client: &mut load::Client, table: &TableName, rows: &Source) -> Outcome<()> {
    client.execute(&eleven_columns::create_table(&table.to_string()))?;
    let target = client.describe(table)?;
    let options = LoadOptions { table_lock: Some(true), ..LoadOptions::default() };
    let plan = LoadPlan::new(client, &target, &eleven_columns::schema(), &options)?;
    load::load(client, &plan, rows.iter(), &mut |_| {})?;
    Ok(())
}
