//! BACKUP DATABASE and BACKUP LOG: a set in a file of backups, around the engine's own copy.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use database_files::{BackupHeader, BackupKind, BackupWriter, HeaderFile, Lsn, MediaLabel};
use databases::catalogue::{DatabaseEntry, PRODUCT_VERSION, same_name};
use databases::storage::{Figures, file_id};
use databases::waiting::waiting;
use introspection::system_views;
use store::page::PAGE_BYTES;
use store::{BackupOutput, EngineError, RecoveryModel, open_private};
use tempfile::NamedTempFile;
use tsql::SqlError;
use tsql::backup::{Backup, Expiry};
use tsql::errors;
use uuid::Uuid;

use super::calendar;
use super::device::{self, unopened};
use super::values::{
    FilePages, Processed, engine_error, invalid, log_file_number, number, option_text, text,
};
use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::directory;

/// Names of files into which nothing is written: the log is given up, and no backup is kept.
const NOWHERE: &[&str] = &["nul", "/dev/null"];
/// The version of databases that this server's product version has.
const DATABASE_VERSION: u16 = 957;
const COMPATIBILITY: u8 = 160;
/// The default collation in the numbers of a header: sort order, locale, flags.
const SORT_ORDER: u8 = 52;
const LOCALE: u32 = 1033;
const COMPARISON_STYLE: u32 = 196_609;
/// Bytes of a file that may grow without a limit, as headers give it.
const UNLIMITED_BYTES: u64 = 0x1fff_ffff_e000;
const SECTOR_BYTES: u32 = 512;

/// The texts and dates of the options.
struct Settings {
    name: String,
    description: String,
    media_name: String,
    media_description: String,
    expires: Option<[u16; 6]>,
}

/// The place where a set goes.
enum Target {
    /// A file that has no other set then.
    New(PathBuf),
    /// Behind the sets of a file, which has this length now.
    Behind(PathBuf, u64),
}

/// Writes a backup.
pub(super) async fn run(
    session: &mut Session,
    backup: &Backup,
    frame: &Frame,
) -> Result<Processed, SqlError> {
    let database = text(session, &backup.database, frame).await?;
    let file = text(session, &backup.file, frame).await?;
    let options = &backup.options;
    let settings = Settings {
        name: option_text(session, options.name.as_ref(), frame).await?,
        description: option_text(session, options.description.as_ref(), frame).await?,
        media_name: option_text(session, options.media_name.as_ref(), frame).await?,
        media_description: option_text(session, options.media_description.as_ref(), frame).await?,
        expires: expiry(session, options.expires.as_ref(), frame).await?,
    };
    let directory = directory::of(&session.work)?;
    let Some(entry) = directory.database(&database) else {
        return Err(errors::UNKNOWN_DATABASE.with([&database]));
    };
    if session.work.depth() > 0 {
        return Err(errors::BACKUP_IN_TRANSACTION.error());
    }
    if same_name(&entry.name, "tempdb") {
        return Err(errors::BACKUP_OF_TEMPDB.error());
    }
    let figures = session.instance.store().figures_of(&entry.name);
    let Some(figures) = figures else { return Err(errors::UNKNOWN_DATABASE.with([&database])) };
    if backup.is_log && figures.engine().recovery_model() == RecoveryModel::Simple {
        return Err(simple());
    }
    let start = Instant::now();
    let notes = RefCell::default();
    let (settings, figures, file) = (&settings, &figures, &*file);
    let made = Making {
        session,
        backup,
        settings,
        entry,
        figures,
        file,
        notes: &notes,
        package: RefCell::default(),
    };
    let (header, pages) = waiting(|| made.run())?;
    let files = match backup.is_log {
        true => vec![FilePages { name: system_views::log_name(&entry.name), pages }],
        false => data_pages(&header, pages),
    };
    Ok(Processed {
        database: entry.name.clone(),
        position: header.position,
        files,
        elapsed: start.elapsed(),
        notes: notes.into_inner(),
    })
}

/// Returns the pages of each data file; that of the only one are those that were written.
fn data_pages(header: &BackupHeader, pages: u64) -> Vec<FilePages> {
    let data: Vec<&HeaderFile> = header.files.iter().filter(|file| !file.is_log).collect();
    let of = |file: &&HeaderFile| FilePages {
        name: file.name.clone(),
        pages: if data.len() == 1 { pages } else { u64::from(file.pages) },
    };
    data.iter().map(of).collect()
}

