CREATE TABLE dbo.thing (id int IDENTITY(1,1) NOT NULL CONSTRAINT pk_thing PRIMARY KEY, name nvarchar(40) NOT NULL CONSTRAINT uq_thing UNIQUE, size decimal(9,3) CONSTRAINT df_size DEFAULT 2, doc varchar(max), CONSTRAINT ck_thing CHECK (size > 0)); CREATE TABLE part (thing_id int CONSTRAINT fk_part REFERENCES thing (id)); CREATE INDEX ix_size ON thing (size DESC, name)
----

SELECT OBJECT_NAME(OBJECT_ID('pk_thing')), OBJECT_ID('dbo.thing', 'V'), OBJECT_NAME(OBJECT_ID('dbo.thing', 'U')), OBJECT_NAME(OBJECT_ID('df_size', 'D')), OBJECT_NAME(OBJECT_ID('ck_thing', 'c')), OBJECT_ID('fk_part', 'PK'), OBJECT_SCHEMA_NAME(OBJECT_ID('fk_part', 'F'))
----
pk_thing | NULL | thing | df_size | ck_thing | NULL | dbo

SELECT OBJECT_NAME(OBJECT_ID('sys.columns')), OBJECT_SCHEMA_NAME(OBJECT_ID('INFORMATION_SCHEMA.TABLES')), OBJECT_NAME(OBJECT_ID('thing'), DB_ID())
----
columns | INFORMATION_SCHEMA | thing

SELECT OBJECTPROPERTY(OBJECT_ID('thing'), 'IsUserTable'), OBJECTPROPERTY(OBJECT_ID('thing'), 'TableHasIdentity'), OBJECTPROPERTY(OBJECT_ID('thing'), 'TableHasForeignRef'), OBJECTPROPERTY(OBJECT_ID('pk_thing'), 'IsPrimaryKey'), OBJECTPROPERTY(OBJECT_ID('ck_thing'), 'CnstIsDisabled'), OBJECTPROPERTY(OBJECT_ID('sys.tables'), 'IsMSShipped'), OBJECTPROPERTY(OBJECT_ID('thing'), 'IsView'), OBJECTPROPERTY(OBJECT_ID('thing'), 'NoSuch'), OBJECTPROPERTY(1, 'IsTable')
----
1 | 1 | 1 | 1 | 0 | 1 | 0 | NULL | NULL

SELECT COLUMNPROPERTY(OBJECT_ID('thing'), 'name', 'Precision'), COLUMNPROPERTY(OBJECT_ID('thing'), 'name', 'CharMaxLen'), COLUMNPROPERTY(OBJECT_ID('thing'), 'doc', 'CharMaxLen'), COLUMNPROPERTY(OBJECT_ID('thing'), 'size', 'Scale'), COLUMNPROPERTY(OBJECT_ID('thing'), 'id', 'AllowsNull'), COLUMNPROPERTY(OBJECT_ID('thing'), 'size', 'ColumnId'), COLUMNPROPERTY(OBJECT_ID('thing'), 'nosuch', 'AllowsNull')
----
40 | 40 | -1 | 3 | 0 | 3 | NULL

SELECT INDEX_COL('thing', INDEXPROPERTY(OBJECT_ID('thing'), 'ix_size', 'IndexID'), 2), INDEXPROPERTY(OBJECT_ID('thing'), 'uq_thing', 'IsUnique'), INDEXPROPERTY(OBJECT_ID('thing'), 'pk_thing', 'IsClustered'), INDEXPROPERTY(OBJECT_ID('thing'), 'nosuch', 'IsUnique')
----
name | 1 | 1 | NULL

SELECT COL_LENGTH('thing', 'doc'), COL_LENGTH('dbo.thing', 'name'), COL_LENGTH('nosuch', 'a'), COL_NAME(OBJECT_ID('thing'), 3), TYPEPROPERTY('nvarchar', 'Precision'), TYPE_NAME(TYPE_ID('rowversion'))
----
-1 | 80 | NULL | size | 1 | timestamp

SELECT OBJECT_DEFINITION(OBJECT_ID('ck_thing')), OBJECT_DEFINITION(OBJECT_ID('thing'))
----
([size]>(0)) | NULL

