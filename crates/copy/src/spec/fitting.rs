//! Checks that options fit the ends: an option that an end cannot honour is refused by name.

use super::making::writes_text;
use crate::{
    endpoint::Endpoint,
    error::CopyError,
    options::{FormatName, GivenOption, Options, given},
    spec::Ends,
};

/// Options of files that sheets of workbooks have as well.
const OF_SHEETS: [&str; 3] = ["skip-lines", "no-header", "columns"];

/// Refuses options that an end cannot honour.
pub(crate) fn check(options: &Options, ends: &Ends) -> Result<(), CopyError> {
    let (source, destination) = (&ends.source, &ends.destination);
    let is_sheet = matches!(source, Endpoint::Files(files) if files.is_workbook());
    let is_file = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Files(_));
    let is_server = |endpoint: &Endpoint| matches!(endpoint, Endpoint::SqlServer(_));
    let is_database_file = |endpoint: &Endpoint| matches!(endpoint, Endpoint::DatabaseFile(_));
    let is_text_file = is_file(source) && !is_sheet;
    let (of_sheets, mut of_text): (Vec<_>, Vec<_>) =
        given(&options.format).into_iter().partition(|one| OF_SHEETS.contains(&one.name.as_str()));
    let others = options.given();
    let named = |names: &[&str]| -> Vec<GivenOption> {
        names.iter().filter_map(|name| others.iter().find(|one| one.name == *name)).cloned().collect()
    };
    of_text.extend(named(&["declare"]));
    let (keeps_text, of_target_files): (Vec<_>, Vec<_>) =
        given(&options.target_file).into_iter().partition(|one| one.name == "keep-text");
    let (of_spelling, of_conversions) = (given(&options.text), given(&options.conversions));
    let (retry, of_writers): (Vec<_>, Vec<_>) =
        given(&options.writers).into_iter().partition(|one| one.name == "retry-for");
    let (of_server_sources, of_forms) = (given(&options.reading), given(&options.forms));
    let mut of_server_targets = named(&["action", "key", "strategy", "collations"]);
    of_server_targets.extend(of_writers);
    of_server_targets.extend(given(&options.bulk));
    of_server_targets.extend(given(&options.columns));
    of_server_targets.extend(of_conversions);
    of_server_targets.extend(named(&["bisect"]));
    refuse(&of_text, is_text_file, "is for text and other files that are read", source)?;
    refuse(&of_sheets, is_file(source), "is for files that are read", source)?;
    refuse(&named(&["sheet"]), is_sheet, "is for workbooks", source)?;
    refuse(&of_target_files, is_file(destination), "is for files that are written", destination)?;
    let has_text = is_text_file || is_file(destination);
    refuse(&keeps_text, has_text, "is for text files that are read", source)?;
    refuse(&of_server_sources, is_server(source), "is for reading SQL Server", source)?;
    let has_forms = is_server(source) || is_database_file(source);
    refuse(&of_forms, has_forms, "is for reading SQL Server", source)?;
    let of_sets = named(&["backup-set"]);
    refuse(&of_sets, is_database_file(source), "is for backups of SQL Server that are read", source)?;
    refuse(&of_server_targets, is_server(destination), "is for loading SQL Server", destination)?;
    let format = &options.format;
    let is_host_file = format.format_file.is_some() || format.format.is_some_and(FormatName::is_host);
    let becomes_typed = is_text_file && !options.target_file.keep_text && !writes_text(ends, options);
    let reads_text =
        is_server(destination) || options.transformation.is_given() || is_host_file || becomes_typed;
    let of_texts =
        "is for texts that become numbers or dates: in SQL Server, in a file with types, by a transformation";
    refuse(&of_spelling, reads_text, of_texts, destination)?;
    let modes = named(&["mode", "truncate"]);
    let takes_modes = !is_file(destination) && !is_database_file(destination);
    refuse(&modes, takes_modes, "is for tables; a file is replaced as a whole", destination)?;
    let takes_keys = is_server(destination) || is_database_file(destination);
    let of_servers = (is_server(source) || is_database_file(source)) && takes_keys;
    let of_keys = "copies between SQL Servers, their backups and packages";
    refuse(&named(&["with-keys"]), of_servers, of_keys, source)?;
    check_modules(options, source, destination)?;
    if options.with_keys && options.tables.query.is_some() {
        return usage("--with-keys copies the keys of a table, and --query has none");
    }
    if !retry.is_empty() && !is_server(source) && !is_server(destination) {
        return usage("--retry-for is for SQL Server, and neither end is one");
    }
    if let Endpoint::Files(files) = source
        && options.sheet.is_some()
        && files.sheet.is_some()
    {
        return usage("the sheet is named twice: behind '#' and by --sheet");
    }
    check_tables(options, source)?;
    check_transformation(options)
}

/// Refuses what does not go with several tables.
fn check_tables(options: &Options, source: &Endpoint) -> Result<(), CopyError> {
    if options.tables.tables.is_empty() {
        return Ok(());
    }
    let is_named = match source {
        Endpoint::SqlServer(server) => server.table.is_some(),
        Endpoint::Database(database) => database.table.is_some(),
        Endpoint::DatabaseFile(files) => files.table.is_some(),
        Endpoint::Files(_) => false,
    };
    if is_named {
        return usage(&format!("--tables chooses the tables: leave the table out of {source}"));
    }
    match options.writers.load_id {
        Some(_) => usage("--load-id names one load, and each table is one: use --resume"),
        None => Ok(()),
    }
}

/// Refuses modules of a source that has none, for a destination that takes none.
fn check_modules(options: &Options, source: &Endpoint, destination: &Endpoint) -> Result<(), CopyError> {
    let of_files = matches!(source, Endpoint::DatabaseFile(_))
        && matches!(destination, Endpoint::SqlServer(_))
        && !options.tables.tables.is_empty();
    if options.with_modules && !of_files {
        return usage(
            "--with-modules is for copies of several tables (--tables) from a backup, data files or a package to SQL Server",
        );
    }
    if options.skip_failing_modules && !options.with_modules {
        return usage("--skip-failing-modules needs --with-modules");
    }
    Ok(())
}

/// Refuses options of a transformation that is not there, and what a transformation loses.
fn check_transformation(options: &Options) -> Result<(), CopyError> {
    let transformation = &options.transformation;
    if transformation.is_given() {
        return match options.with_keys {
            true => usage("--with-keys copies the keys of a table, and what a transformation gives has none"),
            false => Ok(()),
        };
    }
    let stray = match transformation.lookups.is_empty() {
        false => Some("lookup".to_owned()),
        true => given(transformation).into_iter().next().map(|one| one.name),
    };
    match stray {
        None => Ok(()),
        Some(name) => usage(&format!(
            "--{name} belongs to a transformation: say --select, --where, --transform or --action"
        )),
    }
}

fn refuse(
    options: &[GivenOption],
    is_possible: bool,
    what: &str,
    endpoint: &Endpoint,
) -> Result<(), CopyError> {
    match options.first().filter(|_| !is_possible) {
        Some(GivenOption { name, .. }) => {
            usage(&format!("--{name} {what}, and {endpoint} is not one of those"))
        }
        None => Ok(()),
    }
}

fn usage(message: &str) -> Result<(), CopyError> {
    Err(CopyError::Usage(message.to_owned()))
}
