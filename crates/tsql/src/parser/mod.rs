//! Recursive descent over the tokens of a batch.
//!
//! T-SQL needs no semicolons: a statement ends where the next token cannot continue it, which works because
//! every word that begins a statement is reserved. The whole batch is parsed before anything runs, so that a
//! syntax error (102, 156) leaves no effect, as in SQL Server.

mod administration;
mod backup;
mod bulk;
mod bulk_file;
mod change;
mod condition;
mod create_database;
mod cursor;
mod database_file;
mod database_option;
mod ddl;
mod dml;
mod expression;
mod for_clause;
mod grammar;
mod grouping;
mod hints;
mod index;
mod json;
mod label;
mod merge;
mod module;
mod name;
mod odbc_escape;
mod partition;
mod permission;
mod query;
mod query_hints;
mod routine;
mod schema;
mod set_option;
mod statement;
mod trigger;
mod turn;
mod types;
mod user_type;
mod variables;

use super::ast::{Declaration, Statement, StatementKind};
use super::expression::{Expr, Window};
use super::index::CreateIndex;
use super::keywords::Keyword;
use super::lexer::{Token, TokenKind, tokenize};
use super::names::ObjectName;
use crate::errors;
use crate::sql_error::SqlError;
use label::Labels;
use name::{named, parts_of};
pub use variables::UndeclaredVariable;
use variables::Variables;

/// Result of every parsing function.
pub(crate) type Parsed<T> = Result<T, SqlError>;

/// Nesting of queries and blocks beyond which a batch is refused (error 191), so that no text can exhaust the stack.
const DEPTH_MAX: usize = 64;
/// Nesting of expressions, two for each pair of parentheses, that is read on the stack of the caller.
const LEVELS_HERE: usize = 128;
/// Bytes of the stack on which deeper ones are read. Only what is used of it takes memory.
const DEEP_STACK_BYTES: usize = 256 << 20;
/// Height of an expression beyond which a batch is refused in the same way: a chain such as `a + b + …` is as high as it is long.
const HEIGHT_MAX: usize = 1050;
/// Set operators and branches of ELSE IF beyond which a batch is refused in the same way.
const CHAIN_MAX: usize = 8192;
/// Sources of one FROM beyond which a batch is refused in the same way: joins nest as deep as they are long.
const SOURCES_MAX: usize = 500;

/// Parses a whole batch. `quoted_identifier` is the session's option. No server's name may stand in it.
///
/// Errors: 102 and 156 near the offending token, 105, 113, 117, 191 for too deep nesting, 7202.
pub fn parse_batch(text: &str, quoted_identifier: bool) -> Parsed<Vec<Statement>> {
    let mut parser = Parser::new(text, quoted_identifier)?;
    parser.batch()
}

/// Parses a whole batch, in which names of four parts may begin with that of the server.
///
/// Errors: those of [`parse_batch`].
pub fn parse_batch_on(server: &str, text: &str, quoted_identifier: bool) -> Parsed<Vec<Statement>> {
    let mut parser = Parser { server: Some(server), ..Parser::new(text, quoted_identifier)? };
    parser.batch()
}

/// Parses a whole batch as [`parse_batch_on`] does, and finds the variables that it uses and does not declare before.
///
/// Errors: those of [`parse_batch`].
pub fn parse_batch_and_variables(
    server: &str,
    text: &str,
    quoted_identifier: bool,
) -> Parsed<(Vec<Statement>, Vec<UndeclaredVariable>)> {
    let mut parser = Parser { server: Some(server), ..Parser::new(text, quoted_identifier)? };
    let statements = parser.batch()?;
    Ok((statements, parser.undeclared()))
}

/// Parses one expression, as kept in the catalogue (defaults, checks).
pub fn parse_expression(text: &str) -> Parsed<Expr> {
    let mut parser = Parser::new(text, true)?;
    let expr = parser.condition()?;
    parser.expect_end()?;
    parser.served(expr)
}

/// Parses the parameter list of sp_executesql: `@a int, @b nvarchar(10) = N'x' OUTPUT`.
pub fn parse_declarations(text: &str) -> Parsed<Vec<Declaration>> {
    let mut parser = Parser::new(text, true)?;
    if parser.at_end() {
        return Ok(Vec::new());
    }
    let declarations = parser.declarations()?;
    parser.expect_end()?;
    parser.served(declarations)
}

/// Parses a one- to three-part name from the text of OBJECT_ID and of procedures. Errors: 117 for more parts.
pub fn parse_object_name(text: &str) -> Parsed<ObjectName> {
    let mut parts = parts_of(text)?;
    let (_, name) = match parts.as_mut_slice() {
        [database, schema, name] => named([None, database.take(), schema.take(), name.take()])?,
        [schema, name] => named([None, None, schema.take(), name.take()])?,
        [name] => named([None, None, None, name.take()])?,
        _ => return Err(name::too_many_parts(text, 2)),
    };
    Ok(name)
}

