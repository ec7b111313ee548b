//! `kill -9` of a process that commits one step after the other and says so, and what must be found after it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const OPEN: &str = "open";
const STEP: &str = "step";

/// Prints that the database is open, then makes one step after the other without end, and reports each.
pub fn step_for_ever(mut step: impl FnMut()) -> ! {
    let mut output = std::io::stdout().lock();
    // A test program may have begun a line.
    writeln!(output, "\n{OPEN}").unwrap();
    loop {
        step();
        writeln!(output, "{STEP}").unwrap();
        output.flush().unwrap();
    }
}

/// Starts a process that does so, kills it `delay` after it was `opened`, and returns how many steps it has acknowledged.
pub fn killed_after(command: &mut Command, delay: Duration, opened: impl FnOnce()) -> usize {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap() == OPEN), "it did not open");
    opened();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    lines.map_while(Result::ok).filter(|line| line == STEP).count()
}

/// Returns the state after `steps` steps, and the one after another step that may have been under way; None:
/// that one commits nothing. `step` makes one step of the model and returns true if it is committed.
pub fn states_after<M: Clone>(
    model: &M,
    steps: usize,
    mut step: impl FnMut(&mut M) -> bool,
) -> (M, Option<M>) {
    let mut next = |model: &M| {
        let mut next = model.clone();
        step(&mut next).then_some(next)
    };
    let mut committed = model.clone();
    for _ in 0..steps {
        committed = next(&committed).unwrap_or(committed);
    }
    let under_way = next(&committed);
    (committed, under_way)
}
