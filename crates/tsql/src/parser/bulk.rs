//! INSERT BULK, as every bulk client spells it: any case and spacing, `with(` without a space, hints in any order.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{BulkColumn, BulkHints, InsertBulk, StatementKind};
use crate::keywords::Keyword;

impl Parser<'_> {
    /// Parses the rest of `INSERT BULK`.
    pub(crate) fn insert_bulk(&mut self) -> Parsed<StatementKind> {
        let table = self.object_name()?;
        self.expect_symbol("(")?;
        let mut columns = Vec::new();
        loop {
            columns.push(self.bulk_column()?);
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        let hints = if self.accept_word(Keyword::With) { self.bulk_hints()? } else { BulkHints::default() };
        Ok(StatementKind::InsertBulk(InsertBulk { table, columns, hints }))
    }

    fn bulk_column(&mut self) -> Parsed<BulkColumn> {
        let name = self.name()?;
        let sql_type = self.sql_type(TypePlace::Declaration)?;
        let collation = if self.accept_word(Keyword::Collate) { Some(self.collation()?) } else { None };
        let nullable = if self.accept_words(&[Keyword::Not, Keyword::Null]) {
            Some(false)
        } else {
            self.accept_word(Keyword::Null).then_some(true)
        };
        Ok(BulkColumn { name, sql_type, collation, nullable })
    }

    fn bulk_hints(&mut self) -> Parsed<BulkHints> {
        let mut hints = BulkHints::default();
        self.expect_symbol("(")?;
        loop {
            if self.accept_word(Keyword::Order) {
                hints.order = self.ordered_columns()?;
            } else if self.accept_word(Keyword::CheckConstraints) {
                hints.check_constraints = true;
            } else if self.accept_word(Keyword::FireTriggers) {
                hints.fire_triggers = true;
            } else if self.accept_word(Keyword::KeepNulls) {
                hints.keep_nulls = true;
            } else if self.accept_word(Keyword::Tablock) {
                hints.table_lock = true;
            } else if self.accept_word(Keyword::AllowEncryptedValueModifications) {
                hints.allow_encrypted_value_modifications = true;
            } else if self.accept_word(Keyword::RowsPerBatch) {
                self.expect_symbol("=")?;
                hints.rows_per_batch = Some(self.unsigned()?);
            } else if self.accept_word(Keyword::KilobytesPerBatch) {
                self.expect_symbol("=")?;
                hints.kilobytes_per_batch = Some(self.unsigned()?);
            } else {
                return Err(self.unexpected());
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(hints)
    }
}
