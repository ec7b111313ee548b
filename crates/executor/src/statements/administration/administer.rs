//! ALTER DATABASE, CHECKPOINT, BACKUP LOG.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use databases::catalogue::same_name;
use databases::instance::message;
use databases::storage::Figures;
use databases::store_error::store_error;
use databases::waiting::waiting;
use introspection::system_views;
use query::convert::display;
use store::page::PAGE_BYTES;
use store::{EngineError, LogBackup, RecoveryModel, ServiceTier, open_private};
use tsql::SqlError;
use tsql::administration::{Administration, BackupLog, DatabaseChange, Recovery};
use tsql::errors;
use tsql::expression::Expr;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{Response, command};
use crate::session::work::directory;
use crate::statements::administration::dbcc;
use crate::statements::administration::kill;
use crate::statements::administration::permission;
use crate::statements::ddl::database;
use crate::statements::ddl::database_file;
use crate::statements::ddl::snapshot_options;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;

/// Names of files into which nothing is written: the log is given up, and no backup is kept.
const NOWHERE: &[&str] = &["nul", "/dev/null"];

/// Runs a statement of an administrator.
pub async fn run(
    session: &mut Session,
    statement: &Administration,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if session.settings.format_only {
        return Ok(());
    }
    let kind = frame.done_kind();
    match statement {
        Administration::AlterDatabase { database, changes } => {
            alter_database(session, database.as_deref(), changes, frame, output).await?;
        }
        Administration::Checkpoint => {
            let database = session.database.clone();
            waiting(|| session.instance.store().checkpoint_of(&database)).map_err(store_error)?;
        }
        Administration::BackupLog(backup) => backup_log(session, backup, frame, output).await?,
        Administration::UpdateStatistics(table) => {
            if session.work.find(table, &session.database)?.is_none()
                && session.work.find_module(table, &session.database)?.is_none()
            {
                let text = format!("Table '{table}' does not exist.");
                return Err(SqlError::new(2706, 16, 6, text));
            }
        }
        Administration::Permission(permission) => permission::run(session, permission)?,
        Administration::ExecuteAs { is_login, name } => {
            if let Some(name) = name {
                let (value, sql_type) = evaluate::value(session, name, frame).await?;
                permission::check_impersonated(session, *is_login, &display(&value, &sql_type))?;
            }
        }
        // The session is always the one principal that there is.
        Administration::Revert => {}
        Administration::Kill { session: id, status_only } => kill::run(session, *id, *status_only)?,
        Administration::Dbcc(dbcc) => return dbcc::run(session, dbcc, frame, output).await,
    }
    session.last.error = 0;
    output.done(kind, command::OTHER, None).await;
    Ok(())
}

async fn alter_database(
    session: &mut Session,
    name: Option<&str>,
    changes: &[DatabaseChange],
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let wanted = name.unwrap_or(&session.database).to_string();
    let directory = directory::of(&session.work)?;
    let Some(database) = directory.database(&wanted) else {
        let text = format!(
            "User does not have permission to alter database '{wanted}', the database does not exist, or the database is not in a state that allows access checks."
        );
        return Err(alter_failed(session, SqlError::new(5011, 14, 9, text), frame, output).await);
    };
    for change in changes {
        let result = match change {
            DatabaseChange::Recovery(model) => set_recovery(session, &database.name, *model),
            DatabaseChange::Service { edition, objective } => {
                set_service(session, &database.name, edition.as_deref(), objective.as_deref())
            }
            DatabaseChange::SnapshotIsolation(allowed) => {
                snapshot_options::allow_snapshot(session, &database.name, *allowed)
            }
            DatabaseChange::ReadCommittedSnapshot(on) => {
                snapshot_options::set_read_committed_snapshot(session, &database.name, *on)
            }
            DatabaseChange::Collation(name) => {
                database::check_collation(&database.name, database.collation.as_deref(), name)
            }
            DatabaseChange::Other => Ok(()),
            DatabaseChange::Refused(error) => Err(error.as_ref().clone()),
            files => database_file::change_files(session, &database.name, files, output).await,
        };
        if let Err(error) = result {
            return Err(alter_failed(session, error, frame, output).await);
        }
    }
    Ok(())
}

