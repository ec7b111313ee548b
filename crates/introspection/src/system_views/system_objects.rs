//! The objects that every database has: system tables, internal tables, queues, system views and procedures.

use databases::catalogue::procedure_names::procedure_names;
use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::objects::object_shape;
use crate::view::{View, bit, int, kind, moment, text};

/// A system table, internal table or queue, with the number that it has in every SQL Server.
struct SystemObject {
    name: &'static str,
    id: i32,
    parent: i32,
    letters: &'static str,
}

const fn table(name: &'static str, id: i32) -> SystemObject {
    SystemObject { name, id, parent: 0, letters: "S" }
}

const fn internal(name: &'static str, id: i32, parent: i32) -> SystemObject {
    SystemObject { name, id, parent, letters: "IT" }
}

const fn queue(name: &'static str, id: i32) -> SystemObject {
    SystemObject { name, id, parent: 0, letters: "SQ" }
}

/// Objects that sys.objects lists of a new database. No login can read the tables of type S, as in SQL Server
/// without the administrator's own connection.
const OBJECTS: &[SystemObject] = &[
    table("sysrscols", 3),
    table("sysrowsets", 5),
    table("sysclones", 6),
    table("sysallocunits", 7),
    table("sysfiles1", 8),
    table("sysseobjvalues", 9),
    table("sysmatrixages", 11),
    table("syspriorities", 17),
    table("sysdbfrag", 18),
    table("sysfgfrag", 19),
    table("sysdbfiles", 20),
    table("syspru", 21),
    table("sysbrickfiles", 22),
    table("sysphfg", 23),
    table("sysprufiles", 24),
    table("sysftinds", 25),
    table("sysowners", 27),
    table("sysdbreg", 28),
    table("sysprivs", 29),
    table("sysschobjs", 34),
    table("syscsrowgroups", 37),
    table("sysextsources", 38),
    table("sysexttables", 39),
    table("sysextfileformats", 40),
    table("syscolpars", 41),
    table("sysxlgns", 42),
    table("sysxsrvs", 43),
    table("sysnsobjs", 44),
    table("sysusermsgs", 45),
    table("syscerts", 46),
    table("sysrmtlgns", 47),
    table("syslnklgns", 48),
    table("sysxprops", 49),
    table("sysscalartypes", 50),
    table("systypedsubobjs", 51),
    table("sysidxstats", 54),
    table("sysiscols", 55),
    table("sysendpts", 56),
    table("syswebmethods", 57),
    table("sysbinobjs", 58),
    table("sysaudacts", 59),
    table("sysobjvalues", 60),
    table("sysmatrixconfig", 61),
    table("syscscolsegments", 62),
    table("syscsdictionaries", 63),
    table("sysclsobjs", 64),
    table("sysrowsetrefs", 65),
    table("sysremsvcbinds", 67),
    table("sysxmitqueue", 68),
    table("sysrts", 69),
    table("sysmatrixbricks", 70),
    table("sysconvgroup", 71),
    table("sysdesend", 72),
    table("sysdercv", 73),
    table("syssingleobjrefs", 74),
    table("sysmultiobjrefs", 75),
    table("sysguidrefs", 78),
    table("sysfoqueues", 79),
    table("syschildinsts", 80),
    table("syscompfragments", 82),
    table("sysftsemanticsdb", 83),
    table("sysftstops", 84),
    table("sysftproperties", 85),
    table("sysxmitbody", 86),
    table("sysfos", 87),
    table("sysqnames", 90),
    table("sysxmlcomponent", 91),
    table("sysxmlfacet", 92),
    table("sysxmlplacement", 93),
    table("sysobjkeycrypts", 94),
    table("sysasymkeys", 95),
    table("syssqlguides", 96),
    table("sysbinsubobjs", 97),
    table("syssoftobjrefs", 98),
    queue("QueryNotificationErrorsQueue", 1_977_058_079),
    internal("queue_messages_1977058079", 1_993_058_136, 1_977_058_079),
    queue("EventNotificationErrorsQueue", 2_009_058_193),
    internal("queue_messages_2009058193", 2_025_058_250, 2_009_058_193),
    queue("ServiceBrokerQueue", 2_041_058_307),
    internal("queue_messages_2041058307", 2_057_058_364, 2_041_058_307),
    internal("filestream_tombstone_2073058421", 2_073_058_421, 0),
    internal("syscommittab", 2_089_058_478, 0),
    internal("filetable_updates_2105058535", 2_105_058_535, 0),
];

