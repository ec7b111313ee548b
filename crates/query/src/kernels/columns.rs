//! The arguments of a call for the rows of a batch.

use std::cell::RefCell;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::Result as PlanResult;
use datafusion::logical_expr::ColumnarValue;
use tds::{CodePage, SqlType};
use tsql::SqlError;

use crate::datum::{Datum, data_type};

/// Maps the values of a row to a value.
pub(crate) type ValueForm = dyn Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync;

/// The arguments of a call, and its value form for rows that a column form leaves.
pub(crate) struct Columns<'a> {
    arguments: Vec<Argument<'a>>,
    rows: usize,
    value_form: &'a ValueForm,
    result: &'a SqlType,
    page: Option<CodePage>,
    row_values: RefCell<Vec<Datum>>,
}

struct Argument<'a> {
    array: ArrayRef,
    sql_type: &'a SqlType,
    /// True if a single value stands for all rows.
    is_constant: bool,
    /// The Arrow type is that of the SQL type.
    is_sound: bool,
}

impl Argument<'_> {
    fn place(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }

    fn read_into(&self, row: usize, value: &mut Datum) -> Result<(), SqlError> {
        let row = self.place(row);
        if row >= self.array.len() || self.array.is_null(row) || *self.array.data_type() == DataType::Null {
            *value = Datum::Null;
            return Ok(());
        }
        if !self.is_sound {
            return Err(Datum::malformed(self.array.as_ref(), self.sql_type));
        }
        // The text of the row before leaves its memory.
        if let (Datum::Text(text), DataType::Utf8) = (&mut *value, self.array.data_type()) {
            text.clear();
            text.push_str(self.array.as_string::<i32>().value(row));
        } else {
            *value = Datum::present(self.array.as_ref(), self.sql_type, row);
        }
        Ok(())
    }
}

impl<'a> Columns<'a> {
    /// Makes the arguments, of the given types, for `rows` rows. `page` is the code page of the result.
    pub fn new(
        arguments: Vec<ColumnarValue>,
        types: &'a [SqlType],
        rows: usize,
        value_form: &'a ValueForm,
        result: &'a SqlType,
        page: Option<CodePage>,
    ) -> PlanResult<Columns<'a>> {
        let arguments = arguments.into_iter().zip(types).map(|(argument, sql_type)| {
            let (array, is_constant) = match argument {
                ColumnarValue::Array(array) => (array, false),
                ColumnarValue::Scalar(scalar) => (scalar.to_array_of_size(1)?, true),
            };
            let is_sound = *array.data_type() == data_type(sql_type);
            Ok(Argument { array, sql_type, is_constant, is_sound })
        });
        let arguments: Vec<Argument<'a>> = arguments.collect::<PlanResult<_>>()?;
        let row_values = RefCell::new(vec![Datum::Null; arguments.len()]);
        Ok(Columns { arguments, rows, value_form, result, page, row_values })
    }

    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the type of the result.
    pub fn result(&self) -> &SqlType {
        self.result
    }

    /// Returns the code page of a result that is a text and not Unicode.
    pub fn page(&self) -> Option<CodePage> {
        self.page
    }

    /// Computes the value of a row by the value form. Errors: those of the function; 8115 for a number out of the
    /// result's range.
    pub fn value(&self, row: usize) -> Result<Datum, SqlError> {
        let mut values = self.row_values.try_borrow_mut().map_err(|error| SqlError::internal(error))?;
        for (argument, value) in self.arguments.iter().zip(values.iter_mut()) {
            argument.read_into(row, value)?;
        }
        let value = (self.value_form)(&values)?;
        value.check(self.result)?;
        Ok(value)
    }

    /// Returns an argument that is a text; `None` for any other.
    pub fn texts(&self, at: usize) -> Option<Texts<'_>> {
        let argument = self.arguments.get(at)?;
        let array = argument.array.as_string_opt::<i32>()?;
        Some(Texts { array, is_constant: argument.is_constant })
    }

    /// Returns all arguments, if they are texts.
    pub fn all_texts(&self) -> Option<Vec<Texts<'_>>> {
        (0..self.arguments.len()).map(|at| self.texts(at)).collect()
    }

    /// Returns an argument's array if it has a value for each row.
    pub fn array(&self, at: usize) -> Option<&ArrayRef> {
        let argument = self.arguments.get(at)?;
        (argument.is_sound && !argument.is_constant).then_some(&argument.array)
    }

    /// Returns an argument that is a whole number; `None` for any other.
    pub fn ints(&self, at: usize) -> Option<Ints<'_>> {
        let argument = self.arguments.get(at)?;
        if !argument.is_sound {
            return None;
        }
        let array = argument.array.as_ref();
        match argument.is_constant {
            true if array.is_null(0) => None,
            true => Some(Ints::Constant(Datum::present(array, argument.sql_type, 0).as_int()?)),
            false => Some(Ints::Column(array, argument.sql_type)),
        }
    }

    /// An argument that is a decimal or money; None if it is something else, and for NULL as a constant.
    pub fn units(&self, at: usize) -> Option<Units<'_>> {
        let argument = self.arguments.get(at)?;
        let array = argument.array.as_primitive_opt::<Decimal128Type>().filter(|_| argument.is_sound)?;
        match argument.is_constant {
            false => Some(Units::Column(array)),
            true => array.iter().next().flatten().map(Units::Constant),
        }
    }

    /// Returns the rows for which an argument is NULL; `None` if there are none.
    pub fn nulls(&self) -> Option<NullBuffer> {
        self.arguments.iter().fold(None, |nulls, argument| {
            let own = match argument.is_constant {
                false => argument.array.logical_nulls(),
                true => argument
                    .array
                    .logical_nulls()
                    .filter(|own| own.is_null(0))
                    .map(|_| NullBuffer::new_null(self.rows)),
            };
            NullBuffer::union(nulls.as_ref(), own.as_ref())
        })
    }
}

