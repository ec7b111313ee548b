//! `kill -9` of a process that commits to a real directory, at random moments. The process is this test program, which runs
//! [`child`] alone.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bulkwire_store::engine::{Engine, EngineError};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, batch, columns, contents, is_keyed, step};

const CHILD_DIRECTORY: &str = "BULKWIRE_ENGINE_KILL_DIRECTORY";
const CHILD_SEED: &str = "BULKWIRE_ENGINE_KILL_SEED";

/// Kills; the environment can ask for more, for a soak.
fn kills() -> u64 {
    let asked = std::env::var("BULKWIRE_KILLS").ok().and_then(|kills| kills.parse().ok());
    asked.unwrap_or(200)
}

fn open(directory: &Path) -> Engine {
    Engine::open(directory, options(MODELS[0])).unwrap()
}

/// Commits without end, and says so after each step.
#[test]
#[ignore = "the other half of `nothing_committed_is_lost_by_a_killed_process`"]
fn child() {
    let directory = std::env::var_os(CHILD_DIRECTORY).unwrap();
    let engine = open(Path::new(&directory));
    let mut random = Random(std::env::var(CHILD_SEED).unwrap().parse().unwrap());
    let mut model = contents(&engine);
    let mut output = std::io::stdout().lock();
    writeln!(output, "\nopen").unwrap();
    loop {
        let mut next = model.clone();
        let done = step(&engine, &mut next, &mut random).unwrap();
        if done {
            model = next;
        }
        writeln!(output, "step").unwrap();
        output.flush().unwrap();
    }
}

#[test]
fn nothing_committed_is_lost_by_a_killed_process() {
    let directory = tempfile::tempdir().unwrap();
    // Checked now and then by another process, which must not get in.
    let mut random = Random(7);
    let mut model = Model::new();
    let (mut steps, mut in_flight_kept) = (0, 0);
    for seed in 0..kills() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["kill::child", "--exact", "--ignored", "--nocapture"])
            .env(CHILD_DIRECTORY, directory.path())
            .env(CHILD_SEED, seed.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.unwrap() == "open"), "kill {seed}: it did not open");
        if seed.is_multiple_of(20) {
            let error = Engine::open(directory.path(), options(MODELS[0])).unwrap_err();
            assert!(matches!(error, EngineError::InUse { .. }), "{error}");
            assert_eq!(error.sql_error(), Some(5120));
        }
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = lines.map_while(Result::ok).filter(|line| line == "step").count();

        // The same steps on a twin beside it say what must be there.
        let twin = twin_of(&model);
        let mut random = Random(seed);
        let mut committed = model.clone();
        for _ in 0..acknowledged {
            let mut next = committed.clone();
            if step(&twin, &mut next, &mut random).unwrap() {
                committed = next;
            }
        }
        let mut in_flight = committed.clone();
        let finished = step(&twin, &mut in_flight, &mut random).unwrap();

        let engine = open(directory.path());
        let found = contents(&engine);
        let kept = finished && found == in_flight;
        assert!(found == committed || kept, "kill {seed} after {acknowledged} steps");
        assert_eq!(engine.check().unwrap(), [], "kill {seed} after {acknowledged} steps");
        steps += acknowledged;
        in_flight_kept += usize::from(kept && found != committed);
        model = found;
        // Small again, so that the next one has more to do than to read it.
        if model.values().map(Vec::len).sum::<usize>() > 1500 {
            let mut transaction = engine.begin();
            model.keys().for_each(|name| transaction.drop_table(name).unwrap());
            transaction.commit().unwrap();
            model.clear();
        }
    }
    println!("{steps} steps acknowledged, the commit in flight survived {in_flight_kept} times");
    assert!(steps as u64 > kills() / 2);
}

/// A database in memory with the same contents, so that the same steps can be run on it.
fn twin_of(model: &Model) -> Engine {
    let engine = Engine::open_on(Arc::new(MemoryVolume::default()), options(MODELS[0])).unwrap();
    let mut transaction = engine.begin();
    for (name, rows) in model {
        match is_keyed(name) {
            true => transaction.create_clustered_table(name, columns(), &[0], "p").unwrap(),
            false => transaction.create_table(name, columns(), "p").unwrap(),
        }
        transaction.insert(name, &batch(rows)).unwrap();
    }
    transaction.commit().unwrap();
    engine
}
