CREATE SEQUENCE s1 START WITH 5; SELECT SEQUENCE_NAME, DATA_TYPE, START_VALUE, INCREMENT FROM INFORMATION_SCHEMA.SEQUENCES
----
s1 | bigint | 5 | 1

CREATE PROCEDURE p_one @a int, @b varchar(10) OUTPUT AS SELECT 1
----

EXEC sp_stored_procedures 'p_one'; EXEC sp_sproc_columns_100 'p_one'
----
master | dbo | p_one;1 | -1 | -1 | -1 | NULL | 2
master | dbo | p_one;1 | @RETURN_VALUE | 5 | 4 | int | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 0 | NO | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 56
master | dbo | p_one;1 | @a | 1 | 4 | int | 10 | 4 | 0 | 10 | 1 | NULL | NULL | 4 | NULL | NULL | 1 | YES | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 38
master | dbo | p_one;1 | @b | 2 | 12 | varchar | 10 | 10 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 10 | 2 | YES | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 39

CREATE VIEW vw AS SELECT 1 AS a
----

EXEC sp_tables 'vw'; EXEC sp_columns 'vw'
----
master | dbo | vw | VIEW | NULL
master | dbo | vw | a | 4 | int | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 1 | NO | 56

SELECT TOP 3 name, xtype FROM sysobjects; SELECT COUNT(*) FROM sys.objects WHERE type IN ('S','IT','SQ')
----
sysrscols | S
sysrowsets | S
sysclones | S
83

CREATE TABLE ck (a int, b int, c AS a+1, d AS a+2 PERSISTED, y int, CONSTRAINT ck2 CHECK (a<b)); CREATE INDEX ixf ON ck(a) WHERE y >= 5; CREATE UNIQUE INDEX uxb ON ck(b); CREATE TABLE fk(x int CONSTRAINT fk1 REFERENCES ck(b)); SELECT COLUMN_NAME,CONSTRAINT_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE; SELECT filter_definition FROM sys.indexes WHERE has_filter=1; SELECT name,is_persisted FROM sys.computed_columns; SELECT UNIQUE_CONSTRAINT_NAME FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS; SELECT key_index_id FROM sys.foreign_keys
----
a | ck2
b | ck2
x | fk1
([y]>=(5))
c | 0
d | 1
uxb
3

SELECT TOP 3 * FROM sys.time_zone_info; SELECT CAST('2015-03-29T02:30:00' AS datetime2(0)) AT TIME ZONE 'Central European Standard Time', CAST('2015-10-25T02:30:00' AS datetime2(0)) AT TIME ZONE 'Central European Standard Time', CAST('2020-07-01T12:00:00' AS datetime) AT TIME ZONE 'UTC' AT TIME ZONE 'Pacific Standard Time'
----
Dateline Standard Time | -12:00 | 0
UTC-11 | -11:00 | 0
Aleutian Standard Time | -10:00 | 0
2015-03-29 03:30:00 +02:00 | 2015-10-25 02:30:00 +01:00 | 2020-07-01 05:00:00.000 -07:00

SELECT GETDATE() AT TIME ZONE 'nosuch'
----
error 9820: The time zone parameter 'nosuch' provided to AT TIME ZONE clause is invalid.

SELECT SYSDATETIME() AT TIME ZONE NULL
----
NULL

EXEC master..xp_msver 'ProductVersion'
----
2 | ProductVersion | 1048576 | 16.0.1000.0

SELECT COUNT(*) FROM fn_helpcollations(); SELECT * FROM ::fn_helpcollations() WHERE name = 'Latin1_General_CI_AS'
----
5436
Latin1_General_CI_AS | Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive

EXEC sp_msforeachtable 'PRINT ''?'''; EXEC sp_MSforeachtable @command1 = 'SELECT COUNT(*) FROM ?', @whereand = 'AND o.name = ''ck'''
----
info: [dbo].[ck]
info: [dbo].[fk]
0

