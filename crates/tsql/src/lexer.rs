//! T-SQL text to tokens.
//!
//! Brackets, quoted identifiers, `N''` strings with doubled quotes, nested comments, `0x` binaries,
//! `$` money, variables and temporary names. `GO` is a word of client tools, not of the language.

use tds::currency::CURRENCY_SIGNS;

use crate::errors;
use crate::keywords::Keyword;
use crate::sql_error::SqlError;

/// A token and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The keyword, if an unquoted word is one.
    pub keyword: Option<Keyword>,
    /// First byte in the text.
    pub start: usize,
    /// The offset behind the last byte.
    pub end: usize,
    /// 1-based line.
    pub line: u32,
}

/// The kinds of token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// A bare word: keyword, name, or function (spelled as in the text; `#temp` names included).
    Word(String),
    /// `[name]` or `"name"`, unescaped.
    Quoted(String),
    /// `@name` or `@@name`, with its signs.
    Variable(String),
    /// `'text'` or `N'text'`, unescaped.
    Text {
        /// The characters between the quotes.
        value: String,
        /// True if the text had the `N` prefix.
        unicode: bool,
    },
    /// Digits only.
    Integer(String),
    /// Digits with a point.
    Decimal(String),
    /// With an exponent.
    Float(String),
    /// `$12.50`: the digits after the sign.
    Money(String),
    /// `0x…`.
    Binary(Vec<u8>),
    /// Punctuation or operator.
    Symbol(&'static str),
}

/// Splits `text` into tokens. `quoted_identifier` is the session's SET option: when off, `"…"` is a string.
///
/// Errors: 105 for an unclosed quote, 113 for an unclosed comment, 102 for a character of no token.
pub fn tokenize(text: &str, quoted_identifier: bool) -> Result<Vec<Token>, SqlError> {
    Lexer { text, bytes: text.as_bytes(), at: 0, line: 1, quoted_identifier }.run()
}

/// Length of a name in UTF-16 units, at most: sysname's.
const NAME_UNITS_MAX: usize = 128;

const SYMBOLS: [&str; 41] = [
    "<=>", "||=", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<>", "!=", "<=", ">=", "!<",
    "!>", "::", "||", "(", ")", ",", ";", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", ":", "{", "}",
];

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    quoted_identifier: bool,
}

