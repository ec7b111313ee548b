CREATE TABLE w (id int IDENTITY PRIMARY KEY, p char(5000)); INSERT w (p) VALUES ('a'), ('b')
INSERT w (p) SELECT p FROM w
SELECT @@ROWCOUNT, COUNT(*) FROM w
----
2 | 4

CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int); INSERT t SELECT value, value FROM GENERATE_SERIES(1, 477)
INSERT t SELECT id + 477, v FROM t
SELECT COUNT(*), MAX(id) FROM t
----
954 | 954

CREATE TABLE emp (id int, boss int); INSERT emp VALUES (1, NULL), (2, 1), (3, 2);
WITH r AS (SELECT id FROM emp WHERE id = 1 UNION ALL SELECT e.id FROM emp e JOIN r ON e.boss = r.id) INSERT emp SELECT id + 100, id FROM r
SELECT id, boss FROM emp ORDER BY id
----
1 | NULL
2 | 1
3 | 2
101 | 1
102 | 2
103 | 3

CREATE TABLE gs (id int IDENTITY PRIMARY KEY, g int NOT NULL)
----

CREATE FUNCTION dbo.fc(@g int) RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM dbo.gs WHERE g = @g) END
----

ALTER TABLE gs ADD CONSTRAINT one_each CHECK (dbo.fc(g) <= 1)
----

INSERT gs (g) VALUES (1)
INSERT gs (g) VALUES (1)
SELECT id, g FROM gs
----
error 547: The INSERT statement conflicted with the CHECK constraint "one_each". The conflict occurred in database "master", table "dbo.gs", column 'g'.
1 | 1

INSERT gs (g) VALUES (2), (3)
INSERT gs (g) VALUES (4), (4)
INSERT gs (g) SELECT g + 1 FROM gs WHERE g = 3
INSERT gs (g) SELECT 9 FROM GENERATE_SERIES(1, 2)
SELECT g FROM gs ORDER BY g
----
error 547
error 547
1
2
3
4

UPDATE gs SET g = 5 WHERE g IN (1, 2)
UPDATE gs SET g = g + 10
SELECT g FROM gs ORDER BY g
----
error 547: The UPDATE statement conflicted with the CHECK constraint "one_each". The conflict occurred in database "master", table "dbo.gs", column 'g'.
11
12
13
14

MERGE gs USING (VALUES (11), (15)) s (g) ON gs.g = s.g WHEN MATCHED THEN UPDATE SET g = 15 WHEN NOT MATCHED THEN INSERT (g) VALUES (s.g);
SELECT COUNT(*) FROM gs
----
error 547: The MERGE statement conflicted with the CHECK constraint "one_each". The conflict occurred in database "master", table "dbo.gs", column 'g'.
4

MERGE gs USING (VALUES (11), (15)) s (g) ON gs.g = s.g WHEN MATCHED THEN UPDATE SET g = 16 WHEN NOT MATCHED THEN INSERT (g) VALUES (s.g);
SELECT g FROM gs ORDER BY g
----
12
13
14
15
16

BEGIN TRAN INSERT gs (g) VALUES (17) INSERT gs (g) VALUES (17) COMMIT
SELECT COUNT(*) FROM gs WHERE g = 17
----
error 547
1

INSERT gs (g) VALUES (17)
ALTER TABLE gs NOCHECK CONSTRAINT one_each
INSERT gs (g) VALUES (17)
ALTER TABLE gs WITH CHECK CHECK CONSTRAINT one_each
----
error 547
error 547

SELECT COUNT(*) FROM gs WHERE g = 17
----
2
