//! Non-XML format files: a version, a count, a line for each field.

use std::fmt::Write as _;

use super::format_file::{FieldCollation, FormatFile, FormatVersion, HostField};
use super::{HostType, terminator};
use crate::format_file_error::{FormatFileError, FormatFileProblem};

/// Reads the text of a format file. Blank lines behind the last field are ignored, as the vendor's reader does.
pub(super) fn parse(text: &str, name: &str) -> Result<FormatFile, FormatFileError> {
    let mut lines = text.split_inclusive('\n').zip(1_u64..);
    let mut next = || lines.next().map_or(("", None), |(line, number)| (line, Some(number)));
    let fail = |line, problem| FormatFileError::new(name, line, problem);

    let (line, number) = next();
    let version: FormatVersion = line.trim().parse().map_err(|problem| fail(number, problem))?;
    let (line, number) = next();
    let count: usize = line
        .trim()
        .parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| fail(number, FormatFileProblem::FieldCount { found: line.trim().to_owned() }))?;

    let mut fields = Vec::new();
    for order in 1..=count {
        let (line, number) = next();
        if line.trim().is_empty() {
            return Err(fail(number, FormatFileProblem::MissingFields { expected: count, found: order - 1 }));
        }
        if !line.ends_with('\n') {
            return Err(fail(number, FormatFileProblem::NoFinalNewline));
        }
        fields.push(parse_field(line, order, version).map_err(|problem| fail(number, problem))?);
    }
    Ok(FormatFile { version, fields, rowset: None })
}

/// Prints the file in the columns of the vendor's library. Widths are fixed, but for the terminator and the name,
/// whose longest entry decides. A name has room for `bytes_per_character` bytes a character: four in UTF-8, else
/// two.
pub(super) fn print(file: &FormatFile, bytes_per_character: usize) -> String {
    let escaped: Vec<String> =
        file.fields.iter().map(|field| format!("\"{}\"", terminator::escape(&field.terminator))).collect();
    let terminator_width = escaped.iter().map(|text| text.chars().count()).max().unwrap_or_default() + 3;
    let names: Vec<String> = file.fields.iter().map(|field| written_name(&field.name)).collect();
    // The library reserves as many bytes for a name as the client's encoding may need.
    let name_width =
        names.iter().map(|name| name.chars().count()).max().unwrap_or_default() * bytes_per_character + 5;
    let mut text = format!("{}\n{}\n", file.version, file.fields.len());
    for (((field, terminator), name), order) in file.fields.iter().zip(&escaped).zip(&names).zip(1_usize..) {
        let _ = write!(
            text,
            "{order:<8}{:<20}{:<8}{:<8}{terminator:<terminator_width$}{:<6}{name:<name_width$}",
            field.host_type.name(),
            field.prefix_length,
            field.length,
            field.column.unwrap_or(0),
        );
        if file.version.tokens() == 8 {
            text.push_str(field.collation.token());
        } else {
            text.truncate(text.trim_end().len());
        }
        text.push('\n');
    }
    text
}

/// Writes a name as one token. The vendor's library writes blanks as they are, and then cannot read its own
/// file. Since names are not compared with anything, an underscore in their place reads everywhere.
fn written_name(name: &str) -> String {
    if name.is_empty() {
        return "_".to_owned();
    }
    name.chars().map(|c| if c.is_whitespace() || c == '"' { '_' } else { c }).collect()
}

fn parse_field(line: &str, order: usize, version: FormatVersion) -> Result<HostField, FormatFileProblem> {
    use FormatFileProblem as Problem;
    let tokens = tokens(line)?;
    let expected = version.tokens();
    let [host_order, host_type, prefix, length, terminator, column, name, rest @ ..] = tokens.as_slice()
    else {
        return Err(Problem::Tokens { expected, found: tokens.len() });
    };
    if tokens.len() != expected {
        return Err(Problem::Tokens { expected, found: tokens.len() });
    }
    if host_order.text.parse() != Ok(order) {
        return Err(Problem::HostOrder { expected: order, found: host_order.text.to_owned() });
    }
    if !terminator.quoted {
        return Err(Problem::Terminator { found: terminator.text.to_owned() });
    }
    let column: usize = column.text.parse().map_err(|_| Problem::Number {
        expected: "the number of a server column, or 0",
        found: column.text.to_owned(),
    })?;
    Ok(HostField {
        host_type: HostType::from_name(host_type.text)
            .ok_or_else(|| Problem::HostType { found: host_type.text.to_owned() })?,
        prefix_length: prefix
            .text
            .parse()
            .ok()
            .filter(|prefix| matches!(prefix, 0 | 1 | 2 | 4 | 8))
            .ok_or_else(|| Problem::PrefixLength { found: prefix.text.to_owned() })?,
        length: length.text.parse().map_err(|_| Problem::Number {
            expected: "a length in bytes, from 0 to 4294967295",
            found: length.text.to_owned(),
        })?,
        terminator: terminator::unescape(terminator.text),
        column: (column > 0).then_some(column),
        name: name.text.to_owned(),
        collation: match rest.first() {
            Some(token) => FieldCollation::from_token(token.text)?,
            None => FieldCollation::Default,
        },
    })
}

/// One value of a line, without its quotation marks.
struct Token<'a> {
    text: &'a str,
    quoted: bool,
}

/// Splits a line into values, which blanks and tabs separate; between quotation marks a blank is a blank, and
/// `\"` a quotation mark.
fn tokens(line: &str) -> Result<Vec<Token<'_>>, FormatFileProblem> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('"') {
            let end = closing_quote(inside).ok_or(FormatFileProblem::OpenQuote)?;
            let (text, behind) = inside.split_at(end);
            tokens.push(Token { text, quoted: true });
            rest = behind.get(1..).unwrap_or_default();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            tokens.push(Token { text, quoted: false });
            rest = behind;
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn closing_quote(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}