/// Sends the reason first, then the statement's own error.
async fn alter_failed(
    session: &mut Session,
    reason: SqlError,
    frame: &Frame,
    output: &mut Output,
) -> SqlError {
    complain(session, reason, frame, output).await;
    SqlError::new(5069, 16, 1, "ALTER DATABASE statement failed.")
}

/// Sends an error that is not the statement's last. In a TRY block the last one alone is caught, and none is sent.
async fn complain(session: &Session, error: SqlError, frame: &Frame, output: &mut Output) {
    if frame.tries == 0 {
        output.send(Response::Error(message::message(error, &session.instance))).await;
    }
}

fn set_recovery(session: &mut Session, database: &str, model: Recovery) -> Result<(), SqlError> {
    if session.work.depth() > 0 {
        let text = "ALTER DATABASE statement not allowed within multi-statement transaction.";
        return Err(SqlError::new(226, 16, 6, text));
    }
    if same_name(database, "tempdb") {
        let text = format!("Option 'RECOVERY' cannot be set in database '{database}'.");
        return Err(SqlError::new(5058, 16, 1, text));
    }
    let model = match model {
        Recovery::Full => RecoveryModel::Full,
        Recovery::BulkLogged => RecoveryModel::BulkLogged,
        Recovery::Simple => RecoveryModel::Simple,
    };
    let store = session
        .instance
        .store()
        .database(database)
        .ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    waiting(|| store.engine().set_recovery_model(model)).map_err(|error| store_error(error.into()))
}

/// Holds a database to a tier's limits, or to none. They are kept for the next start of the server.
fn set_service(
    session: &mut Session,
    database: &str,
    edition: Option<&str>,
    objective: Option<&str>,
) -> Result<(), SqlError> {
    let store = session
        .instance
        .store()
        .database(database)
        .ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    let invalid = |name: &str| {
        SqlError::new(40804, 16, 1, format!("The specified service objective '{name}' is invalid."))
    };
    let tier = match (objective, edition) {
        // The way back to no limits is this server's own.
        (Some(name), _) if name.eq_ignore_ascii_case("None") => None,
        (Some(name), _) => Some(ServiceTier::named(name).ok_or_else(|| invalid(name))?),
        (None, Some(edition)) => Some(least_of(edition).ok_or_else(|| invalid(edition))?),
        (None, None) => return Ok(()),
    };
    if let (Some(tier), Some(edition), Some(name)) = (tier, edition, objective)
        && !edition.eq_ignore_ascii_case(system_views::edition(tier))
    {
        let text = format!("The edition '{edition}' does not support the service objective '{name}'.");
        return Err(SqlError::new(40808, 16, 1, text));
    }
    store.engine().set_resource_limits(tier.map(ServiceTier::limits));
    keep_service(session, database, tier.map(ServiceTier::name))
}

fn keep_service(session: &mut Session, database: &str, objective: Option<&str>) -> Result<(), SqlError> {
    database::change_directory(session, |_, directory| {
        if let Some(database) = directory.database_mut(database) {
            database.service_objective = objective.map(str::to_string);
        }
        Ok(())
    })
}

async fn backup_log(
    session: &mut Session,
    backup: &BackupLog,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let database = text_value(session, &backup.database, frame).await?;
    let file = text_value(session, &backup.file, frame).await?;
    match back_up(session, &database, &file, backup.replaces) {
        Ok((name, backup, elapsed)) => {
            let pages = backup.bytes.div_ceil(PAGE_BYTES as u64);
            let text = format!(
                "Processed {pages} pages for database '{name}', file '{}' on file 1.",
                system_views::log_name(&name)
            );
            answer::inform(session, SqlError::new(4035, 0, 1, text), output).await;
            let seconds = elapsed.as_secs_f64().max(0.001);
            let rate = backup.bytes as f64 / 1_048_576.0 / seconds;
            let text = format!(
                "BACKUP LOG successfully processed {pages} pages in {seconds:.3} seconds ({rate:.3} MB/sec)."
            );
            answer::inform(session, SqlError::new(3014, 0, 1, text), output).await;
            Ok(())
        }
        Err(error) => {
            complain(session, error, frame, output).await;
            Err(SqlError::new(3013, 16, 1, "BACKUP LOG is terminating abnormally."))
        }
    }
}

