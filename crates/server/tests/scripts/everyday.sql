CREATE TABLE t (id int IDENTITY(5, 1), g uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT '6F9619FF-8B86-D011-B42D-00C04FC964FF', v int) INSERT t (v) VALUES (10), (20), (30), (40), (50)
CREATE TABLE u (id int, w int) INSERT u VALUES (5, 1), (6, 2)
----

SELECT IDENTITYCOL, t.IDENTITYCOL FROM t WHERE IDENTITYCOL < 7
----
5 | 5
6 | 6

SELECT ROWGUIDCOL FROM t WHERE id = 5
----
6F9619FF-8B86-D011-B42D-00C04FC964FF

SELECT TOP 20.5 PERCENT v FROM t ORDER BY v
----
10
20

SELECT d.id, u.w FROM ((SELECT id FROM t) d JOIN u ON u.id = d.id) ORDER BY d.id
----
5 | 1
6 | 2

SELECT x.n FROM (((SELECT 1 AS n) UNION (SELECT 2))) x ORDER BY n
----
1
2

SELECT t.id FROM t INNER REMOTE JOIN u ON t.id = u.id ORDER BY 1
----
5
6

SELECT t.id, u.w FROM {oj t LEFT OUTER JOIN u ON t.id = u.id} WHERE t.id > 5 AND t.id < 8 ORDER BY 1
----
6 | 2
7 | NULL

BEGIN TRAN COMMIT WITH (DELAYED_DURABILITY = ON)
BEGIN TRAN COMMIT TRAN WITH (DELAYED_DURABILITY = OFF)
----

ALTER TABLE u ALTER COLUMN w bigint NULL WITH (ONLINE = ON)
----

ALTER TABLE u ALTER COLUMN w bigint NULL WITH (FILLFACTOR = 5)
----
error 155: 'FILLFACTOR' is not a recognized ALTER TABLE ALTER COLUMN option.

DECLARE @@mine int = 5 SET @@mine += 1 SELECT @@mine, @@NESTLEVEL
----
6 | 0

CREATE PROCEDURE said @word varchar(10) = hello AS SELECT @word
----

EXEC said EXEC said bye
----
hello
bye

WAITFOR TIME '25:00'
----
error 148: Incorrect time syntax in time string '25:00' used with WAITFOR.

WAITFOR DELAY 'soon'
----
error 148: Incorrect time syntax in time string 'soon' used with WAITFOR.

DECLARE @soon char(12) = CONVERT(char(12), DATEADD(ms, 50, SYSUTCDATETIME()), 114)
DECLARE @begun datetime2 = SYSUTCDATETIME()
WAITFOR TIME @soon
SELECT CASE WHEN SYSUTCDATETIME() >= @begun AND SYSUTCDATETIME() < DATEADD(hour, 1, @begun) THEN 'in time' END
----
in time

-- Schemas.
CREATE SCHEMA a CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY)
----

CREATE SCHEMA b
----

CREATE TABLE a.c (id int CONSTRAINT fk_c REFERENCES a.p) INSERT a.p VALUES (1) INSERT a.c VALUES (1)
----

CREATE TRIGGER a.p_t ON a.p AFTER INSERT AS SELECT 'fired'
----

CREATE VIEW a.v AS SELECT id FROM a.c
----

ALTER SCHEMA b TRANSFER a.p
----

SELECT SCHEMA_NAME(schema_id), name FROM sys.objects WHERE name IN ('p', 'c', 'pk_p', 'p_t', 'fk_c') ORDER BY name
----
a | c
a | fk_c
b | p
b | p_t
b | pk_p

INSERT b.p VALUES (2)
----
fired

INSERT a.c VALUES (3)
----
error 547

ALTER SCHEMA b TRANSFER OBJECT::a.v
----

SELECT id FROM b.v
----
1

CREATE TABLE a.p (x int)
----

ALTER SCHEMA b TRANSFER a.p
----
error 15530: The object with name "p" already exists.

ALTER SCHEMA nosuch TRANSFER a.p
----
error 15151: Cannot alter the schema 'nosuch', because it does not exist or you do not have permission.

