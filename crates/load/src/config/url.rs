//! `mssql://user:password@host:port/database?keyword=value&…` with percent-encoding.

use super::{ConfigError, keyword::Keyword, keyword_string::Setting};

/// Schemes that are understood; `sqlserver` is what the Go driver calls it.
const SCHEMES: &[&str] = &["mssql", "sqlserver"];

/// Returns true for a URL of a known scheme, false for a keyword string.
pub(crate) fn is_url(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, _)| SCHEMES.iter().any(|s| scheme.trim().eq_ignore_ascii_case(s)))
}

/// Returns the scheme of a URL that another program understands: `mssql+pyodbc`, `jdbc:sqlserver`.
pub(crate) fn foreign_scheme(text: &str) -> Option<&str> {
    let scheme = text.split_once("://")?.0.trim();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':'));
    (is_scheme && !is_url(text)).then_some(scheme)
}

/// Splits a URL into settings. Query keywords are those of keyword strings, written without blanks.
pub(crate) fn parse(text: &str) -> Result<Vec<Setting>, ConfigError> {
    let malformed = |reason| ConfigError::Malformed { offset: 0, reason };
    // Behind the password, if there is one: a host with its instance, which a URL cannot have.
    let authority =
        text.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    if authority.rsplit_once('@').map_or(authority, |(_, host)| host).contains('\\') {
        return Err(malformed(
            "a host with an instance, HOST\\INSTANCE, has no place in a URL: say Server=HOST\\INSTANCE;…",
        ));
    }
    let url = url::Url::parse(text.trim()).map_err(|error| malformed(reason(error)))?;
    if url.fragment().is_some() {
        return Err(malformed("a URL takes no '#'; in a password write it as %23"));
    }
    let mut settings = Vec::new();
    let mut push = |keyword, value: String| settings.push((keyword, value, 0));
    match url.host_str() {
        None | Some("") => return Err(malformed("the host is missing")),
        Some(host) => push(Keyword::Server, decoded(host)?),
    }
    if let Some(port) = url.port() {
        push(Keyword::Port, port.to_string());
    }
    if !url.username().is_empty() {
        push(Keyword::User, decoded(url.username())?);
    }
    if let Some(password) = url.password() {
        push(Keyword::Password, decoded(password)?);
    }
    let path = url.path().trim_start_matches('/').trim_end_matches('/');
    if path.contains('/') {
        return Err(malformed("the path of the URL is the database alone; a '/' in its name is written %2F"));
    }
    if !path.is_empty() {
        push(Keyword::Database, decoded(path)?);
    }
    let mut secret_before = None;
    for pair in url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let after_secret = |error| match secret_before {
            Some(keyword) => ConfigError::AfterSecret { keyword, offset: 0 },
            None => error,
        };
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| after_secret(malformed("a query part is not keyword=value")))?;
        let name = decoded(name)?;
        let keyword = Keyword::find(&name).ok_or_else(|| after_secret(Keyword::unknown(&name)))?;
        push(keyword, if keyword == Keyword::Ignored { name } else { decoded(value)? });
        secret_before = keyword.is_secret().then(|| keyword.name());
    }
    Ok(settings)
}

/// Percent-decodes. A `+` stays a `+`: passwords and tokens hold them.
pub(crate) fn decoded(text: &str) -> Result<String, ConfigError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        match byte {
            Some(byte) => bytes.push(byte),
            None => {
                return Err(ConfigError::Malformed {
                    offset: 0,
                    reason: "a '%' must be followed by two hex digits (%25 is '%')",
                });
            }
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes)
        .map_err(|_| ConfigError::Malformed { offset: 0, reason: "percent-encoded bytes are not UTF-8" })
}

/// Returns the parser's own words, which never repeat the text.
fn reason(error: url::ParseError) -> &'static str {
    match error {
        url::ParseError::EmptyHost => "the host is missing",
        url::ParseError::InvalidPort => "the port is not a number from 0 to 65535",
        url::ParseError::InvalidIpv4Address => "the host is not a valid IPv4 address",
        url::ParseError::InvalidIpv6Address => "the host is not a valid IPv6 address",
        url::ParseError::InvalidDomainCharacter => {
            "the host holds a character that is not allowed; in a password write '/', '?', '#' and '@' percent-encoded"
        }
        _ => "not a valid URL",
    }
}
