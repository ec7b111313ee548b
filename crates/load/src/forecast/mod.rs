//! Forecasts a load before it is begun: pages of the table and of each index, log, and time.
//!
//! Rows of the source are bound and encoded as the load would send them. From the bytes of each value follow the lengths of all records,
//! and from these the pages, by the rules in `docs/store-engine.md`. PAGE compression is really tried on pages of the sample. Time is
//! measured, by loading rows into a temporary table that is dropped again.

mod compressed_page;
mod definition;
mod key;
mod large;
mod log_volume;
mod merging;
mod page;
mod probe;
mod record;
mod sample;
mod shown;
mod shrunk;
mod stored_kind;
mod structures;
mod tree;

use std::time::Duration;

use arrow::record_batch::RecordBatch;

pub use self::probe::Probe;
use self::{
    definition::Definition,
    page::PAGE_BYTES,
    sample::Sample,
    structures::{Arrival, outcome},
};
use crate::{
    client::Client,
    describe::{RecoveryModel, TableDescription},
    error::Error,
    plan::LoadPlan,
    stage::Compression,
};

/// Bytes of rows that are kept.
const SAMPLE_BYTES: usize = 128 << 20;
/// Fewer rows, of fewer bytes, are added one by one by bulkwire's own server.
const FEW_ROWS: u64 = 512;
const FEW_BYTES: u64 = 64 << 10;
/// Rows that are encoded at a time.
const STEP_ROWS: usize = 4096;
/// Bytes in memory of the first batch of several writers, and of the largest ones.
const FIRST_BATCH_BYTES: f64 = 131_072.0;
const MOST_BATCH_BYTES: f64 = 20_971_520.0;
/// Bytes of rows that are kept for the probe, as they are sent.
const PROBE_BYTES: usize = 8 << 20;

/// Rows of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches {
    /// A fixed number of rows per batch.
    Fixed(u64),
    /// Few at first, then more while that is quick, as with several writers.
    Growing,
}

/// The facts about a load that its rows do not show.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// Rows of the whole source; `None`: all of them were taken.
    pub rows_total: Option<u64>,
    /// Rows of a transaction.
    pub batches: Batches,
    /// The table is emptied first, or is a new one.
    pub empties: bool,
    /// The time that it took to read the rows of the sample.
    pub reading: Duration,
    /// The server may be asked to load rows of the sample into a temporary table.
    pub may_probe: bool,
}

/// Takes rows of the source, and says what loading all of them will take.
pub struct Forecaster<'p> {
    plan: &'p LoadPlan,
    target: TableDescription,
    definition: Definition,
    sample: Sample,
    rows_unfit: u64,
    /// Bytes of the rows on the wire, and in memory.
    wire_bytes: u64,
    memory_bytes: u64,
    probe_batches: Vec<RecordBatch>,
    probe_bytes: usize,
}

/// The forecast of a load: pages, log and time.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Rows of the load.
    pub rows: u64,
    /// Rows that the forecast was made from.
    pub sample_rows: u64,
    /// Rows of them that do not fit the table. A load refuses them.
    pub rows_unfit: u64,
    /// The table, what is outside of its rows, and each index.
    pub structures: Vec<StructureForecast>,
    /// Bytes that the load adds to the log.
    pub log_bytes: u64,
    /// The least and the most bytes of log, if batches of several writers come into a tree. Their numbers of rows and
    /// their order are known only afterwards.
    pub log_range_bytes: Option<(u64, u64)>,
    /// The database's recovery model.
    pub recovery_model: Option<RecoveryModel>,
    /// True if the rows' pages are left out of the log.
    pub is_minimally_logged: bool,
    /// The time that one connection will take; `None` if nothing was measured.
    pub time: Option<TimeForecast>,
    /// The assumptions of the forecast, in words.
    pub notes: Vec<String>,
}

/// A heap, a tree, an index, or values outside of their rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructureForecast {
    /// Name; empty for values outside of their rows.
    pub name: String,
    /// `heap`, `clustered`, `index`, `row overflow` or `large values`.
    pub kind: &'static str,
    /// Compression.
    pub compression: Compression,
    /// Rows.
    pub rows: u64,
    /// Pages of rows.
    pub leaf_pages: u64,
    /// Pages of the levels above them.
    pub upper_pages: u64,
    /// Pages that say which extents belong to it.
    pub map_pages: u64,
    /// Pages of rows that are compressed as a whole.
    pub compressed_pages: u64,
}

/// The forecast of a load's duration.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeForecast {
    /// Over one connection.
    pub expected: Duration,
    /// The source of the measured speed.
    pub measured: Measured,
}

