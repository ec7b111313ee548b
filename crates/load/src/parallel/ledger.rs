//! The ledger records which rows of a load are committed, in the transactions that commit them.
//!
//! It has three tables in the target's database. A load has a row in `bulkwire_loads` and one for each source in
//! `bulkwire_load_sources`; each transaction adds its rows' numbers to `bulkwire_load_chunks`. A run that takes a load over
//! raises the load's epoch. A commit with an older epoch is refused, so a run that was thought dead cannot add rows any more.

use std::{ops::Range, sync::OnceLock, thread, time::Instant};

use tds::{Isolation, Value};

use super::{
    ledger_place::{LedgerPlace, LoadState, state},
    ledger_target::LedgerTarget,
    ledger_twin,
    ledger_value::{READING, first_row, first_row_of, number, text},
    ranges::RowRanges,
};
use crate::{
    client::Client,
    error::Error,
    retry::{RetryPolicy, transient, transient_connecting},
    table_name::{TableName, literal},
    value_table::ValueTable,
};

/// The error by which a commit is refused whose epoch is over.
const TAKEN_OVER: i32 = 50_901;
/// The error by which a load is not done whose table was replaced meanwhile.
const TARGET_REPLACED: i32 = 50_902;

/// The identity of a load: its name, its target and its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadIdentity {
    /// The name of the load; at most 128 characters.
    pub load_id: String,
    /// The table that the rows go to.
    pub target: TableName,
    /// The effect on existing rows: append, replace, upsert and so on.
    pub mode: String,
    /// The sources of the load, in order.
    pub sources: Vec<SourceIdentity>,
    /// The command that continues the load, as the program that began it words it; empty if nothing does.
    pub command: String,
    /// A person chose the load's name, and so may load the same data once more under another one.
    pub is_named: bool,
}

/// A source, as the next run recognises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceIdentity {
    /// The name of the source.
    pub name: String,
    /// Changes when the source changes, such as size and time of a file. Empty if nothing is known before the source is read.
    /// Rows that were committed before are compared in any case.
    pub fingerprint: String,
}

/// A load that has been entered into the ledger, and what was committed before.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(super) place: LedgerPlace,
    pub(super) identity: LoadIdentity,
    pub(super) epoch: i32,
    state: LoadState,
    rows: u64,
    sources: Vec<Vec<CommittedChunk>>,
    /// The rule by which rows belong to lanes, as text. It stays for the whole load.
    lane_rule: OnceLock<String>,
    /// The table that the load began with, and that of its name now.
    pub(super) target: LedgerTarget,
}

/// Rows that one transaction committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChunk {
    /// The numbers of the rows in the source, including refused ones.
    pub rows: Range<u64>,
    /// The lane whose rows they are: others of these numbers are elsewhere. `None`: all rows of these numbers.
    pub lane: Option<usize>,
    /// The numbers of those among them that were refused before they were sent. Numbers without a row are not among them.
    pub refused: RowRanges,
    /// The number of its rows that went into the table.
    pub row_count: u64,
    /// CRC-32 of their encoded bytes.
    pub checksum: u32,
}

impl Ledger {
    /// Enters a load, or takes over the one of this name. A finished load whose sources have changed begins again.
    ///
    /// # Errors
    /// [`Error::LedgerMismatch`] if the load of this name is not done and has another target, mode or source.
    /// [`Error::UnfinishedTwin`] if a load of another name has committed rows of the same data and is not done.
    /// [`Error::TargetChanged`] if it is done and the table of its target's name is another one.
    /// [`Error::LedgerDamaged`] if the ledger contradicts itself.
    pub fn open(client: &mut Client, place: LedgerPlace, identity: LoadIdentity) -> Result<Self, Error> {
        client.check_transaction()?;
        if client.in_transaction() {
            let place = "inside a transaction, which has one connection";
            return Err(Error::NotAlone { wish: "a ledger", place });
        }
        loop {
            match Self::enter(client, &place, &identity)? {
                Entered::New(ledger) => return Ok(*ledger),
                Entered::Continued { state: LoadState::Loading, target } => {
                    return Self::take_over(client, place, identity, target);
                }
                Entered::Continued { state: LoadState::Done, target } => {
                    let sources = vec![Vec::new(); identity.sources.len()];
                    let (state, lane_rule) = (LoadState::Done, OnceLock::new());
                    let done = Self { place, identity, epoch: 0, state, rows: 0, sources, lane_rule, target };
                    done.refuse_other_table()?;
                    return Ok(done);
                }
                Entered::Outdated => {
                    place.forget(client, &identity.load_id)?;
                }
            }
        }
    }

