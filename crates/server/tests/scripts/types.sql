CREATE TABLE dbo.every (
  id int NOT NULL, c_bit bit, c_tiny tinyint, c_small smallint, c_big bigint, c_real real, c_float float,
  c_smallmoney smallmoney, c_money money, c_decimal decimal(18,4), c_numeric numeric(38,10),
  c_date date, c_time time, c_time0 time(0), c_dt2 datetime2, c_dt23 datetime2(3), c_dto datetimeoffset, c_dto0 datetimeoffset(0),
  c_datetime datetime, c_smalldatetime smalldatetime, c_char char(5), c_varchar varchar(20), c_vmax varchar(max),
  c_nchar nchar(5), c_nvarchar nvarchar(20), c_nmax nvarchar(max), c_binary binary(4), c_varbinary varbinary(10), c_bmax varbinary(max),
  c_guid uniqueidentifier, c_xml xml, c_text text, c_ntext ntext, c_image image)
----

INSERT INTO every VALUES (1, 1, 255, -32768, 9223372036854775807, 1.5, 2.25, 214748.3647, -922337203685477.5808,
  12345678901234.5678, 1234567890123456789012345678.0123456789, '0001-01-01', '23:59:59.9999999', '12:34:56',
  '9999-12-31 23:59:59.9999999', '2024-02-29 12:00:00.123', '2024-01-01 00:00:00.1234567 +05:30', '2024-01-01 12:00:00 -08:00',
  '1753-01-01', '2079-06-06 23:59', 'ab', 'héllo', 'long', N'ab', N'日本', N'max', 0x0102, 0xFF, 0x00,
  '6F9619FF-8B86-D011-B42D-00C04FC964FF', '<a/>', 'text', N'ntext', 0x01)
----
affected 1

INSERT INTO every (id) VALUES (2)
----
affected 1

SELECT c_bit, c_tiny, c_small, c_big, c_real, c_float, c_smallmoney, c_money, c_decimal, c_numeric FROM every ORDER BY id
----
[c_bit bit null, c_tiny tinyint null, c_small smallint null, c_big bigint null, c_real real null, c_float float null, c_smallmoney smallmoney null, c_money money null, c_decimal decimal(18, 4) null, c_numeric numeric(38, 10) null]
1 | 255 | -32768 | 9223372036854775807 | 1.5 | 2.25 | 214748.36 | -922337203685477.58 | 12345678901234.5678 | 1234567890123456789012345678.0123456789
NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL

SELECT c_date, c_time, c_time0, c_dt2, c_dt23, c_dto, c_dto0, c_datetime, c_smalldatetime FROM every WHERE id = 1
----
[c_date date null, c_time time(7) null, c_time0 time(0) null, c_dt2 datetime2(7) null, c_dt23 datetime2(3) null, c_dto datetimeoffset(7) null, c_dto0 datetimeoffset(0) null, c_datetime datetime null, c_smalldatetime smalldatetime null]
0001-01-01 | 23:59:59.9999999 | 12:34:56 | 9999-12-31 23:59:59.9999999 | 2024-02-29 12:00:00.123 | 2024-01-01 00:00:00.1234567 +05:30 | 2024-01-01 12:00:00 -08:00 | Jan  1 1753 12:00AM | Jun  6 2079 11:59PM

SELECT c_char, c_varchar, c_nchar, c_nvarchar, c_binary, c_varbinary, c_guid, c_xml, c_text, c_ntext, c_image FROM every WHERE id = 1
----
[c_char char(5) null, c_varchar varchar(20) null, c_nchar nchar(5) null, c_nvarchar nvarchar(20) null, c_binary binary(4) null, c_varbinary varbinary(10) null, c_guid uniqueidentifier null, c_xml xml null, c_text text null, c_ntext ntext null, c_image image null]
ab    | héllo | ab    | 日本 | 0x01020000 | 0xFF | 6F9619FF-8B86-D011-B42D-00C04FC964FF | <a/> | text | ntext | 0x01

