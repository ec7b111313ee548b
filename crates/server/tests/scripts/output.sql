CREATE TABLE t (id int IDENTITY(1, 1) PRIMARY KEY, v int, name varchar(10) DEFAULT 'none')
CREATE TABLE log (id int, old int, new int, at int IDENTITY(1, 1))
----

INSERT t (v) OUTPUT inserted.id, inserted.name, inserted.v * 2 AS twice VALUES (5), (6)
----
[id int, name varchar(10) null, twice int null]
1 | none | 10
2 | none | 12

UPDATE t SET v = v + 1 OUTPUT inserted.id, deleted.v AS before, inserted.v AS after, inserted.v - deleted.v
----
1 | 5 | 6 | 1
2 | 6 | 7 | 1

UPDATE t SET v = v + 10 OUTPUT deleted.id, deleted.v, inserted.v INTO log (id, old, new) WHERE id = 1
----
affected 1

SELECT id, old, new, at FROM log
----
1 | 6 | 16 | 1

DELETE t OUTPUT deleted.id, deleted.v, 0 INTO log (id, old, new) OUTPUT deleted.id WHERE id = 2
----
2

INSERT t (v) OUTPUT inserted.id, NULL, inserted.v INTO log (id, old, new) VALUES (8)
----
affected 1

SELECT id, old, new FROM log ORDER BY at
----
1 | 6 | 16
2 | 7 | 0
3 | NULL | 8

INSERT log (id, old, new) OUTPUT inserted.* VALUES (7, 7, 7)
----
7 | 7 | 7 | 4

UPDATE t SET v = s.v OUTPUT inserted.id, s.tag FROM t JOIN (VALUES (1, 100, 'x'), (3, 300, 'y')) AS s (id, v, tag) ON s.id = t.id
----
1 | x
3 | y

UPDATE t SET v = 0 OUTPUT inserted.id WHERE 1 = 0
----

UPDATE t SET v = 1 OUTPUT inserted.id INTO nosuch
----
error 208: Invalid object name 'nosuch'.

UPDATE t SET v = 1 OUTPUT inserted.id, inserted.v INTO log
----
error 213

SELECT v FROM t ORDER BY id
----
100
300

DECLARE @total int = 0
UPDATE t SET @total = v = @total + v
SELECT @total SELECT v FROM t ORDER BY id
----
400
100
400

DECLARE @last int
UPDATE t SET @last = v, v = v + 1 WHERE id = 1
SELECT @last
----
100

UPDATE t SET v += 9, name = 'k' WHERE id = 1
SELECT v, name FROM t WHERE id = 1
----
110 | k

INSERT t (v) VALUES (1), (2), (3), (4)
DELETE TOP (2) FROM t WHERE v < 5
SELECT COUNT(*) FROM t
----
4

UPDATE TOP (50) PERCENT t SET name = 'half'
----
affected 2

DELETE TOP (-1) FROM t
----
error 127

WITH ranked AS (SELECT id, v, ROW_NUMBER() OVER (ORDER BY v DESC) AS place FROM t)
DELETE FROM ranked WHERE place > 2
----
affected 2

SELECT v FROM t ORDER BY v
----
110
400

WITH c AS (SELECT id AS k, v AS amount FROM t WHERE v > 200)
UPDATE c SET amount = amount + 1
SELECT v FROM t ORDER BY v
----
110
401

WITH g AS (SELECT COUNT(*) AS n FROM t GROUP BY v) DELETE g
----
error 4403

-- OUTPUT calls columns as the common table or view does through which a table is changed.
CREATE TABLE named (id int PRIMARY KEY, x int)
INSERT named VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)
----

WITH q (a, b) AS (SELECT id, x FROM named) UPDATE q SET b = b + 1 OUTPUT deleted.a, deleted.b, inserted.b + 10 AS more WHERE a = 2
----
[a int, b int null, more int null]
2 | 2 | 13

WITH q (a, b) AS (SELECT id, x FROM named) DELETE q OUTPUT deleted.a, deleted.b WHERE a = 2
----
2 | 3

WITH q AS (SELECT x AS a, id AS b FROM named) DELETE q OUTPUT deleted.* WHERE b = 3
----
[a int null, b int]
3 | 3

WITH p AS (SELECT * FROM named), q AS (SELECT *, x AS y FROM p) UPDATE q SET y = 8 OUTPUT inserted.y + 1, inserted.* WHERE id = 4
----
9 | 4 | 8 | 8

WITH q AS (SELECT id AS a, x AS b FROM named) MERGE q USING (VALUES (1)) s (a) ON q.a = s.a WHEN MATCHED THEN UPDATE SET b = 77 OUTPUT $action, deleted.b, inserted.b AS became;
----
UPDATE | 1 | 77

CREATE VIEW as_named AS SELECT id AS a, x AS b FROM named
----

INSERT as_named (a, b) OUTPUT inserted.a, inserted.b VALUES (10, 11)
DECLARE @t TABLE (q int)
UPDATE as_named SET b = b + 1 OUTPUT inserted.b INTO @t OUTPUT deleted.b, deleted.a WHERE a = 10
SELECT q FROM @t
----
10 | 11
11 | 10
12

-- Errors name the view.
CREATE VIEW counted AS SELECT COUNT(*) AS n FROM named
----

DELETE counted
----
error 4403: Cannot update the view or function 'counted' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.
