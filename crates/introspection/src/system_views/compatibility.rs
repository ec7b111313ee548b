//! The views of SQL Server 2000, which old clients and ODBC still query.

use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::modules;
use crate::system_views::system_objects;
use crate::view::{View, bit, int, kind, moment, text};
use databases::catalogue::DEFAULT_COLLATION;
use databases::catalogue::definition_text;
use query::system_types::{SYSTEM_TYPES, max_length, precision, scale, system_type};

const OBJECTS: &str = "
    name sysname!
    id int!
    xtype char(2)!
    uid smallint = 1
    info smallint = 0
    status int = 0
    base_schema_ver int = 0
    replinfo int = 0
    parent_obj int! = 0
    crdate datetime!
    ftcatid smallint = 0
    schema_ver int = 0
    stats_schema_ver int = 0
    type char(2)
    userstat smallint = 1
    sysstat smallint = 3
    indexdel smallint = 0
    refdate datetime!
    version int = 0
    deltrig int = 0
    instrig int = 0
    updtrig int = 0
    seltrig int = 0
    category int = 0
    cache smallint = 0";

const COLUMNS: &str = "
    name sysname
    id int!
    xtype tinyint!
    typestat tinyint
    xusertype smallint
    length smallint!
    xprec tinyint!
    xscale tinyint!
    colid smallint
    xoffset smallint = 0
    bitpos tinyint = 0
    reserved tinyint = 0
    colstat smallint = 0
    cdefault int! = 0
    domain int! = 0
    number smallint = 0
    colorder smallint
    autoval varbinary(8000)
    offset smallint = 0
    collationid int
    language int
    status tinyint = 0
    type tinyint
    usertype smallint
    printfmt varchar(255)
    prec smallint
    scale int
    iscomputed int
    isoutparam int = 0
    isnullable int
    collation sysname";

const TYPES: &str = "
    name sysname!
    xtype tinyint!
    status tinyint = 0
    xusertype smallint
    length smallint!
    xprec tinyint!
    xscale tinyint!
    tdefault int! = 0
    domain int! = 0
    uid smallint = 4
    reserved smallint = 0
    collationid int
    usertype smallint
    variable bit
    allownulls bit
    type tinyint
    printfmt varchar(255)
    prec smallint
    scale tinyint
    collation sysname";

const DATABASES: &str = "
    name sysname!
    dbid smallint
    sid varbinary(85) = 0x01
    mode smallint = 0
    status int = 65536
    status2 int = 0
    crdate datetime!
    reserved datetime
    category int = 0
    cmptlevel tinyint! = 160
    filename nvarchar(260)
    version smallint = 957";

const INDEXES: &str = "
    id int!
    status int = 0
    indid smallint
    name sysname
    rows int
    rowcnt bigint
    keycnt smallint
    dpages int = 0
    reserved int = 0
    used int = 0
    groupid smallint = 1
    minlen smallint = 0
    OrigFillFactor tinyint = 0";

const PROCESSES: &str = "
    spid smallint!
    kpid smallint! = 0
    blocked smallint! = 0
    waittype binary(2)
    waittime bigint! = 0
    lastwaittype nchar(32)
    waitresource nchar(256)
    dbid smallint!
    uid smallint = 1
    cpu int! = 0
    physical_io bigint! = 0
    memusage int! = 0
    login_time datetime!
    last_batch datetime!
    ecid smallint! = 0
    open_tran smallint!
    status nchar(30)!
    sid binary(86)
    hostname nchar(128)!
    program_name nchar(128)!
    hostprocess nchar(10)
    cmd nchar(26)!
    nt_domain nchar(128)
    nt_username nchar(128)
    net_address nchar(12)
    net_library nchar(12)
    loginame nchar(128)!";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("sysobjects", OBJECTS, objects),
    Entry::new("syscolumns", COLUMNS, columns),
    Entry::new("systypes", TYPES, types),
    Entry::new("sysdatabases", DATABASES, databases),
    Entry::new("sysindexes", INDEXES, indexes),
    Entry::new(
        "sysusers",
        "uid smallint\nstatus int = 0\nname sysname\nsid varbinary(85)\nroles varbinary(2048)\ncreatedate datetime!\nupdatedate datetime!\naltuid smallint\ngid smallint = 0\nenviron varchar(255)\nhasdbaccess int = 1\nislogin int = 1\nisntname int = 0\nisntgroup int = 0\nisntuser int = 0\nissqluser int = 1\nisaliased int = 0\nissqlrole int = 0\nisapprole int = 0",
        users,
    ),
    Entry::new(
        "syscomments",
        "id int!\nnumber smallint = 1\ncolid smallint!\nstatus smallint! = 0\nctext varbinary(8000)\ntexttype smallint = 2\nlanguage smallint = 0\nencrypted bit! = 0\ncompressed bit! = 0\ntext nvarchar(4000)",
        comments,
    ),
    Entry::new("sysprocesses", PROCESSES, processes),
];

