//! Parses the text by which a user names a database.

use std::{fmt, path::PathBuf};

use crate::{endpoint::DatabaseEndpoint, error::CopyError};

/// A database that a driver reaches. `Display` and `Debug` leave secrets out.
#[derive(Clone)]
pub(super) struct Address {
    /// The driver: a name, or the path of a manifest or library.
    pub(super) driver: String,
    /// The function that a library is entered by, where it has a name of its own.
    pub(super) entrypoint: Option<String>,
    /// The driver's options for the database.
    pub(super) options: Vec<(String, String)>,
    /// The table.
    pub(super) table: Option<TableAddress>,
    /// The file that holds the database, if one does.
    pub(super) file: Option<PathBuf>,
    /// The parts that must not be printed.
    secrets: Vec<String>,
    shown: String,
}

/// A table, with what stands before its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableAddress {
    pub(super) catalog: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

impl Address {
    /// Reads an endpoint. `${env:NAME}` in it is replaced by that environment variable.
    pub(super) fn parse(endpoint: &DatabaseEndpoint) -> Result<Self, CopyError> {
        Self::parse_with(endpoint, &|name| std::env::var(name).ok())
    }

    /// Reads an endpoint with environment variables from the caller.
    fn parse_with(
        endpoint: &DatabaseEndpoint,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, CopyError> {
        let text = &expanded(endpoint, environment)?;
        let (_, rest) = text.split_once(':').unwrap_or_default();
        let mut address = match endpoint.scheme.as_str() {
            "sqlite" => in_file("sqlite", rest, "uri")?,
            "duckdb" => in_file("duckdb", rest, "path")?,
            "odbc" => odbc(rest)?,
            "adbc" => named_driver(rest)?,
            scheme => url(scheme, text)?,
        };
        if let Some(table) = &endpoint.table {
            address.table = Some(TableAddress::parse(table)?);
        }
        // A path is no secret, and may be a word that stands in many messages.
        if !matches!(endpoint.scheme.as_str(), "sqlite" | "duckdb") {
            address
                .secrets
                .extend([text.to_owned(), rest.to_owned()].into_iter().filter(|text| text.len() >= 8));
        }
        address.secrets.retain(|secret| !secret.is_empty() && *secret != address.shown);
        // Longer secrets come before those that they contain.
        address.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Ok(address)
    }

    /// Removes the secrets that a driver's text may repeat.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    /// Returns the name of the database without a table.
    pub(super) fn database(&self) -> &str {
        &self.shown
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.table {
            Some(table) => write!(f, "{}#{table}", self.shown),
            None => f.write_str(&self.shown),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TableAddress {
    /// Reads `table`, `schema.table` or `catalog.schema.table`; a part with a dot stands between quotes or brackets.
    pub(super) fn parse(text: &str) -> Result<Self, CopyError> {
        let wrong = || {
            CopyError::Usage(format!("{text:?} is no table: write table, schema.table or \"a.b\".\"c d\""))
        };
        let mut parts = parts(text).ok_or_else(wrong)?;
        let name = parts.pop().filter(|name| !name.is_empty()).ok_or_else(wrong)?;
        let (schema, catalog) = (parts.pop(), parts.pop());
        if !parts.is_empty() {
            return Err(wrong());
        }
        Ok(Self { catalog, schema, name })
    }
}

impl fmt::Display for TableAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.catalog, &self.schema].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        f.write_str(&self.name)
    }
}

/// Splits a name at dots; `None` if a quote is not closed.
fn parts(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let closing = match c {
            '"' => '"',
            '[' => ']',
            '.' => {
                parts.push(String::new());
                continue;
            }
            other => {
                parts.last_mut()?.push(other);
                continue;
            }
        };
        loop {
            let c = chars.next()?;
            if c != closing {
                parts.last_mut()?.push(c);
            } else if chars.peek() == Some(&closing) {
                parts.last_mut()?.push(c);
                chars.next();
            } else {
                break;
            }
        }
    }
    Some(parts)
}

fn plain(driver: &str, shown: String) -> Address {
    Address {
        driver: driver.to_owned(),
        entrypoint: None,
        options: Vec::new(),
        table: None,
        file: None,
        secrets: Vec::new(),
        shown,
    }
}

/// Parses `sqlite:path` and `duckdb:path`.
fn in_file(driver: &str, path: &str, option: &str) -> Result<Address, CopyError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(CopyError::Usage(format!("{driver}: names no file: write {driver}:path#table")));
    }
    let is_file = path != ":memory:" && !path.starts_with("file:") && !path.starts_with("md:");
    let options = vec![(option.to_owned(), path.to_owned())];
    let file = is_file.then(|| PathBuf::from(path));
    Ok(Address { options, file, ..plain(driver, format!("{driver}:{path}")) })
}

