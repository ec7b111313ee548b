//! Scripts that run before the server takes its first connection (`--init`).

mod batches;
mod encoding;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use tds::ServerMessage;
use tokio::sync::mpsc;
use tsql::SqlError;

use batches::{Batch, SplitError, batches};
use databases::instance::Instance;
use databases::instance::login::{ClientConnection, LoginSettings};
use executor::session::request::Request;
use executor::session::response::Response;
use executor::session::{Cancellation, Session};
use executor::statements::{execute, open_session};

/// An error of an init script, which stops the start.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The file cannot be read.
    #[error("cannot read init script {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The file is neither UTF-8 nor UTF-16 with a byte order mark.
    #[error("init script {} is no text: byte {offset} is not valid {encoding}", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// UTF-8, or UTF-16 if a byte order mark says so.
        encoding: &'static str,
        /// The offset of the first wrong byte, from 0.
        offset: usize,
    },
    /// The file cannot be cut into batches.
    #[error("init script {}, line {line}: {reason}", path.display())]
    Split {
        /// The file.
        path: PathBuf,
        /// Line in the file, from 1.
        line: u32,
        /// A description of the mistake.
        reason: &'static str,
    },
    /// A statement failed.
    #[error(
        "init script {}, line {line} (batch beginning at line {batch_line}): Msg {}, Level {}, State {}: {}",
        path.display(), message.number, message.class, message.state, message.message
    )]
    Statement {
        /// The file.
        path: PathBuf,
        /// Line of the file that the statement is in, from 1.
        line: u32,
        /// Line of the file that its batch begins at, from 1.
        batch_line: u32,
        /// The server's message, as a client would get it.
        message: Box<ServerMessage>,
    },
    /// The script begins a transaction and never ends it, so that its work would be lost.
    #[error(
        "init script {} leaves a transaction open at its end: add COMMIT, or what it did is rolled back",
        path.display()
    )]
    OpenTransaction {
        /// The file.
        path: PathBuf,
    },
}

/// Runs a script batch by batch in a session of its own. `notice` gets what PRINT and RAISERROR say; rows are dropped.
///
/// What earlier batches committed stays when a later one fails.
pub(crate) async fn run(
    path: &Path,
    instance: &Arc<Instance>,
    user: &str,
    mut notice: impl FnMut(&str),
) -> Result<(), InitError> {
    let own = || path.to_path_buf();
    let bytes = fs::read(path).map_err(|source| InitError::Read { path: own(), source })?;
    let text = encoding::decode(&bytes).map_err(|error| InitError::Encoding {
        path: own(),
        encoding: error.encoding,
        offset: error.offset,
    })?;
    let batches = batches(&text).map_err(|SplitError { line, reason }| InitError::Split {
        path: own(),
        line,
        reason,
    })?;
    let login = LoginSettings {
        database: String::new(),
        user: user.to_owned(),
        application: "bulkwire serve --init".to_owned(),
        host: String::new(),
        spid: 1,
        ansi_defaults: true,
        is_encrypted: false,
        client: ClientConnection::default(),
    };
    let failed = |batch_line: u32, message: ServerMessage| InitError::Statement {
        path: own(),
        line: batch_line + message.line.max(1) - 1,
        batch_line,
        message: Box::new(message),
    };
    let mut session = open_session(Arc::clone(instance), login)
        .map_err(|error| failed(1, instance.server_message(error)))?;
    for Batch { text, line, times } in &batches {
        for _ in 0..*times {
            run_batch(&mut session, instance, text, &mut notice)
                .await
                .map_err(|message| failed(*line, *message))?;
        }
    }
    match session.transaction_depth() {
        0 => Ok(()),
        _ => Err(InitError::OpenTransaction { path: own() }),
    }
}

async fn run_batch(
    session: &mut Session,
    instance: &Instance,
    text: &str,
    notice: &mut impl FnMut(&str),
) -> Result<(), Box<ServerMessage>> {
    let (events, mut queue) = mpsc::channel(2);
    let cancellation = Cancellation::new();
    let listening = async {
        while let Some(event) = queue.recv().await {
            match event {
                Response::Error(message) => {
                    cancellation.cancel();
                    return Err(Box::new(message));
                }
                Response::BulkExpected(_) => {
                    cancellation.cancel();
                    let error = SqlError::unsupported("INSERT BULK in an init script");
                    return Err(Box::new(instance.server_message(error)));
                }
                Response::Info(message) if !is_context_notice(message.number) => notice(&message.message),
                _ => {}
            }
        }
        Ok(())
    };
    let running = execute(session, Request::Batch(text.to_owned()), events, cancellation.clone());
    let (heard, ()) = tokio::join!(listening, running);
    heard
}

/// Returns true for 5701 and 5703: the database or the language has changed.
fn is_context_notice(number: i32) -> bool {
    matches!(number, 5701 | 5703)
}
