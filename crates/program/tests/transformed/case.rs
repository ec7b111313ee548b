//! One case of a script.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampNanosecondArray, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::util::display::array_value_to_string;
use bulkwire_transform::Transformer;
use copy::{Lookup, RowStream, TransformEngine, Transformation, UntransformedRow};
use load::{Origin, Origins, SourceBatch, UnreadRow};
use rows::Form;
use rows::mapping::column_for;
use rows::text::DateOrder;

/// A case: its text, and what is to come out.
#[derive(Default)]
pub struct Case {
    pub name: String,
    /// The lines before `----`.
    head: String,
    source: Table,
    lookups: Vec<(String, Table)>,
    transformation: Transformation,
    file: Option<String>,
    pub expected: String,
}

/// Rows with their columns.
#[derive(Default, Clone)]
struct Table {
    columns: Vec<(String, String)>,
    /// None: a row that could not be read.
    rows: Vec<Option<Vec<String>>>,
}

impl Case {
    /// The cases of a script.
    pub fn all(text: &str) -> Vec<Case> {
        text.split("\n# ").map(|part| Case::new(part.trim_start_matches("# "))).collect()
    }

    fn new(text: &str) -> Case {
        let (head, expected) = text.split_once("----\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let mut case = Case { name: lines.next().unwrap_or_default().to_owned(), ..Case::default() };
        head.clone_into(&mut case.head);
        case.expected = format!("{}\n", expected.trim_end());
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let mut table = || {
                let mut table = Table::default();
                let header = lines.next().unwrap();
                let named = header.split(',').map(|column| column.split_once(':').unwrap());
                table.columns = named.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
                while let Some(row) = lines.next_if(|line| !line.is_empty()) {
                    let is_row = row != "?";
                    table.rows.push(is_row.then(|| row.split(',').map(str::to_owned).collect()));
                }
                table
            };
            match word {
                "source" => case.source = table(),
                "lookup" => {
                    let table = table();
                    case.lookups.push((rest.to_owned(), table));
                }
                "select" => case.transformation.select = Some(rest.to_owned()),
                "where" => case.transformation.condition = Some(rest.to_owned()),
                "transform" => {
                    let mut query = rest.to_owned();
                    while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
                        query = query + "\n" + more;
                    }
                    case.transformation.query = Some(query);
                }
                "collation" => case.transformation.collation = Some(rest.to_owned()),
                "dates" => {
                    case.transformation.spelling.date_order = Some(match rest {
                        "mdy" => DateOrder::MonthDayYear,
                        "dmy" => DateOrder::DayMonthYear,
                        other => panic!("{}: what is the order {other:?}?", case.name),
                    });
                }
                "memory" => case.transformation.memory_limit = rest.parse().unwrap(),
                "form" => case.transformation.form = Form::Exact,
                "files" => case.transformation.files = Some(rest.into()),
                "file" => case.file = Some(rest.to_owned()),
                "" => {}
                other => panic!("{}: what is {other:?}?", case.name),
            }
        }
        case
    }

    /// The case as it stands in its script, with another result.
    #[allow(dead_code)]
    pub fn printed(&self, out: &str) -> String {
        format!("# {}----\n{}\n\n", self.head, out.trim_end())
    }

    /// Transforms the source in batches of `batch_rows` rows and returns the result as text.
    pub fn run(&self, batch_rows: usize) -> String {
        let lookups = self
            .lookups
            .iter()
            .map(|(name, table)| Lookup { name: name.clone(), rows: table.stream(batch_rows, None) });
        let schema = self.source.schema();
        let prepared = match Transformer.prepare(&self.transformation, schema, lookups.collect()) {
            Ok(prepared) => prepared,
            Err(error) => return format!("error: {error}\n"),
        };
        let schema = prepared.schema();
        let header = schema.fields().iter().map(|field| {
            let column = column_for(field).unwrap();
            let null = if field.is_nullable() { "" } else { " not null" };
            format!("{} {}{null}", field.name(), column.sql_type())
        });
        let mut out = header.collect::<Vec<_>>().join(" | ");
        if !prepared.is_row_wise() {
            out += "  (gathers)";
        }
        out += "\n";
        let stream = prepared.apply(self.source.stream(batch_rows, self.file.as_deref()));
        let mut lines: Vec<(u64, String)> = Vec::new();
        for batch in stream.batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    lines.push((u64::MAX, format!("error: {error}\n")));
                    break;
                }
            };
            for index in 0..batch.rows() {
                let row = batch.origin(index).row;
                assert_eq!(batch.origin_row(index), row);
                lines.push((row, format!("{}: {}\n", row + 1, row_text(batch.batch(), index))));
            }
            for unread in batch.unread() {
                let failed = unread.error.downcast_ref::<UntransformedRow>();
                let number = failed.and_then(|failed| failed.number).map(|number| format!("{number} "));
                let number = number.unwrap_or_default();
                lines.push((
                    unread.origin.row,
                    format!("{}: refused {number}{}\n", unread.origin.row + 1, unread.error),
                ));
            }
        }
        // Rows and refused rows come in order, if they have places at all.
        if schema.fields().first().is_some_and(|field| field.name() != "unordered") {
            lines.sort_by_key(|(row, _)| *row);
        }
        for (_, line) in lines {
            out += &line;
        }
        out
    }
}

