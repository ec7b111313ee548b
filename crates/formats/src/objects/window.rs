//! Any place of an object, for readers that jump: Parquet's columns, the batches of Arrow IPC.
//!
//! The object is cut into windows, those of a Parquet file at its row groups. What a window holds is fetched in blocks, several at a
//! time, and the next window while this one is read. A few windows are held; one that is too large for memory is held in a temporary
//! file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::budget::Share;
use super::{Object, PendingBytes};

/// A window of a file that says nothing of its parts.
const WINDOW_BYTES: u64 = 16 << 20;
/// The end of a file, which is read first.
const TAIL_BYTES: u64 = 256 << 10;
/// A larger window is held in a temporary file.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
const BLOCK_BYTES: u64 = 4 << 20;
/// A block for a reader that passes over most of the object.
const SMALL_BLOCK_BYTES: u64 = 1 << 20;
/// Windows that are held: readers on several threads are not all in the same.
const WINDOWS: usize = 3;
/// Blocks ahead of the reader in a window that is not fetched whole.
const BLOCKS_AHEAD: usize = 8;

/// An object that is read at any place.
#[derive(Debug)]
pub(crate) struct Windows {
    object: Arc<dyn Object>,
    /// Start of each window; the last is the object's length.
    bounds: Vec<u64>,
    /// All of the object will be read, and in its order.
    is_whole: bool,
    held: Mutex<VecDeque<Arc<Window>>>,
}

impl Windows {
    /// Begins with an object of this length of which nothing is known. Few of its places will be read.
    pub(crate) fn new(object: Arc<dyn Object>, length: u64) -> Self {
        let bounds = even_bounds(length);
        Self { object, bounds, is_whole: false, held: Mutex::default() }
    }

    /// Returns windows of the same object for reading all of it; `parts` are read together.
    pub(crate) fn whole(&self, parts: impl IntoIterator<Item = Range<u64>>) -> Self {
        let bounds = bounds_of(parts, self.length());
        Self { object: Arc::clone(&self.object), bounds, is_whole: true, held: Mutex::default() }
    }

    /// Returns the object's length.
    pub(crate) fn length(&self) -> u64 {
        self.bounds.last().copied().unwrap_or_default()
    }

    /// Reads from `offset` on; fewer bytes than asked for, if they are in the next block.
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.length() || into.is_empty() {
            return Ok(0);
        }
        let place = self.bounds.partition_point(|start| *start <= offset).saturating_sub(1);
        let Some(window) = self.window(place)? else { return Ok(0) };
        let read = window.read_at(into, offset, self.object.as_ref())?;
        if self.is_whole
            && window.is_settled.load(Ordering::Relaxed)
            && !window.is_followed.swap(true, Ordering::Relaxed)
            && let Some(next) = self.window(place + 1)?
        {
            next.begin(self.object.as_ref());
        }
        Ok(read)
    }

    fn window(&self, place: usize) -> io::Result<Option<Arc<Window>>> {
        let (Some(start), Some(end)) = (self.bounds.get(place), self.bounds.get(place + 1)) else {
            return Ok(None);
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held.iter().position(|window| window.range.start == *start);
        let window = match known.and_then(|known| held.remove(known)) {
            Some(window) => window,
            None => Arc::new(Window::new(*start..*end, self.is_whole)?),
        };
        if held.len() >= WINDOWS {
            held.pop_front();
        }
        held.push_back(Arc::clone(&window));
        Ok(Some(window))
    }
}

/// Returns the bounds of windows of one size, and of a small one at the end.
fn even_bounds(length: u64) -> Vec<u64> {
    let tail = length.saturating_sub(TAIL_BYTES);
    let mut bounds: Vec<u64> = (0..tail.div_ceil(WINDOW_BYTES)).map(|window| window * WINDOW_BYTES).collect();
    bounds.push(tail);
    bounds.push(length);
    bounds.dedup();
    bounds
}

/// Returns the bounds of windows that begin where parts do; small parts share one, and a long stretch without
/// any is cut.
fn bounds_of(parts: impl IntoIterator<Item = Range<u64>>, length: u64) -> Vec<u64> {
    let mut starts: Vec<u64> =
        parts.into_iter().map(|part| part.start).filter(|start| *start < length).collect();
    if starts.is_empty() {
        return even_bounds(length);
    }
    starts.sort_unstable();
    let mut bounds = vec![0];
    for start in starts {
        if bounds.last().is_some_and(|last| start - last >= WINDOW_BYTES) {
            bounds.push(start);
        }
    }
    bounds.push(length);
    bounds.dedup();
    bounds
}

