//! An expression of the execution engine together with its T-SQL type.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, cast as arrow_cast, lit};
use datafusion::physical_expr::create_physical_expr;
use tds::{CodePage, Collation, Length, SqlType};

use super::convert::{convert_in, in_code_page, length_limit, refused};
use super::datum::{Datum, data_type};
use super::kernels::{ColumnForm, conversion};
use super::scalar::{LONG_BYTES, Scalar, long_constant, sql_error_of};
use super::types;
use tsql::SqlError;

/// A bound value: its expression, and its T-SQL type and properties.
#[derive(Debug, Clone)]
pub struct Typed {
    /// Computes the value in the Exact form of `sql_type`.
    pub expr: Expr,
    /// The type of the value.
    pub sql_type: SqlType,
    /// The collation of the value, if it has one other than the default.
    pub collation: Option<Collation>,
    /// True if COLLATE set the collation, which then takes precedence over those of columns.
    pub explicit: bool,
    /// True if the value may be NULL.
    pub nullable: bool,
    /// The value, if it is a constant.
    pub constant: Option<Datum>,
    /// True for the NULL literal, which takes any type.
    pub untyped_null: bool,
}

impl Typed {
    /// Makes a value computed by `expr`.
    pub fn new(expr: Expr, sql_type: SqlType, nullable: bool) -> Typed {
        Typed {
            expr,
            sql_type,
            collation: None,
            explicit: false,
            nullable,
            constant: None,
            untyped_null: false,
        }
    }

    /// Makes a constant.
    pub fn constant(value: Datum, sql_type: SqlType) -> Result<Typed, SqlError> {
        let array = Datum::array(std::slice::from_ref(&value), &sql_type);
        let nullable = value.is_null();
        let expr = match value.heap_bytes() < LONG_BYTES {
            true => Expr::Literal(
                ScalarValue::try_from_array(&array, 0).map_err(|error| SqlError::internal(error))?,
                None,
            ),
            false => {
                let function = Arc::new(long_constant(array, &sql_type).into());
                Expr::ScalarFunction(ScalarFunction::new_udf(function, Vec::new()))
            }
        };
        Ok(Typed {
            expr,
            sql_type,
            collation: None,
            explicit: false,
            nullable,
            constant: Some(value),
            untyped_null: false,
        })
    }

    /// Refers to a column by its name.
    pub fn column(name: impl Into<String>, sql_type: SqlType, nullable: bool) -> Typed {
        Typed::new(Expr::Column(Column::new_unqualified(name)), sql_type, nullable)
    }

    /// Makes the NULL literal: an int unless another type is needed.
    pub fn null() -> Typed {
        Typed {
            expr: Expr::Literal(ScalarValue::Int32(None), None),
            sql_type: SqlType::Int,
            collation: None,
            explicit: false,
            nullable: true,
            constant: Some(Datum::Null),
            untyped_null: true,
        }
    }

    /// Replaces the collation of the expression.
    pub fn with_collation(mut self, collation: Option<Collation>) -> Typed {
        self.collation = collation;
        self
    }

    /// Applies the collation that an operation on several values has.
    pub fn collated(mut self, (collation, explicit): (Option<Collation>, bool)) -> Typed {
        self.collation = collation;
        self.explicit = explicit;
        self
    }

    /// Returns the collation of a text, and whether it is explicit.
    pub fn collating(&self) -> (Option<Collation>, bool) {
        (self.collation, self.explicit)
    }

    /// Puts the value under the collation of an operation that it is part of.
    pub fn under(self, common: (Option<Collation>, bool)) -> Result<Typed, SqlError> {
        match common.0 {
            Some(collation) if self.sql_type.is_character() => Ok(self.collate(collation)?.collated(common)),
            _ => Ok(self.collated(common)),
        }
    }

    /// Applies COLLATE: characters that the collation's code page lacks are lost.
    pub fn collate(self, collation: Collation) -> Result<Typed, SqlError> {
        let to = collation.code_page();
        let kept = self.sql_type.is_unicode() || code_page(self.collation) == to;
        let value = if kept {
            self
        } else {
            let sql_type = widened(&self.sql_type, code_page(self.collation), to);
            // By way of Unicode, which holds everything.
            let wide = SqlType::NVarChar { length: Length::Max };
            self.convert(&wide, 0, false)?.collated((Some(collation), true)).convert(&sql_type, 0, false)?
        };
        Ok(value.collated((Some(collation), true)))
    }

    /// Converts the value implicitly, or by CAST.
    pub fn cast(self, to: &SqlType) -> Result<Typed, SqlError> {
        self.convert(to, 0, false)
    }

