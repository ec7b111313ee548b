//! Which column types the store keeps, and how a schema is written in the journal.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::codec::{CodecError, Reader, Writer};
use crate::error::StoreError;

/// Refuses types whose batches are not self-contained flat columns: dictionaries, run-end encoded and nested ones.
pub(crate) fn check_schema(schema: &Schema) -> Result<(), StoreError> {
    for field in schema.fields() {
        if buffer_count(field.data_type()).is_none() {
            return Err(StoreError::UnsupportedType {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
            });
        }
    }
    Ok(())
}

/// Buffers of a flat column in an IPC record batch (columnar format, "Recordbatch message"); view columns have further
/// data buffers, counted in the message. None: the type is not kept.
pub(crate) fn buffer_count(data_type: &DataType) -> Option<usize> {
    use DataType::*;
    match data_type {
        Null => Some(0),
        Utf8 | LargeUtf8 | Binary | LargeBinary => Some(3),
        Utf8View | BinaryView | Boolean | FixedSizeBinary(_) => Some(2),
        _ if data_type.is_primitive() => Some(2),
        _ => None,
    }
}

pub(crate) fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// Fields in order: name, type as Arrow spells it, nullable, metadata.
pub(crate) fn encode_schema(schema: &Schema, out: &mut Writer) {
    encode_metadata(schema.metadata(), out);
    out.count(schema.fields().len());
    for field in schema.fields() {
        out.string(field.name());
        out.string(&field.data_type().to_string());
        out.u8(u8::from(field.is_nullable()));
        encode_metadata(field.metadata(), out);
    }
}

pub(crate) fn decode_schema(reader: &mut Reader<'_>) -> Result<SchemaRef, CodecError> {
    let metadata = decode_metadata(reader)?;
    let count = reader.count(13, "columns")?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.string("column name")?;
        let spelling = reader.string("column type")?;
        let data_type = DataType::from_str(&spelling)
            .ok()
            .filter(|data_type| buffer_count(data_type).is_some())
            .ok_or_else(|| {
                reader.invalid("column type", format!("{spelling:?} is not a type the store keeps"))
            })?;
        let nullable = match reader.u8("nullable")? {
            0 => false,
            1 => true,
            other => return Err(reader.invalid("nullable", format!("{other} is neither 0 nor 1"))),
        };
        fields.push(Field::new(name, data_type, nullable).with_metadata(decode_metadata(reader)?));
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

fn encode_metadata(metadata: &HashMap<String, String>, out: &mut Writer) {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    out.count(pairs.len());
    for (key, value) in pairs {
        out.string(key);
        out.string(value);
    }
}

fn decode_metadata(reader: &mut Reader<'_>) -> Result<HashMap<String, String>, CodecError> {
    let count = reader.count(8, "metadata")?;
    (0..count).map(|_| Ok((reader.string("metadata key")?, reader.string("metadata value")?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use arrow::datatypes::{IntervalUnit, TimeUnit};

    use super::*;

    #[test]
    fn every_kept_type_survives_the_journal() {
        use DataType::*;
        let mut types = vec![
            Null,
            Boolean,
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
            Date32,
            Date64,
            Utf8,
            LargeUtf8,
            Utf8View,
            Binary,
            LargeBinary,
            BinaryView,
            FixedSizeBinary(0),
            FixedSizeBinary(16),
            Decimal32(9, 2),
            Decimal64(18, -3),
            Decimal128(38, 10),
            Decimal256(76, 0),
            Time32(TimeUnit::Second),
            Time32(TimeUnit::Millisecond),
            Time64(TimeUnit::Microsecond),
            Time64(TimeUnit::Nanosecond),
            Interval(IntervalUnit::YearMonth),
            Interval(IntervalUnit::DayTime),
            Interval(IntervalUnit::MonthDayNano),
        ];
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            types.push(Timestamp(unit, None));
            types.push(Timestamp(unit, Some("UTC".into())));
            types.push(Timestamp(unit, Some("+02:00".into())));
            types.push(Duration(unit));
        }
        for (index, data_type) in types.into_iter().enumerate() {
            let field = Field::new(format!("c \"ü\" {index}"), data_type.clone(), index % 2 == 0)
                .with_metadata([("sql_type".to_owned(), "nvarchar(50)".to_owned())].into());
            let schema = Schema::new_with_metadata(vec![field], [("k".to_owned(), String::new())].into());
            check_schema(&schema).unwrap();
            let mut out = Writer::default();
            encode_schema(&schema, &mut out);
            let bytes = out.into_bytes();
            let mut reader = Reader::new(&bytes);
            assert_eq!(*decode_schema(&mut reader).unwrap(), schema, "{data_type}");
            reader.finish("schema").unwrap();
        }
    }

    #[test]
    fn nested_and_encoded_types_are_refused_by_name() {
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let schema =
            Schema::new(vec![Field::new("a", DataType::Int8, true), Field::new("b", dictionary, true)]);
        match check_schema(&schema) {
            Err(StoreError::UnsupportedType { column, .. }) => assert_eq!(column, "b"),
            other => panic!("{other:?}"),
        }
    }
}
