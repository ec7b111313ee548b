DECLARE @a int = 5, @b varchar(10); SET @b = 'x'; SELECT @a AS a, @b AS b; SET @a += 1; SELECT @a
----
5 | x
6

SELECT @nosuch
----
error 137: Must declare the scalar variable "@nosuch".

DECLARE @a int; DECLARE @A int
----
error 134

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

BEGIN TRY SELECT * FROM nosuch END TRY BEGIN CATCH PRINT 'caught' END CATCH; SELECT 'after'
----
info: caught
after

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
7

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
REVERT
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
error 4624
error 40515
error 40515
error 40515: EXECUTE AS is not supported by this server.
4
error 40515

GRANT SELECT ON nosuch
----
error 102

SET NONSENSE ON
----
error 195

SET STATISTICS TIME ON
----
error 40515

SET STATISTICS IO, TIME OFF SELECT 1
----
1
