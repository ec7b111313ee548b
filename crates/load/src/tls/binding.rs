//! What binds a sign-in to a TLS session: `tls-unique` (RFC 5929), which rustls does not offer.

use std::{
    io::{self, Read, Write},
    sync::{Mutex, PoisonError},
};

use rustls::{ClientConnection, KeyLog, SupportedCipherSuite};
use sign_in::channel_binding::{CLIENT_FINISHED, FINISHED_BYTES, Flights, tls_unique};

/// The label of TLS 1.2's master secret.
const MASTER_SECRET: &str = "CLIENT_RANDOM";

/// The master secret of one session, which is dropped with the handshake.
#[derive(Default)]
pub(super) struct MasterSecret(Mutex<Vec<u8>>);

impl KeyLog for MasterSecret {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == MASTER_SECRET {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = secret.to_vec();
        }
    }

    fn will_log(&self, label: &str) -> bool {
        label == MASTER_SECRET
    }
}

impl std::fmt::Debug for MasterSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterSecret(…)")
    }
}

/// The binding of a session; none of TLS 1.3, which has no `tls-unique`.
pub(super) fn of(connection: &ClientConnection, secret: &MasterSecret, flights: &Flights) -> Option<Vec<u8>> {
    let Some(SupportedCipherSuite::Tls12(suite)) = connection.negotiated_cipher_suite() else { return None };
    let secret = secret.0.lock().unwrap_or_else(PoisonError::into_inner);
    if secret.is_empty() {
        return None;
    }
    let hash = suite.common.hash_provider.hash(&flights.before_finished()?);
    let mut finished = [0; FINISHED_BYTES];
    suite.prf_provider.for_secret(&mut finished, &secret, CLIENT_FINISHED, hash.as_ref());
    Some(tls_unique(&finished))
}

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
