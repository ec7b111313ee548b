//! Fuzz cases of the protocol crate: no input may panic, and whatever is accepted must encode and decode to the same.
//!
//! This file is part of two programs: the fuzzer, and the test of the protocol crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use tds::row_span::RowLayout;
use tds::{
    Event, FedAuthToken, Login7, MessageReader, PacketFramer, PacketType, Prelogin, RpcMessage, SqlBatch,
    Status, TdsVersion, Token, TokenReader, TransactionMessage, Writer, frame_message, login,
};

/// A case: given bytes, panics if something is wrong, else says whether the input was accepted.
pub type Case = fn(&[u8]) -> bool;

/// Name (that of its corpus directory too) and body of every case of this file.
pub const CASES: &[(&str, Case)] = &[
    ("packets", packets),
    ("framer", framer),
    ("prelogin", prelogin),
    ("login7", login7),
    ("fed_auth_token", fed_auth_token),
    ("tokens", tokens),
    ("sql_batch", sql_batch),
    ("rpc", rpc),
    ("transaction_request", transaction_request),
];

/// A received stream: the same packets are found whether it arrives whole or in two pieces. The first two bytes choose
/// where it is split.
pub fn packets(data: &[u8]) -> bool {
    let Some((split, stream)) = data.split_first_chunk::<2>() else { return false };
    let split = usize::from(u16::from_le_bytes(*split)).min(stream.len());
    let found_in = |ends: &[usize]| {
        let mut reader = MessageReader::new(4096, 1 << 16);
        let (mut at, mut payload, mut found) = (0, Vec::new(), Vec::new());
        for end in ends {
            loop {
                match reader.next(&stream[at..*end]) {
                    Ok(Event::NeedBytes(bytes)) => {
                        assert!(bytes > *end - at, "asks for bytes that it has");
                        break;
                    }
                    Ok(Event::Packet(packet)) => {
                        payload.extend_from_slice(&stream[at..*end][packet.payload.clone()]);
                        at += packet.consumed();
                        found.push(packet);
                    }
                    Err(error) => return (found, payload, Some(error)),
                }
            }
        }
        (found, payload, None)
    };
    let whole = found_in(&[stream.len()]);
    assert_eq!(found_in(&[split, stream.len()]), whole);
    !whole.0.is_empty()
}

/// A message of the bytes behind the first four, framed in one piece, in two, and as a plan. The first four bytes choose
/// packet size and split.
pub fn framer(data: &[u8]) -> bool {
    let Some((choice, payload)) = data.split_first_chunk::<4>() else { return false };
    let packet_size_bytes = usize::from(u16::from_le_bytes([choice[0], choice[1]]) & 0x7FFF).max(512);
    let split = usize::from(u16::from_le_bytes([choice[2], choice[3]])).min(payload.len());
    let whole = frame_message(PacketType::BulkLoad, packet_size_bytes, 0, Status::NORMAL, payload);

    let mut framer = PacketFramer::new(PacketType::BulkLoad, packet_size_bytes, 0);
    let mut pieces = Vec::new();
    framer.frame_into(&payload[..split], false, &mut pieces);
    framer.frame_into(&payload[split..], true, &mut pieces);
    assert_eq!(pieces, whole);

    let (mut planned, mut packets) = (Vec::new(), Vec::new());
    let covered = framer.plan(split, false, &mut packets);
    let first = packets.len();
    framer.plan(payload.len() - covered, true, &mut packets);
    for (index, packet) in packets.into_iter().enumerate() {
        planned.extend_from_slice(&packet.header);
        let from = if index < first { 0 } else { covered };
        planned.extend_from_slice(&payload[from..][packet.payload]);
    }
    assert_eq!(planned, whole);

    let mut received = Vec::new();
    let (consumed, head) =
        MessageReader::new(packet_size_bytes, 0).collect(&whole, &mut received).expect("our own packets");
    assert!(head.is_some() && consumed == whole.len() && received == payload);
    true
}

/// PRELOGIN, either way.
pub fn prelogin(data: &[u8]) -> bool {
    let Ok(prelogin) = Prelogin::decode(data) else { return false };
    if let Ok(bytes) = prelogin.encode() {
        assert_eq!(Prelogin::decode(&bytes), Ok(prelogin));
    }
    true
}

