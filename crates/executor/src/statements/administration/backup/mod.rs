//! BACKUP and RESTORE.
//!
//! | Module | Statements |
//! |---|---|
//! | `write` | BACKUP DATABASE, BACKUP LOG |
//! | `calendar` | dates of backups |
//! | `device` | the files that statements name, and the sets in them |
//! | `values` | values of options, and what messages say |
//! | `show` | RESTORE HEADERONLY, FILELISTONLY, LABELONLY |
//! | `restore` | RESTORE DATABASE, RESTORE LOG, RESTORE VERIFYONLY |

mod calendar;
mod device;
mod restore;
mod show;
mod values;
mod write;

use store::page::PAGE_BYTES;
use tsql::SqlError;
use tsql::backup::{Backup, Restore, RestoreKind, Stats};
use tsql::errors;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::statements::evaluation::answer;
use values::{FilePages, Processed, invalid, number};

/// Runs BACKUP.
pub(crate) async fn back_up(
    session: &mut Session,
    backup: &Backup,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let words = if backup.is_log { "BACKUP LOG" } else { "BACKUP DATABASE" };
    let percent = percent(session, backup.options.stats.as_ref(), frame).await?;
    match write::run(session, backup, frame).await {
        Ok(processed) => {
            tell(session, words, &processed, percent, output).await;
            Ok(())
        }
        Err(error) => Err(failed(session, error, words, frame, output).await),
    }
}

/// Runs a statement that begins with RESTORE. Returns the rows of a result.
pub(crate) async fn restore(
    session: &mut Session,
    restore: &Restore,
    frame: &Frame,
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let words = restore.kind.words();
    let percent = percent(session, restore.options.stats.as_ref(), frame).await?;
    let done = match restore.kind {
        RestoreKind::HeaderOnly | RestoreKind::FileListOnly | RestoreKind::LabelOnly => {
            show::run(session, restore, frame, output).await.map(Some)
        }
        RestoreKind::VerifyOnly => match restore::verify(session, restore, frame).await {
            Ok(position) => {
                tell_percents(session, percent, output).await;
                let text = format!("The backup set on file {position} is valid.");
                answer::inform(session, SqlError::new(3262, 0, 1, text), output).await;
                Ok(None)
            }
            Err(error) => Err(error),
        },
        RestoreKind::Database | RestoreKind::Log => match restore::run(session, restore, frame).await {
            Ok(processed) => {
                tell(session, words, &processed, percent, output).await;
                Ok(None)
            }
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(rows) => Ok(rows),
        Err(error) => Err(failed(session, error, words, frame, output).await),
    }
}

/// Sends the reason first, then the statement's own error.
async fn failed(
    session: &mut Session,
    reason: SqlError,
    words: &str,
    frame: &Frame,
    output: &mut Output,
) -> SqlError {
    answer::complain(session, reason, frame, output).await;
    errors::ABNORMAL_END.with([words])
}

/// Sends the messages of a backup or a restore that succeeded.
async fn tell(
    session: &Session,
    words: &str,
    processed: &Processed,
    percent: Option<u64>,
    output: &mut Output,
) {
    tell_percents(session, percent, output).await;
    for note in &processed.notes {
        answer::inform(session, SqlError::new(0, 0, 1, note.clone()), output).await;
    }
    let Processed { database, position, files, elapsed, .. } = processed;
    for FilePages { name, pages } in files {
        let text =
            format!("Processed {pages} pages for database '{database}', file '{name}' on file {position}.");
        answer::inform(session, SqlError::new(4035, 0, 1, text), output).await;
    }
    let pages: u64 = files.iter().map(|file| file.pages).sum();
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = pages as f64 * PAGE_BYTES as f64 / 1_048_576.0 / seconds;
    let text =
        format!("{words} successfully processed {pages} pages in {seconds:.3} seconds ({rate:.3} MB/sec).");
    answer::inform(session, SqlError::new(3014, 0, 1, text), output).await;
}

/// Sends the messages of STATS.
async fn tell_percents(session: &Session, step: Option<u64>, output: &mut Output) {
    let Some(step) = step else { return };
    let mut reached = 0;
    while reached < 100 {
        reached = (reached + step).min(100);
        let text = format!("{reached} percent processed.");
        answer::inform(session, SqlError::new(3211, 0, 1, text), output).await;
    }
}

/// Returns the step of STATS. Without a number it is 10. Errors: 3217 for a step that is no percentage.
async fn percent(
    session: &mut Session,
    stats: Option<&Stats>,
    frame: &Frame,
) -> Result<Option<u64>, SqlError> {
    match stats {
        None => Ok(None),
        Some(Stats(None)) => Ok(Some(10)),
        Some(Stats(Some(expr))) => match number(session, expr, frame).await? {
            step @ 1..=100 => Ok(Some(step as u64)),
            _ => Err(invalid("STATS")),
        },
    }
}
