CREATE TABLE #t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, a int NULL, b varchar(10) NOT NULL DEFAULT 'x')
INSERT #t (id, a) VALUES (3, 30), (1, 10), (2, NULL)
CREATE UNIQUE INDEX ua ON #t (a) WHERE a IS NOT NULL
CREATE INDEX ib ON #t (b) INCLUDE (a)
SELECT id FROM #t
SELECT id FROM #t WHERE a = 30
SELECT name, is_unique FROM tempdb.sys.indexes WHERE object_id = OBJECT_ID('tempdb..#t') ORDER BY index_id
----
1
2
3
3
pk | 1
ua | 1
ib | 0

INSERT #t VALUES (3, 31, 'y')
----
error 2627: Violation of PRIMARY KEY constraint 'pk'. Cannot insert duplicate key in object 'dbo.#t'. The duplicate key value is (3).

INSERT #t VALUES (4, 10, 'y')
----
error 2601: Cannot insert duplicate key row in object 'dbo.#t' with unique index 'ua'. The duplicate key value is (10).

UPDATE #t SET a = 10 WHERE id = 3
----
error 2601

UPDATE #t SET a = 31, b = 'long enough' WHERE id = 3
----
error 2628

UPDATE #t SET a = 31, b = 'longer' WHERE id = 3
DELETE #t WHERE b = 'x' AND a IS NULL
SELECT id, a, b FROM #t ORDER BY id DESC
SELECT id FROM #t WHERE a BETWEEN 11 AND 40
----
3 | 31 | longer
1 | 10 | x
3

BEGIN TRAN
UPDATE #t SET id = id + 10
CREATE INDEX more ON #t (b DESC)
ROLLBACK
SELECT id FROM #t ORDER BY id
SELECT COUNT(*) FROM tempdb.sys.indexes WHERE object_id = OBJECT_ID('tempdb..#t')
----
1
3
3

BEGIN TRAN
INSERT #t VALUES (5, 50, 'five')
SAVE TRAN here
DELETE #t
CREATE TABLE #later (a int)
ROLLBACK TRAN here
COMMIT
SELECT id FROM #t ORDER BY id
SELECT COALESCE(OBJECT_ID('tempdb..#later'), 0)
----
1
3
5
0

-- @other
SELECT * FROM #t
----
error 208: Invalid object name '#t'.

-- @other
CREATE TABLE #t (other varchar(5) PRIMARY KEY)
INSERT #t VALUES ('mine')
SELECT * FROM #t
SELECT name FROM tempdb.sys.tables
----
mine
#t

-- @other
DROP TABLE #t
----

SELECT COUNT(*) FROM #t
DROP INDEX ua ON #t
INSERT #t VALUES (6, 10, 'six')
TRUNCATE TABLE #t
SELECT COUNT(*) FROM #t
INSERT #t (id) VALUES (1)
ALTER TABLE #t ADD c decimal(5, 2) NOT NULL DEFAULT 1.5
ALTER TABLE #t ADD CONSTRAINT uc UNIQUE (c)
SELECT id, c FROM #t
----
3
0
1 | 1.50

INSERT #t (id) VALUES (2)
----
error 2627: Violation of UNIQUE KEY constraint 'uc'. Cannot insert duplicate key in object 'dbo.#t'. The duplicate key value is (1.50).

MERGE #t AS t USING (VALUES (1, 7), (2, 8)) AS s (id, c) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET c = s.c WHEN NOT MATCHED THEN INSERT (id, c) VALUES (s.id, s.c);
SELECT id, c FROM #t ORDER BY c DESC
DROP TABLE #t
----
2 | 8.00
1 | 7.00

CREATE TABLE #heap (a int, b nvarchar(max))
INSERT #heap VALUES (1, REPLICATE(CAST(N'long' AS nvarchar(max)), 5000)), (2, N'short')
UPDATE #heap SET b = b + N'!' WHERE a = 1
DELETE FROM #heap WHERE a = 2
SELECT a, LEN(b) FROM #heap
SELECT a INTO #copy FROM #heap
SELECT * FROM #copy
----
1 | 20001
1

