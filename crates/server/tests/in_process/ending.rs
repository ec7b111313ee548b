//! Data directories whose process ends in the middle of its work.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use databases::storage::{DirectoryFolders, Folders, MARK};
use store::EngineError;
use store::disk::volume::{Volume, VolumeFile};

/// A data directory whose process ends before the operation with this number: nothing is done any more.
#[derive(Debug)]
pub struct EndingFolders {
    /// The directory.
    pub folders: DirectoryFolders,
    /// Operations that are done before it.
    pub left: Arc<AtomicI64>,
}

#[derive(Debug)]
struct EndingVolume {
    volume: Arc<dyn Volume>,
    left: Arc<AtomicI64>,
}

#[derive(Debug)]
struct EndingFile {
    file: Arc<dyn VolumeFile>,
    left: Arc<AtomicI64>,
}

fn step(left: &AtomicI64) -> io::Result<()> {
    match left.fetch_sub(1, Ordering::SeqCst) {
        ..=0 => Err(io::Error::other("the process has ended")),
        _ => Ok(()),
    }
}

impl Folders for EndingFolders {
    fn open(&self, folder: &str, durable: bool) -> Result<Arc<dyn Volume>, EngineError> {
        let ended = |source| EngineError::Io { operation: "open", path: folder.into(), source };
        step(&self.left).map_err(ended)?;
        let volume = self.folders.open(folder, durable)?;
        Ok(Arc::new(EndingVolume { volume, left: Arc::clone(&self.left) }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.folders.list()
    }

    fn files(&self, folder: &str) -> io::Result<Vec<String>> {
        self.folders.files(folder)
    }

    fn mark(&self, folder: &str) -> io::Result<()> {
        step(&self.left)?;
        self.folders.mark(folder)
    }

    fn unmark(&self, folder: &str) -> io::Result<()> {
        step(&self.left)?;
        self.folders.unmark(folder)
    }

    /// One file after the other, in the order in which they happen to be found.
    fn remove(&self, folder: &str) -> io::Result<()> {
        for file in self.folders.files(folder)?.iter().filter(|file| *file != MARK && *file != "lock") {
            step(&self.left)?;
            std::fs::remove_file(self.path(folder).join(file))?;
        }
        step(&self.left)?;
        self.folders.remove(folder)
    }
}

impl EndingFolders {
    fn path(&self, folder: &str) -> PathBuf {
        let volume = self.folders.open("master", true);
        // It is held by the server: the error says where it is.
        match volume {
            Err(EngineError::InUse { path }) => path.with_file_name(folder),
            other => panic!("master is free: {other:?}"),
        }
    }
}

impl EndingVolume {
    fn file(&self, file: Arc<dyn VolumeFile>) -> Arc<dyn VolumeFile> {
        Arc::new(EndingFile { file, left: Arc::clone(&self.left) })
    }
}

impl Volume for EndingVolume {
    fn path(&self, name: &str) -> PathBuf {
        self.volume.path(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.volume.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(self.file(self.volume.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        step(&self.left)?;
        Ok(self.file(self.volume.create(name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        step(&self.left)?;
        self.volume.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        step(&self.left)?;
        self.volume.rename(from, to)
    }

    fn sync_directory(&self) -> io::Result<()> {
        step(&self.left)
    }
}

impl VolumeFile for EndingFile {
    fn length_bytes(&self) -> io::Result<u64> {
        self.file.length_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        step(&self.left)?;
        self.file.write_at(offset, bytes)
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        step(&self.left)?;
        self.file.set_length(length_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        step(&self.left)
    }
}
