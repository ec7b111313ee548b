//! INSERT BULK, as every bulk client spells it: any case and spacing, `with(` without a space, hints in any order.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{BulkColumn, BulkHints, InsertBulk, StatementKind};

impl Parser<'_> {
    /// After `INSERT BULK`.
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
        let hints = if self.accept_word("WITH") { self.bulk_hints()? } else { BulkHints::default() };
        Ok(StatementKind::InsertBulk(InsertBulk { table, columns, hints }))
    }

    fn bulk_column(&mut self) -> Parsed<BulkColumn> {
        let name = self.name()?;
        let sql_type = self.sql_type(TypePlace::Declaration)?;
        let collation = if self.accept_word("COLLATE") { Some(self.collation()?) } else { None };
        let nullable = if self.accept_words(&["NOT", "NULL"]) {
            Some(false)
        } else {
            self.accept_word("NULL").then_some(true)
        };
        Ok(BulkColumn { name, sql_type, collation, nullable })
    }

    fn bulk_hints(&mut self) -> Parsed<BulkHints> {
        let mut hints = BulkHints::default();
        self.expect_symbol("(")?;
        loop {
            if self.accept_word("ORDER") {
                hints.order = self.ordered_columns()?;
            } else if self.accept_word("CHECK_CONSTRAINTS") {
                hints.check_constraints = true;
            } else if self.accept_word("FIRE_TRIGGERS") {
                hints.fire_triggers = true;
            } else if self.accept_word("KEEP_NULLS") {
                hints.keep_nulls = true;
            } else if self.accept_word("TABLOCK") {
                hints.table_lock = true;
            } else if self.accept_word("ALLOW_ENCRYPTED_VALUE_MODIFICATIONS") {
                hints.allow_encrypted_value_modifications = true;
            } else if self.accept_word("ROWS_PER_BATCH") {
                self.expect_symbol("=")?;
                hints.rows_per_batch = Some(self.unsigned()?);
            } else if self.accept_word("KILOBYTES_PER_BATCH") {
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