    /// Returns the load's name.
    pub fn load_id(&self) -> &str {
        &self.identity.load_id
    }

    /// Returns the state of the load when the ledger was opened.
    pub fn state(&self) -> LoadState {
        self.state
    }

    /// Rows that were committed before.
    pub fn rows_before(&self) -> u64 {
        self.rows + self.sources.iter().flatten().map(|chunk| chunk.row_count).sum::<u64>()
    }

    /// Rows that were refused among those that are not loaded again, as far as the ledger has them: a finished load's are forgotten.
    pub fn refused_before(&self) -> u64 {
        self.sources.iter().flatten().map(|chunk| chunk.refused.rows()).sum()
    }

    /// Returns the chunks of a source that were committed before, in the source's order.
    pub fn committed(&self, source: usize) -> &[CommittedChunk] {
        self.sources.get(source).map_or(&[], Vec::as_slice)
    }

    /// Returns the chunks of one lane, or those of all rows.
    pub(super) fn committed_in(&self, source: usize, lane: Option<usize>) -> Vec<&CommittedChunk> {
        self.committed(source).iter().filter(|chunk| chunk.lane == lane).collect()
    }

    /// Returns the numbers of the rows of a source that are not loaded again, if they were refused.
    pub fn settled_refusals(&self, source: usize) -> RowRanges {
        let all = self.committed(source).iter();
        all.flat_map(|chunk| match chunk.lane {
            None => std::slice::from_ref(&chunk.rows),
            Some(_) => chunk.refused.ranges(),
        })
        .cloned()
        .collect()
    }

    /// Returns true if the rows of the load go by lane.
    pub fn has_lanes(&self) -> bool {
        self.lane_rule.get().is_some()
    }

    /// Returns the rule by which rows belong to lanes, if the load has one.
    pub(super) fn lane_rule(&self) -> Option<&str> {
        self.lane_rule.get().map(String::as_str)
    }

    /// Enters the rule by which rows belong to lanes, before any row is committed by it.
    ///
    /// # Errors
    /// The statement fails, as it does if another run has taken the load over.
    pub(super) fn enter_lane_rule(&self, client: &mut Client, rule: &str) -> Result<(), Error> {
        let Self { place, identity, epoch, .. } = self;
        client.execute(&format!(
            "UPDATE {loads} SET lanes = {rule} WHERE load_id = {id} AND epoch = {epoch} AND is_done = 0; \
             IF @@ROWCOUNT <> 1 THROW {TAKEN_OVER}, N'another run of the load has taken over', 1",
            loads = place.loads(),
            rule = literal(rule),
            id = literal(&identity.load_id),
        ))?;
        // Nobody else has set it: a load of this ledger begins once.
        let _ = self.lane_rule.set(rule.to_owned());
        Ok(())
    }

    /// Makes the error of a load that cannot be continued as it began.
    pub(super) fn mismatch(&self, difference: &str) -> Error {
        Error::LedgerMismatch { load_id: self.identity.load_id.clone(), difference: difference.to_owned() }
    }

