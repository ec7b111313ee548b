//! Expressions of SSIS, read into a tree.

/// Parentheses, casts and calls within one another.
const DEPTH_MAX: usize = 100;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number as it is written, without its suffix.
    Number(String),
    /// A text.
    Text(String),
    /// True or False.
    Boolean(bool),
    /// `NULL(DT_WSTR, 50)`
    Null(Cast),
    /// `[Column]`, `Column` or `#{lineage}`.
    Column(String),
    /// `@[User::Name]`
    Variable(String),
    /// `(DT_I4) x`
    Cast(Cast, Box<Expression>),
    /// `-x`, `!x`, `~x`
    Unary(char, Box<Expression>),
    /// Two operands.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `a ? b : c`
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A function, in upper case.
    Call(String, Vec<Expression>),
}

/// A type of the data flow and its numbers: `DT_WSTR, 50`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    /// The name of the type, in upper case.
    pub name: String,
    /// Length, precision, scale or code page.
    pub numbers: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Number(String),
    Text(String),
    Name(String),
    Column(String),
    Variable(String),
    Symbol(&'static str),
}

/// Operators that take two operands, from the loosest to the tightest.
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["+", "-"],
    &["*", "/", "%"],
];
const SYMBOLS: [&str; 23] = [
    "||", "&&", "==", "!=", "<=", ">=", "|", "^", "&", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "?",
    ":", "!", "~",
];

/// Reads an expression.
///
/// # Errors
/// Why it is none, for people.
pub fn parse(text: &str) -> Result<Expression, String> {
    let mut reader = Reader { words: words(text)?, at: 0 };
    let expression = reader.conditional(0)?;
    match reader.words.get(reader.at) {
        None => Ok(expression),
        Some(_) => Err("the expression goes on behind its end".to_owned()),
    }
}

struct Reader {
    words: Vec<Word>,
    at: usize,
}

impl Reader {
    fn takes(&mut self, symbol: &'static str) -> bool {
        let is = self.words.get(self.at) == Some(&Word::Symbol(symbol));
        self.at += usize::from(is);
        is
    }

    fn expects(&mut self, symbol: &'static str) -> Result<(), String> {
        if self.takes(symbol) { Ok(()) } else { Err(format!("{symbol} is missing")) }
    }

    fn conditional(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > DEPTH_MAX {
            return Err("the expression is nested too deeply".to_owned());
        }
        let condition = self.binary(0, depth)?;
        if !self.takes("?") {
            return Ok(condition);
        }
        let yes = self.conditional(depth + 1)?;
        self.expects(":")?;
        let no = self.conditional(depth + 1)?;
        Ok(Expression::Conditional(Box::new(condition), Box::new(yes), Box::new(no)))
    }

