//! `Server=…;Database=…` strings: the grammar of ADO.NET, with ODBC's braces.
//!
//! A value may be unquoted (blanks around it are dropped), in double or single quotes (a doubled quote is one quote), or in
//! braces (`}}` is one `}`). In a keyword `==` is a literal `=`. Empty segments are skipped.

use super::{ConfigError, keyword::Keyword};

/// One setting: keyword, value (for an ignored keyword its name), and the byte offset at which its segment starts.
pub(crate) type Setting = (Keyword, String, usize);

/// Splits a keyword string into its settings, in order.
pub(crate) fn parse(text: &str) -> Result<Vec<Setting>, ConfigError> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if rest.is_empty() {
            return Ok(settings);
        }
        let offset = text.len() - rest.len();
        let secret_before = settings.last().map(|s| s.0).filter(|keyword| keyword.is_secret());
        let after_secret = |error| match secret_before {
            Some(keyword) => ConfigError::AfterSecret { keyword: keyword.name(), offset },
            None => error,
        };
        let (name, after_name) = split_name(rest, offset).map_err(after_secret)?;
        let keyword = Keyword::find(&name).ok_or_else(|| after_secret(Keyword::unknown(&name)))?;
        let value_offset = text.len() - after_name.len();
        let (value, after_value) = split_value(after_name, value_offset)?;
        settings.push((keyword, if keyword == Keyword::Ignored { name } else { value }, offset));
        rest = after_value;
    }
}

fn split_name(text: &str, offset: usize) -> Result<(String, &str), ConfigError> {
    let mut name = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '=' if matches!(chars.peek(), Some((_, '='))) => {
                chars.next();
                name.push('=');
            }
            '=' => {
                let name = name.trim();
                if name.is_empty() {
                    return Err(ConfigError::Malformed { offset, reason: "a value without a keyword" });
                }
                return Ok((name.to_owned(), text.get(at + 1..).unwrap_or_default()));
            }
            ';' => break,
            c => name.push(c),
        }
    }
    Err(ConfigError::Malformed { offset, reason: "expected keyword=value" })
}

fn split_value(text: &str, offset: usize) -> Result<(String, &str), ConfigError> {
    let trimmed = text.trim_start();
    let closing = match trimmed.chars().next() {
        Some('"') => '"',
        Some('\'') => '\'',
        Some('{') => '}',
        _ => {
            let end = trimmed.find(';').unwrap_or(trimmed.len());
            let (value, rest) = trimmed.split_at(end);
            return Ok((value.trim_end().to_owned(), rest));
        }
    };
    let mut value = String::new();
    let mut chars = trimmed.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != closing {
            value.push(c);
        } else if matches!(chars.peek(), Some((_, next)) if *next == closing) {
            chars.next();
            value.push(closing);
        } else {
            let rest = trimmed.get(at + c.len_utf8()..).unwrap_or_default().trim_start();
            if rest.is_empty() || rest.starts_with(';') {
                return Ok((value, rest));
            }
            return Err(ConfigError::Malformed {
                offset,
                reason: "text between a closing quote and the next ';'",
            });
        }
    }
    Err(ConfigError::Malformed { offset, reason: "a quoted value is not closed" })
}