fn back_up(
    session: &Session,
    database: &str,
    file: &str,
    replaces: bool,
) -> Result<(String, LogBackup, std::time::Duration), SqlError> {
    let directory = directory::of(&session.work)?;
    let Some(database) = directory.database(database) else {
        return Err(errors::UNKNOWN_DATABASE.with([database]));
    };
    if session.work.depth() > 0 {
        let text = "Cannot perform a backup or restore operation within a transaction.";
        return Err(SqlError::new(3021, 16, 0, text));
    }
    let figures = session.instance.store().figures_of(&database.name);
    let figures = figures.filter(|figures| figures.engine().recovery_model() != RecoveryModel::Simple);
    let Some(figures) = figures else { return Err(simple()) };
    let start = Instant::now();
    let result = waiting(|| {
        if NOWHERE.iter().any(|name| file.eq_ignore_ascii_case(name)) {
            return figures.engine().backup_log(&mut io::sink()).map_err(backup_error);
        }
        let path = match (replaces, session.instance.files().existing(file)) {
            (true, Ok(path)) => path,
            (false, Ok(_)) => return Err(device(file, "80(The file exists.)")),
            (_, Err(_)) => {
                let fresh = session.instance.files().fresh(file);
                fresh.map_err(|_| device(file, "5(Access is denied.)"))?
            }
        };
        write_backup(&figures, &path, file)
    });
    Ok((database.name.clone(), result?, start.elapsed()))
}

/// Returns the text of an expression that is a literal or a variable.
async fn text_value(session: &mut Session, expr: &Expr, frame: &Frame) -> Result<String, SqlError> {
    let (value, sql_type) = evaluate::value(session, expr, frame).await?;
    Ok(if value.is_null() { String::new() } else { display(&value, &sql_type) })
}

/// Returns the least tier of an edition.
fn least_of(edition: &str) -> Option<ServiceTier> {
    ServiceTier::ALL.into_iter().find(|tier| {
        let business = *tier == ServiceTier::WebBusiness && edition.eq_ignore_ascii_case("Business");
        business || system_views::edition(*tier).eq_ignore_ascii_case(edition)
    })
}

/// Writes a backup beside its final name, so that no half of one is ever found under it.
fn write_backup(figures: &Figures, path: &Path, name: &str) -> Result<LogBackup, SqlError> {
    let failed =
        |error: io::Error| device(name, &format!("{}({error})", error.raw_os_error().unwrap_or_default()));
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // It has rows, as the files of the database have.
    let result = open_private(&options, partial).map_err(failed).and_then(|file| {
        let mut out = BackupFile { out: BufWriter::new(file), from: partial, to: path, complete: false };
        figures.engine().backup_log(&mut out).map_err(backup_error)
    });
    if result.is_err() {
        // Nothing of a failed backup is of use.
        let _ = std::fs::remove_file(partial);
    }
    result
}

/// A backup being written. The engine flushes it once, at its end, and gives up the log after that: by then the file is on disk
/// under its name.
struct BackupFile<'a> {
    out: BufWriter<File>,
    from: &'a Path,
    to: &'a Path,
    complete: bool,
}

impl Write for BackupFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        if !self.complete {
            std::fs::rename(self.from, self.to)?;
            if let Some(directory) = self.to.parent() {
                File::open(directory)?.sync_all()?;
            }
            self.complete = true;
        }
        Ok(())
    }
}

fn device(name: &str, reason: &str) -> SqlError {
    SqlError::new(3201, 16, 1, format!("Cannot open backup device '{name}'. Operating system error {reason}"))
}

fn simple() -> SqlError {
    SqlError::new(
        4208,
        16,
        1,
        "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.",
    )
}

fn backup_error(error: EngineError) -> SqlError {
    match error {
        EngineError::NoLogBackup => simple(),
        other => store_error(other.into()),
    }
}
