//! `kill -9` of a process that commits to a real directory, at random moments. The process is this test program, which runs
//! [`child`] alone.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bulkwire_store::{Engine, EngineError};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::kill::{killed_after, states_after, step_for_ever};
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, batch, columns, contents, step};

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

#[test]
#[ignore = "the other half of `nothing_committed_is_lost_by_a_killed_process`"]
fn child() {
    let directory = std::env::var_os(CHILD_DIRECTORY).unwrap();
    let engine = open(Path::new(&directory));
    let mut random = Random(std::env::var(CHILD_SEED).unwrap().parse().unwrap());
    let mut model = contents(&engine);
    step_for_ever(|| {
        let mut next = model.clone();
        if step(&engine, &mut next, &mut random).unwrap() {
            model = next;
        }
    })
}

#[test]
fn nothing_committed_is_lost_by_a_killed_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let mut model = Model::new();
    // A database in memory with the same tables, on which the same steps are run to say what must be there.
    let mut twin = Engine::open_on(Arc::new(MemoryVolume::default()), options(MODELS[0])).unwrap();
    let (mut steps, mut in_flight_kept) = (0, 0);
    for seed in 0..kills() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["kill::child", "--exact", "--ignored", "--nocapture"]);
        command.env(CHILD_DIRECTORY, directory.path()).env(CHILD_SEED, seed.to_string());
        let delay = Duration::from_micros(random.below(40_000));
        let acknowledged = killed_after(&mut command, delay, || {
            // Now and then another process tries, which must not get in.
            if seed.is_multiple_of(20) {
                let error = Engine::open(directory.path(), options(MODELS[0])).unwrap_err();
                assert!(matches!(error, EngineError::InUse { .. }), "{error}");
                assert_eq!(error.sql_error(), Some(5120));
            }
        });
        let mut random = Random(seed);
        let (committed, under_way) =
            states_after(&model, acknowledged, |model| step(&twin, model, &mut random).unwrap());

        let engine = open(directory.path());
        let found = contents(&engine);
        let kept = under_way.as_ref() == Some(&found);
        assert!(found == committed || kept, "kill {seed} after {acknowledged} steps");
        assert_eq!(engine.check().unwrap(), [], "kill {seed} after {acknowledged} steps");
        steps += acknowledged;
        in_flight_kept += usize::from(kept && found != committed);
        model = found;
        // Small again, so that the next one has more to do than to read it.
        if model.values().map(Vec::len).sum::<usize>() > 1500 {
            let mut transaction = engine.begin();
            model.keys().for_each(|name| transaction.open_table(name).unwrap().drop().unwrap());
            transaction.commit().unwrap();
            model.clear();
        }
        twin = twin_of(&engine, &model);
    }
    println!("{steps} steps acknowledged, the commit in flight survived {in_flight_kept} times");
    assert!(steps as u64 > kills() / 2);
}

/// A database in memory with the same tables: what a step does to a table depends on its keys and indexes.
fn twin_of(engine: &Engine, model: &Model) -> Engine {
    let twin = Engine::open_on(Arc::new(MemoryVolume::default()), options(MODELS[0])).unwrap();
    let mut transaction = twin.begin();
    for table in engine.snapshot().tables() {
        let name = &table.name;
        match &table.clustered {
            Some(tree) => transaction.create_tree(name, columns(), &tree.definition, "p").unwrap(),
            None => transaction
                .create_table_on(
                    name,
                    columns(),
                    None,
                    table.layout.compression,
                    &bulkwire_store::Placement::default(),
                    "p",
                )
                .unwrap(),
        }
        for index in &table.indexes {
            transaction.open_table(name).unwrap().create_index(&index.tree.definition).unwrap();
        }
        transaction.open_table(name).unwrap().insert(&batch(&model[&**name])).unwrap();
    }
    transaction.commit().unwrap();
    twin
}
