//! SESSIONSTATE (MS-TDS 2.2.7.21): state that a client needs to resume a broken session.

use crate::codec::{DecodeError, Reader, Writer};

/// The SESSIONSTATE token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// Number of the change, to be repeated when the session is resumed.
    pub sequence: u32,
    /// True if the session can be resumed in this state.
    pub recoverable: bool,
    /// Number and data of every piece of state that changed.
    pub entries: Vec<(u8, Vec<u8>)>,
}

/// A length byte that says that four length bytes follow.
const LONG_LENGTH: u8 = 0xFF;

impl SessionState {
    /// Decodes what follows the token's length.
    pub(crate) fn decode(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let sequence = r.u32("session state sequence")?;
        let recoverable = r.u8("session state status")? & 1 != 0;
        let mut entries = Vec::new();
        while !r.is_empty() {
            let id = r.u8("session state id")?;
            let length = match r.u8("session state length")? {
                LONG_LENGTH => r.u32("session state length")? as usize,
                short => usize::from(short),
            };
            entries.push((id, r.take(length, "session state data")?.to_vec()));
        }
        Ok(Self { sequence, recoverable, entries })
    }

    /// Writes what follows the token byte, its length included.
    pub(crate) fn encode(&self, w: &mut Writer) {
        let mark = w.begin_u32();
        w.u32(self.sequence);
        w.u8(u8::from(self.recoverable));
        for (id, data) in &self.entries {
            w.u8(*id);
            match u8::try_from(data.len()) {
                Ok(length) if length != LONG_LENGTH => w.u8(length),
                _ => {
                    w.u8(LONG_LENGTH);
                    let length = w.length_u32(data.len(), "session state length");
                    w.u32(length);
                }
            }
            w.bytes(data);
        }
        w.end_u32(mark, "session state");
    }
}
