//! Shrinks data files (`DBCC SHRINKFILE`), and removes them from the database (`ALTER DATABASE … REMOVE FILE`).

use std::sync::Arc;

use super::file_groups::EngineFiles;
use crate::catalogue::Table;
use crate::disk::file_layout::DataFileDefinition;
use crate::disk::files;
use crate::error::EngineError;
use crate::page::EXTENT_BYTES;
use crate::page::unit::CATALOGUE;
use crate::transaction::alter::RebuildOptions;

impl EngineFiles<'_> {
    /// Cuts the free end off a data file, down to this size if enough is free there. Nothing is moved.
    /// Returns the file's size in bytes.
    ///
    /// # Errors
    /// A logical name that no file has is error 5041.
    pub fn shrink_data_file(&self, name: &str, target_bytes: u64) -> Result<u64, EngineError> {
        let _one = self.engine.shared.backups.lock();
        let file = self.data_file(name)?;
        self.engine.shared.release_given_up()?;
        let least = u32::try_from(target_bytes.div_ceil(EXTENT_BYTES as u64)).unwrap_or(u32::MAX);
        let extents = self.engine.shared.allocator.shrink(file.number, least)?;
        Ok(u64::from(extents) * EXTENT_BYTES as u64)
    }

    /// Moves everything in a data file to the other files of its group, and allocates nothing more in it (`EMPTYFILE`). Tables
    /// that have a part in it are rewritten, each in a transaction of its own.
    ///
    /// # Errors
    /// Error 2555 if something cannot be moved: parts of the catalogue, extents that a snapshot or a transaction still uses, or
    /// the last file of a group. The file is then used again. A logical name that no file has is error 5041.
    pub fn empty_data_file(&self, name: &str) -> Result<(), EngineError> {
        let file = self.data_file(name)?;
        let allocator = &self.engine.shared.allocator;
        let emptied = || {
            if file.number == 1 || !allocator.close_file(file.number, true) {
                return Ok(false);
            }
            let has_part = |table: &Table| {
                let mut units = table.all_units();
                units.any(|unit| unit.extents.iter().any(|extent| extent.extent.file == file.number))
            };
            let snapshot = self.engine.snapshot();
            let tables: Vec<Arc<Table>> =
                snapshot.tables().filter(|table| has_part(table)).cloned().collect();
            drop(snapshot);
            for table in tables.iter().filter(|table| table.object != CATALOGUE) {
                let mut transaction = self.engine.begin();
                transaction.open(table).rebuild(RebuildOptions::default())?;
                transaction.commit()?;
            }
            self.engine.shared.release_given_up()?;
            allocator.unlink_iam_pages(file.number)?;
            Ok(allocator.is_empty_file(file.number))
        };
        let result: Result<bool, EngineError> = emptied();
        match result {
            Ok(true) => Ok(()),
            other => {
                allocator.close_file(file.number, false);
                other?;
                Err(EngineError::DataFileNotEmptied { name: file.name })
            }
        }
    }

    /// Takes an empty data file out of the database.
    ///
    /// # Errors
    /// A file that holds anything is error 5042, the first file 5020; a logical name that no file has is error 5041.
    pub fn remove_data_file(&self, name: &str) -> Result<(), EngineError> {
        let _one = self.engine.shared.backups.lock();
        let definition = self.data_file(name)?;
        let number = definition.number;
        if number == 1 {
            return Err(EngineError::PrimaryDataFile { name: definition.name });
        }
        let shared = &self.engine.shared;
        shared.release_given_up()?;
        let in_use = || EngineError::DataFileInUse { name: definition.name.clone() };
        let file = shared.pager.files.file(number)?;
        // From here on no transaction changes the maps of the file.
        let taken = shared.allocator.take_out(number).ok_or_else(in_use)?;
        let forgotten = shared.checkpoint().and_then(|()| {
            shared.pager.files.forget(number);
            // The control file that does not know the file begins behind the last record that speaks of it.
            shared.checkpoint()
        });
        if let Err(error) = forgotten {
            if !shared.pager.files.has(number) {
                shared.pager.files.remember(file, definition);
            }
            shared.allocator.put_back(taken);
            return Err(error);
        }
        shared.allocator.discard_file(number, &taken);
        drop(file);
        let name = files::file_name(number);
        let io = |operation| {
            let path = shared.volume.path(&name);
            move |source| EngineError::Io { operation, path, source }
        };
        // If the process ends before the file is removed, the next opening of the database removes it.
        shared.volume.remove(&name).map_err(io("remove"))?;
        shared.volume.sync_directory().map_err(io("sync the directory of"))
    }

    fn data_file(&self, name: &str) -> Result<DataFileDefinition, EngineError> {
        let files = self.engine.shared.pager.files.layout().files;
        let found = files.into_iter().find(|file| file.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| EngineError::NoSuchDataFile { name: name.to_owned() })
    }
}
