//! Partition functions, partition schemes, and the file groups that schemes name.

use databases::catalogue::{Partitions, PropertyValue, same_name};
use query::Datum;
use query::convert::convert;
use query::system_types::{max_length, precision, scale, system_type};
use tds::SqlType;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::files;
use crate::view::{View, bit, int, kind, moment, optional, text};

const FUNCTIONS: &str = "
    name sysname!
    function_id int!
    type char(2)!
    type_desc nvarchar(60) = RANGE
    fanout int!
    boundary_value_on_right bit!
    is_system bit! = 0
    create_date datetime!
    modify_date datetime!";

const PARAMETERS: &str = "
    function_id int!
    parameter_id int! = 1
    system_type_id tinyint!
    max_length smallint!
    precision tinyint!
    scale tinyint!
    collation_name sysname
    user_type_id int!";

const RANGE_VALUES: &str = "
    function_id int!
    boundary_id int!
    parameter_id int! = 1
    value sql_variant";

const SCHEMES: &str = "
    name sysname!
    data_space_id int!
    type char(2)!
    type_desc nvarchar(60) = PARTITION_SCHEME
    is_default bit = 0
    is_system bit = 0
    function_id int!";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("partition_functions", FUNCTIONS, functions),
    Entry::new("partition_parameters", PARAMETERS, parameters),
    Entry::new("partition_range_values", RANGE_VALUES, range_values),
    Entry::new("partition_schemes", SCHEMES, schemes),
    Entry::new(
        "destination_data_spaces",
        "partition_scheme_id int!\ndestination_id int!\ndata_space_id int!",
        destinations,
    ),
];

/// Returns the partition functions and schemes of the database that is shown.
fn own(context: &Context<'_>) -> Partitions {
    let mut own = context.facts.partitions().clone();
    own.functions.retain(|function| same_name(&function.database, context.database));
    own.schemes.retain(|scheme| same_name(&scheme.database, context.database));
    own.functions.sort_by_key(|function| function.id);
    own.schemes.sort_by_key(|scheme| scheme.id);
    own
}

fn functions(context: &Context<'_>, view: &mut View) {
    for function in own(context).functions {
        view.add([
            ("name", text(&function.name)),
            ("function_id", int(function.id)),
            ("type", kind("R")),
            ("fanout", int(function.fanout() as i64)),
            ("boundary_value_on_right", bit(function.right)),
            ("create_date", moment(function.created_us)),
            ("modify_date", moment(function.modified_us)),
        ]);
    }
}

fn parameters(context: &Context<'_>, view: &mut View) {
    for function in own(context).functions {
        let Ok(sql_type) = function.type_text.parse::<SqlType>() else { continue };
        let system = system_type(&sql_type);
        let collation = function.collation.as_deref().unwrap_or(databases::catalogue::DEFAULT_COLLATION);
        view.add([
            ("function_id", int(function.id)),
            ("system_type_id", int(system.system_type_id)),
            ("max_length", int(max_length(&sql_type))),
            ("precision", int(precision(&sql_type))),
            ("scale", int(scale(&sql_type))),
            ("collation_name", optional(sql_type.is_character().then_some(collation))),
            ("user_type_id", int(system.user_type_id)),
        ]);
    }
}

fn range_values(context: &Context<'_>, view: &mut View) {
    for function in own(context).functions {
        let sql_type = function.type_text.parse::<SqlType>().ok();
        for (boundary, value) in (1_i64..).zip(&function.boundaries) {
            view.add([
                ("function_id", int(function.id)),
                ("boundary_id", int(boundary)),
                ("value", variant(value, sql_type.as_ref())),
            ]);
        }
    }
}

/// Makes a boundary a variant of the function's type.
fn variant(value: &PropertyValue, sql_type: Option<&SqlType>) -> Datum {
    let (value, own) = value.datum();
    let from = sql_type.filter(|sql_type| sql_type.is_character()).unwrap_or(&own);
    // A value that no variant can hold was refused when the function was made.
    convert(value, from, &SqlType::SqlVariant, 0).unwrap_or(Datum::Null)
}

fn schemes(context: &Context<'_>, view: &mut View) {
    let own = own(context);
    for scheme in &own.schemes {
        let function = own.function(&scheme.database, &scheme.function);
        view.add([
            ("name", text(&scheme.name)),
            ("data_space_id", int(scheme.id)),
            ("type", kind("PS")),
            ("function_id", int(function.map_or(0, |function| function.id))),
        ]);
    }
}

/// Lists the file group of each partition, and that of the next one.
fn destinations(context: &Context<'_>, view: &mut View) {
    let groups = files::groups(context);
    for scheme in own(context).schemes {
        for (number, name) in (1_i64..).zip(scheme.groups.iter().chain(&scheme.next_used)) {
            let group = groups.iter().find(|group| same_name(&group.name, name));
            view.add([
                ("partition_scheme_id", int(scheme.id)),
                ("destination_id", int(number)),
                ("data_space_id", int(group.map_or(1, |group| i64::from(group.id)))),
            ]);
        }
    }
}

/// Shows the schemes among the data spaces.
pub(super) fn data_spaces(context: &Context<'_>, view: &mut View) {
    for scheme in own(context).schemes {
        view.add([
            ("name", text(&scheme.name)),
            ("data_space_id", int(scheme.id)),
            ("type", kind("PS")),
            ("type_desc", text("PARTITION_SCHEME")),
            ("is_default", bit(false)),
        ]);
    }
}
