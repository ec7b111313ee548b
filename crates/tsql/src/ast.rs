//! The statements of T-SQL, as written: no name is resolved and no type is checked here.

use tds::SqlType;

use super::administration::Administration;
use super::bulk_file::{BulkInsert, FileHints};
use super::cursor::{CursorName, CursorStatement};
use super::expression::Expr;
use super::hints::TableHints;
use super::index::{AlterIndex, CreateIndex};
use super::names::ObjectName;
use super::partition::{PartitionSpan, PartitionStatement};
use super::query::{CommonTable, Query, QueryBody, SelectItem, TableSource, Top};
use super::user_type::CreateType;
use crate::sql_error::SqlError;

pub use super::module::{Cache, CreateMode, CreateModule, ModuleBody, ModuleWord, SequenceOptions};
pub use super::table::{
    AlterAction, ColumnAttribute, ColumnClause, ConstraintClause, ConstraintKind, CreateTable,
    ReferentialAction, SourceText,
};

/// A statement and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// 1-based line in the batch.
    pub line: u32,
    /// The kind of the statement, with its parts.
    pub kind: StatementKind,
}

/// Every statement that the parser knows.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// SELECT, with or without INTO and variable assignments.
    Query(Box<Query>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE.
    Merge(Box<Merge>),
    /// INSERT BULK: the statement before a bulk-load message.
    InsertBulk(InsertBulk),
    /// BULK INSERT: the server reads a file.
    BulkInsert(Box<BulkInsert>),
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// DROP TABLE.
    DropTable {
        /// The tables, in order.
        names: Vec<ObjectName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// TRUNCATE TABLE.
    TruncateTable {
        /// The table.
        table: ObjectName,
        /// WITH (PARTITIONS …); none: all of them.
        partitions: Vec<PartitionSpan>,
    },
    /// ALTER TABLE.
    AlterTable {
        /// The table.
        table: ObjectName,
        /// WITH CHECK (true) or WITH NOCHECK (false), if written.
        check: Option<bool>,
        /// The change of the table.
        action: AlterAction,
    },
    /// CREATE INDEX.
    CreateIndex(CreateIndex),
    /// ALTER INDEX.
    AlterIndex(AlterIndex),
    /// DROP INDEX.
    DropIndex {
        /// Index and table.
        names: Vec<(String, ObjectName)>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE SCHEMA.
    CreateSchema {
        /// The name of the schema.
        name: String,
        /// The tables, views and permissions that the statement makes with it.
        elements: Vec<Statement>,
    },
    /// ALTER SCHEMA … TRANSFER.
    TransferObject {
        /// The schema that the object goes to.
        schema: String,
        /// The object.
        name: ObjectName,
    },
    /// DROP SCHEMA.
    DropSchema {
        /// The schema.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE DATABASE.
    CreateDatabase {
        /// The name of the database.
        name: String,
        /// COLLATE.
        collation: Option<String>,
    },
    /// DROP DATABASE.
    DropDatabase {
        /// The databases.
        names: Vec<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP; 0 leaves it to the server.
    ScopedMaxDop(u16),
    /// ALTER DATABASE, CHECKPOINT, BACKUP, RESTORE, DBCC.
    Administration(Box<Administration>),
    /// CREATE or ALTER of a view, procedure or function.
    CreateModule(Box<CreateModule>),
    /// CREATE SEQUENCE.
    CreateSequence {
        /// The sequence.
        name: ObjectName,
        /// The options as written.
        options: SequenceOptions,
    },
    /// ALTER SEQUENCE.
    AlterSequence {
        /// The sequence.
        name: ObjectName,
        /// The options as written.
        options: SequenceOptions,
    },
    /// CREATE SYNONYM.
    CreateSynonym {
        /// The synonym.
        name: ObjectName,
        /// The server of what it stands for, if that is another one than this.
        server: Option<String>,
        /// The object that the synonym stands for.
        target: ObjectName,
    },
    /// DROP of a view, procedure, function, sequence or synonym.
    DropModule {
        /// The kind of the module.
        kind: ModuleWord,
        /// The objects, in order.
        names: Vec<ObjectName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// A partition function or a partition scheme.
    Partition(Box<PartitionStatement>),
    /// CREATE TYPE.
    CreateType(Box<CreateType>),
    /// DROP TYPE.
    DropType {
        /// The type.
        name: ObjectName,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// USE.
    Use(String),
    /// SET of session options.
    SetOption(SetOption),
    /// SET @v = e (or `+=` and the like).
    SetVariable {
        /// Name with its `@`.
        name: String,
        /// The value, compound operators already spelled out.
        value: Expr,
    },
    /// DECLARE of scalar variables.
    Declare(Vec<Declaration>),
    /// DECLARE of a table variable, whose name has its `@`.
    DeclareTable(CreateTable),
    /// IF.
    If {
        /// The condition.
        condition: Expr,
        /// The statement for a condition that is true.
        then: Box<Statement>,
        /// The statement for a condition that is false or unknown.
        otherwise: Option<Box<Statement>>,
    },
    /// WHILE.
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// BEGIN … END.
    Block(Vec<Statement>),
    /// BEGIN TRY … END TRY BEGIN CATCH … END CATCH.
    TryCatch {
        /// Tried.
        tried: Vec<Statement>,
        /// Run after an error.
        caught: Vec<Statement>,
    },
    /// BREAK.
    Break,
    /// CONTINUE.
    Continue,
    /// A label.
    Label(String),
    /// GOTO of a label.
    GoTo(String),
    /// RETURN, with a status.
    Return(Option<Expr>),
    /// PRINT.
    Print(Expr),
    /// RAISERROR.
    RaisError {
        /// Text or number.
        message: Expr,
        /// Severity.
        severity: Expr,
        /// State.
        state: Expr,
        /// Values of the format.
        arguments: Vec<Expr>,
        /// WITH LOG.
        log: bool,
        /// WITH NOWAIT: the client gets it at once.
        at_once: bool,
    },
    /// THROW, with or without number, message, state.
    Throw(Option<(Expr, Expr, Expr)>),
    /// EXEC of a procedure, or a batch that begins with its name.
    Execute(Execute),
    /// EXEC (text).
    ExecuteText(Expr),
    /// BEGIN TRANSACTION.
    BeginTransaction(Option<String>),
    /// COMMIT.
    Commit,
    /// ROLLBACK, to a savepoint or (None) all of it.
    Rollback(Option<String>),
    /// SAVE TRANSACTION.
    Save(String),
    /// Accepted and without effect here (RECONFIGURE and the like).
    Nothing,
    /// DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE.
    Cursor(Box<CursorStatement>),
    /// WAITFOR DELAY.
    WaitForDelay(Expr),
    /// WAITFOR TIME.
    WaitForTime(Expr),
    /// Known to the language, refused by this server when it runs.
    Unsupported(Box<SqlError>),
}

/// INSERT.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// WITH, if the rows do not come from a query, which has its own.
    pub with: Vec<CommonTable>,
    /// TOP.
    pub top: Option<Top>,
    /// The table.
    pub table: ObjectName,
    /// Hints for rows that come from a file.
    pub from_file: FileHints,
    /// WITH (TABLOCK): the table is locked as a whole, as minimal logging of a query's rows requires.
    pub table_lock: bool,
    /// Columns, if listed.
    pub columns: Option<Vec<String>>,
    /// The source of the rows.
    pub source: InsertSource,
    /// OUTPUT.
    pub output: Option<Output>,
}

/// The rows of an INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// VALUES; None stands for DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// SELECT.
    Query(Box<Query>),
    /// DEFAULT VALUES.
    DefaultValues,
    /// EXECUTE: every result that the call gives.
    Execute(Box<StatementKind>),
    /// SELECT … FROM (INSERT, UPDATE, DELETE or MERGE … OUTPUT …).
    Changed {
        /// The query, over a table of the name [`CHANGED`].
        query: Box<Query>,
        /// The statement whose OUTPUT is that table.
        statement: Box<StatementKind>,
    },
}

/// The name of the table of rows that a statement within FROM has changed. No name of the user's has a blank in it there.
pub const CHANGED: &str = "@ changed";

impl Insert {
    /// Returns true for a load of a file that fires no trigger.
    pub fn ignores_triggers(&self) -> bool {
        self.from_file.ignore_triggers && self.reads_file()
    }

    /// Returns true if the rows come from a SELECT with OPENROWSET(BULK …) in its FROM.
    pub fn reads_file(&self) -> bool {
        fn reads_file(source: &TableSource) -> bool {
            match source {
                TableSource::BulkRowset { .. } => true,
                TableSource::Join { left, right, .. } => reads_file(left) || reads_file(right),
                _ => false,
            }
        }
        let InsertSource::Query(query) = &self.source else { return false };
        matches!(&query.body, QueryBody::Select(select) if select.from.iter().any(reads_file))
    }
}

/// OUTPUT clauses: items over `inserted` and `deleted`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// OUTPUT … INTO.
    pub into: Option<OutputInto>,
    /// OUTPUT that is sent to the client.
    pub shown: Option<Vec<SelectItem>>,
}

/// OUTPUT … INTO a table.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputInto {
    /// The select list.
    pub items: Vec<SelectItem>,
    /// The table.
    pub table: ObjectName,
    /// The columns of the table, if listed.
    pub columns: Option<Vec<String>>,
}

/// One item of SET: `column = value`, `@v = value` or `@v = column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The variable with its `@`.
    pub variable: Option<String>,
    /// The qualifier in front of the column: the table, perhaps with its schema.
    pub table: Vec<String>,
    /// The column.
    pub column: Option<String>,
    /// The operator of `column += value` and the like.
    pub compound: Option<super::expression::BinaryOperator>,
    /// The value; None stands for DEFAULT.
    pub value: Option<Expr>,
}

/// UPDATE.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Vec<CommonTable>,
    /// TOP.
    pub top: Option<Top>,
    /// The table or an alias of FROM.
    pub target: ObjectName,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// FROM.
    pub from: Vec<TableSource>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current_of: Option<CursorName>,
    /// OUTPUT.
    pub output: Option<Output>,
    /// Hints of the target.
    pub hints: TableHints,
}

