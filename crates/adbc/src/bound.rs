//! Rows bound to a statement, as parameters of its executions.

use adbc_core::error::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use drivers::refusal::invalid;
use rows::Plan;
use rows::mapping::{CreateOptions, sql_type_of};
use tds::{
    Collation, Column, ColumnFlags, Length, Reader, SqlType, TypeInfo, Value, ValuePlace, decode_value,
};

/// Name with `@`, declared type, value.
pub(crate) type Parameter = (String, SqlType, Value);

/// Names of the bound rows' columns in the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Names `@P1`, `@P2`, …: the statement has that many `?`.
    ByPosition(usize),
    /// Names made of `@` and the column's own name.
    ByName,
}

/// Makes the parameters of every row of a batch. Values go the way that a load sends them, so that their
/// types are the same.
pub(crate) fn parameters(batch: &RecordBatch, naming: Naming) -> Result<Vec<Vec<Parameter>>> {
    let schema = batch.schema();
    if let Naming::ByPosition(markers) = naming
        && markers != schema.fields().len()
    {
        return Err(invalid(format!(
            "the statement has {markers} ? markers, but {} parameters are bound",
            schema.fields().len()
        )));
    }
    let columns = schema.fields().iter().map(|field| column(field)).collect::<Result<Vec<_>>>()?;
    // A NULL of no type at all is text: every type can be made of it.
    let fields: Vec<Field> =
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Schema::new(fields);
    let refused = |error: &dyn std::error::Error| invalid(format!("bound parameters: {error}"));
    let plan = Plan::for_result(&schema, &columns).map_err(|error| refused(&error))?;
    let bound = plan.bind(batch, 0).map_err(|error| refused(&error))?;
    let mut bytes = Vec::new();
    bound.encode(0..batch.num_rows(), &mut bytes);
    let mut r = Reader::new(&bytes);
    let name = |index: usize, column: &Column| match naming {
        Naming::ByPosition(_) => format!("@P{}", index + 1),
        Naming::ByName if column.name.starts_with('@') => column.name.clone(),
        Naming::ByName => format!("@{}", column.name),
    };
    (0..batch.num_rows())
        .map(|_| {
            r.u8("row token").map_err(|error| refused(&error))?;
            let mut row = Vec::with_capacity(columns.len());
            for (index, (column, wire)) in columns.iter().zip(plan.columns()).enumerate() {
                let value = decode_value(&mut r, &wire.type_info, ValuePlace::Row)
                    .map_err(|error| refused(&error))?;
                row.push((name(index, column), column.type_info.sql_type.clone(), value));
            }
            Ok(row)
        })
        .collect()
}

/// Returns the parameter's column: nullable, since a parameter may be NULL even if its field says otherwise.
fn column(field: &Field) -> Result<Column> {
    let sql_type = match field.data_type() {
        arrow::datatypes::DataType::Null => SqlType::NVarChar { length: Length::Units(1) },
        _ => sql_type_of(field, &CreateOptions::default())
            .map_err(|error| Error { message: error.to_string(), ..invalid("") })?,
    };
    let collation = sql_type.is_character().then_some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    Ok(Column {
        name: field.name().clone(),
        user_type: 0,
        flags: ColumnFlags(ColumnFlags::NULLABLE),
        type_info: TypeInfo::new(sql_type, true, collation),
        table_name: Vec::new(),
    })
}
