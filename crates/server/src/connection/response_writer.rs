//! Writes tokens: collects them, cuts them into packets, and sends them packet by packet.
//!
//! Microsoft.Data.SqlClient takes what it receives at once for a part of one packet. So each packet is a write, and with TLS a
//! record, of its own, as those of SQL Server are. Where bytes are clear, a client receives what it finds in any case, and rows
//! without long values are written in large pieces.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::time::{Duration, Instant};

use rows::BoundBatch;
use tds::codec::{PlpChunk, Writer};
use tds::packet::PacketType;
use tds::packet_framer::{PacketFramer, PlannedPacket};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use crate::connection::ConnectionError;

/// Gathered bytes beyond which packets are written out before the response is complete.
const WRITE_AT_BYTES: usize = 128 << 10;
/// Time after which full packets are written out, however few: rows that come slowly are not held back.
const WRITE_AFTER: Duration = Duration::from_millis(20);
/// Packets of so many bytes are written from where their tokens are. Fewer are copied together with a header.
const GATHERED_BYTES: usize = 16 << 10;
/// The bytes of each buffer that an idle connection keeps.
const KEPT_BYTES: usize = 4 << 10;
/// The number of chunks that an idle connection keeps room for.
const KEPT_CHUNKS: usize = 64;

/// Writes one response after another.
pub(crate) struct ResponseWriter<W> {
    io: W,
    packet_size_bytes: usize,
    spid: u16,
    framer: PacketFramer,
    /// Token bytes not yet sent.
    tokens: Vec<u8>,
    /// The chunks of long values in them.
    chunks: VecDeque<PlpChunk>,
    planned: Vec<PlannedPacket>,
    packet: Vec<u8>,
    /// The time of the last write.
    written: Instant,
    fate: Fate,
}

/// The fate of responses under faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent,
    /// The end of the next response is delayed by this time.
    Delayed(Duration),
    /// Responses are dropped.
    Dropped,
}

impl<W: AsyncWrite + Unpin> ResponseWriter<W> {
    pub fn new(io: W, packet_size_bytes: usize, spid: u16) -> Self {
        ResponseWriter {
            io,
            packet_size_bytes,
            spid,
            framer: PacketFramer::new(PacketType::TabularResult, packet_size_bytes, spid),
            tokens: Vec::new(),
            chunks: VecDeque::new(),
            planned: Vec::new(),
            packet: Vec::new(),
            written: Instant::now(),
            fate: Fate::Sent,
        }
    }

    /// Sets the fate of the following responses.
    pub fn set_fate(&mut self, fate: Fate) {
        self.fate = fate;
    }

    /// Appends what `write` writes.
    pub fn tokens(&mut self, write: impl FnOnce(&mut Writer)) -> Result<(), ConnectionError> {
        let mut writer = Writer::append_to(std::mem::take(&mut self.tokens));
        let written = writer.attempt(write);
        self.chunks.extend(writer.take_chunks());
        self.tokens = writer.finish()?;
        Ok(written?)
    }

    /// Returns true if nothing has been written since the last response.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Appends rows of a batch.
    pub fn rows(&mut self, batch: &BoundBatch<'_>, rows: Range<usize>) {
        batch.encode_in_chunks(rows, &mut self.tokens, &mut self.chunks);
    }

    /// Returns the token buffer itself, for rows without long values.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.tokens
    }

    /// Sends the collected bytes if they are enough for a write, or fill a packet and have waited. The last bytes of a response are
    /// always held back, so that its final packet is not empty.
    pub async fn write_if_large(&mut self) -> Result<(), ConnectionError> {
        let is_late = || self.written.elapsed() >= WRITE_AFTER;
        if self.tokens.len() < WRITE_AT_BYTES && (self.tokens.len() <= self.packet_size_bytes || !is_late()) {
            return Ok(());
        }
        self.write(false).await
    }

    /// Sends what was collected, though more of the response follows.
    pub async fn flush(&mut self) -> Result<(), ConnectionError> {
        let mut at = 0;
        while let Some(end) = self.framer.frame_short(&self.tokens, at, &mut self.chunks, &mut self.packet) {
            if self.fate != Fate::Dropped {
                self.io.write_all(&self.packet).await?;
                self.io.flush().await?;
            }
            at = end;
        }
        self.tokens.clear();
        self.chunks.clear();
        Ok(())
    }

    /// Sends all packets that are full; with `last` all that is left, as the end of the response.
    async fn write(&mut self, last: bool) -> Result<(), ConnectionError> {
        let is_plain = self.chunks.is_empty() && self.io.is_write_vectored();
        let covered = match is_plain && self.tokens.len() >= GATHERED_BYTES {
            true => self.write_gathered(last).await?,
            false => self.write_packets(last).await?,
        };
        self.tokens.drain(..covered);
        self.chunks.iter_mut().for_each(|chunk| chunk.move_back(covered));
        self.written = Instant::now();
        Ok(())
    }

    /// Writes many packets at once from where their tokens are. Returns how many bytes of tokens they cover.
    async fn write_gathered(&mut self, last: bool) -> Result<usize, ConnectionError> {
        self.planned.clear();
        let covered = self.framer.plan(self.tokens.len(), last, &mut self.planned);
        if self.fate != Fate::Dropped {
            let tokens = &self.tokens;
            let slices = self.planned.iter().flat_map(|packet| {
                let payload = tokens.get(packet.payload.clone()).unwrap_or_default();
                [IoSlice::new(&packet.header), IoSlice::new(payload)]
            });
            write_all(&mut self.io, &mut slices.collect::<Vec<_>>()).await?;
        }
        Ok(covered)
    }

    /// Writes packet by packet. Returns how many bytes of tokens they cover.
    async fn write_packets(&mut self, last: bool) -> Result<usize, ConnectionError> {
        let mut at = 0;
        while let Some(end) =
            self.framer.frame_next(&self.tokens, at, &mut self.chunks, last, &mut self.packet)
        {
            if self.fate != Fate::Dropped {
                self.io.write_all(&self.packet).await?;
                // TLS holds back what the socket does not take, and would make two records of a packet that has no room behind it.
                self.io.flush().await?;
            }
            at = end;
            if at >= self.tokens.len() {
                break;
            }
        }
        Ok(at)
    }

    /// Ends the response and sends all of it.
    pub async fn finish(&mut self) -> Result<(), ConnectionError> {
        if let Fate::Delayed(time) = self.fate {
            self.fate = Fate::Sent;
            sleep(time).await;
        }
        self.write(true).await?;
        self.io.flush().await?;
        self.tokens.shrink_to(KEPT_BYTES);
        self.packet.shrink_to(KEPT_BYTES);
        self.chunks.shrink_to(KEPT_CHUNKS);
        self.framer = PacketFramer::new(PacketType::TabularResult, self.packet_size_bytes, self.spid);
        Ok(())
    }
}

async fn write_all<W: AsyncWrite + Unpin>(io: &mut W, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Empty ones would look like the end.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match io.write_vectored(slices).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut slices, written),
        }
    }
    Ok(())
}
