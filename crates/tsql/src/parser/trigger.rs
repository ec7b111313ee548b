//! CREATE TRIGGER, ENABLE TRIGGER and DISABLE TRIGGER.

use super::{Parsed, Parser};
use crate::ast::{AlterAction, ModuleBody, StatementKind};
use crate::module::TriggerEvents;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// After the name.
    pub(crate) fn trigger_definition(&mut self) -> Parsed<ModuleBody> {
        self.expect_word("ON")?;
        self.refuse_wide_trigger()?;
        let table = self.object_name()?;
        if self.accept_word("WITH") {
            loop {
                if self.accept_word("EXECUTE") || self.accept_word("EXEC") {
                    return Err(SqlError::unsupported("EXECUTE AS of a trigger").at_line(self.line()));
                }
                // ENCRYPTION and SCHEMABINDING hide and guard the text; neither changes what it does.
                self.name()?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        let instead = if self.accept_words(&["INSTEAD", "OF"]) {
            true
        } else {
            if !self.accept_word("FOR") {
                self.expect_word("AFTER")?;
            }
            false
        };
        let mut events = TriggerEvents::default();
        loop {
            if self.accept_word("INSERT") {
                events.insert = true;
            } else if self.accept_word("UPDATE") {
                events.update = true;
            } else {
                self.expect_word("DELETE")?;
                events.delete = true;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.accept_words(&["WITH", "APPEND"]);
        self.accept_words(&["NOT", "FOR", "REPLICATION"]);
        self.expect_word("AS")?;
        let statements = self.body()?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        Ok(ModuleBody::Trigger { table, instead, events, statements })
    }

    fn refuse_wide_trigger(&self) -> Parsed<()> {
        let wide = self.is_word("DATABASE") || self.is_word("ALL") && self.is_word_ahead(1, "SERVER");
        if wide { Err(SqlError::unsupported("A DDL or logon trigger").at_line(self.line())) } else { Ok(()) }
    }

    /// Whether ENABLE TRIGGER or DISABLE TRIGGER begins here.
    pub(crate) fn at_trigger_switch(&self) -> bool {
        (self.is_word("ENABLE") || self.is_word("DISABLE")) && self.is_word_ahead(1, "TRIGGER")
    }

    /// `ENABLE TRIGGER name, … | ALL ON table`.
    pub(crate) fn switch_triggers(&mut self) -> Parsed<StatementKind> {
        let action = self.trigger_switch()?;
        self.expect_word("ON")?;
        self.refuse_wide_trigger()?;
        Ok(StatementKind::AlterTable { table: self.object_name()?, check: None, action })
    }

    /// `ENABLE TRIGGER name, … | ALL`, also of ALTER TABLE.
    pub(crate) fn trigger_switch(&mut self) -> Parsed<AlterAction> {
        let enabled = self.is_word("ENABLE");
        self.advance();
        self.expect_word("TRIGGER")?;
        if self.accept_word("ALL") {
            return Ok(AlterAction::SwitchTriggers { names: None, enabled });
        }
        let mut names = vec![self.object_name()?.name];
        while self.accept_symbol(",") {
            names.push(self.object_name()?.name);
        }
        Ok(AlterAction::SwitchTriggers { names: Some(names), enabled })
    }
}
