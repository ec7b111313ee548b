CREATE TABLE tcap (id int NOT NULL, col_int int, col_decimal decimal(18,4), col_str2 varchar(100), col_str3 nvarchar(100))
----

SET FMTONLY ON
----

select * from [tcap] SET FMTONLY OFF
----
[id int, col_int int null, col_decimal decimal(18, 4) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null]

select 1;
----
1

SET FMTONLY ON select * from master..tcap SET FMTONLY OFF
----
[id int, col_int int null, col_decimal decimal(18, 4) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null]

set textsize 4096
----

set ansi_nulls on
set ansi_null_dflt_on on
set ansi_padding on
set ansi_warnings on
set arithabort on
set concat_null_yields_null on
set datefirst 7
set dateformat mdy
set implicit_transactions off
set language us_english
set numeric_roundabort off
set quoted_identifier on
set textsize 2147483647
set transaction isolation level read committed
set xact_abort off
----
info: Changed language setting to us_english.

SET ARITHABORT ON;SET CONCAT_NULL_YIELDS_NULL ON;SET ANSI_NULLS ON;SET ANSI_NULL_DFLT_ON ON;SET ANSI_PADDING ON;SET ANSI_WARNINGS ON;SET ANSI_NULL_DFLT_ON ON;SET CURSOR_CLOSE_ON_COMMIT ON;SET QUOTED_IDENTIFIER ON;SET TEXTSIZE 2147483647;
----

sp_executesql N'SET FMTONLY ON SELECT * FROM [tcap] '
----
[id int, col_int int null, col_decimal decimal(18, 4) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null]
status 0

select collation_name, is_computed from sys.columns where object_id=OBJECT_ID('[tcap]') order by column_id ASC
----
NULL | 0
NULL | 0
NULL | 0
SQL_Latin1_General_CP1_CI_AS | 0
SQL_Latin1_General_CP1_CI_AS | 0

SELECT column_id, TYPE_NAME(system_type_id) AS system_type_name, is_identity FROM sys.columns WHERE object_id = OBJECT_ID(N'tcap')
----
1 | int | 0
2 | int | 0
3 | decimal | 0
4 | varchar | 0
5 | nvarchar | 0

SELECT TOP 0 * FROM tcap
----
[id int, col_int int null, col_decimal decimal(18, 4) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null]

