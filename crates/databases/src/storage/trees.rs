//! The trees that a table's definition declares: a clustered tree or a heap, nonclustered indexes, compression.

use query::KeyTree;
use store::catalogue::Table;
use store::record::kind::Place;
use store::{
    Compression, EngineError, FilterTerm, FilterTest, IndexDefinition, KeyColumn, Placement, RebuildOptions,
    WriteTable,
};
use tsql::file_group::FileGroups;
use tsql::index::DataCompression;

use crate::catalogue::{ColumnTest, DEFAULT_COLLATION, IndexOptions, RowFilter, TableDefinition, relations};
use crate::storage::columns::{kind_of_column, stored_value};
use crate::storage::key_width::KeyWidth;

/// The trees of a table, and how its rows are compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableTrees {
    /// Key of the clustered tree; None: a heap.
    pub clustered: Option<IndexDefinition>,
    pub indexes: Vec<PlacedIndex>,
    pub compression: Compression,
    /// The file group of the rows, as declared.
    pub group: Option<String>,
}

/// A nonclustered index and its file group, as declared; None: that of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedIndex {
    pub definition: IndexDefinition,
    pub group: Option<String>,
}

impl TableTrees {
    /// Returns the trees that a table's text declares; None if the text is not a table's definition.
    pub fn of_properties(properties: &str) -> Option<TableTrees> {
        serde_json::from_str::<TableDefinition>(properties).ok().map(|definition| Self::of(&definition))
    }

    /// Returns the trees that a definition declares, without keys that trees cannot hold
    /// ([`KeyWidth::fits`]), columnstore indexes, which are not built, and disabled ones.
    pub fn of(definition: &TableDefinition) -> TableTrees {
        let mut trees = TableTrees {
            clustered: None,
            indexes: Vec::new(),
            compression: compression(definition.compression),
            group: definition.file_groups.rows.clone(),
        };
        let keys = definition.keys.iter().map(|key| {
            let declared = Declared {
                name: &key.name,
                columns: &key.columns,
                include: &[],
                filter: Vec::new(),
                unique: true,
                is_constraint: true,
                options: key.options,
                group: &key.file_group,
            };
            (key.clustered, declared)
        });
        let indexes = definition.indexes.iter().filter(|index| !index.columnstore);
        let indexes = indexes.filter_map(|index| {
            // Filters of stored definitions were checked when they were read, and new ones when they were declared.
            let filter = match index.row_filter(definition).ok()? {
                Some(filter) => filter_terms(&filter, definition)?,
                None => Vec::new(),
            };
            let declared = Declared {
                name: &index.name,
                columns: &index.columns,
                include: &index.include,
                filter,
                unique: index.unique,
                is_constraint: false,
                options: index.options,
                group: &index.file_group,
            };
            Some((index.clustered, declared))
        });
        for (clustered, declared) in keys.chain(indexes).filter(|(_, declared)| !declared.options.disabled) {
            let Some(tree) = declared.tree(definition, clustered) else { continue };
            if clustered {
                trees.clustered = Some(tree);
            } else {
                trees.indexes.push(PlacedIndex { definition: tree, group: declared.group.clone() });
            }
        }
        trees
    }

    /// Returns the positions of the key columns of the tree of this name.
    pub fn key_of(&self, name: &str) -> Option<Vec<usize>> {
        let indexes = self.indexes.iter().map(|index| &index.definition);
        let tree = self.clustered.iter().chain(indexes).find(|tree| tree.name == name)?;
        Some(tree.key.iter().map(|key| key.column).collect())
    }

    /// Replaces a table's trees by these.
    pub fn put(&self, present: &TableTrees, table: &mut WriteTable<'_>) -> Result<(), EngineError> {
        let mut own = present.indexes.clone();
        for wanted in self.indexes.iter().filter(|wanted| !present.indexes.contains(wanted)) {
            let renamed = |own: &PlacedIndex| {
                own.group == wanted.group && is_renamed(&own.definition, &wanted.definition)
            };
            let old = own.iter_mut().find(|own| !self.indexes.contains(own) && renamed(own));
            if let Some(old) = old {
                table.rename_index(&old.definition.name, &wanted.definition.name)?;
                old.definition.name.clone_from(&wanted.definition.name);
            }
        }
        for unwanted in own.iter().filter(|own| !self.indexes.contains(own)) {
            table.drop_index(&unwanted.definition.name)?;
        }
        let compression = Some(self.compression);
        let before = present.clustered.clone().map(|before| IndexDefinition { compression, ..before });
        let mut written = false;
        // Only a clustered key takes rows to another group.
        let moves = self.clustered.is_some() && self.group != present.group;
        match (&before, &self.clustered) {
            (before, after) if before == after && !moves => {}
            (Some(before), Some(after)) if is_renamed(before, after) && !moves => {
                table.rename_index(&before.name, &after.name)?;
            }
            (_, Some(key)) => {
                let group = self.group.as_deref().filter(|_| moves);
                table.create_clustered_index_on(key, group)?;
                written = true;
            }
            (_, None) => table.drop_clustered_index()?,
        }
        if self.compression != present.compression && !written {
            table.rebuild(RebuildOptions::compressed(self.compression))?;
        }
        let missing = self.indexes.iter().filter(|wanted| !own.contains(wanted));
        missing.into_iter().try_for_each(|wanted| wanted.create(table))
    }

