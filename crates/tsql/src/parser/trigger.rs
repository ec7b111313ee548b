//! CREATE TRIGGER, ENABLE TRIGGER and DISABLE TRIGGER.

use super::{Parsed, Parser};
use crate::ast::{AlterAction, ModuleBody, StatementKind};
use crate::keywords::Keyword;
use crate::module::TriggerEvents;
use crate::sql_error::SqlError;

impl Parser<'_> {
    /// Parses the definition of a trigger after its name.
    pub(crate) fn trigger_definition(&mut self) -> Parsed<ModuleBody> {
        self.expect_word(Keyword::On)?;
        self.refuse_wide_trigger()?;
        let table = self.local_name()?;
        if self.accept_word(Keyword::With) {
            loop {
                if self.accept_word(Keyword::Execute) || self.accept_word(Keyword::Exec) {
                    return Err(SqlError::unsupported("EXECUTE AS of a trigger").at_line(self.line()));
                }
                // ENCRYPTION and SCHEMABINDING hide and guard the text; neither changes what it does.
                self.name()?;
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        let instead = if self.accept_words(&[Keyword::Instead, Keyword::Of]) {
            true
        } else {
            if !self.accept_word(Keyword::For) {
                self.expect_word(Keyword::After)?;
            }
            false
        };
        let mut events = TriggerEvents::default();
        loop {
            if self.accept_word(Keyword::Insert) {
                events.insert = true;
            } else if self.accept_word(Keyword::Update) {
                events.update = true;
            } else {
                self.expect_word(Keyword::Delete)?;
                events.delete = true;
            }
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.accept_words(&[Keyword::With, Keyword::Append]);
        self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]);
        self.expect_word(Keyword::As)?;
        let statements = self.body()?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        Ok(ModuleBody::Trigger { table, instead, events, statements })
    }

    fn refuse_wide_trigger(&self) -> Parsed<()> {
        let wide = self.is_word(Keyword::Database)
            || self.is_word(Keyword::All) && self.is_word_ahead(1, Keyword::Server);
        if wide { Err(SqlError::unsupported("A DDL or logon trigger").at_line(self.line())) } else { Ok(()) }
    }

    /// Returns true if ENABLE TRIGGER or DISABLE TRIGGER begins here.
    pub(crate) fn at_trigger_switch(&self) -> bool {
        (self.is_word(Keyword::Enable) || self.is_word(Keyword::Disable))
            && self.is_word_ahead(1, Keyword::Trigger)
    }

    /// Parses `ENABLE TRIGGER name, … | ALL ON table`.
    pub(crate) fn switch_triggers(&mut self) -> Parsed<StatementKind> {
        let action = self.trigger_switch()?;
        self.expect_word(Keyword::On)?;
        self.refuse_wide_trigger()?;
        Ok(StatementKind::AlterTable { table: self.local_name()?, check: None, action })
    }

    /// Parses `ENABLE TRIGGER name, … | ALL`, also of ALTER TABLE.
    pub(crate) fn trigger_switch(&mut self) -> Parsed<AlterAction> {
        let enabled = self.is_word(Keyword::Enable);
        self.advance();
        self.expect_word(Keyword::Trigger)?;
        if self.accept_word(Keyword::All) {
            return Ok(AlterAction::SwitchTriggers { names: None, enabled });
        }
        let mut names = vec![self.local_name()?.name];
        while self.accept_symbol(",") {
            names.push(self.local_name()?.name);
        }
        Ok(AlterAction::SwitchTriggers { names: Some(names), enabled })
    }
}
