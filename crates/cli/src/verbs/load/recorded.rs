//! `bulkwire loads`: the loads that the database has recorded.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;
use formats::objects::shown_url;
use load::report::grouped;
use load::stage::FoundStage;
use load::{Client, LedgerLoad, LedgerPlace, LoadState, Stage};
use serde_json::json;

use crate::args::{Arguments, Command, LoadArgs, LoadsAction, LoadsArgs, LoadsListArgs, LoadsNamedArgs};
use crate::connection;
use crate::failure::Failure;
use crate::table::Table;
use crate::verbs::load::command::{self, Outcome};

/// Lists loads, continues one, or forgets one.
pub fn run(arguments: LoadsArgs) -> Result<Outcome, Failure> {
    match arguments.action {
        LoadsAction::List(arguments) => list(&arguments).map(|()| Outcome::Whole),
        LoadsAction::Resume(arguments) => resume(arguments),
        LoadsAction::Forget(arguments) => forget(&arguments).map(|()| Outcome::Whole),
    }
}

/// Returns the words of this process's command line that continue a load. Connection flags are left out, since they may
/// hold a password.
pub fn command_of(words: &[OsString]) -> Option<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word? {
            // The query of a URL may be a signature, and without it nothing can be continued.
            word if shown_url(word) != word => return None,
            "--url" => {
                words.next();
            }
            word if word.starts_with("--url=") => {}
            word => kept.push(word.to_owned()),
        }
    }
    let folder = env::current_dir().ok()?;
    Some(json!({ "folder": folder.to_str()?, "words": kept }).to_string())
}

fn list(arguments: &LoadsListArgs) -> Result<(), Failure> {
    let mut client = connection::open(&arguments.place.connection)?;
    let loads = LedgerPlace::current(&arguments.place.ledger_schema).list(&mut client)?;
    let stages = Stage::find_all(&mut client)?;
    let failed = |source| Failure::Stream { stream: "output", source };
    let mut out = io::stdout().lock();
    if arguments.json {
        for load in &loads {
            let LedgerLoad { load_id, target, mode, state, rows, started, last_commit, sources, .. } = load;
            let state = state_word(*state);
            let line = json!({
                "load_id": load_id, "target": target, "mode": mode, "state": state, "rows": rows, "started": started,
                "last_commit": last_commit, "sources": sources,
                "stage": stages.iter().find(|stage| stage.load_id == *load_id).map(|stage| stage.name.to_string()),
            });
            writeln!(out, "{line}").map_err(failed)?;
        }
    }
    let orphans = stages.iter().filter(|stage| loads.iter().all(|load| load.load_id != stage.load_id));
    let orphans = orphans.map(|stage| Ok((stage, stage_word(stage, &mut client)?)));
    let orphans = orphans.collect::<Result<Vec<_>, load::Error>>()?;
    if arguments.json {
        for (stage, state) in orphans {
            let line = json!({
                "load_id": stage.load_id, "target": stage.target, "mode": stage.mode, "state": state,
                "rows": stage.rows, "started": stage.created, "stage": stage.name.to_string(),
            });
            writeln!(out, "{line}").map_err(failed)?;
        }
        return Ok(());
    }
    let names = [
        ("load", false),
        ("target", false),
        ("mode", false),
        ("state", false),
        ("rows", true),
        ("last commit (UTC)", false),
    ];
    let mut table = Table::new(names.map(|(name, right)| (name.to_owned(), right)));
    for load in &loads {
        let LedgerLoad { load_id, target, mode, state, rows, last_commit, .. } = load;
        let state = state_word(*state).to_owned();
        table.push([
            load_id.clone(),
            target.clone(),
            mode.clone(),
            state,
            grouped(*rows),
            last_commit.clone(),
        ]);
    }
    for (stage, state) in orphans {
        let rows = grouped(stage.rows);
        let (load_id, target, mode) = (stage.load_id.clone(), stage.target.clone(), stage.mode.clone());
        table.push([load_id, target, mode, state.to_owned(), rows, String::new()]);
    }
    table.write(&mut out).map_err(failed)
}

fn state_word(state: LoadState) -> &'static str {
    match state {
        LoadState::Loading => "unfinished",
        LoadState::Done => "done",
    }
}

/// Returns the state of a load that is not in the ledger, by its stage.
fn stage_word(stage: &FoundStage, client: &mut Client) -> Result<&'static str, load::Error> {
    Ok(match stage.is_in_use(client)? {
        true => "running",
        // Its job is between two tasks, or gone.
        false if stage.is_of_tasks() => "idle",
        false => "broken off",
    })
}

/// Runs the command line that began the load.
fn resume(arguments: LoadsNamedArgs) -> Result<Outcome, Failure> {
    let mut client = connection::open(&arguments.place.connection)?;
    let load = named(&mut client, &arguments)?;
    drop(client);
    if load.state == LoadState::Done {
        return Err(Failure::Usage(format!("load \"{}\" is done", load.load_id)));
    }
    let unusable = || {
        Failure::Usage(format!(
            "load \"{}\" was not begun by this program's command line: run what began it again",
            load.load_id
        ))
    };
    let command: serde_json::Value = serde_json::from_str(&load.command).map_err(|_| unusable())?;
    let folder = command.get("folder").and_then(|folder| folder.as_str()).ok_or_else(unusable)?;
    let words = command.get("words").and_then(|words| words.as_array()).ok_or_else(unusable)?;
    let words = words.iter().filter_map(|word| word.as_str());
    env::set_current_dir(folder).map_err(|source| Failure::Unreadable { file: folder.to_owned(), source })?;
    let parsed =
        Arguments::try_parse_from(std::iter::once("bulkwire").chain(words)).map_err(|_| unusable())?;
    let Command::Load(load_arguments) = parsed.command else { return Err(unusable()) };
    let mut load_arguments: LoadArgs = *load_arguments;
    load_arguments.connection = arguments.place.connection;
    load_arguments.writers.resume = true;
    load_arguments.writers.load_id = Some(load.load_id.clone());
    command::run(&load_arguments, Some(load.command))
}

fn forget(arguments: &LoadsNamedArgs) -> Result<(), Failure> {
    let mut client = connection::open(&arguments.place.connection)?;
    let place = LedgerPlace::current(&arguments.place.ledger_schema);
    match load::forget_load(&mut client, &place, &arguments.load_id)? {
        true => Ok(()),
        false => Err(unknown(&arguments.load_id)),
    }
}

fn named(client: &mut Client, arguments: &LoadsNamedArgs) -> Result<LedgerLoad, Failure> {
    let loads = LedgerPlace::current(&arguments.place.ledger_schema).list(client)?;
    let found = loads.into_iter().find(|load| load.load_id == arguments.load_id);
    found.ok_or_else(|| unknown(&arguments.load_id))
}

fn unknown(load_id: &str) -> Failure {
    Failure::Usage(format!("there is no load \"{load_id}\" in this database: bulkwire loads list"))
}
