//! Finds where ranges begin. Boundaries need not be values of rows: they decide how even the ranges are, and never which rows are
//! read. But they must ascend as the server compares them, so the server is asked.

use tds::Value;

use super::{
    even,
    key::{Parameter, SplitKey},
    row_source::RowSource,
};
use crate::{
    client::Client,
    error::Error,
    table_name::{TableName, literal},
};

/// Comparisons of one request; a request takes 2,100 parameters.
const COMPARED_MAX: usize = 1000;
/// Places at which rows are looked for, to see whether they lie evenly.
const PROBES: usize = 15;

/// Boundaries, and how they were found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Boundaries {
    pub(crate) values: Vec<Value>,
    pub(crate) reason: String,
}

/// The means by which boundaries may be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Search {
    /// Ranges to aim at.
    pub(crate) ranges: usize,
    /// An index begins with the key, so that looking for one value is cheap.
    pub(crate) has_index: bool,
    /// The reason why all keys may not be read, if nothing else helps.
    pub(crate) no_scan: Option<&'static str>,
}

/// Looks for boundaries; or says why there are none.
pub(crate) fn find(
    client: &mut Client,
    source: &RowSource,
    key: &SplitKey,
    search: Search,
) -> Result<Result<Boundaries, String>, Error> {
    if search.ranges < 2 {
        return Ok(Err("there are too few rows to split".to_owned()));
    }
    if let Some(table) = source.table_name()
        && let Some(steps) = histogram(client, table, key)?
        && let Some(found) = of_histogram(&steps, search.ranges)
    {
        let reason = format!("statistics of [{}] in {} steps", key.name, steps.len());
        return ascending(client, key, found).map(|values| Ok(Boundaries { values, reason }));
    }
    let mut unsuitable = "values of its type cannot be counted";
    if let Some((least, most)) = ends(client, source, key)? {
        if let Some(found) = even::boundaries(&least, &most, search.ranges) {
            let is_even = !search.has_index || lie_evenly(client, source, key, &found)?;
            if is_even || search.no_scan.is_some() {
                let shape = if is_even { "" } else { "; rows lie unevenly there" };
                let reason = format!("even parts of {least} to {most}{shape}");
                return ascending(client, key, found).map(|values| Ok(Boundaries { values, reason }));
            }
            unsuitable = "rows lie unevenly between its ends";
        }
    } else {
        return Ok(Err(format!("no row has a value in [{}]", key.name)));
    }
    if let Some(why) = search.no_scan {
        return Ok(Err(format!("{unsuitable}, there are no statistics of [{}], and {why}", key.name)));
    }
    let found = tiles(client, source, key, search.ranges)?;
    let reason = format!("a scan of all values of [{}]: {unsuitable}, and there are no statistics", key.name);
    ascending(client, key, found).map(|values| Ok(Boundaries { values, reason }))
}

/// One step of a histogram: its highest key, and the rows up to it from the step before.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    high: Value,
    rows: f64,
}

/// Returns the histogram of statistics that begin with the key; `None` where the server has or shows none.
fn histogram(client: &mut Client, table: &TableName, key: &SplitKey) -> Result<Option<Vec<Step>>, Error> {
    let is_here = table.database.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(client.database()));
    if !is_here || table.is_temporary() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT h.stats_id, h.range_high_key, h.range_rows, h.equal_rows FROM sys.stats_columns AS k \
         JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id \
         CROSS APPLY sys.dm_db_stats_histogram(k.object_id, k.stats_id) AS h \
         WHERE k.object_id = OBJECT_ID({}) AND k.stats_column_id = 1 AND c.name = {} ORDER BY h.stats_id, h.step_number",
        table.object_literal(),
        literal(&key.name)
    );
    let tables = match client.query_values(&sql) {
        Ok(tables) => tables,
        // SQL Server before 2016, other servers, and logins without the right to see them.
        Err(Error::Server(error)) if !error.is_fatal() => return Ok(None),
        Err(error) => return Err(error),
    };
    let rows = tables.into_iter().next().map(|table| table.rows).unwrap_or_default();
    let first = rows.first().and_then(|row| row.first().cloned());
    let steps: Vec<Step> =
        rows.into_iter().take_while(|row| row.first() == first.as_ref()).filter_map(step).collect();
    Ok((steps.len() > 1).then_some(steps))
}

