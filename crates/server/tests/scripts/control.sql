DECLARE @a int = 5, @b varchar(10); SET @b = 'x'; SELECT @a AS a, @b AS b; SET @a += 1; SELECT @a
----
5 | x
6

SELECT @nosuch
----
error 137: Must declare the scalar variable "@nosuch".

SELECT 'not reached' DECLARE @a int; DECLARE @A int
----
error 134: The variable name '@A' has already been declared. Variable names must be unique within a query batch or stored procedure.

IF 1 = 1 DECLARE @a int ELSE DECLARE @a int
----
error 134

DECLARE @t TABLE (a int) DECLARE @t int
----
error 134

CREATE PROCEDURE twice @a int AS DECLARE @a int
----
error 134

EXEC sp_executesql N'DECLARE @p int', N'@p int', 1
----
error 134

-- Declared once, and assigned each time that the DECLARE is passed; without a value it keeps what it has.
DECLARE @i int = 0, @kept varchar(20) = ''
WHILE @i < 3 BEGIN DECLARE @s int = 5, @n int SET @s += 1 SET @n = ISNULL(@n, 0) + 1 SET @i += 1 SET @kept += CONCAT(@s, '/', @n, ' ') END
SELECT @kept
----
6/1 6/2 6/3

CREATE PROCEDURE loops AS DECLARE c CURSOR LOCAL FOR SELECT n FROM (VALUES (1), (2)) AS v (n) OPEN c DECLARE @n int, @all varchar(20) = ''
FETCH c INTO @n WHILE @@FETCH_STATUS = 0 BEGIN DECLARE @once int = 10; SET @once += @n; SET @all += CONCAT(@once, ' '); FETCH c INTO @n END SELECT @all
----

EXEC loops
EXEC loops
----
11 12
11 12

-- A variable is there whether or not its DECLARE was run.
IF 1 = 0 DECLARE @left int = 3
SELECT @left
SET @left = 4
SELECT @left
----
NULL
4

DECLARE @v varchar(3) = 'abcdef'; SELECT @v
----
abc

DECLARE @i int = 0, @s varchar(20) = ''; WHILE @i < 5 BEGIN SET @i = @i + 1; IF @i = 2 CONTINUE; IF @i = 4 BREAK; SET @s = @s + CAST(@i AS varchar(2)) END; SELECT @i, @s
----
4 | 13

IF 1 = 1 SELECT 'then' ELSE SELECT 'else'
----
then

IF EXISTS (SELECT * FROM sys.tables WHERE name = 'nosuch') PRINT 'there' ELSE PRINT 'not there'
----
info: not there

PRINT 'a' + 'b'
----
info: ab

PRINT 1.5
----
info: 1.5

RAISERROR ('bad %s number %d', 16, 1, 'thing', 42)
----
error 50000: bad thing number 42

RAISERROR ('note', 10, 1)
----
info: note

THROW 50001, 'thrown', 1
----
error 50001: thrown

BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE() END CATCH
----
8134 | Divide by zero error encountered.

BEGIN TRY RAISERROR('x', 16, 1) END TRY BEGIN CATCH THROW END CATCH
----
error 50000: x

-- A name that is none is an error of compiling: the TRY of the same batch does not catch it, one around a call does.
BEGIN TRY SELECT * FROM nosuch END TRY BEGIN CATCH PRINT 'caught' END CATCH; SELECT 'after'
----
error 208

BEGIN TRY EXEC('SELECT * FROM nosuch SELECT 1') END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH; SELECT 'after'
----
info: 208
after

EXEC('SELECT * FROM nosuch SELECT 1'); SELECT @@ERROR; EXEC sp_executesql N'SELECT nosuch FROM sys.objects SELECT 1'; SELECT @@ERROR
EXEC('SELECT FROM'); SELECT 'goes on'
----
error 208
208
error 207
207
error 156
goes on

CREATE PROCEDURE names_nothing @n int OUTPUT AS SET @n = 2 SELECT * FROM nosuch SET @n = 3 RETURN 5
----

DECLARE @n int = 7, @status int = 8; EXEC @status = names_nothing @n OUTPUT; SELECT @@ERROR, @n, @status
----
error 208
208 | 7 | 8

