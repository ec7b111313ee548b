//! CREATE TRIGGER, ENABLE TRIGGER and DISABLE TRIGGER.

use super::{Parsed, Parser};
use crate::ast::{AlterAction, ModuleBody, StatementKind};
use crate::keywords::Keyword;
use crate::module::TriggerEvents;
use crate::names::ObjectName;

impl Parser<'_> {
    /// Parses the definition of a trigger after its name.
    pub(crate) fn trigger_definition(&mut self) -> Parsed<ModuleBody> {
        self.expect_word(Keyword::On)?;
        let wide = self.at_wide_trigger();
        let table = match wide {
            true => {
                self.trigger_scope()?;
                ObjectName::default()
            }
            false => self.local_name()?,
        };
        if self.accept_word(Keyword::With) {
            self.trigger_options()?;
        }
        let instead = if self.accept_words(&[Keyword::Instead, Keyword::Of]) {
            true
        } else {
            if !self.accept_word(Keyword::For) {
                self.expect_word(Keyword::After)?;
            }
            false
        };
        let events = match wide {
            true => {
                self.clause("ddl_events")?;
                TriggerEvents::default()
            }
            false => self.trigger_events()?,
        };
        self.accept_words(&[Keyword::With, Keyword::Append]);
        self.accept_words(&[Keyword::Not, Keyword::For, Keyword::Replication]);
        self.expect_word(Keyword::As)?;
        if self.external_body("external_method", "CREATE TRIGGER … EXTERNAL NAME")? {
            return Ok(ModuleBody::Trigger { table, instead, events, statements: Vec::new() });
        }
        let statements = self.body()?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        Ok(ModuleBody::Trigger { table, instead, events, statements })
    }

    /// Parses `INSERT, UPDATE, DELETE`.
    fn trigger_events(&mut self) -> Parsed<TriggerEvents> {
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
                return Ok(events);
            }
        }
    }

    /// Parses `option, …` of a trigger. ENCRYPTION and SCHEMABINDING hide and guard the text; neither changes what it does.
    fn trigger_options(&mut self) -> Parsed<()> {
        loop {
            if self.is_word(Keyword::Execute) || self.is_word(Keyword::Exec) {
                self.refuse("EXECUTE AS of a trigger");
                self.module_executor()?;
            } else if self.accept_bare("NATIVE_COMPILATION") {
                self.refuse("NATIVE_COMPILATION");
            } else if !self.accept_bare("ENCRYPTION") && !self.accept_bare("SCHEMABINDING") {
                return Err(self.unexpected());
            }
            if !self.accept_symbol(",") {
                return Ok(());
            }
        }
    }

    /// Returns true where DATABASE or ALL SERVER stands in the place of a trigger's table.
    fn at_wide_trigger(&self) -> bool {
        self.is_word(Keyword::Database)
            || self.is_word(Keyword::All) && self.is_word_ahead(1, Keyword::Server)
    }

    /// Parses `DATABASE` or `ALL SERVER`. The statement is refused when it runs.
    pub(crate) fn trigger_scope(&mut self) -> Parsed<()> {
        self.refuse("A DDL or logon trigger");
        if self.accept_word(Keyword::Database) {
            return Ok(());
        }
        self.expect_word(Keyword::All)?;
        self.expect_word(Keyword::Server)
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
        let table = match self.at_wide_trigger() {
            true => {
                self.trigger_scope()?;
                ObjectName::default()
            }
            false => self.local_name()?,
        };
        Ok(StatementKind::AlterTable { table, check: None, action })
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
