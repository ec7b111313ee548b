//! `tls-unique` of a session of rustls, which does not offer it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rustls::{CommonState, KeyLog, SupportedCipherSuite};
use zeroize::Zeroizing;

use crate::channel_binding::{CLIENT_FINISHED, FINISHED_BYTES, Flights, tls_unique};

/// The label under which rustls logs TLS 1.2's master secret.
const LABEL: &str = "CLIENT_RANDOM";

/// The master secret of one session of TLS 1.2: the key log of its configuration. To be dropped after the handshake.
#[derive(Default)]
pub struct MasterSecret(Mutex<Zeroizing<Vec<u8>>>);

impl MasterSecret {
    /// Returns the binding of a session at either end. `None` for TLS 1.3, which has no `tls-unique`, and for a resumed
    /// session.
    pub fn binding(&self, session: &CommonState, flights: &Flights) -> Option<Vec<u8>> {
        let Some(SupportedCipherSuite::Tls12(suite)) = session.negotiated_cipher_suite() else { return None };
        let secret = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.is_empty() {
            return None;
        }
        let hash = suite.common.hash_provider.hash(&flights.before_finished()?);
        let mut finished = [0; FINISHED_BYTES];
        suite.prf_provider.for_secret(&mut finished, &secret, CLIENT_FINISHED, hash.as_ref());
        Some(tls_unique(&finished))
    }
}

impl KeyLog for MasterSecret {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == LABEL {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Zeroizing::new(secret.to_vec());
        }
    }

    fn will_log(&self, label: &str) -> bool {
        label == LABEL
    }
}

impl fmt::Debug for MasterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterSecret(…)")
    }
}
