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
            |--Clustered Index Seek(OBJECT:([master].[dbo].[o]), SEEK:([a]<=5))

SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a, b
----
[StmtText nvarchar(max) null]
SELECT TOP (1) a, b FROM o WHERE a <= 5 ORDER BY a, b
[StmtText nvarchar(max) null]
Path(Full)
  |--Sort(Top N Sort)
       |--Filter
            |--Clustered Index Seek(OBJECT:([master].[dbo].[o]), SEEK:([a]<=5))

SELECT TOP (1) s FROM t WHERE s >= 'a' ORDER BY s
----
[StmtText nvarchar(max) null]
SELECT TOP (1) s FROM t WHERE s >= 'a' ORDER BY s
[StmtText nvarchar(max) null]
Path(Full)
  |--Sort(Top N Sort)
       |--Filter
            |--Clustered Index Seek(OBJECT:([master].[dbo].[t]), SEEK:([s]>='a'))

SET SHOWPLAN_TEXT OFF
----

CREATE TABLE p (k int NOT NULL, s smallint NULL, v varchar(12), CONSTRAINT pk_p PRIMARY KEY (k)); INSERT p SELECT value * 3, NULLIF(value % 50, 7), CONCAT('v', value) FROM GENERATE_SERIES(0, 19999)
----

SELECT * FROM p WHERE k >= 59985 AND k < 59994; SELECT v FROM p AS x WHERE 59991 < x.k; SELECT v, k FROM p WHERE k BETWEEN 29990 AND 29996 ORDER BY k; SELECT k FROM p WHERE k < 3; SELECT k FROM p WHERE k <= 3; SELECT k FROM p WHERE k > 59997; SELECT k FROM p WHERE k > 10 AND k < 12
----
[k int, s smallint null, v varchar(12) null]
59985 | 45 | v19995
59988 | 46 | v19996
59991 | 47 | v19997
[v varchar(12) null]
v19998
v19999
[v varchar(12) null, k int]
v9997 | 29991
v9998 | 29994
[k int]
0
[k int]
0
3
[k int]
[k int]

DECLARE @from bigint = 59990, @before tinyint = 7; SELECT v FROM p WHERE k >= @from; SELECT v FROM p WHERE k < @before
----
[v varchar(12) null]
v19997
v19998
v19999
[v varchar(12) null]
v0
v1
v2

SELECT TOP (2) k, v FROM p ORDER BY k DESC; SELECT TOP (2) k, v FROM p ORDER BY k; SELECT TOP (1) v FROM p WHERE s = 6 ORDER BY k DESC; SELECT TOP (1) v FROM p WHERE k < 59000 ORDER BY k DESC; SELECT k FROM p ORDER BY k DESC OFFSET 3 ROWS FETCH NEXT 1 ROWS ONLY
----
[k int, v varchar(12) null]
59997 | v19999
59994 | v19998
[k int, v varchar(12) null]
0 | v0
3 | v1
[v varchar(12) null]
v19956
[v varchar(12) null]
v19666
[k int]
59988

SELECT MIN(k), MAX(k) FROM p; SELECT MAX(k) AS m, MAX(k) FROM p WHERE k < 100; SELECT MIN(k) FROM p WHERE s IS NULL AND k > 30000; SELECT MIN(k), MAX(k) FROM p WHERE k > 60000; SELECT MAX(k) + 1 FROM p HAVING MAX(k) > 5; SELECT MIN(k), COUNT(*) FROM p
----
[ int null,  int null]
0 | 59997
[m int null,  int null]
99 | 99
[ int null]
30021
[ int null,  int null]
NULL | NULL
[ int null]
59998
[ int null,  int]
0 | 20000

SELECT MIN(a), MAX(a) FROM o; SELECT TOP (2) a, b FROM o ORDER BY a DESC, b; SELECT TOP (2) a, b FROM o ORDER BY a, b DESC; SELECT TOP (2) a, b FROM o ORDER BY a DESC; SELECT a, b FROM o WHERE a >= 99 AND b > 19800
----
[ int null,  int null]
1 | 99
[a int null, b int]
99 | 99
99 | 199
[a int null, b int]
NULL | 19900
NULL | 19800
[a int null, b int]
99 | 99
99 | 199
[a int null, b int]
99 | 19899
99 | 19999

SELECT a, b FROM o WHERE a < 2 AND b < 200; SELECT COUNT(*) FROM o WHERE a < 2; SELECT COUNT(*) FROM (SELECT TOP (250) a FROM o ORDER BY a) AS x WHERE a IS NULL
----
[a int null, b int]
1 | 1
1 | 101
[ int]
200
[ int]
200

BEGIN TRAN; DELETE p WHERE k > 59900; INSERT p VALUES (70000, 1, 'new'); UPDATE p SET v = 'changed' WHERE k = 59898; SELECT k, v FROM p WHERE k > 59893; SELECT TOP (1) k FROM p ORDER BY k DESC; SELECT MAX(k) FROM p; ROLLBACK; SELECT MAX(k), MIN(v) FROM p WHERE k > 59990
----
affected 33
affected 1
affected 1
[k int, v varchar(12) null]
59895 | v19965
59898 | changed
70000 | new
[k int]
70000
[ int null]
70000
[ int null,  varchar(12) null]
59997 | v19997

SET SHOWPLAN_TEXT ON
----

SELECT * FROM p WHERE k >= 5 AND k < 9
----
[StmtText nvarchar(max) null]
SELECT * FROM p WHERE k >= 5 AND k < 9
[StmtText nvarchar(max) null]
Path(Plain)
  |--Clustered Index Seek(OBJECT:([master].[dbo].[p]), SEEK:([k]>=5 AND [k]<9))

SELECT k FROM p ORDER BY k
----
[StmtText nvarchar(max) null]
SELECT k FROM p ORDER BY k
[StmtText nvarchar(max) null]
Path(Plain)
  |--Clustered Index Scan(OBJECT:([master].[dbo].[p]))

SELECT TOP (5) k FROM p ORDER BY k DESC
----
[StmtText nvarchar(max) null]
SELECT TOP (5) k FROM p ORDER BY k DESC
[StmtText nvarchar(max) null]
Path(Full)
  |--Top
       |--Clustered Index Scan(OBJECT:([master].[dbo].[p]))

SELECT MIN(k), MAX(k) FROM p
----
[StmtText nvarchar(max) null]
SELECT MIN(k), MAX(k) FROM p
[StmtText nvarchar(max) null]
Path(Full)
  |--Stream Aggregate
       |--Stream Aggregate
            |--Concatenation
                 |--Top
                      |--Clustered Index Scan(OBJECT:([master].[dbo].[p]))
                 |--Top
                      |--Clustered Index Scan(OBJECT:([master].[dbo].[p]))

SELECT MIN(k) FROM p WHERE k > 5 AND s = 3
----
[StmtText nvarchar(max) null]
SELECT MIN(k) FROM p WHERE k > 5 AND s = 3
[StmtText nvarchar(max) null]
Path(Full)
  |--Stream Aggregate
       |--Top
            |--Filter
                 |--Clustered Index Seek(OBJECT:([master].[dbo].[p]), SEEK:([k]>5))
