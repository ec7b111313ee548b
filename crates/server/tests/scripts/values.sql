SELECT 'Łódź', CAST(N'→' AS varchar(5)), CONVERT(varchar(max), N'中x'), CASE WHEN CAST(N'中' AS varchar(3)) = '?' THEN 1 ELSE 0 END, UPPER('ßÿµ')
----
Lódz | ? | ?x | 1 | ßŸµ

DECLARE @v varchar(10) = N'中'
SELECT @v, DATALENGTH(@v)
PRINT CAST(N'中' AS varchar(3))
----
? | 1
info: ?

SELECT CAST(N'中' COLLATE Chinese_PRC_CI_AS AS varchar(3)), DATALENGTH(CAST(N'中国' COLLATE Chinese_PRC_CI_AS AS varchar(3))), CAST(N'ü' COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS varbinary(4))
----
中 | 2 | 0xFC00

SELECT CAST(CAST(N'中' COLLATE Chinese_PRC_CI_AS AS varchar(3)) COLLATE Latin1_General_CI_AS AS nvarchar(3)), CAST('ü' COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS varbinary(4))
----
? | 0xC3BC

SELECT REPLACE('aA', 'a', 'x' COLLATE Latin1_General_CS_AS), REPLACE('aA', 'a', 'x'), CHARINDEX('A' COLLATE Latin1_General_CS_AS, 'aA'), TRANSLATE('aA', 'a', 'x')
----
xA | xx | 2 | xx

SELECT 'a' + STRING_AGG(v, ','), LEN(STRING_AGG(v, ',')), STUFF(STRING_AGG(v, ''), 1, 1, '') FROM (VALUES ('1'), ('2')) AS t(v)
----
a1,2 | 3 | 2

SELECT UPPER(STRING_AGG(v, 'x') WITHIN GROUP (ORDER BY v DESC)) FROM (VALUES ('1'), ('2')) AS t(v)
----
2X1

SELECT x.s + 'q' FROM (SELECT STRING_AGG(v, ',') FROM (VALUES ('1'), ('2')) AS t(v)) AS x(s)
----
1,2q

SELECT STRING_AGG(REPLICATE('a', 5000), ',') FROM (VALUES (1), (2)) AS t(v)
----
error 9829: STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.

SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM (VALUES (1), (2), (3)) AS v(a)
----
1
2
3

SELECT RANK() OVER (ORDER BY (SELECT 1)), NTILE(2) OVER (ORDER BY (SELECT NULL)), SUM(1) OVER (ORDER BY (SELECT NULL)) FROM (VALUES (1), (2)) AS v(a)
----
1 | 1 | 2
1 | 2 | 2

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY NEWID()) AS n FROM (VALUES (1), (2)) AS u(b) CROSS JOIN (VALUES (1), (2)) AS v(a)) AS t WHERE n > 1
----
3

SELECT SUM(a) OVER (ORDER BY g), RANK() OVER (ORDER BY o) FROM (VALUES (1, CAST('00000000-0000-0000-0000-000000000002' AS uniqueidentifier), CAST('2020-01-01 00:00 +01:00' AS datetimeoffset)), (2, '00000000-0000-0000-0000-000000000001', '2020-01-01 00:00 +00:00')) AS v(a, g, o) ORDER BY a
----
3 | 1
2 | 2

SELECT COUNT(*) OVER (ORDER BY b) FROM (VALUES (0x01), (0x02)) AS v(b)
----
1
2

SELECT ROW_NUMBER() OVER (ORDER BY 1) FROM (VALUES (1)) AS v(a)
----
error 5308: Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer indices as ORDER BY clause expressions.

SELECT COUNT(DISTINCT a) OVER () FROM (VALUES (1), (1)) AS v(a)
----
error 10759: Use of DISTINCT is not allowed with the OVER clause.

SELECT 54 / CAST(NULL AS real), 1.0 / NULLIF(f, 0), f / CAST(NULL AS float) FROM (VALUES (CAST(0 AS float)), (2)) AS t(f)
----
NULL | NULL | NULL
NULL | 0.5 | NULL

SELECT SUM(f) FROM (VALUES (1e308), (1e308)) AS v(f)
----
error 8115: Arithmetic overflow error converting expression to data type float.

SELECT AVG(f) FROM (VALUES (1e308), (1e308)) AS v(f)
----
error 8115

SELECT SUM(f) OVER (ORDER BY f) FROM (VALUES (1e308), (1e308)) AS v(f)
----
error 8115

SELECT ROUND(2147483647, -1)
----
error 8115: Arithmetic overflow error converting expression to data type int.

SELECT CAST(0.00000000000049382716 AS numeric(38,20)) / (CAST(0.00000000000012345679 AS numeric(38,20)) + 0.0), CAST(10000000000000000000000000000000000000 AS numeric(38,0)) + 0.0
----
[ numeric(38, 6),  numeric(38, 0)]
4.000000 | 10000000000000000000000000000000000000

