//! Definitions: databases, schemas, tables, modules and types.
//!
//! A table's definition is JSON in the store's `properties`, so it commits and rolls back with the table. The list of databases
//! and schemas is in the properties of one table of the store that has no T-SQL name.

mod definition_text;
mod directory;
mod extended_property;
mod index_options;
mod module;
mod names;
mod object;
mod partition;
pub mod procedure_names;
mod references;
mod row_filter;
mod table;
mod trigger;
mod user_type;

pub use definition_text::definition_text;
pub use directory::{DIRECTORY_KEY, DatabaseEntry, Directory, FIXED_ROLES, SchemaEntry, UserMessage};
pub use extended_property::{ExtendedProperty, PropertyOwner, PropertyValue, property_of};
pub use index_options::IndexOptions;
pub use module::{
    Module, ModuleDefinition, ModuleKind, ParameterDefinition, SequenceCache, SequenceDefinition,
};
pub use names::{name_key, same_name, store_key};
pub use object::Object;
pub use partition::{
    PARTITION_FUNCTION_ID_FIRST, PARTITION_SCHEME_ID_FIRST, PARTITIONS_MAX, PartitionFunction,
    PartitionRanges, PartitionScheme, Partitioning, Partitions, is_partition_entry,
};
pub use references::referenced_tables;
pub use row_filter::{ColumnTest, FilterCondition, RowFilter, relations};
pub use row_filter::{constant_as, wrong_filter};
pub use table::{
    Check, ColumnDefinition, DEFAULT_COLLATION, Default, ForeignKey, Identity, Index, KeyConstraint,
    TableDefinition, UniqueKey, has_ansi_padding,
};
pub use trigger::Trigger;
pub use user_type::{TABLE_TYPE_ID, USER_TYPE_ID_FIRST, UserType, UserTypeKind};

/// The version that clients see; they choose protocol features by its major number.
pub const PRODUCT_VERSION: &str = "16.0.1000.0";
