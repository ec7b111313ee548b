//! The answer to a query as a stream of record batches.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow::{
    datatypes::{Schema, SchemaRef},
    record_batch::RecordBatch,
};
use rows::{Decoder, RowDecodeError, Splice, Splicer, mapping::Form};
use tds::{
    Column, ServerMessage,
    done::{Done, DoneStatus},
    token::Token,
};

use crate::{error::Error, session::Session};

/// Rows of a record batch, unless the caller asks for another number.
pub const BATCH_ROWS: usize = 65_536;

const DOING: &str = "reading a result";
/// The command of SELECT in DONE.
const SELECT: u16 = 0xC1;
/// The commands of INSERT, DELETE, UPDATE and MERGE in DONE.
const CHANGES: [u16; 4] = [0xC3, 0xC4, 0xC5, 0x117];
/// The names of the columns of FOR XML and FOR JSON begin with these.
const DOCUMENTS: [&str; 2] = ["XML_F52E2B61", "JSON_F52E2B61"];

/// The result sets of a query, one after the other. Nothing is read ahead, so a slow consumer slows the server down through TCP.
/// If the stream is dropped before its end, it cancels the query.
pub struct ResultStream<'c> {
    session: &'c mut Session,
    form: Form,
    batch_rows: usize,
    columns: Vec<Column>,
    rows: Option<Rows>,
    schema: SchemaRef,
    state: State,
    /// Rows of the current result that have been handed on; `None` when the server has said how many there are.
    rows_seen: Option<u64>,
    /// Rows that statements have changed, one number a statement, as far as the caller has not taken them.
    rows_changed: Vec<u64>,
    /// The start of reading the answer, and the bytes received by then.
    started: Instant,
    bytes_before: u64,
    helpers_before: Duration,
}

/// The taker of the current result's rows.
enum Rows {
    Decoded(Box<Decoder>),
    Spliced(Box<Splicer>),
}

impl Rows {
    /// Takes the complete rows at the head of `bytes`, and returns the bytes of them.
    fn take(&mut self, bytes: &[u8]) -> Result<usize, RowDecodeError> {
        match self {
            Self::Decoded(decoder) => decoder.decode(bytes),
            Self::Spliced(splicer) => splicer.splice(bytes),
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Self::Decoded(decoder) => decoder.is_full(),
            Self::Spliced(splicer) => splicer.is_full(),
        }
    }

    fn buffered(&self) -> usize {
        match self {
            Self::Decoded(decoder) => decoder.rows_buffered(),
            Self::Spliced(splicer) => splicer.rows_buffered(),
        }
    }

    fn batch(&mut self) -> Result<RecordBatch, Error> {
        let taken = match self {
            Self::Decoded(decoder) => decoder.take_batch(),
            Self::Spliced(splicer) => splicer.take_batch(),
        };
        taken.map_err(|error| Error::unexpected(DOING, error.to_string()))
    }
}

enum State {
    /// Rows of the current result may follow.
    Rows,
    /// The current result is over, and these columns start another.
    Next(Vec<Column>),
    /// The answer is over.
    End,
}

impl<'c> ResultStream<'c> {
    /// Reads up to the first result set of an answer that was just asked for.
    pub(crate) fn start(session: &'c mut Session, form: Form) -> Result<Self, Error> {
        let bytes_before = session.transport.bytes_on_wire().1;
        let helpers_before = session.transport.helpers_cpu();
        let mut this = Self {
            session,
            form,
            batch_rows: BATCH_ROWS,
            columns: Vec::new(),
            rows: None,
            schema: Arc::new(Schema::empty()),
            state: State::Rows,
            rows_seen: None,
            rows_changed: Vec::new(),
            started: Instant::now(),
            bytes_before,
            helpers_before,
        };
        this.find_result()?;
        this.next_result()?;
        Ok(this)
    }

