//! The escape clauses of ODBC and JDBC: `{d '…'}`, `{fn …}` and the like.

use tds::{Length, SqlType};

use super::expression::function;
use super::{Parsed, Parser};
use crate::errors;
use crate::expression::{BinaryOperator, Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

/// Functions of ODBC that T-SQL has under another name, with the same arguments.
const RENAMED: [(&str, &str); 16] = [
    ("UCASE", "UPPER"),
    ("LCASE", "LOWER"),
    ("LENGTH", "LEN"),
    ("CHAR_LENGTH", "LEN"),
    ("CHARACTER_LENGTH", "LEN"),
    ("OCTET_LENGTH", "DATALENGTH"),
    ("LOCATE", "CHARINDEX"),
    ("REPEAT", "REPLICATE"),
    ("INSERT", "STUFF"),
    ("ATAN2", "ATN2"),
    ("IFNULL", "ISNULL"),
    ("DATABASE", "DB_NAME"),
    ("USER", "USER_NAME"),
    ("NOW", "GETDATE"),
    ("CURRENT_TIMESTAMP", "GETDATE"),
    ("DAYOFMONTH", "DAY"),
];

/// Functions of ODBC that are a part of a date, with T-SQL's function and its part.
const DATE_PARTS: [(&str, &str, &str); 8] = [
    ("DAYOFWEEK", "DATEPART", "weekday"),
    ("DAYOFYEAR", "DATEPART", "dayofyear"),
    ("WEEK", "DATEPART", "week"),
    ("QUARTER", "DATEPART", "quarter"),
    ("HOUR", "DATEPART", "hour"),
    ("MINUTE", "DATEPART", "minute"),
    ("SECOND", "DATEPART", "second"),
    ("DAYNAME", "DATENAME", "weekday"),
];

/// Types of `{fn CONVERT(value, SQL_…)}`.
const TYPES: [(&str, SqlType); 17] = [
    ("SQL_BIGINT", SqlType::BigInt),
    ("SQL_BINARY", SqlType::VarBinary { length: Length::Units(8000) }),
    ("SQL_BIT", SqlType::Bit),
    ("SQL_CHAR", SqlType::VarChar { length: Length::Units(8000) }),
    ("SQL_DATE", SqlType::Date),
    ("SQL_DECIMAL", SqlType::Decimal { precision: 18, scale: 0 }),
    ("SQL_DOUBLE", SqlType::Float),
    ("SQL_FLOAT", SqlType::Float),
    ("SQL_GUID", SqlType::UniqueIdentifier),
    ("SQL_INTEGER", SqlType::Int),
    ("SQL_NUMERIC", SqlType::Numeric { precision: 18, scale: 0 }),
    ("SQL_REAL", SqlType::Real),
    ("SQL_SMALLINT", SqlType::SmallInt),
    ("SQL_TIMESTAMP", SqlType::DateTime),
    ("SQL_TINYINT", SqlType::TinyInt),
    ("SQL_VARCHAR", SqlType::VarChar { length: Length::Units(8000) }),
    ("SQL_WVARCHAR", SqlType::NVarChar { length: Length::Units(4000) }),
];

impl Parser<'_> {
    /// Parses `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{guid '…'}`, `{fn call}`.
    pub(super) fn odbc_escape(&mut self) -> Parsed<Expr> {
        self.advance();
        let word = self.name()?.to_ascii_lowercase();
        if word == "fn" {
            let call = self.odbc_function()?;
            self.expect_symbol("}")?;
            return Ok(call);
        }
        let inner = self.expression()?;
        self.expect_symbol("}")?;
        // Dates of an escape are written in one way, whatever SET DATEFORMAT says.
        let canonical = || Some(Box::new(Expr::Literal(Literal::Integer("121".to_owned()))));
        let (sql_type, style) = match word.as_str() {
            "d" | "ts" | "t" => (SqlType::DateTime, canonical()),
            "guid" => (SqlType::UniqueIdentifier, None),
            _ => return Err(errors::SYNTAX.with([&word]).at_line(self.line())),
        };
        Ok(Expr::Cast { value: Box::new(inner), sql_type, bare: true, style, lenient: false })
    }

    fn odbc_function(&mut self) -> Parsed<Expr> {
        let Some(TokenKind::Word(word)) = self.kind().cloned() else { return self.expression() };
        let name = word.to_ascii_uppercase();
        let start = self.at;
        if !self.is_symbol_ahead(1, "(") {
            return self.expression();
        }
        self.at += 2;
        let call = match name.as_str() {
            "CONVERT" => self.odbc_convert()?,
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => {
                let part = self.name()?.to_ascii_uppercase();
                let part = part.strip_prefix("SQL_TSI_").map(str::to_lowercase);
                let part = part.ok_or_else(|| errors::SYNTAX.with([&name]).at_line(self.line()))?;
                let part = if part == "frac_second" { "nanosecond".to_string() } else { part };
                self.expect_symbol(",")?;
                let mut arguments = vec![Expr::Column(vec![part])];
                arguments.extend(self.expressions()?);
                function(if name == "TIMESTAMPADD" { "DATEADD" } else { "DATEDIFF" }, arguments)
            }
            "EXTRACT" => {
                let part = self.name()?;
                self.expect_word(Keyword::From)?;
                function("DATEPART", vec![Expr::Column(vec![part]), self.expression()?])
            }
            "POSITION" => {
                let wanted = self.expression()?;
                self.expect_word(Keyword::In)?;
                function("CHARINDEX", vec![wanted, self.expression()?])
            }
            name if is_renamed(name) => {
                let arguments = if self.is_symbol(")") { Vec::new() } else { self.expressions()? };
                renamed(name, arguments)
            }
            // Functions with the same name in ODBC and T-SQL. No argument has been read: reading them twice would double the time
            // with each level.
            _ => {
                self.at = start;
                return self.expression();
            }
        };
        self.expect_symbol(")")?;
        Ok(call)
    }

    fn odbc_convert(&mut self) -> Parsed<Expr> {
        let value = Box::new(self.expression()?);
        self.expect_symbol(",")?;
        let wanted = self.name()?;
        let found = TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&wanted));
        let (_, sql_type) = found.ok_or_else(|| errors::SYNTAX.with([&wanted]).at_line(self.line()))?;
        Ok(Expr::Cast { value, sql_type: sql_type.clone(), bare: false, style: None, lenient: false })
    }
}

