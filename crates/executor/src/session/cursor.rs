//! Server cursors: the rows of a query, fetched a few at a time.
//!
//! A scrolling cursor keeps its rows as they were when it was opened; a forward-only cursor keeps its query running.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use databases::instance::Instance;
use databases::memory::Reservation;
use parking_lot::Mutex;
use query::Cancellation;
use query::{BoundQuery, Datum, OutputColumn, ResultStream};
use tds::SqlType;
use tsql::SqlError;
use tsql::cursor::CursorDeclaration;

/// The first row and the direction of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// From the first.
    First,
    /// The rows after the last fetched ones.
    Next,
    /// The rows before the first fetched one. If there are fewer than wanted, the fetch begins at the first row.
    Prior,
    /// The rows before the first fetched one, even if there are fewer than wanted.
    PriorUnadjusted,
    /// The last ones.
    Last,
    /// From a position; counted from the end if negative.
    Absolute(i64),
    /// From this many rows after the first fetched one.
    Relative(i64),
    /// Fetches the current rows again.
    Refresh,
}

/// An open cursor.
pub(crate) struct ServerCursor {
    /// The columns of the query.
    pub columns: Vec<OutputColumn>,
    rows: Rows,
    /// Position of the first row of the last fetch, 1-based; 0 before the first row.
    at: u64,
    /// Rows of the last fetch.
    fetched: u64,
}

enum Rows {
    Stored {
        batches: Vec<RecordBatch>,
        total: u64,
        /// The server memory that the rows take.
        _memory: Reservation,
    },
    Running {
        stream: Mutex<ResultStream>,
        pending: Option<RecordBatch>,
    },
    /// A running query that has come to its end.
    Finished,
}

/// A cursor of T-SQL: declared, and perhaps open.
pub(crate) struct NamedCursor {
    pub(crate) declaration: CursorDeclaration,
    pub open: Option<ServerCursor>,
    /// The rows that can be changed through it; None if there are none.
    pub positions: Option<Positions>,
}

/// The place of a cursor in its tables.
pub(crate) struct Positions {
    pub tables: Vec<KeyedTable>,
    /// Columns that are the query's own; keys are behind them.
    pub visible: usize,
    /// The keys of the row that was fetched last.
    pub current: Option<Vec<(Datum, SqlType)>>,
}

/// A table whose row is found by its key.
#[derive(Debug, Clone)]
pub(crate) struct KeyedTable {
    /// `object_id`.
    pub table: i32,
    /// The place of the first of its columns among all keys.
    pub first: usize,
    /// The columns of the key.
    pub columns: Vec<String>,
}

impl ServerCursor {
    /// Opens a cursor over a query. Errors: those of the query, and 701 if a scrolling cursor has too many rows.
    pub async fn open(
        instance: &Arc<Instance>,
        bound: BoundQuery,
        scrolls: bool,
        cancellation: &Cancellation,
    ) -> Result<ServerCursor, SqlError> {
        let columns = bound.columns.clone();
        // The query outlives the request that opens it; each fetch listens for its own request's end.
        let own = Cancellation::new();
        let mut stream = cancellation.or(instance.engine().start(bound, &own)).await?;
        if !scrolls {
            let pending = cancellation.or(stream.next()).await?;
            let rows = Rows::Running { stream: Mutex::new(stream), pending };
            return Ok(ServerCursor { columns, rows, at: 0, fetched: 0 });
        }
        let (mut batches, mut total) = (Vec::new(), 0);
        let mut memory = Reservation::new(instance.engine().memory());
        while let Some(batch) = cancellation.or(stream.next()).await? {
            total += batch.num_rows() as u64;
            memory.take(batch.get_array_memory_size())?;
            batches.push(batch);
        }
        let rows = Rows::Stored { batches, total, _memory: memory };
        Ok(ServerCursor { columns, rows, at: 0, fetched: 0 })
    }

    /// Returns the number of rows; `None` while the query runs.
    pub fn row_count(&self) -> Option<u64> {
        match &self.rows {
            Rows::Stored { total, .. } => Some(*total),
            _ => None,
        }
    }

