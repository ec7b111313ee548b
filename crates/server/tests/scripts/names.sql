CREATE TABLE t (a int NOT NULL); INSERT t VALUES (1)
----

DELETE FROM nosrv.master.dbo.t
----
error 7202: Could not find server 'nosrv' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.

SELECT 1 AS before; UPDATE nosrv.master.dbo.t SET a = 2
----
error 7202

INSERT nosrv.master.dbo.t VALUES (2)
----
error 7202

MERGE nosrv.master.dbo.t AS t USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;
----
error 7202

SELECT a FROM nosrv.master.dbo.t
----
error 7202

IF 1 = 0 SELECT (SELECT MAX(a) FROM nosrv...t)
----
error 7202

SELECT nosrv.master.dbo.f(1)
----
error 7202

SELECT * FROM t CROSS APPLY nosrv.master.dbo.f(1)
----
error 7202

TRUNCATE TABLE nosrv.master.dbo.t
----
error 117: The object name 'nosrv.master.dbo.t' contains more than the maximum number of prefixes. The maximum is 2.

DROP TABLE nosrv.master.dbo.t
----
error 117

ALTER TABLE nosrv.master.dbo.t ADD b int
----
error 117

CREATE TABLE nosrv.master.dbo.t2 (a int)
----
error 117

CREATE INDEX ix ON nosrv.master.dbo.t (a)
----
error 117

SELECT 1 AS a INTO nosrv.master.dbo.t2
----
error 117

CREATE VIEW v AS SELECT a FROM nosrv.master.dbo.t
----
error 7202

CREATE PROCEDURE p AS DELETE FROM nosrv.master.dbo.t
----
error 7202

CREATE PROCEDURE p AS EXEC nosrv.master.dbo.q
----

EXEC p
----
error 7202

EXEC nosrv.master.dbo.p
----
error 7202

DECLARE @t TABLE (a int); INSERT @t EXEC nosrv.master.dbo.p; SELECT COUNT(*) FROM @t
----
error 7202
0

EXEC sp_executesql N'DELETE FROM nosrv.master.dbo.t'
----
error 7202

SELECT OBJECT_ID('nosrv.master.dbo.t'), ISNULL(OBJECT_ID('master.dbo.t'), 0) - OBJECT_ID('t')
----
NULL | 0

CREATE SYNONYM far FOR nosrv.master.dbo.t; CREATE SYNONYM near FOR master..t
----

SELECT name, base_object_name FROM sys.synonyms ORDER BY name
----
far | [nosrv].[master].[dbo].[t]
near | [master]..[t]

DELETE FROM far
----
error 7202

SELECT a FROM far
----
error 7202

SELECT a FROM near
----
1

SELECT t.a, bulkwire.master.dbo.t.a FROM bulkwire.master.dbo.t
----
1 | 1

SELECT a.b.c.d.e FROM t
----
error 7202

SELECT COUNT(*) FROM t
----
1

CREATE TABLE [user] (a int); CREATE TABLE [a-b] (a int, [order] int); CREATE TABLE [2x] (id int IDENTITY)
----

SELECT CASE WHEN OBJECT_ID('user') = OBJECT_ID('dbo.user') AND OBJECT_ID('a-b') IS NOT NULL AND OBJECT_ID('[2x]') = OBJECT_ID('2x') THEN 1 END, COL_LENGTH('dbo.user', 'a'), OBJECT_ID('[user'), OBJECT_ID('user]')
----
1 | 4 | NULL | NULL

EXEC sp_rename 'a-b.order', 'number'
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.

EXEC sp_rename 'user', 'users'; SELECT number FROM [a-b]; SELECT a FROM users
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.

CREATE TABLE r (a int NOT NULL CONSTRAINT pk_r PRIMARY KEY, c int); CREATE INDEX ix_r ON r (c)
----

EXEC sp_rename 'master.dbo.r.c', 'd'; EXEC sp_rename 'dbo.r.ix_r', 'ix_d'; EXEC sp_rename 'dbo.r.pk_r', 'pk_d'; SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('r') ORDER BY name; SELECT d FROM r
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
ix_d
pk_d

CREATE TABLE [@ab] (a int); INSERT [@ab] VALUES (1); SELECT a FROM [@ab]; DROP TABLE [@ab]
----
1

INSERT INTO dbo.t (dbo.t.a) VALUES (5); INSERT t (t.a) VALUES (6); SELECT a FROM t ORDER BY a
----
1
5
6

SELECT a AS 'the number' FROM t ORDER BY 'the number' DESC
----
6
5
1

SELECT TOP (SELECT 1) a FROM t ORDER BY a
----
1

CREATE VIEW w AS SELECT a, a + 1 AS b FROM t
----

CREATE PROCEDURE q @x int, @y varchar(20) OUTPUT AS SELECT 1 AS one
----

SELECT OBJECTPROPERTY(OBJECT_ID('w'), 'IsView'), OBJECTPROPERTY(OBJECT_ID('w'), 'IsTable'), OBJECTPROPERTY(OBJECT_ID('q'), 'IsProcedure'), OBJECTPROPERTYEX(OBJECT_ID('q'), 'IsView'), COL_LENGTH('w', 'b'), COL_NAME(OBJECT_ID('w'), 2), COLUMNPROPERTY(OBJECT_ID('w'), 'b', 'ColumnId'), COLUMNPROPERTY(OBJECT_ID('q'), '@y', 'IsOutParam'), COLUMNPROPERTY(OBJECT_ID('q'), '@y', 'Precision')
----
1 | 0 | 1 | 0 | 4 | b | 2 | 1 | 20

SELECT OBJECT_DEFINITION(OBJECT_ID('w'))
----
CREATE VIEW w AS SELECT a, a + 1 AS b FROM t

CREATE SCHEMA s CREATE TABLE t (x int) CREATE VIEW v AS SELECT x FROM t GRANT SELECT ON v TO public
----

INSERT s.t VALUES (7); INSERT s.v VALUES (8); UPDATE s.v SET x = 9 WHERE x = 8; SELECT x FROM s.v ORDER BY x; SELECT COUNT(*) FROM t
----
7
9
3

CREATE SCHEMA s2 CREATE TABLE t (x int) CREATE TABLE t (x int)
----
error 2714: There is already an object named 't' in the database.

SELECT COUNT(*) FROM sys.schemas WHERE name = 's2'
----
0

CREATE SCHEMA s3 CREATE TABLE dbo.other (x int)
----
error 2759: CREATE SCHEMA failed due to previous errors.
