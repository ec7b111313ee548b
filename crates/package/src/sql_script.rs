//! Scripts of T-SQL: their encoding, and their batches, which end at lines with GO.

use std::fmt;

/// A batch of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The text of the batch.
    pub sql: String,
    /// The line of the script on which it begins, from 1.
    pub line: usize,
    /// The number of its runs (`GO 5`).
    pub count: u32,
}

/// A line with GO and something other than a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGo {
    line: usize,
    text: String,
}

impl fmt::Display for BadGo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: GO takes a number at most, not {:?}", self.line, self.text)
    }
}

/// Decodes a script: UTF-8, or UTF-16 with a byte-order mark as SQL Server's own tools write it. `None` for anything
/// else.
pub fn script_text(bytes: &[u8]) -> Option<String> {
    let wide = |unit: fn([u8; 2]) -> u16, body: &[u8]| {
        let units: Vec<u16> = body.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xFF, 0xFE, body @ ..] => wide(u16::from_le_bytes, body),
        [0xFE, 0xFF, body @ ..] => wide(u16::from_be_bytes, body),
        [0xEF, 0xBB, 0xBF, body @ ..] => String::from_utf8(body.to_vec()).ok(),
        body => String::from_utf8(body.to_vec()).ok(),
    }
}

/// The construct that a character is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// Quotes or brackets, up to this character.
    Quoted(char),
    /// `/* */`, which nest.
    Comment(u32),
}

/// Splits a script into batches. Empty ones are left out. GO inside of quotes, brackets and comments is text.
///
/// # Errors
/// A line with GO and something else.
pub fn batches(script: &str) -> Result<Vec<Batch>, BadGo> {
    let mut found = Vec::new();
    let mut sql = String::new();
    let mut first_line = 1;
    let mut inside = Inside::Code;
    for (number, line) in (1..).zip(script.split_inclusive('\n')) {
        match separator(line).filter(|_| inside == Inside::Code) {
            Some(Ok(count)) => {
                push(&mut found, &mut sql, first_line, count);
                first_line = number + 1;
            }
            Some(Err(text)) => return Err(BadGo { line: number, text }),
            None => {
                inside = behind(inside, line);
                sql.push_str(line);
            }
        }
    }
    push(&mut found, &mut sql, first_line, 1);
    Ok(found)
}

fn push(found: &mut Vec<Batch>, sql: &mut String, line: usize, count: u32) {
    let sql = std::mem::take(sql);
    if !sql.trim().is_empty() {
        found.push(Batch { sql, line, count });
    }
}

/// Reads a line that is a GO: the number of runs, or the text that should have been a number.
fn separator(line: &str) -> Option<Result<u32, String>> {
    let line = line.trim();
    let rest = line.get(2..).filter(|_| line.get(..2).is_some_and(|go| go.eq_ignore_ascii_case("go")))?;
    let said = rest.split("--").next().unwrap_or_default().trim();
    match rest.chars().next() {
        None => Some(Ok(1)),
        Some(c) if c.is_whitespace() || rest.starts_with("--") => Some(match said {
            "" => Ok(1),
            number => number.parse().map_err(|_| number.to_owned()),
        }),
        Some(_) => None,
    }
}

/// Returns the construct that the text behind a line is in.
fn behind(mut inside: Inside, line: &str) -> Inside {
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        inside = match (inside, c, next) {
            (Inside::Code, '-', Some('-')) => return Inside::Code,
            (Inside::Code, '/', Some('*')) => {
                characters.next();
                Inside::Comment(1)
            }
            (Inside::Code, '\'' | '"', _) => Inside::Quoted(c),
            (Inside::Code, '[', _) => Inside::Quoted(']'),
            // A doubled end mark closes the quotes and opens them again.
            (Inside::Quoted(end), c, _) if c == end => Inside::Code,
            (Inside::Comment(depth), '*', Some('/')) => {
                characters.next();
                if depth == 1 { Inside::Code } else { Inside::Comment(depth - 1) }
            }
            (Inside::Comment(depth), '/', Some('*')) => {
                characters.next();
                Inside::Comment(depth.saturating_add(1))
            }
            (inside, ..) => inside,
        };
    }
    inside
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::batches;

    #[test]
    fn lines_of_go_part_batches() {
        let script = "SELECT 1\nGO\n\nGO\nSELECT 'a\nGO\n'\n/* /* */\ngo */\n  go 3 -- thrice\nSELECT [x\nGO\n]]\n]\r\nGO\r\nGOTO x -- '\nGO";
        let found = batches(script).unwrap();
        let shown: Vec<(&str, usize, u32)> =
            found.iter().map(|batch| (batch.sql.trim(), batch.line, batch.count)).collect();
        assert_eq!(
            shown,
            [
                ("SELECT 1", 1, 1),
                ("SELECT 'a\nGO\n'\n/* /* */\ngo */", 5, 3),
                ("SELECT [x\nGO\n]]\n]", 11, 1),
                ("GOTO x -- '", 16, 1),
            ]
        );
        assert_eq!(
            batches("SELECT 1\nGO twice\n").unwrap_err().to_string(),
            "line 2: GO takes a number at most, not \"twice\""
        );
        assert!(batches(" \n").unwrap().is_empty());
    }
}
