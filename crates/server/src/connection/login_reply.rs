//! The tokens that answer LOGIN7, in the order that real servers send them.

use executor::session::Session;
use query::Language;
use tds::done::{Done, DoneStatus};
use tds::env_change::{EnvChange, TextChange};
use tds::feature::{FeatureAck, FeatureRequest};
use tds::login::{Login7, option_flags2};
use tds::packet::PACKET_SIZE_INITIAL_BYTES;
use tds::prelogin::ProgramVersion;
use tds::server_message::ServerMessage;
use tds::token::{LoginAck, Token};
use tds::version::TdsVersion;
use tds::{Collation, feature};
use tokio::io::AsyncWrite;
use tsql::SqlError;

use crate::connection::ConnectionError;
use crate::connection::response_writer::ResponseWriter;

/// Version that the server gives itself in PRELOGIN and LOGINACK: drivers derive features from it, and 16 is what
/// SQL Server 2022 sends.
pub(super) const PROGRAM_VERSION: ProgramVersion =
    ProgramVersion { major: 16, minor: 0, build: 1000, sub_build: 0 };

/// The program name of real servers in LOGINACK, which drivers compare. The honest name is in @@VERSION.
const PROGRAM_NAME: &str = "Microsoft SQL Server\0\0";
/// The newest version of the vector feature: the one with half precision.
const VECTOR_VERSION_MAX: u8 = 2;
/// The error of a database that does not exist, or cannot be opened.
pub(super) const NO_DATABASE: i32 = 4060;

/// Returns true if the client asked for ODBC's session defaults.
pub(super) fn asks_for_odbc(login: &Login7) -> bool {
    login.option_flags2 & option_flags2::ODBC != 0
}

/// Returns the language that a client asks for; None if this server does not know it.
pub(super) fn language(name: &str) -> Option<&'static Language> {
    if name.trim().is_empty() { Some(Language::ENGLISH) } else { Language::named(name) }
}

/// Returns the version of vectors that the client and this server know: 2 has both base types, 1 float32 alone, 0 none.
pub(super) fn vector_version(login: &Login7) -> u8 {
    let asked = login.features.iter().find_map(|feature| match feature {
        FeatureRequest::VectorSupport(version) => Some(*version),
        _ => None,
    });
    asked.unwrap_or(0).min(VECTOR_VERSION_MAX)
}

/// Answers an accepted login. A `warning` says why the session is not in the requested database.
pub(super) fn accepted<W: AsyncWrite + Unpin>(
    writer: &mut ResponseWriter<W>,
    login: &Login7,
    version: TdsVersion,
    session: &Session,
    packet_size_bytes: u32,
    warning: Option<SqlError>,
) -> Result<(), ConnectionError> {
    let database = session.database().to_owned();
    let language = session.language();
    let changed_database = format!("Changed database context to '{database}'.");
    let warning = warning.map(|error| Token::Info(notice(error.number, error.state, error.message)));
    let mut tokens: Vec<Token> = warning.into_iter().collect();
    tokens.extend([
        Token::EnvChange(EnvChange::Database(TextChange { new: database, old: "master".to_owned() })),
        Token::Info(notice(5701, 2, changed_database)),
        Token::EnvChange(EnvChange::Collation {
            new: Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.to_bytes()),
            old: None,
        }),
        Token::EnvChange(EnvChange::Language(TextChange { new: language.to_owned(), old: String::new() })),
        Token::Info(notice(5703, 1, format!("Changed language setting to {language}."))),
        Token::LoginAck(LoginAck {
            interface: 1,
            version,
            program_name: PROGRAM_NAME.to_owned(),
            program_version: login_ack_version(),
        }),
        Token::EnvChange(EnvChange::PacketSize {
            new: packet_size_bytes,
            old: PACKET_SIZE_INITIAL_BYTES as u32,
        }),
    ]);
    // UTF-8 collations and vectors can be stored; nothing else that clients offer is acknowledged, because each of the
    // other features changes what they expect or send.
    let mut acks = Vec::new();
    // A login with a token got here because the token is good. There is no nonce to sign.
    if login.features.iter().any(|asked| matches!(asked, FeatureRequest::FedAuth(_))) {
        acks.push(FeatureAck { id: feature::feature_id::FED_AUTH, data: Vec::new() });
    }
    if login.features.iter().any(|asked| matches!(asked, FeatureRequest::Utf8Support)) {
        acks.push(FeatureAck { id: feature::feature_id::UTF8_SUPPORT, data: vec![1] });
    }
    match vector_version(login) {
        0 => {}
        version => acks.push(FeatureAck { id: feature::feature_id::VECTOR_SUPPORT, data: vec![version] }),
    }
    if !acks.is_empty() {
        tokens.push(Token::FeatureExtAck(acks));
    }
    tokens.push(Token::Done(Done { status: DoneStatus::FINAL, command: 0, row_count: 0 }));
    writer.tokens(|w| tokens.iter().for_each(|token| token.encode(w, version)))
}

/// Answers a refused login: the reason, if it is one that a client may know, then 18456.
pub(super) fn refused<W: AsyncWrite + Unpin>(
    writer: &mut ResponseWriter<W>,
    version: TdsVersion,
    user: &str,
    reason: Option<SqlError>,
) -> Result<(), ConnectionError> {
    let errors = reason.into_iter().chain([login_failed(user)]);
    let mut tokens: Vec<Token> = errors.map(|error| Token::Error(server_message(error))).collect();
    tokens.push(Token::Done(Done { status: DoneStatus::ERROR, command: 0, row_count: 0 }));
    writer.tokens(|w| tokens.iter().for_each(|token| token.encode(w, version)))
}

/// Makes the error of a refused login.
pub(super) fn login_failed(user: &str) -> SqlError {
    SqlError::new(18456, 14, 1, format!("Login failed for user '{user}'."))
}

/// Answers a login that fails for a reason of the server's. 18456 follows the errors that it follows on a real server.
pub(super) fn failed<W: AsyncWrite + Unpin>(
    writer: &mut ResponseWriter<W>,
    version: TdsVersion,
    user: &str,
    error: SqlError,
) -> Result<(), ConnectionError> {
    if matches!(error.number, NO_DATABASE | 18456) {
        return refused(writer, version, user, Some(error).filter(|error| error.number != 18456));
    }
    let tokens = [
        Token::Error(server_message(error)),
        Token::Done(Done { status: DoneStatus::ERROR, command: 0, row_count: 0 }),
    ];
    writer.tokens(|w| tokens.iter().for_each(|token| token.encode(w, version)))
}

/// Returns the program's version as LOGINACK spells it: major, minor, build in big-endian order.
fn login_ack_version() -> [u8; 4] {
    let [high, low] = PROGRAM_VERSION.build.to_be_bytes();
    [PROGRAM_VERSION.major, PROGRAM_VERSION.minor, high, low]
}

fn notice(number: i32, state: u8, message: String) -> ServerMessage {
    server_message(SqlError::new(number, 0, state, message).at_line(1))
}

fn server_message(error: SqlError) -> ServerMessage {
    ServerMessage {
        number: error.number,
        state: error.state,
        class: error.class,
        message: error.message,
        server: "bulkwire".to_owned(),
        procedure: String::new(),
        line: error.line.max(1),
    }
}
