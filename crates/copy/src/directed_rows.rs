//! Rows that say themselves what they do: their actions become the codes of a stage, and rows that do nothing are left out.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray, UInt8Array, UInt32Array},
    compute::{cast, take_record_batch},
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use load::{ACTION_COLUMN, Origin, Origins, RowAction, SourceBatch, UnreadRow};

use crate::{
    error::CopyError,
    row_stream::{BoxError, RowStream},
    transformation::UntransformedRow,
};

/// The word of a row that does nothing; NULL says the same.
const SKIP: &str = "skip";

/// Counts of rows by what they did to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActionCounts {
    /// Rows that are new in the table.
    pub inserted: u64,
    /// Rows of the table that have other values.
    pub updated: u64,
    /// Rows of the table that are gone.
    pub deleted: u64,
    /// Rows that the table had with the same values.
    pub unchanged: u64,
    /// Rows that were to update or delete a row that the table does not have.
    pub missing: u64,
    /// Rows that were to do nothing.
    pub skipped: u64,
}

/// Puts codes in place of the words in the column `action` of a schema, under the name that a stage has for them.
pub(crate) fn staged_schema(schema: &Schema, action: &str) -> Result<SchemaRef, CopyError> {
    let index = index_of(schema, action)?;
    let field = schema.field(index);
    if !is_text(field.data_type()) {
        return Err(CopyError::Usage(format!(
            "--action must give text: insert, update, upsert, delete, skip or NULL; column {} is {}",
            field.name(),
            field.data_type()
        )));
    }
    let fields = schema.fields().iter().enumerate().map(|(at, field)| match at == index {
        true => Arc::new(Field::new(ACTION_COLUMN, DataType::UInt8, false)),
        false => Arc::clone(field),
    });
    Ok(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())))
}

fn index_of(schema: &Schema, action: &str) -> Result<usize, CopyError> {
    let fields = schema.fields();
    let found = fields.iter().position(|field| field.name() == action);
    let found = found.or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(action)));
    found.ok_or_else(|| {
        CopyError::Usage(format!(
            "--action {action}: beside a whole query it names a column of the result, and there is none"
        ))
    })
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Rows with codes in place of words. Rows that skip are left out and counted. An unknown word refuses its row, and so does NULL in one
/// of the `required` columns, unless the row deletes.
pub(crate) fn directed_rows(
    rows: RowStream,
    action: &str,
    required: Vec<usize>,
    skipped: Arc<AtomicU64>,
) -> Result<RowStream, CopyError> {
    let schema = staged_schema(&rows.schema, action)?;
    let action = index_of(&rows.schema, action)?;
    let directing = Directing { schema: Arc::clone(&schema), action, required, skipped };
    let mut seen = 0;
    let batches = rows.batches.map(move |batch| {
        let batch = batch?.counted_from(seen);
        seen += batch.rows() as u64;
        directing.apply(batch)
    });
    Ok(RowStream { schema, batches: Box::new(batches) })
}

struct Directing {
    schema: SchemaRef,
    action: usize,
    required: Vec<usize>,
    skipped: Arc<AtomicU64>,
}

impl Directing {
    fn apply(&self, mut batch: SourceBatch) -> Result<SourceBatch, BoxError> {
        let rows = batch.batch();
        let words = cast(rows.column(self.action), &DataType::Utf8View)?;
        let words: &StringViewArray = words.as_string_view();
        let (mut codes, mut kept, mut refused) =
            (Vec::with_capacity(rows.num_rows()), Vec::new(), Vec::new());
        let mut skipped = 0;
        for (at, word) in words.iter().enumerate() {
            let code = match word.map(|word| (RowAction::of_word(word), word)) {
                None => None,
                Some((Some(action), _)) => match self.lacking(rows, at, action) {
                    Some(column) => {
                        refused.push(lacks(&batch, at, rows.schema_ref().field(column).name(), action));
                        continue;
                    }
                    None => Some(action.code()),
                },
                Some((None, word)) if word.trim_end_matches(' ').eq_ignore_ascii_case(SKIP) => None,
                Some((None, word)) => {
                    refused.push(unknown(&batch, at, word));
                    continue;
                }
            };
            match code {
                Some(code) => {
                    codes.push(code);
                    kept.push(at as u32);
                }
                None => skipped += 1,
            }
        }
        self.skipped.fetch_add(skipped, Ordering::Relaxed);
        let codes: ArrayRef = Arc::new(UInt8Array::from(codes));
        if kept.len() == rows.num_rows() {
            let rows = self.with_codes(rows, codes)?;
            return Ok(batch.with_rows(rows));
        }
        let kept = UInt32Array::from(kept);
        let rows = self.with_codes(&take_record_batch(rows, &kept)?, codes)?;
        let mut unread = batch.take_unread();
        unread.extend(refused);
        unread.sort_by_key(|row| row.origin.row);
        let file = batch.file().map(|(file, first_row)| (Arc::clone(file), first_row));
        let helpers_cpu = batch.helpers_cpu();
        let origins = KeptOrigins { source: batch, kept };
        let directed =
            SourceBatch::new(rows, Arc::new(origins)).with_unread(unread).with_helpers_cpu(helpers_cpu);
        Ok(match file {
            Some((file, first_row)) => directed.in_file(file, first_row),
            None => directed,
        })
    }

