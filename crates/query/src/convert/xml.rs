//! Text to xml: it must be well formed, or pieces of it one after another.

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::escape::EscapeError;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use tds::CodePage;
use tsql::SqlError;

/// Elements in one another beyond which text is refused, as by SQL Server.
const DEPTH_MAX: usize = 128;

/// Decodes an xml value of bytes, in the encoding of the byte order mark or the declaration, else in UTF-8.
///
/// Errors: 9402 for an encoding that is not known, 9420 for bytes that it has not, and those of [`checked`].
pub(super) fn of_bytes(bytes: &[u8], keeps_space: bool) -> Result<String, SqlError> {
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
    checked(&text, None, keeps_space)
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

/// Reads the encoding in a declaration whose letters are single bytes.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let end = rest.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(rest.get(..end)?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split_once(quote).map(|(name, _)| name.to_ascii_lowercase())
}

/// Returns the code page of an encoding's name in lower case.
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

/// Returns the text of an xml value in its normal form: without its declaration, references and CDATA as plain text, attributes within `"`,
/// elements without content as `<a/>`. White space between markup goes, unless `keeps_space` or xml:space says otherwise ("xml Data
/// Type and Columns" of the T-SQL reference). `unicode` says whether the text was nvarchar; None where the declaration has been followed.
///
/// Errors: 9400 and its siblings with line and character, 6335 for too deep a nesting.
pub(super) fn checked(text: &str, unicode: Option<bool>, keeps_space: bool) -> Result<String, SqlError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    reader.config_mut().allow_dangling_amp = false;
    let mut normal = NormalForm::new(text.len(), keeps_space);
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(failed(text, reader.error_position(), &error)),
        };
        let at = reader.buffer_position();
        match event {
            Event::Start(element) => {
                if normal.depth() == DEPTH_MAX {
                    let text = "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is 128 levels.";
                    return Err(SqlError::new(6335, 16, 102, text));
                }
                check_name(text, at, &element)?;
                normal.begin(&element, &attributes(text, at, &element)?);
            }
            Event::Empty(element) => {
                check_name(text, at, &element)?;
                normal.begin(&element, &attributes(text, at, &element)?);
                normal.end();
            }
            Event::End(_) => normal.end(),
            Event::Decl(written) => check_declaration(text, at, &written, unicode)?,
            Event::GeneralRef(name) => {
                let meant = match &*name {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "apos" => Some('\''),
                    "quot" => Some('"'),
                    _ => name.resolve_char_ref().ok().flatten(),
                };
                let undeclared = || parsing(text, at, 9448, "well formed check: undeclared entity");
                normal.solid(meant.ok_or_else(undeclared)?.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(_) => {
                let text = "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited internal subset DTD support.";
                return Err(SqlError::new(6359, 16, 1, text));
            }
            Event::Eof if normal.depth() > 0 => {
                return Err(parsing(text, at, 9400, "unexpected end of input"));
            }
            Event::Eof => return Ok(normal.finish()),
            Event::Text(written) => normal.text(&written),
            Event::CData(written) => normal.solid(&written),
            Event::Comment(written) => normal.markup(&["<!--", &written, "-->"]),
            Event::PI(written) => normal.markup(&["<?", &written, "?>"]),
        }
    }
}

/// Compares the declared encoding with the text's own. Errors: 9402 if they differ.
fn check_declaration(
    text: &str,
    at: u64,
    written: &BytesDecl<'_>,
    unicode: Option<bool>,
) -> Result<(), SqlError> {
    let encoding = written.encoding().and_then(Result::ok).map(|name| name.to_ascii_lowercase());
    let wide = encoding.as_deref().is_some_and(|name| name.starts_with("utf-16") || name == "ucs-2");
    if encoding.is_some() && unicode.is_some_and(|unicode| unicode != wide) {
        return Err(parsing(text, at, 9402, "unable to switch the encoding"));
    }
    Ok(())
}

/// Writes the normal form of a document, event by event.
struct NormalForm {
    out: String,
    keeps_space: bool,
    /// The elements that are open, and whether white space in them is kept.
    open: Vec<(String, bool)>,
    /// The last start tag lacks its `>`: nothing has followed it.
    in_tag: bool,
    /// Text since the last markup.
    run: String,
    /// The run has a reference or CDATA, and so it is kept whatever it holds.
    is_solid: bool,
}

impl NormalForm {
    fn new(capacity: usize, keeps_space: bool) -> Self {
        NormalForm {
            out: String::with_capacity(capacity),
            keeps_space,
            open: Vec::new(),
            in_tag: false,
            run: String::new(),
            is_solid: false,
        }
    }