/// The measurement behind a forecast of time.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Rows were loaded into a temporary table.
    Probe(Probe),
    /// The source was read, and the server was not asked, or refused: the load takes at least as long.
    Reading {
        /// Rows a second.
        rows_per_second: f64,
        /// The reason why nothing was loaded.
        reason: String,
    },
}

impl StructureForecast {
    /// Returns the number of all pages.
    pub fn pages(&self) -> u64 {
        self.leaf_pages + self.upper_pages + self.map_pages
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.pages() * PAGE_BYTES
    }
}

impl Forecast {
    /// Pages of everything.
    pub fn pages(&self) -> u64 {
        self.structures.iter().map(StructureForecast::pages).sum()
    }

    /// Bytes of everything.
    pub fn bytes(&self) -> u64 {
        self.pages() * PAGE_BYTES
    }
}

impl<'p> Forecaster<'p> {
    /// Makes a forecaster for a load as planned.
    ///
    /// # Errors
    /// [`Error::NoForecast`] for views, temporary tables and columnstores, and for tables in other databases; errors of the catalogue queries.
    pub fn new(client: &mut Client, plan: &'p LoadPlan) -> Result<Self, Error> {
        let target = client.describe(&plan.table)?;
        let definition = Definition::read(client, &target, plan)?;
        Ok(Self {
            plan,
            target,
            definition,
            sample: Sample::new(plan.rows.columns(), plan.rows.declared_columns()),
            rows_unfit: 0,
            wire_bytes: 0,
            memory_bytes: 0,
            probe_batches: Vec::new(),
            probe_bytes: 0,
        })
    }