/// Puts environment variables into the address, each spelled as its place wants it: percent-encoded in a URL, between
/// braces in a keyword of ODBC.
fn expanded(
    endpoint: &DatabaseEndpoint,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, CopyError> {
    const OPEN: &str = "${env:";
    let (mut out, mut rest) = (String::new(), endpoint.address.as_str());
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, tail)) = after.split_once('}') else { break };
        let value = environment(name)
            .ok_or_else(|| CopyError::Usage(format!("the environment variable {name} is not set")))?;
        out.push_str(before);
        match endpoint.scheme.as_str() {
            "sqlite" | "duckdb" => out.push_str(&value),
            "odbc" if before.ends_with('{') => out.push_str(&value.replace('}', "}}")),
            "odbc" => out.push_str(&format!("{{{}}}", value.replace('}', "}}"))),
            // `+` would be a blank in the options of `adbc:`, and nothing in the password of a URL.
            _ => out.extend(
                url::form_urlencoded::byte_serialize(value.as_bytes()).map(|part| part.replace('+', "%20")),
            ),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// Parses `odbc:Driver={name};Server=host;…`; keywords that begin with `bulkwire.` are options of the driver behind
/// `odbc:`.
fn odbc(text: &str) -> Result<Address, CopyError> {
    if text.is_empty() {
        return Err(CopyError::Usage(
            "odbc: names no driver: write odbc:Driver={name};Server=host;...#table".to_owned(),
        ));
    }
    let (mut own, mut keywords, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
    for keyword in keywords_of(text) {
        let (name, value) = keyword.split_once('=').unwrap_or((keyword, ""));
        if name.trim().to_ascii_lowercase().starts_with("bulkwire.") {
            own.push((name.trim().to_owned(), value.to_owned()));
            continue;
        }
        if is_secret(name) {
            secrets.push(value.to_owned());
            secrets.push(value.trim_start_matches('{').trim_end_matches('}').to_owned());
        }
        keywords.push(keyword);
    }
    own.push(("uri".to_owned(), keywords.join(";")));
    Ok(Address { options: own, secrets, ..plain("odbc", "odbc:".to_owned()) })
}

/// Splits a connection string into keywords; a value between braces may have semicolons.
fn keywords_of(text: &str) -> Vec<&str> {
    let (mut keywords, mut start, mut in_braces) = (Vec::new(), 0, false);
    let mut chars = text.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        match c {
            '{' => in_braces = true,
            // Two closing braces stand for one.
            '}' if in_braces && chars.peek().is_some_and(|(_, next)| *next == '}') => {
                chars.next();
            }
            '}' => in_braces = false,
            ';' if !in_braces => {
                keywords.push(text.get(start..place).unwrap_or_default());
                start = place + 1;
            }
            _ => {}
        }
    }
    keywords.push(text.get(start..).unwrap_or_default());
    keywords.retain(|keyword| !keyword.trim().is_empty());
    keywords
}

/// Parses `adbc:DRIVER?key=value&…`.
fn named_driver(text: &str) -> Result<Address, CopyError> {
    let (driver, query) = text.split_once('?').unwrap_or((text, ""));
    if driver.is_empty() {
        return Err(CopyError::Usage(
            "adbc: names no driver: write adbc:DRIVER?option=value#table".to_owned(),
        ));
    }
    let mut address = plain(driver, format!("adbc:{driver}"));
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "table" => address.table = Some(TableAddress::parse(&value)?),
            "entrypoint" => address.entrypoint = Some(value.into_owned()),
            _ => {
                // A driver's URI may hold anything; one that is short is a name.
                if is_secret(&key) || (key == "uri" && value.len() >= 8) {
                    address.secrets.push(value.to_string());
                }
                address.secrets.extend(password_of(&value));
                address.options.push((key.into_owned(), value.into_owned()));
            }
        }
    }
    Ok(address)
}

/// Parses a URL that the driver itself understands; `table` is taken out of it.
fn url(scheme: &str, text: &str) -> Result<Address, CopyError> {
    let (place, query) = text.split_once('?').unwrap_or((text, ""));
    let authority = place.split_once("://").map(|(_, rest)| rest).ok_or_else(|| {
        CopyError::Usage(format!(
            "{scheme}: is not complete: write {scheme}://user@host/database?table=schema.table"
        ))
    })?;
    let shown = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let driver = match scheme {
        "postgres" => "postgresql",
        "grpc" | "grpc+tls" => "flightsql",
        other => other,
    };
    let mut address = plain(driver, format!("{scheme}://{shown}"));
    let mut rest = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        for (key, value) in url::form_urlencoded::parse(part.as_bytes()) {
            if key == "table" {
                address.table = Some(TableAddress::parse(&value)?);
            } else {
                rest.push(part);
            }
            if is_secret(&key) {
                address.secrets.push(value.into_owned());
            }
        }
    }
    let uri = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
    address.secrets.extend(password_of(&uri));
    address.secrets.push(uri.clone());
    address.options.push(("uri".to_owned(), uri));
    Ok(address)
}