    fn with_codes(&self, rows: &RecordBatch, codes: ArrayRef) -> Result<RecordBatch, BoxError> {
        let columns = rows.columns().iter().enumerate().map(|(at, column)| match at == self.action {
            true => Arc::clone(&codes),
            false => Arc::clone(column),
        });
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())?)
    }

    /// Finds a column that must have a value in this row and has none.
    fn lacking(&self, rows: &RecordBatch, at: usize, action: RowAction) -> Option<usize> {
        let needs_all = action != RowAction::Delete;
        self.required.iter().copied().filter(|_| needs_all).find(|column| rows.column(*column).is_null(at))
    }
}

fn unknown(batch: &SourceBatch, at: usize, word: &str) -> UnreadRow {
    refused(
        batch,
        at,
        UntransformedRow {
            column: Some("--action".to_owned()),
            value: Some(word.to_owned()),
            number: None,
            reason: "this is no action; there are insert, update, upsert, delete, skip and NULL".to_owned(),
        },
    )
}

fn lacks(batch: &SourceBatch, at: usize, column: &str, action: RowAction) -> UnreadRow {
    let reason = format!("NULL in a row to {action}, and the column takes no NULL");
    refused(
        batch,
        at,
        UntransformedRow { column: Some(column.to_owned()), value: None, number: None, reason },
    )
}

fn refused(batch: &SourceBatch, at: usize, row: UntransformedRow) -> UnreadRow {
    UnreadRow { origin: batch.origin(at), error: Arc::new(row) }
}

/// The origins of the rows that are left.
struct KeptOrigins {
    source: SourceBatch,
    /// The index of each in the source's batch.
    kept: UInt32Array,
}

impl KeptOrigins {
    fn place(&self, index: usize) -> usize {
        self.kept.values().get(index).copied().unwrap_or_default() as usize
    }
}

impl Origins for KeptOrigins {
    fn origin(&self, index: usize) -> Origin {
        self.source.origin(self.place(index))
    }

    fn row(&self, index: usize) -> u64 {
        self.source.origin_row(self.place(index))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Int32Array, StringArray};

    use super::*;

    fn directed(words: Vec<Option<&str>>, required: Vec<usize>) -> (SourceBatch, u64) {
        let schema = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int32, true),
            Field::new("op", DataType::Utf8, true),
        ]));
        let numbers = (0..words.len()).map(|n| (n % 2 == 0).then_some(n as i32));
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from_iter(numbers)), Arc::new(StringArray::from(words))];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let rows = RowStream { schema, batches: Box::new([Ok(batch.into())].into_iter()) };
        let skipped = Arc::new(AtomicU64::new(0));
        let mut rows = directed_rows(rows, "OP", required, Arc::clone(&skipped)).unwrap();
        (rows.batches.next().unwrap().unwrap(), skipped.load(Ordering::Relaxed))
    }

    #[test]
    fn words_become_codes_and_rows_that_skip_go() {
        let (batch, skipped) = directed(
            vec![Some("insert"), None, Some("Delete "), Some("skip"), Some("move"), Some("UPSERT")],
            vec![],
        );
        let codes: &UInt8Array = batch.batch().column(1).as_primitive();
        assert_eq!(codes.values(), &[1, 4, 3]);
        assert_eq!(skipped, 2);
        assert_eq!((0..3).map(|at| batch.origin_row(at)).collect::<Vec<_>>(), [0, 2, 5]);
        assert_eq!(batch.unread().iter().map(|row| row.origin.row).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_row_that_deletes_needs_no_values() {
        let (batch, skipped) =
            directed(vec![Some("insert"), Some("insert"), Some("update"), Some("delete")], vec![0]);
        let codes: &UInt8Array = batch.batch().column(1).as_primitive();
        assert_eq!((codes.values().as_ref(), skipped), ([1, 2, 4].as_slice(), 0));
        assert_eq!(batch.unread().iter().map(|row| row.origin.row).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn actions_are_text() {
        let schema = Schema::new(vec![Field::new("op", DataType::Int32, true)]);
        assert!(staged_schema(&schema, "op").unwrap_err().to_string().contains("Int32"));
        assert!(staged_schema(&schema, "other").is_err());
    }
}
