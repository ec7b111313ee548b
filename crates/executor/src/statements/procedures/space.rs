//! sp_spaceused and sp_estimate_data_compression_savings.

use databases::catalogue::same_name;
use databases::storage::Figures;
use databases::store_error::store_error;
use databases::waiting::waiting;
use introspection::system_views::{View, index_rows, space_of};
use query::Datum;
use store::Compression;
use store::page::PAGE_BYTES;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::errors;
use tsql::parse_object_name;

use crate::session::Session;
use crate::session::output::Output;
use crate::session::work::directory;
use crate::session::work::{OpenTable, Place};
use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::parameters::Signature;
use crate::statements::procedures::show;

const SPACE_USED: Signature = Signature {
    name: "sp_spaceused",
    parameters: &["@objname", "@updateusage", "@mode", "@oneresultset", "@include_total_xtp_storage"],
    required: 0,
};

const SAVINGS: Signature = Signature {
    name: "sp_estimate_data_compression_savings",
    parameters: &[
        "@schema_name",
        "@object_name",
        "@index_id",
        "@partition_number",
        "@data_compression",
        "@xml_compression",
    ],
    required: 4,
};

const DATABASE_SIZE: [(&str, &str); 3] = [
    ("database_name", "nvarchar(128)"),
    ("database_size", "varchar(18)"),
    ("unallocated space", "varchar(18)"),
];

const RESERVED: [(&str, &str); 4] = [
    ("reserved", "varchar(18)"),
    ("data", "varchar(18)"),
    ("index_size", "varchar(18)"),
    ("unused", "varchar(18)"),
];

/// Pages by what `sp_spaceused` shows them as.
#[derive(Default)]
struct Used {
    reserved: u64,
    data: u64,
    index: u64,
}

impl Used {
    fn add(&mut self, figures: &Figures, table: &OpenTable) -> Result<(), SqlError> {
        let Some(pages) = figures.table(&table.definition) else { return Ok(()) };
        let rows = space_of(figures, pages, None)?;
        let of_indexes = index_rows(&table.definition);
        let of_indexes = of_indexes.iter().filter(|row| row.id > 1).filter_map(|row| row.name);
        let (mut used, mut reserved) = (rows.used(), rows.reserved());
        for index in of_indexes {
            let space = space_of(figures, pages, Some(index))?;
            used += space.used();
            reserved += space.reserved();
        }
        // Maps and upper levels count as index.
        let data = rows.in_row_data + rows.lob_used + rows.overflow_used;
        self.reserved += reserved;
        self.data += data;
        self.index += used.saturating_sub(data);
        Ok(())
    }

    fn cells(&self) -> [Datum; 4] {
        let unused = self.reserved.saturating_sub(self.data + self.index);
        [self.reserved, self.data, self.index, unused].map(kilobytes)
    }
}

fn kilobytes(pages: u64) -> Datum {
    Datum::Text(format!("{} KB", pages * PAGE_BYTES as u64 / 1024))
}

fn megabytes(pages: u64) -> Datum {
    Datum::Text(format!("{:.2} MB", pages as f64 * PAGE_BYTES as f64 / 1_048_576.0))
}

