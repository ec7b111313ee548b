//! CREATE TYPE and DROP TYPE.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{CreateTable, StatementKind};
use crate::keywords::Keyword;
use crate::sql_error::SqlError;
use crate::user_type::{CreateType, TypeBody};

impl Parser<'_> {
    /// Parses the rest of CREATE TYPE.
    pub(crate) fn create_type(&mut self) -> Parsed<StatementKind> {
        let line = self.line();
        let name = self.local_name()?;
        let body = if self.accept_word(Keyword::From) {
            let sql_type = self.sql_type(TypePlace::Declaration)?;
            let nullable = if self.accept_words(&[Keyword::Not, Keyword::Null]) {
                false
            } else {
                self.accept_word(Keyword::Null);
                true
            };
            TypeBody::Alias { sql_type, nullable }
        } else if self.accept_words(&[Keyword::As, Keyword::Table]) {
            self.table.clone_from(&name);
            let (columns, constraints) = self.table_body()?;
            if self.is_word(Keyword::With) {
                return Err(SqlError::unsupported("A memory-optimized table type").at_line(line));
            }
            let table = CreateTable {
                name: name.clone(),
                columns,
                constraints,
                indexes: std::mem::take(&mut self.inline_indexes),
                compression: Default::default(),
                file_groups: Default::default(),
                scheme: None,
            };
            TypeBody::Table(table)
        } else if self.is_word(Keyword::External) {
            return Err(SqlError::unsupported("CREATE TYPE … EXTERNAL NAME").at_line(line));
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, body })))
    }
}
