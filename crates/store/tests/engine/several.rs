//! Transactions over several databases: power cuts, failures and kills leave all of them changed or none; waits in a circle through two of
//! them end; their caches share one limit.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bulkwire_store::LockError;
use bulkwire_store::{
    Engine, EngineError, EngineOptions, Host, LockMode, LogOptions, Transaction, commit_together,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::{Folder, MemoryVolume};
use crate::workload::{Model, batch, change, columns, contents};

/// The first is the coordinator.
const FOLDERS: [&str; 3] = ["master", "one", "two"];
const STEPS: u64 = 9;

/// Cuts at distinct moments; the environment can ask for more, for a soak.
fn wanted_points() -> u64 {
    let asked = std::env::var("BULKWIRE_CRASH_POINTS").ok().and_then(|points| points.parse::<u64>().ok());
    asked.map_or(8_000, |asked| asked / 5)
}

fn crash_options(seed: u64) -> EngineOptions {
    EngineOptions {
        log: LogOptions { file_bytes: 64 << 10, limit_bytes: None },
        checkpoint_log_bytes: 160 << 10,
        files: 1,
        ..options(MODELS[seed as usize % 3])
    }
}

type Models = [Model; 3];

struct Server {
    host: Host,
    databases: [Engine; 3],
}

impl Server {
    fn open(volume: &MemoryVolume, options: EngineOptions) -> Result<Self, EngineError> {
        let host = Host::new(options.cache_bytes);
        let open = |name, decided: &dyn Fn(u64) -> bool| {
            Engine::open_within(&host, Folder::of(volume, name), options, decided)
        };
        let [master, one, two] = FOLDERS;
        let master = open(master, &|_| false)?;
        let one = open(one, &|global| master.has_decided(global))?;
        let two = open(two, &|global| master.has_decided(global))?;
        master.forget_recovered_decisions();
        Ok(Self { host, databases: [master, one, two] })
    }

    fn contents(&self) -> Models {
        self.databases.each_ref().map(contents)
    }

    fn check(&self, when: &str) {
        for (engine, name) in self.databases.iter().zip(FOLDERS) {
            assert_eq!(engine.check().unwrap(), [], "{when}: {name}");
        }
    }

    fn begin(&self) -> [Transaction; 3] {
        let owner = self.host.new_owner();
        self.databases.each_ref().map(|engine| engine.begin_for(owner))
    }

    /// One transaction over some of the databases. True: committed, and `models` is the new state; false: rolled back.
    fn step(&self, models: &mut Models, random: &mut Random) -> Result<bool, EngineError> {
        let mut transactions = self.begin();
        for _ in 0..random.below(3) + 2 {
            // The coordinator takes part now and then.
            let at = [0, 1, 1, 2, 2][random.below(5) as usize];
            change(&mut transactions[at], &mut models[at], random)?;
        }
        match random.below(8) {
            0 => self.databases[random.below(3) as usize].checkpoint()?,
            1 => drop(self.databases[random.below(3) as usize].settle_decisions()),
            _ => {}
        }
        if random.one_in(6) {
            return Ok(false);
        }
        commit_together(&self.databases[0], transactions.into())?;
        Ok(true)
    }
}

/// A committed state, and how many operations had been done when it was acknowledged, and when its transaction began.
struct Commit {
    began: u64,
    acknowledged: u64,
    models: Models,
    /// In how many databases it changed something.
    changed: usize,
}

fn run(volume: &MemoryVolume, seed: u64) -> Vec<Commit> {
    let server = Server::open(volume, crash_options(seed)).unwrap();
    let created = volume.operations();
    let mut commits = vec![Commit { began: 0, acknowledged: created, models: Models::default(), changed: 0 }];
    let mut random = Random(seed);
    for _ in 0..STEPS {
        let began = volume.operations();
        let before = &commits.last().unwrap().models;
        let mut models = before.clone();
        if server.step(&mut models, &mut random).unwrap() {
            let changed = models.iter().zip(before).filter(|(new, old)| new != old).count();
            commits.push(Commit { began, acknowledged: volume.operations(), models, changed });
        }
    }
    commits
}

#[derive(Debug, Default)]
struct Tally {
    points: AtomicU64,
    /// Cuts during a transaction over two databases at least, and after how many of them it was there.
    under_way: AtomicU64,
    survived: AtomicU64,
}

fn cut_everywhere(seed: u64, tally: &Tally) {
    let volume = MemoryVolume::recording();
    let commits = run(&volume, seed);
    let created = commits[0].acknowledged;
    volume.replay(|done, disk| {
        if done < created {
            return;
        }
        let when = format!("seed {seed}, cut after {done}");
        let mut random = Random(seed ^ (done << 20));
        let left = MemoryVolume::on(disk.after_power_cut(&mut random));
        let server =
            Server::open(&left, crash_options(seed)).unwrap_or_else(|error| panic!("{when}: {error}"));
        let found = server.contents();
        let index = commits.iter().rposition(|commit| commit.acknowledged <= done).unwrap();
        let in_flight = commits.get(index + 1).filter(|commit| commit.began <= done);
        let kept = found != commits[index].models;
        if kept {
            assert!(in_flight.is_some_and(|commit| commit.models == found), "{when}");
        }
        server.check(&when);
        tally.points.fetch_add(1, Ordering::Relaxed);
        if in_flight.is_some_and(|commit| commit.changed > 1) {
            tally.under_way.fetch_add(1, Ordering::Relaxed);
            tally.survived.fetch_add(u64::from(kept), Ordering::Relaxed);
        }
        if !random.one_in(6) {
            return;
        }
        // It goes on, through a second cut: numbers of transactions are not given twice.
        let mut next = found.clone();
        let committed = server.step(&mut next, &mut random).unwrap_or_else(|error| panic!("{when}: {error}"));
        let expected = if committed { next } else { found };
        let left = MemoryVolume::on(left.disk().after_power_cut(&mut random));
        let server = Server::open(&left, crash_options(seed)).unwrap();
        assert_eq!(server.contents(), expected, "{when}, second cut");
        server.check(&when);
    });
}

#[test]
fn a_power_cut_leaves_all_databases_changed_or_none() {
    let (tally, next_seed, wanted) = (Tally::default(), AtomicU64::new(0), wanted_points());
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
    let Tally { points, under_way, survived } = tally;
    let (points, under_way, survived) = (points.into_inner(), under_way.into_inner(), survived.into_inner());
    println!(
        "{points} power cuts, {under_way} in transactions over several databases, {survived} of them kept"
    );
    assert!(points >= wanted && under_way > points / 4);
    // Both outcomes must have been seen.
    assert!(survived > under_way / 50 && survived < under_way / 2, "{survived} of {under_way}");
}

#[test]
fn a_failing_or_full_disk_leaves_all_databases_changed_or_none() {
    let (mut failures, mut shut, mut went_on) = (0, 0, 0);
    for seed in 100..104 {
        let options = crash_options(seed);
        let whole = MemoryVolume::recording();
        let created = {
            let server = Server::open(&whole, options).unwrap();
            let created = whole.operations();
            let (mut models, mut random) = (Models::default(), Random(seed));
            for _ in 0..5 {
                let mut next = models.clone();
                if server.step(&mut next, &mut random).unwrap() {
                    models = next;
                }
            }
            created
        };
        let syncs = whole.syncs().into_iter().filter(|&at| at >= created);
        let full = (created..whole.operations()).step_by(7).map(|at| (at, None));
        for (at, fault) in syncs.map(|at| (at, Some(ErrorKind::Other))).chain(full) {
            let when = format!("seed {seed}, {fault:?} at {at}");
            let volume = MemoryVolume::default();
            let server = Server::open(&volume, options).unwrap();
            match fault {
                Some(kind) => volume.set_fault(Some((at, false, kind))),
                None => volume.set_full(Some(at)),
            }
            let (mut models, mut random) = (Models::default(), Random(seed));
            let mut in_doubt = None;
            for _ in 0..5 {
                let mut next = models.clone();
                match server.step(&mut next, &mut random) {
                    Ok(true) => models = next,
                    Ok(false) => {}
                    Err(error) => {
                        failures += 1;
                        assert!(error.sql_error().is_some(), "{when}: {error}");
                        // Want of space is no reason for doubt.
                        if error.sql_error() == Some(9001) {
                            shut += 1;
                            in_doubt = Some(next);
                        } else if fault.is_none() {
                            assert_eq!(server.contents(), models, "{when}");
                        }
                        break;
                    }
                }
            }
            volume.set_fault(None);
            volume.set_full(None);
            if fault.is_none() {
                // Everything goes on where there is room again.
                let mut next = models.clone();
                if server.step(&mut next, &mut Random(at)).unwrap_or_else(|error| panic!("{when}: {error}")) {
                    (models, went_on) = (next, went_on + 1);
                }
            }
            drop(server);
            let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(at)));
            let server = Server::open(&left, options).unwrap_or_else(|error| panic!("{when}: {error}"));
            let found = server.contents();
            assert!(found == models || in_doubt.as_ref() == Some(&found), "{when}");
            server.check(&when);
        }
    }
    println!("{failures} failures, {shut} of them left to the next opening, {went_on} went on");
    assert!(failures > 50 && shut > 10 && went_on > 20);
}

