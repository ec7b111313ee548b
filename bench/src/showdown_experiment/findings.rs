//! Findings of the original, as ratios, and the same ratios here.

use serde::Serialize;

use super::host_file::HostFile;
use super::run::Run;
use super::summary::{Figures, SizeResults};
use super::variant::{Direction, Mover, TableState, Variant};
use crate::statistics::Spread;

/// A ratio that the original reports, and the same one here.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Name of the ratio: its dividend and divisor.
    pub name: String,
    /// Ratio that the original published.
    pub published: f64,
    /// Ratio measured here, taken round by round.
    pub measured: Spread,
}

/// Figure of a run that is compared between variants.
type Figure = fn(&Run) -> Option<f64>;
/// A ratio: its name, as published, what is divided by what if both were run, and which figure of them.
type Case<'a> = (&'static str, f64, (Option<&'a Figures>, Option<&'a Figures>), Figure);

fn seconds(run: &Run) -> Option<f64> {
    Some(run.seconds)
}

fn file_bytes(run: &Run) -> Option<f64> {
    Some(run.file_bytes as f64)
}

fn table_bytes(run: &Run) -> Option<f64> {
    Some(run.space.as_ref()?.value()?.data_bytes as f64)
}

fn log_bytes(run: &Run) -> Option<f64> {
    run.log.bytes()
}

fn page_density(run: &Run) -> Option<f64> {
    run.physical.as_ref()?.value()?.page_density_percent
}

/// Lists the ratios of which both sides were run, at one size.
pub(super) fn of(size: &SizeResults) -> Vec<Finding> {
    let imports = |mover: Mover, file: HostFile, table_lock: bool, state: TableState| {
        size.variants.iter().find(move |figures| {
            let Variant { direction, mover: m, file: f, table_lock: t, state: s, .. } = figures.variant;
            (direction, m, f, t, s) == (Direction::Import, mover, file, table_lock, state)
        })
    };
    let plain = |mover, file, table_lock| imports(mover, file, table_lock, TableState::New);
    // Without a table lock, as the original's main runs; else with one, if that is all there is.
    let either = |mover, file| plain(mover, file, false).or_else(|| plain(mover, file, true));
    use HostFile::{Csv, Delimited, FixedWidth};
    use Mover::{Bcp, BulkInsert, Copy, Load};
    let locked = |mover: Mover| (plain(mover, Delimited, true), plain(mover, Delimited, false));
    let special = |file, state| {
        let found = [true, false].into_iter().find_map(|lock| imports(Load, file, lock, state));
        let beside = found.and_then(|figures| plain(Load, file, figures.variant.table_lock));
        (found, beside)
    };
    let mut cases: Vec<Case<'_>> = vec![
        (
            "bytes of the file: fixed width / CSV (load; there DTS)",
            2.7,
            (either(Load, FixedWidth), either(Load, Csv)),
            file_bytes,
        ),
        (
            "bytes of the file: fixed width / delimited (bcp)",
            3.0,
            (either(Bcp, FixedWidth), either(Bcp, Delimited)),
            file_bytes,
        ),
        (
            "time of import: fixed width / CSV (load; there DTS)",
            2.5,
            (either(Load, FixedWidth), either(Load, Csv)),
            seconds,
        ),
        (
            "time of import: fixed width / delimited (bcp)",
            2.7,
            (either(Bcp, FixedWidth), either(Bcp, Delimited)),
            seconds,
        ),
        (
            "table: fixed width / delimited (bcp, blanks kept)",
            3.0,
            (either(Bcp, FixedWidth), either(Bcp, Delimited)),
            table_bytes,
        ),
        (
            "time of import: BULK INSERT / bcp (delimited)",
            1.0,
            (either(BulkInsert, Delimited), either(Bcp, Delimited)),
            seconds,
        ),
        (
            "time of import: CSV by load, there the DTS wizard / delimited by bcp",
            1.15,
            (either(Load, Csv), either(Bcp, Delimited)),
            seconds,
        ),
        (
            "time of import: CSV by copy, there the DTS wizard / delimited by bcp",
            1.15,
            (either(Copy, Csv), either(Bcp, Delimited)),
            seconds,
        ),
    ];
    for mover in [Bcp, BulkInsert, Load] {
        if locked(mover).0.is_some() && locked(mover).1.is_some() {
            cases.push(("log: TABLOCK / without", 13.0 / 370.0, locked(mover), log_bytes));
            cases.push(("time of import: TABLOCK / without", 0.97, locked(mover), seconds));
            cases.push((
                "table: TABLOCK (fill factor 10) / without",
                2000.0 / 228.0,
                locked(mover),
                table_bytes,
            ));
            cases.push((
                "page density: TABLOCK (fill factor 10) / without",
                11.0 / 99.0,
                locked(mover),
                page_density,
            ));
            // One mover is enough: movers differ in who reads the file, not in how the server stores rows.
            break;
        }
    }
    cases.push((
        "page density, TABLOCK: held rows before (there the fill factor was ignored) / new",
        99.0 / 11.0,
        special(Delimited, TableState::Emptied),
        page_density,
    ));
    cases.push((
        "table from fixed width: columns made under ANSI_PADDING OFF / ON",
        1.0 / 3.0,
        special(FixedWidth, TableState::AnsiPaddingOff),
        table_bytes,
    ));
    cases
        .into_iter()
        .filter_map(|(name, published, (over, under), figure)| {
            let pairs = over?.runs.iter().zip(&under?.runs);
            let ratio = |(over, under): (&Run, &Run)| {
                figure(over)
                    .zip(figure(under))
                    .filter(|(_, under)| *under > 0.0)
                    .map(|(over, under)| over / under)
            };
            let ratios =
                pairs.map(ratio).collect::<Option<Vec<f64>>>().filter(|ratios| !ratios.is_empty())?;
            Some(Finding { name: name.to_owned(), published, measured: Spread::of(ratios) })
        })
        .collect()
}
