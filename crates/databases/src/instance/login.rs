//! Settings of a login.

use std::net::SocketAddr;

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
    /// Connection of the client.
    pub client: ClientConnection,
}

/// A client's connection and library, as LOGIN7 and the socket tell them.
#[derive(Debug, Clone)]
pub struct ClientConnection {
    /// Process id of the client.
    pub process_id: Option<u32>,
    /// Major version of TDS, as `client_version` shows it.
    pub tds_major: Option<u8>,
    /// TDS version, as `protocol_version` shows it.
    pub protocol_version: u32,
    /// Name of the client library.
    pub library: Option<String>,
    /// Proof of the login: SQL, KERBEROS or AAD.
    pub auth_scheme: &'static str,
    /// Packet size as agreed, in bytes.
    pub packet_size_bytes: u32,
    /// Language that the client asked for.
    pub language: &'static query::Language,
    /// The client's end and the server's; none for sessions without a socket.
    pub ends: Option<(SocketAddr, SocketAddr)>,
}

impl Default for ClientConnection {
    /// Returns the connection of a session of the server's own, which has no socket.
    fn default() -> Self {
        ClientConnection {
            process_id: None,
            tds_major: None,
            protocol_version: 0x7400_0004,
            library: None,
            auth_scheme: "SQL",
            packet_size_bytes: 4096,
            language: query::Language::ENGLISH,
            ends: None,
        }
    }
}
