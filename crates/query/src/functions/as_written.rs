//! Functions whose arguments the binder gets unevaluated: conditions, dateparts, and values of which some are never computed.

use super::function::Function;
use super::kernel::{DateFunction, Kernel, Written, written};

/// Functions that choose among their arguments.
pub(super) const CHOICES: &[Function<Kernel>] = &[
    written("COALESCE", &["value", "value"], "the values' type", Written::Coalesce).repeated().light(),
    written("ISNULL", &["value", "otherwise"], "the first value's type", Written::IsNull).light(),
    written("NULLIF", &["value", "other"], "the first value's type", Written::NullIf).light(),
    written("IIF", &["condition", "value", "otherwise"], "the values' type", Written::Iif).light(),
    written("CHOOSE", &["index", "value"], "the values' type", Written::Choose).repeated().light(),
];

/// Functions of a datepart.
pub(super) const DATES: &[Function<Kernel>] = &[
    date("DATEADD", &["datepart", "count", "date"], "the date's type", DateFunction::Add).light(),
    date("DATEDIFF", &["datepart", "from", "to"], "int", DateFunction::Difference).light(),
    date("DATEDIFF_BIG", &["datepart", "from", "to"], "bigint", DateFunction::BigDifference),
    date("DATEPART", &["datepart", "date"], "int", DateFunction::Part).light(),
    date("DATENAME", &["datepart", "date"], "nvarchar(30)", DateFunction::Name),
    date("DATETRUNC", &["datepart", "date"], "the date's type", DateFunction::Truncate),
    date("DATE_BUCKET", &["datepart", "number", "date"], "the date's type", DateFunction::Bucket)
        .optional(&["origin"]),
];

/// Functions of grouping sets.
pub(super) const GROUPINGS: &[Function<Kernel>] = &[
    written("GROUPING", &["value"], "tinyint", Written::Grouping),
    written("GROUPING_ID", &["value"], "int", Written::GroupingId).repeated(),
];

const fn date(
    name: &'static str,
    required: &'static [&'static str],
    returns: &'static str,
    function: DateFunction,
) -> Function<Kernel> {
    written(name, required, returns, Written::Date(function))
}
