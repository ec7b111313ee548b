CREATE TABLE u1 (id int PRIMARY KEY, city varchar(10))
CREATE TABLE u2 (k int, city varchar(10))
INSERT u2 VALUES (1, 'a'), (3, 'c')
EXEC ('CREATE VIEW v1 AS SELECT id, city FROM u1')
EXEC ('CREATE SYNONYM s1 FOR u1')
EXEC ('CREATE SCHEMA other')
CREATE TABLE other.u1 (id int, city varchar(10))
INSERT other.u1 VALUES (1, 'far'), (2, 'far')
----

INSERT u1 VALUES (1, 'x'), (2, 'x'), (3, 'x')
----
affected 3

UPDATE u1 SET city = 'z' FROM u1 t1 WHERE t1.id = 1
----
affected 1

UPDATE u1 SET city = city + '1' FROM u1 AS t1 WHERE id = 1
----
affected 1

UPDATE dbo.u1 SET city = t2.city FROM u1 t1 JOIN u2 t2 ON t2.k = t1.id
----
affected 2

SELECT id, city FROM u1 ORDER BY id
----
1 | a
2 | x
3 | c

UPDATE u1 SET city += '+' OUTPUT deleted.id, deleted.city, inserted.city, t2.k FROM dbo.u1 t1 JOIN u2 t2 ON t2.k = t1.id WHERE t2.k = 3
----
3 | c | c+ | 3

UPDATE s1 SET city = 's' OUTPUT inserted.id FROM u1 t1 WHERE t1.id = 2
----
2

UPDATE u1 SET city = 'v' OUTPUT inserted.id FROM s1 t1 WHERE t1.id = 2
----
2

UPDATE v1 SET city = 'w' OUTPUT inserted.id FROM v1 t1 WHERE t1.id = 2
----
2

UPDATE u1 SET city = 'q' FROM u1 t1 WHERE u1.id = 1
----
error 4104: The multi-part identifier "u1.id" could not be bound.

UPDATE t1 SET city = 'q' FROM u1 t1 WHERE u1.id = 1
----
error 4104: The multi-part identifier "u1.id" could not be bound.

UPDATE u1 SET city = 'q' FROM u1 t1 JOIN u1 t2 ON t1.id = t2.id
----
error 8154: The table 'u1' is ambiguous.

UPDATE u1 SET city = 'own' OUTPUT inserted.id FROM u1 JOIN u1 t2 ON t2.id = u1.id + 1 WHERE t2.id = 2
----
1

UPDATE t2 SET city = 't2' OUTPUT inserted.id FROM u1 JOIN u1 t2 ON t2.id = u1.id + 1 WHERE t2.id = 2
----
2

UPDATE u1 SET city = 'alias' OUTPUT inserted.k FROM u2 u1 JOIN u1 x ON x.id = u1.k WHERE x.id = 3
----
3

SELECT k, city FROM u2 ORDER BY k
----
1 | a
3 | alias

UPDATE t1 SET t2.city = 'q' FROM u1 t1 JOIN u2 t2 ON t2.k = t1.id
----
error 4104: The multi-part identifier "t2.city" could not be bound.

UPDATE t1 SET t1.city = 'q' OUTPUT inserted.id FROM u1 t1 JOIN u2 t2 ON t2.k = t1.id WHERE t2.k = 1
----
1

UPDATE u1 SET dbo.u1.city = 'q' OUTPUT inserted.id WHERE id = 1
----
1

UPDATE u1 SET city = f.city OUTPUT inserted.id FROM other.u1 f WHERE f.id = u1.id AND f.id = 2
----
2

UPDATE other.u1 SET city = 'near' OUTPUT inserted.id FROM other.u1 f JOIN u1 n ON n.id = f.id WHERE f.id = 1
----
1

SELECT id, city FROM other.u1 ORDER BY id
----
1 | near
2 | far

UPDATE u1 SET city = 'beside' OUTPUT inserted.id FROM u2 WHERE u2.k = u1.id AND u2.k = 3
----
3

WITH c AS (SELECT id, city FROM u1 WHERE id < 3) UPDATE c SET city = 'cte' OUTPUT inserted.id FROM c x WHERE x.id = 2
----
2

