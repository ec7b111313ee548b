CREATE TYPE dbo.code FROM varchar(11) NOT NULL
CREATE TYPE note FROM nvarchar(100)
CREATE TYPE dbo.ids AS TABLE (id int NOT NULL PRIMARY KEY, name varchar(10) NULL DEFAULT 'none', n int IDENTITY(1, 1), twice AS id * 2)
----

CREATE TYPE dbo.code FROM int
----
error 219: The type 'dbo.code' already exists, or you do not have permission to create it.

CREATE TYPE int FROM varchar(3)
----
error 219

CREATE TYPE bad AS TABLE (a nosuchtype)
----
error 2715: Column, parameter, or variable #1: Cannot find data type nosuchtype.

SELECT name, system_type_id, user_type_id, max_length, is_nullable, is_user_defined, is_table_type FROM sys.types WHERE is_user_defined = 1 ORDER BY name
----
code | 167 | 257 | 11 | 0 | 1 | 0
ids | 243 | 259 | -1 | 0 | 1 | 1
note | 231 | 258 | 200 | 1 | 1 | 0

SELECT t.name, c.name AS col, c.is_nullable, c.is_identity FROM sys.table_types AS t JOIN sys.columns AS c ON c.object_id = t.type_table_object_id ORDER BY c.column_id
----
ids | id | 0 | 0
ids | name | 1 | 0
ids | n | 0 | 1
ids | twice | 1 | 0

SELECT TYPE_NAME(TYPE_ID('dbo.ids')), TYPE_ID('nosuch')
----
ids | NULL

CREATE TABLE part (id code, remark dbo.note, other code NULL)
----

SELECT name, TYPE_NAME(user_type_id), TYPE_NAME(system_type_id), is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('part')
----
id | code | varchar | 0
remark | note | nvarchar | 1
other | code | varchar | 1

SELECT COLUMN_NAME, DATA_TYPE, DOMAIN_SCHEMA, DOMAIN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'part'
----
id | varchar | dbo | code
remark | nvarchar | dbo | note
other | varchar | dbo | code

INSERT part (remark) VALUES ('x')
----
error 515

DECLARE @c dbo.code = 'abcdefghijklmnop' SELECT @c AS c
----
[c varchar(11) null]
abcdefghijk

DECLARE @c nosuch
----
error 2715: Column, parameter, or variable #1: Cannot find data type nosuch.

ALTER TABLE part ADD more dbo.note, wrong dbo.ids
----
error 350: The column "wrong" does not have a valid data type. A column cannot be of a user-defined table type.

ALTER TABLE part ADD more note
ALTER TABLE part ALTER COLUMN other note
----

SELECT name, TYPE_NAME(user_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('part') AND column_id > 2
----
other | note
more | note

DECLARE @t dbo.ids
INSERT @t (id, name) VALUES (2, 'b'), (1, 'a')
INSERT @t (id) VALUES (3)
UPDATE @t SET name = 'B' WHERE id = 2
SELECT * FROM @t ORDER BY id
----
affected 2
affected 1
affected 1
[id int, name varchar(10) null, n int, twice int null]
1 | a | 2 | 2
2 | B | 1 | 4
3 | none | 3 | 6

DECLARE @t dbo.ids
INSERT @t (id) VALUES (1), (1)
----
error 2627

CREATE PROCEDURE count_ids @list dbo.ids READONLY, @extra int = 5, @sum int OUTPUT AS
SELECT @sum = SUM(id) + @extra FROM @list
SELECT l.id, p.remark FROM @list AS l LEFT JOIN part AS p ON p.id = l.name ORDER BY l.id
----

DECLARE @t dbo.ids, @sum int
INSERT @t (id, name) VALUES (4, 'd'), (7, 'g')
EXEC count_ids @t, DEFAULT, @sum OUTPUT
EXEC count_ids @list = @t, @extra = 1, @sum = @sum OUTPUT
SELECT @sum AS s, COUNT(*) AS kept FROM @t
----
4 | NULL
7 | NULL
4 | NULL
7 | NULL
12 | 2

DECLARE @s int EXEC count_ids @sum = @s OUTPUT SELECT @s
----
NULL

DECLARE @s int EXEC count_ids DEFAULT, 1, @s OUTPUT
----

CREATE PROCEDURE outer_ids @list dbo.ids READONLY AS
DECLARE @s int
EXEC count_ids @list, 0, @s OUTPUT
SELECT @s AS s
----

DECLARE @t ids INSERT @t (id) VALUES (9) EXEC outer_ids @t
----
9 | NULL
9

SELECT name, TYPE_NAME(user_type_id), is_readonly, is_output FROM sys.parameters WHERE object_id = OBJECT_ID('count_ids') ORDER BY parameter_id
----
@list | ids | 1 | 0
@extra | int | 0 | 0
@sum | int | 0 | 1

CREATE PROCEDURE writes_ids @list dbo.ids READONLY AS INSERT @list (id) VALUES (1)
----

DECLARE @t ids EXEC writes_ids @t
----
error 10700: The table-valued parameter "@list" is READONLY and cannot be modified.

CREATE PROCEDURE loose @list dbo.ids AS SELECT 1
----
error 352: The table-valued parameter "@list" must be declared with the READONLY option.

CREATE PROCEDURE tight @a int READONLY AS SELECT 1
----
error 346: The parameter "@a" can not be declared READONLY since it is not a table-valued parameter.

CREATE FUNCTION of_ids (@list dbo.ids READONLY) RETURNS int AS BEGIN RETURN 1 END
----
error 40515

DECLARE @s int EXEC count_ids 5, 1, @s OUTPUT
----
error 206: Operand type clash: int is incompatible with ids

DECLARE @t TABLE (id int NOT NULL PRIMARY KEY) DECLARE @s int EXEC count_ids @t, 1, @s OUTPUT
----
error 206: Operand type clash: table is incompatible with ids

DECLARE @t ids INSERT @t (id) VALUES (3), (5)
EXEC sp_executesql N'SELECT SUM(id) + @more FROM @rows', N'@rows dbo.ids READONLY, @more int', @rows = @t, @more = 100
----
108

CREATE FUNCTION shorten (@text note) RETURNS code AS BEGIN RETURN LEFT(@text, 3) END
----

SELECT dbo.shorten(N'abcdef')
----
abc

DROP TYPE dbo.ids
----
error 3732: Cannot drop type 'dbo.ids' because it is being referenced by object 'count_ids'. There may be other objects that reference this type.

DROP TYPE note
----
error 3732: Cannot drop type 'note' because it is being referenced by object 'part'. There may be other objects that reference this type.

DROP PROCEDURE count_ids, outer_ids, writes_ids
DROP FUNCTION shorten
DROP TABLE part
DROP TYPE dbo.ids
DROP TYPE note
DROP TYPE IF EXISTS nosuch
----

IF 1 = 0 DROP TYPE nosuch
DROP TYPE nosuch
----
error 218: Could not find the type 'nosuch'. Either it does not exist or you do not have the necessary permission.

BEGIN TRAN
CREATE TYPE gone FROM int
ROLLBACK
SELECT COUNT(*) FROM sys.types WHERE name = 'gone'
----
0

CREATE SCHEMA sales
CREATE TYPE sales.amount FROM decimal(10, 2)
CREATE TABLE amount (a sales.amount)
INSERT amount VALUES (1.239)
SELECT a FROM amount
----
[a decimal(10, 2) null]
1.24

CREATE TYPE mem AS TABLE (a int) WITH (MEMORY_OPTIMIZED = ON)
----
error 40515
