//! Connections: defined, used, and without secrets.

use std::collections::BTreeSet;

use crate::check::{Subject, every_task, warning, with_hint};
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::member;
use crate::model::{Action, Connection, Endpoint};
use crate::secrets::inline_secret;
use crate::template::{Part, Template};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut used = BTreeSet::new();
    every_task(subject, &mut |_, pointer, task| {
        let mut uses: Vec<(String, &str, bool)> = Vec::new();
        if let Some(each) = &task.settings.for_each
            && let Some(connection) = &each.connection
        {
            uses.push((format!("{pointer}/for_each/connection"), connection, true));
        }
        match &task.action {
            Action::Sql(sql) => uses.push((member(pointer, "connection"), &sql.connection, true)),
            Action::BulkInsert(bulk) => uses.push((member(pointer, "connection"), &bulk.connection, true)),
            Action::Copy(copy) => {
                let mut endpoints = vec![
                    (member(pointer, "source"), &copy.source),
                    (member(pointer, "destination"), &copy.destination),
                ];
                for (name, endpoint) in &copy.lookups {
                    endpoints.push((member(&member(pointer, "lookups"), name), endpoint));
                }
                for (at, endpoint) in endpoints {
                    match endpoint {
                        Endpoint::Parts(parts) => {
                            if let Some(connection) = &parts.connection {
                                uses.push((member(&at, "connection"), connection, false));
                            }
                        }
                        Endpoint::Spelled(text) => secret(subject, &at, text, found),
                    }
                }
            }
            _ => {}
        }
        for (at, name, is_server) in uses {
            used.insert(name.to_owned());
            match subject.package.connections.get(name) {
                None => {
                    let known = subject.package.connections.keys().map(String::as_str);
                    let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
                    let message = format!("there is no connection `{name}`");
                    found.push(with_hint(subject.document.at_value(&at, message), hint));
                }
                Some(connection) if is_server && is_foreign(connection.url()) => {
                    let message = format!("connection `{name}` is no SQL Server (mssql://)");
                    found.push(subject.document.at_value(&at, message));
                }
                Some(_) => {}
            }
        }
    });
    for (name, connection) in &subject.package.connections {
        let own = member("/connections", name);
        let at = match connection {
            Connection::Url(_) => own.clone(),
            Connection::Parts(parts) => {
                if parts.password_env.is_some() && parts.password_file.is_some() {
                    let message = "the password comes from the environment or from a file, not from both";
                    found.push(subject.document.at_key(&own, message));
                }
                member(&own, "url")
            }
        };
        secret(subject, &at, connection.url(), found);
        if let Some(message) = without_user(name, connection.url()) {
            found.push(warning(subject.document.at_value(&at, message)));
        }
        if !used.contains(name) {
            found.push(warning(subject.document.at_key(&own, format!("connection `{name}` is not used"))));
        }
    }
}

/// Warns of a URL of SQL Server by which nobody signs in but with a token of the environment.
fn without_user(name: &str, url: &str) -> Option<String> {
    let rest = url.strip_prefix("mssql://").or_else(|| url.strip_prefix("sqlserver://"))?;
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let parameters = parameters.to_ascii_lowercase().replace(['_', '%', ' '], "");
    let says = ["integratedsecurity=", "authentication=", "user", "uid=", "accesstoken="];
    let has_user =
        place.contains('@') || url.contains("${") || says.iter().any(|word| parameters.contains(word));
    (!has_user).then(|| {
        format!(
            "connection `{name}` names no user (mssql://USER@… with password_env, or IntegratedSecurity=true)"
        )
    })
}

/// Returns true for another kind of source than SQL Server, by the scheme of its URL.
fn is_foreign(url: &str) -> bool {
    match url.split_once(':') {
        Some((scheme, _)) => {
            let is_scheme =
                !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
            is_scheme && !scheme.eq_ignore_ascii_case("mssql") && !scheme.eq_ignore_ascii_case("sqlserver")
        }
        None => false,
    }
}

/// Refuses a secret within the file.
fn secret(subject: &Subject<'_>, at: &str, text: &str, found: &mut Vec<Diagnostic>) {
    let is_secret = match Template::parse(text) {
        Ok(template) => {
            // A value from the environment is no secret of this file.
            let visible: String = template
                .parts()
                .iter()
                .map(|part| match part {
                    Part::Text(text) => text.replace("${", ""),
                    _ => "${}".to_owned(),
                })
                .collect();
            inline_secret(&visible)
        }
        Err(_) => inline_secret(text),
    };
    if let Some(name) = is_secret {
        let message = format!("a secret ({name}) stands in the file");
        let hint = "password_env or password_file says where it is, or ${env:NAME} in its place".to_owned();
        found.push(with_hint(subject.document.at_value(at, message), Some(hint)));
    }
}
