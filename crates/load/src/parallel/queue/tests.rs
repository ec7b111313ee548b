#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use super::{Chunk, ChunkQueue, Taken};

fn chunk(lane: Option<usize>, number: u64) -> Chunk {
    Chunk { source: 0, lane, rows: number..number + 1, batches: Vec::new(), bytes: 10, is_complete: true }
}

fn taken(queue: &ChunkQueue<'_>, writer: usize) -> Option<(Option<usize>, u64)> {
    match queue.take(writer) {
        Taken::Next(Ok(chunk)) => Some((chunk.lane, chunk.rows.start)),
        _ => None,
    }
}

#[test]
fn a_lane_is_with_one_writer_until_its_chunks_are_done() {
    let stop = AtomicBool::new(false);
    let queue = ChunkQueue::new(1, &stop);
    let reader = queue.reading_end();
    for (lane, number) in [(7, 0), (7, 1), (8, 2), (7, 3)] {
        reader.send(Ok(chunk(Some(lane), number)), 1000).unwrap();
    }
    drop(reader);
    assert_eq!(taken(&queue, 0), Some((Some(7), 0)));
    // The other one gets the next lane, and not the next chunk.
    assert_eq!(taken(&queue, 1), Some((Some(8), 2)));
    assert_eq!(taken(&queue, 0), Some((Some(7), 1)));
    queue.done(0, 7);
    queue.done(1, 8);
    // One chunk of the lane is still with the first.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| taken(&queue, 1));
        queue.done(0, 7);
        assert_eq!(waiting.join().unwrap(), Some((Some(7), 3)));
    });
    assert!(matches!(queue.take(0), Taken::End));
}

#[test]
fn a_busy_writer_leaves_other_lanes_to_one_that_waits() {
    let stop = AtomicBool::new(false);
    let queue = ChunkQueue::new(1, &stop);
    let reader = queue.reading_end();
    reader.send(Ok(chunk(Some(1), 0)), 1000).unwrap();
    assert_eq!(taken(&queue, 0), Some((Some(1), 0)));
    thread::scope(|scope| {
        let idle = scope.spawn(|| taken(&queue, 1));
        while queue.lock().idle == 0 {
            thread::yield_now();
        }
        let busy = scope.spawn(|| taken(&queue, 0));
        reader.send(Ok(chunk(Some(2), 1)), 1000).unwrap();
        assert_eq!(idle.join().unwrap(), Some((Some(2), 1)));
        reader.send(Ok(chunk(Some(3), 2)), 1000).unwrap();
        // Nobody waits any more: it may take a lane ahead.
        assert_eq!(busy.join().unwrap(), Some((Some(3), 2)));
    });
}

#[test]
fn readers_wait_while_too_much_waits() {
    let stop = AtomicBool::new(false);
    let queue = ChunkQueue::new(1, &stop);
    let reader = queue.reading_end();
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..20 {
                reader.send(Ok(chunk(Some(number), number as u64)), 25).unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
            drop(reader);
        });
        let mut number = 0;
        while let Some((Some(lane), _)) = taken(&queue, 0) {
            number += 1;
            // Two chunks of 10 bytes, and one that is being sent.
            assert!(queue.lock().lane_bytes <= 25);
            assert!(sent.load(Ordering::SeqCst) <= number + 3);
            queue.done(0, lane);
        }
        assert_eq!(number, 20);
    });
}

#[test]
fn nobody_waits_in_a_load_that_stops() {
    let stop = AtomicBool::new(false);
    let queue = ChunkQueue::new(1, &stop);
    let reader = queue.reading_end();
    reader.send(Ok(chunk(None, 0)), 0).unwrap();
    thread::scope(|scope| {
        let full = scope.spawn(|| reader.send(Ok(chunk(None, 1)), 0));
        stop.store(true, Ordering::SeqCst);
        assert!(full.join().unwrap().is_err());
    });
    assert!(matches!(queue.take(0), Taken::Stopped));
    stop.store(false, Ordering::SeqCst);
    drop(queue.writing_end());
    assert!(reader.send(Ok(chunk(None, 1)), 0).is_err());
}

#[test]
fn writers_never_meet_in_a_lane_and_get_every_chunk_once() {
    const LANES: usize = 5;
    const CHUNKS: u64 = 400;
    for writers in 1..=6 {
        let stop = AtomicBool::new(false);
        let queue = ChunkQueue::new(1, &stop);
        let reader = queue.reading_end();
        let owners: Mutex<BTreeMap<usize, usize>> = Mutex::default();
        let seen: Mutex<BTreeMap<usize, Vec<u64>>> = Mutex::default();
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..CHUNKS {
                    let lane = (number * number % 7) as usize % LANES;
                    reader.send(Ok(chunk(Some(lane), number)), 60).unwrap();
                }
            });
            for writer in 0..writers {
                let (queue, owners, seen) = (&queue, &owners, &seen);
                scope.spawn(move || {
                    // Each takes one chunk ahead, as encoders do.
                    let mut ahead: Option<usize> = None;
                    loop {
                        let next = taken(queue, writer);
                        if let Some((Some(lane), number)) = next {
                            let owner = *owners.lock().unwrap().entry(lane).or_insert(writer);
                            assert_eq!(owner, writer, "lane {lane}");
                            seen.lock().unwrap().entry(lane).or_default().push(number);
                        }
                        let lane = next.and_then(|(lane, _)| lane);
                        if let Some(done) = std::mem::replace(&mut ahead, lane) {
                            if lane != Some(done) {
                                owners.lock().unwrap().remove(&done);
                            }
                            queue.done(writer, done);
                        }
                        if next.is_none() {
                            break;
                        }
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.values().all(|numbers| numbers.is_sorted()));
        let mut all: Vec<u64> = seen.into_values().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..CHUNKS).collect::<Vec<_>>());
    }
}
