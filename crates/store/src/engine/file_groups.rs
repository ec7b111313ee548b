//! File groups: which data files the pages of a table go to. A database has the group PRIMARY, which holds its catalogue, and any number of
//! others; one of them is the default for tables that name none.

use super::database::{Engine, Shared};
use super::error::EngineError;
use super::files;
use super::page::EXTENT_BYTES;
use crate::codec::{CodecError, Reader, Writer};

/// The group that every database has (`data_space_id` 1).
pub const PRIMARY: u16 = 1;
/// Least size of a data file.
pub const LEAST_FILE_BYTES: u64 = 16 * EXTENT_BYTES as u64;

/// A file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGroup {
    /// Its number, `data_space_id`; never used again.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Whether tables go there that name no group.
    pub is_default: bool,
    /// Whether all of its files grow when one must (`AUTOGROW_ALL_FILES`), so that they stay in proportion.
    pub grows_together: bool,
}

/// By how much a data file grows when nothing is free in its group (`FILEGROWTH`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileGrowth {
    /// By an eighth, 1 to 64 MB.
    #[default]
    Automatic,
    /// Not at all.
    None,
    /// By so many bytes, rounded up to extents.
    Bytes(u64),
    /// By this share of its size.
    Percent(u16),
}

/// What is declared of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataFileOptions {
    /// Its logical name; empty: `data-<number>`.
    pub name: String,
    /// Its size at first, 1 MB at least; 0: a little more than that.
    pub size_bytes: u64,
    /// What it may grow to (`MAXSIZE`); None: no limit.
    pub limit_bytes: Option<u64>,
    /// How it grows.
    pub growth: FileGrowth,
}

/// A data file as the control file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileDefinition {
    /// Its number, from 1.
    pub number: u16,
    /// The group that it belongs to, for good.
    pub group: u16,
    /// Its logical name.
    pub name: String,
    /// What it may grow to.
    pub limit_bytes: Option<u64>,
    /// How it grows.
    pub growth: FileGrowth,
}

impl DataFileDefinition {
    /// A file that is only numbered.
    pub fn numbered(number: u16, group: u16) -> Self {
        let name = format!("data-{number}");
        Self { number, group, name, limit_bytes: None, growth: FileGrowth::Automatic }
    }
}

/// All groups and files, as the control file and log backups have them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// The groups, PRIMARY first.
    pub groups: Vec<FileGroup>,
    /// The files in the order of their numbers.
    pub files: Vec<DataFileDefinition>,
    /// The greatest number that a file has had: none is given twice, since the log may still speak of the file before.
    pub last_file: u16,
}

impl FileLayout {
    /// That of a new database: so many files in PRIMARY.
    pub fn primary(files: u16) -> Self {
        Self {
            groups: vec![FileGroup {
                id: PRIMARY,
                name: "PRIMARY".to_owned(),
                is_default: true,
                grows_together: false,
            }],
            files: (1..=files.max(1)).map(|number| DataFileDefinition::numbered(number, PRIMARY)).collect(),
            last_file: files.max(1),
        }
    }

    /// Appends it to `out`.
    pub(crate) fn encode(&self, out: &mut Writer) {
        out.count(self.groups.len());
        for group in &self.groups {
            out.u16(group.id);
            out.string(&group.name);
            out.u8(u8::from(group.is_default) | u8::from(group.grows_together) << 1);
        }
        out.u16(self.last_file);
        out.count(self.files.len());
        for file in &self.files {
            out.u16(file.number);
            out.u16(file.group);
            out.string(&file.name);
            out.u64(file.limit_bytes.unwrap_or(u64::MAX));
            let (kind, amount) = match file.growth {
                FileGrowth::Automatic => (0, 0),
                FileGrowth::None => (1, 0),
                FileGrowth::Bytes(bytes) => (2, bytes),
                FileGrowth::Percent(percent) => (3, u64::from(percent)),
            };
            out.u8(kind);
            out.u64(amount);
        }
    }