/// A part of the object.
#[derive(Debug)]
struct Window {
    range: Range<u64>,
    block_bytes: u64,
    is_whole: bool,
    state: Mutex<State>,
    /// All blocks of the window have arrived.
    is_settled: AtomicBool,
    /// The next window has been begun.
    is_followed: AtomicBool,
}

#[derive(Debug)]
struct State {
    blocks: Vec<Block>,
    settled: usize,
    /// File that holds the blocks; None: memory holds them.
    file: Option<File>,
}

enum Block {
    Absent,
    Pending(Box<dyn PendingBytes>, Option<Share>),
    Held(Bytes),
    Filed,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::Pending(..) => "Pending",
            Self::Held(_) => "Held",
            Self::Filed => "Filed",
        })
    }
}

impl Window {
    fn new(range: Range<u64>, is_whole: bool) -> io::Result<Self> {
        let length = range.end - range.start;
        let block_bytes = if is_whole { BLOCK_BYTES } else { SMALL_BLOCK_BYTES };
        let count = usize::try_from(length.div_ceil(block_bytes)).map_err(io::Error::other)?;
        let file = if length > MEMORY_BYTES_MAX { Some(tempfile::tempfile()?) } else { None };
        let state = State { blocks: (0..count).map(|_| Block::Absent).collect(), settled: 0, file };
        Ok(Self {
            range,
            block_bytes,
            is_whole,
            state: Mutex::new(state),
            is_settled: AtomicBool::new(false),
            is_followed: AtomicBool::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_range(&self, index: usize) -> Range<u64> {
        let start = self.range.start + index as u64 * self.block_bytes;
        start..start.saturating_add(self.block_bytes).min(self.range.end)
    }

    /// Asks for the first blocks before a reader needs them.
    fn begin(&self, object: &dyn Object) {
        self.ask_ahead(&mut self.state(), 0, object);
    }

    /// Asks for blocks from an index on, as far as the budget allows.
    fn ask_ahead(&self, state: &mut State, from: usize, object: &dyn Object) {
        let count = match (self.is_whole, &state.file) {
            (true, None) => usize::MAX,
            (true, Some(_)) => BLOCKS_AHEAD,
            (false, _) => 1,
        };
        for (index, block) in state.blocks.iter_mut().enumerate().skip(from).take(count) {
            if matches!(block, Block::Absent) {
                let range = self.block_range(index);
                let Some(share) = Share::take(range.end - range.start) else { return };
                *block = Block::Pending(object.begin(range), Some(share));
            }
        }
    }

    fn read_at(&self, into: &mut [u8], offset: u64, object: &dyn Object) -> io::Result<usize> {
        let inside = offset - self.range.start;
        let index = usize::try_from(inside / self.block_bytes).map_err(io::Error::other)?;
        let range = self.block_range(index);
        let mut guard = self.state();
        let state = &mut *guard;
        if matches!(state.blocks.get(index), Some(Block::Absent)) {
            if let Some(block) = state.blocks.get_mut(index) {
                *block = Block::Pending(object.begin(range.clone()), None);
            }
            self.ask_ahead(state, index + 1, object);
        }
        if matches!(state.blocks.get(index), Some(Block::Pending(..))) {
            self.settle(state, index)?;
            self.ask_ahead(state, index + 1, object);
        }
        let length = into.len().min(usize::try_from(range.end - offset).unwrap_or(usize::MAX));
        let Some(into) = into.get_mut(..length) else { return Ok(0) };
        match state.blocks.get(index) {
            Some(Block::Held(bytes)) => {
                let from = usize::try_from(offset - range.start).map_err(io::Error::other)?;
                let held = bytes.get(from..from + length);
                into.copy_from_slice(held.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
            }
            _ => {
                let file =
                    state.file.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
                file.seek(SeekFrom::Start(inside))?;
                file.read_exact(into)?;
            }
        }
        Ok(length)
    }

    /// Waits for a block.
    fn settle(&self, state: &mut State, index: usize) -> io::Result<()> {
        let Some(block) = state.blocks.get_mut(index) else { return Ok(()) };
        let Block::Pending(pending, share) = std::mem::replace(block, Block::Absent) else { return Ok(()) };
        let bytes = pending.wait()?;
        drop(share);
        *block = match &mut state.file {
            Some(file) => {
                file.seek(SeekFrom::Start(index as u64 * self.block_bytes))?;
                file.write_all(&bytes)?;
                Block::Filed
            }
            None => Block::Held(bytes),
        };
        state.settled += 1;
        if state.settled == state.blocks.len() {
            self.is_settled.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// An object whose bytes follow from their places.
    #[derive(Debug)]
    pub(crate) struct Numbers {
        length: u64,
        fails_at: u64,
        asked: Arc<AtomicUsize>,
    }

    struct Ready(io::Result<Bytes>);

    impl Numbers {
        pub(crate) fn new(length: u64) -> Self {
            Self::failing_at(length, u64::MAX)
        }

        pub(crate) fn failing_at(length: u64, fails_at: u64) -> Self {
            Self { length, fails_at, asked: Arc::default() }
        }

        pub(crate) fn byte(at: u64) -> u8 {
            (at % 251) as u8
        }

        pub(crate) fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    impl Object for Numbers {
        fn length(&self) -> Option<u64> {
            Some(self.length)
        }

        fn has_ranges(&self) -> bool {
            true
        }

        fn fingerprint(&self) -> Option<String> {
            None
        }

        fn begin(&self, range: Range<u64>) -> Box<dyn PendingBytes> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Box::new(Ready(match range.end > self.fails_at {
                true => Err(io::Error::other("cut")),
                false => Ok(range.map(Self::byte).collect()),
            }))
        }

        fn stream(&self) -> io::Result<Box<dyn Read + Send>> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl PendingBytes for Ready {
        fn wait(self: Box<Self>) -> io::Result<Bytes> {
            self.0
        }
    }

    fn read(windows: &Windows, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let read = windows.read_at(&mut bytes[done..], offset + done as u64).unwrap();
            assert!(read > 0);
            done += read;
        }
        bytes
    }

    #[test]
    fn windows_begin_where_parts_do() {
        const M: u64 = 1 << 20;
        assert_eq!(
            bounds_of([4..5 * M, 5 * M..20 * M, 20 * M..90 * M, 90 * M..95 * M], 96 * M),
            [0, 20 * M, 90 * M, 96 * M]
        );
        assert_eq!(bounds_of([], 40 * M), even_bounds(40 * M));
        // A footer may claim anything.
        assert_eq!(bounds_of([u64::MAX - 1..u64::MAX, 3..4], 10), [0, 10]);
        assert_eq!(even_bounds(0), [0]);
        assert_eq!(even_bounds(10), [0, 10]);
        assert_eq!(even_bounds(40 * M), [0, 16 * M, 32 * M, 40 * M - TAIL_BYTES, 40 * M]);
    }

    #[test]
    fn any_place_is_read_across_blocks_and_windows() {
        let length = 40 << 20;
        let object = Arc::new(Numbers::new(length));
        let some = Windows::new(object.clone(), length);
        let all = some.whole([]);
        for windows in [&some, &all] {
            for offset in [0, 1, (1 << 20) - 3, (16 << 20) - 5, (32 << 20) - 1, length - 11] {
                let bytes = read(windows, offset, 11);
                let expected: Vec<u8> = (offset..offset + 11).map(Numbers::byte).collect();
                assert_eq!(bytes, expected, "{offset}");
            }
            assert_eq!(windows.read_at(&mut [0; 4], length).unwrap(), 0);
            assert_eq!(windows.read_at(&mut [0; 4], u64::MAX).unwrap(), 0);
        }
    }

    #[test]
    fn each_byte_of_an_object_that_is_read_whole_is_fetched_once() {
        let length = 100 << 20;
        let object = Arc::new(Numbers::new(length));
        let windows = Windows::new(object.clone(), length).whole([0..70 << 20, 70 << 20..length]);
        let mut offset = 0;
        while offset < length {
            // Two readers, one behind the other.
            read(&windows, offset, 4096);
            read(&windows, offset.saturating_sub(5 << 20), 4096);
            offset += 1 << 20;
        }
        // The first window is too large for memory.
        assert_eq!(
            object.asked() as u64,
            (70u64 << 20).div_ceil(BLOCK_BYTES) + (30u64 << 20).div_ceil(BLOCK_BYTES)
        );
    }

    #[test]
    fn a_block_that_fails_is_an_error_each_time() {
        let object = Arc::new(Numbers::failing_at(8 << 20, 5 << 20));
        let windows = Windows::new(object, 8 << 20).whole([]);
        assert!(windows.read_at(&mut [0; 4], 1).is_ok());
        for _ in 0..2 {
            assert_eq!(windows.read_at(&mut [0; 4], 6 << 20).unwrap_err().to_string(), "cut");
        }
    }
}
