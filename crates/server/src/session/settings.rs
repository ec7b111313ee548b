//! SET options.

use std::time::Duration;

use crate::tsql::ast::ObjectName;

/// The options that change what the server does. All others are accepted and remembered by nobody.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// QUOTED_IDENTIFIER: `"x"` is a name rather than a text.
    pub quoted_identifier: bool,
    /// ANSI_PADDING: columns defined from now on keep blanks and zeros at the end of their values.
    pub ansi_padding: bool,
    /// NOCOUNT: DML reports no row counts.
    pub no_count: bool,
    /// XACT_ABORT: any error rolls the transaction back.
    pub abort_transaction: bool,
    /// IMPLICIT_TRANSACTIONS: the first statement begins a transaction.
    pub implicit_transactions: bool,
    /// FMTONLY: results have columns and no rows, nothing is changed.
    pub format_only: bool,
    /// NOEXEC and PARSEONLY: nothing runs.
    pub no_execute: bool,
    /// TEXTSIZE, reported only.
    pub text_size: i32,
    /// LOCK_TIMEOUT in milliseconds; -1 waits for ever.
    pub lock_timeout_ms: i32,
    /// ROWCOUNT; 0 is unlimited.
    pub row_count: u64,
    /// The table whose IDENTITY_INSERT is on.
    pub identity_insert: Option<ObjectName>,
    /// The isolation level asked for, as sys.dm_exec_sessions numbers it. Reads are always of committed rows.
    pub isolation_level: u8,
    /// DATEFIRST: 1 for weeks that begin on Monday, to 7 for Sunday.
    pub date_first: u8,
    /// STATISTICS BULK: loads are told of.
    pub statistics_bulk: bool,
    /// CONTEXT_INFO: 128 bytes.
    pub context_info: Option<Vec<u8>>,
}

impl Settings {
    /// How long locks are waited for.
    pub fn lock_timeout(&self) -> Duration {
        u64::try_from(self.lock_timeout_ms).map_or(Duration::MAX, Duration::from_millis)
    }

    /// The options of a new session.
    pub fn new(ansi_defaults: bool) -> Settings {
        Settings {
            // Clients that do not ask for the ODBC defaults turn what they need on; those that rely on `"x"` as a text
            // are gone, while many write `"x"` for a name without saying so.
            quoted_identifier: true,
            ansi_padding: true,
            no_count: false,
            abort_transaction: false,
            implicit_transactions: false,
            format_only: false,
            no_execute: false,
            text_size: if ansi_defaults { i32::MAX } else { 4096 },
            lock_timeout_ms: -1,
            row_count: 0,
            identity_insert: None,
            isolation_level: 2,
            date_first: 7,
            statistics_bulk: false,
            context_info: None,
        }
    }
}
