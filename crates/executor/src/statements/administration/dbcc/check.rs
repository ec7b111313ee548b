//! DBCC CHECKDB, CHECKTABLE and CHECKALLOC: findings of a structural check as SQL Server's messages.

use databases::catalogue::{DatabaseEntry, TableDefinition, same_name, store_key};
use databases::instance::message;
use databases::storage::{Figures, Reads, file_id, page_text};
use databases::store_error::store_error;
use databases::waiting::waiting;
use introspection::system_views::{View, index_id_of, partition_id, space_of};
use query::Datum;
use store::{EngineError, Finding, FindingKind};
use tsql::SqlError;
use tsql::administration::Dbcc;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, StatementDone, command};
use crate::session::work::reads;
use crate::session::work::{OpenTable, Place};
use crate::statements::administration::dbcc;
use crate::statements::administration::dbcc::Argument;
use crate::statements::evaluation::answer;

/// The columns of WITH TABLERESULTS.
const TABLE_RESULTS: &[(&str, &str)] = &[
    ("Error", "int"),
    ("Level", "int"),
    ("State", "int"),
    ("MessageText", "nvarchar(2048)"),
    ("RepairLevel", "nvarchar(60)"),
    ("Status", "int"),
    ("DbId", "int"),
    ("DbFragId", "int"),
    ("ObjectId", "int"),
    ("IndexId", "int"),
    ("PartitionId", "bigint"),
    ("AllocUnitId", "bigint"),
    ("RidDbId", "int"),
    ("RidPruId", "int"),
    ("File", "int"),
    ("Page", "int"),
    ("Slot", "int"),
    ("RefDbId", "int"),
    ("RefPruId", "int"),
    ("RefFile", "int"),
    ("RefPage", "int"),
    ("RefSlot", "int"),
    ("Allocation", "int"),
];

/// Options that the commands know.
const OPTIONS: &[&str] = &[
    "ALL_ERRORMSGS",
    "DATA_PURITY",
    "ESTIMATEONLY",
    "EXTENDED_LOGICAL_CHECKS",
    "MAXDOP",
    "NO_INFOMSGS",
    "PHYSICAL_ONLY",
    "TABLERESULTS",
    "TABLOCK",
];

/// A message, and what it is about.
struct Message {
    number: i32,
    class: u8,
    text: String,
    /// The finding that the message reports.
    finding: Option<Finding>,
    object_id: i32,
    index_id: i32,
    partition: i64,
}

impl Message {
    fn new(number: i32, class: u8, text: impl Into<String>) -> Message {
        Message { number, class, text: text.into(), finding: None, object_id: 0, index_id: 0, partition: 0 }
    }
}

/// Errors of one table, or of none.
#[derive(Default)]
struct Count {
    allocation: usize,
    consistency: usize,
}

impl Count {
    fn of<'f>(findings: impl Iterator<Item = &'f Finding>) -> Count {
        let mut count = Count::default();
        for finding in findings {
            // A page's wrong entry about another's space is reported, but is no error.
            match finding.kind {
                FindingKind::FreeSpace => {}
                kind if kind.is_allocation() => count.allocation += 1,
                FindingKind::UnreadablePage => count.consistency += 2,
                _ => count.consistency += 1,
            }
        }
        count
    }

    fn is_zero(&self) -> bool {
        self.allocation + self.consistency == 0
    }
}

