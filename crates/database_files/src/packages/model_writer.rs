//! model.xml of tables: elements, properties and relationships as Microsoft's tools write and read them.

use tds::{Collation, Length, SqlType};

use crate::definition::{Action, Check, Column, ForeignKey, Index, KeyKind, Table};

/// The namespace of the model, and of what describes the package.
pub(crate) const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/dac/Serialization/2012/02";

/// The schema of a model and its platform. The widest-read pair holds all types but two.
struct Dialect {
    version: &'static str,
    platform: &'static str,
}

const OF_2019: Dialect = Dialect { version: "2.9", platform: "Sql150" };
/// The dialect of `json` and `vector`.
const OF_2025: Dialect = Dialect { version: "3.5", platform: "Sql170" };

/// A model that is written.
pub(crate) struct WrittenModel {
    pub text: String,
    /// The version of its schema, which Origin.xml repeats.
    pub version: &'static str,
}

/// Writes the model of tables. `collation` is that of the database.
pub(crate) fn model(tables: &[Table], collation: Collation) -> WrittenModel {
    let is_new = |column: &Column| matches!(column.sql_type, SqlType::Json | SqlType::Vector { .. });
    let needs_2025 = tables.iter().any(|table| table.columns.iter().any(is_new));
    let dialect = if needs_2025 { OF_2025 } else { OF_2019 };
    let name = collation.name().unwrap_or_else(|| "SQL_Latin1_General_CP1_CI_AS".to_owned());
    let is_sensitive = collation.case_sensitive() || collation.is_binary();
    let mut xml = Xml { text: String::new(), collation: name.clone(), numbers: 1 };
    xml.text.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    xml.text.push_str(&format!(
        "<DataSchemaModel FileFormatVersion=\"1.2\" SchemaVersion=\"{}\" \
         DspName=\"Microsoft.Data.Tools.Schema.Sql.{}DatabaseSchemaProvider\" CollationLcid=\"{}\" \
         CollationCaseSensitive=\"{}\" xmlns=\"{NAMESPACE}\"><Model>\n",
        dialect.version,
        dialect.platform,
        collation.lcid(),
        if is_sensitive { "True" } else { "False" },
    ));
    xml.element("SqlDatabaseOptions", None, Some(1), |xml| {
        xml.property("Collation", &name);
        xml.references("DefaultFilegroup", [built_in("PRIMARY")]);
    });
    let mut schemas: Vec<&str> = tables.iter().map(|table| table.schema.as_str()).collect();
    schemas.sort_unstable();
    schemas.dedup();
    for schema in schemas.into_iter().filter(|schema| !is_built_in(schema)) {
        xml.element("SqlSchema", Some(&bracketed(&[schema])), None, |xml| {
            xml.references("Authorizer", [built_in("dbo")]);
        });
    }
    tables.iter().for_each(|table| xml.table(table));
    tables.iter().for_each(|table| xml.parts_of_table(table));
    xml.text.push_str("</Model></DataSchemaModel>\n");
    WrittenModel { text: xml.text, version: dialect.version }
}

/// A reference to an element, and whether every database has it.
struct Reference {
    name: String,
    is_built_in: bool,
}

fn built_in(name: &str) -> Reference {
    Reference { name: bracketed(&[name]), is_built_in: true }
}

fn reference(parts: &[&str]) -> Reference {
    Reference { name: bracketed(parts), is_built_in: false }
}

fn schema_reference(schema: &str) -> Reference {
    Reference { name: bracketed(&[schema]), is_built_in: is_built_in(schema) }
}

/// Returns true for a schema that every database has.
fn is_built_in(schema: &str) -> bool {
    ["dbo", "sys", "guest", "information_schema"].contains(&schema.to_ascii_lowercase().as_str())
}

fn bracketed(parts: &[&str]) -> String {
    parts.iter().map(|part| format!("[{}]", part.replace(']', "]]"))).collect::<Vec<_>>().join(".")
}

struct Xml {
    text: String,
    /// The database's; a column says its own if it is another.
    collation: String,
    /// Numbers that tell elements of one name apart.
    numbers: u32,
}