    /// The reverse of [`encode`](Self::encode).
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.count(7, "file groups")?;
        let mut layout = Self::default();
        for _ in 0..count {
            let id = reader.u16("file group")?;
            let name = reader.string("name of a file group")?;
            let flags = reader.u8("flags of a file group")?;
            let (is_default, grows_together) = (flags & 1 != 0, flags & 2 != 0);
            layout.groups.push(FileGroup { id, name, is_default, grows_together });
        }
        layout.last_file = reader.u16("last data file")?;
        let count = reader.count(25, "data files")?;
        for _ in 0..count {
            let (number, group) = (reader.u16("data file")?, reader.u16("its group")?);
            let name = reader.string("name of a data file")?;
            let limit_bytes = Some(reader.u64("limit")?).filter(|limit| *limit != u64::MAX);
            let (kind, amount) = (reader.u8("growth")?, reader.u64("growth")?);
            let growth = match kind {
                0 => FileGrowth::Automatic,
                1 => FileGrowth::None,
                2 => FileGrowth::Bytes(amount),
                3 => FileGrowth::Percent(u16::try_from(amount).unwrap_or(u16::MAX)),
                _ => return Err(reader.invalid("growth", kind.to_string())),
            };
            layout.files.push(DataFileDefinition { number, group, name, limit_bytes, growth });
        }
        Ok(layout)
    }
}

/// Where the pages of a table go; None: to the default group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// Group of its rows, and of indexes that name none (`ON`).
    pub rows: Option<String>,
    /// Group of its large values (`TEXTIMAGE_ON`); None: that of the rows.
    pub large_values: Option<String>,
}

/// Numbers of the groups of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub rows: u16,
    pub large_values: u16,
}

impl Shared {
    /// The group of this name; None: the default.
    pub(crate) fn group_named(&self, name: Option<&str>) -> Result<u16, EngineError> {
        let layout = self.pager.files.layout();
        let found = layout.groups.iter().find(|group| match name {
            Some(name) => group.name.eq_ignore_ascii_case(name),
            None => group.is_default,
        });
        let missing = || EngineError::NoSuchFileGroup { name: name.unwrap_or("DEFAULT").to_owned() };
        found.map(|group| group.id).ok_or_else(missing)
    }

    pub(crate) fn placed(&self, placement: &Placement) -> Result<Placed, EngineError> {
        let rows = self.group_named(placement.rows.as_deref())?;
        let large_values = match &placement.large_values {
            Some(name) => self.group_named(Some(name))?,
            None => rows,
        };
        Ok(Placed { rows, large_values })
    }
}

impl Engine {
    /// The file groups, PRIMARY first (`sys.filegroups`).
    pub fn file_groups(&self) -> Vec<FileGroup> {
        self.shared.pager.files.layout().groups
    }

    /// Adds a file group without files. Returns its number.
    ///
    /// # Errors
    /// A name that is taken is error 5035.
    pub fn add_file_group(&self, name: &str) -> Result<u16, EngineError> {
        self.change_layout(|layout| {
            if layout.groups.iter().any(|group| group.name.eq_ignore_ascii_case(name)) {
                return Err(EngineError::FileGroupExists { name: name.to_owned() });
            }
            let last = layout.groups.iter().map(|group| group.id).max().unwrap_or(PRIMARY);
            let id = last.checked_add(1).filter(|id| *id < 32_768).ok_or_else(|| EngineError::Schema {
                reason: "a database has at most 32,767 file groups".to_owned(),
            })?;
            let name = name.to_owned();
            layout.groups.push(FileGroup { id, name, is_default: false, grows_together: false });
            Ok(id)
        })
    }

    /// Removes a file group that has no files.
    ///
    /// # Errors
    /// One that has files, PRIMARY, and the default are refused (5042).
    pub fn remove_file_group(&self, name: &str) -> Result<(), EngineError> {
        let id = self.shared.group_named(Some(name))?;
        self.change_layout(|layout| {
            let is_default = layout.groups.iter().any(|group| group.id == id && group.is_default);
            if id == PRIMARY || is_default || layout.files.iter().any(|file| file.group == id) {
                return Err(EngineError::FileGroupInUse { name: name.to_owned() });
            }
            layout.groups.retain(|group| group.id != id);
            Ok(())
        })
    }

    /// Makes a file group the one of tables that name none.
    ///
    /// # Errors
    /// One without files is error 622.
    pub fn set_default_file_group(&self, name: &str) -> Result<(), EngineError> {
        let id = self.shared.group_named(Some(name))?;
        self.change_layout(|layout| {
            if !layout.files.iter().any(|file| file.group == id) {
                return Err(EngineError::EmptyFileGroup { name: name.to_owned() });
            }
            layout.groups.iter_mut().for_each(|group| group.is_default = group.id == id);
            Ok(())
        })
    }