    /// Returns the position of the first row of the last fetch: 0 before the first row.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Fetches up to `count` rows. Errors: 16911 for a direction that needs a scrolling cursor.
    pub async fn fetch(
        &mut self,
        fetch: Fetch,
        count: u64,
        cancellation: &Cancellation,
    ) -> Result<Vec<RecordBatch>, SqlError> {
        let Rows::Stored { batches, total, .. } = &self.rows else {
            return match fetch {
                Fetch::Next => self.forward(count, cancellation).await,
                Fetch::Relative(1) if count == 1 => self.forward(count, cancellation).await,
                Fetch::First if self.at == 0 => self.forward(count, cancellation).await,
                other => Err(SqlError::new(
                    16911,
                    16,
                    1,
                    format!(
                        "fetch: The fetch type {} cannot be used with forward only cursors.",
                        other.name()
                    ),
                )),
            };
        };
        let total = *total;
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let step = signed(count.max(1));
        let start = match fetch {
            Fetch::First => 1,
            Fetch::Next => signed(self.at.saturating_add(self.fetched.max(u64::from(self.at == 0)))),
            // Fewer rows than wanted before the first fetched: the fetch begins with row 1.
            Fetch::Prior if self.at > 1 => (signed(self.at) - step).max(1),
            Fetch::PriorUnadjusted if self.at > 1 => (signed(self.at) - step).max(1),
            Fetch::Prior | Fetch::PriorUnadjusted => 0,
            Fetch::Last => (signed(total) - step + 1).max(1),
            Fetch::Absolute(row) if row >= 0 => row,
            Fetch::Absolute(row) => signed(total).saturating_add(row).saturating_add(1),
            Fetch::Relative(rows) => signed(self.at).saturating_add(rows),
            Fetch::Refresh => signed(self.at),
        };
        let start = u64::try_from(start).unwrap_or(0).min(total.saturating_add(1));
        let taken = match fetch {
            _ if start == 0 => 0,
            Fetch::PriorUnadjusted => count.min(self.at - start),
            _ => count.min(total + 1 - start),
        };
        self.at = start;
        self.fetched = taken;
        if taken == 0 {
            return Ok(Vec::new());
        }
        let (mut skip, mut left) = (start - 1, taken);
        let mut found = Vec::new();
        for batch in batches {
            let rows = batch.num_rows() as u64;
            if skip >= rows {
                skip -= rows;
                continue;
            }
            let here = left.min(rows - skip);
            found.push(batch.slice(skip as usize, here as usize));
            skip = 0;
            left -= here;
            if left == 0 {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the next rows of a running query.
    async fn forward(
        &mut self,
        count: u64,
        cancellation: &Cancellation,
    ) -> Result<Vec<RecordBatch>, SqlError> {
        let mut found = Vec::new();
        let mut left = count;
        while left > 0 {
            let Rows::Running { stream, pending } = &mut self.rows else { break };
            let batch = match pending.take() {
                Some(batch) => Some(batch),
                None => cancellation.or(stream.get_mut().next()).await?,
            };
            let Some(batch) = batch else {
                self.rows = Rows::Finished;
                break;
            };
            let here = left.min(batch.num_rows() as u64);
            let rest = batch.num_rows() - here as usize;
            *pending = (rest > 0).then(|| batch.slice(here as usize, rest));
            if here > 0 {
                found.push(batch.slice(0, here as usize));
            }
            left -= here;
        }
        self.at = self.at.saturating_add(self.fetched.max(u64::from(self.at == 0)));
        self.fetched = count - left;
        Ok(found)
    }
}

impl Fetch {
    pub fn name(self) -> &'static str {
        match self {
            Fetch::First => "FIRST",
            Fetch::Next => "NEXT",
            Fetch::Prior | Fetch::PriorUnadjusted => "PREVIOUS",
            Fetch::Last => "LAST",
            Fetch::Absolute(_) => "ABSOLUTE",
            Fetch::Relative(_) => "RELATIVE",
            Fetch::Refresh => "REFRESH",
        }
    }
}

/// Cursors by their names in lower case; those of variables begin with `@`.
pub(crate) type Cursors = HashMap<String, NamedCursor>;

impl NamedCursor {
    /// Returns CURSOR_STATUS: 1 open with rows or of unknown size, 0 open without, -1 closed.
    pub fn status(&self) -> i64 {
        match self.open.as_ref().map(ServerCursor::row_count) {
            None => -1,
            Some(Some(0)) => 0,
            Some(_) => 1,
        }
    }
}

pub(crate) fn named(declaration: &CursorDeclaration) -> NamedCursor {
    NamedCursor { declaration: declaration.clone(), open: None, positions: None }
}
