//! INT96 timestamps: nanoseconds of a day and a day, of a range that no 64-bit count of nanoseconds has.
//!
//! The decoder takes nanoseconds unless the schema says otherwise, and wraps beyond the years 1677 to 2262.
//! The year 9999 is a common "valid to". Which unit a column needs is known from its values alone, so they
//! are read once before. Spark writes whole microseconds, and says so by its name.

use std::slice;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::data_type::Int96;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::counted_chunks::CountedChunks;
use crate::{FormatError, Reason};

/// The day number of 1970-01-01 in INT96.
const DAY_OF_1970: i64 = 2_440_588;
const NANOSECONDS_A_DAY: i128 = 86_400_000_000_000;
/// The keys of Spark's own notes in a file.
const SPARK: &str = "org.apache.spark";
const VALUES_AT_ONCE: usize = 8192;

/// Returns the file's metadata with a unit for each INT96 column that its values fit.
///
/// # Errors
/// A column has digits below a microsecond beside years that nanoseconds do not hold, or years that nothing holds.
pub(super) fn fitted(
    chunks: &CountedChunks,
    metadata: ArrowReaderMetadata,
) -> Result<ArrowReaderMetadata, FormatError> {
    let leaves = metadata.parquet_schema();
    if !leaves.columns().iter().any(|leaf| leaf.physical_type() == Type::INT96) {
        return Ok(metadata);
    }
    let notes = metadata.metadata().file_metadata().key_value_metadata();
    let is_spark = notes.into_iter().flatten().any(|note| note.key.starts_with(SPARK));
    let is_counted_in_nanoseconds = leaf_types(metadata.schema());
    let mut needs = vec![false; leaves.num_columns()];
    for (at, need) in needs.iter_mut().enumerate() {
        let is_nanoseconds = is_counted_in_nanoseconds.get(at).copied().unwrap_or(false);
        if !is_nanoseconds || leaves.column(at).physical_type() != Type::INT96 {
            continue;
        }
        *need = is_spark
            || needs_microseconds(chunks, at)
                .map_err(|error| error.in_column(&leaves.column(at).path().string()))?;
    }
    if !needs.contains(&true) {
        return Ok(metadata);
    }
    let mut leaf = needs.iter();
    let fields: Fields = metadata.schema().fields().iter().map(|field| with_unit(field, &mut leaf)).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    let options = ArrowReaderOptions::default().with_schema(Arc::new(schema));
    Ok(ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?)
}

/// Returns true for each leaf of the schema that is a timestamp in nanoseconds.
fn leaf_types(schema: &Schema) -> Vec<bool> {
    fn add(data_type: &DataType, leaves: &mut Vec<bool>) {
        match children(data_type) {
            Some(fields) => fields.iter().for_each(|field| add(field.data_type(), leaves)),
            None => leaves.push(matches!(data_type, DataType::Timestamp(TimeUnit::Nanosecond, _))),
        }
    }
    let mut leaves = Vec::new();
    schema.fields().iter().for_each(|field| add(field.data_type(), &mut leaves));
    leaves
}

/// Returns the fields inside a nested type.
fn children(data_type: &DataType) -> Option<&[Arc<Field>]> {
    match data_type {
        DataType::Struct(fields) => Some(fields),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => Some(slice::from_ref(field)),
        _ => None,
    }
}

