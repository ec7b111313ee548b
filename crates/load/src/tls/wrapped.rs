//! The handshake of TDS 7.x: TLS records inside PRELOGIN packets.

use std::io::{self, Read, Write};

use rustls::ClientConnection;
use tds::packet::{
    HEADER_LEN_BYTES, PACKET_SIZE_INITIAL_BYTES, PACKET_SIZE_MAX_BYTES, PacketHeader, PacketType, Status,
};
use tds::packet_framer::frame_message;

/// Runs the handshake to its end: one wrapped message per flight, and only whole packets are read.
pub(super) fn handshake<S: Read + Write>(
    connection: &mut ClientConnection,
    socket: &mut S,
) -> io::Result<()> {
    loop {
        send_flight(connection, socket)?;
        if !connection.is_handshaking() {
            return Ok(());
        }
        let payload = read_packet(socket)?;
        let mut rest = payload.as_slice();
        while !rest.is_empty() {
            connection.read_tls(&mut rest)?;
            if let Err(error) = connection.process_new_packets() {
                // The alert tells the server why; whether it arrives does not change the outcome.
                let _ = send_flight(connection, socket);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }
}

fn send_flight<S: Write>(connection: &mut ClientConnection, socket: &mut S) -> io::Result<()> {
    let mut flight = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut flight)?;
    }
    if flight.is_empty() {
        return Ok(());
    }
    socket.write_all(&frame_message(
        PacketType::Prelogin,
        PACKET_SIZE_INITIAL_BYTES,
        0,
        Status::NORMAL,
        &flight,
    ))?;
    socket.flush()
}

/// The payload of exactly one packet. Servers before 2005 answered with the type of a result.
fn read_packet<S: Read>(socket: &mut S) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER_LEN_BYTES];
    socket.read_exact(&mut header)?;
    let header =
        PacketHeader::parse(&header).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let wrapped = matches!(header.packet_type, PacketType::Prelogin | PacketType::TabularResult);
    if !wrapped || usize::from(header.length) > PACKET_SIZE_MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the server answered with something else than a handshake packet",
        ));
    }
    let mut payload = vec![0; header.payload_len()];
    socket.read_exact(&mut payload)?;
    Ok(payload)
}
