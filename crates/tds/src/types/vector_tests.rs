#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn text_is_json_in_and_the_servers_spelling_out() {
    for (text, printed) in [
        ("[1]", "[1.0000000e+000]"),
        (" [ 0.1 , 2,\n30 ]\t", "[1.0000000e-001,2.0000000e+000,3.0000000e+001]"),
        ("[-0.25,1E2,1e-2,0]", "[-2.5000000e-001,1.0000000e+002,9.9999998e-003,0.0000000e+000]"),
        ("[3.4028234e38,1e-45]", "[3.4028235e+038,1.4012985e-045]"),
        ("[1.0000000e+000]", "[1.0000000e+000]"),
    ] {
        assert_eq!(Vector::parse(text, VectorBase::Float32).unwrap().to_string(), printed, "{text}");
    }
    let half = Vector::parse("[0.1, 65504, 6e-8]", VectorBase::Float16).unwrap();
    assert_eq!(half.to_string(), "[9.9975586e-002,6.5504000e+004,5.9604645e-008]");
}

#[test]
fn text_that_is_no_vector_is_refused() {
    for text in [
        "", "[", "1,2", "[1,]", "[,1]", "[1 2]", "[1]x", "[01]", "[.5]", "[1.]", "[+1]", "[1e]", "[null]",
        "[\"1\"]", "[[1]]", "{}", "[NaN]", "[inf]", "[1", "[-]",
    ] {
        let error = Vector::parse(text, VectorBase::Float32).unwrap_err();
        assert!(matches!(error, VectorError::Text { .. }), "{text}: {error}");
    }
    let refused = |text: &str, base| Vector::parse(text, base).unwrap_err().to_string();
    assert_eq!(refused("[1, 1e39]", VectorBase::Float32), "element 1 is outside the range of float32");
    assert_eq!(refused("[70000]", VectorBase::Float16), "element 0 is outside the range of float16");
    assert_eq!(
        refused("[]", VectorBase::Float32),
        "a vector of 0 dimensions; 1 to 1998 are allowed for float32"
    );
    let long = format!("[{}0]", "0,".repeat(1998));
    assert!(matches!(
        Vector::parse(&long, VectorBase::Float32),
        Err(VectorError::Count { dimensions: 1999, .. })
    ));
    assert_eq!(Vector::parse(&long, VectorBase::Float16).unwrap().dimensions(), 1999);
}

#[test]
fn bytes_have_the_header_that_clients_send() {
    // As written by the JDBC driver, SqlClient, go-mssqldb and mssql-tds.
    let bytes = [0xA9, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0];
    let vector = Vector::new(VectorBase::Float32, vec![1.0, -2.0]).unwrap();
    assert_eq!(vector.to_bytes(), bytes);
    assert_eq!(Vector::from_bytes(&bytes), Ok(vector));
    let half = Vector::new(VectorBase::Float16, vec![1.0, -2.0]).unwrap();
    assert_eq!(half.to_bytes(), [0xA9, 1, 2, 0, 1, 0, 0, 0, 0, 0x3C, 0, 0xC0]);
    assert_eq!(check(&bytes, VectorBase::Float32, 2), Ok(()));
    assert_eq!(check(&bytes, VectorBase::Float32, 3), Err(VectorError::Dimensions { found: 2, expected: 3 }));
    assert!(matches!(check(&bytes, VectorBase::Float16, 2), Err(VectorError::Base { .. })));
}

#[test]
fn bytes_that_are_no_vector_are_refused() {
    let whole = Vector::new(VectorBase::Float32, vec![1.0]).unwrap().to_bytes();
    for (place, byte) in [(0, 0xA8), (1, 2), (2, 2), (3, 1), (4, 2), (4, 1)] {
        let mut bytes = whole.clone();
        bytes[place] = byte;
        assert_eq!(Vector::from_bytes(&bytes), Err(VectorError::Malformed { length: 12 }), "{place}");
    }
    assert!(Vector::from_bytes(&whole[..11]).is_err());
    assert!(Vector::from_bytes(&[]).is_err());
    for bits in [0x7F80_0000_u32, 0xFF80_0000, 0x7FC0_0000] {
        let mut bytes = whole.clone();
        bytes[8..].copy_from_slice(&bits.to_le_bytes());
        assert!(Vector::from_bytes(&bytes).is_ok());
        assert_eq!(check(&bytes, VectorBase::Float32, 1), Err(VectorError::NotFinite { index: 0 }));
    }
}
