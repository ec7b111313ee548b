CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(10)); INSERT t VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, NULL)
----

DECLARE c CURSOR FOR SELECT id, name FROM t ORDER BY id; OPEN c; DECLARE @id int, @name varchar(10), @all varchar(100) = ''; FETCH NEXT FROM c INTO @id, @name; WHILE @@FETCH_STATUS = 0 BEGIN SET @all = @all + CAST(@id AS varchar(5)) + '=' + ISNULL(@name, '-') + ';'; FETCH NEXT FROM c INTO @id, @name END; CLOSE c; DEALLOCATE c; SELECT @all, @@FETCH_STATUS
----
1=one;2=two;3=three;4=-; | -1

DECLARE c SCROLL CURSOR FOR SELECT id FROM t ORDER BY id; OPEN c; FETCH LAST FROM c; FETCH PRIOR FROM c; FETCH FIRST FROM c; FETCH ABSOLUTE 3 FROM c; FETCH RELATIVE -2 FROM c; FETCH ABSOLUTE -1 FROM c; FETCH FROM c; SELECT @@FETCH_STATUS
----
[id int]
4
[id int]
3
[id int]
1
[id int]
3
[id int]
1
[id int]
4
[id int]
[ int]
-1

-- A global cursor outlives its batch.
FETCH FIRST FROM GLOBAL c; CLOSE c; DEALLOCATE c
----
1

FETCH NEXT FROM c
----
error 16916: A cursor with the name 'c' does not exist.

DECLARE c CURSOR STATIC FOR SELECT id FROM t; OPEN c; SELECT @@CURSOR_ROWS; OPEN c
----
4
error 16905: The cursor is already open.

DECLARE c CURSOR FOR SELECT 1 AS a
----
error 16915: A cursor with the name 'c' already exists.

INSERT t VALUES (5, 'five'); DECLARE @n int = 0; FETCH NEXT FROM c; WHILE @@FETCH_STATUS = 0 BEGIN SET @n = @n + 1; FETCH NEXT FROM c END; CLOSE c; CLOSE c
----
1
2
3
4
error 16917: Cursor is not open.

DEALLOCATE c; DELETE t WHERE id = 5
----

DECLARE c CURSOR FAST_FORWARD FOR SELECT id, name FROM t ORDER BY id DESC; OPEN c; SELECT @@CURSOR_ROWS; FETCH NEXT FROM c; FETCH PRIOR FROM c
----
-1
4 | NULL
error 16911: fetch: The fetch type PREVIOUS cannot be used with forward only cursors.

DECLARE @a int; FETCH NEXT FROM c INTO @a
----
error 16924: Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.

DEALLOCATE c
----

DECLARE @c CURSOR; SET @c = CURSOR LOCAL STATIC FOR SELECT name FROM t WHERE id < 3 ORDER BY id; OPEN @c; DECLARE @v varchar(10); FETCH NEXT FROM @c INTO @v; SELECT @v, CURSOR_STATUS('variable', '@c'); FETCH NEXT FROM @c INTO @v; CLOSE @c; SELECT @v, CURSOR_STATUS('variable', '@c'); DEALLOCATE @c; SELECT CURSOR_STATUS('variable', '@c'), CURSOR_STATUS('global', 'nosuch')
----
one | 1
two | -1
-2 | -3

DECLARE @c CURSOR; OPEN @c
----
error 16950: The variable '@c' does not currently have a cursor allocated to it.

DECLARE l CURSOR LOCAL FOR SELECT id FROM t; OPEN l; SELECT CURSOR_STATUS('local', 'l')
----
1

FETCH NEXT FROM l
----
error 16916: A cursor with the name 'l' does not exist.

DECLARE c CURSOR FOR SELECT nosuch FROM t
----
error 207: Invalid column name 'nosuch'.

DECLARE c CURSOR READ_ONLY FOR SELECT id FROM t FOR UPDATE
----
error 1048: Conflicting cursor options READ_ONLY and FOR UPDATE.

-- API cursors, as drivers call them: keyset is answered as static (8), read-only (1), with the number of rows.
DECLARE @h int, @s int = 1, @c int = 4, @n int; EXEC sp_cursoropen @h OUTPUT, N'SELECT id, name FROM t ORDER BY id', @s OUTPUT, @c OUTPUT, @n OUTPUT; SELECT @h, @s, @c, @n
----
[id int, name varchar(10) null, ROWSTAT int]
status 0
[ int null,  int null,  int null,  int null]
180150003 | 8 | 1 | 4

EXEC sp_cursorfetch 180150003, 2, 0, 3
----
1 | one | 1
2 | two | 1
3 | three | 1

EXEC sp_cursorfetch 180150003, 2, 0, 3
----
4 | NULL | 1

