//! The known name that an unknown one was most likely meant to be.

/// Counts insertions, deletions and replacements from `a` to `b` (Levenshtein).
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut current = vec![left];
        for (y, above) in b.iter().zip(previous.iter().skip(1)) {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = *above;
            left = replaced.min(left + 1).min(above + 1);
            current.push(left);
        }
        previous = current;
    }
    previous.last().copied().unwrap_or_default()
}

/// Returns the candidate that `wanted` is most likely a misspelling of; `None` if none is near. Case, blanks and underscores do
/// not count.
pub fn nearest_name<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain_wanted = plain(wanted);
    let distances = candidates.into_iter().map(|name| (edit_distance(&plain_wanted, &plain(name)), name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    is_near(distance, &plain_wanted).then_some(name)
}

/// Returns true if a name at this distance may be meant: a third of the letters may be wrong, and more is another word. A name of
/// one or two letters is near to every other.
pub fn is_near(distance: usize, wanted: &str) -> bool {
    let length = wanted.chars().count();
    distance <= if length < 3 { 0 } else { length / 3 }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_letters() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("zürich", "zurich"), 1);
    }

    #[test]
    fn only_names_that_look_alike_are_suggested() {
        let names = ["customer_id", "City", "Amount"];
        assert_eq!(nearest_name("custmer_id", names), Some("customer_id"));
        assert_eq!(nearest_name("cty", names), Some("City"));
        assert_eq!(nearest_name("CUSTOMER ID", names), Some("customer_id"));
        assert_eq!(nearest_name("telephone", names), None);
        assert_eq!(nearest_name("Ci", names), None);
        assert_eq!(nearest_name("city", std::iter::empty()), None);
    }
}
