//! RESTORE DATABASE, RESTORE LOG and RESTORE VERIFYONLY.
//!
//! Backups of the embedded server bring back a database as it was; those of SQL Server are imported table by table. WITH
//! NORECOVERY the backups are checked and remembered, and the statement that ends the restore does all of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use database_files::{BackupHeader, BackupKind, LocalFile, PagedDatabase, ReadAt};
use databases::catalogue::{DatabaseEntry, same_name};
use databases::instance::restores::{ChosenSet, OpenRestore};
use databases::store_error::store_error;
use databases::waiting::waiting;
use store::{EngineError, RecoveryModel, restore_database, restore_log, verify_backup};
use tsql::SqlError;
use tsql::backup::{Restore, RestoreKind};
use tsql::errors;

use super::device::{self, Devices, unread};
use super::values::{FilePages, Processed, engine_error, text};
use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::directory;
use crate::statements::ddl::database;

/// Rows of a batch when tables are read to verify them, and the threads that read.
const VERIFIED_ROWS: usize = 65_536;
const VERIFYING_THREADS: usize = 2;

/// Verifies a backup: checksums of its streams, and all of its pages. Returns the number of the set, from 1.
pub(super) async fn verify(
    session: &mut Session,
    restore: &Restore,
    frame: &Frame,
) -> Result<usize, SqlError> {
    let devices = Devices::of(session, restore, frame).await?;
    devices.check_stripes()?;
    check_checksums(&devices, restore.options.checksum)?;
    waiting(|| verify_set(&devices))?;
    Ok(devices.set + 1)
}

/// Errors: 3187.
fn check_checksums(devices: &Devices, wanted: bool) -> Result<(), SqlError> {
    match wanted && !devices.header()?.has_checksums {
        true => Err(errors::NO_CHECKSUMS.error()),
        false => Ok(()),
    }
}

/// Compares the checksums of a set's streams, if it has any. Errors: 3203.
fn verify_streams(devices: &Devices) -> Result<(), SqlError> {
    for device in &devices.all {
        device.file.verify(devices.set).map_err(|error| unread(&device.name, &error))?;
    }
    Ok(())
}

fn verify_set(devices: &Devices) -> Result<(), SqlError> {
    verify_streams(devices)?;
    let first = devices.first()?;
    if let Some(mut own) = first.file.own(devices.set) {
        return verify_backup(&mut own.content).map_err(engine_error);
    }
    if devices.header()?.kind != BackupKind::Full {
        // What it rests on is not given: its blocks and streams are all that can be checked.
        return Ok(());
    }
    let failed = |error| unread(&first.name, &error);
    let database = PagedDatabase::open(sources(&devices.chosen())?, Some(devices.set + 1)).map_err(failed)?;
    for index in 0..database.tables().len() {
        let unreadable = database.tables().nth(index).is_some_and(|table| table.unreadable.is_some());
        if unreadable {
            continue;
        }
        let reader =
            database.read(index, rows::Form::Exact, VERIFIED_ROWS, VERIFYING_THREADS).map_err(failed)?;
        for batch in reader {
            batch.map_err(failed)?;
        }
    }
    Ok(())
}

fn sources(chosen: &ChosenSet) -> Result<Vec<Arc<dyn ReadAt>>, SqlError> {
    let open = |path: &PathBuf| {
        let name = path.display().to_string();
        let file = LocalFile::open(path).map_err(|error| device::unopened(&name, &error.to_string()))?;
        Ok(Arc::new(file) as Arc<dyn ReadAt>)
    };
    chosen.files.iter().map(open).collect()
}

