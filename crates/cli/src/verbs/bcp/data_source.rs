//! ODBC data sources (`-D`): the sections of odbc.ini.

use std::env;
use std::fs;
use std::path::PathBuf;

use super::session::braced;

/// No such data source.
#[derive(Debug, thiserror::Error)]
#[error("there is no data source {name:?} in {places}")]
pub struct DataSourceError {
    name: String,
    places: String,
}

/// A data source as a connection string.
#[derive(Debug, PartialEq, Eq)]
pub struct Keywords {
    /// `Server=…;Database=…`
    pub text: String,
    /// The section names a login, or asks for a ticket.
    pub has_user: bool,
}

/// Finds a data source in the places where unixODBC looks: `$ODBCINI` or `~/.odbc.ini`, then the system's.
pub fn keywords(name: &str) -> Result<Keywords, DataSourceError> {
    let places = places();
    let found = places.iter().find_map(|path| section(&fs::read_to_string(path).ok()?, name));
    found.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        DataSourceError { name: name.to_owned(), places: places.join(" or ") }
    })
}

fn places() -> Vec<PathBuf> {
    let user = env::var_os("ODBCINI")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".odbc.ini")));
    let system =
        env::var_os("ODBCSYSINI").map_or_else(|| PathBuf::from("/etc"), PathBuf::from).join("odbc.ini");
    user.into_iter().chain([system]).collect()
}

/// Keywords of a data source that a connection string has too, by their name in odbc.ini.
const KEYWORDS: [(&str, &str); 12] = [
    ("server", "Server"),
    ("address", "Server"),
    ("database", "Database"),
    ("uid", "User ID"),
    ("pwd", "Password"),
    ("trusted_connection", "Integrated Security"),
    ("serverspn", "ServerSPN"),
    ("encrypt", "Encrypt"),
    ("trustservercertificate", "TrustServerCertificate"),
    ("hostnameincertificate", "HostNameInCertificate"),
    ("multisubnetfailover", "MultiSubnetFailover"),
    ("applicationintent", "ApplicationIntent"),
];

fn section(text: &str, name: &str) -> Option<Keywords> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| {
        line.strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
            .is_some_and(|section| section.trim().eq_ignore_ascii_case(name))
    })?;
    let mut keywords: Vec<(&str, String)> = Vec::new();
    let mut port = None;
    for line in lines.take_while(|line| !line.starts_with('[')) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if key.starts_with(['#', ';']) || value.is_empty() {
            continue;
        }
        if key == "port" {
            port = Some(value.to_owned());
        }
        if let Some((_, keyword)) = KEYWORDS.iter().find(|(name, _)| *name == key)
            && !keywords.iter().any(|(known, _)| known == keyword)
        {
            keywords.push((keyword, value.to_owned()));
        }
    }
    for (keyword, value) in &mut keywords {
        if let (&mut "Server", Some(port)) = (keyword, &port)
            && !value.contains(',')
        {
            value.push_str(&format!(",{port}"));
        }
    }
    let is_yes = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "yes" | "true" | "1");
    let has_user = keywords.iter().any(|(keyword, value)| match *keyword {
        "User ID" => true,
        "Integrated Security" => is_yes(value),
        _ => false,
    });
    let text: Vec<String> =
        keywords.iter().map(|(keyword, value)| format!("{keyword}={}", braced(value))).collect();
    Some(Keywords { text: text.join(";"), has_user })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const INI: &str = "[ODBC Data Sources]\nsales = a driver\n\n[Sales]\nDriver = x\nServer = db.example.org\n\
                       Port=1444\n# Database = no\nDatabase=shop\nTrustServerCertificate=yes\n[ticket]\nserver=db\nTrusted_Connection=Yes\n[other]\nUID = sa\nPWD = p;w\n";

    #[test]
    fn a_section_becomes_a_connection_string() {
        let found = section(INI, "sales").unwrap();
        assert_eq!(found.text, "Server={db.example.org,1444};Database={shop};TrustServerCertificate={yes}");
        assert!(!found.has_user);
        assert_eq!(
            section(INI, "other").unwrap(),
            Keywords { text: "User ID={sa};Password={p;w}".to_owned(), has_user: true }
        );
        let ticket = section(INI, "ticket").unwrap();
        assert_eq!((ticket.text.as_str(), ticket.has_user), ("Server={db};Integrated Security={Yes}", true));
        assert_eq!(section(INI, "absent"), None);
    }
}
