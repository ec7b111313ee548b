//! SET options.

use std::collections::BTreeSet;
use std::time::Duration;

use databases::instance::registry::SessionOptions;
use query::{DateFormat, Language};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;

/// The options that change what the server does. Those that it cannot follow are [refused](Settings::switch).
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// QUOTED_IDENTIFIER: `"x"` is a name rather than a text.
    pub quoted_identifier: bool,
    /// ANSI_PADDING: columns defined from now on keep blanks and zeros at the end of their values.
    pub ansi_padding: bool,
    /// ANSI_NULLS: nothing equals NULL.
    pub ansi_nulls: bool,
    /// CONCAT_NULL_YIELDS_NULL: a text joined to NULL is NULL.
    pub concat_null_yields_null: bool,
    /// ANSI_NULL_DFLT_ON: columns declared without NULL or NOT NULL may be NULL.
    pub ansi_null_default_on: bool,
    /// ANSI_NULL_DFLT_OFF: they may not.
    pub ansi_null_default_off: bool,
    /// ARITHABORT and ARITHIGNORE. They are only reported, since under ANSI_WARNINGS they have no effect.
    pub arithmetic: (bool, bool),
    /// NOCOUNT: DML reports no row counts.
    pub no_count: bool,
    /// XACT_ABORT: any error rolls the transaction back.
    pub abort_transaction: bool,
    /// IMPLICIT_TRANSACTIONS: the first statement begins a transaction.
    pub implicit_transactions: bool,
    /// FMTONLY: results have columns and no rows, nothing is changed.
    pub format_only: bool,
    /// SHOWPLAN_TEXT: statements are answered with their plans, and do not run.
    pub show_plan: bool,
    /// NOEXEC and PARSEONLY: nothing runs.
    pub no_execute: bool,
    /// TEXTSIZE: bytes of a `max` or old large value that SELECT returns.
    pub text_size: i32,
    /// LOCK_TIMEOUT in milliseconds; -1 waits for ever.
    pub lock_timeout_ms: i32,
    /// DEADLOCK_PRIORITY: -10 to 10; the session with the lowest one is a deadlock's victim.
    pub deadlock_priority: i8,
    /// ROWCOUNT; 0 is unlimited.
    pub row_count: u64,
    /// The table whose IDENTITY_INSERT is on.
    pub identity_insert: Option<ObjectName>,
    /// The isolation level asked for, as sys.dm_exec_sessions numbers it. Reads are always of committed rows.
    pub isolation_level: u8,
    /// DATEFIRST: 1 for weeks that begin on Monday, to 7 for Sunday.
    pub date_first: u8,
    /// DATEFORMAT: how dates of digits are read.
    pub date_format: DateFormat,
    /// LANGUAGE: names of months and days.
    pub language: &'static Language,
    /// STATISTICS BULK: each load sends a message.
    pub statistics_bulk: bool,
    /// Trace flags that are on for the session.
    pub trace_flags: BTreeSet<i64>,
    /// CONTEXT_INFO: 128 bytes.
    pub context_info: Option<Vec<u8>>,
}

impl Settings {
    /// Returns the time limit of lock waits.
    pub fn lock_timeout(&self) -> Duration {
        u64::try_from(self.lock_timeout_ms).map_or(Duration::MAX, Duration::from_millis)
    }

    /// Returns the options of a new session.
    pub fn new(ansi_defaults: bool) -> Settings {
        Settings {
            // Clients that do not ask for the ODBC defaults turn on what they need. Many write `"x"` for a name
            // without QUOTED_IDENTIFIER, and none in use takes it for a text.
            quoted_identifier: true,
            ansi_padding: true,
            ansi_nulls: true,
            concat_null_yields_null: true,
            ansi_null_default_on: true,
            ansi_null_default_off: false,
            arithmetic: (false, false),
            no_count: false,
            abort_transaction: false,
            implicit_transactions: false,
            format_only: false,
            show_plan: false,
            no_execute: false,
            text_size: if ansi_defaults { i32::MAX } else { 4096 },
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            row_count: 0,
            identity_insert: None,
            isolation_level: 2,
            date_first: 7,
            date_format: DateFormat::default(),
            language: Language::ENGLISH,
            statistics_bulk: false,
            trace_flags: BTreeSet::new(),
            context_info: None,
        }
    }

    /// Returns the bits of `@@OPTIONS`. ANSI_WARNINGS (8) is always on.
    pub fn options(&self) -> i64 {
        let bits = [
            (2, self.implicit_transactions),
            (8, true),
            (16, self.ansi_padding),
            (32, self.ansi_nulls),
            (64, self.arithmetic.0),
            (128, self.arithmetic.1),
            (256, self.quoted_identifier),
            (512, self.no_count),
            (1024, self.ansi_null_default_on),
            (2048, self.ansi_null_default_off),
            (4096, self.concat_null_yields_null),
            (16_384, self.abort_transaction),
        ];
        bits.into_iter().filter(|(_, on)| *on).map(|(bit, _)| bit).sum()
    }

