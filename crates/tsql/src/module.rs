//! Objects that are kept as text (views, procedures, functions), and sequences.

use tds::SqlType;

use super::ast::{CreateTable, Declaration, Statement};
use super::names::ObjectName;
use super::query::Query;

/// The words for objects that are kept as text or by name only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleWord {
    /// VIEW.
    View,
    /// PROCEDURE.
    Procedure,
    /// FUNCTION.
    Function,
    /// SEQUENCE.
    Sequence,
    /// SYNONYM.
    Synonym,
    /// TRIGGER.
    Trigger,
}

/// CREATE, ALTER, or whichever fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// CREATE.
    Create,
    /// ALTER.
    Alter,
    /// CREATE OR ALTER.
    CreateOrAlter,
}

/// CREATE or ALTER of a view, procedure or function.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateModule {
    /// CREATE or ALTER.
    pub mode: CreateMode,
    /// The name of the object.
    pub name: ObjectName,
    /// The kind of the object, with its parts.
    pub body: ModuleBody,
    /// The whole batch, as the catalogue keeps it.
    pub text: String,
}

/// The kind and the content of a module.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleBody {
    /// A view.
    View {
        /// Column names, if listed.
        columns: Option<Vec<String>>,
        /// The query of the view.
        query: Box<Query>,
        /// WITH CHECK OPTION.
        check: bool,
    },
    /// A procedure.
    Procedure {
        /// Parameters.
        parameters: Vec<Declaration>,
        /// The statements of the procedure.
        statements: Vec<Statement>,
    },
    /// A function that returns a value.
    ScalarFunction {
        /// Parameters.
        parameters: Vec<Declaration>,
        /// Type of the value.
        returns: SqlType,
        /// The statements of the function.
        statements: Vec<Statement>,
    },
    /// A function that is a query.
    InlineFunction {
        /// Parameters.
        parameters: Vec<Declaration>,
        /// The query of the function.
        query: Box<Query>,
    },
    /// A function whose statements fill a table variable.
    TableFunction {
        /// Parameters.
        parameters: Vec<Declaration>,
        /// The table variable.
        result: CreateTable,
        /// The statements of the function.
        statements: Vec<Statement>,
    },
    /// A trigger.
    Trigger {
        /// The table or view.
        table: ObjectName,
        /// INSTEAD OF rather than AFTER.
        instead: bool,
        /// The events that fire the trigger.
        events: TriggerEvents,
        /// The statements of the trigger.
        statements: Vec<Statement>,
    },
}

/// The events that fire a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct TriggerEvents {
    /// INSERT.
    pub insert: bool,
    /// UPDATE.
    pub update: bool,
    /// DELETE.
    pub delete: bool,
}

/// The clauses of CREATE and ALTER SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SequenceOptions {
    /// AS.
    pub sql_type: Option<SqlType>,
    /// START WITH or RESTART WITH.
    pub start: Option<i64>,
    /// RESTART.
    pub restart: bool,
    /// INCREMENT BY.
    pub increment: Option<i64>,
    /// MINVALUE; the least of all numbers for NO MINVALUE.
    pub minimum: Option<i64>,
    /// MAXVALUE; the greatest of all numbers for NO MAXVALUE.
    pub maximum: Option<i64>,
    /// CYCLE or NO CYCLE, if written.
    pub cycle: Option<bool>,
    /// CACHE or NO CACHE, if written.
    pub cache: Option<Cache>,
}

/// CACHE, CACHE n or NO CACHE of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// CACHE.
    Any,
    /// CACHE n.
    Values(u64),
    /// NO CACHE.
    No,
}
