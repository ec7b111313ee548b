//! Types that functions return, and calls that cast their arguments.

use tds::{Length, SqlType};
use tsql::SqlError;

use super::super::Datum;
use super::super::kernels::ColumnForm;
use super::super::typed::{Typed, call, call_by_column, common_collation, in_page, paged};

/// Returns nvarchar(max).
pub fn long_text() -> SqlType {
    SqlType::NVarChar { length: Length::Max }
}

/// Returns nvarchar(4000), the type of texts of moderate length.
pub fn wide_text() -> SqlType {
    SqlType::NVarChar { length: Length::Units(4000) }
}

/// Returns nvarchar(128), the type of names.
pub fn name_type() -> SqlType {
    SqlType::NVarChar { length: Length::Units(128) }
}

/// Returns 1 for a value that can be converted, 0 for others.
pub(crate) fn is_convertible(name: &str, value: &Typed, to: &SqlType) -> Result<Typed, SqlError> {
    let converted = value.clone().convert(to, 0, true)?;
    let mut typed = call(name, vec![converted], SqlType::Int, |values| {
        Ok(Datum::Int(i64::from(!values.first().is_none_or(Datum::is_null))))
    });
    typed.nullable = false;
    Ok(typed)
}

/// Makes a call whose arguments are cast first; NULL in, NULL out.
pub fn strict(
    name: &str,
    arguments: Vec<(Typed, SqlType)>,
    result: SqlType,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    strict_by_column(name, arguments, result, None, kernel)
}

/// Makes a call like [`strict`], of a function that may have a column form.
pub(super) fn strict_by_column(
    name: &str,
    arguments: Vec<(Typed, SqlType)>,
    result: SqlType,
    form: impl Into<Option<ColumnForm>>,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let arguments =
        arguments.into_iter().map(|(value, to)| value.cast(&to)).collect::<Result<Vec<_>, _>>()?;
    let collation = if result.is_character() { common_collation(&arguments) } else { (None, false) };
    let page = paged(&result, &arguments);
    let constant = arguments.iter().map(|argument| argument.constant.clone()).collect::<Option<Vec<_>>>();
    let kernel = move |values: &[Datum]| {
        if values.iter().any(Datum::is_null) { Ok(Datum::Null) } else { kernel(values) }
    };
    // Constants are folded, so that INSERT … VALUES needs no plan; errors are left to the run.
    if let Some(values) = constant
        && let Ok(value) = kernel(&values)
        && value.check(&result).is_ok()
    {
        return Ok(Typed::constant(in_page(value, page), result)?.collated(collation));
    }
    let mut typed = call_by_column(name, arguments, result, form.into(), kernel);
    typed.nullable = true;
    Ok(typed)
}
