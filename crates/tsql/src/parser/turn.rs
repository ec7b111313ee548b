//! PIVOT and UNPIVOT, after the source that they turn.

use super::{Parsed, Parser};
use crate::expression::Expr;
use crate::keywords::Keyword;
use crate::query::TableSource;

impl Parser<'_> {
    /// Parses any number of PIVOT and UNPIVOT behind a source.
    pub(crate) fn turned(&mut self, mut source: TableSource) -> Parsed<TableSource> {
        for _ in 0..super::DEPTH_MAX {
            source = if self.accept_word(Keyword::Pivot) {
                self.pivot(source)?
            } else if self.accept_word(Keyword::Unpivot) {
                self.unpivot(source)?
            } else {
                return Ok(source);
            };
        }
        Err(self.too_deep())
    }

    /// Parses `(SUM(v) FOR c IN ([1], [2])) AS p`.
    fn pivot(&mut self, source: TableSource) -> Parsed<TableSource> {
        self.expect_symbol("(")?;
        let Expr::Function(aggregate) = self.expression()? else { return Err(self.unexpected()) };
        self.expect_word(Keyword::For)?;
        let mut column = self.name()?;
        while self.accept_symbol(".") {
            column = self.name()?;
        }
        self.expect_word(Keyword::In)?;
        let values = self.names_in_parentheses()?;
        self.expect_symbol(")")?;
        let alias = self.turned_alias()?;
        Ok(TableSource::Pivot { source: Box::new(source), aggregate: *aggregate, column, values, alias })
    }

    /// Parses `(v FOR name IN (a, b)) AS u`.
    fn unpivot(&mut self, source: TableSource) -> Parsed<TableSource> {
        self.expect_symbol("(")?;
        let value = self.name()?;
        self.expect_word(Keyword::For)?;
        let name = self.name()?;
        self.expect_word(Keyword::In)?;
        let columns = self.names_in_parentheses()?;
        self.expect_symbol(")")?;
        let alias = self.turned_alias()?;
        Ok(TableSource::Unpivot { source: Box::new(source), value, name, columns, alias })
    }

    fn turned_alias(&mut self) -> Parsed<String> {
        self.accept_word(Keyword::As);
        self.name()
    }
}
