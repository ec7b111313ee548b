//! The exposed names of the tables in a FROM, which must differ.

use tsql::query::TableSource;
use tsql::{ObjectName, SqlError, same_name};

/// A name that FROM exposes.
enum Exposed<'a> {
    Alias(&'a str),
    Table(&'a ObjectName),
}

impl Exposed<'_> {
    fn name(&self) -> &str {
        match self {
            Exposed::Alias(alias) => alias,
            Exposed::Table(name) => &name.name,
        }
    }
}

/// Errors: 1011, 1012 and 1013 for two of the same name. Tables of two schemas have different names.
pub(super) fn refuse_same_names(sources: &[TableSource]) -> Result<(), SqlError> {
    let mut names = Vec::new();
    sources.iter().for_each(|source| collect(source, &mut names));
    for (index, one) in names.iter().enumerate() {
        let alike = names.iter().skip(index + 1).filter(|other| same_name(one.name(), other.name()));
        for other in alike {
            let (number, text) = match (one, other) {
                (Exposed::Alias(_), Exposed::Alias(name)) => (
                    1011,
                    format!("The correlation name '{name}' is specified multiple times in a FROM clause."),
                ),
                (Exposed::Alias(alias), Exposed::Table(table))
                | (Exposed::Table(table), Exposed::Alias(alias)) => (
                    1012,
                    format!("The correlation name '{alias}' has the same exposed name as table '{table}'."),
                ),
                (Exposed::Table(one), Exposed::Table(other)) if in_one_schema(one, other) => (
                    1013,
                    format!(
                        "The objects \"{one}\" and \"{other}\" in the FROM clause have the same exposed names. Use correlation names to distinguish them."
                    ),
                ),
                (Exposed::Table(_), Exposed::Table(_)) => continue,
            };
            return Err(SqlError::new(number, 16, 1, text));
        }
    }
    Ok(())
}

fn in_one_schema(one: &ObjectName, other: &ObjectName) -> bool {
    let schema = |name: &ObjectName| name.schema.as_deref().unwrap_or("dbo").to_owned();
    let database = |name: &ObjectName| name.database.as_deref().unwrap_or("").to_owned();
    same_name(&schema(one), &schema(other)) && same_name(&database(one), &database(other))
}

fn collect<'a>(source: &'a TableSource, names: &mut Vec<Exposed<'a>>) {
    match source {
        TableSource::Table { name, alias, .. } => {
            names.push(alias.as_deref().map_or(Exposed::Table(name), Exposed::Alias));
        }
        TableSource::Derived { alias, .. }
        | TableSource::Values { alias, .. }
        | TableSource::BulkRowset { alias, .. }
        | TableSource::Pivot { alias, .. }
        | TableSource::Unpivot { alias, .. } => names.push(Exposed::Alias(alias)),
        TableSource::Function { name, alias, .. } => {
            names.push(alias.as_deref().map_or(Exposed::Table(name), Exposed::Alias));
        }
        TableSource::Join { left, right, .. } => {
            collect(left, names);
            collect(right, names);
        }
    }
}
