//! Files, file groups and the space in them. tempdb shows none.

use databases::catalogue::{DatabaseEntry, same_name};
use databases::storage::{Figures, LOG_FILE_ID, file_id};
use query::Datum;
use store::{DataFileSpace, FileGroup, FileGrowth};

use crate::system_views::entry::{Context, Entry};
use crate::system_views::partition_schemes;
use crate::view::{View, kind, text};

/// The columns that both views of files have.
macro_rules! file_columns {
    () => {
        "
    file_id int!
    file_guid uniqueidentifier
    type tinyint! = 0
    type_desc nvarchar(60) = ROWS
    data_space_id int! = 1
    name sysname!
    physical_name nvarchar(260)!
    state tinyint = 0
    state_desc nvarchar(60) = ONLINE
    size int! = 0
    max_size int! = -1
    growth int! = 0
    is_media_read_only bit! = 0
    is_read_only bit! = 0
    is_sparse bit! = 0
    is_percent_growth bit! = 0
    is_name_reserved bit! = 0
    create_lsn numeric(25,0)
    drop_lsn numeric(25,0)
    read_only_lsn numeric(25,0)
    read_write_lsn numeric(25,0)
    differential_base_lsn numeric(25,0)
    differential_base_guid uniqueidentifier
    differential_base_time datetime
    redo_start_lsn numeric(25,0)
    redo_start_fork_guid uniqueidentifier
    redo_target_lsn numeric(25,0)
    redo_target_fork_guid uniqueidentifier
    backup_lsn numeric(25,0)"
    };
}

const DATABASE_FILES: &str = file_columns!();
const MASTER_FILES: &str = concat!("database_id int!", file_columns!(), "\ncredential_id int");

const FILEGROUPS: &str = "
    name sysname!
    data_space_id int!
    type char(2)!
    type_desc nvarchar(60)
    is_default bit = 1
    is_system bit = 0
    filegroup_guid uniqueidentifier
    log_filegroup_id int
    is_read_only bit = 0
    is_autogrow_all_files bit = 0";

const DATA_SPACES: &str = "
    name sysname!
    data_space_id int!
    type char(2)!
    type_desc nvarchar(60)
    is_default bit = 1
    is_system bit = 0";

const FILE_SPACE: &str = "
    database_id smallint
    file_id smallint
    filegroup_id smallint = 1
    total_page_count bigint
    allocated_extent_page_count bigint
    unallocated_extent_page_count bigint
    version_store_reserved_page_count bigint = 0
    user_object_reserved_page_count bigint
    internal_object_reserved_page_count bigint = 0
    mixed_extent_page_count bigint
    modified_extent_page_count bigint";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("filegroups", FILEGROUPS, |context, view| {
        for group in groups(context) {
            show_group(&group, view);
            view.set("is_autogrow_all_files", Datum::Bit(group.grows_together));
        }
    }),
    Entry::new("data_spaces", DATA_SPACES, |context, view| {
        groups(context).iter().for_each(|group| show_group(group, view));
        partition_schemes::data_spaces(context, view);
    }),
    Entry::new("database_files", DATABASE_FILES, |context, view| {
        if let Some(database) = context.database() {
            files(context, database, &mut |file| file.show(view));
        }
    }),
    Entry::new("master_files", MASTER_FILES, |context, view| {
        for database in &context.facts.directory.databases {
            files(context, database, &mut |file| {
                file.show(view);
                view.set("database_id", Datum::Int(i64::from(database.id)));
            });
        }
    }),
    Entry::new("dm_db_file_space_usage", FILE_SPACE, space_usage),
];

/// Lists PRIMARY, and the groups that were added.
pub(super) fn groups(context: &Context<'_>) -> Vec<FileGroup> {
    let figures = context.database().and_then(|database| context.figures(&database.name));
    figures.map_or_else(
        || vec![FileGroup { id: 1, name: "PRIMARY".to_owned(), is_default: true, grows_together: false }],
        |figures| figures.engine().files().file_groups(),
    )
}

fn show_group(group: &FileGroup, view: &mut View) {
    view.add([
        ("name", text(&group.name)),
        ("data_space_id", Datum::Int(i64::from(group.id))),
        ("type", kind("FG")),
        ("type_desc", text("ROWS_FILEGROUP")),
        ("is_default", Datum::Bit(group.is_default)),
    ]);
}

