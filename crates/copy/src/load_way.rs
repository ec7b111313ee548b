//! Makes the mode and the strategy of a load from the options.

use load::{LoadWay, Mode, Strategy};

use crate::{
    error::CopyError,
    options::{BulkOptions, ModeOptions, RefusalOptions},
};

/// Returns the way that options ask for. `others` are options that no stage goes with: whether each is given, and why not.
///
/// # Errors
/// Options exclude each other, or the mode lacks its key.
pub fn load_way(
    modes: &ModeOptions,
    bulk: &BulkOptions,
    refusals: &RefusalOptions,
    others: &[(&str, bool, &str)],
) -> Result<LoadWay, CopyError> {
    let word = match (modes.mode, modes.truncate) {
        (Some(name), _) => name.into(),
        (None, true) => "truncate",
        (None, false) => "append",
    };
    let usage = |error: load::StageError| CopyError::Usage(error.to_string());
    let mode = Mode::parse(word, modes.key.clone()).map_err(usage)?;
    of_mode(mode, modes, bulk, refusals, others)
}

/// Returns the way of rows that say themselves what they do.
///
/// # Errors
/// Options exclude each other.
pub fn way_by_action(
    modes: &ModeOptions,
    bulk: &BulkOptions,
    refusals: &RefusalOptions,
) -> Result<LoadWay, CopyError> {
    let mode = Mode::ByAction { keys: modes.key.clone() };
    let way = of_mode(mode, modes, bulk, refusals, &[])?;
    Ok(LoadWay { is_named: true, ..way })
}

fn of_mode(
    mode: Mode,
    modes: &ModeOptions,
    bulk: &BulkOptions,
    refusals: &RefusalOptions,
    others: &[(&str, bool, &str)],
) -> Result<LoadWay, CopyError> {
    let word = mode.word();
    let mut strategy = modes.strategy.map_or(Strategy::Auto, Strategy::from);
    let is_staged = !matches!(mode, Mode::Append | Mode::Truncate)
        || !matches!(strategy, Strategy::Auto | Strategy::Direct);
    let refuse = |option: &str, reason: &str| {
        let way = match (&mode, modes.mode) {
            (Mode::ByAction { .. }, _) => "--action".to_owned(),
            (_, Some(_)) => format!("--mode {word}"),
            (_, None) => format!("--strategy {strategy}"),
        };
        Err(CopyError::Usage(format!("{option} cannot go with {way}: {reason}")))
    };
    if is_staged {
        if let Some((option, _, reason)) = others.iter().find(|(_, given, _)| *given) {
            return refuse(option, reason);
        }
        if bulk.autocommit {
            return refuse("--autocommit", "a stage is published in a transaction");
        }
        if bulk.sole_writer {
            return refuse("--sole-writer", "nobody else writes to a stage in any case");
        }
        if refusals.bisect {
            match (mode.keys().is_some(), strategy) {
                (true, _) => {
                    return refuse("--bisect", "the table takes all rows of the stage at once");
                }
                (false, Strategy::HeapThenKey) => {
                    return refuse(
                        "--bisect",
                        "the indexes that could refuse a row are built after the rows",
                    );
                }
                // Only indexes that are there before the rows refuse them one by one.
                (false, _) => strategy = Strategy::Swap,
            }
        }
    }
    Ok(LoadWay { mode, strategy, is_named: modes.mode.is_some() || modes.strategy.is_some() })
}

/// Returns what an earlier run of the same load must have had: what becomes of existing rows, and the way of the new ones.
pub fn way_words(way: &LoadWay) -> String {
    match way.strategy {
        Strategy::Auto => way.mode.word().to_owned(),
        strategy => format!("{} by {strategy}", way.mode.word()),
    }
}
