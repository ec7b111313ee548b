#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::sql_type::Length;

fn encoded(columns: Option<&[Column]>, direction: Direction) -> Vec<u8> {
    let mut w = Writer::new();
    encode_columns(columns, &mut w, direction);
    w.finish().unwrap()
}

fn decoded(bytes: &[u8], direction: Direction) -> Result<Option<Vec<Column>>, DecodeError> {
    let mut r = Reader::new(bytes);
    let columns = decode_columns(&mut r, direction)?;
    r.finish("COLMETADATA")?;
    Ok(columns)
}

/// The body of a captured COLMETADATA: `answer int`, `greeting nvarchar(20)`, both expressions.
const CAPTURED: &[u8] = b"\x02\0\
    \0\0\0\0\x21\0\x26\x04\x06a\0n\0s\0w\0e\0r\0\
    \0\0\0\0\x21\0\xE7\x28\0\x09\x04\xD0\0\x34\x08g\0r\0e\0e\0t\0i\0n\0g\0";

#[test]
fn a_captured_result_set() {
    let columns = decoded(CAPTURED, Direction::ServerToClient).unwrap().unwrap();
    let [answer, greeting] = columns.as_slice() else { panic!("two columns") };
    assert_eq!((answer.name.as_str(), answer.sql_type()), ("answer", &SqlType::Int));
    assert!(answer.flags.is_nullable() && answer.flags.is_computed() && !answer.flags.is_identity());
    assert_eq!(greeting.sql_type(), &SqlType::NVarChar { length: Length::Units(20) });
    assert_eq!(greeting.type_info.collation, Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
    assert_eq!(encoded(Some(&columns), Direction::ServerToClient), CAPTURED);
    for len in 0..CAPTURED.len() {
        let error = decoded(&CAPTURED[..len], Direction::ServerToClient).unwrap_err();
        assert!(error.is_truncated(), "{len} bytes: {error}");
    }
}

#[test]
fn no_metadata_is_not_no_columns() {
    assert_eq!(encoded(None, Direction::ServerToClient), b"\xFF\xFF");
    assert_eq!(decoded(b"\xFF\xFF", Direction::ServerToClient), Ok(None));
    assert_eq!(encoded(Some(&[]), Direction::ServerToClient), b"\0\0");
    assert_eq!(decoded(b"\0\0", Direction::ServerToClient), Ok(Some(Vec::new())));
}

#[test]
fn text_columns_carry_their_table_differently_each_way() {
    let mut column = Column::new("t", SqlType::Text, true, Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
    let head = b"\x01\0\0\0\0\0\x09\0\x23\xFF\xFF\xFF\x7F\x09\x04\xD0\0\x34".to_vec();
    let tail = b"\x01t\0";
    for (table, server, client) in [
        (vec![], &b"\x01\0\0"[..], &b"\0\0"[..]),
        (vec!["a".to_owned()], b"\x01\x01\0a\0", b"\x01\0a\0"),
        (vec!["s".to_owned(), "a".to_owned()], b"\x02\x01\0s\0\x01\0a\0", b"\x03\0s\0.\0a\0"),
    ] {
        column.table_name = table;
        for (direction, name) in [(Direction::ServerToClient, server), (Direction::ClientToServer, client)] {
            let bytes = [&head, name, tail].concat();
            assert_eq!(encoded(Some(std::slice::from_ref(&column)), direction), bytes);
            let columns = decoded(&bytes, direction).unwrap().unwrap();
            let joined = columns[0].table_name.join(".");
            assert_eq!(joined, column.table_name.join("."));
        }
    }
}

#[test]
fn rowversion_is_told_by_its_user_type() {
    let column = Column::new("v", SqlType::RowVersion, false, None);
    let bytes = encoded(Some(std::slice::from_ref(&column)), Direction::ServerToClient);
    assert_eq!(bytes, b"\x01\0\x50\0\0\0\x08\0\xAD\x08\0\x01v\0");
    assert_eq!(decoded(&bytes, Direction::ServerToClient), Ok(Some(vec![column])));
}

#[test]
fn what_is_no_metadata_is_refused() {
    for (bytes, what) in [
        (&b"\x01\0\0\0\0\0\x01\x08\x26\x04\x01c\0"[..], "encrypted columns are not supported"),
        (b"\x01\0\0\0\0\0\x01\0\x26\x03\x01c\0", "no type has token 26 and length 3"),
        (b"\x01\0\0\0\0\0\x01\0\x29\x08\x01c\0", "time scale 8"),
        (b"\x01\0\0\0\0\0\x01\0\x6A\x11\x27\0\x01c\0", "decimal(39, 0)"),
        (b"\x01\0\0\0\0\0\x01\0\x6A\x11\x05\x06\x01c\0", "decimal(5, 6)"),
        (b"\x01\0\0\0\0\0\x01\0\xA5\x41\x1F\x01c\0", "length 8001 of token A5"),
        (b"\x01\0\0\0\0\0\x01\0\xF3\0\0\0\0", "a table is no type of a column"),
        (b"\x01\0\0\0\0\0\x01\0\xF5\x0A\0\0\x01c\0", "no vector has 10 bytes"),
        (b"\x01\0\0\0\0\0\x01\0\xF5\x0C\0\x02\x01c\0", "no vector has 12 bytes"),
        (b"\x01\0\0\0\0\0\x01\0\xF5\x44\x1F\0\x01c\0", "no vector has 8004 bytes"),
        (b"\x01\0\0\0\0\0\x01\0\x99\0\0\0\0", "99 is not a type token"),
    ] {
        let error = decoded(bytes, Direction::ServerToClient).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(!error.is_truncated());
    }
    // A count that the bytes cannot hold is not allocated for.
    let error = decoded(b"\xFE\xFF\0\0\0\0\0\0\0\0", Direction::ServerToClient).unwrap_err();
    assert_eq!(error.field, "COLMETADATA columns");
}
