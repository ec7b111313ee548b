//! Pairs of source and target columns, and the cast of each.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, Schema};
use arrow::util::display::array_value_to_string;
use tds::{Collation, Column, Length, SqlType, TypeInfo};

use crate::cast::{Acceptance, Cast, CastOptions, Fault, Refusal, Target, Zone, accept};
use crate::cell_error::{CellError, CellErrorReason};
use crate::encode::{BoundBatch, PassedRows, ROWS_TYPE};
use crate::mapping::{MappingError, declared_sql_type};
use crate::nearest_name::nearest_name;

/// Characters of a value that an error shows.
const VALUE_CHARS_MAX: usize = 100;

/// Rule that pairs source columns with target columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mapping {
    /// Pairs by name: the same name, or else the only one that differs in case only. Every source column must
    /// have a target; target columns without a source are left out.
    #[default]
    ByName,
    /// Pairs by position: the first column to the first, and so on. The numbers of columns must agree.
    ByPosition,
    /// The given pairs of source and target name; every other column on either side is left out.
    Explicit(Vec<(String, String)>),
}

/// A remark about a plan that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanNote {
    /// Values change their type on the way.
    Converted {
        /// The target column.
        column: String,
        /// Type of the source.
        from: DataType,
        /// Type of the target.
        to: SqlType,
    },
    /// Target columns without a source; the server fills them.
    Absent {
        /// Names of the columns.
        columns: Vec<String>,
    },
}

/// The columns of a load or a result set, decided once from the two schemas.
#[derive(Debug, Clone)]
pub struct Plan {
    columns: Vec<Column>,
    declared: Vec<Column>,
    casts: Vec<(usize, Cast)>,
    options: CastOptions,
    notes: Vec<PlanNote>,
    /// Batches hold whole rows in the form of the wire.
    is_spliced: bool,
}

impl Plan {
    /// Plans a bulk load of batches of `source` into the columns `target` of a table.
    ///
    /// Computed and `rowversion` columns cannot be loaded and count as absent, unless a source column asks for one:
    /// that is an error.
    pub fn new(
        source: &Schema,
        target: &[Column],
        mapping: &Mapping,
        options: CastOptions,
    ) -> Result<Self, PlanError> {
        let pairs = pairs(source, target, mapping)?;
        if pairs.is_empty() {
            return Err(PlanError::NoColumns);
        }
        for (_, target_index) in &pairs {
            let column = &target[*target_index];
            if column.flags.is_computed() || *column.sql_type() == SqlType::RowVersion {
                return Err(PlanError::NotLoadable { column: column.name.clone() });
            }
        }
        let mut plan = Self::from_pairs(source, target, &pairs, options)?;
        let absent = target
            .iter()
            .enumerate()
            .filter(|(index, column)| {
                !pairs.iter().any(|(_, target_index)| target_index == index) && !column.flags.is_computed()
            })
            .map(|(_, column)| column.name.clone());
        let columns: Vec<String> = absent.collect();
        if !columns.is_empty() {
            plan.notes.push(PlanNote::Absent { columns });
        }
        for column in &mut plan.columns {
            column.type_info = carrier(&column.type_info);
        }
        for (column, (_, cast)) in plan.columns.iter().zip(&mut plan.casts) {
            cast.target = Target::for_load(column.type_info.clone(), cast.target.nullable);
        }
        Ok(plan)
    }

    /// Plans a result set: the columns of `source`, in order, as `columns` describe them to the client.
    pub fn for_result(source: &Schema, columns: &[Column]) -> Result<Self, PlanError> {
        let options = CastOptions { nested_as_json: true, ..CastOptions::default() };
        Self::for_result_as(source, columns, options)
    }

    /// Plans a result set as [`Plan::for_result`] does, with conversions of the caller's choice.
    pub fn for_result_as(
        source: &Schema,
        columns: &[Column],
        options: CastOptions,
    ) -> Result<Self, PlanError> {
        let pairs = pairs(source, columns, &Mapping::ByPosition)?;
        Self::from_pairs(source, columns, &pairs, options)
    }

    fn from_pairs(
        source: &Schema,
        target: &[Column],
        pairs: &[(usize, usize)],
        options: CastOptions,
    ) -> Result<Self, PlanError> {
        let mut plan = Plan {
            columns: Vec::with_capacity(pairs.len()),
            declared: Vec::new(),
            casts: Vec::with_capacity(pairs.len()),
            options,
            notes: Vec::new(),
            is_spliced: false,
        };
        for &(source_index, target_index) in pairs {
            let (field, column) = (source.field(source_index), &target[target_index]);
            let cast = plan.cast(field, column)?;
            plan.columns.push(column.clone());
            plan.casts.push((source_index, cast));
        }
        plan.declared = plan.columns.clone();
        Ok(plan)
    }

