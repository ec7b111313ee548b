SELECT 1 AS a, 'abc' AS b, N'déf' AS c, 1.50 AS d, 0x0102 AS e, NULL AS f
----
[a int, b varchar(3), c nvarchar(3), d numeric(3, 2), e varbinary(2), f int null]
1 | abc | déf | 1.50 | 0x0102 | NULL

SELECT 7 / 2, 7 % 2, -7 / 2, 7.0 / 2, 2147483647 + 0
----
3 | 1 | -3 | 3.500000 | 2147483647

SELECT 2147483647 + 1
----
error 8115: Arithmetic overflow error converting expression to data type int.

SELECT 1 / 0
----
error 8134: Divide by zero error encountered.

SELECT 2147483648 AS big, 1e3 AS f, $12.5 AS m
----
[big numeric(10, 0), f float, m money]
2147483648 | 1000 | 12.50

SELECT 'a' + 'b' + N'c' AS s
----
[s nvarchar(3)]
abc

SELECT 'a' + NULL
----
NULL

SELECT '5' + 3, 5 + '3'
----
8 | 8

SELECT 'x' + 1
----
error 245: Conversion failed when converting the varchar value 'x' to data type int.

SELECT 1.5 * 2, 1.25 + 1.5, 10.0 / 3, 5.5 % 2
----
[ numeric(4, 1),  numeric(4, 2),  numeric(8, 6),  numeric(2, 1)]
3.0 | 2.75 | 3.333333 | 1.5

SELECT 5 & 3, 5 | 3, 5 ^ 3, ~5, -(-5)
----
1 | 7 | 6 | -6 | 5

SELECT CAST(3.99 AS int), CAST(-3.99 AS int), CAST($1.5 AS int), CAST('  42 ' AS int), CAST('' AS int)
----
3 | -3 | 2 | 42 | 0

SELECT CAST('4.0' AS int)
----
error 245: Conversion failed when converting the varchar value '4.0' to data type int.

SELECT CAST(300 AS tinyint)
----
error 220: Arithmetic overflow error for data type tinyint, value = 300.

SELECT CAST('99999999999' AS int)
----
error 248: The conversion of the varchar value '99999999999' overflowed an int column.

SELECT CAST('abc' AS decimal(5,2))
----
error 8114: Error converting data type varchar to numeric.

SELECT CAST(1234.567 AS decimal(6,2)), CAST(0.005 AS decimal(3,2)), CAST(-0.005 AS decimal(3,2))
----
1234.57 | 0.01 | -0.01

SELECT CAST(1234.5 AS decimal(4,1)), CAST(12345.6 AS decimal(4,1))
----
error 8115: Arithmetic overflow error converting numeric to data type numeric.

SELECT TRY_CAST('x' AS int), TRY_CONVERT(date, '2024-02-30'), TRY_CAST('7' AS int)
----
NULL | NULL | 7

SELECT CAST('hello' AS varchar(3)), CAST('hi' AS char(4)) + '|', CAST(12345 AS varchar(3)), CAST(1.5 AS varchar(10))
----
hel | hi  | | * | 1.5

SELECT CONVERT(varchar(30), CAST('2024-03-07 13:05:09.123' AS datetime), 120), CONVERT(varchar(30), CAST('2024-03-07 13:05:09.123' AS datetime), 121)
----
2024-03-07 13:05:09 | 2024-03-07 13:05:09.123

SELECT CONVERT(varchar(30), CAST('2024-03-07T13:05:09' AS datetime)), CONVERT(char(8), CAST('2024-03-07' AS date), 112), CONVERT(varchar(10), CAST('2024-03-07' AS date), 101)
----
Mar  7 2024  1:05PM | 20240307 | 03/07/2024

SELECT CONVERT(varchar(40), CAST('2024-03-07T13:05:09.1234567' AS datetime2), 126), CONVERT(varchar(12), CAST('13:05:09' AS time(0)), 108), CONVERT(varchar(10), CAST('2024-03-07' AS date), 104)
----
2024-03-07T13:05:09.1234567 | 13:05:09 | 07.03.2024

SELECT CONVERT(varchar(20), $1234567.891, 1), CONVERT(varchar(20), $1234567.891), CONVERT(varchar(20), $1.2345, 2)
----
1,234,567.89 | 1234567.89 | 1.2345

SELECT CONVERT(varchar(20), 0x4A4B), CONVERT(varchar(20), 0x4A4B, 1), CONVERT(varchar(20), 0x4A4B, 2), CONVERT(varbinary(4), '0x4A4B', 1)
----
JK | 0x4A4B | 4A4B | 0x4A4B

SELECT CAST(1 AS binary(4)), CAST('ab' AS binary(4)), CAST(0x00000102 AS int)
----
0x00000001 | 0x61620000 | 258

SELECT CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier)
----
6F9619FF-8B86-D011-B42D-00C04FC964FF

SELECT CAST('not a guid' AS uniqueidentifier)
----
error 8169: Conversion failed when converting from a character string to uniqueidentifier.

SELECT CAST('yesterday' AS datetime)
----
error 241: Conversion failed when converting date and/or time from character string.

SELECT CAST(CAST('2024-01-01' AS date) AS int)
----
error 529: Explicit conversion from data type date to int is not allowed.

SELECT CAST(1 AS bit), CAST('true' AS bit), CAST('false' AS bit), CAST(0 AS bit), CAST(-3 AS bit)
----
1 | 1 | 0 | 0 | 1

SELECT CASE WHEN 1 = 1 THEN 'yes' ELSE 'no' END, CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END, CASE WHEN NULL = NULL THEN 1 ELSE 0 END
----
yes | two | 0

SELECT CASE WHEN 1 = 0 THEN 1 / 0 ELSE 5 END
----
5

