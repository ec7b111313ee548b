CREATE TABLE t (a int)
----

CREATE TABLE T (b int)
----
error 2714: There is already an object named 'T' in the database.

CREATE TABLE u (a int, A int)
----
error 2705: Column names in each table must be unique. Column name 'A' in table 'u' is specified more than once.

CREATE TABLE u (a nosuch)
----
error 2715: Column, parameter, or variable #1: Cannot find data type nosuch.

CREATE TABLE nosuch.u (a int)
----
error 2760: The specified schema name "nosuch" either does not exist or you do not have permission to use it.

CREATE SCHEMA sales
----

CREATE TABLE sales.t (a int); INSERT sales.t VALUES (7); SELECT a FROM sales.t; SELECT COUNT(*) FROM dbo.t
----
7
0

DROP SCHEMA sales
----
error 3729: Cannot drop schema 'sales' because it is being referenced by object 't'.

DROP TABLE sales.t; DROP SCHEMA sales
----

DROP TABLE nosuch
----
error 3701: Cannot drop the table 'nosuch', because it does not exist or you do not have permission.

DROP TABLE IF EXISTS nosuch
----

INSERT t VALUES (1), (2); TRUNCATE TABLE t; SELECT COUNT(*) FROM t
----
0

TRUNCATE TABLE nosuch
----
error 4701: Cannot find the object "nosuch" because it does not exist or you do not have permissions.

ALTER TABLE nosuch ADD a int
----
error 4902: Cannot find the object "nosuch" because it does not exist or you do not have permissions.

CREATE DATABASE other
----

CREATE DATABASE OTHER
----
error 1801: Database 'OTHER' already exists. Choose a different database name.

USE other
----

SELECT DB_NAME(), DB_ID() - DB_ID('msdb')
----
other | 1

CREATE TABLE t (z int); INSERT t VALUES (9); SELECT z FROM t; SELECT a FROM master.dbo.t; SELECT z FROM other..t
----
9
9

DROP DATABASE other
----
error 3702: Cannot drop database "other" because it is currently in use.

USE nosuch
----
error 911: Database 'nosuch' does not exist. Make sure that the name is entered correctly.

USE master; DROP DATABASE other; SELECT DB_ID('other')
----
NULL

SELECT * FROM other..t
----
error 208: Invalid object name 'other..t'.

CREATE TABLE #temp (a int, b varchar(10)); INSERT #temp VALUES (1, 'x'); SELECT * FROM #temp
----
[a int null, b varchar(10) null]
1 | x

-- @second
SELECT * FROM #temp
----
error 208: Invalid object name '#temp'.

SELECT COUNT(*) FROM tempdb..#temp; DROP TABLE #temp
----
1

SELECT * FROM #temp
----
error 208: Invalid object name '#temp'.

SELECT 1 AS a, 'x' AS b INTO made
----
affected 1

SELECT * FROM made
----
[a int, b varchar(1)]
1 | x

SELECT 1 INTO unnamed
----
error 1038

ALTER TABLE made ADD c int NULL, d varchar(3) NOT NULL DEFAULT 'dd'
----

SELECT * FROM made
----
[a int, b varchar(1), c int null, d varchar(3)]
1 | x | NULL | dd

ALTER TABLE made DROP COLUMN c
----

ALTER TABLE made ALTER COLUMN b nvarchar(20) NULL; INSERT made (a, b) VALUES (2, N'längér'); SELECT a, b, d FROM made ORDER BY a
----
[a int, b nvarchar(20) null, d varchar(3)]
1 | x | dd
2 | längér | dd

ALTER TABLE made ADD e int NOT NULL
----
error 4901

ALTER TABLE made DROP COLUMN nosuch
----
error 4924: ALTER TABLE DROP COLUMN failed because column 'nosuch' does not exist in table 'made'.

CREATE TABLE computed (a int, b int, c AS a + b, d AS a * 10); INSERT computed (a, b) VALUES (1, 2); SELECT * FROM computed
----
[a int null, b int null, c int null, d int null]
1 | 2 | 3 | 10

INSERT computed (c) VALUES (1)
----
error 271

CREATE TABLE ref (a int FOREIGN KEY REFERENCES nosuch (b))
----
error 1767
error 1750: Could not create constraint or index. See previous errors.

CREATE INDEX ix ON t (a); CREATE UNIQUE INDEX ux ON t (a)
----

CREATE INDEX ix ON t (a)
----
error 1913: The operation failed because an index or statistics with name 'ix' already exists on table 't'.

CREATE INDEX iy ON t (nosuch)
----
error 1911: Column name 'nosuch' does not exist in the target table or view.

DROP INDEX ix ON t
----

DROP INDEX ix ON t
----
error 3701

CREATE TABLE guided (n int, id uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT '00112233-4455-6677-8899-AABBCCDDEEFF')
INSERT guided (n) VALUES (1)
SELECT $ROWGUID FROM guided
SELECT g.$rowguid AS other, COLUMNPROPERTY(OBJECT_ID('guided'), 'id', 'IsRowGuidCol'), OBJECTPROPERTY(OBJECT_ID('guided'), 'TableHasRowGuidCol') FROM guided AS g WHERE $ROWGUID IS NOT NULL
SELECT name, is_rowguidcol FROM sys.columns WHERE object_id = OBJECT_ID('guided') ORDER BY column_id
----
affected 1
[id uniqueidentifier]
00112233-4455-6677-8899-AABBCCDDEEFF
[other uniqueidentifier,  int,  int]
00112233-4455-6677-8899-AABBCCDDEEFF | 1 | 1
[name nvarchar(128) null, is_rowguidcol bit]
n | 0
id | 1

CREATE TABLE twice (a uniqueidentifier ROWGUIDCOL, b uniqueidentifier ROWGUIDCOL)
----
error 8196

CREATE TABLE wrong (a int ROWGUIDCOL)
----
error 40515

SELECT $ROWGUID FROM sys.objects
----
error 207