    fn cast(&mut self, field: &Field, column: &Column) -> Result<Cast, PlanError> {
        let declared = declared_sql_type(field)?;
        let sql_type = column.sql_type();
        let acceptance =
            accept(field.data_type(), declared.as_ref(), sql_type, &self.options).map_err(|refusal| {
                PlanError::Refused {
                    source_column: field.name().clone(),
                    column: column.name.clone(),
                    refusal: Box::new(refusal),
                }
            })?;
        if acceptance == Acceptance::Converted {
            self.notes.push(PlanNote::Converted {
                column: column.name.clone(),
                from: field.data_type().clone(),
                to: sql_type.clone(),
            });
        }
        Ok(Cast {
            field: field.clone(),
            target: Target::new(column.type_info.clone(), column.flags.is_nullable()),
            zone: zone_of(field.data_type()),
        })
    }

    /// Returns the columns of the stream, in target order: the COLMETADATA to send.
    ///
    /// In a load, `xml` and `json` travel as `nvarchar(max)` and CLR types as `varbinary(max)`;
    /// [`declared_columns`](Self::declared_columns) are the table's own.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the mapped columns as the table declares them, in the same order: INSERT BULK names these.
    pub fn declared_columns(&self) -> &[Column] {
        &self.declared
    }

    /// Lists for every column of the stream the index of its source column.
    pub fn source_indexes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.casts.iter().map(|(index, _)| *index)
    }

    /// Notes for the user before the load: conversions, and columns left out.
    pub fn notes(&self) -> &[PlanNote] {
        &self.notes
    }

    /// Returns the plan for batches of a [`Splicer`](crate::Splicer), whose rows go out as they are.
    #[must_use]
    pub fn spliced(&self) -> Self {
        Self { is_spliced: true, ..self.clone() }
    }

    /// Returns the options of the casts.
    pub(crate) fn options(&self) -> &CastOptions {
        &self.options
    }

    /// Returns for every column of the stream its source column and its target.
    pub(crate) fn casts(&self) -> impl Iterator<Item = (usize, &Target)> + '_ {
        self.casts.iter().map(|(index, cast)| (*index, &cast.target))
    }

    /// Checks and converts every column of `batch`, before anything is written.
    ///
    /// # Errors
    /// The first value, column by column, that does not fit its target. `first_row` is the number of the batch's first row
    /// in the source, counted from 0; it is added to the row in the error.
    pub fn bind<'a>(&'a self, batch: &'a RecordBatch, first_row: u64) -> Result<BoundBatch<'a>, CellError> {
        if self.is_spliced {
            let rows = PassedRows::of(batch).ok_or_else(|| CellError {
                row: first_row,
                column: String::new(),
                value: String::new(),
                reason: CellErrorReason::SourceType { planned: ROWS_TYPE },
            })?;
            return Ok(BoundBatch::of_passed(rows, batch.num_rows()));
        }
        let mut lanes = Vec::with_capacity(self.casts.len());
        for ((source_index, cast), column) in self.casts.iter().zip(&self.columns) {
            let fault = |index: usize, value: String, reason: CellErrorReason| CellError {
                row: first_row + index as u64,
                column: column.name.clone(),
                value,
                reason,
            };
            let planned = cast.field.data_type();
            let Some(array) = batch.columns().get(*source_index).filter(|array| array.data_type() == planned)
            else {
                let reason = CellErrorReason::SourceType { planned: planned.clone() };
                return Err(fault(0, String::new(), reason));
            };
            let lane = cast.bind(array, &self.options);
            lanes.push(
                lane.map_err(|Fault { index, reason }| fault(index, value_text(array, index), reason))?,
            );
        }
        Ok(BoundBatch::new(lanes, batch.num_rows()))
    }
}

/// Reason why a load cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No source column has a target column.
    #[error("no source column has a target column")]
    NoColumns,
    /// The mapping is by position, but the counts differ.
    #[error("the source has {source_columns} columns, the target {target_columns}")]
    CountMismatch {
        /// Columns of the source.
        source_columns: usize,
        /// Columns of the target.
        target_columns: usize,
    },
    /// A source column without a target of its name.
    #[error("the target has no column {name:?}{}", meant(nearest.as_deref()))]
    NoTarget {
        /// The name as given.
        name: String,
        /// The target column that is called nearly so.
        nearest: Option<String>,
    },
    /// An explicit mapping names a source column that does not exist.
    #[error("the source has no column {name:?}{}", meant(nearest.as_deref()))]
    NoSource {
        /// The name as given.
        name: String,
        /// The source column that is called nearly so.
        nearest: Option<String>,
    },
    /// A name matches several columns that differ in case only.
    #[error("{0:?} could be any of several columns")]
    Ambiguous(String),
    /// Columns that take no NULL and have no default, of which the source has none.
    #[error("the source has no column for {0}, which takes no NULL and has no default")]
    Lacking(String),
    /// Two source columns for one target column.
    #[error("two source columns fill {0:?}")]
    FilledTwice(String),
    /// A computed or rowversion column.
    #[error("{column:?} is computed by the server and cannot be loaded")]
    NotLoadable {
        /// The target column.
        column: String,
    },
    /// The source type cannot be loaded into the target type.
    #[error("column {column:?} (from {source_column:?}): {refusal}")]
    Refused {
        /// Name of the source column.
        source_column: String,
        /// Name of the target column.
        column: String,
        /// Reason for the refusal.
        refusal: Box<Refusal>,
    },
    /// The source's metadata is not understood.
    #[error(transparent)]
    Mapping(#[from] MappingError),
}

