//! The table of locks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::super::figures::{WaitType, Waits};
use super::super::page::{PageId, RowId};
use super::mode::LockMode;
use crate::error::LockError;

/// What is locked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The database as a whole.
    Database,
    /// A table, by its id.
    Object(u32),
    /// The right to give a table this name.
    Name(String),
    /// A page of a table.
    Page {
        /// The table.
        object: u32,
        /// The page.
        page: PageId,
    },
    /// A row of a heap.
    Row {
        /// The table.
        object: u32,
        /// The row.
        row: RowId,
    },
    /// A key of a tree.
    Key {
        /// The table.
        object: u32,
        /// The key's hash.
        hash: u64,
    },
}

impl Resource {
    /// As `sys.dm_tran_locks.resource_type` shows it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Database => "DATABASE",
            Self::Object(_) => "OBJECT",
            Self::Name(_) => "METADATA",
            Self::Page { .. } => "PAGE",
            Self::Row { .. } => "RID",
            Self::Key { .. } => "KEY",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => write!(f, "the database"),
            Self::Object(object) => write!(f, "table {object}"),
            Self::Name(name) => write!(f, "name {name:?}"),
            Self::Page { object, page } => write!(f, "page {page} of table {object}"),
            Self::Row { object, row } => write!(f, "row {}:{} of table {object}", row.page, row.slot),
            Self::Key { object, hash } => write!(f, "key {hash:016x} of table {object}"),
        }
    }
}

/// How a lock stands, as `sys.dm_tran_locks.request_status` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStatus {
    /// It is held.
    Granted,
    /// It is waited for.
    Waiting,
    /// It is held, and a stronger one is waited for.
    Converting,
}

impl LockStatus {
    /// `GRANT`, `WAIT` or `CONVERT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Granted => "GRANT",
            Self::Waiting => "WAIT",
            Self::Converting => "CONVERT",
        }
    }
}

/// A lock that is held or waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// Who.
    pub transaction: u64,
    /// What.
    pub resource: Resource,
    /// How; for a conversion what it will be.
    pub mode: LockMode,
    /// Whether it is held.
    pub status: LockStatus,
    /// Whom it waits for.
    pub blockers: Vec<u64>,
    /// How long it has waited.
    pub waited: Duration,
}

/// Who asks for a lock, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub transaction: u64,
    /// Zero does not wait, `Duration::MAX` waits for ever.
    pub timeout: Duration,
    /// Ends the wait when it is set.
    pub interrupt: Option<&'a AtomicBool>,
    /// Of a circle of waiters the one with the least priority gives way, and of several
    pub priority: i8,
    /// the one that has least to undo, in bytes of log, and of several the youngest.
    pub cost: u64,
}

/// Requests are granted in their order, but those who hold a lock and want more go first, and nobody waits behind a request that
/// is compatible with theirs. Whoever lets go grants what can be granted.
#[derive(Debug)]
pub(crate) struct LockTable {
    state: Mutex<State>,
    waits: Arc<Waits>,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Resource, Queue>,
    held: HashMap<u64, Vec<Resource>>,
    /// How the waits ended that are over but not yet noticed, by ticket.
    ended: HashMap<u64, (Outcome, Instant)>,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct Queue {
    granted: Vec<(u64, LockMode)>,
    /// Conversions first.
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    transaction: u64,
    /// What it will hold.
    mode: LockMode,
    converts: bool,
    priority: i8,
    cost: u64,
    since: Instant,
    wake: Arc<Condvar>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Granted,
    Victim,
}

/// How long a waiter sleeps between two looks at its interrupt.
const INTERRUPT_LOOK: Duration = Duration::from_millis(20);

impl LockTable {
    pub fn new(waits: &Arc<Waits>) -> Self {
        Self { state: Mutex::default(), waits: Arc::clone(waits) }
    }

