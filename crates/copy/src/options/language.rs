//! The spelling of options in errors: as the user wrote them.

use super::keys;
use crate::error::CopyError;

/// The place where options were written, which decides how errors spell them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// On a command line: `--batch-rows`.
    #[default]
    Command,
    /// In a package: `batch_rows`.
    Toml,
    /// In a call of Python: `batch_rows`.
    Python,
}

/// Options that keys spell otherwise: the option, and the keys of TOML and of Python.
const OTHERWISE: [(&str, &str, &str); 2] =
    [("transform-query", "transform_sql", "transform"), ("lookup", "lookups", "lookups")];

impl Language {
    /// Returns the name of an option, which is given as the command spells it, without its dashes.
    pub fn option(self, name: &str) -> String {
        let otherwise = OTHERWISE.iter().find(|(option, _, _)| *option == name);
        match (self, otherwise) {
            (Self::Command, _) => format!("--{name}"),
            (Self::Toml, Some((_, key, _))) | (Self::Python, Some((_, _, key))) => (*key).to_owned(),
            (Self::Toml | Self::Python, None) => name.replace('-', "_"),
        }
    }

    /// Returns an error with its options in this language.
    pub fn of_error(self, error: CopyError) -> CopyError {
        match error {
            CopyError::Usage(message) => CopyError::Usage(self.spelled(&message)),
            other => other,
        }
    }

    /// Returns a message with its options in this language. It names them as the command does, such as `--batch-rows`.
    pub fn spelled(self, message: &str) -> String {
        if self == Self::Command || !message.contains("--") {
            return message.to_owned();
        }
        let mut spelled = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(at) = rest.find("--") {
            let (before, option) = rest.split_at(at);
            let bare = option.trim_start_matches('-');
            let (dashes, _) = option.split_at(option.len() - bare.len());
            let end = bare.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(bare.len());
            let (name, after) = bare.split_at(end);
            spelled.push_str(before);
            match keys::is_option(name) {
                true => spelled.push_str(&self.option(name)),
                false => spelled.extend([dashes, name]),
            }
            rest = after;
        }
        spelled + rest
    }
}
