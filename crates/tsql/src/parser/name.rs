//! Names: of columns, of objects with what stands before them, of collations.

use super::{Parsed, Parser};
use crate::errors;
use crate::lexer::TokenKind;
use crate::names::ObjectName;
use crate::sql_error::SqlError;

/// Parts before a name, at most.
const PREFIXES_MAX: usize = 3;
/// The most qualifiers of a name that a statement defines or changes, which has no server.
const LOCAL_PREFIXES_MAX: usize = 2;

impl Parser<'_> {
    /// Parses a name: a bare word that is not reserved, or a delimited one.
    pub(crate) fn accept_name(&mut self) -> Option<String> {
        let name = match self.kind()? {
            TokenKind::Word(word) if !self.is_reserved() => word.clone(),
            TokenKind::Quoted(name) => name.clone(),
            _ => return None,
        };
        self.advance();
        Some(name)
    }

    pub(crate) fn name(&mut self) -> Parsed<String> {
        self.accept_name().ok_or_else(|| self.unexpected())
    }

    /// Parses a collation's name. `database_default` and `catalog_default` are that of every database here.
    pub(crate) fn collation(&mut self) -> Parsed<String> {
        let name = self.name()?;
        let default =
            ["database_default", "catalog_default"].iter().any(|word| name.eq_ignore_ascii_case(word));
        Ok(if default { crate::DEFAULT_COLLATION.to_string() } else { name })
    }

    /// Parses the name of an object that a query reads or changes: one to four parts. Errors: 7202 for another server,
    /// 117.
    pub(crate) fn object_name(&mut self) -> Parsed<ObjectName> {
        let line = self.line();
        match self.remote_name()? {
            (Some(server), _) => Err(unknown_server(&server).at_line(line)),
            (None, name) => Ok(name),
        }
    }

    /// Parses the name of an object that a statement defines or changes: one to three parts. Errors: 117 for more.
    pub(crate) fn local_name(&mut self) -> Parsed<ObjectName> {
        self.parts(LOCAL_PREFIXES_MAX).map(|(_, name)| name)
    }

    /// Parses a name, and the server before it if that is another one than this. Errors: 117.
    pub(crate) fn remote_name(&mut self) -> Parsed<(Option<String>, ObjectName)> {
        let (server, name) = self.parts(PREFIXES_MAX)?;
        Ok((server.filter(|server| !self.is_own_server(server)), name))
    }

    /// Returns true if the name is this server's.
    pub(crate) fn is_own_server(&self, name: &str) -> bool {
        self.server.is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    /// Parses the server and the name; empty parts in front or in the middle stand for the default.
    fn parts(&mut self, prefixes_max: usize) -> Parsed<(Option<String>, ObjectName)> {
        let (start, line) = (self.start(), self.line());
        let mut parts: Vec<Option<String>> = Vec::new();
        loop {
            if self.accept_symbol(".") {
                parts.push(None);
                continue;
            }
            parts.push(Some(self.name()?));
            if !self.accept_symbol(".") {
                break;
            }
        }
        if parts.len() > prefixes_max + 1 {
            return Err(too_many_parts(&self.text_since(start), prefixes_max).at_line(line));
        }
        // A table that is called as variables are is none of them.
        let delimited = matches!(
            self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map(|token| &token.kind),
            Some(TokenKind::Quoted(name)) if name.starts_with('@')
        );
        if delimited && parts.len() == 1 {
            parts.insert(0, Some("dbo".to_owned()));
        }
        let mut parts = parts.into_iter().rev();
        let name = parts.next().flatten().unwrap_or_default();
        let (schema, database) = (parts.next().flatten(), parts.next().flatten());
        Ok((parts.next().flatten(), ObjectName { database, schema, name }))
    }

    /// Parses `a, b, …`.
    pub(crate) fn name_list(&mut self) -> Parsed<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.accept_symbol(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Parses `(a, b, …)`.
    pub(crate) fn names_in_parentheses(&mut self) -> Parsed<Vec<String>> {
        self.expect_symbol("(")?;
        let names = self.name_list()?;
        self.expect_symbol(")")?;
        Ok(names)
    }

    /// Parses `a, b.c, …` of a statement that defines or changes objects.
    pub(crate) fn local_names(&mut self) -> Parsed<Vec<ObjectName>> {
        let mut names = vec![self.local_name()?];
        while self.accept_symbol(",") {
            names.push(self.local_name()?);
        }
        Ok(names)
    }
}

/// Makes error 117.
pub(crate) fn too_many_parts(name: &str, prefixes_max: usize) -> SqlError {
    let text = format!(
        "The object name '{name}' contains more than the maximum number of prefixes. The maximum is {prefixes_max}."
    );
    SqlError::new(117, 15, 1, text)
}

/// Separates the server from a name of four parts.
pub(crate) fn named(
    [server, database, schema, name]: [Option<String>; 4],
) -> Parsed<(Option<String>, ObjectName)> {
    let name = name.ok_or_else(|| errors::SYNTAX.with(["."]))?;
    Ok((server, ObjectName { database, schema, name }))
}

/// Splits a name that stands in a text, as for OBJECT_ID: reserved words and any characters need no delimiters there.
/// An empty part is `None`. Errors: 102, 105.
pub(crate) fn parts_of(text: &str) -> Parsed<Vec<Option<String>>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match (rest.strip_prefix('['), rest.strip_prefix('"')) {
            (Some(inner), _) => delimited(inner, ']')?,
            (_, Some(inner)) => delimited(inner, '"')?,
            _ => {
                let (part, behind) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (part.trim().to_owned(), behind)
            }
        };
        parts.push(Some(part).filter(|part| !part.is_empty()));
        let behind = behind.trim_start();
        match behind.strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if behind.is_empty() => return Ok(parts),
            None => return Err(errors::SYNTAX.with([behind])),
        }
    }
}

/// Reads a delimited part from behind its first delimiter, and returns the rest.
fn delimited(text: &str, close: char) -> Parsed<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let Some((before, behind)) = rest.split_once(close) else {
            return Err(errors::UNCLOSED_QUOTE.with([text]));
        };
        part.push_str(before);
        match behind.strip_prefix(close) {
            Some(more) => {
                part.push(close);
                rest = more;
            }
            None => return Ok((part, behind)),
        }
    }
}

/// Makes error 7202: there are no other servers.
pub(crate) fn unknown_server(name: &str) -> SqlError {
    let text = format!(
        "Could not find server '{name}' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers."
    );
    SqlError::new(7202, 11, 2, text)
}