    /// Converts the value by CONVERT with a style; `lenient` gives NULL instead of an error.
    pub fn convert(self, to: &SqlType, style: i32, lenient: bool) -> Result<Typed, SqlError> {
        let collation = if to.is_character() { self.collating() } else { (None, false) };
        let page = code_page(self.collation);
        if self.sql_type == *to {
            return Ok(Typed { untyped_null: false, ..self });
        }
        if self.untyped_null {
            return Ok(Typed::constant(Datum::Null, to.clone())?.collated(collation));
        }
        if !types::is_convertible(&self.sql_type, to) {
            return Err(refused(&self.sql_type, to));
        }
        if let Some(value) = &self.constant {
            // A constant that cannot be converted fails when it is evaluated, not here: it may never be.
            match convert_in(value.clone(), &self.sql_type, to, style, page) {
                Ok(value) => return Ok(Typed::constant(value, to.clone())?.collated(collation)),
                Err(_) if lenient => return Typed::constant(Datum::Null, to.clone()),
                Err(error) if is_never_allowed(&error) => return Err(error),
                Err(_) => {}
            }
        }
        let nullable = self.nullable || lenient;
        if is_relabelling(&self.sql_type, to) {
            let relabelled = Typed { sql_type: to.clone(), untyped_null: false, ..self };
            return Ok(relabelled.collated(collation));
        }
        if is_widening(&self.sql_type, to) {
            return Ok(Typed::new(arrow_cast(self.expr, data_type(to)), to.clone(), nullable));
        }
        let (from, target) = (self.sql_type.clone(), to.clone());
        let name = format!("convert_{}{}_{style}_{}", if lenient { "try_" } else { "" }, to, page.number());
        let kernel = move |arguments: &[Datum]| {
            let value = arguments.first().cloned().unwrap_or(Datum::Null);
            match convert_in(value, &from, &target, style, page) {
                Err(error) if lenient && !is_never_allowed(&error) => Ok(Datum::Null),
                other => other,
            }
        };
        let form = conversion(&self.sql_type, to, style, lenient, page);
        let mut typed = call_by_column(&name, vec![self], to.clone(), form, kernel);
        typed.nullable = nullable;
        Ok(typed.collated(collation))
    }
}

/// Returns true for the errors of a pair of types that TRY_CAST refuses, too.
fn is_never_allowed(error: &SqlError) -> bool {
    matches!(error.number, 206 | 529)
}

/// Calls a function that works value by value.
pub fn call(
    name: &str,
    arguments: Vec<Typed>,
    result: SqlType,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Typed {
    call_by_column(name, arguments, result, None, kernel)
}

/// Calls a function like [`call`] that may have a column form.
pub(crate) fn call_by_column(
    name: &str,
    arguments: Vec<Typed>,
    result: SqlType,
    form: Option<ColumnForm>,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Typed {
    let page = paged(&result, &arguments);
    let name = &page.map_or_else(|| name.to_string(), |page| format!("{name} in {}", page.number()));
    let kernel = move |values: &[Datum]| Ok(in_page(kernel(values)?, page));
    call_with(
        Scalar::by_value(
            name,
            arguments.iter().map(|a| a.sql_type.clone()).collect(),
            result.clone(),
            kernel,
        )
        .with_column_form(form, page),
        arguments,
    )
}

/// Returns the code page that texts of a result are in; `None` for Unicode and for everything else.
pub fn paged(result: &SqlType, arguments: &[Typed]) -> Option<CodePage> {
    let bytes = result.is_character() && !result.is_unicode();
    bytes.then(|| code_page(common_collation(arguments).0))
}

/// Drops the characters that the code page of a value's type lacks, since functions compute in Unicode.
pub fn in_page(value: Datum, page: Option<CodePage>) -> Datum {
    match (value, page) {
        (Datum::Text(text), Some(page)) => Datum::Text(in_code_page(&text, page).unwrap_or(text)),
        (value, _) => value,
    }
}

/// Calls a prepared function.
pub fn call_with(function: Scalar, arguments: Vec<Typed>) -> Typed {
    let result = function.result().clone();
    let nullable = arguments.iter().any(|argument| argument.nullable);
    let collation = common_collation(&arguments);
    let expr = Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(function.into()),
        arguments.into_iter().map(|argument| argument.expr).collect(),
    ));
    let collation = if result.is_character() { collation } else { (None, false) };
    Typed::new(expr, result, nullable).collated(collation)
}

