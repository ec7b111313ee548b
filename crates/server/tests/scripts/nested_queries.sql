-- Subqueries within subqueries, and what the optimiser may not do beside them. Each block is answered with plans and row by row, and
-- with tables padded by rows that no condition meets.
CREATE TABLE #c (id int NOT NULL)
CREATE TABLE #s (id int NOT NULL, b int NULL)
CREATE TABLE #u (id int NOT NULL, k int NULL)
CREATE TABLE #empty (a int NULL)
INSERT #c VALUES (1), (2), (3)
INSERT #s VALUES (1, NULL), (2, 8), (3, 7)
INSERT #u VALUES (7, 1), (7, 2)
----

-- NOT IN, <> ALL and NOT (IN) know true, false and unknown wherever they stand.
CREATE TABLE #a (i int NULL)
CREATE TABLE #b (j int NULL)
INSERT #a VALUES (1), (2), (3)
INSERT #b VALUES (1), (NULL)
SELECT i FROM #a WHERE i NOT IN (SELECT j FROM #b) OR i = 3
SELECT i FROM #a WHERE i <> ALL (SELECT j FROM #b) OR i = 3
SELECT i FROM #a WHERE NOT (i IN (SELECT j FROM #b)) OR i = 3
SELECT i FROM #a WHERE CASE WHEN i NOT IN (SELECT j FROM #b) THEN 1 ELSE 0 END = 1
SELECT i, CASE WHEN i IN (SELECT j FROM #b) THEN 'yes' WHEN NOT (i IN (SELECT j FROM #b)) THEN 'no' ELSE 'unknown' END FROM #a ORDER BY i
SELECT i, IIF(i NOT IN (SELECT j FROM #b WHERE j IS NOT NULL), 1, 0) FROM #a ORDER BY i
SELECT x FROM (VALUES (1), (9), (NULL)) v(x) WHERE x NOT IN (SELECT 1) OR x = 9
SELECT x FROM (VALUES (1), (9), (NULL)) v(x) WHERE x NOT IN (SELECT a FROM #empty) OR x = 9 ORDER BY x
DELETE #a WHERE i NOT IN (SELECT j FROM #b) OR i = 3
SELECT COUNT(*) FROM #a
UPDATE #a SET i = 0 WHERE i NOT IN (SELECT j FROM #b) OR i = 2
SELECT i FROM #a ORDER BY i
----
3
3
3
1 | yes
2 | unknown
3 | unknown
1 | 0
2 | 1
3 | 1
9
NULL
1
9
2
0
1

-- A correlation that is no equality.
CREATE TABLE #n (id int NOT NULL, s int NULL)
CREATE TABLE #m (k int NOT NULL, s int NULL)
INSERT #n VALUES (1, 1), (2, 2), (3, NULL)
INSERT #m VALUES (1, 1), (2, NULL)
SELECT id FROM #n a WHERE a.s NOT IN (SELECT b.s FROM #m b WHERE b.k > a.id) ORDER BY id
SELECT id FROM #n a WHERE a.s <> ALL (SELECT b.s FROM #m b WHERE b.k > a.id) ORDER BY id
SELECT id FROM #n a WHERE NOT (a.s IN (SELECT q.s FROM (SELECT s, 1 AS x, k FROM #m) q WHERE q.x = 1 AND q.k > a.id)) ORDER BY id
SELECT id FROM #n a WHERE NOT (a.s IN (SELECT q.s FROM (SELECT s, 1 AS x FROM #m) q WHERE q.x = 2)) ORDER BY id
----
2
3
2
3
2
3
1
2
3

-- Two levels.
CREATE TABLE #o (oid int, cid int, pid int)
CREATE TABLE #p (pid int)
CREATE TABLE #t (spid int)
INSERT #o VALUES (10, 1, 1), (11, 2, 1), (12, 2, 2), (13, 3, 2)
INSERT #p VALUES (1), (2)
INSERT #t VALUES (1), (2)
SELECT c.id, (SELECT STRING_AGG(CONCAT(o.oid, ''), ',') FROM #o o JOIN #p p ON p.pid = o.pid AND o.cid = c.id WHERE EXISTS (SELECT 1 FROM #t s WHERE s.spid = p.pid)) FROM #c c ORDER BY c.id
----
1 | 10
2 | 11,12
3 | 13

CREATE TABLE #cc (id int, city int)
CREATE TABLE #d (id int, city int)
CREATE TABLE #ov (cid int, v int)
INSERT #cc VALUES (1, 7), (2, 8), (3, 9)
INSERT #d VALUES (1, 7), (2, 8), (3, 9)
INSERT #ov VALUES (1, 10), (1, 20), (2, 30), (2, 40), (2, 50)
SELECT c.id, q.* FROM #cc c CROSS APPLY (SELECT o.v, (SELECT COUNT(*) FROM #ov x WHERE x.cid = c.id AND d.city > 0) n FROM #ov o JOIN #d d ON o.cid = d.id WHERE c.id = o.cid) q ORDER BY 1, 2
----
1 | 10 | 2
1 | 20 | 2
2 | 30 | 3
2 | 40 | 3
2 | 50 | 3

-- TOP with an order within groups that look two levels up.
CREATE TABLE #c26 (id int NOT NULL)
CREATE TABLE #o260 (oid int NOT NULL, cid int NULL, d int NULL)
INSERT #c26 SELECT value FROM GENERATE_SERIES(1, 26)
INSERT #o260 SELECT value, 1 + value % 26, (value * 7919) % 1009 FROM GENERATE_SERIES(1, 260)
SELECT COUNT(*) FROM #c26 c WHERE EXISTS (SELECT 1 FROM #o260 o WHERE (SELECT TOP (1) x.oid FROM #o260 x WHERE c.id = x.cid ORDER BY x.d) = o.oid)
SELECT TOP (3) c.id, (SELECT COUNT(*) FROM #o260 o WHERE o.oid IN (SELECT TOP (3) x.oid FROM #o260 x WHERE x.cid = c.id ORDER BY x.d)) FROM #c26 c ORDER BY c.id
SELECT COUNT(*) FROM #c26 c WHERE (SELECT TOP (1) o.oid FROM #o260 o WHERE o.oid = (SELECT TOP (1) x.oid FROM #o260 x WHERE x.cid = c.id ORDER BY x.d) ORDER BY o.oid) IS NOT NULL
SELECT COUNT(*) FROM #c26 c WHERE (SELECT MIN(q.d) FROM (SELECT TOP (3) x.d FROM #o260 x WHERE x.cid = c.id ORDER BY x.d) q) = (SELECT MIN(d) FROM #o260 WHERE cid = c.id)
SELECT SUM(n) FROM (SELECT CASE WHEN EXISTS (SELECT 1 FROM #o260 o WHERE (SELECT TOP (1) x.oid FROM #o260 x WHERE c.id = x.cid ORDER BY x.d) = o.oid) THEN 1 ELSE 0 END AS n FROM #c26 c) q
DELETE #c26 FROM #c26 c WHERE NOT EXISTS (SELECT 1 FROM #o260 o WHERE (SELECT TOP (1) x.oid FROM #o260 x WHERE c.id = x.cid ORDER BY x.d) = o.oid)
SELECT COUNT(*) FROM #c26
----
26
1 | 3
2 | 3
3 | 3
26
26
26
26

-- Windows see the rows of their own outer row.
SELECT c.id, (SELECT MAX(q.r) FROM (SELECT RANK() OVER (ORDER BY o.v) r FROM #ov o WHERE o.cid = c.id) q) FROM #c c WHERE c.id < 3 ORDER BY c.id
SELECT c.id, (SELECT MAX(q.s) FROM (SELECT SUM(o.v) OVER () s FROM #ov o WHERE o.cid = c.id) q) FROM #c c WHERE c.id < 3 ORDER BY c.id
SELECT c.id FROM #c c WHERE EXISTS (SELECT 1 FROM (SELECT ROW_NUMBER() OVER (ORDER BY o.v) r FROM #ov o WHERE o.cid = c.id) q WHERE q.r = 1) ORDER BY c.id
----
1 | 2
2 | 3
1 | 30
2 | 120
1
2

-- A condition without columns above an aggregate without groups.
SELECT x.n FROM (SELECT COUNT(*) n FROM #c) x WHERE (SELECT MAX(k) FROM #u) > 5
SELECT COUNT(*) FROM #c HAVING (SELECT MAX(k) FROM #u) > 5
IF EXISTS (SELECT MAX(id) FROM #c HAVING (SELECT COUNT(*) FROM #empty) > 0) SELECT 'wrong' ELSE SELECT 'none'
SELECT c.id, x.n FROM #c c LEFT JOIN (SELECT COUNT(*) n FROM #u) x ON 1 = 0 ORDER BY c.id
SELECT * FROM (SELECT 'A' AS kind, COUNT(*) n FROM STRING_SPLIT('a,b', ',') UNION ALL SELECT 'B', COUNT(*) FROM STRING_SPLIT('a,b,c', ',')) q WHERE kind = 'B'
SELECT id, n FROM (SELECT id, COUNT(*) n FROM #c GROUP BY ROLLUP (id)) q WHERE (SELECT MAX(k) FROM #u) > 5
SELECT id, n FROM (SELECT id, COUNT(*) n FROM #c GROUP BY ROLLUP (id)) q WHERE id IS NULL
----
none
1 | NULL
2 | NULL
3 | NULL
B | 3
NULL | 3

-- Aggregates without groups have a row where nothing matches.
SELECT id FROM #s s WHERE EXISTS (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) ORDER BY id
----
1
2
3

SELECT id FROM #s s WHERE NOT EXISTS (SELECT MAX(k) FROM #u u WHERE u.id = s.b) ORDER BY id
SELECT id FROM #s s WHERE 0 IN (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) ORDER BY id
----
1
2

SELECT id FROM #s s WHERE 0 = ANY (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) ORDER BY id
SELECT id FROM #s s WHERE 0 NOT IN (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) ORDER BY id
SELECT id FROM #s s WHERE 1 <= ALL (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) ORDER BY id
----
1
2
3
3

SELECT id, (SELECT COUNT(*) FROM #u u WHERE u.id = s.b HAVING COUNT(*) < 2) FROM #s s ORDER BY id
SELECT id, (SELECT MAX(q.n) FROM (SELECT COUNT(*) n FROM #u u WHERE u.id = s.b) q) FROM #s s ORDER BY id
SELECT id, (SELECT SUM(q.n) FROM (SELECT k, COUNT(*) n FROM #u u WHERE u.id = s.b GROUP BY ROLLUP (k)) q) FROM #s s ORDER BY id
SELECT id, (SELECT COUNT(*) FROM (SELECT k, GROUPING(k) g, COUNT(*) n FROM #u u WHERE u.id = s.b GROUP BY ROLLUP (k)) q WHERE q.g = 1 AND q.k IS NULL) FROM #s s ORDER BY id
----
1 | 0
2 | 0
3 | NULL
1 | 0
2 | 0
3 | 2
1 | 0
2 | 0
3 | 4
1 | 1
2 | 1
3 | 1

-- A column that is constant on a side that may be missing is none.
CREATE TABLE #k (id int NOT NULL, v int NULL)
INSERT #k VALUES (1, 5), (2, 6), (3, 5), (4, 4)
SELECT b.id, q.c FROM (SELECT id, 1 AS c FROM #k) q RIGHT JOIN #k b ON q.id = b.id AND b.id = 2 ORDER BY c, b.id
----
1 | NULL
3 | NULL
4 | NULL
2 | 1

SELECT TOP (1) b.id, q.c FROM (SELECT id, 1 AS c FROM #k) q RIGHT JOIN #k b ON q.id = b.id AND b.id = 2 ORDER BY c DESC, b.id
SELECT b.id, COUNT(*) OVER (PARTITION BY c) FROM (SELECT id, 1 AS c FROM #k) q RIGHT JOIN #k b ON q.id = b.id AND b.id = 2 ORDER BY b.id
SELECT b.id, q.c FROM (SELECT id, 1 AS c FROM #k) q FULL JOIN #k b ON q.id = b.id AND b.id = 2 WHERE b.id IS NOT NULL ORDER BY c, b.id
SELECT b.id, q.c FROM #k b LEFT JOIN (SELECT id, 1 AS c FROM #k) q ON q.id = b.id AND b.id = 2 ORDER BY c, b.id
SELECT b.id, q.n FROM (SELECT COUNT(*) n FROM #k) q RIGHT JOIN #k b ON q.n = b.id AND b.id = 4 ORDER BY n, b.id
WITH p AS (SELECT 7 AS c) SELECT k.id, COUNT(*) OVER (PARTITION BY p.c) FROM #k k CROSS JOIN p ORDER BY k.id
----
2 | 1
1 | 3
2 | 1
3 | 3
4 | 3
1 | NULL
3 | NULL
4 | NULL
2 | 1
1 | NULL
3 | NULL
4 | NULL
2 | 1
1 | NULL
2 | NULL
3 | NULL
4 | 4
1 | 4
2 | 4
3 | 4
4 | 4

-- The total of groups over a clustered key is NULL, the least value.
CREATE TABLE #key (id int NOT NULL PRIMARY KEY, v int)
INSERT #key VALUES (1, 5), (2, 6), (3, 7)
SELECT id, SUM(v) FROM #key GROUP BY ROLLUP (id) ORDER BY id
SELECT TOP (1) id, SUM(v) FROM #key GROUP BY CUBE (id) ORDER BY id
SELECT id, RANK() OVER (ORDER BY id) FROM (SELECT id, SUM(v) s FROM #key GROUP BY GROUPING SETS ((id), ())) q ORDER BY 2
----
NULL | 18
1 | 5
2 | 6
3 | 7
NULL | 18
NULL | 1
1 | 2
2 | 3
3 | 4

-- OFFSET chooses rows in its own order.
SELECT id, ROW_NUMBER() OVER (ORDER BY id, v) n FROM (SELECT id, v FROM #k ORDER BY id OFFSET 2 ROWS FETCH NEXT 2 ROWS ONLY) w ORDER BY n
SELECT id, ROW_NUMBER() OVER (ORDER BY v, id) n FROM (SELECT id, v FROM #k ORDER BY id OFFSET 1 ROWS) w ORDER BY n
SELECT id, v FROM (SELECT id, v FROM #k ORDER BY id OFFSET 2 ROWS FETCH NEXT 2 ROWS ONLY) w ORDER BY id, v
SELECT id FROM (SELECT TOP (2) id, v FROM #k ORDER BY v DESC, id) w ORDER BY id DESC
----
3 | 1
4 | 2
4 | 1
3 | 2
2 | 3
3 | 5
4 | 4
2
1

-- Set operators with columns of the outer query, nullable or not.
SELECT a.k FROM (VALUES (1)) a(k) WHERE EXISTS (SELECT a.k INTERSECT SELECT 1)
SELECT a.id FROM #c a WHERE EXISTS (SELECT a.id EXCEPT SELECT 2) ORDER BY a.id
SELECT s.id FROM #s s WHERE EXISTS (SELECT s.id EXCEPT SELECT s.b) ORDER BY s.id
SELECT s.id FROM #s s WHERE NOT EXISTS (SELECT s.b INTERSECT SELECT NULL) ORDER BY s.id
SELECT a.id FROM #s a WHERE EXISTS (SELECT 1 FROM #s b WHERE b.id = 1 AND NOT EXISTS (SELECT a.b EXCEPT SELECT b.b))
----
1
1
3
1
2
3
2
3
1

SELECT c.id, (SELECT COUNT(*) FROM (SELECT DISTINCT c.id AS x, o.v / 100 AS y FROM #ov o WHERE o.cid = c.id) q) FROM #c c ORDER BY c.id
----
1 | 1
2 | 1
3 | 0

-- Subqueries in the condition of a join.
SELECT a.id, b.id FROM #c a JOIN #c b ON EXISTS (SELECT 1 FROM #ov y WHERE y.cid = a.id AND y.v = b.id * 10) ORDER BY 1, 2
----
1 | 1
1 | 2
2 | 3

SELECT a.id, b.id FROM #c a LEFT JOIN #c b ON EXISTS (SELECT 1 FROM #ov y WHERE y.cid = a.id AND y.v = b.id * 10) ORDER BY 1, 2
SELECT a.id, b.id FROM #c a RIGHT JOIN #c b ON EXISTS (SELECT 1 FROM #ov y WHERE y.cid = a.id AND y.v = b.id * 10 AND y.v < 30) ORDER BY 2, 1
SELECT a.id, b.id FROM #c a FULL JOIN #c b ON EXISTS (SELECT 1 FROM #ov y WHERE y.cid = a.id AND y.v = b.id * 10 AND y.v < 30) ORDER BY 1, 2
SELECT c.id, o.v FROM #c c LEFT JOIN #ov o ON o.cid = c.id AND o.v = (SELECT MAX(x.v) FROM #ov x WHERE x.cid = c.id) ORDER BY c.id
SELECT a.id, b.id FROM #c a JOIN #c b ON a.id = b.id AND b.id IN (SELECT cid FROM #ov) ORDER BY 1
SELECT a.id, b.id FROM #c a LEFT JOIN #c b ON a.id = b.id AND b.id NOT IN (SELECT cid FROM #ov) ORDER BY 1
----
1 | 1
1 | 2
2 | 3
3 | NULL
1 | 1
1 | 2
NULL | 3
NULL | 3
1 | 1
1 | 2
2 | NULL
3 | NULL
1 | 20
2 | 50
3 | NULL
1 | 1
2 | 2
1 | NULL
2 | NULL
3 | 3

-- Windows over a join.
SELECT a.id, COUNT(*) OVER (PARTITION BY b.id % 7, a.id), COUNT(*) OVER (ORDER BY a.id) FROM #c a JOIN #c b ON a.id = b.id ORDER BY a.id
----
1 | 1 | 1
2 | 1 | 2
3 | 1 | 3

-- A function of a value that a subquery gives, below groups.
SELECT c.id, COUNT(*) FROM #c c CROSS APPLY STRING_SPLIT((SELECT STRING_AGG(CONCAT(o.v, ''), ',') FROM #ov o WHERE o.cid = c.id), ',') p GROUP BY c.id ORDER BY c.id
SELECT COUNT(*) FROM STRING_SPLIT((SELECT STRING_AGG(CONCAT(v, ''), ',') FROM #ov), ',')
SELECT c.id, (SELECT COUNT(*) FROM STRING_SPLIT((SELECT STRING_AGG(CONCAT(o.v, ''), ',') FROM #ov o WHERE o.cid = c.id), ',')) FROM #c c ORDER BY c.id
----
1 | 2
2 | 3
5
1 | 2
2 | 3
3 | 0

-- A comparison of the same table comes before what it guards; groups and rows that nobody asks for make no error.
CREATE TABLE #z (x int, t varchar(10))
INSERT #z VALUES (0, 'a'), (5, '12'), (20, '7')
SELECT x FROM #z WHERE x <> 0 AND 10 / x > 1
SELECT x FROM #z WHERE 10 / x > 1 AND x <> 0
SELECT x FROM #z WHERE t <> 'a' AND CAST(t AS int) > 10
SELECT x FROM #z WHERE x > 0 AND LOG(x) > 2
CREATE TABLE #g (id int, t varchar(8000))
INSERT #g VALUES (1, 'a'), (1, 'b'), (9, REPLICATE('x', 8000)), (9, REPLICATE('y', 8000))
SELECT c.id, (SELECT STRING_AGG(t, ',') FROM #g g WHERE g.id = c.id) FROM #c c ORDER BY c.id
----
5
5
5
20
1 | a,b
2 | NULL
3 | NULL

SELECT id FROM #c WHERE id = (SELECT k FROM #u)
----
error 512

-- A recursive common table below a correlated query, and APPLY in APPLY.
CREATE TABLE #emp (id int, boss int)
INSERT #emp VALUES (1, NULL), (2, 1), (3, 2), (4, 1);
WITH r AS (SELECT id, id AS root FROM #emp UNION ALL SELECT e.id, r.root FROM #emp e JOIN r ON e.boss = r.id)
SELECT e.id, (SELECT COUNT(*) FROM r WHERE r.root = e.id) n, q.m FROM #emp e OUTER APPLY (SELECT MAX(r.id) m FROM r WHERE r.root = e.id AND r.id <> e.id) q ORDER BY e.id
SELECT c.id, q.v, w.n FROM #c c CROSS APPLY (SELECT TOP (2) o.v FROM #ov o WHERE o.cid = c.id ORDER BY o.v DESC) q OUTER APPLY (SELECT COUNT(*) n FROM #ov x WHERE x.cid = c.id AND x.v < q.v) w ORDER BY 1, 2
SELECT c.id, q.s FROM #c c CROSS APPLY (SELECT SUM(w.n) s FROM #ov o CROSS APPLY (SELECT COUNT(*) n FROM #ov x WHERE x.cid = c.id AND x.v <= o.v) w WHERE o.cid = c.id) q ORDER BY 1
----
1 | 4 | 4
2 | 2 | 3
3 | 1 | NULL
4 | 1 | NULL
1 | 10 | 0
1 | 20 | 1
2 | 40 | 1
2 | 50 | 2
1 | 3
2 | 6
3 | NULL

-- UPDATE, DELETE and INSERT take the same rows.
CREATE TABLE #w (id int, a int)
INSERT #w SELECT id, 0 FROM #c
UPDATE #w SET a = (SELECT COUNT(*) FROM #ov o WHERE o.cid = #w.id AND o.v > ALL (SELECT x.v FROM #ov x WHERE x.cid = #w.id AND x.v < o.v AND EXISTS (SELECT 1 FROM #cc c WHERE c.id = x.cid AND c.id = #w.id)))
SELECT id, a FROM #w ORDER BY id
DELETE #w WHERE NOT EXISTS (SELECT 1 FROM (SELECT RANK() OVER (ORDER BY o.v) r FROM #ov o WHERE o.cid = #w.id) q WHERE q.r = 2)
SELECT id FROM #w ORDER BY id
INSERT #w SELECT MAX(id) + 1, 0 FROM #w HAVING (SELECT MAX(k) FROM #u) > 5
SELECT COUNT(*) FROM #w
----
1 | 2
2 | 3
3 | 0
1
2
2

-- A list of queries and values.
SELECT id FROM #c WHERE id IN ((SELECT MAX(id) FROM #s), 2) ORDER BY id
----
2
3

SELECT STRING_AGG(CONCAT(v, ''), ',') WITHIN GROUP (ORDER BY v), STRING_AGG(CONCAT(v, ''), ',') WITHIN GROUP (ORDER BY v DESC) FROM #ov
----
error 8711: Multiple ordered aggregate functions in the same scope have mutually incompatible orderings.

-- What a condition beside it keeps out is not computed, in every clause.
CREATE TABLE #guarded (id int NOT NULL, x int NULL)
INSERT #guarded VALUES (0, 0), (1, 4), (2, NULL)
SELECT id FROM #guarded WHERE NOT (x <> 0 AND 12 / x > 2) ORDER BY id
SELECT id FROM #guarded WHERE x = 0 OR 12 / x > 2 ORDER BY id
SELECT id FROM #guarded WHERE 12 / x > 2 AND x <> 0
SELECT id, IIF(x <> 0 AND 12 / x > 2, 'yes', 'no') FROM #guarded ORDER BY id
SELECT SUM(CASE WHEN x = 0 OR 12 / x > 2 THEN 1 ELSE 0 END) FROM #guarded
SELECT a.id, b.id FROM #guarded a LEFT JOIN #guarded b ON b.id = 0 AND a.x <> 0 AND 12 / a.x > 2 ORDER BY a.id
SELECT id, COUNT(*) OVER (PARTITION BY CASE WHEN x = 0 OR 12 / x > 2 THEN 1 ELSE 0 END) FROM #guarded ORDER BY id
SELECT id FROM #guarded ORDER BY CASE WHEN x <> 0 AND 12 / x > 2 THEN 0 ELSE 1 END, id
SELECT 12 / x FROM #guarded WHERE x = 0 OR 12 / x > 2
----
0
0
1
1
0 | no
1 | yes
2 | no
2
0 | NULL
1 | 0
2 | NULL
0 | 2
1 | 2
2 | 1
1
0
2
error 8134

-- A subquery has a value for the rows that ask for it: several rows for another are no error.
SELECT id, CASE WHEN id < 9 THEN 0 ELSE (SELECT k FROM #u) END FROM #c ORDER BY id
SELECT id, CASE WHEN (SELECT COUNT(*) FROM #u u WHERE u.id = s.b) < 2 THEN (SELECT k FROM #u u WHERE u.id = s.b) ELSE -1 END FROM #s s ORDER BY id
SELECT id, COALESCE(b, (SELECT MAX(k) FROM #u)), ISNULL(b * 0, (SELECT k FROM #u WHERE k = 2)) FROM #s ORDER BY id
SELECT id FROM #s s WHERE b IS NULL OR b = 7 OR 1 = (SELECT k FROM #u u WHERE u.id = s.b) ORDER BY id
SELECT id FROM #s s WHERE 1 = ISNULL((SELECT k FROM #u u WHERE u.id = s.b), 1) AND b = 8
SELECT id FROM #c WHERE id = 3 OR 12 / (id - 3) IN (SELECT -6 * k FROM #u) ORDER BY id
SELECT id FROM #c WHERE id = 3 OR EXISTS (SELECT 1 FROM #u WHERE 12 / (#c.id - 3) = -6 * k) ORDER BY id
SELECT id, CASE WHEN id = 1 THEN CASE WHEN EXISTS (SELECT 1 FROM #u WHERE k = 2) THEN (SELECT k FROM #u WHERE k = 2) END WHEN id = 2 THEN (SELECT COUNT(*) FROM #u) ELSE (SELECT -MIN(k) FROM #u WHERE #c.id = 3) END FROM #c ORDER BY id
UPDATE #s SET b = CASE WHEN id = 1 THEN 5 WHEN b = 8 THEN (SELECT k FROM #u u WHERE u.id = #s.b) ELSE b END
SELECT id, b FROM #s ORDER BY id
SELECT id, CASE WHEN id < 3 THEN 0 ELSE (SELECT k FROM #u) END FROM #c ORDER BY id
----
1 | 0
2 | 0
3 | 0
1 | NULL
2 | NULL
3 | -1
1 | 2 | 2
2 | 8 | 0
3 | 7 | 0
1
3
2
1
2
3
1
2
3
1 | 2
2 | 2
3 | -1
1 | 5
2 | NULL
3 | 7
error 512

-- A join computes what its condition says of one side where the condition asks for it.
CREATE TABLE #h (id int NOT NULL, y int NULL)
INSERT #h VALUES (0, 1), (1, 2), (2, NULL)
SELECT g.id, h.id FROM #guarded g JOIN #h h ON (12 / g.x > h.y AND g.x <> 0) OR g.id < h.id ORDER BY g.id, h.id
SELECT g.id, h.id FROM #guarded g LEFT JOIN #h h ON g.x <> 0 AND 12 / g.x > h.y AND h.y > 1 ORDER BY g.id, h.id
SELECT id FROM #guarded g WHERE EXISTS (SELECT 1 FROM #h h WHERE ((g.x <> 0 AND 12 / g.x > 2) AND (h.y > 1 OR h.id = 2)) OR g.id = h.y) ORDER BY id
----
0 | 1
0 | 2
1 | 0
1 | 1
1 | 2
0 | NULL
1 | 1
2 | NULL
1
2

-- A CASE whose condition keeps NULL out of its result, below aggregates.
SELECT SUM(DISTINCT v), SUM(w) FROM (SELECT y AS w, CASE WHEN id = y THEN y ELSE 3 END AS v FROM #h) q
SELECT COUNT(v), w FROM (SELECT id % 2 AS w, CASE WHEN id < y THEN y ELSE 3 END AS v FROM #h) q GROUP BY w, v ORDER BY w, v
----
3 | 3
1 | 0
1 | 0
1 | 1

-- IS [NOT] DISTINCT FROM, in conditions and as a correlation.
CREATE TABLE #d_one (id int NOT NULL, x int NULL)
INSERT #d_one VALUES (1, 1), (2, NULL), (3, 3)
SELECT id FROM #d_one WHERE x IS DISTINCT FROM 1 ORDER BY id
SELECT id FROM #d_one WHERE x IS NOT DISTINCT FROM NULL ORDER BY id
SELECT id FROM #d_one WHERE NOT (x IS DISTINCT FROM NULL) ORDER BY id
SELECT a.id, (SELECT COUNT(*) FROM #d_one b WHERE b.x IS NOT DISTINCT FROM a.x), (SELECT COUNT(*) FROM #d_one b WHERE b.x IS DISTINCT FROM a.x) FROM #d_one a ORDER BY a.id
SELECT a.id, b.id FROM #d_one a LEFT JOIN #d_one b ON a.x IS NOT DISTINCT FROM b.x AND b.id > 1 ORDER BY a.id
SELECT CASE WHEN 'a' IS NOT DISTINCT FROM 'A ' THEN 1 ELSE 0 END
----
2
3
2
2
1 | 1 | 2
2 | 1 | 2
3 | 1 | 2
1 | NULL
2 | 2
3 | 3
1

-- A query without a row gives NULL, also where its column cannot be NULL; grouping sets within NOT IN within NOT EXISTS.
CREATE TABLE #d_two (id int NOT NULL PRIMARY KEY, x int, y int)
CREATE TABLE #d_empty (id int NOT NULL PRIMARY KEY, x int)
INSERT #d_two VALUES (1, 1, 1), (2, NULL, 2)
SELECT t.v1, (SELECT COUNT(*) FROM #d_two u WHERE (t.v1 + 2) NOT IN (u.y, 3, t.v0)) FROM (SELECT TOP (4) a.y AS v0, (SELECT TOP (1) e.id FROM #d_empty e ORDER BY e.x, e.id) AS v1 FROM #d_two a ORDER BY a.id) t
SELECT a.x FROM #d_two a WHERE NOT EXISTS (SELECT COALESCE(a.y, 1) FROM (SELECT COUNT(b.x) AS v0, COUNT(c.y) AS v1 FROM #d_two b, #d_two c GROUP BY GROUPING SETS ((c.x, b.y), (b.y))) g WHERE g.v1 NOT IN (SELECT d.y FROM #d_two d GROUP BY GROUPING SETS ((d.id), (d.y), ()) HAVING SUM(DISTINCT d.id) = 2))
----
NULL | 0
NULL | 0
1
NULL

-- > ALL, four levels deep.
CREATE TABLE #q_a (id int, x int)
CREATE TABLE #q_b (id int, aid int, y int)
INSERT #q_a VALUES (1, 9), (2, 2), (5, 5)
INSERT #q_b VALUES (1, 1, 5), (11, 1, 6), (12, 2, 7)
SELECT a.id FROM #q_a a WHERE a.x > ALL (SELECT b.y FROM #q_b b WHERE b.aid = a.id AND b.y > ALL (SELECT c.x FROM #q_a c WHERE c.id > b.id AND c.x > ALL (SELECT d.y FROM #q_b d WHERE d.aid = c.id AND d.y > ALL (SELECT e.x FROM #q_a e WHERE e.id = a.id AND e.x = b.y)))) ORDER BY a.id
----
1
5