/// DELETE.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Vec<CommonTable>,
    /// TOP.
    pub top: Option<Top>,
    /// The table or an alias of FROM.
    pub target: ObjectName,
    /// FROM.
    pub from: Vec<TableSource>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current_of: Option<CursorName>,
    /// OUTPUT.
    pub output: Option<Output>,
    /// Hints of the target.
    pub hints: TableHints,
}

/// MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// WITH.
    pub with: Vec<CommonTable>,
    /// TOP.
    pub top: Option<Top>,
    /// The table.
    pub target: ObjectName,
    /// The alias of the target.
    pub alias: Option<String>,
    /// USING.
    pub source: TableSource,
    /// ON.
    pub condition: Expr,
    /// WHEN clauses in order.
    pub clauses: Vec<MergeClause>,
    /// OUTPUT.
    pub output: Option<Output>,
    /// Hints of the target.
    pub hints: TableHints,
}

/// WHEN … THEN.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// The rows that the clause is for.
    pub when: MergeWhen,
    /// AND.
    pub condition: Option<Expr>,
    /// The action for those rows.
    pub action: MergeAction,
}

/// The rows that a WHEN clause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeWhen {
    /// WHEN MATCHED.
    Matched,
    /// WHEN NOT MATCHED [BY TARGET].
    NotMatchedByTarget,
    /// WHEN NOT MATCHED BY SOURCE.
    NotMatchedBySource,
}

