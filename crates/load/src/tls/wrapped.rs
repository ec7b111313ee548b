//! The handshake of TDS 7.x: TLS records inside PRELOGIN packets.

use std::io::{self, Read, Write};

use rustls::ClientConnection;
use sign_in::channel_binding::Flights;
use tds::conversation::wrapped_tls::{Sender, Unwrapper, wrap_flight};

/// Runs the handshake to its end: one wrapped message per flight, and only whole packets are read. The bytes of TLS are kept.
pub(super) fn handshake<S: Read + Write>(
    connection: &mut ClientConnection,
    socket: &mut S,
    flights: &mut Flights,
) -> io::Result<()> {
    let mut unwrapper = Unwrapper::new(Sender::Server);
    loop {
        send_flight(connection, socket, flights)?;
        if !connection.is_handshaking() {
            return Ok(());
        }
        let payload = read_packet(&mut unwrapper, socket)?;
        flights.server_sent(&payload);
        let mut rest = payload.as_slice();
        while !rest.is_empty() {
            connection.read_tls(&mut rest)?;
            if let Err(error) = connection.process_new_packets() {
                // The alert tells the server why; whether it arrives does not change the outcome.
                let _ = send_flight(connection, socket, flights);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }
}

fn send_flight<S: Write>(
    connection: &mut ClientConnection,
    socket: &mut S,
    flights: &mut Flights,
) -> io::Result<()> {
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    if flight.is_empty() {
        return Ok(());
    }
    flights.client_sent(&flight);
    let mut packets = Vec::new();
    wrap_flight(&flight, &mut packets);
    socket.write_all(&packets)?;
    socket.flush()
}

/// Reads the payload of exactly one packet.
fn read_packet<S: Read>(unwrapper: &mut Unwrapper, socket: &mut S) -> io::Result<Vec<u8>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    while let Some(room) = unwrapper.header_room() {
        let length = room.len();
        socket.read_exact(room)?;
        unwrapper.header_read(length).map_err(invalid)?;
    }
    let mut payload = vec![0; unwrapper.payload_left()];
    socket.read_exact(&mut payload)?;
    unwrapper.payload_read(payload.len());
    Ok(payload)
}
