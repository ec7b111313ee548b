//! Decides whether rows pass from server to server without being decoded.

use std::sync::Arc;

use load::{Choice, LoadPlan, read::RowGate};
use rows::Splice;

use crate::source::Undecoded;

/// The name of the choice in plans.
const SETTING: &str = "rows";

/// How the rows of a source go into the rows of a plan.
pub(crate) enum Splicing {
    /// There is nothing to decide.
    OfNoServer,
    /// The rows are decoded, for this reason.
    Decoded(String),
    /// The rows pass, once the gate is opened.
    Spliced(Splice, RowGate),
}

impl Splicing {
    /// Decides for a plan. `by_value` is the reason why somebody must see the values, if there is one.
    pub(crate) fn of(undecoded: &Undecoded, plan: &LoadPlan, by_value: Option<&'static str>) -> Self {
        let (columns, gate) = match undecoded {
            Undecoded::OfNoServer => return Self::OfNoServer,
            Undecoded::Never(reason) => return Self::Decoded((*reason).to_owned()),
            Undecoded::Rows { columns, gate } => (columns, gate),
        };
        if let Some(reason) = by_value {
            return Self::Decoded(reason.to_owned());
        }
        if plan.routing.is_some() && plan.routes {
            return Self::Decoded("they go to writers by partition".to_owned());
        }
        match Splice::new(&plan.rows, columns) {
            Ok(splice) => Self::Spliced(splice, gate.clone()),
            Err(unspliced) => {
                let reasons: Vec<String> = unspliced.iter().map(ToString::to_string).collect();
                Self::Decoded(reasons.join("; "))
            }
        }
    }

    /// Returns the choice for people.
    pub(crate) fn choice(&self) -> Option<Choice> {
        let (value, reason) = match self {
            Self::OfNoServer => return None,
            Self::Decoded(reason) => ("decoded".to_owned(), reason.clone()),
            Self::Spliced(splice, _) => {
                let columns = splice.column_count();
                let reason = "rows pass as the source sends them";
                (format!("spliced: {columns} of {columns} columns"), reason.to_owned())
            }
        };
        Some(Choice { setting: SETTING, value, reason })
    }

    /// Lets the rows come, in the form that the plan then expects.
    pub(crate) fn begin(self, plan: &mut LoadPlan) {
        if let Self::Spliced(splice, gate) = self {
            plan.rows = plan.rows.spliced();
            gate.open(Some(Arc::new(splice)));
        }
    }
}
