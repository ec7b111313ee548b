//! Records: where the values of a row stand in its bytes, plain and compressed, and large values in their trees.

mod fixed_var;
mod large_values;

pub(crate) use fixed_var::{FixedVar, RecordKind};
pub(crate) use large_values::{LargeValues, Pointer};