/// LOGIN7.
pub fn login7(data: &[u8]) -> bool {
    let Ok(mut decoded) = Login7::decode(data) else { return false };
    if let Ok(bytes) = decoded.encode() {
        // We set the extension bit exactly if there are features.
        decoded.option_flags3 &= !login::option_flags3::EXTENSION;
        if !decoded.features.is_empty() {
            decoded.option_flags3 |= login::option_flags3::EXTENSION;
        }
        assert_eq!(Login7::decode(&bytes), Ok(decoded));
    }
    true
}

/// The federated authentication message.
pub fn fed_auth_token(data: &[u8]) -> bool {
    let Ok(message) = FedAuthToken::decode(data) else { return false };
    let bytes = message.encode().expect("shorter than the input");
    assert_eq!(bytes, data);
    true
}

/// A response: token after token, rows skipped. The first byte chooses the version.
pub fn tokens(data: &[u8]) -> bool {
    let Some((version, mut bytes)) = version_of(data) else { return false };
    let reader = TokenReader::new(version);
    let mut layout = None;
    let mut accepted = false;
    while let Ok(Some((token, consumed))) = reader.next(bytes) {
        assert!(consumed <= bytes.len());
        accepted = true;
        let consumed = match &token {
            Token::Row | Token::NbcRow => {
                let Some(layout) = &layout else { break };
                let Ok(Some(length)) = RowLayout::row_len(layout, bytes) else { break };
                assert!(length > 0 && length <= bytes.len());
                length
            }
            token => {
                if let Token::ColMetaData(Some(columns)) = token {
                    layout = Some(RowLayout::new(columns));
                }
                check_token(token, &reader, version);
                consumed
            }
        };
        bytes = &bytes[consumed..];
    }
    accepted
}

/// Bytes are compared, not values: a NaN is not equal to itself.
fn check_token(token: &Token, reader: &TokenReader, version: TdsVersion) {
    let Some(bytes) = encode_token(token, version) else { return };
    let (again, consumed) = reader.next(&bytes).expect("our own token").expect("all of it");
    assert_eq!(consumed, bytes.len(), "{token:?}");
    assert_eq!(encode_token(&again, version).as_ref(), Some(&bytes), "{token:?}");
}

fn encode_token(token: &Token, version: TdsVersion) -> Option<Vec<u8>> {
    let mut w = Writer::new();
    token.encode(&mut w, version);
    w.finish().ok()
}

/// A SQL batch. The first byte chooses the version.
pub fn sql_batch(data: &[u8]) -> bool {
    let Some((version, data)) = version_of(data) else { return false };
    let Ok(batch) = SqlBatch::decode(data, version) else { return false };
    if let Ok(bytes) = batch.encode() {
        assert_eq!(SqlBatch::decode(&bytes, version), Ok(batch));
    }
    true
}

/// Remote procedure calls. The first byte chooses the version.
pub fn rpc(data: &[u8]) -> bool {
    let Some((version, data)) = version_of(data) else { return false };
    let Ok(message) = RpcMessage::decode(data, version) else { return false };
    if let Ok(bytes) = message.encode(version) {
        let again = RpcMessage::decode(&bytes, version).expect("our own message");
        assert_eq!(again.encode(version).as_ref(), Ok(&bytes));
    }
    true
}

/// A transaction manager request. The first byte chooses the version.
pub fn transaction_request(data: &[u8]) -> bool {
    let Some((version, data)) = version_of(data) else { return false };
    let Ok(message) = TransactionMessage::decode(data, version) else { return false };
    if let Ok(bytes) = message.encode() {
        assert_eq!(TransactionMessage::decode(&bytes, version), Ok(message));
    }
    true
}

fn version_of(data: &[u8]) -> Option<(TdsVersion, &[u8])> {
    let (choice, rest) = data.split_first()?;
    let version = match choice % 4 {
        0 => TdsVersion::V7_4,
        1 => TdsVersion::V7_1,
        2 => TdsVersion::V7_2,
        _ => TdsVersion::V8_0,
    };
    Some((version, rest))
}
