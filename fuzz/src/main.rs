//! Runs fuzz targets on a stable compiler: changes the saved inputs at random for a given time and stops at the first
//! panic, saving the input that caused it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bulkwire_fuzz::cases::tds::Case;
use bulkwire_fuzz::mutation::{Random, mutate};
use bulkwire_fuzz::targets;

const USAGE: &str = "usage: bulkwire-fuzz [--target NAME | --all] [--seconds N] [--seed N] [--list] [FILE…]
  --target   which target to run
  --all      run all targets, one after the other (the default)
  --seconds  how long to run each target (default: 10)
  --seed     start of the random sequence (default: 1)
  FILE…      run the target once on each file instead";

/// An input that takes longer than this is reported like a panic.
const SLOW: Duration = Duration::from_secs(2);

/// Inputs kept in memory besides the saved ones.
const POOL_MAX: usize = 4096;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let (mut target, mut seconds, mut seed, mut files) = ("all".to_owned(), 10u64, 1u64, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--target" => target = value()?,
            "--seconds" => seconds = value()?.parse().map_err(|error| format!("--seconds: {error}"))?,
            "--seed" => seed = value()?.parse().map_err(|error| format!("--seed: {error}"))?,
            "--all" => target = "all".to_owned(),
            "--list" => {
                targets().for_each(|(name, _)| println!("{name}"));
                return Ok(true);
            }
            file if !file.starts_with('-') => files.push(PathBuf::from(file)),
            other => return Err(format!("unknown option {other}")),
        }
    }
    let chosen: Vec<(&str, Case)> =
        targets().filter(|(name, _)| target == "all" || target == *name).collect();
    if chosen.is_empty() {
        return Err(format!("no target {target}; --list names them"));
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sound = true;
    for (name, case) in chosen {
        let found = match files.as_slice() {
            [] => fuzz(name, case, home, Duration::from_secs(seconds), seed)?,
            files => replay(case, files)?,
        };
        sound &= found;
    }
    Ok(sound)
}

fn replay(case: Case, files: &[PathBuf]) -> Result<bool, String> {
    for file in files {
        case(&std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    Ok(true)
}

fn fuzz(name: &str, case: Case, home: &Path, time: Duration, seed: u64) -> Result<bool, String> {
    let mut pool = corpus(&home.join("corpus").join(name))?;
    let saved = pool.len();
    let mut known: HashSet<u64> = pool.iter().map(|input| hash(input)).collect();
    // Every target has its own sequence, so that its findings do not depend on the others.
    let mut random = Random::new(seed ^ hash(name.as_bytes()));
    let (started, mut runs, mut accepted) = (Instant::now(), 0u64, 0u64);
    while started.elapsed() < time {
        // The saved inputs come first, unchanged.
        let input = match pool.get(runs as usize) {
            Some(input) if (runs as usize) < saved => input.clone(),
            _ => {
                let mut input = random.pick(&pool).clone();
                mutate(&mut input, random.pick(&pool).as_slice(), &mut random);
                input
            }
        };
        runs += 1;
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| case(&input)));
        if outcome.is_err() || began.elapsed() > SLOW {
            let what = if outcome.is_err() { "panic" } else { "slow" };
            let file = home.join("artifacts").join(name).join(format!("{what}-{:016x}", hash(&input)));
            save(&file, &input)?;
            eprintln!("{name}: {what} after {runs} runs; input saved as {}", file.display());
            return Ok(false);
        }
        if matches!(outcome, Ok(true)) {
            accepted += 1;
            if known.len() < POOL_MAX && known.insert(hash(&input)) {
                pool.push(input);
            }
        }
    }
    println!("{name}: {runs} runs, {accepted} accepted, from {saved} saved inputs, no failure");
    Ok(true)
}

fn corpus(directory: &Path) -> Result<Vec<Vec<u8>>, String> {
    let describe = |error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(describe)? {
        files.push(entry.map_err(describe)?.path());
    }
    // The order of a directory is not the same everywhere; a seed must be.
    files.sort();
    let inputs = files.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>().map_err(describe)?;
    if inputs.is_empty() { Err(format!("{} has no inputs", directory.display())) } else { Ok(inputs) }
}

fn save(file: &Path, input: &[u8]) -> Result<(), String> {
    let directory = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(file, input))
        .map_err(|error| format!("{}: {error}", file.display()))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