/// Returns the date until which a set is kept. Errors: 3217 for what is no date or number of days.
async fn expiry(
    session: &mut Session,
    expires: Option<&Expiry>,
    frame: &Frame,
) -> Result<Option<[u16; 6]>, SqlError> {
    match expires {
        None => Ok(None),
        Some(Expiry::Days(days)) => match number(session, days, frame).await? {
            days @ 0..=99_999 => {
                Ok(Some(calendar::moment(query::facts::now() + days * query::datum::TICKS_PER_DAY)))
            }
            _ => Err(invalid("RETAINDAYS")),
        },
        Some(Expiry::Date(date)) => {
            let value = text(session, date, frame).await?;
            let converted = query::convert::convert(
                query::Datum::Text(value),
                &tds::SqlType::NVarChar { length: tds::Length::Max },
                &tds::SqlType::DateTime,
                0,
            );
            match converted {
                Ok(query::Datum::Moment(ticks)) => Ok(Some(calendar::moment(ticks))),
                _ => Err(invalid("EXPIREDATE")),
            }
        }
    }
}

/// A backup that is being made.
struct Making<'a> {
    session: &'a Session,
    backup: &'a Backup,
    settings: &'a Settings,
    entry: &'a DatabaseEntry,
    figures: &'a Figures,
    file: &'a str,
    /// Lines to tell beside the messages.
    notes: &'a RefCell<Vec<String>>,
    /// The package of tables that goes into the backup.
    package: RefCell<Option<NamedTempFile>>,
}

