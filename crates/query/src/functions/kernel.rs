//! The ways in which calls of the language's functions are bound.

use tsql::SqlError;
use tsql::query::JsonColumn;

use super::function::{Function, ValueKernel};
use crate::facts::Facts;
use crate::function_table::TableFunction;
use crate::typed::Typed;

/// The way in which a call is bound.
#[derive(Debug, Clone, Copy)]
pub enum Kernel {
    /// From the values of its arguments.
    Values(ValueKernel<dyn Facts>),
    /// From its unevaluated arguments.
    Written(Written),
    /// Over the rows of a group or a window.
    Aggregate(Aggregate),
    /// Over the rows of a window.
    Window(Window),
    /// As a table.
    Table(TableKernel),
}

/// Binds a call that gives rows; the columns are those of OPENJSON's WITH.
pub type TableKernel = fn(&[Typed], &[JsonColumn]) -> Result<TableFunction, SqlError>;

/// Functions of conditions, words, or arguments of which some are never computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// COALESCE.
    Coalesce,
    /// ISNULL.
    IsNull,
    /// NULLIF.
    NullIf,
    /// IIF.
    Iif,
    /// CHOOSE.
    Choose,
    /// GROUPING.
    Grouping,
    /// GROUPING_ID.
    GroupingId,
    /// A function whose first argument is a datepart.
    Date(DateFunction),
    /// ISJSON, whose second argument is a word.
    IsJson,
    /// A function whose arguments may be JSON themselves.
    Json(JsonFunction),
}

/// Functions of a datepart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateFunction {
    /// DATEADD.
    Add,
    /// DATEDIFF.
    Difference,
    /// DATEDIFF_BIG.
    BigDifference,
    /// DATEPART.
    Part,
    /// DATENAME.
    Name,
    /// DATETRUNC.
    Truncate,
    /// DATE_BUCKET.
    Bucket,
}

/// Functions that put JSON together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFunction {
    /// JSON_OBJECT.
    Object {
        /// ABSENT ON NULL.
        absent: bool,
        /// Without its brackets, and NULL if there is nothing within: a piece of JSON_OBJECTAGG.
        piece: bool,
    },
    /// JSON_ARRAY.
    Array {
        /// ABSENT ON NULL.
        absent: bool,
        /// Without its brackets, and NULL if there is nothing within: a piece of JSON_ARRAYAGG.
        piece: bool,
    },
    /// JSON_MODIFY.
    Modify,
}

/// Aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// COUNT.
    Count,
    /// COUNT_BIG.
    CountBig,
    /// APPROX_COUNT_DISTINCT.
    ApproximateCount,
    /// SUM.
    Sum,
    /// AVG.
    Average,
    /// MIN.
    Least,
    /// MAX.
    Greatest,
    /// STDEV.
    Deviation,
    /// STDEVP.
    PopulationDeviation,
    /// VAR.
    Variance,
    /// VARP.
    PopulationVariance,
    /// CHECKSUM_AGG.
    Checksum,
    /// STRING_AGG.
    Joined,
    /// APPROX_PERCENTILE_CONT.
    ContinuousPercentile,
    /// APPROX_PERCENTILE_DISC.
    DiscretePercentile,
}

/// Functions that need OVER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// ROW_NUMBER.
    RowNumber,
    /// RANK.
    Rank,
    /// DENSE_RANK.
    DenseRank,
    /// NTILE.
    Tile,
    /// PERCENT_RANK.
    PercentRank,
    /// CUME_DIST.
    CumulativeShare,
    /// LAG.
    Before,
    /// LEAD.
    After,
    /// FIRST_VALUE.
    First,
    /// LAST_VALUE.
    Last,
    /// PERCENTILE_CONT.
    ContinuousPercentile,
    /// PERCENTILE_DISC.
    DiscretePercentile,
}

/// Makes a function of values.
pub(super) const fn scalar(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: ValueKernel<dyn Facts>,
) -> Function<Kernel> {
    Function::new(name, required, returns, Kernel::Values(kernel))
}

/// Makes a function bound by its arguments as they are written.
pub(super) const fn written(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: Written,
) -> Function<Kernel> {
    Function::new(name, required, returns, Kernel::Written(kernel))
}
