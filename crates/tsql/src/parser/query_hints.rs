//! OPTION (…) of queries and of statements that change rows.

use super::{Parsed, Parser};
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

/// The hints of OPTION that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct QueryHints {
    /// MAXRECURSION.
    pub(crate) max_recursion: Option<u64>,
    /// MAXDOP.
    pub(crate) max_dop: Option<u16>,
}

/// Hints of words alone. They are about plans: whatever they say, the rows are the same.
const OF_PLANS: &[&str] = &[
    "HASH GROUP",
    "ORDER GROUP",
    "CONCAT UNION",
    "HASH UNION",
    "MERGE UNION",
    "HASH JOIN",
    "LOOP JOIN",
    "MERGE JOIN",
    "EXPAND VIEWS",
    "FORCE ORDER",
    "FORCE EXTERNALPUSHDOWN",
    "DISABLE EXTERNALPUSHDOWN",
    "FORCE SCALEOUTEXECUTION",
    "DISABLE SCALEOUTEXECUTION",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
    "KEEP PLAN",
    "KEEPFIXED PLAN",
    "NO_PERFORMANCE_SPOOL",
    "PARAMETERIZATION SIMPLE",
    "PARAMETERIZATION FORCED",
    "RECOMPILE",
    "ROBUST PLAN",
    "KEEP UNION",
    "OPTIMIZE CORRELATED UNION ALL",
    "BYPASS OPTIMIZER_QUEUE",
    "CHECKCONSTRAINTS PLAN",
    "SHRINKDB PLAN",
    "ALTERCOLUMN PLAN",
];

/// Names that USE HINT takes.
const NAMED: &[&str] = &[
    "ABORT_QUERY_EXECUTION",
    "ALLOW_BATCH_MODE",
    "ASSUME_FIXED_MAX_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FIXED_MIN_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FULL_INDEPENDENCE_FOR_FILTER_ESTIMATES",
    "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS",
    "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES",
    "ASSUME_PARTIAL_CORRELATION_FOR_FILTER_ESTIMATES",
    "DISABLE_BATCH_MODE_ADAPTIVE_JOINS",
    "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_CE_FEEDBACK",
    "DISABLE_DEFERRED_COMPILATION_TV",
    "DISABLE_DOP_FEEDBACK",
    "DISABLE_INTERLEAVED_EXECUTION_TVF",
    "DISABLE_MEMORY_GRANT_FEEDBACK_PERSISTENCE",
    "DISABLE_OPTIMIZED_HALLOWEEN_PROTECTION",
    "DISABLE_OPTIMIZED_NESTED_LOOP",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "DISABLE_OPTIMIZER_ROWGOAL",
    "DISABLE_PARAMETER_SENSITIVE_PLAN_OPTIMIZATION",
    "DISABLE_PARAMETER_SNIFFING",
    "DISABLE_OPTIONAL_PARAMETER_OPTIMIZATION",
    "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_TSQL_SCALAR_UDF_INLINING",
    "DISALLOW_BATCH_MODE",
    "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS",
    "ENABLE_QUERY_OPTIMIZER_HOTFIXES",
    "FORCE_DEFAULT_CARDINALITY_ESTIMATION",
    "FORCE_LEGACY_CARDINALITY_ESTIMATION",
    "QUERY_PLAN_PROFILE",
];

/// Prefix of the names that give a version.
const COMPATIBILITY: &str = "QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_";

impl Parser<'_> {
    /// Parses `OPTION (…)`, or nothing. Errors: 310, 10715.
    pub(crate) fn option_clause(&mut self) -> Parsed<QueryHints> {
        let mut hints = QueryHints::default();
        if !self.accept_word(Keyword::Option) {
            return Ok(hints);
        }
        self.expect_symbol("(")?;
        loop {
            self.query_hint(&mut hints)?;
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(hints)
    }

    fn query_hint(&mut self, hints: &mut QueryHints) -> Parsed<()> {
        if OF_PLANS.iter().any(|words| self.accept_bare(words)) {
            return Ok(());
        }
        let line = self.line();
        if self.accept_bare("MAXRECURSION") {
            let limit = self.unsigned()?;
            if limit > 32_767 {
                let text = format!(
                    "The value {limit} specified for the MAXRECURSION option exceeds the allowed maximum of 32767."
                );
                return Err(SqlError::new(310, 15, 1, text).at_line(line));
            }
            hints.max_recursion = Some(limit);
        } else if self.accept_word(Keyword::Maxdop) {
            // SQL Server's grammar has no larger numbers here.
            let limit = u16::try_from(self.unsigned()?).ok().filter(|limit| *limit <= 32_767);
            hints.max_dop = Some(limit.ok_or_else(|| errors::SYNTAX.with(["MAXDOP"]).at_line(line))?);
        } else if self.accept_bare("FAST") || self.accept_bare("QUERYTRACEON") {
            self.unsigned()?;
        } else if self.accept_bare("MAX_GRANT_PERCENT") || self.accept_bare("MIN_GRANT_PERCENT") {
            self.accept_symbol("=");
            match self.kind() {
                Some(TokenKind::Decimal(_) | TokenKind::Float(_)) => self.advance(),
                _ => drop(self.unsigned()?),
            }
        } else if self.accept_bare("OPTIMIZE FOR") {
            self.optimize_for()?;
        } else if self.accept_bare("USE HINT") {
            self.named_hints()?;
        } else if self.accept_bare("USE PLAN") {
            self.literal_text()?;
        } else if self.accept_bare("LABEL") {
            self.expect_symbol("=")?;
            self.literal_text()?;
        } else if self.accept_bare("TABLE HINT") {
            self.expect_symbol("(")?;
            self.object_name()?;
            while self.accept_symbol(",") {
                self.table_hint(&mut Default::default(), None)?;
            }
            self.expect_symbol(")")?;
        } else {
            return Err(self.unexpected());
        }
        Ok(())
    }

    /// Parses `UNKNOWN`, or `(@v UNKNOWN, @w = 5)`.
    fn optimize_for(&mut self) -> Parsed<()> {
        if self.accept_bare("UNKNOWN") {
            return Ok(());
        }
        self.expect_symbol("(")?;
        loop {
            self.variable()?;
            if !self.accept_bare("UNKNOWN") {
                self.expect_symbol("=")?;
                self.expression()?;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")
    }

    /// Parses `('name', …)`.
    fn named_hints(&mut self) -> Parsed<()> {
        self.expect_symbol("(")?;
        loop {
            let line = self.line();
            let name = self.literal_text()?;
            let upper = name.to_ascii_uppercase();
            if !NAMED.contains(&upper.as_str()) && !upper.starts_with(COMPATIBILITY) {
                let text = format!("'{name}' is not a valid hint.");
                return Err(SqlError::new(10715, 15, 1, text).at_line(line));
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")
    }

    /// Parses a string literal.
    pub(crate) fn literal_text(&mut self) -> Parsed<String> {
        let Some(TokenKind::Text { value, .. }) = self.kind() else { return Err(self.unexpected()) };
        let value = value.clone();
        self.advance();
        Ok(value)
    }
}