impl Making<'_> {
    /// Makes it. Returns its header and its pages.
    fn run(&self) -> Result<(BackupHeader, u64), SqlError> {
        if NOWHERE.iter().any(|name| self.file.eq_ignore_ascii_case(name)) {
            let pages = self.copy(&mut io::sink())?;
            return Ok((self.header(1), pages));
        }
        let (target, position) = self.target()?;
        let (Target::New(place) | Target::Behind(place, _)) = &target;
        *self.package.borrow_mut() = self.packed(place);
        let header = self.header(position);
        let failed = |error: io::Error| {
            unopened(self.file, &format!("{}({error})", error.raw_os_error().unwrap_or_default()))
        };
        match target {
            Target::New(path) => {
                let mut partial = path.as_os_str().to_owned();
                partial.push(".partial");
                let partial = PathBuf::from(partial);
                let done = self.write_new(&partial, &path, header, &failed);
                if done.is_err() {
                    // Nothing of a failed backup is of use.
                    let _ = fs::remove_file(&partial);
                }
                done
            }
            Target::Behind(path, length) => {
                let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
                let kept = file.try_clone().map_err(failed)?;
                let writer = BackupWriter::append(BufWriter::new(file)).map_err(failed)?;
                let done = self.write(writer, &kept, header, None, &failed);
                if done.is_err() {
                    // The sets before it stay as they were.
                    let _ = kept.set_len(length);
                }
                done
            }
        }
    }

    fn write_new(
        &self,
        partial: &Path,
        path: &Path,
        header: BackupHeader,
        failed: &dyn Fn(io::Error) -> SqlError,
    ) -> Result<(BackupHeader, u64), SqlError> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // It has rows, as the files of the database have.
        let file = open_private(&options, partial).map_err(failed)?;
        let kept = file.try_clone().map_err(failed)?;
        let id = Uuid::new_v4();
        let [a, b, c, d, ..] = *Uuid::new_v4().as_bytes();
        let label = MediaLabel {
            set_id: *id.as_bytes(),
            family_id: u32::from_le_bytes([a, b, c, d]),
            name: self.settings.media_name.clone(),
            description: self.settings.media_description.clone(),
            date: calendar::now(),
            ..MediaLabel::default()
        };
        let writer = BackupWriter::begin(BufWriter::new(file), &label).map_err(failed)?;
        self.write(writer, &kept, header, Some((partial, path)), failed)
    }

    /// Writes the set. `renamed`: the file gets another name once it is complete.
    fn write(
        &self,
        mut writer: BackupWriter<BufWriter<File>>,
        kept: &File,
        header: BackupHeader,
        renamed: Option<(&Path, &Path)>,
        failed: &dyn Fn(io::Error) -> SqlError,
    ) -> Result<(BackupHeader, u64), SqlError> {
        let model = match self.figures.engine().recovery_model() {
            RecoveryModel::Full => "FULL",
            RecoveryModel::BulkLogged => "BULK-LOGGED",
            RecoveryModel::Simple => "SIMPLE",
        };
        let entry = serde_json::json!({ "database": self.entry, "recovery_model": model });
        let entry = entry.to_string();
        let mut package = self.package.borrow_mut();
        let length = package.as_ref().and_then(|package| package.as_file().metadata().ok());
        let package =
            package.as_mut().zip(length).map(|(package, length)| (package as &mut dyn Read, length.len()));
        writer.begin_set(&header, entry.as_bytes(), package).map_err(failed)?;
        let mut out = SetOutput { writer, header, kept, renamed, bytes: 0 };
        let pages = self.copy(&mut out)?;
        Ok((out.header, pages))
    }

    /// Writes the tables of the database into a package beside the backup, which readers of backups open. Without one the backup
    /// restores all the same, and a line says so.
    fn packed(&self, backup: &Path) -> Option<NamedTempFile> {
        let packer = self.session.instance.restores().packer().filter(|_| !self.backup.is_log)?;
        let folder = backup.parent().unwrap_or(backup);
        let made = tempfile::Builder::new().suffix(".bacpac").tempfile_in(folder);
        let made = made.map_err(|error| error.to_string()).and_then(|file| {
            packer(&self.entry.name, file.path())?;
            // The package has taken the place of the file that was made.
            let opened = File::open(file.path()).map_err(|error| error.to_string())?;
            Ok(NamedTempFile::from_parts(opened, file.into_temp_path()))
        });
        let unread = |reason: &String| {
            let line = format!("The tables in this backup are read by RESTORE alone: {reason}");
            self.notes.borrow_mut().push(line);
        };
        made.inspect_err(unread).ok()
    }

    /// Has the engine write its copy. Returns the pages of it.
    fn copy(&self, out: &mut dyn BackupOutput) -> Result<u64, SqlError> {
        let engine = self.figures.engine();
        match self.backup.is_log {
            true => match engine.backup_log(out) {
                Ok(backup) => Ok(backup.bytes.div_ceil(PAGE_BYTES as u64)),
                Err(EngineError::NoLogBackup) => Err(simple()),
                Err(error) => Err(engine_error(error)),
            },
            false => engine.backup_database(out).map(|backup| backup.pages).map_err(engine_error),
        }
    }

    /// Finds the place of the set, and its number. Errors: 3201, 3242, 4030.
    fn target(&self) -> Result<(Target, u16), SqlError> {
        let options = &self.backup.options;
        let Ok(path) = self.session.instance.files().existing(self.file) else {
            let fresh = self.session.instance.files().fresh(self.file);
            let path = fresh.map_err(|_| unopened(self.file, "5(Access is denied.)"))?;
            return Ok((Target::New(path), 1));
        };
        let length = fs::metadata(&path).map(|found| found.len()).unwrap_or_default();
        if length == 0 || options.format {
            return Ok((Target::New(path), 1));
        }
        let device =
            device::open(self.file, path.clone()).map_err(|_| errors::NOT_BACKUP_MEDIA.with([self.file]))?;
        if options.init {
            let now = calendar::now();
            let kept = device.file.headers().filter_map(|header| header.expires).max();
            if let Some([year, month, day, hour, minute, second]) =
                kept.filter(|kept| *kept > now && !options.skip)
            {
                let date = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
                return Err(errors::MEDIA_NOT_EXPIRED.with([self.file, &date]));
            }
            return Ok((Target::New(path), 1));
        }
        if !device.file.headers().all(|header| header.is_own) {
            return Err(SqlError::unsupported("A backup behind those of SQL Server in one file"));
        }
        let name = &device.file.label().name;
        if !self.settings.media_name.is_empty() && *name != self.settings.media_name {
            return Err(SqlError::unsupported("MEDIANAME of other media than those of the file"));
        }
        let position = u16::try_from(device.file.headers().len() + 1).unwrap_or(u16::MAX);
        Ok((Target::Behind(path, length), position))
    }

    /// Describes the set, as far as it is known before the copy.
    fn header(&self, position: u16) -> BackupHeader {
        let options = &self.backup.options;
        let version: Vec<u16> = PRODUCT_VERSION.split('.').filter_map(|part| part.parse().ok()).collect();
        let part = |index: usize| version.get(index).copied().unwrap_or_default();
        let collation = self.entry.collation.clone();
        BackupHeader {
            position,
            kind: if self.backup.is_log { BackupKind::Log } else { BackupKind::Full },
            is_copy_only: options.copy_only,
            name: self.settings.name.clone(),
            description: self.settings.description.clone(),
            expires: self.settings.expires,
            database: self.entry.name.clone(),
            server: self.session.instance.name().to_owned(),
            version: DATABASE_VERSION,
            created: [0; 6],
            begun: calendar::now(),
            finished: calendar::now(),
            size: 0,
            first_lsn: Lsn::default(),
            last_lsn: Lsn::default(),
            checkpoint_lsn: Lsn::default(),
            base_lsn: Lsn::default(),
            fork_lsn: Lsn::default(),
            sort_order: SORT_ORDER,
            locale: LOCALE,
            comparison_style: COMPARISON_STYLE,
            collation: Some(collation.unwrap_or_else(|| tsql::DEFAULT_COLLATION.to_owned())),
            compatibility: COMPATIBILITY,
            vendor: 0,
            server_version: (part(0) as u8, part(1) as u8, part(2)),
            binding_id: [0; 16],
            recovery_fork_id: [0; 16],
            set_id: *Uuid::new_v4().as_bytes(),
            has_checksums: options.checksum,
            recovery_model: None,
            is_own: true,
            is_compressed: options.compression,
            stored_bytes: 0,
            files: self.files(),
        }
    }

    fn files(&self) -> Vec<HeaderFile> {
        let engine = self.figures.engine();
        let mut files: Vec<HeaderFile> = engine
            .data_files()
            .into_iter()
            .map(|file| HeaderFile {
                number: u16::try_from(file_id(file.file)).unwrap_or_default(),
                is_log: false,
                group: file.group,
                group_name: Some(file.group_name.clone()),
                path: self.figures.path_of(&file.name),
                name: file.logical_name,
                size: file.size_pages * PAGE_BYTES as u64,
                size_max: file.limit_pages.map_or(UNLIMITED_BYTES, |pages| pages * PAGE_BYTES as u64),
                pages: match self.backup.is_log {
                    true => 0,
                    false => u32::try_from(file.size_pages - file.free_pages).unwrap_or(u32::MAX),
                },
                sector_bytes: SECTOR_BYTES,
            })
            .collect();
        files.push(HeaderFile {
            number: log_file_number(),
            is_log: true,
            name: system_views::log_name(&self.entry.name),
            path: self.figures.path_of("log-*.vlf"),
            size: engine.log_space().total_bytes,
            size_max: UNLIMITED_BYTES,
            sector_bytes: SECTOR_BYTES,
            ..HeaderFile::default()
        });
        files
    }
}

