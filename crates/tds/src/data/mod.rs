//! Values and rows.

pub mod bulk;
pub mod row_span;
pub mod value;
pub(crate) mod value_data;
pub(crate) mod value_text;
pub(crate) mod variant;
