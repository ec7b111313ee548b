CREATE TABLE t (id int PRIMARY KEY, v int, s varchar(10))
INSERT t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')
CREATE TABLE heap (id int) INSERT heap VALUES (1)
CREATE TABLE u (a int NOT NULL, b int NOT NULL, w int, CONSTRAINT uq UNIQUE (a, b)) INSERT u VALUES (1, 1, 5), (1, 2, 6)
----

-- The row that was fetched last is changed.
DECLARE c CURSOR FOR SELECT s FROM t ORDER BY id DESC
OPEN c
DECLARE @s varchar(10)
FETCH NEXT FROM c INTO @s
WHILE @@FETCH_STATUS = 0 BEGIN
    IF @s = 'b' DELETE t WHERE CURRENT OF c
    ELSE UPDATE t SET v = v + 1, s = s + '!' WHERE CURRENT OF c
    FETCH NEXT FROM c INTO @s
END
CLOSE c DEALLOCATE c
SELECT id, v, s FROM t ORDER BY id
----
1 | 11 | a!
3 | 31 | c!

-- FETCH shows the query's own columns alone.
DECLARE c CURSOR LOCAL SCROLL FOR SELECT v FROM t ORDER BY id FOR UPDATE OF v
OPEN c
FETCH LAST FROM c
UPDATE t SET v = 100 WHERE CURRENT OF c
FETCH PRIOR FROM c
UPDATE t SET v = 200 OUTPUT deleted.v, inserted.v WHERE CURRENT OF c
UPDATE t SET s = 'x' WHERE CURRENT OF c
----
[v int null]
31
[v int null]
11
[v int null, v int null]
11 | 200
error 16932: The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.

SELECT id, v FROM t ORDER BY id
----
1 | 200
3 | 100

DECLARE c CURSOR LOCAL FOR SELECT u.w, t.s FROM u JOIN t ON t.id = u.a WHERE u.b = 2
OPEN c FETCH c
DELETE FROM u WHERE CURRENT OF c
UPDATE x SET s = 'joined' FROM t AS x WHERE CURRENT OF c
UPDATE heap SET id = 2 WHERE CURRENT OF c
DELETE u WHERE CURRENT OF c
----
6 | a!
error 16933: The cursor does not include the table being modified or the table is not updatable through the cursor.
error 16947: No rows were updated or deleted.

SELECT a, b FROM u SELECT s FROM t WHERE id = 1
----
1 | 1
joined

DECLARE c CURSOR LOCAL FOR SELECT id FROM t
UPDATE t SET v = 0 WHERE CURRENT OF c
OPEN c
UPDATE t SET v = 0 WHERE CURRENT OF c
DELETE t WHERE CURRENT OF nosuch
----
error 16917: Cursor is not open.
error 16931: There are no rows in the current fetch buffer.
error 16916: A cursor with the name 'nosuch' does not exist.

DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM t OPEN c FETCH c DELETE t WHERE CURRENT OF c
DECLARE d CURSOR LOCAL FOR SELECT DISTINCT id FROM t OPEN d FETCH d DELETE t WHERE CURRENT OF d
DECLARE e CURSOR LOCAL FOR SELECT id FROM heap OPEN e FETCH e DELETE heap WHERE CURRENT OF e
----
1
error 16929: The cursor is READ ONLY.
1
error 16929: The cursor is READ ONLY.
1
error 16929: The cursor is READ ONLY.

DECLARE g CURSOR GLOBAL FOR SELECT id FROM t OPEN g FETCH g
----
1

DELETE t WHERE CURRENT OF GLOBAL g DEALLOCATE g
SELECT id FROM t
----
3

-- A variable's cursor.
DECLARE @c CURSOR SET @c = CURSOR FOR SELECT id FROM t OPEN @c FETCH @c DELETE t WHERE CURRENT OF @c
SELECT COUNT(*) FROM t
----
3
0