/// Decisions are remembered until no database needs them, and no longer.
#[test]
fn a_decision_outlives_the_coordinators_log_and_is_forgotten() {
    let volume = MemoryVolume::default();
    let server = Server::open(&volume, options(MODELS[2])).unwrap();
    let rows = batch(&[(1, Some("a".to_owned()), None)]);
    let fill = |name: &str| {
        let mut transactions = server.begin();
        for transaction in &mut transactions[1..] {
            transaction.create_table(name, columns(), "").unwrap();
            transaction.open_table(name).unwrap().insert(&rows).unwrap();
        }
        commit_together(&server.databases[0], transactions.into()).unwrap();
    };
    fill("a");
    // The parts' commits are not synced yet; the coordinator's checkpoints give its log up.
    let [master, one, two] = &server.databases;
    for number in 0..40 {
        let mut transaction = master.begin();
        transaction.create_table(&format!("t{number}"), columns(), "").unwrap();
        transaction.commit().unwrap();
        master.checkpoint().unwrap();
    }
    let cut = volume.disk().after_power_cut(&mut Random(3));
    let left = Server::open(&MemoryVolume::on(cut), options(MODELS[2])).unwrap();
    assert_eq!(left.contents()[1], left.contents()[2]);
    assert_eq!(left.contents()[1]["a"].len(), 1);
    // Numbers start again with each opening of the log, above the earlier ones.
    let global = |file: u64| file << 32;
    let first = (1..3).map(global).find(|global| master.has_decided(*global));
    assert!(first.is_some());
    one.checkpoint().unwrap();
    two.checkpoint().unwrap();
    fill("b");
    assert!(!first.is_some_and(|global| master.has_decided(global)));
    // A part that is opened alone has no coordinator.
    let alone = Engine::open_on(Folder::of(&MemoryVolume::on(volume.disk()), "one"), options(MODELS[2]));
    assert_eq!(alone.unwrap().check().unwrap(), []);
}