EXEC sp_helpconstraint 'ck'
----
[Object Name nvarchar(776) null]
ck
[constraint_type nvarchar(146) null, constraint_name nvarchar(128) null, delete_action nvarchar(11) null, update_action nvarchar(11) null, status_enabled varchar(8) null, status_for_replication varchar(19) null, constraint_keys nvarchar(2126) null]
CHECK Table Level  | ck2 | (n/a) | (n/a) | Enabled | Is_For_Replication | ([a]<[b])

EXEC sp_helpconstraint @objname = 'ck', @nomsg = 'nomsg'
----
CHECK Table Level  | ck2 | (n/a) | (n/a) | Enabled | Is_For_Replication | ([a]<[b])

EXEC sp_helpindex 'ck'; EXEC sp_helptext 'vw'
----
ixf | nonclustered located on PRIMARY | a
uxb | nonclustered, unique located on PRIMARY | b
CREATE VIEW vw AS SELECT 1 AS a

SELECT * FROM sys.dm_tran_session_transactions; SELECT TOP 1 objtype FROM sys.dm_exec_cached_plans; SELECT host_platform FROM sys.dm_os_host_info; SELECT name FROM sys.service_queues; SELECT is_user_defined FROM sys.assemblies
----
Adhoc
Linux
QueryNotificationErrorsQueue
EventNotificationErrorsQueue
ServiceBrokerQueue

EXEC sp_addmessage 50010, 16, 'hello %s'; SELECT * FROM sys.messages WHERE message_id > 50000; RAISERROR(50010, 16, 1, 'x')
----
50010 | 1033 | 16 | 0 | hello %s
error 50010: hello x

-- Short names are not filled up.
CREATE TABLE test (name int DEFAULT 1, UNIQUE(name), CHECK (name > 0)); SELECT CASE WHEN name LIKE 'DF[_][_]test[_][_]name[_][_]________' THEN 'DF' WHEN name LIKE 'UQ[_][_]test[_][_]________________' THEN 'UQ' WHEN name LIKE 'CK[_][_]test[_][_]________' THEN 'CK' ELSE name END FROM sys.objects WHERE parent_object_id = OBJECT_ID('test') ORDER BY 1
----
CK
DF
UQ

EXEC sp_describe_parameter_encryption N'select @a', N'@a int'
----
1 | @a | 0 | 0 | 0 | 0

EXEC sp_help 'nosuch'
----
error 15009: The object 'nosuch' does not exist in database 'master' or is invalid for this operation.

EXEC sp_addmessage 50010, 16, 'again'
----
error 15043: You must specify 'REPLACE' to overwrite an existing message.

EXEC sp_dropmessage 50010; EXEC sp_dropmessage 50010
----
error 15179: The message number 50010 does not exist.

-- A user's own procedure may begin with sp_.
CREATE PROCEDURE sp_mine AS SELECT 7 AS a
----

EXEC sp_mine
----
7

CREATE VIEW vt AS SELECT 1 AS a
----

CREATE PROCEDURE pt AS SELECT 2 AS b
----

EXEC sp_rename 'vt', 'vt2'; EXEC sp_rename 'dbo.vt2.a', 'z', 'COLUMN'; EXEC sp_rename 'pt', 'pt2'; SELECT z FROM vt2; EXEC pt2; SELECT c.name FROM sys.columns c WHERE object_id = OBJECT_ID('vt2')
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
1
2
z

EXEC pt
----
error 2812

SELECT * FROM vt
----
error 208

EXEC sp_rename 'vt2', 'pt2'
----
error 15335

DBCC USEROPTIONS WITH NO_INFOMSGS
----
textsize | 2147483647
language | us_english
dateformat | mdy
datefirst | 7
lock_timeout | -1
quoted_identifier | SET
arithabort | SET
ansi_null_dflt_on | SET
ansi_warnings | SET
ansi_padding | SET
ansi_nulls | SET
concat_null_yields_null | SET
isolation level | read committed