    /// Sets a switch. Errors: 40515 for a setting that the server cannot follow.
    pub fn switch(&mut self, name: &str, on: bool) -> Result<(), SqlError> {
        match (name, on) {
            ("QUOTED_IDENTIFIER", _) => self.quoted_identifier = on,
            ("ANSI_PADDING", _) => self.ansi_padding = on,
            ("ANSI_NULLS", _) => self.ansi_nulls = on,
            ("CONCAT_NULL_YIELDS_NULL", _) => self.concat_null_yields_null = on,
            // Each turns the other off.
            ("ANSI_NULL_DFLT_ON", _) => {
                self.ansi_null_default_on = on;
                self.ansi_null_default_off &= !on;
            }
            ("ANSI_NULL_DFLT_OFF", _) => {
                self.ansi_null_default_off = on;
                self.ansi_null_default_on &= !on;
            }
            ("ARITHABORT", _) => self.arithmetic.0 = on,
            ("ARITHIGNORE", _) => self.arithmetic.1 = on,
            ("NOCOUNT", _) => self.no_count = on,
            ("XACT_ABORT", _) => self.abort_transaction = on,
            ("IMPLICIT_TRANSACTIONS", _) => self.implicit_transactions = on,
            ("FMTONLY", _) => self.format_only = on,
            ("STATISTICS BULK", _) => self.statistics_bulk = on,
            ("NOEXEC" | "PARSEONLY", _) => self.no_execute = on,
            ("SHOWPLAN_TEXT", _) => self.show_plan = on,
            ("SHOWPLAN_ALL" | "SHOWPLAN_XML", true) => {
                return Err(SqlError::unsupported(&format!("SET {name} ON (SHOWPLAN_TEXT shows plans)")));
            }
            // CURSOR_CLOSE_ON_COMMIT, which it sets too, is taken as it is alone.
            ("ANSI_DEFAULTS", true) => {
                self.quoted_identifier = true;
                self.ansi_padding = true;
                self.ansi_nulls = true;
                (self.ansi_null_default_on, self.ansi_null_default_off) = (true, false);
                self.implicit_transactions = true;
            }
            ("ANSI_WARNINGS" | "ANSI_DEFAULTS", false) | ("NUMERIC_ROUNDABORT", true) => {
                let value = if on { "ON" } else { "OFF" };
                return Err(SqlError::unsupported(&format!("SET {name} {value}")));
            }
            ("FORCEPLAN" | "STATISTICS PROFILE" | "STATISTICS XML", true) => {
                return Err(SqlError::unsupported(&format!("SET {name} ON")));
            }
            // These options always hold, or are documented as accepted.
            (
                "ANSI_WARNINGS"
                | "CURSOR_CLOSE_ON_COMMIT"
                | "FORCEPLAN"
                | "NUMERIC_ROUNDABORT"
                | "REMOTE_PROC_TRANSACTIONS"
                | "SHOWPLAN_ALL"
                | "SHOWPLAN_XML"
                | "STATISTICS IO"
                | "STATISTICS PROFILE"
                | "STATISTICS TIME"
                | "STATISTICS XML",
                _,
            ) => {}
            _ => {
                return Err(SqlError::new(195, 15, 5, format!("'{name}' is not a recognized SET option.")));
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Sets DATEFORMAT. Errors: 2741 for an unknown order.
    pub fn set_date_format(&mut self, name: &str) -> Result<(), SqlError> {
        let format = DateFormat::named(name).ok_or_else(|| {
            SqlError::new(2741, 16, 1, format!("SET DATEFORMAT date order '{name}' is invalid."))
        })?;
        self.date_format = format;
        Ok(())
    }

    /// Sets DEADLOCK_PRIORITY: LOW, NORMAL, HIGH, or a number from -10 to 10. Errors: 102.
    pub fn set_deadlock_priority(&mut self, value: &str) -> Result<(), SqlError> {
        let value = value.trim();
        self.deadlock_priority = match value.to_uppercase().as_str() {
            "LOW" => -5,
            "NORMAL" => 0,
            "HIGH" => 5,
            number => match number.parse() {
                Ok(priority @ -10..=10) => priority,
                _ => return Err(errors::SYNTAX.with([value])),
            },
        };
        Ok(())
    }

    /// Returns the options as other sessions see them.
    pub fn shown(&self) -> SessionOptions {
        SessionOptions {
            text_size: self.text_size,
            date_format: self.date_format.name(),
            language: self.language.name,
            date_first: self.date_first,
            quoted_identifier: self.quoted_identifier,
            arithabort: self.arithmetic.0,
            ansi_null_dflt_on: self.ansi_null_default_on,
            ansi_padding: self.ansi_padding,
            ansi_nulls: self.ansi_nulls,
            concat_null_yields_null: self.concat_null_yields_null,
            lock_timeout_ms: self.lock_timeout_ms,
            deadlock_priority: self.deadlock_priority,
        }
    }

    /// Checks SET LANGUAGE. The only language is that of every session, so DATEFORMAT and DATEFIRST stay as they were
    /// set. Errors: 40515 for any other language.
    pub fn set_language(&mut self, name: &str) -> Result<(), SqlError> {
        let language =
            Language::named(name).ok_or_else(|| SqlError::unsupported(&format!("SET LANGUAGE {name}")))?;
        if language != self.language {
            *self = self.clone().speaking(language);
        }
        Ok(())
    }

    /// Returns the options in a language, with its order of dates and first day of the week.
    pub fn speaking(self, language: &'static Language) -> Settings {
        Settings { language, date_format: language.date_format, date_first: language.date_first, ..self }
    }
}