WITH c AS (SELECT k FROM u2) UPDATE u1 SET city = 'k' OUTPUT inserted.id FROM u1 t JOIN c ON c.k = t.id WHERE c.k = 1
----
1

DELETE FROM u1 FROM u1 t1 WHERE t1.id = 1
----
affected 1

DELETE u1 OUTPUT deleted.id FROM u1 t1 JOIN u2 ON u2.k = t1.id
----
3

DELETE dbo.u1 FROM dbo.u1 AS t1 JOIN u2 ON u2.k = t1.id
----
affected 0

SELECT id FROM u1
----
2

DECLARE @t TABLE (id int, v int)
INSERT @t VALUES (1, 1), (2, 2)
UPDATE @t SET v = 9 FROM @t x WHERE x.id = 2
DELETE @t FROM @t x WHERE x.v = 1
SELECT id, v FROM @t
----
2 | 9

CREATE TABLE #h (id int, v int)
INSERT #h VALUES (1, 1), (2, 2), (3, 3)
UPDATE #h SET v = x.v * 10 FROM #h x WHERE x.id > 1
DELETE #h FROM #h x JOIN (VALUES (3)) AS y(id) ON y.id = x.id
SELECT id, v FROM #h ORDER BY id
----
1 | 1
2 | 20

MERGE u1 t USING u2 s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s.city = 'q';
----
error 4104: The multi-part identifier "s.city" could not be bound.

CREATE TABLE base (id int PRIMARY KEY, v int, w int)
CREATE TABLE extra (id int, v int, tag int)
INSERT base VALUES (1, 10, 0), (2, 20, 0)
INSERT extra VALUES (1, 100, 7), (2, 200, 8)
----

WITH c AS (SELECT b.id, e.v FROM base b JOIN extra e ON e.id = b.id) UPDATE c SET v = v + 1 OUTPUT inserted.id, inserted.v WHERE id = 1
----
1 | 101

SELECT b.v, e.v FROM base b JOIN extra e ON e.id = b.id ORDER BY b.id
----
10 | 101
20 | 200

WITH c AS (SELECT e.tag, w FROM extra e JOIN base b ON e.id = b.id) UPDATE c SET w = tag
----
affected 2

SELECT id, v, w FROM base ORDER BY id
----
1 | 10 | 7
2 | 20 | 8

WITH c AS (SELECT e.tag, w FROM extra e JOIN base b ON e.id = b.id) UPDATE c SET w = 1, tag = 2
----
error 4405: View or function 'c' is not updatable because the modification affects multiple base tables.

WITH c AS (SELECT e.tag, w FROM extra e JOIN base b ON e.id = b.id) DELETE c
----
error 4405

WITH c AS (SELECT id, w + 1 AS v FROM base) UPDATE c SET v = 5
----
error 4406: Update or insert of view or function 'c' failed because it contains a derived or constant field.

WITH c AS (SELECT id, w + 1 AS more, v FROM base) UPDATE c SET v = more
SELECT id, v FROM base ORDER BY id
----
1 | 8
2 | 9

CREATE TABLE fired (id int)
CREATE TABLE t3 (id int, v int)
EXEC ('CREATE TRIGGER instead ON t3 INSTEAD OF DELETE AS INSERT fired SELECT id FROM deleted')
INSERT t3 VALUES (1, 1), (2, 2)
DELETE t3 FROM t3 x WHERE x.id = 2
SELECT id FROM fired
----
2

CREATE TABLE twice (id int, v int)
INSERT twice VALUES (1, 1), (1, 2), (2, 3), (2, 4), (3, 5)
DELETE x FROM (SELECT ROW_NUMBER() OVER (PARTITION BY id ORDER BY v) AS n FROM twice) AS x WHERE n > 1
SELECT id, v FROM twice ORDER BY id
----
1 | 1
2 | 3
3 | 5

UPDATE x SET v = x.n * 10 FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM twice) AS x JOIN (VALUES (1), (2)) AS y (k) ON y.k = x.n
SELECT id, v FROM twice ORDER BY id
----
1 | 1
2 | 20
3 | 10

DELETE x FROM (SELECT id FROM twice GROUP BY id) AS x
----
error 4403
