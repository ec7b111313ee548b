//! Receives the rest of a long answer on a thread of its own, while what came before is decoded.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use tds::packet::{HEADER_LEN_BYTES, PACKET_SIZE_MAX_BYTES, Status};

use super::{
    Shared,
    incoming::{READ_LEN_BYTES, Socket},
};
use crate::platform::CpuWatch;

/// Buffers that wait: one more is being filled, and one unpacked.
const BUFFERS_MAX: usize = 1;
/// Free in front of the bytes of a buffer: room for the part of a packet that the buffer before ended with.
pub(super) const HEAD_BYTES: usize = PACKET_SIZE_MAX_BYTES;

/// The buffers of a thread that receives. It ends with the message, or with the connection.
#[derive(Debug)]
pub(super) struct Ahead {
    buffers: Receiver<io::Result<Buffer>>,
    spent: Sender<Vec<u8>>,
}

/// The bytes of one receive call.
#[derive(Debug)]
pub(super) struct Buffer {
    /// The received bytes; they begin at [`HEAD_BYTES`].
    pub bytes: Vec<u8>,
    pub end: usize,
    /// Bytes read off the wire; 0: the peer closed.
    pub read: usize,
}

impl Ahead {
    /// Starts to receive behind `pending`, the head of a packet. `None`: there is no thread for it.
    pub fn start(shared: &Arc<Shared>, pending: &[u8]) -> Option<Self> {
        if thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
            return None;
        }
        let mut end = MessageEnd::default();
        if end.pass(pending) {
            return None;
        }
        let (sender, buffers) = bounded(BUFFERS_MAX);
        let (spent, spare) = unbounded();
        let shared = Arc::clone(shared);
        let receive = move || receive(&shared, end, &sender, &spare);
        thread::Builder::new().name("bulkwire-receive".to_owned()).spawn(receive).ok()?;
        Some(Self { buffers, spent })
    }

    /// Waits for the next buffer; `None`: the message is over. After `patience` the error is that the time is over.
    pub fn next(&self, patience: Duration) -> io::Result<Option<Buffer>> {
        match self.buffers.recv_timeout(patience) {
            Ok(buffer) => buffer.map(Some),
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// Gives a buffer back.
    pub fn give_back(&self, bytes: Vec<u8>) {
        // The thread may have ended.
        let _ = self.spent.send(bytes);
    }
}

fn receive(
    shared: &Shared,
    mut message: MessageEnd,
    buffers: &Sender<io::Result<Buffer>>,
    spare: &Receiver<Vec<u8>>,
) {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    let (mut socket, cpu) = (Socket::default(), CpuWatch::start());
    let mut counted = Duration::ZERO;
    loop {
        let mut bytes = spare.try_recv().unwrap_or_default();
        if bytes.len() < HEAD_BYTES + READ_LEN_BYTES {
            bytes.resize(HEAD_BYTES + READ_LEN_BYTES, 0);
        }
        let mut end = HEAD_BYTES;
        let read = loop {
            match socket.read(shared, &mut bytes, &mut end) {
                // The thread that waits for the buffer watches the time, and closes the socket when it is over.
                Err(error) if matches!(error.kind(), Interrupted | WouldBlock | TimedOut) => {}
                read => break read,
            }
        };
        let is_over = match read {
            Ok(1..) => message.pass(bytes.get(HEAD_BYTES..end).unwrap_or_default()),
            Ok(0) | Err(_) => true,
        };
        let spent = cpu.elapsed().unwrap_or_default();
        let more = spent.saturating_sub(counted);
        shared.ahead_cpu_nanos.fetch_add(more.as_nanos() as u64, Ordering::Relaxed);
        counted = spent;
        if buffers.send(read.map(|read| Buffer { bytes, end, read })).is_err() || is_over {
            return;
        }
    }
}

/// Finds the end of a message by the headers of its packets (MS-TDS 2.2.3.1).
#[derive(Debug, Default)]
struct MessageEnd {
    header: [u8; HEADER_LEN_BYTES],
    /// Bytes of the header that are here.
    known: usize,
    /// Bytes of the packet that are still to come.
    left: usize,
}

impl MessageEnd {
    /// Takes the next bytes. Returns whether the message ends with them, or cannot go on.
    fn pass(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        loop {
            let (payload, behind) = rest.split_at(self.left.min(rest.len()));
            self.left -= payload.len();
            if self.left > 0 {
                return false;
            }
            if self.known == HEADER_LEN_BYTES {
                if Status(self.header[1]).contains(Status::END_OF_MESSAGE) {
                    return true;
                }
                self.known = 0;
            }
            let missing = self.header.get_mut(self.known..).unwrap_or_default();
            let (head, behind) = behind.split_at(missing.len().min(behind.len()));
            missing.iter_mut().zip(head).for_each(|(place, byte)| *place = *byte);
            self.known += head.len();
            if self.known < HEADER_LEN_BYTES {
                return false;
            }
            let length = usize::from(u16::from_be_bytes([self.header[2], self.header[3]]));
            let Some(left) = length.checked_sub(HEADER_LEN_BYTES) else { return true };
            self.left = left;
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use tds::{
        packet::{PacketType, Status},
        packet_framer::frame_message,
    };

    use super::*;

    #[test]
    fn a_message_ends_with_its_last_byte_however_it_comes() {
        for length in [0, 1, 504, 505, 3000] {
            let wire = frame_message(PacketType::TabularResult, 512, 57, Status::NORMAL, &vec![7; length]);
            for piece in [1, 7, 8, 9, 511, 512, 513, wire.len()] {
                let mut end = MessageEnd::default();
                let pieces = wire.chunks(piece).map(|piece| end.pass(piece)).collect::<Vec<_>>();
                let last = pieces.len() - 1;
                assert!(pieces[last], "{length} bytes in pieces of {piece}");
                assert!(pieces[..last].iter().all(|ended| !ended), "{length} bytes in pieces of {piece}");
            }
        }
        assert!(MessageEnd::default().pass(&[4, 0, 0, 7, 0, 0, 0, 0]), "a packet shorter than its header");
    }
}