CREATE TABLE executed (a int); INSERT executed EXEC('SELECT 1 SELECT * FROM nosuch'); SELECT COUNT(*) FROM executed
INSERT executed EXEC('SELECT 2; THROW 50000, ''x'', 1'); SELECT 'not reached'
----
error 208
0
error 50000

SELECT COUNT(*) FROM executed
----
0

-- What a client describes a statement by ends with the batch that fails.
SET FMTONLY ON EXEC('SELECT * FROM nosuch') SELECT 1 AS a SET FMTONLY OFF SELECT 2 AS b
----
error 208
[a int]
[b int]
2

SET FMTONLY ON SELECT * FROM nosuch SET FMTONLY OFF
----
error 208

SELECT 'rows'
----
rows

SET FMTONLY ON
----

SELECT * FROM nosuch
----
error 208

SELECT 1 AS a
SET FMTONLY OFF
----
[a int]

THROW 50000, 'x', 1; SELECT 'not reached'
----
error 50000

IF 1 = 1 BEGIN THROW 50000, 'x', 1 END SELECT 'not reached'
----
error 50000

EXEC('THROW 50000, ''x'', 1'); SELECT 'not reached'
----
error 50000

BEGIN TRY THROW 50000, 'x', 1 END TRY BEGIN CATCH THROW; SELECT 'not reached' END CATCH SELECT 'not reached'
----
error 50000

RAISERROR('e', 17, 1) SELECT @@ERROR RAISERROR('f', 18, 1) SELECT 'goes on'
----
error 50000: e
50000
error 50000: f
goes on

RAISERROR('g', 19, 1) WITH LOG SELECT 'not reached'
----
error 50000: g

SELECT 1 / 0; SELECT 'after'
----
error 8134
after

SELECT * FROM nosuch; SELECT 'not reached'
----
error 208

SELECT 'a'; SELEC 'b'
----
error 102

EXEC ('SELECT 1 AS x')
----
[x int]
1
status 0

DECLARE @t nvarchar(50) = N'SELECT 2'; EXEC (@t + N' + 3')
----
5

EXEC sp_executesql N'SELECT @p * 2, @q', N'@p int, @q nvarchar(10)', @p = 21, @q = N'hi'
----
42 | hi
status 0

EXEC sp_executesql N'SELECT @p', N'@p int', 7
----
7

DECLARE @out int; EXEC sp_executesql N'SET @o = @i + 1', N'@i int, @o int OUTPUT', @i = 4, @o = @out OUTPUT; SELECT @out
----
5

EXEC sp_executesql N'SELECT @p', N'@p int'
----
error 8178

sp_executesql N'SELECT 3'
----
3

EXEC nosuch
----
error 2812: Could not find stored procedure 'nosuch'.

DECLARE @r int; EXEC @r = sp_executesql N'SELECT 1'; SELECT @r
----
1
0

RETURN; SELECT 1
----

DECLARE @n int; SELECT @n = v FROM (VALUES (1), (2), (3)) AS t (v) ORDER BY v; SELECT @n
----
3

DECLARE @list nvarchar(max); SELECT @list = COALESCE(@list + N', ', N'') + QUOTENAME(v) FROM (VALUES ('b'), ('a'), ('c')) AS t (v) ORDER BY v; SELECT @list
----
[ nvarchar(max) null]
[a], [b], [c]

DECLARE @n int = 9; SELECT @n = 1 WHERE 1 = 0; SELECT @n, @@ROWCOUNT
----
9 | 0

DECLARE @x int; SELECT @x = 1, 2
----
error 141

SET DATEFIRST 7 SET LANGUAGE us_english SET NOCOUNT OFF SELECT @@DATEFIRST
----
info: Changed language setting to us_english.
7

-- A language that does not change leaves what was set beside it.
SET DATEFIRST 3 SET DATEFORMAT dmy SET LANGUAGE us_english SELECT @@DATEFIRST, CAST('02/03/2021' AS date)
SET DATEFIRST 7 SET DATEFORMAT mdy
----
info: Changed language setting to us_english.
3 | 2021-03-02

