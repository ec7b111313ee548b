//! Values of T-SQL: their types, their forms and how they compare.

pub(crate) mod arithmetic;
pub(crate) mod collation;
pub(crate) mod date_format;
pub mod datum;
pub(crate) mod json;
pub(crate) mod json_modify;
pub mod language;
pub(crate) mod like;
pub mod system_types;
pub mod types;
pub(crate) mod variant_key;
