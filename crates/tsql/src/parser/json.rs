//! The functions and aggregates that make JSON.

use super::expression::function;
use super::{Parsed, Parser};
use crate::expression::{BinaryOperator, Comparison, Expr, FunctionCall, Literal};
use crate::keywords::Keyword;
use crate::query::OrderItem;
use tds::SqlType;

impl Parser<'_> {
    /// Parses JSON_OBJECT (name : value, …) and JSON_ARRAY (value, …), with NULL ON NULL or ABSENT ON NULL.
    pub(super) fn json_constructor(&mut self, name: &str) -> Parsed<Expr> {
        self.advance();
        self.advance();
        let object = name == "JSON_OBJECT";
        let mut arguments = Vec::new();
        let mut absent = self.null_clause();
        if absent.is_none() && !self.is_symbol(")") && !self.is_word(Keyword::Returning) {
            loop {
                arguments.push(self.expression()?);
                if object {
                    self.expect_symbol(":")?;
                    arguments.push(self.expression()?);
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
            absent = self.null_clause();
        }
        let returns_json = self.returning_json()?;
        self.expect_symbol(")")?;
        Ok(returned(function(&format!("{name}{}", suffix(object, absent)), arguments), returns_json))
    }

    /// Parses JSON_OBJECTAGG (name : value …) and JSON_ARRAYAGG (value ORDER BY … …): the pieces of the rows, joined by
    /// commas in their order, within brackets. A group without rows is NULL.
    pub(super) fn json_aggregate(&mut self, keyword: Keyword) -> Parsed<Expr> {
        self.advance();
        self.advance();
        let object = keyword == Keyword::JsonObjectagg;
        let mut arguments = vec![self.expression()?];
        if object {
            self.expect_symbol(":")?;
            arguments.push(self.expression()?);
        }
        let mut order = Vec::new();
        if !object && self.accept_words(&[Keyword::Order, Keyword::By]) {
            order = self.order_items()?;
        }
        let absent = self.null_clause();
        let returns_json = self.returning_json()?;
        self.expect_symbol(")")?;
        if self.accept_word(Keyword::Over) {
            self.refuse(&format!("{} … OVER", keyword.text()));
            self.window()?;
        }
        // The call of that name makes the piece of a row.
        let piece = function(&format!("{}{}", keyword.text(), suffix(object, absent)), arguments);
        let brackets = if object { ["{", "}"] } else { ["[", "]"] };
        let whole = function("JSON OF ROWS", vec![joined_pieces(piece, order, brackets)]);
        Ok(returned(whole, returns_json))
    }

    /// Parses NULL ON NULL or ABSENT ON NULL; true for the latter.
    fn null_clause(&mut self) -> Option<bool> {
        if self.accept_words(&[Keyword::Null, Keyword::On, Keyword::Null]) {
            return Some(false);
        }
        self.accept_words(&[Keyword::Absent, Keyword::On, Keyword::Null]).then_some(true)
    }

    /// Parses RETURNING JSON, if it stands here.
    fn returning_json(&mut self) -> Parsed<bool> {
        if !self.accept_word(Keyword::Returning) {
            return Ok(false);
        }
        self.expect_word(Keyword::Json).map(|()| true)
    }
}

/// Returns the end of the function's name. The default, which differs between objects and arrays, has none.
fn suffix(object: bool, absent: Option<bool>) -> &'static str {
    match absent {
        Some(true) if object => " ABSENT ON NULL",
        Some(false) if !object => " NULL ON NULL",
        _ => "",
    }
}

fn returned(value: Expr, as_json: bool) -> Expr {
    match as_json {
        true => Expr::Cast {
            value: Box::new(value),
            sql_type: SqlType::Json,
            bare: true,
            style: None,
            lenient: false,
        },
        false => value,
    }
}

/// Makes `CASE WHEN COUNT(*) > 0 THEN '[' + ISNULL(STRING_AGG(piece, ',') WITHIN GROUP (…), '') + ']' END`.
fn joined_pieces(piece: Expr, order: Vec<OrderItem>, [open, close]: [&str; 2]) -> Expr {
    let text = |value: &str| Expr::Literal(Literal::Text { value: value.to_owned(), unicode: true });
    let aggregate = |name: &str, arguments, star, within_group| {
        Expr::Function(Box::new(FunctionCall {
            name: name.to_owned(),
            database: None,
            schema: None,
            arguments,
            star,
            distinct: false,
            over: None,
            within_group,
            ignores_nulls: false,
        }))
    };
    let rows = aggregate("COUNT_BIG", Vec::new(), true, Vec::new());
    let zero = Box::new(Expr::Literal(Literal::Integer("0".to_owned())));
    let is_there = Expr::Compare(Box::new(rows), Comparison::Greater, zero);
    let joined = aggregate("STRING_AGG", vec![piece, text(",")], false, order);
    let joined = function("ISNULL", vec![joined, text("")]);
    let add = |left, right| Expr::Binary(Box::new(left), BinaryOperator::Concatenate, Box::new(right));
    let whole = add(add(text(open), joined), text(close));
    Expr::Case { operand: None, branches: vec![(is_there, whole)], otherwise: None }
}