    /// Writes the statement that enters committed rows, for the transaction that commits them.
    pub(crate) fn entry(&self, source: usize, chunk: &CommittedChunk) -> String {
        let CommittedChunk { rows: Range { start, end }, row_count, checksum, lane, refused } = chunk;
        let lane = lane.map_or("NULL".to_owned(), |lane| lane.to_string());
        let refused = if refused.is_empty() { "NULL".to_owned() } else { literal(&refused.to_text()) };
        let Self { place, identity, epoch, .. } = self;
        // The lock on the load's row is held until the end, so that the epoch cannot be raised in between. Its sums show whether
        // entries have been lost.
        format!(
            "UPDATE {loads} WITH (ROWLOCK) SET chunk_count = chunk_count + 1, chunk_rows = chunk_rows + {row_count} \
             WHERE load_id = {id} AND epoch = {epoch} AND is_done = 0; \
             IF @@ROWCOUNT <> 1 THROW {TAKEN_OVER}, N'another run of the load has taken over', 1; \
             INSERT INTO {chunks} (load_id, source, first_row, end_row, row_count, checksum, committed, lane, refused) \
             VALUES ({id}, {source}, {start}, {end}, {row_count}, {checksum}, SYSUTCDATETIME(), {lane}, {refused})",
            chunks = place.chunks(),
            loads = place.loads(),
            id = literal(&identity.load_id),
        )
    }

    /// Returns true if rows that begin at `first_row` are entered. Runs in the transaction that would load them. It
    /// waits for an attempt whose end was not heard, which then cannot commit the rows afterwards.
    pub(super) fn has(&self, client: &mut Client, source: usize, first_row: u64) -> Result<bool, Error> {
        let found = client.query_values(&format!(
            "SELECT COUNT_BIG(*) FROM {} WITH (UPDLOCK, HOLDLOCK) WHERE load_id = {} AND source = {source} AND first_row = {first_row}",
            self.place.chunks(),
            literal(&self.identity.load_id),
        ))?;
        match first_row_of(&found)? {
            [count] => Ok(number(count)? > 0),
            _ => Err(Error::unexpected(READING, "other columns than were asked for")),
        }
    }

    /// Statements that mark the load as done, to be run in the transaction that completes it. They fail if another run has taken
    /// the load over.
    pub fn done_statements(&self) -> String {
        let Self { place, identity, epoch, .. } = self;
        format!(
            "UPDATE {loads} SET is_done = 1, ended = SYSUTCDATETIME(), row_count = row_count + chunk_rows, \
             chunk_rows = 0, chunk_count = 0, target_object = OBJECT_ID({target}) \
             WHERE load_id = {id} AND epoch = {epoch} AND is_done = 0; \
             IF @@ROWCOUNT <> 1 THROW {TAKEN_OVER}, N'another run of the load has taken over', 1; \
             DELETE FROM {chunks} WHERE load_id = {id}",
            loads = place.loads(),
            chunks = place.chunks(),
            target = identity.target.object_literal(),
            id = literal(&identity.load_id),
        )
    }

    /// Returns the statement that fails if the rows' table has been replaced by another of its name since the load began.
    fn same_table_statement(&self) -> String {
        let Self { place, identity, .. } = self;
        format!(
            "IF EXISTS (SELECT 1 FROM {loads} WHERE load_id = {id} AND target_object <> COALESCE(OBJECT_ID({target}), 0)) \
             THROW {TARGET_REPLACED}, N'another table has taken the place of the one that the load began with', 1; ",
            loads = place.loads(),
            id = literal(&identity.load_id),
            target = identity.target.object_literal(),
        )
    }

