//! FOR JSON and FOR XML.

use super::{Parsed, Parser};
use crate::for_clause::{ForClause, ForJson, ForXml, XmlShape};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses FOR JSON or FOR XML, if one follows. Errors: 13620 for ROOT with WITHOUT_ARRAY_WRAPPER, 40515 for
    /// EXPLICIT and schemas.
    pub(super) fn for_clause(&mut self) -> Parsed<Option<ForClause>> {
        if self.accept_words(&[Keyword::For, Keyword::Json]) {
            return self.for_json().map(|clause| Some(ForClause::Json(clause)));
        }
        if self.accept_words(&[Keyword::For, Keyword::Xml]) {
            return self.for_xml().map(|clause| Some(ForClause::Xml(clause)));
        }
        Ok(None)
    }

    fn for_json(&mut self) -> Parsed<ForJson> {
        let mut clause = ForJson { auto: self.accept_word(Keyword::Auto), ..ForJson::default() };
        if !clause.auto {
            self.expect_word(Keyword::Path)?;
        }
        while self.accept_symbol(",") {
            if self.accept_word(Keyword::Root) {
                clause.root = Some(self.name_in_parentheses("root")?);
            } else if self.accept_word(Keyword::IncludeNullValues) {
                clause.include_nulls = true;
            } else {
                self.expect_word(Keyword::WithoutArrayWrapper)?;
                clause.without_wrapper = true;
            }
        }
        if clause.root.is_some() && clause.without_wrapper {
            let text = "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of these options.";
            return Err(SqlError::new(13620, 16, 1, text).at_line(self.line()));
        }
        Ok(clause)
    }

    fn for_xml(&mut self) -> Parsed<ForXml> {
        let mut clause =
            ForXml { shape: XmlShape::Auto, elements: false, nil: false, root: None, typed: false };
        if self.accept_word(Keyword::Raw) {
            clause.shape = XmlShape::Raw(self.name_in_parentheses("row")?);
        } else if self.accept_word(Keyword::Path) {
            clause.shape = XmlShape::Path(self.name_in_parentheses("row")?);
            clause.elements = true;
        } else if self.accept_word(Keyword::Explicit) {
            self.refuse("FOR XML EXPLICIT");
        } else {
            self.expect_word(Keyword::Auto)?;
        }
        while self.accept_symbol(",") {
            if self.accept_word(Keyword::Root) {
                clause.root = Some(self.name_in_parentheses("root")?);
            } else if self.accept_word(Keyword::Type) {
                clause.typed = true;
            } else if self.accept_word(Keyword::Elements) {
                clause.elements = true;
                clause.nil = self.accept_word(Keyword::Xsinil);
                if !clause.nil {
                    self.accept_word(Keyword::Absent);
                }
            } else if self.is_word(Keyword::Xmldata) || self.is_word(Keyword::Xmlschema) {
                self.refuse("A schema in FOR XML");
                let named = self.is_word(Keyword::Xmlschema);
                self.advance();
                if named && self.accept_symbol("(") {
                    self.literal_text()?;
                    self.expect_symbol(")")?;
                }
            } else {
                // Binary values are always written in base 64.
                self.expect_word(Keyword::Binary)?;
                self.expect_word(Keyword::Base64)?;
            }
        }
        Ok(clause)
    }

    /// Parses `('name')`, or returns the default.
    fn name_in_parentheses(&mut self, otherwise: &str) -> Parsed<String> {
        if !self.accept_symbol("(") {
            return Ok(otherwise.to_string());
        }
        let Some(TokenKind::Text { value, .. }) = self.kind().cloned() else { return Err(self.unexpected()) };
        self.advance();
        self.expect_symbol(")")?;
        Ok(value)
    }
}
