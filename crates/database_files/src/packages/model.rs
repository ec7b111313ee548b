//! The model of a package: its tables with what is defined on them, and its modules.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use tds::{Collation, SqlType};

use super::{
    archive::Archive,
    data::DataPart,
    element::{Node, each_element, name_parts},
    folder_of,
    types::{encoding, named_type, sql_type},
};
use crate::{
    definition::{
        Action, Check, Column, Computed, Default, ForeignKey, Identity, Index, KeyKind, Module, Table,
    },
    error::{Result, malformed, unsupported},
};

/// The part with the model.
const PART: &str = "model.xml";

/// A table of the model with its parts of data.
pub(crate) struct PackagedTable {
    pub table: Table,
    pub parts: Vec<DataPart>,
}

/// The parts of a model that are read.
pub(crate) struct Model {
    /// The platform that it is for: `Sql160`, `SqlAzureV12`.
    pub platform: String,
    pub tables: Vec<PackagedTable>,
    pub modules: Vec<Module>,
    /// Other kinds of elements and their numbers.
    pub others: Vec<(String, usize)>,
}

/// Elements that wait until all are read.
#[derive(Default)]
struct Elements {
    root: Node,
    collation: Option<String>,
    aliases: HashMap<String, Node>,
    tables: Vec<Node>,
    /// Constraints and indexes.
    of_tables: Vec<Node>,
    modules: Vec<Module>,
    others: BTreeMap<String, usize>,
}

impl Model {
    /// Reads the model, and returns the SHA-256 of its bytes too.
    ///
    /// # Errors
    /// The part is missing, or not a model.
    pub(crate) fn read(archive: &mut Archive) -> Result<(Self, String)> {
        let name = archive.name().to_owned();
        let error = |reason| crate::error::FileError::new(&name, PART, reason);
        let mut hashed = Hashed { inner: archive.model_part(PART)?, hash: Sha256::new() };
        let mut elements = Elements::default();
        let mut is_root = true;
        each_element(&mut hashed, |node| match std::mem::take(&mut is_root) {
            true => elements.root = node,
            false => elements.take(node),
        })
        .map_err(|text| error(malformed(text)))?;
        io::copy(&mut hashed, &mut io::sink()).map_err(|io| error(malformed(io.to_string())))?;
        let checksum = hashed.hash.finalize().iter().map(|byte| format!("{byte:02X}")).collect();
        match elements.root.attribute("FileFormatVersion") {
            Some("1.2") => Ok((elements.into_model(), checksum)),
            version => {
                let version = version.unwrap_or("none");
                Err(error(unsupported(format!("a model of the format {version} is not read (1.2 is)"))))
            }
        }
    }

    /// Finds the parts of data of each table.
    ///
    /// # Errors
    /// A folder of data belongs to no table.
    pub(crate) fn with_parts(mut self, archive: &Archive) -> Result<Self> {
        let folders: HashMap<String, usize> =
            self.tables.iter().enumerate().map(|(index, table)| (folder_of(table), index)).collect();
        for part in archive.parts().filter(|part| part.starts_with("Data/")) {
            let Some((folder, file)) = part.rsplit_once('/') else { continue };
            if file.is_empty() {
                continue;
            }
            let table = folders.get(&format!("{folder}/")).and_then(|index| self.tables.get_mut(*index));
            let Some(table) = table else {
                return Err(archive.error(&part, malformed("its folder belongs to no table of the model")));
            };
            match DataPart::of(&part, file) {
                Some(data) => table.parts.push(data),
                None => {
                    let reason = format!("its data have the part {file}, whose form is not known");
                    table.table.unreadable.get_or_insert(reason);
                }
            }
        }
        self.tables.iter_mut().for_each(|table| table.parts.sort());
        Ok(self)
    }
}

impl Elements {
    fn take(&mut self, node: Node) {
        match node.kind() {
            "SqlTable" => self.tables.push(node),
            "SqlUserDefinedDataType" => {
                let name = node.attribute("Name").unwrap_or_default().to_owned();
                self.aliases.insert(name, node);
            }
            "SqlPrimaryKeyConstraint"
            | "SqlUniqueConstraint"
            | "SqlForeignKeyConstraint"
            | "SqlCheckConstraint"
            | "SqlDefaultConstraint"
            | "SqlIndex"
            | "SqlColumnStoreIndex"
            | "SqlXmlIndex"
            | "SqlSpatialIndex"
            | "SqlFullTextIndex" => self.of_tables.push(node),
            "SqlDatabaseOptions" => self.collation = node.property("Collation").map(str::to_owned),
            kind => {
                let kind = kind.to_owned();
                match module(&node) {
                    Some(module) => self.modules.push(module),
                    None => *self.others.entry(kind).or_default() += 1,
                }
            }
        }
    }

