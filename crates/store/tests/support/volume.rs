//! A volume in memory that remembers every operation, so that the power can be cut after any of them without running the workload
//! again.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bulkwire_store::disk::volume::{Volume, VolumeFile};

use super::Random;

/// One operation that changes or syncs something.
#[derive(Debug, Clone)]
enum Operation {
    Create {
        name: String,
        file: usize,
    },
    Remove {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// Of the names that begin so.
    SyncDirectory {
        folder: String,
    },
    Write {
        file: usize,
        offset: u64,
        bytes: Arc<Vec<u8>>,
    },
    SetLength {
        file: usize,
        length: u64,
    },
    Sync {
        file: usize,
    },
}

const CHUNK: usize = 4096;

/// Bytes of a file in chunks that copies share.
#[derive(Debug, Clone, Default)]
struct Bytes {
    length: u64,
    chunks: Vec<Option<Arc<[u8; CHUNK]>>>,
}

impl Bytes {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset as usize + done;
            let (chunk, start) = (at / CHUNK, at % CHUNK);
            let count = (CHUNK - start).min(bytes.len() - done);
            if self.chunks.len() <= chunk {
                self.chunks.resize(chunk + 1, None);
            }
            let target = Arc::make_mut(self.chunks[chunk].get_or_insert_with(|| Arc::new([0; CHUNK])));
            target[start..start + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        self.length = self.length.max(offset + bytes.len() as u64);
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset + out.len() as u64 > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < out.len() {
            let at = offset as usize + done;
            let (chunk, start) = (at / CHUNK, at % CHUNK);
            let count = (CHUNK - start).min(out.len() - done);
            match self.chunks.get(chunk) {
                Some(Some(bytes)) => out[done..done + count].copy_from_slice(&bytes[start..start + count]),
                _ => out[done..done + count].fill(0),
            }
            done += count;
        }
        Ok(())
    }

    fn set_length(&mut self, length: u64) {
        if length < self.length {
            let zeros = vec![0; (self.length - length) as usize];
            self.write(length, &zeros);
        }
        self.length = length;
    }
}

#[derive(Debug, Clone, Default)]
struct File {
    seen: Bytes,
    durable: Bytes,
    unsynced: Vec<Operation>,
    /// A sync has failed: what it was for is seen, and will never be durable.
    has_lost: bool,
}

/// The state of a disk: what is seen, what is durable, and what is in between.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: Vec<File>,
    seen: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    unsynced: Vec<Operation>,
}

impl Disk {
    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { name, file } => {
                assert_eq!(*file, self.files.len());
                self.files.push(File::default());
                self.seen.insert(name.clone(), *file);
                self.unsynced.push(operation.clone());
            }
            Operation::Remove { name } => {
                self.seen.remove(name);
                self.unsynced.push(operation.clone());
            }
            Operation::Rename { from, to } => {
                if let Some(file) = self.seen.remove(from) {
                    self.seen.insert(to.clone(), file);
                }
                self.unsynced.push(operation.clone());
            }
            Operation::SyncDirectory { folder } => {
                let within = |name: &str| name.starts_with(folder.as_str());
                self.durable.retain(|name, _| !within(name));
                let seen = self.seen.iter().filter(|(name, _)| within(name));
                self.durable.extend(seen.map(|(name, file)| (name.clone(), *file)));
                self.unsynced.retain(|operation| match operation {
                    Operation::Create { name, .. } | Operation::Remove { name } => !within(name),
                    Operation::Rename { to, .. } => !within(to),
                    _ => false,
                });
            }
            Operation::Write { file, offset, bytes } => {
                self.files[*file].seen.write(*offset, bytes);
                self.files[*file].unsynced.push(operation.clone());
            }
            Operation::SetLength { file, length } => {
                self.files[*file].seen.set_length(*length);
                self.files[*file].unsynced.push(operation.clone());
            }
            Operation::Sync { file } => {
                let file = &mut self.files[*file];
                if !file.has_lost {
                    file.durable = file.seen.clone();
                    file.unsynced.clear();
                }
                for operation in std::mem::take(&mut file.unsynced) {
                    match operation {
                        Operation::Write { offset, bytes, .. } => file.durable.write(offset, &bytes),
                        Operation::SetLength { length, .. } => file.durable.set_length(length),
                        _ => unreachable!("no change of a file"),
                    }
                }
            }
        }
    }

    /// A sync of a file fails as it does on Linux: what it was for is taken for written, and the next sync knows nothing of it.
    fn lose_unsynced(&mut self, file: usize) {
        self.files[file].unsynced.clear();
        self.files[file].has_lost = true;
    }

    /// Returns the files as they are after a power cut: everything synced, and any part of the rest.
    pub fn after_power_cut(&self, random: &mut Random) -> Self {
        let keep = match random.below(5) {
            0 => 0,
            1 => 4,
            _ => 2,
        };
        let kept = |random: &mut Random| random.below(4) < keep;
        let mut names = self.durable.clone();
        for operation in &self.unsynced {
            if !kept(random) {
                continue;
            }
            match operation {
                Operation::Create { name, file } => drop(names.insert(name.clone(), *file)),
                Operation::Remove { name } => drop(names.remove(name)),
                Operation::Rename { from, to } => {
                    // The name may not have been durable itself.
                    let file = names.remove(from).or_else(|| self.seen.get(to).copied());
                    names.extend(file.map(|file| (to.clone(), file)));
                }
                _ => {}
            }
        }
        let mut files = Vec::new();
        for file in &self.files {
            let mut left = file.durable.clone();
            for operation in &file.unsynced {
                if !kept(random) {
                    continue;
                }
                match operation {
                    Operation::SetLength { length, .. } => left.set_length(*length),
                    Operation::Write { offset, bytes, .. } => torn(&mut left, *offset, bytes, random),
                    _ => {}
                }
            }
            files.push(File { seen: left.clone(), durable: left, ..File::default() });
        }
        Self { files, seen: names.clone(), durable: names, unsynced: Vec::new() }
    }
}

