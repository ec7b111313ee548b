//! T-SQL functions for the execution engine.
//!
//! Each call gets a function of its own with fixed types: the binder has decided them, so the engine's own type
//! coercion finds nothing to do. Two such functions are equal if their names and types are equal.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use tds::{CodePage, SqlType};

use super::datum::{Datum, data_type};
use super::kernels::{ColumnForm, Columns, TextColumn, ValueForm};
use super::typed::plan_field;
use crate::running;
use tsql::SqlError;
use tsql::errors;

/// Constants from here on are long.
pub const LONG_BYTES: usize = 1 << 16;
/// Values are counted in the memory of the request when they have come to so much.
const COUNTED_BYTES: usize = 1 << 20;

type ColumnKernel = Arc<dyn Fn(&[ArrayRef], usize) -> std::result::Result<ArrayRef, SqlError> + Send + Sync>;

#[derive(Clone)]
enum Kernel {
    /// The value form, and the column form of functions that have one.
    Value(Arc<ValueForm>, Option<ColumnForm>),
    Column(ColumnKernel),
}

/// A function of fixed types.
#[derive(Clone)]
pub struct Scalar {
    name: String,
    arguments: Vec<SqlType>,
    result: SqlType,
    result_type: DataType,
    kernel: Kernel,
    page: Option<CodePage>,
    signature: Signature,
}

impl Scalar {
    /// Makes a function that maps one row's values to a value. `name` must distinguish functions of the same types.
    pub fn by_value(
        name: &str,
        arguments: Vec<SqlType>,
        result: SqlType,
        kernel: impl Fn(&[Datum]) -> std::result::Result<Datum, SqlError> + Send + Sync + 'static,
    ) -> Scalar {
        Self::with_kernel(name, arguments, result, Kernel::Value(Arc::new(kernel), None))
    }

    /// Gives a function of values a column form. `page` is the code page of its result.
    pub(crate) fn with_column_form(mut self, form: Option<ColumnForm>, page: Option<CodePage>) -> Scalar {
        if let Kernel::Value(_, own) = &mut self.kernel {
            *own = form;
        }
        self.page = page;
        self
    }

    /// Makes a function that maps columns (of the given row count) to a column.
    pub fn by_column(
        name: &str,
        arguments: Vec<SqlType>,
        result: SqlType,
        kernel: impl Fn(&[ArrayRef], usize) -> std::result::Result<ArrayRef, SqlError> + Send + Sync + 'static,
    ) -> Scalar {
        Self::with_kernel(name, arguments, result, Kernel::Column(Arc::new(kernel)))
    }

    fn with_kernel(name: &str, arguments: Vec<SqlType>, result: SqlType, kernel: Kernel) -> Scalar {
        let result_type = data_type(&result);
        let signature = signature(&arguments, Volatility::Immutable);
        Scalar { name: name.to_string(), arguments, result, result_type, kernel, page: None, signature }
    }

    /// Returns true if the function has a column form.
    #[cfg(test)]
    pub(crate) fn has_column_form(&self) -> bool {
        matches!(self.kernel, Kernel::Value(_, Some(_)))
    }

    /// Marks the function as volatile: its value changes from call to call.
    pub fn volatile(mut self) -> Scalar {
        self.signature = signature(&self.arguments, Volatility::Volatile);
        self
    }

    /// Sets another Arrow type of the result (sort keys, truth values).
    pub fn with_result_type(mut self, result_type: DataType) -> Scalar {
        self.result_type = result_type;
        self
    }

    /// Returns the type of the result.
    pub fn result(&self) -> &SqlType {
        &self.result
    }
}

fn signature(arguments: &[SqlType], volatility: Volatility) -> Signature {
    if arguments.is_empty() { Signature::nullary(volatility) } else { Signature::variadic_any(volatility) }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scalar")
            .field("name", &self.name)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments && self.result == other.result
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.result.to_string().hash(state);
    }
}