SELECT DATALENGTH(c_char), DATALENGTH(c_nchar), DATALENGTH(c_varchar), DATALENGTH(c_nvarchar), DATALENGTH(c_big), DATALENGTH(c_dt2) FROM every WHERE id = 1
----
5 | 10 | 5 | 4 | 8 | 8

CREATE TABLE moments (id int, d2 datetime2(7), o datetimeoffset(3), g uniqueidentifier)
----

INSERT INTO moments VALUES (1, '2024-01-01 00:00:00.0000001', '2024-01-01 12:00:00 +02:00', '00000000-0000-0000-0000-000000000002'),
  (2, '0001-01-01', '2024-01-01 11:00:00 +00:00', 'FFFFFFFF-0000-0000-0000-000000000001'),
  (3, '9999-12-31 23:59:59.9999999', '2024-01-01 05:00:00 -05:00', NULL), (4, NULL, NULL, NULL)
----
affected 4

SELECT id FROM moments ORDER BY d2
----
4
2
1
3

SELECT id FROM moments ORDER BY d2 DESC
----
3
1
2
4

SELECT id FROM moments WHERE d2 > '2024-01-01' ORDER BY id
----
1
3

SELECT id FROM moments WHERE d2 = '2024-01-01 00:00:00.0000001'
----
1

SELECT id FROM moments WHERE d2 BETWEEN '0001-01-01' AND '2024-01-02' ORDER BY 1
----
1
2

SELECT MIN(d2), MAX(d2) FROM moments
----
0001-01-01 00:00:00.0000000 | 9999-12-31 23:59:59.9999999

SELECT id FROM moments WHERE o = '2024-01-01 10:00:00 +00:00' ORDER BY id
----
1
3

SELECT id FROM moments WHERE o > '2024-01-01 12:30:00 +02:00'
----
2

SELECT MAX(o), MIN(CAST(o AS datetimeoffset(0))) FROM moments WHERE id <> 3
----
2024-01-01 11:00:00.000 +00:00 | 2024-01-01 12:00:00 +02:00

SELECT id FROM moments WHERE g IS NOT NULL ORDER BY g
----
2
1

SELECT CAST(d2 AS varchar(30)), CONVERT(varchar(30), d2, 120), CONVERT(varchar(40), o), CONVERT(varchar(40), o, 127) FROM moments WHERE id = 1
----
2024-01-01 00:00:00.0000001 | 2024-01-01 00:00:00 | 2024-01-01 12:00:00.000 +02:00 | 2024-01-01T12:00:00+02:00

SELECT CAST(d2 AS date), CAST(d2 AS datetime2(3)), CAST(o AS datetime2(0)), DATEADD(ns, 100, d2) FROM moments WHERE id = 1
----
2024-01-01 | 2024-01-01 00:00:00.000 | 2024-01-01 12:00:00 | 2024-01-01 00:00:00.0000002

SELECT DATEDIFF(second, '2024-01-01 10:00:00 +00:00', o) FROM moments ORDER BY id
----
0
3600
0
NULL

SELECT COUNT(DISTINCT o), COUNT(o), COUNT(*) FROM moments
----
2 | 3 | 4

SELECT CAST('2024-01-01 12:00:00.997' AS datetime), CONVERT(varchar(30), CAST('2024-01-01 23:59:59.999' AS datetime), 121), CONVERT(varchar(30), CAST('2024-01-01 00:00:00.005' AS datetime), 121)
----
Jan  1 2024 12:00PM | 2024-01-02 00:00:00.000 | 2024-01-01 00:00:00.007

SELECT CONVERT(varchar(30), CAST('2024-01-01 12:34:30' AS smalldatetime), 120)
----
2024-01-01 12:35:00

SELECT CAST('1752-12-31' AS datetime)
----
error 242: The conversion of a varchar data type to a datetime data type resulted in an out-of-range value.

CREATE TABLE versions (id int, v rowversion)
----

INSERT INTO versions (id) VALUES (1), (2)
----
affected 2

