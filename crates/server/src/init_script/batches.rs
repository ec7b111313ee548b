//! Splits a script into batches at lines with nothing but `GO`, and perhaps a count.

/// A batch of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub text: String,
    /// Line of the file that it begins at, from 1.
    pub line: u32,
    /// The number of its runs.
    pub times: u32,
}

/// A text that cannot be divided into batches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitError {
    pub line: u32,
    pub reason: &'static str,
}

/// Cuts a script into batches. `GO` inside a comment, a text or a quoted name is no separator. A batch without any text is
/// left out.
pub(super) fn batches(script: &str) -> Result<Vec<Batch>, SplitError> {
    let mut found = Vec::new();
    let mut inside = Inside::Code;
    let (mut text, mut begins) = (String::new(), 1);
    for (index, line) in script.split_inclusive('\n').enumerate() {
        let number = u32::try_from(index).map_or(u32::MAX, |index| index.saturating_add(1));
        let bare = line.trim();
        if inside == Inside::Code {
            if let Some(times) = separator(bare).map_err(|reason| SplitError { line: number, reason })? {
                push(&mut found, std::mem::take(&mut text), begins, times);
                begins = number.saturating_add(1);
                continue;
            }
            if bare.starts_with(':') || bare.starts_with("!!") {
                let reason = "commands of sqlcmd (:setvar, :r, !!) are not supported; only GO is";
                return Err(SplitError { line: number, reason });
            }
        }
        inside = inside.after(line);
        text.push_str(line);
    }
    push(&mut found, text, begins, 1);
    Ok(found)
}

fn push(found: &mut Vec<Batch>, text: String, begins: u32, times: u32) {
    if text.trim().is_empty() || times == 0 {
        return;
    }
    found.push(Batch { text, line: begins, times });
}

/// Returns the number of runs that a `GO` line asks of the batch before it; `None` for any other line.
fn separator(line: &str) -> Result<Option<u32>, &'static str> {
    let line = match line.find("--") {
        Some(comment) => line.get(..comment).unwrap_or_default(),
        None => line,
    };
    let mut words = line.split_whitespace();
    if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("GO")) {
        return Ok(None);
    }
    let count = words.next().map_or(Ok(1), str::parse);
    match (count, words.next()) {
        (Ok(count), None) => Ok(Some(count)),
        _ => Err("after GO stands at most a count"),
    }
}

/// The construct that the text is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// A block comment, this deep: they nest.
    Comment(u32),
    /// Until this character; twice in a row it stands for itself.
    Quoted(char),
}

impl Inside {
    /// Returns the construct that the text is in after another line.
    fn after(mut self, line: &str) -> Inside {
        let mut chars = line.chars().peekable();
        while let Some(ch) = chars.next() {
            let next = chars.peek().copied();
            self = match (self, ch, next) {
                (Inside::Code, '-', Some('-')) => return Inside::Code,
                (Inside::Code, '/', Some('*')) => {
                    chars.next();
                    Inside::Comment(1)
                }
                (Inside::Code, '\'' | '"', _) => Inside::Quoted(ch),
                (Inside::Code, '[', _) => Inside::Quoted(']'),
                (Inside::Comment(depth), '*', Some('/')) => {
                    chars.next();
                    if depth == 1 { Inside::Code } else { Inside::Comment(depth - 1) }
                }
                (Inside::Comment(depth), '/', Some('*')) => {
                    chars.next();
                    Inside::Comment(depth.saturating_add(1))
                }
                (Inside::Quoted(end), ch, next) if ch == end && next == Some(end) => {
                    chars.next();
                    self
                }
                (Inside::Quoted(end), ch, _) if ch == end => Inside::Code,
                (state, _, _) => state,
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn cut(script: &str) -> Vec<(String, u32, u32)> {
        let found = batches(script).unwrap_or_else(|error| panic!("{error:?}"));
        found.into_iter().map(|batch| (batch.text.trim().to_owned(), batch.line, batch.times)).collect()
    }

    fn batch(text: &str, line: u32, times: u32) -> (String, u32, u32) {
        (text.to_owned(), line, times)
    }

    #[test]
    fn go_separates_whatever_its_case_and_blanks() {
        let script = "SELECT 1\r\nGO\r\nSELECT 2\n  go 3 \nSELECT 'GO'\nGo -- the end\n\nGO\n";
        assert_eq!(
            cut(script),
            [batch("SELECT 1", 1, 1), batch("SELECT 2", 3, 3), batch("SELECT 'GO'", 5, 1)]
        );
    }

    #[test]
    fn the_last_batch_needs_no_go() {
        assert_eq!(cut("GO\nSELECT 1"), [batch("SELECT 1", 2, 1)]);
        assert_eq!(cut(""), []);
    }

    #[test]
    fn go_inside_something_is_text() {
        for inside in ["'a\nGO\nb'", "/* a\nGO\n/* b */ \nGO\n*/", "[a\nGO\n]]\nGO\n]", "\"a\nGO\n\""] {
            let script = format!("SELECT {inside}\nGO\nSELECT 2");
            let found = cut(&script);
            assert_eq!(found.len(), 2, "{script}");
            assert_eq!(found[0].0, format!("SELECT {inside}"));
        }
        assert_eq!(cut("SELECT 1 -- it's\nGO\nSELECT 2").len(), 2);
        assert_eq!(cut("GOTO x\nGO_ON\nSELECT GO").len(), 1);
    }

    #[test]
    fn go_zero_runs_nothing() {
        assert_eq!(cut("SELECT 1\nGO 0\nSELECT 2"), [batch("SELECT 2", 3, 1)]);
    }

    #[test]
    fn what_sqlcmd_alone_understands_is_refused() {
        for (script, line) in [
            (":setvar a 1", 1),
            ("SELECT 1\n:r x.sql", 2),
            ("!!dir", 1),
            ("GO x", 1),
            ("GO -1", 1),
            ("GO 1 2", 1),
        ] {
            assert_eq!(batches(script).map_err(|error| error.line), Err(line), "{script}");
        }
    }
}
