//! A disk without room: what needs it is undone with an error, everything else goes on, and so does the rest when there is room again.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bulkwire_store::{Engine, EngineError, EngineOptions, LogOptions, RecoveryModel};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, Row, batch, columns, contents, step};

/// Every operation of a workload that takes space finds a full disk. So do those that a real disk has room
/// for: pages written in place, and log in reserved space.
#[test]
fn a_full_disk_undoes_what_needs_space_and_nothing_else() {
    let (mut points, mut refused, mut log_full, mut survived) = (0, 0, 0, 0);
    for seed in 0..6 {
        let options = options(MODELS[seed as usize % 3]);
        let whole = MemoryVolume::default();
        let steps = |engine: &Engine, model: &mut Model, random: &mut Random, count: usize| {
            for _ in 0..count {
                let mut next = model.clone();
                if step(engine, &mut next, random)? {
                    *model = next;
                }
            }
            Ok::<_, EngineError>(())
        };
        let created = {
            let engine = Engine::open_on(Arc::new(whole.clone()), options).unwrap();
            let created = whole.operations();
            steps(&engine, &mut Model::new(), &mut Random(seed), 8).unwrap();
            created
        };
        for at in (created..whole.operations()).step_by(5) {
            points += 1;
            let name = format!("seed {seed}, full from {at} on");
            let volume = MemoryVolume::default();
            let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
            volume.set_full(Some(at));
            let (mut model, mut random) = (Model::new(), Random(seed));
            let mut refusals = 0;
            for _ in 0..8 {
                match steps(&engine, &mut model, &mut random, 1) {
                    Ok(()) => {}
                    Err(error) => {
                        assert!(matches!(error.sql_error(), Some(9002 | 1105)), "{name}: {error}");
                        log_full += usize::from(error.sql_error() == Some(9002));
                        refusals += 1;
                        // Readers see what was committed.
                        assert_eq!(contents(&engine), model, "{name}");
                    }
                }
                if refusals == 2 {
                    break;
                }
            }
            refused += refusals;
            // Acknowledged changes are durable. Refused ones are not there, even if part of them had been
            // written.
            let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(at)));
            let other =
                Engine::open_on(Arc::new(left), options).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(contents(&other), model, "{name}, power cut");
            assert_eq!(other.check().unwrap(), [], "{name}, power cut");
            // There is space again.
            volume.set_full(None);
            steps(&engine, &mut model, &mut Random(at), 3)
                .unwrap_or_else(|error| panic!("{name}, going on: {error}"));
            engine.checkpoint().unwrap_or_else(|error| panic!("{name}, going on: {error}"));
            assert_eq!(contents(&engine), model, "{name}, going on");
            assert_eq!(engine.check().unwrap(), [], "{name}, going on");
            drop(engine);
            let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(at)));
            let engine = Engine::open_on(Arc::new(left), options)
                .unwrap_or_else(|error| panic!("{name}, after: {error}"));
            assert_eq!(contents(&engine), model, "{name}, after");
            assert_eq!(engine.check().unwrap(), [], "{name}, after");
            survived += usize::from(refusals > 0);
        }
    }
    println!(
        "{points} full disks, {refused} transactions refused, {log_full} of them for the log; {survived} databases went on"
    );
    assert!(points > 100 && refused > points && log_full > points / 2);
}

fn rows(ids: std::ops::Range<i32>) -> Vec<Row> {
    ids.map(|id| (id, Some("x".repeat(580)), None)).collect()
}

const DIRECTORY: &str = "BULKWIRE_ENGINE_FULL_DIRECTORY";
const ROOM: &str = "BULKWIRE_ENGINE_FULL_ROOM";

/// Fills a real disk until the log has no room, makes room, and goes on.
#[test]
#[ignore = "run by the tests below, where space is short"]
fn child() {
    let directory = std::env::var_os(DIRECTORY).unwrap();
    let makes_room = std::env::var(ROOM).unwrap();
    let options = EngineOptions {
        recovery_model: RecoveryModel::Full,
        // One file of the log and several of data, so that the log meets a limit of a file's length first.
        log: LogOptions { file_bytes: 64 << 20, limit_bytes: None },
        files: 4,
        cache_bytes: 512 << 10,
        ..EngineOptions::default()
    };
    let engine = Engine::open(Path::new(&directory), options).unwrap();
    let mut transaction = engine.begin();
    transaction.create_table("t", columns(), "").unwrap();
    transaction.open_table("t").unwrap().insert(&batch(&rows(0..100))).unwrap();
    transaction.commit().unwrap();
    let mut kept = 100;
    // Transactions of some hundred kilobytes until one is refused.
    let fill = |kept: &mut i32| loop {
        let mut transaction = engine.begin();
        let inserted = (0..8).try_for_each(|part| {
            let first = *kept + part * 100;
            transaction
                .open_table("t")
                .and_then(|mut table| table.insert(&batch(&rows(first..first + 100))))
                .map(drop)
        });
        match inserted.and_then(|()| transaction.commit()) {
            Ok(_) => *kept += 800,
            Err(error) => return error,
        }
    };
    for _ in 0..2 {
        let error = fill(&mut kept);
        // A file system that is full may have no room for a data file either.
        let expected: &[i32] = if makes_room == "limit" { &[9002] } else { &[9002, 1105] };
        assert!(error.sql_error().is_some_and(|number| expected.contains(&number)), "{error}");
        assert_eq!(contents(&engine)["t"].len(), kept as usize);
    }
    match makes_room.as_str() {
        "limit" => {
            #[cfg(target_os = "linux")]
            rustix::process::setrlimit(
                rustix::process::Resource::Fsize,
                rustix::process::Rlimit { current: None, maximum: None },
            )
            .unwrap();
        }
        name => std::fs::remove_file(Path::new(&directory).join(name)).unwrap(),
    }
    let mut transaction = engine.begin();
    transaction.open_table("t").unwrap().insert(&batch(&rows(kept..kept + 500))).unwrap();
    transaction.commit().unwrap();
    assert_eq!(contents(&engine)["t"], rows(0..kept + 500));
    assert_eq!(engine.check().unwrap(), []);
    drop(engine);
    let engine = Engine::open(Path::new(&directory), options).unwrap();
    assert_eq!(contents(&engine)["t"], rows(0..kept + 500));
    assert_eq!(engine.check().unwrap(), []);
    println!("went on after {kept} rows");
}

/// Runs the child behind a shell command that ends with `exec "$0" "$@"`.
fn run_child(shell: &mut Command, directory: &Path, room: &str) {
    shell.arg(std::env::current_exe().unwrap());
    shell.args(["disk_full::child", "--exact", "--ignored", "--nocapture"]);
    let output = shell.env(DIRECTORY, directory).env(ROOM, room).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("went on after"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_a_files_length_is_error_9002_until_it_is_raised() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    // The signal that comes with the error is ignored, as a server would; 6 MB, in blocks of 512 bytes.
    shell.args(["-c", "trap '' XFSZ; ulimit -S -f 12288; exec \"$0\" \"$@\""]);
    run_child(&mut shell, directory.path(), "limit");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_is_error_9002_until_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=16m tmpfs \"$BULKWIRE_ENGINE_FULL_DIRECTORY\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let probe = unshare(mount).env(DIRECTORY, directory.path()).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("skipped: no file system can be mounted here");
        return;
    }
    let script = format!(
        "{mount} && head -c 2000000 /dev/zero > \"$BULKWIRE_ENGINE_FULL_DIRECTORY\"/ballast && exec \"$0\" \"$@\""
    );
    run_child(&mut unshare(&script), directory.path(), "ballast");
}
