//! The profiles of AWS's own programs: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::PathBuf;

/// Settings of a profile, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile(HashMap<String, String>);

impl Profile {
    /// Reads the profile that `AWS_PROFILE` names, or else the default one.
    pub(crate) fn of_environment() -> Self {
        let name = env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
        let file = |variable: &str, name: &str| {
            let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"));
            let named = env::var_os(variable).map(PathBuf::from);
            named.or_else(|| home().map(|home| PathBuf::from(home).join(".aws").join(name)))
        };
        let text =
            |file: Option<PathBuf>| file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let config = text(file("AWS_CONFIG_FILE", "config"));
        let credentials = text(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        Self::read(&config, &credentials, &name)
    }

    fn read(config: &str, credentials: &str, name: &str) -> Self {
        let mut values = section(config, &[name, &format!("profile {name}")]);
        values.extend(section(credentials, &[name]));
        Self(values)
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

fn section(text: &str, names: &[&str]) -> HashMap<String, String> {
    let mut values = HashMap::new();
    let mut is_wanted = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_wanted = names.contains(&name.trim());
        } else if is_wanted
            // Indented lines belong to the line above.
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((key, value)) = trimmed.split_once('=')
        {
            values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_from_both_files() {
        let config =
            "[default]\nregion = eu-west-1\n[profile work]\nregion=us-west-2\ns3 =\n  region = nested\n";
        let credentials = "# notes\n[default]\naws_access_key_id = A\naws_secret_access_key=x=y\n[work]\naws_access_key_id=B\n";
        let default = Profile::read(config, credentials, "default");
        assert_eq!(default.get("region"), Some("eu-west-1"));
        assert_eq!(default.get("aws_secret_access_key"), Some("x=y"));
        let work = Profile::read(config, credentials, "work");
        assert_eq!((work.get("region"), work.get("aws_access_key_id")), (Some("us-west-2"), Some("B")));
        assert_eq!(work.get("aws_secret_access_key"), None);
        assert_eq!(Profile::read(config, credentials, "none"), Profile::default());
    }
}
