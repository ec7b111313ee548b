SELECT CAST(0x0000A5E600000000 AS datetime), CAST(0x00000000 AS datetime), CONVERT(varchar(30), CAST(0x000000000000012D AS datetime), 121), CAST(0xFFFF2E4600000000 AS datetime)
----
[ datetime,  datetime,  varchar(30),  datetime]
Apr 12 2016 12:00AM | Jan  1 1900 12:00AM | 1900-01-01 00:00:01.003 | Jan  1 1753 12:00AM

SELECT CAST(CAST('2016-04-08 12:30:00.003' AS datetime) AS varbinary(8)), CAST(CAST('1753-01-01' AS datetime) AS binary(8)), CAST(CAST('2016-04-08 12:30' AS smalldatetime) AS varbinary(4)), CAST(0xA5E602EE AS smalldatetime)
----
0x0000A5E200CDFE61 | 0xFFFF2E4600000000 | 0xA5E202EE | Apr 12 2016 12:30PM

SELECT CAST(CAST('2016-01-01' AS date) AS varbinary(10)), CAST(0xF73A0B AS date), CAST(CAST('12:34:56.1234567' AS time) AS varbinary(10)), CAST(CAST('12:34:56' AS time(0)) AS varbinary(10))
----
0xDB3A0B | 2016-01-29 | 0x0787EE977669 | 0x00F0B000

SELECT CAST(CAST('2016-01-01 12:34:56.1234567' AS datetime2) AS varbinary(20)), CAST(CAST('2016-01-01 12:34:56.1234567 +02:00' AS datetimeoffset) AS varbinary(20))
----
0x0787EE977669DB3A0B | 0x07871E0FB358DB3A0B7800

SELECT CAST(CAST(CAST('2016-01-01 12:34:56.123' AS datetime2(3)) AS varbinary(20)) AS datetime2(3)), CAST(CAST(CAST('2016-01-01 00:34:56 +02:00' AS datetimeoffset(0)) AS varbinary(20)) AS datetimeoffset(7)), CAST(CAST(CAST('23:59:59.99' AS time(2)) AS varbinary(20)) AS time(2))
----
2016-01-01 12:34:56.123 | 2016-01-01 00:34:56.0000000 +02:00 | 23:59:59.99

SELECT CAST(1.0 AS varbinary(20)), CAST(CAST(-1.5 AS decimal(2,1)) AS varbinary(20)), CAST(CAST(12345678901234567890 AS decimal(20,0)) AS varbinary(20)), CAST(0x020100010A000000 AS decimal(5,2))
----
0x020100010A000000 | 0x020100000F000000 | 0x14000001D20A1FEB8CA954AB00000000 | 1.00

SELECT CAST($1 AS varbinary(8)), CAST(CAST(-1 AS smallmoney) AS varbinary(8)), CAST($1 AS binary(4)), CAST(0x0000000000002710 AS money), CAST(0x2710 AS money), CAST(0xFFFFD8F0 AS smallmoney), CAST(CAST(1 AS float) AS binary(10))
----
0x0000000000002710 | 0xFFFFD8F0 | 0x00002710 | 1.00 | 1.00 | -1.00 | 0x00003FF0000000000000

SELECT CAST(0x01 AS decimal(5,0))
----
error 8114: Error converting data type varbinary to numeric.

SELECT CAST(0x01 AS float)
----
error 529: Explicit conversion from data type varbinary to float is not allowed.

SELECT CAST(0x0000A5E6FFFFFFFF AS datetime)
----
error 210: Conversion failed when converting datetime from binary/varbinary string.

SELECT CAST(0x01 AS datetime2)
----
error 210

SELECT TRY_CAST(0x09 AS time), TRY_CAST(0xF73A0B AS date)
----
NULL | 2016-01-29

CREATE TABLE orders (id int, at datetime, d date, o datetimeoffset, m money)
INSERT orders VALUES (1, 0x0000A5E600000000, NULL, '2016-01-01 00:34:56 +02:00', $5)
INSERT orders (id, at) SELECT 2, CAST(0x0000A5E700000000 AS datetime)
SELECT id, at, DATALENGTH(CAST(o AS varbinary(20))), CAST(m AS varbinary(8)) FROM orders ORDER BY id
----
1 | Apr 12 2016 12:00AM | 11 | 0x000000000000C350
2 | Apr 13 2016 12:00AM | NULL | NULL

