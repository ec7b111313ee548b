//! The names under which clients know the built-in CLR types: without the class, .NET has no type for their columns.

use tds::SqlType;
use tds::type_info::TypeInfo;

/// The assembly that the classes are in, of the version that every server since 2012 names.
const ASSEMBLY: &str =
    "Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91";
/// The largest size of a hierarchyid.
const HIERARCHYID_BYTES: u32 = 892;

/// Completes the description of a column or value, as a session in `database` sees it.
pub(super) fn complete(type_info: &mut TypeInfo, database: &str) {
    let SqlType::Udt { database: of_type, schema, name, assembly } = &mut type_info.sql_type else { return };
    let class = match name.to_ascii_lowercase().as_str() {
        "hierarchyid" => "SqlHierarchyId",
        "geometry" => "SqlGeometry",
        "geography" => "SqlGeography",
        _ => return,
    };
    "sys".clone_into(schema);
    database.clone_into(of_type);
    *assembly = format!("Microsoft.SqlServer.Types.{class}, {ASSEMBLY}");
    if class == "SqlHierarchyId" {
        type_info.max_length = HIERARCHYID_BYTES;
    }
}
