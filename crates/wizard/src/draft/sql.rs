//! Names and texts as T-SQL spells them.

/// Puts a name between brackets.
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Puts a text between quotes.
pub(super) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