/// Shows the space of a table, or of the database. Errors: 15009, 15143, 15250.
pub(crate) async fn show_space(
    session: &mut Session,
    database: Option<&str>,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<(), SqlError> {
    let parameters = SPACE_USED.bind(arguments)?;
    if let Some(usage) = parameters.text(1)
        && !["true", "false"].iter().any(|word| usage.eq_ignore_ascii_case(word))
    {
        let text = format!(
            "'{usage}' is not a valid option for the @updateusage parameter. Enter either 'true' or 'false'."
        );
        return Err(SqlError::new(15143, 11, 1, text));
    }
    let database = database.filter(|name| !name.is_empty()).unwrap_or(&session.database).to_string();
    match parameters.text(0) {
        Some(name) => {
            let view = space_of_table(session, &database, &name)?;
            show::show_view(session, view, output).await
        }
        None => {
            let one = parameters.text(3).is_some_and(|one| one != "0");
            for view in space_of_database(session, &database, one)? {
                show::show_view(session, view, output).await?;
            }
            Ok(())
        }
    }
}

fn space_of_table(session: &Session, database: &str, name: &str) -> Result<View, SqlError> {
    let missing = || {
        let text = format!(
            "The object '{name}' does not exist in database '{database}' or is invalid for this operation."
        );
        SqlError::new(15009, 16, 1, text)
    };
    let wanted = parse_object_name(name).map_err(|_| missing())?;
    if wanted.database.as_deref().is_some_and(|named| !same_name(named, database)) {
        let text =
            "The database name component of the object qualifier must be the name of the current database.";
        return Err(SqlError::new(15250, 16, 1, text));
    }
    let table = session.work.find(&wanted, database)?.ok_or_else(missing)?;
    let mut used = Used::default();
    let figures = session.instance.store().figures_of(&table.definition.database);
    if let Some(figures) = figures.filter(|_| table.place == Place::Shared) {
        waiting(|| used.add(&figures, &table))?;
    }
    let columns: Vec<_> =
        [("name", "nvarchar(128)"), ("rows", "char(20)")].into_iter().chain(RESERVED).collect();
    let mut view = View::new(&columns);
    let mut row =
        vec![Datum::Text(table.definition.name.clone()), Datum::Text(format!("{:<20}", table.rows))];
    row.extend(used.cells());
    view.push(row);
    Ok(view)
}

fn space_of_database(session: &Session, database: &str, one: bool) -> Result<Vec<View>, SqlError> {
    let directory = directory::of(&session.work)?;
    let entry = directory.database(database).ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    let mut used = Used::default();
    let (mut size, mut free) = (0, 0);
    let figures = session.instance.store().figures_of(database);
    if let Some(figures) = figures {
        let tables = session.work.view().tables()?;
        waiting(|| {
            let mut own = tables.iter().filter(|table| same_name(&table.definition.database, database));
            own.try_for_each(|table| used.add(&figures, table))
        })?;
        for file in figures.engine().data_files() {
            size += file.size_pages;
            free += file.free_pages;
        }
        size += figures.engine().log_space().total_bytes.div_ceil(PAGE_BYTES as u64);
    }
    let sizes = vec![Datum::Text(entry.name.clone()), megabytes(size), megabytes(free)];
    if one {
        let columns: Vec<_> = DATABASE_SIZE.into_iter().chain(RESERVED).collect();
        let mut view = View::new(&columns);
        view.push(sizes.into_iter().chain(used.cells()).collect());
        return Ok(vec![view]);
    }
    let (mut first, mut second) = (View::new(&DATABASE_SIZE), View::new(&RESERVED));
    first.push(sizes);
    second.push(used.cells().to_vec());
    Ok(vec![first, second])
}

/// Estimates the size of a table under another compression. Errors: 15009, 15659, 15661.
pub(crate) fn compression_savings(
    session: &Session,
    database: Option<&str>,
    arguments: &[Argument],
) -> Result<View, SqlError> {
    let parameters = SAVINGS.bind(arguments)?;
    let database = database.filter(|name| !name.is_empty()).unwrap_or(&session.database);
    let directory = directory::of(&session.work)?;
    let schema = parameters.text(0).unwrap_or_else(|| "dbo".to_string());
    if directory.database(database).and_then(|entry| entry.schema(&schema)).is_none() {
        let text = format!("The schema '{schema}' specified for parameter schema_name does not exist.");
        return Err(SqlError::new(15659, 16, 1, text));
    }
    let name = parameters.text(1).unwrap_or_default();
    if name.starts_with('#') {
        let text = "Compressing temporary tables is not supported by the stored procedure sp_estimate_data_compression_savings.";
        return Err(SqlError::new(15661, 16, 1, text));
    }
    let wanted =
        ObjectName { database: Some(database.to_string()), schema: Some(schema), name: name.clone() };
    let table = session.work.find(&wanted, database)?.ok_or_else(|| {
        let text = format!(
            "The object '{name}' does not exist in database '{database}' or is invalid for this operation."
        );
        SqlError::new(15009, 16, 1, text)
    })?;
    let compression = parameters.text(4).unwrap_or_else(|| "NONE".to_string());
    let compression: Compression = compression
        .to_ascii_uppercase()
        .parse()
        .map_err(|_| SqlError::unsupported(&format!("DATA_COMPRESSION = {compression}")))?;
    let mut view = View::new(&[
        ("object_name", "sysname!"),
        ("schema_name", "sysname!"),
        ("index_id", "int!"),
        ("partition_number", "int!"),
        ("size_with_current_compression_setting(KB)", "bigint"),
        ("size_with_requested_compression_setting(KB)", "bigint"),
        ("sample_size_with_current_compression_setting(KB)", "bigint"),
        ("sample_size_with_requested_compression_setting(KB)", "bigint"),
    ]);
    let definition = &table.definition;
    let Some(figures) = session.instance.store().figures_of(&definition.database) else { return Ok(view) };
    let Some(pages) = figures.table(definition) else { return Ok(view) };
    let index = parameters.int(2);
    if parameters.int(3).is_some_and(|partition| partition != 1) {
        return Ok(view);
    }
    for row in index_rows(definition) {
        if index.is_some_and(|index| index != i64::from(row.id)) {
            continue;
        }
        let name = row.name.filter(|_| row.id > 1);
        // Indexes that are only declared have no pages.
        if name.is_some_and(|name| pages.index(name).is_none()) {
            continue;
        }
        let estimate = waiting(|| figures.estimate(pages, name, compression))
            .map_err(|error| store_error(error.into()))?;
        let size = |bytes: u64| Datum::Int((bytes / 1024) as i64);
        view.push(vec![
            Datum::Text(definition.name.clone()),
            Datum::Text(definition.schema.clone()),
            Datum::Int(i64::from(row.id)),
            Datum::Int(1),
            size(estimate.current_bytes),
            size(estimate.requested_bytes),
            size(estimate.sample_current_bytes),
            size(estimate.sample_requested_bytes),
        ]);
    }
    Ok(view)
}
