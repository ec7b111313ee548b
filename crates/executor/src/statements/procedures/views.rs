//! The procedures that only show something.

use introspection::system_views::View;
use tsql::SqlError;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::procedures::argument::{Argument, text_of};
use crate::statements::procedures::catalogue::columns;
use crate::statements::procedures::catalogue::keys;
use crate::statements::procedures::catalogue::odbc_type;
use crate::statements::procedures::catalogue::routines;
use crate::statements::procedures::catalogue::shown;
use crate::statements::procedures::catalogue::tables;
use crate::statements::procedures::deduce;
use crate::statements::procedures::describe;
use crate::statements::procedures::space;
use crate::statements::procedures::triggers;

/// Runs a procedure that only shows something; `None` if there is no such procedure.
pub(crate) fn catalogue_view(
    session: &Session,
    name: &str,
    database: Option<&str>,
    arguments: &[Argument],
    frame: &Frame,
) -> Result<Option<View>, SqlError> {
    let shown = || shown::shown_by(session, database, frame);
    Ok(Some(match name {
        "sp_tablecollations_100" | "sp_tablecollations_90" | "sp_tablecollations" => {
            let table = text_of(arguments, 0, "@object").unwrap_or_default();
            describe::table_collations(session, database, &table)?
        }
        "sp_describe_first_result_set" => describe::describe_first_result(session, arguments)?,
        "sp_describe_undeclared_parameters" => deduce::describe_parameters(session, arguments)?,
        "sp_datatype_info" | "sp_datatype_info_90" | "sp_datatype_info_100" => {
            odbc_type::datatype_info(name, arguments)?
        }
        "sp_columns" | "sp_columns_90" | "sp_columns_100" => columns::columns(&shown()?, name, arguments)?,
        "sp_special_columns" | "sp_special_columns_90" | "sp_special_columns_100" => {
            columns::special_columns(&shown()?, name, arguments)?
        }
        "sp_tables" => tables::tables(&shown()?, arguments, false)?,
        "sp_tableswc" => tables::tables(&shown()?, arguments, true)?,
        "sp_table_privileges" => tables::table_privileges(&shown()?, arguments)?,
        "sp_column_privileges" => tables::column_privileges(&shown()?, arguments)?,
        "sp_databases" => tables::databases(&shown()?),
        "sp_pkeys" => keys::primary_keys(&shown()?, arguments)?,
        "sp_fkeys" => keys::foreign_keys(&shown()?, arguments)?,
        "sp_statistics" | "sp_statistics_100" => keys::statistics(&shown()?, arguments)?,
        "sp_stored_procedures" => routines::stored_procedures(&shown()?, arguments)?,
        "sp_sproc_columns" | "sp_sproc_columns_90" | "sp_sproc_columns_100" => {
            routines::procedure_columns(&shown()?, name, arguments)?
        }
        "sp_estimate_data_compression_savings" => space::compression_savings(session, database, arguments)?,
        "sp_helptrigger" => triggers::help_trigger(&shown()?, arguments)?,
        "sp_server_info" => routines::server_info(arguments)?,
        "xp_msver" => routines::server_versions(arguments),
        _ => return Ok(None),
    }))
}
