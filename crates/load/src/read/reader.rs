//! One reader: takes range after range, and reads each to its end, over a new connection if the old one breaks.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use arrow::record_batch::RecordBatch;
use rows::mapping::Form;
use tds::{SqlType, Value};

use super::{
    consistency::Consistency,
    crew::Crew,
    error::ReadError,
    handover::RangeSink,
    key::{Parameter, SplitKey},
    key_range::{Condition, KeyRange},
    last_key,
    options::Gentle,
    report::Figures,
    split_plan::SplitPlan,
};
use crate::{
    client::Client, config::Config, error::Error, platform::CpuWatch, result::ResultStream,
    retry::transient_connecting,
};

const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Rows of a gentle reader's first statement, and the least of any.
const GENTLE_ROWS_FIRST: u64 = 10_000;
const GENTLE_ROWS_MIN: u64 = 100;
/// A gentle reader holds a statement's rows until it is over: at most so many batches.
const GENTLE_BATCHES_MAX: u64 = 4;

/// The state that all readers of a read share.
pub(crate) struct Reading {
    pub(crate) config: Config,
    pub(crate) plan: SplitPlan,
    pub(crate) form: Form,
    pub(crate) retry_for: Duration,
    pub(crate) sink: Arc<dyn RangeSink>,
    pub(crate) crew: Crew,
    figures: Mutex<Figures>,
}

/// The progress within a range.
#[derive(Default)]
struct Place {
    /// Rows that the sink has.
    pushed: u64,
    /// The unique key of the last of them.
    last: Option<RecordBatch>,
    /// A gentle reader has all rows up to this key.
    page: Option<Value>,
    page_rows: Option<u64>,
}

/// The end of an attempt to read a range that did not fail.
#[derive(PartialEq)]
enum Ended {
    Complete,
    /// Nobody wants the rows.
    Stopped,
}

/// Sends a query, with or without parameters.
pub(crate) fn statement<'c>(
    client: &'c mut Client,
    sql: &str,
    parameters: &[Parameter],
    form: Form,
) -> Result<ResultStream<'c>, Error> {
    if parameters.is_empty() {
        return client.query(sql, form);
    }
    let parameters: Vec<(&str, SqlType, Value)> = parameters
        .iter()
        .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
        .collect();
    client.query_with(sql, &parameters, form)
}

impl Reading {
    pub(crate) fn new(
        config: Config,
        plan: SplitPlan,
        form: Form,
        retry_for: Duration,
        sink: Arc<dyn RangeSink>,
        crew: Crew,
    ) -> Self {
        Self { config, plan, form, retry_for, sink, crew, figures: Mutex::default() }
    }

    pub(crate) fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the read with its first failure.
    pub(crate) fn fail(&self, error: Error) {
        self.crew.stop(Some(error));
        self.sink.stop();
    }

    /// Runs a reader's thread.
    pub(crate) fn work(&self, reader: usize, mut session: Option<Client>) {
        let cpu = CpuWatch::start();
        while let Some(ranges) = self.crew.take_ranges(reader) {
            if !self.sink.begin(ranges.start) {
                break;
            }
            match self.read_ranges(reader, &mut session, &ranges) {
                Ok(Ended::Complete) => {}
                Ok(Ended::Stopped) => break,
                Err(error) => {
                    self.fail(error);
                    break;
                }
            }
        }
        drop(session);
        let used = cpu.elapsed();
        let mut figures = self.figures();
        figures.cpu = [figures.cpu, used].into_iter().flatten().reduce(|a, b| a + b);
        drop(figures);
        self.crew.leave(reader);
    }