SELECT HAS_PERMS_BY_NAME('thing', 'OBJECT', 'INSERT'), HAS_PERMS_BY_NAME('nosuch', 'OBJECT', 'INSERT'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_DBACCESS('master'), HAS_DBACCESS('nosuch')
----
1 | NULL | 1 | 1 | NULL

SELECT IS_MEMBER('db_owner'), IS_MEMBER('db_datareader'), IS_MEMBER('nosuch'), IS_SRVROLEMEMBER('sysadmin'), IS_SRVROLEMEMBER('nosuch')
----
1 | 0 | NULL | 1 | NULL

SELECT SUSER_SNAME(), ORIGINAL_LOGIN(), SYSTEM_USER, USER_NAME(), CURRENT_USER, USER_NAME(2), HOST_NAME(), APP_NAME()
----
sa | sa | sa | dbo | dbo | guest | host | scripts

SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability'), DATABASEPROPERTYEX('master', 'Status'), DATABASEPROPERTYEX('master', 'LCID'), DATABASEPROPERTYEX('nosuch', 'Status')
----
READ_WRITE | ONLINE | 1033 | NULL

SELECT SERVERPROPERTY('ProductMajorVersion'), SERVERPROPERTY('EngineEdition'), SERVERPROPERTY('InstanceName'), SERVERPROPERTY('NoSuch'), SERVERPROPERTY('IsLocalDB')
----
16 | 3 | NULL | NULL | 0

SELECT SESSIONPROPERTY('ANSI_NULLS'), SESSIONPROPERTY('NUMERIC_ROUNDABORT'), SESSIONPROPERTY('nosuch'), CONNECTIONPROPERTY('net_transport'), CONNECTIONPROPERTY('nosuch')
----
1 | 0 | NULL | TCP | NULL

EXEC sp_set_session_context N'tenant', 42; EXEC sp_set_session_context @key = N'who', @value = N'me', @read_only = 1
----

SELECT SESSION_CONTEXT(N'tenant'), SESSION_CONTEXT(N'WHO'), SESSION_CONTEXT(N'nosuch')
----
42 | me | NULL

EXEC sp_set_session_context N'who', N'you'
----
error 15664: Cannot set key 'who' in the session context. The key has been set as read_only for this session.

-- @other
SELECT SESSION_CONTEXT(N'tenant')
----
NULL

SET CONTEXT_INFO 0x0102; SELECT SUBSTRING(CONTEXT_INFO(), 1, 3), DATALENGTH(CONTEXT_INFO())
----
0x010200 | 128

-- COLLATIONPROPERTY of names that are computed
SELECT COLLATIONPROPERTY(name, 'LCID') AS lcid, COLLATIONPROPERTY(name, 'CodePage') AS page, COLLATIONPROPERTY(name, 'Version') AS version, COLLATIONPROPERTY(name, 'ComparisonStyle') AS style, COLLATIONPROPERTY(name, 'SortId') AS sort_id, COLLATIONPROPERTY(name, 'TdsCollation') AS wire FROM (VALUES (N'Polish_100_CS_AI'), (N'Latin1_General_BIN2'), (N'SQL_Latin1_General_CP1_CI_AS'), (N'Hindi_CI_AS'), (N'Latin1_General_100_CI_AS_SC_UTF8'), (N'nosuch'), (NULL)) AS v (name)
----
[lcid int null, page int null, version int null, style int null, sort_id int null, wire varbinary(5) null]
1045 | 1250 | 2 | 196610 | 0 | 0x1504E02000
1033 | 1252 | 0 | 0 | 0 | 0x0904000200
1033 | 1252 | 0 | 196609 | 52 | 0x0904D00034
1081 | 0 | 0 | 196609 | 0 | 0x3904D00000
1033 | 65001 | 2 | 196609 | 0 | 0x0904D02400
NULL | NULL | NULL | NULL | NULL | NULL
NULL | NULL | NULL | NULL | NULL | NULL

SELECT COLLATIONPROPERTY('Latin1_General_CI_AS', property) AS value FROM (VALUES ('CodePage'), ('TDSCollation'), ('nosuch')) AS v (property)
----
[value sql_variant null]
1252
0x0904D00000
NULL

SELECT COUNT(*) AS n FROM fn_helpcollations() WHERE COLLATIONPROPERTY(name, 'CodePage') = 874 AND COLLATIONPROPERTY(name, 'SortId') = 0 AND name LIKE 'Thai%BIN2'
----
2
