//! The readers of a read: which ranges are left, how many readers may work, and why all of them stop.

use std::{
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use arrow::{datatypes::SchemaRef, record_batch::RecordBatch};
use rows::Splice;
use tds::Column;

use super::error::ReadError;
use crate::{client::CancelHandle, error::Error, shared_client::Waited};

/// The interval at which the last readers are asked again to stop.
const PULSE: Duration = Duration::from_millis(100);
/// Into so many parts for each reader what is left is divided at least, where ranges are joined.
const SHARES_A_READER: usize = 4;

pub(crate) struct Crew {
    state: Mutex<State>,
    changed: Condvar,
    ranges: usize,
    joining: Joining,
}

/// The ranges that may be joined into one statement.
#[derive(Debug, Clone)]
pub(crate) struct Joining {
    /// Neighbours among these may.
    pub(crate) joinable: Range<usize>,
    /// The largest number of ranges to join.
    pub(crate) most: usize,
}

struct State {
    next_range: usize,
    /// Readers with a lower number may take ranges.
    allowed: usize,
    /// Readers whose threads have not ended.
    present: usize,
    /// Readers that have taken a range.
    worked: usize,
    /// True for each reader that has a range now.
    at_work: Vec<bool>,
    stopped: bool,
    failure: Option<Error>,
    handles: Vec<Option<CancelHandle>>,
    /// The bytes that each reader's connection had received before its first statement; `None` once rows have come
    /// since.
    before_rows: Vec<Option<u64>>,
    /// The columns that the first statement returned; all others must return the same.
    columns: Option<(Vec<Column>, SchemaRef)>,
    /// The form in which rows are handed on, once it is decided.
    rows: Option<RowForm>,
}

/// The form in which rows are handed on: decoded, or spliced for a load.
pub(crate) type RowForm = Option<Arc<Splice>>;

impl State {
    fn set_at_work(&mut self, reader: usize, is_at_work: bool) {
        if let Some(at_work) = self.at_work.get_mut(reader) {
            *at_work = is_at_work;
        }
    }
}

impl Crew {
    /// Makes a crew of readers. `is_undecided`: they wait behind the columns until [`decide`](Self::decide) says how rows are
    /// handed on.
    pub(crate) fn new(
        ranges: usize,
        readers: usize,
        allowed: usize,
        joining: Joining,
        is_undecided: bool,
    ) -> Self {
        let state = State {
            next_range: 0,
            allowed,
            present: readers,
            worked: 0,
            at_work: vec![false; readers],
            stopped: false,
            failure: None,
            handles: vec![None; readers],
            before_rows: vec![Some(0); readers],
            columns: None,
            rows: if is_undecided { None } else { Some(None) },
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), ranges, joining }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&'a self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes the next ranges for a reader, to be read as one; `None` when there are none. A reader beyond those allowed
    /// waits until it may.
    pub(crate) fn take_ranges(&self, reader: usize) -> Option<Range<usize>> {
        let mut state = self.lock();
        state.set_at_work(reader, false);
        loop {
            if state.stopped || state.next_range >= self.ranges {
                return None;
            }
            if reader < state.allowed {
                let taken = state.next_range..state.next_range + self.run(&state);
                state.next_range = taken.end;
                state.worked = state.worked.max(reader + 1);
                state.set_at_work(reader, true);
                drop(state);
                self.changed.notify_all();
                return Some(taken);
            }
            state = self.wait(state);
        }
    }

    /// Returns the number of ranges that a reader takes at a time: fewer towards the end, so that no reader runs
    /// out of work early.
    fn run(&self, state: &State) -> usize {
        let Joining { joinable, most } = &self.joining;
        if !joinable.contains(&state.next_range) {
            return 1;
        }
        let left = joinable.end - state.next_range;
        (left / (state.allowed.max(1) * SHARES_A_READER)).clamp(1, (*most).max(1))
    }

    /// Readers that have ranges.
    pub(crate) fn at_work(&self) -> usize {
        self.lock().at_work.iter().filter(|at_work| **at_work).count()
    }

    /// Bytes that the readers' connections have received, and how many of them have received rows.
    pub(crate) fn received(&self) -> (u64, usize) {
        let mut state = self.lock();
        let State { handles, before_rows, .. } = &mut *state;
        let (mut bytes, mut begun) = (0, 0);
        for (handle, before) in handles.iter().zip(before_rows) {
            let received = handle.as_ref().map_or(0, CancelHandle::bytes_received);
            *before = before.filter(|before| received <= *before);
            bytes += received;
            begun += usize::from(before.is_none());
        }
        (bytes, begun)
    }

    /// Lets so many readers work; those above end their range first.
    pub(crate) fn allow(&self, readers: usize) {
        self.lock().allowed = readers;
        self.changed.notify_all();
    }

    pub(crate) fn register(&self, reader: usize, handle: CancelHandle) {
        let mut state = self.lock();
        if let Some(Some(before)) = state.before_rows.get_mut(reader) {
            *before = handle.bytes_received();
        }
        if let Some(place) = state.handles.get_mut(reader) {
            *place = Some(handle);
        }
    }

    /// Notes that a reader's thread ends.
    pub(crate) fn leave(&self, reader: usize) {
        let mut state = self.lock();
        state.present = state.present.saturating_sub(1);
        state.set_at_work(reader, false);
        if let Some(place) = state.handles.get_mut(reader) {
            *place = None;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Stops all readers. The first failure is the read's.
    pub(crate) fn stop(&self, failure: Option<Error>) {
        let mut state = self.lock();
        state.stopped = true;
        if state.failure.is_none() {
            state.failure = failure;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Readers that have worked.
    pub(crate) fn worked(&self) -> usize {
        self.lock().worked
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }

    /// Waits; false if the read was stopped.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.stopped {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            state = self.wait_for(state, left);
        }
    }

    /// Waits while readers read; false if the last one has ended before.
    pub(crate) fn watch(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.stopped || state.present == 0 {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            state = self.wait_for(state, left);
        }
    }

    /// Returns true if ranges are left that no reader has taken.
    pub(crate) fn has_ranges(&self) -> bool {
        let state = self.lock();
        !state.stopped && state.next_range < self.ranges
    }

    /// Waits for all readers' threads. After a stop, requests under way are cancelled.
    pub(crate) fn wait_for_all(&self) {
        let mut state = self.lock();
        while state.present > 0 {
            if state.stopped {
                for handle in state.handles.iter().flatten() {
                    // If the connection is gone, so is the request.
                    let _ = handle.cancel();
                }
                state = self.wait_for(state, PULSE);
            } else {
                state = self.wait(state);
            }
        }
    }

    /// Notes what a statement returns, or compares it with what the first one did.
    pub(crate) fn announce(&self, columns: &[Column], schema: &SchemaRef) -> Result<(), Error> {
        let mut state = self.lock();
        match &state.columns {
            Some((_, expected)) if same_types(expected, schema) => return Ok(()),
            Some((_, expected)) => {
                let (expected, found) = (shown(expected), shown(schema));
                return Err(ReadError::Columns { expected, found }.into());
            }
            None => state.columns = Some((columns.to_vec(), Arc::clone(schema))),
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Decides the form of the rows, unless it is decided.
    pub(crate) fn decide(&self, form: RowForm) {
        let mut state = self.lock();
        if state.rows.is_none() {
            state.rows = Some(form);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits until the form of the rows is decided; `None` if the read was stopped.
    pub(crate) fn form(&self) -> Option<RowForm> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(form) = &state.rows {
                return Some(form.clone());
            }
            state = self.wait(state);
        }
    }

    /// Waits for the columns; `None` if the read ended without any.
    pub(crate) fn columns(&self, patience: Option<Duration>) -> Waited<Option<(Vec<Column>, SchemaRef)>> {
        let end = patience.map(|patience| Instant::now() + patience);
        let mut state = self.lock();
        loop {
            if let Some(columns) = &state.columns {
                return Waited::Ready(Some(columns.clone()));
            }
            if state.stopped || state.present == 0 {
                return Waited::Ready(None);
            }
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self.wait(state),
                Some(Duration::ZERO) => return Waited::NotYet,
                Some(left) => self.wait_for(state, left),
            };
        }
    }

    /// Puts a batch under the schema that was announced: servers may describe NULL differently from one statement to
    /// the next.
    pub(crate) fn aligned(&self, batch: RecordBatch) -> Result<RecordBatch, Error> {
        let schema = self.lock().columns.as_ref().map(|(_, schema)| Arc::clone(schema));
        match schema {
            Some(schema) if *schema != *batch.schema() => {
                RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()).map_err(|_| {
                    let (expected, found) = (shown(&schema), shown(&batch.schema()));
                    ReadError::Columns { expected, found }.into()
                })
            }
            _ => Ok(batch),
        }
    }
}

fn same_types(a: &SchemaRef, b: &SchemaRef) -> bool {
    a.fields().len() == b.fields().len()
        && a.fields()
            .iter()
            .zip(b.fields())
            .all(|(a, b)| a.name() == b.name() && a.data_type() == b.data_type())
}

fn shown(schema: &SchemaRef) -> String {
    let columns: Vec<String> =
        schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
    columns.join(", ")
}