    /// Reads neighbouring ranges as one; to the sink, all their rows are of the first.
    fn read_ranges(
        &self,
        reader: usize,
        session: &mut Option<Client>,
        ranges: &Range<usize>,
    ) -> Result<Ended, Error> {
        let range = ranges.start;
        let Some(bounds) = self.plan.joined(ranges) else {
            return Err(Error::internal("ranges that the plan has not"));
        };
        let mut place = Place::default();
        let mut failing_since: Option<Instant> = None;
        let mut wait = FIRST_WAIT;
        loop {
            let before = place.pushed;
            let error = match self.attempt(reader, session, (range, &bounds), &mut place) {
                Ok(Ended::Complete) => {
                    for range in ranges.clone() {
                        self.sink.complete(range).map_err(Error::Sink)?;
                    }
                    return Ok(Ended::Complete);
                }
                Ok(Ended::Stopped) => return Ok(Ended::Stopped),
                Err(_) if self.crew.is_stopped() => return Ok(Ended::Stopped),
                Err(error) => error,
            };
            if transient_connecting(&error).is_none() {
                return Err(error);
            }
            if self.plan.consistency == Consistency::Snapshot
                && session.as_ref().is_none_or(|client| client.is_broken() || !client.transaction_stands())
            {
                let source = Box::new(error);
                return Err(ReadError::Inconsistent { consistency: "snapshot", source }.into());
            }
            let is_resumable = self.plan.gentle.is_some() || !self.plan.unique_key.is_empty();
            if place.pushed > 0 && (!is_resumable || (place.last.is_none() && place.page.is_none())) {
                if !self.sink.restart(range) {
                    return Err(ReadError::Unresumable { range: range + 1, source: Box::new(error) }.into());
                }
                self.figures().rows -= place.pushed;
                place = Place::default();
            } else if place.pushed > before {
                (failing_since, wait) = (None, FIRST_WAIT);
            }
            let since = *failing_since.get_or_insert_with(Instant::now);
            if since.elapsed() + wait > self.retry_for {
                return Err(error);
            }
            tracing::warn!(range, reader, %error, wait_ms = wait.as_millis(), "a range is tried again");
            self.figures().retries += 1;
            if session.as_ref().is_some_and(Client::is_broken) {
                *session = None;
            }
            if !self.crew.rest(jittered(wait)) {
                return Ok(Ended::Stopped);
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    fn attempt(
        &self,
        reader: usize,
        session: &mut Option<Client>,
        (range, bounds): (usize, &KeyRange),
        place: &mut Place,
    ) -> Result<Ended, Error> {
        let client = match session {
            Some(client) => client,
            none => none.insert(self.connect()?),
        };
        self.crew.register(reader, client.cancel_handle());
        match (self.plan.gentle, &self.plan.key) {
            (Some(gentle), Some(key)) if *bounds != KeyRange::Nulls => {
                self.read_gently(client, range, bounds, key, gentle, place)
            }
            _ => self.read_at_once(client, range, bounds, place),
        }
    }

    pub(crate) fn connect(&self) -> Result<Client, Error> {
        let mut client = Client::connect(&self.config)?;
        self.prepare(&mut client)?;
        Ok(client)
    }

    /// Settings of a reader's session.
    pub(crate) fn prepare(&self, client: &mut Client) -> Result<(), Error> {
        let Some(gentle) = self.plan.gentle else { return Ok(()) };
        let timeout = gentle.lock_timeout.as_millis();
        client.run(&format!("SET LOCK_TIMEOUT {timeout}; SET DEADLOCK_PRIORITY LOW")).map(drop)
    }

    /// Reads what is left of a range by one statement.
    fn read_at_once(
        &self,
        client: &mut Client,
        range: usize,
        bounds: &KeyRange,
        place: &mut Place,
    ) -> Result<Ended, Error> {
        let mut condition = bounds.condition(self.plan.key.as_ref());
        if let Some(last) = &place.last {
            let Condition { sql, parameters } = last_key::behind(last, &self.plan.unique_key)?;
            condition.and(&sql, parameters);
        }
        self.read(client, &condition, |batch, spliced| {
            let last = match self.plan.unique_key.as_slice() {
                [] => None,
                key => last_key::of_batch(spliced.as_ref().unwrap_or(&batch), key)?,
            };
            let rows = batch.num_rows() as u64;
            if !self.push(range, batch)? {
                return Ok(false);
            }
            place.last = last;
            place.pushed += rows;
            Ok(true)
        })
    }

    /// Reads a range by short statements. Before each the server says how far so many rows go; the rows are handed on when
    /// the statement is over, so that back pressure never holds one open.
    fn read_gently(
        &self,
        client: &mut Client,
        range: usize,
        bounds: &KeyRange,
        key: &SplitKey,
        gentle: Gentle,
        place: &mut Place,
    ) -> Result<Ended, Error> {
        let most = (self.plan.batch_rows as u64).saturating_mul(GENTLE_BATCHES_MAX).max(GENTLE_ROWS_MIN);
        let (behind, up_to) = if key.is_descending { ("<", ">=") } else { (">", "<=") };
        loop {
            if self.crew.is_stopped() {
                return Ok(Ended::Stopped);
            }
            let mut condition = bounds.condition(Some(key));
            if let Some(page) = &place.page {
                condition.compare(key, behind, "@bulkwire_behind", page);
            }
            let rows = place.page_rows.unwrap_or(GENTLE_ROWS_FIRST).clamp(GENTLE_ROWS_MIN, most);
            let started = Instant::now();
            let Some(end) = self.page_end(client, &condition, key, rows)? else { return Ok(Ended::Complete) };
            condition.compare(key, up_to, "@bulkwire_up_to", &end);
            let mut held = Vec::new();
            self.read(client, &condition, |batch, _| {
                held.push(batch);
                Ok(true)
            })?;
            // Half to twice as many rows next time, so that a statement takes the time that is wanted.
            let ratio = gentle.statement_time.as_secs_f64() / started.elapsed().as_secs_f64().max(1e-6);
            place.page_rows = Some((rows as f64 * ratio.clamp(0.5, 2.0)) as u64);
            for batch in held {
                place.pushed += batch.num_rows() as u64;
                if !self.push(range, batch)? {
                    return Ok(Ended::Stopped);
                }
            }
            place.page = Some(end);
            if !gentle.pause.is_zero() && !self.crew.rest(gentle.pause) {
                return Ok(Ended::Stopped);
            }
        }
    }

    /// Returns the key of the last row of a page; `None` if there are no more rows.
    fn page_end(
        &self,
        client: &mut Client,
        condition: &Condition,
        key: &SplitKey,
        rows: u64,
    ) -> Result<Option<Value>, Error> {
        let (column, from) = (key.quoted(), self.plan.source.from());
        let (greatest, order) = if key.is_descending { ("MIN", " DESC") } else { ("MAX", "") };
        let filter = if condition.sql.is_empty() { "" } else { " WHERE " };
        let sql = format!(
            "SELECT {greatest}([bulkwire_key]) FROM (SELECT TOP ({rows}) {column} AS [bulkwire_key] FROM {from}{filter}{} \
             ORDER BY {column}{order}) AS [bulkwire_page]",
            condition.sql
        );
        let parameters: Vec<Parameter> =
            self.plan.source.parameters().iter().chain(&condition.parameters).cloned().collect();
        let parameters: Vec<(&str, SqlType, Value)> = parameters
            .iter()
            .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
            .collect();
        let tables = match parameters.is_empty() {
            true => client.query_values(&sql)?,
            false => client.query_values_with(&sql, &parameters)?,
        };
        let value = tables.into_iter().flat_map(|table| table.rows).flatten().next();
        Ok(value.filter(|value| !value.is_null()))
    }

    /// Runs one statement and hands its batches to `take`, until that says false. With a batch of spliced rows comes its last
    /// row, decoded, if the read can go on behind it.
    fn read(
        &self,
        client: &mut Client,
        condition: &Condition,
        mut take: impl FnMut(RecordBatch, Option<RecordBatch>) -> Result<bool, Error>,
    ) -> Result<Ended, Error> {
        let (sql, parameters) = self.plan.source.select(condition, &self.plan.order);
        let mut stream =
            statement(client, &sql, &parameters, self.form.clone())?.with_batch_rows(self.plan.batch_rows)?;
        self.crew.announce(stream.columns(), &stream.schema())?;
        let Some(form) = self.crew.form() else { return Ok(Ended::Stopped) };
        if let Some(splice) = &form {
            stream = stream.spliced(splice, !self.plan.unique_key.is_empty())?;
        }
        let mut busy = Duration::ZERO;
        let ended = loop {
            let started = Instant::now();
            let next = stream.next_batch();
            busy += started.elapsed();
            match next {
                Ok(Some(batch)) => {
                    let taken = match &form {
                        Some(_) => stream.last_row().and_then(|last| take(batch, last)),
                        None => self.crew.aligned(batch).and_then(|batch| take(batch, None)),
                    };
                    match taken {
                        Ok(true) => {}
                        Ok(false) => break Ok(Ended::Stopped),
                        Err(error) => break Err(error),
                    }
                }
                Ok(None) => {
                    break match stream.next_result() {
                        Ok(false) => Ok(Ended::Complete),
                        Ok(true) => Err(Error::SeveralResults),
                        Err(error) => Err(error),
                    };
                }
                Err(error) => break Err(error),
            }
        };
        let mut figures = self.figures();
        figures.bytes_on_wire += stream.bytes_received();
        figures.wait += stream.waited();
        figures.busy += busy;
        figures.cpu = Some(figures.cpu.unwrap_or_default() + stream.helpers_cpu());
        ended
    }

    fn push(&self, range: usize, batch: RecordBatch) -> Result<bool, Error> {
        let rows = batch.num_rows() as u64;
        let started = Instant::now();
        let taken = self.sink.push(range, batch).map_err(Error::Sink)?;
        let mut figures = self.figures();
        figures.pushing += started.elapsed();
        if taken {
            figures.rows += rows;
            figures.batches += 1;
        }
        Ok(taken)
    }
}

/// Shortens a wait at random to between half and all of it, so that readers that failed together do not come again
/// together.
fn jittered(wait: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let part = (RandomState::new().hash_one(wait) % 512) as u32;
    wait / 2 + wait / 1024 * part
}
