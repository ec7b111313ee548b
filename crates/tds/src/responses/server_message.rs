//! ERROR and INFO (MS-TDS 2.2.7.10 and 2.2.7.13): the server's messages.

use std::fmt;

use crate::codec::{DecodeError, EncodeErrorKind, Reader, Writer};
use crate::version::TdsVersion;

/// An error, warning or PRINT of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerMessage {
    /// Number of the message; 50000 and above are the user's own.
    pub number: i32,
    /// State of the error: a number for the place in the server that raised it.
    pub state: u8,
    /// Severity: up to 10 is information, 11 to 16 are errors that the user can correct, 20 and above ends the connection.
    pub class: u8,
    /// Text of the message.
    pub message: String,
    /// Name of the server.
    pub server: String,
    /// Name of the procedure, if it happened in one.
    pub procedure: String,
    /// Line of the batch or procedure, from 1; 0 if there is none.
    pub line: u32,
}

impl ServerMessage {
    /// Returns true if the connection is dead after this message.
    pub fn is_fatal(&self) -> bool {
        self.class >= 20
    }

    /// Decodes what follows the token's length.
    pub(crate) fn decode(r: &mut Reader<'_>, version: TdsVersion) -> Result<Self, DecodeError> {
        Ok(Self {
            number: r.i32("message number")?,
            state: r.u8("message state")?,
            class: r.u8("message class")?,
            message: r.us_varchar("message text")?,
            server: r.b_varchar("message server name")?,
            procedure: r.b_varchar("message procedure name")?,
            line: match version.has_wide_fields() {
                true => r.u32("message line number")?,
                false => u32::from(r.u16("message line number")?),
            },
        })
    }

    /// Writes what follows the token byte, its length included.
    pub(crate) fn encode(&self, w: &mut Writer, version: TdsVersion) {
        let mark = w.begin_u16();
        w.i32(self.number);
        w.u8(self.state);
        w.u8(self.class);
        w.us_varchar(&self.message, "message text");
        w.b_varchar(&self.server, "message server name");
        w.b_varchar(&self.procedure, "message procedure name");
        if version.has_wide_fields() {
            w.u32(self.line);
        } else {
            match u16::try_from(self.line) {
                Ok(line) => w.u16(line),
                Err(_) => w.fail(
                    "message line number",
                    EncodeErrorKind::TooLong { length: self.line as usize, limit: usize::from(u16::MAX) },
                ),
            }
        }
        w.end_u16(mark, "message");
    }
}

impl fmt::Display for ServerMessage {
    /// Prints the message as SQL Server's own tools do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Msg {}, Level {}, State {}", self.number, self.class, self.state)?;
        if !self.server.is_empty() {
            write!(f, ", Server {}", self.server)?;
        }
        if !self.procedure.is_empty() {
            write!(f, ", Procedure {}", self.procedure)?;
        }
        write!(f, ", Line {}: {}", self.line, self.message)
    }
}
