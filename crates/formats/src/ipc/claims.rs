//! Lengths that Arrow IPC claims, checked before the Arrow library allocates them: a failed allocation ends the process,
//! which a damaged file must not.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use arrow::ipc::reader::read_footer_length;
use arrow::ipc::{Block, CompressionType, Message, RecordBatch, root_as_footer, root_as_message};

/// A length that cannot be true.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FalseClaim {
    #[error("a buffer of {compressed} compressed bytes claims to hold {claimed}")]
    Uncompressed { compressed: u64, claimed: u64 },
    #[error("{claimed} bytes are claimed, more than can be allocated")]
    Allocation { claimed: u64 },
    #[error("a block of {length} bytes at byte {offset} lies outside the file")]
    Block { offset: i64, length: i64 },
    #[error("buffers overlap")]
    Overlap,
}

impl From<FalseClaim> for io::Error {
    fn from(claim: FalseClaim) -> Self {
        Self::new(io::ErrorKind::InvalidData, claim)
    }
}

/// A compressed buffer; its first eight bytes claim its length uncompressed.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// Start within the message's body.
    offset: u64,
    compressed: u64,
    /// Maximum number of bytes that a compressed byte can become.
    ratio: u64,
}

/// Bytes in which a claim is stored.
const CLAIM_BYTES: usize = 8;

/// A byte of LZ4 adds at most 255 bytes to a run.
const LZ4_RATIO: u64 = 255;
/// Zstandard's blocks hold at most 128 KiB and take at least four bytes.
const ZSTD_RATIO: u64 = (128 << 10) / 4;

impl Claim {
    fn check(&self, bytes: [u8; CLAIM_BYTES]) -> Result<(), FalseClaim> {
        // -1 says "not compressed"; the library refuses other negative lengths.
        let Ok(claimed) = u64::try_from(i64::from_le_bytes(bytes)) else { return Ok(()) };
        if claimed > self.compressed.saturating_mul(self.ratio) {
            return Err(FalseClaim::Uncompressed { compressed: self.compressed, claimed });
        }
        check_allocation(claimed)
    }
}

/// Tries an allocation of the claimed size. Large allocations are reserved, not filled, so trying costs
/// nothing.
fn check_allocation(claimed: u64) -> Result<(), FalseClaim> {
    let fits =
        usize::try_from(claimed).is_ok_and(|length| Vec::<u8>::new().try_reserve_exact(length).is_ok());
    if fits { Ok(()) } else { Err(FalseClaim::Allocation { claimed }) }
}

/// Lists the compressed buffers of a message, by offset.
fn claims_of(message: &Message<'_>) -> Result<Vec<Claim>, FalseClaim> {
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch): Option<RecordBatch<'_>> = message.header_as_record_batch().or(dictionary) else {
        return Ok(Vec::new());
    };
    let (Some(compression), Some(buffers)) = (batch.compression(), batch.buffers()) else {
        return Ok(Vec::new());
    };
    let ratio = if compression.codec() == CompressionType::LZ4_FRAME { LZ4_RATIO } else { ZSTD_RATIO };
    let mut claims: Vec<Claim> = buffers
        .iter()
        .filter_map(|buffer| {
            let offset = u64::try_from(buffer.offset()).ok()?;
            let compressed = u64::try_from(buffer.length()).ok()?.checked_sub(CLAIM_BYTES as u64)?;
            Some(Claim { offset, compressed, ratio })
        })
        .collect();
    claims.sort_by_key(|claim| claim.offset);
    let overlap = claims.windows(2).any(|pair| match pair {
        [first, second] => second.offset - first.offset < CLAIM_BYTES as u64,
        _ => false,
    });
    if overlap { Err(FalseClaim::Overlap) } else { Ok(claims) }
}

/// Checks every block of the file form. What is malformed otherwise is left to the library, which says so.
///
/// # Errors
/// I/O failures; a [`FalseClaim`] as invalid data.
pub(super) fn check_file(file: &mut (impl Read + Seek)) -> io::Result<()> {
    let file_bytes = file.seek(SeekFrom::End(0))?;
    let Some(tail_at) = file_bytes.checked_sub(FOOTER_TAIL_BYTES as u64) else { return Ok(()) };
    let tail: [u8; FOOTER_TAIL_BYTES] = read_at(file, tail_at)?;
    let Ok(footer_bytes) = read_footer_length(tail) else { return Ok(()) };
    let Some(footer_at) = tail_at.checked_sub(footer_bytes as u64) else { return Ok(()) };
    let mut footer = vec![0; footer_bytes];
    file.seek(SeekFrom::Start(footer_at))?;
    file.read_exact(&mut footer)?;
    let Ok(footer) = root_as_footer(&footer) else { return Ok(()) };
    for block in footer.dictionaries().iter().flatten().chain(footer.recordBatches().iter().flatten()) {
        check_block(file, block, footer_at)?;
    }
    Ok(())
}

/// Footer length and magic.
const FOOTER_TAIL_BYTES: usize = 10;