SELECT SERVERPROPERTY('ResourceLastUpdateDateTime'); SELECT * FROM sys.destination_data_spaces
----
Oct  8 2022  6:31AM

DECLARE @s nvarchar(max) EXEC sp_executesql @s
----

-- What is not served is refused when it runs, which may be never.
IF 1=0 DROP TRIGGER x
IF 1=0 DROP TYPE x
IF 1=0 DROP USER x
IF 1=0 DROP LOGIN x
IF 1=0 DROP ROLE x
IF 1=0 DROP STATISTICS t.x
IF 1=0 DROP AGGREGATE x
IF 1=0 DROP ASSEMBLY x
IF 1=0 DROP XML SCHEMA COLLECTION x
IF 1=0 BACKUP DATABASE x TO DISK = 'y' WITH INIT
IF 1=0 CREATE LOGIN x WITH PASSWORD = 'y'
IF 1=0 BEGIN DROP DEFAULT x; DROP RULE y END ELSE PRINT 'done'
----
info: done

PRINT 'before'; DROP ASSEMBLY x; PRINT 'after'
----
info: before
error 40515: DROP ASSEMBLY is not supported by this server.
info: after

CREATE TABLE tq (n int, a int, b int); INSERT tq VALUES (1, 2, 4), (1, 4, 8), (2, 1, 3); DECLARE @p int = 1; SELECT TOP (@p + 1) a FROM tq ORDER BY a; SELECT a FROM tq ORDER BY a OFFSET 1 + 1 ROWS FETCH FIRST 1 + 1 ROWS ONLY
----
1
2
4

SELECT q.n AS c FROM tq q UNION SELECT 7 ORDER BY n
----
1
2
7

SELECT n, (SELECT MAX(v) FROM (VALUES (AVG(a)), (AVG(b))) AS g(v)) FROM tq GROUP BY n ORDER BY n
----
1 | 6
2 | 3

SELECT n FROM tq GROUP BY n HAVING EXISTS (SELECT 1 FROM (VALUES (6)) AS x(v) WHERE x.v = SUM(tq.a))
----
1

SELECT n, (SELECT SUM(tq.a)) FROM tq GROUP BY n ORDER BY n
----
1 | 6
2 | 1

UPDATE dbo.tq SET b = 9 WHERE dbo.tq.n = 2; DELETE FROM dbo.tq WHERE dbo.tq.a = 4; SELECT a, b FROM tq ORDER BY a
----
1 | 9
2 | 4

EXEC sp_describe_undeclared_parameters N'merge tq as T using tq as S on T.a=S.a when matched then update set T.b=@P0;'
----
1 | @P0 | 56 | int | 4 | 10 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 38 | 4

CREATE VIEW vi AS SELECT a FROM tq
----

CREATE UNIQUE CLUSTERED INDEX ix ON vi (a)
----
error 1939: Cannot create index on view 'vi' because the view is not schema bound.

SET ROWCOUNT 1 DECLARE c CURSOR STATIC FOR SELECT a FROM tq OPEN c SELECT @@CURSOR_ROWS SET ROWCOUNT 0 DEALLOCATE c
----
1

-- PREV_NOADJUST at the start gives the rows that there are; PREV as many as are wanted.
CREATE TABLE ten (a int); INSERT ten SELECT value FROM GENERATE_SERIES(1, 10); DECLARE @c int, @s int = 8, @o int = 1, @r int; EXEC sp_cursoropen @c OUTPUT, N'SELECT a FROM ten ORDER BY a', @s OUTPUT, @o OUTPUT, @r OUTPUT; EXEC sp_cursorfetch @c, 16, 5, 2; EXEC sp_cursorfetch @c, 512, 0, 3; EXEC sp_cursorfetch @c, 512, 0, 3; EXEC sp_cursorfetch @c, 512, 0, 3; EXEC sp_cursorclose @c
----
5 | 1
6 | 1
2 | 1
3 | 1
4 | 1
1 | 1
