//! ALTER TABLE … ALTER COLUMN … ADD or DROP of ROWGUIDCOL and SPARSE, which change nothing of the rows.

use databases::catalogue::TableDefinition;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::ColumnAttribute;

use crate::statements::ddl::alter_columns::no_column;
use crate::statements::ddl::definition::{check_sparse, second_row_guid};

/// Gives a column an attribute, or takes it away.
///
/// Errors: 4924 for a missing column, 8196 for a second ROWGUIDCOL, 4926 for one that is none, 1731 for a column that cannot be
/// sparse.
pub(super) fn switch(
    definition: &mut TableDefinition,
    column: &str,
    attribute: ColumnAttribute,
    on: bool,
) -> Result<(), SqlError> {
    let table = definition.name.clone();
    let position =
        definition.position(column).ok_or_else(|| no_column("ALTER COLUMN", column, definition))?;
    let has_row_guid = definition.columns.iter().any(|column| column.row_guid);
    let Some(column) = definition.columns.get_mut(position) else { return Ok(()) };
    match attribute {
        ColumnAttribute::RowGuid if on => {
            if column.sql_type != SqlType::UniqueIdentifier {
                return Err(SqlError::unsupported("ROWGUIDCOL of another type than uniqueidentifier"));
            }
            if has_row_guid {
                return Err(second_row_guid());
            }
            column.row_guid = true;
        }
        ColumnAttribute::RowGuid => {
            if !std::mem::take(&mut column.row_guid) {
                let text = format!(
                    "ALTER TABLE ALTER COLUMN DROP ROWGUIDCOL failed because a column does not exist in table '{table}' with ROWGUIDCOL property."
                );
                return Err(SqlError::new(4926, 16, 1, text));
            }
        }
        ColumnAttribute::Sparse => {
            column.sparse = on;
            check_sparse(column, &table)?;
        }
    }
    Ok(())
}
