//! Checks the keys of each kind of task, and the files that it names.

use crate::check::{Subject, every_task, warning, with_hint};
use crate::diagnostic::Diagnostic;
use crate::document::member;
use crate::model::{Action, CopyTask, Endpoint, GroupTask, HttpTask, SqlTask};
use crate::sql_script::{batches, script_text};

/// The program in place of a task of SSIS that has no counterpart.
pub(crate) const NOT_TRANSLATED: &str = "not-translated";
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    every_task(subject, &mut |_, pointer, task| {
        if let Some(each) = &task.settings.for_each {
            let at = member(pointer, "for_each");
            let named = [each.files.is_some(), each.query.is_some(), each.values.is_some()];
            if named.iter().filter(|is_there| **is_there).count() != 1 {
                let message = "a loop runs over one of `files`, `query` and `values`";
                found.push(subject.document.at_key(&at, message));
            }
            if each.query.is_some() != each.connection.is_some() {
                let message = "`query` and `connection` of a loop belong together";
                found.push(subject.document.at_key(&at, message));
            }
        }
        match &task.action {
            Action::Sql(sql) => of_sql(subject, pointer, sql, found),
            Action::Copy(copy) => of_copy(subject, pointer, copy, found),
            Action::Http(http) => of_http(subject, pointer, http, found),
            Action::Package(inner) => exists(subject, &member(pointer, "file"), &inner.file, found),
            Action::Program(program) => {
                if program.command.first().is_some_and(|name| name == NOT_TRANSLATED) {
                    let what = program.command.get(1).map_or("this task", String::as_str);
                    let message = format!("{what} was not translated from SSIS, and fails when it runs");
                    found.push(warning(subject.document.at_value(&member(pointer, "command"), message)));
                }
                if program.command.first().is_none_or(String::is_empty) {
                    let message = "the program's name is missing";
                    found.push(subject.document.at_value(&member(pointer, "command"), message));
                }
            }
            Action::Group(group) => of_group(subject, pointer, group, found),
            Action::BulkInsert(_) | Action::WaitForFile(_) => {}
        }
    });
}

fn of_sql(subject: &Subject<'_>, pointer: &str, sql: &SqlTask, found: &mut Vec<Diagnostic>) {
    let document = subject.document;
    match (&sql.statement, &sql.file) {
        (Some(statement), None) => {
            if let Err(error) = batches(statement) {
                found.push(document.at_value(&member(pointer, "statement"), error.to_string()));
            }
        }
        (None, Some(file)) => {
            let at = member(pointer, "file");
            exists(subject, &at, file, found);
            if let Ok(bytes) = std::fs::read(subject.folder.join(file)) {
                match script_text(&bytes) {
                    None => {
                        let message = format!("{file} is neither UTF-8 nor UTF-16 with a byte-order mark");
                        found.push(document.at_value(&at, message));
                    }
                    Some(text) => {
                        if let Err(error) = batches(&text) {
                            found.push(document.at_value(&at, format!("{file}, {error}")));
                        }
                    }
                }
            }
        }
        _ => found.push(document.at_key(pointer, "a task of sql has either a `statement` or a `file`")),
    }
    for name in sql.parameters.keys() {
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '$'));
        if !is_name {
            let at = member(&member(pointer, "parameters"), name);
            found.push(
                document
                    .at_key(&at, format!("`{name}` is no name of a parameter; it stands here without its @")),
            );
        }
    }
}

fn of_copy(subject: &Subject<'_>, pointer: &str, copy: &CopyTask, found: &mut Vec<Diagnostic>) {
    let document = subject.document;
    let mut endpoints = vec![(member(pointer, "source"), &copy.source, true)];
    endpoints.push((member(pointer, "destination"), &copy.destination, false));
    for (name, endpoint) in &copy.lookups {
        endpoints.push((member(&member(pointer, "lookups"), name), endpoint, true));
    }
    for (at, endpoint, is_source) in endpoints {
        let Endpoint::Parts(parts) = endpoint else {
            if let Endpoint::Spelled(text) = endpoint
                && at.ends_with("/source")
            {
                source_exists(subject, &at, text, found);
            }
            continue;
        };
        let named = [&parts.table, &parts.query, &parts.query_file, &parts.path];
        let count = named.iter().filter(|name| name.is_some()).count();
        let is_several = copy.options.has("tables") && !at.contains("/lookups/");
        match (&parts.connection, &parts.path) {
            (Some(_), None) if count == 1 && !is_several => {}
            (Some(_), None) if is_several => {
                if count > 0 {
                    let message = "`tables` chooses the tables: an endpoint is a `connection` alone";
                    found.push(document.at_key(&at, message));
                }
            }
            (None, Some(_)) if count == 1 => {}
            _ => {
                let message = "an endpoint is a `connection` with one of `table`, `query` and `query_file`, or a `path`";
                found.push(document.at_key(&at, message));
            }
        }
        if !is_source && (parts.query.is_some() || parts.query_file.is_some()) {
            found.push(document.at_key(&at, "a destination is no query"));
        }
        if let Some(file) = &parts.query_file {
            exists(subject, &member(&at, "query_file"), file, found);
        }
    }
    let has = |key: &str| copy.options.has(key);
    if let Some(file) = copy.options.text("transform") {
        exists(subject, &member(pointer, "transform"), file, found);
    }
    if has("transform") || has("transform_sql") {
        if has("transform") && has("transform_sql") {
            let at = member(pointer, "transform_sql");
            found.push(document.at_key(&at, "`transform` and `transform_sql` do not stand together"));
        }
        for key in ["select", "where"] {
            if has(key) {
                let message = format!("`{key}` and `transform` do not stand together");
                found.push(document.at_key(&member(pointer, key), message));
            }
        }
    } else if !copy.lookups.is_empty() {
        let message = "`lookups` belong to `transform` or `transform_sql`";
        found.push(document.at_key(&member(pointer, "lookups"), message));
    }
}

