//! The experiment of compression and inserts (docs/benchmarks.md, "The compression experiment"): `bulkwire bench compression`.

mod command;
mod orders;
mod run;
mod summary;
mod variant;

use load::TableName;

pub use command::CompressionArguments;
pub use run::{Estimate, Run};
pub use summary::{Figures, Results};
pub use variant::{Compression, Shape, Variant};

use crate::experiment::{Interrupt, Outcome, Recovery, Surroundings, Target, TargetArguments, turns};
use formats::ContentChecksum;
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
    /// Variants to run. The others of a shape are compared with its first one.
    pub variants: Vec<Variant>,
    /// Recovery model of the experiment's database; `None` leaves it as it is.
    pub recovery: Option<Recovery>,
    /// MAXDOP of the INSERT; `None` leaves it to the server.
    pub max_dop: Option<u16>,
    /// Spoil every copy before it is verified.
    pub plant_wrong_row: bool,
}

/// Runs the experiment. Calls `on_finished` for every finished run with its round from 0, the variant, and the run.
///
/// # Errors
/// A server that cannot be reached, a database or table that exists, a run whose rows are not those of the source. What was made on
/// the server is dropped in any case, or said to be there still.
pub fn measure(
    settings: &Settings,
    interrupt: &Interrupt,
    on_finished: &mut dyn FnMut(usize, &Variant, &Run),
) -> Outcome<Results> {
    let target = Target::open(&settings.target, &[], interrupt)?;
    let tables = [target.table("bulkwire_bench_source"), target.table("bulkwire_bench_copy")];
    if let Err(error) = target.refuse_existing(&tables) {
        return target.close(&[], Err(error));
    }
    let measured = measure_on(&target, &tables, settings, on_finished);
    target.close(&tables, measured)
}

fn measure_on(
    target: &Target,
    [source, copy]: &[TableName; 2],
    settings: &Settings,
    on_finished: &mut dyn FnMut(usize, &Variant, &Run),
) -> Outcome<Results> {
    let mut client = target.connect()?;
    if let Some(recovery) = settings.recovery {
        recovery.set(target, &mut client)?;
    }
    let mut results = Results::new(settings, Surroundings::of(target, &mut client));
    let mut sent = ContentChecksum::new();
    for batch in orders::batches(settings.rows) {
        sent.update(&batch?)?;
    }
    let mut place = Place { target, client: &mut client, source, copy, sent: sent.finish() };
    place.prepare(settings.rows)?;
    for (round, index) in turns(settings.rounds, settings.variants.len()) {
        let Some(variant) = settings.variants.get(index) else { continue };
        target.interrupt().check()?;
        let run = place.run(variant, settings).map_err(|error| format!("{variant}: {error}"))?;
        on_finished(round, variant, &run);
        results.add(index, run);
        // The estimate is made once for each shape, from the copy that is not compressed.
        if round == 0 && variant.compression == Compression::None {
            for compression in [Compression::Row, Compression::Page] {
                results.estimate(Variant { shape: variant.shape, compression }, place.estimate(compression)?);
            }
        }
    }
    results.settle();
    Ok(results)
}
