//! `kill -9` of a process that commits to a real directory, at random moments. The process is this program itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bulkwire_store::{Database, Options};
use support::Random;
use support::kill::{killed_after, states_after, step_for_ever};
use support::workload::{Model, contents, step};

const CHILD_DIRECTORY: &str = "BULKWIRE_STORE_KILL_DIRECTORY";
const CHILD_SEED: &str = "BULKWIRE_STORE_KILL_SEED";
const KILLS: u64 = 40;

fn main() {
    match std::env::var_os(CHILD_DIRECTORY) {
        Some(directory) => child(Path::new(&directory), std::env::var(CHILD_SEED).unwrap().parse().unwrap()),
        None => parent(),
    }
}

fn open(directory: &Path) -> Database {
    Database::open(directory, Options { checkpoint_journal_bytes: 16 << 10, ..Options::default() }).unwrap()
}

fn child(directory: &Path, seed: u64) {
    let database = open(directory);
    let mut model = contents(&database);
    let mut random = Random(seed);
    step_for_ever(|| {
        let mut next = model.clone();
        if step(&database, &mut next, &mut random).unwrap() {
            model = next;
        }
    })
}

fn parent() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let mut model = Model::new();
    let (mut steps, mut in_flight_kept) = (0, 0);
    for seed in 0..KILLS {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(CHILD_DIRECTORY, directory.path()).env(CHILD_SEED, seed.to_string());
        let delay = Duration::from_micros(random.below(150_000));
        let acknowledged = killed_after(&mut command, delay, || ());

        // The same steps on a database in memory beside it say what must be there.
        let twin = twin_of(&model);
        let mut random = Random(seed);
        let (committed, under_way) =
            states_after(&model, acknowledged, |model| step(&twin, model, &mut random).unwrap());

        let database = open(directory.path());
        let found = contents(&database);
        let kept = under_way.as_ref() == Some(&found);
        assert!(found == committed || kept, "kill {seed} after {acknowledged} steps");
        steps += acknowledged;
        in_flight_kept += usize::from(kept && found != committed);
        model = found;
    }
    println!(
        "{KILLS} kills, {steps} steps acknowledged, the commit in flight survived {in_flight_kept} times: ok"
    );
    assert!(steps > 0);
}

/// A database in memory with the same contents, so that the same steps can be run on it.
fn twin_of(model: &Model) -> Database {
    let database = Database::in_memory();
    let mut transaction = database.begin();
    for (name, (properties, rows)) in model {
        let schema = support::workload::schema();
        let id = transaction.create_table(name.clone(), schema, properties.clone()).unwrap();
        transaction.append(id, &support::workload::batch(rows)).unwrap();
    }
    transaction.commit().unwrap();
    database
}
