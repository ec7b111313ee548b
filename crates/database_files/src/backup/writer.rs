//! Backups of the embedded server: blocks and streams as SQL Server writes them, around the server's own copy of a database.
//!
//! Lengths and positions of the log are known at the end of the copy, so a set is described where it begins and described again
//! when it ends.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::header::{
    BackupHeader, BackupKind, MediaLabel, OWN_CONTENT, OWN_ENTRY, OWN_PACKAGE, OWN_PACKED, OWN_SOFTWARE,
    packed,
};
use super::media::Lsn;
use crate::pages::{PAGE_BYTES, RunningChecksum, SECTOR_BYTES};

/// Bytes of the head of a block, and of that of a stream.
const BLOCK_HEAD_BYTES: usize = 52;
const STREAM_HEAD_BYTES: usize = 22;
/// The number under which SQL Server writes its media.
const VENDOR: u16 = 0x1200;
/// Attributes of a stream that a checksum follows.
const HAS_CHECKSUM: u16 = 0x0100;
/// Bytes that are packed at a time.
const PACKED_BYTES: usize = 64 << 10;
/// Bytes of a description before its texts.
const DESCRIPTION_BYTES: usize = 388;
const GROUP_BYTES: usize = 48;
const FILE_BYTES: usize = 400;

/// Writes a file of backups.
pub struct BackupWriter<F> {
    out: F,
    /// Bytes before the next one.
    position: u64,
    /// Number of the next block within its set.
    next_block: u32,
    set: Option<OpenSet>,
}

/// A set that is being written.
struct OpenSet {
    number: u16,
    description_at: u64,
    content_at: u64,
    checksum: Option<SectorSum>,
    packer: Option<Compress>,
}

/// A checksum of bytes that come in pieces of any length.
#[derive(Default)]
struct SectorSum {
    sum: RunningChecksum,
    rest: Vec<u8>,
}

impl SectorSum {
    fn add(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() / SECTOR_BYTES * SECTOR_BYTES;
        self.sum.add(self.rest.get(..whole).unwrap_or_default());
        self.rest.drain(..whole);
    }

    fn value(&self) -> u32 {
        let mut sum = self.sum;
        sum.add(&self.rest);
        sum.value()
    }
}

