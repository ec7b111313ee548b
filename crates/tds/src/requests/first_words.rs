//! The first words of a statement, which a trace may show: they hold no literal and no password.

use std::fmt;

/// Verbs whose next word says what they do, or to what.
const VERBS: [&str; 34] = [
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BULK",
    "CLOSE",
    "COMMIT",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DELETE",
    "DENY",
    "DISABLE",
    "DROP",
    "ENABLE",
    "EXEC",
    "EXECUTE",
    "FETCH",
    "GRANT",
    "IF",
    "INSERT",
    "MERGE",
    "OPEN",
    "RESTORE",
    "REVOKE",
    "ROLLBACK",
    "SAVE",
    "SELECT",
    "SET",
    "TRUNCATE",
    "UPDATE",
    "USE",
    "WHILE",
    "WITH",
    "KILL",
];
/// Characters shown of a word.
const WORD_CHARS_MAX: usize = 64;

/// The first words of a statement, for `Display`: its verb, and the next word after some verbs. After anything else a word may be
/// a value: in `sp_password secret` the second word is a string.
#[derive(Debug, Clone, Copy)]
pub struct FirstWords<'a>(pub &'a str);

impl fmt::Display for FirstWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = word(self.0) else { return Ok(()) };
        f.write_str(first)?;
        if VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(first))
            && let Some((second, _)) = word(rest)
        {
            write!(f, " {second}")?;
        }
        Ok(())
    }
}

/// Splits the word at the head from the rest. `None` for anything that is not wholly a name or a keyword.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if !text.starts_with(|ch: char| ch.is_ascii_alphabetic() || matches!(ch, '_' | '#')) {
        return None;
    }
    let inside = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '#' | '.' | '$');
    let end = text.find(|ch: char| !inside(ch)).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    let ends = rest.chars().next().is_none_or(|ch| ch.is_whitespace() || matches!(ch, '(' | ',' | ';' | '*'));
    (ends && word.len() <= WORD_CHARS_MAX).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::FirstWords;

    #[test]
    fn no_literal_and_no_argument_is_a_first_word() {
        for (text, shown) in [
            ("SELECT name FROM people WHERE id = 7", "SELECT name"),
            ("select * from t", "select"),
            ("  INSERT\n INTO t VALUES ('secret')", "INSERT INTO"),
            ("SELECT 'secret'", "SELECT"),
            ("SELECT N'secret'", "SELECT"),
            ("SELECT x'secret'", "SELECT"),
            ("SELECT 4711", "SELECT"),
            ("SELECT @p", "SELECT"),
            ("SELECT [a secret]", "SELECT"),
            ("SELECT \"secret\"", "SELECT"),
            ("EXEC dbo.change_password secret", "EXEC dbo.change_password"),
            ("EXEC @r = p secret", "EXEC"),
            ("sp_password secret", "sp_password"),
            ("PRINT secret", "PRINT"),
            ("ALTER LOGIN a WITH PASSWORD = 'secret'", "ALTER LOGIN"),
            ("WITH(secret)", "WITH"),
            ("'secret'", ""),
            ("-- secret\nSELECT 1", ""),
            ("/* secret */ SELECT 1", ""),
            ("0x5EC2E7", ""),
            ("passwört secret", ""),
            ("", ""),
            (&"x".repeat(65), ""),
        ] {
            assert_eq!(FirstWords(text).to_string(), shown, "{text}");
        }
    }
}
