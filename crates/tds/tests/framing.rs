//! Messages to packets and back, at every size and split.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bulkwire_tds::*;
use proptest::prelude::*;

/// Bytes that differ from their neighbours, so that a shifted copy is noticed.
fn payload_of(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// Checks the packets of one message: types, ids, status bits, sizes, and no empty packet unless the message is empty.
fn unframe(wire: &[u8], packet_size_bytes: usize, first_status: Status) -> Vec<u8> {
    let mut reader = MessageReader::new(packet_size_bytes, usize::MAX);
    let (mut at, mut id, mut payload) = (0, 1u8, Vec::new());
    loop {
        let Event::Packet(packet) = reader.next(&wire[at..]).unwrap() else { panic!("no end of message") };
        let bytes = &wire[at..][packet.payload.clone()];
        at += packet.consumed();
        assert_eq!(packet.starts_message, id == 1);
        assert_eq!(packet.header.packet_id, id);
        let extra = if id == 1 { first_status } else { Status::NORMAL };
        let end = if packet.ends_message() { Status::END_OF_MESSAGE } else { Status::NORMAL };
        assert_eq!(packet.header.status, extra | end);
        payload.extend_from_slice(bytes);
        if packet.ends_message() {
            assert!(
                !bytes.is_empty() || payload.is_empty(),
                "an empty packet ends a message that has content"
            );
            assert_eq!(at, wire.len(), "bytes behind the end of the message");
            return payload;
        }
        assert_eq!(bytes.len() + HEADER_LEN_BYTES, packet_size_bytes, "only the last packet may be short");
        id = id.wrapping_add(1);
        assert!(id != 1, "the checks above are for messages of up to 255 packets");
    }
}

/// Lengths around every multiple of the packet's payload.
#[test]
fn exact_fills_end_with_a_full_packet() {
    for packet_size_bytes in [512, 513, 1000, 4096, 8000, 16380, 32767] {
        let full = packet_size_bytes - HEADER_LEN_BYTES;
        for (length, packets) in
            [(0, 1), (1, 1), (full - 1, 1), (full, 1), (full + 1, 2), (2 * full, 2), (2 * full + 1, 3)]
        {
            let payload = payload_of(length);
            let wire = frame_message(PacketType::BulkLoad, packet_size_bytes, 0, Status::NORMAL, &payload);
            assert_eq!(wire.len(), length + packets * HEADER_LEN_BYTES);
            assert_eq!(unframe(&wire, packet_size_bytes, Status::NORMAL), payload);
        }
    }
}

/// A message given in two pieces, split at every offset, is the same as in one.
#[test]
fn every_split_gives_the_same_packets() {
    let payload = payload_of(3 * 504);
    let whole = frame_message(PacketType::SqlBatch, 512, 7, Status::RESET_CONNECTION, &payload);
    assert_eq!(unframe(&whole, 512, Status::RESET_CONNECTION), payload);
    for split in 0..=payload.len() {
        let mut framer =
            PacketFramer::new(PacketType::SqlBatch, 512, 7).with_first_status(Status::RESET_CONNECTION);
        let mut wire = Vec::new();
        framer.frame_into(&payload[..split], false, &mut wire);
        framer.frame_into(&payload[split..], true, &mut wire);
        assert_eq!(wire, whole, "split at {split}");
    }
}

/// Bytes that arrive in two reads, split at every offset, give the same messages.
#[test]
fn every_arrival_gives_the_same_messages() {
    let mut wire = frame_message(PacketType::Rpc, 512, 0, Status::NORMAL, &payload_of(1100));
    wire.extend(frame_message(PacketType::Attention, 512, 0, Status::NORMAL, &[]));
    wire.extend(frame_message(PacketType::SqlBatch, 512, 0, Status::RESET_CONNECTION, &payload_of(504)));
    for split in 0..=wire.len() {
        let mut reader = MessageReader::new(512, 4096);
        let (mut at, mut payload, mut found) = (0, Vec::new(), Vec::new());
        for end in [split, wire.len()] {
            loop {
                let (consumed, head) = reader.collect(&wire[at..end], &mut payload).unwrap();
                at += consumed;
                match head {
                    Some(head) => found.push((head.packet_type, head.status, payload.clone())),
                    None => break,
                }
            }
        }
        let expected = [
            (PacketType::Rpc, Status::NORMAL, payload_of(1100)),
            (PacketType::Attention, Status::END_OF_MESSAGE, Vec::new()),
            (PacketType::SqlBatch, Status::RESET_CONNECTION | Status::END_OF_MESSAGE, payload_of(504)),
        ];
        assert_eq!(found, expected, "split at {split}");
    }
}

#[test]
fn limits_are_enforced() {
    let wire = frame_message(PacketType::SqlBatch, 1024, 0, Status::NORMAL, &payload_of(3000));
    let error = MessageReader::new(1023, 1 << 20).next(&wire).unwrap_err();
    assert_eq!((error.field, error.offset), ("packet length", 2));
    let mut payload = Vec::new();
    let error = MessageReader::new(1024, 2999).collect(&wire, &mut payload).unwrap_err();
    assert_eq!(error.field, "message length");
    assert!(payload.len() <= 2999);
    // The limit holds before the packet's content has arrived.
    assert!(MessageReader::new(1024, 1000).next(&wire[..8]).is_err());
    // A bulk load is a stream and may be longer than any message.
    let wire = frame_message(PacketType::BulkLoad, 1024, 0, Status::NORMAL, &payload_of(3000));
    assert!(MessageReader::new(1024, 1000).collect(&wire, &mut payload).unwrap().1.is_some());
}

#[test]
fn malformed_headers_are_refused() {
    let mut reader = MessageReader::new(4096, 4096);
    for (header, field) in [
        ([0x05, 1, 0, 8, 0, 0, 1, 0], "packet type"),
        ([0x16, 3, 1, 2, 0, 1, 0, 1], "packet type"),
        ([0x01, 1, 0, 7, 0, 0, 1, 0], "packet length"),
        ([0x01, 1, 0x10, 1, 0, 0, 1, 0], "packet length"),
    ] {
        assert_eq!(reader.next(&header).unwrap_err().field, field, "{header:02x?}");
    }
    // A message of one type cannot go on with another, but an attention may cut it off.
    assert!(matches!(reader.next(&[0x07, 0, 0, 8, 0, 0, 1, 0]), Ok(Event::Packet(_))));
    assert!(reader.is_inside_message());
    assert_eq!(reader.next(&[0x01, 1, 0, 8, 0, 0, 1, 0]).unwrap_err().field, "packet type");
    let Ok(Event::Packet(attention)) = reader.next(&[0x06, 1, 0, 8, 0, 0, 1, 0]) else { panic!() };
    assert!(attention.starts_message && attention.ends_message() && !reader.is_inside_message());
}

#[test]
fn a_cancelled_message_is_marked_to_be_ignored() {
    let mut framer = PacketFramer::new(PacketType::BulkLoad, 512, 0);
    let mut wire = Vec::new();
    framer.frame_into(&payload_of(600), false, &mut wire);
    framer.cancel_into(&mut wire);
    let (consumed, head) = MessageReader::new(512, 4096).collect(&wire, &mut Vec::new()).unwrap();
    assert_eq!(consumed, wire.len());
    assert!(head.unwrap().ignored);
}

proptest! {
    #[test]
    fn any_pieces_at_any_packet_size(
        packet_size_bytes in 512usize..=32767,
        pieces in prop::collection::vec(0usize..70_000, 1..6),
        spid in any::<u16>(),
    ) {
        let payload = payload_of(pieces.iter().sum());
        let whole = frame_message(PacketType::TabularResult, packet_size_bytes, spid, Status::NORMAL, &payload);

        let mut framer = PacketFramer::new(PacketType::TabularResult, packet_size_bytes, spid);
        let (mut wire, mut at) = (Vec::new(), 0);
        for (index, piece) in pieces.iter().enumerate() {
            framer.frame_into(&payload[at..at + piece], index + 1 == pieces.len(), &mut wire);
            at += piece;
        }
        prop_assert!(wire == whole);
        prop_assert_eq!(framer.framed_len(payload.len()), whole.len());
        let messages = MessageReader::new(packet_size_bytes, 0).collect(&whole, &mut wire).unwrap();
        prop_assert_eq!(messages.0, whole.len());
        prop_assert!(wire == payload);

        // The plan covers the same bytes with the same headers; what it leaves uncovered is given again.
        let mut framer = PacketFramer::new(PacketType::TabularResult, packet_size_bytes, spid);
        let (mut planned, mut from, mut to) = (Vec::new(), 0, 0);
        for (index, piece) in pieces.iter().enumerate() {
            to += piece;
            let mut packets = Vec::new();
            let last = index + 1 == pieces.len();
            let covered = framer.plan(to - from, last, &mut packets);
            prop_assert!(last || to - from - covered <= framer.payload_max());
            for packet in packets {
                planned.extend_from_slice(&packet.header);
                planned.extend_from_slice(&payload[from..to][packet.payload]);
            }
            from += covered;
        }
        prop_assert!(planned == whole);
    }

    #[test]
    fn headers_round_trip(bytes in any::<[u8; 8]>()) {
        if let Ok(header) = PacketHeader::parse(&bytes) {
            prop_assert_eq!(header.encode(), bytes);
        }
    }
}