/// Returns a field in which the leaves that need it count microseconds.
fn with_unit(field: &Arc<Field>, leaf: &mut slice::Iter<'_, bool>) -> Arc<Field> {
    let inner = |field: &Arc<Field>, leaf: &mut slice::Iter<'_, bool>| with_unit(field, leaf);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| inner(field, leaf)).collect()),
        DataType::List(field) => DataType::List(inner(field, leaf)),
        DataType::LargeList(field) => DataType::LargeList(inner(field, leaf)),
        DataType::ListView(field) => DataType::ListView(inner(field, leaf)),
        DataType::LargeListView(field) => DataType::LargeListView(inner(field, leaf)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(inner(field, leaf), *size),
        DataType::Map(field, sorted) => DataType::Map(inner(field, leaf), *sorted),
        own => match (leaf.next(), own) {
            (Some(true), DataType::Timestamp(_, zone)) => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            _ => own.clone(),
        },
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Returns true if a column has a value that no 64-bit count of nanoseconds holds.
fn needs_microseconds(chunks: &CountedChunks, column: usize) -> Result<bool, FormatError> {
    let file = SerializedFileReader::new(chunks.uncounted())?;
    let (mut is_far, mut finer) = (None, false);
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let ColumnReader::Int96ColumnReader(mut reader) =
            file.get_row_group(group)?.get_column_reader(column)?
        else {
            return Ok(false);
        };
        let (mut levels, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::<Int96>::new());
        loop {
            levels.clear();
            repetitions.clear();
            values.clear();
            let (rows, ..) = reader.read_records(
                VALUES_AT_ONCE,
                Some(&mut levels),
                Some(&mut repetitions),
                &mut values,
            )?;
            if rows == 0 {
                break;
            }
            for value in &values {
                let nanoseconds = nanoseconds_of(value);
                finer |= nanoseconds % 1000 != 0;
                if i64::try_from(nanoseconds).is_err() {
                    if i64::try_from(nanoseconds.div_euclid(1000)).is_err() {
                        return Err(beyond(row, "a year that no type of a timestamp holds"));
                    }
                    is_far.get_or_insert(row);
                }
            }
            row += rows as u64;
        }
    }
    match is_far {
        Some(row) if finer => Err(beyond(
            row,
            "a year outside of 1677 to 2262 in a column that has digits below a microsecond: no one unit holds both",
        )),
        far => Ok(far.is_some()),
    }
}

/// Makes the error of a year out of range; `row` is the first of those that were looked at together.
fn beyond(row: u64, what: &str) -> FormatError {
    let problem = format!("an INT96 timestamp behind row {row} has {what}");
    FormatError::new(Reason::Text(problem))
}

/// Returns the nanoseconds since 1970.
fn nanoseconds_of(value: &Int96) -> i128 {
    let [low, high, day] = value.data() else { return 0 };
    let of_day = u64::from(*low) | (u64::from(*high) << 32);
    let days = i64::from(*day) - DAY_OF_1970;
    i128::from(days) * NANOSECONDS_A_DAY + i128::from(of_day.cast_signed())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use arrow::array::AsArray;
    use arrow::datatypes::{TimestampMicrosecondType, TimestampNanosecondType};
    use parquet::data_type::Int96Type;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::parquet::ParquetReader;
    use crate::{Compression, Location};

    /// Makes a value from days since 1970 and nanoseconds of the day.
    fn int96(day: i64, nanoseconds: u64) -> Int96 {
        let mut value = Int96::new();
        let day = u32::try_from(day + DAY_OF_1970).unwrap();
        value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, day);
        value
    }

    fn write(path: &Path, values: &[Int96], key: Option<&str>) {
        let schema = parse_message_type("message m { required int96 t; }").unwrap();
        let notes = key.map(|key| vec![KeyValue::new(key.to_owned(), "1".to_owned())]);
        let properties = WriterProperties::builder().set_key_value_metadata(notes).build();
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int96Type>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    fn read(path: &Path) -> Result<arrow::array::ArrayRef, FormatError> {
        let location = Location::Path(path.to_owned());
        let mut reader = ParquetReader::open(&location, Compression::None, 100)?;
        Ok(Arc::clone(reader.next().unwrap()?.column(0)))
    }

    /// 9999-12-31 and the like are what they are, and what no unit holds is refused by its column.
    #[test]
    fn years_do_not_wrap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let hour = 3_600_000_000_000;
        write(&path, &[int96(0, hour), int96(2_932_896, hour)], None);
        let values = read(&path).unwrap();
        let values = values.as_primitive::<TimestampMicrosecondType>();
        assert_eq!(values.values(), &[3_600_000_000, 2_932_896 * 86_400_000_000 + 3_600_000_000]);

        write(&path, &[int96(0, 1), int96(106_751, 0)], None);
        let values = read(&path).unwrap();
        let values = values.as_primitive::<TimestampNanosecondType>();
        assert_eq!(values.values(), &[1, 106_751 * 86_400_000_000_000]);

        write(&path, &[int96(0, 1000)], Some("org.apache.spark.version"));
        assert_eq!(read(&path).unwrap().as_primitive::<TimestampMicrosecondType>().values(), &[1]);

        write(&path, &[int96(0, 1), int96(2_932_896, 0)], None);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("column \"t\"") && error.contains("below a microsecond"), "{error}");

        write(&path, &[int96(0, 0), int96(4_000_000_000, 0)], None);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("no type of a timestamp"), "{error}");
    }
}
