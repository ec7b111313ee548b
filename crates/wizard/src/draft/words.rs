//! The words of the copy, for people: the command as they see it.

use super::end::{Password, Side};
use super::flag::Flag;
use super::{Draft, EndKind, Layout};

impl Draft {
    /// Returns the words behind `bulkwire copy`. Passwords stand in them as `${env:NAME}`.
    pub fn words(&self) -> Vec<String> {
        self.words_with(Password::Variable)
    }

    /// Returns the words with the typed passwords.
    pub fn words_to_run(&self) -> Vec<String> {
        self.words_with(Password::Typed)
    }

    /// Returns the command as people see it, an option a line.
    pub fn command(&self) -> String {
        let words = self.words();
        let (ends, flags) = words.split_at_checked(2).unwrap_or((&words, &[]));
        // Windows' shells go on in another way.
        let between = if cfg!(windows) { " " } else { " \\\n    " };
        let mut text = format!("bulkwire copy {}", shell_line(ends));
        for flag in flags {
            text += between;
            text += &shell_word(flag);
        }
        text
    }

    /// Returns a key that changes when the choices of columns become stale. It covers the source, the options of
    /// reading it, and the columns that wait for it.
    pub fn source_key(&self) -> String {
        let mut words = vec![self.source.endpoint(Side::Source, Password::Variable, true)];
        words.extend(self.source_flags().iter().flat_map(Flag::words));
        words.extend(self.columns.targets.iter().map(|target| target.name.clone()));
        words.join("\n")
    }

    /// Returns a key that changes when a reading of the whole source becomes stale. It covers the options of
    /// reading it, without the types of its columns.
    pub fn text_key(&self) -> String {
        let untyped = self.untyped();
        let mut words = vec![untyped.source.endpoint(Side::Source, Password::Variable, true)];
        words.extend(untyped.source_flags().iter().flat_map(Flag::words));
        words.join("\n")
    }

    /// Returns the draft with all columns of a text file as text.
    pub(super) fn untyped(&self) -> Self {
        let mut untyped = self.clone();
        if let Layout::FixedWidth(fixed) = &mut untyped.text.layout {
            fixed.types.clear();
        }
        untyped
    }

    /// Lists the environment variables that the command needs for passwords.
    pub fn variables(&self) -> Vec<String> {
        let of = |side| match side {
            Side::Source => self.source.password_variable(side),
            Side::Destination => self.destination.password_variable(side),
        };
        [Side::Source, Side::Destination].into_iter().filter_map(of).collect()
    }

    fn words_with(&self, password: Password) -> Vec<String> {
        let is_one = !self.has_several_tables();
        let mut words = vec![
            self.source.endpoint(Side::Source, password, is_one),
            self.destination.endpoint(Side::Destination, password, is_one),
        ];
        words.extend(self.all_flags().iter().flat_map(Flag::words));
        words
    }

    /// Returns the options of the copy, those of several tables first.
    pub(super) fn all_flags(&self) -> Vec<Flag> {
        let mut flags = self.table_flags();
        flags.extend(self.flags());
        flags
    }

    /// Returns the options of the source alone.
    pub(super) fn flags_of_source(&self) -> Vec<Flag> {
        self.source_flags()
    }

    /// Returns the options of one copy.
    pub(super) fn flags(&self) -> Vec<Flag> {
        let mut flags = self.source_flags();
        if !self.has_several_tables() {
            flags
                .extend(self.columns.flags(self.destination.is_server() && !self.columns.targets.is_empty()));
        }
        flags.extend(self.way.flags(self.destination.kind));
        flags
    }

    fn source_flags(&self) -> Vec<Flag> {
        let mut flags = self.source.source_flags();
        if self.has_text() {
            flags.extend(self.text.flags(self.source.file.is_delimited()));
        } else if self.source.kind == EndKind::File && self.source.file.is_workbook() && !self.text.has_header
        {
            flags.push(Flag::switch("no-header"));
        }
        flags
    }

    /// Returns the options of several tables.
    pub(super) fn table_flags(&self) -> Vec<Flag> {
        if !self.has_several_tables() {
            return Vec::new();
        }
        let tables = &self.tables;
        let names = tables.chosen().map(|table| table.name.clone()).collect();
        let mut flags = vec![Flag::list("tables", names)];
        if !tables.to_schema.trim().is_empty() {
            flags.push(Flag::text("to-schema", tables.to_schema.trim()));
        }
        if tables.jobs > 0 {
            flags.push(Flag::number("jobs", tables.jobs.into()));
        }
        if self.is_between_servers() && tables.with_keys {
            flags.push(Flag::switch("with-keys"));
        }
        if tables.stops_at_failure {
            flags.push(Flag::switch("fail-fast"));
        }
        flags
    }

    /// Returns true if rows go into an existing table of SQL Server.
    pub fn fills_a_table(&self) -> bool {
        !self.has_several_tables() && self.destination.is_server() && !self.columns.targets.is_empty()
    }

    /// Returns true if both ends are SQL Server.
    pub fn is_between_servers(&self) -> bool {
        self.source.is_server() && self.destination.is_server()
    }
}

/// Words as a shell takes them.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match word {
        "" => "''".to_owned(),
        word if word.chars().all(is_plain) => word.to_owned(),
        // The name of an option is easier to read outside the quotes.
        word => match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => format!("{flag}={}", quoted_word(value)),
            _ => quoted_word(word),
        },
    }
}

fn quoted_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
