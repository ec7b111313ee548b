//! Names compare without regard to case, as under the server's default collation.

/// Whether two names are the same.
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}