    /// Makes batches of this many rows (at least one); to be called before the first batch is read.
    pub fn with_batch_rows(mut self, batch_rows: usize) -> Result<Self, Error> {
        self.batch_rows = batch_rows.max(1);
        if self.rows.is_some() {
            self.rows = Some(Rows::Decoded(Box::new(self.decoder_for()?)));
        }
        Ok(self)
    }

    /// Splices the rows of the current result instead of decoding them; to be called before the first batch is read.
    /// `keeps_last`: the last row of each batch is kept.
    ///
    /// # Errors
    /// The columns are others than the splice was decided for.
    pub(crate) fn spliced(mut self, splice: &Splice, keeps_last: bool) -> Result<Self, Error> {
        let made = splice.splicer(&self.columns).map_err(|columns| {
            let what = columns.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            Error::unexpected(DOING, format!("other columns than before: {what}"))
        });
        let splicer = made?.with_batch_rows(self.batch_rows);
        let splicer = if keeps_last { splicer.keeping_last_rows() } else { splicer };
        self.rows = Some(Rows::Spliced(Box::new(splicer)));
        Ok(self)
    }

    /// Decodes the last row of the batch that was returned last, if rows are spliced and it was kept.
    ///
    /// # Errors
    /// Its values are malformed.
    pub(crate) fn last_row(&self) -> Result<Option<RecordBatch>, Error> {
        match &self.rows {
            Some(Rows::Spliced(splicer)) => Ok(splicer.last_row()?),
            _ => Ok(None),
        }
    }

