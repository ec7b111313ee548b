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