-- What counts no rows leaves 0.
SELECT 1 PRINT 'x' SELECT @@ROWCOUNT
SELECT 1 SET NOCOUNT OFF SELECT @@ROWCOUNT
SELECT 1 RAISERROR('note', 1, 1) SELECT @@ROWCOUNT
SELECT 1 USE master SELECT @@ROWCOUNT
SELECT 1 BEGIN TRAN SELECT @@ROWCOUNT
SELECT 1 COMMIT SELECT @@ROWCOUNT
DECLARE c CURSOR LOCAL FOR SELECT 1 AS a OPEN c
SELECT 1 CLOSE c SELECT @@ROWCOUNT
SELECT 1 DEALLOCATE c SELECT @@ROWCOUNT
RAISERROR('e', 16, 1) PRINT 'x' SELECT @@ERROR
EXEC('SELECT 1 UNION ALL SELECT 2') SELECT @@ROWCOUNT
----
1
info: x
0
1
0
1
info: note
0
1
0
1
0
1
0
1
0
1
0
error 50000: e
info: x
0
1
2
2

CREATE PROCEDURE names_itself AS SELECT OBJECT_NAME(@@PROCID), @@NESTLEVEL EXEC('SELECT @@NESTLEVEL') EXEC sp_executesql N'SELECT @@NESTLEVEL'
----

SELECT @@NESTLEVEL, @@PROCID EXEC('SELECT @@NESTLEVEL') EXEC sp_executesql N'SELECT @@NESTLEVEL'
EXEC names_itself
----
0 | 0
1
2
names_itself | 1
2
3

CREATE FUNCTION dbo.own_name() RETURNS varchar(40) AS BEGIN RETURN CONCAT(OBJECT_NAME(@@PROCID), ' ', @@NESTLEVEL) END
----

CREATE TABLE named (a int)
----

CREATE TRIGGER names ON named AFTER INSERT AS SELECT OBJECT_NAME(@@PROCID), @@NESTLEVEL
----

SELECT dbo.own_name()
INSERT named VALUES (1)
----
own_name 1
names | 1

SELECT @@ERROR, @@TRANCOUNT, @@SPID
----
0 | 0 | 51

SELECT CASE WHEN @@VERSION LIKE '%bulkwire%not Microsoft SQL Server%' THEN 1 END, SERVERPROPERTY('EngineEdition'), USER_NAME(), SUSER_SNAME(), HOST_NAME(), APP_NAME()
----
1 | 3 | dbo | sa | host | scripts

SET FMTONLY ON; SELECT 1 AS a; SET FMTONLY OFF; SELECT 2 AS b
----
[a int]
[b int]
2

WAITFOR DELAY '00:00:00.01'; SELECT 'waited'
----
waited

CREATE TABLE #left (n int); SET DATEFIRST 3; SET LOCK_TIMEOUT 77; BEGIN TRAN
----

EXEC sp_reset_connection; SELECT @@TRANCOUNT, @@DATEFIRST, @@LOCK_TIMEOUT, OBJECT_ID('tempdb..#left')
----
0 | 7 | -1 | NULL

-- A name that is no column ends the batch; the queries behind it tell theirs.
SELECT 1 AS before SELECT no_a FROM sys.objects SELECT 2 AS never
SELECT no_b FROM sys.objects SELECT name FROM nosuch IF 1 = 1 SELECT no_c FROM sys.objects
SELECT no_d FROM sys.tables
----
1
error 207: Invalid column name 'no_a'.
error 207: Invalid column name 'no_b'.
error 207: Invalid column name 'no_d'.

