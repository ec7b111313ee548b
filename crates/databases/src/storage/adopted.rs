//! The objects of a database that was made of a backup: they get its name, and numbers that no other object has.

use serde_json::Value;

use crate::catalogue::name_key;
use crate::storage::databases::Databases;
use crate::storage::error::StoreError;

/// Fields of definitions with numbers of objects.
const NUMBERS: [&str; 2] = ["object_id", "parent_id"];

impl Databases {
    /// Gives all objects of a database its name and new numbers. `reserve` sets as many numbers aside as it is asked for, and
    /// returns the first.
    ///
    /// # Errors
    /// A definition cannot be changed.
    pub fn adopt(&self, name: &str, reserve: &dyn Fn(i32) -> i32) -> Result<(), StoreError> {
        let Some(store) = self.database(name) else { return Ok(()) };
        let engine = store.engine();
        let snapshot = engine.snapshot();
        let mut definitions: Vec<(String, String, Value)> = Vec::new();
        for table in snapshot.tables() {
            // Those of modules, types and partitions have a mark before them.
            let (mark, text) = table.properties.split_at(table.properties.find('{').unwrap_or_default());
            if let Ok(definition) = serde_json::from_str(text) {
                definitions.push((table.name.to_string(), mark.to_owned(), definition));
            }
        }
        let mut numbers = Vec::new();
        definitions.iter().for_each(|(_, _, definition)| collect(definition, &mut numbers));
        let shift = match (numbers.iter().min(), numbers.iter().max()) {
            (Some(first), Some(last)) => i64::from(reserve((last - first + 1) as i32)) - first,
            _ => 0,
        };
        let mut transaction = engine.begin();
        for (key, mark, mut definition) in definitions {
            renumber(&mut definition, shift);
            if let Some(database) = definition.get_mut("database") {
                *database = Value::String(name.to_owned());
            }
            let renamed = renamed(&key, name);
            transaction.open_table(&key)?.alter(&renamed, &format!("{mark}{definition}"))?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Returns a table's name of the store with another database in it.
fn renamed(key: &str, database: &str) -> String {
    let mut is_escaped = false;
    for (at, letter) in key.char_indices() {
        match letter {
            '\\' => is_escaped = !is_escaped,
            '.' if !is_escaped => return name_key(database) + key.get(at..).unwrap_or_default(),
            _ => is_escaped = false,
        }
    }
    key.to_owned()
}

/// Collects the numbers of objects in a definition.
fn collect(definition: &Value, into: &mut Vec<i64>) {
    match definition {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_i64().filter(|number| NUMBERS.contains(&name.as_str()) && *number > 0) {
                    Some(number) => into.push(number),
                    None => collect(value, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
        _ => {}
    }
}

/// Adds to the numbers of objects in a definition.
fn renumber(definition: &mut Value, shift: i64) {
    match definition {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_i64().filter(|number| NUMBERS.contains(&name.as_str()) && *number > 0) {
                    Some(number) => *value = Value::from(number + shift),
                    None => renumber(value, shift),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| renumber(value, shift)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_and_numbers_change_and_nothing_else() {
        assert_eq!(renamed("shop.dbo.orders", "Copy Of"), renamed(r"a\.b.dbo.orders", "Copy Of"));
        assert!(renamed("shop.dbo.or.ders", "x").ends_with(".dbo.or.ders"));
        let text = r#"{"object_id":700,"id":3,"name":"object_id","keys":[{"object_id":701,"index_id":2}],"parent_id":0}"#;
        let mut definition: Value = serde_json::from_str(text).unwrap();
        let mut numbers = Vec::new();
        collect(&definition, &mut numbers);
        numbers.sort_unstable();
        assert_eq!(numbers, [700, 701]);
        renumber(&mut definition, 100);
        let changed = r#"{"object_id":800,"id":3,"name":"object_id","keys":[{"object_id":801,"index_id":2}],"parent_id":0}"#;
        assert_eq!(definition, serde_json::from_str::<Value>(changed).unwrap());
    }
}
