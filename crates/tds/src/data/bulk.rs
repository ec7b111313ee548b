//! The server's view of a bulk load message (type 07, MS-TDS 2.2.6.1): [`BulkStream`].

use crate::codec::{DecodeError, Reader};
use crate::column::{COLMETADATA, Column, decode_columns};
use crate::row_span::{RowLayout, RowSpan};
use crate::type_info::Direction;

/// Splits the payload of a bulk load message into COLMETADATA, rows and the end.
///
/// The caller keeps the payload bytes and shows what is not yet consumed, as often as it likes:
///
/// ```
/// use bulkwire_tds::bulk::{BulkEvent, BulkStream};
///
/// // One bit column "c1", one row, a 13-byte DONE.
/// let payload = b"\x81\x01\0\0\0\0\0\x05\0\x32\x02c\x001\0\xD1\0\xFD\0\0\0\0\0\0\0\0\0\0\0\0";
/// let mut stream = BulkStream::new();
/// let mut at = 0;
/// loop {
///     match stream.next(&payload[at..], true)? {
///         BulkEvent::Columns { bytes } => at += bytes,
///         BulkEvent::Rows(span) => at += span.bytes, // decode payload[at..at + span.bytes]
///         BulkEvent::MoreNeeded => unreachable!("the whole message is there"),
///         BulkEvent::End => break,
///     }
/// }
/// assert_eq!((stream.rows(), stream.columns().len()), (1, 1));
/// # Ok::<(), bulkwire_tds::bulk::BulkError>(())
/// ```
#[derive(Debug, Default)]
pub struct BulkStream {
    metadata: Option<(Vec<Column>, RowLayout)>,
    rows: u64,
}

/// Item at the head of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkEvent {
    /// COLMETADATA of this many bytes, now in [`BulkStream::columns`].
    Columns {
        /// Number of bytes consumed.
        bytes: usize,
    },
    /// Complete rows, at least one.
    Rows(RowSpan),
    /// No complete item; show more of the message.
    MoreNeeded,
    /// The message is over: nothing, or a DONE, followed the last row.
    End,
}

/// Reason why a bulk load message is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// The message does not start with COLMETADATA (SQL Server's error 4894).
    #[error("the bulk load message does not start with COLMETADATA")]
    MetadataMissing,
    /// The message ended inside a row or inside COLMETADATA (4804).
    #[error("the bulk load message ended inside a row, after {rows} complete rows")]
    EndedInsideRow {
        /// Rows before it.
        rows: u64,
    },
    /// The token behind the rows is neither the end nor a DONE (error 4002).
    #[error("token {token:02X} after {rows} rows of a bulk load")]
    UnexpectedToken {
        /// The token byte.
        token: u8,
        /// Rows before it.
        rows: u64,
    },
    /// The bytes after the last row are no DONE of 9 or 13 bytes (4002).
    #[error("{bytes} bytes after the last row of a bulk load are no DONE")]
    MalformedTail {
        /// Length of the tail.
        bytes: usize,
    },
    /// COLMETADATA or a row is malformed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

const DONE: u8 = 0xFD;
/// Clients end the stream with a DONE of TDS 7.2 (8-byte row count), with one of 7.1 (4-byte), or with none.
const DONE_LENGTHS: [usize; 2] = [13, 9];

impl BulkStream {
    /// Creates a stream at its start.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the columns; empty before [`BulkEvent::Columns`].
    pub fn columns(&self) -> &[Column] {
        self.metadata.as_ref().map_or(&[], |(columns, _)| columns)
    }

    /// Returns the walk over the rows, once the columns are known.
    pub fn layout(&self) -> Option<&RowLayout> {
        self.metadata.as_ref().map(|(_, layout)| layout)
    }

    /// Counts the rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts complete rows that the caller has found by itself, and consumed.
    pub fn pass(&mut self, rows: RowSpan) {
        self.rows += rows.rows;
    }

    /// Finds the item at the head of `bytes`, the payload that is not yet consumed. `message_ended` says that
    /// the packet with the end-of-message bit is in it: that, not the DONE, ends the stream.
    ///
    /// # Errors
    /// See [`BulkError`]. The caller still has to read the message to its end before it answers.
    pub fn next(&mut self, bytes: &[u8], message_ended: bool) -> Result<BulkEvent, BulkError> {
        let Some((_, layout)) = &self.metadata else { return self.start(bytes, message_ended) };
        let span = layout.complete_rows(bytes)?;
        if span.rows > 0 {
            self.rows += span.rows;
            return Ok(BulkEvent::Rows(span));
        }
        match bytes.first() {
            None if message_ended => Ok(BulkEvent::End),
            None => Ok(BulkEvent::MoreNeeded),
            Some(&DONE) if !message_ended => match DONE_LENGTHS.iter().any(|len| bytes.len() <= *len) {
                true => Ok(BulkEvent::MoreNeeded),
                false => Err(BulkError::MalformedTail { bytes: bytes.len() }),
            },
            Some(&DONE) => match DONE_LENGTHS.contains(&bytes.len()) {
                true => Ok(BulkEvent::End),
                false => Err(BulkError::MalformedTail { bytes: bytes.len() }),
            },
            Some(&(crate::row_span::ROW | crate::row_span::NBCROW)) => match message_ended {
                true => Err(BulkError::EndedInsideRow { rows: self.rows }),
                false => Ok(BulkEvent::MoreNeeded),
            },
            Some(token) => Err(BulkError::UnexpectedToken { token: *token, rows: self.rows }),
        }
    }

    fn start(&mut self, bytes: &[u8], message_ended: bool) -> Result<BulkEvent, BulkError> {
        let mut r = Reader::new(bytes);
        match r.u8("COLMETADATA token") {
            Ok(COLMETADATA) => {}
            Err(_) if !message_ended => return Ok(BulkEvent::MoreNeeded),
            _ => return Err(BulkError::MetadataMissing),
        }
        match decode_columns(&mut r, Direction::ClientToServer) {
            Ok(Some(columns)) if !columns.is_empty() => {
                let layout = RowLayout::new(&columns);
                self.metadata = Some((columns, layout));
                Ok(BulkEvent::Columns { bytes: r.position() })
            }
            Ok(_) => Err(BulkError::MetadataMissing),
            Err(error) if error.is_truncated() && !message_ended => Ok(BulkEvent::MoreNeeded),
            Err(error) if error.is_truncated() => Err(BulkError::EndedInsideRow { rows: 0 }),
            Err(error) => Err(error.into()),
        }
    }
}