    fn binary(&mut self, level: usize, depth: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(depth) };
        let mut left = self.binary(level + 1, depth)?;
        let mut chain = 0_usize;
        while let Some(operator) = operators.iter().find(|operator| self.takes(operator)) {
            chain += 1;
            // A chain becomes a tree as deep as it is long.
            if chain > 500 {
                return Err("the expression is too long".to_owned());
            }
            let right = self.binary(level + 1, depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > DEPTH_MAX {
            return Err("the expression is nested too deeply".to_owned());
        }
        for (symbol, character) in [("-", '-'), ("!", '!'), ("~", '~')] {
            if self.takes(symbol) {
                return Ok(Expression::Unary(character, Box::new(self.unary(depth + 1)?)));
            }
        }
        if let (Some(Word::Symbol("(")), Some(Word::Name(name))) =
            (self.words.get(self.at), self.words.get(self.at + 1))
            && name.to_ascii_uppercase().starts_with("DT_")
        {
            self.at += 1;
            let cast = self.cast()?;
            self.expects(")")?;
            return Ok(Expression::Cast(cast, Box::new(self.unary(depth + 1)?)));
        }
        self.primary(depth)
    }

    fn cast(&mut self) -> Result<Cast, String> {
        let Some(Word::Name(name)) = self.words.get(self.at).cloned() else {
            return Err("a type (DT_…) is expected".to_owned());
        };
        self.at += 1;
        let mut numbers = Vec::new();
        while self.takes(",") {
            match self.words.get(self.at) {
                Some(Word::Number(number)) => {
                    numbers.push(number.parse().map_err(|_| format!("{number} is no length"))?);
                    self.at += 1;
                }
                _ => return Err("a number is expected in a type".to_owned()),
            }
        }
        Ok(Cast { name: name.to_ascii_uppercase(), numbers })
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, String> {
        if self.takes("(") {
            let inner = self.conditional(depth + 1)?;
            self.expects(")")?;
            return Ok(inner);
        }
        let word = self.words.get(self.at).cloned().ok_or("the expression ends too early")?;
        self.at += 1;
        Ok(match word {
            Word::Number(number) => Expression::Number(number),
            Word::Text(text) => Expression::Text(text),
            // SSIS writes names of functions in brackets too.
            Word::Column(name) if self.words.get(self.at) != Some(&Word::Symbol("(")) => {
                Expression::Column(name)
            }
            Word::Variable(name) => Expression::Variable(name),
            Word::Name(name) | Word::Column(name) => {
                let upper = name.to_ascii_uppercase();
                if !self.takes("(") {
                    return Ok(match upper.as_str() {
                        "TRUE" => Expression::Boolean(true),
                        "FALSE" => Expression::Boolean(false),
                        _ => Expression::Column(name),
                    });
                }
                if upper == "NULL" {
                    let cast = self.cast()?;
                    self.expects(")")?;
                    return Ok(Expression::Null(cast));
                }
                let mut arguments = Vec::new();
                if !self.takes(")") {
                    loop {
                        arguments.push(self.conditional(depth + 1)?);
                        if !self.takes(",") {
                            break;
                        }
                    }
                    self.expects(")")?;
                }
                Expression::Call(upper, arguments)
            }
            Word::Symbol(symbol) => return Err(format!("{symbol} is not expected")),
        })
    }
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after;
        if let Some(inner) = rest.strip_prefix("@[") {
            let (name, behind) = inner.split_once(']').ok_or("a variable has no closing bracket")?;
            found.push(Word::Variable(name.trim().to_owned()));
            after = behind;
        } else if let Some(inner) = rest.strip_prefix('@') {
            let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
            let (name, behind) = inner.split_at(end);
            found.push(Word::Variable(name.to_owned()));
            after = behind;
        } else if let Some(inner) = rest.strip_prefix("#{") {
            let (name, behind) = inner.split_once('}').ok_or("a column has no closing brace")?;
            found.push(Word::Column(name.to_owned()));
            after = behind;
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (name, behind) = inner.split_once(']').ok_or("a column has no closing bracket")?;
            // `[Component].[Column]` is the column of a component.
            found.push(Word::Column(name.to_owned()));
            after = behind;
        } else if first == '"' {
            let (text, behind) = quoted(rest)?;
            found.push(Word::Text(text));
            after = behind;
        } else if first.is_ascii_digit()
            || (first == '.' && rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit()))
        {
            let (number, behind) = number(rest);
            found.push(Word::Number(number));
            after = behind;
        } else if first == '.' {
            // Between the component and the column.
            found.pop();
            after = rest.get(1..).unwrap_or_default();
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            found.push(Word::Name(name.to_owned()));
            after = behind;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            found.push(Word::Symbol(symbol));
            after = rest.get(symbol.len()..).unwrap_or_default();
        } else {
            return Err(format!("{first:?} is not known in an expression"));
        }
        rest = after.trim_start();
    }
    Ok(found)
}

fn number(text: &str) -> (String, &str) {
    let mut end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let behind = text.get(end..).unwrap_or_default();
    let exponent =
        behind.strip_prefix(['e', 'E']).map(|digits| digits.strip_prefix(['+', '-']).unwrap_or(digits));
    if let Some(digits) = exponent.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        end += behind.len() - digits.len() + length;
    }
    let (number, behind) = text.split_at(end);
    // L, U and F say which type a number has; T-SQL knows by its size.
    (number.to_owned(), behind.trim_start_matches(['l', 'L', 'u', 'U', 'f', 'F']))
}

/// Reads a text in quotes, with its escapes.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut found = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Ok((found, text.get(at + 1..).unwrap_or_default())),
            '\\' => match characters.next().map(|(_, c)| c) {
                Some('n') => found.push('\n'),
                Some('t') => found.push('\t'),
                Some('r') => found.push('\r'),
                Some('x') => {
                    let digits: String = characters.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    found.push(code.ok_or("\\x wants four hex digits")?);
                }
                Some(other) => found.push(other),
                None => break,
            },
            c => found.push(c),
        }
    }
    Err("a text has no closing quote".to_owned())
}