EXEC sp_cursorfetch 180150003, 2, 0, 3
----
[id int, name varchar(10) null, ROWSTAT int]
status 0

EXEC sp_cursorfetch 180150003, 4, 0, 2
----
3 | three | 1
4 | NULL | 1

EXEC sp_cursorfetch 180150003, 8, 0, 1; EXEC sp_cursorfetch 180150003, 1, 0, 1; EXEC sp_cursorfetch 180150003, 16, 2, 2; EXEC sp_cursorfetch 180150003, 32, 1, 1; EXEC sp_cursorfetch 180150003, 128, 0, 1
----
4 | NULL | 1
1 | one | 1
2 | two | 1
3 | three | 1
3 | three | 1
3 | three | 1

DECLARE @at int, @rows int; EXEC sp_cursorfetch 180150003, 256, @at OUTPUT, @rows OUTPUT; SELECT @at, @rows
----
3 | 4

EXEC sp_cursorfetch 180150003, 77, 0, 1
----
error 16902: sp_cursorfetch: The value of the parameter 'fetchtype' is invalid.

EXEC sp_cursoroption 180150003, 2, N'names'; EXEC sp_cursorclose 180150003
----

EXEC sp_cursorfetch 180150003, 2, 0, 3
----
error 16909: sp_cursorfetch: The cursor identifier value provided (abcdef3) is not valid.

EXEC sp_cursorclose 7
----
error 16909: sp_cursorclose: The cursor identifier value provided (7) is not valid.

-- Forward-only, with a parameter; rows are not counted.
DECLARE @h int, @s int = 16388, @c int = 8193, @n int = 0; EXEC sp_cursoropen @h OUTPUT, N'SELECT id FROM t WHERE id > @P1 ORDER BY id', @s OUTPUT, @c OUTPUT, @n OUTPUT, N'@P1 int', 2; SELECT @s, @c, @n; EXEC sp_cursorfetch @h, 2, 1, 100; EXEC sp_cursorfetch @h, 1, 1, 100
----
4 | 1 | -1
3 | 1
4 | 1
error 16911: fetch: The fetch type FIRST cannot be used with forward only cursors.

-- Prepared.
DECLARE @p int, @h int, @s int = 16, @c int = 1, @n int; EXEC sp_cursorprepexec @p OUTPUT, @h OUTPUT, N'@a int', N'SELECT name FROM t WHERE id = @a', @s OUTPUT, @c OUTPUT, @n OUTPUT, 2; EXEC sp_cursorfetch @h, 2, 0, 5; EXEC sp_cursorclose @h; EXEC sp_cursorexecute @p, @h OUTPUT, 8, 1, @n OUTPUT, 3; EXEC sp_cursorfetch @h, 2, 0, 5; EXEC sp_cursorunprepare @p; SELECT @n; EXEC sp_cursorunprepare @p
----
two | 1
three | 1
1
error 8179

-- Not a query: run directly where the caller allows it, and refused where not.
DECLARE @h int, @s int = 4, @c int = 8193, @n int; EXEC sp_cursoropen @h OUTPUT, N'UPDATE t SET name = ''vier'' WHERE id = 4', @s OUTPUT, @c OUTPUT, @n OUTPUT; SELECT @h, name FROM t WHERE id = 4
----
info: Executing SQL directly; no cursor.
0 | vier

DECLARE @h int; EXEC sp_cursoropen @h OUTPUT, N'UPDATE t SET name = NULL', 4, 1, 0
----
error 16937: A server cursor cannot be opened on the given statement or statements. Use a default result set or client cursor.
error 16945: The cursor was not declared.

DECLARE @h int; EXEC sp_cursoropen @h OUTPUT, N'SELECT * FROM nosuch', 4, 1, 0
----
error 208: Invalid object name 'nosuch'.
error 16945: The cursor was not declared.

EXEC sp_executesql N'SELECT @a + @b', N'@a int, @b int', @b = 5, @a = 1
----
6

EXEC sp_executesql N'SELECT @a', N'@a int'
----
error 8178: The parameterized query '(@a int)SELECT @a' expects the parameter '@a', which was not supplied.

EXEC sp_executesql N'SELECT 1', N'@a int', 1, 2
----
error 8144

EXEC sp_executesql N'SELECT 1', N'@a int', @b = 1
----
error 8145

-- A cursor of another kind than the one asked for says so if it is asked.
DECLARE kept CURSOR KEYSET TYPE_WARNING FOR SELECT 1 OPEN kept CLOSE kept DEALLOCATE kept
DECLARE kept CURSOR STATIC TYPE_WARNING FOR SELECT 1 OPEN kept CLOSE kept DEALLOCATE kept
DECLARE kept CURSOR DYNAMIC FOR SELECT 1 OPEN kept CLOSE kept DEALLOCATE kept
----
info: The created cursor is not of the requested type.
