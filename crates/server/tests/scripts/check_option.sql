CREATE TABLE t (a int NOT NULL, b int NULL DEFAULT 1, c varchar(10) NULL)
----

CREATE VIEW positive AS SELECT a AS x, b AS y, c FROM t WHERE a > 0 WITH CHECK OPTION
----

CREATE VIEW small (p, q) AS SELECT x, y FROM positive WHERE y < 100
----

CREATE VIEW even AS SELECT p, q AS r FROM small WHERE p % 2 = 0 WITH CHECK OPTION
----

CREATE VIEW named AS SELECT * FROM even
----

SELECT name, with_check_option FROM sys.views ORDER BY name
----
even | 1
named | 0
positive | 1
small | 0

SELECT TABLE_NAME, CHECK_OPTION FROM INFORMATION_SCHEMA.VIEWS ORDER BY TABLE_NAME
----
even | CASCADE
named | NONE
positive | CASCADE
small | NONE

INSERT positive (x, y) VALUES (1, 1), (0, 1)
----
error 550: The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.

SELECT COUNT(*) FROM t
----
0

INSERT positive VALUES (1, 1, 'one'), (2, 200, 'two')
INSERT positive (x) SELECT v FROM (VALUES (3), (4)) s (v)
INSERT small VALUES (5, 500)
SELECT a, b, c FROM t ORDER BY a
----
1 | 1 | one
2 | 200 | two
3 | 1 | NULL
4 | 1 | NULL
5 | 500 | NULL

INSERT small VALUES (-1, 5)
----
error 550

INSERT even VALUES (6, 101)
----
error 550

INSERT even VALUES (7, 1)
----
error 550

INSERT named VALUES (-2, 1)
----
error 550

INSERT named SELECT 6, 6
UPDATE named SET r = r + 1 WHERE p = 6
UPDATE even SET p = p * 2 OUTPUT deleted.p, inserted.p WHERE p = 4
----
4 | 8

UPDATE even SET r = 100 WHERE p = 6
----
error 550

UPDATE named SET p = p + 1 WHERE p = 6
----
error 550

UPDATE v SET x = -x FROM positive v JOIN (VALUES (1)) s (k) ON v.x = s.k
----
error 550

UPDATE positive SET x = NULL WHERE x = 1
----
error 515

UPDATE positive SET y = NULL WHERE x = 1
UPDATE small SET q = NULL WHERE p = 3
SELECT a, b FROM t ORDER BY a
----
1 | NULL
2 | 200
3 | NULL
5 | 500
6 | 7
8 | 1

WITH c AS (SELECT x FROM positive) UPDATE c SET x = 0 WHERE x = 1
----
error 550

MERGE even AS d USING (VALUES (6, 8), (10, 10)) s (k, v) ON d.p = s.k WHEN MATCHED THEN UPDATE SET r = s.v WHEN NOT MATCHED THEN INSERT (p, r) VALUES (s.k, s.v)
OUTPUT $action, inserted.p, inserted.r;
----
unordered
UPDATE | 6 | 8
INSERT | 10 | 10

MERGE even AS d USING (VALUES (6, 8), (11, 10)) s (k, v) ON d.p = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (p, r) VALUES (s.k, s.v);
----
error 550

INSERT positive (x) EXEC ('SELECT 20 UNION ALL SELECT -20')
----
error 550

INSERT positive (x) EXEC ('SELECT 20')
DELETE named WHERE p = 10
SELECT a, b FROM t WHERE a >= 10
----
20 | 1

CREATE VIEW highest AS SELECT a, b FROM t WHERE a <= (SELECT AVG(a) * 3 FROM t) WITH CHECK OPTION
----

INSERT highest VALUES (1000, 1)
----
error 550

CREATE TABLE parent (id int PRIMARY KEY, open_now bit NOT NULL)
INSERT parent VALUES (1, 1), (2, 0)
CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL)
INSERT child VALUES (10, 1), (20, 2)
----

CREATE VIEW open_children AS SELECT child.id, child.parent, parent.open_now FROM child JOIN parent ON parent.id = child.parent WHERE parent.open_now = 1 WITH CHECK OPTION
----

INSERT open_children (id, parent) VALUES (30, 2)
----
error 550

UPDATE open_children SET parent = 2
----
error 550

UPDATE open_children SET open_now = 0
----
error 550

INSERT open_children (id, parent) VALUES (30, 1)
UPDATE open_children SET id = id + 1
SELECT id, parent FROM child ORDER BY id
----
11 | 1
20 | 2
31 | 1

CREATE VIEW counted AS SELECT COUNT(*) AS n FROM t WITH CHECK OPTION
----
error 4510: Could not perform CREATE VIEW because WITH CHECK OPTION was specified and the view is not updatable.

CREATE VIEW united AS SELECT a FROM t UNION ALL SELECT b FROM t WITH CHECK OPTION
----
error 4510

CREATE VIEW lowest AS SELECT TOP (3) a FROM t ORDER BY a WITH CHECK OPTION
----

UPDATE lowest SET a = 1
----
error 4427: Cannot update the view "lowest" because it or a view it references was created with WITH CHECK OPTION and its definition contains a TOP or OFFSET clause.

CREATE TRIGGER instead ON positive INSTEAD OF INSERT AS RETURN
----
error 2112: Cannot create trigger 'instead' on view 'positive' because the view is defined with CHECK OPTION.

CREATE VIEW plain AS SELECT a FROM t
----

CREATE TRIGGER instead ON plain INSTEAD OF INSERT AS RETURN
----

ALTER VIEW plain AS SELECT a FROM t WHERE a > 0 WITH CHECK OPTION
----
error 40515

ALTER VIEW positive AS SELECT a AS x, b AS y FROM t WHERE a > 0
----

INSERT positive (x) VALUES (-5)
SELECT COUNT(*) FROM t WHERE a = -5
----
1
