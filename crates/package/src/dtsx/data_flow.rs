//! Data flows: the rows that come to a destination become a copy.

use crate::dtsx::component_class::{Kind, kind_of, shown_class};
use crate::dtsx::flow_ends::destination_of;
use crate::dtsx::flow_graph::{Graph, id_of, input_columns_of, inputs_of};
use crate::dtsx::flow_reader::{FlowReader, Unread};
use crate::dtsx::flow_rows::Rows;
use crate::dtsx::named::VariableNames;
use crate::dtsx::translation::Flow;
use crate::dtsx::written::{Table, Toml};
use crate::dtsx::xml::Element;

/// Translates a data flow into a copy, and further copies if it has several destinations.
pub fn translate(
    flow: &mut Flow<'_>,
    executable: &Element,
    title: &str,
    variables: &VariableNames,
    task: &mut Table,
) -> Vec<Table> {
    let graph = Graph::of(executable);
    let mut copies = Vec::new();
    for destination in &graph.components {
        let kind = kind_of(destination);
        if !matches!(kind, Kind::TableDestination | Kind::FileDestination) {
            if kind == Kind::Other {
                let class = shown_class(destination);
                flow.left_out.push(format!("{title}: component {:?} ({class})", destination.value("name")));
            }
            continue;
        }
        let mut copy = Table {
            name: format!("{}_{}", task.name, destination.value("name")),
            comments: vec![format!("{title}: {}", destination.value("name"))],
            ..Table::default()
        };
        match copied(flow, &graph, title, variables, destination) {
            Ok(keys) => copy.keys = keys,
            Err((component, reason)) => {
                let name = format!("{title}, {}", component.value("name"));
                flow.placeholder(&name, &reason, &mut copy);
            }
        }
        copies.push(copy);
    }
    for path in graph.error_paths() {
        flow.left_out.push(format!(
            "{title}: rows that an error output redirects ({path}); `rejects` keeps refused rows"
        ));
    }
    let mut copies = copies.into_iter();
    match copies.next() {
        None => {
            flow.placeholder(title, "a data flow without a destination that is known", task);
            Vec::new()
        }
        Some(first) => {
            task.keys = first.keys;
            task.comments.extend(first.comments.into_iter().skip(1));
            copies.collect()
        }
    }
}

/// Translates the way to a destination to the keys of a copy.
///
/// # Errors
/// The component that cannot be translated, and why.
fn copied<'a>(
    flow: &mut Flow<'_>,
    graph: &Graph<'a>,
    title: &str,
    variables: &VariableNames,
    destination: &'a Element,
) -> Result<Vec<(String, Toml)>, Unread<'a>> {
    let mut reader = FlowReader::new(flow, graph, title, variables, destination);
    let mut rows = reader.rows_to(destination)?;
    let (source, lookups) = (reader.source.take(), std::mem::take(&mut reader.lookups));
    let source = source.ok_or_else(|| (destination, "no source leads to it".to_owned()))?;
    let mut keys = vec![("type".to_owned(), Toml::text("copy")), ("source".to_owned(), source.endpoint)];
    let mut options = source.options;
    let endpoint = destination_of(flow, title, destination, variables, &mut options);
    keys.push(("destination".to_owned(), endpoint.map_err(|reason| (destination, reason))?));
    keys.extend(options);
    if kind_of(destination) == Kind::TableDestination {
        // A table keeps no order.
        rows.order.clear();
    }
    let list = select_list(destination, &rows);
    if rows.are_of_source() {
        keys.extend(list.map(|list| ("select".to_owned(), Toml::text(list))));
        if !rows.conditions.is_empty() {
            keys.push(("where".to_owned(), Toml::text(rows.conditions.join(" AND "))));
        }
    } else {
        let list = list.unwrap_or_else(|| "source.*".to_owned());
        let mut query = format!("SELECT {list}\n{}\n", rows.tail());
        if !rows.order.is_empty() {
            query.push_str(&format!("ORDER BY {}\n", rows.order.join(", ")));
        }
        keys.push(("transform_sql".to_owned(), Toml::text(query)));
        if !lookups.is_empty() {
            keys.push(("lookups".to_owned(), Toml::Table(lookups)));
        }
    }
    keys.extend(rows.rows_into.map(|variable| ("rows_into".to_owned(), Toml::text(variable))));
    Ok(keys)
}

/// Writes the SELECT list of a destination's columns; `None` if every column goes to the one of its name.
fn select_list(destination: &Element, rows: &Rows) -> Option<String> {
    let mut parts = Vec::new();
    let mut is_plain = !rows.is_changed && rows.are_of_source();
    for input in inputs_of(destination) {
        for column in input_columns_of(input) {
            let external = input
                .within("externalMetadataColumns", "externalMetadataColumn")
                .find(|external| id_of(external) == column.value("externalMetadataColumnId"));
            let target = external.map_or(column.value("cachedName"), |external| external.value("name"));
            let Some(sql) = rows.columns.of_lineage(column.value("lineageId")) else { continue };
            let target = load::quoted(target);
            is_plain &= sql == target;
            parts.push(if sql == target { target } else { format!("{sql} AS {target}") });
        }
    }
    (!is_plain && !parts.is_empty()).then(|| parts.join(", "))
}