    /// Marks a load as done whose rows are all committed.
    ///
    /// # Errors
    /// [`Error::Unnoted`] if a statement fails, and the error does not pass while the policy is patient: the rows stay.
    pub fn finish(&self, client: &mut Client, retry: RetryPolicy) -> Result<(), Error> {
        let statements = format!("{}{}", self.same_table_statement(), self.done_statements());
        let done = self.finish_by(client, retry, &mut |client| {
            client.begin(Isolation::Current)?;
            client.commit_after(&statements)
        });
        let load_id = || self.identity.load_id.clone();
        done.map(drop)
            .map_err(|error| Error::Unnoted { load_id: load_id(), source: Box::new(error.without_doubt()) })
    }

    /// Ends the load by a step that runs [`done_statements`](Self::done_statements) in its transaction. After a transient error
    /// the step is tried again, unless the load is done meanwhile: then an answer was lost, and the result is `None`.
    ///
    /// # Errors
    /// The step fails, and the error does not pass while the policy is patient. A doubt stays until the ledger was read.
    pub fn finish_by<T>(
        &self,
        client: &mut Client,
        retry: RetryPolicy,
        finish: &mut dyn FnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let started = Instant::now();
        let mut tries = 0;
        let mut doubt = None;
        loop {
            let error = match self.try_to_finish(client, &mut doubt, finish) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let may_pass = transient(&error).is_some() || transient_connecting(&error).is_some();
            if !may_pass || started.elapsed() >= retry.patience {
                return Err(doubt.unwrap_or(error));
            }
            if error.is_in_doubt() {
                doubt = Some(error);
            }
            tries += 1;
            thread::sleep(retry.wait(tries));
        }
    }

    /// `doubt` is how an earlier answer was lost, until the ledger says that the load is not done.
    fn try_to_finish<T>(
        &self,
        client: &mut Client,
        doubt: &mut Option<Error>,
        finish: &mut dyn FnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if client.is_broken() {
            *client = client.sibling()?;
        }
        if doubt.is_some() && self.is_done(client)? {
            return Ok(None);
        }
        *doubt = None;
        let done = finish(client);
        if done.is_err() && !client.is_broken() {
            client.rollback()?;
        }
        done.map(Some)
    }

    /// Makes a ledger that remembers chunks of one source, without a server.
    #[cfg(test)]
    pub(super) fn remembering(mut committed: Vec<CommittedChunk>, lane_rule: Option<String>) -> Self {
        committed.sort_by_key(|chunk| chunk.rows.start);
        let target = TableName { database: None, schema: None, name: "t".to_owned() };
        let (load_id, mode, command) = ("l".to_owned(), "append".to_owned(), String::new());
        Self {
            place: LedgerPlace::current("dbo"),
            identity: LoadIdentity { load_id, target, mode, sources: Vec::new(), command, is_named: true },
            epoch: 1,
            state: LoadState::Loading,
            rows: 0,
            sources: vec![committed],
            lane_rule: lane_rule.map_or_else(OnceLock::new, OnceLock::from),
            target: LedgerTarget::default(),
        }
    }

    /// Returns true if the load is noted as done.
    pub(crate) fn is_done(&self, client: &mut Client) -> Result<bool, Error> {
        let found = client.query_values(&format!(
            "SELECT is_done FROM {} WITH (READCOMMITTEDLOCK) WHERE load_id = {}",
            self.place.loads(),
            literal(&self.identity.load_id),
        ))?;
        Ok(first_row(&found).and_then(|row| row.first()).map(state).transpose()? == Some(LoadState::Done))
    }

