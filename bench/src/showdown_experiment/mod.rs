//! The comparison of bcp, BULK INSERT, load and copy, by file and table lock (docs/benchmarks.md, "The showdown"): `bulkwire bench showdown`.

mod command;
mod findings;
mod host_file;
mod row;
mod run;
mod summary;
mod variant;

use std::collections::BTreeMap;
use std::path::PathBuf;

use load::TableName;

pub use command::ShowdownArguments;
pub use findings::Finding;
pub use host_file::HostFile;
pub use run::Run;
pub use summary::{Figures, Results, SizeResults};
pub use variant::{Choice, Direction, Mover, TableState, Variant};

use crate::experiment::{Interrupt, Outcome, Surroundings, Target, TargetArguments, turns};
use run::{Place, Rows};

/// Settings of the experiment: its target, rows and variants.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Server that the experiment measures.
    pub target: TargetArguments,
    /// Numbers of rows, one after the other.
    pub rows: Vec<u32>,
    /// Seed of the rows.
    pub seed: u64,
    /// Rounds, each of which runs every variant once.
    pub rounds: usize,
    /// Variants to run.
    pub variants: Vec<Variant>,
    /// Directory for files; None: a temporary one.
    pub file_directory: Option<PathBuf>,
    /// Directory for files as the server of a target sees it.
    pub server_file_directory: Option<String>,
    /// Spoil everything before it is verified.
    pub plant_wrong_row: bool,
}

/// Runs the experiment. Calls `on_finished` for every finished run with the number of rows, its round from 0, the variant,
/// and the run.
///
/// # Errors
/// A server that cannot be reached, a database or table that exists, a program that fails, a run whose rows did not all arrive as they
/// were. What was made is dropped in any case, or said to be there still.
pub fn measure(
    settings: &Settings,
    interrupt: &Interrupt,
    on_finished: &mut dyn FnMut(u32, usize, &Variant, &Run),
) -> Outcome<Results> {
    let folder = match &settings.file_directory {
        Some(directory) => tempfile::tempdir_in(directory)
            .map_err(|error| format!("--file-directory {}: {error}", directory.display()))?,
        None => tempfile::tempdir()?,
    };
    let here = folder.path().canonicalize()?.display().to_string();
    let server_folder = match (&settings.target.target, &settings.server_file_directory) {
        (None, _) => Some(here.clone()),
        // The directory of this run is in the one that both see.
        (Some(_), Some(directory)) => {
            let name =
                folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let separator = if directory.contains('\\') { '\\' } else { '/' };
            Some(format!("{}{separator}{name}", directory.trim_end_matches(['/', '\\'])))
        }
        (Some(_), None) => None,
    };
    let target = Target::open(&settings.target, &["--bulk-directory".to_owned(), here], interrupt)?;
    let tables = [target.table("bulkwire_bench_showdown"), target.table("bulkwire_bench_full")];
    if let Err(error) = target.refuse_existing(&tables) {
        return target.close(&[], Err(error));
    }
    let measured =
        measure_on(&target, &tables, settings, (folder.path(), server_folder.as_deref()), on_finished);
    target.close(&tables, measured)
}

fn measure_on(
    target: &Target,
    [table, full]: &[TableName; 2],
    settings: &Settings,
    (folder, server_folder): (&std::path::Path, Option<&str>),
    on_finished: &mut dyn FnMut(u32, usize, &Variant, &Run),
) -> Outcome<Results> {
    let mut client = target.connect()?;
    let mut results = Results::new(settings, Surroundings::of(target, &mut client), server_folder.is_some());
    let mut place = Place {
        target,
        client: &mut client,
        table,
        full,
        folder,
        server_folder,
        plant_wrong_row: settings.plant_wrong_row,
    };
    let mut kinds: Vec<HostFile> = settings.variants.iter().map(|variant| variant.file).collect();
    kinds.sort_unstable();
    kinds.dedup();
    place.write_format_files(&kinds)?;
    for &count in &settings.rows {
        let mut rows = Rows {
            count,
            plain: row::checksum(count, settings.seed, false)?,
            padded: row::checksum(count, settings.seed, true)?,
            files: BTreeMap::new(),
        };
        for &kind in &kinds {
            target.interrupt().check()?;
            rows.files.insert(kind, kind.write(&place.file(kind), count, settings.seed)?);
        }
        if settings.variants.iter().any(|variant| variant.direction == Direction::Export) {
            place.fill(&rows, settings.seed)?;
        }
        let mut size = SizeResults::new(settings, count, rows.files.clone());
        for (round, index) in turns(settings.rounds, settings.variants.len()) {
            let Some(variant) = settings.variants.get(index) else { continue };
            target.interrupt().check()?;
            let run =
                place.run(variant, &rows).map_err(|error| format!("{count} rows, {variant}: {error}"))?;
            on_finished(count, round, variant, &run);
            size.add(index, run);
        }
        size.settle();
        results.sizes.push(size);
    }
    Ok(results)
}
