//! The endpoints of `bulkwire copy`, and what its flags say of each.

use copy::{
    CopyError, Create, DestinationSettings, Endpoint, FileFormats, FileWrite, Resume, ServerWrite,
    SheetSettings, SourceSettings, SqlServerEndpoint,
};
use formats::bcp::declare;
use formats::{Compression, Format, Location};
use load::read::{Consistency, ReadOptions, Readers};
use load::{ACTION_COLUMN, Client};
use rows::text::DateOrder;
use tds::Column;

use crate::args::{CopyArgs, Datetime2Form, FileArgs, FormatName, WriterCount};
use crate::failure::Failure;
use crate::host_file::HostLayout;
use crate::verbs::load::{options as load_options, way as load_way};
use crate::{connection, file_format, read_options};

/// Both ends of a copy.
pub struct Ends {
    pub source: Endpoint,
    pub destination: Endpoint,
}

/// Reads both endpoints; the flags of the connection hold for both.
pub fn ends(arguments: &CopyArgs) -> Result<Ends, Failure> {
    let keywords = arguments.connection.keywords();
    let end = |text: &str| {
        let mut endpoint = Endpoint::parse_and(text, arguments.connection.url.as_deref(), &keywords)?;
        if let Endpoint::SqlServer(server) = &mut endpoint {
            for keyword in &server.config.ignored {
                say!("warning: {keyword} has no effect here");
            }
            connection::apply(&mut server.config, &arguments.connection);
        }
        Ok::<_, Failure>(endpoint)
    };
    let ends = Ends { source: end(&arguments.source)?, destination: end(&arguments.destination)? };
    check(arguments, &ends, arguments.transformation.is_given())?;
    Ok(ends)
}

