CREATE TABLE dbo.t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b varchar(9) CONSTRAINT df DEFAULT 'x', CONSTRAINT ck CHECK (a > 0)); CREATE INDEX ix ON t (b)
----

CREATE VIEW v AS SELECT a, b FROM t
----

CREATE PROCEDURE p @x int AS SELECT @x
----

EXEC sp_addextendedproperty 'MS_Description', N'the table', 'schema', 'dbo', 'table', 't'; EXEC sp_addextendedproperty @name = N'MS_Description', @value = N'the column', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N't', @level2type = N'COLUMN', @level2name = N'b'; EXEC sys.sp_addextendedproperty 'n', 7, 'schema', 'dbo', 'table', 't', 'index', 'ix'; EXEC sp_addextendedproperty 'c', 1.5, 'user', 'dbo', 'table', 't', 'constraint', 'ck'; EXEC sp_addextendedproperty 'MS_Description', 'of the view', 'schema', 'dbo', 'view', 'v', 'column', 'b'; EXEC sp_addextendedproperty 'MS_Description', 'of @x', 'schema', 'dbo', 'procedure', 'p', 'parameter', '@x'; EXEC sp_addextendedproperty 'version', '1.0'; EXEC sp_addextendedproperty 'who', 'me', 'schema', 'dbo'
----

SELECT class, class_desc, CASE class WHEN 1 THEN OBJECT_NAME(major_id) END, minor_id, name, value FROM sys.extended_properties ORDER BY class, name, minor_id, CAST(value AS nvarchar(99))
----
[class tinyint, class_desc nvarchar(60) null,  nvarchar(128) null, minor_id int, name nvarchar(128), value sql_variant null]
0 | DATABASE | NULL | 0 | version | 1.0
1 | OBJECT_OR_COLUMN | ck | 0 | c | 1.5
1 | OBJECT_OR_COLUMN | t | 0 | MS_Description | the table
1 | OBJECT_OR_COLUMN | v | 2 | MS_Description | of the view
1 | OBJECT_OR_COLUMN | t | 2 | MS_Description | the column
2 | PARAMETER | NULL | 1 | MS_Description | of @x
3 | SCHEMA | NULL | 0 | who | me
7 | INDEX | NULL | 2 | n | 7

SELECT SQL_VARIANT_PROPERTY(value, 'BaseType') FROM sys.extended_properties WHERE class IN (1, 7) ORDER BY class, name, minor_id, CAST(value AS nvarchar(99))
----
numeric
nvarchar
varchar
nvarchar
int

SELECT * FROM fn_listextendedproperty(N'MS_Description', 'schema', 'dbo', 'table', 't', 'column', default)
----
[objtype nvarchar(128) null, objname nvarchar(128) null, name nvarchar(128), value sql_variant null]
COLUMN | b | MS_Description | the column

SELECT objtype, objname, CAST(value AS nvarchar(max)) FROM ::fn_listextendedproperty(default, 'schema', 'dbo', 'table', default, NULL, NULL)
----
TABLE | t | the table

SELECT objtype, name FROM sys.fn_listextendedproperty(default, default, default, default, default, default, default) UNION ALL SELECT objtype, name FROM sys.fn_listextendedproperty(NULL, 'schema', NULL, NULL, NULL, NULL, NULL)
----
unordered
NULL | version
SCHEMA | who

-- A property is there once, and must be there to be changed.
EXEC sp_addextendedproperty 'MS_Description', 'again', 'schema', 'dbo', 'table', 't'
----
error 15233: Property cannot be added. Property 'MS_Description' already exists for 'dbo.t'.

EXEC sp_updateextendedproperty 'MS_Description', 'another', 'schema', 'dbo', 'table', 't'; SELECT value FROM sys.extended_properties WHERE major_id = OBJECT_ID('t') AND minor_id = 0 AND class = 1
----
another

EXEC sp_updateextendedproperty 'nosuch', 'another', 'schema', 'dbo', 'table', 't'
----
error 15217: Property cannot be updated or deleted. Property 'nosuch' does not exist for 'dbo.t'.

EXEC sp_dropextendedproperty 'version'; EXEC sp_dropextendedproperty 'version'
----
error 15217: Property cannot be updated or deleted. Property 'version' does not exist for 'object specified'.

EXEC sp_addextendedproperty 'n', 'v', 'schema', 'dbo', 'table', 'nosuch'
----
error 15135: Object is invalid. Extended properties are not permitted on 'dbo.nosuch', or the object does not exist.

EXEC sp_addextendedproperty 'n', 'v', 'schema', 'dbo', 'table', 't', 'column', 'nosuch'
----
error 15135: Object is invalid. Extended properties are not permitted on 'dbo.t.nosuch', or the object does not exist.

EXEC sp_addextendedproperty 'n', 'v', 'schema', 'dbo', 'table'
----
error 15600: An invalid parameter or option was specified for procedure 'sp_addextendedproperty'.

-- They roll back with the transaction, and go with what they belong to.
BEGIN TRAN; EXEC sp_addextendedproperty 'tried', 'v', 'schema', 'dbo', 'table', 't'; ROLLBACK; SELECT COUNT(*) FROM sys.extended_properties WHERE name = 'tried'
----
0

ALTER TABLE t ADD z int; EXEC sp_addextendedproperty 'z', 'v', 'schema', 'dbo', 'table', 't', 'column', 'z'; ALTER TABLE t DROP COLUMN z; ALTER TABLE t ADD y int; DROP INDEX ix ON t; ALTER TABLE t DROP CONSTRAINT ck; SELECT name FROM sys.extended_properties WHERE class IN (1, 7) AND major_id <> OBJECT_ID('v') ORDER BY name
----
MS_Description
MS_Description

EXEC sp_rename 't', 'u'; SELECT OBJECT_NAME(major_id), value FROM sys.extended_properties WHERE class = 1 AND minor_id = 0
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
u | another

DROP VIEW v; DROP PROCEDURE p; DROP TABLE u; SELECT name FROM sys.extended_properties
----
who

CREATE SCHEMA s2
----

EXEC sp_addextendedproperty 'of', 's2', 'schema', 's2'; DROP SCHEMA s2; SELECT name FROM sys.extended_properties
----
who
