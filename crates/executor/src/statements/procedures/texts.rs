//! Procedures of the system that are texts of T-SQL over the catalogue: they show what sessions, files and users there are.

use query::Datum;
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::statements::evaluation::scope;
use crate::statements::procedures::argument::{Argument, Outcome, text_of_value};
use crate::statements::procedures::parameters::Signature;

/// A procedure and its text, in which each parameter is an nvarchar(4000).
struct Text {
    signature: Signature,
    text: &'static str,
}

const fn text(name: &'static str, parameters: &'static [&'static str], text: &'static str) -> Text {
    Text { signature: Signature { name, parameters, required: 0 }, text }
}

const TEXTS: &[Text] = &[
    text("sp_who", &["@loginame"], WHO),
    text("sp_who2", &["@loginame"], WHO2),
    text("sp_lock", &["@spid1", "@spid2"], LOCK),
    text("sp_helpdb", &["@dbname"], HELPDB),
    text("sp_helpfile", &["@filename"], HELPFILE),
    text("sp_helpfilegroup", &["@filegroupname"], HELPFILEGROUP),
    text("sp_helpuser", &["@name_in_db"], HELPUSER),
    text("sp_helprole", &["@rolename"], HELPROLE),
    text(
        "sp_helpsort",
        &[],
        "SELECT CAST(description AS nvarchar(1000)) AS [Server default collation] FROM sys.fn_helpcollations() WHERE name = SERVERPROPERTY('Collation')",
    ),
    text("sp_helplanguage", &["@language"], HELPLANGUAGE),
    text("sp_addtype", &["@typename", "@phystype", "@nulltype", "@owner"], ADDTYPE),
    text("sp_droptype", &["@typename"], DROPTYPE),
    text("sp_configure", &["@configname", "@configvalue"], CONFIGURE),
    text("sp_db_vardecimal_storage_format", &["@dbname", "@vardecimal_storage_format"], VARDECIMAL),
];

const WHO: &str = "SELECT CAST(s.session_id AS smallint) AS spid, CAST(0 AS smallint) AS ecid, \
    CAST(ISNULL(r.status, s.status) AS nchar(30)) AS status, CAST(s.login_name AS nchar(128)) AS loginame, \
    CAST(ISNULL(s.host_name, '') AS nchar(128)) AS hostname, CAST(ISNULL(r.blocking_session_id, 0) AS char(5)) AS blk, \
    CAST(DB_NAME(s.database_id) AS nchar(128)) AS dbname, \
    CAST(ISNULL(NULLIF(r.command, ''), CASE s.status WHEN 'sleeping' THEN 'AWAITING COMMAND' ELSE '' END) AS nchar(16)) AS cmd, 0 AS request_id \
    FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id \
    WHERE @loginame IS NULL OR s.login_name = @loginame OR CAST(s.session_id AS nvarchar(10)) = @loginame \
    OR (LOWER(@loginame) = 'active' AND s.status <> 'sleeping') ORDER BY s.session_id";

const WHO2: &str = "SELECT CAST(s.session_id AS char(5)) AS SPID, CAST(UPPER(ISNULL(r.status, s.status)) AS nvarchar(30)) AS Status, \
    s.login_name AS Login, ISNULL(s.host_name, '  .') AS HostName, \
    CASE WHEN ISNULL(r.blocking_session_id, 0) = 0 THEN '  .' ELSE CAST(r.blocking_session_id AS char(5)) END AS BlkBy, \
    DB_NAME(s.database_id) AS DBName, \
    CAST(ISNULL(NULLIF(r.command, ''), CASE s.status WHEN 'sleeping' THEN 'AWAITING COMMAND' ELSE '' END) AS nvarchar(16)) AS Command, \
    s.cpu_time AS CPUTime, s.reads + s.writes AS DiskIO, CONVERT(varchar(14), s.last_request_start_time, 101) AS LastBatch, \
    s.program_name AS ProgramName, CAST(s.session_id AS char(5)) AS [SPID], 0 AS REQUESTID \
    FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id \
    WHERE @loginame IS NULL OR s.login_name = @loginame OR CAST(s.session_id AS nvarchar(10)) = @loginame \
    OR (LOWER(@loginame) = 'active' AND s.status <> 'sleeping') ORDER BY s.session_id";

const LOCK: &str = "SELECT CAST(l.request_session_id AS smallint) AS spid, CAST(l.resource_database_id AS smallint) AS dbid, \
    CAST(CASE l.resource_type WHEN 'OBJECT' THEN l.resource_associated_entity_id ELSE ISNULL(p.object_id, 0) END AS int) AS ObjId, \
    CAST(ISNULL(p.index_id, 0) AS smallint) AS IndId, \
    CAST(CASE l.resource_type WHEN 'DATABASE' THEN 'DB' WHEN 'OBJECT' THEN 'TAB' WHEN 'PAGE' THEN 'PAG' WHEN 'EXTENT' THEN 'EXT' \
    WHEN 'METADATA' THEN 'MD' WHEN 'ALLOCATION_UNIT' THEN 'AU' WHEN 'APPLICATION' THEN 'APP' ELSE LEFT(l.resource_type, 3) END AS nchar(4)) AS Type, \
    CAST(l.resource_description AS nchar(32)) AS Resource, CAST(l.request_mode AS nvarchar(8)) AS Mode, \
    CAST(LEFT(l.request_status, 5) AS nvarchar(5)) AS Status \
    FROM sys.dm_tran_locks l LEFT JOIN sys.partitions p ON p.hobt_id = l.resource_associated_entity_id AND l.resource_database_id = DB_ID() \
    WHERE (@spid1 IS NULL AND @spid2 IS NULL) OR l.request_session_id IN (TRY_CAST(@spid1 AS int), TRY_CAST(@spid2 AS int)) \
    ORDER BY l.request_session_id";

/// A file as sp_helpdb and sp_helpfile show it.
macro_rules! shown_files {
    ($files:literal) => {
        concat!(
            "SELECT f.name, CAST(f.file_id AS smallint) AS fileid, CAST(f.physical_name AS nchar(260)) AS filename, ",
            "FILEGROUP_NAME(f.data_space_id) AS filegroup, CAST(CAST(CAST(f.size AS bigint) * 8 AS varchar(20)) + ' KB' AS nvarchar(18)) AS size, ",
            "CAST(CASE WHEN f.max_size = -1 THEN 'Unlimited' ELSE CAST(CAST(f.max_size AS bigint) * 8 AS varchar(20)) + ' KB' END AS nvarchar(18)) AS maxsize, ",
            "CAST(CASE f.is_percent_growth WHEN 1 THEN CAST(f.growth AS varchar(20)) + '%' ELSE CAST(CAST(f.growth AS bigint) * 8 AS varchar(20)) + ' KB' END AS nvarchar(18)) AS growth, ",
            "CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS usage FROM ",
            $files
        )
    };
}

const HELPDB: &str = concat!(
    "IF @dbname IS NOT NULL AND DB_ID(@dbname) IS NULL BEGIN RAISERROR(15010, -1, -1, @dbname) RETURN (1) END; \
    SELECT d.name, CAST(STR(CAST(ISNULL((SELECT SUM(CAST(f.size AS bigint)) FROM sys.master_files f WHERE f.database_id = d.database_id), 0) AS float) / 128, 10, 2) + ' MB' AS nvarchar(13)) AS db_size, \
    SUSER_SNAME(d.owner_sid) AS owner, CAST(d.database_id AS smallint) AS dbid, CAST(d.create_date AS nvarchar(11)) AS created, \
    CAST('Status=' + d.state_desc + ', Updateability=READ_WRITE, UserAccess=' + d.user_access_desc + ', Recovery=' + d.recovery_model_desc \
    + ', Version=' + CAST(DATABASEPROPERTYEX(d.name, 'Version') AS nvarchar(10)) + ', Collation=' + d.collation_name AS nvarchar(600)) AS status, d.compatibility_level \
    FROM sys.databases d WHERE @dbname IS NULL OR d.name = @dbname ORDER BY d.name; \
    IF @dbname IS NOT NULL ",
    shown_files!("sys.master_files f WHERE f.database_id = DB_ID(@dbname) ORDER BY f.file_id")
);

const HELPFILE: &str = concat!(
    "IF @filename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_files WHERE name = @filename) \
    BEGIN RAISERROR(15325, -1, -1, 'file', @filename) RETURN (1) END; ",
    shown_files!("sys.database_files f WHERE @filename IS NULL OR f.name = @filename ORDER BY f.file_id")
);

const HELPFILEGROUP: &str = "IF @filegroupname IS NOT NULL AND FILEGROUP_ID(@filegroupname) IS NULL BEGIN RAISERROR(15325, -1, -1, 'filegroup', @filegroupname) RETURN (1) END; \
    SELECT g.name AS groupname, CAST(g.data_space_id AS smallint) AS groupid, \
    (SELECT COUNT(*) FROM sys.database_files f WHERE f.data_space_id = g.data_space_id) AS filecount FROM sys.filegroups g \
    WHERE @filegroupname IS NULL OR g.name = @filegroupname ORDER BY g.name";

const HELPUSER: &str = "IF @name_in_db IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db) \
    BEGIN RAISERROR(15198, -1, -1, @name_in_db) RETURN (1) END; \
    SELECT u.name AS UserName, CAST(CASE u.name WHEN 'dbo' THEN 'db_owner' ELSE 'public' END AS sysname) AS RoleName, \
    CAST(CASE u.name WHEN 'dbo' THEN 'sa' END AS sysname) AS LoginName, CAST(CASE u.name WHEN 'dbo' THEN 'master' END AS sysname) AS DefDBName, \
    u.default_schema_name AS DefSchemaName, CAST(u.principal_id AS char(10)) AS UserID, u.sid AS SID FROM sys.database_principals u \
    WHERE u.type = 'S' AND (@name_in_db IS NULL OR u.name = @name_in_db) ORDER BY u.name";

const HELPROLE: &str = "IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R') \
    BEGIN RAISERROR(15409, -1, -1, @rolename) RETURN (1) END; \
    SELECT name AS RoleName, CAST(principal_id AS smallint) AS RoleId, 0 AS IsAppRole FROM sys.database_principals \
    WHERE type = 'R' AND (@rolename IS NULL OR name = @rolename) ORDER BY principal_id";

const HELPLANGUAGE: &str = "IF @language IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.syslanguages WHERE @language IN (name, alias)) \
    BEGIN RAISERROR(15033, -1, -1, @language) RETURN (1) END; \
    SELECT * FROM sys.syslanguages WHERE @language IS NULL OR @language IN (name, alias) ORDER BY langid";

const ADDTYPE: &str = "DECLARE @text nvarchar(max) = N'CREATE TYPE ' + ISNULL(QUOTENAME(@owner) + N'.', N'') + QUOTENAME(@typename) + N' FROM ' + @phystype \
    + CASE UPPER(@nulltype) WHEN 'NOT NULL' THEN N' NOT NULL' WHEN 'NONULL' THEN N' NOT NULL' WHEN 'NULL' THEN N' NULL' ELSE N'' END; \
    IF @text IS NULL BEGIN RAISERROR(15600, -1, -1, 'sp_addtype') RETURN (1) END; EXEC (@text)";

const DROPTYPE: &str = "IF @typename IS NULL BEGIN RAISERROR(15600, -1, -1, 'sp_droptype') RETURN (1) END; \
    DECLARE @text nvarchar(max) = N'DROP TYPE ' + QUOTENAME(@typename); EXEC (@text)";

const CONFIGURE: &str = "IF @configname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.configurations WHERE name LIKE @configname + N'%') \
    BEGIN RAISERROR(15123, -1, -1, @configname) RETURN (1) END; \
    SELECT name, minimum, maximum, value AS config_value, value_in_use AS run_value FROM sys.configurations \
    WHERE name LIKE @configname + N'%' OR @configname IS NULL AND is_advanced <= (SELECT CAST(value_in_use AS int) \
    FROM sys.configurations WHERE name = 'show advanced options') ORDER BY name";

const VARDECIMAL: &str = "IF @vardecimal_storage_format IS NULL SELECT name AS [Database Name], 'ON' AS [Vardecimal State] FROM sys.databases \
    WHERE @dbname IS NULL OR name = @dbname ORDER BY name";

/// Runs a procedure that is a text; `None` if no text has that name.
pub(crate) async fn run(
    session: &mut Session,
    name: &str,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Option<Outcome>, SqlError> {
    let Some(found) = TEXTS.iter().find(|found| found.signature.name.eq_ignore_ascii_case(name)) else {
        return Ok(None);
    };
    let parameters = found.signature.bind(arguments)?;
    let mut inner = frame.inner()?;
    inner.procedure = found.signature.name.to_owned();
    let sql_type = SqlType::NVarChar { length: Length::Units(4000) };
    for (position, parameter) in found.signature.parameters.iter().enumerate() {
        let given = parameters.argument(position).filter(|argument| !argument.value.is_null());
        let value = given.map_or(Datum::Null, |argument| Datum::Text(text_of_value(argument)));
        inner.declare_parameter(parameter, sql_type.clone(), value);
    }
    Ok(Some(Outcome::of(&scope::run_text(session, found.text, &mut inner, output).await?)))
}