/// Runs RESTORE DATABASE or RESTORE LOG.
pub(super) async fn run(
    session: &mut Session,
    restore: &Restore,
    frame: &Frame,
) -> Result<Processed, SqlError> {
    let start = Instant::now();
    let name = match &restore.database {
        Some(name) => text(session, name, frame).await?,
        None => return Err(SqlError::internal("a RESTORE without a database")),
    };
    check_database(session, &name)?;
    let instance = Arc::clone(&session.instance);
    let mut processed = Processed {
        database: name.clone(),
        position: 1,
        files: Vec::new(),
        elapsed: start.elapsed(),
        notes: Vec::new(),
    };
    let plan = match restore.files.is_empty() {
        true => match instance.restores().open(&name) {
            Some(open) => open,
            None if directory::of(&session.work)?.database(&name).is_some() => {
                return Err(errors::ALREADY_RECOVERED.error());
            }
            None => return Err(errors::RESTORE_OF_NOTHING.with([&name])),
        },
        false => {
            let devices = Devices::of(session, restore, frame).await?;
            devices.check_stripes()?;
            check_checksums(&devices, restore.options.checksum)?;
            for (logical, _) in &restore.options.moves {
                let logical = text(session, logical, frame).await?;
                let header = devices.header()?;
                if !header.files.iter().any(|file| same_name(&file.name, &logical)) {
                    return Err(errors::NO_LOGICAL_FILE.with([&logical, &header.database]));
                }
            }
            let plan = planned(session, restore, &name, &devices)?;
            (processed.position, processed.files) =
                (devices.set as u16 + 1, restored_pages(devices.header()?));
            waiting(|| match restore.options.no_recovery {
                true => verify_set(&devices),
                false => verify_streams(&devices),
            })?;
            plan
        }
    };
    if restore.options.no_recovery {
        instance.restores().keep(&name, plan);
    } else {
        processed.notes = carry_out(session, &name, &plan)?;
        instance.restores().end(&name);
    }
    processed.elapsed = start.elapsed();
    Ok(processed)
}

/// Errors: 3021, 3102, 3147, 40515 for the databases that every server has.
fn check_database(session: &Session, name: &str) -> Result<(), SqlError> {
    if session.work.depth() > 0 {
        return Err(errors::BACKUP_IN_TRANSACTION.error());
    }
    if same_name(name, "tempdb") {
        return Err(errors::BACKUP_OF_TEMPDB.error());
    }
    if ["master", "model", "msdb"].iter().any(|system| same_name(name, system)) {
        return Err(SqlError::unsupported("RESTORE of a system database"));
    }
    match same_name(&session.database, name) {
        true => Err(errors::RESTORE_OF_OWN.with([name])),
        false => Ok(()),
    }
}

fn restored_pages(header: &BackupHeader) -> Vec<FilePages> {
    let of =
        |file: &database_files::HeaderFile| FilePages { name: file.name.clone(), pages: file.pages.into() };
    header.files.iter().filter(|file| !file.is_log).map(of).collect()
}

/// Returns the backups that are to be restored when the one of the statement is added. Errors: 3117, 3118, 3135, 3136, 3154, 3159.
fn planned(
    session: &Session,
    restore: &Restore,
    name: &str,
    devices: &Devices,
) -> Result<OpenRestore, SqlError> {
    let header = devices.header()?;
    let first = devices.first()?;
    let is_own = first.file.own(devices.set).is_some();
    let fits = match restore.kind {
        RestoreKind::Log => header.kind == BackupKind::Log,
        _ => header.kind != BackupKind::Log,
    };
    if !fits {
        let words = match header.kind {
            BackupKind::Full => "BACKUP DATABASE",
            BackupKind::Differential => "BACKUP DATABASE WITH DIFFERENTIAL",
            BackupKind::Log => "BACKUP LOG",
        };
        return Err(errors::WRONG_BACKUP_KIND.with([&first.name, words]));
    }
    let existing = directory::of(&session.work)?.database(name).cloned();
    if header.kind == BackupKind::Full {
        if let Some(existing) = existing.filter(|_| !restore.options.replace) {
            check_replaced(session, &existing, header)?;
        }
        let base_lsn = header.checkpoint_lsn.number();
        return Ok(OpenRestore { sets: vec![devices.chosen()], is_own, base_lsn });
    }
    let Some(mut open) = session.instance.restores().open(name) else {
        return Err(match existing {
            Some(_) => errors::NOTHING_TO_ROLL.error(),
            None => errors::RESTORE_OF_NOTHING.with([name]),
        });
    };
    match (header.kind, is_own, open.is_own) {
        (BackupKind::Log, true, true) => {}
        (BackupKind::Log, ..) => {
            return Err(SqlError::unsupported("RESTORE LOG of a backup of SQL Server"));
        }
        _ if header.base_lsn.number() != open.base_lsn => return Err(errors::WRONG_BASE.error()),
        // A later differential backup has all that an earlier one has.
        _ => open.sets.truncate(1),
    }
    open.sets.push(devices.chosen());
    Ok(open)
}

/// Refuses to replace a database without REPLACE: another one, or one whose log would be lost.
fn check_replaced(
    session: &Session,
    existing: &DatabaseEntry,
    header: &BackupHeader,
) -> Result<(), SqlError> {
    if !same_name(&existing.name, &header.database) {
        return Err(errors::OTHER_DATABASE.with([&existing.name]));
    }
    let store = session.instance.store().database(&existing.name);
    match store.is_some_and(|store| store.engine().recovery_model() != RecoveryModel::Simple) {
        true => Err(errors::TAIL_OF_LOG.with([&existing.name])),
        false => Ok(()),
    }
}

