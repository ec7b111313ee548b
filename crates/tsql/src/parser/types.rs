//! Type names: `decimal(10, 2)`, `[nvarchar](max)`, `double precision`, `sys.int`.

use tds::{Length, ParseTypeError, ParseTypeErrorReason, SqlType};

use super::{Parsed, Parser};
use crate::errors;
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;
use crate::user_type::named_type;

/// The place of a type, which decides the length of a character type without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypePlace {
    /// Columns and variables: length 1.
    Declaration,
    /// CAST and CONVERT: length 30.
    Cast,
}

impl Parser<'_> {
    /// Parses a type. Errors: 243 for an unknown name, 102 for wrong arguments.
    pub(crate) fn sql_type(&mut self, place: TypePlace) -> Parsed<SqlType> {
        let mut name = self.type_word()?;
        if self.accept_symbol(".") {
            // Types of the system are in one schema, and those of users are none of them.
            let prefix = std::mem::replace(&mut name, self.type_word()?);
            if !prefix.eq_ignore_ascii_case("sys") || self.is_symbol(".") {
                let text = format!("Type {prefix}.{name} is not a defined system type.");
                return Err(SqlError::new(243, 16, 1, text).at_line(self.line()));
            }
        }
        for (first, second) in [
            ("double", Keyword::Precision),
            ("character", Keyword::Varying),
            ("char", Keyword::Varying),
            ("binary", Keyword::Varying),
            ("national", Keyword::Char),
            ("national", Keyword::Character),
            ("national", Keyword::Text),
        ] {
            if name.eq_ignore_ascii_case(first) && self.accept_word(second) {
                name = format!("{first} {}", second.text().to_ascii_lowercase());
                if first == "national" && self.accept_word(Keyword::Varying) {
                    name.push_str(" varying");
                }
                break;
            }
        }
        if name.eq_ignore_ascii_case("xml") && self.accept_symbol("(") {
            self.refuse("A schema collection of a type xml");
            if !self.accept_bare("CONTENT") {
                self.accept_bare("DOCUMENT");
            }
            self.local_name()?;
            self.expect_symbol(")")?;
        }
        let mut text = name.clone();
        let sized = self.is_symbol("(");
        if sized {
            text.push_str(&self.type_arguments(&name)?);
        }
        let parsed: SqlType = text.parse().map_err(|_| self.unknown_type(&name, &text))?;
        Ok(if !sized && place == TypePlace::Cast { cast_length(parsed) } else { parsed })
    }

    /// Parses the type of the `number`-th column, parameter or variable of a list. A name that the system does not have
    /// is looked up when the statement runs. Errors: 2715 for one with arguments.
    pub(crate) fn declared_type(&mut self, number: usize) -> Parsed<SqlType> {
        let (start, at) = (self.line(), self.at);
        let parsed = self.sql_type(TypePlace::Declaration);
        let behind = std::mem::replace(&mut self.at, at);
        // A name that is none of the system's may be one of the user's.
        if parsed.as_ref().is_err_and(|error| error.number == 243)
            && let Ok(name) = self.local_name()
            && !self.is_symbol("(")
        {
            return Ok(named_type(&name));
        }
        self.at = behind;
        parsed.map_err(|error| match error.number {
            243 => {
                let name = error.message.strip_prefix("Type ").and_then(|rest| rest.split(' ').next());
                let text = format!(
                    "Column, parameter, or variable #{number}: Cannot find data type {}.",
                    name.unwrap_or_default()
                );
                SqlError::new(2715, 16, 6, text).at_line(start)
            }
            _ => error,
        })
    }

    fn type_word(&mut self) -> Parsed<String> {
        // `national` and `double` are reserved; every other type name is an ordinary word.
        if let Some(word) = [Keyword::National, Keyword::Double].into_iter().find(|word| self.is_word(*word))
        {
            self.advance();
            return Ok(word.text().to_ascii_lowercase());
        }
        self.name()
    }

    /// Reads the parentheses behind a type's name. Errors: 102 for a word other than max, but for the types that have more.
    fn type_arguments(&mut self, name: &str) -> Parsed<String> {
        let takes_words = ["xml", "vector"].iter().any(|known| name.eq_ignore_ascii_case(known))
            || name.parse::<SqlType>().is_err();
        let mut text = String::from("(");
        self.expect_symbol("(")?;
        loop {
            match self.kind() {
                Some(TokenKind::Integer(digits)) => text.push_str(digits),
                Some(TokenKind::Word(word) | TokenKind::Quoted(word))
                    if takes_words || word.eq_ignore_ascii_case("max") =>
                {
                    text.push_str(word);
                }
                _ => return Err(self.unexpected()),
            }
            self.advance();
            if self.accept_symbol(")") {
                text.push(')');
                return Ok(text);
            }
            if !self.accept_symbol(",") {
                // xml(CONTENT dbo.collection) and the like.
                if matches!(self.kind(), Some(TokenKind::Word(_))) || self.accept_symbol(".") {
                    text.push(' ');
                    continue;
                }
                return Err(self.unexpected());
            }
            text.push(',');
        }
    }

    fn unknown_type(&self, name: &str, text: &str) -> SqlError {
        let line = self.line();
        if let Err(ParseTypeError { reason: ParseTypeErrorReason::OutOfRange { value, max, .. }, .. }) =
            text.parse::<SqlType>()
            && name.eq_ignore_ascii_case("vector")
        {
            return errors::VECTOR_RANGE.with([&value.to_string(), &max.to_string()]).at_line(line);
        }
        if name == text || name.parse::<SqlType>().is_err() {
            return SqlError::new(243, 16, 1, format!("Type {name} is not a defined system type."))
                .at_line(line);
        }
        if let Err(ParseTypeError { reason: ParseTypeErrorReason::OutOfRange { value, max, .. }, .. }) =
            text.parse::<SqlType>()
            && value > max
            && matches!(max, 4000 | 8000)
        {
            let error = match value {
                8001.. => errors::TYPE_SIZE.with([&value.to_string(), name]),
                _ => errors::UNICODE_TYPE_SIZE.with([&value.to_string(), name]),
            };
            return error.at_line(line);
        }
        SqlError::new(
            1001,
            15,
            1,
            format!("The length, precision or scale of {text} is not allowed for this type."),
        )
        .at_line(line)
    }
}

fn cast_length(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Char { .. } => SqlType::Char { length: 30 },
        SqlType::NChar { .. } => SqlType::NChar { length: 30 },
        SqlType::Binary { .. } => SqlType::Binary { length: 30 },
        SqlType::VarChar { length: Length::Units(1) } => SqlType::VarChar { length: Length::Units(30) },
        SqlType::NVarChar { length: Length::Units(1) } => SqlType::NVarChar { length: Length::Units(30) },
        SqlType::VarBinary { length: Length::Units(1) } => SqlType::VarBinary { length: Length::Units(30) },
        other => other,
    }
}