    /// Takes rows of the source. False: they are enough.
    pub fn take(&mut self, batch: &RecordBatch) -> bool {
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = STEP_ROWS.min(batch.num_rows() - start);
            self.take_part(&batch.slice(start, rows));
            start += rows;
        }
        self.memory_bytes += memory_bytes(batch);
        self.sample.bytes() < SAMPLE_BYTES
    }

    fn take_part(&mut self, batch: &RecordBatch) {
        let bound = match self.plan.rows.bind(batch, 0) {
            Ok(bound) => bound,
            Err(error) => {
                let bad = usize::try_from(error.row).unwrap_or(0).min(batch.num_rows().saturating_sub(1));
                self.rows_unfit += 1;
                if bad > 0 {
                    self.take_part(&batch.slice(0, bad));
                }
                if bad + 1 < batch.num_rows() {
                    self.take_part(&batch.slice(bad + 1, batch.num_rows() - bad - 1));
                }
                return;
            }
        };
        let mut bytes = Vec::new();
        bound.encode(0..batch.num_rows(), &mut bytes);
        self.sample.push(&bytes);
        self.wire_bytes += bytes.len() as u64;
        drop(bound);
        if self.probe_bytes < PROBE_BYTES {
            self.probe_bytes += bytes.len();
            self.probe_batches.push(batch.clone());
        }
    }

    /// Rows that were taken.
    pub fn rows(&self) -> u64 {
        self.sample.rows() as u64
    }

    /// Forecasts the load of all rows, scaled up from the sample.
    pub fn forecast(self, client: &mut Client, circumstances: &Circumstances) -> Forecast {
        let sampled = self.rows();
        let rows = circumstances.rows_total.unwrap_or(sampled).max(sampled);
        let factor = if sampled == 0 { 1.0 } else { rows as f64 / sampled as f64 };
        let wire_bytes = (self.wire_bytes as f64 * factor) as u64;
        let batch_ends = self.batch_ends(circumstances.batches, rows);
        let is_empty = circumstances.empties || self.target.rows == 0;
        let model = self.target.database.recovery_model;
        let arrival = Arrival {
            factor,
            table_lock: self.plan.hints.table_lock,
            is_empty,
            may_be_minimal: matches!(model, Some(RecoveryModel::Simple | RecoveryModel::BulkLogged)),
            is_few: rows < FEW_ROWS && wire_bytes < FEW_BYTES,
            batch_ends,
            is_out_of_turn: false,
        };
        let outcome = outcome(&self.definition, &self.sample, &arrival);
        let log_bytes = self.log_bytes(outcome.log_bytes, &arrival, circumstances.batches, rows);
        let log_range_bytes = self.log_range(&arrival, circumstances.batches, rows, log_bytes);
        let mut notes = self.definition.notes.clone();
        if !is_empty {
            notes.push(
                "pages and log of the new rows alone, as if they came behind those of the table".to_owned(),
            );
        }
        if sampled < rows {
            notes.push("keys that come twice are counted in the sample alone".to_owned());
        }
        let is_heap = self.definition.is_heap();
        let is_minimally_logged = arrival.may_be_minimal
            && arrival.table_lock
            && (is_heap || is_empty)
            && !(arrival.is_few && self.definition.is_embedded);
        let time = self.time(client, circumstances, rows);
        Forecast {
            rows,
            sample_rows: sampled,
            rows_unfit: self.rows_unfit,
            structures: outcome.structures,
            log_bytes: log_bytes as u64,
            log_range_bytes,
            recovery_model: model,
            is_minimally_logged,
            time,
            notes,
        }
    }

    /// Computes the log bytes of the load, of which `structures` are those of heaps and trees.
    fn log_bytes(&self, structures: f64, arrival: &Arrival, batches: Batches, rows: u64) -> f64 {
        let transactions = match batches {
            Batches::Fixed(batch_rows) => rows.div_ceil(batch_rows.max(1)),
            Batches::Growing => arrival.batch_ends.len() as u64,
        };
        match self.definition.is_embedded {
            true => {
                let takes_extents = !arrival.is_few || self.definition.is_heap();
                log_volume::whole(structures, transactions as f64, takes_extents)
            }
            false => structures,
        }
    }

    /// Returns the range between the log of several writers that keep to small batches, and that of the largest
    /// batches, in turn or not.
    fn log_range(&self, arrival: &Arrival, batches: Batches, rows: u64, expected: f64) -> Option<(u64, u64)> {
        let has_trees = !self.definition.is_heap() || !self.definition.indexes.is_empty();
        if batches != Batches::Growing || !has_trees || !self.definition.is_embedded {
            return None;
        }
        let bytes_a_row = self.bytes_a_row();
        let sizes = [FIRST_BATCH_BYTES, MOST_BATCH_BYTES];
        let [small, large] = sizes.map(|bytes| Batches::Fixed(((bytes / bytes_a_row) as u64).max(1)));
        let ways = [batches, small, large];
        let (mut low, mut high) = (expected, expected);
        for (batches, is_out_of_turn) in ways.iter().flat_map(|batches| [(*batches, false), (*batches, true)])
        {
            let batch_ends = self.batch_ends(batches, rows);
            let arrival = Arrival { batch_ends, is_out_of_turn, ..arrival.clone() };
            let structures = outcome(&self.definition, &self.sample, &arrival).log_bytes;
            let log_bytes = self.log_bytes(structures, &arrival, batches, rows);
            (low, high) = (low.min(log_bytes), high.max(log_bytes));
        }
        Some((low as u64, high as u64))
    }

    fn bytes_a_row(&self) -> f64 {
        (self.memory_bytes as f64 / (self.sample.rows() as f64).max(1.0)).max(1.0)
    }

    fn time(&self, client: &mut Client, circumstances: &Circumstances, rows: u64) -> Option<TimeForecast> {
        let read = circumstances.reading.as_secs_f64();
        let rows_read = self.rows() as f64;
        if rows_read == 0.0 {
            return None;
        }
        let probed = match circumstances.may_probe {
            true => probe::run(client, &self.definition, self.plan, &self.probe_batches),
            false => Err("no probe was asked for".to_owned()),
        };
        let reading = read * rows as f64 / rows_read;
        let (seconds, measured) = match probed {
            // The longer of the two decides: both go on at the same time.
            Ok(probe) => (reading.max(rows as f64 / probe.rows_per_second()), Measured::Probe(probe)),
            Err(reason) => (
                reading,
                Measured::Reading { rows_per_second: rows_read / read.max(f64::MIN_POSITIVE), reason },
            ),
        };
        Some(TimeForecast { expected: Duration::try_from_secs_f64(seconds).ok()?, measured })
    }

    /// Returns the rows of the sample at which transactions end.
    fn batch_ends(&self, batches: Batches, rows: u64) -> Vec<usize> {
        let sampled = self.sample.rows();
        let share = sampled as f64 / rows.max(1) as f64;
        let bytes_a_row = self.bytes_a_row();
        let (mut size, most) = match batches {
            Batches::Fixed(rows) => (rows as f64, rows as f64),
            Batches::Growing => (FIRST_BATCH_BYTES / bytes_a_row, MOST_BATCH_BYTES / bytes_a_row),
        };
        let (mut ends, mut end) = (Vec::new(), 0.0);
        loop {
            end += (size * share).max(1.0);
            if end >= sampled as f64 {
                ends.push(sampled);
                return ends;
            }
            ends.push(end as usize);
            size = (2.0 * size).min(most);
        }
    }
}

fn memory_bytes(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    });
    bytes.sum::<usize>() as u64
}
