//! Names compare without regard to case, as under the server's default collation.

pub use tsql::same_name;

/// Returns the store's name of a table: the same for every case, and unambiguous for names with dots in them.
pub fn store_key(database: &str, schema: &str, name: &str) -> String {
    format!("{}.{}.{}", name_key(database), name_key(schema), name_key(name))
}

/// Returns a name as it is part of [`store_key`].
pub fn name_key(name: &str) -> String {
    name.to_lowercase().replace('\\', "\\\\").replace('.', "\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ignore_case_and_keep_dots_apart() {
        assert_eq!(store_key("Master", "DBO", "T"), "master.dbo.t");
        assert_ne!(store_key("a", "b.c", "d"), store_key("a", "b", "c.d"));
        assert!(same_name("LineItem", "lineitem") && !same_name("a", "b"));
    }
}
