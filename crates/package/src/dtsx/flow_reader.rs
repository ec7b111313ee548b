//! Reads the way of rows from their sources to a component, as a SELECT.

use crate::dtsx::component_class::{Kind, kind_of, shown_class};
use crate::dtsx::flow_columns::{FlowColumns, cast_of, lineage_of, property, reference};
use crate::dtsx::flow_ends::{SourceEnd, connection_of, source_of};
use crate::dtsx::flow_graph::{Graph, STOPS_MAX, columns_of, id_of, input_columns_of, inputs_of, outputs_of};
use crate::dtsx::flow_rows::{Rows, SOURCE};
use crate::dtsx::flow_sets;
use crate::dtsx::named::{VariableNames, without_mark};
use crate::dtsx::translation::Flow;
use crate::dtsx::tsql::sql_type;
use crate::dtsx::written::Toml;
use crate::dtsx::xml::{Element, is_true};

/// A component that cannot be translated, and why.
pub type Unread<'a> = (&'a Element, String);

/// Reads the rows of one copy.
pub struct FlowReader<'r, 'f, 'a> {
    /// The translation under way.
    pub flow: &'r mut Flow<'f>,
    /// The data flow.
    pub graph: &'r Graph<'a>,
    /// The title of the task.
    pub title: &'r str,
    /// The package's variables.
    pub variables: &'r VariableNames,
    /// The endpoint of the first source, and its options.
    pub source: Option<SourceEnd>,
    /// Further tables of the query: those of lookups, and further sources.
    pub lookups: Vec<(String, Toml)>,
    /// Ids of the sources, and the names of their tables.
    sources: Vec<(String, String)>,
    /// Columns carry the name of their table.
    is_qualified: bool,
    /// Columns of files are cast to the types that the file's connection declares.
    is_typed: bool,
    stops: usize,
    aliases: usize,
}

impl<'r, 'f, 'a> FlowReader<'r, 'f, 'a> {
    /// Makes a reader of the rows that come to a destination.
    pub fn new(
        flow: &'r mut Flow<'f>,
        graph: &'r Graph<'a>,
        title: &'r str,
        variables: &'r VariableNames,
        destination: &'a Element,
    ) -> Self {
        let kinds = graph.kinds_before(destination);
        let has = |wanted: &[Kind]| kinds.iter().any(|kind| wanted.contains(kind));
        let compares = [
            Kind::DerivedColumn,
            Kind::ConditionalSplit,
            Kind::Lookup,
            Kind::Aggregate,
            Kind::MergeJoin,
            Kind::Sort,
        ];
        Self {
            flow,
            graph,
            title,
            variables,
            source: None,
            lookups: Vec::new(),
            sources: Vec::new(),
            is_qualified: has(&[Kind::Lookup, Kind::MergeJoin, Kind::Union]),
            is_typed: has(&compares),
            stops: 0,
            aliases: 0,
        }
    }

    /// Reads the rows that come to the only input of a component.
    ///
    /// # Errors
    /// A component on the way has no translation.
    pub fn rows_to(&mut self, component: &'a Element) -> Result<Rows, Unread<'a>> {
        let mut inputs = inputs_of(component);
        match (inputs.next(), inputs.next()) {
            (Some(input), None) => self.rows_into(component, input),
            (None, _) => Err((component, "it has no input".to_owned())),
            (Some(_), Some(_)) => Err((component, "it joins several ways".to_owned())),
        }
    }

    /// Reads the rows that come to an input of a component.
    ///
    /// # Errors
    /// A component on the way has no translation.
    pub fn rows_into(&mut self, component: &'a Element, input: &'a Element) -> Result<Rows, Unread<'a>> {
        let before = self.graph.before(component, input);
        let (before, output) = before.map_err(|reason| (component, reason))?;
        self.stops += 1;
        if self.stops > STOPS_MAX {
            return Err((component, "its components form a circle, or too many ways".to_owned()));
        }
        self.rows_of(before, output)
    }

