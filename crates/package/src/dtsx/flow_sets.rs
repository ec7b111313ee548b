//! Components that need rows other than their own: sorts, groups, unions and joins.

use std::collections::BTreeSet;

use crate::dtsx::flow_columns::{FlowColumns, cast_of, lineage_of, property, reference};
use crate::dtsx::flow_graph::{columns_of, id_of, input_columns_of, inputs_of};
use crate::dtsx::flow_reader::{FlowReader, Unread, is_set, made_columns, referred};
use crate::dtsx::flow_rows::{Rows, unique};
use crate::dtsx::tsql::sql_type;
use crate::dtsx::xml::Element;

/// Sorts rows, and takes one of those with equal keys if duplicates are to go.
pub fn sort(component: &Element, output: &Element, rows: &mut Rows, alias: &str) -> Result<(), String> {
    let mut keys: Vec<(u32, String, bool)> = Vec::new();
    for column in inputs_of(component).flat_map(input_columns_of) {
        let position: i32 = property(column, "NewSortKeyPosition").parse().unwrap_or(0);
        if position != 0 {
            let sql = rows.columns.of_lineage(column.value("lineageId"));
            let sql = sql.ok_or("a key of it comes from nowhere")?.to_owned();
            keys.push((position.unsigned_abs(), sql, position < 0));
        }
    }
    keys.sort_by_key(|(position, ..)| *position);
    let before = rows.columns.clone();
    for (column, lineage, name) in made_columns(output) {
        // Columns that pass through keep their lineages.
        if !reference(column, "SortColumnId").is_empty() {
            rows.columns.put(lineage, name, referred(&before, column, "SortColumnId")?.to_owned());
        }
    }
    let listed = |keys: &[(u32, String, bool)]| -> Vec<String> {
        keys.iter()
            .map(|(_, sql, descends)| format!("{sql}{}", if *descends { " DESC" } else { "" }))
            .collect()
    };
    if is_set(component, "EliminateDuplicates") {
        let parted: Vec<&str> = keys.iter().map(|(_, sql, _)| sql.as_str()).collect();
        let number = format!(
            "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {})",
            parted.join(", "),
            listed(&keys).join(", ")
        );
        rows.columns.put(&format!("{alias}:number"), "duplicate", number);
        let mut closed = std::mem::take(rows).closed(alias);
        let number = closed.columns.of_lineage(&format!("{alias}:number")).unwrap_or_default().to_owned();
        closed.conditions.push(format!("{number} = 1"));
        closed.columns.remove(&format!("{alias}:number"));
        *rows = closed;
        return Ok(());
    }
    rows.order = listed(&keys);
    Ok(())
}

/// Groups rows. The first alias is that of the groups, the second of rows whose keys are expressions.
pub fn aggregate(
    component: &Element,
    output: &Element,
    rows: Rows,
    (alias, inner): (String, String),
) -> Result<Rows, String> {
    let is_group = |column: &Element| matches!(property(column, "AggregationType"), "" | "0");
    let of = |rows: &Rows, column: &Element| -> Result<String, String> {
        referred(&rows.columns, column, "AggregationColumnId").map(str::to_owned)
    };
    let mut rows = rows;
    for column in columns_of(output).filter(|column| is_group(column)) {
        let sql = of(&rows, column)?;
        let is_plain = sql.chars().all(|c| c.is_alphanumeric() || matches!(c, '[' | ']' | '_' | '.' | ' '));
        if !is_plain {
            // GROUP BY takes no constants, and a variable becomes one.
            rows = rows.closed(&inner);
            break;
        }
    }
    let (mut taken, mut list, mut groups) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut columns = FlowColumns::default();
    for (column, lineage, name) in made_columns(output) {
        let wide = |sql: String| match sql_type(&cast_of(column)) {
            Ok(sql_type) => format!("CAST({sql} AS {sql_type})"),
            Err(_) => sql,
        };
        let sql = match property(column, "AggregationType") {
            "" | "0" => {
                let sql = of(&rows, column)?;
                groups.push(sql.clone());
                sql
            }
            "1" => format!("COUNT({})", of(&rows, column)?),
            "2" => "COUNT(*)".to_owned(),
            "3" => format!("COUNT(DISTINCT {})", of(&rows, column)?),
            "4" => format!("SUM({})", wide(of(&rows, column)?)),
            "5" => format!("AVG({})", wide(of(&rows, column)?)),
            "6" => format!("MIN({})", of(&rows, column)?),
            "7" => format!("MAX({})", of(&rows, column)?),
            other => return Err(format!("{}: the aggregation {other}", component.value("name"))),
        };
        let quoted = load::quoted(&unique(name, &mut taken));
        list.push(format!("{sql} AS {quoted}"));
        columns.put(lineage, name, format!("{alias}.{quoted}"));
    }
    let by = if groups.is_empty() { String::new() } else { format!("\nGROUP BY {}", groups.join(", ")) };
    let from = format!("(SELECT {}\n{}{by}) AS {alias}", list.join(", "), rows.tail());
    Ok(Rows { from, columns, rows_into: rows.rows_into, is_changed: true, ..Rows::default() })
}

