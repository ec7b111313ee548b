//! Writes tokens: collects them, cuts them into packets, and sends them in large pieces.

use std::io::{self, IoSlice};
use std::time::Duration;

use tds::codec::Writer;
use tds::packet::PacketType;
use tds::packet_framer::{PacketFramer, PlannedPacket};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use crate::connection::ConnectionError;

/// Gathered bytes beyond which packets are written out before the response is complete.
const WRITE_AT_BYTES: usize = 128 << 10;
/// Packets of so many bytes are written from where their tokens are. Fewer are copied together with their headers.
const GATHERED_BYTES: usize = 16 << 10;
/// What an idle connection keeps of each buffer.
const KEPT_BYTES: usize = 4 << 10;

/// Writes one response after another.
pub(crate) struct ResponseWriter<W> {
    io: W,
    packet_size_bytes: usize,
    spid: u16,
    framer: PacketFramer,
    /// Token bytes not yet sent.
    tokens: Vec<u8>,
    planned: Vec<PlannedPacket>,
    packets: Vec<u8>,
    fate: Fate,
}

/// What becomes of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent,
    /// The end of the next response is delayed by this time.
    Delayed(Duration),
    /// They are lost.
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
            planned: Vec::new(),
            packets: Vec::new(),
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
        self.tokens = writer.finish()?;
        Ok(written?)
    }

    /// Whether nothing has been written since the last response.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token buffer itself, for the row encoder.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.tokens
    }

    /// Sends the collected bytes if they are enough for a write. The last bytes of a response are always held back, so that its
    /// final packet is not empty.
    pub async fn write_if_large(&mut self) -> Result<(), ConnectionError> {
        if self.tokens.len() < WRITE_AT_BYTES {
            return Ok(());
        }
        self.write(false).await
    }

    /// Sends all packets that are full; with `last` all that is left, as the end of the response.
    async fn write(&mut self, last: bool) -> Result<(), ConnectionError> {
        self.planned.clear();
        let covered = self.framer.plan(self.tokens.len(), last, &mut self.planned);
        if self.fate != Fate::Dropped {
            let tokens = &self.tokens;
            let payload = |packet: &PlannedPacket| tokens.get(packet.payload.clone()).unwrap_or_default();
            if covered >= GATHERED_BYTES && self.io.is_write_vectored() {
                let packets = self.planned.iter();
                let slices =
                    packets.flat_map(|packet| [IoSlice::new(&packet.header), IoSlice::new(payload(packet))]);
                write_all(&mut self.io, &mut slices.collect::<Vec<_>>()).await?;
            } else {
                for packet in &self.planned {
                    self.packets.extend_from_slice(&packet.header);
                    self.packets.extend_from_slice(payload(packet));
                }
                self.io.write_all(&self.packets).await?;
                self.packets.clear();
            }
        }
        self.tokens.drain(..covered);
        Ok(())
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
        self.packets.shrink_to(KEPT_BYTES);
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