fn objects(context: &Context<'_>, view: &mut View) {
    system_objects::old_objects(view);
    let schema = |name: &str| {
        let found = context.database().and_then(|database| database.schema(name));
        int(found.map_or(1, |schema| schema.id))
    };
    for module in modules::of(context) {
        let module = &module.definition;
        view.add([
            ("name", text(&module.name)),
            ("id", int(module.object_id)),
            ("xtype", kind(module.kind.letters())),
            ("uid", schema(&module.schema)),
            ("crdate", moment(module.created_us)),
            ("type", kind(module.kind.letters())),
            ("refdate", moment(module.created_us)),
        ]);
    }
    for table in context.tables() {
        for object in table.objects() {
            // The old letter of keys of both kinds is K.
            let old = if matches!(object.letters, "PK" | "UQ") { "K" } else { object.letters };
            view.add([
                ("name", text(object.name)),
                ("id", int(object.object_id)),
                ("xtype", kind(object.letters)),
                ("uid", schema(&table.schema)),
                ("parent_obj", int(object.parent)),
                ("crdate", moment(table.created_us)),
                ("type", kind(old)),
                ("refdate", moment(table.created_us)),
            ]);
        }
    }
}

/// Characters of a text that one row of syscomments has.
const COMMENT_UNITS: usize = 4000;

/// Lists the texts of modules, CHECKs and DEFAULTs, in pieces.
fn comments(context: &Context<'_>, view: &mut View) {
    let mut add = |id: i32, whole: &str| {
        let units: Vec<u16> = whole.encode_utf16().collect();
        for (colid, piece) in (1_i64..).zip(units.chunks(COMMENT_UNITS)) {
            view.add([
                ("id", int(id)),
                ("colid", int(colid)),
                ("text", Datum::Text(String::from_utf16_lossy(piece))),
            ]);
        }
    };
    for module in modules::of(context) {
        add(module.definition.object_id, &module.definition.text);
    }
    for table in context.tables() {
        for check in &table.checks {
            add(check.object_id, &definition_text(&check.text));
        }
        for default in table.columns.iter().filter_map(|column| column.default.as_ref()) {
            add(default.object_id, &default.definition());
        }
    }
}

fn columns(context: &Context<'_>, view: &mut View) {
    for table in context.tables().into_iter().chain(modules::with_columns(context)) {
        for column in &table.columns {
            let system = system_type(&column.sql_type);
            let collation = column.collation().and_then(|collation| collation.name());
            let length = max_length(&column.sql_type);
            let units = if column.sql_type.is_unicode() && length > 0 { length / 2 } else { length };
            let digits = i16::from(precision(&column.sql_type));
            view.add([
                ("name", text(&column.name)),
                ("id", int(table.object_id)),
                ("xtype", int(system.system_type_id)),
                ("xusertype", int(system.user_type_id)),
                ("length", int(length)),
                ("xprec", int(precision(&column.sql_type))),
                ("xscale", int(scale(&column.sql_type))),
                ("colid", int(column.id)),
                ("colorder", int(column.id)),
                ("colstat", int(i64::from(column.identity.is_some()))),
                ("cdefault", int(column.default.as_ref().map_or(0, |default| default.object_id))),
                // 0x80: identity, 8: nullable.
                ("status", int(i64::from(column.identity.is_some()) * 0x80 + i64::from(column.nullable) * 8)),
                ("type", int(system.system_type_id)),
                ("usertype", int(user_type(system.name))),
                ("prec", int(if digits > 0 { digits } else { units })),
                ("scale", int(scale(&column.sql_type))),
                ("iscomputed", int(i64::from(column.computed.is_some()))),
                ("isnullable", int(i64::from(column.nullable))),
                ("collation", collation.map_or(Datum::Null, |name| text(&name.to_string()))),
            ]);
        }
    }
}

