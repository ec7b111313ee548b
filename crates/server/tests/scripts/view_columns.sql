CREATE TABLE base (a int, b int)
CREATE TABLE other (k int, y int)
INSERT base VALUES (1, 2)
INSERT other VALUES (1, 9)
----

CREATE VIEW starred AS SELECT * FROM base
----

CREATE VIEW joined AS SELECT base.*, other.y FROM base JOIN other ON k = a
----

CREATE VIEW renamed (p, q) AS SELECT * FROM base
----

CREATE FUNCTION stars() RETURNS TABLE AS RETURN SELECT * FROM base
----

ALTER TABLE base ADD y int NOT NULL DEFAULT 5
----

SELECT * FROM starred
SELECT * FROM joined
SELECT * FROM renamed
SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('starred')
INSERT starred VALUES (3, 4)
SELECT b FROM starred WHERE a = 3
----
1 | 2
1 | 2 | 9
1 | 2
2
4

SELECT y FROM starred
----
error 207

EXEC sp_refreshview 'starred'
SELECT y FROM starred ORDER BY a
EXEC sp_refreshsqlmodule 'dbo.stars'
SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('stars')
EXEC sp_recompile 'base'
----
5
5
3

EXEC sp_refreshview 'nosuch'
----
error 15009

EXEC sp_refreshview 'stars'
----
error 15165

EXEC sp_refreshsqlmodule 'joined'
----
error 4506

ALTER TABLE base DROP COLUMN b
----

SELECT * FROM starred
----
error 4502

CREATE TABLE stamped (id int, v rowversion)
INSERT stamped (id, v) VALUES (1, DEFAULT), (2, DEFAULT)
INSERT stamped VALUES (3, DEFAULT)
SELECT COUNT(DISTINCT v) FROM stamped
----
3

INSERT stamped (id, v) VALUES (4, 0x01)
----
error 273

CREATE TABLE twice (a rowversion, b rowversion)
----
error 2738

WITH j AS (SELECT 7 AS id) INSERT stamped (id) VALUES ((SELECT id FROM j)), (8)
SELECT id FROM stamped WHERE id > 6 ORDER BY id
----
7
8

CREATE FUNCTION summed(@a int, @b int = 5) RETURNS int AS BEGIN RETURN @a + @b END
----

DECLARE @r int
EXEC @r = dbo.summed 1, 2
SELECT @r
EXEC @r = summed 1, DEFAULT
SELECT @r
EXEC @r = summed @b = 3, @a = 1
SELECT @r
EXEC summed 1, 2
----
3
6
4

EXEC summed 1, 2, 3
----
error 8144

CREATE PROCEDURE nullable (@p int NULL, @q int NULL = 4) AS SELECT @p, @q
----

EXEC nullable 1
----
1 | 4

DECLARE @a int SELECT @a = 1 UNION ALL SELECT 1
----
error 10734

SELECT NULLIF(NULL, 2)
----
error 4151

SELECT SUBSTRING(NULL, 1, 3)
----
error 8116

DECLARE @v text
----
error 2739

CREATE FUNCTION waits() RETURNS int AS BEGIN WAITFOR DELAY '0:0:0' RETURN 1 END
----
error 443

CREATE FUNCTION saves() RETURNS int AS BEGIN SAVE TRAN a RETURN 1 END
----
error 443

DECLARE @v nvarchar(random)
----
error 102: Incorrect syntax near 'random'.

DECLARE @v varchar(8001)
----
error 131: The size (8001) given to the type 'varchar' exceeds the maximum allowed for any data type (8000).

DECLARE @v nvarchar(4001)
----
error 2717: The size (4001) given to the type 'nvarchar' exceeds the maximum allowed (4000).

SET LOCK_TIMEOUT 500 SET TEXTSIZE 1000 SET ANSI_NULLS OFF SET CONCAT_NULL_YIELDS_NULL OFF SET DATEFIRST 1 SET ARITHABORT ON SET DEADLOCK_PRIORITY LOW
SELECT lock_timeout, text_size, ansi_nulls, concat_null_yields_null, date_first, arithabort, deadlock_priority FROM sys.dm_exec_sessions WHERE session_id = @@SPID
SET DEADLOCK_PRIORITY 7
SELECT deadlock_priority FROM sys.dm_exec_sessions WHERE session_id = @@SPID
DECLARE @low varchar(10) = 'Normal', @number int = -3
SET DEADLOCK_PRIORITY @low
SELECT deadlock_priority FROM sys.dm_exec_sessions WHERE session_id = @@SPID
SET DEADLOCK_PRIORITY @number
SELECT deadlock_priority FROM sys.dm_exec_sessions WHERE session_id = @@SPID
----
500 | 1000 | 0 | 0 | 1 | 1 | -5
7
0
-3

-- @other
SELECT lock_timeout, deadlock_priority, date_first, text_size FROM sys.dm_exec_sessions WHERE program_name = 'scripts' AND session_id <> @@SPID
----
500 | -3 | 1 | 1000

SET DEADLOCK_PRIORITY 11
----
error 102

DECLARE @far int = 11 SET DEADLOCK_PRIORITY @far
----
error 102

CREATE TABLE parent (v int NOT NULL CONSTRAINT uq UNIQUE)
CREATE TABLE child (v int CONSTRAINT fk REFERENCES parent (v))
ALTER TABLE parent ADD CONSTRAINT pk PRIMARY KEY (v)
SELECT i.name FROM sys.foreign_keys f JOIN sys.indexes i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
ALTER TABLE parent DROP CONSTRAINT pk
ALTER TABLE parent DROP CONSTRAINT uq
----
uq
error 3725: The constraint 'uq' is being referenced by table 'child', foreign key constraint 'fk'.
error 3727

CREATE TYPE shaped AS TABLE (id int PRIMARY KEY, b int UNIQUE, c int CHECK (c > 1) DEFAULT 2, INDEX ix (c))
----

DECLARE @id int = (SELECT type_table_object_id FROM sys.table_types WHERE name = 'shaped')
SELECT type_desc FROM sys.key_constraints WHERE parent_object_id = @id ORDER BY 1
SELECT definition FROM sys.check_constraints WHERE parent_object_id = @id
SELECT definition FROM sys.default_constraints WHERE parent_object_id = @id
SELECT COUNT(*) FROM sys.indexes WHERE object_id = @id
SELECT COUNT(*) FROM sys.index_columns WHERE object_id = @id
----
PRIMARY_KEY_CONSTRAINT
UNIQUE_CONSTRAINT
([c]>(1))
((2))
3
3
