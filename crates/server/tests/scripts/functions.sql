SELECT TRIM('  a '), TRIM('.,! ' FROM '  # test .'), TRIM(LEADING '.' FROM '..a..'), TRIM(TRAILING '.' FROM '..a..'), TRIM(BOTH 'ab' FROM 'abcab'), LTRIM('123abc', '123'), RTRIM('abc..', '.')
----
a | # test | a.. | ..a | c | abc | abc

SELECT PARSENAME('srv.db.sch.obj', 1), PARSENAME('srv.db.sch.obj', 4), PARSENAME('[a.b].c', 2), PARSENAME('a..c', 2), PARSENAME('a.b.c.d.e', 1), PARSENAME('a', 5)
----
obj | srv | a.b | NULL | NULL | NULL

SELECT SOUNDEX('Smith'), SOUNDEX('Smythe'), SOUNDEX('Juice'), SOUNDEX('Pfister'), SOUNDEX(''), DIFFERENCE('Green', 'Greene'), DIFFERENCE('Blotchet-Halls', 'Greene')
----
S530 | S530 | J200 | P236 | 0000 | 4 | 0

SELECT STRING_ESCAPE('"\ / ' + CHAR(10) + CHAR(9) + CHAR(1), 'json'), FORMATMESSAGE('%s has %d rows (%%)', 'Å', 5), FORMATMESSAGE('no %s', NULL)
----
\"\\ \/ \n\t\u0001 | Å has 5 rows (%) | no (null)

SELECT STRING_ESCAPE('a', 'xml')
----
error 15501

SELECT HASHBYTES('MD5', 'abc'), HASHBYTES('SHA1', 'abc'), HASHBYTES('SHA2_256', '')
----
0x900150983CD24FB0D6963F7D28E17F72 | 0xA9993E364706816ABA3E25717850C26C9CD0D89D | 0xE3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855

SELECT DATALENGTH(HASHBYTES('sha2_512', N'x')), HASHBYTES('MD5', N'abc'), HASHBYTES('nosuch', 'a'), HASHBYTES('SHA2_256', NULL)
----
64 | 0xCE1473CF80C6B3FDA8E3DFC006ADC315 | NULL | NULL

SELECT HASHBYTES('SHA2_256', 1)
----
error 8116: Argument data type int is invalid for argument 2 of hashbytes function.

SELECT GREATEST(1, 3, 2), LEAST(1.5, 3), GREATEST('b', 'A', NULL), LEAST(NULL, NULL, 4), GREATEST(CAST('2024-01-01' AS date), '2023-01-01')
----
[ int null,  numeric(11, 1) null,  varchar(1) null,  int null,  date null]
3 | 1.5 | b | 4 | 2024-01-01

SELECT BIT_COUNT(CAST(-1 AS smallint)), BIT_COUNT(7), LEFT_SHIFT(12345, 5), RIGHT_SHIFT(12345, 5), GET_BIT(0xABCDEF, 2), GET_BIT(4, 1), SET_BIT(0, 2), SET_BIT(7, 0, 0), RIGHT_SHIFT(-1, 31)
----
16 | 3 | 395040 | 385 | 1 | 0 | 4 | 6 | 1

DECLARE @v sql_variant = 5; SELECT @v, CAST(@v AS int) + 1, SQL_VARIANT_PROPERTY(@v, 'BaseType'), SQL_VARIANT_PROPERTY(@v, 'Precision'), SQL_VARIANT_PROPERTY(@v, 'MaxLength')
----
5 | 6 | int | 10 | 4

SELECT SQL_VARIANT_PROPERTY(CAST(1.25 AS decimal(9, 2)), 'BaseType'), SQL_VARIANT_PROPERTY(CAST(1.25 AS decimal(9, 2)), 'Scale'), SQL_VARIANT_PROPERTY(N'abc', 'BaseType'), SQL_VARIANT_PROPERTY(N'abc', 'MaxLength'), SQL_VARIANT_PROPERTY(N'abc', 'Collation'), SQL_VARIANT_PROPERTY(NULL, 'BaseType')
----
decimal | 2 | nvarchar | 6 | SQL_Latin1_General_CP1_CI_AS | NULL

CREATE TABLE variants (id int, v sql_variant); INSERT variants VALUES (1, 42), (2, N'text'), (3, CAST('2024-02-29' AS date)), (4, NULL); SELECT id, v, SQL_VARIANT_PROPERTY(v, 'BaseType'), CAST(v AS nvarchar(20)) FROM variants ORDER BY id
----
[id int null, v sql_variant null,  nvarchar(128) null,  nvarchar(20) null]
1 | 42 | int | 42
2 | text | nvarchar | text
3 | 2024-02-29 | date | Feb 29 2024
4 | NULL | NULL | NULL

SELECT CAST(CAST('x' AS varchar(max)) AS sql_variant)
----
error 206: Operand type clash: varchar(max) is incompatible with sql_variant