#[test]
fn a_circle_of_waits_through_two_databases_is_broken() {
    let server = Server::open(&MemoryVolume::default(), options(MODELS[2])).unwrap();
    let mut objects = [0; 3];
    for (engine, object) in server.databases.iter().zip(&mut objects) {
        let mut transaction = engine.begin();
        transaction.create_table("t", columns(), "").unwrap();
        transaction.commit().unwrap();
        *object = engine.snapshot().table("t").unwrap().object;
    }
    let long = Duration::from_secs(60);
    let [_, one, two] = server.begin();
    let [_, other_one, other_two] = server.begin();
    one.lock_table(objects[1], LockMode::X, long).unwrap();
    other_two.lock_table(objects[2], LockMode::X, long).unwrap();
    let results = std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            let result = two.lock_table(objects[2], LockMode::X, long);
            drop((one, two));
            result
        });
        let second = scope.spawn(move || {
            let result = other_one.lock_table(objects[1], LockMode::X, long);
            drop((other_one, other_two));
            result
        });
        [first.join().unwrap(), second.join().unwrap()]
    });
    let deadlocks = results.iter().filter(|result| matches!(result, Err(LockError::Deadlock { .. }))).count();
    assert!(deadlocks == 1 && results.iter().any(Result::is_ok), "{results:?}");
    // Tables with the same number in two databases are two tables.
    let [_, one, two] = server.begin();
    one.lock_table(objects[1], LockMode::X, Duration::ZERO).unwrap();
    assert_eq!(objects[1], objects[2]);
    let alone = server.databases[2].begin();
    alone.lock_table(objects[2], LockMode::X, Duration::ZERO).unwrap();
    assert_eq!(server.databases[1].locks().iter().filter(|row| row.mode == LockMode::X).count(), 1);
    drop((one, two, alone));
    assert!(server.databases.iter().all(|engine| engine.locks().is_empty()));
}

#[test]
fn caches_share_one_limit_and_an_idle_one_gives_way() {
    let options = EngineOptions { cache_bytes: 4 << 20, ..EngineOptions::default() };
    let limit = 4 << 20 >> 13;
    let server = Server::open(&MemoryVolume::default(), options).unwrap();
    let rows: Vec<_> = (0..40_000).map(|id| (id, Some("x".repeat(200)), None)).collect();
    let mut most = [0; 3];
    for at in [1, 2, 0, 1] {
        let engine = &server.databases[at];
        let name = format!("t{}", most[at]);
        let mut transaction = engine.begin();
        transaction
            .create_tree(&name, columns(), &bulkwire_store::IndexDefinition::unique("", &[0]), "")
            .unwrap();
        transaction.commit().unwrap();
        // Row by row: through the cache, more than it may hold.
        for part in rows.chunks(2_000) {
            let mut transaction = engine.begin();
            transaction.open_table(&name).unwrap().insert(&batch(part)).unwrap();
            transaction.commit().unwrap();
            let cached: u64 = server.databases.iter().map(|engine| engine.usage().cached_pages as u64).sum();
            assert_eq!(cached, server.host.cached_pages());
            assert!(cached <= limit + 2, "{cached} pages");
        }
        most[at] = engine.usage().cached_pages;
        // The one that works has nearly all of it.
        assert!(most[at] as u64 > limit / 2, "{most:?} of {limit}");
    }
    let Server { host, databases } = server;
    drop(databases);
    assert_eq!(host.cached_pages(), 0);
}
