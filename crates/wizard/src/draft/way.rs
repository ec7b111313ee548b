//! The options of writing rows, and the treatment of bad ones.

use super::EndKind;
use super::flag::Flag;
use crate::errors::Errors;

/// The options of writing rows. Empty texts leave a choice to the plan.
#[derive(Debug, Clone, Default)]
pub struct Way {
    /// append, truncate, replace, upsert or insert-new.
    pub mode: String,
    /// The key's columns, for upsert and insert-new, with commas between them; empty: the primary key.
    pub key: String,
    /// if-missing, always or never.
    pub create: String,
    /// Connections that write.
    pub writers: Writers,
    /// Rows of a transaction.
    pub batch_rows: String,
    /// Rows that may be refused.
    pub max_errors: String,
    /// The file that takes refused rows.
    pub rejects: String,
    /// True if a batch that the server refuses is divided.
    pub bisects: bool,
    /// True if committed rows are recorded, so that a broken copy can be continued.
    pub resumes: bool,
    /// Values that are too long are cut.
    pub truncates_values: bool,
    /// Numbers and times are rounded.
    pub rounds_values: bool,
    /// The source's values of the identity column stay.
    pub keeps_identity: bool,
    /// NULLs stay where a column has a default.
    pub keeps_nulls: bool,
    /// CHECK and FOREIGN KEY constraints are enforced.
    pub checks_constraints: bool,
    /// Triggers fire.
    pub fires_triggers: bool,
    /// Lists and structures are stored as JSON text.
    pub nests_as_json: bool,
    /// Times with a zone become UTC without one, where the column has none.
    pub drops_time_zone: bool,
    /// The format of the file that is written; empty: by its suffix.
    pub to_format: String,
    /// The text between fields of the written file.
    pub to_delimiter: String,
    /// The encoding of the written file.
    pub to_encoding: String,
    /// The text that stands for NULL in the written file.
    pub to_null_text: String,
    /// True if the written file has no header.
    pub has_no_header: bool,
}

/// Connections that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writers {
    /// A single connection.
    #[default]
    One,
    /// As many as make the copy faster.
    Auto,
    /// A fixed number of connections.
    Count(u16),
}

impl Way {
    /// Returns true if the mode goes by a key.
    pub fn needs_key(&self) -> bool {
        matches!(self.mode.as_str(), "upsert" | "insert-new")
    }

    pub(super) fn check(&self, errors: &mut Errors) {
        let is_number = |text: &str| text.trim().is_empty() || text.trim().parse::<u64>().is_ok();
        if !is_number(&self.batch_rows) || self.batch_rows.trim() == "0" {
            errors.add("batch_rows", "Write a number of rows, or leave it to the plan.");
        }
        if !is_number(&self.max_errors) {
            errors.add("max_errors", "Write a number of rows.");
        }
        if matches!(self.writers, Writers::Count(0) | Writers::Count(257..)) {
            errors.add("writers", "Write a number from 1 to 256.");
        }
    }

    /// Returns the options that the destination has.
    pub(super) fn flags(&self, destination: EndKind) -> Vec<Flag> {
        let mut flags = Vec::new();
        let text = |name, value: &str| (!value.trim().is_empty()).then(|| Flag::text(name, value.trim()));
        // A delimiter may be a blank or a tab.
        let exact = |name, value: &str| (!value.is_empty()).then(|| Flag::text(name, value));
        let number = |name, value: &str| value.trim().parse().ok().map(|value| Flag::number(name, value));
        let switch = |name, is_on: bool| is_on.then(|| Flag::switch(name));
        match destination {
            EndKind::File => {
                flags.extend(text("to-format", &self.to_format));
                flags.extend(exact("to-delimiter", &self.to_delimiter));
                flags.extend(text("to-encoding", &self.to_encoding));
                flags.extend(exact("to-null-text", &self.to_null_text));
                flags.extend(switch("to-no-header", self.has_no_header));
            }
            EndKind::Database => {
                flags.extend(text("create", &self.create));
                flags.extend(text("mode", &self.mode));
            }
            EndKind::SqlServer => {
                flags.extend(text("create", &self.create));
                flags.extend(text("mode", &self.mode));
                if self.needs_key() && !self.key.trim().is_empty() {
                    let key = self.key.split(',').map(|name| name.trim().to_owned());
                    flags.push(Flag::list("key", key.filter(|name| !name.is_empty()).collect()));
                }
                match self.writers {
                    Writers::One => {}
                    Writers::Auto => flags.push(Flag::text("writers", "auto")),
                    Writers::Count(count) => flags.push(Flag::number("writers", count.into())),
                }
                flags.extend(number("batch-rows", &self.batch_rows));
                flags.extend(switch("resume", self.resumes));
                flags.extend(switch("keep-identity", self.keeps_identity));
                flags.extend(switch("keep-nulls", self.keeps_nulls));
                flags.extend(switch("check-constraints", self.checks_constraints));
                flags.extend(switch("fire-triggers", self.fires_triggers));
                flags.extend(switch("allow-truncate", self.truncates_values));
                flags.extend(switch("allow-rounding", self.rounds_values));
                flags.extend(switch("nested-as-json", self.nests_as_json));
                flags.extend(switch("drop-time-zone", self.drops_time_zone));
                flags.extend(switch("bisect", self.bisects));
            }
        }
        flags.extend(number("max-errors", &self.max_errors));
        flags.extend(text("rejects", &self.rejects));
        flags
    }
}
