//! The description of a result's columns: by `sp_describe_first_result_set`, and by its function.

use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;

/// The leading columns, which the procedure and the function share.
const COLUMNS: &[(&str, &str)] = &[
    ("is_hidden", "bit!"),
    ("column_ordinal", "int!"),
    ("name", "name"),
    ("is_nullable", "bit!"),
    ("system_type_id", "int!"),
    ("system_type_name", "nvarchar(256)"),
    ("max_length", "smallint!"),
    ("precision", "tinyint!"),
    ("scale", "tinyint!"),
    ("collation_name", "name"),
    ("user_type_id", "int"),
    ("user_type_database", "name"),
    ("user_type_schema", "name"),
    ("user_type_name", "name"),
    ("assembly_qualified_type_name", "nvarchar(4000)"),
    ("xml_collection_id", "int"),
    ("xml_collection_database", "name"),
    ("xml_collection_schema", "name"),
    ("xml_collection_name", "name"),
    ("is_xml_document", "bit!"),
    ("is_case_sensitive", "bit!"),
    ("is_fixed_length_clr_type", "bit!"),
    ("source_server", "name"),
    ("source_database", "name"),
    ("source_schema", "name"),
    ("source_table", "name"),
    ("source_column", "name"),
    ("is_identity_column", "bit"),
    ("is_part_of_unique_key", "bit"),
    ("is_updateable", "bit"),
    ("is_computed_column", "bit"),
    ("is_sparse_column_set", "bit"),
    ("ordinal_in_order_by_list", "smallint"),
    ("order_by_list_length", "smallint"),
    ("order_by_is_descending", "smallint"),
];

/// The further columns of the procedure.
const WIRE: &[(&str, &str)] = &[
    ("tds_type_id", "int!"),
    ("tds_length", "int!"),
    ("tds_collation_id", "int"),
    ("tds_collation_sort_id", "tinyint"),
];

/// The further columns of the function.
pub(crate) const ERROR: &[(&str, &str)] = &[
    ("error_number", "int"),
    ("error_severity", "int"),
    ("error_state", "int"),
    ("error_message", "nvarchar(4000)"),
    ("error_type", "int"),
    ("error_type_desc", "nvarchar(60)"),
];

/// Makes the 39 columns of the procedure.
pub(crate) fn of_procedure() -> View {
    View::new(&[COLUMNS, WIRE].concat())
}

/// Makes the 41 columns of the function. In the row of an error all but the last are NULL.
pub(crate) fn of_function() -> View {
    let nullable: Vec<_> = COLUMNS.iter().map(|(name, kind)| (*name, kind.trim_end_matches('!'))).collect();
    View::new(&[nullable.as_slice(), ERROR].concat())
}

/// Makes the row of a text that cannot be described.
pub(crate) fn refused(error: &SqlError) -> Vec<Datum> {
    let (kind, name) = match error.number {
        102 | 105 | 156 | 319 => (2, "SYNTAX"),
        137 => (8, "UNDECLARED_PARAMETER"),
        208 => (13, "OBJECT_DOES_NOT_EXIST"),
        _ => (1, "MISC"),
    };
    let mut row = vec![Datum::Null; COLUMNS.len()];
    row.extend([
        Datum::Int(i64::from(error.number)),
        Datum::Int(i64::from(error.class)),
        Datum::Int(i64::from(error.state)),
        Datum::Text(error.message.clone()),
        Datum::Int(kind),
        Datum::Text(name.to_owned()),
    ]);
    row
}
