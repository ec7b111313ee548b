//! Power cuts after every operation of mixed workloads: what was acknowledged is there, what was not is there wholly or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bulkwire_store::{
    DataFileOptions, Engine, EngineError, EngineOptions, FileGrowth, LogOptions, RecoveryModel,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, batch, columns, contents, step};

const STEPS: u64 = 14;

/// Cuts at distinct moments; the environment can ask for more, for a soak.
fn wanted_points() -> u64 {
    let asked = std::env::var("BULKWIRE_CRASH_POINTS").ok().and_then(|points| points.parse().ok());
    asked.unwrap_or(40_000)
}

/// The first workload, to look at one that failed.
fn first_seed() -> u64 {
    std::env::var("BULKWIRE_CRASH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// Small virtual log files and frequent checkpoints, so that cuts fall on their making and removal too.
fn crash_options(seed: u64) -> EngineOptions {
    EngineOptions {
        log: LogOptions { file_bytes: 64 << 10, limit_bytes: None },
        checkpoint_log_bytes: 160 << 10,
        ..options(MODELS[seed as usize % 3])
    }
}

/// A committed state, and how many operations had been done when it was acknowledged, and when its transaction began.
struct Commit {
    began: u64,
    acknowledged: u64,
    model: Model,
}

fn run(volume: &MemoryVolume, seed: u64) -> Vec<Commit> {
    let engine = Engine::open_on(Arc::new(volume.clone()), crash_options(seed)).unwrap();
    let created = volume.operations();
    let mut commits = vec![Commit { began: 0, acknowledged: created, model: Model::new() }];
    let mut random = Random(seed);
    // Open beside the others for a while, and always undone: it loads and changes a table that no other
    // transaction ever sees.
    let mut lingering = None;
    for number in 0..STEPS {
        let began = volume.operations();
        let mut model = commits.last().unwrap().model.clone();
        if step(&engine, &mut model, &mut random).unwrap() {
            commits.push(Commit { began, acknowledged: volume.operations(), model });
        }
        match random.below(6) {
            0 if lingering.is_none() => {
                let mut transaction = engine.begin();
                let name = format!("lingering{number}");
                transaction.create_table(&name, columns(), "").unwrap();
                let rows: Vec<_> =
                    (0..40).map(|id| (id, Some("l".repeat(id as usize * 9)), Some(vec![3; 700]))).collect();
                transaction.open_table(&name).unwrap().bulk_load(&[batch(&rows)]).unwrap();
                transaction.open_table(&name).unwrap().insert(&batch(&rows[..8])).unwrap();
                lingering = Some(transaction);
            }
            1 => drop(lingering.take()),
            2 if engine.recovery_model() != RecoveryModel::Simple => {
                drop(engine.backup_log(&mut std::io::sink()).unwrap());
            }
            5 if random.one_in(3) => drop(engine.backup_database(&mut std::io::sink()).unwrap()),
            5 if engine.data_files().len() > 2 => {
                let name = engine.data_files().last().unwrap().logical_name.clone();
                // The open transaction may have it, or it is the last one of its group.
                let done = engine
                    .files()
                    .empty_data_file(&name)
                    .and_then(|()| engine.files().remove_data_file(&name));
                let refused = |error: EngineError| matches!(error.sql_error(), Some(2555 | 5042));
                assert!(done.map_or_else(refused, |()| true));
            }
            4 if engine.data_files().len() < 4 && random.one_in(3) => {
                let group = random.one_in(2).then(|| format!("group{number}"));
                if let Some(name) = &group {
                    assert!(engine.files().add_file_group(name).unwrap() > 1);
                }
                let options = DataFileOptions { growth: FileGrowth::Bytes(256 << 10), ..Default::default() };
                assert!(engine.files().add_data_file_to(group.as_deref(), &options).unwrap() > 2);
                group.iter().for_each(|name| engine.files().set_default_file_group(name).unwrap());
            }
            3 if random.one_in(3) => {
                let model = [RecoveryModel::Full, RecoveryModel::BulkLogged, RecoveryModel::Simple];
                engine.set_recovery_model(model[random.below(3) as usize]).unwrap();
            }
            _ => {}
        }
    }
    commits
}

/// Says where a look at the tables failed.
struct Place {
    seed: u64,
    done: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, cut after {}", self.seed, self.done);
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    /// Distinct moments of distinct workloads.
    points: AtomicU64,
    /// Further cuts, after going on from a recovered state.
    second_cuts: AtomicU64,
    /// Commits that were not acknowledged and were there.
    survived: AtomicU64,
}

/// Cuts the power after every operation of one workload.
fn cut_everywhere(seed: u64, tally: &Tally) {
    let volume = MemoryVolume::recording();
    let commits = run(&volume, seed);
    volume.replay(|done, disk| {
        let mut random = Random(seed ^ (done << 20));
        let left = MemoryVolume::on(disk.after_power_cut(&mut random));
        let acknowledged = commits.iter().rposition(|commit| commit.acknowledged <= done);
        // With room for every page, or as little as before the cut.
        let cache_bytes = if random.one_in(4) { crash_options(seed).cache_bytes } else { 8 << 20 };
        let options = EngineOptions { cache_bytes, ..crash_options(seed) };
        let engine = match Engine::open_on(Arc::new(left.clone()), options) {
            Ok(engine) => engine,
            Err(error) => panic!("seed {seed}, cut after {done}: {error}"),
        };
        let _place = Place { seed, done };
        let found = contents(&engine);
        let index = acknowledged.unwrap_or(0);
        let in_flight = commits.get(index + 1).filter(|commit| commit.began <= done);
        if found != commits[index].model {
            let kept = in_flight.is_some_and(|commit| commit.model == found);
            assert!(kept, "seed {seed}, cut after {done}");
            tally.survived.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(engine.check().unwrap(), [], "seed {seed}, cut after {done}");
        tally.points.fetch_add(1, Ordering::Relaxed);
        if !random.one_in(5) {
            return;
        }
        // It goes on from there, also through a second cut.
        let mut next = found.clone();
        let committed = step(&engine, &mut next, &mut random)
            .unwrap_or_else(|error| panic!("seed {seed}, cut after {done}, going on: {error}"));
        let expected = if committed { next } else { found };
        assert_eq!(contents(&engine), expected, "seed {seed}, cut after {done}, going on");
        let left = MemoryVolume::on(left.disk().after_power_cut(&mut random));
        let engine = Engine::open_on(Arc::new(left), options)
            .unwrap_or_else(|error| panic!("seed {seed}, cut after {done}, second cut: {error}"));
        assert_eq!(contents(&engine), expected, "seed {seed}, cut after {done}, second cut");
        assert_eq!(engine.check().unwrap(), [], "seed {seed}, cut after {done}, second cut");
        tally.second_cuts.fetch_add(1, Ordering::Relaxed);
    });
}

#[test]
fn a_power_cut_loses_nothing_committed() {
    let (tally, next_seed, wanted) = (Tally::default(), AtomicU64::new(first_seed()), wanted_points());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while tally.points.load(Ordering::Relaxed) < wanted {
                    cut_everywhere(next_seed.fetch_add(1, Ordering::Relaxed), &tally);
                }
            });
        }
    });
    let points = tally.points.into_inner();
    let (seconds, survived) = (tally.second_cuts.into_inner(), tally.survived.into_inner());
    println!(
        "{points} power cuts in {} workloads, {seconds} second ones; the commit in flight survived {survived}",
        next_seed.into_inner()
    );
    assert!(points >= wanted, "only {points} power cuts");
    // Otherwise the disk is not the one described: a commit written but not acknowledged must sometimes survive.
    assert!(survived > points / 100);
    assert!(seconds > points / 10);
}
