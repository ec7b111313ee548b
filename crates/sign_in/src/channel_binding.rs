//! Binds a sign-in to the TLS session that it travels in, by `tls-unique` of TLS 1.2 (RFC 5929, 3): the first Finished
//! message. A token that somebody passes on to another server is worth nothing there.
//!
//! The TLS library keeps that message to itself, but it can be made again. It is a function of the master secret and of
//! the messages before it, and these go by in the clear.

/// The prefix that names this kind of binding before its bytes, as SQL Server's clients write it.
#[cfg(feature = "tls")]
const TLS_UNIQUE: &[u8] = b"tls-unique:";
/// Bytes of a Finished message of TLS 1.2.
#[cfg(feature = "tls")]
pub(crate) const FINISHED_BYTES: usize = 12;
/// The label by which a client's Finished message is derived.
#[cfg(feature = "tls")]
pub(crate) const CLIENT_FINISHED: &[u8] = b"client finished";
/// As much of a handshake as is kept of either side; chains of certificates are shorter.
const FLIGHT_MAX_BYTES: usize = 256 << 10;

const RECORD_HEADER_BYTES: usize = 5;
const RECORD_HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_HELLO_DONE: u8 = 14;
const CLIENT_KEY_EXCHANGE: u8 = 16;

/// The bytes of a handshake, by who sent them.
#[derive(Debug, Default)]
pub struct Flights {
    client: Vec<u8>,
    server: Vec<u8>,
}

impl Flights {
    /// Notes bytes of TLS that the client sent.
    pub fn client_sent(&mut self, bytes: &[u8]) {
        keep(&mut self.client, bytes);
    }

    /// Notes bytes of TLS that the server sent.
    pub fn server_sent(&mut self, bytes: &[u8]) {
        keep(&mut self.server, bytes);
    }

    /// Returns the messages that the client's Finished message of a full handshake of TLS 1.2 confirms, in their order.
    /// `None` for a resumed session, whose first Finished message is the server's.
    pub fn before_finished(&self) -> Option<Vec<u8>> {
        let (client, server) = (messages(&self.client), messages(&self.server));
        let (client, server) = (split(&client), split(&server));
        let (hello, rest) = client.split_first()?;
        // A ticket may follow, and is later than the client's message.
        let end = server.iter().position(|message| message.first() == Some(&SERVER_HELLO_DONE))?;
        let answer = server.get(..=end)?;
        let kinds = [(Some(*hello), CLIENT_HELLO), (answer.first().copied(), SERVER_HELLO)];
        let is_full = kinds.iter().all(|(message, kind)| message.is_some_and(|m| m.first() == Some(kind)))
            && rest.iter().any(|message| message.first() == Some(&CLIENT_KEY_EXCHANGE));
        is_full.then(|| [&[*hello], answer, rest].concat().concat())
    }
}

/// Makes the binding of a session, as GSSAPI and SSPI take it, from the client's Finished message.
#[cfg(feature = "tls")]
pub(crate) fn tls_unique(finished: &[u8; FINISHED_BYTES]) -> Vec<u8> {
    [TLS_UNIQUE, finished].concat()
}

/// Bytes past the limit are lost, and with them the binding.
fn keep(flight: &mut Vec<u8>, bytes: &[u8]) {
    if flight.len().saturating_add(bytes.len()) <= FLIGHT_MAX_BYTES {
        flight.extend_from_slice(bytes);
    }
}

/// Collects the handshake messages in the clear: all records before the one that changes the cipher.
fn messages(mut records: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    while let Some((&[kind, _, _, high, low], rest)) = records.split_first_chunk::<RECORD_HEADER_BYTES>() {
        let Some((payload, next)) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))
        else {
            break;
        };
        if kind != RECORD_HANDSHAKE {
            break;
        }
        found.extend_from_slice(payload);
        records = next;
    }
    found
}

/// Splits bytes into whole messages, each with its header.
fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let [_, high, middle, low, ..] = bytes {
        let length = 4 + usize::from(*low) + (usize::from(*middle) << 8) + (usize::from(*high) << 16);
        let Some((message, rest)) = bytes.split_at_checked(length) else { break };
        found.push(message);
        bytes = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, 0, 0, u8::try_from(body.len()).unwrap()], body].concat()
    }

    fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
        [&[kind, 3, 3, 0, u8::try_from(payload.len()).unwrap()], payload].concat()
    }

    /// The client's and the server's records of a handshake.
    fn handshake() -> (Vec<u8>, Vec<u8>) {
        let client = [
            record(22, &message(1, b"hello")),
            record(22, &message(16, b"key")),
            record(20, &[1]),
            record(22, b"secret"),
        ];
        // Two messages in a record, and one in two.
        let server = [message(2, b"olleh"), message(11, b"certificate"), message(14, b"")].concat();
        let (first, second) = server.split_at(20);
        let ticket = message(4, b"ticket");
        let server = [record(22, first), record(22, second), record(22, &ticket), record(20, &[1])];
        (client.concat(), server.concat())
    }

    fn transcript(client: &[u8], server: &[u8]) -> Option<Vec<u8>> {
        let mut flights = Flights::default();
        // However the bytes come.
        client.chunks(3).for_each(|bytes| flights.client_sent(bytes));
        server.chunks(7).for_each(|bytes| flights.server_sent(bytes));
        flights.before_finished()
    }

    #[test]
    fn the_messages_before_the_clients_last_are_found_in_their_order() {
        let (client, server) = handshake();
        let expected = [
            message(1, b"hello"),
            message(2, b"olleh"),
            message(11, b"certificate"),
            message(14, b""),
            message(16, b"key"),
        ];
        assert_eq!(transcript(&client, &server), Some(expected.concat()));
    }

    #[test]
    fn what_is_no_full_handshake_has_no_binding() {
        let (client, server) = handshake();
        let resumed = [record(22, &message(2, b"olleh")), record(20, &[1])].concat();
        assert_eq!(transcript(&client, &resumed), None);
        for end in 0..30 {
            // Cut anywhere before the key.
            assert_eq!(transcript(&client[..end.min(15)], &server), None);
            assert_eq!(transcript(&client, &server[..end]), None);
        }
        let mut long = Flights::default();
        long.client_sent(&vec![22; FLIGHT_MAX_BYTES + 1]);
        long.server_sent(&server);
        assert_eq!(long.before_finished(), None);
    }
}
