//! Conditions of tasks: comparisons of variables with values, joined by AND, OR and NOT.

use std::cmp::Ordering;

use crate::model::Kind;
use crate::scalar::Scalar;
use crate::template::is_name;

/// Parentheses and NOTs within one another.
const DEPTH_MAX: usize = 32;

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// At least one of the conditions holds.
    Or(Box<Condition>, Box<Condition>),
    /// The condition does not hold.
    Not(Box<Condition>),
    /// A comparison.
    Compare(Operand, Comparison, Operand),
    /// A boolean variable.
    Is(Operand),
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// `${name}`
    Variable(String),
    /// A number, a text in quotes, true, false or null.
    Value(Scalar),
}

/// The operator that compares two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`, `==`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A text that is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConditionError(String);

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Operand(Operand),
    Compare(Comparison),
    And,
    Or,
    Not,
    Open,
    Close,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let mut reader = Reader { words: words(text)?, at: 0 };
        let condition = reader.any(0)?;
        match reader.peek() {
            None => Ok(condition),
            Some(_) => Err(ConditionError(format!("the condition {text:?} goes on behind its end"))),
        }
    }

    /// Evaluates the condition. Comparisons with NULL do not hold.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<Scalar>) -> bool {
        let of = |operand: &Operand| match operand {
            Operand::Variable(name) => value(name).unwrap_or_else(|| Scalar::null(Kind::Text)),
            Operand::Value(value) => value.clone(),
        };
        match self {
            Self::And(left, right) => left.holds(value) && right.holds(value),
            Self::Or(left, right) => left.holds(value) || right.holds(value),
            Self::Not(inner) => !inner.holds(value),
            Self::Is(operand) => of(operand).text.is_some_and(|text| text == "true" || text == "1"),
            Self::Compare(left, comparison, right) => {
                let (left, right) = (of(left), of(right));
                let Some(order) = order(&left, &right) else {
                    let both = left.text.is_none() && right.text.is_none();
                    return match comparison {
                        Comparison::Equal => both,
                        Comparison::NotEqual => !both,
                        _ => false,
                    };
                };
                match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                }
            }
        }
    }

    /// Lists the variables of the condition.
    pub fn variables(&self) -> Vec<&str> {
        match self {
            Self::And(left, right) | Self::Or(left, right) => [left.variables(), right.variables()].concat(),
            Self::Not(inner) => inner.variables(),
            Self::Is(operand) => operand.variable().into_iter().collect(),
            Self::Compare(left, _, right) => left.variable().into_iter().chain(right.variable()).collect(),
        }
    }
}

impl Operand {
    fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::Value(_) => None,
        }
    }
}

/// Compares values as numbers if both are, else as texts. `None` with NULL.
fn order(left: &Scalar, right: &Scalar) -> Option<Ordering> {
    let (left, right) = (left.text.as_ref()?, right.text.as_ref()?);
    if let (Ok(left), Ok(right)) = (left.parse::<i64>(), right.parse::<i64>()) {
        return Some(left.cmp(&right));
    }
    match (left.parse::<f64>(), right.parse::<f64>()) {
        (Ok(left), Ok(right)) => left.partial_cmp(&right),
        _ => Some(left.cmp(right)),
    }
}

struct Reader {
    words: Vec<Word>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn takes(&mut self, word: &Word) -> bool {
        let is = self.peek() == Some(word);
        self.at += usize::from(is);
        is
    }

    fn any(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        let mut left = self.all(depth)?;
        while self.takes(&Word::Or) {
            left = Condition::Or(Box::new(left), Box::new(self.all(depth)?));
        }
        Ok(left)
    }

    fn all(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        let mut left = self.one(depth)?;
        while self.takes(&Word::And) {
            left = Condition::And(Box::new(left), Box::new(self.one(depth)?));
        }
        Ok(left)
    }

