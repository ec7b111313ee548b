//! Hides what may be a secret in logged statements.
//!
//! A password can stand in a literal, in a text that EXEC runs, in a connection string, or in a variable that is used further on.
//! So once a request mentions one, none of its literals and comments is shown.

/// Words that mark a request as one that may have a secret, in any case.
const WORDS: [&str; 6] = ["pass", "pwd", "secret", "credential", "login", "approle"];

/// The text in place of a literal.
pub const HIDDEN: &str = "'***'";

/// Returns true if a text mentions secrets.
pub fn mentions(text: &str) -> bool {
    let bytes = text.as_bytes();
    WORDS.iter().any(|word| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())))
}

/// Returns a statement without its literals and comments.
pub fn without_literals(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let prefix = if first.eq_ignore_ascii_case(&'N') { 1 } else { 0 };
        let literal = rest.get(prefix..).unwrap_or_default();
        let after_word = shown.ends_with(|ch: char| ch.is_alphanumeric() || ch == '_');
        rest = if literal.starts_with('\'') && !(prefix == 1 && after_word) {
            shown.push_str(HIDDEN);
            after_quoted(literal, '\'')
        } else if rest.starts_with('"') {
            // A name, or a text where QUOTED_IDENTIFIER is off.
            shown.push_str("\"***\"");
            after_quoted(rest, '"')
        } else if rest.starts_with('[') {
            let tail = after_quoted_by(rest, ']');
            shown.push_str(rest.get(..rest.len() - tail.len()).unwrap_or_default());
            tail
        } else if rest.starts_with("--") {
            rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default()
        } else if rest.starts_with("/*") {
            shown.push(' ');
            after_comment(rest)
        } else if (rest.starts_with("0x") || rest.starts_with("0X")) && !after_word {
            shown.push_str("0x***");
            let digits = rest.get(2..).unwrap_or_default();
            digits.trim_start_matches(|ch: char| ch.is_ascii_hexdigit())
        } else {
            shown.push(first);
            rest.get(first.len_utf8()..).unwrap_or_default()
        };
    }
    shown
}

/// Returns the text behind a quoted text at the head; doubled quotes belong to it.
fn after_quoted(text: &str, quote: char) -> &str {
    after_quoted_by(text.get(quote.len_utf8()..).unwrap_or_default(), quote)
}

fn after_quoted_by(text: &str, quote: char) -> &str {
    let mut rest = text;
    while let Some(at) = rest.find(quote) {
        rest = rest.get(at + quote.len_utf8()..).unwrap_or_default();
        match rest.strip_prefix(quote) {
            Some(after) => rest = after,
            None => return rest,
        }
    }
    ""
}

/// Returns the text behind a comment at the head; comments nest.
fn after_comment(text: &str) -> &str {
    let mut rest = text.get(2..).unwrap_or_default();
    let mut depth = 1_u32;
    while depth > 0 {
        let next = match (rest.find("*/"), rest.find("/*")) {
            (Some(end), Some(start)) if start < end => {
                depth += 1;
                start
            }
            (Some(end), _) => {
                depth -= 1;
                end
            }
            (None, _) => return "",
        };
        rest = rest.get(next + 2..).unwrap_or_default();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_of_a_statement_with_a_secret_is_shown() {
        for (text, shown) in [
            (
                "CREATE LOGIN a WITH PASSWORD = N'it''s', CHECK_POLICY = OFF",
                "CREATE LOGIN a WITH PASSWORD = '***', CHECK_POLICY = OFF",
            ),
            ("EXEC('ALTER LOGIN a WITH PASSWORD=''x''')", "EXEC('***')"),
            (
                "DECLARE @p varchar(9) = 'x' -- the password x\nEXEC p @p",
                "DECLARE @p varchar(9) = '***' \nEXEC p @p",
            ),
            ("PASSWORD/**/='x'", "PASSWORD ='***'"),
            ("PASSWORD/* /* */ = 'y' */=\"x\"", "PASSWORD =\"***\""),
            ("OPENROWSET('a', 'SERVER=s;PWD=x', t)", "OPENROWSET('***', '***', t)"),
            ("SELECT password FROM t WHERE password = @p", "SELECT password FROM t WHERE password = @p"),
            ("x PASSWORD = 'open", "x PASSWORD = '***'"),
            ("SET [a'b] = 0x50AA WHERE secret = 1", "SET [a'b] = 0x*** WHERE secret = 1"),
            ("İ PASSWORD = 'ß' é", "İ PASSWORD = '***' é"),
        ] {
            assert!(mentions(text), "{text}");
            assert_eq!(without_literals(text), shown);
        }
        assert!(!mentions("SELECT 1"));
    }
}