    /// Returns a name for a table within the query.
    pub fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("part_{}", self.aliases)
    }

    /// Names a count of rows that are only some of those that arrive.
    pub fn forget_count(&mut self, rows: &Rows) {
        if let Some(variable) = &rows.rows_into {
            self.flow.left_out.push(format!(
                "{}: the count of rows into {variable}, which others join behind it",
                self.title
            ));
        }
    }

    fn rows_of(&mut self, component: &'a Element, output: &'a Element) -> Result<Rows, Unread<'a>> {
        let kind = kind_of(component);
        match kind {
            Kind::TableSource | Kind::FileSource => {
                return self.rows_of_source(component, output).map_err(|reason| (component, reason));
            }
            Kind::MergeJoin => return flow_sets::merge_join(self, component, output),
            Kind::Union => return flow_sets::union(self, component, output),
            _ => {}
        }
        let mut rows = self.rows_to(component)?;
        let done = match kind {
            Kind::DerivedColumn => derive(self.variables, component, &mut rows),
            Kind::DataConversion => convert(component, &mut rows),
            Kind::CopyColumn => copy_columns(component, &mut rows),
            Kind::CharacterMap => map_characters(component, &mut rows),
            Kind::Lookup => self.lookup(component, output, &mut rows),
            Kind::ConditionalSplit => split(self.variables, component, output, &mut rows),
            Kind::RowCount => self.count(component, &mut rows),
            Kind::Multicast => Ok(()),
            Kind::Sort => {
                let alias = self.alias();
                flow_sets::sort(component, output, &mut rows, &alias)
            }
            Kind::Aggregate => {
                let aliases = (self.alias(), self.alias());
                flow_sets::aggregate(component, output, std::mem::take(&mut rows), aliases)
                    .map(|grouped| rows = grouped)
            }
            _ => Err(shown_class(component)),
        };
        done.map(|()| rows).map_err(|reason| (component, reason))
    }

    /// Reads the columns of a source. One that is read twice stays one table.
    fn rows_of_source(&mut self, component: &'a Element, output: &'a Element) -> Result<Rows, String> {
        let id = id_of(component).to_owned();
        let known = self.sources.iter().find(|(known, _)| *known == id).map(|(_, name)| name.clone());
        let table = match known {
            Some(table) => table,
            None => {
                let end = source_of(self.flow, self.title, component, self.variables)?;
                let table = match self.source {
                    None => {
                        self.source = Some(end);
                        SOURCE.to_owned()
                    }
                    Some(_) => {
                        let table = format!("source_{}", self.sources.len() + 1);
                        self.lookups.push((table.clone(), end.as_lookup()?));
                        table
                    }
                };
                self.sources.push((id, table.clone()));
                table
            }
        };
        let is_file = kind_of(component) == Kind::FileSource;
        let mut rows = Rows { from: table.clone(), ..Rows::default() };
        for column in columns_of(output) {
            let external = output
                .within("externalMetadataColumns", "externalMetadataColumn")
                .find(|external| id_of(external) == column.value("externalMetadataColumnId"));
            let name = external.map_or(column.value("name"), |external| external.value("name"));
            // The reader of files takes a byte-order mark for what it is, and SSIS for a part of the first name.
            let name = if is_file { without_mark(name) } else { name };
            let quoted = load::quoted(name);
            let plain = if self.is_qualified { format!("{table}.{quoted}") } else { quoted };
            let sql = match sql_type(&cast_of(column)) {
                Ok(sql_type) if is_file && self.is_typed && !is_text(column) => {
                    format!("CAST({plain} AS {sql_type})")
                }
                _ => plain,
            };
            rows.columns.set(column, sql);
        }
        Ok(rows)
    }

    fn count(&mut self, component: &Element, rows: &mut Rows) -> Result<(), String> {
        let variable = property(component, "VariableName");
        let here = self.variables.get(variable);
        rows.rows_into = Some(here.ok_or_else(|| format!("the variable {variable} is not known"))?);
        Ok(())
    }

    fn lookup(&mut self, component: &Element, output: &Element, rows: &mut Rows) -> Result<(), String> {
        let name = component.value("name");
        let here = format!("lookup_{}", self.lookups.len() + 1);
        let server =
            connection_of(self.flow, component).and_then(|manager| manager.server().map(str::to_owned));
        let server = server.ok_or("its connection is no SQL Server")?;
        let query = property(component, "SqlCommand");
        if query.is_empty() {
            return Err("it has no query".to_owned());
        }
        self.lookups.push((
            here.clone(),
            Toml::Table(vec![
                ("connection".to_owned(), Toml::text(server)),
                ("query".to_owned(), Toml::literal(query)),
            ]),
        ));
        let mut keys = Vec::new();
        let mut first_key = None;
        for column in inputs_of(component).flat_map(input_columns_of) {
            let joined = property(column, "JoinToReferenceColumn");
            if joined.is_empty() {
                continue;
            }
            let own = rows.columns.of_lineage(column.value("lineageId"));
            let own = own.ok_or_else(|| format!("its key {joined} comes from nowhere"))?;
            let other = format!("{here}.{}", load::quoted(joined));
            keys.push(format!("{own} = {other}"));
            first_key.get_or_insert(other);
        }
        let first_key = first_key.ok_or("it joins by no column")?;
        let joins = keys.join(" AND ");
        let to_no_match = property(component, "NoMatchBehavior") == "1";
        if output.value("name").contains("No Match") {
            rows.joins.push(format!("LEFT JOIN {here} ON {joins}"));
            rows.conditions.push(format!("{first_key} IS NULL"));
        } else if to_no_match {
            rows.joins.push(format!("INNER JOIN {here} ON {joins}"));
        } else {
            rows.joins.push(format!("LEFT JOIN {here} ON {joins}"));
            let ignores = component
                .within("outputs", "output")
                .any(|output| output.value("errorRowDisposition") == "IgnoreFailure");
            if !ignores {
                self.flow.left_out.push(format!(
                    "{}: rows for which lookup {name:?} finds nothing fail there; here they have NULLs",
                    self.title
                ));
            }
        }
        self.flow.left_out.push(format!(
            "{}: lookup {name:?} takes the first of several matches; the join takes all of them",
            self.title
        ));
        for column in columns_of(output) {
            let from = property(column, "CopyFromReferenceColumn");
            if !from.is_empty() {
                rows.columns.set(column, format!("{here}.{}", load::quoted(from)));
                rows.is_changed = true;
            }
        }
        Ok(())
    }
}

