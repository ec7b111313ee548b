//! Objects that are kept as text or by name: views, procedures, functions, sequences, synonyms.
//!
//! Each is a table of the store without rows. Its properties are the definition, after a word with which no table's definition
//! begins. So it commits and rolls back as tables do, and shares their names.

use serde::{Deserialize, Serialize};
use tsql::SqlError;
use tsql::ast::{CreateModule, ModuleBody, ModuleWord};

use crate::catalogue::extended_property::ExtendedProperty;
use crate::catalogue::table::ColumnDefinition;
use crate::catalogue::trigger::Trigger;

/// First word of a module's properties.
const MARK: &str = "module ";

/// A view, procedure, function, sequence or synonym.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleDefinition {
    /// Id of the module (`sys.objects.object_id`).
    pub object_id: i32,
    /// Database, as its entry spells it.
    pub database: String,
    /// Schema, as its entry spells it.
    pub schema: String,
    /// Name as created.
    pub name: String,
    /// Microseconds since 1970-01-01 at creation.
    pub created_us: i64,
    /// Microseconds since 1970-01-01 at the last ALTER.
    pub modified_us: i64,
    /// Kind of the module.
    pub kind: ModuleKind,
    /// The batch that made it; empty for sequences and synonyms.
    #[serde(default)]
    pub text: String,
    /// True if QUOTED_IDENTIFIER was on when the module was made.
    pub quoted_identifier: bool,
    /// Columns of a view or of a function's table.
    #[serde(default)]
    pub columns: Vec<ColumnDefinition>,
    /// True if sp_rename has given the columns of a view other names than its query.
    #[serde(default)]
    pub renamed_columns: bool,
    /// Parameters of a procedure or function; a scalar function's value is the one without a name.
    #[serde(default)]
    pub parameters: Vec<ParameterDefinition>,
    /// Declaration of a sequence; None for other modules.
    #[serde(default)]
    pub sequence: Option<SequenceDefinition>,
    /// The target of a synonym, quoted.
    #[serde(default)]
    pub target: Option<String>,
    /// Extended properties of the module, its columns and parameters (sp_addextendedproperty).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended_properties: Vec<ExtendedProperty>,
    /// `object_id` of a trigger's table; 0 for all others.
    #[serde(default)]
    pub parent_id: i32,
    /// Triggers of a view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
}

/// The kinds of module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModuleKind {
    /// CREATE VIEW.
    View,
    /// CREATE PROCEDURE.
    Procedure,
    /// CREATE FUNCTION … RETURNS type.
    ScalarFunction,
    /// CREATE FUNCTION … RETURNS TABLE.
    InlineFunction,
    /// CREATE FUNCTION … RETURNS @t TABLE.
    TableFunction,
    /// CREATE SEQUENCE.
    Sequence,
    /// CREATE SYNONYM.
    Synonym,
    /// CREATE TRIGGER.
    Trigger,
}

impl ModuleKind {
    /// Returns `type` in sys.objects.
    pub fn letters(self) -> &'static str {
        match self {
            ModuleKind::View => "V",
            ModuleKind::Procedure => "P",
            ModuleKind::ScalarFunction => "FN",
            ModuleKind::InlineFunction => "IF",
            ModuleKind::TableFunction => "TF",
            ModuleKind::Sequence => "SO",
            ModuleKind::Synonym => "SN",
            ModuleKind::Trigger => "TR",
        }
    }

    /// Returns `type_desc` in sys.objects.
    pub fn description(self) -> &'static str {
        match self {
            ModuleKind::View => "VIEW",
            ModuleKind::Procedure => "SQL_STORED_PROCEDURE",
            ModuleKind::ScalarFunction => "SQL_SCALAR_FUNCTION",
            ModuleKind::InlineFunction => "SQL_INLINE_TABLE_VALUED_FUNCTION",
            ModuleKind::TableFunction => "SQL_TABLE_VALUED_FUNCTION",
            ModuleKind::Sequence => "SEQUENCE_OBJECT",
            ModuleKind::Synonym => "SYNONYM",
            ModuleKind::Trigger => "SQL_TRIGGER",
        }
    }

    /// Returns the word of the module's DROP.
    pub fn word(self) -> ModuleWord {
        match self {
            ModuleKind::View => ModuleWord::View,
            ModuleKind::Procedure => ModuleWord::Procedure,
            ModuleKind::ScalarFunction | ModuleKind::InlineFunction | ModuleKind::TableFunction => {
                ModuleWord::Function
            }
            ModuleKind::Sequence => ModuleWord::Sequence,
            ModuleKind::Synonym => ModuleWord::Synonym,
            ModuleKind::Trigger => ModuleWord::Trigger,
        }
    }
}

/// A parameter of a procedure or function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterDefinition {
    /// Name with its `@`; empty for a function's value.
    pub name: String,
    /// Type in T-SQL's spelling.
    pub type_text: String,
    /// True for an OUTPUT parameter.
    pub output: bool,
    /// True if the parameter has a default.
    pub optional: bool,
}

/// Definition of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDefinition {
    /// Type in T-SQL's spelling.
    pub type_text: String,
    /// First value (START WITH).
    pub start: i64,
    /// Difference of two values (INCREMENT BY).
    pub increment: i64,
    /// Least value (MINVALUE).
    pub minimum: i64,
    /// Greatest value (MAXVALUE).
    pub maximum: i64,
    /// True if the values begin again behind the last (CYCLE).
    pub cycle: bool,
    /// The first value that is not reserved; None if there is none left.
    pub next: Option<i64>,
    /// The last value that is reserved; None if none was ever given out.
    #[serde(default)]
    pub last: Option<i64>,
    /// How many values are reserved at a time.
    #[serde(default)]
    pub cache: SequenceCache,
}

/// How many values of a sequence are reserved at a time (CACHE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SequenceCache {
    /// As many as the server likes.
    #[default]
    Any,
    /// A number of values (CACHE n).
    Values(u32),
    /// Each value is written down when it is taken (NO CACHE).
    No,
}

/// A module with its parsed text.
#[derive(Debug)]
pub struct Module {
    /// Declaration of the module.
    pub definition: ModuleDefinition,
    /// The statement; None for sequences and synonyms. The error of reading it, if an earlier version took what this one refuses.
    pub statement: Result<Option<CreateModule>, SqlError>,
}

impl Module {
    /// Returns the body of the statement; None for sequences and synonyms.
    ///
    /// # Errors
    /// The text of the statement cannot be parsed.
    pub fn body(&self) -> Result<Option<&ModuleBody>, SqlError> {
        match &self.statement {
            Ok(create) => Ok(create.as_ref().map(|create| &create.body)),
            Err(error) => Err(error.clone()),
        }
    }
}

impl ModuleDefinition {
    /// Returns the name as `schema.name`.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Returns the text that the store keeps.
    ///
    /// # Errors
    /// The definition cannot be written as JSON, which holds for none of its values.
    pub fn to_properties(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| format!("{MARK}{json}"))
    }

    /// Returns the definition's JSON in the properties of a table of the store; None if it is a table's.
    pub fn json_of(properties: &str) -> Option<&str> {
        properties.strip_prefix(MARK)
    }
}