/// Returns the password of a URL, as it is written and as it is meant.
fn password_of(uri: &str) -> Vec<String> {
    let Some((_, rest)) = uri.split_once("://") else { return Vec::new() };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else { return Vec::new() };
    let Some((_, password)) = user.split_once(':') else { return Vec::new() };
    let meant: String = url::form_urlencoded::parse(format!("p={}", password.replace('+', "%2B")).as_bytes())
        .map(|(_, value)| value.into_owned())
        .collect();
    vec![password.to_owned(), meant]
}

fn is_secret(key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    key == "pwd"
        || ["password", "token", "secret", "credential", "private_key", "jwt"]
            .iter()
            .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::Endpoint;

    fn address(text: &str) -> Result<Address, CopyError> {
        match Endpoint::parse(text, None)? {
            Endpoint::Database(endpoint) => Address::parse(&endpoint),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn spellings_name_driver_options_and_table() {
        let cases = [
            (
                "postgresql://u:p%20w@h:5/db?table=s.t&sslmode=require",
                "postgresql://h:5/db#s.t",
                "postgresql uri=postgresql://u:p%20w@h:5/db?sslmode=require",
            ),
            ("postgres://h/db#t", "postgres://h/db#t", "postgresql uri=postgres://h/db"),
            ("sqlite:a b.db#t", "sqlite:a b.db#t", "sqlite uri=a b.db"),
            ("sqlite:///tmp/x.db#\"a.b\"", "sqlite:/tmp/x.db#a.b", "sqlite uri=/tmp/x.db"),
            ("duckdb:x.duckdb#main.t", "duckdb:x.duckdb#main.t", "duckdb path=x.duckdb"),
            ("adbc:snowflake?uri=u%3Ap%40acc%2Fdb#t", "adbc:snowflake#t", "snowflake uri=u:p@acc/db"),
            (
                "odbc:Driver={a;b};PWD={x;y};bulkwire.odbc.batch_rows=5#t",
                "odbc:#t",
                "odbc bulkwire.odbc.batch_rows=5 uri=Driver={a;b};PWD={x;y}",
            ),
        ];
        for (text, shown, options) in cases {
            let address = address(text).unwrap();
            assert_eq!(address.to_string(), shown);
            let of: Vec<String> =
                address.options.iter().map(|(key, value)| format!(" {key}={value}")).collect();
            assert_eq!(format!("{}{}", address.driver, of.concat()), options);
        }
    }

    #[test]
    fn variables_are_spelled_as_their_place_wants_them() {
        let variables = |name: &str| match name {
            "PW" => Some("a;b} c+ü".to_owned()),
            _ => None,
        };
        for (text, options) in [
            ("postgresql://u:${env:PW}@h/db#t", "uri=postgresql://u:a%3Bb%7D%20c%2B%C3%BC@h/db"),
            ("adbc:x?password=${env:PW}#t", "password=a;b} c+ü"),
            ("odbc:Driver={x};Pwd=${env:PW};Uid=u#t", "uri=Driver={x};Pwd={a;b}} c+ü};Uid=u"),
            ("odbc:Driver={x};Pwd={${env:PW}}#t", "uri=Driver={x};Pwd={a;b}} c+ü}"),
            ("sqlite:${env:PW}.db#t", "uri=a;b} c+ü.db"),
        ] {
            let Ok(Endpoint::Database(endpoint)) = Endpoint::parse(text, None) else { panic!("{text}") };
            let address = Address::parse_with(&endpoint, &variables).unwrap();
            let found: Vec<String> =
                address.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(found, [options], "{text}");
        }
        let error = address("postgresql://u:${env:BULKWIRE_NO_SUCH_VARIABLE}@h/db").unwrap_err().to_string();
        assert_eq!(error, "the environment variable BULKWIRE_NO_SUCH_VARIABLE is not set");
    }

    #[test]
    fn secrets_are_not_repeated() {
        let address = address("postgresql://u:p%20w@h/db#t").unwrap();
        for text in ["bad password 'p w'", "invalid URI postgresql://u:p%20w@h/db", "p%20w"] {
            let shown = address.without_secrets(text);
            assert!(!shown.contains("p w") && !shown.contains("p%20w"), "{shown}");
        }
        let address = self::address("odbc:Driver={x};Pwd={geheim;1}#t").unwrap();
        assert_eq!(address.without_secrets("login with geheim;1 failed"), "login with *** failed");
        assert!(!format!("{address:?}").contains("geheim"));
        let address = self::address("sqlite:t#x").unwrap();
        assert_eq!(address.without_secrets("no such table"), "no such table");
    }

    #[test]
    fn incomplete_spellings_say_what_is_wanted() {
        for (text, wanted) in [
            ("sqlite:#t", "sqlite:path#table"),
            ("postgresql:db#t", "postgresql://user@host/database?table=schema.table"),
            ("adbc:?x=1#t", "adbc:DRIVER?option=value#table"),
            ("odbc:#t", "odbc:Driver={name}"),
            ("sqlite:x#a.b.c.d", "schema.table"),
        ] {
            let error = address(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
