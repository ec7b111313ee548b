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

-- What a table variable holds outlives ROLLBACK, but not the statement that fails.
DECLARE @t TABLE (id int PRIMARY KEY, v int UNIQUE)
INSERT @t VALUES (1, 1)
BEGIN TRAN
INSERT @t VALUES (2, 2)
SAVE TRAN here
INSERT @t VALUES (3, 3)
UPDATE @t SET v = v * 10 WHERE id = 1
ROLLBACK TRAN here
SELECT id, v FROM @t ORDER BY id
DELETE @t WHERE id = 2
ROLLBACK
SELECT id, v FROM @t ORDER BY id
----
1 | 10
2 | 2
3 | 3
1 | 10
3 | 3

DECLARE @t TABLE (id int PRIMARY KEY)
INSERT @t VALUES (1)
BEGIN TRY
BEGIN TRAN
INSERT @t VALUES (2)
INSERT @t VALUES (3), (1)
END TRY
BEGIN CATCH
SELECT ERROR_NUMBER(), XACT_STATE()
ROLLBACK
INSERT @t VALUES (4)
END CATCH
SELECT id FROM @t
----
2627 | 1
1
2
4

DECLARE @t TABLE (id int PRIMARY KEY NONCLUSTERED, a int NOT NULL UNIQUE CLUSTERED, UNIQUE (a, id))
INSERT @t VALUES (1, 3), (2, 2), (3, 1)
SELECT id FROM @t WHERE a = 2
SELECT id FROM @t WHERE id = 1
SELECT id FROM @t
DELETE TOP (1) @t OUTPUT deleted.id WHERE a < 3
----
2
1
3
2
1
3

DECLARE @t TABLE (id int IDENTITY(1, 1), n int UNIQUE CHECK (n > 0), d AS n + 1)
INSERT @t (n) VALUES (5), (6)
DELETE @t WHERE n = 5
INSERT @t (n) OUTPUT inserted.id, inserted.d VALUES (7)
SELECT id, n, d FROM @t WHERE n >= 6 ORDER BY n
----
3 | 8
2 | 6 | 7
3 | 7 | 8

-- Each pass of a loop finds what those before it have put there.
DECLARE @n int = 0
WHILE @n < 3 BEGIN DECLARE @l TABLE (a int) INSERT @l VALUES (@n) SET @n += 1 END
SELECT COUNT(*) FROM @l
----
3

-- A transaction that fails as a whole keeps what a variable has of it.
CREATE TABLE kept_one (id int PRIMARY KEY)
DECLARE @log TABLE (id int)
BEGIN TRAN
INSERT kept_one OUTPUT inserted.id INTO @log VALUES (1), (2)
ROLLBACK
SELECT COUNT(*) FROM kept_one
SELECT id FROM @log ORDER BY id
----
0
1
2

CREATE FUNCTION counted(@n int) RETURNS @r TABLE (a int PRIMARY KEY, b varchar(5)) AS BEGIN
DECLARE @i int = 0
DECLARE @own TABLE (a int)
WHILE @i < @n BEGIN INSERT @own VALUES (@i) SET @i += 1 END
INSERT @r SELECT a, 'row' FROM @own
UPDATE @r SET b = 'last' WHERE a = @n - 1
RETURN END
----

SELECT a, b FROM counted(3)
SELECT v.n, c.a FROM (VALUES (1), (2)) AS v (n) CROSS APPLY counted(v.n) AS c ORDER BY v.n, c.a
----
0 | row
1 | row
2 | last
1 | 0
2 | 0
2 | 1
