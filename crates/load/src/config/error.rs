//! Errors of connection strings.

/// A connection string that cannot be used. No variant carries the text of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A keyword that is not in the table.
    #[error("unknown keyword \"{keyword}\"{}", nearest.map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default())]
    UnknownKeyword {
        /// The keyword as written.
        keyword: String,
        /// The known keyword that looks most like it.
        nearest: Option<&'static str>,
    },
    /// The text after a secret is no known keyword. The secret most likely holds an unquoted `;` or `&`, so the
    /// text is not repeated here.
    #[error(
        "what follows the {keyword} value (byte {offset}) is not a known keyword; \
         a value that holds ';' must be quoted (\"…\", '…' or {{…}}), and in a URL percent-encoded"
    )]
    AfterSecret {
        /// The keyword of the secret before.
        keyword: &'static str,
        /// Byte offset of the unknown text.
        offset: usize,
    },
    /// Two different values for one meaning.
    #[error("{keyword} is given twice, with different values")]
    Repeated {
        /// The canonical keyword.
        keyword: &'static str,
    },
    /// A URL of another program. Its text is not repeated: a password may stand in it.
    #[error(
        "{scheme}: is the scheme of another program's URL; write mssql://user@host:port/database, or Server=…;Database=…"
    )]
    ForeignUrl {
        /// The text before `://`.
        scheme: String,
    },
    /// The text does not follow the grammar.
    #[error("malformed connection string at byte {offset}: {reason}")]
    Malformed {
        /// Byte offset of the offending text.
        offset: usize,
        /// A description of the mistake.
        reason: &'static str,
    },
    /// A value that its keyword does not take.
    #[error("{keyword}={value}: expected {expected}")]
    InvalidValue {
        /// The canonical keyword.
        keyword: &'static str,
        /// The value as written; never that of a secret.
        value: String,
        /// A description of the accepted values.
        expected: &'static str,
    },
    /// Something necessary is absent.
    #[error("{what} is missing: {hint}")]
    Missing {
        /// The name of the absent setting.
        what: &'static str,
        /// Advice on setting it.
        hint: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("{reason}")]
    Conflict {
        /// The conflicting settings, with advice.
        reason: &'static str,
    },
    /// A setting that other clients know and this one cannot honour.
    #[error("{keyword} is not supported: {reason}")]
    Unsupported {
        /// The canonical keyword.
        keyword: &'static str,
        /// The reason, with advice.
        reason: &'static str,
    },
    /// `${env:NAME}` names a variable that is not set (or not Unicode).
    #[error("environment variable {name} is not set")]
    Environment {
        /// The variable.
        name: String,
    },
}
