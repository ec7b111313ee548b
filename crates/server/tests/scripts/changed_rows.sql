-- INSERT of the rows that a statement in FROM has changed.
CREATE TABLE src (id int NOT NULL PRIMARY KEY, v int)
CREATE TABLE archive (id int, was int, became int, did varchar(10))
CREATE TABLE few (id int PRIMARY KEY)
INSERT src VALUES (1, 10), (2, 20), (3, 30)
----

INSERT archive (id, was, became) SELECT id, o, n FROM (UPDATE src SET v = v + 1 OUTPUT inserted.id, deleted.v, inserted.v WHERE id < 3) AS x (id, o, n) WHERE n > 11
SELECT @@ROWCOUNT
SELECT id, was, became FROM archive
SELECT id, v FROM src ORDER BY id
----
1
2 | 20 | 21
1 | 11
2 | 21
3 | 30

INSERT INTO archive (id, was) SELECT x.id, x.v * 2 FROM (DELETE src OUTPUT deleted.id, deleted.v WHERE id = 3) AS x
SELECT id, was FROM archive ORDER BY id
SELECT id FROM src ORDER BY id
----
2 | 20
3 | 60
1
2

INSERT archive (id, was, became, did) SELECT x.id, x.o, x.n, x.a FROM (MERGE src t USING (VALUES (1, 5), (9, 9)) s (id, v) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v) OUTPUT $action, inserted.id, deleted.v, inserted.v) AS x (a, id, o, n) WHERE a = 'UPDATE';
SELECT id, was, became FROM archive WHERE did = 'UPDATE'
SELECT id, v FROM src ORDER BY id
----
1 | 11 | 5
1 | 5
2 | 21
9 | 9

INSERT few SELECT id FROM (INSERT src OUTPUT inserted.id VALUES (77, 1)) x
SELECT id FROM few
----
77

-- Both statements are one.
INSERT few SELECT 77 FROM (DELETE src OUTPUT deleted.id) x
----
error 2627: Violation of PRIMARY KEY constraint 'PK__few__299B22AA22AA299B'. Cannot insert duplicate key in object 'dbo.few'. The duplicate key value is (77).

SELECT COUNT(*), @@TRANCOUNT FROM src
BEGIN TRAN
INSERT few VALUES (5)
BEGIN TRY INSERT few SELECT 77 FROM (DELETE src OUTPUT deleted.id) x END TRY BEGIN CATCH SELECT ERROR_NUMBER(), @@TRANCOUNT END CATCH
SELECT COUNT(*) FROM src
COMMIT
SELECT id FROM few ORDER BY id
----
4 | 0
2627 | 1
4
5
77

-- In procedures, and within INSERT … EXECUTE.
CREATE PROCEDURE archived AS INSERT archive (id, was) SELECT id, v FROM (DELETE src OUTPUT deleted.id, deleted.v WHERE id = 2) x SELECT 1 AS one
----

CREATE TABLE #ones (one int)
INSERT #ones EXEC archived
SELECT one FROM #ones
SELECT id FROM src ORDER BY id
----
1
1
9
77

INSERT few SELECT id FROM (DELETE src WHERE id = 1) x
----
error 10716: A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause.

INSERT few SELECT x.id FROM (DELETE src OUTPUT deleted.id) x JOIN src s ON s.id = x.id
----
error 10728: A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side of a JOIN or APPLY operator.

SELECT * FROM (DELETE src OUTPUT deleted.id) x
----
error 10729: A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in a SELECT statement that is not the immediate source of rows for an INSERT statement.

INSERT few SELECT id FROM (DELETE src OUTPUT deleted.id) x GROUP BY id
----
error 10717: The GROUP BY clause is not allowed when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.

INSERT few SELECT id FROM (DELETE src OUTPUT deleted.id INTO archive (id)) x
----
error 10720: An OUTPUT INTO clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE statement.

INSERT few SELECT id FROM (INSERT archive (id) OUTPUT inserted.id SELECT id FROM (DELETE src OUTPUT deleted.id) y) x
----
error 10727: A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed inside another nested INSERT, UPDATE, DELETE, or MERGE statement.

CREATE VIEW seen AS SELECT id FROM few
----

INSERT seen SELECT id FROM (DELETE src OUTPUT deleted.id) x
----
error 354: The target 'seen' of the INSERT statement cannot be a view or common table expression when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.

CREATE TABLE child (id int CONSTRAINT fk_child REFERENCES few)
----

INSERT few SELECT id FROM (DELETE src OUTPUT deleted.id) x
----
error 356: The target table 'few' of the INSERT statement cannot be on either side of a (primary key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement. Found reference constraint 'fk_child'.

INSERT child SELECT id FROM (DELETE src OUTPUT deleted.id) x
----
error 356: The target table 'child' of the INSERT statement cannot be on either side of a (primary key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement. Found reference constraint 'fk_child'.

CREATE TRIGGER told ON archive AFTER INSERT AS PRINT 'told'
----

INSERT archive (id) SELECT id FROM (DELETE src OUTPUT deleted.id) x
----
error 355: The target table 'archive' of the INSERT statement cannot have any enabled triggers when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.

SELECT COUNT(*) FROM src
----
3
