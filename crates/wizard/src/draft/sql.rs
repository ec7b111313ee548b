//! Names and texts as T-SQL spells them.

/// A name between brackets.
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A text between quotes.
pub(super) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
