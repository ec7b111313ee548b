//! Conditions: AND, OR, NOT and the predicates.

use super::expression::refused_value;
use super::{Parsed, Parser};
use crate::errors;
use crate::expression::{Comparison, Expr, Literal};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a condition or an expression: the binder knows which it must be.
    pub(crate) fn condition(&mut self) -> Parsed<Expr> {
        self.level(|parser| {
            let mut terms = vec![parser.conjunction()?];
            while parser.accept_word(Keyword::Or) {
                terms.push(parser.conjunction()?);
            }
            Ok(balanced(terms, Expr::Or))
        })
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let mut terms = vec![self.negation()?];
        while self.accept_word(Keyword::And) {
            terms.push(self.negation()?);
        }
        Ok(balanced(terms, Expr::And))
    }

    fn negation(&mut self) -> Parsed<Expr> {
        if self.accept_word(Keyword::Not) {
            return self.level(|parser| {
                let inner = parser.negation()?;
                parser.higher()?;
                Ok(Expr::Not(Box::new(inner)))
            });
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Parsed<Expr> {
        if let Some(refused) = self.refused_predicate()? {
            return Ok(refused);
        }
        if self.is_word(Keyword::Exists) {
            self.advance();
            self.expect_symbol("(")?;
            let query = self.query()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Exists(Box::new(query)));
        }
        self.beside(Self::comparisons)
    }

    /// Parses a search of texts or of a graph, if one begins here. Its statement is refused when it runs.
    fn refused_predicate(&mut self) -> Parsed<Option<Expr>> {
        let full_text = self.is_word(Keyword::Contains) || self.is_word(Keyword::Freetext);
        let (rule, what) = match () {
            () if !self.is_symbol_ahead(1, "(") => return Ok(None),
            () if full_text => ("fulltext_search", "CONTAINS or FREETEXT"),
            () if self.is_bare_ahead(0, "MATCH") => ("graph_match", "MATCH"),
            () if self.is_word(Keyword::Tsequal) => ("both", "TSEQUAL"),
            () => return Ok(None),
        };
        self.advance();
        self.refused_clause(rule, what)?;
        Ok(Some(refused_value()))
    }

    fn comparisons(&mut self) -> Parsed<Expr> {
        let mut left = self.expression()?;
        let mut compared = false;
        loop {
            // Each comparison stands above the one before it.
            if std::mem::replace(&mut compared, true) {
                self.higher()?;
            }
            self.refuse_old_join()?;
            if let Some(comparison) = self.accept_comparison() {
                left = self.comparison_right(left, comparison)?;
                continue;
            }
            if self.accept_word(Keyword::Is) {
                let negated = self.accept_word(Keyword::Not);
                if self.accept_words(&[Keyword::Distinct, Keyword::From]) {
                    let comparison = if negated { Comparison::NotDistinct } else { Comparison::Distinct };
                    left = Expr::Compare(Box::new(left), comparison, Box::new(self.expression()?));
                    continue;
                }
                self.expect_word(Keyword::Null)?;
                left = Expr::IsNull(Box::new(left), negated);
                continue;
            }
            let negated = self.is_word(Keyword::Not)
                && [Keyword::Between, Keyword::In, Keyword::Like]
                    .iter()
                    .any(|word| self.is_word_ahead(1, *word))
                && self.accept_word(Keyword::Not);
            if self.accept_word(Keyword::Between) {
                let low = Box::new(self.expression()?);
                self.expect_word(Keyword::And)?;
                let high = Box::new(self.expression()?);
                left = Expr::Between { value: Box::new(left), low, high, negated };
            } else if self.accept_word(Keyword::Like) {
                let pattern = Box::new(self.expression()?);
                let escape = self.escape()?.map(Box::new);
                left = Expr::Like { value: Box::new(left), pattern, escape, negated };
            } else if self.accept_word(Keyword::In) {
                left = self.membership(left, negated)?;
            } else if negated {
                return Err(self.unexpected());
            } else {
                return Ok(left);
            }
        }
    }

    /// Parses `ESCAPE character`, also as `{escape character}`, if it stands here.
    fn escape(&mut self) -> Parsed<Option<Expr>> {
        if self.accept_word(Keyword::Escape) {
            return self.expression().map(Some);
        }
        if !(self.is_symbol("{") && self.is_word_ahead(1, Keyword::Escape)) {
            return Ok(None);
        }
        self.at += 2;
        let character = self.expression()?;
        self.expect_symbol("}")?;
        Ok(Some(character))
    }

    /// Refuses the outer joins of before the SQL standard. Error: 4147.
    fn refuse_old_join(&self) -> Parsed<()> {
        let old = self.is_symbol("*=") || self.is_symbol("=") && self.is_symbol_ahead(1, "*");
        if old { Err(errors::OLD_OUTER_JOIN.error().at_line(self.line())) } else { Ok(()) }
    }

    fn accept_comparison(&mut self) -> Option<Comparison> {
        let Some(TokenKind::Symbol(symbol)) = self.kind() else { return None };
        let comparison = match *symbol {
            "=" => Comparison::Equal,
            "<>" | "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" | "!>" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" | "!<" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.advance();
        Some(comparison)
    }

    fn comparison_right(&mut self, left: Expr, comparison: Comparison) -> Parsed<Expr> {
        let all = self.is_word(Keyword::All);
        if (all || self.is_word(Keyword::Any) || self.is_word(Keyword::Some)) && self.is_symbol_ahead(1, "(")
        {
            self.advance();
            self.advance();
            let query = Box::new(self.query()?);
            self.expect_symbol(")")?;
            return Ok(Expr::Quantified { value: Box::new(left), comparison, all, query });
        }
        Ok(Expr::Compare(Box::new(left), comparison, Box::new(self.expression()?)))
    }

    fn membership(&mut self, left: Expr, negated: bool) -> Parsed<Expr> {
        self.expect_symbol("(")?;
        let value = Box::new(left);
        let result = if self.at_query() && !self.at_list_of_queries() {
            Expr::InQuery { value, query: Box::new(self.query()?), negated }
        } else {
            Expr::InList { value, list: self.expressions()?, negated }
        };
        self.expect_symbol(")")?;
        Ok(result)
    }

    /// Returns true if a query begins here, behind any number of parentheses.
    pub(crate) fn at_query(&self) -> bool {
        let mut ahead = 0;
        while self.is_symbol_ahead(ahead, "(") {
            ahead += 1;
        }
        self.is_word_ahead(ahead, Keyword::Select) || (ahead == 0 && self.is_word(Keyword::With))
    }

    /// Returns true if the parenthesised text here is the first of several values.
    fn at_list_of_queries(&self) -> bool {
        let (mut ahead, mut depth) = (0, 0_usize);
        while self.kind_ahead(ahead).is_some() {
            if self.is_symbol_ahead(ahead, "(") {
                depth += 1;
            } else if self.is_symbol_ahead(ahead, ")") {
                depth = depth.saturating_sub(1);
            }
            ahead += 1;
            if depth == 0 {
                return ahead > 1 && self.is_symbol_ahead(ahead, ",");
            }
        }
        false
    }
}

/// Terms joined by AND or OR as a tree that is only as high as it must be: a long chain must not nest deeply.
fn balanced(mut terms: Vec<Expr>, join: fn(Box<Expr>, Box<Expr>) -> Expr) -> Expr {
    while terms.len() > 1 {
        let mut next = Vec::with_capacity(terms.len().div_ceil(2));
        let mut pairs = terms.into_iter();
        while let Some(left) = pairs.next() {
            next.push(match pairs.next() {
                Some(right) => join(Box::new(left), Box::new(right)),
                None => left,
            });
        }
        terms = next;
    }
    terms.pop().unwrap_or(Expr::Literal(Literal::Null))
}