fn is_text(column: &Element) -> bool {
    matches!(column.value("dataType"), "" | "str" | "wstr" | "text" | "nText" | "ntext")
}

/// Returns the expression of a column or an output. The friendly one names columns, which the other knows by their ids.
fn expression_of(column: &Element) -> &str {
    match property(column, "Expression") {
        "" => property(column, "FriendlyExpression"),
        expression => expression,
    }
}

fn derive(variables: &VariableNames, component: &Element, rows: &mut Rows) -> Result<(), String> {
    let before = rows.columns.clone();
    for column in outputs_of(component).flat_map(columns_of) {
        rows.columns.set(column, before.value(expression_of(column), variables)?);
        rows.is_changed = true;
    }
    for column in inputs_of(component).flat_map(input_columns_of) {
        let expression = expression_of(column);
        if !expression.is_empty() {
            rows.columns.replace(column.value("lineageId"), before.value(expression, variables)?);
            rows.is_changed = true;
        }
    }
    Ok(())
}

/// Returns the T-SQL of the column that a property of another one refers to.
pub fn referred<'c>(columns: &'c FlowColumns, column: &Element, name: &str) -> Result<&'c str, String> {
    let found = columns.of_lineage(reference(column, name));
    found.ok_or_else(|| format!("the column {} comes from nowhere", column.value("name")))
}

fn convert(component: &Element, rows: &mut Rows) -> Result<(), String> {
    for column in outputs_of(component).flat_map(columns_of) {
        let from = referred(&rows.columns, column, "SourceInputColumnLineageID")?;
        let sql = format!("CAST({from} AS {})", sql_type(&cast_of(column))?);
        rows.columns.set(column, sql);
        rows.is_changed = true;
    }
    Ok(())
}

fn copy_columns(component: &Element, rows: &mut Rows) -> Result<(), String> {
    for column in outputs_of(component).flat_map(columns_of) {
        let sql = referred(&rows.columns, column, "CopyColumnId")?.to_owned();
        rows.columns.set(column, sql);
        rows.is_changed = true;
    }
    Ok(())
}

/// Changes the case of texts; other mappings have no counterpart.
fn map_characters(component: &Element, rows: &mut Rows) -> Result<(), String> {
    let mapped = |column: &Element, from: &str| match property(column, "MapFlags") {
        "0" => Ok(format!("LOWER({from})")),
        "1" => Ok(format!("UPPER({from})")),
        flags => Err(format!("its mapping {flags} of {}", column.value("name"))),
    };
    for column in outputs_of(component).flat_map(columns_of) {
        let sql = mapped(column, referred(&rows.columns, column, "InputColumnLineageID")?)?;
        rows.columns.set(column, sql);
        rows.is_changed = true;
    }
    for column in inputs_of(component).flat_map(input_columns_of) {
        if property(column, "MapFlags").is_empty() {
            continue;
        }
        let lineage = column.value("lineageId");
        let from = rows.columns.of_lineage(lineage).ok_or("a column of it comes from nowhere")?;
        let sql = mapped(column, from)?;
        rows.columns.replace(lineage, sql);
        rows.is_changed = true;
    }
    Ok(())
}

/// Adds the condition of one output of a conditional split: its condition holds, and none before it.
fn split(
    variables: &VariableNames,
    component: &Element,
    own: &Element,
    rows: &mut Rows,
) -> Result<(), String> {
    let mut cases: Vec<(u32, &Element)> = outputs_of(component)
        .filter(|output| !expression_of(output).is_empty())
        .map(|output| (property(output, "EvaluationOrder").parse().unwrap_or(u32::MAX), output))
        .collect();
    cases.sort_by_key(|(order, _)| *order);
    for (_, case) in cases {
        let holds = rows.columns.predicate(expression_of(case), variables)?;
        if id_of(case) == id_of(own) {
            rows.conditions.push(format!("({holds})"));
            return Ok(());
        }
        // A condition that is neither true nor false does not hold either.
        rows.conditions.push(format!("CASE WHEN {holds} THEN 1 ELSE 0 END = 0"));
    }
    Ok(())
}

/// Returns the lineages of a component's output columns with their names, for components that make new ones.
pub fn made_columns(output: &Element) -> impl Iterator<Item = (&Element, &str, &str)> {
    columns_of(output).map(|column| (column, lineage_of(column), column.value("name")))
}

/// Returns true for a property that is set.
pub fn is_set(component: &Element, name: &str) -> bool {
    is_true(property(component, name))
}