ALTER SCHEMA b TRANSFER a.nosuch
----
error 15151: Cannot find the object 'nosuch', because it does not exist or you do not have permission.

ALTER SCHEMA dbo TRANSFER b.p_t
----
error 15347: Cannot transfer an object that is owned by a parent object.

CREATE SCHEMA db_owner
----
error 2714: There is already an object named 'db_owner' in the database.

SELECT DATABASE_PRINCIPAL_ID('db_datareader'), SCHEMA_ID('db_owner'), SCHEMA_NAME(16391), USER_NAME(16384)
----
16390 | 16384 | db_datawriter | db_owner

SELECT class_desc, USER_NAME(grantee_principal_id), permission_name, state_desc FROM sys.database_permissions
----
DATABASE | dbo | CONNECT | GRANT

SELECT (SELECT COUNT(*) FROM sys.plan_guides), (SELECT COUNT(*) FROM sys.certificates), (SELECT COUNT(*) FROM sys.symmetric_keys), (SELECT actual_state_desc FROM sys.database_query_store_options)
----
0 | 0 | 0 | OFF

-- Application locks.
EXEC sp_getapplock 'r', 'Shared', 'Session'
SELECT APPLOCK_MODE('public', 'r', 'Session'), APPLOCK_MODE('public', 'r', 'Transaction'), APPLOCK_TEST('public', 'r', 'Exclusive', 'Session')
----
Shared | NoLock | 1

-- @second
SELECT APPLOCK_TEST('public', 'r', 'Exclusive', 'Session'), APPLOCK_TEST('public', 'r', 'Shared', 'Session'), APPLOCK_TEST('public', 'r', 'Odd', 'Session')
----
0 | 1 | NULL

EXEC sp_releaseapplock 'r', 'Session'
----

-- Messages of the system by their numbers.
RAISERROR (15600, -1, -1, 'p')
----
error 15600: An invalid parameter or option was specified for procedure 'p'.

SELECT FORMATMESSAGE(15600, 'p'), FORMATMESSAGE(20009, 'First', 'Second'), FORMATMESSAGE(208, 't'), FORMATMESSAGE(59999)
----
An invalid parameter or option was specified for procedure 'p'. | The article 'First' could not be added to the publication 'Second'. | NULL | NULL

EXEC sp_addmessage 50010, 16, 'The value is %d.'
SELECT FORMATMESSAGE(50010, 7) RAISERROR (50010, 10, 1, 8)
----
The value is 7.
info: The value is 8.

RAISERROR (208, 16, 1)
----
error 2732: Error number 208 is invalid. The number must be from 13000 through 2147483647 and it cannot be 50000.

-- What a view cannot look at.
CREATE TABLE #t (a int)
----

CREATE VIEW temporary AS SELECT a FROM #t
----
error 4508: Views or functions are not allowed on temporary tables. Table names that begin with '#' denote temporary tables.

