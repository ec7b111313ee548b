//! A disk in memory that keeps apart what was synced and what was only written.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bulkwire_store::storage::{AppendFile, ReadFile, Storage};

use super::Random;

#[derive(Debug, Clone)]
enum FileChange {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

#[derive(Debug, Clone, Default)]
struct File {
    /// What the running system sees.
    seen: Vec<u8>,
    /// What a power cut certainly leaves.
    durable: Vec<u8>,
    /// What it may leave, or not, or half.
    unsynced: Vec<FileChange>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Link { name: String, file: usize },
    Unlink { name: String },
    Rename { from: String, to: String, file: usize },
}

#[derive(Debug, Clone, Default)]
struct State {
    files: Vec<File>,
    seen: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    unsynced: Vec<NameChange>,
    operations: u64,
    fault: Option<Fault>,
}

/// When operations start to fail, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The power goes at the n-th operation that changes or syncs something, counted from 0: that one may be torn, none after it happens.
    PowerCut(u64),
    /// That operation alone fails (a write after half of its bytes).
    Once(u64, io::ErrorKind),
    /// The disk holds this many bytes.
    Full { capacity_bytes: usize },
}

/// Clones share the disk.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

impl Disk {
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.state.lock().unwrap().fault = fault;
    }

    /// Operations so far that change or sync something.
    pub fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    pub fn names(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.keys().cloned().collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        state.files[state.seen[name]].seen.clone()
    }

    /// Overwrites a file behind the store's back, durably.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let file = File { seen: bytes.to_vec(), durable: bytes.to_vec(), unsynced: Vec::new() };
        state.files.push(file);
        let index = state.files.len() - 1;
        state.seen.insert(name.to_owned(), index);
        state.durable.insert(name.to_owned(), index);
    }

    /// What is found after the power comes back: synced data, and any part of the rest.
    pub fn after_power_cut(&self, random: &mut Random) -> Disk {
        let old = self.state.lock().unwrap();
        // Some cuts keep all of the unsynced writes, some none, most any part.
        let keep = match random.below(4) {
            0 => 0,
            1 => 4,
            _ => 2,
        };
        let kept = |random: &mut Random| random.below(4) < keep;
        let mut names = old.durable.clone();
        for change in &old.unsynced {
            if !kept(random) {
                continue;
            }
            match change {
                NameChange::Link { name, file } => {
                    names.insert(name.clone(), *file);
                }
                NameChange::Unlink { name } => {
                    names.remove(name);
                }
                NameChange::Rename { from, to, file } => {
                    names.remove(from);
                    names.insert(to.clone(), *file);
                }
            }
        }
        let mut files = Vec::new();
        for file in &old.files {
            let mut left = file.durable.clone();
            for change in &file.unsynced {
                if !kept(random) {
                    continue;
                }
                match change {
                    FileChange::Truncate { length } => left.resize(*length, 0),
                    FileChange::Write { offset, bytes } => {
                        // Torn: a prefix, or with a hole of zeros or garbage where a sector did not arrive.
                        let mut bytes = bytes.clone();
                        match random.below(4) {
                            0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
                            1 => {
                                let start = random.below(bytes.len() as u64 + 1) as usize;
                                let end = (start + random.below(512) as usize).min(bytes.len());
                                let filler = if random.one_in(2) { 0 } else { 0xA5 };
                                bytes[start..end].fill(filler);
                            }
                            _ => {}
                        }
                        overwrite(&mut left, *offset, &bytes);
                    }
                }
            }
            files.push(File { seen: left.clone(), durable: left, unsynced: Vec::new() });
        }
        let state = State { files, seen: names.clone(), durable: names, ..State::default() };
        Disk { state: Arc::new(Mutex::new(state)) }
    }
}

