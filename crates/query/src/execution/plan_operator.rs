//! Operators of shown plans, under the names that SQL Server's plans have.

use arrow::datatypes::Schema;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::key_range::{Bound, KeyRange, KeySpan};

/// An operator and those that it reads from.
#[derive(Debug)]
pub(crate) struct PlanOperator {
    text: String,
    inputs: Vec<PlanOperator>,
}

impl PlanOperator {
    /// Makes an operator that reads from no other.
    pub fn leaf(text: impl Into<String>) -> PlanOperator {
        PlanOperator::over(text, Vec::new())
    }

    /// Makes an operator that reads from others.
    pub fn over(text: impl Into<String>, inputs: Vec<PlanOperator>) -> PlanOperator {
        PlanOperator { text: text.into(), inputs }
    }

    /// Lists the operator's line and those of its inputs, each deeper than the one above.
    pub fn write(&self, depth: usize, lines: &mut Vec<String>) {
        lines.push(format!("{:width$}|--{}", "", self.text, width = 2 + 5 * depth));
        for input in &self.inputs {
            input.write(depth + 1, lines);
        }
    }
}

/// Words the access to a table's rows.
pub(crate) fn access(name: &str, schema: &Schema, range: Option<&KeyRange>) -> String {
    let Some(range) = range else { return format!("Table Scan(OBJECT:({name}))") };
    let spans: Vec<String> = range.spans.iter().map(|span| span_text(span, schema)).collect();
    let seek = spans.join(" OR ");
    if range.index.is_none() && spans.iter().any(String::is_empty) {
        return format!("Clustered Index Scan(OBJECT:({name}))");
    }
    match &range.index {
        Some(index) => format!("Index Seek(OBJECT:({name}.[{index}]), SEEK:({seek}))"),
        None => format!("Clustered Index Seek(OBJECT:({name}), SEEK:({seek}))"),
    }
}

/// Writes a range as comparisons of its columns.
fn span_text(span: &KeySpan, schema: &Schema) -> String {
    let (from, to) = (bound_values(span.from.as_ref(), schema), bound_values(span.to.as_ref(), schema));
    let (above, below) = if span.descends { ("<", ">") } else { (">", "<") };
    let mut terms = Vec::new();
    for (position, (column, value)) in from.iter().enumerate() {
        if to.get(position) == Some(&(column.clone(), value.clone())) {
            let last = position + 1 == from.len();
            let operator = if span.begins && last { " begins " } else { "=" };
            terms.push(format!("{column}{operator}{value}"));
        } else {
            terms.push(format!("{column}{}{value}", operator(span.from.as_ref(), position, above)));
        }
    }
    let upper = to.iter().enumerate().filter(|(position, bound)| from.get(*position) != Some(bound));
    terms.extend(upper.map(|(position, (column, value))| {
        format!("{column}{}{value}", operator(span.to.as_ref(), position, below))
    }));
    terms.join(" AND ")
}

/// Returns the comparison of a column of a bound: the last one is strict where the bound lies outside.
fn operator(bound: Option<&Bound>, position: usize, strict: &'static str) -> String {
    let is_strict = bound.is_some_and(|bound| !bound.included && position + 1 == bound.values.len());
    if is_strict { strict.to_owned() } else { format!("{strict}=") }
}

fn bound_values(bound: Option<&Bound>, schema: &Schema) -> Vec<(String, String)> {
    let Some(bound) = bound else { return Vec::new() };
    let columns = bound.columns.iter().zip(&bound.values);
    let texts = columns.map(|(column, value)| {
        let name = schema.fields().get(*column).map_or("", |field| field.name().as_str());
        let options = FormatOptions::default().with_null("NULL");
        let text = ArrayFormatter::try_new(value.as_ref(), &options);
        let text = text.map_or_else(|_| String::new(), |text| text.value(0).to_string());
        let quoted = value.data_type().is_string();
        (format!("[{name}]"), if quoted { format!("'{text}'") } else { text })
    });
    texts.collect()
}