/// Functions of ODBC that T-SQL writes as other expressions.
const REWRITTEN: [&str; 8] =
    ["MONTHNAME", "MOD", "TRUNCATE", "BIT_LENGTH", "CURDATE", "CURRENT_DATE", "CURTIME", "CURRENT_TIME"];

/// Returns true for a function of ODBC that T-SQL does not know by the same name.
fn is_renamed(name: &str) -> bool {
    REWRITTEN.contains(&name)
        || RENAMED.iter().any(|(odbc, _)| *odbc == name)
        || DATE_PARTS.iter().any(|(odbc, ..)| *odbc == name)
}

/// Returns T-SQL's expression for such a function.
fn renamed(name: &str, mut arguments: Vec<Expr>) -> Expr {
    if let Some((_, own)) = RENAMED.iter().find(|(odbc, _)| *odbc == name) {
        return function(own, arguments);
    }
    if let Some((_, own, part)) = DATE_PARTS.iter().find(|(odbc, ..)| *odbc == name) {
        arguments.insert(0, Expr::Column(vec![(*part).to_string()]));
        return function(own, arguments);
    }
    let now = |sql_type| Expr::Cast {
        value: Box::new(function("GETDATE", Vec::new())),
        sql_type,
        bare: true,
        style: None,
        lenient: false,
    };
    let integer = |digits: &str| Expr::Literal(Literal::Integer(digits.to_string()));
    match name {
        "MONTHNAME" => {
            arguments.insert(0, Expr::Column(vec!["month".to_string()]));
            function("DATENAME", arguments)
        }
        "MOD" => {
            match <[Expr; 2]>::try_from(arguments) {
                Ok([value, divisor]) => {
                    Expr::Binary(Box::new(value), BinaryOperator::Modulo, Box::new(divisor))
                }
                // No function has this name: it is refused where it is bound.
                Err(arguments) => function("MOD", arguments),
            }
        }
        "TRUNCATE" => {
            arguments.push(integer("1"));
            function("ROUND", arguments)
        }
        "BIT_LENGTH" => Expr::Binary(
            Box::new(function("DATALENGTH", arguments)),
            BinaryOperator::Multiply,
            Box::new(integer("8")),
        ),
        "CURDATE" | "CURRENT_DATE" => now(SqlType::Date),
        "CURTIME" | "CURRENT_TIME" => now(SqlType::Time { scale: 0 }),
        other => function(other, arguments),
    }
}
