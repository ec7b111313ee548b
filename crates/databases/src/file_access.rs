//! Files that the server may touch.

use std::io;
use std::path::{Path, PathBuf};

use tsql::SqlError;

/// The directories below which files may be read and error files written. Without any, no file is touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccess {
    directories: Vec<PathBuf>,
}

impl FileAccess {
    /// Allows access below these directories, which must exist: symbolic links in them are resolved once,
    /// here.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        Ok(Self {
            directories: directories
                .into_iter()
                .map(|path| path.canonicalize())
                .collect::<io::Result<_>>()?,
        })
    }

    /// Finds the file of a name; a relative one is looked for below the first directory. Symbolic links may
    /// not lead out.
    ///
    /// # Errors
    /// Error 4860 if there is no such file, 4861 if it may not be read.
    pub fn existing(&self, name: &str) -> Result<PathBuf, SqlError> {
        let path = self.absolute(name)?;
        match path.canonicalize() {
            // A device or a pipe may have no end, or no writer.
            Ok(real) if self.allows(&real) && !real.is_file() => {
                let denied = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
                Err(cannot_open(name, &denied))
            }
            Ok(real) if self.allows(&real) => Ok(real),
            Ok(_) => Err(self.denied(name)),
            // The error does not reveal whether a file exists elsewhere.
            Err(_) if !self.allows_lexically(&path) => Err(self.denied(name)),
            Err(_) => Err(SqlError::new(
                4860,
                16,
                1,
                format!(
                    "Cannot bulk load. The file \"{name}\" does not exist or you don't have file access rights."
                ),
            )),
        }
    }

    /// Returns the path of a file that is to be made.
    ///
    /// # Errors
    /// Error 4861 if it exists or may not be made.
    pub fn fresh(&self, name: &str) -> Result<PathBuf, SqlError> {
        let path = self.absolute(name)?;
        let (Some(parent), Some(file_name)) = (path.parent(), path.file_name()) else {
            return Err(self.denied(name));
        };
        let parent = parent.canonicalize().map_err(|error| cannot_open(name, &error))?;
        if !self.allows(&parent) {
            return Err(self.denied(name));
        }
        let path = parent.join(file_name);
        match path.symlink_metadata() {
            Ok(_) => Err(cannot_open(name, &io::Error::from(io::ErrorKind::AlreadyExists))),
            Err(_) => Ok(path),
        }
    }

    fn absolute(&self, name: &str) -> Result<PathBuf, SqlError> {
        let first = self.directories.first().ok_or_else(|| self.denied(name))?;
        // An absolute name replaces what it is joined to.
        Ok(first.join(name))
    }

    fn allows(&self, path: &Path) -> bool {
        self.directories.iter().any(|directory| path.starts_with(directory))
    }

    fn allows_lexically(&self, path: &Path) -> bool {
        self.allows(path) && !path.components().any(|part| part == std::path::Component::ParentDir)
    }

    fn denied(&self, name: &str) -> SqlError {
        let reason = match self.directories.is_empty() {
            true => "this server was started without a directory for bulk files",
            false => "it is not below a directory that this server was given for bulk files",
        };
        SqlError::new(
            4861,
            16,
            1,
            format!(
                "Cannot bulk load because the file \"{name}\" could not be opened. Operating system error code 5(Access is denied: {reason}.)."
            ),
        )
    }
}

/// Makes error 4861: the operating system refused.
pub fn cannot_open(name: &str, error: &io::Error) -> SqlError {
    let code = error.raw_os_error().unwrap_or_default();
    SqlError::new(
        4861,
        16,
        1,
        format!(
            "Cannot bulk load because the file \"{name}\" could not be opened. Operating system error code {code}({error})."
        ),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::fs;

    use super::FileAccess;

    #[test]
    fn only_what_is_below_the_directories_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let allowed = root.path().join("allowed");
        fs::create_dir(&allowed).unwrap();
        fs::write(allowed.join("in.csv"), "1\n").unwrap();
        fs::write(root.path().join("out.csv"), "1\n").unwrap();
        let access = FileAccess::new([allowed.clone()]).unwrap();
        let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();

        assert!(access.existing("in.csv").is_ok());
        assert!(access.existing(&text(&allowed.join("in.csv"))).is_ok());
        for outside in ["../out.csv", &text(&root.path().join("out.csv")), "../nowhere.csv", "/etc/passwd"] {
            assert_eq!(access.existing(outside).unwrap_err().number, 4861, "{outside}");
        }
        assert_eq!(access.existing("missing.csv").unwrap_err().number, 4860);
        assert!(access.fresh("new.err").is_ok());
        assert_eq!(access.fresh("in.csv").unwrap_err().number, 4861);
        assert_eq!(access.fresh("../new.err").unwrap_err().number, 4861);
        assert_eq!(FileAccess::default().existing("in.csv").unwrap_err().number, 4861);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_does_not_lead_out() {
        let root = tempfile::tempdir().unwrap();
        let allowed = root.path().join("allowed");
        fs::create_dir(&allowed).unwrap();
        fs::write(root.path().join("secret"), "1\n").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret"), allowed.join("link")).unwrap();
        let access = FileAccess::new([allowed]).unwrap();
        assert_eq!(access.existing("link").unwrap_err().number, 4861);
    }
}
