//! `bcp … out`, `queryout` and `format`.

use load::TableName;
use tds::Column;

use super::arguments::{Job, Layout};
use super::console::Console;
use super::{End, dialogue, layout, session};

/// Runs the copy.
pub fn run(_job: &Job, _console: &Console) -> Result<(), End> {
    Err(End::words("HYC00", "This version writes no data files yet; bulkwire export does."))
}

/// Writes a format file.
pub fn run_format(job: &Job, console: &Console) -> Result<(), End> {
    let mut client = session::connect(job)?;
    let table: TableName = job.source.parse().map_err(|error: load::Error| End::client("37000", error))?;
    let target = client.describe(&table)?;
    let columns: Vec<Column> = target.columns.into_iter().map(|column| column.column).collect();
    let file = match job.layout {
        Layout::Dialogue => dialogue::Dialogue::open(job)?.layout(&columns)?,
        _ => layout::of_letters(job, &columns)?,
    };
    let text = match job.xml {
        true => file.to_xml(&columns).map_err(layout::LayoutError::from)?,
        false => file.to_text(),
    };
    let path = job.format_file.as_deref().unwrap_or_default();
    std::fs::write(path, text).map_err(|error| End::client("HY000", format!("{path}: {error}")))?;
    console.line("");
    Ok(())
}