    /// Enters the load, or finds the one of its name: one request.
    fn enter(client: &mut Client, place: &LedgerPlace, identity: &LoadIdentity) -> Result<Entered, Error> {
        let LoadIdentity { load_id, target, mode, sources, command, .. } = identity;
        let id = literal(load_id);
        let (loads, load_sources) = (place.loads(), place.load_sources());
        let values = sources.iter().enumerate().map(|(number, SourceIdentity { name, fingerprint })| {
            format!("({id}, {number}, {}, {})", literal(name), literal(fingerprint))
        });
        let mut insert_sources = String::new();
        // As many rows as one VALUES may have.
        for values in values.collect::<Vec<_>>().chunks(1000) {
            insert_sources += &format!(
                "INSERT INTO {load_sources} (load_id, source, name, fingerprint) VALUES {};\n",
                values.join(", ")
            );
        }
        let tables = client.query_values(&format!(
            "{create}DECLARE @new int = 0, @twin nvarchar(128) = NULL;\n{twin}\
             BEGIN TRY BEGIN TRANSACTION;\n\
             INSERT INTO {loads} (load_id, epoch, target, mode, is_done, row_count, started, command, target_object, \
             chunk_count, chunk_rows) \
             SELECT {id}, 1, {target}, {mode}, 0, 0, SYSUTCDATETIME(), {command}, OBJECT_ID({object}), 0, 0 \
             WHERE @twin IS NULL AND NOT EXISTS (SELECT 1 FROM {loads} WITH (UPDLOCK, HOLDLOCK) WHERE load_id = {id});\n\
             SET @new = @@ROWCOUNT;\n\
             IF @new = 1 BEGIN {insert_sources} END;\n\
             COMMIT TRANSACTION; END TRY \
             BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK TRANSACTION; THROW; END CATCH;\n\
             SELECT @new AS new, target, mode, is_done, target_object, OBJECT_ID({object}) AS object_now, target_rows \
             FROM {loads} WHERE load_id = {id};\n\
             SELECT name, fingerprint FROM {load_sources} WHERE load_id = {id} ORDER BY source;\n\
             SELECT @twin AS twin",
            twin = ledger_twin::statement(place, identity),
            create = place.create_statements(),
            target = literal(&target.to_string()),
            object = target.object_literal(),
            mode = literal(mode),
            command = literal(command),
        ))?;
        let [loads, sources, twin] = tables.as_slice() else {
            return Err(Error::unexpected(READING, "other results than were asked for"));
        };
        if let (true, Some([twin @ Value::String(_)])) =
            (loads.rows.is_empty(), twin.rows.first().map(Vec::as_slice))
        {
            return Err(Error::UnfinishedTwin { load_id: text(twin)? });
        }
        let Some([Value::Int(new), target, mode, done, began_with, now, rows]) =
            loads.rows.first().map(Vec::as_slice)
        else {
            return Err(Error::unexpected(READING, "other columns than were asked for"));
        };
        let found = LedgerTarget::of(began_with, now, rows)?;
        if *new == 1 {
            let sources = vec![Vec::new(); identity.sources.len()];
            let (place, identity) = (place.clone(), identity.clone());
            let (state, lane_rule) = (LoadState::Loading, OnceLock::new());
            let ledger =
                Self { place, identity, epoch: 1, state, rows: 0, sources, lane_rule, target: found };
            return Ok(Entered::New(Box::new(ledger)));
        }
        let state = state(done)?;
        match (difference(identity, &text(target)?, &text(mode)?, sources)?, state) {
            (None, state) => Ok(Entered::Continued { state, target: found }),
            (Some(_), LoadState::Done) => Ok(Entered::Outdated),
            (Some(difference), LoadState::Loading) => {
                Err(Error::LedgerMismatch { load_id: identity.load_id.clone(), difference })
            }
        }
    }

