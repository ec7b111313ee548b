//! Data flows: each way from a source to a destination becomes a copy.

use crate::dtsx::connection_managers::{FileManager, Manager, is_true};
use crate::dtsx::control_flow::Flow;
use crate::dtsx::flow_columns::{FlowColumns, cast_of, property};
use crate::dtsx::named::VariableNames;
use crate::dtsx::tsql::sql_type;
use crate::dtsx::written::{Table, Toml};
use crate::dtsx::xml::Element;

/// Components on one way at most.
const WAY_MAX: usize = 200;

/// A component, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    TableSource,
    FileSource,
    TableDestination,
    FileDestination,
    DerivedColumn,
    DataConversion,
    Lookup,
    ConditionalSplit,
    RowCount,
    Multicast,
    Other,
}

/// A component on a way, and the output by which rows leave it.
struct Stop<'a> {
    component: &'a Element,
    output: Option<&'a Element>,
}

/// The columns, conditions and joins that a path has gathered so far.
#[derive(Default)]
struct Copied {
    columns: FlowColumns,
    conditions: Vec<String>,
    lookups: Vec<(String, Toml)>,
    joins: Vec<String>,
    rows_into: Option<String>,
    is_changed: bool,
}

/// Translates a data flow into a copy, and further copies if it has several destinations.
pub fn translate(
    flow: &mut Flow<'_>,
    executable: &Element,
    title: &str,
    variables: &VariableNames,
    task: &mut Table,
) -> Vec<Table> {
    let pipeline = executable.find("pipeline");
    let components: Vec<&Element> =
        pipeline.into_iter().flat_map(|pipeline| pipeline.within("components", "component")).collect();
    let paths: Vec<&Element> =
        pipeline.into_iter().flat_map(|pipeline| pipeline.within("paths", "path")).collect();
    let mut copies = Vec::new();
    for destination in &components {
        let kind = kind_of(destination);
        if !matches!(kind, Kind::TableDestination | Kind::FileDestination) {
            if kind == Kind::Other {
                let class = class_of(destination);
                flow.left_out.push(format!("{title}: component {:?} ({class})", destination.value("name")));
            }
            continue;
        }
        let mut copy = Table {
            name: format!("{}_{}", task.name, destination.value("name")),
            comments: vec![format!("{title}: {}", destination.value("name"))],
            ..Table::default()
        };
        let keys = way(&components, &paths, destination)
            .map_err(|reason| (*destination, reason))
            .and_then(|stops| copied(flow, title, variables, &stops, destination));
        match keys {
            Ok(keys) => copy.keys = keys,
            Err((component, reason)) => {
                let name = format!("{title}, {}", component.value("name"));
                flow.placeholder(&name, &reason, &mut copy);
            }
        }
        copies.push(copy);
    }
    for path in &paths {
        let start = path.value("startId");
        let is_error = components.iter().any(|component| {
            component
                .within("outputs", "output")
                .any(|output| id_of(output) == start && is_error_output(output))
        });
        if is_error {
            flow.left_out.push(format!(
                "{title}: rows that an error output redirects ({}); `rejects` keeps refused rows",
                path.value("name")
            ));
        }
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

fn id_of(element: &Element) -> &str {
    match element.value("refId") {
        "" => element.value("id"),
        id => id,
    }
}

/// Returns true if failed rows leave by this output.
fn is_error_output(output: &Element) -> bool {
    is_true(output.value("isErrorOut"))
}

/// Lists the outputs by which rows leave a component without an error.
fn outputs_of(component: &Element) -> impl Iterator<Item = &Element> {
    component.within("outputs", "output").filter(|output| !is_error_output(output))
}

/// Lists the columns of an output.
fn columns_of(output: &Element) -> impl Iterator<Item = &Element> {
    output.within("outputColumns", "outputColumn")
}

/// Lists the columns of all inputs of a component.
fn input_columns_of(component: &Element) -> impl Iterator<Item = &Element> {
    component.within("inputs", "input").flat_map(|input| input.within("inputColumns", "inputColumn"))
}

fn class_of(component: &Element) -> String {
    let class = component.value("componentClassID");
    if class.contains("ManagedComponentHost") || class.starts_with('{') {
        let inner = property(component, "UserComponentTypeName");
        if !inner.is_empty() {
            return inner.to_owned();
        }
    }
    class.to_owned()
}

fn kind_of(component: &Element) -> Kind {
    let class = class_of(component);
    let has = |words: &[&str]| words.iter().any(|word| class.contains(word));
    if has(&["OLEDBSource", "DataReaderSourceAdapter", "ADONETSource"]) {
        Kind::TableSource
    } else if has(&["OLEDBDestination", "ADONETDestination", "SQLServerDestination"]) {
        Kind::TableDestination
    } else if has(&["FlatFileSource", "ExcelSource"]) {
        Kind::FileSource
    } else if has(&["FlatFileDestination"]) {
        Kind::FileDestination
    } else if has(&["DerivedColumn"]) {
        Kind::DerivedColumn
    } else if has(&["DataConvert"]) {
        Kind::DataConversion
    } else if class == "Microsoft.Lookup" {
        Kind::Lookup
    } else if has(&["ConditionalSplit"]) {
        Kind::ConditionalSplit
    } else if has(&["RowCount"]) {
        Kind::RowCount
    } else if has(&["Multicast"]) {
        Kind::Multicast
    } else {
        Kind::Other
    }
}

/// Lists the components between a source and a destination, the source first.
fn way<'a>(
    components: &[&'a Element],
    paths: &[&'a Element],
    destination: &'a Element,
) -> Result<Vec<Stop<'a>>, String> {
    let mut stops = Vec::new();
    let mut at = destination;
    loop {
        if stops.len() > WAY_MAX {
            return Err("its components form a circle".to_owned());
        }
        let inputs: Vec<&Element> = at.within("inputs", "input").collect();
        let [input] = inputs.as_slice() else {
            return match inputs.len() {
                0 => {
                    stops.reverse();
                    Ok(stops)
                }
                _ => Err(format!("{:?} joins several ways", at.value("name"))),
            };
        };
        let path = paths.iter().find(|path| path.value("endId") == id_of(input));
        let Some(path) = path else { return Err(format!("nothing leads to {:?}", at.value("name"))) };
        let start = path.value("startId");
        let found = components.iter().find_map(|component| {
            let output = component.within("outputs", "output").find(|output| id_of(output) == start)?;
            Some((*component, output))
        });
        let Some((component, output)) = found else {
            return Err(format!("the way to {:?} begins nowhere", at.value("name")));
        };
        if is_error_output(output) {
            return Err(format!("its rows come from the error output of {:?}", component.value("name")));
        }
        stops.push(Stop { component, output: Some(output) });
        at = component;
    }
}

/// Translates a path to the keys of a copy. Errors: the component that cannot be translated, and why.
fn copied<'a>(
    flow: &mut Flow<'_>,
    title: &str,
    variables: &VariableNames,
    stops: &[Stop<'a>],
    destination: &'a Element,
) -> Result<Vec<(String, Toml)>, (&'a Element, String)> {
    let mut state = Copied::default();
    let mut keys = vec![("type".to_owned(), Toml::text("copy"))];
    let Some((source, rest)) = stops.split_first() else { return Ok(Vec::new()) };
    let mut options = Vec::new();
    let endpoint = source_of(flow, title, source.component, &mut options);
    keys.push(("source".to_owned(), endpoint.map_err(|reason| (source.component, reason))?));
    // A join has columns of the same name.
    let joins = rest.iter().any(|stop| kind_of(stop.component) == Kind::Lookup);
    for column in source.output.into_iter().flat_map(columns_of) {
        let name = quoted(column.value("name"));
        state.columns.set(column, if joins { format!("source.{name}") } else { name });
    }
    for stop in rest {
        apply(flow, title, variables, stop, &mut state).map_err(|reason| (stop.component, reason))?;
    }
    let endpoint = destination_of(flow, title, destination, &mut options);
    keys.push(("destination".to_owned(), endpoint.map_err(|reason| (destination, reason))?));
    keys.extend(options);
    let list = select_list(destination, &mut state);
    if state.joins.is_empty() {
        if let Some(list) = list {
            keys.push(("select".to_owned(), Toml::text(list)));
        }
        if !state.conditions.is_empty() {
            keys.push(("where".to_owned(), Toml::text(state.conditions.join(" AND "))));
        }
    } else {
        let list = list.unwrap_or_else(|| "source.*".to_owned());
        let mut query = format!("SELECT {list}\nFROM source\n{}\n", state.joins.join("\n"));
        if !state.conditions.is_empty() {
            query.push_str(&format!("WHERE {}\n", state.conditions.join(" AND ")));
        }
        keys.push(("transform_sql".to_owned(), Toml::text(query)));
        keys.push(("lookups".to_owned(), Toml::Table(state.lookups)));
    }
    if let Some(variable) = state.rows_into {
        keys.push(("rows_into".to_owned(), Toml::text(variable)));
    }
    Ok(keys)
}

fn quoted(name: &str) -> String {
    load::quoted(name)
}

/// Applies a component between source and destination to the columns.
fn apply(
    flow: &mut Flow<'_>,
    title: &str,
    variables: &VariableNames,
    stop: &Stop<'_>,
    state: &mut Copied,
) -> Result<(), String> {
    let component = stop.component;
    match kind_of(component) {
        Kind::DerivedColumn => {
            let before = state.columns.clone();
            for column in outputs_of(component).flat_map(columns_of) {
                state.columns.set(column, before.value(expression_of(column), variables)?);
                state.is_changed = true;
            }
            for column in input_columns_of(component) {
                let expression = expression_of(column);
                if !expression.is_empty() {
                    state.columns.replace(column.value("lineageId"), before.value(expression, variables)?);
                    state.is_changed = true;
                }
            }
        }
        Kind::DataConversion => {
            for column in outputs_of(component).flat_map(columns_of) {
                let lineage = property(column, "SourceInputColumnLineageID");
                let lineage = lineage.trim_start_matches("#{").trim_end_matches('}');
                let from = state.columns.of_lineage(lineage);
                let from =
                    from.ok_or_else(|| format!("the column {} comes from nowhere", column.value("name")))?;
                let sql = format!("CAST({from} AS {})", sql_type(&cast_of(column))?);
                state.columns.set(column, sql);
                state.is_changed = true;
            }
        }
        Kind::Lookup => lookup(flow, title, stop, state)?,
        Kind::ConditionalSplit => split(variables, stop, state)?,
        Kind::RowCount => {
            let variable = property(component, "VariableName");
            match variables.get(variable) {
                Some(here) => state.rows_into = Some(here),
                None => return Err(format!("the variable {variable} is not known")),
            }
        }
        Kind::Multicast => {}
        _ => return Err(class_of(component)),
    }
    Ok(())
}

fn expression_of(column: &Element) -> &str {
    match property(column, "Expression") {
        "" => property(column, "FriendlyExpression"),
        expression => expression,
    }
}

/// Adds the condition of one output of a conditional split: its condition holds, and none before it.
fn split(variables: &VariableNames, stop: &Stop<'_>, state: &mut Copied) -> Result<(), String> {
    let mut cases: Vec<(u32, &Element)> = outputs_of(stop.component)
        .filter(|output| !expression_of(output).is_empty())
        .map(|output| (property(output, "EvaluationOrder").parse().unwrap_or(u32::MAX), output))
        .collect();
    cases.sort_by_key(|(order, _)| *order);
    let own = stop.output.map(id_of).unwrap_or_default();
    for (_, case) in cases {
        let holds = state.columns.predicate(expression_of(case), variables)?;
        if id_of(case) == own {
            state.conditions.push(format!("({holds})"));
            return Ok(());
        }
        // A condition that is neither true nor false does not hold either.
        state.conditions.push(format!("CASE WHEN {holds} THEN 1 ELSE 0 END = 0"));
    }
    Ok(())
}

fn lookup(flow: &mut Flow<'_>, title: &str, stop: &Stop<'_>, state: &mut Copied) -> Result<(), String> {
    let component = stop.component;
    let name = component.value("name");
    let here = format!("lookup_{}", state.lookups.len() + 1);
    let server = connection_of(flow, component).ok_or("its connection is no SQL Server")?;
    let Manager::Server(server) = server else { return Err("its connection is no SQL Server".to_owned()) };
    let query = property(component, "SqlCommand");
    if query.is_empty() {
        return Err("it has no query".to_owned());
    }
    state.lookups.push((
        here.clone(),
        Toml::Table(vec![
            ("connection".to_owned(), Toml::text(server)),
            ("query".to_owned(), Toml::literal(query)),
        ]),
    ));
    let mut keys = Vec::new();
    let mut first_key = None;
    for column in input_columns_of(component) {
        let joined = property(column, "JoinToReferenceColumn");
        if joined.is_empty() {
            continue;
        }
        let own = state.columns.of_lineage(column.value("lineageId"));
        let own = own.ok_or_else(|| format!("its key {joined} comes from nowhere"))?;
        let other = format!("{here}.{}", quoted(joined));
        keys.push(format!("{own} = {other}"));
        first_key.get_or_insert(other);
    }
    let first_key = first_key.ok_or("it joins by no column")?;
    let output = stop.output.map_or("", |output| output.value("name"));
    let joins = keys.join(" AND ");
    let to_no_match = property(component, "NoMatchBehavior") == "1";
    if output.contains("No Match") {
        state.joins.push(format!("LEFT JOIN {here} ON {joins}"));
        state.conditions.push(format!("{first_key} IS NULL"));
    } else if to_no_match {
        state.joins.push(format!("INNER JOIN {here} ON {joins}"));
    } else {
        state.joins.push(format!("LEFT JOIN {here} ON {joins}"));
        let ignores = component
            .within("outputs", "output")
            .any(|output| output.value("errorRowDisposition") == "IgnoreFailure");
        if !ignores {
            flow.left_out.push(format!(
                "{title}: rows for which lookup {name:?} finds nothing fail there; here they have NULLs"
            ));
        }
    }
    flow.left_out.push(format!(
        "{title}: lookup {name:?} takes the first of several matches; the join takes all of them"
    ));
    for column in stop.output.into_iter().flat_map(columns_of) {
        let from = property(column, "CopyFromReferenceColumn");
        if !from.is_empty() {
            state.columns.set(column, format!("{here}.{}", quoted(from)));
            state.is_changed = true;
        }
    }
    Ok(())
}

/// Writes the SELECT list of a destination's columns; `None` if every column goes to the one of its name.
fn select_list(destination: &Element, state: &mut Copied) -> Option<String> {
    let mut parts = Vec::new();
    let mut is_plain = !state.is_changed && state.joins.is_empty();
    for input in destination.within("inputs", "input") {
        for column in input.within("inputColumns", "inputColumn") {
            let external = input
                .within("externalMetadataColumns", "externalMetadataColumn")
                .find(|external| id_of(external) == column.value("externalMetadataColumnId"));
            let target = external.map_or(column.value("cachedName"), |external| external.value("name"));
            let Some(sql) = state.columns.of_lineage(column.value("lineageId")) else { continue };
            let target = quoted(target);
            is_plain &= sql == target;
            parts.push(if sql == target { target } else { format!("{sql} AS {target}") });
        }
    }
    (!is_plain && !parts.is_empty()).then(|| parts.join(", "))
}

fn connection_of(flow: &Flow<'_>, component: &Element) -> Option<Manager> {
    let connection = component.within("connections", "connection").next()?;
    let ids = ["connectionManagerRefId", "connectionManagerID"];
    ids.iter().find_map(|id| flow.managers.get(connection.value(id))).cloned()
}

fn source_of(
    flow: &mut Flow<'_>,
    title: &str,
    component: &Element,
    options: &mut Vec<(String, Toml)>,
) -> Result<Toml, String> {
    match (kind_of(component), connection_of(flow, component)) {
        (Kind::TableSource, Some(Manager::Server(server))) => {
            if !property(component, "ParameterMapping").is_empty() {
                flow.left_out
                    .push(format!("{title}: parameters of the query of {:?}", component.value("name")));
            }
            let query = property(component, "SqlCommand");
            let table = match property(component, "OpenRowset") {
                "" => property(component, "TableOrViewName"),
                table => table,
            };
            let mode = property(component, "AccessMode");
            let is_query = !query.is_empty() && (matches!(mode, "2") || table.is_empty());
            let (key, value) = match (is_query, mode) {
                (true, _) => ("query", Toml::literal(query)),
                (false, "1" | "3") => return Err("its table or query stands in a variable".to_owned()),
                (false, _) if table.is_empty() => return Err("it has neither table nor query".to_owned()),
                (false, _) => ("table", Toml::literal(&plain_table(table))),
            };
            Ok(Toml::Table(vec![("connection".to_owned(), Toml::text(server)), (key.to_owned(), value)]))
        }
        (Kind::FileSource, Some(Manager::File(file))) => {
            options.extend(file.options.clone());
            Ok(Toml::text(path_of(&file, component)))
        }
        (Kind::TableSource | Kind::FileSource, _) => Err("its connection is not translated".to_owned()),
        _ => Err(class_of(component)),
    }
}

fn destination_of(
    flow: &mut Flow<'_>,
    title: &str,
    component: &Element,
    options: &mut Vec<(String, Toml)>,
) -> Result<Toml, String> {
    match (kind_of(component), connection_of(flow, component)) {
        (Kind::TableDestination, Some(Manager::Server(server))) => {
            let table = ["OpenRowset", "TableOrViewName", "BulkInsertTableName"]
                .iter()
                .map(|name| property(component, name))
                .find(|table| !table.is_empty());
            let table = table.ok_or("its table stands in a variable")?;
            let flag = |key: &str| (key.to_owned(), Toml::Word("true".to_owned()));
            let fast = property(component, "FastLoadOptions").to_ascii_uppercase();
            if is_true(property(component, "FastLoadKeepIdentity")) {
                options.push(flag("keep_identity"));
            }
            if is_true(property(component, "FastLoadKeepNulls")) {
                options.push(flag("keep_nulls"));
            }
            if fast.contains("CHECK_CONSTRAINTS") {
                options.push(flag("check_constraints"));
            }
            if fast.contains("FIRE_TRIGGERS") {
                options.push(flag("fire_triggers"));
            }
            Ok(Toml::Table(vec![
                ("connection".to_owned(), Toml::text(server)),
                ("table".to_owned(), Toml::literal(&plain_table(table))),
            ]))
        }
        (Kind::FileDestination, Some(Manager::File(file))) => {
            if !file.options.is_empty() {
                flow.left_out.push(format!("{title}: the format of the file {}", file.path));
            }
            Ok(Toml::text(path_of(&file, component)))
        }
        _ => Err("its connection is not translated".to_owned()),
    }
}

fn path_of(file: &FileManager, component: &Element) -> String {
    let path = file.path.replace('\\', "/");
    if !file.is_workbook {
        return path;
    }
    let sheet = property(component, "OpenRowset").trim_end_matches('$').replace("${", "$${");
    format!("{path}#{sheet}")
}

/// Removes the quotes that ADO.NET puts around names.
fn plain_table(table: &str) -> String {
    table.trim().replace("\".\"", "].[").replacen('"', "[", 1).replace('"', "]")
}
