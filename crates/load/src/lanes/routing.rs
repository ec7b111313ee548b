//! The values by which rows are routed, as they will be stored.

use arrow::{datatypes::Schema, record_batch::RecordBatch};
use rows::{Mapping, Plan};
use tds::{Reader, Value, ValuePlace, decode_value};

use super::partition_rule::PartitionRule;
use crate::{describe::TableDescription, options::LoadOptions, source::SourceBatch};

/// Finds, for the rows of a source, the values of a partitioned table's column as they will be stored: after every conversion
/// that the load makes.
#[derive(Debug, Clone)]
pub struct Routing {
    pub(crate) partitions: PartitionRule,
    /// NULL becomes a default of the column.
    pub(crate) has_default: bool,
    /// Column, type and conversions.
    pub(crate) column: String,
    /// The place of the values in the source.
    source: usize,
    /// The load of this column alone.
    plan: Plan,
}

impl Routing {
    /// Makes the routing of a source that `plan` loads; or says why its rows cannot be routed.
    pub(crate) fn new(
        target: &TableDescription,
        schema: &Schema,
        plan: &Plan,
        options: &LoadOptions,
    ) -> Result<Self, String> {
        let Some(partitioning) = &target.partitioning else {
            return Err("the catalogue does not say how the table is partitioned".to_owned());
        };
        let name = &partitioning.column;
        let column = target.columns.iter().find(|column| column.column.name == *name);
        let Some(column) = column else { return Err(format!("the table has no column [{name}]")) };
        if column.is_computed {
            return Err(format!("the server computes the partitioning column [{name}]"));
        }
        if column.encryption.is_some() {
            return Err(format!("the partitioning column [{name}] is encrypted"));
        }
        let mut pairs = plan.declared_columns().iter().zip(plan.source_indexes());
        let Some((_, source)) = pairs.find(|(declared, _)| declared.name == *name) else {
            return Err(format!("the partitioning column [{name}] is not in the source"));
        };
        let sql_type = column.column.sql_type();
        let partitions =
            PartitionRule::new(partitioning, sql_type).map_err(|why| format!("[{name}]: {why}"))?;
        let alone = schema.project(&[source]).map_err(|error| error.to_string())?;
        let wanted = [column.column.clone()];
        let plan = Plan::new(&alone, &wanted, &Mapping::ByPosition, options.cast.clone())
            .map_err(|error| error.to_string())?;
        let field = alone.fields().first().map(|field| field.data_type().to_string()).unwrap_or_default();
        Ok(Self {
            partitions,
            has_default: column.has_default && !options.keep_nulls,
            column: format!("{name} {sql_type} of {field}, {:?}", options.cast),
            source,
            plan,
        })
    }

    /// Passes on the values of a batch's rows, one after another; `None` for a value that does not fit the column.
    pub(crate) fn values(&self, batch: &SourceBatch, take: &mut dyn FnMut(Option<Value>)) {
        match batch.batch().project(&[self.source]) {
            Ok(column) => self.values_of(&column, &mut Vec::new(), take),
            // A batch of other columns than were planned is an error, of which the encoder tells.
            Err(_) => (0..batch.rows()).for_each(|_| take(None)),
        }
    }

    /// Values that do not fit are found by halving, as the encoder does.
    fn values_of(&self, column: &RecordBatch, bytes: &mut Vec<u8>, take: &mut dyn FnMut(Option<Value>)) {
        let rows = column.num_rows();
        match self.plan.bind(column, 0) {
            Ok(bound) => {
                bytes.clear();
                bound.encode(0..rows, bytes);
                let mut r = Reader::new(bytes);
                let info = self.plan.columns().first().map(|column| &column.type_info);
                for _ in 0..rows {
                    let value = info.and_then(|info| {
                        r.u8("row token").ok()?;
                        decode_value(&mut r, info, ValuePlace::BulkRow).ok()
                    });
                    take(value);
                }
            }
            Err(_) if rows > 1 => {
                let half = rows / 2;
                self.values_of(&column.slice(0, half), bytes, take);
                self.values_of(&column.slice(half, rows - half), bytes, take);
            }
            Err(_) => take(None),
        }
    }
}
