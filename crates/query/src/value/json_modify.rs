//! JSON_MODIFY: a text of JSON with one value added, replaced or taken out.

use crate::json::{Entries, Kind, Path, Step, kind, skip_blanks};
use tsql::SqlError;

/// The path of JSON_MODIFY, which may begin with `append`.
pub struct ModifyPath {
    append: bool,
    path: Path,
}

impl ModifyPath {
    /// Reads a path. Errors: 13607.
    pub fn parse(text: &str) -> Result<ModifyPath, SqlError> {
        let trimmed = text.trim_start();
        let rest = trimmed.strip_prefix("append").filter(|rest| rest.starts_with([' ', '\t', '$']));
        Ok(ModifyPath { append: rest.is_some(), path: Path::parse(rest.unwrap_or(text))? })
    }

    /// Puts `new`, a piece of JSON, at the path of a text; `None` takes the member out, or makes an element null.
    ///
    /// Errors under `strict`: 13608 if there is nothing at the path, 13621 and 13622 if there is no array or object.
    pub fn modify(&self, text: &str, new: Option<&str>) -> Result<String, SqlError> {
        let changed = self.within(text, &self.path.steps, new)?;
        match changed {
            Some(changed) => Ok(changed),
            None if self.path.strict => {
                let text = "Property cannot be found on the specified JSON path.";
                Err(SqlError::new(13608, 16, 2, text))
            }
            None => Ok(text.to_string()),
        }
    }

    /// Returns the changed piece; `None` if the path leads nowhere.
    fn within(&self, piece: &str, steps: &[Step], new: Option<&str>) -> Result<Option<String>, SqlError> {
        let strict = self.path.strict;
        let null = new.unwrap_or("null");
        let Some((step, deeper)) = steps.split_first() else {
            if !self.append {
                return Ok(Some(null.to_string()));
            }
            if kind(piece) != Kind::Array {
                return wrong_place(strict, 13621, "Array cannot be found in the specified JSON path.");
            }
            return Ok(Some(added(piece, null)));
        };
        let mut entries = Entries::new(piece);
        let mut places = std::iter::from_fn(|| entries.place()).enumerate();
        let found = places.find(|(position, (name, _))| match step {
            Step::Member(wanted) => kind(piece) == Kind::Object && name == wanted,
            Step::Element(wanted) => kind(piece) == Kind::Array && position == wanted,
        });
        if let Some((_, (_, place))) = found {
            let (start, end) = (place.start, place.end);
            let value = piece.get(place).unwrap_or_default();
            if deeper.is_empty()
                && new.is_none()
                && !strict
                && !self.append
                && matches!(step, Step::Member(_))
            {
                return Ok(Some(without(piece, start, end)));
            }
            let Some(changed) = self.within(value, deeper, new)? else { return Ok(None) };
            let (before, after) = (piece.get(..start), piece.get(end..));
            return Ok(before.zip(after).map(|(before, after)| format!("{before}{changed}{after}")));
        }
        // A missing member is added, but only as the last step, and not under `strict`.
        match step {
            _ if strict || !deeper.is_empty() => Ok(None),
            Step::Member(name) if kind(piece) == Kind::Object => Ok(new.map(|new| {
                let new = if self.append { format!("[{new}]") } else { new.to_string() };
                added(piece, &format!("{}:{new}", crate::rows_as_text::quoted(name)))
            })),
            _ => Ok(None),
        }
    }
}

fn wrong_place(strict: bool, number: i32, text: &str) -> Result<Option<String>, SqlError> {
    if strict { Err(SqlError::new(number, 16, 2, text)) } else { Ok(None) }
}

/// Adds an entry to an object or array.
fn added(piece: &str, entry: &str) -> String {
    let inside = piece.get(..piece.len().saturating_sub(1)).unwrap_or_default();
    let close = piece.get(inside.len()..).unwrap_or_default();
    let comma = if skip_blanks(piece.as_bytes(), 1) + 1 >= piece.len() { "" } else { "," };
    format!("{}{comma}{entry}{close}", inside.trim_end())
}

/// Removes the member whose value stands at `start..end` from an object.
fn without(piece: &str, start: usize, end: usize) -> String {
    let before = piece.get(..start).unwrap_or_default().trim_end();
    // In front of the value stand the colon and the name in quotes.
    let before = before.strip_suffix(':').unwrap_or(before).trim_end();
    let before = before.get(..start_of_string(before)).unwrap_or_default().trim_end();
    let after = piece.get(end..).unwrap_or_default().trim_start();
    if let Some(after) = after.strip_prefix(',') {
        return format!("{before}{}", after.trim_start());
    }
    format!("{}{after}", before.strip_suffix(',').unwrap_or(before).trim_end())
}

/// Returns the beginning of the string that ends the text.
fn start_of_string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = bytes.len().saturating_sub(1);
    while let Some(before) = at.checked_sub(1) {
        at = before;
        if bytes.get(at) == Some(&b'"') {
            let escapes =
                bytes.get(..at).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\').count();
            if escapes % 2 == 0 {
                return at;
            }
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_replaced_added_and_taken_out() {
        let modify = |text: &str, path: &str, new: Option<&str>| {
            ModifyPath::parse(path).and_then(|path| path.modify(text, new)).map_err(|error| error.number)
        };
        let text = r#"{"a": 1, "b\"": [1, 2], "c": {"d": null}}"#;
        assert_eq!(modify(text, "$.a", Some("5")), Ok(r#"{"a": 5, "b\"": [1, 2], "c": {"d": null}}"#.into()));
        assert_eq!(modify(text, "$.a", None), Ok(r#"{"b\"": [1, 2], "c": {"d": null}}"#.into()));
        assert_eq!(modify(text, "$.c", None), Ok(r#"{"a": 1, "b\"": [1, 2]}"#.into()));
        assert_eq!(modify(text, r#"$."b\"""#, None), Ok(r#"{"a": 1,"c": {"d": null}}"#.into()));
        assert_eq!(modify(text, "$.x", Some("\"y\"")), Ok(text.replace("}}", "},\"x\":\"y\"}")));
        assert_eq!(modify("{}", "$.x", Some("1")), Ok(r#"{"x":1}"#.into()));
        assert_eq!(modify(text, r#"append $."b\"""#, Some("3")), Ok(text.replace("2]", "2,3]")));
        assert_eq!(modify("{\"a\":[]}", "append $.a", Some("1")), Ok("{\"a\":[1]}".into()));
        assert_eq!(modify(text, "$.x.y", Some("1")), Ok(text.into()));
        assert_eq!(modify(text, "strict $.x", Some("1")), Err(13608));
        assert_eq!(modify(text, "append strict $.a", Some("1")), Err(13621));
        assert_eq!(modify("[1,2]", "$[1]", None), Ok("[1,null]".into()));
    }
}