SELECT DATALENGTH(MIN_ACTIVE_ROWVERSION())
----
8

SELECT DATETIMEFROMPARTS(2024, 2, 29, 23, 59, 58, 997), DATETIME2FROMPARTS(2011, 8, 15, 14, 23, 44, 50, 7), TIMEFROMPARTS(14, 23, 44, 5, 1), SMALLDATETIMEFROMPARTS(2010, 12, 31, 23, 59), DATETIMEOFFSETFROMPARTS(2010, 12, 31, 14, 23, 23, 0, 12, 30, 3)
----
Feb 29 2024 11:59PM | 2011-08-15 14:23:44.0000050 | 14:23:44.5 | Dec 31 2010 11:59PM | 2010-12-31 14:23:23.000 +12:30

SELECT DATETIME2FROMPARTS(2011, 2, 30, 0, 0, 0, 0, 0)
----
error 289: Cannot construct data type datetime2, some of the arguments have values which are not valid.

SELECT FORMAT(1234567.891, 'N'), FORMAT(1234567.891, 'N0'), FORMAT(-0.5, 'F0'), FORMAT(1234.5, 'C', 'en-US'), FORMAT(-1234.5, 'C', 'en-us'), FORMAT(0.256, 'P1'), FORMAT(42, 'D5'), FORMAT(255, 'X4'), FORMAT(12345.678, 'E2'), FORMAT(1.50, 'G')
----
1,234,567.89 | 1,234,568 | -1 | $1,234.50 | ($1,234.50) | 25.6 % | 00042 | 00FF | 1.23E+004 | 1.50

SELECT FORMAT(123456789, '###-##-####'), FORMAT(1234.5678, '#,##0.00'), FORMAT(0.5, '#.##'), FORMAT(7, '000'), FORMAT(0.128, '0.0%'), FORMAT(-5, '0;(0);zero'), FORMAT(0, '0;(0);zero'), FORMAT(1234567, '0,.0K'), FORMAT(12, '"no. "0'), FORMAT(1234567.5, '#,#'), FORMAT(5, '##\#')
----
123-45-6789 | 1,234.57 | .5 | 007 | 12.8% | (5) | zero | 1234.6K | no. 12 | 1,234,568 | 5#

SELECT FORMAT(CAST('2024-02-05 15:04:05.678' AS datetime2(3)), 'yyyy-MM-dd HH:mm:ss.fff'), FORMAT(CAST('2024-02-05' AS date), 'd', 'en-US'), FORMAT(CAST('2024-02-05' AS date), 'D', 'en-US'), FORMAT(CAST('2024-02-05 15:04:05' AS datetime), 'M/d/yy h:mm tt'), FORMAT(CAST('2024-02-05' AS date), 'dddd ddd MMMM MMM'), FORMAT(CAST('2024-02-05' AS date), 'yyyyMM')
----
2024-02-05 15:04:05.678 | 2/5/2024 | Monday, February 5, 2024 | 2/5/24 3:04 PM | Monday Mon February Feb | 202402

SELECT FORMAT(CAST('2024-02-05 15:04:05' AS datetime2(0)), 's'), FORMAT(CAST('2024-02-05 15:04:05 +02:00' AS datetimeoffset(0)), 'o'), FORMAT(CAST('2024-02-05 15:04:05 -05:30' AS datetimeoffset(0)), 'HH zzz'), FORMAT(CAST('2024-02-05 15:04:05' AS datetime2(0)), 'G', ''), FORMAT(CAST('2024-02-05' AS date), '%d'), FORMAT(CAST('2024-02-05' AS date), 'yyyy''T''')
----
2024-02-05T15:04:05 | 2024-02-05T15:04:05.0000000+02:00 | 15 -05:30 | 02/05/2024 15:04:05 | 5 | 2024T

SELECT FORMAT(CAST('07:35' AS time(0)), N'hh.mm'), FORMAT(CAST('07:35' AS time(0)), N'hh\.mm'), FORMAT(CAST('07:35' AS time(0)), 'c'), FORMAT(5.5, 'D'), FORMAT(NULL, 'N')
----
NULL | 07.35 | 07:35:00 | NULL | NULL

SELECT FORMAT(1, 'N', 'pl-PL')
----
error 9818

SELECT FORMAT('a', 'N')
----
error 8116: Argument data type varchar is invalid for argument 1 of format function.

SELECT value, ordinal FROM STRING_SPLIT('b,a,,c', ',', 1) ORDER BY ordinal DESC
----
[value varchar(6) null, ordinal bigint]
c | 4
 | 3
a | 2
b | 1

SELECT value FROM STRING_SPLIT('a b', ' '); SELECT COUNT(*) FROM STRING_SPLIT(NULL, ',')
----
a
b
0

SELECT value FROM STRING_SPLIT('a', ',,')
----
error 214