pub async fn run(
    session: &mut Session,
    dbcc: &Dbcc,
    arguments: &[Argument],
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if dbcc.options.iter().any(|option| !OPTIONS.contains(&option.as_str())) {
        let text = "One or more WITH options specified are not valid for this command.";
        return Err(SqlError::new(2532, 16, 1, text));
    }
    let repairs = |argument: &Argument| match argument {
        Argument::Name(name) => name.to_ascii_uppercase().starts_with("REPAIR_"),
        _ => false,
    };
    if arguments.iter().skip(1).any(repairs) {
        let text = "Repair statement not processed. Database needs to be in single user mode.";
        return Err(SqlError::new(7919, 16, 3, text));
    }
    if session.work.depth() > 0 {
        let text = format!(
            "Cannot perform a {} operation inside a user transaction. Terminate the transaction and reissue the statement.",
            dbcc.command
        );
        return Err(SqlError::new(8920, 16, 1, text));
    }
    let messages = match (dbcc.command.as_str(), arguments.first()) {
        ("CHECKTABLE", Some(table)) => {
            let table = dbcc::table_named(session, table)?;
            check_table(session, &table)?
        }
        ("CHECKTABLE", None) => {
            let text = "An incorrect number of parameters was given to the DBCC statement.";
            return Err(SqlError::new(2583, 16, 3, text));
        }
        (name, database) => {
            let database = dbcc::database_named(session, database)?;
            check_database(session, name, &database)?
        }
    };
    tell(session, dbcc, messages, frame, output).await
}

/// Sends messages, or rows if WITH TABLERESULTS asks for them.
async fn tell(
    session: &mut Session,
    dbcc: &Dbcc,
    mut messages: Vec<Message>,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let errors = messages.iter().filter(|message| message.class > 10).count();
    // PHYSICAL_ONLY implies it. Sums are reported if there is anything to sum up.
    if dbcc.has("NO_INFOMSGS") || dbcc.has("PHYSICAL_ONLY") {
        messages.retain(|message| message.class > 10 || (errors > 0 && is_sum(message.number)));
    }
    let last = messages.iter().rfind(|message| message.class > 10).map(|message| message.number);
    let mut rows = None;
    if dbcc.has("TABLERESULTS") {
        let mut view = View::new(TABLE_RESULTS);
        let database = dbcc::database_named(session, None)?;
        messages.iter().for_each(|message| view.push(row(message, database.id)));
        rows = dbcc::rows(session, &view, output).await?;
    } else {
        for message in messages {
            let class = if message.class > 10 { message.class } else { 0 };
            let error = SqlError::new(message.number, class, 1, message.text);
            let message = message::message(error, &session.instance);
            let response = match class {
                0 => Response::Info(message),
                _ => Response::Error(message),
            };
            output.send(response).await;
        }
    }
    done_with(session, dbcc, rows, frame, output, last).await;
    Ok(())
}

async fn done_with(
    session: &mut Session,
    dbcc: &Dbcc,
    rows: Option<u64>,
    frame: &Frame,
    output: &mut Output,
    error: Option<i32>,
) {
    let Some(number) = error.filter(|_| rows.is_none()) else {
        return dbcc::done(session, dbcc, rows, frame, output).await;
    };
    if !dbcc.has("NO_INFOMSGS") && !dbcc.has("PHYSICAL_ONLY") {
        answer::inform(session, dbcc::completed(), output).await;
    }
    session.last.error = number;
    let kind: DoneKind = frame.done_kind();
    let done = StatementDone { kind, command: command::OTHER, count: None, error: true, fatal: false };
    output.send(Response::Done(done)).await;
}

