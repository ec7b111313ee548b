//! CREATE SCHEMA with the objects that it makes.

use super::{Parsed, Parser};
use crate::administration::{Administration, SecurableClass};
use crate::ast::{CreateMode, Statement, StatementKind};
use crate::keywords::Keyword;
use crate::names::{ObjectName, same_name};
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses the rest of CREATE SCHEMA. The tables and views behind the name are made in it. Errors: 2759 for those of
    /// another schema.
    pub(crate) fn create_schema(&mut self) -> Parsed<StatementKind> {
        // A schema may be named after its owner alone.
        let owner_alone = self.accept_word(Keyword::Authorization);
        let name = self.name()?;
        if !owner_alone && self.accept_word(Keyword::Authorization) {
            self.name()?;
        }
        let mut elements = Vec::new();
        while let Some(mut element) = self.schema_element()? {
            settle(&mut element, &name)?;
            elements.push(element);
        }
        Ok(StatementKind::CreateSchema { name, elements })
    }

    /// Parses the rest of ALTER SCHEMA.
    pub(crate) fn alter_schema(&mut self) -> Parsed<StatementKind> {
        let schema = self.name()?;
        self.expect_bare("TRANSFER")?;
        if self.is_symbol_ahead(1, "::") {
            let class = self.any_word()?;
            self.expect_symbol("::")?;
            if class == "TYPE" {
                self.refuse("ALTER SCHEMA … TRANSFER TYPE");
            } else if class != "OBJECT" {
                return Err(self.unexpected());
            }
        } else if self.accept_bare("XML SCHEMA COLLECTION") {
            self.expect_symbol("::")?;
            self.refuse("ALTER SCHEMA … TRANSFER XML SCHEMA COLLECTION");
        }
        Ok(StatementKind::TransferObject { schema, name: self.local_name()? })
    }

    fn schema_element(&mut self) -> Parsed<Option<Statement>> {
        let (start, line) = (self.at, self.line());
        let kind = if self.accept_words(&[Keyword::Create, Keyword::Table]) {
            self.create_table()?
        } else if self.is_word(Keyword::Create) && self.is_word_ahead(1, Keyword::View) {
            self.advance();
            self.module_from(start, CreateMode::Create)?
        } else if [Keyword::Grant, Keyword::Deny, Keyword::Revoke].iter().any(|word| self.is_word(*word)) {
            StatementKind::Administration(Box::new(Administration::Permission(self.permission()?)))
        } else {
            return Ok(None);
        };
        Ok(Some(Statement { line, kind }))
    }
}

/// Puts what an element makes into the schema.
fn settle(element: &mut Statement, schema: &str) -> Parsed<()> {
    let line = element.line;
    let own = |name: &mut ObjectName| {
        if name.database.is_some() || name.schema.as_ref().is_some_and(|other| !same_name(other, schema)) {
            let error = SqlError::new(2759, 16, 0, "CREATE SCHEMA failed due to previous errors.");
            return Err(error.at_line(line));
        }
        name.schema = Some(schema.to_owned());
        Ok(())
    };
    match &mut element.kind {
        StatementKind::CreateTable(create) => own(&mut create.name),
        StatementKind::CreateModule(create) => own(&mut create.name),
        StatementKind::Administration(statement) => match statement.as_mut() {
            Administration::Permission(permission) => match &mut permission.securable {
                Some((SecurableClass::Object, name)) if name.schema.is_none() => {
                    name.schema = Some(schema.to_owned());
                    Ok(())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
