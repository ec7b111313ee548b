//! A record batch as one encapsulated Arrow IPC message, checked before it is trusted.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::RecordBatchDecoder;
use arrow::ipc::writer::{IpcWriteOptions, StreamEncoder};
use arrow::ipc::{MessageHeader, MetadataVersion, root_as_message};

/// Alignment of buffers in a message.
const ALIGNMENT: usize = 8;

const CONTINUATION: [u8; 4] = [0xFF; 4];
const PREFIX_LENGTH_BYTES: usize = 8;

/// Encodes batches of one schema; the buffers it returns share memory with the batch.
pub(crate) struct MessageEncoder {
    encoder: StreamEncoder,
}

impl MessageEncoder {
    pub fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        let mut encoder = StreamEncoder::try_new_with_options(schema, options)?;
        // The first call also yields the schema message, which readers have already.
        encoder.encode(&RecordBatch::new_empty(Arc::clone(schema)))?;
        Ok(Self { encoder })
    }

    /// The pieces of the message, to be written one after the other.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Buffer>, ArrowError> {
        self.encoder.encode(&without_the_rest(batch)?)
    }
}

/// The batch with view columns that refer to their own values alone: a slice shares the buffers of its whole batch.
fn without_the_rest(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| -> ArrayRef {
        match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().gc()),
            DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
            _ => Arc::clone(column),
        }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options)
}

impl fmt::Debug for MessageEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageEncoder").finish_non_exhaustive()
    }
}

/// Decodes one message.
///
/// Counts, lengths and offsets of the metadata are checked against the body first: the decoder trusts them.
pub(crate) fn decode_message(bytes: &Buffer, schema: &SchemaRef) -> Result<RecordBatch, MessageError> {
    let prefix = bytes.get(..PREFIX_LENGTH_BYTES).ok_or_else(|| invalid("shorter than its prefix"))?;
    let (continuation, length) = prefix.split_at(4);
    if continuation != CONTINUATION {
        return Err(invalid("no continuation marker"));
    }
    let length = <[u8; 4]>::try_from(length).map(u32::from_le_bytes).unwrap_or(u32::MAX) as usize;
    let body_start = PREFIX_LENGTH_BYTES.saturating_add(length);
    let metadata = bytes
        .get(PREFIX_LENGTH_BYTES..body_start)
        .ok_or_else(|| invalid("metadata longer than the message"))?;
    let message = root_as_message(metadata).map_err(|error| invalid(format!("metadata: {error}")))?;
    if message.header_type() != MessageHeader::RecordBatch {
        return Err(invalid("not a record batch"));
    }
    let batch = message.header_as_record_batch().ok_or_else(|| invalid("no record batch header"))?;
    let body = bytes.slice(body_start);
    check_layout(&batch, schema, body.len())?;
    RecordBatchDecoder::try_new(&body, batch, Arc::clone(schema), &Default::default(), &message.version())
        .and_then(|decoder| decoder.read_record_batch())
        .map_err(|error| MessageError { reason: error.to_string() })
}

/// Why a message was not decoded.
#[derive(Debug)]
pub(crate) struct MessageError {
    pub reason: String,
}

fn invalid(reason: impl Into<String>) -> MessageError {
    MessageError { reason: reason.into() }
}

fn check_layout(
    batch: &arrow::ipc::RecordBatch<'_>,
    schema: &Schema,
    body_bytes: usize,
) -> Result<(), MessageError> {
    let rows = batch.length();
    if rows < 0 {
        return Err(invalid(format!("{rows} rows")));
    }
    if batch.compression().is_some() {
        return Err(invalid("compressed body"));
    }
    let nodes = batch.nodes().ok_or_else(|| invalid("no field nodes"))?;
    if nodes.len() != schema.fields().len() {
        return Err(invalid(format!("{} field nodes, {} columns", nodes.len(), schema.fields().len())));
    }
    for node in nodes {
        if node.length() != rows || !(0..=rows).contains(&node.null_count()) {
            return Err(invalid(format!(
                "field node of {} rows, {} nulls",
                node.length(),
                node.null_count()
            )));
        }
    }
    let buffers = batch.buffers().ok_or_else(|| invalid("no buffers"))?;
    let views: Vec<i64> = batch.variadicBufferCounts().into_iter().flatten().collect();
    if views.len() != schema.fields().iter().filter(|field| is_view(field.data_type())).count() {
        return Err(invalid(format!("{} variadic counts", views.len())));
    }
    let mut units = Vec::with_capacity(buffers.len());
    let mut view_counts = views.into_iter();
    for field in schema.fields() {
        units.extend(buffer_units(field.data_type()));
        if is_view(field.data_type()) {
            let count = view_counts.next().and_then(|count| usize::try_from(count).ok());
            let count =
                count.filter(|count| *count <= buffers.len()).ok_or_else(|| invalid("variadic count"))?;
            units.extend(std::iter::repeat_n(1, count));
        }
    }
    if buffers.len() != units.len() {
        return Err(invalid(format!("{} buffers, {} expected", buffers.len(), units.len())));
    }
    for (buffer, unit) in buffers.iter().zip(units) {
        let (offset, length) = (buffer.offset(), buffer.length());
        let end = offset.checked_add(length).and_then(|end| usize::try_from(end).ok());
        if offset < 0 || length < 0 || end.is_none_or(|end| end > body_bytes) {
            return Err(invalid(format!("buffer at {offset}+{length} of {body_bytes}")));
        }
        if length % unit != 0 {
            return Err(invalid(format!("buffer of {length} bytes for values of {unit}")));
        }
    }
    Ok(())
}

/// Buffers of a flat column in an IPC record batch (columnar format, "Recordbatch message"); view columns have further
/// data buffers, counted in the message. None: the type is not kept.
fn buffer_count(data_type: &DataType) -> Option<usize> {
    use DataType::*;
    match data_type {
        Null => Some(0),
        Utf8 | LargeUtf8 | Binary | LargeBinary => Some(3),
        Utf8View | BinaryView | Boolean | FixedSizeBinary(_) => Some(2),
        _ if data_type.is_primitive() => Some(2),
        _ => None,
    }
}

fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// Size of the values in each buffer of a column, in bytes; 1 where any length is good. Arrow asserts that they divide.
fn buffer_units(data_type: &DataType) -> Vec<i64> {
    use DataType::*;
    let value = match data_type {
        Utf8 | Binary => 4,
        LargeUtf8 | LargeBinary => 8,
        Utf8View | BinaryView => 16,
        _ => data_type.primitive_width().and_then(|width| i64::try_from(width).ok()).unwrap_or(1),
    };
    [1, value, 1].into_iter().take(buffer_count(data_type).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests;