    fn into_model(self) -> Model {
        let platform = self.root.attribute("DspName").unwrap_or_default();
        let platform = platform.rsplit('.').next().unwrap_or_default();
        let platform = platform.trim_end_matches("DatabaseSchemaProvider").to_owned();
        let aliases: HashMap<&str, SqlType> = self
            .aliases
            .iter()
            .filter_map(|(name, node)| Some((name.as_str(), named_type(node, |_| None).ok()?)))
            .collect();
        let collation = self.collation.as_deref().and_then(Collation::from_name);
        let maker = TableMaker { aliases: &aliases, collation };
        let mut tables: Vec<(String, PackagedTable)> = self
            .tables
            .iter()
            .map(|node| (node.attribute("Name").unwrap_or_default().to_owned(), maker.table(node)))
            .collect();
        let by_name: HashMap<String, usize> =
            tables.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect();
        for node in &self.of_tables {
            let owner =
                ["DefiningTable", "IndexedObject"].iter().find_map(|name| node.references(name).next());
            let table = owner.and_then(|owner| by_name.get(owner)).and_then(|index| tables.get_mut(*index));
            // Indexes of views have no table.
            if let Some((_, packaged)) = table {
                attach(&mut packaged.table, node);
            }
        }
        let mut tables: Vec<PackagedTable> = tables.into_iter().map(|(_, table)| table).collect();
        tables.iter_mut().for_each(|table| table.table.indexes.sort_by_key(|index| !index.is_clustered));
        tables.sort_by(|a, b| (&a.table.schema, &a.table.name).cmp(&(&b.table.schema, &b.table.name)));
        Model { platform, tables, modules: self.modules, others: self.others.into_iter().collect() }
    }
}

/// Makes tables of their elements.
struct TableMaker<'a> {
    aliases: &'a HashMap<&'a str, SqlType>,
    collation: Option<Collation>,
}

impl TableMaker<'_> {
    fn table(&self, node: &Node) -> PackagedTable {
        let mut parts = name_parts(node.attribute("Name").unwrap_or_default());
        let name = parts.pop().unwrap_or_default();
        let (mut columns, mut unreadable, mut left_out) = (Vec::new(), None, Vec::new());
        for element in node.elements("Columns") {
            let (column, problem) = self.column(element);
            let name = &column.name;
            unreadable = unreadable.or(problem.map(|problem| format!("column {name}: {problem}")));
            columns.push(column);
        }
        if node.references("TemporalSystemVersioningHistoryTable").next().is_some() {
            left_out.push("system versioning".to_owned());
        }
        let table = Table {
            schema: parts.pop().unwrap_or_else(|| "dbo".to_owned()),
            name,
            columns,
            rows: None,
            bytes: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            left_out,
            unreadable,
        };
        PackagedTable { table, parts: Vec::new() }
    }

    /// Makes a column, and says why its values are not read, if so.
    fn column(&self, node: &Node) -> (Column, Option<String>) {
        let name = name_parts(node.attribute("Name").unwrap_or_default()).pop().unwrap_or_default();
        let is_nullable = node.property("IsNullable").is_none_or(|value| value.eq_ignore_ascii_case("true"));
        let computed = (node.kind() == "SqlComputedColumn").then(|| Computed {
            definition: parenthesised(node.property("ExpressionScript").unwrap_or_default()),
            is_persisted: node.is("IsPersisted"),
        });
        let found = sql_type(node, |alias| self.aliases.get(alias).cloned());
        let (sql_type, mut problem) = match found {
            Ok(sql_type) => (sql_type, None),
            Err(problem) => (SqlType::SqlVariant, Some(problem)),
        };
        problem = problem.or(encoding(&sql_type, is_nullable).err());
        let is_encrypted =
            |child: &Node| child.attribute("Name").is_some_and(|name| name.contains("Encrypt"));
        if node.children.iter().any(is_encrypted) {
            problem = problem.or(Some("its values are encrypted by clients".to_owned()));
        }
        let own = node.property("Collation").map(Collation::from_name);
        let collation = own.unwrap_or(self.collation).filter(|_| sql_type.is_character());
        let column = Column {
            name,
            is_nullable,
            collation,
            identity: node.is("IsIdentity").then(|| Identity {
                seed: node.property("IdentitySeed").unwrap_or("1").to_owned(),
                increment: node.property("IdentityIncrement").unwrap_or("1").to_owned(),
            }),
            default: None,
            is_rowguidcol: node.is("IsRowGuidColumn"),
            is_sparse: node.is("IsSparse"),
            sql_type,
            computed,
        };
        let problem = problem.filter(|_| column.computed.is_none());
        (column, problem)
    }
}

