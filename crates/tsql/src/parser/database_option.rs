//! ALTER DATABASE … SET, and ALTER DATABASE SCOPED CONFIGURATION: which options there are, and what values each takes.
//!
//! An option that would change what statements do, and does not here, is refused when it runs (40515).

use super::{Parsed, Parser};
use crate::administration::DatabaseChange;
use crate::ast::StatementKind;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// Options that are ON or OFF, and whether ON is refused. They are read and without effect otherwise.
const SWITCHES: &[(&str, bool)] = &[
    ("ANSI_NULL_DEFAULT", false),
    ("ANSI_NULLS", false),
    ("ANSI_PADDING", false),
    ("ANSI_WARNINGS", false),
    ("ARITHABORT", false),
    ("AUTO_CLOSE", false),
    ("AUTO_SHRINK", false),
    ("AUTO_UPDATE_STATISTICS", false),
    ("AUTO_UPDATE_STATISTICS_ASYNC", false),
    ("CONCAT_NULL_YIELDS_NULL", false),
    ("CURSOR_CLOSE_ON_COMMIT", false),
    ("DATE_CORRELATION_OPTIMIZATION", false),
    ("DB_CHAINING", false),
    ("ENCRYPTION", true),
    ("HONOR_BROKER_PRIORITY", false),
    ("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", false),
    ("MIXED_PAGE_ALLOCATION", false),
    ("NUMERIC_ROUNDABORT", true),
    ("QUOTED_IDENTIFIER", false),
    ("RECURSIVE_TRIGGERS", true),
    ("TEMPORAL_HISTORY_RETENTION", false),
    ("TORN_PAGE_DETECTION", false),
    ("TRUSTWORTHY", false),
    ("VARDECIMAL_STORAGE_FORMAT", false),
];

/// Options that are ON or OFF behind an equals sign, and whether ON is refused.
const EQUATED_SWITCHES: &[(&str, bool)] = &[
    ("ACCELERATED_DATABASE_RECOVERY", false),
    ("LEDGER", true),
    ("NESTED_TRIGGERS", false),
    ("OPTIMIZED_LOCKING", false),
    ("TRANSFORM_NOISE_WORDS", false),
];

/// Options of a few words, and the words that are refused.
const WORDS: &[(&str, &[&str], &[&str])] = &[
    ("PAGE_VERIFY", &["CHECKSUM", "TORN_PAGE_DETECTION", "NONE"], &[]),
    ("PARAMETERIZATION", &["SIMPLE", "FORCED"], &[]),
    ("CURSOR_DEFAULT", &["LOCAL", "GLOBAL"], &["LOCAL"]),
    ("DELAYED_DURABILITY =", &["DISABLED", "ALLOWED", "FORCED"], &[]),
];

/// Options without a value, and whether they are refused.
const STATES: &[(&str, bool)] = &[
    ("DISABLE_BROKER", false),
    ("EMERGENCY", true),
    ("ENABLE_BROKER", true),
    ("ERROR_BROKER_CONVERSATIONS", true),
    ("MULTI_USER", false),
    ("NEW_BROKER", true),
    ("OFFLINE", true),
    ("ONLINE", false),
    ("READ_ONLY", true),
    ("READ_WRITE", false),
    ("RESTRICTED_USER", true),
    ("SINGLE_USER", false),
];

/// The words in the parentheses of options that have some.
const PARENTHESISED: &[&str] = &[
    "AUTO_CLEANUP",
    "CAPTURE_POLICY_TYPE",
    "CHANGE_RETENTION",
    "CLEANUP_POLICY",
    "CREATE_INDEX",
    "DATA_FLUSH_INTERVAL_SECONDS",
    "DIRECTORY_NAME",
    "DROP_INDEX",
    "EXECUTION_COUNT",
    "FORCE_LAST_GOOD_PLAN",
    "INCREMENTAL",
    "INTERVAL_LENGTH_MINUTES",
    "MAX_PLANS_PER_QUERY",
    "MAX_STORAGE_SIZE_MB",
    "NON_TRANSACTED_ACCESS",
    "OPERATION_MODE",
    "PERSISTENT_VERSION_STORE_FILEGROUP",
    "QUERY_CAPTURE_MODE",
    "QUERY_CAPTURE_POLICY",
    "SIZE_BASED_CLEANUP_MODE",
    "STALE_CAPTURE_POLICY_THRESHOLD",
    "STALE_QUERY_THRESHOLD_DAYS",
    "TOTAL_COMPILE_CPU_TIME_MS",
    "TOTAL_EXECUTION_CPU_TIME_MS",
    "WAIT_STATS_CAPTURE_MODE",
];