/// Refuses the flags that an end cannot honour, by name. `transforms`: rows are transformed on their way.
pub fn check(arguments: &CopyArgs, ends: &Ends, transforms: bool) -> Result<(), Failure> {
    let CopyArgs { format, target_file, reading, forms, bulk, columns, conversions, writers, modes, .. } =
        arguments;
    let (source, destination) = (&ends.source, &ends.destination);
    let is_sheet = matches!(source, Endpoint::Files(files) if files.is_workbook());
    let of_text = [
        ("--format", format.format.is_some()),
        ("--compression", format.compression.is_some()),
        ("--format-file", format.format_file.is_some()),
        ("--trim-blanks", format.trim_blanks),
        ("--delimiter", format.delimiter.is_some()),
        ("--row-terminator", format.row_terminator.is_some()),
        ("--quote", format.quote.is_some()),
        ("--no-quote", format.no_quote),
        ("--null-text", format.null_text.is_some()),
        ("--encoding", format.encoding.is_some()),
        ("--declare", arguments.declare.is_some()),
    ];
    let of_text_and_sheets = [
        ("--skip-lines", format.skip_lines.is_some()),
        ("--no-header", format.no_header),
        ("--columns", format.columns.is_some()),
    ];
    let of_target_files = [
        ("--to-format", target_file.to_format.is_some()),
        ("--to-compression", target_file.to_compression.is_some()),
        ("--to-delimiter", target_file.to_delimiter.is_some()),
        ("--to-row-terminator", target_file.to_row_terminator.is_some()),
        ("--to-no-quote", target_file.to_no_quote),
        ("--to-no-header", target_file.to_no_header),
        ("--to-null-text", target_file.to_null_text.is_some()),
        ("--to-encoding", target_file.to_encoding.is_some()),
        ("--split-rows", target_file.split_rows.is_some()),
        ("--partition-by", target_file.partition_by.is_some()),
    ];
    let of_server_sources = [
        ("--readers", reading.readers != Readers::Count(1)),
        ("--split-by", reading.split_by.is_some()),
        ("--ranges", reading.ranges.is_some()),
        ("--consistent", reading.consistent != Consistency::None),
        ("--gentle", reading.gentle),
        ("--pause", reading.pause.is_some()),
        ("--datetime2", forms.datetime2 != Datetime2Form::Ns),
        ("--datetimeoffset-text", forms.datetimeoffset_text),
        ("--guid-text", forms.guid_text),
    ];
    let of_server_targets = [
        ("--action", arguments.transformation.action.is_some()),
        ("--key", !modes.key.is_empty()),
        ("--strategy", modes.strategy.is_some()),
        ("--with-keys", arguments.with_keys),
        ("--collations", arguments.collations != copy::Collations::Keep),
        ("--writers", writers.writers.is_some()),
        ("--by-partition", writers.by_partition.is_some()),
        ("--resume", writers.resume),
        ("--load-id", writers.load_id.is_some()),
        ("--time-limit", writers.time_limit.is_some()),
        ("--sole-writer", bulk.sole_writer),
        ("--batch-rows", bulk.batch_rows.is_some()),
        ("--table-lock", bulk.table_lock.is_some()),
        ("--order", !bulk.order.is_empty()),
        ("--keep-nulls", bulk.keep_nulls),
        ("--keep-identity", bulk.keep_identity),
        ("--check-constraints", bulk.check_constraints),
        ("--fire-triggers", bulk.fire_triggers),
        ("--allow-encrypted-values", bulk.allow_encrypted_values),
        ("--autocommit", bulk.autocommit),
        ("--map", !columns.map.is_empty()),
        ("--by-position", columns.by_position),
        ("--allow-truncate", conversions.allow_truncate),
        ("--allow-rounding", conversions.allow_rounding),
        ("--drop-time-zone", conversions.drop_time_zone),
        ("--replacement", conversions.replacement.is_some()),
        ("--nested-as-json", conversions.nested_as_json),
        ("--bisect", arguments.refusals.bisect),
    ];
    let is_file = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Files(_));
    let is_server = |endpoint: &Endpoint| matches!(endpoint, Endpoint::SqlServer(_));
    refuse(&of_text, is_file(source) && !is_sheet, "is for text and other files that are read", source)?;
    refuse(&of_text_and_sheets, is_file(source), "is for files that are read", source)?;
    refuse(&[("--sheet", arguments.sheet.is_some())], is_sheet, "is for workbooks", source)?;
    refuse(&of_target_files, is_file(destination), "is for files that are written", destination)?;
    let is_text_file = is_file(source) && !is_sheet;
    refuse(
        &[("--keep-text", target_file.keep_text)],
        is_text_file || is_file(destination),
        "is for text files that are read",
        source,
    )?;
    refuse(&of_server_sources, is_server(source), "is for reading SQL Server", source)?;
    refuse(&of_server_targets, is_server(destination), "is for loading SQL Server", destination)?;
    let is_host_file = format.format_file.is_some() || format.format.is_some_and(FormatName::is_host);
    let reads_dates = is_server(destination) || transforms || is_host_file;
    refuse(
        &[("--date-order", conversions.date_order.is_some())],
        reads_dates,
        "is for dates that go into SQL Server or through a transformation",
        destination,
    )?;
    let modes_of_tables = [("--mode", modes.mode.is_some()), ("--truncate", modes.truncate)];
    refuse(
        &modes_of_tables,
        !is_file(destination),
        "is for tables; a file is replaced as a whole",
        destination,
    )?;
    let of_servers = is_server(source) && is_server(destination);
    refuse(&[("--with-keys", arguments.with_keys)], of_servers, "copies between SQL Servers", source)?;
    if arguments.with_keys && arguments.query.is_some() {
        return Err(Failure::Usage(
            "--with-keys copies the keys of a table, and --query has none".to_owned(),
        ));
    }
    if arguments.writers.retry_for.is_some() && !is_server(source) && !is_server(destination) {
        return Err(Failure::Usage("--retry-for is for SQL Server, and neither end is one".to_owned()));
    }
    if let Endpoint::Files(files) = source
        && arguments.sheet.is_some()
        && files.sheet.is_some()
    {
        return Err(Failure::Usage("the sheet is named twice: behind '#' and by --sheet".to_owned()));
    }
    if !arguments.tables.is_empty() {
        let named = |endpoint: &Endpoint| match endpoint {
            Endpoint::SqlServer(server) => server.table.is_some(),
            Endpoint::Database(database) => database.table.is_some(),
            Endpoint::Files(_) => false,
        };
        if named(source) {
            return Err(Failure::Usage(format!(
                "--tables chooses the tables: leave the table out of {source}"
            )));
        }
        if writers.load_id.is_some() {
            return Err(Failure::Usage(
                "--load-id names one load, and each table is one: use --resume".to_owned(),
            ));
        }
    }
    Ok(())
}