SELECT CAST(1 AS numeric(38,20)) + 0.0, CAST(1 AS numeric(38,10)) - CAST(1 AS numeric(38,30)), CAST(1 AS numeric(20,10)) * CAST(1 AS numeric(20,10)), CAST(1 AS numeric(38,20)) * CAST(1 AS numeric(38,20)), CAST(1 AS numeric(10,2)) / CAST(3 AS numeric(10,2)), CAST(7 AS numeric(10,2)) % CAST(4 AS numeric(5,4))
----
[ numeric(38, 20),  numeric(38, 10),  numeric(38, 17),  numeric(38, 6),  numeric(23, 13),  numeric(5, 4)]
1.00000000000000000000 | 0.0000000000 | 1.00000000000000000 | 1.000000 | 0.3333333333333 | 3.0000

SELECT CAST(1 AS numeric(10,2)) UNION ALL SELECT CAST(2 AS numeric(12,8))
----
[ numeric(16, 8)]
1.00000000
2.00000000

SELECT CAST(1 AS numeric(38,0)) UNION ALL SELECT CAST(1.5 AS numeric(38,10))
----
[ numeric(38, 0)]
1
2

DECLARE @v sql_variant = 1, @w sql_variant = CAST(1.00 AS decimal(5,2)), @t sql_variant = 'a', @f sql_variant = 1e0
SELECT CASE WHEN @v = 1 THEN 1 ELSE 0 END, CASE WHEN @v = @w THEN 1 ELSE 0 END, CASE WHEN @t > @v THEN 1 ELSE 0 END, CASE WHEN @t = N'A' THEN 1 ELSE 0 END, CASE WHEN @f > @v THEN 1 ELSE 0 END
----
1 | 1 | 0 | 1 | 1

SELECT COUNT(DISTINCT v) FROM (VALUES (CAST(1 AS sql_variant)), (CAST(1.0 AS sql_variant)), (CAST('x' AS sql_variant))) AS t(v)
----
2

DECLARE @a int, @r int
SELECT a FROM (VALUES (1), (2), (3)) AS v(a)
SET @a = 5
SELECT @@ROWCOUNT
----
1
2
3
1

SELECT 1 AS [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]
----
error 103: The identifier that starts with 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is too long. Maximum length is 128.

CREATE TABLE cu (v varchar(100) COLLATE Cyrillic_General_CI_AS)
INSERT cu VALUES (N'ж'), (N'Ж')
CREATE UNIQUE INDEX ux ON cu(v)
----
affected 2
error 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.cu' and the index name 'ux'. The duplicate key value is (Ж).

CREATE TABLE js (j json)
INSERT js VALUES ('{"a":1}')
SELECT j FROM js
----
[j nvarchar(max) null]
{"a":1}

CREATE PROCEDURE returns_least AS RETURN -2147483648
----

DECLARE @s int
EXEC @s = returns_least
SELECT @s
----
-2147483648

SELECT CONVERT(time(0), '23:59:59.999999999'), CONVERT(time(7), '01:02:03.123456789')
----
23:59:59 | 01:02:03.1234567

RAISERROR(15097, 16, 1)
----
error 18054: Error 15097, severity 16, state 1 was raised, but no message with that error number was found in sys.messages. If error is larger than 50000, make sure the user-defined message is added using sp_addmessage.

CREATE TABLE ids (a bigint IDENTITY(-9223372036854775808, 1), b int)
INSERT ids (b) VALUES (1), (2)
SELECT $IDENTITY, t.$IDENTITY FROM ids AS t
----
-9223372036854775808 | -9223372036854775808
-9223372036854775807 | -9223372036854775807

CREATE TABLE far (a decimal(38) IDENTITY(99999999999999999999999999999999999998, 1))
----
error 40515

CREATE TABLE pk (a int NULL PRIMARY KEY)
----
error 8111: Cannot define PRIMARY KEY constraint on nullable column in table 'pk'.
error 1750: Could not create constraint or index. See previous errors.

SELECT @@OPTIONS
SET ANSI_NULLS OFF
SET XACT_ABORT, NOCOUNT ON
SELECT @@OPTIONS, SESSIONPROPERTY('ANSI_NULLS')
SELECT COUNT(*) FROM (VALUES (1), (NULL)) AS v(a) WHERE a = NULL
SELECT COUNT(*) FROM (VALUES (1), (NULL)) AS v(a) WHERE a <> NULL
SET ANSI_NULLS ON
SET XACT_ABORT, NOCOUNT OFF
SELECT COUNT(*) FROM (VALUES (1), (NULL)) AS v(a) WHERE a = NULL
----
5432
22296 | 0
1
1
0

SET CONCAT_NULL_YIELDS_NULL OFF
SELECT 'a' + NULL, CAST(NULL AS varchar(5)) + N'b', 1 + NULL
SET CONCAT_NULL_YIELDS_NULL ON
SELECT 'a' + NULL
----
a | b | NULL
NULL

SET QUOTED_IDENTIFIER OFF
SELECT "x"
SET QUOTED_IDENTIFIER ON
SELECT a "x" FROM (SELECT 1 AS a) AS "t"
----
[ varchar(1)]
x
[x int]
1

