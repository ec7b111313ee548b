//! Partition functions, partition schemes, and the partitions that statements name.

use super::types::TypePlace;
use super::{Parsed, Parser};
use crate::ast::{AlterAction, StatementKind};
use crate::expression::Expr;
use crate::file_group::{DEFAULT_GROUP, WrittenGroup};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::partition::{
    CreatePartitionFunction, LockEscalation, PartitionSpan, PartitionStatement, SwitchRows, WrittenScheme,
};
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses the rest of CREATE PARTITION.
    pub(crate) fn create_partition(&mut self) -> Parsed<StatementKind> {
        if self.accept_word(Keyword::Function) {
            return self.create_partition_function();
        }
        self.expect_word(Keyword::Scheme)?;
        let name = self.name()?;
        self.expect_word(Keyword::As)?;
        self.expect_word(Keyword::Partition)?;
        let function = self.name()?;
        let all = self.accept_word(Keyword::All);
        self.expect_word(Keyword::To)?;
        self.expect_symbol("(")?;
        let mut groups = vec![self.written_group()?];
        while self.accept_symbol(",") {
            groups.push(self.written_group()?);
        }
        self.expect_symbol(")")?;
        Ok(partition(PartitionStatement::CreateScheme { name, function, all, groups }))
    }

    fn create_partition_function(&mut self) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect_symbol("(")?;
        if self.is_symbol(")") {
            let text = "Empty Partition function type-parameter-list is not allowed when defining a partition function.";
            return Err(SqlError::new(7702, 16, 1, text).at_line(self.line()));
        }
        let (mut parameters, mut collation) = (Vec::new(), None);
        loop {
            parameters.push(self.sql_type(TypePlace::Declaration)?);
            if self.accept_word(Keyword::Collate) {
                let named = self.collation()?;
                collation = collation.or(Some(named).filter(|_| parameters.len() == 1));
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        self.expect_word(Keyword::As)?;
        self.expect_word(Keyword::Range)?;
        let right = self.accept_word(Keyword::Right);
        if !right {
            self.accept_word(Keyword::Left);
        }
        self.expect_word(Keyword::For)?;
        self.expect_word(Keyword::Values)?;
        self.expect_symbol("(")?;
        let values = if self.is_symbol(")") { Vec::new() } else { self.expressions()? };
        self.expect_symbol(")")?;
        let create = CreatePartitionFunction { name, parameters, collation, right, values };
        Ok(partition(PartitionStatement::CreateFunction(create)))
    }

    /// Parses the rest of ALTER PARTITION.
    pub(crate) fn alter_partition(&mut self) -> Parsed<StatementKind> {
        if self.accept_word(Keyword::Scheme) {
            let scheme = self.name()?;
            self.expect_word(Keyword::Next)?;
            self.expect_word(Keyword::Used)?;
            let written = self.is_word(Keyword::Primary)
                || matches!(self.kind(), Some(TokenKind::Word(_) | TokenKind::Quoted(_)))
                    && !self.is_reserved();
            let group = if written { Some(self.written_group()?) } else { None };
            return Ok(partition(PartitionStatement::NextUsed { scheme, group }));
        }
        self.expect_word(Keyword::Function)?;
        let function = self.name()?;
        self.expect_symbol("(")?;
        self.expect_symbol(")")?;
        let split = self.accept_word(Keyword::Split);
        if !split {
            self.expect_word(Keyword::Merge)?;
        }
        self.expect_word(Keyword::Range)?;
        self.expect_symbol("(")?;
        let value = if self.is_symbol(")") { None } else { Some(self.expression()?) };
        self.expect_symbol(")")?;
        Ok(partition(match split {
            true => PartitionStatement::Split { function, value },
            false => PartitionStatement::Merge { function, value },
        }))
    }

    /// Parses the rest of DROP PARTITION.
    pub(crate) fn drop_partition(&mut self) -> Parsed<StatementKind> {
        if self.accept_word(Keyword::Function) {
            return Ok(partition(PartitionStatement::DropFunction(self.name()?)));
        }
        self.expect_word(Keyword::Scheme)?;
        Ok(partition(PartitionStatement::DropScheme(self.name()?)))
    }

    fn written_group(&mut self) -> Parsed<WrittenGroup> {
        Ok(Some(self.group_name()?).filter(|name| !name.eq_ignore_ascii_case(DEFAULT_GROUP)))
    }

    /// Parses `(column, …)` after the name of a partition scheme.
    pub(crate) fn scheme_columns(&mut self, name: String) -> Parsed<WrittenScheme> {
        Ok(WrittenScheme { name, columns: self.names_in_parentheses()? })
    }

    /// Parses `[PARTITION n] TO table [PARTITION n]`, after SWITCH.
    pub(crate) fn switch_rows(&mut self) -> Parsed<AlterAction> {
        let from = self.partition_number()?;
        self.expect_word(Keyword::To)?;
        let target = self.local_name()?;
        let to = self.partition_number()?;
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            self.refuse("SWITCH … WITH");
            self.at += 2;
            self.wait_at_low_priority()?;
            self.expect_symbol(")")?;
        }
        Ok(AlterAction::SwitchRows(Box::new(SwitchRows { from, target, to })))
    }

    fn partition_number(&mut self) -> Parsed<Option<Expr>> {
        match self.accept_word(Keyword::Partition) {
            true => self.expression().map(Some),
            false => Ok(None),
        }
    }

    /// Parses the rest of TRUNCATE TABLE.
    pub(crate) fn truncate_table(&mut self) -> Parsed<StatementKind> {
        let table = self.local_name()?;
        let mut partitions = Vec::new();
        if self.is_word(Keyword::With) && self.is_symbol_ahead(1, "(") {
            self.advance();
            self.advance();
            self.expect_word(Keyword::Partitions)?;
            partitions = self.partition_spans()?;
            self.expect_symbol(")")?;
        }
        Ok(StatementKind::TruncateTable { table, partitions })
    }

    /// Parses `(1, 3 TO 5)`.
    pub(crate) fn partition_spans(&mut self) -> Parsed<Vec<PartitionSpan>> {
        self.expect_symbol("(")?;
        let mut spans = Vec::new();
        loop {
            let from = self.expression()?;
            let to = if self.accept_word(Keyword::To) { Some(self.expression()?) } else { None };
            spans.push(PartitionSpan { from, to });
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(spans)
    }

    /// Parses `(LOCK_ESCALATION = …)`, after SET of ALTER TABLE.
    pub(crate) fn lock_escalation(&mut self) -> Parsed<AlterAction> {
        self.expect_symbol("(")?;
        self.expect_word(Keyword::LockEscalation)?;
        self.expect_symbol("=")?;
        let escalation = if self.accept_word(Keyword::Auto) {
            LockEscalation::Auto
        } else if self.accept_word(Keyword::Table) {
            LockEscalation::Table
        } else if self.accept_word(Keyword::Disable) {
            self.refuse("LOCK_ESCALATION = DISABLE");
            LockEscalation::Table
        } else {
            return Err(self.unexpected());
        };
        self.expect_symbol(")")?;
        Ok(AlterAction::LockEscalation(escalation))
    }
}

fn partition(statement: PartitionStatement) -> StatementKind {
    StatementKind::Partition(Box::new(statement))
}
