//! Text to xml: it must be well formed, or pieces of it one after another.

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::{BytesStart, Event};

use tsql::SqlError;

/// Elements in one another beyond which text is refused, as by SQL Server.
const DEPTH_MAX: usize = 128;

/// The text of an xml value: without its declaration. `unicode` says that the text was nvarchar.
///
/// Errors: 9400 and its siblings with line and character, 6335 for too deep a nesting.
pub(super) fn checked(text: String, unicode: bool) -> Result<String, SqlError> {
    let mut reader = Reader::from_str(&text);
    reader.config_mut().allow_dangling_amp = false;
    let (mut depth, mut declaration) = (0_usize, 0_usize);
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(failed(&text, reader.error_position(), &error)),
        };
        let at = reader.buffer_position();
        match event {
            Event::Start(element) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    let text = "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is 128 levels.";
                    return Err(SqlError::new(6335, 16, 102, text));
                }
                check_element(&text, at, &element)?;
            }
            Event::Empty(element) => check_element(&text, at, &element)?,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Decl(written) => {
                let encoding = written.encoding().and_then(Result::ok).map(|name| name.to_ascii_lowercase());
                let wide =
                    encoding.as_deref().is_some_and(|name| name.starts_with("utf-16") || name == "ucs-2");
                if encoding.is_some() && unicode != wide {
                    return Err(parsing(&text, at, 9402, "unable to switch the encoding"));
                }
                declaration = usize::try_from(at).unwrap_or(0);
            }
            Event::GeneralRef(name) => {
                let known = matches!(&*name, "lt" | "gt" | "amp" | "apos" | "quot");
                let number = name.resolve_char_ref().ok().flatten().is_some();
                if !known && !number {
                    return Err(parsing(&text, at, 9448, "well formed check: undeclared entity"));
                }
            }
            Event::DocType(_) => {
                let text = "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited internal subset DTD support.";
                return Err(SqlError::new(6359, 16, 1, text));
            }
            Event::Eof if depth > 0 => return Err(parsing(&text, at, 9400, "unexpected end of input")),
            Event::Eof => break,
            Event::Text(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) => {}
        }
    }
    Ok(match declaration {
        0 => text,
        end => text.get(end..).unwrap_or_default().trim_start().to_string(),
    })
}

fn check_element(text: &str, at: u64, element: &BytesStart<'_>) -> Result<(), SqlError> {
    let name = element.name();
    if !name.as_ref().chars().next().is_some_and(|first| first.is_alphabetic() || first == '_') {
        return Err(parsing(text, at, 9455, "illegal qualified name character"));
    }
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| match error {
            quick_xml::events::attributes::AttrError::Duplicated(..) => {
                parsing(text, at, 9437, "duplicate attribute")
            }
            quick_xml::events::attributes::AttrError::UnquotedValue(_) => {
                parsing(text, at, 9413, "A string literal was expected")
            }
            _ => parsing(text, at, 9410, "whitespace expected"),
        })?;
        if attribute.value.contains('<') {
            return Err(parsing(text, at, 9420, "illegal xml character"));
        }
    }
    Ok(())
}

fn failed(text: &str, at: u64, error: &Error) -> SqlError {
    match error {
        Error::IllFormed(IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_)) => {
            parsing(text, at, 9436, "end tag does not match start tag")
        }
        Error::IllFormed(IllFormedError::MissingEndTag(_)) | Error::Syntax(SyntaxError::UnclosedTag) => {
            parsing(text, at, 9400, "unexpected end of input")
        }
        Error::IllFormed(IllFormedError::UnclosedReference) => parsing(text, at, 9411, "semicolon expected"),
        Error::Syntax(_) => parsing(text, at, 9400, "unexpected end of input"),
        _ => parsing(text, at, 9455, "illegal qualified name character"),
    }
}

/// An error of the parser at a byte of the text.
fn parsing(text: &str, at: u64, number: i32, reason: &str) -> SqlError {
    let before = usize::try_from(at).ok().and_then(|at| text.get(..at)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let character = before.rsplit('\n').next().map_or(0, |last| last.encode_utf16().count());
    SqlError::new(number, 16, 1, format!("XML parsing: line {line}, character {character}, {reason}"))
}
