//! Checks that the table of a continued load is still the one that it began with.

use std::sync::OnceLock;

use tds::Value;

use super::{
    ledger::Ledger,
    ledger_value::{READING, first_row_of, number},
};
use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    report::{grouped, row_words},
    table_name::literal,
};

/// The table of a load, by the server's number for it.
#[derive(Debug, Clone, Default)]
pub(super) struct LedgerTarget {
    /// The table that the load began with; none if it was not there then.
    began_with: OnceLock<i32>,
    /// The table of this name when the ledger was opened.
    now: Option<i32>,
    /// Rows that it had before, where nobody else changes it.
    rows: OnceLock<u64>,
    /// Set once this run has compared the table.
    is_checked: OnceLock<()>,
}

/// The facts about the table of a load that goes straight into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetFacts<'a> {
    /// The table, as the catalogue describes it.
    pub(crate) table: &'a TableDescription,
    /// Nobody else changes it.
    pub(crate) is_alone: bool,
    /// True if the table is empty when the load begins.
    pub(crate) begins_empty: bool,
    /// Every row that is sent is a row of the table.
    pub(crate) is_exact: bool,
}

impl LedgerTarget {
    pub(super) fn of(began_with: &Value, now: &Value, rows: &Value) -> Result<Self, Error> {
        let object = |value: &Value| match value {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number)),
            _ => Err(Error::unexpected(READING, "a table's number that is none")),
        };
        let rows = match rows {
            Value::Null => OnceLock::new(),
            rows => OnceLock::from(number(rows)?),
        };
        Ok(Self {
            began_with: object(began_with)?.map_or_else(OnceLock::new, OnceLock::from),
            now: object(now)?,
            rows,
            is_checked: OnceLock::new(),
        })
    }
}

impl Ledger {
    /// Refuses a table of the load's name that is not the load's.
    pub(super) fn refuse_other_table(&self) -> Result<(), Error> {
        match (self.target.began_with.get(), self.target.now) {
            (Some(_), None) => Err(self.other_table("it is gone".to_owned())),
            (Some(before), Some(now)) if *before != now => {
                Err(self.other_table("the table of this name has been made since".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Compares the table with what the ledger says of it, before rows go into the table itself, and notes what the next run will
    /// compare. Without committed rows any table will do.
    ///
    /// # Errors
    /// [`Error::TargetChanged`] if rows are missing that the ledger says are committed, and those of the statements.
    pub(crate) fn check_target(&self, client: &mut Client, facts: &TargetFacts<'_>) -> Result<(), Error> {
        if self.target.is_checked.get().is_some() {
            return Ok(());
        }
        match self.rows_before() {
            0 => self.note_target(client, facts)?,
            committed => self.compare_target(client, facts, committed)?,
        }
        let _ = self.target.is_checked.set(());
        Ok(())
    }

    /// Compares the table with the rows that are committed.
    fn compare_target(
        &self,
        client: &mut Client,
        facts: &TargetFacts<'_>,
        committed: u64,
    ) -> Result<(), Error> {
        self.refuse_other_table()?;
        if !facts.is_exact {
            return Ok(());
        }
        let before = if facts.begins_empty { Some(0) } else { self.target.rows.get().copied() };
        let least = before.unwrap_or_default().saturating_add(committed);
        let is_alone = facts.is_alone && before.is_some();
        // The catalogue's number is an estimate: it may show that there are enough rows, and not that there are too few.
        if !is_alone && facts.table.rows >= least {
            return Ok(());
        }
        let found = self.count(client)?;
        if found == least || (!is_alone && found > least) {
            return Ok(());
        }
        let (noun, verb) = row_words(committed);
        let others = match before {
            Some(before @ 1..) => format!(" beside {} that were there before", grouped(before)),
            _ => String::new(),
        };
        Err(self.other_table(format!(
            "{} {noun} {verb} committed{others}, and it has {} now",
            grouped(committed),
            grouped(found)
        )))
    }

    /// Notes the table that the load begins with, and its rows where nobody else changes them.
    fn note_target(&self, client: &mut Client, facts: &TargetFacts<'_>) -> Result<(), Error> {
        let rows = match (facts.is_alone, self.target.rows.get()) {
            (true, None) if facts.begins_empty => Some(0),
            (true, None) => Some(self.count(client)?),
            _ => None,
        };
        let is_known = self.target.began_with.get().is_some()
            && self.target.began_with.get() == self.target.now.as_ref();
        if is_known && rows.is_none() {
            return Ok(());
        }
        let Self { place, identity, epoch, .. } = self;
        let object = format!("OBJECT_ID({})", identity.target.object_literal());
        let rows_text = rows.map_or("target_rows".to_owned(), |rows| rows.to_string());
        let found = client.query_values(&format!(
            "UPDATE {loads} SET target_object = {object}, target_rows = {rows_text} \
             WHERE load_id = {id} AND epoch = {epoch} AND is_done = 0; SELECT {object} AS object_now",
            loads = place.loads(),
            id = literal(&identity.load_id),
        ))?;
        if let [Value::Int(object)] = first_row_of(&found)? {
            let _ = self.target.began_with.set(*object);
        }
        if let Some(rows) = rows {
            let _ = self.target.rows.set(rows);
        }
        Ok(())
    }

    /// Counts the table's rows, after waiting for an earlier run that is being rolled back.
    fn count(&self, client: &mut Client) -> Result<u64, Error> {
        let found = client.query_values(&format!(
            "SELECT COUNT_BIG(*) FROM {} WITH (READCOMMITTEDLOCK)",
            self.identity.target
        ))?;
        match first_row_of(&found)? {
            [count] => number(count),
            _ => Err(Error::unexpected(READING, "other columns than were asked for")),
        }
    }

    fn other_table(&self, what: String) -> Error {
        Error::TargetChanged {
            load_id: self.identity.load_id.clone(),
            table: self.identity.target.to_string(),
            what,
        }
    }
}
