//! The table of locks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::LockError;
use crate::figures::{WaitType, Waits, count, session_waits};
use crate::lock_mode::LockMode;
use crate::page::{PageId, RowId};

/// Resource that can be locked.
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
        /// Id of the table.
        object: u32,
        /// Address of the page.
        page: PageId,
    },
    /// A row of a heap.
    Row {
        /// Id of the table.
        object: u32,
        /// Address of the row.
        row: RowId,
    },
    /// A key of a tree.
    Key {
        /// Id of the table.
        object: u32,
        /// Hash of the key, 64 bits.
        hash: u64,
    },
}

impl Resource {
    /// Returns the name in `sys.dm_tran_locks.resource_type`.
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

/// The status of a lock, as in `sys.dm_tran_locks.request_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStatus {
    /// The transaction holds the lock.
    Granted,
    /// The transaction waits for the lock.
    Waiting,
    /// A lock is held, and a stronger one is requested.
    Converting,
}

impl LockStatus {
    /// Returns `GRANT`, `WAIT` or `CONVERT`.
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
    /// Transaction that holds the lock or waits for it.
    pub transaction: u64,
    /// Resource that is locked.
    pub resource: Resource,
    /// The mode; for a conversion the requested one.
    pub mode: LockMode,
    /// Held, waited for, or being converted.
    pub status: LockStatus,
    /// Transactions that this one waits for.
    pub blockers: Vec<u64>,
    /// Time waited so far.
    pub waited: Duration,
}

/// Locks of a database, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockUsage {
    /// Locks that are held now.
    pub granted: u64,
    /// Requests that wait now, for a lock or a stronger one.
    pub waiting: u64,
    /// Transactions that hold locks or wait for one now.
    pub transactions: u64,
    /// Requests that ended as the victims of deadlocks, since the database was opened.
    pub deadlocks: u64,
    /// Requests that have waited and were given up at their time limit. Those that would not wait at all do not count.
    pub timeouts: u64,
}

/// Request for a lock: the transaction, and the conditions of its wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub transaction: u64,
    /// Zero does not wait, `Duration::MAX` waits for ever.
    pub timeout: Duration,
    /// Ends the wait when it is set.
    pub interrupt: Option<&'a AtomicBool>,
    /// The waiter with the lowest priority is the victim of a deadlock.
    pub priority: i8,
    /// Bytes of log to undo. Among waiters with the lowest priority the victim is the one with the least cost, then the youngest.
    pub cost: u64,
}

/// Table of locks. Requests are granted in their order, except that holders who want more go first. A request
/// never waits behind one that is compatible with it. The release of a lock grants what can be granted.
#[derive(Debug)]
pub(crate) struct LockTable {
    space: LockSpace,
    database: u64,
    waits: Arc<Waits>,
    deadlocks: AtomicU64,
    timeouts: AtomicU64,
}

/// The locks of databases that transactions use together: a circle of waits may run through several.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockSpace(Arc<Mutex<State>>);

/// A resource of a database.
type Place = (u64, Resource);
/// A transaction of a database.
type Holder = (u64, u64);

