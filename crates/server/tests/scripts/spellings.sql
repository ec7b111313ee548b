CREATE TABLE w (id int, g varchar(5), p money, f float)
INSERT w VALUES (1, 'a', 10.25, 1782.49), (2, 'b', 10.25, 969.42), (3, 'b', 16.8269, 969.42)
----

SELECT id, SUM(id) OVER () AS a, 100.0 * id / SUM(id) OVER () AS b FROM w ORDER BY id
----
1 | 6 | 16.666666666666
2 | 6 | 33.333333333333
3 | 6 | 50.000000000000

SELECT COUNT(*) OVER () AS n, COUNT(*) OVER () AS m, COUNT(*) OVER (PARTITION BY g) AS o, CASE WHEN COUNT(*) OVER (PARTITION BY g) > 1 THEN COUNT(*) OVER (PARTITION BY g) END AS q FROM w ORDER BY id
----
3 | 3 | 1 | NULL
3 | 3 | 2 | 2
3 | 3 | 2 | 2

SELECT ROW_NUMBER() OVER (ORDER BY id) AS a, ROW_NUMBER() OVER (ORDER BY id) % 2 AS b, RANK() OVER (ORDER BY g) AS c, CASE WHEN RANK() OVER (ORDER BY g) = 1 THEN 'first' END AS d FROM w ORDER BY ROW_NUMBER() OVER (ORDER BY id)
----
1 | 1 | 1 | first
2 | 0 | 2 | NULL
3 | 1 | 2 | NULL

SELECT g, SUM(SUM(id)) OVER () AS t, SUM(id) * 100 / SUM(SUM(id)) OVER () AS p FROM w GROUP BY g ORDER BY g
----
a | 6 | 16
b | 6 | 83

SELECT id FROM w ORDER BY COUNT(*) OVER (PARTITION BY g) + id, COUNT(*) OVER (PARTITION BY g)
----
1
2
3

SELECT ISNULL(LAG(id) OVER (ORDER BY id), 0), ISNULL(LAG(id) OVER (ORDER BY id), 0) + 1 FROM w ORDER BY id
----
0 | 1
1 | 2
2 | 3

SELECT q.a + q.b FROM (SELECT AVG(id) OVER () AS a, AVG(id) OVER () + 1 AS b, id FROM w) AS q ORDER BY q.id
----
5
5
5

SELECT ROW_NUMBER() OVER (ORDER BY (SELECT 1)), ROW_NUMBER() OVER (ORDER BY (SELECT 1)) + 1, COUNT(*) OVER (PARTITION BY 'x' + 'y'), COUNT(*) OVER (PARTITION BY 'x' + 'y') FROM (VALUES (1)) AS v(a)
----
1 | 2 | 1 | 1

SELECT CONVERT(varchar(20), AVG(v), 2), CONVERT(varchar(20), AVG(CAST(v AS smallmoney)), 2), CONVERT(varchar(20), AVG(-v), 2) FROM (VALUES ($10.25), ($10.25), ($16.8269), ($16.8269), ($17.7885)) AS t(v)
----
14.3884 | 14.3884 | -14.3884

SELECT AVG(CAST(v AS decimal(10,2))), AVG(CAST(v AS decimal(10,2))) OVER () FROM (VALUES (2), (0), (0)) AS t(v) GROUP BY v ORDER BY v
----
0.000000 | 1.000000
2.000000 | 1.000000

SELECT AVG(CAST(v AS decimal(10,2))), CONVERT(varchar(20), AVG(CAST(v AS money)), 2), SUM(CAST(v AS decimal(10,2))) / COUNT(*) FROM (VALUES (2), (0), (0)) AS t(v)
----
0.666666 | 0.6666 | 0.666666

SELECT DISTINCT CONVERT(varchar(20), AVG(CAST(v AS money)) OVER (), 2) FROM (VALUES (2), (0), (0)) AS t(v)
----
0.6666

SELECT STDEV(f) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), VAR(f) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), VARP(f) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM w WHERE id > 1 ORDER BY id
----
NULL | NULL | 0
0 | 0 | 0

SELECT SUM(x) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), AVG(x) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES (1, 1e20), (2, 1e0), (3, 1e0), (4, NULL), (5, NULL)) AS t(k, x) ORDER BY k
----
1e+020 | 1e+020
1e+020 | 5e+019
2 | 1
1 | 1
NULL | NULL

SELECT NULL AS v UNION ALL SELECT N'def'
----
[v nvarchar(3) null]
NULL
def

