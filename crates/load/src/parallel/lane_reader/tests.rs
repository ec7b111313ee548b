//! Loads by lane without a server: what is committed, remembered and continued, and what is held in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{collections::BTreeMap, iter, sync::Arc, sync::atomic::Ordering, thread};

use arrow::{
    array::{ArrayRef, AsArray, Int32Array, StringArray},
    datatypes::{Int32Type, Schema},
    record_batch::RecordBatch,
};
use crossbeam_channel::bounded;
use proptest::prelude::*;
use rows::{BulkHints, Mapping, Plan};
use tds::{SqlType, Value};

use super::super::{
    chunk::{Chunk, ChunkSize},
    job::Job,
    ledger::{CommittedChunk, Ledger},
    options::SourceBatches,
    queue::{ChunkQueue, Taken},
    reader::read_all,
    state::{Cut, Shared, Terms},
};
use crate::{
    lanes::tests::{partitioned_table, router},
    options::LoadOptions,
    plan::LoadPlan,
    retry::RetryPolicy,
    source::SourceBatch,
};

/// A source whose keys are text, some of which are no numbers.
struct Source {
    keys: Vec<String>,
    batch_rows: usize,
}

impl Source {
    fn batches(&self) -> SourceBatches<'static> {
        let mut first = 0;
        let batches: Vec<_> = self
            .keys
            .chunks(self.batch_rows)
            .map(|keys| {
                let numbers = Int32Array::from_iter_values((first..).take(keys.len()));
                first += keys.len() as i32;
                let keys: ArrayRef = Arc::new(StringArray::from_iter_values(keys));
                let numbers: ArrayRef = Arc::new(numbers);
                Ok(SourceBatch::from(RecordBatch::try_from_iter([("k", keys), ("n", numbers)]).unwrap()))
            })
            .collect();
        Box::new(batches.into_iter())
    }

    fn schema() -> Schema {
        let source = Self { keys: vec!["1".to_owned()], batch_rows: 1 };
        source.batches().next().unwrap().unwrap().batch().schema().as_ref().clone()
    }
}

fn job(partitions: usize, lanes: Option<usize>) -> Job<'static> {
    let boundaries = (1..partitions).map(|boundary| Value::Int(boundary as i32)).collect();
    let target = partitioned_table(SqlType::Int, true, boundaries);
    let options = LoadOptions::default();
    let schema = Source::schema();
    let plan =
        Plan::new(&schema, &target.loadable_columns(false), &Mapping::ByName, options.cast.clone()).unwrap();
    let router = lanes.map(|lanes| router(&target, &schema, &options, lanes));
    Job { plan: LoadPlan::decided(&target, plan, 1000, BulkHints::default()), tolerance: None, router }
}

/// Reads the source as a load would, until `take` says that this is enough.
fn read(
    source: &Source,
    job: Job<'_>,
    ledger: Option<&Ledger>,
    rows_max: u64,
    writers: usize,
    take: &mut dyn FnMut(&Shared<'_>, &Job<'_>, Chunk) -> bool,
) -> Option<String> {
    let (news, _heard) = bounded(1);
    let terms = Terms {
        ledger,
        retry: RetryPolicy::NONE,
        watch: &(),
        size: ChunkSize::new(rows_max, true),
        cut: Cut::Reader,
        holds: false,
        is_within: false,
    };
    let shared = Shared::new(terms, news);
    shared.writers_wanted.store(writers, Ordering::SeqCst);
    let queue = ChunkQueue::new(1, &shared.stop);
    let jobs = [job];
    let mut failure = None;
    thread::scope(|scope| {
        let (reader, jobs, shared) = (queue.reading_end(), &jobs, &shared);
        scope.spawn(move || read_all(jobs, iter::once((0, source.batches())), shared, &reader));
        loop {
            match queue.take(0) {
                Taken::Next(Ok(chunk)) => {
                    let lane = chunk.lane;
                    if !take(shared, &jobs[0], chunk) {
                        shared.stop.store(true, Ordering::SeqCst);
                    }
                    lane.into_iter().for_each(|lane| queue.done(0, lane));
                }
                Taken::Next(Err((_, error))) => {
                    failure = Some(error.to_string());
                    shared.stop.store(true, Ordering::SeqCst);
                }
                Taken::End | Taken::Stopped => break,
            }
        }
    });
    failure
}