/// Restores backups into a database, which replaces the one of its name. Returns the lines that say what was done.
fn carry_out(session: &mut Session, name: &str, plan: &OpenRestore) -> Result<Vec<String>, SqlError> {
    match plan.is_own {
        true => restore_own(session, name, plan).map(|()| Vec::new()),
        false => import(session, name, plan).map(|said| vec![said]),
    }
}

fn drop_existing(session: &mut Session, name: &str) -> Result<(), SqlError> {
    match directory::of(&session.work)?.database(name).is_some() {
        true => database::drop_database(session, name, true),
        false => Ok(()),
    }
}

/// Imports the tables of backups of SQL Server.
fn import(session: &mut Session, name: &str, plan: &OpenRestore) -> Result<String, SqlError> {
    let Some(importer) = session.instance.restores().importer().cloned() else {
        return Err(SqlError::unsupported(
            "RESTORE of a backup of SQL Server (in a server without the command line)",
        ));
    };
    let files: Vec<PathBuf> = plan.sets.iter().flat_map(|chosen| chosen.files.iter().cloned()).collect();
    let last = plan.sets.last().map_or(0, |chosen| chosen.set);
    let number = (last > 0 || plan.sets.len() > 1).then_some(last + 1);
    let mut named: Vec<PathBuf> = Vec::new();
    for file in files {
        if !named.contains(&file) {
            named.push(file);
        }
    }
    let shown = named.first().map(|file| file.display().to_string()).unwrap_or_default();
    let failed = |reason: String| errors::BACKUP_READ.with([&shown, &reason]);
    // Before the database of the name is given up, the backups must be readable.
    let sources = sources(&ChosenSet { files: named.clone(), set: last })?;
    waiting(|| PagedDatabase::open(sources, number)).map_err(|error| unread(&shown, &error))?;
    drop_existing(session, name)?;
    waiting(|| importer(name, &named, number)).map_err(failed)
}

/// Brings back a database of this server's backups.
fn restore_own(session: &mut Session, name: &str, plan: &OpenRestore) -> Result<(), SqlError> {
    let opened = plan
        .sets
        .iter()
        .map(|chosen| {
            let path = chosen.files.first().cloned().unwrap_or_default();
            let device = device::open(&path.display().to_string(), path)?;
            let own = device.file.own(chosen.set);
            own.ok_or_else(|| SqlError::internal("a backup that is not this server's any more"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let entry = opened.first().map(|own| own.entry.clone()).unwrap_or_default();
    let entry: DatabaseEntry = serde_json::from_str::<serde_json::Value>(&entry)
        .and_then(|mut entry| serde_json::from_value(entry["database"].take()))
        .map_err(|error| SqlError::internal(format!("the entry in the backup: {error}")))?;
    let exists = directory::of(&session.work)?.database(name).is_some();
    if exists {
        // Before the database of the name is given up, the backups must be whole.
        for chosen in &plan.sets {
            let path = chosen.files.first().cloned().unwrap_or_default();
            let device = device::open(&path.display().to_string(), path)?;
            if let Some(mut own) = device.file.own(chosen.set) {
                waiting(|| verify_backup(&mut own.content)).map_err(engine_error)?;
            }
        }
        drop_existing(session, name)?;
    }
    let databases = session.instance.store().clone();
    let mut contents = opened.into_iter().map(|own| own.content);
    let folder = waiting(|| {
        databases.create_of(name, |volume| {
            let reason = "it has no set".to_owned();
            let mut full = contents.next().ok_or(EngineError::DamagedBackup { reason })?;
            restore_database(volume, &mut full)?;
            for mut log in contents {
                restore_log(volume, &mut log)?;
            }
            Ok(())
        })
    })
    .map_err(store_error)?;
    let instance = Arc::clone(&session.instance);
    let made = waiting(|| databases.adopt(name, &|count| instance.new_object_ids(count)))
        .map_err(store_error)
        .and_then(|()| {
            database::change_directory(session, |_, directory| {
                directory.add_database(name, folder.clone(), entry.collation.clone());
                if let Some(made) = directory.database_mut(name) {
                    let (id, name) = (made.id, made.name.clone());
                    let folder = made.folder.clone();
                    *made = DatabaseEntry { id, name, folder, service_objective: None, ..entry.clone() };
                }
                Ok(())
            })
        });
    waiting(|| match &made {
        Ok(()) => databases.keep(&folder),
        Err(_) => databases.discard(name, &folder),
    });
    made
}