SET ANSI_NULL_DFLT_ON OFF
CREATE TABLE dflt (a int, b int NULL)
SET ANSI_NULL_DFLT_ON ON
SELECT name, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('dflt')
----
a | 0
b | 1

SET TEXTSIZE 4
SELECT CAST('abcdef' AS varchar(max)), CAST(N'abcdef' AS nvarchar(max)), CAST(0x010203040506 AS varbinary(max)), 'abcdef'
SET TEXTSIZE 0
SELECT @@TEXTSIZE
SET TEXTSIZE -1
SELECT LEN(CAST('abcdef' AS varchar(max)))
----
abcd | ab | 0x01020304 | abcdef
4096
6

SET LANGUAGE Klingon
SET DATEFORMAT x
----
error 40515
error 2741: SET DATEFORMAT date order 'x' is invalid.

-- Only the old types read a date after its year as DATEFORMAT has it, and not in ISO 8601 with a T.
SET DATEFORMAT dmy
SELECT CAST('05/04/2024' AS date), CAST('05.04.2024 10:11' AS datetime), CONVERT(smalldatetime, '05-04-2024'), CAST('05/04/2024' AS datetime2(0))
SELECT CAST('2024-05-04' AS date), CAST('2024-05-04' AS datetime2(0)), CAST('2024-05-04T10:00:00' AS datetime), CAST('20240504' AS datetime), {d '2024-05-04'}
SELECT CAST('2024-05-04' AS datetime), CAST('2024/05/04 10:11' AS datetime), CAST('2024.05.04' AS smalldatetime), CONVERT(datetime, '2024-05-04', 120)
SELECT CONVERT(date, '05/04/2024', 101), CONVERT(date, '05/04/2024', 103), ISDATE('12/31/2024'), ISDATE('31/12/2024'), TRY_CAST('12/31/2024' AS date)
SELECT CAST('2024-05-31' AS datetime)
----
2024-04-05 | Apr  5 2024 10:11AM | Apr  5 2024 12:00AM | 2024-04-05 00:00:00
2024-05-04 | 2024-05-04 00:00:00 | May  4 2024 10:00AM | May  4 2024 12:00AM | May  4 2024 12:00AM
Apr  5 2024 12:00AM | Apr  5 2024 10:11AM | Apr  5 2024 12:00AM | May  4 2024 12:00AM
2024-05-04 | 2024-04-05 | 0 | 1 | NULL
error 242

CREATE FUNCTION dbo.read_date(@text varchar(20)) RETURNS date AS BEGIN RETURN @text END
----

-- What runs within the statement reads as it does; a scope's own order ends with it, and goes on to the next batch of a session.
SELECT dbo.read_date('05/04/2024')
EXEC('SET DATEFORMAT mdy SELECT CAST(''05/04/2024'' AS date)')
SELECT CAST('05/04/2024' AS date) FROM (VALUES (1), (2)) AS two(n) WHERE '04/05/2024' < CAST('2024-05-05' AS date)
----
2024-04-05
2024-05-04
2024-04-05
2024-04-05

SET DATEFORMAT ymd
SELECT CAST('05/04/2024' AS date), CAST('2024-05-04' AS datetime)
SET DATEFORMAT ydm
SELECT CAST('05/04/2024' AS date), CAST('2024-05-04' AS datetime), CAST('2024-05-04' AS date)
SELECT date_format, date_first FROM sys.dm_exec_sessions WHERE session_id = @@SPID
SET LANGUAGE us_english
SELECT CAST('05/04/2024' AS date), date_format FROM sys.dm_exec_sessions WHERE session_id = @@SPID
----
2024-05-04 | May  4 2024 12:00AM
2024-04-05 | Apr  5 2024 12:00AM | 2024-05-04
ydm | 7
info: Changed language setting to us_english.
2024-04-05 | ydm

SET ANSI_WARNINGS OFF
----
error 40515

CREATE DATABASE other
USE other
----

CREATE FUNCTION dbo.twice(@a int) RETURNS int AS BEGIN RETURN @a * 2 END
----

CREATE TABLE calls (a int CHECK (dbo.twice(a) < 10), b AS dbo.twice(a), c int DEFAULT dbo.twice(4))
USE master
----

CREATE FUNCTION dbo.twice(@a int) RETURNS int AS BEGIN RETURN 999 END
----

INSERT other.dbo.calls (a) VALUES (2)
INSERT other.dbo.calls (a) VALUES (5)
SELECT a, b, c FROM other.dbo.calls
----
affected 1
error 547
2 | 4 | 8

CREATE DATABASE latin COLLATE Latin1_General_CI_AS
SELECT DATABASEPROPERTYEX('latin', 'Collation'), collation_name FROM sys.databases WHERE name = 'latin'
CREATE DATABASE cc COLLATE Chinese_PRC_CI_AS
CREATE DATABASE cc COLLATE nosuch
----
Latin1_General_CI_AS | Latin1_General_CI_AS
error 40515
error 448: Invalid collation 'nosuch'.

USE latin
----

CREATE TABLE t (a varchar(5), b int)
SELECT collation_name FROM sys.columns WHERE object_id = OBJECT_ID('t')
----
Latin1_General_CI_AS
NULL