    fn depth(&self) -> usize {
        self.open.len()
    }

    /// Adds text as written, whose line ends become line feeds.
    fn text(&mut self, text: &str) {
        match text.contains('\r') {
            true => self.run.push_str(&text.replace("\r\n", "\n").replace('\r', "\n")),
            false => self.run.push_str(text),
        }
    }

    /// Adds text that a reference or CDATA stands for.
    fn solid(&mut self, text: &str) {
        self.run.push_str(text);
        self.is_solid = true;
    }

    /// Writes the text before markup.
    fn end_run(&mut self) {
        let keeps = self.open.last().map_or(self.keeps_space && !self.out.is_empty(), |(_, keeps)| *keeps);
        let is_space = self.run.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if !self.run.is_empty() && (self.is_solid || keeps || !is_space) {
            self.close_tag();
            escape_into(&mut self.out, &self.run, false);
        }
        self.run.clear();
        self.is_solid = false;
    }

    fn close_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.out.push('>');
        }
    }

    fn begin(&mut self, element: &BytesStart<'_>, attributes: &[(String, String)]) {
        self.end_run();
        self.close_tag();
        let name = element.name().as_ref().to_owned();
        self.out.push('<');
        self.out.push_str(&name);
        let mut keeps = self.open.last().map_or(self.keeps_space, |(_, keeps)| *keeps);
        for (key, value) in attributes {
            match (key.as_str(), value.as_str()) {
                ("xml:space", "preserve") => keeps = true,
                ("xml:space", "default") => keeps = self.keeps_space,
                _ => {}
            }
            self.out.push(' ');
            self.out.push_str(key);
            self.out.push_str("=\"");
            escape_into(&mut self.out, value, true);
            self.out.push('"');
        }
        self.in_tag = true;
        self.open.push((name, keeps));
    }

    fn end(&mut self) {
        self.end_run();
        let Some((name, _)) = self.open.pop() else { return };
        if std::mem::take(&mut self.in_tag) {
            self.out.push_str("/>");
            return;
        }
        self.out.push_str("</");
        self.out.push_str(&name);
        self.out.push('>');
    }

    /// Writes a comment or processing instruction.
    fn markup(&mut self, pieces: &[&str]) {
        self.end_run();
        self.close_tag();
        pieces.iter().for_each(|piece| self.out.push_str(piece));
    }

    fn finish(mut self) -> String {
        self.end_run();
        self.out
    }
}

/// Returns a text as it stands in an element or an attribute: characters of markup become references.
pub(crate) fn escaped(text: &str, attribute: bool) -> String {
    let mut written = String::with_capacity(text.len());
    escape_into(&mut written, text, attribute);
    written
}

fn escape_into(written: &mut String, text: &str, attribute: bool) {
    for ch in text.chars() {
        match ch {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' if attribute => written.push_str("&quot;"),
            '\n' | '\t' if !attribute => written.push(ch),
            ch if u32::from(ch) < 0x20 => written.push_str(&format!("&#x{:02X};", u32::from(ch))),
            ch => written.push(ch),
        }
    }
}

fn check_name(text: &str, at: u64, element: &BytesStart<'_>) -> Result<(), SqlError> {
    let name = element.name();
    if !name.as_ref().chars().next().is_some_and(|first| first.is_alphabetic() || first == '_') {
        return Err(parsing(text, at, 9455, "illegal qualified name character"));
    }
    Ok(())
}

/// Returns names and values of an element's attributes. Errors: 9410, 9411, 9413, 9420, 9437, 9448.
fn attributes(text: &str, at: u64, element: &BytesStart<'_>) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::new();
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
        let spaced = attribute.value.replace("\r\n", " ").replace(['\t', '\n', '\r'], " ");
        let value = quick_xml::escape::unescape(&spaced).map_err(|error| match error {
            EscapeError::UnterminatedEntity(_) => parsing(text, at, 9411, "semicolon expected"),
            _ => parsing(text, at, 9448, "well formed check: undeclared entity"),
        })?;
        found.push((attribute.key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(found)
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

/// Makes an error of the parser at a byte of the text.
fn parsing(text: &str, at: u64, number: i32, reason: &str) -> SqlError {
    let before = usize::try_from(at).ok().and_then(|at| text.get(..at)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let character = before.rsplit('\n').next().map_or(0, |last| last.encode_utf16().count());
    SqlError::new(number, 16, 1, format!("XML parsing: line {line}, character {character}, {reason}"))
}
