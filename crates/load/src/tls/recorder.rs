//! A socket that remembers a handshake.

use std::io::{self, Read, Write};

use sign_in::channel_binding::Flights;

/// A socket whose bytes are kept.
pub(super) struct Recorder<'a, S> {
    pub(super) socket: &'a mut S,
    pub(super) flights: &'a mut Flights,
}

impl<S: Read> Read for Recorder<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.socket.read(buffer)?;
        self.flights.server_sent(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl<S: Write> Write for Recorder<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.socket.write(bytes)?;
        self.flights.client_sent(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
