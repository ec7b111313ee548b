//! Tokens beside the rules of a grammar: the first branch that fits is taken, and what it read is given back if it breaks off.

use super::notation::{Grammar, Leaf, Part};
use crate::lexer::TokenKind;
use crate::parser::{Parsed, Parser};
use crate::sql_error::SqlError;

/// Rules within each other beyond which a text fits none.
const RULES_MAX: usize = 48;

/// A reading by the rules of a grammar.
pub(super) struct Matching<'g> {
    grammar: &'g Grammar,
    /// The token that no branch went beyond.
    furthest: usize,
    /// The error of the parser there, if it is not of the syntax.
    error: Option<SqlError>,
    depth: usize,
}

impl<'g> Matching<'g> {
    /// Begins at a token.
    pub(super) fn new(grammar: &'g Grammar, at: usize) -> Self {
        Matching { grammar, furthest: at, error: None, depth: 0 }
    }

    /// Returns the token that no branch went beyond.
    pub(super) fn furthest(&self) -> usize {
        self.furthest
    }

    /// Returns the error there, unless it is one of the syntax.
    pub(super) fn into_error(self) -> Option<SqlError> {
        self.error
    }

    /// Reads what a rule describes, or nothing.
    pub(super) fn rule(&mut self, parser: &mut Parser<'_>, number: usize) -> bool {
        let Some(part) = self.grammar.rule(number) else { return false };
        self.depth += 1;
        let fits = self.depth <= RULES_MAX && self.part(parser, part);
        self.depth -= 1;
        fits
    }

    fn part(&mut self, parser: &mut Parser<'_>, part: &'g Part) -> bool {
        let start = parser.at;
        let fits = match part {
            Part::Word(word) => self.token(parser, parser.is_bare_ahead(0, word)),
            Part::Symbol(symbol) => self.token(parser, parser.is_symbol(symbol)),
            Part::Leaf(leaf) => self.leaf(parser, *leaf),
            Part::Rule(number) => self.rule(parser, *number),
            Part::Sequence(parts) => parts.iter().all(|part| self.part(parser, part)),
            Part::Choice(branches) => branches.iter().any(|branch| self.part(parser, branch)),
            Part::Optional(part) => {
                self.part(parser, part);
                true
            }
            Part::Several { part, comma, once } => self.several(parser, part, *comma, *once),
        };
        if !fits {
            parser.at = start;
        }
        fits
    }

    /// Takes the current token, if it fits.
    fn token(&mut self, parser: &mut Parser<'_>, fits: bool) -> bool {
        match fits {
            true => parser.advance(),
            false => self.fails_at(parser.at, None),
        }
        fits
    }

    fn fails_at(&mut self, at: usize, error: Option<SqlError>) {
        if at > self.furthest || (at == self.furthest && self.error.is_none()) {
            self.furthest = at;
            self.error = error.filter(|error| !matches!(error.number, 102 | 156));
        }
    }

    fn several(&mut self, parser: &mut Parser<'_>, part: &'g Part, comma: bool, once: bool) -> bool {
        let mut branches: Vec<&'g Part> = match self.branches(part) {
            Some(branches) if once => branches.iter().collect(),
            _ => vec![part],
        };
        let mut count = 0;
        loop {
            let start = parser.at;
            if count > 0 && comma && !parser.accept_symbol(",") {
                self.fails_at(parser.at, None);
                return true;
            }
            let found = branches.iter().position(|branch| self.part(parser, branch));
            let Some(found) = found.filter(|_| parser.at > start) else {
                parser.at = start;
                return count > 0;
            };
            if once {
                branches.remove(found);
            }
            count += 1;
        }
    }

    /// Returns the branches of a choice, which may be that of another rule.
    fn branches(&self, part: &'g Part) -> Option<&'g [Part]> {
        match part {
            Part::Choice(branches) => Some(branches),
            Part::Rule(number) => match self.grammar.rule(*number)? {
                Part::Choice(branches) => Some(branches),
                _ => None,
            },
            _ => None,
        }
    }

    fn leaf(&mut self, parser: &mut Parser<'_>, leaf: Leaf) -> bool {
        let read = match leaf {
            Leaf::Name => parser.name().map(drop),
            Leaf::Object => parser.remote_name().map(drop),
            Leaf::AnyWord => parser.any_word().map(drop),
            Leaf::Text => parser.literal_text().map(drop),
            Leaf::Integer => parser.unsigned().map(drop),
            Leaf::Number => number(parser),
            Leaf::Binary => token(parser, |kind| matches!(kind, TokenKind::Binary(_))),
            Leaf::Variable => parser.variable().map(drop),
            Leaf::Expression => parser.tried(|parser| parser.expression().map(drop)),
            Leaf::Condition => parser.tried(|parser| parser.condition().map(drop)),
            Leaf::Query => parser.tried(|parser| parser.query().map(drop)),
            Leaf::Type => parser.declared_type(1).map(drop),
        };
        match read {
            Ok(()) => true,
            Err(error) => {
                self.fails_at(parser.at, Some(error));
                false
            }
        }
    }
}

fn token(parser: &mut Parser<'_>, fits: fn(&TokenKind) -> bool) -> Parsed<()> {
    if !parser.kind().is_some_and(fits) {
        return Err(parser.unexpected());
    }
    parser.advance();
    Ok(())
}

fn number(parser: &mut Parser<'_>) -> Parsed<()> {
    if !parser.accept_symbol("-") {
        parser.accept_symbol("+");
    }
    token(parser, |kind| {
        matches!(
            kind,
            TokenKind::Integer(_) | TokenKind::Decimal(_) | TokenKind::Float(_) | TokenKind::Money(_)
        )
    })
}