/// The words that they may have as values.
const SETTINGS: &[&str] =
    &["ALL", "AUTO", "CUSTOM", "DEFAULT", "FULL", "NONE", "OFF", "ON", "PRIMARY", "READ_ONLY", "READ_WRITE"];

/// Database-scoped configurations that change what statements do, and the one value that is so here.
const SCOPED_TO_ONE_VALUE: &[(&str, &str)] = &[
    ("GLOBAL_TEMPORARY_TABLE_AUTO_DROP", "ON"),
    ("LEDGER_DIGEST_STORAGE_ENDPOINT", "OFF"),
    ("VERBOSE_TRUNCATION_WARNINGS", "ON"),
];

/// Database-scoped configurations beside MAXDOP. Most are about plans, memory and statistics.
const SCOPED: &[&str] = &[
    "ACCELERATED_PLAN_FORCING",
    "ALLOW_STALE_VECTOR_INDEX",
    "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY",
    "AUTOMATIC_INDEX_COMPACTION",
    "BATCH_MODE_ADAPTIVE_JOINS",
    "BATCH_MODE_MEMORY_GRANT_FEEDBACK",
    "BATCH_MODE_ON_ROWSTORE",
    "CE_FEEDBACK",
    "CE_FEEDBACK_FOR_EXPRESSIONS",
    "DEFERRED_COMPILATION_TV",
    "DOP_FEEDBACK",
    "ELEVATE_ONLINE",
    "ELEVATE_RESUMABLE",
    "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS",
    "FORCE_SHOWPLAN_RUNTIME_PARAMETER_COLLECTION",
    "FULLTEXT_INDEX_VERSION",
    "GLOBAL_TEMPORARY_TABLE_AUTO_DROP",
    "IDENTITY_CACHE",
    "INTERLEAVED_EXECUTION_TVF",
    "ISOLATE_SECURITY_POLICY_CARDINALITY",
    "LAST_QUERY_PLAN_STATS",
    "LEDGER_DIGEST_STORAGE_ENDPOINT",
    "LEGACY_CARDINALITY_ESTIMATION",
    "LIGHTWEIGHT_QUERY_PROFILING",
    "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT",
    "MEMORY_GRANT_FEEDBACK_PERSISTENCE",
    "OPTIMIZED_PLAN_FORCING",
    "OPTIMIZED_SP_EXECUTESQL",
    "OPTIMIZE_FOR_AD_HOC_WORKLOADS",
    "OPTIONAL_PARAMETER_OPTIMIZATION",
    "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION",
    "PARAMETER_SNIFFING",
    "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES",
    "PREVIEW_FEATURES",
    "QUERY_OPTIMIZER_HOTFIXES",
    "READABLE_SECONDARY_TEMPORARY_STATS_AUTO_CREATE",
    "READABLE_SECONDARY_TEMPORARY_STATS_AUTO_UPDATE",
    "ROW_MODE_MEMORY_GRANT_FEEDBACK",
    "TSQL_SCALAR_UDF_INLINING",
    "VERBOSE_TRUNCATION_WARNINGS",
    "XTP_PROCEDURE_EXECUTION_STATISTICS",
    "XTP_QUERY_EXECUTION_STATISTICS",
];

