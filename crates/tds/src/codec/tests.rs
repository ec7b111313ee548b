//! Reader against writer, and what they refuse.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

#[test]
fn reads_what_was_written() {
    let mut w = Writer::new();
    w.u8(0xFE);
    w.i8(-2);
    w.u16(0x1234);
    w.i16(-3);
    w.u32(0x1234_5678);
    w.i32(-4);
    w.u64(0x0102_0304_0506_0708);
    w.i64(-5);
    w.u16_be(0x1234);
    w.u32_be(0x1234_5678);
    w.b_varchar("é😀", "b");
    w.us_varchar("name", "us");
    w.b_varbyte(&[1], "b");
    w.us_varbyte(&[2, 3], "us");
    w.l_varbyte(&[4], "l");
    let bytes = w.finish().unwrap();
    let mut r = Reader::new(&bytes);
    assert_eq!(r.u8("f"), Ok(0xFE));
    assert_eq!(r.i8("f"), Ok(-2));
    assert_eq!(r.u16("f"), Ok(0x1234));
    assert_eq!(r.i16("f"), Ok(-3));
    assert_eq!(r.u32("f"), Ok(0x1234_5678));
    assert_eq!(r.i32("f"), Ok(-4));
    assert_eq!(r.u64("f"), Ok(0x0102_0304_0506_0708));
    assert_eq!(r.i64("f"), Ok(-5));
    assert_eq!(r.u16_be("f"), Ok(0x1234));
    assert_eq!(r.u32_be("f"), Ok(0x1234_5678));
    assert_eq!(r.b_varchar("f").unwrap(), "é😀");
    assert_eq!(r.us_varchar("f").unwrap(), "name");
    assert_eq!(r.b_varbyte("f").unwrap(), [1]);
    assert_eq!(r.us_varbyte("f").unwrap(), [2, 3]);
    assert_eq!(r.l_varbyte("f").unwrap(), [4]);
    assert_eq!(r.finish("f"), Ok(()));
}

#[test]
fn lengths_are_patched() {
    let mut w = Writer::append_to(vec![9]);
    let (outer, inclusive) = (w.begin_u16(), w.begin_u32());
    let inner = w.begin_u8();
    w.bytes(b"abc");
    w.end_u8(inner, "inner");
    w.end_u32_inclusive(inclusive, "inclusive");
    w.end_u16(outer, "outer");
    assert_eq!(w.finish().unwrap(), b"\x09\x08\x00\x08\x00\x00\x00\x03abc");
}

#[test]
fn what_does_not_fit_its_prefix_never_leaves() {
    let mut w = Writer::new();
    w.b_varchar(&"x".repeat(256), "name");
    w.b_varbyte(&[0; 300], "second");
    let kind = EncodeErrorKind::TooLong { length: 256, limit: 255 };
    assert_eq!(w.finish(), Err(EncodeError { field: "name", kind }));
}

#[test]
fn a_failed_attempt_leaves_no_trace() {
    let mut w = Writer::new();
    w.u8(1);
    let error = w.attempt(|w| w.b_varchar(&"x".repeat(256), "name")).unwrap_err();
    assert_eq!(error.field, "name");
    assert_eq!(w.attempt(|w| w.u8(2)), Ok(()));
    assert_eq!(w.finish(), Ok(vec![1, 2]));
}

#[test]
fn errors_name_field_and_place() {
    let mut r = Reader::new(&[1, 2, 3]);
    r.u16("first").unwrap();
    let error = r.u32("second").unwrap_err();
    assert!(error.is_truncated());
    assert_eq!(error.to_string(), "second at byte 2: 4 bytes needed, 1 available");

    let mut r = Reader::new(&[0, 2, 1, 5, 7]);
    r.u8("skip").unwrap();
    let length = r.u8("length").unwrap();
    let mut inner = r.sub(usize::from(length), "inner").unwrap();
    inner.u8("a").unwrap();
    let error = inner.clone().u32("b").unwrap_err();
    assert!(!error.is_truncated(), "an enclosed structure cannot be completed by more input");
    assert_eq!((error.field, error.offset), ("b", 3));
    assert_eq!(inner.finish("inner").unwrap_err().kind, DecodeErrorKind::LeftOver { bytes: 1 });
    assert_eq!(r.rest(), [7]);
}

#[test]
fn counts_are_checked_before_anything_is_allocated() {
    let mut r = Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 1, 2]);
    assert!(r.clone().l_varbyte("data").unwrap_err().is_truncated());
    let count = r.u32("count").unwrap() as usize;
    assert!(r.check_count(count, 6, "count").is_err());
    assert!(r.check_count(usize::MAX, 6, "count").is_err());
    assert!(r.check_count(2, 1, "count").is_ok());
}

#[test]
fn unpaired_surrogates_are_refused() {
    let mut r = Reader::new(&[0x00, 0xD8, 0x41, 0x00]);
    let error = r.utf16(2, "text").unwrap_err();
    assert!(matches!(error.kind, DecodeErrorKind::Invalid { .. }));
    assert_eq!(decode_utf16(&[0x41]), None);
}