SELECT CAST('1/2/05' AS date), CAST('1/2/49' AS datetime), CAST('1/2/50' AS datetime2(0)), CAST('05-01-02' AS date), CAST('050102' AS date), CAST('Jan 2 05' AS date), CAST('2 Jan 05 10:30' AS smalldatetime), CAST('2005' AS datetime), CAST('April 2005' AS date)
----
2005-01-02 | Jan  2 2049 12:00AM | 1950-01-02 00:00:00 | 2002-05-01 | 2005-01-02 | 2005-01-02 | Jan  2 2005 10:30AM | Jan  1 2005 12:00AM | 2005-04-01

SELECT CONVERT(date, '01/02/05', 1), CONVERT(date, '05.01.02', 2), CONVERT(date, '02/01/05', 3), CONVERT(date, '02.01.05', 4), CONVERT(date, '02-01-05', 5), CONVERT(date, '02 Jan 05', 6), CONVERT(date, 'Jan 02, 05', 7), CONVERT(date, '01-02-05', 10), CONVERT(date, '05/01/02', 11), CONVERT(date, '050102', 12)
----
2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02 | 2005-01-02

SET DATEFORMAT dmy
SELECT CAST('1/2/05' AS datetime), CAST('31.12.99' AS date)
SET DATEFORMAT mdy
----
Feb  1 2005 12:00AM | 1999-12-31

SELECT CAST('13/13/05' AS datetime)
----
error 242

SELECT ISDATE('1/2/05'), ISDATE('2005'), ISDATE('20051'), TRY_CAST('31/12/99' AS date)
----
1 | 1 | 0 | NULL

SELECT CONVERT(varchar(30), CAST('1954-05-22 02:43:37.123' AS datetime), 121)
----
1954-05-22 02:43:37.123

SELECT CAST('1954-05-22 02:43:37.1234' AS datetime)
----
error 241: Conversion failed when converting date and/or time from character string.

SELECT CAST('1954-05-22 02:43:37.1234' AS smalldatetime)
----
error 295: Conversion failed when converting character string to smalldatetime data type.

SELECT CAST(CAST(CAST('2024-01-15' AS date) AS sql_variant) AS nvarchar(50)), CAST(CAST(CAST('2021-06-15 13:45:30.1234567' AS datetime2) AS sql_variant) AS nvarchar(50)), CAST(CAST('2024-01-15' AS date) AS nvarchar(50))
----
Jan 15 2024 | Jun 15 2021  1:45PM | 2024-01-15

SELECT DATEDIFF(day, 0, '1900-01-11'), DATEADD(day, DATEDIFF(day, 0, CAST('2024-05-06 07:08:09' AS datetime)), 0), DATEADD(month, DATEDIFF(month, 0, CAST('2024-05-06' AS date)), 0), YEAR(0), MONTH(59), DATEPART(year, 366), DATENAME(weekday, 0), DATEDIFF(hour, 0, 1.5), DATEDIFF(day, -1, 0)
----
10 | May  6 2024 12:00AM | May  1 2024 12:00AM | 1900 | 3 | 1901 | Monday | 36 | 1

SELECT DATEPART(tzoffset, '2007-05-10 00:00:01.1234567 +05:10'), DATENAME(tzoffset, '2007-05-10 00:00:01.1234567 +05:10'), DATEPART(year, '12:10:30.123'), DATEPART(hour, '12:10:30.123')
----
310 | +05:10 | 1900 | 12

SELECT DATEPART(year, CAST('12:10' AS time))
----
error 9810: The datepart year is not supported by date function datepart for data type time.

SELECT DATEPART(hour, CAST('2024-01-02' AS date))
----
error 9810: The datepart hour is not supported by date function datepart for data type date.

SELECT DATETRUNC(year, CAST('12:10' AS time))
----
error 9810: The datepart year is not supported by date function datetrunc for data type time.

SELECT DATETRUNC(microsecond, CAST('2024-01-02' AS datetime2(3)))
----
error 9810: The datepart microsecond is not supported by date function datetrunc for data type datetime2.

SELECT DATETRUNC(week, CAST('0001-01-01' AS date))
----
error 9837: An invalid date value was encountered: The date value is less than the minimum date value allowed for the data type.

SELECT DATEADD(hour, 1, CAST('2024-01-02' AS date))
----
error 9810

