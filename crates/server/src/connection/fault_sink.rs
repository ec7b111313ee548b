//! Rows of a bulk load under injected faults: limited to a rate, or cut off at a row.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use databases::instance::Instance;
use databases::log;
use executor::session::Cancellation;
use parking_lot::Mutex;
use store::WaitType;
use tds::{Column, RowSpan};
use tsql::SqlError;
use tsql::errors;

use crate::connection::bulk_receiver::RowSink;
use crate::faults::{Happening, Pace};
use crate::transport::LineControl;

/// From one look at the cancellation to the next.
const LOOK: Duration = Duration::from_millis(10);

/// Applies injected faults to the rows of a load.
pub(super) struct FaultSink {
    paces: Arc<Mutex<Vec<Pace>>>,
    /// After so many rows what happens, and what the log says of it.
    at_row: Option<(u64, Happening, String)>,
    rows: u64,
    name: String,
    control: Arc<LineControl>,
}

/// A sink behind it.
pub(super) struct Faulty {
    pub faults: FaultSink,
    pub inner: Box<dyn RowSink>,
    pub cancellation: Cancellation,
    pub instance: Arc<Instance>,
    pub spid: u16,
    pub database: String,
}

impl FaultSink {
    pub fn new(
        paces: Arc<Mutex<Vec<Pace>>>,
        at_row: Option<(u64, Happening, String)>,
        name: String,
        control: Arc<LineControl>,
    ) -> FaultSink {
        FaultSink { paces, at_row, rows: 0, name, control }
    }
}

impl Faulty {
    /// Rows have been taken.
    fn pass(&mut self, rows: u64, bytes: usize) -> Result<(), SqlError> {
        if rows == 0 {
            return Ok(());
        }
        self.faults.rows += rows;
        let now = Instant::now();
        let waits: Vec<_> =
            self.faults.paces.lock().iter_mut().map(|pace| pace.take(rows, bytes as u64, now)).collect();
        for wait in waits {
            let wait_type = match wait.of_rows {
                true => WaitType::SessionRowRate,
                false => WaitType::LogRateGovernor,
            };
            if wait.until > Instant::now() {
                self.instance.waits().during(wait_type, || self.sleep_until(Some(wait.until)))?;
            }
        }
        match self.faults.at_row.take_if(|(at, ..)| *at <= self.faults.rows) {
            Some((_, happening, told)) => self.happen(happening, &told),
            None => Ok(()),
        }
    }

    fn happen(&self, happening: Happening, told: &str) -> Result<(), SqlError> {
        log::line(format!("fault: {}: {told}", self.faults.name));
        match happening {
            Happening::Error(failure) => Err(failure.error(self.spid, &self.database)),
            Happening::Cut(ending) => {
                self.faults.control.cut(ending);
                self.sleep_until(None)
            }
            Happening::Silence => self.sleep_until(None),
            Happening::Stall(time) => self.sleep_until(Instant::now().checked_add(time)),
        }
    }

    /// Sleeps, without a moment until the load is cancelled.
    fn sleep_until(&self, moment: Option<Instant>) -> Result<(), SqlError> {
        loop {
            if self.cancellation.is_cancelled() {
                return Err(errors::CANCELLED.error());
            }
            let left = moment.map_or(LOOK, |moment| moment.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

impl RowSink for Faulty {
    fn columns(&mut self, columns: &[Column]) -> Result<(), SqlError> {
        self.inner.columns(columns)
    }

    fn find_rows(&mut self, bytes: &[u8]) -> Result<RowSpan, SqlError> {
        let found = self.inner.find_rows(bytes)?;
        self.pass(found.rows, found.bytes)?;
        Ok(found)
    }

    fn rows(&mut self, rows: &[u8], count: u64) -> Result<(), SqlError> {
        self.inner.rows(rows, count)?;
        self.pass(count, rows.len())
    }

    fn failure(&mut self) -> Option<SqlError> {
        self.inner.failure()
    }

    fn finish(self: Box<Self>) -> Result<u64, SqlError> {
        self.inner.finish()
    }
}