/// What a writer does with a chunk: the entry of the ledger, and the rows that go into the table.
fn committed(job: &Job<'_>, chunk: &Chunk) -> (CommittedChunk, Vec<i32>) {
    let mut checksum = crc32fast::Hasher::new();
    let (mut rows, mut refused, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for batch in &chunk.batches {
        for row in 0..batch.rows() {
            let alone = batch.batch().slice(row, 1);
            match job.plan.rows.bind(&alone, 0) {
                Ok(bound) => {
                    bytes.clear();
                    bound.encode(0..1, &mut bytes);
                    checksum.update(&bytes);
                    rows.push(alone.column(1).as_primitive::<Int32Type>().value(0));
                }
                Err(_) => refused.push(batch.origin_row(row)),
            }
        }
    }
    let (row_count, checksum) = (rows.len() as u64, checksum.finalize());
    let refused = refused.iter().filter(|_| chunk.lane.is_some()).map(|row| *row..*row + 1).collect();
    (CommittedChunk { rows: chunk.rows.clone(), lane: chunk.lane, refused, row_count, checksum }, rows)
}

/// Few different keys, so that lanes have rows close to one another and far apart.
fn keys() -> impl Strategy<Value = Vec<String>> {
    let key = prop_oneof![
        8 => (0..6_i32).prop_map(|key| key.to_string()),
        1 => Just("none".to_owned()),
    ];
    prop::collection::vec(key, 1..300)
}

/// A run: whether it routes, the chunks that it sees before it is killed, and which of them it commits.
type Run = (bool, usize, u64);

proptest! {
    #[test]
    fn every_row_is_committed_once_whatever_run_stops_where(
        keys in keys(),
        batch_rows in 1..40_usize,
        rows_max in 1..30_u64,
        runs in prop::collection::vec((any::<bool>(), 0..25_usize, any::<u64>()), 0..8),
    ) {
        let source = Source { keys, batch_rows };
        let mut entries: Vec<CommittedChunk> = Vec::new();
        let mut table: BTreeMap<i32, usize> = BTreeMap::new();
        let mut has_rule = false;
        let last: Run = (true, usize::MAX, u64::MAX);
        for (routes, most, commits) in runs.into_iter().chain([last]) {
            has_rule |= routes;
            let ledger = Ledger::remembering(entries.clone(), None);
            let mut seen = 0;
            let failure = read(&source, job(5, has_rule.then_some(3)), Some(&ledger), rows_max, 2, &mut |_, job, chunk| {
                seen += 1;
                if seen > most {
                    return false;
                }
                // A chunk that a killed run did not commit comes again; others behind it may be there.
                if commits >> (seen % 64) & 1 == 1 {
                    let (entry, rows) = committed(job, &chunk);
                    entries.push(entry);
                    rows.into_iter().for_each(|row| *table.entry(row).or_default() += 1);
                }
                true
            });
            prop_assert_eq!(failure, None);
            let mut firsts: Vec<u64> = entries.iter().map(|entry| entry.rows.start).collect();
            firsts.sort_unstable();
            prop_assert!(firsts.is_sorted_by(|one, next| one < next), "the primary key of the ledger");
        }
        let good = source.keys.iter().enumerate().filter(|(_, key)| *key != "none");
        let expected: BTreeMap<i32, usize> = good.map(|(row, _)| (row as i32, 1)).collect();
        prop_assert_eq!(table, expected);
        let refused = source.keys.iter().enumerate().filter(|(_, key)| *key == "none").map(|(row, _)| row as u64);
        let settled = Ledger::remembering(entries, None).settled_refusals(0);
        for row in refused {
            prop_assert!(settled.contains(row));
        }
    }

    #[test]
    fn a_source_that_has_changed_is_refused(keys in keys(), at: prop::sample::Index, batch_rows in 1..40_usize) {
        let mut source = Source { keys, batch_rows };
        let mut entries = Vec::new();
        let ledger = Ledger::remembering(Vec::new(), None);
        let failure = read(&source, job(5, Some(3)), Some(&ledger), 7, 2, &mut |_, job, chunk| {
            entries.push(committed(job, &chunk).0);
            true
        });
        prop_assert_eq!(failure, None);
        let at = at.index(source.keys.len());
        source.keys[at] = if source.keys[at] == "3" { "4".to_owned() } else { "3".to_owned() };
        let ledger = Ledger::remembering(entries, None);
        let failure = read(&source, job(5, Some(3)), Some(&ledger), 7, 2, &mut |_, _, _| true);
        prop_assert!(failure.is_some());
    }
}
