//! Records: where the values of a row stand in its bytes, plain and compressed, and large values in their trees.

pub(crate) mod compressed;
mod fixed_var;
mod large_values;
mod page_information;

pub(crate) use fixed_var::{FixedVar, RecordKind};
pub(crate) use large_values::{LargeValues, Pointer};
pub(crate) use page_information::{PageInformation, Shared};
