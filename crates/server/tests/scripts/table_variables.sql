DECLARE @t TABLE (id int IDENTITY(1, 1) PRIMARY KEY, name varchar(10) NOT NULL DEFAULT 'x', v int)
INSERT @t (v) VALUES (10), (20), (30)
UPDATE @t SET v = v + 1 WHERE id = 2
DELETE FROM @t WHERE id = 3
SELECT id, name, v FROM @t ORDER BY id
SELECT t.v FROM @t AS t WHERE t.id = 1
----
1 | x | 10
2 | x | 21
10

SELECT * FROM @t
----
error 1087: Must declare the table variable "@t".

DECLARE @t TABLE (id int PRIMARY KEY)
INSERT @t VALUES (1), (1)
----
error 2627

DECLARE @t TABLE (id int)
BEGIN TRAN
INSERT @t VALUES (1)
ROLLBACK
SELECT COUNT(*) FROM @t
----
1

CREATE TABLE real_one (id int IDENTITY(1, 1), v int)
DECLARE @new TABLE (id int, v int)
INSERT real_one (v) OUTPUT inserted.id, inserted.v INTO @new VALUES (7), (8)
UPDATE real_one SET v = v * 2 OUTPUT inserted.id, inserted.v INTO @new
SELECT id, v FROM @new ORDER BY v
----
1 | 7
2 | 8
1 | 14
2 | 16

DECLARE @a TABLE (id int) DECLARE @n int = 3
WHILE @n > 0 BEGIN INSERT @a VALUES (@n) SET @n -= 1 END
SELECT COUNT(*), SUM(id) FROM @a
SELECT r.v FROM real_one AS r JOIN @a AS a ON a.id = r.id ORDER BY r.v
----
3 | 6
14
16

DECLARE @t TABLE (id int)
EXEC ('INSERT @t VALUES (1)')
----
error 1087: Must declare the table variable "@t".

DECLARE @t TABLE (id int, CHECK (id > 0))
INSERT @t VALUES (0)
----
error 547

DECLARE @t TABLE (a int, b varchar(5))
INSERT INTO @t EXEC ('SELECT 1, ''one'' SELECT 2, ''two''')
SELECT a, b FROM @t ORDER BY a
----
1 | one
2 | two

CREATE TABLE #e (a int)
INSERT #e EXEC sp_executesql N'SELECT v FROM real_one WHERE id = @id', N'@id int', @id = 2
SELECT a FROM #e
----
16

INSERT #e EXEC ('SELECT 1, 2')
----
error 213

INSERT #e EXEC ('INSERT #e EXEC (''SELECT 1'')')
----
error 8164: An INSERT EXEC statement cannot be nested.

DECLARE @m TABLE (id int, v int)
INSERT @m VALUES (1, 1)
MERGE @m AS m USING (VALUES (1, 5), (2, 6)) AS s (id, v) ON m.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);
SELECT id, v FROM @m ORDER BY id
----
1 | 5
2 | 6