impl ScalarUDFImpl for Scalar {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result_type.clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        let field = plan_field(&self.name, &self.result, true);
        if self.result_type == *field.data_type() {
            return Ok(field);
        }
        Ok(Arc::new(field.as_ref().clone().with_data_type(self.result_type.clone())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)))
            && self.signature.volatility == Volatility::Immutable;
        let all_rows = args.number_rows;
        let rows = if constant { 1 } else { all_rows };
        let result = match &self.kernel {
            Kernel::Column(kernel) => {
                let arrays = args.args.into_iter().map(|argument| argument.into_array(rows));
                kernel(&arrays.collect::<Result<Vec<_>>>()?, rows)
            }
            Kernel::Value(value, form) => {
                let columns =
                    Columns::new(args.args, &self.arguments, rows, value.as_ref(), &self.result, self.page)?;
                match form.as_ref().map_or(Ok(None), |form| form(&columns)) {
                    Ok(None) => self.by_rows(&columns),
                    Ok(Some(array)) => Ok(array),
                    Err(error) => Err(error),
                }
            }
        };
        let array = result.map_err(|error| DataFusionError::External(Box::new(error)))?;
        if constant {
            repeats(array.get_array_memory_size(), all_rows)
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// Takes memory for a constant of `bytes` bytes that is about to stand in each of `rows` rows. Errors: 701.
fn repeats(bytes: usize, rows: usize) -> std::result::Result<(), SqlError> {
    if bytes < LONG_BYTES {
        return Ok(());
    }
    let all_bytes = bytes.saturating_mul(rows);
    // A column of the engine holds no more.
    if all_bytes > i32::MAX as usize {
        return Err(errors::OUT_OF_MEMORY.error());
    }
    running::take(all_bytes)
}

/// Makes a long constant: a call without arguments, which is counted where it is repeated, and which plans do not copy.
pub fn long_constant(array: ArrayRef, sql_type: &SqlType) -> Scalar {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("long_constant_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let value = move |_: &[ArrayRef], rows: usize| {
        repeats(array.get_array_memory_size(), rows)?;
        match rows {
            1 => Ok(Arc::clone(&array)),
            rows => take(&array, &UInt32Array::from(vec![0; rows]), None)
                .map_err(|error| SqlError::internal(error)),
        }
    };
    Scalar::by_column(&name, Vec::new(), sql_type.clone(), value).volatile()
}

impl Scalar {
    fn by_rows(&self, columns: &Columns<'_>) -> std::result::Result<ArrayRef, SqlError> {
        let rows = columns.rows();
        if self.result_type == DataType::Utf8 {
            let mut texts = TextColumn::with_capacity(rows, rows.saturating_mul(8));
            for row in 0..rows {
                running::check()?;
                match columns.value(row)? {
                    Datum::Text(text) => texts.push(&text)?,
                    _ => texts.push_null(),
                }
            }
            return texts.finish();
        }
        let mut values = Vec::with_capacity(rows);
        let (mut long_bytes, mut all_bytes) = (0, 0_usize);
        for row in 0..rows {
            running::check()?;
            let value = columns.value(row)?;
            // As a value, and once more in the column.
            long_bytes += 2 * value.heap_bytes();
            all_bytes += value.heap_bytes();
            // A column of the engine holds no more.
            if all_bytes > i32::MAX as usize {
                return Err(errors::OUT_OF_MEMORY.error());
            }
            if long_bytes >= COUNTED_BYTES {
                running::take(std::mem::take(&mut long_bytes))?;
            }
            values.push(value);
        }
        match self.result_type {
            DataType::Boolean => Ok(Datum::array(&values, &SqlType::Bit)),
            _ => Ok(Datum::array(&values, &self.result)),
        }
    }
}

/// Converts the engine's error to T-SQL's.
pub(crate) fn plan_error(error: DataFusionError) -> SqlError {
    sql_error_of(&error)
}

/// Returns the T-SQL error inside an error of the engine, or 596 with the engine's own text.
pub fn sql_error_of(error: &DataFusionError) -> SqlError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = source {
        if let Some(found) = current.downcast_ref::<SqlError>() {
            return found.clone();
        }
        if let Some(DataFusionError::External(inner)) = current.downcast_ref::<DataFusionError>()
            && let Some(found) = inner.downcast_ref::<SqlError>()
        {
            return found.clone();
        }
        if let Some(shared) = current.downcast_ref::<Arc<DataFusionError>>() {
            return sql_error_of(shared);
        }
        if let Some(DataFusionError::Shared(shared)) = current.downcast_ref::<DataFusionError>() {
            return sql_error_of(shared);
        }
        source = current.source();
    }
    if let DataFusionError::ResourcesExhausted(_) = error.find_root() {
        return errors::OUT_OF_MEMORY.error();
    }
    SqlError::internal(error.strip_backtrace())
}
