//! The JSON Schema of package files, for editors and for the checks.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Package;

/// The schema, in the draft that editors of TOML know.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Package>().to_value();
    schema["title"] = Value::from("bulkwire package");
    schema
}
