//! The JSON Schema of package files, for editors and for the checks.

use copy::Language;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Package;

/// Returns the schema, in the draft that editors of TOML know.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Package>().to_value();
    schema["title"] = Value::from("bulkwire package");
    tidy(&mut schema);
    schema
}

/// Names options by their keys in descriptions, and drops defaults that TOML cannot write.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| !(name == "default" && value.is_null()));
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = Language::Toml.spelled(text);
            }
            members.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
