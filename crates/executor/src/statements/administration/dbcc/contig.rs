//! DBCC SHOWCONTIG.

use databases::catalogue::{TableDefinition, same_name};
use databases::storage::Figures;
use databases::waiting::waiting;
use introspection::system_views::{View, by_index};
use query::Datum;
use store::{PageStatistics, ScanDetail};
use tsql::SqlError;
use tsql::administration::Dbcc;

use crate::session::Session;
use crate::session::output::Output;
use crate::session::work::Place;
use crate::session::work::directory;
use crate::statements::administration::dbcc;
use crate::statements::administration::dbcc::Argument;
use crate::statements::evaluation::answer;

const TABLE_RESULTS: &[(&str, &str)] = &[
    ("ObjectName", "nvarchar(128)"),
    ("ObjectId", "int"),
    ("IndexName", "nvarchar(128)"),
    ("IndexId", "int"),
    ("Level", "int"),
    ("Pages", "bigint"),
    ("Rows", "bigint"),
    ("MinimumRecordSize", "int"),
    ("MaximumRecordSize", "int"),
    ("AverageRecordSize", "float"),
    ("ForwardedRecords", "int"),
    ("Extents", "int"),
    ("ExtentSwitches", "bigint"),
    ("AverageFreeBytes", "float"),
    ("AveragePageDensity", "float"),
    ("ScanDensity", "float"),
    ("BestCount", "bigint"),
    ("ActualCount", "bigint"),
    ("LogicalFragmentation", "float"),
    ("ExtentFragmentation", "float"),
];

/// The leaf of one index, or a heap.
struct Shown {
    table: String,
    object_id: i32,
    index: Option<String>,
    index_id: i32,
    is_heap: bool,
    pages: PageStatistics,
}

pub async fn run(
    session: &mut Session,
    dbcc: &Dbcc,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let fast = dbcc.has("FAST");
    let detail = if fast { ScanDetail::Limited } else { ScanDetail::Detailed };
    let tables = match arguments.first() {
        Some(table) => vec![dbcc::table_named(session, table)?],
        None => {
            let tables = session.work.view().tables()?.into_iter();
            tables.filter(|table| same_name(&table.definition.database, &session.database)).collect()
        }
    };
    let index = match arguments.get(1) {
        Some(Argument::Number(id)) => Some(*id),
        Some(Argument::Name(name)) => {
            let definition = tables.first().map(|table| &table.definition);
            let id = definition.and_then(|table| id_of_index(table, name));
            Some(id.ok_or_else(|| {
                let table = definition.map_or("", |table| table.name.as_str());
                let text = format!(
                    "Cannot find a row in the system catalog with the index ID {name} for table \"{table}\"."
                );
                SqlError::new(2591, 16, 1, text)
            })?)
        }
        Some(Argument::Null) | None => None,
    };
    let all = dbcc.has("ALL_INDEXES");
    let mut shown = Vec::new();
    let figures = session.instance.store().figures();
    for table in tables.iter().filter(|table| table.place == Place::Shared) {
        if let Some(figures) = figures.of(&table.definition.database) {
            shown.extend(waiting(|| leaves(figures, &table.definition, detail))?);
        }
    }
    shown.retain(|shown| {
        all || match index {
            Some(id) => i64::from(shown.index_id) == id,
            None => shown.index_id <= 1,
        }
    });
    if dbcc.has("TABLERESULTS") {
        let mut view = View::new(TABLE_RESULTS);
        shown.iter().for_each(|shown| view.push(row(shown, fast)));
        return dbcc::rows(session, &view, output).await;
    }
    let directory = directory::of(&session.work)?;
    let database_id = directory.database(&session.database).map_or(0, |database| database.id);
    for shown in &shown {
        for line in report(shown, database_id, fast) {
            answer::inform(session, SqlError::new(0, 0, 1, line), output).await;
        }
    }
    Ok(None)
}

fn id_of_index(table: &TableDefinition, name: &str) -> Option<i64> {
    let keys = table.keys.iter().map(|key| (&key.name, key.index_id));
    let indexes = table.indexes.iter().map(|index| (&index.name, index.index_id));
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    keys.chain(indexes).find(|(own, _)| same_name(own, bare)).map(|(_, id)| i64::from(id))
}

