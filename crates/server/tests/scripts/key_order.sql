CREATE TABLE o (a int NULL, b int NOT NULL, c varchar(10)); CREATE CLUSTERED INDEX k ON o (a DESC, b); INSERT o SELECT NULLIF(value % 100, 0), value, CONCAT('c', value % 7) FROM GENERATE_SERIES(0, 19999)
----

SELECT TOP (3) a, b FROM o WHERE a <= 5 ORDER BY a DESC, b
----
5 | 5
5 | 105
5 | 205

SELECT TOP (2) a, b FROM o WHERE a <= 2 ORDER BY a DESC, b DESC; SELECT TOP (2) a, b FROM o WHERE a <= 2 ORDER BY a, b
----
2 | 19902
2 | 19802
1 | 1
1 | 101

SELECT TOP (2) a, b FROM o WHERE a <= 1 OR a IS NULL ORDER BY a DESC, b; SELECT TOP (2) a, b FROM o ORDER BY a, b
----
1 | 1
1 | 101
NULL | 0
NULL | 100

SELECT TOP (2) b, a FROM o WHERE a <= 3 ORDER BY b; SELECT TOP (2) c, b FROM o WHERE a <= 3 ORDER BY c DESC, b
----
1 | 1
2 | 2
c6 | 202
c6 | 503

SELECT a, b FROM o WHERE a <= 3 ORDER BY a DESC, b OFFSET 199 ROWS FETCH NEXT 2 ROWS ONLY
----
3 | 19903
2 | 2

SELECT COUNT(*) FROM (SELECT b, LAG(b) OVER (PARTITION BY a ORDER BY b) AS before FROM o WHERE a <= 50) AS x WHERE before >= b; SELECT a, COUNT(*), MIN(b) FROM o WHERE a <= 2 GROUP BY a ORDER BY a
----
0
1 | 200 | 1
2 | 200 | 2

CREATE TABLE t (s varchar(10) COLLATE Latin1_General_CI_AS PRIMARY KEY); INSERT t SELECT CONCAT(CASE value % 2 WHEN 0 THEN 'B' ELSE 'a' END, value) FROM GENERATE_SERIES(1, 9999)
----

SELECT TOP (2) s FROM t WHERE s >= 'a9998' ORDER BY s; SELECT TOP (2) s FROM t WHERE s >= 'a' ORDER BY s DESC
----
a9999
B10
B9998
B9996

CREATE TABLE d (x int, gone int, c AS x + 1, k int NOT NULL CONSTRAINT pk PRIMARY KEY); INSERT d (x, gone, k) SELECT 20000 - value, value % 3, value FROM GENERATE_SERIES(0, 19999); ALTER TABLE d DROP COLUMN gone
----

SELECT TOP (2) k, x, c FROM d WHERE k >= 5 ORDER BY k; SELECT TOP (2) c, k FROM d WHERE k >= 5 ORDER BY x, c; SELECT TOP (1) x FROM d WHERE k >= 5 AND x > 100 ORDER BY k DESC
----
5 | 19995 | 19996
6 | 19994 | 19995
2 | 19999
3 | 19998
101

BEGIN TRANSACTION; UPDATE d SET k = -k WHERE k BETWEEN 10 AND 19; INSERT d (x, k) VALUES (7, 100000), (8, -5)
----

SELECT TOP (3) k FROM d WHERE k >= -100 ORDER BY k; SELECT TOP (2) k FROM d WHERE k >= 8 ORDER BY k; SELECT TOP (1) k FROM d WHERE k >= 19998 ORDER BY k DESC; ROLLBACK
----
-19
-18
-17
8
9
100000

SET SHOWPLAN_TEXT ON
----

SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a DESC, b
----
[StmtText nvarchar(max) null]
SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a DESC, b
[StmtText nvarchar(max) null]
Path(Full)
  |--Top
       |--Filter
            |--Clustered Index Seek(OBJECT:([master].[dbo].[o]), SEEK:([a]>=5))

SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a, b
----
[StmtText nvarchar(max) null]
SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a, b
[StmtText nvarchar(max) null]
Path(Full)
  |--Sort(Top N Sort)
       |--Filter
            |--Clustered Index Seek(OBJECT:([master].[dbo].[o]), SEEK:([a]>=5))

SELECT TOP (1) s FROM t WHERE s >= 'a' ORDER BY s
----
[StmtText nvarchar(max) null]
SELECT TOP (1) s FROM t WHERE s >= 'a' ORDER BY s
[StmtText nvarchar(max) null]
Path(Full)
  |--Sort(Top N Sort)
       |--Filter
            |--Clustered Index Seek(OBJECT:([master].[dbo].[t]), SEEK:([s]>='a'))