    /// Waits until the transaction holds `resource` in at least `mode`.
    pub fn acquire(
        &self,
        request: Request<'_>,
        resource: &Resource,
        mode: LockMode,
    ) -> Result<(), LockError> {
        let mut state = self.state.lock();
        let Some((ticket, wake)) = state.ask(request, resource, mode) else { return Ok(()) };
        let start = Instant::now();
        let deadline = start.checked_add(request.timeout);
        if !request.timeout.is_zero() {
            state.break_circles(request.transaction);
        }
        let result = loop {
            if let Some((outcome, at)) = state.ended.remove(&ticket) {
                let signal = if request.timeout.is_zero() { Duration::ZERO } else { at.elapsed() };
                self.waits.add(WaitType::Lock(mode), start.elapsed(), signal);
                return match outcome {
                    Outcome::Granted => Ok(()),
                    Outcome::Victim => Err(LockError::Deadlock { what: resource.to_string() }),
                };
            }
            let what = || resource.to_string();
            if request.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Acquire)) {
                break LockError::Interrupted { what: what() };
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break LockError::Timeout { what: what(), timeout: request.timeout };
            }
            let look = request.interrupt.and_then(|_| Instant::now().checked_add(INTERRUPT_LOOK));
            match [deadline, look].into_iter().flatten().min() {
                Some(until) => drop(wake.wait_until(&mut state, until)),
                None => wake.wait(&mut state),
            }
        };
        state.give_up(resource, ticket);
        if !request.timeout.is_zero() {
            self.waits.add(WaitType::Lock(mode), start.elapsed(), Duration::ZERO);
        }
        Err(result)
    }

    /// What a transaction holds of a resource.
    pub fn held(&self, transaction: u64, resource: &Resource) -> Option<LockMode> {
        self.state.lock().queues.get(resource)?.held(transaction)
    }

    /// Releases everything that a transaction holds.
    pub fn release_all(&self, transaction: u64) {
        let mut state = self.state.lock();
        for resource in state.held.remove(&transaction).unwrap_or_default() {
            if let Some(queue) = state.queues.get_mut(&resource) {
                queue.granted.retain(|(holder, _)| *holder != transaction);
            }
            state.grant(&resource);
        }
    }

    /// Everything held or waited for.
    pub fn rows(&self) -> Vec<LockRow> {
        let state = self.state.lock();
        let mut rows = Vec::new();
        for (resource, queue) in &state.queues {
            rows.extend(queue.granted.iter().map(|(transaction, mode)| LockRow {
                transaction: *transaction,
                resource: resource.clone(),
                mode: *mode,
                status: LockStatus::Granted,
                blockers: Vec::new(),
                waited: Duration::ZERO,
            }));
            rows.extend(queue.waiters.iter().enumerate().map(|(place, waiter)| LockRow {
                transaction: waiter.transaction,
                resource: resource.clone(),
                mode: waiter.mode,
                status: if waiter.converts { LockStatus::Converting } else { LockStatus::Waiting },
                blockers: queue.blockers(place).collect(),
                waited: waiter.since.elapsed(),
            }));
        }
        rows
    }
}

impl State {
    /// Grants a request at once (None), or puts it where it waits.
    fn ask(
        &mut self,
        request: Request<'_>,
        resource: &Resource,
        mode: LockMode,
    ) -> Option<(u64, Arc<Condvar>)> {
        let queue = self.queues.entry(resource.clone()).or_default();
        let held = queue.held(request.transaction);
        if held.is_some_and(|held| held.covers(mode)) {
            return None;
        }
        self.next_ticket += 1;
        let (ticket, wake) = (self.next_ticket, Arc::<Condvar>::default());
        let waiter = Waiter {
            ticket,
            transaction: request.transaction,
            mode: held.map_or(mode, |held| held.with(mode)),
            converts: held.is_some(),
            priority: request.priority,
            cost: request.cost,
            since: Instant::now(),
            wake: Arc::clone(&wake),
        };
        let conversions = queue.waiters.iter().take_while(|waiter| waiter.converts).count();
        let place = if waiter.converts { conversions } else { queue.waiters.len() };
        queue.waiters.insert(place, waiter);
        self.grant(resource);
        match self.ended.remove(&ticket) {
            Some(_) => None,
            None => Some((ticket, wake)),
        }
    }