/// Adds a constraint or an index to its table.
fn attach(table: &mut Table, node: &Node) {
    let name = node.attribute("Name").and_then(|name| name_parts(name).pop());
    match node.kind() {
        "SqlPrimaryKeyConstraint" => {
            let is_clustered =
                node.property("IsClustered").is_none_or(|value| value.eq_ignore_ascii_case("true"));
            table.indexes.push(Index {
                key_kind: Some(KeyKind::Primary),
                is_unique: true,
                is_clustered,
                ..index(name, node)
            });
        }
        "SqlUniqueConstraint" => {
            table.indexes.push(Index {
                key_kind: Some(KeyKind::Unique),
                is_unique: true,
                ..index(name, node)
            });
        }
        "SqlIndex" => table.indexes.push(index(name, node)),
        "SqlCheckConstraint" => table.checks.push(Check {
            name,
            definition: parenthesised(node.property("CheckExpressionScript").unwrap_or_default()),
            is_not_trusted: is_not_trusted(node),
            is_disabled: node.is("IsDisabled"),
        }),
        "SqlDefaultConstraint" => {
            let column = node.references("ForColumn").next().and_then(|column| name_parts(column).pop());
            let definition = parenthesised(node.property("DefaultExpressionScript").unwrap_or_default());
            let column = table.columns.iter_mut().find(|of| Some(&of.name) == column.as_ref());
            if let Some(column) = column {
                column.default = Some(Default { name, definition });
            }
        }
        "SqlForeignKeyConstraint" => table.foreign_keys.push(foreign_key(name, node)),
        other => table.left_out.push(format!("{} {}", left_out_kind(other), name.unwrap_or_default())),
    }
}

fn left_out_kind(kind: &str) -> &'static str {
    match kind {
        "SqlColumnStoreIndex" => "columnstore index",
        "SqlXmlIndex" => "XML index",
        "SqlSpatialIndex" => "spatial index",
        _ => "full-text index",
    }
}

fn index(name: Option<String>, node: &Node) -> Index {
    let column = |reference: &str| name_parts(reference).pop().unwrap_or_default();
    let key = node.elements("ColumnSpecifications").filter_map(|part| {
        let name = column(part.references("Column").next()?);
        Some((name, part.property("IsAscending").is_some_and(|value| value.eq_ignore_ascii_case("false"))))
    });
    Index {
        name,
        is_clustered: node.is("IsClustered"),
        is_unique: node.is("IsUnique"),
        key_kind: None,
        key: key.collect(),
        included: node.references("IncludedColumns").map(column).collect(),
        filter: node.property("FilterPredicate").map(str::to_owned),
        fill_factor: node.property("FillFactor").and_then(|value| value.parse().ok()).unwrap_or_default(),
    }
}

fn foreign_key(name: Option<String>, node: &Node) -> ForeignKey {
    let last = |reference: &str| name_parts(reference).pop().unwrap_or_default();
    let mut to = node.references("ForeignTable").next().map(name_parts).unwrap_or_default();
    let to_table = to.pop().unwrap_or_default();
    let action = |property: &str| match node.property(property) {
        Some("1") => Action::Cascade,
        Some("2") => Action::SetNull,
        Some("3") => Action::SetDefault,
        _ => Action::None,
    };
    ForeignKey {
        name,
        columns: node.references("Columns").map(last).collect(),
        to_schema: to.pop().unwrap_or_else(|| "dbo".to_owned()),
        to_table,
        to_columns: node.references("ForeignColumns").map(last).collect(),
        on_delete: action("OnDeleteAction"),
        on_update: action("OnUpdateAction"),
        is_not_trusted: is_not_trusted(node),
        is_disabled: node.is("IsDisabled"),
    }
}

fn is_not_trusted(node: &Node) -> bool {
    node.annotations("IsNotTrustedPropertyAnnotation").next().is_some()
}

/// Returns the expression in parentheses, as the catalogue has it.
fn parenthesised(expression: &str) -> String {
    let expression = expression.trim();
    match expression.starts_with('(') && expression.ends_with(')') {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}

/// Makes a module of an element that has a script.
fn module(node: &Node) -> Option<Module> {
    let body =
        node.property("QueryScript").or_else(|| node.property("BodyScript")).map(str::to_owned).or_else(
            || {
                let function = node.elements("FunctionBody").next()?;
                function.property("BodyScript").map(str::to_owned)
            },
        )?;
    let find = |owner: &Node| owner.annotations("SysCommentsObjectAnnotation").next().cloned();
    let comments = find(node).or_else(|| node.elements("FunctionBody").next().and_then(find))?;
    let part = |name: &str| comments.property(name).unwrap_or_default().to_owned();
    Some(Module {
        kind: node.kind().to_owned(),
        name: node.attribute("Name").unwrap_or_default().to_owned(),
        script: format!("{}{body}{}", part("HeaderContents"), part("FooterContents")),
    })
}

/// Bytes that are hashed as they are read.
struct Hashed<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.hash.update(into.get(..count).unwrap_or_default());
        Ok(count)
    }
}
