//! Addresses of other programs: JDBC's (`jdbc:sqlserver://…`) and SQLAlchemy's (`mssql+pyodbc://…`), read as they mean it.

use super::{ConfigError, keyword_string, url};

/// Splits the address of another program into settings; `None` for one of this program's own.
pub(crate) fn parse(text: &str) -> Option<Result<Vec<keyword_string::Setting>, ConfigError>> {
    let scheme = url::foreign_scheme(text)?;
    let (_, rest) = text.split_once("://")?;
    let lower = scheme.to_ascii_lowercase();
    Some(match lower.as_str() {
        "jdbc:sqlserver" => keyword_string::parse(&jdbc(rest)),
        _ if lower.starts_with("mssql+") => sqlalchemy(rest),
        _ => Err(ConfigError::ForeignUrl { scheme: scheme.to_owned() }),
    })
}

/// Writes `host\instance:port;keyword=value;…` as a keyword string. Its keywords are known there.
fn jdbc(rest: &str) -> String {
    let (server, keywords) = rest.split_once(';').unwrap_or((rest, ""));
    let server = server.trim_end_matches('/');
    let server = match server.rsplit_once(':') {
        // An IPv6 address stands in brackets.
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => {
            format!("{},{port}", host.trim_start_matches('[').trim_end_matches(']'))
        }
        _ => server.trim_start_matches('[').trim_end_matches(']').to_owned(),
    };
    match server.is_empty() {
        // The server may be a property.
        true => keywords.to_owned(),
        false => format!("Server={server};{keywords}"),
    }
}

/// Reads a URL of SQLAlchemy: like this program's own, or a whole connection string in `odbc_connect`.
fn sqlalchemy(rest: &str) -> Result<Vec<keyword_string::Setting>, ConfigError> {
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let whole = query.split('&').find_map(|pair| pair.strip_prefix("odbc_connect="));
    match whole {
        // In a query of SQLAlchemy `+` is a blank.
        Some(text) => keyword_string::parse(&url::decoded(&text.replace('+', " "))?),
        None => url::parse(&format!("mssql://{rest}")),
    }
}