CREATE FUNCTION temporary () RETURNS int AS BEGIN RETURN (SELECT MAX(a) FROM #t) END
----
error 2772: Cannot access temporary tables from within a function.

SELECT CAST(CAST('x' AS varchar(max)) AS sql_variant)
----
error 206: Operand type clash: varchar(max) is incompatible with sql_variant

SET TEXTSIZE -1 SELECT @@TEXTSIZE SET TEXTSIZE 2147483647
----
-1

EXEC sp_help 'int'
----
int | int | 4 | 10 | 0 | yes | none | none | NULL

EXEC sp_addtype 'ssn', 'varchar(11)', 'NOT NULL'
EXEC sp_help 'ssn'
----
ssn | varchar | 11 | 0 | 0 | no | none | none | SQL_Latin1_General_CP1_CI_AS

DBCC OPENTRAN
----
info: No active open transactions.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

BEGIN TRAN INSERT u VALUES (7, 3)
CREATE TABLE #facts (rec sysname, value nvarchar(256)) INSERT #facts EXEC ('DBCC OPENTRAN WITH TABLERESULTS, NO_INFOMSGS')
SELECT rec, CASE rec WHEN 'OLDACT_SPID' THEN value END FROM #facts WHERE rec IN ('OLDACT_SPID', 'OLDACT_NAME') ORDER BY rec
ROLLBACK
----
OLDACT_NAME | NULL
OLDACT_SPID | 51

SELECT CAST('2024-01-01 00:00 +5:30' AS datetimeoffset(0)), SWITCHOFFSET('2024-01-01 00:00 +00:00', '-4:00')
----
2024-01-01 00:00:00 +05:30 | 2023-12-31 20:00:00.0000000 -04:00

SELECT LEN(CONCAT_WS(',', REPLICATE('a', 4000), REPLICATE('b', 4000), 'c')), LEN(CONCAT(REPLICATE('a', 8000), 'b')), LEN(CONCAT(REPLICATE(N'a', 4000), N'b', REPLICATE(N'a', 4000)))
----
8000 | 8000 | 4000

-- The rows before one that fails.
SELECT 10 / v FROM (VALUES (1, 5), (2, 2), (3, 0), (4, 1)) d (k, v)
----
2
5
error 8134: Divide by zero error encountered.

CREATE TABLE many (k int PRIMARY KEY, s varchar(10)) INSERT many SELECT value, IIF(value = 8200, 'x', '1') FROM GENERATE_SERIES(1, 9000)
----

SELECT TOP (3) k FROM many WHERE CAST(s AS int) = 1 AND k > 8197
----
8198
8199
error 245: Conversion failed when converting the varchar value 'x' to data type int.

SELECT TOP (2) k FROM many WHERE CAST(s AS int) = 1 AND k > 8197
----
8198
8199

DECLARE @before TABLE (k int) INSERT @before SELECT k FROM many WHERE k < 8200
SELECT COUNT(*) FROM @before
SELECT k + CAST(s AS int) FROM many WHERE k BETWEEN 8198 AND 8300
----
8199
8199
8200
error 245: Conversion failed when converting the varchar value 'x' to data type int.

EXEC sp_helpsort
----
Latin1-General-CP1, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for non-Unicode Data, SQL sort order 52

EXEC sp_helprole 'db_owner'
----
db_owner | 16384 | 0

EXEC sp_helprole 'nosuch'
----
error 15409: 'nosuch' is not a role.

CREATE TABLE #who (spid smallint, ecid smallint, status nchar(30), loginame nchar(128), hostname nchar(128), blk char(5), dbname nchar(128), cmd nchar(16), request_id int)
INSERT #who EXEC sp_who
SELECT COUNT(*), RTRIM(MIN(loginame)), RTRIM(MIN(dbname)), RTRIM(MIN(blk)) FROM #who WHERE spid = @@SPID
----
1 | sa | master | 0

EXEC sp_helpdb 'nosuch'
----
error 15010: The database 'nosuch' does not exist. Supply a valid database name. To see available databases, use sys.databases.

-- A column of the system's own alias type.
CREATE TABLE named (a sysname, b sysname NULL, c nvarchar(128))
SELECT name, TYPE_NAME(user_type_id), system_type_id, user_type_id, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('named') ORDER BY column_id
SELECT COLUMN_NAME, DATA_TYPE, DOMAIN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'named' ORDER BY ORDINAL_POSITION
----
a | sysname | 231 | 256 | 0
b | sysname | 231 | 256 | 1
c | nvarchar | 231 | 231 | 1
a | nvarchar | NULL
b | nvarchar | NULL
c | nvarchar | NULL

-- Half of a surrogate pair is refused where it would be lost.
SELECT NCHAR(55357)
----
error 40515: Half of a surrogate pair is not supported by this server.

SELECT LEFT(N'😀x', 1)
----
error 40515: Half of a surrogate pair is not supported by this server.

SELECT LEFT(N'😀x', 2), STUFF(N'a😀', 1, 1, N'b'), SUBSTRING(N'x😀', 2, 2)
----
😀 | b😀 | 😀

SELECT CAST(N'😀' AS nchar(1))
----
error 40515: Half of a surrogate pair is not supported by this server.

-- Expressions as deep as code generators make them.
DECLARE @deep nvarchar(max) = N'SELECT ' + REPLICATE(CAST(N'(' AS nvarchar(max)), 1000) + N'1' + REPLICATE(CAST(N')' AS nvarchar(max)), 1000)
EXEC (@deep)
SET @deep = N'SELECT ' + REPLICATE(CAST(N'ABS(' AS nvarchar(max)), 400) + N'w' + REPLICATE(CAST(N')' AS nvarchar(max)), 400) + N' FROM u WHERE id = 5'
EXEC (@deep)
----
1
1

DECLARE @deep nvarchar(max) = N'SELECT ' + REPLICATE(CAST(N'(' AS nvarchar(max)), 5000) + N'1' + REPLICATE(CAST(N')' AS nvarchar(max)), 5000)
EXEC (@deep)
----
error 191: Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.

EXEC sp_configure 'show advanced'
----
show advanced options | 0 | 1 | 0 | 0

EXEC sp_configure 'xp_cmdshell', 1
----
error 40515: sp_configure 'xp_cmdshell' with another value than 0 is not supported by this server.

EXEC sp_configure 'xp_cmdshell', 0
----
info: Configuration option 'xp_cmdshell' changed from 0 to 0. Run the RECONFIGURE statement to install.

EXEC sp_configure 'nosuch', 1
----
error 15123: The configuration option 'nosuch' does not exist, or it may be an advanced option.

EXEC sp_configure 'max ', 1
----
error 15124: The configuration option 'max ' is not unique.

EXEC sp_configure 'show advanced', 2
----
error 15129: '2' is not a valid value for configuration option 'show advanced options'.

EXEC sp_configure 'show advanced', 'yes'
----
error 8114: Error converting data type nvarchar to int.

EXEC sp_configure 'show advanced', 1
EXEC sp_configure 'show advanced'
EXEC sp_configure 'show advanced', 0
----
info: Configuration option 'show advanced options' changed from 0 to 1. Run the RECONFIGURE statement to install.
show advanced options | 0 | 1 | 1 | 1
info: Configuration option 'show advanced options' changed from 1 to 0. Run the RECONFIGURE statement to install.

-- Bulk loads of the table lock it; where its long values lie is fixed.
CREATE TABLE optioned (a int)
EXEC sp_tableoption 'dbo.optioned', 'table lock on bulk load', 'ON'
SELECT lock_on_bulk_load FROM sys.tables WHERE name = 'optioned'
EXEC sp_tableoption 'optioned', 'text in row', 'OFF'
----
1

EXEC sp_tableoption 'optioned', 'large value types out of row', 1
----
error 40515: sp_tableoption 'large value types out of row' with another value than OFF is not supported by this server.

EXEC sp_tableoption 'optioned', 'nosuch', 1
----
error 15600: An invalid parameter or option was specified for procedure 'sp_tableoption'.

EXEC sp_tableoption 'nosuch', 'table lock on bulk load', 1
----
error 15388: There is no user table matching the input name 'nosuch' in the current database or you do not have permission to access the table.

ALTER DATABASE SCOPED CONFIGURATION SET VERBOSE_TRUNCATION_WARNINGS = OFF
----
error 40515: SCOPED CONFIGURATION SET VERBOSE_TRUNCATION_WARNINGS to another value than ON is not supported by this server.

EXEC sp_configure 'nosuch'
----
error 15123: The configuration option 'nosuch' does not exist, or it may be an advanced option.

SELECT CURRENT_TIMEZONE(), CURRENT_TIMEZONE_ID()
----
(UTC) Coordinated Universal Time | UTC

-- A limit that is reached before the bad row.
SELECT TOP (2) 10 / v FROM (VALUES (5), (2), (0), (1)) d (v)
----
2
5

SELECT TOP (2) v FROM (VALUES (5), (2), (0), (1)) d (v) WHERE 10 / v > 1
----
5
2
