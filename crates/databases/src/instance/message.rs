//! Errors and notices as tokens.

use query::convert;
use tds::Length;
use tds::ServerMessage;
use tds::SqlType;
use tsql::SqlError;

use crate::instance::Instance;
use crate::log;

/// Makes the token's fields of an error or notice.
pub fn message(error: SqlError, instance: &Instance) -> ServerMessage {
    log::origin(&error);
    // Number 0 is PRINT's.
    let limit = if error.number == 0 { PRINT_CHARS_MAX } else { MESSAGE_CHARS_MAX };
    ServerMessage {
        number: error.number,
        state: error.state,
        class: error.class,
        message: cut(error.message, limit),
        server: instance.name().to_string(),
        procedure: error.procedure,
        line: error.line.max(1),
    }
}

/// Cuts `text` to this many UTF-16 units.
pub fn cut(text: String, units: usize) -> String {
    if text.len() <= units {
        return text;
    }
    convert::cut_text(&text, &SqlType::NVarChar { length: Length::Max }, units)
}

/// Ends the text of RAISERROR in dots if it is too long.
pub fn ended(text: String) -> String {
    if text.encode_utf16().count() <= MESSAGE_CHARS_MAX {
        return text;
    }
    cut(text, MESSAGE_CHARS_MAX - 3) + "..."
}

/// Characters of an error's text that are sent: what SQL Server's own messages are cut to.
pub(crate) const MESSAGE_CHARS_MAX: usize = 2047;

/// Characters of a PRINT of varchar, the longest text that a message may have.
pub(crate) const PRINT_CHARS_MAX: usize = 8000;
