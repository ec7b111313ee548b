//! The storage form of a table's columns: a kind for every type of the Exact form, and text in the bytes of its code page.

use std::borrow::Cow;
use std::sync::Arc;

use crate::catalogue::ColumnDefinition;
use crate::storage::error::StoreError;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, GenericByteArray, RecordBatch, RecordBatchOptions,
    StringArray, StringBuilder,
};
use arrow::datatypes::SchemaRef;
use rows::mapping::column_for;
use store::record::kind::Place;
use store::{Column, FilterTest, Kind};

use query::Datum;
use tds::{CodePage, Length, SqlType};

/// Bytes of a hierarchyid, at most.
const HIERARCHYID_BYTES: u16 = 892;

/// The form of one table: its schema in memory and its columns in pages.
#[derive(Debug)]
pub(super) struct TableForm {
    /// The Exact form, with metadata.
    pub schema: SchemaRef,
    /// Code page of each column's stored text; None: values are stored as they are.
    code_pages: Vec<Option<CodePage>>,
}

impl TableForm {
    /// Makes the form of a schema, and its columns.
    pub fn new(schema: SchemaRef) -> Result<(TableForm, Vec<Column>), StoreError> {
        let mut columns = Vec::with_capacity(schema.fields().len());
        let mut code_pages = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let declared = column_for(field).map_err(|_| StoreError::UnsupportedType {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
            })?;
            let (kind, code_page) = kind_of_column(&declared);
            columns.push(Column { name: field.name().clone(), kind, nullable: field.is_nullable() });
            code_pages.push(code_page);
        }
        Ok((TableForm { schema, code_pages }, columns))
    }

    /// Makes the form of columns that hold no text of a code page.
    pub fn plain(schema: SchemaRef) -> TableForm {
        let code_pages = vec![None; schema.fields().len()];
        TableForm { schema, code_pages }
    }

    /// Returns the code page in which a column's text is stored; None if it needs no conversion.
    pub fn code_page(&self, column: usize) -> Option<CodePage> {
        self.code_pages.get(column).copied().flatten()
    }

    /// Converts rows to the form in which pages hold them.
    pub fn encode(&self, batch: &RecordBatch) -> Result<RecordBatch, StoreError> {
        let mut columns = batch.columns().to_vec();
        let mut fields = Vec::new();
        for ((array, code_page), field) in columns.iter_mut().zip(&self.code_pages).zip(self.schema.fields())
        {
            if let Some(code_page) = code_page {
                *array = Arc::new(encoded(array, *code_page, field.name())?);
            }
            fields.push(field.as_ref().clone().with_data_type(array.data_type().clone()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::new(arrow::datatypes::Schema::new(fields));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// Converts values of some columns (positions in the table) to the form in which pages hold them.
    pub fn encode_columns(&self, columns: &[usize], arrays: &[ArrayRef]) -> Result<RecordBatch, StoreError> {
        let schema = Arc::new(self.schema.project(columns)?);
        let code_pages = columns.iter().map(|column| self.code_pages.get(*column).copied().flatten());
        let part = TableForm { schema: Arc::clone(&schema), code_pages: code_pages.collect() };
        part.encode(&RecordBatch::try_new(schema, arrays.to_vec())?)
    }

    /// Converts rows of pages, all columns or those of `projection`, to the Exact form under `schema`.
    pub fn decode(
        &self,
        batch: &RecordBatch,
        projection: Option<&[usize]>,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, StoreError> {
        let mut columns = batch.columns().to_vec();
        for (place, array) in columns.iter_mut().enumerate() {
            let column = projection.and_then(|projection| projection.get(place)).copied().unwrap_or(place);
            if let Some(code_page) = self.code_pages.get(column).copied().flatten() {
                let name = schema.fields().get(place).map_or("", |field| field.name());
                *array = Arc::new(decoded(array, code_page, name)?);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}

/// Returns the storage type of a column, and its code page if the store sees bytes instead of text.
pub(super) fn kind_of_column(column: &tds::Column) -> (Kind, Option<CodePage>) {
    let collation = column.type_info.collation;
    let code_page = collation.filter(|own| !own.is_utf8()).map(|collation| collation.code_page());
    kind_of(column.sql_type(), code_page)
}

/// Returns the storage type of a SQL type, and the code page if the store sees bytes instead of text.
fn kind_of(sql_type: &SqlType, code_page: Option<CodePage>) -> (Kind, Option<CodePage>) {
    let units = |length: &Length| match length {
        Length::Units(units) => Some(*units),
        Length::Max => None,
    };
    let plain = |kind| (kind, None);
    match sql_type {
        SqlType::Bit => plain(Kind::Bit),
        SqlType::TinyInt => plain(Kind::TinyInt),
        SqlType::SmallInt => plain(Kind::SmallInt),
        SqlType::Int => plain(Kind::Int),
        SqlType::BigInt => plain(Kind::BigInt),
        SqlType::Real => plain(Kind::Real),
        SqlType::Float => plain(Kind::Float),
        SqlType::SmallMoney => plain(Kind::SmallMoney),
        SqlType::Money => plain(Kind::Money),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            plain(Kind::Decimal { precision: *precision, scale: *scale })
        }
        SqlType::Date => plain(Kind::Date),
        SqlType::Time { scale } => plain(Kind::Time { scale: *scale }),
        SqlType::SmallDateTime => plain(Kind::SmallDateTime),
        SqlType::DateTime => plain(Kind::DateTime),
        SqlType::DateTime2 { scale } => plain(Kind::DateTime2 { scale: *scale }),
        SqlType::DateTimeOffset { scale } => plain(Kind::DateTimeOffset { scale: *scale }),
        SqlType::UniqueIdentifier => plain(Kind::UniqueIdentifier),
        SqlType::RowVersion => plain(Kind::RowVersion),
        SqlType::Char { length } => match code_page {
            Some(_) => (Kind::Binary(*length), code_page),
            None => plain(Kind::Char(*length)),
        },
        SqlType::VarChar { length } => match code_page {
            Some(_) => (Kind::VarBinary(units(length)), code_page),
            None => plain(Kind::VarChar(units(length))),
        },
        SqlType::Text => match code_page {
            Some(_) => (Kind::VarBinary(None), code_page),
            None => plain(Kind::VarChar(None)),
        },
        SqlType::NChar { length } => plain(Kind::NChar(*length)),
        SqlType::NVarChar { length } => plain(Kind::NVarChar(units(length))),
        SqlType::NText | SqlType::Xml => plain(Kind::NVarChar(None)),
        SqlType::Json => plain(Kind::VarChar(None)),
        SqlType::Binary { length } => plain(Kind::Binary(*length)),
        SqlType::VarBinary { length } => plain(Kind::VarBinary(units(length))),
        SqlType::Vector { .. } => {
            plain(Kind::VarBinary(sql_type.max_length_bytes().and_then(|bytes| u16::try_from(bytes).ok())))
        }
        // A path has few bytes, and they order as the nodes do: it may be a key.
        SqlType::Udt { name, .. } if name.eq_ignore_ascii_case("hierarchyid") => {
            plain(Kind::VarBinary(Some(HIERARCHYID_BYTES)))
        }
        SqlType::Image | SqlType::SqlVariant | SqlType::Udt { .. } => plain(Kind::VarBinary(None)),
    }
}

/// Converts a value to the form in which pages hold it, for comparisons with others of its column; None: the
/// column is too large for them.
pub(super) fn stored_value(value: &Datum, column: &ColumnDefinition) -> Option<Vec<u8>> {
    let (kind, code_page) = kind_of_column(&column.stored());
    if kind.place() == (Place::Variable { limit_bytes: None }) {
        return None;
    }
    let mut array = Datum::array(std::slice::from_ref(value), &column.sql_type);
    if let Some(code_page) = code_page {
        array = Arc::new(encoded(&array, code_page, &column.name).ok()?);
    }
    FilterTest::value(kind, &array).ok()
}

/// Converts a column of an error's values from the form of pages.
pub(crate) fn shown_value(array: &ArrayRef, column: &ColumnDefinition) -> Result<ArrayRef, StoreError> {
    match kind_of_column(&column.stored()).1.filter(|_| array.as_binary_opt::<i32>().is_some()) {
        Some(code_page) => Ok(Arc::new(decoded(array, code_page, &column.name)?)),
        None => Ok(Arc::clone(array)),
    }
}

/// Encodes text in the bytes of a code page. ASCII, the usual case, is the same bytes in all of them.
fn encoded(array: &ArrayRef, code_page: CodePage, column: &str) -> Result<BinaryArray, StoreError> {
    let text = array.as_string_opt::<i32>().ok_or_else(|| not_kept(column, array))?;
    if code_page.is_ascii_superset() && is_ascii(text) {
        let (offsets, values, nulls) = text.clone().into_parts();
        return Ok(BinaryArray::try_new(offsets, values, nulls)?);
    }
    let mut builder = BinaryBuilder::with_capacity(text.len(), text.value_data().len());
    for value in text {
        match value.map(|value| code_page.encode(value)).transpose() {
            Ok(bytes) => builder.append_option(bytes.as_deref()),
            Err(_) => return Err(not_in_code_page(column, code_page)),
        }
    }
    Ok(builder.finish())
}

fn decoded(array: &ArrayRef, code_page: CodePage, column: &str) -> Result<StringArray, StoreError> {
    let bytes = array.as_binary_opt::<i32>().ok_or_else(|| not_kept(column, array))?;
    if code_page.is_ascii_superset() && is_ascii(bytes) {
        let (offsets, values, nulls) = bytes.clone().into_parts();
        return Ok(StringArray::try_new(offsets, values, nulls)?);
    }
    let mut builder = StringBuilder::with_capacity(bytes.len(), bytes.value_data().len());
    for value in bytes {
        let text: Option<Cow<'_, str>> = match value.map(|value| code_page.decode(value)).transpose() {
            Ok(text) => text,
            Err(_) => return Err(not_in_code_page(column, code_page)),
        };
        builder.append_option(text);
    }
    Ok(builder.finish())
}

fn is_ascii<T: arrow::datatypes::ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> bool {
    let offsets = array.offsets();
    let used = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    array.values().get(used.0 as usize..used.1 as usize).is_none_or(<[u8]>::is_ascii)
}

fn not_kept(column: &str, array: &ArrayRef) -> StoreError {
    StoreError::UnsupportedType { column: column.to_owned(), data_type: array.data_type().to_string() }
}

fn not_in_code_page(column: &str, code_page: CodePage) -> StoreError {
    let reason = format!("column {column} has a value that code page {} has not", code_page.number());
    StoreError::SchemaMismatch { table: String::new(), reason }
}