impl Xml {
    fn element(
        &mut self,
        kind: &str,
        name: Option<&str>,
        disambiguator: Option<u32>,
        content: impl FnOnce(&mut Self),
    ) {
        self.text.push_str(&format!("<Element Type=\"{kind}\""));
        if let Some(name) = name {
            self.text.push_str(&format!(" Name=\"{}\"", escaped(name)));
        }
        if let Some(number) = disambiguator {
            self.text.push_str(&format!(" Disambiguator=\"{number}\""));
        }
        self.text.push('>');
        content(self);
        self.text.push_str("</Element>\n");
    }

    fn property(&mut self, name: &str, value: &str) {
        self.text.push_str(&format!("<Property Name=\"{name}\" Value=\"{}\"/>", escaped(value)));
    }

    /// Writes a property whose value is a script.
    fn script(&mut self, name: &str, script: &str) {
        let script = script.replace("]]>", "]]]]><![CDATA[>");
        self.text
            .push_str(&format!("<Property Name=\"{name}\"><Value><![CDATA[{script}]]></Value></Property>"));
    }

    fn references(&mut self, name: &str, to: impl IntoIterator<Item = Reference>) {
        self.text.push_str(&format!("<Relationship Name=\"{name}\">"));
        for Reference { name, is_built_in } in to {
            let source = if is_built_in { " ExternalSource=\"BuiltIns\"" } else { "" };
            self.text.push_str(&format!("<Entry><References{source} Name=\"{}\"/></Entry>", escaped(&name)));
        }
        self.text.push_str("</Relationship>");
    }

    fn table(&mut self, table: &Table) {
        let own = [table.schema.as_str(), table.name.as_str()];
        self.element("SqlTable", Some(&bracketed(&own)), None, |xml| {
            xml.property("IsAnsiNullsOn", "True");
            xml.text.push_str("<Relationship Name=\"Columns\">");
            for column in &table.columns {
                xml.text.push_str("<Entry>");
                match &column.computed {
                    Some(_) => xml.computed_column(table, column),
                    None => xml.column(table, column),
                }
                xml.text.push_str("</Entry>");
            }
            xml.text.push_str("</Relationship>");
            xml.references("Schema", [schema_reference(&table.schema)]);
        });
    }

    fn column(&mut self, table: &Table, column: &Column) {
        let name = bracketed(&[&table.schema, &table.name, &column.name]);
        self.element("SqlSimpleColumn", Some(&name), None, |xml| {
            if !column.is_nullable {
                xml.property("IsNullable", "False");
            }
            if let Some(identity) = &column.identity {
                xml.property("IsIdentity", "True");
                for (name, number) in
                    [("IdentitySeed", &identity.seed), ("IdentityIncrement", &identity.increment)]
                {
                    if number != "1" {
                        xml.property(name, number);
                    }
                }
            }
            if column.is_rowguidcol {
                xml.property("IsRowGuidColumn", "True");
            }
            if column.is_sparse {
                xml.property("IsSparse", "True");
            }
            let own = column.collation.and_then(|collation| collation.name());
            if let Some(collation) = own.filter(|own| column.sql_type.is_character() && *own != xml.collation)
            {
                xml.property("Collation", &collation);
            }
            xml.type_specifier(&column.sql_type);
        });
    }

    fn computed_column(&mut self, table: &Table, column: &Column) {
        let Some(computed) = &column.computed else { return };
        let name = bracketed(&[&table.schema, &table.name, &column.name]);
        self.element("SqlComputedColumn", Some(&name), None, |xml| {
            if computed.is_persisted {
                xml.property("IsPersisted", "True");
            }
            xml.script("ExpressionScript", unwrapped(&computed.definition));
            xml.dependencies("ExpressionDependencies", table, &computed.definition);
        });
    }

    fn type_specifier(&mut self, sql_type: &SqlType) {
        self.text.push_str("<Relationship Name=\"TypeSpecifier\"><Entry>");
        let kind = if *sql_type == SqlType::Xml { "SqlXmlTypeSpecifier" } else { "SqlTypeSpecifier" };
        self.element(kind, None, None, |xml| {
            let text = sql_type.to_string();
            let name = text.split('(').next().unwrap_or_default().trim_matches(['[', ']']);
            let name = name.trim_start_matches("sys].[").trim_start_matches("sys.");
            xml.type_properties(sql_type);
            let is_clr = matches!(sql_type, SqlType::Udt { .. });
            let name = if is_clr { bracketed(&["sys", name]) } else { bracketed(&[name]) };
            xml.references("Type", [Reference { name, is_built_in: true }]);
        });
        self.text.push_str("</Entry></Relationship>");
    }