/// Whole, cut off, or with sectors that did not arrive or hold garbage.
fn torn(left: &mut Bytes, offset: u64, bytes: &[u8], random: &mut Random) {
    match random.below(4) {
        0 => left.write(offset, &bytes[..random.below(bytes.len() as u64 + 1) as usize]),
        1 => {
            for (index, sector) in bytes.chunks(512).enumerate() {
                match random.below(8) {
                    0..4 => left.write(offset + 512 * index as u64, sector),
                    4 => left.write(offset + 512 * index as u64, &vec![0xA5; sector.len()]),
                    _ => {}
                }
            }
        }
        _ => left.write(offset, bytes),
    }
}

#[derive(Debug, Default)]
struct State {
    disk: Disk,
    journal: Vec<Operation>,
    /// True if operations are recorded.
    recording: bool,
    /// The operation with this number fails, and all after it if `stays`.
    fault: Option<(u64, bool, io::ErrorKind)>,
    /// Number of the operation from which on all that take space fail for lack of it.
    full_from: Option<u64>,
    /// Writes to this file find no room.
    unwritable: Option<String>,
    /// Reads of this part of a file fail.
    unreadable: Option<(String, std::ops::Range<u64>)>,
    operations: u64,
}

impl State {
    fn is_full(&self) -> bool {
        self.full_from.is_some_and(|from| self.operations >= from)
    }

    fn run(&mut self, operation: Operation) -> io::Result<()> {
        let takes_space = match &operation {
            Operation::Create { .. } | Operation::Write { .. } => true,
            Operation::SetLength { file, length } => *length > self.disk.files[*file].seen.length,
            _ => false,
        };
        if takes_space && self.is_full() {
            // Of a write any part may have arrived.
            if let Operation::Write { file, offset, bytes } = &operation {
                let arrived = (self.operations + *offset / 512) as usize % 4 * bytes.len() / 4;
                let bytes = Arc::new(bytes[..arrived].to_vec());
                self.disk.apply(&Operation::Write { file: *file, offset: *offset, bytes });
            }
            return Err(io::ErrorKind::StorageFull.into());
        }
        let number = self.operations;
        self.operations += 1;
        if let Some((at, stays, kind)) = self.fault
            && (number == at || (stays && number > at))
        {
            // Of a failed write any part may have arrived.
            if let Operation::Write { file, offset, bytes } = &operation {
                let bytes = Arc::new(bytes[..(number % 3) as usize * bytes.len() / 3].to_vec());
                self.disk.apply(&Operation::Write { file: *file, offset: *offset, bytes });
            }
            if let (Operation::Sync { file }, io::ErrorKind::Other) = (&operation, kind) {
                self.disk.lose_unsynced(*file);
            }
            return Err(kind.into());
        }
        self.disk.apply(&operation);
        if self.recording {
            self.journal.push(operation);
        }
        Ok(())
    }
}

/// Clones share the volume.
#[derive(Debug, Clone, Default)]
pub struct MemoryVolume {
    state: Arc<Mutex<State>>,
}

