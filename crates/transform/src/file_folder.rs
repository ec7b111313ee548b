//! The one folder whose files READ_FILE and WRITE_FILE see.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use parking_lot::Mutex;

use crate::error::TransformError;

/// Bytes of the largest file that is read: an Arrow column holds no more.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A folder that a transformation may read and write files in.
#[derive(Debug)]
pub struct FileFolder {
    root: PathBuf,
    /// Files that this run has written: a second row of the same name is a mistake of the query.
    written: Mutex<HashSet<PathBuf>>,
}

/// Treatment of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The row fails.
    Refused,
    /// The file is replaced, once a run.
    Replaced,
    /// The value is added to its end.
    Continued,
}

impl FileFolder {
    /// Opens the folder at a path.
    ///
    /// # Errors
    /// It is not there, or no folder.
    pub fn open(path: &Path) -> Result<FileFolder, TransformError> {
        let failed = |error| TransformError::Folder { folder: path.to_path_buf(), error };
        let root = path.canonicalize().map_err(failed)?;
        if !root.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(FileFolder { root, written: Mutex::default() })
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// It is not there, not of this folder, no file, or too large.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.path_of(name)?;
        let length = fs::symlink_metadata(&path)?.len();
        if length > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 GiB"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        File::open(&path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// It is not of this folder, it is there and must not be, or it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8], existing: Existing) -> io::Result<()> {
        let path = self.path_of(name)?;
        let mut options = OpenOptions::new();
        match existing {
            Existing::Refused => options.write(true).create_new(true),
            Existing::Continued => options.append(true).create(true),
            Existing::Replaced => {
                if !self.written.lock().insert(path.clone()) {
                    let text = "another row has written it already";
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
                }
                options.write(true).create(true).truncate(true)
            }
        };
        options.open(&path)?.write_all(bytes)
    }

    /// Returns the path of a name below the folder. Every part of it is a folder of its own, the last one a
    /// file or nothing: a link could lead elsewhere.
    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let outside = || {
            let text = "only files below the folder of --files may be named, by relative paths without '..' and links";
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        };
        let mut parts = Vec::new();
        for part in Path::new(name).components() {
            match part {
                Component::Normal(part) => parts.push(part),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        let Some((last, folders)) = parts.split_last() else { return Err(outside()) };
        let mut path = self.root.clone();
        for folder in folders {
            path.push(folder);
            if !fs::symlink_metadata(&path)?.is_dir() {
                return Err(outside());
            }
        }
        path.push(last);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => Err(outside()),
            Ok(_) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn nothing_outside_the_folder_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("allowed");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        fs::write(root.join("sub/a.txt"), "a").unwrap();
        let folder = FileFolder::open(&root).unwrap();
        assert_eq!(folder.read("sub/a.txt").unwrap(), b"a");
        assert_eq!(folder.read("./sub/a.txt").unwrap(), b"a");
        let secret = place.path().join("secret");
        for name in ["../secret", "sub/../../secret", secret.to_str().unwrap(), "", ".", "sub", "sub/.."] {
            assert_eq!(folder.read(name).unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{name}");
            let written = folder.write(name, b"x", Existing::Replaced).unwrap_err();
            assert_eq!(written.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        assert_eq!(folder.read("none").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("allowed");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(place.path().join("other")).unwrap();
        fs::write(place.path().join("other/secret"), "s").unwrap();
        std::os::unix::fs::symlink(place.path().join("other/secret"), root.join("file")).unwrap();
        std::os::unix::fs::symlink(place.path().join("other"), root.join("folder")).unwrap();
        std::os::unix::fs::symlink(place.path().join("other/new"), root.join("new")).unwrap();
        let folder = FileFolder::open(&root).unwrap();
        for name in ["file", "folder/secret", "new"] {
            assert_eq!(folder.read(name).unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{name}");
            assert!(folder.write(name, b"x", Existing::Continued).is_err(), "{name}");
        }
        assert!(!place.path().join("other/new").exists());
    }

    #[test]
    fn what_is_there_is_kept_unless_it_is_to_be_replaced() {
        let place = tempfile::tempdir().unwrap();
        let folder = FileFolder::open(place.path()).unwrap();
        folder.write("a", b"1", Existing::Refused).unwrap();
        assert_eq!(
            folder.write("a", b"2", Existing::Refused).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        folder.write("a", b"3", Existing::Continued).unwrap();
        assert_eq!(folder.read("a").unwrap(), b"13");
        folder.write("a", b"4", Existing::Replaced).unwrap();
        assert_eq!(folder.read("a").unwrap(), b"4");
        assert!(folder.write("a", b"5", Existing::Replaced).is_err());
    }
}
