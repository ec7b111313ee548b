//! DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE.

use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::cursor::{CursorDeclaration, CursorName, CursorStatement, FetchDirection};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

fn cursor(statement: CursorStatement) -> StatementKind {
    StatementKind::Cursor(Box::new(statement))
}

impl Parser<'_> {
    /// Parses DECLARE of a cursor or of a cursor variable, after the word; `None` if it declares something else.
    pub(crate) fn declare_cursor(&mut self) -> Parsed<Option<StatementKind>> {
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            let as_word = usize::from(self.is_word_ahead(1, Keyword::As));
            if !self.is_word_ahead(1 + as_word, Keyword::Cursor) {
                return Ok(None);
            }
            self.note_declared(&name)?;
            self.at += 2 + as_word;
            return Ok(Some(cursor(CursorStatement::Variable(name))));
        }
        let name = self.name()?;
        // The form of the SQL standard has its options before the word.
        let mut declaration = Options::default();
        while !self.is_word(Keyword::Cursor) {
            if !(self.is_bare_ahead(0, "INSENSITIVE") || self.is_bare_ahead(0, "SCROLL")) {
                return Err(self.unexpected());
            }
            declaration.accept(self)?;
        }
        self.advance();
        let declaration = self.cursor_declaration(declaration)?;
        Ok(Some(cursor(CursorStatement::Declare { name, declaration })))
    }

    /// Parses the declaration behind the word CURSOR.
    fn cursor_declaration(&mut self, mut options: Options) -> Parsed<CursorDeclaration> {
        while !self.is_word(Keyword::For) {
            options.accept(self)?;
        }
        self.advance();
        let query = self.query()?;
        let mut read_only = options.words.iter().find(|word| READ_ONLY.contains(&word.as_str())).cloned();
        let mut updatable = None;
        if self.accept_word(Keyword::For) {
            if self.accept_word(Keyword::Update) {
                if let Some(word) = read_only {
                    let text = format!("Conflicting cursor options {word} and FOR UPDATE.");
                    return Err(SqlError::new(1048, 15, 1, text).at_line(self.line()));
                }
                if self.accept_bare("OF") {
                    updatable = Some(self.name_list()?);
                }
            } else {
                self.expect_word(Keyword::Read)?;
                self.expect_word(Keyword::Only)?;
                read_only = Some("READ_ONLY".to_owned());
            }
        }
        let is_other = options.words.iter().any(|word| matches!(word.as_str(), "KEYSET" | "DYNAMIC"));
        let Options { local, scroll, counted, forward, warns, .. } = options;
        let warns = warns && is_other;
        // The kinds of Transact-SQL scroll unless FORWARD_ONLY is written.
        let scroll = scroll || (counted && !forward);
        let read_only = read_only.is_some();
        Ok(CursorDeclaration { local, scroll, read_only, updatable, counted, warns, query })
    }

    /// Parses `SET @v = CURSOR …`, after the equals sign; the word CURSOR is next.
    pub(crate) fn assign_cursor(&mut self, variable: String) -> Parsed<StatementKind> {
        self.advance();
        let declaration = self.cursor_declaration(Options::default())?;
        Ok(cursor(CursorStatement::Assign { variable, declaration }))
    }

    pub(super) fn cursor_name(&mut self) -> Parsed<CursorName> {
        if let Some(TokenKind::Variable(name)) = self.kind().cloned() {
            self.advance();
            return Ok(CursorName { global: false, name });
        }
        let global = self.is_word(Keyword::Global)
            && matches!(self.kind_ahead(1), Some(TokenKind::Word(_) | TokenKind::Quoted(_)));
        if global {
            self.advance();
        }
        Ok(CursorName { global, name: self.name()? })
    }

    pub(crate) fn open_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(cursor(CursorStatement::Open(self.cursor_name()?)))
    }

    pub(crate) fn close_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(cursor(CursorStatement::Close(self.cursor_name()?)))
    }

    pub(crate) fn deallocate_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.accept_word(Keyword::Cursor);
        Ok(cursor(CursorStatement::Deallocate(self.cursor_name()?)))
    }

    pub(crate) fn fetch_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let start = self.at;
        let direction = if self.accept_word(Keyword::Prior) {
            FetchDirection::Prior
        } else if self.accept_word(Keyword::First) {
            FetchDirection::First
        } else if self.accept_word(Keyword::Last) {
            FetchDirection::Last
        } else if self.accept_word(Keyword::Absolute) {
            FetchDirection::Absolute(self.expression()?)
        } else if self.accept_word(Keyword::Relative) {
            FetchDirection::Relative(self.expression()?)
        } else {
            self.accept_word(Keyword::Next);
            FetchDirection::Next
        };
        // A cursor may be named alone, or behind FROM.
        if self.at > start {
            self.expect_word(Keyword::From)?;
        } else {
            self.accept_word(Keyword::From);
        }
        let name = self.cursor_name()?;
        let mut into = None;
        if self.accept_word(Keyword::Into) {
            let mut variables = Vec::new();
            loop {
                variables.push(self.variable()?);
                if !self.accept_symbol(",") {
                    break;
                }
            }
            into = Some(variables);
        }
        Ok(cursor(CursorStatement::Fetch { cursor: name, direction, into }))
    }
}

/// The words between DECLARE and FOR.
#[derive(Default)]
struct Options {
    local: bool,
    scroll: bool,
    counted: bool,
    forward: bool,
    warns: bool,
    /// The words so far, in capitals.
    words: Vec<String>,
}

/// Words of which a cursor has one of each list.
const EXCLUSIVE: &[&[&str]] = &[
    &["LOCAL", "GLOBAL"],
    &["FORWARD_ONLY", "SCROLL"],
    &["STATIC", "INSENSITIVE", "KEYSET", "DYNAMIC", "FAST_FORWARD"],
    &["READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"],
    &["TYPE_WARNING"],
];

/// Words of cursors through which nothing is changed.
const READ_ONLY: &[&str] = &["READ_ONLY", "FAST_FORWARD", "STATIC", "INSENSITIVE"];

impl Options {
    fn accept(&mut self, parser: &mut Parser<'_>) -> Parsed<()> {
        let Some(TokenKind::Word(word)) = parser.kind().cloned() else { return Err(parser.unexpected()) };
        let word = word.to_ascii_uppercase();
        let own = EXCLUSIVE.iter().find(|words| words.contains(&word.as_str()));
        let other = self.words.iter().find(|other| own.is_some_and(|words| words.contains(&other.as_str())));
        if let Some(other) = other {
            let text = format!("Conflicting cursor options {other} and {word}.");
            return Err(SqlError::new(1048, 15, 1, text).at_line(parser.line()));
        }
        self.words.push(word.clone());
        match word.as_str() {
            "LOCAL" => self.local = true,
            "SCROLL" => self.scroll = true,
            "STATIC" | "INSENSITIVE" | "KEYSET" => self.counted = true,
            "FORWARD_ONLY" | "FAST_FORWARD" => self.forward = true,
            // A dynamic cursor scrolls, and does not know its number of rows.
            "DYNAMIC" => self.scroll = true,
            "TYPE_WARNING" => self.warns = true,
            "GLOBAL" | "READ_ONLY" | "OPTIMISTIC" | "SCROLL_LOCKS" => {}
            _ => return Err(parser.unexpected()),
        }
        parser.advance();
        Ok(())
    }
}