fn check_block(file: &mut (impl Read + Seek), block: &Block, blocks_end: u64) -> io::Result<()> {
    let (offset, length) = (block.offset(), block.bodyLength());
    let outside = || FalseClaim::Block { offset, length };
    let start = u64::try_from(offset).map_err(|_| outside())?;
    let body_bytes = u64::try_from(length).map_err(|_| outside())?;
    let metadata_bytes = u32::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body_at = start.checked_add(metadata_bytes.into()).ok_or_else(outside)?;
    if body_at.checked_add(body_bytes).is_none_or(|end| end > blocks_end) {
        return Err(outside().into());
    }
    let mut metadata = vec![0; metadata_bytes as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut metadata)?;
    let message = match metadata.split_first_chunk::<4>() {
        Some((&CONTINUATION, rest)) => rest.get(4..),
        Some((_, rest)) => Some(rest),
        None => None,
    };
    let Some(Ok(message)) = message.map(root_as_message) else { return Ok(()) };
    for claim in claims_of(&message)? {
        if claim.offset.saturating_add(CLAIM_BYTES as u64) <= body_bytes {
            claim.check(read_at(file, body_at + claim.offset)?)?;
        }
    }
    Ok(())
}

fn read_at<const N: usize>(file: &mut (impl Read + Seek), offset: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Passes the stream form on, and fails before the library has read a false claim.
pub(super) struct CheckedStream<R> {
    inner: R,
    state: State,
}

/// Next part of the stream.
enum State {
    /// A message's length: four bytes, behind four bytes of continuation mark since format 0.15.
    Length { bytes: Vec<u8> },
    /// A message of `length` bytes.
    Message { bytes: Vec<u8>, length: usize },
    /// The rest of a body, `position` bytes of which have passed. The claims left are in reverse order.
    Body { position: u64, length: u64, claims: Vec<Claim>, bytes: Vec<u8> },
    /// The end, or something unknown, which the library will report.
    Rest,
}

const CONTINUATION: [u8; 4] = [0xFF; 4];

impl<R> CheckedStream<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, state: State::Length { bytes: Vec::new() } }
    }

    /// Takes note of `passed`, the next bytes of the stream.
    fn watch(&mut self, mut passed: &[u8]) -> Result<(), FalseClaim> {
        while !passed.is_empty() {
            let next = match &mut self.state {
                State::Length { bytes } => {
                    passed = fill(bytes, 4, passed);
                    match <[u8; 4]>::try_from(bytes.as_slice()) {
                        Ok(CONTINUATION) => Some(State::Length { bytes: Vec::new() }),
                        Ok(length) => Some(State::message(i32::from_le_bytes(length))),
                        Err(_) => None,
                    }
                }
                State::Message { bytes, length } => {
                    passed = fill(bytes, *length, passed);
                    if bytes.len() == *length { Some(State::body(bytes)?) } else { None }
                }
                State::Body { position, length, claims, bytes } => {
                    passed = pass_body(position, *length, claims, bytes, passed)?;
                    (*position == *length).then(|| State::Length { bytes: Vec::new() })
                }
                State::Rest => return Ok(()),
            };
            if let Some(next) = next {
                self.state = next;
            }
        }
        Ok(())
    }
}

impl State {
    fn message(length: i32) -> Self {
        match usize::try_from(length) {
            Ok(length) if length > 0 => Self::Message { bytes: Vec::new(), length },
            _ => Self::Rest,
        }
    }

    fn body(message: &[u8]) -> Result<Self, FalseClaim> {
        let Ok(message) = root_as_message(message) else { return Ok(Self::Rest) };
        let Ok(length) = u64::try_from(message.bodyLength()) else { return Ok(Self::Rest) };
        check_allocation(length)?;
        let mut claims = claims_of(&message)?;
        claims.reverse();
        Ok(match length {
            0 => Self::Length { bytes: Vec::new() },
            _ => Self::Body { position: 0, length, claims, bytes: Vec::new() },
        })
    }
}

/// Moves bytes from `passed` until `bytes` has `length` of them; returns what is left.
fn fill<'a>(bytes: &mut Vec<u8>, length: usize, passed: &'a [u8]) -> &'a [u8] {
    let (taken, rest) = passed.split_at(passed.len().min(length.saturating_sub(bytes.len())));
    bytes.extend_from_slice(taken);
    rest
}

/// Passes the body up to and with the next claim, or what there is of it; returns what is left.
fn pass_body<'a>(
    position: &mut u64,
    length: u64,
    claims: &mut Vec<Claim>,
    bytes: &mut Vec<u8>,
    passed: &'a [u8],
) -> Result<&'a [u8], FalseClaim> {
    let next = claims.last().map_or(length, |claim| claim.offset.min(length));
    if *position < next {
        let skipped = passed.len().min(usize::try_from(next - *position).unwrap_or(usize::MAX));
        *position += skipped as u64;
        return Ok(passed.get(skipped..).unwrap_or_default());
    }
    let end = usize::try_from(length - *position).unwrap_or(usize::MAX).saturating_add(bytes.len());
    let rest = fill(bytes, CLAIM_BYTES.min(end), passed);
    *position += (passed.len() - rest.len()) as u64;
    if let Ok(claimed) = <[u8; CLAIM_BYTES]>::try_from(bytes.as_slice()) {
        bytes.clear();
        if let Some(claim) = claims.pop() {
            claim.check(claimed)?;
        }
    }
    Ok(rest)
}

impl<R: Read> Read for CheckedStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.watch(buffer.get(..read).unwrap_or_default())?;
        Ok(read)
    }
}

impl<R> fmt::Debug for CheckedStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