    fn one(&mut self, depth: usize) -> Result<Condition, ConditionError> {
        if depth > DEPTH_MAX {
            return Err(ConditionError("the condition is nested too deeply".to_owned()));
        }
        if self.takes(&Word::Not) {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.takes(&Word::Open) {
            let inner = self.any(depth + 1)?;
            return match self.takes(&Word::Close) {
                true => Ok(inner),
                false => Err(ConditionError("a parenthesis of the condition is not closed".to_owned())),
            };
        }
        let left = self.operand()?;
        let Some(Word::Compare(comparison)) = self.peek() else { return Ok(Condition::Is(left)) };
        let comparison = *comparison;
        self.at += 1;
        Ok(Condition::Compare(left, comparison, self.operand()?))
    }

    fn operand(&mut self) -> Result<Operand, ConditionError> {
        match self.peek() {
            Some(Word::Operand(operand)) => {
                let operand = operand.clone();
                self.at += 1;
                Ok(operand)
            }
            _ => Err(ConditionError(
                "`${variable}`, a number or a text in quotes is expected in the condition".to_owned(),
            )),
        }
    }
}

fn words(text: &str) -> Result<Vec<Word>, ConditionError> {
    const SYMBOLS: [(&str, Comparison); 8] = [
        ("==", Comparison::Equal),
        ("<>", Comparison::NotEqual),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("=", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(inner) = rest.strip_prefix("${") {
            let end = inner.split_once('}').filter(|(name, _)| is_name(name));
            let Some((name, after)) = end else {
                return Err(ConditionError(format!("{rest:?} does not begin with `${{variable}}`")));
            };
            found.push(Word::Operand(Operand::Variable(name.to_owned())));
            rest = after;
        } else if matches!(first, '\'' | '"') {
            let inner = rest.get(1..).unwrap_or_default();
            let Some((quoted, after)) = inner.split_once(first) else {
                return Err(ConditionError("a text of the condition has no closing quote".to_owned()));
            };
            found.push(Word::Operand(Operand::Value(Scalar::text(quoted))));
            rest = after;
        } else if let Some((symbol, comparison)) = SYMBOLS.iter().find(|(symbol, _)| rest.starts_with(symbol))
        {
            found.push(Word::Compare(*comparison));
            rest = rest.get(symbol.len()..).unwrap_or_default();
        } else if matches!(first, '(' | ')') {
            found.push(if first == '(' { Word::Open } else { Word::Close });
            rest = rest.get(1..).unwrap_or_default();
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || "()<>=!'\"$".contains(c))
                .filter(|end| *end > 0)
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            found.push(match word.to_ascii_lowercase().as_str() {
                "and" => Word::And,
                "or" => Word::Or,
                "not" => Word::Not,
                "true" | "false" => value(Kind::Boolean, word)?,
                "null" => Word::Operand(Operand::Value(Scalar::null(Kind::Text))),
                _ if word.contains('.') => value(Kind::Decimal, word)?,
                _ => value(Kind::Integer, word)?,
            });
            rest = after;
        }
        rest = rest.trim_start();
    }
    Ok(found)
}

fn value(kind: Kind, word: &str) -> Result<Word, ConditionError> {
    Scalar::parse(kind, &word.to_ascii_lowercase()).map(|value| Word::Operand(Operand::Value(value))).map_err(
        |_| ConditionError(format!("{word:?} is neither a number nor and, or, not; texts stand in quotes")),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Condition;
    use crate::scalar::Scalar;

    #[test]
    fn conditions_hold_or_not() {
        let value = |name: &str| match name {
            "n" => Some(Scalar::integer(10)),
            "s" => Some(Scalar::text("abc")),
            _ => None,
        };
        for (text, expected) in [
            ("${n} > 9", true),
            ("${n} > 9.5 and ${s} = 'abc'", true),
            ("not (${n} = 10 or ${s} <> 'abc')", false),
            ("${none} = null", true),
            ("${none} = 'x'", false),
            ("${none} <> 'x'", true),
            ("${s} < \"b\"", true),
            ("true", true),
            ("${n} == 10 AND NOT false", true),
        ] {
            assert_eq!(Condition::parse(text).unwrap().holds(&value), expected, "{text}");
        }
        for text in ["", "${n} >", "${n} > x", "(${n} = 1", "${n} = 1 2", "'a", "${n", "!"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        assert!(Condition::parse(&"(".repeat(10_000)).is_err());
    }
}
