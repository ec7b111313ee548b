//! The words of the grammar. A reserved word without quotes is never a name or an alias, and ends what comes before it.

/// Declares the words, and the table in which the lexer looks them up.
macro_rules! keywords {
    (reserved { $($reserved:ident $reserved_text:literal,)* } others { $($other:ident $other_text:literal,)* }) => {
        /// A word that the grammar knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Keyword {
            $(#[doc = $reserved_text] $reserved,)*
            $(#[doc = $other_text] $other,)*
        }

        /// The reserved words, then the others: a word stands at its number.
        const WORDS: &[(&str, Keyword)] = &[
            $(($reserved_text, Keyword::$reserved),)*
            $(($other_text, Keyword::$other),)*
        ];

        const RESERVED: usize = [$($reserved_text),*].len();
    };
}

impl Keyword {
    /// Finds the keyword of a word in any case.
    pub fn of(word: &str) -> Option<Keyword> {
        let mut slot = place(word.as_bytes());
        loop {
            let (text, keyword) = WORDS.get(usize::from(*TABLE.get(slot)?))?;
            if text.eq_ignore_ascii_case(word) {
                return Some(*keyword);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Returns true if the word is reserved.
    pub fn is_reserved(self) -> bool {
        (self as usize) < RESERVED
    }

    /// Returns the word in capitals.
    pub fn text(self) -> &'static str {
        WORDS.get(self as usize).map_or("", |(text, _)| text)
    }
}

/// Places of the hash table: a few times as many as there are words, so that most names end at an empty one.
const SLOTS: usize = 2048;
/// The mark of an empty place: no word has this number.
const EMPTY: u16 = u16::MAX;

/// Numbers of words at the places of their hashes, or behind.
static TABLE: [u16; SLOTS] = table();

const fn table() -> [u16; SLOTS] {
    let mut table = [EMPTY; SLOTS];
    let mut number = 0;
    while number < WORDS.len() {
        let mut slot = place(WORDS[number].0.as_bytes());
        while table[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = number as u16;
        number += 1;
    }
    table
}

/// Hashes a word in any case to its place (FNV-1a).
const fn place(word: &[u8]) -> usize {
    let mut hash = 0x811C_9DC5_u32;
    let mut rest = word;
    while let [byte, behind @ ..] = rest {
        hash = (hash ^ byte.to_ascii_uppercase() as u32).wrapping_mul(0x0100_0193);
        rest = behind;
    }
    (hash ^ hash >> 16) as usize % SLOTS
}

keywords! {
reserved {
    Add "ADD",
    All "ALL",
    Alter "ALTER",
    And "AND",
    Any "ANY",
    As "AS",
    Asc "ASC",
    Authorization "AUTHORIZATION",
    Backup "BACKUP",
    Begin "BEGIN",
    Between "BETWEEN",
    Break "BREAK",
    Browse "BROWSE",
    Bulk "BULK",
    By "BY",
    Cascade "CASCADE",
    Case "CASE",
    Check "CHECK",
    Checkpoint "CHECKPOINT",
    Close "CLOSE",
    Clustered "CLUSTERED",
    Coalesce "COALESCE",
    Collate "COLLATE",
    Column "COLUMN",
    Commit "COMMIT",
    Compute "COMPUTE",
    Constraint "CONSTRAINT",
    Contains "CONTAINS",
    Containstable "CONTAINSTABLE",
    Continue "CONTINUE",
    Convert "CONVERT",
    Create "CREATE",
    Cross "CROSS",
    Current "CURRENT",
    CurrentDate "CURRENT_DATE",
    CurrentTime "CURRENT_TIME",
    CurrentTimestamp "CURRENT_TIMESTAMP",
    CurrentUser "CURRENT_USER",
    Cursor "CURSOR",
    Database "DATABASE",
    Dbcc "DBCC",
    Deallocate "DEALLOCATE",
    Declare "DECLARE",
    Default "DEFAULT",
    Delete "DELETE",
    Deny "DENY",
    Desc "DESC",
    Disk "DISK",
    Distinct "DISTINCT",
    Distributed "DISTRIBUTED",
    Double "DOUBLE",
    Drop "DROP",
    Dump "DUMP",
    Else "ELSE",
    End "END",
    Errlvl "ERRLVL",
    Escape "ESCAPE",
    Except "EXCEPT",
    Exec "EXEC",
    Execute "EXECUTE",
    Exists "EXISTS",
    Exit "EXIT",
    External "EXTERNAL",
    Fetch "FETCH",
    File "FILE",
    Fillfactor "FILLFACTOR",
    For "FOR",
    Foreign "FOREIGN",
    Freetext "FREETEXT",
    Freetexttable "FREETEXTTABLE",
    From "FROM",
    Full "FULL",
    Function "FUNCTION",
    Goto "GOTO",
    Grant "GRANT",
    Group "GROUP",
    Having "HAVING",
    Holdlock "HOLDLOCK",
    Identity "IDENTITY",
    Identitycol "IDENTITYCOL",
    IdentityInsert "IDENTITY_INSERT",
    If "IF",
    In "IN",
    Index "INDEX",
    Inner "INNER",
    Insert "INSERT",
    Intersect "INTERSECT",
    Into "INTO",
    Is "IS",
    Join "JOIN",
    Key "KEY",
    Kill "KILL",
    Left "LEFT",
    Like "LIKE",
    Lineno "LINENO",
    Load "LOAD",
    Merge "MERGE",
    National "NATIONAL",
    Nocheck "NOCHECK",
    Nonclustered "NONCLUSTERED",
    Not "NOT",
    Null "NULL",
    Nullif "NULLIF",
    Of "OF",
    Off "OFF",
    Offsets "OFFSETS",
    On "ON",
    Open "OPEN",
    Opendatasource "OPENDATASOURCE",
    Openquery "OPENQUERY",
    Openrowset "OPENROWSET",
    Openxml "OPENXML",
    Option "OPTION",
    Or "OR",
    Order "ORDER",
    Outer "OUTER",
    Over "OVER",
    Percent "PERCENT",
    Pivot "PIVOT",
    Plan "PLAN",
    Primary "PRIMARY",
    Print "PRINT",
    Proc "PROC",
    Procedure "PROCEDURE",
    Public "PUBLIC",
    Raiserror "RAISERROR",
    Read "READ",
    Readtext "READTEXT",
    Reconfigure "RECONFIGURE",
    References "REFERENCES",
    Replication "REPLICATION",
    Restore "RESTORE",
    Restrict "RESTRICT",
    Return "RETURN",
    Revert "REVERT",
    Revoke "REVOKE",
    Right "RIGHT",
    Rollback "ROLLBACK",
    Rowcount "ROWCOUNT",
    Rowguidcol "ROWGUIDCOL",
    Rule "RULE",
    Save "SAVE",
    Schema "SCHEMA",
    Select "SELECT",
    SessionUser "SESSION_USER",
    Set "SET",
    Setuser "SETUSER",
    Shutdown "SHUTDOWN",
    Some "SOME",
    Statistics "STATISTICS",
    SystemUser "SYSTEM_USER",
    Table "TABLE",
    Tablesample "TABLESAMPLE",
    Textsize "TEXTSIZE",
    Then "THEN",
    To "TO",
    Top "TOP",
    Tran "TRAN",
    Transaction "TRANSACTION",
    Trigger "TRIGGER",
    Truncate "TRUNCATE",
    TryConvert "TRY_CONVERT",
    Tsequal "TSEQUAL",
    Union "UNION",
    Unique "UNIQUE",
    Unpivot "UNPIVOT",
    Update "UPDATE",
    Updatetext "UPDATETEXT",
    Use "USE",
    User "USER",
    Values "VALUES",
    Varying "VARYING",
    View "VIEW",
    Waitfor "WAITFOR",
    When "WHEN",
    Where "WHERE",
    While "WHILE",
    With "WITH",
    Within "WITHIN",
    Writetext "WRITETEXT",
}
others {
    Absent "ABSENT",
    Absolute "ABSOLUTE",
    Action "ACTION",
    After "AFTER",
    AllowEncryptedValueModifications "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS",
    AllowSnapshotIsolation "ALLOW_SNAPSHOT_ISOLATION",
    Always "ALWAYS",
    Append "APPEND",
    Apply "APPLY",
    At "AT",
    Auto "AUTO",
    AutoDrop "AUTO_DROP",
    Base64 "BASE64",
    Binary "BINARY",
    Both "BOTH",
    BulkLogged "BULK_LOGGED",
    Cache "CACHE",
    Called "CALLED",
    Cast "CAST",
    Catch "CATCH",
    Char "CHAR",
    Character "CHARACTER",
    CheckConstraints "CHECK_CONSTRAINTS",
    Columns "COLUMNS",
    Columnstore "COLUMNSTORE",
    Committed "COMMITTED",
    Configuration "CONFIGURATION",
    Cookie "COOKIE",
    Cube "CUBE",
    Cycle "CYCLE",
    Delay "DELAY",
    Disable "DISABLE",
    ElasticPool "ELASTIC_POOL",
    Elements "ELEMENTS",
    Enable "ENABLE",
    Encrypted "ENCRYPTED",
    Explicit "EXPLICIT",
    Filegroup "FILEGROUP",
    Filestream "FILESTREAM",
    FilestreamOn "FILESTREAM_ON",
    FireTriggers "FIRE_TRIGGERS",
    First "FIRST",
    Following "FOLLOWING",
    Fullscan "FULLSCAN",
    Gb "GB",
    Generated "GENERATED",
    Global "GLOBAL",
    Grouping "GROUPING",
    Hash "HASH",
    Hidden "HIDDEN",
    Ignore "IGNORE",
    Immediate "IMMEDIATE",
    Include "INCLUDE",
    IncludeNullValues "INCLUDE_NULL_VALUES",
    Increment "INCREMENT",
    Incremental "INCREMENTAL",
    Input "INPUT",
    Instead "INSTEAD",
    Isolation "ISOLATION",
    Json "JSON",
    JsonArray "JSON_ARRAY",
    JsonArrayagg "JSON_ARRAYAGG",
    JsonObject "JSON_OBJECT",
    JsonObjectagg "JSON_OBJECTAGG",
    Kb "KB",
    KeepNulls "KEEP_NULLS",
    KilobytesPerBatch "KILOBYTES_PER_BATCH",
    Last "LAST",
    Leading "LEADING",
    Level "LEVEL",
    LockEscalation "LOCK_ESCALATION",
    Log "LOG",
    Loop "LOOP",
    Mark "MARK",
    Matched "MATCHED",
    Maxdop "MAXDOP",
    Maxvalue "MAXVALUE",
    Mb "MB",
    Minutes "MINUTES",
    Minvalue "MINVALUE",
    Modify "MODIFY",
    Next "NEXT",
    No "NO",
    Nodes "NODES",
    Norecompute "NORECOMPUTE",
    Noreset "NORESET",
    NoWait "NO_WAIT",
    Nulls "NULLS",
    Offset "OFFSET",
    Only "ONLY",
    Out "OUT",
    Output "OUTPUT",
    Override "OVERRIDE",
    Pagecount "PAGECOUNT",
    Partition "PARTITION",
    Partitions "PARTITIONS",
    Path "PATH",
    Period "PERIOD",
    Persisted "PERSISTED",
    PersistSamplePercent "PERSIST_SAMPLE_PERCENT",
    Preceding "PRECEDING",
    Precision "PRECISION",
    Prior "PRIOR",
    QuotedIdentifier "QUOTED_IDENTIFIER",
    Range "RANGE",
    Raw "RAW",
    Readonly "READONLY",
    Readwrite "READWRITE",
    ReadCommittedSnapshot "READ_COMMITTED_SNAPSHOT",
    ReadWrite "READ_WRITE",
    Rebuild "REBUILD",
    Recompile "RECOMPILE",
    Recovery "RECOVERY",
    Relative "RELATIVE",
    Remove "REMOVE",
    Reorganize "REORGANIZE",
    Repeatable "REPEATABLE",
    Resample "RESAMPLE",
    Respect "RESPECT",
    Restart "RESTART",
    Returning "RETURNING",
    Returns "RETURNS",
    Rollup "ROLLUP",
    Root "ROOT",
    Row "ROW",
    Rows "ROWS",
    RowsPerBatch "ROWS_PER_BATCH",
    Sample "SAMPLE",
    Scheme "SCHEME",
    Scoped "SCOPED",
    Seconds "SECONDS",
    Sequence "SEQUENCE",
    Serializable "SERIALIZABLE",
    Server "SERVER",
    Sets "SETS",
    Simple "SIMPLE",
    SingleBlob "SINGLE_BLOB",
    SingleClob "SINGLE_CLOB",
    SingleNclob "SINGLE_NCLOB",
    Snapshot "SNAPSHOT",
    Source "SOURCE",
    Sparse "SPARSE",
    Split "SPLIT",
    Start "START",
    Statusonly "STATUSONLY",
    Switch "SWITCH",
    Synonym "SYNONYM",
    SystemTime "SYSTEM_TIME",
    SystemVersioning "SYSTEM_VERSIONING",
    Tablock "TABLOCK",
    Target "TARGET",
    Tb "TB",
    Text "TEXT",
    TextimageOn "TEXTIMAGE_ON",
    Throw "THROW",
    Ties "TIES",
    Time "TIME",
    Trailing "TRAILING",
    Trim "TRIM",
    Try "TRY",
    TryCast "TRY_CAST",
    Type "TYPE",
    Unbounded "UNBOUNDED",
    Uncommitted "UNCOMMITTED",
    Unlimited "UNLIMITED",
    Used "USED",
    Using "USING",
    Value "VALUE",
    Window "WINDOW",
    WithoutArrayWrapper "WITHOUT_ARRAY_WRAPPER",
    Work "WORK",
    Xml "XML",
    Xmldata "XMLDATA",
    Xmlschema "XMLSCHEMA",
    Xsinil "XSINIL",
    Zone "ZONE",
}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_in_any_case() {
        for (number, (text, keyword)) in WORDS.iter().enumerate() {
            assert_eq!(Keyword::of(&text.to_lowercase()), Some(*keyword));
            assert_eq!((keyword.text(), keyword.is_reserved()), (*text, number < RESERVED));
        }
        for name in ["", "name", "SELECTS", "SELEC", "n\u{e4}me", "\u{131}f"] {
            assert_eq!(Keyword::of(name), None, "{name}");
        }
        assert!(Keyword::Select.is_reserved() && !Keyword::Output.is_reserved());
    }
}
