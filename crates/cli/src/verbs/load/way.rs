//! The mode and the strategy of a command line.

use load::{LoadWay, Mode, Strategy};

use crate::args::{BulkArgs, LoadArgs, ModeArgs, RefusalArgs};
use crate::failure::Failure;

/// The way of a command line; options that exclude each other are refused.
pub fn of(arguments: &LoadArgs) -> Result<LoadWay, Failure> {
    let LoadArgs { modes, bulk, refusals, .. } = arguments;
    let others = [
        ("--server-side", arguments.server_side, "BULK INSERT puts rows into the table itself"),
        ("--create", arguments.create, "a table that is yet to be made has neither rows nor indexes"),
    ];
    of_flags(modes, bulk, refusals, &others)
}

/// The way of the flags. `others` are options that no stage goes with: whether each is given, and why not.
pub fn of_flags(
    modes: &ModeArgs,
    bulk: &BulkArgs,
    refusals: &RefusalArgs,
    others: &[(&str, bool, &str)],
) -> Result<LoadWay, Failure> {
    let word = match (modes.mode, modes.truncate) {
        (Some(name), _) => name.into(),
        (None, true) => "truncate",
        (None, false) => "append",
    };
    let usage = |error: load::StageError| Failure::Usage(error.to_string());
    let mode = Mode::parse(word, modes.key.clone()).map_err(usage)?;
    of_mode(mode, modes, bulk, refusals, others)
}

/// The way of rows that say themselves what they do.
pub fn by_action(modes: &ModeArgs, bulk: &BulkArgs, refusals: &RefusalArgs) -> Result<LoadWay, Failure> {
    let mode = Mode::ByAction { keys: modes.key.clone() };
    let way = of_mode(mode, modes, bulk, refusals, &[])?;
    Ok(LoadWay { is_named: true, ..way })
}

fn of_mode(
    mode: Mode,
    modes: &ModeArgs,
    bulk: &BulkArgs,
    refusals: &RefusalArgs,
    others: &[(&str, bool, &str)],
) -> Result<LoadWay, Failure> {
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
        Err(Failure::Usage(format!("{option} cannot go with {way}: {reason}")))
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

/// What becomes of the rows that are there, and the way of the new ones, as an earlier run of the same load has them.
pub fn words(way: &LoadWay) -> String {
    match way.strategy {
        Strategy::Auto => way.mode.word().to_owned(),
        strategy => format!("{} by {strategy}", way.mode.word()),
    }
}
