//! Names compare without regard to case, as under the server's default collation.

pub use tsql::same_name;

/// Returns the store's name of a table: the same for every case, and unambiguous for names with dots in them.
pub fn store_key(database: &str, schema: &str, name: &str) -> String {
    let mut key = String::with_capacity(database.len() + schema.len() + name.len() + 2);
    push_name(&mut key, database);
    key.push('.');
    push_name(&mut key, schema);
    key.push('.');
    push_name(&mut key, name);
    key
}

/// Returns a name as it is part of [`store_key`].
pub fn name_key(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    push_name(&mut key, name);
    key
}

fn push_name(key: &mut String, name: &str) {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.bytes().all(is_plain) {
        return key.push_str(name);
    }
    let lower;
    let name = if name.is_ascii() {
        name
    } else {
        lower = name.to_lowercase();
        &lower
    };
    for letter in name.chars() {
        if matches!(letter, '\\' | '.') {
            key.push('\\');
        }
        key.push(letter.to_ascii_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ignore_case_and_keep_dots_apart() {
        assert_eq!(store_key("Master", "DBO", "T"), "master.dbo.t");
        assert_ne!(store_key("a", "b.c", "d"), store_key("a", "b", "c.d"));
        assert_eq!(name_key("A\\B.ÄΣ"), "a\\\\b\\.äς");
        assert!(same_name("LineItem", "lineitem") && !same_name("a", "b"));
    }
}