    /// Writes length, precision and scale; one that equals its default is left out.
    fn type_properties(&mut self, sql_type: &SqlType) {
        let mut number = |name: &str, value: u16, default: u16| {
            if value != default {
                self.property(name, &value.to_string());
            }
        };
        match *sql_type {
            SqlType::Char { length } | SqlType::NChar { length } | SqlType::Binary { length } => {
                number("Length", length, 1);
            }
            SqlType::VarChar { length } | SqlType::NVarChar { length } | SqlType::VarBinary { length } => {
                match length {
                    Length::Units(length) => number("Length", length, 1),
                    Length::Max => self.property("IsMax", "True"),
                }
            }
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                number("Scale", scale.into(), 0);
                number("Precision", precision.into(), 0);
            }
            SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => {
                number("Scale", scale.into(), 0);
            }
            SqlType::Float => number("Precision", 53, 0),
            SqlType::Vector { dimensions, .. } => number("Length", dimensions, 0),
            _ => {}
        }
    }

    /// Writes what stands beside a table: keys, defaults, checks, indexes, foreign keys.
    fn parts_of_table(&mut self, table: &Table) {
        for (number, index) in table.indexes.iter().enumerate() {
            self.index(table, number, index);
        }
        for column in &table.columns {
            self.default(table, column);
        }
        for (number, check) in table.checks.iter().enumerate() {
            self.check(table, number, check);
        }
        for key in &table.foreign_keys {
            self.foreign_key(table, key);
        }
    }

    fn index(&mut self, table: &Table, number: usize, index: &Index) {
        let (kind, prefix, is_clustered_alone) = match index.key_kind {
            Some(KeyKind::Primary) => ("SqlPrimaryKeyConstraint", "PK", true),
            Some(KeyKind::Unique) => ("SqlUniqueConstraint", "UQ", false),
            None => ("SqlIndex", "IX", false),
        };
        let own = index.name.clone().unwrap_or_else(|| format!("{prefix}_{}_{}", table.name, number + 1));
        let name = match index.key_kind {
            Some(_) => bracketed(&[&table.schema, &own]),
            None => bracketed(&[&table.schema, &table.name, &own]),
        };
        let is_shared = index.key_kind.is_none() && table.columns.iter().any(|column| column.name == own);
        let disambiguator = is_shared.then(|| {
            self.numbers += 1;
            self.numbers
        });
        let column = |name: &str| reference(&[&table.schema, &table.name, name]);
        self.element(kind, Some(&name), disambiguator, |xml| {
            if index.is_clustered != is_clustered_alone {
                xml.property("IsClustered", if index.is_clustered { "True" } else { "False" });
            }
            if index.key_kind.is_none() && index.is_unique {
                xml.property("IsUnique", "True");
            }
            if index.fill_factor > 0 {
                xml.property("FillFactor", &index.fill_factor.to_string());
            }
            if let Some(filter) = &index.filter {
                xml.script("FilterPredicate", filter);
            }
            xml.text.push_str("<Relationship Name=\"ColumnSpecifications\">");
            for (name, is_descending) in &index.key {
                xml.text.push_str("<Entry>");
                xml.element("SqlIndexedColumnSpecification", None, None, |xml| {
                    if *is_descending {
                        xml.property("IsAscending", "False");
                    }
                    xml.references("Column", [column(name)]);
                });
                xml.text.push_str("</Entry>");
            }
            xml.text.push_str("</Relationship>");
            if !index.included.is_empty() {
                xml.references("IncludedColumns", index.included.iter().map(|name| column(name)));
            }
            let of = if index.key_kind.is_some() { "DefiningTable" } else { "IndexedObject" };
            xml.references(of, [reference(&[&table.schema, &table.name])]);
            if let Some(filter) = &index.filter {
                xml.dependencies("BodyDependencies", table, filter);
            }
        });
    }

    fn default(&mut self, table: &Table, column: &Column) {
        let Some(default) = &column.default else { return };
        let own = default.name.clone().unwrap_or_else(|| format!("DF_{}_{}", table.name, column.name));
        self.element("SqlDefaultConstraint", Some(&bracketed(&[&table.schema, &own])), None, |xml| {
            xml.script("DefaultExpressionScript", &default.definition);
            xml.references("DefiningTable", [reference(&[&table.schema, &table.name])]);
            xml.references("ForColumn", [reference(&[&table.schema, &table.name, &column.name])]);
        });
    }

    fn check(&mut self, table: &Table, number: usize, check: &Check) {
        let own = check.name.clone().unwrap_or_else(|| format!("CK_{}_{}", table.name, number + 1));
        self.element("SqlCheckConstraint", Some(&bracketed(&[&table.schema, &own])), None, |xml| {
            if check.is_disabled {
                xml.property("IsDisabled", "True");
            }
            xml.script("CheckExpressionScript", unwrapped(&check.definition));
            xml.dependencies("CheckExpressionDependencies", table, &check.definition);
            xml.references("DefiningTable", [reference(&[&table.schema, &table.name])]);
            xml.not_trusted(check.is_not_trusted);
        });
    }

    fn foreign_key(&mut self, table: &Table, key: &ForeignKey) {
        let own = key.name.clone().unwrap_or_else(|| format!("FK_{}_{}", table.name, key.columns.join("_")));
        let to = [key.to_schema.as_str(), key.to_table.as_str()];
        self.element("SqlForeignKeyConstraint", Some(&bracketed(&[&table.schema, &own])), None, |xml| {
            for (name, action) in [("OnDeleteAction", key.on_delete), ("OnUpdateAction", key.on_update)] {
                match action {
                    Action::None => {}
                    Action::Cascade => xml.property(name, "1"),
                    Action::SetNull => xml.property(name, "2"),
                    Action::SetDefault => xml.property(name, "3"),
                }
            }
            if key.is_disabled {
                xml.property("IsDisabled", "True");
            }
            let columns = key.columns.iter().map(|name| reference(&[&table.schema, &table.name, name]));
            xml.references("Columns", columns);
            xml.references("DefiningTable", [reference(&[&table.schema, &table.name])]);
            let columns = key.to_columns.iter().map(|name| reference(&[to[0], to[1], name]));
            xml.references("ForeignColumns", columns);
            xml.references("ForeignTable", [reference(&to)]);
            xml.not_trusted(key.is_not_trusted);
        });
    }

    fn not_trusted(&mut self, is_not_trusted: bool) {
        if is_not_trusted {
            self.text.push_str("<Annotation Type=\"IsNotTrustedPropertyAnnotation\"/>");
        }
    }

    /// Names the columns of the table that an expression has in brackets.
    fn dependencies(&mut self, name: &str, table: &Table, expression: &str) {
        let names = table.columns.iter().filter(|column| expression.contains(&bracketed(&[&column.name])));
        let columns: Vec<Reference> =
            names.map(|column| reference(&[&table.schema, &table.name, &column.name])).collect();
        if !columns.is_empty() {
            self.references(name, columns);
        }
    }
}

/// Escapes a value of an attribute.
fn escaped(value: &str) -> String {
    let value = quick_xml::escape::escape(value);
    value.replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}

/// Takes the parentheses off an expression that stand around all of it.
fn unwrapped(expression: &str) -> &str {
    let Some(inner) = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return expression;
    };
    let (mut depth, mut quote) = (0_i32, None);
    for c in inner.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '\'') => quote = Some('\''),
            (None, '[') => quote = Some(']'),
            (None, '"') => quote = Some('"'),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
        if depth < 0 {
            return expression;
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_around_all_are_taken_off() {
        for (expression, wanted) in [
            ("([a]>(0))", "[a]>(0)"),
            ("([a])+([b])", "([a])+([b])"),
            ("(')' + [b])", "')' + [b]"),
            ("[a]", "[a]"),
        ] {
            assert_eq!(unwrapped(expression), wanted);
        }
    }
}
