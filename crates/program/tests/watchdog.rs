//! No statement ends or stops the server: deep, wide and long statements of every rule of the grammar, against a server that is
//! a process of its own, with the stacks that it has in production.
//!
//! `BULKWIRE_WATCHDOG_SECONDS` makes the test of mixtures go on for so long, and the sizes of the others larger.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../server/tests/client/mod.rs"]
mod client;
mod statements;

use std::time::{Duration, Instant};

use statements::child::{Answer, ChildServer, Session};
use statements::{SETUP, Statement};

/// A statement that takes longer hangs.
const STATEMENT: Duration = Duration::from_secs(60);

/// A server and a session, replaced after a failure.
struct Watched {
    server: ChildServer,
    session: Session,
    failures: Vec<String>,
}

impl Watched {
    fn new() -> Watched {
        let (server, session) = Self::begin();
        Watched { server, session, failures: Vec::new() }
    }

    fn begin() -> (ChildServer, Session) {
        let server = ChildServer::start(&[]);
        let mut session = server.connect();
        for sql in SETUP {
            assert_eq!(session.run(sql, STATEMENT), Answer::Done, "{sql}");
        }
        (server, session)
    }

    /// Runs a statement; what is not rows or an error is kept as a failure.
    fn run(&mut self, statement: &Statement) {
        let began = Instant::now();
        let answer = self.session.run(&statement.text, STATEMENT);
        if std::env::var_os("BULKWIRE_WATCHDOG_PRINT").is_some() {
            let told = match &answer {
                Answer::Error(number, text) => {
                    format!("{number} {}", text.chars().take(60).collect::<String>())
                }
                other => format!("{other:?}"),
            };
            eprintln!("{:9.3} s  {}: {told}", began.elapsed().as_secs_f64(), statement.name);
        }
        let internal = matches!(&answer, Answer::Error(596, _));
        if matches!(answer, Answer::Done | Answer::Error(..)) && !internal {
            // Whatever it left open is not for the next one.
            self.session.run("IF @@TRANCOUNT > 0 ROLLBACK", STATEMENT);
            return;
        }
        let alive = self.server.is_alive();
        let told = self.server.errors();
        let start = statement.text.chars().take(400).collect::<String>();
        self.failures.push(format!("{}: {answer:?}, alive {alive}\n  {start}\n  {told}", statement.name));
        if !internal {
            (self.server, self.session) = Self::begin();
        }
    }

    fn end(self) {
        assert!(self.failures.is_empty(), "{} failures\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

/// Seconds of the long run; None for the short one.
fn long_run() -> Option<u64> {
    std::env::var("BULKWIRE_WATCHDOG_SECONDS").ok().map(|seconds| seconds.parse().unwrap())
}

fn sizes(short: &'static [usize], long: &'static [usize]) -> &'static [usize] {
    if long_run().is_some() { long } else { short }
}

#[test]
fn deep_statements_are_answered() {
    let mut watched = Watched::new();
    for levels in sizes(&[10, 60, 2000], &[10, 30, 60, 100, 300, 1000, 10_000, 100_000]) {
        statements::deep(*levels).iter().for_each(|statement| watched.run(statement));
    }
    watched.end();
}

#[test]
#[ignore = "takes minutes without optimisation"]
fn wide_statements_are_answered() {
    let mut watched = Watched::new();
    for items in sizes(&[30, 600], &[10, 100, 1000, 10_000, 100_000]) {
        statements::wide(*items).iter().for_each(|statement| watched.run(statement));
    }
    watched.end();
}

#[test]
#[ignore = "long messages end connections"]
fn long_statements_are_answered() {
    let mut watched = Watched::new();
    for characters in sizes(&[100, 200_000], &[100, 1000, 10_000, 100_000, 1_000_000, 4_000_000]) {
        statements::long(*characters).iter().for_each(|statement| watched.run(statement));
    }
    watched.end();
}

#[test]
fn mixtures_are_answered() {
    let mut watched = Watched::new();
    let seed = std::env::var("BULKWIRE_WATCHDOG_SEED").map_or(1, |seed| seed.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(long_run().unwrap_or(0));
    let mut first = seed;
    loop {
        for levels in [5, 20, 60] {
            statements::mixtures(first, 25, levels).iter().for_each(|statement| watched.run(statement));
            first += 25;
        }
        if Instant::now() >= end {
            break;
        }
    }
    watched.end();
}