    /// Columns of the current result set; empty if the query gave none.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the schema of the current result set's batches; empty if the query had none.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the next batch of the current result set, `None` at its end.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if !matches!(self.state, State::Rows) {
            return Ok(None);
        }
        loop {
            match self.step() {
                Ok(Step::More) => {}
                Ok(Step::Batch(batch)) => return Ok(Some(batch)),
                Ok(Step::Over) => return Ok(None),
                Err(error) => {
                    self.state = State::End;
                    return Err(error);
                }
            }
        }
    }

    /// Moves to the next result set and skips unread rows of the current one. False if there is none.
    pub fn next_result(&mut self) -> Result<bool, Error> {
        if matches!(self.state, State::Rows) && self.rows.is_some() {
            self.find_result()?;
        }
        match std::mem::replace(&mut self.state, State::End) {
            State::Next(columns) => {
                self.columns = columns;
                let decoder = self.decoder_for()?;
                self.schema = decoder.schema();
                self.rows = Some(Rows::Decoded(Box::new(decoder)));
                self.state = State::Rows;
                self.rows_seen = Some(0);
                Ok(true)
            }
            State::Rows | State::End => Ok(false),
        }
    }

    /// Messages (PRINT, warnings) that have arrived so far.
    pub fn take_messages(&mut self) -> Vec<ServerMessage> {
        self.session.take_messages()
    }

    /// Returns the rows that each statement so far has inserted, updated, deleted or merged, where the server counts them.
    pub fn take_rows_changed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.rows_changed)
    }

    /// Bytes of this answer received so far, headers and TLS included.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.session.transport.bytes_on_wire().1 - self.bytes_before
    }

    /// Returns the time at which this answer began to be read.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Returns the time spent waiting for the server in this answer.
    pub(crate) fn waited(&self) -> Duration {
        self.session.waited()
    }

    /// Returns the processor time of other threads that have received this answer.
    pub(crate) fn helpers_cpu(&self) -> Duration {
        self.session.transport.helpers_cpu().saturating_sub(self.helpers_before)
    }

    fn decoder_for(&self) -> Result<Decoder, Error> {
        Ok(Decoder::new(&self.columns, self.form.clone())?.with_batch_rows(self.batch_rows))
    }

    fn step(&mut self) -> Result<Step, Error> {
        let token = match self.session.next_token(DOING)? {
            Some(Token::Row | Token::NbcRow) => return self.decode_rows(),
            token => token,
        };
        let rest = match &self.rows {
            Some(rows) if rows.buffered() > 0 => Some(self.taken()?),
            _ => None,
        };
        if let Some(Token::Done(done) | Token::DoneInProc(done) | Token::DoneProc(done)) = token {
            self.compare(done)?;
        }
        match token {
            Some(Token::ColMetaData(Some(columns))) => self.state = State::Next(columns),
            None => {
                self.state = State::End;
                if let Some(error) = self.session.take_errors() {
                    return Err(error.into());
                }
            }
            Some(_) => return Ok(rest.map_or(Step::More, Step::Batch)),
        }
        Ok(rest.map_or(Step::Over, Step::Batch))
    }

    fn decode_rows(&mut self) -> Result<Step, Error> {
        let Some(rows) = &mut self.rows else {
            return self.session.check(Err(Error::unexpected(DOING, "a row without columns")));
        };
        // After a bad row the connection is sound; the rest of the answer is cancelled when the stream is dropped.
        let consumed = rows.take(self.session.rows())?;
        self.session.consume(consumed);
        if rows.is_full() {
            return self.taken().map(Step::Batch);
        }
        if consumed == 0 {
            self.session.fill(DOING)?;
        }
        Ok(Step::More)
    }

    /// Returns the rows so far as a batch.
    fn taken(&mut self) -> Result<RecordBatch, Error> {
        let Some(rows) = &mut self.rows else { return Err(Error::internal("rows without columns")) };
        let batch = rows.batch()?;
        if let Some(seen) = &mut self.rows_seen {
            *seen += batch.num_rows() as u64;
        }
        Ok(batch)
    }

    /// Compares the rows that came with what the server says it sent: an answer that lost some on its way is no answer.
    fn compare(&mut self, done: Done) -> Result<(), Error> {
        self.note_changed(done);
        let Some(seen) = self.rows_seen.take() else { return Ok(()) };
        // A document comes in as many rows as it takes, and counts what it was made of.
        let is_document = match self.columns.as_slice() {
            [column] => DOCUMENTS.iter().any(|name| column.name.starts_with(name)),
            _ => false,
        };
        let has_count = done.status.contains(DoneStatus::COUNT) && !done.status.has_failed();
        let is_counted = done.command == SELECT && has_count && !is_document;
        match is_counted && done.row_count != seen {
            true => {
                let what = format!("{seen} rows where the server says that it sent {}", done.row_count);
                self.session.check(Err(Error::unexpected(DOING, what)))
            }
            false => Ok(()),
        }
    }

    fn note_changed(&mut self, done: Done) {
        let is_counted = done.status.contains(DoneStatus::COUNT) && !done.status.has_failed();
        if is_counted && CHANGES.contains(&done.command) {
            self.rows_changed.push(done.row_count);
        }
    }

    /// Reads, without keeping rows, up to the next columns or the end.
    fn find_result(&mut self) -> Result<(), Error> {
        loop {
            match self.session.next_token(DOING)? {
                Some(Token::ColMetaData(Some(columns))) => {
                    self.state = State::Next(columns);
                    return Ok(());
                }
                Some(Token::Row | Token::NbcRow) => self.session.skip_rows(DOING)?,
                Some(Token::Done(done) | Token::DoneInProc(done) | Token::DoneProc(done)) => {
                    self.note_changed(done);
                }
                Some(_) => {}
                None => {
                    self.state = State::End;
                    return self.session.take_errors().map_or(Ok(()), |error| Err(error.into()));
                }
            }
        }
    }
}

enum Step {
    More,
    Batch(RecordBatch),
    Over,
}

impl fmt::Debug for ResultStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultStream")
            .field("schema", &self.schema)
            .field("batch_rows", &self.batch_rows)
            .finish_non_exhaustive()
    }
}

impl Iterator for ResultStream<'_> {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Drop for ResultStream<'_> {
    fn drop(&mut self) {
        // A failure marks the session as broken, and the next request says so.
        let _ = self.session.cancel_answer();
    }
}