    /// Says whether all files of a group grow when one must (`AUTOGROW_ALL_FILES`), or that one alone.
    pub fn set_file_group_growth(&self, name: &str, grows_together: bool) -> Result<(), EngineError> {
        let id = self.shared.group_named(Some(name))?;
        self.change_layout(|layout| {
            let groups = layout.groups.iter_mut().filter(|group| group.id == id);
            groups.for_each(|group| group.grows_together = grows_together);
            Ok(())
        })
    }

    /// Adds an empty data file to the default group, which allocations fill in proportion from now on. Returns its number.
    pub fn add_data_file(&self) -> Result<u16, EngineError> {
        self.add_data_file_to(None, &DataFileOptions::default())
    }

    /// Adds a data file to a group; None: the default. Returns its number.
    ///
    /// # Errors
    /// A logical name that is taken is error 1828, a group that does not exist 1921, a disk without room 1105.
    pub fn add_data_file_to(
        &self,
        group: Option<&str>,
        options: &DataFileOptions,
    ) -> Result<u16, EngineError> {
        let _one = self.shared.backups.lock();
        let shared = &self.shared;
        let group = shared.group_named(group)?;
        let FileLayout { files, last_file, .. } = shared.pager.files.layout();
        let number = last_file.checked_add(1).ok_or_else(|| EngineError::Schema {
            reason: "a database has at most 65,535 data files".to_owned(),
        })?;
        let mut definition = DataFileDefinition {
            limit_bytes: checked_limit(options.limit_bytes)?,
            growth: options.growth,
            ..DataFileDefinition::numbered(number, group)
        };
        if !options.name.is_empty() {
            definition.name = options.name.clone();
        }
        if files.iter().any(|file| file.name.eq_ignore_ascii_case(&definition.name)) {
            return Err(EngineError::DataFileExists { name: definition.name });
        }
        let name = files::file_name(number);
        let io = |operation| {
            let path = shared.volume.path(&name);
            move |source| EngineError::Io { operation, path, source }
        };
        shared.volume.create(&name).map_err(io("create"))?;
        shared.volume.sync_directory().map_err(io("sync the directory of"))?;
        shared.pager.files.add(definition, false)?;
        // The control file names it before the log does.
        if let Err(error) = shared.checkpoint() {
            shared.pager.files.forget(number);
            return Err(error);
        }
        shared.allocator.add_file(number, options.size_bytes)?;
        Ok(number)
    }

    /// Gives a data file another limit and another growth (`MODIFY FILE`). A limit below its size keeps it from growing.
    ///
    /// # Errors
    /// A logical name that no file has is error 5041.
    pub fn alter_data_file(
        &self,
        name: &str,
        limit_bytes: Option<u64>,
        growth: FileGrowth,
    ) -> Result<(), EngineError> {
        let limit_bytes = checked_limit(limit_bytes)?;
        self.change_layout(|layout| {
            let found = layout.files.iter_mut().find(|file| file.name.eq_ignore_ascii_case(name));
            let file = found.ok_or_else(|| EngineError::NoSuchDataFile { name: name.to_owned() })?;
            (file.limit_bytes, file.growth) = (limit_bytes, growth);
            Ok(())
        })
    }

    /// Changes groups or definitions of files, durably or not at all.
    fn change_layout<T>(
        &self,
        change: impl FnOnce(&mut FileLayout) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let _one = self.shared.backups.lock();
        let files = &self.shared.pager.files;
        let before = files.layout();
        let mut layout = before.clone();
        let result = change(&mut layout)?;
        files.set_layout(layout);
        self.shared.checkpoint().inspect_err(|_| files.set_layout(before))?;
        Ok(result)
    }
}

fn checked_limit(limit_bytes: Option<u64>) -> Result<Option<u64>, EngineError> {
    match limit_bytes {
        Some(limit) if limit < LEAST_FILE_BYTES => {
            let reason = format!("a data file has at least {LEAST_FILE_BYTES} bytes, not {limit}");
            Err(EngineError::Schema { reason })
        }
        limit => Ok(limit),
    }
}
