//! A line that fails at every message and at random bytes: what the client says of committed rows is compared with the table.
//!
//! `BULKWIRE_SOAK_POINTS` is the number of random bytes (then every message boundary is taken too), `BULKWIRE_SOAK_SEED` chooses them.

use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::claims::{self, *};
use crate::faulty_line::{Fault, Kind, Line, Way};
use crate::fixture::Fixture;

/// Faults of one run of the tests, unless a soak asks for all.
const FAULTS: usize = 110;
/// The client's limit for a silent server; a healthy one may be slow on a busy machine.
const SECONDS_IN_ORDER: u32 = 100;
const SECONDS_WITH_FAULT: u32 = 1;
const WORKERS: usize = 8;

#[test]
fn no_claim_is_wrong_wherever_the_line_fails() {
    let fixture = claims::fixture();
    let points: Option<usize> = env::var("BULKWIRE_SOAK_POINTS").ok().map(|text| text.parse().unwrap());
    let seed: u64 = env::var("BULKWIRE_SOAK_SEED").map_or(42, |text| text.parse().unwrap());
    let runs = chosen(&fixture, points, seed);
    let watchdog = Watchdog {
        fixture: &fixture,
        next: AtomicUsize::new(0),
        kept: Mutex::default(),
        wrong: Mutex::default(),
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| watchdog.work(&runs, seed))).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    // Nothing came or went after the client had spoken.
    let mut direct = direct(&fixture);
    let mut wrong = watchdog.wrong.into_inner().unwrap();
    for (table, (allowed, what)) in watchdog.kept.into_inner().unwrap() {
        let now = count(&mut direct, &table);
        if !allowed.contains(&now) {
            wrong.push(format!("{now} rows at the end, where {allowed:?} could be: {what}"));
        }
    }
    eprintln!("{} faults, seed {seed}", runs.len());
    assert!(wrong.is_empty(), "{} wrong claims:\n{}", wrong.len(), wrong.join("\n"));
}

/// The faults of this run: of a soak every boundary and so many random bytes, else some of both.
fn chosen(fixture: &Fixture, points: Option<usize>, seed: u64) -> Vec<(Scenario, Fault)> {
    let mut random = Random(seed | 1);
    let mut must = Vec::new();
    let mut may = Vec::new();
    for (index, scenario) in SCENARIOS.into_iter().enumerate() {
        let line = Line::new(fixture.server.address(), None);
        let out = format!("clean{index}");
        let said = run(fixture, scenario, line.port, SECONDS_IN_ORDER, &table_of(index), &out);
        assert_eq!(said.code, 0, "{scenario:?} without a fault: {}", said.text);
        let passed = line.passed();
        let [ups, downs] = &passed;
        for (way, stream) in [(Way::Up, ups), (Way::Down, downs)] {
            let ends = boundaries(stream);
            for (nth, at) in ends.iter().copied().enumerate() {
                let kinds = [Kind::Fin, Kind::Reset, Kind::Stall];
                let faults = kinds.map(|kind| (scenario, Fault { way, at, kind }));
                // The last messages are where commits are.
                let is_late = scenario != Export && scenario != BcpOut && nth + 3 >= ends.len();
                if is_late { must.extend(faults) } else { may.extend(faults) }
            }
        }
        if matches!(scenario, LoadBatches | BcpInBatches) {
            let at = random.below(ups.len() as u64);
            must.push((scenario, Fault { way: Way::Up, at, kind: Kind::Choke }));
        }
        for _ in 0..points.unwrap_or(60).div_ceil(SCENARIOS.len()) {
            let is_up = random.below(2) == 0;
            let (way, stream) = if is_up { (Way::Up, ups) } else { (Way::Down, downs) };
            let kind = match random.below(5) {
                0 => Kind::Fin,
                1 => Kind::Reset,
                2 => Kind::Stall,
                _ => Kind::Corrupt(1 + random.below(255) as u8),
            };
            may.push((scenario, Fault { way, at: random.below(stream.len() as u64), kind }));
        }
    }
    if points.is_none() {
        let room = FAULTS.saturating_sub(must.len()).max(40);
        for index in (1..may.len()).rev() {
            may.swap(index, random.below(index as u64 + 1) as usize);
        }
        may.truncate(room);
    }
    must.extend(may);
    must
}

/// Where messages end. Encrypted messages cannot be distinguished: TLS records stand for packets.
pub fn boundaries(stream: &[u8]) -> Vec<u64> {
    let mut ends = vec![0];
    let mut at = 0;
    while let Some(header) = stream.get(at..at + 8) {
        let is_record = (20..=23).contains(&header[0]) && header[1] == 3;
        let length = match is_record {
            true => 5 + usize::from(u16::from_be_bytes([header[3], header[4]])),
            false => usize::from(u16::from_be_bytes([header[2], header[3]])),
        };
        at += length.max(5);
        if is_record || header[1] & 1 == 1 {
            ends.push(at.min(stream.len()) as u64);
        }
    }
    ends
}

struct Watchdog<'a> {
    fixture: &'a Fixture,
    next: AtomicUsize,
    /// Tables, and what they may hold.
    kept: Mutex<BTreeMap<String, (Vec<u64>, String)>>,
    wrong: Mutex<Vec<String>>,
}

impl Watchdog<'_> {
    fn work(&self, runs: &[(Scenario, Fault)], seed: u64) {
        let mut direct = direct(self.fixture);
        loop {
            let index = self.next.fetch_add(1, Ordering::SeqCst);
            let Some(&(scenario, fault)) = runs.get(index) else { return };
            let table = table_of(SCENARIOS.len() + index);
            let line = Line::new(self.fixture.server.address(), Some(fault));
            let file = format!("out{index}");
            let said = run(self.fixture, scenario, line.port, SECONDS_WITH_FAULT, &table, &file);
            drop(line);
            let what = format!("{scenario:?}, {fault:?}, seed {seed}: {said:?}");
            let judged = match scenario {
                // A panic of the client is code 101, a signal has none.
                _ if !(0..=4).contains(&said.code) => Err("it broke down".to_owned()),
                Export | BcpOut => judge_file(&self.fixture.path(&file), scenario, &said),
                _ => possible(scenario, fault, &said).and_then(|allowed| {
                    let now = count(&mut direct, &table);
                    let is_right = allowed.contains(&now);
                    let wrong = format!("{now} rows, where {allowed:?} could be");
                    self.kept.lock().unwrap().insert(table, (allowed, what.clone()));
                    if is_right { Ok(()) } else { Err(wrong) }
                }),
            };
            if let Err(wrong) = judged {
                self.wrong.lock().unwrap().push(format!("{wrong}: {what}"));
            }
        }
    }
}

/// Returns the numbers of rows that the table may have after what was said over a line that may have changed it.
fn possible(scenario: Scenario, fault: Fault, said: &Said) -> Result<Vec<u64>, String> {
    match fault.kind {
        // In the clear the server may have said something else than what arrived.
        Kind::Corrupt(_) if scenario != LoadEncrypted && said.code != 0 => Ok((0..=ROWS).collect()),
        _ => claims::allowed(scenario, said),
    }
}

/// A name that no other becomes by one wrong byte.
fn table_of(index: usize) -> String {
    let digits = format!("{index:05}");
    format!("t{}", digits.chars().flat_map(|digit| [digit, digit]).collect::<String>())
}
