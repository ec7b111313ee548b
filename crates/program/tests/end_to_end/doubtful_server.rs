//! A server that must be doubted: it refuses what others do, shows a catalogue with gaps and estimates, counts without waiting, and
//! gets a COMMIT late or never. The client is right or in doubt, and never wrong.
//!
//! `BULKWIRE_SOAK_POINTS` takes every statement, view and COMMIT; without it some are taken, by `BULKWIRE_SOAK_SEED`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::claims::{self, *};
use crate::fixture::Fixture;
use crate::rewriting_line::{Arrival, Reading, RewritingLine};

/// An error that no list of errors has.
const UNLISTED: i32 = 49_817;
/// Doubts of one kind in one run of the tests, unless a soak asks for all.
const DOUBTS: usize = 12;
/// Nobody is silent here but a COMMIT that is held back, whose lock is waited for.
const SECONDS: u32 = 100;
const SECONDS_FOR_COMMITS: u32 = 2;
const WORKERS: usize = 8;
/// Marks of statements that a load can do without: figures, waits, permissions.
const OPTIONAL: [&str; 4] = ["sys.dm_", "HAS_PERMS_BY_NAME", "sys.allocation_units", "SERVERPROPERTY"];
/// Scenarios whose statements are T-SQL.
const DOUBTED: [Scenario; 10] = [
    LoadOneBatch,
    LoadBatches,
    LoadAutocommit,
    LoadCreated,
    LoadTruncated,
    LoadNoted,
    LoadStaged,
    Upsert,
    BcpInBatches,
    Export,
];

/// A reason to doubt the server.
#[derive(Debug, Clone)]
enum Doubt {
    /// It refuses the batch with this number.
    Refuses(usize, String),
    /// It shows another view in place of a view of the catalogue.
    Shows { view: String, instead: String },
    /// It gets this COMMIT late or never, and counts with or without waiting.
    Commits { number: usize, arrival: Arrival, waits: bool },
}

impl Doubt {
    fn line(&self, fixture: &Fixture) -> RewritingLine {
        let server = fixture.server.address();
        match self.clone() {
            Self::Refuses(number, _) => RewritingLine::new(
                server,
                move |at, _| if at == number { Reading::Refused(UNLISTED) } else { Reading::AsSent },
                None,
            ),
            Self::Shows { view, instead } => {
                RewritingLine::new(server, move |_, text| shown_instead(text, &view, &instead), None)
            }
            Self::Commits { number, arrival, waits } => RewritingLine::new(
                server,
                move |_, text| match waits {
                    true => Reading::AsSent,
                    false => Reading::Instead(text.replace("(TABLOCK, HOLDLOCK)", "(READUNCOMMITTED)")),
                },
                Some((number, arrival)),
            ),
        }
    }

    /// Returns true if the client can do without what the server does not do.
    fn is_optional(&self) -> bool {
        match self {
            Self::Refuses(_, text) => OPTIONAL.iter().any(|optional| text.contains(optional)),
            Self::Shows { view, instead } => view.starts_with("sys.dm_") || !instead.ends_with("none"),
            Self::Commits { .. } => false,
        }
    }
}

/// Returns the text with another view in place of one of the catalogue.
pub fn shown_instead(text: &str, view: &str, instead: &str) -> Reading {
    let mut parts = text.split(view);
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer = part.starts_with(|next: char| next.is_ascii_alphanumeric() || "_(".contains(next));
        // Other databases have no such view of ours.
        read += if is_longer || read.ends_with('.') { view } else { instead };
        read += part;
    }
    if read == text { Reading::AsSent } else { Reading::Instead(read) }
}

/// Returns the views of the catalogue that a text reads.
fn views(text: &str) -> Vec<String> {
    let names = text.match_indices("sys.").map(|(at, _)| &text[at..]);
    let names = names.filter_map(|rest| {
        let end = rest[4..].find(|next: char| !(next.is_ascii_alphanumeric() || next == '_'))? + 4;
        let is_view = !rest[end..].starts_with('(') && !rest.starts_with("sys.sp_");
        is_view.then(|| rest[..end].to_owned())
    });
    names.collect()
}

