//! Text to xml: it must be well formed, or pieces of it one after another.

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::{BytesStart, Event};

use tds::CodePage;
use tsql::SqlError;

/// Elements in one another beyond which text is refused, as by SQL Server.
const DEPTH_MAX: usize = 128;

/// The text of an xml value of bytes, in the encoding that a byte order mark or the declaration tells, else in UTF-8.
///
/// Errors: 9402 for an encoding that is not known, 9420 for bytes that it has not, and those of [`checked`].
pub(super) fn of_bytes(bytes: &[u8]) -> Result<String, SqlError> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [b'<', 0, ..] => wide(bytes, u16::from_le_bytes),
        [0, b'<', ..] => wide(bytes, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => narrow(rest, CodePage::Utf8)?,
        _ => match declared_encoding(bytes) {
            Some(name) => {
                let page =
                    page_of(&name).ok_or_else(|| parsing("", 0, 9402, "unable to switch the encoding"))?;
                narrow(bytes, page)?
            }
            None => narrow(bytes, CodePage::Utf8)?,
        },
    };
    checked(text, None)
}

fn wide(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> String {
    let pairs = bytes.chunks(2).map(|pair| match pair {
        [one, other] => unit([*one, *other]),
        _ => 0xFFFD,
    });
    String::from_utf16_lossy(&pairs.collect::<Vec<u16>>())
}

fn narrow(bytes: &[u8], page: CodePage) -> Result<String, SqlError> {
    let text = page.decode(bytes).map_err(|_| parsing("", 0, 9420, "illegal xml character"))?;
    Ok(text.into_owned())
}

/// The encoding in a declaration whose letters are single bytes.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let end = rest.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(rest.get(..end)?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split_once(quote).map(|(name, _)| name.to_ascii_lowercase())
}

/// The code page of an encoding's name in lower case.
fn page_of(name: &str) -> Option<CodePage> {
    Some(match name {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => CodePage::Utf8,
        "iso-8859-1" | "latin1" => CodePage::Cp1252,
        "shift_jis" => CodePage::Cp932,
        "gb2312" | "gbk" => CodePage::Cp936,
        "ks_c_5601-1987" | "euc-kr" => CodePage::Cp949,
        "big5" => CodePage::Cp950,
        name => {
            let number = name.strip_prefix("windows-").or_else(|| name.strip_prefix("cp"))?;
            CodePage::from_number(number.parse().ok()?)?
        }
    })
}

/// The text of an xml value: without its declaration. `unicode` says whether the text was nvarchar; None where the declaration has been followed.
///
/// Errors: 9400 and its siblings with line and character, 6335 for too deep a nesting.
pub(super) fn checked(text: String, unicode: Option<bool>) -> Result<String, SqlError> {
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
                if encoding.is_some() && unicode.is_some_and(|unicode| unicode != wide) {
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
