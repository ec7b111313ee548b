//! The aggregates and window functions, which the binder maps to the engine's.

use super::function::Function;
use super::kernel::{Aggregate, Kernel, Window};

/// Functions of the rows of a group, or of a window.
pub(super) const AGGREGATES: &[Function<Kernel>] = &[
    aggregate("COUNT", &["value"], "int", Aggregate::Count).star().light(),
    aggregate("COUNT_BIG", &["value"], "bigint", Aggregate::CountBig).star().light(),
    aggregate("APPROX_COUNT_DISTINCT", &["value"], "bigint", Aggregate::ApproximateCount),
    aggregate("SUM", &["number"], "the number's type, at least int", Aggregate::Sum).light(),
    aggregate("AVG", &["number"], "the number's type, at least int", Aggregate::Average).light(),
    aggregate("MIN", &["value"], "the value's type", Aggregate::Least).light(),
    aggregate("MAX", &["value"], "the value's type", Aggregate::Greatest).light(),
    aggregate("STDEV", &["number"], "float", Aggregate::Deviation),
    aggregate("STDEVP", &["number"], "float", Aggregate::PopulationDeviation),
    aggregate("VAR", &["number"], "float", Aggregate::Variance),
    aggregate("VARP", &["number"], "float", Aggregate::PopulationVariance),
    aggregate("CHECKSUM_AGG", &["number"], "int", Aggregate::Checksum),
    aggregate("STRING_AGG", &["value", "separator"], "text", Aggregate::Joined).within_group(),
    aggregate("APPROX_PERCENTILE_CONT", &["fraction"], "float", Aggregate::ContinuousPercentile)
        .within_group(),
    aggregate("APPROX_PERCENTILE_DISC", &["fraction"], "the value's type", Aggregate::DiscretePercentile)
        .within_group(),
];

/// Functions of the rows of a window.
pub(super) const WINDOWS: &[Function<Kernel>] = &[
    window("ROW_NUMBER", &[], "bigint", Window::RowNumber),
    window("RANK", &[], "bigint", Window::Rank),
    window("DENSE_RANK", &[], "bigint", Window::DenseRank),
    window("NTILE", &["buckets"], "bigint", Window::Tile),
    window("PERCENT_RANK", &[], "float", Window::PercentRank),
    window("CUME_DIST", &[], "float", Window::CumulativeShare),
    window("LAG", &["value"], "the value's type", Window::Before).optional(&["offset", "default"]),
    window("LEAD", &["value"], "the value's type", Window::After).optional(&["offset", "default"]),
    window("FIRST_VALUE", &["value"], "the value's type", Window::First),
    window("LAST_VALUE", &["value"], "the value's type", Window::Last),
    window("PERCENTILE_CONT", &["fraction"], "float", Window::ContinuousPercentile).within_group(),
    window("PERCENTILE_DISC", &["fraction"], "the value's type", Window::DiscretePercentile).within_group(),
];

const fn aggregate(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: Aggregate,
) -> Function<Kernel> {
    Function::new(name, required, returns, Kernel::Aggregate(kernel))
}

const fn window(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    kernel: Window,
) -> Function<Kernel> {
    Function::new(name, required, returns, Kernel::Window(kernel))
}
