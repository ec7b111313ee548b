WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n ORDER BY i
----
[i int null]
1
2
3
4
5

WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n
----
error 530: The statement terminated. The maximum recursion 100 has been exhausted before statement completion.

WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101) SELECT MAX(i) FROM n
----
101

WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 102) SELECT MAX(i) FROM n
----
error 530

WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT MAX(i) FROM n OPTION (MAXRECURSION 0)
----
300

WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT MAX(i) FROM n OPTION (MAXRECURSION 5)
----
error 530: The statement terminated. The maximum recursion 5 has been exhausted before statement completion.

SELECT 1 OPTION (MAXRECURSION 40000)
----
error 310

CREATE TABLE staff (id int PRIMARY KEY, boss int, name varchar(10))
INSERT staff VALUES (1, NULL, 'top'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf')
----

WITH tree AS (
  SELECT id, name, 0 AS level, CAST(name AS varchar(50)) AS path FROM staff WHERE boss IS NULL
  UNION ALL
  SELECT s.id, s.name, t.level + 1, CAST(t.path + '/' + s.name AS varchar(50)) FROM staff AS s JOIN tree AS t ON s.boss = t.id
)
SELECT id, level, path FROM tree ORDER BY path
----
1 | 0 | top
2 | 1 | top/left
4 | 2 | top/left/leaf
3 | 1 | top/right

WITH t AS (SELECT 'a' AS s UNION ALL SELECT s + 'a' FROM t WHERE LEN(s) < 3) SELECT s FROM t
----
error 240: Types don't match between the anchor and the recursive part in column "s" of recursive query "t".

WITH t AS (SELECT 1 AS i UNION SELECT i + 1 FROM t WHERE i < 3) SELECT i FROM t
----
error 252: Recursive common table expression 't' does not contain a top-level UNION ALL operator.

WITH t AS (SELECT 1 AS i UNION ALL SELECT DISTINCT i + 1 FROM t WHERE i < 3) SELECT i FROM t
----
error 460

WITH t AS (SELECT 1 AS i UNION ALL SELECT MAX(i) + 1 FROM t) SELECT i FROM t
----
error 467

WITH t AS (SELECT 1 AS i UNION ALL SELECT t.i + 1 FROM staff LEFT JOIN t ON t.i = staff.id) SELECT i FROM t
----
error 462

WITH a AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM a WHERE i < 3), b AS (SELECT i * 10 AS j FROM a)
SELECT a.i, b.j FROM a JOIN b ON b.j = a.i * 10 ORDER BY a.i
----
1 | 10
2 | 20
3 | 30

WITH n AS (SELECT CAST('2024-01-30' AS date) AS d UNION ALL SELECT DATEADD(day, 1, d) FROM n WHERE d < '2024-02-02')
INSERT INTO staff (id, name) SELECT 100 + DAY(d), 'x' FROM n
----
affected 4

-- Several recursive members, and several anchors.
WITH r AS (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT n + 1 FROM r WHERE n < 3 UNION ALL SELECT n + 10 FROM r WHERE n < 3) SELECT n FROM r ORDER BY n
----
1
2
2
3
3
11
12
12

WITH r AS (SELECT 1 AS n UNION SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3 UNION SELECT n + 10 FROM r WHERE n < 3) SELECT n FROM r ORDER BY n
----
error 252: Recursive common table expression 'r' does not contain a top-level UNION ALL operator.

CREATE TABLE boss (id int NOT NULL PRIMARY KEY, over_id int NULL)
INSERT boss VALUES (1, NULL), (2, 1), (3, 1), (4, 2), (5, 4), (6, NULL), (7, 6)
----

CREATE FUNCTION below (@id int) RETURNS TABLE AS RETURN WITH r AS (SELECT id, 0 AS depth FROM boss WHERE id = @id UNION ALL SELECT b.id, r.depth + 1 FROM boss b JOIN r ON b.over_id = r.id) SELECT id, depth FROM r
----

SELECT b.id, x.n, x.deepest FROM boss b CROSS APPLY (SELECT COUNT(*) AS n, MAX(depth) AS deepest FROM below(b.id)) x ORDER BY b.id
----
1 | 5 | 3
2 | 3 | 2
3 | 1 | 0
4 | 2 | 1
5 | 1 | 0
6 | 2 | 1
7 | 1 | 0

SELECT b.id, x.id FROM (VALUES (2), (2), (9), (NULL)) b (id) OUTER APPLY below(b.id) x ORDER BY b.id, x.id
----
NULL | NULL
2 | 2
2 | 2
2 | 4
2 | 4
2 | 5
2 | 5
9 | NULL

SELECT b.id, (SELECT SUM(r.id) FROM below(b.id) r WHERE r.depth > 0 AND EXISTS (SELECT 1 FROM below(r.id) s WHERE s.depth = 1 AND s.id > b.id)) FROM boss b ORDER BY b.id
----
1 | 6
2 | 4
3 | NULL
4 | NULL
5 | NULL
6 | NULL
7 | NULL

CREATE FUNCTION until (@from int, @to int) RETURNS TABLE AS RETURN WITH r AS (SELECT @from AS n WHERE @from <= @to UNION ALL SELECT n + 1 FROM r WHERE n < @to) SELECT n FROM r
----

SELECT s.a, s.b, COUNT(u.n), SUM(u.n) FROM (VALUES (1, 3), (5, 5), (4, 2), (1, NULL), (-1, 1)) s (a, b) OUTER APPLY until(s.a, s.b) u GROUP BY s.a, s.b ORDER BY s.a, s.b
----
-1 | 1 | 3 | 0
1 | NULL | 0 | NULL
1 | 3 | 3 | 6
4 | 2 | 0 | NULL
5 | 5 | 1 | 5

SELECT s.b FROM (VALUES (50), (102)) s (b) CROSS APPLY (SELECT MAX(n) AS n FROM until(1, s.b)) u
----
error 530: The statement terminated. The maximum recursion 100 has been exhausted before statement completion.

SELECT s.b, u.n FROM (VALUES (50), (102)) s (b) CROSS APPLY (SELECT MAX(n) AS n FROM until(1, s.b)) u ORDER BY s.b OPTION (MAXRECURSION 101)
----
50 | 50
102 | 102

CREATE FUNCTION lower_first (@id int) RETURNS TABLE AS RETURN WITH r AS (SELECT id FROM boss WHERE id = @id UNION ALL SELECT x.id FROM r CROSS APPLY (SELECT TOP (1) b.id FROM boss b WHERE b.over_id = r.id AND b.id > @id ORDER BY b.id DESC) x UNION ALL SELECT -r.id FROM r WHERE r.id > @id) SELECT id FROM r
----

SELECT b.id, x.id FROM boss b CROSS APPLY lower_first(b.id) x WHERE b.id IN (1, 2, 6) ORDER BY b.id, x.id
----
1 | -3
1 | 1
1 | 3
2 | -5
2 | -4
2 | 2
2 | 4
2 | 5
6 | -7
6 | 6
6 | 7