impl<'a> Lexer<'a> {
    fn run(mut self) -> Result<Vec<Token>, SqlError> {
        let mut tokens = Vec::new();
        while self.skip_blank()? {
            let (start, line) = (self.at, self.line);
            let kind = self.token().map_err(|error| error.at_line(line))?;
            let keyword = match &kind {
                TokenKind::Word(word) => Keyword::of(word),
                _ => None,
            };
            tokens.push(Token { kind, keyword, start, end: self.at, line });
            if let Some(on) = quoted_identifier_set(&tokens) {
                self.quoted_identifier = on;
            }
        }
        Ok(tokens)
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn current(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    /// Skips blanks and comments; false at the end of the text.
    fn skip_blank(&mut self) -> Result<bool, SqlError> {
        while let Some(ch) = self.current() {
            if ch.is_whitespace() || ch == '\u{feff}' || ch == '\0' {
                if ch == '\n' {
                    self.line += 1;
                }
                self.at += ch.len_utf8();
            } else if ch == '-' && self.byte(1) == b'-' {
                while self.at < self.bytes.len() && self.byte(0) != b'\n' {
                    self.at += 1;
                }
            } else if ch == '/' && self.byte(1) == b'*' {
                self.skip_block_comment()?;
            } else {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn skip_block_comment(&mut self) -> Result<(), SqlError> {
        let line = self.line;
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (byte, _) => {
                    self.line += u32::from(byte == b'\n');
                    self.at += 1;
                }
            }
        }
        Err(errors::UNCLOSED_COMMENT.error().at_line(line))
    }

    fn token(&mut self) -> Result<TokenKind, SqlError> {
        let Some(ch) = self.current() else { return Err(errors::SYNTAX.with([""])) };
        match ch {
            '[' => name(self.delimited(b']')?).map(TokenKind::Quoted),
            '"' if self.quoted_identifier => name(self.delimited(b'"')?).map(TokenKind::Quoted),
            '"' => self.text(b'"').map(|value| TokenKind::Text { value, unicode: false }),
            '\'' => self.text(b'\'').map(|value| TokenKind::Text { value, unicode: false }),
            'N' | 'n' if self.byte(1) == b'\'' => {
                self.at += 1;
                self.text(b'\'').map(|value| TokenKind::Text { value, unicode: true })
            }
            '0' if matches!(self.byte(1), b'x' | b'X') => Ok(self.binary()),
            // `$action`, `$identity`, `$rowguid`.
            '$' if self.byte(1).is_ascii_alphabetic() => {
                self.at += 1;
                name(format!("${}", self.word())).map(TokenKind::Word)
            }
            _ if CURRENCY_SIGNS.contains(&ch) => Ok(self.money(ch)),
            '0'..='9' => Ok(self.number()),
            '.' if self.byte(1).is_ascii_digit() && !self.after_name() => Ok(self.number()),
            '@' => name(self.word()).map(TokenKind::Variable),
            _ if is_word_start(ch) => name(self.word()).map(TokenKind::Word),
            _ => self.symbol(ch),
        }
    }

    /// Returns true if the byte before ends a name, so that `.` is a separator: not in `t.1`, but in `a..b`.
    fn after_name(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at)).copied().unwrap_or(b' ');
        before.is_ascii_alphanumeric() || matches!(before, b']' | b'"' | b'_' | b'.')
    }

    /// Returns the text from `start` to here. Both ends are next to an ASCII character or at an end of the text, so
    /// that there always is one.
    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Reads a text up to `close`. A backslash at the end of a line joins it with the next one.
    fn text(&mut self, close: u8) -> Result<String, SqlError> {
        self.run_to(close, true)
    }

    /// Reads a name up to `close`.
    fn delimited(&mut self, close: u8) -> Result<String, SqlError> {
        self.run_to(close, false)
    }

    /// Counts the bytes of a backslash and the end of the line behind it; 0 if neither comes next.
    fn line_joint(&self) -> usize {
        match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'\\', b'\n', _) => 2,
            (b'\\', b'\r', b'\n') => 3,
            _ => 0,
        }
    }

    /// Reads a run up to `close`, where a doubled `close` stands for itself.
    fn run_to(&mut self, close: u8, joins_lines: bool) -> Result<String, SqlError> {
        self.at += 1;
        let mut value = String::new();
        let mut start = self.at;
        while self.at < self.bytes.len() {
            let joint = if joins_lines { self.line_joint() } else { 0 };
            if joint > 0 {
                value.push_str(self.since(start));
                self.line += 1;
                self.at += joint;
                start = self.at;
                continue;
            }
            let byte = self.byte(0);
            self.line += u32::from(byte == b'\n');
            if byte == close {
                value.push_str(self.since(start));
                self.at += 1;
                if self.byte(0) != close {
                    return Ok(value);
                }
                start = self.at;
            }
            self.at += 1;
        }
        value.push_str(self.since(start));
        Err(errors::UNCLOSED_QUOTE.with([&value.chars().take(128).collect::<String>()]))
    }

    fn binary(&mut self) -> TokenKind {
        self.at += 2;
        let mut nibbles: Vec<u8> = Vec::new();
        loop {
            let joint = self.line_joint();
            if joint > 0 {
                self.line += 1;
                self.at += joint;
                continue;
            }
            let Some(digit) = char::from(self.byte(0)).to_digit(16) else { break };
            nibbles.push(digit as u8);
            self.at += 1;
        }
        // An odd count has an implied leading zero.
        if nibbles.len() % 2 == 1 {
            nibbles.insert(0, 0);
        }
        TokenKind::Binary(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        self.digits();
        let mut point = false;
        if self.byte(0) == b'.' {
            point = true;
            self.at += 1;
            self.digits();
        }
        let mut exponent = false;
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                exponent = true;
                self.at += 1 + sign;
                self.digits();
            }
        }
        let text = self.since(start).to_string();
        match (exponent, point) {
            (true, _) => TokenKind::Float(text),
            (_, true) => TokenKind::Decimal(text),
            _ => TokenKind::Integer(text),
        }
    }

    /// Reads an amount: `$5`, `€-1.50`, `£ 3`. A sign that no digits follow is an amount of zero.
    fn money(&mut self, sign: char) -> TokenKind {
        self.at += sign.len_utf8();
        let after_sign = self.at;
        let skip = |lexer: &mut Self| {
            while matches!(lexer.byte(0), b' ' | b'\t') {
                lexer.at += 1;
            }
        };
        skip(self);
        let minus = if self.byte(0) == b'-' { "-" } else { "" };
        if matches!(self.byte(0), b'-' | b'+') {
            self.at += 1;
            skip(self);
        }
        let start = self.at;
        self.digits();
        if self.byte(0) == b'.' {
            self.at += 1;
            self.digits();
        }
        let has_digits = self.since(start).bytes().any(|byte| byte.is_ascii_digit());
        let stands_alone = minus.is_empty() && start == after_sign;
        if !has_digits && !stands_alone {
            self.at = after_sign;
            return TokenKind::Money(String::new());
        }
        TokenKind::Money(format!("{minus}{}", self.since(start)))
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while let Some(ch) = self.current() {
            if !is_word_part(ch) {
                break;
            }
            self.at += ch.len_utf8();
        }
        self.since(start).to_string()
    }

    fn symbol(&mut self, ch: char) -> Result<TokenKind, SqlError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let first = self.byte(0);
        let mut found = SYMBOLS.iter().filter(|symbol| symbol.as_bytes().first() == Some(&first));
        match found.find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(TokenKind::Symbol(symbol))
            }
            None => Err(errors::SYNTAX.with([&ch.to_string()])),
        }
    }
}

/// Returns the value of a `SET … QUOTED_IDENTIFIER … ON` or `OFF` that ends here. It changes how the rest of the
/// batch is read.
fn quoted_identifier_set(tokens: &[Token]) -> Option<bool> {
    let (last, before) = tokens.split_last()?;
    let on = match last.keyword? {
        Keyword::On => true,
        Keyword::Off => false,
        _ => return None,
    };
    let mut named = false;
    for token in before.iter().rev() {
        match &token.kind {
            TokenKind::Word(_) if token.keyword == Some(Keyword::Set) => return named.then_some(on),
            TokenKind::Word(_) => named |= token.keyword == Some(Keyword::QuotedIdentifier),
            TokenKind::Symbol(",") => {}
            _ => return None,
        }
    }
    None
}

/// Returns a name, unless it is longer than names can be.
pub(crate) fn name(name: String) -> Result<String, SqlError> {
    if name.len() <= NAME_UNITS_MAX || name.encode_utf16().count() <= NAME_UNITS_MAX {
        return Ok(name);
    }
    Err(errors::IDENTIFIER_TOO_LONG.with([&name]))
}

fn is_word_start(ch: char) -> bool {
    ch.is_alphabetic() || ch == '_' || ch == '#'
}

fn is_word_part(ch: char) -> bool {
    ch.is_alphanumeric() || matches!(ch, '_' | '#' | '@' | '$')
}