-- A procedure's tables go with it; those of its caller are seen by it.
CREATE PROCEDURE inner_one AS CREATE TABLE #own (a int PRIMARY KEY) INSERT #own SELECT a FROM #copy SELECT a FROM #own
----

EXEC inner_one
EXEC inner_one
SELECT COALESCE(OBJECT_ID('tempdb..#own'), 0)
----
1
1
0

-- A table of the same name is one of its own on each level, and hides that of the caller.
CREATE PROCEDURE same_name @deeper int AS
CREATE TABLE #level (x int PRIMARY KEY)
INSERT #level VALUES (@deeper)
IF @deeper > 2 BEGIN SET @deeper -= 1 EXEC same_name @deeper END
EXEC('CREATE TABLE #level (y varchar(5)) INSERT #level VALUES (''text'') SELECT y FROM #level DROP TABLE #level SELECT x FROM #level')
CREATE INDEX ix ON #level (x)
ALTER TABLE #level ADD more int
SELECT x, more FROM #level
----

CREATE TABLE #level (x int)
INSERT #level VALUES (99)
EXEC same_name 3
SELECT * FROM #level
BEGIN TRAN
EXEC same_name 2
ROLLBACK
SELECT * FROM #level
EXEC('SELECT 5 AS z INTO #level INSERT #level VALUES (6) SELECT z FROM #level')
SELECT * FROM #level
SELECT COUNT(*) FROM tempdb.sys.tables WHERE name = '#level'
CREATE TABLE #level (x int)
----
text
2
2 | NULL
text
3
3 | NULL
99
text
2
2 | NULL
99
5
6
99
1
error 2714

DROP TABLE #level
----

BEGIN TRAN
EXEC inner_one
ROLLBACK
SELECT COALESCE(OBJECT_ID('tempdb..#own'), 0)
----
1
0

-- ## is everybody's, with its indexes.
CREATE TABLE ##g (id int PRIMARY KEY, v int)
INSERT ##g VALUES (1, 1), (2, 2)
CREATE UNIQUE INDEX uv ON ##g (v)
----

-- @other
UPDATE ##g SET v = 3 WHERE id = 2
INSERT ##g VALUES (3, 3)
----
error 2601

SELECT id, v FROM ##g ORDER BY id
DROP TABLE ##g
----
1 | 1
2 | 3

-- SNAPSHOT reads what its transaction has put there itself.
CREATE DATABASE snap; ALTER DATABASE snap SET ALLOW_SNAPSHOT_ISOLATION ON
----

USE snap
CREATE TABLE t (a int)
INSERT t VALUES (1)
CREATE TABLE #s (a int PRIMARY KEY)
SET TRANSACTION ISOLATION LEVEL SNAPSHOT
BEGIN TRAN
INSERT #s SELECT a FROM t
INSERT #s VALUES (2)
UPDATE #s SET a = a + 1 WHERE a = 2
SELECT a FROM #s
SELECT 5 AS b INTO #made
INSERT #made VALUES (6)
SELECT b FROM #made ORDER BY b
COMMIT
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
SELECT COUNT(*) FROM #s
----
1
3
5
6
2

-- One transaction over a database and tempdb.
BEGIN TRAN
INSERT t VALUES (10)
INSERT #s VALUES (10)
ROLLBACK
BEGIN TRAN
INSERT t VALUES (20)
INSERT #s VALUES (20)
COMMIT
SELECT a FROM t ORDER BY a
SELECT a FROM #s ORDER BY a
USE master
----
1
20
1
3
20

CREATE TABLE #r (id int IDENTITY(5, 5) PRIMARY KEY, v rowversion, n AS id * 2)
INSERT #r DEFAULT VALUES
INSERT #r DEFAULT VALUES
SELECT id, n FROM #r
TRUNCATE TABLE #r
INSERT #r DEFAULT VALUES
SELECT id FROM #r
SELECT SCOPE_IDENTITY()
----
5 | 10
10 | 20
5
5
