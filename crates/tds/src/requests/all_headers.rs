//! ALL_HEADERS (MS-TDS 2.2.5.3): in front of SQL batches, RPCs and transaction requests since 7.2.

use crate::codec::{DecodeError, Reader, Writer};

const QUERY_NOTIFICATION: u16 = 1;
const TRANSACTION_DESCRIPTOR: u16 = 2;
const TRACE_ACTIVITY: u16 = 3;

/// The headers of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllHeaders {
    /// The transaction that the request belongs to, as the server named it when it began; 0 is autocommit.
    pub transaction_descriptor: u64,
    /// Requests under way on the connection, this one included; 1 without MARS.
    pub outstanding_requests: u32,
    /// Identity of the request in the client's traces.
    pub trace_activity: Option<TraceActivity>,
    /// Data of a query notification header, unchanged.
    pub query_notification: Option<Vec<u8>>,
}

/// The trace activity header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceActivity {
    /// GUID of the activity.
    pub activity_id: [u8; 16],
    /// Number of the request in the activity.
    pub sequence: u32,
}

impl Default for AllHeaders {
    fn default() -> Self {
        Self::in_transaction(0)
    }
}

impl AllHeaders {
    /// Makes the headers of a request in a transaction, or in autocommit mode if the descriptor is 0.
    pub fn in_transaction(transaction_descriptor: u64) -> Self {
        Self {
            transaction_descriptor,
            outstanding_requests: 1,
            trace_activity: None,
            query_notification: None,
        }
    }

    /// Writes the headers.
    pub fn encode(&self, w: &mut Writer) {
        let total = w.begin_u32();
        if let Some(data) = &self.query_notification {
            let header = w.begin_u32();
            w.u16(QUERY_NOTIFICATION);
            w.bytes(data);
            w.end_u32_inclusive(header, "query notification header");
        }
        let header = w.begin_u32();
        w.u16(TRANSACTION_DESCRIPTOR);
        w.u64(self.transaction_descriptor);
        w.u32(self.outstanding_requests);
        w.end_u32_inclusive(header, "transaction descriptor header");
        if let Some(TraceActivity { activity_id, sequence }) = &self.trace_activity {
            let header = w.begin_u32();
            w.u16(TRACE_ACTIVITY);
            w.bytes(activity_id);
            w.u32(*sequence);
            w.end_u32_inclusive(header, "trace activity header");
        }
        w.end_u32_inclusive(total, "ALL_HEADERS");
    }

    /// Reads the headers. A missing transaction descriptor is autocommit; headers of unknown type are skipped.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut all = sized(r, "ALL_HEADERS")?;
        let mut headers = Self::default();
        while !all.is_empty() {
            let mut header = sized(&mut all, "ALL_HEADERS header")?;
            match header.u16("ALL_HEADERS header type")? {
                QUERY_NOTIFICATION => headers.query_notification = Some(header.rest().to_vec()),
                TRANSACTION_DESCRIPTOR => {
                    headers.transaction_descriptor = header.u64("transaction descriptor")?;
                    headers.outstanding_requests = header.u32("outstanding request count")?;
                }
                TRACE_ACTIVITY => {
                    headers.trace_activity = Some(TraceActivity {
                        activity_id: header.array("trace activity id")?,
                        sequence: header.u32("trace activity sequence")?,
                    });
                }
                _ => {
                    header.rest();
                }
            }
            header.finish("ALL_HEADERS header")?;
        }
        Ok(headers)
    }
}

/// Reads the content of a structure whose four-byte length counts itself.
fn sized<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<Reader<'a>, DecodeError> {
    let offset = r.position();
    let length = r.u32(field)? as usize;
    let content = length
        .checked_sub(4)
        .ok_or_else(|| DecodeError::invalid(field, offset, "the length does not cover itself"))?;
    r.sub(content, field)
}