fn of_http(subject: &Subject<'_>, pointer: &str, http: &HttpTask, found: &mut Vec<Diagnostic>) {
    let document = subject.document;
    if let Some(method) = &http.method
        && !METHODS.contains(&method.as_str())
    {
        let finding = document.at_value(&member(pointer, "method"), format!("{method:?} is no method"));
        found.push(with_hint(finding, Some(format!("one of {}", METHODS.join(", ")))));
    }
    let is_web = http.url.starts_with("http://") || http.url.starts_with("https://");
    if !is_web && !http.url.starts_with("${") {
        found.push(document.at_value(&member(pointer, "url"), "a URL begins with http:// or https://"));
    }
    if http.body.is_some() && http.body_file.is_some() {
        found.push(
            document.at_key(&member(pointer, "body_file"), "`body` and `body_file` do not stand together"),
        );
    }
    if (http.body.is_some() || http.body_file.is_some())
        && matches!(http.method.as_deref(), Some("GET" | "HEAD" | "OPTIONS"))
    {
        found.push(document.at_value(&member(pointer, "method"), "such a request has no body"));
    }
    for name in http.headers.keys() {
        let is_token = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        if !is_token {
            let at = member(&member(pointer, "headers"), name);
            found.push(document.at_key(&at, format!("{name:?} is no name of a header")));
        }
    }
}

fn of_group(subject: &Subject<'_>, pointer: &str, group: &GroupTask, found: &mut Vec<Diagnostic>) {
    if !group.transaction {
        return;
    }
    let mut first: Option<&str> = None;
    for (name, task) in &group.tasks {
        let at = member(&member(pointer, "tasks"), name);
        let connection = match &task.action {
            Action::Sql(sql) => &sql.connection,
            Action::BulkInsert(bulk) => &bulk.connection,
            _ => {
                let message = "a group with `transaction` has tasks of sql and bulk-insert alone";
                found.push(subject.document.at_key(&at, message));
                continue;
            }
        };
        if *first.get_or_insert(connection) != connection {
            let message = "a transaction is one connection's; this task has another one than those before";
            found.push(subject.document.at_key(&at, message));
        }
        let settings = &task.settings;
        let own = [
            ("for_each", settings.for_each.is_some()),
            ("retry", settings.retry.is_some()),
            ("after_failure", !settings.after_failure.is_empty()),
            ("after_completion", !settings.after_completion.is_empty()),
            ("after_any_failure", settings.after_any_failure),
            ("may_fail", settings.may_fail),
        ];
        for (key, _) in own.into_iter().filter(|(_, is_there)| *is_there) {
            let message =
                format!("within a transaction the first failure undoes everything; `{key}` is for the group");
            found.push(subject.document.at_key(&member(&at, key), message));
        }
    }
}

/// Reports a missing file that must exist before anything runs.
fn exists(subject: &Subject<'_>, at: &str, file: &str, found: &mut Vec<Diagnostic>) {
    if !file.contains("${") && !subject.folder.join(file).is_file() {
        found.push(subject.document.at_value(at, format!("there is no file {file}")));
    }
}

/// Files that are copied may come later.
fn source_exists(subject: &Subject<'_>, at: &str, text: &str, found: &mut Vec<Diagnostic>) {
    let is_path =
        !text.contains("${") && !text.contains(':') && !text.contains(['*', '?', '[', '#']) && text != "-";
    if is_path && !subject.folder.join(text).exists() {
        found.push(warning(subject.document.at_value(at, format!("there is no file {text} yet"))));
    }
}