-- Whom nothing can be granted to is told; no statement behind is taken for a part of this one.
GRANT SELECT, INSERT (a) ON SCHEMA::dbo TO public, guest WITH GRANT OPTION SELECT 1 AS n
REVOKE GRANT OPTION FOR EXECUTE FROM public CASCADE SELECT 2 AS n
GRANT SELECT ON nosuch TO somebody SELECT 3 AS n
GRANT CONTROL TO dbo
DENY SELECT ON nosuch TO public
SETUSER
EXECUTE AS USER = 'somebody' WITH NO REVERT
IF 1 = 0 DENY SELECT ON nosuch TO public
IF 1 = 0 EXECUTE AS LOGIN = 'somebody'
IF 1 = 0 REVERT
IF 1 = 0 CREATE TABLE versioned (a int PRIMARY KEY) WITH (SYSTEM_VERSIONING = ON)
SELECT 4 AS n
CREATE TABLE versioned (a int PRIMARY KEY) WITH (SYSTEM_VERSIONING = ON)
----
1
2
error 15151: Cannot find the user 'somebody', because it does not exist or you do not have permission.
3
error 4624: Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.
error 40515: DENY is not supported by this server.
error 40515: SETUSER is not supported by this server.
error 15517: Cannot execute as the database principal because the principal "somebody" does not exist, this type of principal cannot be impersonated, or you do not have permission.
4
error 40515: SYSTEM_VERSIONING is not supported by this server.

GRANT SELECT ON nosuch
----
error 102

SET NONSENSE ON
----
error 195

-- Counters that a script asks for at its head are taken, and not sent.
SET STATISTICS IO, TIME ON SELECT 1
----
1

SET STATISTICS PROFILE ON
----
error 40515

SET ANSI_DEFAULTS ON SELECT @@OPTIONS & (2 | 8 | 16 | 32 | 256 | 1024) SELECT COUNT(*) FROM sys.objects WHERE 1 = 0 SELECT @@TRANCOUNT COMMIT SET IMPLICIT_TRANSACTIONS OFF
----
1338
0
1

SET ANSI_DEFAULTS OFF
----
error 40515

SET STATISTICS IO, TIME OFF SELECT 1
----
1

-- There is one principal, which every session is already.
EXECUTE AS USER = 'dbo' SELECT USER_NAME() AS u REVERT
EXECUTE AS LOGIN = 'sa' SELECT SUSER_SNAME() AS u REVERT
EXEC AS CALLER
REVERT
----
dbo
sa

EXECUTE AS LOGIN = 'somebody'
----
error 15406: Cannot execute as the server principal because the principal "somebody" does not exist, this type of principal cannot be impersonated, or you do not have permission.

DECLARE @c varbinary(100) EXECUTE AS USER = 'dbo' WITH COOKIE INTO @c
----
error 40515: EXECUTE AS … WITH COOKIE is not supported by this server.

-- Variables are looked for when a batch is read, before any of it runs.
CREATE TABLE early (n int)
----

INSERT early VALUES (1); IF 1 = 0 SELECT @nosuch
----
error 137: Must declare the scalar variable "@nosuch".

INSERT early VALUES (1); SELECT @later; DECLARE @later int
----
error 137: Must declare the scalar variable "@later".

INSERT early VALUES (1); INSERT @rows SELECT n FROM early
----
error 1087: Must declare the table variable "@rows".

INSERT early VALUES (1) BEGIN TRY SELECT @nosuch END TRY BEGIN CATCH SELECT 'caught' END CATCH
----
error 137: Must declare the scalar variable "@nosuch".

CREATE PROCEDURE unsound @a int AS SELECT @a, @b
----
error 137: Must declare the scalar variable "@b".

DECLARE @a int = 1 EXEC ('INSERT early VALUES (2) SELECT @a') SELECT COUNT(*) FROM early
----
error 137: Must declare the scalar variable "@a".
0

EXEC sp_executesql N'INSERT early VALUES (@a); SELECT @b', N'@a int', @a = 3
SELECT COUNT(*) FROM early
----
error 137: Must declare the scalar variable "@b".
0

BEGIN TRY EXEC ('SELECT @nosuch') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
----
137

-- The names of arguments are the procedure's, and declarations count wherever they stand before.
CREATE PROCEDURE sound @first int, @second int = 2 AS SELECT @first + @second
----

DECLARE @t TABLE (a int) IF 1 = 0 BEGIN DECLARE @n int = 5 END
SET @n = 4 INSERT @t VALUES (@n) SELECT a FROM @t
EXEC sound @second = @n, @first = 1
EXEC sp_executesql N'SELECT @x', N'@x int', @x = @n
----
affected 1
4
5
4