fn refuse(flags: &[(&str, bool)], is_possible: bool, what: &str, endpoint: &Endpoint) -> Result<(), Failure> {
    match flags.iter().find(|(_, given)| *given && !is_possible) {
        Some((flag, _)) => Err(Failure::Usage(format!("{flag} {what}, and {endpoint} is not one of those"))),
        None => Ok(()),
    }
}

/// What the flags say of the source. `columns` describe a file that says nothing of its own.
pub fn source_settings(arguments: &CopyArgs, ends: &Ends) -> Result<SourceSettings, Failure> {
    let form = read_options::form(&arguments.forms, writes_text(arguments, ends));
    let read = read_options::of(&arguments.reading, arguments.writers.retry_for, form);
    Ok(SourceSettings {
        query: arguments.query.clone(),
        read: ReadOptions {
            hears: hears(arguments),
            beginning: match arguments.writers.is_asked() {
                true => load_options::retry(&arguments.writers),
                false => read.beginning,
            },
            ..read
        },
        formats: match &ends.source {
            Endpoint::Files(files) if !files.is_workbook() => source_formats(arguments, &ends.destination)?,
            _ => FileFormats::default(),
        },
        sheet: SheetSettings {
            sheet: arguments.sheet.clone(),
            has_header: !arguments.format.no_header,
            skip_rows: arguments.format.skip_lines.unwrap_or_default(),
            columns: arguments.format.columns.clone(),
        },
        keeps_text: arguments.target_file.keep_text,
        interruption: None,
    })
}

/// Who hears of a beginning that is tried again.
fn hears(arguments: &CopyArgs) -> fn(&load::Error) {
    if arguments.quiet { |_| {} } else { load_options::hears }
}

/// Returns true if rows go to delimited text.
fn writes_text(arguments: &CopyArgs, ends: &Ends) -> bool {
    let target = &arguments.target_file;
    match (&ends.destination, target.to_format) {
        (Endpoint::Files(_), Some(name)) => matches!(name, FormatName::Csv | FormatName::Tsv),
        (Endpoint::Files(files), None) => {
            let is_one = target.split_rows.is_none() && target.partition_by.is_none();
            let format = Format::of(&Location::target(&files.path));
            is_one && arguments.tables.is_empty() && matches!(format, Ok((Format::Csv(_), _)))
        }
        _ => false,
    }
}

fn source_formats(arguments: &CopyArgs, destination: &Endpoint) -> Result<FileFormats, Failure> {
    let flags = arguments.format.clone();
    let Some(layout) = HostLayout::of(&flags)? else {
        if arguments.declare.is_some() {
            return Err(Failure::Usage(
                "--declare is for bcp's formats; other files say what is in them".to_owned(),
            ));
        }
        return Ok(FileFormats::by(move |location, _| {
            let (format, compression) = file_format::of(location, &flags)?;
            if location.is_rereadable() {
                file_format::look_at(location, &format, compression, &flags)?;
            }
            Ok((format, compression))
        }));
    };
    let layout = layout.with_date_order(arguments.conversions.date_order.map(DateOrder::from));
    let mut skipped = Vec::new();
    let columns = match (&arguments.declare, destination) {
        (Some(text), _) => {
            Some(declare(text).map_err(|error| Failure::Usage(format!("--declare: {error}")))?)
        }
        (None, Endpoint::SqlServer(server)) => columns_of_table(server, arguments, &mut skipped)?,
        (None, _) => None,
    };
    if columns.is_none() && layout.needs_columns() {
        return Err(Failure::Usage(
            "this file says nothing of its columns: --declare them, or describe them by --format-file"
                .to_owned(),
        ));
    }
    Ok(FileFormats::by(move |location, _| {
        let mut host = layout.with_columns(columns.clone())?;
        for number in &skipped {
            host.format_file.skip_column(*number);
        }
        Ok((Format::Host(Box::new(host)), file_format::compression(location, &flags)))
    }))
}