/// A set being written. The engine completes it once, at its end, and gives up the log after that: by then the file is on disk
/// under its name.
struct SetOutput<'a> {
    writer: BackupWriter<BufWriter<File>>,
    header: BackupHeader,
    kept: &'a File,
    renamed: Option<(&'a Path, &'a Path)>,
    bytes: u64,
}

impl BackupOutput for SetOutput<'_> {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.writer.write_all(bytes)
    }

    fn complete(&mut self, from: store::Lsn, to: store::Lsn) -> io::Result<()> {
        let position =
            |lsn: store::Lsn| Lsn { virtual_log_file: lsn.file, block: lsn.block, record: lsn.record };
        let header = &mut self.header;
        (header.first_lsn, header.last_lsn) = (position(from), position(to));
        (header.checkpoint_lsn, header.fork_lsn) = (position(from), position(to));
        header.size = self.bytes;
        header.finished = calendar::now();
        self.writer.end_set(header)?;
        self.kept.sync_all()?;
        if let Some((from, to)) = self.renamed {
            fs::rename(from, to)?;
            if let Some(directory) = to.parent() {
                File::open(directory)?.sync_all()?;
            }
        }
        Ok(())
    }
}

fn simple() -> SqlError {
    SqlError::new(
        4208,
        16,
        1,
        "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.",
    )
}