/// `object_id` of system procedures: negative, by their place in the list, apart from the views'.
const PROCEDURE_ID_FIRST: i32 = -10_000;

impl SystemObject {
    fn description(&self) -> &'static str {
        match self.letters {
            "S" => "SYSTEM_TABLE",
            "IT" => "INTERNAL_TABLE",
            _ => "SERVICE_QUEUE",
        }
    }

    /// Queues belong to dbo, everything else to sys.
    fn schema_id(&self) -> i32 {
        if self.letters == "SQ" { 1 } else { 4 }
    }

    fn row<'a>(&self) -> [(&'a str, Datum); 9] {
        [
            ("name", text(self.name)),
            ("object_id", int(self.id)),
            ("schema_id", int(self.schema_id())),
            ("parent_object_id", int(self.parent)),
            ("type", kind(self.letters)),
            ("type_desc", text(self.description())),
            ("create_date", moment(0)),
            ("modify_date", moment(0)),
            ("is_ms_shipped", bit(true)),
        ]
    }
}

const QUEUES: &str = object_shape!(
    "max_readers smallint = 0\nactivation_procedure nvarchar(776)\nexecute_as_principal_id int\n",
    "is_activation_enabled bit! = 0\nis_receive_enabled bit! = 1\nis_enqueue_enabled bit! = 1\n",
    "is_retention_enabled bit! = 0\nis_poison_message_handling_enabled bit = 1"
);

const INTERNAL_TABLES: &str = object_shape!(
    "internal_type tinyint\ninternal_type_desc nvarchar(60)\nparent_id int!\nparent_minor_id int! = 0\n",
    "lob_data_space_id int! = 0\nfilestream_data_space_id int"
);

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("service_queues", QUEUES, |_, view| {
        for own in OBJECTS.iter().filter(|own| own.letters == "SQ") {
            view.add(own.row());
        }
    }),
    Entry::new("internal_tables", INTERNAL_TABLES, |_, view| {
        for own in OBJECTS.iter().filter(|own| own.letters == "IT") {
            let number = if own.parent != 0 { (201, "QUEUE_MESSAGES") } else { (0, "SYSTEM_INTERNAL") };
            view.add(own.row());
            view.set("parent_id", int(own.parent));
            view.set("internal_type", int(number.0));
            view.set("internal_type_desc", text(number.1));
        }
    }),
];

/// Fills the system's part of sys.objects.
pub(super) fn tables(_: &Context<'_>, view: &mut View) {
    for own in OBJECTS {
        view.add(own.row());
    }
}

/// Fills the system's part of sysobjects.
pub(super) fn old_objects(view: &mut View) {
    for own in OBJECTS {
        view.add([
            ("name", text(own.name)),
            ("id", int(own.id)),
            ("xtype", kind(own.letters)),
            ("uid", int(own.schema_id())),
            ("parent_obj", int(own.parent)),
            ("crdate", moment(0)),
            ("type", kind(own.letters)),
            ("refdate", moment(0)),
        ]);
    }
}

/// Fills sys.system_views.
pub(super) fn views(context: &Context<'_>, view: &mut View) {
    for (object_id, entry) in context.listed() {
        let schema_id = if entry.schema == "sys" { 4 } else { 3 };
        shipped(view, (entry.name, object_id, schema_id), ("V", "VIEW"));
    }
}

/// Fills sys.system_objects with the system views and procedures.
pub(super) fn views_and_procedures(context: &Context<'_>, view: &mut View) {
    views(context, view);
    for (id, name) in (0_i32..).zip(procedure_names()) {
        shipped(view, (name, PROCEDURE_ID_FIRST - id, 4), ("P", "SQL_STORED_PROCEDURE"));
    }
}

fn shipped(view: &mut View, (name, object_id, schema_id): (&str, i32, i32), (letters, what): (&str, &str)) {
    view.add([
        ("name", text(name)),
        ("object_id", int(object_id)),
        ("schema_id", int(schema_id)),
        ("type", kind(letters)),
        ("type_desc", text(what)),
        ("create_date", moment(0)),
        ("modify_date", moment(0)),
        ("is_ms_shipped", bit(true)),
    ]);
}