    /// Grants what can be granted of a resource.
    fn grant(&mut self, resource: &Resource) {
        let Some(queue) = self.queues.get_mut(resource) else { return };
        let mut place = 0;
        while place < queue.waiters.len() {
            if queue.blockers(place).next().is_some() {
                place += 1;
                continue;
            }
            let Some(waiter) = queue.waiters.remove(place) else { break };
            match queue.granted.iter_mut().find(|(holder, _)| *holder == waiter.transaction) {
                Some((_, mode)) => *mode = mode.with(waiter.mode),
                None => {
                    queue.granted.push((waiter.transaction, waiter.mode));
                    self.held.entry(waiter.transaction).or_default().push(resource.clone());
                }
            }
            self.ended.insert(waiter.ticket, (Outcome::Granted, Instant::now()));
            waiter.wake.notify_all();
        }
        if queue.granted.is_empty() && queue.waiters.is_empty() {
            self.queues.remove(resource);
        }
    }

    fn give_up(&mut self, resource: &Resource, ticket: u64) {
        if let Some(queue) = self.queues.get_mut(resource) {
            queue.waiters.retain(|waiter| waiter.ticket != ticket);
        }
        self.grant(resource);
    }

    /// While a transaction waits for itself, somebody in the circle gives way.
    fn break_circles(&mut self, transaction: u64) {
        while let Some(circle) = self.circle(transaction) {
            let waiters = self
                .queues
                .iter()
                .flat_map(|(resource, queue)| queue.waiters.iter().map(move |waiter| (resource, waiter)));
            let victim = waiters
                .filter(|(_, waiter)| circle.contains(&waiter.transaction))
                .min_by_key(|(_, waiter)| {
                    (waiter.priority, waiter.cost, std::cmp::Reverse((waiter.transaction, waiter.ticket)))
                })
                .map(|(resource, waiter)| (resource.clone(), waiter.ticket, Arc::clone(&waiter.wake)));
            let Some((resource, ticket, wake)) = victim else { return };
            self.ended.insert(ticket, (Outcome::Victim, Instant::now()));
            wake.notify_all();
            self.give_up(&resource, ticket);
        }
    }

    /// Transactions each of which waits for the next, and the last for the first, which is `start`.
    fn circle(&self, start: u64) -> Option<Vec<u64>> {
        let mut edges: HashMap<u64, Vec<u64>> = HashMap::new();
        for queue in self.queues.values() {
            for (place, waiter) in queue.waiters.iter().enumerate() {
                edges.entry(waiter.transaction).or_default().extend(queue.blockers(place));
            }
        }
        let mut seen = HashSet::new();
        // The way so far, and what of each one's blockers is still to be looked at.
        let mut path: Vec<(u64, Vec<u64>)> = vec![(start, edges.get(&start).cloned().unwrap_or_default())];
        while let Some((_, blockers)) = path.last_mut() {
            match blockers.pop() {
                Some(blocker) if blocker == start => {
                    return Some(path.into_iter().map(|(transaction, _)| transaction).collect());
                }
                Some(blocker) if seen.insert(blocker) => {
                    path.push((blocker, edges.get(&blocker).cloned().unwrap_or_default()));
                }
                Some(_) => {}
                None => drop(path.pop()),
            }
        }
        None
    }
}

impl Queue {
    fn held(&self, transaction: u64) -> Option<LockMode> {
        self.granted.iter().find(|(holder, _)| *holder == transaction).map(|(_, mode)| *mode)
    }

    /// Whom the waiter at a place waits for: holders and earlier waiters whose modes are not compatible with its own.
    fn blockers(&self, place: usize) -> impl Iterator<Item = u64> {
        let waiter = self.waiters.get(place);
        let holders = self.granted.iter().copied();
        let before = self.waiters.iter().take(place).map(|before| (before.transaction, before.mode));
        waiter.into_iter().flat_map(move |waiter| {
            holders.clone().chain(before.clone()).filter_map(move |(other, mode)| {
                (other != waiter.transaction && !mode.is_compatible(waiter.mode)).then_some(other)
            })
        })
    }
}