impl MemoryVolume {
    /// Remembers every operation from the start.
    pub fn recording() -> Self {
        let state = State { recording: true, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub fn on(disk: Disk) -> Self {
        let state = State { disk, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    pub fn set_fault(&self, fault: Option<(u64, bool, io::ErrorKind)>) {
        self.state.lock().unwrap().fault = fault;
    }

    /// The disk is full from the operation with this number on; None: it has room.
    pub fn set_full(&self, from: Option<u64>) {
        self.state.lock().unwrap().full_from = from;
    }

    /// Writes to this file find no room from now on.
    pub fn set_unwritable(&self, name: Option<String>) {
        self.state.lock().unwrap().unwritable = name;
    }

    /// Length of a file.
    pub fn length_bytes(&self, name: &str) -> u64 {
        let state = self.state.lock().unwrap();
        state.disk.files[state.disk.seen[name]].seen.length
    }

    /// Reads that touch this part of a file fail from now on.
    pub fn set_unreadable(&self, part: Option<(String, std::ops::Range<u64>)>) {
        self.state.lock().unwrap().unreadable = part;
    }

    pub fn disk(&self) -> Disk {
        self.state.lock().unwrap().disk.clone()
    }

    /// Numbers of the operations that were syncs of files, of a volume that remembers.
    pub fn syncs(&self) -> Vec<u64> {
        let state = self.state.lock().unwrap();
        let journal = (0..).zip(&state.journal);
        journal
            .filter(|(_, operation)| matches!(operation, Operation::Sync { .. }))
            .map(|(at, _)| at)
            .collect()
    }

    /// Calls `each` with the number of operations done and the disk at that moment, the last one not synced.
    pub fn replay(&self, mut each: impl FnMut(u64, &Disk)) {
        let journal = std::mem::take(&mut self.state.lock().unwrap().journal);
        let mut disk = Disk::default();
        for (done, operation) in (1..).zip(&journal) {
            disk.apply(operation);
            each(done, &disk);
        }
    }

    /// Names of all files.
    pub fn names(&self) -> Vec<String> {
        self.state.lock().unwrap().disk.seen.keys().cloned().collect()
    }

    /// Changes bytes of a file behind the engine's back.
    pub fn damage(&self, name: &str, offset: u64, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let file = state.disk.seen[name];
        state.disk.files[file].seen.write(offset, bytes);
    }

    pub fn read(&self, name: &str, offset: u64, length: usize) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        let mut bytes = vec![0; length];
        state.disk.files[state.disk.seen[name]].seen.read(offset, &mut bytes).unwrap();
        bytes
    }
}

impl Volume for MemoryVolume {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("memory").join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state.lock().unwrap().disk.seen.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        let state = self.state.lock().unwrap();
        let file = state.disk.seen.get(name).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(MemoryFile { state: Arc::clone(&self.state), file }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        let mut state = self.state.lock().unwrap();
        let file = state.disk.files.len();
        state.run(Operation::Create { name: name.to_owned(), file })?;
        Ok(Arc::new(MemoryFile { state: Arc::clone(&self.state), file }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.state.lock().unwrap().run(Operation::Remove { name: name.to_owned() })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.state.lock().unwrap().run(Operation::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.state.lock().unwrap().run(Operation::SyncDirectory { folder: String::new() })
    }
}

/// A folder of a volume: a volume of its own on the same disk, which loses power with the others.
#[derive(Debug)]
pub struct Folder {
    volume: MemoryVolume,
    name: String,
}

impl Folder {
    pub fn of(volume: &MemoryVolume, name: &str) -> Arc<dyn Volume> {
        Arc::new(Self { volume: volume.clone(), name: format!("{name}/") })
    }

    fn within(&self, name: &str) -> String {
        format!("{}{name}", self.name)
    }
}

impl Volume for Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.volume.path(&self.within(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.volume.list()?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(&self.name).map(str::to_owned)).collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        self.volume.open(&self.within(name))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        self.volume.create(&self.within(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.volume.remove(&self.within(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.volume.rename(&self.within(from), &self.within(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        let folder = self.name.clone();
        self.volume.state.lock().unwrap().run(Operation::SyncDirectory { folder })
    }
}

#[derive(Debug)]
struct MemoryFile {
    state: Arc<Mutex<State>>,
    file: usize,
}

impl VolumeFile for MemoryFile {
    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.state.lock().unwrap().disk.files[self.file].seen.length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock().unwrap();
        if let Some((name, part)) = &state.unreadable
            && state.disk.seen.get(name) == Some(&self.file)
            && offset < part.end
            && part.start < offset + buffer.len() as u64
        {
            return Err(io::ErrorKind::Other.into());
        }
        state.disk.files[self.file].seen.read(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let bytes = Arc::new(bytes.to_vec());
        let mut state = self.state.lock().unwrap();
        if state.unwritable.as_ref().is_some_and(|name| state.disk.seen.get(name) == Some(&self.file)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.run(Operation::Write { file: self.file, offset, bytes })
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if state.disk.files[self.file].seen.length == length {
            return Ok(());
        }
        state.run(Operation::SetLength { file: self.file, length })
    }

    /// Nothing that a power cut could tell: no operation of its own.
    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        match self.state.lock().unwrap().is_full() {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.state.lock().unwrap().run(Operation::Sync { file: self.file })
    }
}