/// Unites the rows of all inputs. The order of a Merge is that of the table that takes them.
pub fn union<'a>(
    reader: &mut FlowReader<'_, '_, 'a>,
    component: &'a Element,
    output: &'a Element,
) -> Result<Rows, Unread<'a>> {
    let alias = reader.alias();
    let mut selects = Vec::new();
    for input in inputs_of(component) {
        // Designers leave an input that nothing leads to.
        if reader.graph.before(component, input).is_err() {
            continue;
        }
        let rows = reader.rows_into(component, input)?;
        reader.forget_count(&rows);
        let mut taken = BTreeSet::new();
        let mut list = Vec::new();
        for (column, lineage, name) in made_columns(output) {
            let feeds = |candidate: &&Element| {
                ["OutputColumnLineageID", "OutputColumnID"].iter().any(|name| {
                    let target = reference(candidate, name);
                    !target.is_empty() && (target == lineage || target == id_of(column))
                })
            };
            let fed = input_columns_of(input).find(feeds);
            let sql = fed.and_then(|fed| rows.columns.of_lineage(fed.value("lineageId")));
            let sql = match (sql, sql_type(&cast_of(column))) {
                (Some(sql), _) => sql.to_owned(),
                (None, Ok(sql_type)) => format!("CAST(NULL AS {sql_type})"),
                (None, Err(reason)) => return Err((component, reason)),
            };
            list.push(format!("{sql} AS {}", load::quoted(&unique(name, &mut taken))));
        }
        selects.push(format!("SELECT {}\n{}", list.join(", "), rows.tail()));
    }
    if selects.is_empty() {
        return Err((component, "nothing leads to it".to_owned()));
    }
    let mut taken = BTreeSet::new();
    let mut columns = FlowColumns::default();
    for (_, lineage, name) in made_columns(output) {
        columns.put(lineage, name, format!("{alias}.{}", load::quoted(&unique(name, &mut taken))));
    }
    let from = format!("({}) AS {alias}", selects.join("\nUNION ALL\n"));
    Ok(Rows { from, columns, is_changed: true, ..Rows::default() })
}

/// Joins the rows of two inputs by the columns that they are sorted by.
pub fn merge_join<'a>(
    reader: &mut FlowReader<'_, '_, 'a>,
    component: &'a Element,
    output: &'a Element,
) -> Result<Rows, Unread<'a>> {
    let inputs: Vec<&'a Element> = inputs_of(component).collect();
    let [left, right] = inputs.as_slice() else {
        return Err((component, "it has not two inputs".to_owned()));
    };
    let join = match property(component, "JoinType") {
        "0" => "FULL JOIN",
        "1" => "LEFT JOIN",
        "2" => "INNER JOIN",
        other => return Err((component, format!("its join {other}"))),
    };
    let mut sides = Vec::new();
    for input in [left, right] {
        let rows = reader.rows_into(component, input)?;
        reader.forget_count(&rows);
        let alias = reader.alias();
        let rows = rows.closed(&alias);
        let before = reader.graph.before(component, input).ok().map(|(_, output)| output);
        let keys = keys_of(input, before, &rows).map_err(|reason| (component, reason))?;
        sides.push((*input, rows, keys));
    }
    let count: usize = property(component, "NumKeyColumns").parse().unwrap_or(usize::MAX);
    let [(left, left_rows, left_keys), (right, right_rows, right_keys)] = sides.as_slice() else {
        return Err((component, "it has not two inputs".to_owned()));
    };
    let equals_null = property(component, "TreatNullsAsEqual") != "false";
    let pairs: Vec<String> = left_keys
        .iter()
        .zip(right_keys)
        .take(count)
        .map(|(left, right)| match equals_null {
            true => format!("({left} = {right} OR {left} IS NULL AND {right} IS NULL)"),
            false => format!("{left} = {right}"),
        })
        .collect();
    if pairs.is_empty() {
        return Err((component, "it joins by no column".to_owned()));
    }
    let from = format!("{}\n{join} {} ON {}", left_rows.from, right_rows.from, pairs.join(" AND "));
    let mut columns = FlowColumns::default();
    for (column, lineage, name) in made_columns(output) {
        let wanted = reference(column, "InputColumnID");
        let found = [(left, left_rows), (right, right_rows)].into_iter().find_map(|(input, rows)| {
            let column = input_columns_of(input)
                .find(|column| id_of(column) == wanted || column.value("lineageId") == wanted)?;
            rows.columns.of_lineage(column.value("lineageId"))
        });
        let sql = found.ok_or_else(|| (component, format!("the column {name} comes from nowhere")))?;
        columns.put(lineage, name, sql.to_owned());
    }
    Ok(Rows { from, columns, is_changed: true, ..Rows::default() })
}

/// Lists the columns by which an input is sorted, the first key first. `before` is the output that leads there.
fn keys_of(input: &Element, before: Option<&Element>, rows: &Rows) -> Result<Vec<String>, String> {
    let mut keys: Vec<(u32, String)> = Vec::new();
    for column in input_columns_of(input) {
        let lineage = column.value("lineageId");
        let source =
            before.and_then(|output| columns_of(output).find(|column| lineage_of(column) == lineage));
        let position = [
            Some(column.value("cachedSortKeyPosition")),
            source.map(|column| column.value("sortKeyPosition")),
        ]
        .into_iter()
        .flatten()
        .find_map(|position| position.parse::<i32>().ok())
        .filter(|position| *position != 0);
        if let Some(position) = position {
            let sql = rows.columns.of_lineage(column.value("lineageId"));
            keys.push((position.unsigned_abs(), sql.ok_or("a key of it comes from nowhere")?.to_owned()));
        }
    }
    keys.sort();
    Ok(keys.into_iter().map(|(_, sql)| sql).collect())
}
