//! A directory of files that appears only when it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::objects::{ObjectFolder, ObjectLocation, is_object_url};
use crate::unfinished::Unfinished;
use crate::{FormatError, Location};

/// A directory that is filled under a temporary name in the same parent. If it is dropped unfinished, it is
/// deleted with its files. The objects of a store's folder are published together, or given up.
#[derive(Debug)]
pub struct Folder(Place);

#[derive(Debug)]
enum Place {
    Directory(Directory),
    Objects(Arc<ObjectFolder>),
}

#[derive(Debug)]
struct Directory {
    partial: Unfinished,
    path: PathBuf,
}

impl Folder {
    /// Starts a directory, or a folder of objects, as a user names it.
    ///
    /// # Errors
    /// It exists and is not empty, or cannot be written.
    pub fn named(argument: &str) -> Result<Self, FormatError> {
        if !is_object_url(argument) {
            return Self::create(Path::new(argument));
        }
        let folder = ObjectFolder::create(argument);
        let folder = folder.map_err(|error| FormatError::from(error).in_file(argument))?;
        Ok(Self(Place::Objects(Arc::new(folder))))
    }

    /// Starts a directory.
    ///
    /// # Errors
    /// The path exists and is not an empty directory, or its parent cannot be written.
    pub fn create(path: &Path) -> Result<Self, FormatError> {
        let fail = |error: io::Error| FormatError::from(error).in_file(&path.display().to_string());
        // `orders/` and `orders` are the same name.
        let path: PathBuf = path.components().collect();
        match fs::read_dir(&path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(fail(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "the directory has files; a new or empty one is needed",
                    )));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        let Some(name) = path.file_name() else { return Err(fail(io::ErrorKind::InvalidInput.into())) };
        for attempt in 0..1000 {
            let mut partial = std::ffi::OsString::from(".");
            partial.push(name);
            partial.push(format!(".{}-{attempt}.partial", std::process::id()));
            let partial = path.with_file_name(partial);
            match fs::create_dir(&partial) {
                Ok(()) => {
                    let partial = Unfinished::new(partial);
                    return Ok(Self(Place::Directory(Directory { partial, path })));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
        }
        Err(fail(io::ErrorKind::AlreadyExists.into()))
    }

    /// Returns a file of the directory, by its path inside; directories on the way are made.
    ///
    /// # Errors
    /// A directory that cannot be made.
    pub fn file(&self, inside: &Path) -> Result<Location, FormatError> {
        let directory = match &self.0 {
            Place::Directory(directory) => directory,
            Place::Objects(folder) => {
                let url = folder.object(inside);
                return Ok(Location::Object(ObjectLocation::in_folder(&url, Arc::clone(folder))));
            }
        };
        let path = directory.partial.path().join(inside);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|error| FormatError::from(error).in_file(&parent.display().to_string()))?;
        }
        Ok(Location::Path(path))
    }

    /// Gives the directory its name, or has the objects appear.
    ///
    /// # Errors
    /// Something has taken the name meanwhile, or the store refuses.
    pub fn finish(self) -> Result<(), FormatError> {
        let directory = match &self.0 {
            Place::Directory(directory) => directory,
            Place::Objects(folder) => {
                return folder.publish().map_err(|error| FormatError::from(error).in_file(folder.url()));
            }
        };
        let Directory { partial, path } = directory;
        let fail = |error: io::Error| FormatError::from(error).in_file(&path.display().to_string());
        match fs::remove_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        fs::rename(partial.path(), path).map_err(fail)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A finished folder is not there any more. For any other, a failure cannot be reported here.
        let _ = fs::remove_dir_all(self.partial.path());
    }
}