fn step(row: Vec<Value>) -> Option<Step> {
    let mut values = row.into_iter().skip(1);
    let high = match values.next()? {
        Value::Variant(variant) => variant.value,
        Value::Null => return None,
        other => other,
    };
    let rows = values
        .map(|value| match value {
            Value::Real(number) => f64::from(number),
            Value::Float(number) => number,
            _ => 0.0,
        })
        .sum();
    Some(Step { high, rows })
}

/// Boundaries that give each range about as many rows. Within a step rows count as evenly spread, if its values can be
/// counted.
fn of_histogram(steps: &[Step], ranges: usize) -> Option<Vec<Value>> {
    let total: f64 = steps.iter().map(|step| step.rows).sum();
    let share = total / ranges as f64;
    if !(share.is_finite() && share > 0.0) {
        return None;
    }
    let mut found: Vec<Value> = Vec::new();
    let mut rows = 0.0;
    for pair in steps.windows(2) {
        let [before, step] = pair else { continue };
        if found.is_empty() {
            rows += before.rows;
        }
        let parts = (step.rows / share).round();
        if parts >= 2.0
            && let Some(within) = even::boundaries(&before.high, &step.high, parts as usize)
        {
            found.extend(within);
            found.push(step.high.clone());
            rows = 0.0;
            continue;
        }
        rows += step.rows;
        if rows >= share {
            found.push(step.high.clone());
            rows = 0.0;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the least and the greatest value.
fn ends(client: &mut Client, source: &RowSource, key: &SplitKey) -> Result<Option<(Value, Value)>, Error> {
    let (column, from) = (key.quoted(), source.from());
    let (least, most) = (key.typed(&format!("MIN({column})")), key.typed(&format!("MAX({column})")));
    let sql = format!("SELECT {least}, {most} FROM {from}");
    let row = values(client, &sql, source.parameters())?.into_iter().next().unwrap_or_default();
    match <[Value; 2]>::try_from(row) {
        Ok([least, most]) if !least.is_null() && !most.is_null() => Ok(Some((least, most))),
        _ => Ok(None),
    }
}

/// Returns true if the boundaries divide real rows: the first rows behind some of them are different ones.
fn lie_evenly(
    client: &mut Client,
    source: &RowSource,
    key: &SplitKey,
    boundaries: &[Value],
) -> Result<bool, Error> {
    let (column, from) = (key.quoted(), source.from());
    let step = boundaries.len().div_ceil(PROBES).max(1);
    let mut parameters = source.parameters().to_vec();
    let mut sql = String::new();
    let mut asked = 0;
    for (index, boundary) in boundaries.iter().step_by(step).enumerate() {
        let (operand, parameter) = key.operand(&format!("@bulkwire_{index}"), boundary);
        sql.push_str(&format!(
            "SELECT TOP (1) {column} FROM {from} WHERE {column} >= {operand} ORDER BY {column};\n"
        ));
        parameters.push(parameter);
        asked += 1;
    }
    let mut found: Vec<Value> = values(client, &sql, &parameters)?.into_iter().flatten().collect();
    found.dedup();
    Ok(found.len() * 2 > asked)
}

/// Returns the greatest key of each of as many equal parts, but the last.
fn tiles(
    client: &mut Client,
    source: &RowSource,
    key: &SplitKey,
    ranges: usize,
) -> Result<Vec<Value>, Error> {
    let (column, from) = (key.quoted(), source.from());
    let bound = key.typed("MAX([bulkwire_key])");
    let sql = format!(
        "SELECT {bound} AS [bulkwire_bound] FROM (SELECT {column} AS [bulkwire_key], \
         NTILE({ranges}) OVER (ORDER BY {column}) AS [bulkwire_tile] FROM {from} WHERE {column} IS NOT NULL) AS [bulkwire_tiles] \
         GROUP BY [bulkwire_tile] ORDER BY [bulkwire_tile]"
    );
    let mut found: Vec<Value> = values(client, &sql, source.parameters())?
        .into_iter()
        .flatten()
        .filter(|value| !value.is_null())
        .collect();
    found.pop();
    Ok(found)
}

/// Leaves out boundaries that are not greater than the one before, as the server compares them. Text of the same
/// letters in another case is equal to it under most collations.
fn ascending(client: &mut Client, key: &SplitKey, mut boundaries: Vec<Value>) -> Result<Vec<Value>, Error> {
    boundaries.dedup();
    loop {
        let mut wrong = Vec::new();
        for start in (0..boundaries.len().saturating_sub(1)).step_by(COMPARED_MAX) {
            let end = (start + COMPARED_MAX + 1).min(boundaries.len());
            let part = boundaries.get(start..end).unwrap_or_default();
            wrong.extend(misplaced(client, key, part)?.into_iter().map(|index| start + index));
        }
        if wrong.is_empty() {
            return Ok(boundaries);
        }
        let mut index = 0;
        boundaries.retain(|_| {
            index += 1;
            !wrong.contains(&(index - 1))
        });
    }
}

/// Returns the places of boundaries that are not greater than the one before.
fn misplaced(client: &mut Client, key: &SplitKey, boundaries: &[Value]) -> Result<Vec<usize>, Error> {
    if boundaries.len() < 2 {
        return Ok(Vec::new());
    }
    let mut parameters = Vec::with_capacity(boundaries.len());
    let operands: Vec<String> = boundaries
        .iter()
        .enumerate()
        .map(|(index, boundary)| {
            let (operand, parameter) = key.operand(&format!("@bulkwire_{index}"), boundary);
            parameters.push(parameter);
            key.compared(&operand)
        })
        .collect();
    let pairs: Vec<String> = operands
        .windows(2)
        .enumerate()
        .filter_map(|(index, pair)| match pair {
            [a, b] => Some(format!("({}, {a}, {b})", index + 1)),
            _ => None,
        })
        .collect();
    let sql = format!(
        "SELECT [bulkwire_place] FROM (VALUES {}) AS [bulkwire_pairs] ([bulkwire_place], [bulkwire_a], [bulkwire_b]) \
         WHERE NOT [bulkwire_a] < [bulkwire_b]",
        pairs.join(", ")
    );
    let places = values(client, &sql, &parameters)?;
    Ok(places
        .into_iter()
        .flatten()
        .filter_map(|value| match value {
            Value::Int(place) => usize::try_from(place).ok(),
            _ => None,
        })
        .collect())
}

/// Returns the rows of all results.
fn values(client: &mut Client, sql: &str, parameters: &[Parameter]) -> Result<Vec<Vec<Value>>, Error> {
    let tables = match parameters.is_empty() {
        true => client.query_values(sql)?,
        false => {
            let parameters: Vec<_> = parameters
                .iter()
                .map(|(name, sql_type, value)| (name.as_str(), sql_type.clone(), value.clone()))
                .collect();
            client.query_values_with(sql, &parameters)?
        }
    };
    Ok(tables.into_iter().flat_map(|table| table.rows).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use tds::Value;

    use super::{Step, of_histogram};

    fn steps(of: &[(i32, f64)]) -> Vec<Step> {
        of.iter().map(|&(high, rows)| Step { high: Value::Int(high), rows }).collect()
    }

    #[test]
    fn a_histogram_gives_ranges_of_about_as_many_rows() {
        // 1,000 rows up to 10, of which one value has 900; 1,000 from there to 1,000,000.
        let found =
            of_histogram(&steps(&[(0, 1.0), (9, 99.0), (10, 900.0), (1_000_000, 1000.0)]), 4).unwrap();
        assert_eq!(found, [Value::Int(10), Value::Int(500_005), Value::Int(1_000_000)]);
    }

    #[test]
    fn text_keeps_the_steps() {
        let text = |text: &str, rows| Step { high: Value::String(text.to_owned()), rows };
        let steps = [text("a", 1.0), text("f", 50.0), text("k", 60.0), text("z", 900.0)];
        let found = of_histogram(&steps, 10).unwrap();
        assert_eq!(found, [Value::String("k".to_owned()), Value::String("z".to_owned())]);
    }

    #[test]
    fn a_histogram_without_rows_says_nothing() {
        assert_eq!(of_histogram(&steps(&[(0, 0.0), (9, 0.0)]), 4), None);
    }
}