fn leaves(figures: &Figures, table: &TableDefinition, detail: ScanDetail) -> Result<Vec<Shown>, SqlError> {
    let is_heap = figures.table(table).is_some_and(|pages| pages.clustered.is_none());
    let mut leaves = Vec::new();
    for (row, units) in by_index(figures, table, detail)? {
        let leaf = units.into_iter().find(|unit| unit.level == 0 && unit.unit_kind == "IN_ROW_DATA");
        leaves.extend(leaf.map(|pages| Shown {
            table: table.name.clone(),
            object_id: table.object_id,
            index: row.name.map(str::to_string),
            index_id: row.id,
            is_heap: is_heap && row.id <= 1,
            pages,
        }));
    }
    Ok(leaves)
}

/// Makes a row of the result; with FAST the figures that need a look at the leaves are NULL.
fn row(shown: &Shown, fast: bool) -> Vec<Datum> {
    let pages = &shown.pages;
    let count = |value: u64| Datum::Int(value as i64);
    let contents = pages.contents.as_ref();
    let of = |value: Option<Datum>| value.unwrap_or(Datum::Null);
    vec![
        Datum::Text(shown.table.clone()),
        Datum::Int(i64::from(shown.object_id)),
        of(shown.index.clone().map(Datum::Text)),
        Datum::Int(i64::from(shown.index_id)),
        Datum::Int(0),
        count(pages.pages),
        of(contents.map(|contents| count(contents.records))),
        of(contents.map(|contents| count(contents.least_record_bytes))),
        of(contents.map(|contents| count(contents.longest_record_bytes))),
        of(contents.map(|contents| Datum::Float(contents.mean_record_bytes))),
        of(contents.map(|contents| count(contents.forwarded_records))),
        if fast { Datum::Null } else { count(pages.extents) },
        count(pages.extent_switches),
        of(contents.map(|contents| Datum::Float(contents.mean_free_bytes))),
        of(contents.map(|contents| Datum::Float(contents.density_percent))),
        Datum::Float(pages.scan_density_percent()),
        count(pages.best_count()),
        count(pages.actual_count()),
        Datum::Float(logical(shown)),
        if fast { Datum::Null } else { Datum::Float(pages.extent_fragmentation_percent) },
    ]
}

/// Pages of a heap have no order to be out of.
fn logical(shown: &Shown) -> f64 {
    if shown.is_heap { 0.0 } else { shown.pages.fragmentation_percent }
}

/// Writes the lines of the printed form.
fn report(shown: &Shown, database_id: i32, fast: bool) -> Vec<String> {
    let pages = &shown.pages;
    let mut lines = vec![
        format!("DBCC SHOWCONTIG scanning '{}' table...", shown.table),
        format!(
            "Table: '{}' ({}); index ID: {}, database ID: {database_id}",
            shown.table, shown.object_id, shown.index_id
        ),
        if shown.index_id <= 1 { "TABLE level scan performed." } else { "LEAF level scan performed." }
            .to_string(),
        format!("- Pages Scanned................................: {}", pages.pages),
    ];
    if !fast {
        let mean = pages.pages as f64 / pages.extents.max(1) as f64;
        lines.push(format!("- Extents Scanned..............................: {}", pages.extents));
        lines.push(format!("- Extent Switches..............................: {}", pages.extent_switches));
        lines.push(format!("- Avg. Pages per Extent........................: {mean:.1}"));
    } else {
        lines.push(format!("- Extent Switches..............................: {}", pages.extent_switches));
    }
    lines.push(format!(
        "- Scan Density [Best Count:Actual Count].......: {:.2}% [{}:{}]",
        pages.scan_density_percent(),
        pages.best_count(),
        pages.actual_count()
    ));
    if !shown.is_heap {
        lines.push(format!("- Logical Scan Fragmentation ..................: {:.2}%", logical(shown)));
    }
    if let Some(contents) = &pages.contents {
        lines.push(format!(
            "- Extent Scan Fragmentation ...................: {:.2}%",
            pages.extent_fragmentation_percent
        ));
        lines.push(format!(
            "- Avg. Bytes Free per Page.....................: {:.1}",
            contents.mean_free_bytes
        ));
        lines.push(format!(
            "- Avg. Page Density (full).....................: {:.2}%",
            contents.density_percent
        ));
    }
    lines
}