/// Waiter or holder, as a node of the graph in which deadlocks are circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    /// A transaction of one database.
    Alone(Holder),
    /// Transactions in several databases that belong to one owner.
    Owner(u64),
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Place, Queue>,
    held: HashMap<Holder, Vec<Resource>>,
    /// Owners of the transactions that are parts of one over several databases.
    owners: HashMap<Holder, u64>,
    /// Outcomes of waits that are over but not yet noticed by the waiter, by ticket.
    ended: HashMap<u64, (Outcome, Instant)>,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct Queue {
    granted: Vec<(u64, LockMode)>,
    /// Waiters in their order, conversions first.
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    transaction: u64,
    /// Mode that the waiter asks for, joined with the mode that it holds.
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

/// Sleep of a waiter between two looks at its interrupt.
const INTERRUPT_LOOK: Duration = Duration::from_millis(20);

impl LockTable {
    /// Creates the lock table of one of several databases. Their numbers differ.
    pub fn within(space: &LockSpace, database: u64, waits: &Arc<Waits>) -> Self {
        let (deadlocks, timeouts) = Default::default();
        Self { space: space.clone(), database, waits: Arc::clone(waits), deadlocks, timeouts }
    }

    /// Joins a transaction with others of the same owner, until it releases its locks.
    pub fn link(&self, transaction: u64, owner: u64) {
        self.space.0.lock().owners.insert((self.database, transaction), owner);
    }

    /// Waits until the transaction holds `resource` in at least `mode`.
    pub fn acquire(
        &self,
        request: Request<'_>,
        resource: &Resource,
        mode: LockMode,
    ) -> Result<(), LockError> {
        let place = &(self.database, resource.clone());
        let mut state = self.space.0.lock();
        let Some((ticket, wake)) = state.ask(request, place, mode) else { return Ok(()) };
        let start = Instant::now();
        let deadline = start.checked_add(request.timeout);
        if !request.timeout.is_zero() {
            session_waits::began(WaitType::Lock(mode));
            state.break_circles((self.database, request.transaction));
        }
        let result = loop {
            if let Some((outcome, at)) = state.ended.remove(&ticket) {
                let signal = if request.timeout.is_zero() { Duration::ZERO } else { at.elapsed() };
                self.waits.add(WaitType::Lock(mode), start.elapsed(), signal);
                return match outcome {
                    Outcome::Granted => Ok(()),
                    Outcome::Victim => {
                        count(&self.deadlocks, 1);
                        Err(LockError::Deadlock { what: resource.to_string() })
                    }
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
        state.give_up(place, ticket);
        if !request.timeout.is_zero() {
            self.waits.add(WaitType::Lock(mode), start.elapsed(), Duration::ZERO);
            count(&self.timeouts, u64::from(matches!(result, LockError::Timeout { .. })));
        }
        Err(result)
    }

    /// Takes a lock if it can be granted at once.
    pub fn try_acquire(&self, transaction: u64, resource: &Resource, mode: LockMode) -> bool {
        let place = (self.database, resource.clone());
        let mut state = self.space.0.lock();
        let state = &mut *state;
        let queue = state.queues.entry(place).or_default();
        let held = queue.held(transaction);
        let wanted = held.map_or(mode, |held| held.with(mode));
        let mut others = queue.granted.iter().filter(|(holder, _)| *holder != transaction);
        let is_free = others.all(|(_, other)| other.is_compatible(wanted))
            && (held.is_some() || queue.waiters.is_empty());
        match queue.granted.iter_mut().find(|(holder, _)| *holder == transaction) {
            Some((_, mode)) if is_free => *mode = wanted,
            None if is_free => {
                queue.granted.push((transaction, wanted));
                state.held.entry((self.database, transaction)).or_default().push(resource.clone());
            }
            _ => {}
        }
        is_free
    }

    /// Releases one lock of a transaction, most likely its last one.
    pub fn release(&self, transaction: u64, resource: &Resource) {
        let mut state = self.space.0.lock();
        let held = state.held.get_mut(&(self.database, transaction));
        let Some(held) = held else { return };
        let Some(at) = held.iter().rposition(|own| own == resource) else { return };
        held.swap_remove(at);
        state.let_go(transaction, &(self.database, resource.clone()));
    }

    /// Releases selected locks of a transaction.
    pub fn release_some(&self, transaction: u64, is_chosen: impl Fn(&Resource) -> bool) {
        let mut state = self.space.0.lock();
        let Some(held) = state.held.get_mut(&(self.database, transaction)) else { return };
        let released: Vec<Resource> = held.extract_if(.., |resource| is_chosen(resource)).collect();
        for resource in released {
            state.let_go(transaction, &(self.database, resource));
        }
    }

    /// Returns the mode in which a transaction has locked a resource.
    pub fn held(&self, transaction: u64, resource: &Resource) -> Option<LockMode> {
        self.space.0.lock().queues.get(&(self.database, resource.clone()))?.held(transaction)
    }

    /// Returns true if another transaction holds a lock on a resource with which it may change the resource.
    pub fn is_taken(&self, transaction: u64, resource: &Resource) -> bool {
        let state = self.space.0.lock();
        let queue = state.queues.get(&(self.database, resource.clone()));
        let mut granted = queue.into_iter().flat_map(|queue| &queue.granted);
        granted.any(|(holder, mode)| *holder != transaction && !mode.is_compatible(LockMode::U))
    }

    /// Releases everything that a transaction holds.
    pub fn release_all(&self, transaction: u64) {
        let holder = (self.database, transaction);
        let mut state = self.space.0.lock();
        state.owners.remove(&holder);
        for resource in state.held.remove(&holder).unwrap_or_default() {
            state.let_go(transaction, &(self.database, resource));
        }
    }

    /// Counts the locks of the database, its waiters, and the waits that ended in a deadlock or timed out.
    pub fn usage(&self) -> LockUsage {
        let mut usage = LockUsage {
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
            ..LockUsage::default()
        };
        let mut transactions = HashSet::new();
        let state = self.space.0.lock();
        for (_, queue) in state.queues.iter().filter(|((database, _), _)| *database == self.database) {
            usage.granted += queue.granted.len() as u64;
            usage.waiting += queue.waiters.len() as u64;
            transactions.extend(queue.granted.iter().map(|(transaction, _)| *transaction));
            transactions.extend(queue.waiters.iter().map(|waiter| waiter.transaction));
        }
        drop(state);
        usage.transactions = transactions.len() as u64;
        usage
    }

    /// Lists the locks that are held or waited for.
    pub fn rows(&self) -> Vec<LockRow> {
        let state = self.space.0.lock();
        let mut rows = Vec::new();
        let own = state.queues.iter().filter(|((database, _), _)| *database == self.database);
        for ((_, resource), queue) in own {
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
    fn ask(&mut self, request: Request<'_>, place: &Place, mode: LockMode) -> Option<(u64, Arc<Condvar>)> {
        let queue = self.queues.entry(place.clone()).or_default();
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
        let turn = if waiter.converts { conversions } else { queue.waiters.len() };
        queue.waiters.insert(turn, waiter);
        self.grant(place);
        match self.ended.remove(&ticket) {
            Some(_) => None,
            None => Some((ticket, wake)),
        }
    }

    /// Grants what can be granted of a resource.
    fn grant(&mut self, place: &Place) {
        let Some(queue) = self.queues.get_mut(place) else { return };
        let (database, resource) = place;
        let mut turn = 0;
        while turn < queue.waiters.len() {
            if queue.blockers(turn).next().is_some() {
                turn += 1;
                continue;
            }
            let Some(waiter) = queue.waiters.remove(turn) else { break };
            match queue.granted.iter_mut().find(|(holder, _)| *holder == waiter.transaction) {
                Some((_, mode)) => *mode = mode.with(waiter.mode),
                None => {
                    queue.granted.push((waiter.transaction, waiter.mode));
                    self.held.entry((*database, waiter.transaction)).or_default().push(resource.clone());
                }
            }
            self.ended.insert(waiter.ticket, (Outcome::Granted, Instant::now()));
            waiter.wake.notify_all();
        }
        if queue.granted.is_empty() && queue.waiters.is_empty() {
            self.queues.remove(place);
        }
    }

    fn let_go(&mut self, transaction: u64, place: &Place) {
        if let Some(queue) = self.queues.get_mut(place) {
            queue.granted.retain(|(holder, _)| *holder != transaction);
        }
        self.grant(place);
    }

    fn give_up(&mut self, place: &Place, ticket: u64) {
        if let Some(queue) = self.queues.get_mut(place) {
            queue.waiters.retain(|waiter| waiter.ticket != ticket);
        }
        self.grant(place);
    }

    fn node(&self, holder: Holder) -> Node {
        self.owners.get(&holder).map_or(Node::Alone(holder), |owner| Node::Owner(*owner))
    }

    /// Ends waits with an error until no circle leads from the transaction back to itself.
    fn break_circles(&mut self, transaction: Holder) {
        while let Some(circle) = self.circle(self.node(transaction)) {
            let waiters = self
                .queues
                .iter()
                .flat_map(|(place, queue)| queue.waiters.iter().map(move |waiter| (place, waiter)));
            let victim = waiters
                .filter(|(place, waiter)| circle.contains(&self.node((place.0, waiter.transaction))))
                .min_by_key(|(_, waiter)| {
                    (waiter.priority, waiter.cost, std::cmp::Reverse((waiter.transaction, waiter.ticket)))
                })
                .map(|(place, waiter)| (place.clone(), waiter.ticket, Arc::clone(&waiter.wake)));
            let Some((place, ticket, wake)) = victim else { return };
            self.ended.insert(ticket, (Outcome::Victim, Instant::now()));
            wake.notify_all();
            self.give_up(&place, ticket);
        }
    }

    /// Finds transactions each of which waits for the next, and the last for the first, which is `start`.
    fn circle(&self, start: Node) -> Option<Vec<Node>> {
        let mut edges: HashMap<Node, Vec<Node>> = HashMap::new();
        for ((database, _), queue) in &self.queues {
            for (turn, waiter) in queue.waiters.iter().enumerate() {
                let blockers = queue.blockers(turn).map(|blocker| self.node((*database, blocker)));
                edges.entry(self.node((*database, waiter.transaction))).or_default().extend(blockers);
            }
        }
        let mut seen = HashSet::new();
        // The path so far, with the blockers of each node that were not followed yet.
        let mut path: Vec<(Node, Vec<Node>)> = vec![(start, edges.get(&start).cloned().unwrap_or_default())];
        while let Some((_, blockers)) = path.last_mut() {
            match blockers.pop() {
                Some(blocker) if blocker == start => {
                    return Some(path.into_iter().map(|(node, _)| node).collect());
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

    /// Lists the transactions that the waiter at a place waits for: holders and earlier waiters whose modes
    /// are not compatible with its own.
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