#[test]
fn a_server_that_refuses_hides_or_hears_late_is_never_described_wrongly() {
    let fixture = claims::fixture();
    let all = env::var_os("BULKWIRE_SOAK_POINTS").is_some();
    let seed: u64 = env::var("BULKWIRE_SOAK_SEED").map_or(42, |text| text.parse().unwrap());
    fixture.sql("CREATE SCHEMA veil");
    let mut random = Random(seed | 1);
    let mut doubts = Vec::new();
    for kind in kinds(&fixture) {
        let mut kind = kind;
        let room = if all { kind.len() } else { DOUBTS.min(kind.len()) };
        for index in (1..kind.len()).rev() {
            kind.swap(index, random.below(index as u64 + 1) as usize);
        }
        doubts.extend(kind.into_iter().take(room));
    }
    let next = AtomicUsize::new(0);
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let codes: Mutex<BTreeMap<i32, usize>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some((scenario, doubt)) = doubts.get(index) else { return };
                    let (said, judged) = judged(&fixture, *scenario, doubt, &format!("doubted{index}"));
                    *codes.lock().unwrap().entry(said.code).or_default() += 1;
                    if all {
                        eprintln!("{} {scenario:?}, {doubt:?}", said.code);
                    }
                    if let Err(what) = judged {
                        wrong.lock().unwrap().push(format!("{what}: {scenario:?}, {doubt:?}: {said:?}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    eprintln!("{} doubts, seed {seed}, exit codes {:?}", doubts.len(), codes.lock().unwrap());
    assert!(wrong.is_empty(), "{} wrong, seed {seed}:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Runs a scenario over a doubtful line, and compares what it says with the table.
fn judged(fixture: &Fixture, scenario: Scenario, doubt: &Doubt, table: &str) -> (Said, Result<(), String>) {
    let line = doubt.line(fixture);
    let file = format!("{table}.csv");
    let seconds = if matches!(doubt, Doubt::Commits { .. }) { SECONDS_FOR_COMMITS } else { SECONDS };
    let said = claims::run(fixture, scenario, line.port, seconds, table, &file);
    line.release();
    drop(line);
    let judged = match scenario {
        _ if !(0..=4).contains(&said.code) => Err("it broke down".to_owned()),
        _ if said.code != 0 && doubt.is_optional() => {
            Err("a load depends on what it can do without".to_owned())
        }
        Export => claims::judge_file(&fixture.path(&file), scenario, &said),
        _ => claims::allowed(scenario, &said).and_then(|allowed| {
            let now = claims::count(&mut claims::direct(fixture), table);
            let is_right = allowed.contains(&now);
            is_right.then_some(()).ok_or(format!("{now} rows, where {allowed:?} could be"))
        }),
    };
    (said, judged)
}

/// Returns all doubts of each kind, by what the scenarios send where nothing is doubtful.
fn kinds(fixture: &Fixture) -> [Vec<(Scenario, Doubt)>; 3] {
    let [mut refused, mut shown, mut committed] = [Vec::new(), Vec::new(), Vec::new()];
    let mut veiled = BTreeSet::new();
    for (index, scenario) in DOUBTED.into_iter().enumerate() {
        let table = format!("undoubted{index}");
        let line = RewritingLine::new(fixture.server.address(), |_, _| Reading::AsSent, None);
        let said = claims::run(fixture, scenario, line.port, SECONDS, &table, &format!("{table}.csv"));
        assert_eq!(said.code, 0, "{scenario:?} without a doubt: {}", said.text);
        let batches = line.batches();
        let names: BTreeSet<String> = batches.iter().flat_map(|text| views(text)).collect();
        for view in names {
            let name = view.trim_start_matches("sys.");
            if veiled.insert(view.clone()) {
                fixture.sql(&format!("CREATE VIEW veil.{name}_none AS SELECT * FROM {view} WHERE 1 = 0"));
            }
            let instead = format!("veil.{name}_none");
            shown.push((scenario, Doubt::Shows { view: view.clone(), instead }));
            if view == "sys.partitions" {
                for (estimate, rows) in [("nothing", "0"), ("wrong", "rows + 1000"), ("huge", "9000000000")] {
                    let instead = format!("veil.partitions_{estimate}");
                    if veiled.insert(instead.clone()) {
                        fixture.sql(&format!(
                            "CREATE VIEW {instead} AS SELECT partition_id, object_id, index_id, partition_number, \
                             hobt_id, CAST({rows} AS bigint) AS rows, data_compression, data_compression_desc \
                             FROM sys.partitions"
                        ));
                    }
                    shown.push((scenario, Doubt::Shows { view: view.clone(), instead }));
                }
            }
        }
        for number in 1..=line.commits() {
            for arrival in [Arrival::Unheard, Arrival::AfterTheClient, Arrival::WithTheLook, Arrival::Never] {
                let waits = [true, false].map(|waits| (scenario, Doubt::Commits { number, arrival, waits }));
                committed.extend(waits);
            }
        }
        let batches = batches.into_iter().enumerate();
        refused.extend(batches.map(|(number, text)| (scenario, Doubt::Refuses(number, text))));
    }
    eprintln!("{} statements, {} views, {} commits", refused.len(), shown.len(), committed.len());
    [refused, shown, committed]
}
