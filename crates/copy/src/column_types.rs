//! Types that a user sets for columns of text files.

use formats::{InferredSchema, bcp::declare};
use rows::{Form, mapping::field_for};
use tds::Column;

use crate::error::CopyError;

/// Types by the names of their columns, as `price=decimal(9,2),zip=char(5)` gives them.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnTypes {
    columns: Vec<Column>,
}

impl ColumnTypes {
    /// Reads the option's text.
    ///
    /// # Errors
    /// A part is no name with a type.
    pub fn parse(text: &str) -> Result<Self, CopyError> {
        let mut in_brackets = false;
        let spaced = text.chars().map(|c| {
            in_brackets = (in_brackets || c == '[') && c != ']';
            if c == '=' && !in_brackets { ' ' } else { c }
        });
        let columns = declare(&spaced.collect::<String>())
            .map_err(|error| CopyError::Usage(format!("--types {text}: {error}")))?;
        Ok(Self { columns })
    }

    /// Gives the columns of a file these types in place of those that their values would have.
    ///
    /// # Errors
    /// The file has no such column.
    pub fn apply(&self, measured: &mut InferredSchema) -> Result<(), CopyError> {
        for column in &self.columns {
            let is_it = |name: &str| name.eq_ignore_ascii_case(&column.name);
            let Some(found) = measured.columns.iter_mut().find(|found| is_it(&found.name)) else {
                let names: Vec<&str> = measured.columns.iter().map(|found| found.name.as_str()).collect();
                return Err(CopyError::Usage(format!(
                    "--types names {:?}, and the file has no such column: it has {}",
                    column.name,
                    names.join(", ")
                )));
            };
            let field = field_for(column, &Form::default());
            found.field = field.with_name(found.name.clone()).with_nullable(found.field.is_nullable());
            found.declare(column.sql_type());
        }
        Ok(())
    }
}
