//! Fuzz cases of the protocol crate: no input may panic, and whatever is accepted must encode and decode to the same.
//!
//! This file is part of two programs: the fuzzer, and the test of the protocol crate that runs the saved corpus.
//! A case returns whether it accepted the input, which the driver takes as a hint that it is worth changing further.

use tds::conversation::server::{Conversation, Event as Asked, Offer, Step};
use tds::conversation::{ConversationError, client};
use tds::{
    BcpText, BulkError, BulkEvent, BulkStream, CodePage, Column, Direction, EncodeErrorKind,
    EncryptionPolicy, Event, FedAuthToken, Login7, MessageReader, PacketFramer, PacketType, Prelogin, Reader,
    RowLayout, RowSpan, RpcMessage, SqlBatch, SqlType, Status, TdsVersion, Token, TokenReader,
    TransactionMessage, TypeInfo, ValuePlace, Writer, decode_columns_of, decode_value, encode_columns_of,
    encode_value, frame_message, login,
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
    ("columns", columns),
    ("values", values),
    ("code_pages", code_pages),
    ("row_layout", row_layout),
    ("bulk_stream", bulk_stream),
    ("conversation", conversation),
    ("answer", answer),
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

/// The body of COLMETADATA. The first byte chooses version and direction.
pub fn columns(data: &[u8]) -> bool {
    let Some((version, rest)) = version_of(data) else { return false };
    let direction = direction_of(data[0] / 4);
    let mut r = Reader::new(rest);
    let Ok(columns) = decode_columns_of(&mut r, direction, version) else { return false };
    let accepted = &rest[..r.position()];
    // What a receiver does not have whole must not look malformed to it.
    for end in (0..accepted.len()).step_by(1 + accepted.len() / 64) {
        let cut = decode_columns_of(&mut Reader::new(&accepted[..end]), direction, version);
        assert!(cut.as_ref().is_err_and(|error| error.is_truncated()), "{end} bytes: {cut:?}");
    }
    let mut w = Writer::new();
    encode_columns_of(columns.as_deref(), &mut w, direction, version);
    let bytes = w.finish().expect("what came in can go out");
    let mut r = Reader::new(&bytes);
    assert_eq!(decode_columns_of(&mut r, direction, version).as_ref(), Ok(&columns));
    assert_eq!(r.position(), bytes.len());
    // A proxy passes columns on the other way, if they have a form there.
    let (other, mut w) = (direction_of(data[0] / 4 + 1), Writer::new());
    encode_columns_of(columns.as_deref(), &mut w, other, version);
    if let Ok(bytes) = w.finish() {
        let mut r = Reader::new(&bytes);
        let again = decode_columns_of(&mut r, other, version).expect("our own columns");
        assert_eq!(r.position(), bytes.len());
        assert_eq!(again.map(|columns| columns.len()), columns.map(|columns| columns.len()));
    }
    true
}

/// One value behind its TYPE_INFO. The first byte chooses direction and place.
pub fn values(data: &[u8]) -> bool {
    let Some((choice, bytes)) = data.split_first() else { return false };
    let direction = direction_of(*choice);
    let place = if choice & 2 == 0 { ValuePlace::Row } else { ValuePlace::Parameter };
    let mut r = Reader::new(bytes);
    let Ok(type_info) = TypeInfo::decode(&mut r, direction) else { return false };
    let bytes = &bytes[r.position()..];
    let mut r = Reader::new(bytes);
    let decoded = decode_value(&mut r, &type_info, place);
    if place == ValuePlace::Row {
        let column = Column { type_info: type_info.clone(), ..Column::new("c", SqlType::Int, true, None) };
        let length = RowLayout::new(&[column]).value_len(0, bytes);
        match &decoded {
            Ok(_) => assert_eq!(length, Ok(Some(r.position())), "the length, undecoded, of {decoded:?}"),
            Err(error) if error.is_truncated() => assert_ne!(length, Ok(Some(bytes.len()))),
            Err(_) => {}
        }
    }
    let Ok(value) = decoded else { return true };
    let _ = (value.to_string(), BcpText(&value).to_string());
    let mut w = Writer::new();
    encode_value(&value, &type_info, &mut w, place);
    let encoded = match w.finish() {
        Ok(encoded) => encoded,
        // Declared lengths are checked where rows are decoded and encoded, not where single values are decoded.
        Err(error) => {
            assert!(matches!(error.kind, EncodeErrorKind::TooLong { .. }), "{value:?}: {error}");
            return true;
        }
    };
    let mut r = Reader::new(&encoded);
    let again = decode_value(&mut r, &type_info, place).expect("our own value");
    assert_eq!(r.position(), encoded.len());
    let mut w = Writer::new();
    encode_value(&again, &type_info, &mut w, place);
    // Bytes are compared, not values: a NaN is not equal to itself.
    assert_eq!(w.finish().as_ref(), Ok(&encoded), "{value:?} became {again:?}");
    true
}

/// Text in the code page that the first byte chooses, and the same bytes as UTF-8 to be put into it.
pub fn code_pages(data: &[u8]) -> bool {
    let Some((choice, bytes)) = data.split_first() else { return false };
    let code_page = CodePage::ALL[usize::from(*choice) % CodePage::ALL.len()];
    let decoded = code_page.decode(bytes);
    match &decoded {
        Ok(text) => check_encoding(code_page, text),
        Err(error) => {
            assert!(error.offset < bytes.len());
            let before = code_page.decode(&bytes[..error.offset]).expect("what came before is text");
            check_encoding(code_page, &before);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        match code_page.encode(text) {
            Ok(_) => check_encoding(code_page, text),
            Err(error) => {
                assert!(text[error.index..].starts_with(error.ch));
                assert_eq!(code_page.encoded_len(text), Err(error));
                check_encoding(code_page, &text[..error.index]);
            }
        }
    }
    decoded.is_ok()
}

/// Text that a code page has must survive it.
fn check_encoding(code_page: CodePage, text: &str) {
    let encoded = code_page.encode(text).expect("text of the code page");
    assert_eq!(code_page.encoded_len(text), Ok(encoded.len()));
    assert!(encoded.len() <= text.chars().count() * code_page.max_char_len_bytes());
    assert_eq!(code_page.decode(&encoded).as_deref(), Ok(text), "in {code_page}");
}

/// COLMETADATA as a server sends it, then rows: whether they are passed over in one go, or as they arrive in two pieces,
/// or row by row. The first two bytes choose the split.
pub fn row_layout(data: &[u8]) -> bool {
    let Some((split, bytes)) = data.split_first_chunk::<2>() else { return false };
    let mut r = Reader::new(bytes);
    let columns = decode_columns_of(&mut r, Direction::ServerToClient, TdsVersion::V7_4);
    let Ok(Some(columns)) = columns else { return false };
    let rows = &bytes[r.position()..];
    let layout = RowLayout::new(&columns);
    let walk = |ends: &[usize]| {
        let mut walked = RowSpan::default();
        for end in ends {
            loop {
                match layout.complete_rows(&rows[walked.bytes..*end]) {
                    Ok(RowSpan { rows: 0, .. }) => break,
                    Ok(span) => {
                        walked.rows += span.rows;
                        walked.bytes += span.bytes;
                    }
                    Err(mut error) => {
                        error.offset += walked.bytes;
                        return (walked, Some(error));
                    }
                }
            }
        }
        (walked, None)
    };
    let split = usize::from(u16::from_le_bytes(*split)).min(rows.len());
    let whole = walk(&[rows.len()]);
    assert_eq!(walk(&[split, rows.len()]), whole);

    let mut single = RowSpan::default();
    while single.bytes < whole.0.bytes {
        let length = layout.row_len(&rows[single.bytes..]).expect("a row").expect("a whole row");
        assert_eq!(layout.row_len(&rows[single.bytes..][..length - 1]), Ok(None));
        single.bytes += length;
        single.rows += 1;
    }
    assert_eq!(single, whole.0);
    single.rows > 0
}

/// The payload of a bulk load message: the same columns, rows and end however it arrives. The first four bytes choose
/// two splits.
pub fn bulk_stream(data: &[u8]) -> bool {
    let Some((splits, payload)) = data.split_first_chunk::<4>() else { return false };
    let mut ends = [[splits[0], splits[1]], [splits[2], splits[3]]]
        .map(|split| usize::from(u16::from_le_bytes(split)).min(payload.len()));
    ends.sort_unstable();
    let whole = bulk_events(payload, &[payload.len()]);
    assert_eq!(bulk_events(payload, &[ends[0], ends[1], payload.len()]), whole);
    whole.0 > 0
}

/// Bytes of the columns and of the rows, number of rows, and how the stream ended.
fn bulk_events(payload: &[u8], ends: &[usize]) -> (usize, RowSpan, Result<(), BulkError>) {
    let mut stream = BulkStream::new();
    let (mut columns_bytes, mut rows) = (0, RowSpan::default());
    for end in ends {
        loop {
            let at = columns_bytes + rows.bytes;
            match stream.next(&payload[at..*end], *end == payload.len()) {
                Ok(BulkEvent::Columns { bytes }) => {
                    assert_eq!(columns_bytes, 0, "columns come once");
                    columns_bytes = bytes;
                }
                Ok(BulkEvent::Rows(span)) => {
                    assert!(span.rows > 0 && span.bytes > 0);
                    rows.rows += span.rows;
                    rows.bytes += span.bytes;
                    assert_eq!(stream.rows(), rows.rows);
                }
                Ok(BulkEvent::MoreNeeded) => {
                    assert!(*end < payload.len(), "more needed of a message that has ended");
                    break;
                }
                Ok(BulkEvent::End) => {
                    assert_eq!(*end, payload.len(), "the end before the message's");
                    return (columns_bytes, rows, Ok(()));
                }
                Err(mut error) => {
                    match &mut error {
                        BulkError::Decode(error) => error.offset += at,
                        // As many as had come when it was clear.
                        BulkError::MalformedTail { bytes } => *bytes = 0,
                        _ => {}
                    }
                    return (columns_bytes, rows, Err(error));
                }
            }
        }
    }
    unreachable!("the whole message ends or fails")
}

/// What a client sends, to a server that answers at once: the same events whether it arrives whole or in two pieces. The
/// first two bytes choose the split, the third what is offered, how requests are answered, whether the login is over, and
/// whether one with integrated authentication takes a further step.
pub fn conversation(data: &[u8]) -> bool {
    let Some(([low, high, choice], stream)) = data.split_first_chunk::<3>() else { return false };
    let split = usize::from(u16::from_le_bytes([*low, *high])).min(stream.len());
    let (whole, end) = conversation_events(*choice, stream, &[stream.len()]);
    let (pieces, end_of_pieces) = conversation_events(*choice, stream, &[split, stream.len()]);
    // A message that has to be answered first may arrive alone in one of the two, and then the conversation goes on.
    let alone = [end, end_of_pieces].contains(&Some(ConversationError::OutOfTurn));
    let same = if alone { pieces.len().min(whole.len()) } else { pieces.len().max(whole.len()) };
    assert_eq!(pieces.get(..same), whole.get(..same));
    !whole.is_empty()
}

/// The events up to each of `ends`, and what was wrong at last.
fn conversation_events(
    choice: u8,
    stream: &[u8],
    ends: &[usize],
) -> (Vec<String>, Option<ConversationError>) {
    let encryption = match choice & 3 {
        0 => EncryptionPolicy::Unavailable,
        1 => EncryptionPolicy::Required,
        _ => EncryptionPolicy::Available,
    };
    let bulk_expected = choice & 8 != 0;
    let mut server = match choice & 16 {
        0 => Conversation::new(
            Offer { encryption, strict_only: choice & 4 != 0, access_tokens: false },
            1 << 16,
        ),
        _ => logged_in(),
    };
    let (mut at, mut events, mut rows) = (0, Vec::new(), Vec::new());
    for end in ends {
        loop {
            // What stands for TLS may have read beyond this piece.
            let shown = stream.get(at..*end).unwrap_or_default();
            let Step { consumed, event } = match server.next(shown) {
                Ok(step) => step,
                Err(error) => return (events, Some(error)),
            };
            assert!(consumed <= shown.len());
            at += consumed;
            match &event {
                Asked::NeedBytes(bytes) => {
                    assert!(*bytes > shown.len() - consumed, "asks for bytes that it has");
                    break;
                }
                Asked::BulkRows { payload, last } => {
                    rows.extend_from_slice(&shown[payload.clone()]);
                    if *last {
                        events.push(format!("rows {rows:?}"));
                        rows.clear();
                        server.answered(bulk_expected);
                    }
                    continue;
                }
                Asked::Owed => return (events, None),
                Asked::TlsFirst => {
                    // What stands for TLS takes one byte.
                    at += 1;
                    server.tls_established();
                }
                Asked::Prelogin => {
                    let answer = server.answer_prelogin(Prelogin::default().version).expect("a question");
                    if answer.next.is_err() {
                        return (events, None);
                    }
                    server.tls_established();
                }
                Asked::Login { .. } | Asked::SignIn(_) | Asked::AccessToken(_) => {
                    if choice & 32 != 0 && matches!(event, Asked::Login { .. }) {
                        server.sign_in_continues();
                    }
                    server.logged_in();
                }
                Asked::Request(message) => {
                    assert!(message.payload.len() <= 1 << 16);
                    let _ = (message.request(TdsVersion::V7_4), message.reset());
                    assert!(!server.answered(bulk_expected));
                }
                Asked::BulkBegins => {}
                Asked::BulkIgnored | Asked::Attention => {
                    rows.clear();
                    server.answered(bulk_expected);
                }
            }
            events.push(format!("{event:?}"));
        }
    }
    (events, server.end_of_stream(stream.len().saturating_sub(at)).err())
}

/// A conversation whose login is over.
fn logged_in() -> Conversation {
    let offer = Offer { encryption: EncryptionPolicy::Unavailable, strict_only: false, access_tokens: false };
    let mut server = Conversation::new(offer, 1 << 16);
    let mut take = |packet_type, payload: &[u8]| {
        let message = frame_message(packet_type, 4096, 0, Status::NORMAL, payload);
        let step = server.next(&message).expect("in its turn");
        assert_eq!(step.consumed, message.len());
        match step.event {
            Asked::Prelogin => drop(server.answer_prelogin(Prelogin::default().version)),
            _ => server.logged_in(),
        }
    };
    take(PacketType::Prelogin, &Prelogin::default().encode().expect("a question"));
    take(PacketType::Login7, &Login7::default().encode().expect("a login"));
    server
}

/// What a server sends to a client that waits for an answer: the same tokens whether it arrives whole or in two pieces.
/// The first two bytes choose the split, the third whether an attention is out.
pub fn answer(data: &[u8]) -> bool {
    let Some(([low, high, attention], stream)) = data.split_first_chunk::<3>() else { return false };
    let split = usize::from(u16::from_le_bytes([*low, *high])).min(stream.len());
    let whole = answer_steps(*attention & 1 != 0, stream, &[stream.len()]);
    assert_eq!(answer_steps(*attention & 1 != 0, stream, &[split, stream.len()]), whole);
    !whole.is_empty()
}

fn answer_steps(attention: bool, stream: &[u8], ends: &[usize]) -> Vec<String> {
    let mut packets = client::AnswerPackets::default();
    let mut answer = client::Answer::new(TdsVersion::V7_4);
    let mut environment = client::Environment::new(TdsVersion::V7_4);
    let (mut ends, mut end, mut at, mut steps, mut rows) = (ends.iter(), 0, 0, Vec::new(), 0);
    answer.expect();
    loop {
        let more = match answer.next(attention) {
            Ok(client::AnswerStep::Token(Token::Row | Token::NbcRow)) => match answer.skip_rows() {
                Some(Ok(span)) => {
                    rows += span.rows;
                    span.rows == 0
                }
                _ => return steps,
            },
            Ok(client::AnswerStep::Token(token)) => {
                if let Token::EnvChange(change) = &token {
                    let _ = environment.apply(change, |bytes| assert!((512..=32767).contains(&bytes)));
                }
                steps.push(format!("{rows} {token:?}"));
                false
            }
            Ok(client::AnswerStep::NeedPackets) => true,
            Ok(client::AnswerStep::End(end)) => {
                steps.push(format!("{rows} {end:?}"));
                return steps;
            }
            Err(_) => return steps,
        };
        if !more {
            continue;
        }
        let Ok(room) = answer.room() else { return steps };
        let Ok((consumed, progress)) = packets.unpack(&stream[at..end], room) else { return steps };
        at += consumed;
        answer.received(progress == Some(true));
        if progress.is_none() {
            match ends.next() {
                Some(next) => end = *next,
                None => return steps,
            }
        }
    }
}

fn direction_of(choice: u8) -> Direction {
    if choice & 1 == 0 { Direction::ServerToClient } else { Direction::ClientToServer }
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
