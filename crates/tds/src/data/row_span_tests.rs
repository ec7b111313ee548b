#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::sql_type::SqlType;

fn layout(types: &[(&str, bool)]) -> RowLayout {
    let columns: Vec<Column> = types
        .iter()
        .map(|(text, nullable)| Column::new("c", text.parse::<SqlType>().unwrap(), *nullable, None))
        .collect();
    RowLayout::new(&columns)
}

/// Every column kind, with the bytes of one value and of NULL (empty where there is none).
const KINDS: &[(&str, bool, &[u8], &[u8])] = &[
    ("int", false, b"\x07\0\0\0", b""),
    ("bigint", false, b"\x07\0\0\0\0\0\0\0", b""),
    ("int", true, b"\x04\x07\0\0\0", b"\0"),
    ("datetime2(7)", true, b"\x08\0\0\0\0\0\x3A\xF9\x0A", b"\0"),
    ("decimal(38, 0)", true, b"\x05\x01\x01\0\0\0", b"\0"),
    ("varchar(10)", true, b"\x02\0ab", b"\xFF\xFF"),
    ("nvarchar(10)", true, b"\0\0", b"\xFF\xFF"),
    (
        "varchar(max)",
        true,
        b"\x02\0\0\0\0\0\0\0\x01\0\0\0a\x01\0\0\0b\0\0\0\0",
        b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
    ),
    (
        "xml",
        true,
        b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02\0\0\0a\0\0\0\0\0",
        b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
    ),
    ("text", true, b"\x10dummy textptr\0\0\0dummyTS\0\x01\0\0\0x", b"\0"),
    ("sql_variant", true, b"\x06\0\0\0\x38\0\x07\0\0\0", b"\0\0\0\0"),
];

#[test]
fn every_prefix_of_a_row_needs_more_and_the_row_itself_does_not() {
    let types: Vec<_> = KINDS.iter().map(|(text, nullable, ..)| (*text, *nullable)).collect();
    let layout = layout(&types);
    let values = KINDS.iter().flat_map(|(_, _, value, _)| value.iter().copied());
    let nulls = KINDS
        .iter()
        .flat_map(|(_, _, value, null)| if null.is_empty() { value.iter() } else { null.iter() }.copied());
    for row in [values.collect::<Vec<u8>>(), nulls.collect()] {
        let mut bytes = vec![ROW];
        bytes.extend(row);
        for len in 0..bytes.len() {
            assert_eq!(layout.row_len(&bytes[..len]), Ok(None), "{len} bytes");
        }
        assert_eq!(layout.row_len(&bytes), Ok(Some(bytes.len())));
        let row = bytes.clone();
        bytes.extend(&row);
        bytes.push(0xFD);
        let span = RowSpan { rows: 2, bytes: row.len() * 2 };
        assert_eq!(layout.complete_rows(&bytes), Ok(span), "two rows, then another token");
        bytes.truncate(row.len() * 2 - 1);
        assert_eq!(layout.complete_rows(&bytes), Ok(RowSpan { rows: 1, bytes: row.len() }));
    }
}

#[test]
fn nbc_rows_leave_the_nulls_out() {
    let layout = layout(&[("int", true); 9]);
    let bytes = b"\xD2\xFD\x01\x04\x01\0\0\0";
    assert_eq!(layout.bitmap_bytes(), 2);
    for len in 1..bytes.len() {
        assert_eq!(layout.row_len(&bytes[..len]), Ok(None));
    }
    assert_eq!(layout.row_len(bytes), Ok(Some(bytes.len())));
    assert_eq!(layout.row_len(b"\xD2\xFF\x01"), Ok(Some(3)));
}

#[test]
fn single_values() {
    for (text, nullable, value, null) in KINDS {
        let layout = layout(&[(text, *nullable)]);
        for bytes in [value, null].into_iter().filter(|bytes| !bytes.is_empty()) {
            assert_eq!(layout.value_len(0, bytes), Ok(Some(bytes.len())), "{text}");
            assert_eq!(layout.value_len(0, &bytes[..bytes.len() - 1]), Ok(None), "{text}");
        }
    }
    assert!(layout(&[]).value_len(0, b"").is_err());
}

#[test]
fn what_is_no_row_is_refused() {
    let layout = layout(&[("varchar(max)", true)]);
    assert_eq!(layout.row_len(b"\xFD\0").unwrap_err().offset, 0);
    let short = b"\xD1\x03\0\0\0\0\0\0\0\x02\0\0\0ab\0\0\0\0";
    assert_eq!(layout.row_len(short).unwrap_err().field, "PLP length");
    let long = b"\xD1\x01\0\0\0\0\0\0\0\xFF\xFF\xFF\x7F";
    assert_eq!(layout.row_len(long).unwrap_err().offset, 1);
    let mut two = b"\xD1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF".to_vec();
    two.extend(long);
    assert_eq!(layout.complete_rows(&two), Ok(RowSpan { rows: 1, bytes: 9 }), "what comes before it is good");
    assert_eq!(layout.complete_rows(&two[9..]).unwrap_err().offset, 1);
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(0..=u8::MAX, 0..200), nbc: bool) {
        let types: Vec<_> = KINDS.iter().map(|(text, nullable, ..)| (*text, *nullable)).collect();
        let mut row = vec![if nbc { NBCROW } else { ROW }];
        row.extend(bytes);
        if let Ok(Some(len)) = layout(&types).row_len(&row) {
            proptest::prop_assert!(len <= row.len());
        }
    }
}
