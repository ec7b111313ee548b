//! The files that BACKUP and RESTORE name, and the sets in them.

use std::path::PathBuf;
use std::sync::Arc;

use database_files::{BackupFile, BackupHeader, FileError, LocalFile, Reason};
use databases::instance::restores::ChosenSet;
use databases::waiting::waiting;
use tsql::SqlError;
use tsql::backup::Restore;
use tsql::errors;

use super::values::{number, text};
use crate::session::Session;
use crate::session::frame::Frame;

/// A file of backups: its name in the statement, its path, and its label and headers.
pub(super) struct Device {
    pub name: String,
    pub path: PathBuf,
    pub file: BackupFile,
}

/// The files that RESTORE names, and the number of the set that it means.
pub(super) struct Devices {
    pub all: Vec<Device>,
    /// Number of the set, from 0.
    pub set: usize,
}

/// Makes error 3201 with the reason of the operating system, `2(The system cannot find the file specified.)`.
pub(super) fn unopened(name: &str, reason: &str) -> SqlError {
    errors::BACKUP_DEVICE.with([name, reason])
}

/// Finds an existing file below the server's directories. Errors: 3201.
pub(super) fn existing(session: &Session, name: &str) -> Result<PathBuf, SqlError> {
    session.instance.files().existing(name).map_err(|error| match error.number {
        4860 => unopened(name, "2(The system cannot find the file specified.)"),
        _ => unopened(name, "5(Access is denied.)"),
    })
}

/// Opens a file of backups. Errors: 3201, 3241 if it is none, 3203 with the place and the reason of what is wrong in it.
pub(super) fn open(name: &str, path: PathBuf) -> Result<Device, SqlError> {
    let local = LocalFile::open(&path)
        .map_err(|error| unopened(name, &format!("{}({error})", error.raw_os_error().unwrap_or_default())))?;
    let file = waiting(|| BackupFile::open(Arc::new(local))).map_err(|error| unread(name, &error))?;
    Ok(Device { name: name.to_owned(), path, file })
}

/// Makes the error of a backup that cannot be read.
pub(super) fn unread(name: &str, error: &FileError) -> SqlError {
    match &error.reason {
        Reason::Malformed(_) if error.place.is_empty() => errors::NOT_A_BACKUP.with([name]),
        reason if error.place.is_empty() => errors::BACKUP_READ.with([name, &reason.to_string()]),
        reason => errors::BACKUP_READ.with([name, &format!("{}: {reason}", error.place)]),
    }
}

impl Devices {
    /// Opens the files of RESTORE, and finds its set: the first one unless FILE says another. Errors: those of [`open`], 4038.
    pub(super) async fn of(
        session: &mut Session,
        restore: &Restore,
        frame: &Frame,
    ) -> Result<Self, SqlError> {
        let mut all = Vec::new();
        for file in &restore.files {
            let name = text(session, file, frame).await?;
            let path = existing(session, &name)?;
            all.push(open(&name, path)?);
        }
        let set = match &restore.options.set {
            None => 1,
            Some(expr) => number(session, expr, frame).await?,
        };
        let expected = match &restore.options.media_name {
            None => None,
            Some(expr) => Some(text(session, expr, frame).await?),
        };
        let Some(first) = all.first() else { return Err(SqlError::internal("a RESTORE without files")) };
        if expected.is_some_and(|expected| expected != first.file.label().name) {
            return Err(SqlError::unsupported("MEDIANAME of other media than those of the file"));
        }
        let index = usize::try_from(set).ok().and_then(|set| set.checked_sub(1));
        match index.filter(|index| *index < first.file.headers().len()) {
            Some(set) => Ok(Self { all, set }),
            None => Err(errors::NO_BACKUP_SET.with([&set.to_string(), &first.name])),
        }
    }

    /// Returns the first file.
    pub(super) fn first(&self) -> Result<&Device, SqlError> {
        self.all.first().ok_or_else(|| SqlError::internal("a RESTORE without files"))
    }

    /// Returns the header of the set.
    pub(super) fn header(&self) -> Result<&BackupHeader, SqlError> {
        let header = self.first()?.file.headers().nth(self.set);
        header.ok_or_else(|| SqlError::internal("a backup set that is not there"))
    }

    /// Checks that all stripes of the backup are named, and nothing else. Errors: 3132, 3203.
    pub(super) fn check_stripes(&self) -> Result<(), SqlError> {
        let label = self.first()?.file.label();
        if usize::from(label.families) > self.all.len() {
            let (wanted, given) = (label.families.to_string(), self.all.len().to_string());
            return Err(errors::STRIPES_MISSING.with([&wanted, &given]));
        }
        let mut numbers: Vec<u16> = Vec::new();
        for device in &self.all {
            let own = device.file.label();
            if own.set_id != label.set_id || numbers.contains(&own.family) {
                let reason = "it belongs to another media set than the first file, or is named twice";
                return Err(errors::BACKUP_READ.with([&device.name, reason]));
            }
            numbers.push(own.family);
        }
        Ok(())
    }

    /// Returns the set with its files.
    pub(super) fn chosen(&self) -> ChosenSet {
        ChosenSet { files: self.all.iter().map(|device| device.path.clone()).collect(), set: self.set }
    }
}
