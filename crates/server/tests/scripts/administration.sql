SELECT @@DATEFIRST, DATEPART(weekday, '2024-01-01'), DATEPART(week, '2024-01-07'), DATENAME(weekday, '2024-01-01')
----
7 | 2 | 2 | Monday

SET DATEFIRST 1; SELECT @@DATEFIRST, DATEPART(weekday, '2024-01-01'), DATEPART(weekday, '2024-01-07'), DATEPART(week, '2024-01-07'), DATENAME(weekday, '2024-01-01'), DATETRUNC(week, CAST('2024-01-07' AS date))
----
1 | 1 | 7 | 1 | Monday | 2024-01-01

SET DATEFIRST 8
----
error 2742

CREATE TABLE dbo.old (id int NOT NULL CONSTRAINT pk_old PRIMARY KEY, name varchar(20), size int CONSTRAINT ck_size CHECK (size > 0)); CREATE TABLE refers (old_id int CONSTRAINT fk_old REFERENCES old (id)); CREATE INDEX ix_name ON old (name); INSERT old VALUES (1, 'a', 5)
----

EXEC sp_rename 'dbo.old', 'new'
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.

SELECT name FROM new; SELECT OBJECT_NAME(referenced_object_id) FROM sys.foreign_keys; SELECT OBJECT_ID('old')
----
a
new
NULL

INSERT refers VALUES (2)
----
error 547

EXEC sp_rename 'new.name', 'title', 'COLUMN'; EXEC sp_rename @objname = 'new.ix_name', @newname = 'ix_title', @objtype = 'INDEX'; EXEC sp_rename 'fk_old', 'fk_new', 'OBJECT'
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.

SELECT id, title FROM new; SELECT i.name, COL_NAME(ic.object_id, ic.column_id) FROM sys.indexes i JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id WHERE i.name = 'ix_title'; SELECT OBJECT_ID('fk_old'), OBJECT_NAME(OBJECT_ID('fk_new'))
----
1 | a
ix_title | title
NULL | fk_new

EXEC sp_rename 'new.id', 'key_of_new', 'COLUMN'; INSERT refers VALUES (1); SELECT COL_NAME(referenced_object_id, referenced_column_id) FROM sys.foreign_key_columns
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
key_of_new

EXEC sp_rename 'new.size', 'height', 'COLUMN'
----
error 15336

EXEC sp_rename 'nosuch', 'x'
----
error 15225: No item by the name of 'nosuch' could be found in the current database 'master', given that @itemtype was input as '(null)'.

EXEC sp_rename 'new', 'refers'
----
error 15335: Error: The new name 'refers' is already in use as a object name and would cause a duplicate that is not permitted.

EXEC sp_rename 'new', 'x', 'NOSUCH'
----
error 15248: Either the parameter @objname is ambiguous or the claimed @objtype (NOSUCH) is wrong.

-- A rename is undone with its transaction.
BEGIN TRAN; EXEC sp_rename 'new', 'other'; ROLLBACK; SELECT COUNT(*) FROM new
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
1

DECLARE @r int; EXEC @r = sp_getapplock @Resource = 'migration', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0; SELECT @r; EXEC @r = sp_getapplock 'migration', 'Shared', 'Session'; SELECT @r
----
0
0

-- @second
DECLARE @r int; EXEC @r = sp_getapplock @Resource = 'migration', @LockMode = 'Shared', @LockOwner = 'Session', @LockTimeout = 10; SELECT @r; EXEC @r = sp_getapplock 'other', 'Shared', 'Session', 0; SELECT @r
----
-1
0

EXEC sp_releaseapplock 'migration', 'Session'; EXEC sp_releaseapplock 'migration', 'Session'
----

EXEC sp_releaseapplock 'migration', 'Session'
----
error 1223: Cannot release the application lock (Database Principal: 'public', Resource: 'migration') because it is not currently held.

-- @second
DECLARE @r int; EXEC @r = sp_getapplock 'migration', 'Update', 'Session', 0; SELECT @r
----
0

DECLARE @r int; EXEC @r = sp_getapplock 'migration', 'Shared', 'Session', 0; SELECT @r; EXEC @r = sp_getapplock 'migration', 'Exclusive', 'Session', 0; SELECT @r
----
0
-1

-- Of a transaction: only within one, and let go at its end.
DECLARE @r int; EXEC @r = sp_getapplock 'job', 'Exclusive'; SELECT @r; BEGIN TRAN; EXEC @r = sp_getapplock 'job', 'Exclusive'; SELECT @r
----
-999
0

-- @second
DECLARE @r int; EXEC @r = sp_getapplock 'job', 'Exclusive', 'Session', 0; SELECT @r
----
-1

COMMIT
----

-- @second
DECLARE @r int; EXEC @r = sp_getapplock 'job', 'Exclusive', 'Session', 0; SELECT @r
----
0