/// The first head of a stream: its kind, the attributes of its media and its length.
fn stream_head(kind: &[u8; 4], attributes: u16, length: u64) -> [u8; STREAM_HEAD_BYTES] {
    let mut head = [0; STREAM_HEAD_BYTES];
    put(&mut head, 0, kind);
    put(&mut head, 6, &attributes.to_le_bytes());
    put(&mut head, 8, &length.to_le_bytes());
    seal(&mut head);
    head
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Writes the checksum of a head into its last word: the exclusive or of the words before it.
fn seal(head: &mut [u8]) {
    let last = head.len().saturating_sub(2);
    let (words, _) = head.get(..last).unwrap_or_default().as_chunks::<2>();
    let sum = words.iter().fold(0, |sum, word| sum ^ u16::from_le_bytes(*word));
    put(head, last, &sum.to_le_bytes());
}

/// A block before its streams: fields at their places, texts behind them.
struct BlockBytes(Vec<u8>);

impl BlockBytes {
    /// Begins a block of `fixed` bytes without its texts.
    fn new(kind: &[u8; 4], attributes: u32, fixed: usize) -> Self {
        let mut bytes = vec![0; fixed.max(BLOCK_HEAD_BYTES)];
        put(&mut bytes, 0, kind);
        put(&mut bytes, 4, &attributes.to_le_bytes());
        // The number that stands for the operating system.
        put(&mut bytes, 10, &[0x0e, 0x01]);
        put(&mut bytes, 48, &[2]);
        Self(bytes)
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        put(&mut self.0, at, value);
    }

    /// Adds a text whose length and place stand at `at`.
    fn text(&mut self, at: usize, text: &str) {
        add_text(&mut self.0, at, text);
    }
}

/// Adds a text in UTF-16 behind `bytes`; its length and place are written at `at`. An empty one has neither.
fn add_text(bytes: &mut Vec<u8>, at: usize, text: &str) {
    let encoded: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    if let (Ok(length), Ok(place)) = (u16::try_from(encoded.len()), u16::try_from(bytes.len()))
        && length > 0
    {
        put(bytes, at, &length.to_le_bytes());
        put(bytes, at + 2, &place.to_le_bytes());
        bytes.extend(encoded);
    }
}

impl<F: Write + Seek> BackupWriter<F> {
    /// Writes the label of a new file.
    ///
    /// # Errors
    /// The file cannot be written; so below.
    pub fn begin(out: F, label: &MediaLabel) -> io::Result<Self> {
        let mut writer = Self { out, position: 0, next_block: 0, set: None };
        let mut block = BlockBytes::new(b"TAPE", 0x0003_0000, 94);
        block.put(52, &label.family_id.to_le_bytes());
        block.put(60, &1_u16.to_le_bytes());
        block.put(64, &1_u16.to_le_bytes());
        block.put(66, &3_u16.to_le_bytes());
        block.put(84, &(SECTOR_BYTES as u16).to_le_bytes());
        block.put(86, &VENDOR.to_le_bytes());
        block.put(88, &packed(label.date));
        block.put(93, &[1]);
        block.text(68, &label.name);
        block.text(72, &label.description);
        block.text(80, OWN_SOFTWARE);
        let mut families = [0; 32];
        put(&mut families, 0, &label.set_id);
        for at in [20, 22, 24] {
            put(&mut families, at, &1_u16.to_le_bytes());
        }
        writer.block(block, &[(b"RAID", &families)])?;
        writer.mark()?;
        Ok(writer)
    }

    /// Goes on behind the last set of a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(mut out: F) -> io::Result<Self> {
        let position = out.seek(SeekFrom::End(0))?;
        Ok(Self { out, position, next_block: 0, set: None })
    }

    /// Begins a set, with the server's entry of the database, a package of its tables (and its bytes) if there is one, and the
    /// stream of its contents. What `header` does not know yet is written by [`end_set`](Self::end_set).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_set(
        &mut self,
        header: &BackupHeader,
        entry: &[u8],
        package: Option<(&mut dyn Read, u64)>,
    ) -> io::Result<()> {
        self.next_block = 0;
        let mut block = BlockBytes::new(b"SSET", 0, 122);
        let kind = match header.kind {
            BackupKind::Full => 4_u32,
            BackupKind::Differential => 8,
            BackupKind::Log => 0,
        };
        block.put(52, &(kind | u32::from(header.is_copy_only) << 1).to_le_bytes());
        block.put(60, &VENDOR.to_le_bytes());
        block.put(62, &header.position.to_le_bytes());
        block.put(80, &self.position.to_le_bytes());
        block.put(88, &packed(header.begun));
        let (major, minor, _) = header.server_version;
        block.put(93, &[major, minor, 0, 0, 2]);
        block.put(100, &header.set_id);
        block.put(116, &header.expires.map(packed).unwrap_or_default());
        block.text(64, &header.name);
        block.text(68, &header.description);
        self.block(block, &[])?;
        let mut volume = BlockBytes::new(b"VOLB", 0, 70);
        volume.put(65, &packed(header.begun));
        self.block(volume, &[])?;
        let description_at = self.position;
        self.block(BlockBytes::new(b"MSCI", 0, 56), &[(b"MQCI", &description(header))])?;
        let is_log = header.kind == BackupKind::Log;
        let head = BlockBytes::new(if is_log { b"MSTL" } else { b"MSDA" }, 0, 56);
        self.block_head(head)?;
        self.stream(OWN_ENTRY, 0, entry)?;
        if let Some((package, length)) = package {
            self.align(4)?;
            self.raw(&stream_head(OWN_PACKAGE, 0, length))?;
            let copied = io::copy(&mut package.take(length), &mut self.out)?;
            self.position += copied;
            if copied != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.align(4)?;
        let content_at = self.position;
        self.raw(&[0; STREAM_HEAD_BYTES])?;
        self.set = Some(OpenSet {
            number: header.position,
            description_at,
            content_at,
            checksum: header.has_checksums.then(SectorSum::default),
            packer: header.is_compressed.then(|| Compress::new(Compression::fast(), true)),
        });
        Ok(())
    }

    /// Ends the set, and describes it with all that is known now. The bytes are not synced.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end_set(&mut self, header: &BackupHeader) -> io::Result<()> {
        self.finish_packing()?;
        let Some(set) = self.set.take() else { return Ok(()) };
        let length = self.position - set.content_at - STREAM_HEAD_BYTES as u64;
        let kind = if set.packer.is_some() { OWN_PACKED } else { OWN_CONTENT };
        let attributes = if set.checksum.is_some() { HAS_CHECKSUM } else { 0 };
        if let Some(sum) = &set.checksum {
            let value = sum.value().to_le_bytes();
            self.align(4)?;
            self.stream(b"CSUM", 0, &value)?;
        }
        self.pad()?;
        self.block(BlockBytes::new(b"MSLS", 0, 56), &[(b"MQCI", &description(header))])?;
        self.mark()?;
        for _ in 0..2 {
            let mut block = BlockBytes::new(b"ESET", 0, 88);
            block.put(78, &set.number.to_le_bytes());
            block.put(80, &packed(header.finished));
            self.block(block, &[])?;
        }
        self.mark()?;
        let end = self.position;
        self.seek(set.content_at)?;
        self.raw(&stream_head(kind, attributes, length))?;
        self.seek(set.description_at)?;
        self.next_block = 2;
        self.block(BlockBytes::new(b"MSCI", 0, 56), &[(b"MQCI", &description(header))])?;
        self.seek(end)?;
        self.out.flush()
    }

    /// Returns the bytes of the file so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Gives the file back.
    pub fn into_inner(self) -> F {
        self.out
    }

    fn seek(&mut self, to: u64) -> io::Result<()> {
        self.position = self.out.seek(SeekFrom::Start(to))?;
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn align(&mut self, to: u64) -> io::Result<()> {
        let missing = self.position.next_multiple_of(to) - self.position;
        self.raw(&vec![0; missing as usize])
    }

    fn block(&mut self, block: BlockBytes, streams: &[(&[u8; 4], &[u8])]) -> io::Result<()> {
        self.block_head(block)?;
        for (kind, bytes) in streams {
            self.stream(kind, 0, bytes)?;
        }
        self.pad()
    }

    fn block_head(&mut self, block: BlockBytes) -> io::Result<()> {
        let mut bytes = block.0;
        // Streams begin at multiples of four.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let first_stream = bytes.len() as u16;
        put(&mut bytes, 8, &first_stream.to_le_bytes());
        put(&mut bytes, 36, &self.next_block.to_le_bytes());
        self.next_block += 1;
        if let Some(head) = bytes.get_mut(..BLOCK_HEAD_BYTES) {
            seal(head);
        }
        self.raw(&bytes)
    }

    fn stream(&mut self, kind: &[u8; 4], attributes: u16, bytes: &[u8]) -> io::Result<()> {
        self.align(4)?;
        self.raw(&stream_head(kind, attributes, bytes.len() as u64))?;
        self.raw(bytes)
    }

    /// Ends a block with the padding that leads to the next one.
    fn pad(&mut self) -> io::Result<()> {
        self.align(4)?;
        let end = (self.position + STREAM_HEAD_BYTES as u64).next_multiple_of(SECTOR_BYTES as u64);
        let length = end - self.position - STREAM_HEAD_BYTES as u64;
        self.stream(b"SPAD", 0, &vec![0; length as usize])
    }

    /// Writes a mark between sets.
    fn mark(&mut self) -> io::Result<()> {
        let mut block = BlockBytes::new(b"SFMB", 0x8000_0000, SECTOR_BYTES);
        block.put(8, &(SECTOR_BYTES as u16).to_le_bytes());
        block.put(48, &[0]);
        if let Some(head) = block.0.get_mut(..BLOCK_HEAD_BYTES) {
            seal(head);
        }
        self.raw(&block.0)
    }

    fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(sum) = self.set.as_mut().and_then(|set| set.checksum.as_mut()) {
            sum.add(bytes);
        }
        self.raw(bytes)
    }

    /// Packs bytes; none end the packing.
    fn pack(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        loop {
            let Some(packer) = self.set.as_mut().and_then(|set| set.packer.as_mut()) else { return Ok(()) };
            let mut packed = Vec::with_capacity(PACKED_BYTES);
            let before = packer.total_in();
            let status = packer.compress_vec(bytes, &mut packed, flush).map_err(io::Error::other)?;
            let taken = (packer.total_in() - before) as usize;
            bytes = bytes.get(taken..).unwrap_or_default();
            let is_full = packed.len() == packed.capacity();
            self.content(&packed)?;
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => bytes.is_empty() && !is_full,
            };
            if is_done {
                return Ok(());
            }
        }
    }

    fn finish_packing(&mut self) -> io::Result<()> {
        match self.set.as_ref().is_some_and(|set| set.packer.is_some()) {
            true => self.pack(&[], FlushCompress::Finish),
            false => Ok(()),
        }
    }
}