/// A file as the views show it.
struct File {
    id: i32,
    is_log: bool,
    name: String,
    physical_name: String,
    /// 0: the log.
    group: u16,
    size_pages: i64,
    limit_pages: Option<i64>,
    /// Pages, or a share of its size.
    growth: i64,
    grows_by_percent: bool,
}

impl File {
    fn show(&self, view: &mut View) {
        view.add([
            ("file_id", Datum::Int(i64::from(self.id))),
            ("name", text(&self.name)),
            ("physical_name", text(&self.physical_name)),
            ("size", Datum::Int(self.size_pages)),
            ("data_space_id", Datum::Int(i64::from(self.group))),
            ("max_size", Datum::Int(self.limit_pages.unwrap_or(-1))),
            ("growth", Datum::Int(self.growth)),
            ("is_percent_growth", Datum::Bit(self.grows_by_percent)),
        ]);
        if self.is_log {
            view.set("type", Datum::Int(1));
            view.set("type_desc", text("LOG"));
        }
    }
}

fn files(context: &Context<'_>, database: &DatabaseEntry, each: &mut dyn FnMut(File)) {
    let Some(figures) = context.figures(&database.name) else {
        // Rows are in the server's memory or data directory, and no file of it is the database's own.
        each(File {
            id: 1,
            is_log: false,
            name: database.name.clone(),
            physical_name: database.name.clone(),
            group: 1,
            size_pages: 0,
            limit_pages: None,
            growth: 0,
            grows_by_percent: false,
        });
        return;
    };
    let log = File {
        id: LOG_FILE_ID,
        is_log: true,
        name: log_name(&database.name),
        physical_name: figures.path_of("log-*.vlf"),
        group: 0,
        size_pages: (figures.engine().log_space().total_bytes / 8192) as i64,
        limit_pages: None,
        growth: figures.engine().log_files().first().map_or(0, |file| file.size_bytes / 8192) as i64,
        grows_by_percent: false,
    };
    let mut log = Some(log);
    for file in figures.engine().data_files() {
        let id = file_id(file.file);
        if id > LOG_FILE_ID {
            log.take().into_iter().for_each(&mut *each);
        }
        each(data_file(id, figures.path_of(&file.name), &file));
    }
    log.take().into_iter().for_each(each);
}

fn data_file(id: i32, physical_name: String, file: &DataFileSpace) -> File {
    let (growth, grows_by_percent) = match file.growth {
        FileGrowth::None => (0, false),
        FileGrowth::Percent(percent) => (i64::from(percent), true),
        FileGrowth::Automatic | FileGrowth::Bytes(_) => (file.growth_pages as i64, false),
    };
    File {
        id,
        is_log: false,
        name: file.logical_name.clone(),
        physical_name,
        group: file.group,
        size_pages: file.size_pages as i64,
        limit_pages: file.limit_pages.map(|pages| pages as i64),
        growth,
        grows_by_percent,
    }
}

/// Returns the logical name of a database's log, by SQL Server's custom.
pub fn log_name(database: &str) -> String {
    if same_name(database, "master") { "mastlog".to_string() } else { format!("{database}_log") }
}

fn space_usage(context: &Context<'_>, view: &mut View) {
    let Some((figures, database)) =
        context.database().and_then(|database| Some((context.figures(&database.name)?, database)))
    else {
        return;
    };
    for file in figures.engine().data_files() {
        let pages = |count: u64| Datum::Int(count as i64);
        view.add([
            ("database_id", Datum::Int(i64::from(database.id))),
            ("file_id", Datum::Int(i64::from(file_id(file.file)))),
            ("filegroup_id", Datum::Int(i64::from(file.group))),
            ("total_page_count", pages(file.size_pages)),
            ("allocated_extent_page_count", pages(file.size_pages.saturating_sub(file.free_pages))),
            ("unallocated_extent_page_count", pages(file.free_pages)),
            ("user_object_reserved_page_count", pages(reserved_in(figures, file.file))),
        ]);
    }
}

/// Counts the pages of extents of tables and indexes in a file.
fn reserved_in(figures: &Figures, file: u16) -> u64 {
    let units = figures.tables().flat_map(|table| table.all_units());
    let extents = units.flat_map(|unit| unit.extents.iter()).filter(|extent| extent.extent.file == file);
    8 * extents.count() as u64
}
