//! Behaviour of the log when the disk is full. It reserves room before it needs it, also for undoing. A write
//! that fails only for lack of space is repeated later, since its content is still in memory.

use super::block::{BLOCK_LIMIT_BYTES, UNIT_BYTES};
use super::record::{LogRecord, Operation};
use super::{Log, State, create_file, file_name};
use crate::error::{EngineError, wants_space};
use crate::page::lsn::Lsn;

/// Room that ordinary records leave besides the one for undoing: for commits, and for pages logged as a whole
/// when a rollback comes after a checkpoint.
const LEFT_BYTES: u64 = 4 * BLOCK_LIMIT_BYTES as u64;
/// Room is asked for in steps of this, if virtual log files are not smaller.
const STEP_BYTES: u64 = 8 << 20;

impl Log {
    /// Makes sure that the disk has room for everything in memory, for `bytes` more, and for undoing the open
    /// transactions.
    pub(super) fn make_room(&self, state: &mut State, bytes: u64) -> Result<(), EngineError> {
        let block_end =
            u64::from(state.block.position()) * UNIT_BYTES as u64 + state.block.length_bytes() as u64;
        // Blocks are filled up to a multiple of 512 bytes.
        let more = state.reserved_bytes + bytes;
        let wanted = block_end + more + more / 64 + LEFT_BYTES;
        if wanted <= state.allocated_bytes {
            return Ok(());
        }
        let step = (self.options.file_bytes / 8).clamp(BLOCK_LIMIT_BYTES as u64, STEP_BYTES);
        let from = state.allocated_bytes;
        let reserve = |to: u64| state.current.reserve(from, to.saturating_sub(from));
        let reserved = reserve(wanted + step).map(|()| wanted + step);
        match reserved.or_else(|_| reserve(wanted).map(|()| wanted)) {
            Ok(allocated) => {
                state.allocated_bytes = allocated;
                state.lacks_space = false;
                Ok(())
            }
            Err(source) => Err(state.short_of_space(self, "reserve room in", source)),
        }
    }

    /// Goes on in a new virtual log file; stays in this one, which may become longer than wanted, if the disk has no room for another.
    pub(super) fn next_file(&self, state: &mut State) -> Result<(), EngineError> {
        match state.write_closed(self) {
            Err(error) if error.is_log_full() => return Ok(()),
            written => written?,
        }
        let end = state.block.start();
        // The current file is synced before the header of another file says that it is complete.
        let synced = self.io.sync(|| state.current.sync());
        synced.map_err(|source| state.fail(self, "sync", end.file, source))?;
        let number = end.file + 1;
        let created = create_file(&self.volume, number, end.block).and_then(|file| {
            let bytes = UNIT_BYTES as u64 + state.reserved_bytes + state.reserved_bytes / 64 + LEFT_BYTES;
            let reserved = file.reserve(0, bytes);
            reserved.map_err(|source| self.io_error("reserve room in", number, source))?;
            Ok((file, bytes))
        });
        match created {
            Ok((file, allocated_bytes)) => {
                // The unused rest of the old file is given back.
                let length = u64::from(end.block) * UNIT_BYTES as u64;
                state.current.set_length(length).ok();
                state.begin(file, number, end, allocated_bytes);
                Ok(())
            }
            Err(EngineError::Io { source, .. }) if wants_space(&source) => {
                // Recovery must not find the new file, since its header says that the current file ends here.
                let removed = match self.volume.remove(&file_name(number)) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                    removed => removed,
                };
                let removed = removed.and_then(|()| self.volume.sync_directory());
                removed.map_err(|source| state.fail(self, "remove", number, source))
            }
            Err(error) => {
                state.failed = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Makes sure that the current virtual log file exists: a full disk may have had no room for it.
    pub fn ensure_file(&self) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        state.check()?;
        match state.current.reserve(0, 0) {
            Ok(()) => Ok(()),
            Err(source) => Err(state.short_of_space(self, "create", source)),
        }
    }

    /// Takes back a commit record, or a decision, that could not be made durable for lack of space. It becomes a record without
    /// effect, so that the transaction is open again. False if it is durable after all.
    pub fn withdraw(&self, lsn: Lsn) -> Result<bool, EngineError> {
        let _flusher = self.flusher.lock();
        let mut state = self.state.lock();
        state.check()?;
        if state.durable > lsn {
            return Ok(false);
        }
        let number = lsn.file;
        if number != state.block.start().file || lsn.block < state.block.unwritten() {
            let source = std::io::Error::other("a commit record was written and not synced");
            return Err(state.fail(self, "sync", number, source));
        }
        // A part of the record may have been written. After this cut no recovery can find it.
        let end = u64::from(state.block.unwritten()) * UNIT_BYTES as u64;
        let cut = state.current.set_length(end).and_then(|()| state.current.sync());
        cut.map_err(|source| state.fail(self, "cut", number, source))?;
        state.allocated_bytes = end;
        // A record that is not there is no commit record, as the error below says.
        let bytes = state.in_memory(lsn).unwrap_or_default();
        let decoded = LogRecord::decode(&bytes).ok().and_then(|record| match record.operation {
            Operation::Commit { row_counts } => {
                Some(LogRecord { operation: Operation::Withdrawn { row_counts }, ..record })
            }
            Operation::Decision { .. } => {
                Some(LogRecord { operation: Operation::Decision { global: 0 }, ..record })
            }
            _ => None,
        });
        let replaced =
            decoded.is_some_and(|record| state.block.replace(lsn.block, lsn.record, &record.encode()));
        match replaced {
            true => Ok(true),
            false => Err(EngineError::DamagedLog { lsn, reason: "it is no commit record".to_owned() }),
        }
    }

    /// Reserves space for a rollback again.
    pub fn reserve(&self, reserved_bytes: u64) {
        self.state.lock().reserved_bytes += reserved_bytes;
    }

    /// Returns the log's reserved room to the disk, for something more urgent.
    pub fn give_up_room(&self) {
        let mut state = self.state.lock();
        let end = u64::from(state.block.unwritten()) * UNIT_BYTES as u64;
        // Bytes beyond that end are written again.
        if state.current.set_length(end).is_ok() {
            state.allocated_bytes = end;
        }
    }

    /// Returns true if the last operation of the log failed for lack of space.
    pub fn lacks_space(&self) -> bool {
        self.state.lock().lacks_space
    }

    /// Returns the reason why nothing can be written now; None if it can. If the last operation failed for
    /// lack of space, room is asked for again.
    pub fn obstacle(&self) -> Option<String> {
        let mut state = self.state.lock();
        if let Some(reason) = &state.failed {
            return Some(reason.clone());
        }
        if !state.lacks_space {
            return None;
        }
        let made = self.make_room(&mut state, 0).and_then(|()| state.write_closed(self));
        state.lacks_space = made.is_err();
        made.err().map(|error| error.to_string())
    }

    /// Returns the position before which all records are durable.
    pub fn durable(&self) -> Lsn {
        self.state.lock().durable
    }
}

impl State {
    /// Returns the error of an operation that failed. It is that of a full log if only space was wanting, and
    /// nothing is lost. After any other error the content of the file is unknown.
    pub(super) fn short_of_space(
        &mut self,
        log: &Log,
        operation: &'static str,
        source: std::io::Error,
    ) -> EngineError {
        let number = self.block.start().file;
        if !wants_space(&source) {
            return self.fail(log, operation, number, source);
        }
        self.lacks_space = true;
        let path = log.volume.path(&file_name(number));
        EngineError::LogDiskFull { path, reason: self.kept_for, source }
    }
}
