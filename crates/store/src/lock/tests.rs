#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::LockMode::{self, BU, IS, IX, S, SIX, SchM, SchS, U, X};
use super::*;
use crate::error::LockError;
use crate::figures::{WaitType, Waits};

/// The table of the "Transaction locking and row versioning guide", with schema and bulk locks from the text below it.
const COMPATIBLE: &str = "
    Sch-S  Sch-S IS S U IX SIX X BU
    IS     Sch-S IS S U IX SIX
    S      Sch-S IS S U
    U      Sch-S IS S
    IX     Sch-S IS IX
    SIX    Sch-S IS
    X      Sch-S
    BU     Sch-S BU
    Sch-M
";

#[test]
fn modes_are_compatible_as_documented() {
    let mut pairs = 0;
    for line in COMPATIBLE.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let compatible: Vec<&str> = words.collect();
        let mode = LockMode::ALL.into_iter().find(|mode| mode.name() == name).unwrap();
        for other in LockMode::ALL {
            assert_eq!(mode.is_compatible(other), compatible.contains(&other.name()), "{mode} and {other}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 81);
}

#[test]
fn a_conversion_shuts_out_what_either_mode_does() {
    for one in LockMode::ALL {
        for two in LockMode::ALL {
            let both = one.with(two);
            assert_eq!(both, two.with(one));
            assert!(both.covers(one) && both.covers(two));
            for other in LockMode::ALL {
                let allowed = one.is_compatible(other) && two.is_compatible(other);
                // A bulk load that converts its lock is the only one to shut out more than the two modes do.
                let stricter = both == X && (one == BU || two == BU) && one != two;
                assert!(both.is_compatible(other) == allowed || stricter, "{one} and {two} for {other}");
            }
        }
    }
    assert_eq!((S.with(IX), IS.with(IX), S.with(U), BU.with(BU)), (SIX, IX, U, BU));
}

struct Locks(LockTable);

const A: Resource = Resource::Object(1);
const B: Resource = Resource::Object(2);
const C: Resource = Resource::Object(3);

fn request(transaction: u64, timeout: Duration) -> Request<'static> {
    Request { transaction, timeout, interrupt: None, priority: 0, cost: transaction }
}

impl Locks {
    fn new() -> Arc<Self> {
        Arc::new(Self(LockTable::within(&LockSpace::default(), 0, &Arc::new(Waits::default()))))
    }

    fn at_once(&self, transaction: u64, resource: &Resource, mode: LockMode) -> bool {
        match self.0.acquire(request(transaction, Duration::ZERO), resource, mode) {
            Ok(()) => true,
            Err(LockError::Timeout { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn waiters(&self) -> Vec<LockRow> {
        self.0.rows().into_iter().filter(|row| row.status != LockStatus::Granted).collect()
    }

    /// Asks on a thread of its own, and returns when the request waits.
    fn ask(
        self: &Arc<Self>,
        request: Request<'static>,
        resource: Resource,
        mode: LockMode,
    ) -> mpsc::Receiver<Result<(), LockError>> {
        let (send, receive) = mpsc::channel();
        let (locks, before) = (Arc::clone(self), self.waiters().len());
        std::thread::spawn(move || send.send(locks.0.acquire(request, &resource, mode)));
        while self.waiters().len() <= before {
            std::thread::yield_now();
        }
        receive
    }
}

#[test]
fn nobody_overtakes_a_request_that_shuts_him_out() {
    let locks = Locks::new();
    assert!(locks.at_once(1, &A, IX));
    let exclusive = locks.ask(request(2, Duration::MAX), A, X);
    // Not compatible with the waiting X; Sch-S is.
    assert!(!locks.at_once(3, &A, IX));
    assert!(locks.at_once(4, &A, SchS));
    let behind = locks.ask(request(3, Duration::MAX), A, IX);
    let mut waiters = locks.waiters();
    waiters.sort_by_key(|row| row.transaction);
    assert_eq!(
        waiters.iter().map(|row| (row.transaction, row.mode, row.blockers.clone())).collect::<Vec<_>>(),
        [(2, X, vec![1]), (3, IX, vec![2])]
    );
    locks.0.release_all(1);
    exclusive.recv().unwrap().unwrap();
    assert!(behind.try_recv().is_err());
    locks.0.release_all(2);
    behind.recv().unwrap().unwrap();
    locks.0.release_all(3);
    locks.0.release_all(4);
    assert_eq!(locks.0.rows(), []);
}

#[test]
fn who_holds_a_lock_goes_before_who_waits_for_one() {
    let locks = Locks::new();
    assert!(locks.at_once(1, &A, S));
    assert!(locks.at_once(2, &A, S));
    let writer = locks.ask(request(3, Duration::MAX), A, X);
    let converting = locks.ask(request(1, Duration::MAX), A, X);
    let row = locks.waiters().into_iter().find(|row| row.transaction == 1).unwrap();
    assert_eq!((row.status.name(), row.blockers), ("CONVERT", vec![2]));
    locks.0.release_all(2);
    converting.recv().unwrap().unwrap();
    assert_eq!(locks.0.held(1, &A), Some(X));
    locks.0.release_all(1);
    writer.recv().unwrap().unwrap();
}

#[test]
fn bulk_loads_share_a_table_with_each_other_alone() {
    let locks = Locks::new();
    assert!(locks.at_once(1, &A, BU) && locks.at_once(2, &A, BU));
    for mode in [IS, S, U, IX, SIX, X, SchM] {
        assert!(!locks.at_once(3, &A, mode), "{mode}");
    }
    assert!(locks.at_once(3, &A, SchS));
    assert!(!locks.at_once(1, &A, X));
    locks.0.release_all(2);
    assert!(locks.at_once(1, &A, X));
}

#[test]
fn the_cheapest_of_a_circle_gives_way() {
    for (priorities, victim) in [([0, 0, 0], 1), ([1, 0, 0], 2), ([0, 0, -1], 3)] {
        let locks = Locks::new();
        for (transaction, resource) in [(1, A), (2, B), (3, C)] {
            assert!(locks.at_once(transaction, &resource, X));
        }
        let with = |transaction: u64| Request {
            priority: priorities[transaction as usize - 1],
            ..request(transaction, Duration::MAX)
        };
        let first = locks.ask(with(1), B, S);
        let second = locks.ask(with(2), C, S);
        let (send, third) = mpsc::channel();
        let (closer, last) = (Arc::clone(&locks), with(3));
        std::thread::spawn(move || send.send(closer.0.acquire(last, &A, S)));
        let waiting = [first, second, third];
        let result = waiting[victim - 1].recv().unwrap();
        assert!(matches!(result, Err(LockError::Deadlock { .. })), "{result:?}");
        // Its locks are released when it has been undone; then the others go on, one after the other.
        for step in 0..3 {
            let transaction = (victim + 2 - step) % 3 + 1;
            if step > 0 {
                waiting[transaction - 1].recv().unwrap().unwrap();
            }
            locks.0.release_all(transaction as u64);
        }
        assert_eq!(locks.0.rows(), []);
    }
}

#[test]
fn two_readers_who_both_want_to_write_are_a_circle() {
    let locks = Locks::new();
    assert!(locks.at_once(1, &A, S) && locks.at_once(2, &A, S));
    let first = locks.ask(request(1, Duration::MAX), A, X);
    let second = locks.0.acquire(Request { cost: 0, ..request(2, Duration::MAX) }, &A, X);
    assert!(matches!(second, Err(LockError::Deadlock { .. })));
    locks.0.release_all(2);
    first.recv().unwrap().unwrap();
    // With U only one of them reads with that intent.
    let locks = Locks::new();
    assert!(locks.at_once(1, &A, U));
    assert!(!locks.at_once(2, &A, U));
}

#[test]
fn waits_end_by_time_or_from_outside_and_are_counted() {
    let waits = Arc::new(Waits::default());
    let locks = Arc::new(Locks(LockTable::within(&LockSpace::default(), 0, &waits)));
    assert!(locks.at_once(1, &A, X));
    let timeout = Duration::from_millis(1);
    let error = locks.0.acquire(request(2, timeout), &A, S).unwrap_err();
    assert!(matches!(error, LockError::Timeout { .. }));
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    let interruptible = Request { interrupt: Some(&INTERRUPT), ..request(3, Duration::MAX) };
    let waiting = locks.ask(interruptible, A, S);
    INTERRUPT.store(true, Ordering::Release);
    assert!(matches!(waiting.recv().unwrap(), Err(LockError::Interrupted { .. })));
    assert_eq!(locks.waiters(), []);
    let counts = waits.counts();
    assert_eq!(counts.len(), 1);
    assert_eq!((counts[0].wait, counts[0].count), (WaitType::Lock(S), 2));
    assert_eq!(counts[0].wait.name(), "LCK_M_S");
}

#[test]
fn many_threads_never_hold_what_shuts_one_another_out() {
    let locks = Locks::new();
    let holders: Arc<parking_lot::Mutex<Vec<(u64, LockMode)>>> = Arc::default();
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (locks, holders) = (Arc::clone(&locks), Arc::clone(&holders));
            scope.spawn(move || {
                for round in 0..200_u64 {
                    let mode = LockMode::ALL[((thread * 7 + round * 5) % 9) as usize];
                    let transaction = thread * 1000 + round;
                    locks.0.acquire(request(transaction, Duration::MAX), &A, mode).unwrap();
                    {
                        let mut holders = holders.lock();
                        assert!(holders.iter().all(|(_, other)| other.is_compatible(mode)));
                        holders.push((transaction, mode));
                    }
                    std::thread::yield_now();
                    holders.lock().retain(|(holder, _)| *holder != transaction);
                    locks.0.release_all(transaction);
                }
            });
        }
    });
    assert_eq!(locks.0.rows(), []);
}
