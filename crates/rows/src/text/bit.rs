//! `bit`: `0`, `1`, `true`, `false`.

use super::{TextError, trim_blanks};

/// Parses a `bit`. The words are accepted in any case, as CAST does.
pub fn bit(text: &str) -> Result<bool, TextError> {
    match trim_blanks(text) {
        b"0" => Ok(false),
        b"1" => Ok(true),
        [] => Err(TextError::Empty),
        word if word.eq_ignore_ascii_case(b"true") => Ok(true),
        word if word.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(TextError::Syntax { expected: "a bit (0, 1, true or false)" }),
    }
}
