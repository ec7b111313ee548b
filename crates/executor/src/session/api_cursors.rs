//! API cursors: those of sp_cursoropen and its related procedures.

use std::collections::BTreeMap;

use tsql::SqlError;

use crate::session::cursor::ServerCursor;

/// The API cursors of a session.
#[derive(Default)]
pub(crate) struct ApiCursors {
    pub open: BTreeMap<i32, ServerCursor>,
    pub next: i32,
}

impl ApiCursors {
    /// Closes all cursors.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Returns the handle of an open cursor. Errors: 16909.
    pub fn find(&self, procedure: &str, handle: Option<i64>) -> Result<i32, SqlError> {
        let known = handle.and_then(|handle| i32::try_from(handle).ok());
        known.filter(|handle| self.open.contains_key(handle)).ok_or_else(|| {
            let text = format!(
                "{procedure}: The cursor identifier value provided ({:x}) is not valid.",
                handle.unwrap_or(0)
            );
            SqlError::new(16909, 16, 1, text)
        })
    }

    /// Keeps a cursor under a new handle. Errors: 701 if there are too many.
    pub(crate) fn keep(&mut self, cursor: ServerCursor) -> Result<i32, SqlError> {
        if self.open.len() >= CURSORS_MAX {
            return Err(SqlError::new(
                701,
                17,
                123,
                "There is insufficient system memory in resource pool 'default' to run this query.",
            ));
        }
        let handle = self.next.max(HANDLE_FIRST);
        self.next = handle.wrapping_add(2).max(HANDLE_FIRST);
        self.open.insert(handle, cursor);
        Ok(handle)
    }
}

/// The first handle; they are numbers of this size on other servers too.
pub(crate) const HANDLE_FIRST: i32 = 180_150_003;

/// Open cursors of one session.
pub(crate) const CURSORS_MAX: usize = 4096;
