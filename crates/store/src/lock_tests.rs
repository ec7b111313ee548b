#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use super::*;

const A: LockKey = LockKey::Table(TableId(1));
const B: LockKey = LockKey::Table(TableId(2));
use LockMode::{Append, Bulk, Exclusive};

fn waiting(locks: &LockTable, key: &LockKey) -> usize {
    locks.queues.lock().get(key).map_or(0, |queue| queue.waiters.len())
}

fn wait_until_queued(locks: &LockTable, key: &LockKey, count: usize) {
    while waiting(locks, key) < count {
        std::thread::yield_now();
    }
}

#[test]
fn appenders_share_and_exclusive_excludes() {
    let locks = LockTable::default();
    let try_lock = |transaction, mode| locks.acquire(transaction, &A, mode, Duration::ZERO, None);
    try_lock(1, Append).unwrap();
    try_lock(2, Append).unwrap();
    try_lock(2, Append).unwrap();
    assert!(matches!(try_lock(2, Exclusive), Err(LockError::Timeout { .. })));
    locks.release_all(1);
    try_lock(2, Exclusive).unwrap();
    try_lock(2, Append).unwrap();
    assert!(matches!(try_lock(1, Append), Err(LockError::Timeout { .. })));
    locks.release_all(2);
    assert!(locks.queues.lock().is_empty());
}

#[test]
fn bulk_loads_share_with_each_other_alone() {
    let locks = LockTable::default();
    let try_lock = |transaction, mode| locks.acquire(transaction, &A, mode, Duration::ZERO, None);
    let refused = |transaction, mode| matches!(try_lock(transaction, mode), Err(LockError::Timeout { .. }));
    try_lock(1, Bulk).unwrap();
    try_lock(2, Bulk).unwrap();
    // Who loads may append, and does not stop the other by it.
    try_lock(1, Append).unwrap();
    try_lock(2, Bulk).unwrap();
    assert!(refused(3, Append));
    assert!(refused(1, Exclusive));
    locks.release_all(2);
    try_lock(1, Exclusive).unwrap();
    locks.release_all(1);
    try_lock(3, Append).unwrap();
    try_lock(4, Append).unwrap();
    assert!(refused(1, Bulk));
    assert!(refused(3, Bulk));
    locks.release_all(4);
    try_lock(3, Bulk).unwrap();
}

#[test]
fn an_exclusive_request_is_not_starved_by_later_appenders() {
    let locks = LockTable::default();
    locks.acquire(1, &A, Append, Duration::MAX, None).unwrap();
    std::thread::scope(|scope| {
        let exclusive = scope.spawn(|| locks.acquire(2, &A, Exclusive, Duration::MAX, None));
        wait_until_queued(&locks, &A, 1);
        assert!(matches!(locks.acquire(3, &A, Append, Duration::ZERO, None), Err(LockError::Timeout { .. })));
        locks.release_all(1);
        exclusive.join().unwrap().unwrap();
    });
}

#[test]
fn a_circle_over_two_tables_is_found_by_the_one_that_closes_it() {
    let locks = LockTable::default();
    locks.acquire(1, &A, Exclusive, Duration::MAX, None).unwrap();
    locks.acquire(2, &B, Append, Duration::MAX, None).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| locks.acquire(1, &B, Exclusive, Duration::MAX, None));
        wait_until_queued(&locks, &B, 1);
        let second = locks.acquire(2, &A, Append, Duration::MAX, None);
        assert_eq!(second, Err(LockError::Deadlock { what: "table 1".to_owned() }));
        locks.release_all(2);
        first.join().unwrap().unwrap();
    });
}

#[test]
fn a_circle_through_the_queue_is_found() {
    // 3 waits behind 2 on A only because of the queue's order; 2 waits for 1; 1 waits for 3 on B.
    let locks = LockTable::default();
    locks.acquire(1, &A, Append, Duration::MAX, None).unwrap();
    locks.acquire(3, &B, Exclusive, Duration::MAX, None).unwrap();
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel();
        let locks = &locks;
        let second_done = done.clone();
        scope.spawn(move || second_done.send((2, locks.acquire(2, &A, Exclusive, Duration::MAX, None))));
        wait_until_queued(locks, &A, 1);
        scope.spawn(move || done.send((3, locks.acquire(3, &A, Append, Duration::MAX, None))));
        wait_until_queued(locks, &A, 2);
        assert!(matches!(locks.acquire(1, &B, Append, Duration::MAX, None), Err(LockError::Deadlock { .. })));
        for _ in 0..2 {
            locks.release_all(1);
            locks.release_all(2);
            finished.recv().unwrap().1.unwrap();
        }
    });
}

#[test]
fn all_waiting_appenders_are_woken_together() {
    let locks = LockTable::default();
    locks.acquire(1, &A, Exclusive, Duration::MAX, None).unwrap();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (2..6)
            .map(|number| {
                scope.spawn({
                    let locks = &locks;
                    move || locks.acquire(number, &A, Append, Duration::MAX, None)
                })
            })
            .collect();
        wait_until_queued(&locks, &A, 4);
        locks.release_all(1);
        for waiter in waiters {
            waiter.join().unwrap().unwrap();
        }
    });
}

#[test]
fn an_interrupted_wait_ends_and_holds_up_nobody() {
    let locks = LockTable::default();
    let interrupt = AtomicBool::new(false);
    locks.acquire(1, &A, Append, Duration::MAX, None).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| locks.acquire(2, &A, Exclusive, Duration::MAX, Some(&interrupt)));
        wait_until_queued(&locks, &A, 1);
        interrupt.store(true, Ordering::Release);
        assert!(matches!(waiter.join().unwrap(), Err(LockError::Interrupted { .. })));
    });
    locks.acquire(3, &A, Append, Duration::ZERO, None).unwrap();
}
