//! The columns of outer rows in queries that are planned once and run for each of those rows.
//!
//! Until it is planned, such a query has a placeholder for each outer column, which the engine takes for a constant
//! that is not known yet. In the plan that runs, a function in its place reads the current outer row.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use parking_lot::Mutex;

/// The row of the moment: values of some columns, by their names in plans, which are unique.
#[derive(Debug)]
pub(crate) struct OuterRow {
    pub names: Vec<String>,
    values: Mutex<Vec<ScalarValue>>,
    /// A key leads to rows that it looks for.
    finds: AtomicBool,
}

impl OuterRow {
    /// Makes an outer row without values.
    pub fn new(names: Vec<String>) -> Arc<OuterRow> {
        Arc::new(OuterRow { names, values: Mutex::default(), finds: AtomicBool::new(false) })
    }

    /// Sets the next row.
    pub fn set(&self, values: &[ScalarValue]) {
        let mut own = self.values.lock();
        own.clear();
        own.extend_from_slice(values);
    }

    /// Returns true if the plan that reads the outer row finds its own rows by a key with those values.
    pub fn finds_rows(&self) -> bool {
        self.finds.load(Ordering::Relaxed)
    }

    fn get(&self, index: usize) -> Option<ScalarValue> {
        self.values.lock().get(index).cloned()
    }
}

/// The rows around a query, the nearest last. Its plan runs many times.
#[derive(Debug, Default, Clone)]
pub(crate) struct Parameters {
    rows: Vec<Arc<OuterRow>>,
}

impl Parameters {
    /// Returns the parameters of the query that is being planned; `None` if its plan runs once.
    pub fn of(state: &SessionState) -> Option<Arc<Parameters>> {
        state.config().get_extension::<Parameters>()
    }

    /// Makes a state to plan a query with that runs for each row; `row` is the nearest.
    pub fn within(state: &SessionState, row: Option<&Arc<OuterRow>>) -> SessionState {
        let mut parameters = Parameters::of(state).map(|outer| outer.as_ref().clone()).unwrap_or_default();
        parameters.rows.extend(row.map(Arc::clone));
        let mut state = state.clone();
        state.config_mut().set_extension(Arc::new(parameters));
        state
    }

    /// Notes that a table is read by a key with values of the rows.
    pub fn note_seek(&self) {
        for row in &self.rows {
            row.finds.store(true, Ordering::Relaxed);
        }
    }

    fn find(&self, name: &str) -> Option<(&Arc<OuterRow>, usize)> {
        self.rows.iter().rev().find_map(|row| Some((row, row.names.iter().position(|own| own == name)?)))
    }

    /// Puts functions in place of placeholders in a plan.
    pub fn bound_plan(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.rows.is_empty() {
            return Ok(plan);
        }
        plan.transform_up_with_subqueries(|node| {
            node.map_expressions(|expr| {
                let bound = self.bound(expr)?;
                Ok(Transformed::yes(bound))
            })
        })
        .map(|transformed| transformed.data)
    }

    /// Puts functions in place of placeholders in an expression.
    pub fn bound(&self, expr: Expr) -> Result<Expr> {
        expr.transform_up(|part| {
            let Expr::Placeholder(placeholder) = &part else { return Ok(Transformed::no(part)) };
            let (Some((row, index)), Some(field)) = (self.find(&placeholder.id), &placeholder.field) else {
                return Err(DataFusionError::Internal(format!("no row has {}", placeholder.id)));
            };
            let function = OuterValue {
                row: Arc::clone(row),
                index,
                data_type: field.data_type().clone(),
                signature: Signature::nullary(Volatility::Volatile),
            };
            let call = ScalarFunction::new_udf(Arc::new(ScalarUDF::from(function)), Vec::new());
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        })
        .map(|transformed| transformed.data)
    }
}

/// Makes the placeholder of an outer column, which stands for it until the query is planned.
pub(crate) fn placeholder(name: &str, field: &FieldRef) -> Expr {
    Expr::Placeholder(Placeholder::new_with_field(name.to_owned(), Some(Arc::clone(field))))
}

/// Rewrites a condition for any row: whether it can be used does not depend on the row.
pub(crate) fn for_some_row(expr: &Expr) -> Expr {
    let replaced = expr.clone().transform_up(|part| match &part {
        Expr::Placeholder(Placeholder { field: Some(field), .. }) => {
            let value = match field.data_type() {
                DataType::Utf8 => ScalarValue::from("a"),
                other => ScalarValue::new_default(other)?,
            };
            Ok(Transformed::yes(Expr::Literal(value, None)))
        }
        _ => Ok(Transformed::no(part)),
    });
    replaced.map(|replaced| replaced.data).unwrap_or_else(|_| expr.clone())
}

/// Rewrites a condition for the present row. `None`: it looks at none.
pub(crate) fn for_this_row(expr: &Expr) -> Option<Expr> {
    let replaced = expr.clone().transform_up(|part| match &part {
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<OuterValue>() {
            Some(value) => Ok(Transformed::yes(Expr::Literal(value.value()?, None))),
            None => Ok(Transformed::no(part)),
        },
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(value, _) => {
                let value = value.cast_to(cast.field.data_type())?;
                Ok(Transformed::yes(Expr::Literal(value, None)))
            }
            _ => Ok(Transformed::no(part)),
        },
        _ => Ok(Transformed::no(part)),
    });
    replaced.ok().filter(|replaced| replaced.transformed).map(|replaced| replaced.data)
}

/// Returns true if an expression reads a row around its query.
pub(crate) fn looks_out(expr: &Expr) -> bool {
    let mut found = false;
    let walked = expr.apply(|part| {
        if let Expr::ScalarFunction(call) = part {
            found |= call.func.inner().is::<OuterValue>();
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && found
}

/// Returns true if a function reads the row around its query.
pub(crate) fn reads_outer_row(function: &ScalarUDF) -> bool {
    function.inner().is::<OuterValue>()
}

/// Reads a column of the row of the moment.
struct OuterValue {
    row: Arc<OuterRow>,
    index: usize,
    data_type: DataType,
    signature: Signature,
}

impl OuterValue {
    fn value(&self) -> Result<ScalarValue> {
        match self.row.get(self.index) {
            Some(value) => Ok(value),
            None => Err(DataFusionError::Internal("a query without its outer row".to_owned())),
        }
    }
}

impl fmt::Debug for OuterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OuterValue")
    }
}

impl PartialEq for OuterValue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.row, &other.row) && self.index == other.index
    }
}

impl Eq for OuterValue {}

impl Hash for OuterValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
        Arc::as_ptr(&self.row).hash(state);
    }
}

impl ScalarUDFImpl for OuterValue {
    fn name(&self) -> &str {
        "outer_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.value().map(ColumnarValue::Scalar)
    }
}

/// Returns the state of a planning session.
pub(crate) fn state_of(session: &dyn Session) -> Result<&SessionState> {
    session
        .as_any()
        .downcast_ref::<SessionState>()
        .ok_or_else(|| DataFusionError::Internal("a session of another kind".to_string()))
}
