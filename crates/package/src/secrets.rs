//! Secrets: where they may come from, and how one that stands in a text is recognised.

use std::path::Path;

/// Names of settings whose values are secrets, in lower case and without blanks and underscores.
const SECRET_NAMES: [&str; 12] = [
    "password",
    "pwd",
    "passwd",
    "pass",
    "accesstoken",
    "token",
    "secret",
    "clientsecret",
    "apikey",
    "accountkey",
    "sharedaccesskey",
    "privatekey",
];

/// A secret that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No such variable.
    #[error("the environment variable {0} is not set")]
    Unset(String),
    /// No such file.
    #[error("the secret in {file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        reason: String,
    },
}

/// Secrets of so few characters are not hidden: too much else would be.
const HIDDEN_MIN: usize = 4;

/// Secrets that may stand in texts which others write.
#[derive(Debug, Default)]
pub struct KnownSecrets {
    /// Values, and their places; the longest first.
    values: Vec<(String, String)>,
}

impl KnownSecrets {
    /// Adds a secret, and each line of one of several lines.
    pub fn add(&mut self, place: &str, secret: &str) {
        let lines = secret.lines().map(str::trim);
        for value in [secret].into_iter().chain(lines) {
            let is_known = self.values.iter().any(|(known, _)| known == value);
            if value.chars().count() >= HIDDEN_MIN && !is_known {
                self.values.push((value.to_owned(), place.to_owned()));
            }
        }
        self.values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    }

    /// Returns the text with the places of secrets instead of their values.
    pub fn hide(&self, text: String) -> String {
        self.values.iter().fold(text, |text, (value, place)| match text.contains(value) {
            true => text.replace(value, place),
            false => text,
        })
    }
}

/// Returns the value of an environment variable.
///
/// # Errors
/// It is not set, or no text.
pub fn of_environment(name: &str) -> Result<String, SecretError> {
    std::env::var(name).map_err(|_| SecretError::Unset(name.to_owned()))
}

/// Reads a file, without a line break at its end.
///
/// # Errors
/// It cannot be read.
pub fn of_file(folder: &Path, file: &str) -> Result<String, SecretError> {
    let text = std::fs::read_to_string(folder.join(file))
        .map_err(|error| SecretError::Unreadable { file: file.to_owned(), reason: error.to_string() })?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Finds a secret whose value stands in a URL or a connection string, and returns its name. A value with `${}` in it is
/// none.
pub fn inline_secret(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // A password may have an @ itself.
        if let Some((user, _)) = authority.rsplit_once('@')
            && let Some((_, password)) = user.split_once(':')
            && !password.is_empty()
            && !password.contains("${}")
        {
            return Some("password".to_owned());
        }
    }
    text.split([';', '?', '&', '#']).find_map(|setting| {
        let (name, value) = setting.split_once('=')?;
        // `adbc:driver?uri=postgresql://u:p@h` has a URL as a value.
        if value.contains("://") && inline_secret(value).is_some() {
            return Some("password".to_owned());
        }
        let name = name.trim();
        let plain: String = name
            .chars()
            .filter(|c| !matches!(c, ' ' | '_' | '-' | '.'))
            .flat_map(char::to_lowercase)
            .collect();
        let is_secret = SECRET_NAMES.iter().any(|secret| plain == *secret || plain.ends_with(secret));
        let value = value.trim().trim_matches(['{', '}', '"', '\'']);
        // `{${}}` loses its braces above, and is as good.
        (is_secret && !value.is_empty() && !value.starts_with('$')).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{KnownSecrets, inline_secret};

    #[test]
    fn known_secrets_are_hidden() {
        let mut known = KnownSecrets::default();
        known.add("${file:pw.txt}", "geheim");
        known.add("${env:LONG}", "geheimer");
        known.add("${env:SHORT}", "abc");
        known.add("${file:key.pem}", "first line\nsecond line\n");
        let hidden = known.hide("geheim, geheimer, abc, -second line-".to_owned());
        assert_eq!(hidden, "${file:pw.txt}, ${env:LONG}, abc, -${file:key.pem}-");
    }

    #[test]
    fn secrets_are_seen() {
        for text in [
            "mssql://sa:geheim@db/x",
            "mssql://sa:ge@heim@db/x",
            "Server=db;Uid=sa;Pwd=geheim",
            "odbc:Driver={PG};Server=x;PASSWORD = {geheim}",
            "adbc:snowflake?uri=u&adbc.snowflake.sql.client_option.access_token=abc",
            "adbc:postgresql?uri=postgresql://u:geheim@h/d",
            "postgresql://u@h/d?password=geheim",
        ] {
            assert!(inline_secret(text).is_some(), "{text}");
        }
        for text in [
            "mssql://sa@db/x",
            "mssql://sa:${}@db/x",
            "Server=db;Uid=sa;Pwd=${}",
            "Server=db;Uid=sa;Pwd={${}}",
            "orders.csv",
            "sqlite:a.db#t",
        ] {
            assert_eq!(inline_secret(text), None, "{text}");
        }
    }
}