    /// Returns the trees that a table of the engine has.
    pub fn present(table: &Table) -> TableTrees {
        let declared = Self::of_properties(&table.properties);
        let group = |name: &str| {
            let own = declared.iter().flat_map(|declared| &declared.indexes);
            own.filter(|index| index.definition.name == name).find_map(|index| index.group.clone())
        };
        let indexes = table.indexes.iter().map(|index| {
            let definition = index.tree.definition.clone();
            PlacedIndex { group: group(&definition.name), definition }
        });
        TableTrees {
            clustered: table.clustered.as_ref().map(|tree| tree.definition.clone()),
            indexes: indexes.collect(),
            compression: table.layout.compression,
            group: declared.as_ref().and_then(|declared| declared.group.clone()),
        }
    }
}

impl PlacedIndex {
    /// Returns true if two indexes hold the same entries, in the same group.
    pub fn is_like(&self, other: &PlacedIndex) -> bool {
        self.group == other.group && self.definition.is_like(&other.definition)
    }

    /// Creates the index and fills it from the existing rows.
    pub fn create(&self, table: &mut WriteTable<'_>) -> Result<(), EngineError> {
        table.create_index_on(&self.definition, self.group.as_deref())
    }
}

/// Returns the file groups of a new table's pages, by the text kept with it.
pub(super) fn placement(properties: &str) -> Placement {
    // A module's text, or a type's, is no table's: it has no rows to place.
    let groups = serde_json::from_str::<TableDefinition>(properties).map(|definition| definition.file_groups);
    let FileGroups { rows, large_values } = groups.unwrap_or_default();
    Placement { rows, large_values }
}

/// Lists the keys by which rows of a table in pages can be found, the clustered one first.
pub(super) fn key_trees(definition: &TableDefinition) -> Vec<KeyTree> {
    let TableTrees { clustered, indexes, .. } = TableTrees::of(definition);
    let tree = |index: Option<String>, tree: &IndexDefinition| KeyTree {
        index,
        columns: tree.key.iter().map(|key| (key.column, key.descending)).collect(),
        unique: tree.unique,
    };
    let clustered = clustered.iter().map(|key| tree(None, key));
    // A filtered index does not find the rows that it leaves out.
    let indexes = indexes.iter().map(|index| &index.definition).filter(|index| index.filter.is_empty());
    clustered.chain(indexes.map(|index| tree(Some(index.name.clone()), index))).collect()
}

/// Returns true if the engine can keep the rows of a filter apart: it compares no column that is too large
/// for that.
pub fn holds_filter(filter: &RowFilter, definition: &TableDefinition) -> bool {
    filter_terms(filter, definition).is_some()
}

pub(super) fn compression(declared: DataCompression) -> Compression {
    match declared {
        DataCompression::None => Compression::None,
        DataCompression::Row => Compression::Row,
        DataCompression::Page => Compression::Page,
    }
}

/// Returns true if two definitions differ in the name only.
fn is_renamed(before: &IndexDefinition, after: &IndexDefinition) -> bool {
    before.name != after.name
        && IndexDefinition { name: String::new(), ..before.clone() }
            == IndexDefinition { name: String::new(), ..after.clone() }
}

/// A key or index as declared.
struct Declared<'d> {
    name: &'d str,
    columns: &'d [(String, bool)],
    include: &'d [String],
    filter: Vec<FilterTerm>,
    unique: bool,
    is_constraint: bool,
    options: IndexOptions,
    group: &'d Option<String>,
}

impl Declared<'_> {
    fn tree(&self, definition: &TableDefinition, clustered: bool) -> Option<IndexDefinition> {
        let positions =
            self.columns.iter().map(|(name, _)| definition.position(name)).collect::<Option<Vec<_>>>()?;
        if !KeyWidth::new(self.name, clustered, positions.clone(), definition).fits() {
            return None;
        }
        let key = positions.iter().zip(self.columns).map(|(position, (_, descending))| {
            let column = definition.columns.get(*position)?;
            let collation = column.collation.as_deref().unwrap_or(DEFAULT_COLLATION);
            Some(KeyColumn {
                column: *position,
                descending: *descending,
                collation: column.sql_type.is_character().then(|| collation.to_owned()),
            })
        });
        // A value that may lie outside of its row is no part of an index: a query takes it from the table.
        let included = self.include.iter().filter_map(|name| {
            let position = definition.position(name)?;
            let (kind, _) = kind_of_column(&definition.columns.get(position)?.stored());
            (kind.place() != (Place::Variable { limit_bytes: None })).then_some(position)
        });
        Some(IndexDefinition {
            name: self.name.to_owned(),
            key: key.collect::<Option<_>>()?,
            included: included.collect(),
            filter: self.filter.clone(),
            unique: self.unique,
            is_constraint: self.is_constraint,
            compression: Some(compression(match clustered {
                true => definition.compression,
                false => self.options.compression,
            })),
            fill_factor_percent: self.options.fill_factor,
            pad_index: self.options.pad_index,
        })
    }
}

/// Converts the terms of a filter to values as pages hold them; None: a column of it is too large for
/// comparisons.
fn filter_terms(filter: &RowFilter, definition: &TableDefinition) -> Option<Vec<FilterTerm>> {
    let terms = filter.terms.iter().map(|term| {
        let column = definition.columns.get(term.column)?;
        let test = match &term.test {
            ColumnTest::Null(true) => FilterTest::Null,
            ColumnTest::Null(false) => FilterTest::NotNull,
            ColumnTest::Compare(comparison, values) => {
                let [less, equal, greater] = relations(*comparison);
                let values = values.iter().map(|value| stored_value(value, column));
                let collation = column.collation.as_deref().unwrap_or(DEFAULT_COLLATION);
                FilterTest::Compare {
                    less,
                    equal,
                    greater,
                    collation: column.sql_type.is_character().then(|| collation.to_owned()),
                    values: values.collect::<Option<_>>()?,
                }
            }
        };
        Some(FilterTerm { column: term.column, test })
    });
    terms.collect()
}