/// Widens a text's type to hold its characters in another code page.
fn widened(sql_type: &SqlType, from: CodePage, to: CodePage) -> SqlType {
    let factor = to.max_char_len_bytes().div_ceil(from.max_char_len_bytes());
    match (sql_type, length_limit(sql_type)) {
        (SqlType::Char { .. } | SqlType::VarChar { .. }, Some(length)) if factor > 1 => {
            types::text_of(false, Some(length * factor))
        }
        _ => sql_type.clone(),
    }
}

/// Returns the collation of an operation on several values: that of a COLLATE among them, or else the first one's.
pub fn common_collation<'a>(values: impl IntoIterator<Item = &'a Typed>) -> (Option<Collation>, bool) {
    let mut common = (None, false);
    for value in values.into_iter().filter(|value| value.collation.is_some()) {
        if value.explicit {
            return value.collating();
        }
        if common.0.is_none() {
            common = value.collating();
        }
    }
    common
}

/// Returns the code page of texts that are not Unicode.
pub fn code_page(collation: Option<Collation>) -> CodePage {
    collation.map_or(CodePage::Cp1252, Collation::code_page)
}

/// Returns the Arrow field of a value inside a plan: without metadata, which is kept beside the plan.
pub fn plan_field(name: &str, sql_type: &SqlType, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, data_type(sql_type), nullable))
}

/// Makes a condition that is always the same.
pub fn truth(value: bool) -> Expr {
    lit(value)
}

/// Returns true if values need no change: character types without padding or cutting, decimals of one shape.
fn is_relabelling(from: &SqlType, to: &SqlType) -> bool {
    if data_type(from) != data_type(to) {
        return false;
    }
    let roomy = match (length_limit(from), length_limit(to)) {
        (_, None) => true,
        (Some(from), Some(to)) => from <= to,
        (None, Some(_)) => false,
    };
    if from.is_character() && to.is_character() {
        let padded = matches!(to, SqlType::Char { .. } | SqlType::NChar { .. });
        // varchar to nvarchar counts other units; a byte is never more than one unit.
        let units = from.is_unicode() == to.is_unicode() || to.is_unicode();
        return roomy && units && !padded;
    }
    if from.is_binary() && to.is_binary() {
        return roomy && !matches!(to, SqlType::Binary { .. });
    }
    from.is_decimal() && to.is_decimal()
        || matches!((from, to), (SqlType::DateTime2 { scale: low }, SqlType::DateTime2 { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::Time { scale: low }, SqlType::Time { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::DateTimeOffset { scale: low }, SqlType::DateTimeOffset { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::DateTime, SqlType::DateTime2 { scale: 3 }))
}

/// Returns true if Arrow's own cast gives exactly T-SQL's result and cannot fail.
fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    let width = |sql_type: &SqlType| match sql_type {
        SqlType::Bit => Some(0),
        SqlType::TinyInt => Some(1),
        SqlType::SmallInt => Some(2),
        SqlType::Int => Some(3),
        SqlType::BigInt => Some(4),
        _ => None,
    };
    match (width(from), width(to)) {
        (Some(from), Some(to)) => from < to,
        (Some(_), None) => *to == SqlType::Float,
        _ => *from == SqlType::Real && *to == SqlType::Float && data_type(to) == DataType::Float64,
    }
}

/// Computes an expression without columns: a constant, or arithmetic and functions of constants. `None` for anything
/// else. Errors: those of computing it.
pub fn constant_of(value: &Typed) -> Result<Option<Datum>, SqlError> {
    if let Some(constant) = &value.constant {
        return Ok(Some(constant.clone()));
    }
    let (properties, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let Ok(physical) = create_physical_expr(&value.expr, &DFSchema::empty(), &properties, &planning) else {
        return Ok(None);
    };
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(|error| SqlError::internal(error))?;
    let value_of = |error| sql_error_of(&error);
    let array = physical.evaluate(&one).and_then(|value| value.into_array(1)).map_err(value_of)?;
    Datum::read(array.as_ref(), &value.sql_type, 0).map(Some)
}

/// Casts several values to their common type.
pub fn unify(values: Vec<Typed>) -> Result<(Vec<Typed>, SqlType), SqlError> {
    let mut common: Option<SqlType> = None;
    for value in values.iter().filter(|value| !value.untyped_null) {
        common = Some(match common {
            None => value.sql_type.clone(),
            Some(common) => types::agreed_type(&common, &value.sql_type)?,
        });
    }
    let common = common.unwrap_or(SqlType::Int);
    let values = values.into_iter().map(|value| value.cast(&common)).collect::<Result<Vec<_>, _>>()?;
    Ok((values, common))
}
