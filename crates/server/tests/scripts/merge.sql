CREATE TABLE target (id int NOT NULL PRIMARY KEY, name varchar(20) NOT NULL, qty int DEFAULT 7)
CREATE TABLE source (id int NOT NULL, name varchar(20), qty int)
INSERT target VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30)
INSERT source VALUES (2, 'TWO', 200), (3, 'THREE', 0), (4, 'four', 40)
----

MERGE INTO target AS t
USING source AS s ON t.id = s.id
WHEN MATCHED AND s.qty = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name, qty = t.qty + s.qty
WHEN NOT MATCHED BY TARGET THEN INSERT (id, name, qty) VALUES (s.id, s.name, s.qty)
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET qty = -1;
----
affected 4

SELECT id, name, qty FROM target ORDER BY id
----
1 | one | -1
2 | TWO | 220
4 | four | 40

SELECT @@ROWCOUNT
----
3

MERGE target t USING (VALUES (5, 'five'), (2, 'deux')) AS s (id, name) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET t.name = s.name
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (id, s.name);
SELECT @@ROWCOUNT
----
affected 2
2

SELECT * FROM target ORDER BY id
----
1 | one | -1
2 | deux | 220
4 | four | 40
5 | five | 7

MERGE target AS t USING (SELECT 1 AS id, 'a' AS name UNION ALL SELECT 9, 'nine') AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, DEFAULT)
OUTPUT $action, inserted.id, inserted.name, deleted.name AS before, s.name AS given;
----
unordered
[$action nvarchar(10) null, id int null, name varchar(20) null, before varchar(20) null, given varchar(4)]
UPDATE | 1 | a | one | a
INSERT | 9 | nine | NULL | nine

MERGE target WITH (HOLDLOCK) AS t USING source AS s ON t.id = s.id
WHEN NOT MATCHED BY SOURCE AND t.id > 4 THEN DELETE
OUTPUT $action, deleted.id;
----
unordered
DELETE | 5
DELETE | 9

INSERT source VALUES (2, 'again', 1)
----
affected 1

MERGE target AS t USING source AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = s.qty;
----
error 8672: The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.

SELECT qty FROM target WHERE id = 2
----
220

MERGE target AS t USING source AS s ON t.id = s.id WHEN MATCHED THEN DELETE
----
error 10713: A MERGE statement must be terminated by a semi-colon (;).

MERGE target AS t USING source AS s ON t.id = s.id
WHEN MATCHED THEN DELETE
WHEN MATCHED THEN DELETE;
----
error 10714: An action of type 'DELETE' cannot appear more than once in a 'WHEN MATCHED' clause of a MERGE statement.

MERGE target AS t USING source AS s ON t.id = s.id
WHEN MATCHED THEN DELETE
WHEN MATCHED AND s.qty > 1 THEN UPDATE SET qty = 1;
----
error 5324: In a MERGE statement, a 'WHEN MATCHED' clause with a search condition cannot appear after a 'WHEN MATCHED' clause with no search condition.

MERGE target AS t USING source AS s ON t.id = s.id WHEN MATCHED THEN INSERT VALUES (1, 'x', 1);
----
error 10710: An action of type 'INSERT' is not allowed in the 'WHEN MATCHED' clause of a MERGE statement.

MERGE target AS t USING source AS s ON t.id = s.id WHEN NOT MATCHED THEN DELETE;
----
error 10711: An action of type 'DELETE' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.

MERGE target AS t USING source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (t.id) VALUES (1);
----
error 10739

MERGE target AS t USING source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id);
----
error 109

MERGE target AS t USING source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
----
error 515: Cannot insert the value NULL into column 'name', table 'master.dbo.target'; column does not allow nulls. INSERT fails.

MERGE target AS t USING (SELECT 3 AS id) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name) VALUES (1, 'dup');
----
error 2627

MERGE target AS t USING nosuch AS s ON t.id = s.id WHEN MATCHED THEN DELETE;
----
error 208: Invalid object name 'nosuch'.

WITH s AS (SELECT 1 AS id, 100 AS qty)
MERGE TOP (1) target AS t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty += s.qty;
SELECT qty FROM target WHERE id = 1
----
99

CREATE TABLE numbered (id int IDENTITY(1, 1) PRIMARY KEY, v int, CONSTRAINT positive CHECK (v > 0))
----

MERGE numbered AS t USING (VALUES (10)) AS s (v) ON t.v = s.v
WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v) OUTPUT inserted.id, inserted.v;
SELECT SCOPE_IDENTITY()
----
1 | 10
1

MERGE numbered AS t USING (VALUES (10), (20)) AS s (v) ON t.v = s.v
WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v) OUTPUT inserted.id, inserted.v;
SELECT SCOPE_IDENTITY()
----
2 | 20
2

MERGE numbered AS t USING (VALUES (10)) AS s (v) ON t.v = s.v WHEN MATCHED THEN UPDATE SET v = -1;
----
error 547: The MERGE statement conflicted with the CHECK constraint "positive". The conflict occurred in database "master", table "dbo.numbered", column 'v'.

MERGE numbered AS t USING (VALUES (10)) AS s (v) ON t.v = s.v WHEN MATCHED THEN UPDATE SET id = 5;
----
error 8102: Cannot update identity column 'id'.

MERGE numbered AS t USING (VALUES (0)) AS s (v) ON 1 = 0 WHEN NOT MATCHED AND s.v <> 0 THEN INSERT (v) VALUES (1 / s.v);
----
affected 0

BEGIN TRAN
MERGE numbered AS t USING (VALUES (30)) AS s (v) ON t.v = s.v WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v);
ROLLBACK
SELECT COUNT(*) FROM numbered
----
2