/// The columns of the destination's table; those that its server fills are in the file and are skipped.
fn columns_of_table(
    server: &SqlServerEndpoint,
    arguments: &CopyArgs,
    skipped: &mut Vec<usize>,
) -> Result<Option<Vec<Column>>, Failure> {
    let Some(table) = &server.table else { return Ok(None) };
    let described = match Client::connect(&server.config)?.describe(table) {
        Ok(described) => described,
        Err(load::Error::NoTable { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    for (number, column) in (1..).zip(&described.columns) {
        let is_identity = column.is_identity && !arguments.bulk.keep_identity;
        if column.is_computed || column.is_rowversion || is_identity {
            skipped.push(number);
        }
    }
    Ok(Some(described.columns.into_iter().map(|column| column.column).collect()))
}

/// What the flags say of the destination. `command` is what continues the copy, if it breaks.
pub fn destination_settings(
    arguments: &CopyArgs,
    ends: &Ends,
    command: Option<String>,
) -> Result<DestinationSettings, Failure> {
    let CopyArgs { bulk, columns, conversions, writers, refusals, modes, target_file, .. } = arguments;
    let action = action_column(arguments, arguments.transformation.has_query());
    let way = match action {
        Some(_) => load_way::by_action(modes, bulk, refusals)?,
        None => load_way::of_flags(modes, bulk, refusals, &[])?,
    };
    let create = arguments.create.map_or(Create::default(), Create::from);
    if writers.is_resumable() && bulk.autocommit {
        return Err(Failure::Usage(
            "--resume notes rows in the transaction that commits them: not with --autocommit".to_owned(),
        ));
    }
    let server = ServerWrite {
        way,
        options: load_options::of(bulk, columns, conversions, writers),
        by_position: columns.by_position,
        writers: match writers.writers {
            Some(WriterCount::Fixed(writers)) => Some(writers.into()),
            Some(WriterCount::Auto) => None,
            None => Some(1),
        },
        retry: load_options::retry(writers),
        hears: hears(arguments),
        time_limit: writers.time_limit.map(|seconds| std::time::Duration::from_secs(seconds.into())),
        resume: writers.is_resumable().then(|| Resume {
            load_id: writers.load_id.clone(),
            ledger_schema: writers.ledger_schema.clone(),
            command: command.unwrap_or_default(),
        }),
        create,
        nested_as_json: conversions.nested_as_json,
        with_keys: arguments.with_keys,
        collations: arguments.collations.clone(),
        to_schema: arguments.to_schema.clone(),
        sole_writer: bulk.sole_writer,
        action,
    };
    let files = FileWrite {
        formats: match &ends.destination {
            Endpoint::Files(_) => target_formats(&target_file.as_file())?,
            _ => FileFormats::default(),
        },
        split_rows: target_file.split_rows,
        partition_by: target_file.partition_by.clone(),
        create,
        keeps_text: target_file.keep_text,
    };
    Ok(DestinationSettings { server, files })
}

/// The column of the rows that says what each does: that of the expression, or, if a query gives the rows, one of its own.
pub fn action_column(arguments: &CopyArgs, has_query: bool) -> Option<String> {
    let action = arguments.transformation.action.as_ref()?;
    Some(if has_query { action.trim().to_owned() } else { ACTION_COLUMN.to_owned() })
}

fn target_formats(flags: &FileArgs) -> Result<FileFormats, Failure> {
    let layout = HostLayout::of(flags)?;
    let flags = flags.clone();
    Ok(FileFormats::by(move |location, columns| {
        let compression = file_format::compression(location, &flags);
        match &layout {
            Some(layout) => {
                let host = layout.with_columns(columns.map(<[Column]>::to_vec))?;
                Ok((Format::Host(Box::new(host)), compression))
            }
            None if flags.format.is_none() && location.path().is_none() => {
                Err(CopyError::Usage(format!("{location} has no suffix: name its format with --to-format")))
            }
            None => Ok((file_format::of(location, &flags)?.0, compression)),
        }
    }))
}

/// The suffix of the files that several tables go to.
pub fn suffix(arguments: &CopyArgs) -> String {
    let format = match arguments.target_file.to_format {
        Some(FormatName::Csv) => "csv",
        Some(FormatName::Tsv) => "tsv",
        Some(FormatName::Arrow) => "arrow",
        Some(FormatName::Arrows) => "arrows",
        Some(FormatName::Parquet) | None => "parquet",
        Some(FormatName::Char | FormatName::Widechar | FormatName::Native | FormatName::Widenative) => "bcp",
    };
    let compression = match arguments.target_file.as_file().compression {
        Some(name) => match file_format::compression(
            &Location::Stdout,
            &FileArgs { compression: Some(name), ..FileArgs::default() },
        ) {
            Compression::None => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        },
        None => "",
    };
    format!("{format}{compression}")
}