/// Parses a name of up to four parts, the first of which may be that of the server. Errors: 7202 for another server.
pub fn parse_object_name_on(server: &str, text: &str) -> Parsed<ObjectName> {
    let mut parts = parts_of(text)?;
    match parts.as_mut_slice() {
        [of, database, schema, name] => {
            let (found, name) = named([of.take(), database.take(), schema.take(), name.take()])?;
            match found.filter(|found| !found.eq_ignore_ascii_case(server)) {
                Some(found) => Err(name::unknown_server(&found)),
                None => Ok(name),
            }
        }
        parts if parts.len() > 4 => Err(name::too_many_parts(text, 3)),
        _ => parse_object_name(text),
    }
}

/// The tokens and the place in them.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Expressions around the one that is being read.
    levels: usize,
    /// The height of the highest expression that has been read at this depth.
    height: usize,
    /// Sources of the FROM that is being read.
    sources: usize,
    /// The names of the WINDOW clause of the SELECT that has just been read.
    windows: Vec<(String, Window)>,
    /// The statement that stands in the FROM that has just been read.
    change: Option<Box<StatementKind>>,
    /// Such a statement is being read.
    in_change: bool,
    /// The places of variables.
    variables: Variables,
    /// The labels of the batch, and the statements that go to them.
    labels: Labels,
    /// The name of the table whose columns are being read.
    table: ObjectName,
    /// The indexes among those columns.
    inline_indexes: Vec<CreateIndex>,
    /// The first part of the statement that is being read that this server does not have.
    refused: Option<SqlError>,
    /// The name of this server, with which a name of four parts may begin.
    server: Option<&'a str>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, quoted_identifier: bool) -> Parsed<Self> {
        Ok(Parser {
            text,
            tokens: tokenize(text, quoted_identifier)?,
            at: 0,
            depth: 0,
            levels: 0,
            height: 0,
            sources: 0,
            windows: Vec::new(),
            change: None,
            in_change: false,
            variables: Variables::default(),
            labels: Labels::default(),
            table: ObjectName::default(),
            inline_indexes: Vec::new(),
            refused: None,
            server: None,
        })
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(crate) fn expect_end(&self) -> Parsed<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(crate) fn kind(&self) -> Option<&TokenKind> {
        self.kind_ahead(0)
    }

    pub(crate) fn kind_ahead(&self, ahead: usize) -> Option<&TokenKind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    /// Returns the word of the grammar at a token; `None` for names and other tokens.
    pub(crate) fn keyword_ahead(&self, ahead: usize) -> Option<Keyword> {
        self.tokens.get(self.at + ahead).and_then(|token| token.keyword)
    }

    /// Returns true if the current token is a reserved word.
    pub(crate) fn is_reserved(&self) -> bool {
        self.keyword_ahead(0).is_some_and(Keyword::is_reserved)
    }

    pub(crate) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    /// Returns the first byte of the current token.
    pub(crate) fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.start)
    }

    /// Returns the text from byte `start` to the end of the token before the current one.
    pub(crate) fn text_since(&self, start: usize) -> String {
        let end = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(start, |token| token.end);
        self.text.get(start..end).unwrap_or_default().to_string()
    }

    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// Returns true if the current token is the bare word `word`.
    pub(crate) fn is_word(&self, word: Keyword) -> bool {
        self.is_word_ahead(0, word)
    }

    pub(crate) fn is_word_ahead(&self, ahead: usize, word: Keyword) -> bool {
        self.keyword_ahead(ahead) == Some(word)
    }

    /// Returns true if a token is the bare word `word`, which may be outside of the grammar.
    pub(crate) fn is_bare_ahead(&self, ahead: usize, word: &str) -> bool {
        matches!(self.kind_ahead(ahead), Some(TokenKind::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    /// Accepts a run of bare words, or none of them.
    pub(crate) fn accept_bare(&mut self, words: &str) -> bool {
        let found = words.split(' ').enumerate().all(|(ahead, word)| self.is_bare_ahead(ahead, word));
        if found {
            self.at += words.split(' ').count();
        }
        found
    }

    pub(crate) fn expect_bare(&mut self, words: &str) -> Parsed<()> {
        if self.accept_bare(words) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Parses a bare word in capitals, reserved or not.
    pub(crate) fn any_word(&mut self) -> Parsed<String> {
        match self.kind() {
            Some(TokenKind::Word(word)) => {
                let word = word.to_ascii_uppercase();
                self.advance();
                Ok(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_ahead(0, symbol)
    }

    pub(crate) fn is_symbol_ahead(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.kind_ahead(ahead), Some(TokenKind::Symbol(text)) if *text == symbol)
    }

    /// Returns true if the token before the current one is `symbol`.
    pub(crate) fn is_behind(&self, symbol: &str) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        matches!(before, Some(Token { kind: TokenKind::Symbol(text), .. }) if *text == symbol)
    }

    pub(crate) fn accept_word(&mut self, word: Keyword) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Accepts a run of words, or none of them.
    pub(crate) fn accept_words(&mut self, words: &[Keyword]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| self.is_word_ahead(ahead, *word));
        if found {
            self.at += words.len();
        }
        found
    }

    pub(crate) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect_word(&mut self, word: Keyword) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(crate) fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Makes the error at the current token: 156 for a reserved word, 102 otherwise; at the end, near the last token.
    pub(crate) fn unexpected(&self) -> SqlError {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        let Some(token) = token else { return errors::SYNTAX.with([""]).at_line(1) };
        let error = match &token.kind {
            TokenKind::Word(word) if token.keyword.is_some_and(Keyword::is_reserved) => {
                errors::SYNTAX_KEYWORD.with([word])
            }
            TokenKind::Word(word) | TokenKind::Quoted(word) | TokenKind::Variable(word) => {
                errors::SYNTAX.with([word])
            }
            TokenKind::Text { value, .. } => errors::SYNTAX.with([value]),
            _ => errors::SYNTAX.with([self.text.get(token.start..token.end).unwrap_or_default()]),
        };
        error.at_line(token.line)
    }

    /// Notes that the statement that is being read has a part that this server does not have. It is read to its end, and
    /// refused by the name of the part when it runs. Error then: 40515.
    pub(crate) fn refuse(&mut self, what: &str) {
        let line = self.line();
        self.refused.get_or_insert_with(|| SqlError::unsupported(what).at_line(line));
    }

    /// Returns what was read, unless a part of it is refused.
    fn served<T>(&mut self, read: T) -> Parsed<T> {
        self.refused.take().map_or(Ok(read), Err)
    }

    /// Runs `parse` for a part that may turn out to be another one.
    pub(crate) fn tried<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let (depth, levels, height, sources) = (self.depth, self.levels, self.height, self.sources);
        let result = parse(self);
        if result.is_err() {
            (self.depth, self.levels, self.height, self.sources) = (depth, levels, height, sources);
        }
        result
    }

    /// Counts one more operator in a chain such as `a + b + c`, which nests as deep as it is long.
    pub(crate) fn higher(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > HEIGHT_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Counts one more part of a chain that is walked without nesting.
    pub(crate) fn chained(&self, parts: &mut usize) -> Parsed<()> {
        *parts += 1;
        if *parts > CHAIN_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    pub(crate) fn too_deep(&self) -> SqlError {
        errors::TOO_DEEP.error().at_line(self.line())
    }

    /// Runs `parse` one level deeper.
    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.too_deep());
        }
        let result = self.beside(|parser| {
            let result = parse(parser)?;
            parser.higher()?;
            Ok(result)
        })?;
        self.depth -= 1;
        Ok(result)
    }

    /// Runs `parse` for an expression within others, which may be very deep. Errors: 191.
    pub(crate) fn level<T: Send>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T> + Send) -> Parsed<T> {
        self.levels += 1;
        let result = match self.levels {
            LEVELS_HERE => self.on_deep_stack(parse),
            levels if levels > 2 * HEIGHT_MAX => Err(self.too_deep()),
            _ => parse(self),
        };
        self.levels -= 1;
        result
    }

    /// Runs `parse` on a thread with a stack for expressions of any height that is allowed. Errors: 191 if there is no thread.
    fn on_deep_stack<T: Send>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T> + Send) -> Parsed<T> {
        let too_deep = self.too_deep();
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(DEEP_STACK_BYTES);
            let Ok(running) = thread.spawn_scoped(scope, || parse(self)) else { return Err(too_deep) };
            let stopped = |_| Err(SqlError::internal("the reader of a deep expression stopped"));
            running.join().unwrap_or_else(stopped)
        })
    }

    /// Runs `parse` for a part whose height counts by itself.
    pub(crate) fn beside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let around = std::mem::take(&mut self.height);
        let result = parse(self)?;
        self.height = self.height.max(around);
        Ok(result)
    }

    /// Parses `(a [ASC|DESC], …)`.
    pub(crate) fn ordered_columns(&mut self) -> Parsed<Vec<(String, bool)>> {
        self.expect_symbol("(")?;
        let mut columns = Vec::new();
        loop {
            let name = self.name()?;
            let descending = self.accept_word(Keyword::Desc) || {
                self.accept_word(Keyword::Asc);
                false
            };
            columns.push((name, descending));
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(columns)
    }

    /// Parses an unsigned number.
    pub(crate) fn unsigned(&mut self) -> Parsed<u64> {
        match self.kind() {
            Some(TokenKind::Integer(digits)) => {
                let value = digits.parse().map_err(|_| self.unexpected())?;
                self.advance();
                Ok(value)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses a number with a sign.
    pub(crate) fn signed(&mut self) -> Parsed<i64> {
        let negative = self.accept_symbol("-");
        self.accept_symbol("+");
        let magnitude = i128::from(self.unsigned()?);
        i64::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| self.unexpected())
    }
}