/// Returns the old number of a type (`systypes.usertype`); newer types have none.
fn user_type(name: &str) -> i64 {
    match name {
        "char" => 1,
        "varchar" => 2,
        "binary" => 3,
        "varbinary" => 4,
        "tinyint" => 5,
        "smallint" => 6,
        "int" => 7,
        "float" => 8,
        "numeric" => 10,
        "money" => 11,
        "datetime" => 12,
        "bit" => 16,
        "sysname" => 18,
        "text" => 19,
        "image" => 20,
        "smallmoney" => 21,
        "smalldatetime" => 22,
        "real" => 23,
        "decimal" => 24,
        "timestamp" => 80,
        _ => 0,
    }
}

fn types(_: &Context<'_>, view: &mut View) {
    for system in SYSTEM_TYPES {
        let character =
            matches!(system.name, "char" | "varchar" | "nchar" | "nvarchar" | "text" | "ntext" | "sysname");
        view.add([
            ("name", text(system.name)),
            ("xtype", int(system.system_type_id)),
            ("xusertype", int(system.user_type_id)),
            ("length", int(system.max_length)),
            ("xprec", int(system.precision)),
            ("xscale", int(system.scale)),
            ("usertype", int(user_type(system.name))),
            ("variable", bit(matches!(system.name, "varchar" | "nvarchar" | "varbinary" | "sysname"))),
            ("allownulls", bit(!matches!(system.name, "sysname" | "timestamp"))),
            ("type", int(system.system_type_id)),
            ("prec", int(system.precision)),
            ("scale", int(system.scale)),
            ("collation", if character { text(DEFAULT_COLLATION) } else { Datum::Null }),
        ]);
    }
}

fn databases(context: &Context<'_>, view: &mut View) {
    for database in &context.facts.directory.databases {
        view.add([("name", text(&database.name)), ("dbid", int(database.id)), ("crdate", moment(0))]);
    }
}

fn indexes(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let rows = (context.rows)(table.object_id);
        let mut add = |id: i32, name: Datum, keys: usize, unique: bool| {
            view.add([
                ("id", int(table.object_id)),
                ("status", int(if unique { 2 } else { 0 })),
                ("indid", int(id)),
                ("name", name),
                ("rows", int(rows.min(i64::from(i32::MAX)))),
                ("rowcnt", int(rows)),
                ("keycnt", int(keys as i64)),
            ]);
        };
        if !table.is_clustered() {
            add(0, Datum::Null, 0, false);
        }
        for key in &table.keys {
            add(key.index_id, text(&key.name), key.columns.len(), true);
        }
        for index in &table.indexes {
            add(index.index_id, text(&index.name), index.columns.len(), index.unique);
        }
    }
}

fn users(_: &Context<'_>, view: &mut View) {
    for (uid, name) in [(0, "public"), (1, "dbo"), (2, "guest"), (3, "INFORMATION_SCHEMA"), (4, "sys")] {
        view.add([
            ("uid", int(uid)),
            ("name", text(name)),
            ("createdate", moment(0)),
            ("updatedate", moment(0)),
        ]);
    }
}

fn processes(context: &Context<'_>, view: &mut View) {
    let facts = context.facts;
    let padded = |value: &str, width: usize| text(&format!("{value:<width$}"));
    view.add([
        ("spid", int(facts.spid)),
        ("dbid", facts.current().map_or(Datum::Null, |database| int(database.id))),
        ("login_time", facts.now_moment()),
        ("last_batch", facts.now_moment()),
        ("open_tran", int(facts.transaction_count)),
        ("status", padded("runnable", 30)),
        ("hostname", padded(&facts.host, 128)),
        ("program_name", padded(&facts.application, 128)),
        ("cmd", padded("SELECT", 26)),
        ("loginame", padded(&facts.login, 128)),
    ]);
}