/// An argument that is a text.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    array: &'a StringArray,
    is_constant: bool,
}

impl<'a> Texts<'a> {
    /// Returns the text of a row; any text for NULL.
    #[inline]
    pub fn at(&self, row: usize) -> &'a str {
        let row = if self.is_constant { 0 } else { row };
        if row < self.array.len() { self.array.value(row) } else { "" }
    }

    /// Returns true if a row has a text.
    pub fn is_present(&self, row: usize) -> bool {
        let row = if self.is_constant { 0 } else { row };
        row < self.array.len() && self.array.is_valid(row)
    }

    /// Returns the column, if it has a text for each row.
    pub fn column(&self) -> Option<&'a StringArray> {
        (!self.is_constant).then_some(self.array)
    }

    /// Bytes of all its texts together.
    pub fn bytes(&self) -> usize {
        let offsets = self.array.value_offsets();
        let length = match (offsets.first(), offsets.last()) {
            (Some(first), Some(last)) => last.saturating_sub(*first),
            _ => 0,
        };
        usize::try_from(length).unwrap_or_default()
    }
}

/// An argument that is a decimal or money, in units of its scale.
#[derive(Clone, Copy)]
pub(crate) enum Units<'a> {
    /// The same for all rows.
    Constant(i128),
    /// One for each row.
    Column(&'a Decimal128Array),
}

/// An argument that is a whole number.
#[derive(Clone, Copy)]
pub(crate) enum Ints<'a> {
    /// The value of all rows.
    Constant(i64),
    /// A value for each row.
    Column(&'a dyn Array, &'a SqlType),
}

impl Ints<'_> {
    /// Returns the number of a row; `None` for NULL and for other values.
    pub fn at(&self, row: usize) -> Option<i64> {
        match self {
            Ints::Constant(value) => Some(*value),
            Ints::Column(array, sql_type) if row < array.len() && array.is_valid(row) => {
                Datum::present(*array, sql_type, row).as_int()
            }
            Ints::Column(..) => None,
        }
    }
}