SELECT NULL AS v UNION ALL SELECT CAST('2024-01-02' AS date)
----
[v date null]
NULL
2024-01-02

SELECT NULL AS v UNION SELECT 0x01 ORDER BY v
----
[v varbinary(1) null]
NULL
0x01

SELECT NULL AS v EXCEPT SELECT 'x'
----
[v varchar(1) null]
NULL

(SELECT NULL AS v UNION ALL SELECT NULL) UNION ALL SELECT NEWID() WHERE 1 = 0
----
[v uniqueidentifier null]
NULL
NULL

WITH c AS (SELECT 1 AS id, NULL AS d UNION ALL SELECT 2, CAST('2024-01-02' AS datetime2(0))) SELECT d FROM c ORDER BY id
----
NULL
2024-01-02 00:00:00

SELECT v FROM (SELECT NULL AS v) AS q UNION ALL SELECT 'x'
----
[v int null]
NULL
error 245: Conversion failed when converting the varchar value 'x' to data type int.

SELECT CAST(NULL AS int) UNION ALL SELECT 'x'
----
[ int null]
NULL
error 245: Conversion failed when converting the varchar value 'x' to data type int.

CREATE TABLE n (id int, d date, u uniqueidentifier, b varbinary(4))
INSERT n SELECT 1, NULL AS a, NULL AS b, NULL AS c UNION ALL SELECT 2, '2024-01-02', '00000000-0000-0000-0000-000000000001', 0x0102
SELECT id, d, u, b FROM n ORDER BY id
----
1 | NULL | NULL | NULL
2 | 2024-01-02 | 00000000-0000-0000-0000-000000000001 | 0x0102

MERGE n USING (SELECT 1 AS id, NULL AS d UNION ALL SELECT 3, CAST('2024-05-06' AS date)) AS s ON s.id = n.id WHEN MATCHED THEN UPDATE SET d = s.d WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.id, s.d);
SELECT id, d FROM n ORDER BY id
----
1 | NULL
2 | 2024-01-02
3 | 2024-05-06

SELECT NULL AS v, 1 AS k INTO made UNION ALL SELECT 'abc', 2
SELECT v FROM made ORDER BY k
----
NULL
abc

SELECT DISTINCT d.x AS y FROM (SELECT 1 AS x UNION ALL SELECT 2) AS d ORDER BY x DESC
----
2
1

SELECT DISTINCT d.x AS y FROM (SELECT 1 AS x, 2 AS z) AS d ORDER BY z
----
error 145

CREATE TABLE mt (id int, a int)
CREATE TABLE ms (id int, b int)
CREATE TABLE mu (id int, k int)
INSERT mt VALUES (1, -1), (2, -1), (3, -1)
INSERT ms VALUES (1, NULL), (2, 8), (3, 7)
INSERT mu VALUES (7, 1), (7, 2)
----

MERGE mt t USING ms s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = (SELECT SUM(k) FROM mu u WHERE u.id = s.b);
SELECT id, a FROM mt ORDER BY id
----
1 | NULL
2 | NULL
3 | 3

MERGE mt t USING (SELECT id + 10 AS id, b FROM ms) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, (SELECT COUNT(*) FROM mu u WHERE u.id = s.b));
SELECT id, a FROM mt WHERE id > 10 ORDER BY id
----
11 | 0
12 | 0
13 | 2

MERGE mt t USING (VALUES (3, 'x'), (11, 'y'), (99, 'new'), (1, 'z')) AS e(id, n) ON t.id = e.id WHEN MATCHED THEN UPDATE SET a = 5 WHEN NOT MATCHED THEN INSERT (id, a) VALUES (e.id, 6) OUTPUT inserted.id, e.n, $action;
----
3 | x | UPDATE
11 | y | UPDATE
99 | new | INSERT
1 | z | UPDATE

CREATE TABLE rv (id int, r rowversion)
CREATE TABLE kept (id int, r binary(8))
INSERT rv (id) OUTPUT inserted.id, inserted.r INTO kept VALUES (1)
SELECT COUNT(*) FROM kept k JOIN rv ON rv.id = k.id AND CAST(rv.r AS binary(8)) = k.r
----
1

SELECT STDEV(DISTINCT v), STDEVP(DISTINCT v), VAR(DISTINCT v), VARP(DISTINCT v), VAR(v), COUNT(DISTINCT v) FROM (VALUES (1), (1), (3), (NULL)) AS t(v)
----
1.41421 | 1 | 2 | 1 | 1.33333 | 2