SELECT @@TRANCOUNT;
DECLARE @Column_Names NVARCHAR(MAX) = NULL;
DECLARE @object_id INT = OBJECT_ID(N'[tcap]');
DECLARE @sql NVARCHAR(MAX);
SET @sql = N'SELECT @CN = COALESCE(@CN + N'', '', N'''') + QUOTENAME([name]) FROM sys.all_columns WHERE [object_id] = @ObjId';
IF EXISTS (SELECT TOP 1 * FROM sys.all_columns WHERE [object_id] = OBJECT_ID('sys.all_columns') AND [name] = 'graph_type')
    SET @sql = @sql + N' AND COALESCE([graph_type], 0) NOT IN (1, 3, 4, 6, 7)';
SET @sql = @sql + N' ORDER BY [column_id] ASC';
EXEC sp_executesql @sql, N'@CN NVARCHAR(MAX) OUTPUT, @ObjId INT', @CN = @Column_Names OUTPUT, @ObjId = @object_id;
SELECT @Column_Names = COALESCE(@Column_Names, '*');
SET FMTONLY ON;
EXEC(N'SELECT ' + @Column_Names + N' FROM [tcap]');
SET FMTONLY OFF;
EXEC sp_tablecollations_100 N'[tcap]';
----
[ int]
0
[id int, col_int int null, col_decimal decimal(18, 4) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null]
[colid int null, name nvarchar(128) null, tds_collation binary(5) null, collation nvarchar(128) null]
1 | id | NULL | NULL
2 | col_int | NULL | NULL
3 | col_decimal | NULL | NULL
4 | col_str2 | 0x0904D00034 | SQL_Latin1_General_CP1_CI_AS
5 | col_str3 | 0x0904D00034 | SQL_Latin1_General_CP1_CI_AS

select @@trancount; SET FMTONLY ON select * from tcap SET FMTONLY OFF exec ..sp_tablecollations_100 N'[dbo].[tcap]'
----
0
1 | id | NULL | NULL
2 | col_int | NULL | NULL
3 | col_decimal | NULL | NULL
4 | col_str2 | 0x0904D00034 | SQL_Latin1_General_CP1_CI_AS
5 | col_str3 | 0x0904D00034 | SQL_Latin1_General_CP1_CI_AS

insert bulk master..tcap ([id] INT, [col_int] INT, [col_decimal] NUMERIC(18,4), [col_str2] VARCHAR(100), [col_str3] NVARCHAR(100))
----

insert bulk tcap([id] int,[col_str2] varchar(100) collate SQL_Latin1_General_CP1_CI_AS,[col_str3] nvarchar(100))with(TABLOCK,CHECK_CONSTRAINTS,KEEP_NULLS,FIRE_TRIGGERS,ROWS_PER_BATCH = 100,ORDER([id] ASC))
----

INSERT BULK nosuch ([id] int)
----
error 208: Invalid object name 'nosuch'.

INSERT BULK tcap ([nosuch] int)
----
error 207: Invalid column name 'nosuch'.

IF @@TRANCOUNT > 0 COMMIT TRAN
----

set implicit_transactions on 
----

set implicit_transactions off 
----

use [master]
----

SELECT name, SERVERPROPERTY('ProductVersion') FROM sys.databases WHERE name = N'master'
----
master | 16.0.1000.0

select convert(binary(5), CollationProperty('SQL_Latin1_General_CP1_CI_AS', 'tdscollation'))
----
0x0904D00034

-- mssql-jdbc, getImportedKeys: its work table
CREATE TABLE #fkeys_results (pktable_name sysname COLLATE database_default NOT NULL, pkcolumn_name sysname COLLATE DATABASE_DEFAULT NOT NULL);
INSERT INTO #fkeys_results VALUES (N'T', N'c');
SELECT COUNT(*) AS n FROM #fkeys_results WHERE pktable_name = 't' COLLATE catalog_default
----
1

-- A parameter handed to a procedure is of the procedure's type, and knows the name it has there.
CREATE TYPE phone FROM varchar(20)
CREATE TYPE pairs AS TABLE (a int, b int)
----

CREATE PROCEDURE described @a int, @b varchar(20) OUTPUT, @c phone, @d pairs READONLY AS SELECT 1 AS n
----

EXEC sp_describe_undeclared_parameters N'EXEC described @p0, @b = @p1 OUTPUT, @c = @p2, @d = @p3'
----
1 | @p0 | 56 | int | 4 | 10 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | @a | 38 | 4
2 | @p1 | 167 | varchar(20) | 20 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 1 | @b | 167 | 20
3 | @p2 | 167 | varchar(20) | 20 | 0 | 0 | 257 | master | dbo | phone | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | @c | 167 | 20
4 | @p3 | 243 | dbo.pairs | -1 | 0 | 0 | 258 | master | dbo | pairs | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | @d | 243 | -1

CREATE TABLE placed (g geography, h hierarchyid)
EXEC sp_describe_undeclared_parameters N'INSERT placed VALUES (@g, @h)'
----
1 | @g | 240 | geography | -1 | 0 | 0 | 130 | master | sys | geography | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 240 | 65535
2 | @h | 240 | hierarchyid | 892 | 0 | 0 | 128 | master | sys | hierarchyid | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 240 | 65535

EXEC sp_sproc_columns 'described'
EXEC sp_sproc_columns_100 'described'
----
master | dbo | described;1 | @RETURN_VALUE | 5 | 4 | int | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 0 | NO | 56
master | dbo | described;1 | @a | 1 | 4 | int | 10 | 4 | 0 | 10 | 1 | NULL | NULL | 4 | NULL | NULL | 1 | YES | 38
master | dbo | described;1 | @b | 2 | 12 | varchar | 20 | 20 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 20 | 2 | YES | 39
master | dbo | described;1 | @c | 1 | 12 | phone | 20 | 20 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 20 | 3 | YES | 39
master | dbo | described;1 | @d | 1 | -153 | pairs | NULL | 0 | 0 | NULL | 1 | NULL | NULL | -153 | NULL | NULL | 4 | YES | 0
master | dbo | described;1 | @RETURN_VALUE | 5 | 4 | int | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 0 | NO | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 56
master | dbo | described;1 | @a | 1 | 4 | int | 10 | 4 | 0 | 10 | 1 | NULL | NULL | 4 | NULL | NULL | 1 | YES | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 38
master | dbo | described;1 | @b | 2 | 12 | varchar | 20 | 20 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 20 | 2 | YES | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 39
master | dbo | described;1 | @c | 1 | 12 | phone | 20 | 20 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 20 | 3 | YES | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 39
master | dbo | described;1 | @d | 1 | -153 | pairs | NULL | 0 | 0 | NULL | 1 | NULL | NULL | -153 | NULL | NULL | 4 | YES | master | dbo | NULL | NULL | NULL | NULL | NULL | NULL | 0

EXEC sp_fkeys @pktable_name = 'placed', @pktable_qualifier = ''
----
error 15250: The database name component of the object qualifier must be the name of the current database.

EXEC sp_pkeys @table_name = 'placed', @table_qualifier = ''
----
error 15250: The database name component of the object qualifier must be the name of the current database.