    /// Raises the epoch of a load that is there, and then reads what it has committed.
    fn take_over(
        client: &mut Client,
        place: LedgerPlace,
        identity: LoadIdentity,
        target: LedgerTarget,
    ) -> Result<Self, Error> {
        let tables = client.query_values(&format!(
            "UPDATE {loads} SET epoch = epoch + 1 WHERE load_id = {id}; \
             SELECT epoch, is_done, row_count, lanes, chunk_count, chunk_rows FROM {loads} WHERE load_id = {id}; \
             SELECT source, first_row, end_row, row_count, checksum, lane, refused FROM {chunks} WITH (READCOMMITTEDLOCK) \
             WHERE load_id = {id} ORDER BY source, first_row",
            id = literal(&identity.load_id),
            loads = place.loads(),
            chunks = place.chunks(),
        ))?;
        let [loads, chunks] = tables.as_slice() else {
            return Err(Error::unexpected(READING, "other results than were asked for"));
        };
        let Some([Value::Int(epoch), done, rows, lanes, chunk_count, chunk_rows]) =
            loads.rows.first().map(Vec::as_slice)
        else {
            return Err(Error::unexpected(READING, "other columns than were asked for"));
        };
        let mut committed = vec![Vec::new(); identity.sources.len()];
        for row in &chunks.rows {
            let [source, start, end, row_count, checksum, lane, refused] = row.as_slice() else {
                return Err(Error::unexpected(READING, "other columns than were asked for"));
            };
            let source = usize::try_from(number(source)?).ok().and_then(|source| committed.get_mut(source));
            let Some(source) = source else {
                return Err(Error::unexpected(READING, "rows of a source that the load does not have"));
            };
            source.push(CommittedChunk {
                rows: number(start)?..number(end)?,
                row_count: number(row_count)?,
                checksum: u32::try_from(number(checksum)?)
                    .map_err(|_| Error::unexpected(READING, "a checksum out of range"))?,
                lane: match lane {
                    Value::Null => None,
                    lane => usize::try_from(number(lane)?).ok(),
                },
                refused: match refused {
                    Value::Null => RowRanges::default(),
                    refused => RowRanges::of_text(&text(refused)?)
                        .ok_or(Error::unexpected(READING, "a list that is none of row numbers"))?,
                },
            });
        }
        let all = committed.iter().flatten();
        let found = (all.clone().count() as u64, all.map(|chunk| chunk.row_count).sum::<u64>());
        let entered = (number(chunk_count)?, number(chunk_rows)?);
        if found != entered {
            let what = format!(
                "{} has {} of {} entries and {} of {} rows",
                place.chunks(),
                found.0,
                entered.0,
                found.1,
                entered.1
            );
            return Err(Error::LedgerDamaged { load_id: identity.load_id, what });
        }
        let (epoch, state, rows) = (*epoch, state(done)?, number(rows)?);
        let lane_rule = match lanes {
            Value::Null => OnceLock::new(),
            lanes => OnceLock::from(text(lanes)?),
        };
        Ok(Self { place, identity, epoch, state, rows, sources: committed, lane_rule, target })
    }
}

enum Entered {
    New(Box<Ledger>),
    /// The load of this name is this one.
    Continued {
        state: LoadState,
        target: LedgerTarget,
    },
    /// The load of this name is done, and this one is another.
    Outdated,
}

/// Describes the first difference between this load and the one in the ledger.
fn difference(
    identity: &LoadIdentity,
    target: &str,
    mode: &str,
    sources: &ValueTable,
) -> Result<Option<String>, Error> {
    let LoadIdentity { target: own_target, mode: own_mode, sources: own_sources, .. } = identity;
    if own_target.to_string().to_lowercase() != target.to_lowercase() {
        return Ok(Some(format!("its target is {target}")));
    }
    if own_mode != mode {
        return Ok(Some(format!("its mode is {mode}")));
    }
    if own_sources.len() != sources.rows.len() {
        return Ok(Some(format!("it has {} sources", sources.rows.len())));
    }
    for (own, row) in own_sources.iter().zip(&sources.rows) {
        let [name, fingerprint] = row.as_slice() else {
            return Err(Error::unexpected(READING, "other columns than were asked for"));
        };
        let (name, fingerprint) = (text(name)?, text(fingerprint)?);
        if own.name != name {
            return Ok(Some(format!("it reads {name} where this one reads {}", own.name)));
        }
        if own.fingerprint != fingerprint {
            return Ok(Some(format!("{name} has changed since it began")));
        }
    }
    Ok(None)
}
