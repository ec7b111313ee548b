//! Notices whether a file changed while it was read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::time::SystemTime;

/// State of a file when it was opened.
#[derive(Debug)]
pub(crate) struct Witness {
    file: File,
    length: u64,
    modified: Option<SystemTime>,
}

impl Witness {
    /// Takes size and time of a file; None for pipes, devices and other files without a size to compare.
    pub(crate) fn of(file: &File) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        // Files of length 0 may be the system's own, made as they are read.
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(None);
        }
        let (length, modified) = known(&metadata);
        Ok(Some(Self { file: file.try_clone()?, length, modified }))
    }

    /// Returns an error if the file has another size or time of change by now.
    pub(crate) fn check(&self) -> io::Result<()> {
        let (length, modified) = known(&self.file.metadata()?);
        let what = match (length == self.length, modified == self.modified) {
            (true, true) => return Ok(()),
            (true, false) => "it was written to".to_owned(),
            (false, _) => format!("it had {} bytes, and has {length} now", self.length),
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("the file changed while it was read: {what}")))
    }
}

fn known(metadata: &Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

/// A file that must be at its end what it was when it was opened.
pub(crate) struct Watched {
    file: File,
    witness: Option<Witness>,
}

impl Watched {
    /// Watches from now on.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let witness = Witness::of(&file)?;
        Ok(Self { file, witness })
    }
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        if read == 0
            && !into.is_empty()
            && let Some(witness) = &self.witness
        {
            witness.check()?;
        }
        Ok(read)
    }
}