impl<F: Write + Seek> Write for BackupWriter<F> {
    /// Adds to the contents of the set that was begun.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.set.as_ref().is_some_and(|set| set.packer.is_some()) {
            true => self.pack(bytes, FlushCompress::None)?,
            false => self.content(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn put_lsn(bytes: &mut [u8], at: usize, lsn: Lsn) {
    put(bytes, at, &lsn.virtual_log_file.to_le_bytes());
    put(bytes, at + 4, &lsn.block.to_le_bytes());
    put(bytes, at + 8, &lsn.record.to_le_bytes());
}

/// Returns the description of a database: a block of its own, one for each file group, one for each file.
fn description(header: &BackupHeader) -> Vec<u8> {
    let mut whole = vec![0; DESCRIPTION_BYTES];
    put(&mut whole, 0, b"SCIN");
    put(&mut whole, 8, &[0, 2]);
    let count = |is_log: bool| header.files.iter().filter(|file| file.is_log == is_log).count() as u32;
    put(&mut whole, 12, &count(false).to_le_bytes());
    put(&mut whole, 16, &count(true).to_le_bytes());
    let (major, minor, build) = header.server_version;
    put(&mut whole, 24, &build.to_le_bytes());
    put(&mut whole, 26, &[minor, major]);
    put_lsn(&mut whole, 32, header.first_lsn);
    put_lsn(&mut whole, 42, header.last_lsn);
    put_lsn(&mut whole, 52, header.checkpoint_lsn);
    put_lsn(&mut whole, 62, header.base_lsn);
    put(&mut whole, 72, &packed(header.created));
    put(&mut whole, 77, &packed(header.begun));
    put(&mut whole, 88, &[header.sort_order]);
    put(&mut whole, 91, &[header.compatibility]);
    put(&mut whole, 94, &header.version.to_le_bytes());
    put(&mut whole, 96, &header.size.to_le_bytes());
    put(&mut whole, 116, &header.locale.to_le_bytes());
    put(&mut whole, 120, &header.comparison_style.to_le_bytes());
    put(&mut whole, 124, &header.binding_id);
    put_lsn(&mut whole, 144, header.fork_lsn);
    put(&mut whole, 156, &header.recovery_fork_id);
    let collation = header.collation.as_deref().and_then(tds::Collation::from_name);
    if let Some([a, b, c, d, sort_order]) = collation.map(tds::Collation::to_bytes) {
        put(&mut whole, 216, &[a, b, c, d, sort_order, 0, 0, 0]);
    }
    add_text(&mut whole, 104, &header.database);
    add_text(&mut whole, 108, &header.server);
    let length = (whole.len() as u32).to_le_bytes();
    put(&mut whole, 4, &length);
    let mut groups: Vec<(u16, &str)> = Vec::new();
    for file in &header.files {
        if let Some(name) = &file.group_name
            && groups.iter().all(|(number, _)| *number != file.group)
        {
            groups.push((file.group, name));
        }
    }
    for (number, name) in groups {
        let mut group = vec![0; GROUP_BYTES];
        put(&mut group, 0, b"SFGI");
        put(&mut group, 12, &number.to_le_bytes());
        add_text(&mut group, 16, name);
        let length = (group.len() as u32).to_le_bytes();
        put(&mut group, 4, &length);
        whole.extend(group);
    }
    for of in &header.files {
        let mut file = vec![0; FILE_BYTES];
        put(&mut file, 0, b"SFIN");
        put(&mut file, 16, &(PAGE_BYTES as u32).to_le_bytes());
        put(&mut file, 20, &of.number.to_le_bytes());
        put(&mut file, 24, &of.pages.to_le_bytes());
        put(&mut file, 28, &(1 + u16::from(of.is_log)).to_le_bytes());
        put(&mut file, 32, &of.sector_bytes.to_le_bytes());
        put(&mut file, 36, &of.group.to_le_bytes());
        put(&mut file, 40, &of.size.to_le_bytes());
        put(&mut file, 86, &of.size_max.to_le_bytes());
        add_text(&mut file, 48, &of.name);
        add_text(&mut file, 52, &of.path);
        let length = (file.len() as u32).to_le_bytes();
        put(&mut file, 4, &length);
        whole.extend(file);
    }
    whole
}
