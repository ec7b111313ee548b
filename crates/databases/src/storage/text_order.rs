//! The order of text in keys: that of comparisons, so that a lookup finds what a comparison would.

use std::cell::RefCell;

use query::{is_case_sensitive, text_key};
use store::{KeyText, TextOrder};
use tds::Collation;

/// Order of text in the paged engine. It is kept in files: other bytes for the same text are another format.
pub(super) const TEXT_ORDER: TextOrder = TextOrder { write };

fn write(collation: &str, text: KeyText<'_>, out: &mut Vec<u8>) -> bool {
    let Some(collation) = collation_of(collation) else { return false };
    let fold = !is_case_sensitive(Some(collation));
    match text {
        KeyText::Unicode(text) => out.extend_from_slice(text_key(text, fold).as_bytes()),
        KeyText::Bytes(bytes) if bytes.is_ascii() => {
            let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            let start = out.len();
            out.extend_from_slice(bytes.get(..end).unwrap_or_default());
            if fold {
                out.get_mut(start..).unwrap_or_default().make_ascii_lowercase();
            }
        }
        KeyText::Bytes(bytes) => match collation.code_page().decode(bytes) {
            Ok(text) => out.extend_from_slice(text_key(&text, fold).as_bytes()),
            Err(_) => return false,
        },
    }
    true
}

/// Finds a collation by its name. The last one is remembered: a key's rows come one after the other.
fn collation_of(name: &str) -> Option<Collation> {
    thread_local! {
        static LAST: RefCell<Option<(String, Collation)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, collation)) if known == name => Some(*collation),
        _ => {
            let collation = Collation::from_name(name)?;
            *last = Some((name.to_owned(), collation));
            Some(collation)
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(collation: &str, text: KeyText<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        write(collation, text, &mut out).then_some(out)
    }

    #[test]
    fn text_and_bytes_of_a_code_page_order_alike() {
        let (folding, exact) = ("SQL_Latin1_General_CP1_CI_AS", "Latin1_General_CS_AS");
        for collation in [folding, exact] {
            for text in ["", "a", "A", "Ab  ", "é", "É x", " "] {
                let bytes =
                    Collation::from_name(collation).unwrap().code_page().encode(text).unwrap().into_owned();
                let trimmed = text.trim_end_matches(' ');
                let from_text = key(collation, KeyText::Unicode(trimmed));
                assert_eq!(from_text, key(collation, KeyText::Bytes(&bytes)), "{text:?} under {collation}");
                assert!(from_text.is_some());
            }
        }
        assert_eq!(key(folding, KeyText::Unicode("É")), key(folding, KeyText::Unicode("é")));
        assert_ne!(key(exact, KeyText::Unicode("É")), key(exact, KeyText::Unicode("é")));
        assert_eq!(key("no such collation", KeyText::Unicode("a")), None);
    }
}