/// The action of a WHEN clause.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// UPDATE SET.
    Update(Vec<Assignment>),
    /// DELETE.
    Delete,
    /// INSERT.
    Insert {
        /// Columns, if listed.
        columns: Option<Vec<String>>,
        /// Values, None for DEFAULT; none at all for DEFAULT VALUES.
        values: Vec<Option<Expr>>,
    },
}

/// INSERT BULK. Columns and hints may be in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertBulk {
    /// The table.
    pub table: ObjectName,
    /// Columns as declared.
    pub columns: Vec<BulkColumn>,
    /// WITH options.
    pub hints: BulkHints,
}

/// A column of INSERT BULK.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkColumn {
    /// Name.
    pub name: String,
    /// The declared type; rows are decoded by COLMETADATA.
    pub sql_type: SqlType,
    /// COLLATE.
    pub collation: Option<String>,
    /// NULL or NOT NULL, if written.
    pub nullable: Option<bool>,
}

/// The WITH options of INSERT BULK.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BulkHints {
    /// CHECK_CONSTRAINTS: CHECK and FOREIGN KEY are enforced.
    pub check_constraints: bool,
    /// FIRE_TRIGGERS.
    pub fire_triggers: bool,
    /// KEEP_NULLS: a NULL sent stays NULL where the column has a default.
    pub keep_nulls: bool,
    /// TABLOCK.
    pub table_lock: bool,
    /// ALLOW_ENCRYPTED_VALUE_MODIFICATIONS.
    pub allow_encrypted_value_modifications: bool,
    /// ROWS_PER_BATCH.
    pub rows_per_batch: Option<u64>,
    /// KILOBYTES_PER_BATCH.
    pub kilobytes_per_batch: Option<u64>,
    /// ORDER: column, descending.
    pub order: Vec<(String, bool)>,
}

/// A SET of options: the words that matter to the session, everything else accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum SetOption {
    /// `SET name[, name] ON|OFF`, names upper case.
    Switch {
        /// Option names.
        names: Vec<String>,
        /// ON.
        on: bool,
    },
    /// `SET name value`: LANGUAGE, DATEFORMAT, DATEFIRST, TEXTSIZE, LOCK_TIMEOUT, ROWCOUNT and the like.
    Value {
        /// Option name, upper case.
        name: String,
        /// The value.
        value: Expr,
    },
    /// SET IDENTITY_INSERT table ON|OFF.
    IdentityInsert {
        /// The table.
        table: ObjectName,
        /// ON.
        on: bool,
    },
    /// SET TRANSACTION ISOLATION LEVEL; the level, upper case.
    IsolationLevel(String),
}

/// One variable of DECLARE, or of the parameter list of sp_executesql.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// Name with its `@`.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// Initial value or parameter default.
    pub value: Option<Expr>,
    /// OUTPUT (parameter lists only).
    pub output: bool,
    /// READONLY (parameter lists only).
    pub read_only: bool,
}

/// EXEC of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// Variable that takes the return status.
    pub status: Option<String>,
    /// The procedure; empty if a variable has its name.
    pub procedure: ObjectName,
    /// The variable that has the procedure's name.
    pub named_by: Option<String>,
    /// Arguments in order.
    pub arguments: Vec<Argument>,
}

/// An argument of EXEC.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// `@name =`, if written.
    pub name: Option<String>,
    /// Value; None for DEFAULT.
    pub value: Option<Expr>,
    /// OUTPUT.
    pub output: bool,
}
