//! Settings of a login.

/// User, program and database of a login.
#[derive(Debug, Clone)]
pub struct LoginSettings {
    /// Database asked for; empty for `master`.
    pub database: String,
    /// Name of the login.
    pub user: String,
    /// Name that the application gave at the login.
    pub application: String,
    /// Client's host name.
    pub host: String,
    /// Id of the session (SPID).
    pub spid: u16,
    /// True if the client asked for the ODBC defaults of SET options (MS-TDS 2.2.6.4, fODBC).
    pub ansi_defaults: bool,
    /// True if the client's connection is encrypted.
    pub is_encrypted: bool,
}