SELECT CHARINDEX(0x61, 0x41), CHARINDEX(0x61, 0x6261), CHARINDEX(0xBE, CAST(0xDEADBEEF AS varbinary(max))), CHARINDEX(0x61, 0x616261, 2), CHARINDEX(0x6162, 'xab'), CHARINDEX(0x, 0x6162), CHARINDEX(NULL, 0x61)
----
0 | 2 | 3 | 3 | 2 | 0 | NULL

SELECT STUFF(0x112233, 2, 1, 0xAABB), STUFF(0x112233, 2, 1, NULL), STUFF(0x112233, 4, 1, 0xAA), SUBSTRING(0x112233, 2, 5), LEFT(0x4142, 1), RIGHT(0x4142, 1), REVERSE(0x4142), LEN(0x412020), DATALENGTH(0x412020), ASCII(0x4142)
----
0x11AABB33 | 0x1133 | NULL | 0x2233 | A | B | BA | 1 | 3 | 65

SELECT RIGHT(CAST(REPLICATE(CAST('a' AS varchar(max)), 9000) + 'xyz' AS varbinary(max)), 3), REPLACE(0x4162, 0x61, 0x63), PATINDEX('%b%', 0x616263), CASE WHEN 0x4142 LIKE 'a%' THEN 1 ELSE 0 END
----
xyz | cb | 2 | 1

CREATE TABLE padded (c char(30), n nchar(30), v varchar(10), s char(4), id int)
INSERT padded VALUES ('Robert King', N'Robert King', 'a ', 'ab', 1)
----

SELECT COUNT(*) FROM padded WHERE c LIKE '% King'
----
1

SELECT COUNT(*) FROM padded WHERE n LIKE N'% King' OR c LIKE N'% King' OR n LIKE '% King'
----
0

SELECT COUNT(*) FROM padded WHERE RTRIM(n) LIKE N'% King' AND c LIKE 'Robert King' AND s LIKE 'a_' AND s LIKE 'ab ' AND v LIKE 'a' AND v LIKE 'a '
----
1

SELECT COUNT(*) FROM padded WHERE c NOT LIKE '% King' OR s LIKE 'a' OR 'a' LIKE 'a ' OR N'a ' LIKE N'a'
----
0

SELECT PATINDEX('%King', c), PATINDEX(N'%King', n), PATINDEX('ab', s) FROM padded
----
8 | 0 | 1

SELECT v FROM OPENJSON(N'["AQI="]') WITH (v varbinary(max) '$')
----
0x0102

SELECT v, w FROM OPENJSON(N'[{"v": "SGVsbG8=", "w": "AA=="}, {"v": null}]') WITH (v varbinary(3), w binary(2))
----
0x48656C | 0x0000
NULL | NULL

SELECT v FROM OPENJSON(N'["!"]') WITH (v varbinary(max) '$')
----
error 8114

SELECT CAST(0x3C3F786D6C2076657273696F6E3D22312E302220656E636F64696E673D225554462D38223F3E3C613E5AC3BC726963683C2F613E AS xml), CAST(0x3C613EC3BC3C2F613E AS xml), CAST(0xFFFE3C0061002F003E00 AS xml), CAST(0x3C3F786D6C2076657273696F6E3D22312E302220656E636F64696E673D2269736F2D383835392D31223F3E3C613EFC3C2F613E AS xml)
----
<a>Zürich</a> | <a>ü</a> | <a/> | <a>ü</a>

SELECT CONCAT_WS(',', v, v, v), CONCAT_WS(', ', s, s, s, s), CONCAT('x', b) FROM (SELECT CAST('ab' AS varchar(2)) AS v, CAST('cd' AS char(2)) AS s, CAST(REPLICATE('z', 60) AS varbinary(60)) AS b) AS q
----
ab,ab,ab | cd, cd, cd, cd | xzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz

SELECT FORMATMESSAGE('%x %X %o %u', 255, 255, 8, -1), FORMATMESSAGE('%08d|%-5d|%5d|%+d', 5, 5, 5, 5), FORMATMESSAGE('%s%%', 'a'), LEN(FORMATMESSAGE(REPLICATE(CAST('x' AS varchar(max)), 3000)))
----
ff FF 10 4294967295 | 00000005|5    |    5|+5 | a% | 2047

SELECT NCHAR(128512), NCHAR(65), NCHAR(8364)
----
NULL | A | €

SELECT 'abc\
def', 0xabc\
def, N'a\b'
----
abcdef | 0xABCDEF | a\b