impl Parser<'_> {
    /// Parses an option of ALTER DATABASE … SET.
    pub(super) fn database_option(&mut self) -> Parsed<DatabaseChange> {
        if self.accept_word(Keyword::AllowSnapshotIsolation) {
            return Ok(DatabaseChange::SnapshotIsolation(self.switch()?));
        }
        if self.accept_word(Keyword::ReadCommittedSnapshot) {
            return Ok(DatabaseChange::ReadCommittedSnapshot(self.switch()?));
        }
        if self.accept_word(Keyword::Recovery) {
            return self.recovery_model().map(DatabaseChange::Recovery);
        }
        let start = self.start();
        let refused = self.other_database_option()?;
        let text = format!("ALTER DATABASE … SET {}", self.text_since(start));
        Ok(match refused {
            true => DatabaseChange::Refused(Box::new(SqlError::unsupported(&text).at_line(self.line()))),
            false => DatabaseChange::Other,
        })
    }

    /// Parses any other option, up to its end, and returns true if it is refused.
    fn other_database_option(&mut self) -> Parsed<bool> {
        if let Some((_, refused)) = STATES.iter().find(|(name, _)| self.accept_bare(name)) {
            return Ok(*refused);
        }
        if let Some((_, refused)) = SWITCHES.iter().find(|(name, _)| self.accept_bare(name)) {
            if self.accept_bare("SUSPEND") || self.accept_bare("RESUME") {
                return Ok(true);
            }
            // Some drivers write the sign.
            self.accept_symbol("=");
            return Ok(self.switch()? && *refused);
        }
        if let Some((_, refused)) = EQUATED_SWITCHES.iter().find(|(name, _)| self.accept_bare(name)) {
            self.expect_symbol("=")?;
            let on = self.switch()?;
            if self.is_symbol("(") {
                self.settings_in_parentheses()?;
            }
            return Ok(on && *refused);
        }
        for (name, words, refused) in WORDS {
            let (option, equals) = name.split_once(' ').map_or((*name, false), |(option, _)| (option, true));
            if self.accept_bare(option) {
                if equals {
                    self.expect_symbol("=")?;
                }
                let word = words.iter().find(|word| self.accept_bare(word));
                return word.map(|word| refused.contains(word)).ok_or_else(|| self.unexpected());
            }
        }
        self.long_database_option()
    }

    fn long_database_option(&mut self) -> Parsed<bool> {
        if self.accept_bare("AUTO_CREATE_STATISTICS") {
            if self.switch()? && self.is_symbol("(") {
                self.settings_in_parentheses()?;
            }
            return Ok(false);
        }
        if self.accept_bare("COMPATIBILITY_LEVEL") || self.accept_bare("TWO_DIGIT_YEAR_CUTOFF") {
            self.expect_symbol("=")?;
            return self.unsigned().map(|_| false);
        }
        if self.accept_bare("TARGET_RECOVERY_TIME") {
            self.expect_symbol("=")?;
            self.unsigned()?;
            let known = ["SECONDS", "MINUTES"].iter().any(|unit| self.accept_bare(unit));
            return if known { Ok(false) } else { Err(self.unexpected()) };
        }
        if self.accept_bare("CONTAINMENT") {
            self.expect_symbol("=")?;
            if self.accept_bare("PARTIAL") {
                return Ok(true);
            }
            return self.expect_bare("NONE").map(|()| false);
        }
        if self.accept_bare("DEFAULT_LANGUAGE") || self.accept_bare("DEFAULT_FULLTEXT_LANGUAGE") {
            self.expect_symbol("=")?;
            return self.language().map(|()| false);
        }
        if self.accept_bare("QUERY_STORE") {
            if self.accept_bare("CLEAR") {
                self.accept_word(Keyword::All);
            } else if self.accept_symbol("=") {
                let on = self.switch()?;
                if on && self.is_symbol("(") {
                    self.settings_in_parentheses()?;
                } else if !on && self.accept_symbol("(") {
                    self.expect_bare("FORCED")?;
                    self.expect_symbol(")")?;
                }
            } else if self.is_symbol("(") {
                self.settings_in_parentheses()?;
            } else {
                self.switch()?;
            }
            return Ok(false);
        }
        if self.accept_bare("CHANGE_TRACKING") {
            let on = !self.accept_symbol("=") || self.switch()?;
            if on && self.is_symbol("(") {
                self.settings_in_parentheses()?;
            }
            return Ok(on);
        }
        if self.accept_bare("AUTOMATIC_TUNING") {
            if self.accept_symbol("=") {
                let known = ["AUTO", "INHERIT", "CUSTOM"].iter().any(|word| self.accept_bare(word));
                return if known { Ok(false) } else { Err(self.unexpected()) };
            }
            return self.settings_in_parentheses().map(|()| false);
        }
        if self.accept_bare("FILESTREAM") {
            return self.settings_in_parentheses().map(|()| true);
        }
        self.copied_database_option()
    }

    /// Parses an option about copies of the database, elsewhere or in time.
    fn copied_database_option(&mut self) -> Parsed<bool> {
        for (option, rule) in [
            ("HADR", "database_availability"),
            ("PARTNER", "database_mirroring"),
            ("WITNESS", "database_mirroring"),
            ("REMOTE_DATA_ARCHIVE", "database_stretch"),
        ] {
            if self.is_bare_ahead(0, option) {
                self.refused_clause(rule, &format!("ALTER DATABASE … SET {option}"))?;
                return Ok(true);
            }
        }
        if self.accept_bare("SUPPLEMENTAL_LOGGING") {
            return self.switch();
        }
        if self.accept_bare("PERSISTENT_LOG_BUFFER") {
            return self.clause("log_buffer").map(|()| true);
        }
        if self.accept_bare("SUSPEND_FOR_SNAPSHOT_BACKUP") {
            self.expect_symbol("=")?;
            let on = self.switch()?;
            if self.accept_symbol("(") {
                self.expect_bare("MODE")?;
                self.expect_symbol("=")?;
                self.expect_bare("COPY_ONLY")?;
                self.expect_symbol(")")?;
            }
            return Ok(on);
        }
        Err(self.unexpected())
    }

    /// Parses a language: its number or its name.
    pub(super) fn language(&mut self) -> Parsed<()> {
        match self.kind() {
            Some(TokenKind::Integer(_)) => self.unsigned().map(drop),
            _ => self.setting().map(drop),
        }
    }

    /// Parses `(name = value, name = (name = value), …)`.
    pub(super) fn settings_in_parentheses(&mut self) -> Parsed<()> {
        self.nested(|parser| {
            parser.expect_symbol("(")?;
            loop {
                if !PARENTHESISED.iter().any(|name| parser.accept_bare(name)) {
                    return Err(parser.unexpected());
                }
                parser.expect_symbol("=")?;
                match parser.kind() {
                    Some(TokenKind::Symbol("(")) => parser.settings_in_parentheses()?,
                    Some(TokenKind::Integer(_)) => {
                        parser.unsigned()?;
                        for unit in ["DAYS", "DAY", "HOURS", "HOUR", "MINUTES", "MINUTE"] {
                            if parser.accept_bare(unit) {
                                break;
                            }
                        }
                    }
                    _ => {
                        let is_text =
                            matches!(parser.kind(), Some(TokenKind::Text { .. } | TokenKind::Quoted(_)));
                        let known = SETTINGS.iter().any(|word| parser.accept_bare(word));
                        match known {
                            true => {}
                            false if is_text => drop(parser.setting()?),
                            false => return Err(parser.unexpected()),
                        }
                    }
                }
                if !parser.accept_symbol(",") {
                    break;
                }
            }
            parser.expect_symbol(")")
        })
    }

    /// Parses `SET MAXDOP = n` of ALTER DATABASE SCOPED CONFIGURATION; all other settings are read and without effect.
    pub(super) fn scoped_configuration(&mut self) -> Parsed<StatementKind> {
        if self.accept_bare("CLEAR PROCEDURE_CACHE") {
            if matches!(self.kind(), Some(TokenKind::Binary(_))) {
                self.advance();
            }
            return Ok(StatementKind::Nothing);
        }
        let secondary = self.accept_bare("FOR SECONDARY");
        self.expect_word(Keyword::Set)?;
        if self.accept_word(Keyword::Maxdop) {
            self.expect_symbol("=")?;
            if secondary && self.accept_word(Keyword::Primary) {
                return Ok(StatementKind::Nothing);
            }
            let unexpected = self.unexpected();
            let limit = u16::try_from(self.unsigned()?).ok().filter(|limit| *limit <= 32_767);
            let limit = limit.ok_or(unexpected)?;
            // There is no secondary.
            return Ok(if secondary { StatementKind::Nothing } else { StatementKind::ScopedMaxDop(limit) });
        }
        let Some(name) = SCOPED.iter().find(|name| self.accept_bare(name)) else {
            return Err(self.unexpected());
        };
        self.expect_symbol("=")?;
        let served = SCOPED_TO_ONE_VALUE.iter().find(|(limited, _)| limited == name);
        if let Some((_, value)) = served.filter(|(_, value)| !(secondary || self.is_bare_ahead(0, value))) {
            let what = format!("SCOPED CONFIGURATION SET {name} to another value than {value}");
            self.refuse(&what);
        }
        let word = ["ON", "OFF", "PRIMARY", "WHEN_SUPPORTED", "FAIL_UNSUPPORTED", "AUTO"];
        if !word.iter().any(|word| self.accept_bare(word)) {
            match self.kind() {
                Some(TokenKind::Text { .. }) => self.advance(),
                _ => drop(self.unsigned()?),
            }
        }
        Ok(StatementKind::Nothing)
    }
}
