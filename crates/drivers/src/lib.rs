//! The answers that the ADBC drivers of this workspace share.
//!
//! | Module | What it is |
//! |---|---|
//! | [`refusal`] | errors that no database is behind |
//! | [`option_values`] | options, which come as text or typed |
//! | [`info`] | `GetInfo` |
//! | [`nested`] | columns of lists and structures, of which `GetObjects` consists |

pub mod info;
pub mod nested;
pub mod option_values;
pub mod refusal;