impl State {
    /// Counts an operation and says whether it happens: wholly, in part, or not at all.
    fn operation(&mut self) -> Outcome {
        let number = self.operations;
        self.operations += 1;
        let cut = || io::Error::other("power cut");
        match self.fault {
            Some(Fault::PowerCut(at)) if number == at => Outcome::Partly(cut()),
            Some(Fault::PowerCut(at)) if number > at => Outcome::Not(cut()),
            Some(Fault::Once(at, kind)) if number == at => Outcome::Partly(kind.into()),
            _ => Outcome::Done,
        }
    }

    fn used_bytes(&self) -> usize {
        self.seen.values().map(|file| self.files[*file].seen.len()).sum()
    }

    fn file(&self, name: &str) -> io::Result<usize> {
        self.seen.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

enum Outcome {
    Done,
    /// Fails, but may have had an effect.
    Partly(io::Error),
    Not(io::Error),
}

impl Outcome {
    fn or_error(self) -> io::Result<()> {
        match self {
            Self::Done => Ok(()),
            Self::Partly(error) | Self::Not(error) => Err(error),
        }
    }
}

impl Storage for Disk {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("disk").join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        let file = self.state.lock().unwrap().file(name)?;
        Ok(Box::new(Handle { state: Arc::clone(&self.state), file }))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.state.lock().unwrap();
        state.operation().or_error()?;
        state.files.push(File::default());
        let file = state.files.len() - 1;
        state.seen.insert(name.to_owned(), file);
        state.unsynced.push(NameChange::Link { name: name.to_owned(), file });
        Ok(Box::new(Handle { state: Arc::clone(&self.state), file }))
    }

    fn open_append(&self, name: &str, length_bytes: u64) -> io::Result<Box<dyn AppendFile>> {
        let file = self.state.lock().unwrap().file(name)?;
        let mut handle = Handle { state: Arc::clone(&self.state), file };
        handle.truncate(length_bytes)?;
        Ok(Box::new(handle))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.operation().or_error()?;
        state.file(name)?;
        state.seen.remove(name);
        state.unsynced.push(NameChange::Unlink { name: name.to_owned() });
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let outcome = state.operation();
        let file = state.file(from)?;
        if matches!(outcome, Outcome::Done | Outcome::Partly(_)) {
            let change = NameChange::Rename { from: from.to_owned(), to: to.to_owned(), file };
            state.unsynced.push(change);
        }
        outcome.or_error()?;
        state.seen.remove(from);
        state.seen.insert(to.to_owned(), file);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.operation().or_error()?;
        state.durable = state.seen.clone();
        state.unsynced.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct Handle {
    state: Arc<Mutex<State>>,
    file: usize,
}

impl AppendFile for Handle {
    fn append(&mut self, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let mut bytes = Vec::new();
        slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
        let mut result = Ok(());
        match state.operation() {
            Outcome::Done => {}
            Outcome::Partly(error) => {
                bytes.truncate(bytes.len() / 2);
                result = Err(error);
            }
            Outcome::Not(error) => return Err(error),
        }
        if let Some(Fault::Full { capacity_bytes }) = state.fault {
            let free = capacity_bytes.saturating_sub(state.used_bytes());
            if bytes.len() > free {
                bytes.truncate(free);
                result = Err(io::ErrorKind::StorageFull.into());
            }
        }
        let file = &mut state.files[self.file];
        let offset = file.seen.len();
        file.seen.extend_from_slice(&bytes);
        file.unsynced.push(FileChange::Write { offset, bytes });
        result
    }

    fn truncate(&mut self, length_bytes: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.operation().or_error()?;
        let file = &mut state.files[self.file];
        let length = length_bytes as usize;
        file.seen.resize(length, 0);
        file.unsynced.push(FileChange::Truncate { length });
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.operation().or_error()?;
        let file = &mut state.files[self.file];
        file.durable = file.seen.clone();
        file.unsynced.clear();
        Ok(())
    }
}

impl ReadFile for Handle {
    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.state.lock().unwrap().files[self.file].seen.len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock().unwrap();
        let start = offset as usize;
        let bytes = state.files[self.file].seen.get(start..start + buffer.len());
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

fn overwrite(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}