/// Returns the question that suggests a name, to be put behind a message.
fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// Pairs source and target indexes, in target order.
fn pairs(source: &Schema, target: &[Column], mapping: &Mapping) -> Result<Vec<(usize, usize)>, PlanError> {
    let target_names: Vec<&str> = target.iter().map(|column| column.name.as_str()).collect();
    let source_names: Vec<&str> = source.fields().iter().map(|field| field.name().as_str()).collect();
    let near = |name: &str, names: &[&str]| nearest_name(name, names.iter().copied()).map(str::to_owned);
    let to_target = |name: &str| {
        let missing = || PlanError::NoTarget { name: name.to_owned(), nearest: near(name, &target_names) };
        find(&target_names, name)?.ok_or_else(missing)
    };
    let mut pairs = match mapping {
        Mapping::ByPosition => {
            let (source_columns, target_columns) = (source_names.len(), target_names.len());
            if source_columns != target_columns {
                return Err(PlanError::CountMismatch { source_columns, target_columns });
            }
            (0..source_columns).map(|index| (index, index)).collect()
        }
        Mapping::ByName => source_names
            .iter()
            .enumerate()
            .map(|(index, name)| Ok((index, to_target(name)?)))
            .collect::<Result<Vec<_>, PlanError>>()?,
        Mapping::Explicit(names) => names
            .iter()
            .map(|(from, to)| {
                let missing =
                    || PlanError::NoSource { name: from.clone(), nearest: near(from, &source_names) };
                let index = find(&source_names, from)?.ok_or_else(missing)?;
                Ok((index, to_target(to)?))
            })
            .collect::<Result<Vec<_>, PlanError>>()?,
    };
    pairs.sort_by_key(|&(_, target_index)| target_index);
    if let Some(twice) = pairs.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        return Err(PlanError::FilledTwice(target_names[twice[0].1].to_owned()));
    }
    Ok(pairs)
}

/// Finds the column of this name, or else the only one that differs in case alone.
fn find(names: &[&str], name: &str) -> Result<Option<usize>, PlanError> {
    let only = |mut found: Vec<usize>| match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(PlanError::Ambiguous(name.to_owned())),
    };
    let positions = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, candidate)| same(candidate)).map(|(index, _)| index).collect()
    };
    let exact = only(positions(&|candidate| candidate == name))?;
    if exact.is_some() {
        return Ok(exact);
    }
    let lower = name.to_lowercase();
    only(positions(&|candidate| candidate.to_lowercase() == lower))
}

/// Returns the type that carries another one in a bulk stream: INSERT BULK takes no XML, JSON or CLR values
/// as such.
fn carrier(type_info: &TypeInfo) -> TypeInfo {
    let text = || {
        let collation = type_info.collation.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        TypeInfo::new(SqlType::NVarChar { length: Length::Max }, true, Some(collation))
    };
    match type_info.sql_type {
        SqlType::Xml | SqlType::Json => text(),
        SqlType::Udt { .. } => TypeInfo::new(SqlType::VarBinary { length: Length::Max }, true, None),
        _ => type_info.clone(),
    }
}

fn zone_of(data_type: &DataType) -> Option<Zone> {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => Zone::parse(zone),
        DataType::Dictionary(_, values) => zone_of(values),
        DataType::RunEndEncoded(_, values) => zone_of(values.data_type()),
        _ => None,
    }
}

/// Formats a value for an error message.
fn value_text(array: &ArrayRef, index: usize) -> String {
    if array.logical_nulls().is_some_and(|nulls| index < nulls.len() && nulls.is_null(index)) {
        return "NULL".to_owned();
    }
    // Arrow prints a decimal in its declared digits and drops others, the very ones that an error is about.
    let widened = match array.data_type() {
        DataType::Decimal128(_, scale) => array
            .as_primitive::<Decimal128Type>()
            .clone()
            .with_precision_and_scale(DECIMAL128_MAX_PRECISION, *scale)
            .map(|array| -> ArrayRef { Arc::new(array) })
            .unwrap_or_else(|_| array.clone()),
        _ => array.clone(),
    };
    let text = array_value_to_string(&widened, index).unwrap_or_else(|error| error.to_string());
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