fn check_table(session: &mut Session, table: &OpenTable) -> Result<Vec<Message>, SqlError> {
    let definition = &table.definition;
    let name = shown_name(definition);
    let mut messages = vec![Message::new(2536, 10, format!("DBCC results for '{name}'."))];
    let figures = session.instance.store().figures_of(&definition.database);
    let figures = figures.filter(|_| table.place == Place::Shared);
    let findings = match &figures {
        Some(figures) => match figures.table(definition) {
            Some(pages) => {
                let object = pages.object;
                checked(session, figures, |transaction| transaction.check_table(object))?
            }
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    let describe = Describe { figures: figures.as_ref(), definition: Some(definition) };
    describe.messages(&findings, &mut messages);
    messages.push(rows_message(figures.as_ref(), definition, table.rows, &name));
    if figures.is_none() {
        read_all(session, table, &mut messages);
    }
    let count = Count::of(findings.iter());
    if !count.is_zero() {
        messages.push(sum_of_table("CHECKTABLE", &count, definition));
        let place = format!("{}.{}", definition.database, definition.qualified_name());
        messages.push(repair_level("CHECKTABLE", &place));
    }
    Ok(messages)
}

fn check_database(
    session: &mut Session,
    command: &str,
    database: &DatabaseEntry,
) -> Result<Vec<Message>, SqlError> {
    let mut messages = vec![Message::new(2536, 10, format!("DBCC results for '{}'.", database.name))];
    let figures = session.instance.store().figures_of(&database.name);
    let mut findings = match &figures {
        Some(figures) => checked(session, figures, |transaction| transaction.check_database())?,
        None => Vec::new(),
    };
    if command == "CHECKALLOC" {
        findings.retain(|finding| finding.kind.is_allocation());
    }
    let tables = session.work.view().tables()?;
    let mut tables: Vec<&OpenTable> =
        tables.iter().filter(|table| same_name(&table.definition.database, &database.name)).collect();
    tables.sort_by_key(|table| table.definition.object_id);
    let mut all = Count::default();
    // Findings outside of tables, and in the store's own structures.
    let known: Vec<String> =
        session.work.view().tables()?.iter().map(|table| key_of(&table.definition)).collect();
    let (own, free): (Vec<Finding>, Vec<Finding>) = findings
        .into_iter()
        .partition(|finding| finding.table.as_ref().is_some_and(|table| known.contains(table)));
    if !free.is_empty() {
        Describe { figures: figures.as_ref(), definition: None }.messages(&free, &mut messages);
        let count = Count::of(free.iter());
        all.allocation += count.allocation;
        all.consistency += count.consistency;
        let text = format!(
            "{command} found {} allocation errors and {} consistency errors not associated with any single object.",
            count.allocation, count.consistency
        );
        messages.push(Message::new(8954, 10, text));
    }
    for table in tables {
        let definition = &table.definition;
        let key = key_of(definition);
        let of_table: Vec<Finding> =
            own.iter().filter(|finding| finding.table.as_ref() == Some(&key)).cloned().collect();
        let name = shown_name(definition);
        if command == "CHECKDB" {
            messages.push(Message::new(2536, 10, format!("DBCC results for '{name}'.")));
        }
        Describe { figures: figures.as_ref(), definition: Some(definition) }
            .messages(&of_table, &mut messages);
        if command == "CHECKDB" {
            messages.push(rows_message(figures.as_ref(), definition, table.rows, &name));
            if figures.is_none() {
                read_all(session, table, &mut messages);
            }
        }
        let count = Count::of(of_table.iter());
        all.allocation += count.allocation;
        all.consistency += count.consistency;
        if !count.is_zero() {
            messages.push(sum_of_table(command, &count, definition));
        }
    }
    let text = format!(
        "{command} found {} allocation errors and {} consistency errors in database '{}'.",
        all.allocation, all.consistency, database.name
    );
    messages.push(Message::new(8989, 10, text));
    if !all.is_zero() {
        messages.push(repair_level(command, &database.name));
    }
    Ok(messages)
}

/// Runs the engine's check, which waits for its locks as the session does.
fn checked(
    session: &Session,
    figures: &Figures,
    check: impl FnOnce(&mut store::Transaction) -> Result<Vec<Finding>, EngineError>,
) -> Result<Vec<Finding>, SqlError> {
    let mut transaction = figures.engine().begin();
    transaction.set_lock_timeout(session.settings.lock_timeout());
    transaction.set_interrupt(session.cancellation.flag());
    waiting(|| check(&mut transaction)).map_err(|error| store_error(error.into()))
}

/// Checks a table that has no pages: reads all of it, which verifies its checksums.
fn read_all(session: &Session, table: &OpenTable, messages: &mut Vec<Message>) {
    let open = reads::opener(&session.work, table, Reads::Latest);
    let failed = waiting(|| match open(None, None) {
        Ok(scan) => scan.into_iter().find_map(|batch| batch.err().map(|error| error.to_string())),
        Err(error) => Some(error.to_string()),
    });
    if let Some(reason) = failed {
        let id = table.definition.object_id;
        let text = format!(
            "Table error: Object ID {id} has inconsistent metadata. This error cannot be repaired and prevents further processing of this object. ({reason})"
        );
        messages.push(Message { object_id: id, ..Message::new(8901, 16, text) });
    }
}

fn is_sum(number: i32) -> bool {
    matches!(number, 8954 | 8958 | 8989 | 8990)
}

fn key_of(definition: &TableDefinition) -> String {
    store_key(&definition.database, &definition.schema, &definition.name)
}

/// Returns a table's name, with its schema unless that is dbo.
fn shown_name(definition: &TableDefinition) -> String {
    match same_name(&definition.schema, "dbo") {
        true => definition.name.clone(),
        false => definition.qualified_name(),
    }
}

fn rows_message(figures: Option<&Figures>, definition: &TableDefinition, rows: u64, name: &str) -> Message {
    // Maps that cannot be read are among the errors that the check reports beside this.
    let pages = figures
        .and_then(|figures| space_of(figures, figures.table(definition)?, None).ok())
        .map(|space| space.in_row_data);
    let text = format!("There are {rows} rows in {} pages for object \"{name}\".", pages.unwrap_or(0));
    Message { object_id: definition.object_id, ..Message::new(2593, 10, text) }
}

fn sum_of_table(command: &str, count: &Count, definition: &TableDefinition) -> Message {
    let text = format!(
        "{command} found {} allocation errors and {} consistency errors in table '{}' (object ID {}).",
        count.allocation,
        count.consistency,
        shown_name(definition),
        definition.object_id
    );
    Message { object_id: definition.object_id, ..Message::new(8990, 10, text) }
}

fn repair_level(command: &str, place: &str) -> Message {
    let text = format!(
        "repair_allow_data_loss is the minimum repair level for the errors found by DBCC {command} ({place})."
    );
    Message::new(8958, 10, text)
}

/// Findings of one table, or of none, in words.
struct Describe<'a> {
    figures: Option<&'a Figures>,
    definition: Option<&'a TableDefinition>,
}

impl Describe<'_> {
    fn messages(&self, findings: &[Finding], messages: &mut Vec<Message>) {
        for finding in findings {
            let (index_id, partition) = self.index(finding);
            let object_id = self.definition.map_or(0, |table| table.object_id);
            for (number, class, text) in self.texts(finding, object_id, index_id, partition) {
                messages.push(Message {
                    finding: Some(finding.clone()),
                    object_id,
                    index_id,
                    partition,
                    ..Message::new(number, class, text)
                });
            }
        }
    }

    /// Returns index and partition of a finding.
    fn index(&self, finding: &Finding) -> (i32, i64) {
        let found = self.definition.and_then(|definition| {
            let table = self.figures?.table(definition)?;
            let id = index_id_of(definition, table, finding.unit?)?;
            Some((id, partition_id(definition, id)))
        });
        found.unwrap_or((0, 0))
    }

    /// Returns number, class and text of the messages; a page that cannot be read has two.
    fn texts(&self, finding: &Finding, object: i32, index: i32, partition: i64) -> Vec<(i32, u8, String)> {
        let page = page_text(finding.page);
        let slot = finding.slot.unwrap_or(0);
        let reason = &finding.reason;
        let unit = finding.unit.map_or(0, |unit| unit.allocation_unit_id());
        let kind = match finding.unit.map_or(256, |unit| unit.index) {
            257 => "Row-overflow data",
            258 => "LOB data",
            _ => "In-row data",
        };
        let place = format!(
            "Object ID {object}, index ID {index}, partition ID {partition}, alloc unit ID {unit} (type {kind})"
        );
        let name = self.definition.map_or("", |table| table.name.as_str());
        let one = |number: i32, text: String| vec![(number, 16, text)];
        match finding.kind {
            FindingKind::UnreadablePage => vec![
                (
                    8928,
                    16,
                    format!("{place}: Page {page} could not be processed. See other errors for details."),
                ),
                (8939, 16, format!("Table error: {place}, page {page}. Test ({reason}) failed.")),
            ],
            FindingKind::ForeignPage => one(
                2533,
                format!(
                    "Table error: page {page} allocated to {place} was not seen. The page may be invalid or may have an incorrect alloc unit ID in its header. ({reason})"
                ),
            ),
            FindingKind::PageLayout => match finding.slot {
                Some(slot) => one(
                    8941,
                    format!(
                        "Table error: {place}, page {page}. Test ({reason}) failed. Slot {slot} is invalid."
                    ),
                ),
                None => one(8939, format!("Table error: {place}, page {page}. Test ({reason}) failed.")),
            },
            FindingKind::Record => {
                one(2537, format!("Table error: {place}, page {page}. The record check ({reason}) failed."))
            }
            FindingKind::ForwardingStub => one(
                8993,
                format!(
                    "Object ID {object}, forwarding row page {page}, slot {slot}: {reason}. Did not encounter forwarded row. Possible allocation error."
                ),
            ),
            FindingKind::ForwardedRow => one(
                8994,
                format!(
                    "Object ID {object}, forwarded row page {page}, slot {slot}: {reason}. Did not encounter forwarding row. Possible allocation error."
                ),
            ),
            FindingKind::OffRow if finding.slot.is_some() => one(
                8964,
                format!(
                    "Table error: {place}. The off-row data node at page {page}, slot {slot} is not referenced."
                ),
            ),
            FindingKind::OffRow => one(
                8965,
                format!(
                    "Table error: {place}. An off-row data node is referenced by page {page}, but was not seen in the scan. ({reason})"
                ),
            ),
            FindingKind::Tree => one(
                8978,
                format!("Table error: {place}. Page {page}: {reason}. Possible chain linkage problem."),
            ),
            FindingKind::IndexEntries => one(
                8951,
                format!(
                    "Table error: table '{name}' (ID {object}). Data row does not have a matching index row in the index ID {index}: {reason}."
                ),
            ),
            FindingKind::RowCount => one(
                2508,
                format!(
                    "The row count for object \"{name}\", index ID {index}, partition ID {partition}, alloc unit ID {unit} (type {kind}) is incorrect: {reason}."
                ),
            ),
            FindingKind::FreeSpace => vec![(
                8914,
                10,
                format!("Incorrect PFS free space information for page {page} in {place}: {reason}."),
            )],
            FindingKind::Allocation if finding.table.is_some() => {
                one(8904, format!("Extent {page} is allocated by more than one allocation object: {reason}."))
            }
            FindingKind::Allocation => {
                one(8905, format!("Extent {page} is not allocated as its maps say: {reason}."))
            }
        }
    }
}

fn row(message: &Message, database_id: i32) -> Vec<Datum> {
    let int = |value: i32| Datum::Int(i64::from(value));
    let finding = message.finding.as_ref();
    let page = finding.map(|finding| finding.page);
    vec![
        int(message.number),
        int(i32::from(message.class)),
        int(1),
        Datum::Text(message.text.clone()),
        finding.map_or(Datum::Null, |_| Datum::Text("repair_allow_data_loss".to_string())),
        int(0),
        int(database_id),
        int(1),
        int(message.object_id),
        int(message.index_id),
        Datum::Int(message.partition),
        finding
            .and_then(|finding| finding.unit)
            .map_or(Datum::Int(0), |unit| Datum::Int(unit.allocation_unit_id() as i64)),
        int(database_id),
        int(1),
        page.map_or(Datum::Int(0), |page| int(file_id(page.file))),
        page.map_or(Datum::Int(0), |page| Datum::Int(i64::from(page.page))),
        finding.and_then(|finding| finding.slot).map_or(Datum::Int(0), |slot| Datum::Int(i64::from(slot))),
        Datum::Int(0),
        Datum::Int(0),
        Datum::Int(0),
        Datum::Int(0),
        Datum::Int(0),
        Datum::Int(0),
    ]
}
