//! Reasons why there is no token.

use sign_in::PasswordError;

/// Reason why there is no token. No variant carries a secret, an assertion or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntraError {
    /// A necessary setting is absent or malformed.
    #[error("{0}")]
    Setting(String),
    /// The way of signing in does not exist on this machine. A chain goes on with the next one.
    #[error("{0}")]
    Unavailable(String),
    /// The server names a place that was not allowed, so nothing was sent there.
    #[error(
        "the server names {named:?} as {what}, which is none of Microsoft's and was not allowed; nothing was sent there. If it is right, \
         allow it: {option}"
    )]
    Untrusted {
        /// Role of the named place, such as "the place to sign in".
        what: &'static str,
        /// Name of the place, as the server spells it.
        named: String,
        /// Option that allows the place.
        option: &'static str,
    },
    /// The host did not answer.
    #[error("{host} cannot be asked for a token: {reason}")]
    Unreachable {
        /// Host that was asked.
        host: String,
        /// Failure of the request.
        reason: String,
    },
    /// The answer is a refusal.
    #[error("{host} gave no token: {reason}")]
    Refused {
        /// Host that refused.
        host: String,
        /// Reason in the host's words, or the status of its answer.
        reason: String,
    },
    /// The time for connecting ended before a token came; the last answer, if there was one.
    #[error("no token came within the time for connecting{}", .0.as_ref().map(|last| format!("; the last answer: {last}")).unwrap_or_default())]
    TimedOut(Option<String>),
    /// The caller has given up.
    #[error("interrupted")]
    Interrupted,
    /// The key or certificate of an application cannot be used.
    #[error("the client certificate {file}: {reason}")]
    Certificate {
        /// Path of the file.
        file: String,
        /// Reason why the key or certificate cannot be used.
        reason: String,
    },
    /// The secret cannot be read.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No link of the chain has a token.
    #[error("nothing here gives a token: {}", .0.iter().map(|(link, reason)| format!("{link}: {reason}")).collect::<Vec<_>>().join("; "))]
    Nothing(Vec<(&'static str, String)>),
}