SELECT CASE WHEN 1 = 1 THEN 1 ELSE 2.5 END AS a
----
[a numeric(11, 1)]
1.0

SELECT ISNULL(NULL, 'b'), ISNULL(CAST(NULL AS varchar(2)), 'long'), COALESCE(NULL, NULL, 3), NULLIF(1, 1), NULLIF('a', 'b'), IIF(2 > 1, 'x', 'y')
----
b | lo | 3 | NULL | a | x

SELECT LEN('abc  '), DATALENGTH('abc  '), DATALENGTH(N'abc'), LEN(N'déf'), LEN(NULL)
----
3 | 5 | 6 | 3 | NULL

SELECT LEFT('abcdef', 2), RIGHT('abcdef', 2), SUBSTRING('abcdef', 2, 3), SUBSTRING('abc', 0, 2), UPPER('aé'), LOWER('AB'), LTRIM('  a'), RTRIM('a  ') + '|', TRIM('  a ') + '|'
----
ab | ef | bcd | a | AÉ | ab | a | a| | a|

SELECT REPLACE('Abcabc', 'ab', 'x'), REPLICATE('ab', 3), SPACE(2) + '|', REVERSE('abc'), CHARINDEX('C', 'abcabc'), CHARINDEX('c', 'abcabc', 4), PATINDEX('%[0-9]%', 'ab7'), STUFF('abcdef', 2, 3, 'XY')
----
xcxc | ababab |   | | cba | 3 | 6 | 3 | aXYef

SELECT ASCII('A'), CHAR(66), UNICODE(N'é'), NCHAR(233), CONCAT('a', NULL, 1, 2.5), CONCAT_WS('-', 'a', NULL, 'b'), QUOTENAME('a]b'), QUOTENAME('x', '''')
----
65 | B | 233 | é | a12.5 | a-b | [a]]b] | 'x'

SELECT ABS(-5), SIGN(-2.5), CEILING(1.2), FLOOR(-1.2), ROUND(2.345, 2), ROUND(1250, -2), ROUND(2.789, 1, 1), POWER(2, 10), SQRT(16)
----
5 | -1.0 | 2 | -2 | 2.350 | 1300 | 2.700 | 1024 | 4

SELECT DATEADD(month, 1, CAST('2024-01-31' AS date)), DATEADD(day, -1, CAST('2024-03-01' AS date)), DATEADD(hour, 25, CAST('2024-01-01' AS datetime2(0)))
----
2024-02-29 | 2024-02-29 | 2024-01-02 01:00:00

SELECT DATEDIFF(year, '2023-12-31', '2024-01-01'), DATEDIFF(day, '2024-02-28', '2024-03-01'), DATEDIFF(week, '2024-01-06', '2024-01-07'), DATEDIFF(minute, '2024-01-01 00:59:59', '2024-01-01 01:00:00')
----
1 | 2 | 1 | 1

SELECT YEAR('2024-03-07'), MONTH('2024-03-07'), DAY('2024-03-07'), DATEPART(quarter, '2024-05-01'), DATEPART(weekday, '2024-03-07'), DATEPART(iso_week, '2024-12-30'), DATENAME(month, '2024-03-07'), DATENAME(weekday, '2024-03-07')
----
2024 | 3 | 7 | 2 | 5 | 1 | March | Thursday

SELECT EOMONTH('2024-02-10'), DATEFROMPARTS(2024, 2, 29), CAST('2024-01-01' AS datetime) + 1.5
----
2024-02-29 | 2024-02-29 | Jan  2 2024 12:00PM

SELECT 'match' WHERE 'ABC' = 'abc' AND 'a ' = 'a' AND 'abc' LIKE 'A%' AND 'x_y' LIKE 'x!_y' ESCAPE '!' AND 'b' LIKE '[a-c]' AND 'd' NOT LIKE '[a-c]'
----
match

SELECT 'binary' WHERE 'A' COLLATE Latin1_General_BIN2 = 'a'
----

SELECT 'x' WHERE 3 BETWEEN 1 AND 5 AND 3 NOT BETWEEN 4 AND 5 AND 3 IN (1, 2, 3) AND 4 NOT IN (1, 2) AND NOT (1 = 2)
----
x

SELECT 'none' WHERE 1 NOT IN (2, NULL)
----

SELECT ISNUMERIC('12.5'), ISNUMERIC('x'), ISDATE('2024-01-01'), ISDATE('x')
----
1 | 0 | 1 | 0

SELECT foo(1)
----
error 195: 'foo' is not a recognized built-in function name.

SELECT a
----
error 207: Invalid column name 'a'.

SELECT 1 FROM
----
error 156: Incorrect syntax near the keyword 'FROM'.

SELECT 1 1
----
error 102: Incorrect syntax near '1'.

SELECT 'abc
----
error 105: Unclosed quotation mark after the character string 'abc'.

SELECT /* unclosed
----
error 113: Missing end comment mark '*/'.

SELECT 1 AS [weird ] name], "quoted" = 2
----
error 102

SELECT 1 AS [weird ]] name], "quoted" = 2, 3 'three'
----
[weird ] name int, quoted int, three int]
1 | 2 | 3

SELECT CAST(1.23456789e10 AS varchar(30)), CAST(0.1e0 AS varchar(30)), CAST(1e-7 AS varchar(30)), CONVERT(varchar(40), 1.5e0, 2)
----
1.23457e+010 | 0.1 | 1e-007 | 1.500000000000000e+000

SELECT {d '2024-01-02'}, {fn UCASE('x')}
----
Jan  2 2024 12:00AM | X

SELECT CAST({ts '2024-01-02 03:04:05'} AS varchar(30))
----
Jan  2 2024  3:04AM
