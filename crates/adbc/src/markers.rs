//! `?` markers, which ADBC's users write, as the named parameters that T-SQL has.

/// Replaces the `n`-th `?` of a statement by `@Pn`, and counts them. Marks inside strings, quoted names and
/// comments are text.
pub(crate) fn named(sql: &str) -> (String, usize) {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut markers = 0;
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '\'', '"', '[', '-', '/']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = opaque_length(from);
        if length > 0 {
            let (text, after) = from.split_at(length);
            out.push_str(text);
            rest = after;
            continue;
        }
        let mut chars = from.chars();
        match chars.next() {
            Some('?') => {
                markers += 1;
                out.push_str(&format!("@P{markers}"));
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    (out, markers)
}

/// Returns the length in bytes of the string, quoted name or comment at the head of `text`; 0 if there is
/// none. One that is not closed takes the rest.
fn opaque_length(text: &str) -> usize {
    let end = |close: &str, from: usize| {
        text.get(from..).and_then(|rest| rest.find(close)).map_or(text.len(), |at| from + at + close.len())
    };
    match text.as_bytes() {
        // A doubled quote ends one string and starts the next, which comes to the same.
        [b'\'', ..] => end("'", 1),
        [b'"', ..] => end("\"", 1),
        [b'[', ..] => bracketed(text),
        [b'-', b'-', ..] => end("\n", 2),
        [b'/', b'*', ..] => nested_comment(text),
        _ => 0,
    }
}

/// Measures a name in brackets, in which `]]` is a bracket.
fn bracketed(text: &str) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(']')) {
        at += found + 1;
        if text.as_bytes().get(at) != Some(&b']') {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Measures a block comment of T-SQL, which may nest.
fn nested_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn marks_are_numbered_outside_of_text() {
        let cases = [
            ("SELECT 1", "SELECT 1", 0),
            ("SELECT ?, ? + ?", "SELECT @P1, @P2 + @P3", 3),
            ("SELECT '?', 'it''s ?', ?", "SELECT '?', 'it''s ?', @P1", 1),
            ("SELECT [a?]]b?], \"c?\" FROM t WHERE x = ?", "SELECT [a?]]b?], \"c?\" FROM t WHERE x = @P1", 1),
            ("SELECT 1 -- ?\n, ?", "SELECT 1 -- ?\n, @P1", 1),
            ("SELECT /* ? /* ? */ ? */ ?", "SELECT /* ? /* ? */ ? */ @P1", 1),
            ("SELECT 1 - ? / ?", "SELECT 1 - @P1 / @P2", 2),
            ("SELECT 'open ?", "SELECT 'open ?", 0),
            ("SELECT 'é?', ?", "SELECT 'é?', @P1", 1),
        ];
        for (sql, expected, count) in cases {
            assert_eq!(named(sql), (expected.to_owned(), count), "{sql}");
        }
    }
}