SELECT value FROM GENERATE_SERIES(1, 5); SELECT value FROM GENERATE_SERIES(5, 1, -2); SELECT value FROM GENERATE_SERIES(0.0, 0.3, 0.1); SELECT COUNT(*) FROM GENERATE_SERIES(1, 0, 1)
----
1
2
3
4
5
5
3
1
0.0
0.1
0.2
0.3
0

SELECT value FROM GENERATE_SERIES(1, 5, 0)
----
error 4199

SELECT ISJSON('{"a":[1,2]}'), ISJSON('x'), ISJSON('1'), ISJSON('1', VALUE), ISJSON(NULL)
----
1 | 0 | 0 | 1 | NULL

DECLARE @j nvarchar(max) = N'{"name":"Å\"b","n":1.50,"t":true,"z":null,"list":[1,{"k":"v"}],"two words":2}'; SELECT JSON_VALUE(@j, '$.name'), JSON_VALUE(@j, '$.n'), JSON_VALUE(@j, '$.t'), JSON_VALUE(@j, '$.z'), JSON_VALUE(@j, '$.list'), JSON_VALUE(@j, '$.list[1].k'), JSON_VALUE(@j, '$."two words"'), JSON_QUERY(@j, '$.list'), JSON_QUERY(@j, '$.n'), JSON_PATH_EXISTS(@j, '$.list[1]')
----
Å"b | 1.50 | true | NULL | NULL | v | 2 | [1,{"k":"v"}] | NULL | 1

SELECT JSON_VALUE('{', '$.a')
----
error 13609

SELECT JSON_VALUE('{"a":1}', 'strict $.b')
----
error 13608: Property cannot be found on the specified JSON path.

SELECT JSON_VALUE('{"a":1}', 'a')
----
error 13607

SELECT [key], value, type FROM OPENJSON('{"a":1,"b":"x","c":null,"d":true,"e":[2],"f":{"g":3}}')
----
[key nvarchar(4000), value nvarchar(max) null, type tinyint]
a | 1 | 2
b | x | 1
c | NULL | 0
d | true | 3
e | [2] | 4
f | {"g":3} | 5

SELECT id, name, born, more FROM OPENJSON('{"rows":[{"id":1,"info":{"name":"a"},"born":"2024-02-29","more":{"x":1}},{"id":2}]}', '$.rows') WITH (id int, name nvarchar(20) '$.info.name', born date, more nvarchar(max) AS JSON) ORDER BY id
----
[id int null, name nvarchar(20) null, born date null, more nvarchar(max) null]
1 | a | 2024-02-29 | {"x":1}
2 | NULL | NULL | NULL

DECLARE @p nvarchar(4000) = N'[3,1]'; SELECT v.value FROM OPENJSON(@p) WITH (value int '$') AS v ORDER BY v.value
----
1
3

SELECT DATE_BUCKET(WEEK, 1, CAST('2020-04-15 21:22:11' AS datetime2(0))), DATE_BUCKET(day, 5, CAST('2020-03-15 10:00' AS datetime2(0)), CAST('2020-01-01' AS datetime2(0)))
SELECT DATE_BUCKET(month, 2, CAST('2020-04-15' AS date)), DATE_BUCKET(quarter, 1, CAST('2020-05-15' AS date)), DATE_BUCKET(year, 3, CAST('1899-05-01' AS date)), DATE_BUCKET(month, 1, CAST('2020-04-15' AS date), CAST('2020-01-31' AS date)), DATE_BUCKET(day, 1, CAST(NULL AS date))
SELECT DATE_BUCKET(hour, 6, CAST('2020-05-15 17:00' AS datetime)), DATE_BUCKET(minute, 15, CAST('10:44' AS time(0))), DATE_BUCKET(second, 10, CAST('2020-05-15 17:00:19 +02:00' AS datetimeoffset(0)))
----
2020-04-13 00:00:00 | 2020-03-11 00:00:00
2020-03-01 | 2020-04-01 | 1897-01-01 | 2020-03-31 | NULL
May 15 2020 12:00PM | 10:30:00 | 2020-05-15 17:00:10 +02:00

SELECT DATE_BUCKET(day, 0, CAST('2020-04-15' AS date))
----
error 9834: Invalid bucket width value passed to date_bucket function. Only positive values are allowed.

SELECT DATE_BUCKET(hour, 1, CAST('2020-04-15' AS date))
----
error 9810: The datepart hour is not supported by date function date_bucket for data type date.

SELECT DATE_BUCKET(weekday, 1, CAST('2020-04-15' AS date))
----
error 9810: The datepart weekday is not supported by date function date_bucket for data type date.

SELECT JSON_VALUE('{"a":"1"}', '$.a' RETURNING int) + 1
DECLARE @j json = '{"a":1}'
SET @j.modify('$.a', 2)
SELECT CAST(@j AS varchar(50))
CREATE TABLE #documents (id int, j json)
INSERT #documents VALUES (1, @j)
UPDATE #documents SET j.modify('$.b', 'x') WHERE id = 1
SELECT CAST(j AS varchar(50)) FROM #documents
----
2
{"a":2}
{"a":2,"b":"x"}
