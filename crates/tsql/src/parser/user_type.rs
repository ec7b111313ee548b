//! CREATE TYPE and DROP TYPE.

use tds::SqlType;

use super::index::OptionPlace;
use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{CreateTable, StatementKind};
use crate::keywords::Keyword;
use crate::user_type::{CreateType, TypeBody};

impl Parser<'_> {
    /// Parses the rest of CREATE TYPE.
    pub(crate) fn create_type(&mut self) -> Parsed<StatementKind> {
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
            if self.accept_word(Keyword::With) {
                self.refuse("A memory-optimized table type");
                self.index_settings(OptionPlace::SetTable)?;
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
        } else if self.external_body("external_type", "CREATE TYPE … EXTERNAL NAME")? {
            TypeBody::Alias { sql_type: SqlType::Int, nullable: true }
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, body })))
    }
}