SELECT COUNT(DISTINCT v), MIN(DATALENGTH(v)) FROM versions
----
2 | 8

INSERT INTO versions (id, v) VALUES (3, 0x01)
----
error 273

CREATE TABLE t (a decimal(5,2), b money, c varchar(5), d tinyint)
----

INSERT INTO t VALUES (1.005, 1.00005, 'abcde', 255)
----
affected 1

SELECT * FROM t
----
[a decimal(5, 2) null, b money null, c varchar(5) null, d tinyint null]
1.01 | 1.00 | abcde | 255

INSERT INTO t (c) VALUES ('abcdef')
----
error 2628: String or binary data would be truncated in table 'master.dbo.t', column 'c'. Truncated value: 'abcde'.

INSERT INTO t (d) VALUES (256)
----
error 220: Arithmetic overflow error for data type tinyint, value = 256.

INSERT INTO t (a) VALUES (1000)
----
error 8115: Arithmetic overflow error converting int to data type numeric.

INSERT INTO t (c) VALUES ('abc     ')
----
affected 1

INSERT INTO t (d) VALUES ('x')
----
error 245: Conversion failed when converting the varchar value 'x' to data type tinyint.

CREATE TABLE pages (a varchar(10), b varchar(10) COLLATE Latin1_General_100_CI_AS_SC_UTF8, c nvarchar(2))
----

INSERT INTO pages VALUES (N'€日', N'€日', N'日本')
----
affected 1

SELECT a, b, c FROM pages
----
€? | €日 | 日本

SELECT DATALENGTH(a), DATALENGTH(b), DATALENGTH(c) FROM pages
----
2 | 6 | 4

INSERT INTO pages (b) VALUES (N'日本日本')
----
error 2628

INSERT INTO pages (c) VALUES (N'日本語')
----
error 2628

CREATE TABLE guids (g uniqueidentifier PRIMARY KEY); CREATE TABLE guid_heap (g uniqueidentifier); INSERT guid_heap VALUES ('00000000-0000-0000-0000-000000000001'), ('00000000-0000-0000-0000-000000000100'), ('00000000-0000-0000-0001-000000000000'), ('00000000-0000-0000-0100-000000000000'), ('00000000-0000-0001-0000-000000000000'), ('00000000-0000-0100-0000-000000000000'), ('00000000-0001-0000-0000-000000000000'), ('00000000-0100-0000-0000-000000000000'), ('00000001-0000-0000-0000-000000000000'), ('00000100-0000-0000-0000-000000000000'), ('01000000-0000-0000-0000-000000000000'); INSERT guids SELECT g FROM guid_heap
----

SELECT g FROM guid_heap ORDER BY g
----
01000000-0000-0000-0000-000000000000
00000100-0000-0000-0000-000000000000
00000001-0000-0000-0000-000000000000
00000000-0100-0000-0000-000000000000
00000000-0001-0000-0000-000000000000
00000000-0000-0100-0000-000000000000
00000000-0000-0001-0000-000000000000
00000000-0000-0000-0001-000000000000
00000000-0000-0000-0100-000000000000
00000000-0000-0000-0000-000000000001
00000000-0000-0000-0000-000000000100

SELECT COUNT(*) FROM guids WHERE g < '00000001-0000-0000-0000-000000000000'; SELECT COUNT(*) FROM guid_heap WHERE g < '00000001-0000-0000-0000-000000000000'; SELECT COUNT(*) FROM guids WHERE g > '00000001-0000-0000-0000-000000000000'; SELECT COUNT(*) FROM guid_heap WHERE g > '00000001-0000-0000-0000-000000000000'
----
2
2
8
8

SELECT TOP (3) g FROM guids ORDER BY g DESC; SELECT MIN(g), MAX(g) FROM guids
----
00000000-0000-0000-0000-000000000100
00000000-0000-0000-0000-000000000001
00000000-0000-0000-0100-000000000000
01000000-0000-0000-0000-000000000000 | 00000000-0000-0000-0000-000000000100
