//! Table names of up to three parts, quoted or not.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// Longest part of a name, in UTF-16 units (`sysname`).
const PART_LEN_MAX: usize = 128;

/// `[database.][schema.]table`. `Display` quotes every part, so that the text is safe inside T-SQL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    /// Database; the current one when absent, `tempdb` for a temporary table.
    pub database: Option<String>,
    /// Schema; the login's default when absent.
    pub schema: Option<String>,
    /// Table.
    pub name: String,
}

impl TableName {
    /// Returns true for a temporary table (`#t`, `##t`).
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }

    /// Returns the database whose catalogue describes the table, as a prefix.
    pub(crate) fn catalogue_prefix(&self) -> String {
        match (&self.database, self.is_temporary()) {
            (_, true) => "[tempdb].".to_owned(),
            (Some(database), false) => format!("{}.", quoted(database)),
            (None, false) => String::new(),
        }
    }

    /// Returns the name as a T-SQL string literal for `OBJECT_ID`.
    pub(crate) fn object_literal(&self) -> String {
        match self.is_temporary() {
            true => literal(&format!("[tempdb]..{}", quoted(&self.name))),
            false => literal(&self.to_string()),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.database, &self.schema) {
            (Some(database), Some(schema)) => write!(f, "{}.{}.", quoted(database), quoted(schema))?,
            (Some(database), None) => write!(f, "{}..", quoted(database))?,
            (None, Some(schema)) => write!(f, "{}.", quoted(schema))?,
            (None, None) => {}
        }
        f.write_str(&quoted(&self.name))
    }
}

impl FromStr for TableName {
    type Err = Error;

    /// Reads `t`, `s.t`, `d.s.t`, `d..t`; parts may be quoted with brackets or double quotes, which double inside.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |reason| Error::TableName { name: text.to_owned(), reason };
        let mut parts = split(text.trim()).map_err(refused)?;
        if parts.len() > 3 {
            return Err(refused("at most database, schema and table are"));
        }
        let name =
            parts.pop().filter(|name| !name.is_empty()).ok_or_else(|| refused("the table is missing"))?;
        let schema = parts.pop().filter(|schema| !schema.is_empty());
        let database = parts.pop().filter(|database| !database.is_empty());
        let all = [Some(&name), schema.as_ref(), database.as_ref()];
        if all.into_iter().flatten().any(|part| part.encode_utf16().count() > PART_LEN_MAX) {
            return Err(refused("a part has more than 128 characters"));
        }
        Ok(Self { database, schema, name })
    }
}

/// Puts a name in brackets.
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Writes a T-SQL string literal.
pub fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(part) = parts.last_mut() else { return Err("it is empty") };
        let closing = match c {
            '.' => {
                parts.push(String::new());
                continue;
            }
            '[' if part.is_empty() => ']',
            '"' if part.is_empty() => '"',
            c => {
                part.push(c);
                continue;
            }
        };
        loop {
            match chars.next() {
                None => return Err("a quote is not closed"),
                Some(c) if c == closing && chars.peek() == Some(&closing) => {
                    chars.next();
                    part.push(closing);
                }
                Some(c) if c == closing => break,
                Some(c) => part.push(c),
            }
        }
        if !matches!(chars.peek(), None | Some('.')) {
            return Err("there is text behind a closing quote");
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn names_are_read_and_quoted() {
        let cases = [
            ("t", "[t]"),
            ("dbo.t", "[dbo].[t]"),
            ("d.s.t", "[d].[s].[t]"),
            ("d..t", "[d]..[t]"),
            ("[a.b].[c]]d]", "[a.b].[c]]d]"),
            ("\"a\"\"b\".t", "[a\"b].[t]"),
            ("#t", "[#t]"),
            ("[#t]", "[#t]"),
            (" dbo.Größe ", "[dbo].[Größe]"),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<TableName>().unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", ".", "a.", "a.b.c.d", "[a", "[a]b", "\"a", &"x".repeat(129)] {
            assert!(text.parse::<TableName>().is_err(), "{text}");
        }
    }

    #[test]
    fn literals_and_prefixes_cannot_be_broken_out_of() {
        let name: TableName = "[d'b].[s].[t']".parse().unwrap();
        assert_eq!(name.object_literal(), "N'[d''b].[s].[t'']'");
        assert_eq!(name.catalogue_prefix(), "[d'b].");
        let temporary: TableName = "#t".parse().unwrap();
        assert_eq!(temporary.object_literal(), "N'[tempdb]..[#t]'");
        assert_eq!(temporary.catalogue_prefix(), "[tempdb].");
    }

    proptest::proptest! {
        #[test]
        fn display_reads_back(parts in proptest::collection::vec("\\PC{1,20}", 1..4)) {
            let text = parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".");
            let name: TableName = text.parse().unwrap();
            proptest::prop_assert_eq!(name.to_string(), text);
        }
    }
}