fn row_text(batch: &RecordBatch, index: usize) -> String {
    let mut text = String::new();
    for (at, array) in batch.columns().iter().enumerate() {
        if at > 0 {
            text += " | ";
        }
        if array.is_null(index) {
            text += "NULL";
        } else {
            write!(text, "{}", array_value_to_string(array, index).unwrap()).unwrap();
        }
    }
    text
}

impl Table {
    fn schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|(name, kind)| {
            let data_type = match kind.trim_end_matches('!') {
                "int" => DataType::Int32,
                "big" => DataType::Int64,
                "unsigned" => DataType::UInt32,
                "text" => DataType::Utf8,
                "bit" => DataType::Boolean,
                "float" => DataType::Float64,
                "date" => DataType::Date32,
                "decimal" => DataType::Decimal128(9, 2),
                "nanos" => DataType::Timestamp(TimeUnit::Nanosecond, None),
                other => panic!("what is {other:?}?"),
            };
            Field::new(name, data_type, !kind.ends_with('!'))
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn stream(&self, batch_rows: usize, file: Option<&str>) -> RowStream {
        let schema = self.schema();
        let numbered: Vec<_> = self.rows.iter().cloned().enumerate().collect();
        let mut batches = Vec::new();
        for part in numbered.chunks(batch_rows.min(numbered.len()).max(1)) {
            let rows: Vec<_> = part.iter().filter_map(|(at, row)| Some((*at, row.clone()?))).collect();
            let unread = part.iter().filter(|(_, row)| row.is_none()).map(|(at, _)| UnreadRow {
                origin: Origin { row: *at as u64, byte_offset: None, raw: None },
                error: Arc::new(std::io::Error::other("malformed")),
            });
            let arrays: Vec<ArrayRef> = (0..self.columns.len())
                .map(|column| {
                    let values: Vec<_> = rows.iter().map(|(_, row)| row[column].as_str()).collect();
                    array(&self.columns[column].1, &values)
                })
                .collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
            let places = rows.iter().map(|(at, _)| *at as u64).collect();
            let batch = SourceBatch::new(batch, Arc::new(Places(places))).with_unread(unread.collect());
            batches.push(Ok(match file {
                Some(file) => batch.in_file(file.into(), 0),
                None => batch,
            }));
        }
        RowStream { schema, batches: Box::new(batches.into_iter()) }
    }
}

struct Places(Vec<u64>);

impl Origins for Places {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.0[index], byte_offset: None, raw: None }
    }
}

fn array(kind: &str, values: &[&str]) -> ArrayRef {
    fn parsed<T: std::str::FromStr>(values: &[&str]) -> Vec<Option<T>> {
        values.iter().map(|value| (*value != "NULL").then(|| value.parse().ok().unwrap())).collect()
    }
    match kind.trim_end_matches('!') {
        "int" => Arc::new(Int32Array::from(parsed(values))),
        "big" => Arc::new(Int64Array::from(parsed(values))),
        "unsigned" => Arc::new(UInt32Array::from(parsed(values))),
        "bit" => Arc::new(BooleanArray::from(parsed(values))),
        "float" => Arc::new(Float64Array::from(parsed(values))),
        "date" => Arc::new(Date32Array::from(parsed(values))),
        "nanos" => Arc::new(TimestampNanosecondArray::from(parsed(values))),
        "decimal" => {
            let array = Decimal128Array::from(parsed(values));
            Arc::new(array.with_precision_and_scale(9, 2).unwrap())
        }
        "text" => {
            Arc::new(values.iter().map(|value| (*value != "NULL").then_some(*value)).collect::<StringArray>())
        }
        other => panic!("what is {other:?}?"),
    }
}
