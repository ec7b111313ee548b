#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

#[test]
fn ascii_is_borrowed_both_ways() {
    for code_page in CodePage::ALL {
        assert!(matches!(code_page.decode(b"plain text"), Ok(Cow::Borrowed("plain text"))));
        assert!(matches!(code_page.encode("plain text"), Ok(Cow::Borrowed(b"plain text"))));
        assert_eq!(code_page.encoded_len("plain text"), Ok(10));
    }
}
