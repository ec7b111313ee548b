//! Reads declarations of a table's columns, such as `id int not null, name varchar(20) collate Latin1_General_CI_AS`.

use tds::{Collation, Column, SqlType};

/// A list of columns that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {number}, {text:?}: {problem}")]
pub struct DeclarationError {
    /// Number of the column, from 1.
    pub number: usize,
    /// Text of the declaration.
    pub text: String,
    /// Fault of the declaration.
    pub problem: String,
}

/// Reads a list of columns as in CREATE TABLE: name, type, then `NULL` (the default) or `NOT NULL` and `COLLATE name`, separated
/// by commas; parentheses around the list are ignored. Names may be in brackets or double quotation marks. Character columns
/// without a collation get `SQL_Latin1_General_CP1_CI_AS`.
///
/// # Errors
/// The first column that is not such a declaration.
pub fn declare(text: &str) -> Result<Vec<Column>, DeclarationError> {
    let text = text.trim();
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    split(inside)
        .into_iter()
        .zip(1_usize..)
        .map(|(text, number)| {
            column(text.trim()).map_err(|problem| DeclarationError {
                number,
                text: text.trim().to_owned(),
                problem,
            })
        })
        .collect()
}

fn column(text: &str) -> Result<Column, String> {
    let (name, rest) = name(text)?;
    let (type_text, attributes) = split_type(rest.trim_start());
    let sql_type: SqlType = type_text.parse().map_err(|error: tds::ParseTypeError| error.to_string())?;
    let mut nullable = true;
    let mut collation = None;
    let mut words = attributes.split_whitespace();
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_str() {
            "null" => nullable = true,
            "not" if words.next().is_some_and(|word| word.eq_ignore_ascii_case("null")) => nullable = false,
            "collate" => {
                let name = words.next().unwrap_or_default();
                let known =
                    Collation::from_name(name).ok_or_else(|| format!("no collation is named {name:?}"))?;
                collation = Some(known);
            }
            _ => return Err(format!("expected NULL, NOT NULL or COLLATE, found {word:?}")),
        }
    }
    let collation = collation.or(Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
    Ok(Column::new(name, sql_type, nullable, collation))
}

/// Splits off the name.
fn name(text: &str) -> Result<(String, &str), String> {
    let quoted = |close: char| -> Result<(String, &str), String> {
        let mut name = String::new();
        let mut characters = text.char_indices().skip(1).peekable();
        while let Some((index, character)) = characters.next() {
            if character != close {
                name.push(character);
            } else if characters.peek().is_some_and(|(_, next)| *next == close) {
                name.push(close);
                characters.next();
            } else {
                return Ok((name, text.get(index + close.len_utf8()..).unwrap_or_default()));
            }
        }
        Err(format!("the name is not closed by {close:?}"))
    };
    match text.chars().next() {
        Some('[') => quoted(']'),
        Some('"') => quoted('"'),
        Some(_) => {
            let end = text.find(char::is_whitespace).ok_or("expected a type behind the name")?;
            let (name, rest) = text.split_at(end);
            Ok((name.to_owned(), rest))
        }
        None => Err("expected a name".to_owned()),
    }
}

/// Splits off the type. A type may have several words and ends where an attribute begins.
fn split_type(text: &str) -> (&str, &str) {
    let lower = text.to_ascii_lowercase();
    let end = ["null", "not", "collate"]
        .iter()
        .filter_map(|word| {
            lower.match_indices(word).map(|(index, _)| index).find(|index| {
                let before = lower.get(..*index).is_some_and(|head| head.ends_with([' ', ')', '\t', '\n']));
                let behind = lower.get(index + word.len()..);
                before && behind.is_some_and(|tail| tail.is_empty() || tail.starts_with([' ', '\t', '\n']))
            })
        })
        .min()
        .unwrap_or(text.len());
    let (type_text, attributes) = text.split_at(end);
    (type_text.trim_end(), attributes)
}

/// Splits at commas outside of parentheses, brackets and quotation marks.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0_i32;
    let mut quote = None;
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(close), _) if character == close => quote = None,
            (Some(_), _) => {}
            (None, '[') => quote = Some(']'),
            (None, '"') => quote = Some('"'),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(text.get(start..index).unwrap_or_default());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        let spell = |column: Column| {
            let null = if column.flags.is_nullable() { "null" } else { "not null" };
            format!("{} {} {null}", column.name, column.sql_type())
        };
        declare(text).unwrap().into_iter().map(spell).collect()
    }

    #[test]
    fn columns_are_read_as_create_table_has_them() {
        assert_eq!(
            spelled(
                "(id int NOT NULL, [a ]] b] decimal(5, 2), \"not\" nvarchar(max) null,t double precision not null)"
            ),
            ["id int not null", "a ] b decimal(5, 2) null", "not nvarchar(max) null", "t float not null"]
        );
        let columns = declare("v varchar(20) collate Latin1_General_100_CI_AS_SC_UTF8 not null").unwrap();
        assert!(columns[0].type_info.collation.unwrap().is_utf8());
        assert!(!columns[0].flags.is_nullable());
    }

    #[test]
    fn what_is_no_column_is_named() {
        for (text, message) in [
            ("a int, b", "column 2, \"b\": expected a type behind the name"),
            ("a int identity", "column 1, \"a int identity\": "),
            (
                "a int null sparse",
                "column 1, \"a int null sparse\": expected NULL, NOT NULL or COLLATE, found \"sparse\"",
            ),
            (
                "a varchar(5) collate Nowhere",
                "column 1, \"a varchar(5) collate Nowhere\": no collation is named \"Nowhere\"",
            ),
            ("[a int", "column 1, \"[a int\": the name is not closed by ']'"),
            ("", "column 1, \"\": expected a name"),
        ] {
            let error = declare(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
