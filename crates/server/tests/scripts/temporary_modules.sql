CREATE PROCEDURE #tp @a int = 3 AS SELECT @a * 2 AS twice
----

EXEC #tp
EXEC #tp @a = 5
----
6
10

EXEC tempdb..#tp 4
----
8

CREATE PROCEDURE #tp AS SELECT 1
----
error 2714: There is already an object named '#tp' in the database.

ALTER PROCEDURE #tp @a int = 3 AS SELECT @a * 3 AS thrice
----

EXEC #tp
SELECT COUNT(*) FROM tempdb.sys.procedures WHERE name = '#tp'
----
9
1

-- @other
EXEC #tp
----
error 2812: Could not find stored procedure '#tp'.

-- @other
CREATE PROCEDURE #tp AS SELECT 'other' AS w
----

-- @other
EXEC #tp
----
other

EXEC #tp
----
9

CREATE TABLE here (a int)
INSERT here VALUES (42)
----

CREATE PROCEDURE #reads AS CREATE TABLE #inner (a int) INSERT #inner SELECT a FROM here SELECT * FROM #inner
----

EXEC #reads
EXEC #reads
----
42
42

BEGIN TRAN
EXEC ('CREATE PROCEDURE #rolled AS SELECT 1')
ROLLBACK
EXEC #rolled
----
error 2812

DROP PROCEDURE #tp
EXEC #tp
----
error 2812: Could not find stored procedure '#tp'.

DROP PROCEDURE IF EXISTS #tp
CREATE TABLE #t (a int)
INSERT #t VALUES (1)
SELECT * FROM #t
----
1

CREATE VIEW #v AS SELECT 1 AS a
----
error 4508

CREATE PROCEDURE ##gp AS SELECT 'everybody' AS w
----

-- @other
EXEC ##gp
----
everybody

CREATE TABLE ##g (id int PRIMARY KEY, v varchar(10))
INSERT ##g VALUES (1, 'one'), (2, 'two')
----

-- @other
SELECT * FROM ##g ORDER BY id
SELECT COUNT(*) FROM tempdb..##g
UPDATE ##g SET v = 'zwei' WHERE id = 2
INSERT ##g VALUES (1, 'again')
----
1 | one
2 | two
2
error 2627

SELECT v FROM ##g WHERE id = 2
----
zwei

-- @other
CREATE TABLE ##g (a int)
----
error 2714: There is already an object named '##g' in the database.

-- @other
SELECT 7 AS a INTO ##h
CREATE INDEX i ON ##h (a)
ALTER TABLE ##h ADD b int NULL
----

SELECT a, b FROM ##h
SELECT CASE WHEN OBJECT_ID('tempdb..##h') IS NULL THEN 'no' ELSE 'yes' END
SELECT name FROM tempdb.sys.tables WHERE name LIKE '##%' ORDER BY name
----
7 | NULL
yes
##g
##h

-- @third
BEGIN TRAN
INSERT ##g VALUES (3, 'three')
ROLLBACK
SELECT COUNT(*) FROM ##g
DROP TABLE ##g
----
2

SELECT * FROM ##g
----
error 208: Invalid object name '##g'.
