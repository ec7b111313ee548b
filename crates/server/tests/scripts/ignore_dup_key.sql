-- Rows whose keys are there already are left out by INSERT, with a notice and no error.
CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY WITH (IGNORE_DUP_KEY = ON), a varchar(10) NULL, b int NULL, n int IDENTITY)
CREATE UNIQUE INDEX ux_a ON t (a) WITH (IGNORE_DUP_KEY = ON)
CREATE UNIQUE INDEX ux_b ON t (b)
SELECT name, ignore_dup_key FROM sys.indexes WHERE object_id = OBJECT_ID('t') ORDER BY index_id
INSERT t VALUES (1, 'x', 1), (1, 'y', 2), (2, 'X ', 3), (3, NULL, 4), (4, NULL, 5)
SELECT @@ROWCOUNT, @@ERROR
SELECT id, a, b, n FROM t ORDER BY id
----
pk_t | 1
ux_a | 1
ux_b | 0
info: Duplicate key was ignored.
affected 2
2 | 0
1 | x | 1 | 1
3 | NULL | 4 | 4

-- Nothing is said when nothing is left out, and a key that ignores nothing is still an error.
INSERT t VALUES (5, 'five', 5)
INSERT t VALUES (5, 'six', 5)
INSERT t VALUES (6, 'six', 5)
----
affected 1
info: Duplicate key was ignored.
affected 0
error 2601: Cannot insert duplicate key row in object 'dbo.t' with unique index 'ux_b'. The duplicate key value is (5).

-- Of an INSERT of a query, within a transaction, and through OUTPUT: what stays is what counts.
BEGIN TRANSACTION
INSERT t (id, a, b) OUTPUT inserted.id SELECT value, CONCAT('row ', value), value + 100 FROM GENERATE_SERIES(1, 8)
DELETE t WHERE id = 3
INSERT t (id, a) VALUES (3, 'again')
ROLLBACK
SELECT COUNT(*), MAX(id) FROM t
----
2
4
6
7
8
info: Duplicate key was ignored.
3 | 5

-- UPDATE and MERGE take no notice of it.
UPDATE t SET id = 1 WHERE id = 5
----
error 2627

MERGE t USING (VALUES (9, 'X')) s (id, a) ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a);
----
error 2601

-- Many rows, in batches, of a procedure and of a file.
CREATE TABLE big (id bigint NOT NULL, f float NULL, CONSTRAINT uq_big UNIQUE NONCLUSTERED (id) WITH (IGNORE_DUP_KEY = ON))
INSERT big SELECT value % 3000, value FROM GENERATE_SERIES(1, 20000)
INSERT big WITH (TABLOCK) SELECT value, 0 FROM GENERATE_SERIES(2990, 3010)
SELECT COUNT(*), COUNT(DISTINCT id), MAX(f) FROM big
INSERT big EXEC ('SELECT 1, 1 UNION ALL SELECT 5000, 1')
----
info: Duplicate key was ignored.
affected 3000
info: Duplicate key was ignored.
affected 11
3011 | 3011 | 3000
info: Duplicate key was ignored.
affected 1

-- A key that no range finds.
CREATE TABLE floats (f float NULL, CONSTRAINT uq_floats UNIQUE (f) WITH (IGNORE_DUP_KEY = ON))
INSERT floats VALUES (1.5), (NULL)
INSERT floats VALUES (2.5), (1.5), (NULL)
SELECT COUNT(*) FROM floats
----
affected 2
info: Duplicate key was ignored.
affected 1
3

-- Switched on and off.
CREATE TABLE s (a int NULL)
CREATE UNIQUE INDEX ux_s ON s (a)
INSERT s VALUES (1)
ALTER INDEX ux_s ON s SET (IGNORE_DUP_KEY = ON)
INSERT s VALUES (1)
ALTER INDEX ux_s ON s REBUILD WITH (IGNORE_DUP_KEY = OFF)
INSERT s VALUES (1)
----
affected 1
info: Duplicate key was ignored.
affected 0
error 2601

ALTER INDEX pk_t ON t SET (IGNORE_DUP_KEY = OFF)
----
error 1979

CREATE INDEX ix_s ON s (a)
ALTER INDEX ix_s ON s REBUILD WITH (IGNORE_DUP_KEY = ON)
----
error 1916

-- Temporary tables and table variables alike.
CREATE TABLE #t (id int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))
INSERT #t VALUES (1), (2), (1)
INSERT #t VALUES (2), (3)
DECLARE @t TABLE (id int PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))
INSERT @t VALUES (7), (7)
SELECT (SELECT COUNT(*) FROM #t), (SELECT COUNT(*) FROM @t)
----
info: Duplicate key was ignored.
info: Duplicate key was ignored.
info: Duplicate key was ignored.
3 | 1

-- A reference is checked for the rows that stay.
CREATE TABLE child (id int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON), p int NULL REFERENCES t (id))
INSERT child VALUES (1, 1), (1, 77)
INSERT child VALUES (2, 77)
----
info: Duplicate key was ignored.
error 547
