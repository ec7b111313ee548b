//! File groups: which data files the pages of a table go to. A database has the group PRIMARY, which holds its catalogue, and any number of
//! others; one of them is the default for tables that name none.

use super::Engine;
use crate::database::shared::Shared;
use crate::disk::file_layout::{
    DataFileDefinition, DataFileOptions, FileGroup, FileGrowth, FileLayout, LEAST_FILE_BYTES, PRIMARY,
    Placed, Placement,
};
use crate::disk::files;
use crate::error::EngineError;

impl Shared {
    /// Returns the group of this name; None: the default.
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

/// The data files of an open database, and the groups that they are in.
#[derive(Debug, Clone, Copy)]
pub struct EngineFiles<'e> {
    pub(super) engine: &'e Engine,
}

impl Engine {
    /// Returns a handle to the data files and their groups, for reading and changing.
    pub fn files(&self) -> EngineFiles<'_> {
        EngineFiles { engine: self }
    }
}

impl EngineFiles<'_> {
    /// Lists the file groups, PRIMARY first (`sys.filegroups`).
    pub fn file_groups(&self) -> Vec<FileGroup> {
        self.engine.shared.pager.files.layout().groups
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
        let id = self.engine.shared.group_named(Some(name))?;
        self.change_layout(|layout| {
            let is_default = layout.groups.iter().any(|group| group.id == id && group.is_default);
            if id == PRIMARY || is_default || layout.files.iter().any(|file| file.group == id) {
                return Err(EngineError::FileGroupInUse { name: name.to_owned() });
            }
            layout.groups.retain(|group| group.id != id);
            Ok(())
        })
    }

    /// Makes a file group the default for tables that name none.
    ///
    /// # Errors
    /// One without files is error 622.
    pub fn set_default_file_group(&self, name: &str) -> Result<(), EngineError> {
        let id = self.engine.shared.group_named(Some(name))?;
        self.change_layout(|layout| {
            if !layout.files.iter().any(|file| file.group == id) {
                return Err(EngineError::EmptyFileGroup { name: name.to_owned() });
            }
            layout.groups.iter_mut().for_each(|group| group.is_default = group.id == id);
            Ok(())
        })
    }

    /// Sets whether all files of a group grow together (`AUTOGROW_ALL_FILES`), or only the one that must.
    pub fn set_file_group_growth(&self, name: &str, grows_together: bool) -> Result<(), EngineError> {
        let id = self.engine.shared.group_named(Some(name))?;
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
        let _one = self.engine.shared.backups.lock();
        let shared = &self.engine.shared;
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
        let _one = self.engine.shared.backups.lock();
        let files = &self.engine.shared.pager.files;
        let before = files.layout();
        let mut layout = before.clone();
        let result = change(&mut layout)?;
        files.set_layout(layout);
        self.engine.shared.checkpoint().inspect_err(|_| files.set_layout(before))?;
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
