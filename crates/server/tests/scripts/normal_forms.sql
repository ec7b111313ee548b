SELECT CAST('<a><![CDATA[x<y&z]]></a>' AS xml)
SELECT CAST('<r> <a/> <b>  x </b><c> </c></r>' AS xml)
SELECT CONVERT(xml, '<r> <a/> <c> </c></r>', 1)
SELECT CAST('<r xml:space="preserve"> <a/> </r>' AS xml)
SELECT CAST('<a></a>' AS xml)
SELECT CAST('<a b=''1"2''   c="&lt;&#65;"/>' AS xml)
SELECT CAST('<a>&#65;&amp;&apos;&quot;<!-- c --><?p i?></a>' AS xml)
SELECT CAST(N'<?xml version="1.0"?> <a/>' AS xml)
----
<a>x&lt;y&amp;z</a>
<r><a/><b>  x </b><c/></r>
<r> <a/> <c> </c></r>
<r xml:space="preserve"> <a/> </r>
<a/>
<a b="1&quot;2" c="&lt;A"/>
<a>A&amp;'"<!-- c --><?p i?></a>
<a/>

SELECT CAST(4 AS xml)
----
error 529

SELECT TRY_CAST(4 AS xml)
----
error 529

SELECT TRY_CAST('<a' AS xml), TRY_CAST('{bad' AS json)
----
NULL | NULL

SELECT CAST('{ "a" : "caf\u00e9", "b":[1, 2.50, true ] }' AS json), CAST('"\ud83d\ude00 \/ \" \u0001"' AS json)
----
{"a":"café","b":[1,2.50,true]} | "😀 / \" \u0001"

SELECT CAST(4 AS json)
----
error 529

CREATE TABLE docs (id int, x xml, j json)
INSERT docs VALUES (1, '<r> <a b=''1''></a> </r>', '{ "a" : 1 }')
DECLARE @x nvarchar(max) = N'<q> </q>', @j nvarchar(max) = N'[ 1 ]'
INSERT docs SELECT 2, @x, @j
UPDATE docs SET j = '[ 2 ]' WHERE id = 2
INSERT docs SELECT 3, CONVERT(xml, '<r> </r>', 1), j FROM docs WHERE id = 1
SELECT id, x, j FROM docs ORDER BY id
----
1 | <r><a b="1"/></r> | {"a":1}
2 | <q/> | [2]
3 | <r> </r> | {"a":1}

INSERT docs (x) VALUES ('<a>')
----
error 9400

INSERT docs (x) VALUES ('<a b=1/>')
----
error 9413

INSERT docs (x) VALUES ('<a>&foo;</a>')
----
error 9448

INSERT docs (x) VALUES ('<a b="&foo;"/>')
----
error 9448

INSERT docs (x) SELECT CAST('<a' AS nvarchar(max))
----
error 9400

INSERT docs (j) VALUES ('{bad')
----
error 13609

INSERT docs (j) VALUES ('')
----
error 13609

UPDATE docs SET x = '<a' WHERE id = 1
----
error 9400

UPDATE docs SET j = '{' WHERE id = 1
----
error 13609

MERGE docs USING (VALUES (1, '<a')) s(id, x) ON docs.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x;
----
error 9400

DECLARE @t TABLE (x xml, j json)
INSERT @t (j) VALUES ('{')
----
error 13609

CREATE TABLE kept (id int, x xml DEFAULT '<a ></a >', j json DEFAULT '{ }')
INSERT kept (id) VALUES (1)
SELECT x, j FROM kept
----
<a/> | {}

SELECT COUNT(*) FROM docs
----
3

SELECT $-123.45, $+12.4, $ 5, -$3, €100.5, £5, ¥3, $, $1.23456
----
-123.45 | 12.40 | 5.00 | -3.00 | 100.50 | 5.00 | 3.00 | 0.00 | 1.23

SELECT $1.23456 * 10000, SQL_VARIANT_PROPERTY(€1, 'BaseType'), 7-$2
----
12346.00 | money | 5.00

SELECT ISNUMERIC('+'), ISNUMERIC('-'), ISNUMERIC('$'), ISNUMERIC(N'€'), ISNUMERIC('.'), ISNUMERIC(','), ISNUMERIC('\')
SELECT ISNUMERIC('1,000'), ISNUMERIC('1e5'), ISNUMERIC('1d5'), ISNUMERIC('$-1'), ISNUMERIC(' 7 '), ISNUMERIC(CHAR(9))
SELECT ISNUMERIC(''), ISNUMERIC(' '), ISNUMERIC('x'), ISNUMERIC('+-'), ISNUMERIC('e'), ISNUMERIC('1 2'), ISNUMERIC(NULL), ISNUMERIC('..')
SELECT CAST('$' AS money), CAST('-' AS money)
----
1 | 1 | 1 | 1 | 1 | 1 | 1
1 | 1 | 1 | 1 | 1 | 1
0 | 0 | 0 | 0 | 0 | 0 | 0 | 0
0.00 | 0.00

CREATE TABLE bins (id int, v varbinary(8), f binary(3))
INSERT bins VALUES (1, 0xAE, 0xAE), (2, 0xAE00, 0xAE00), (3, 0xAE0001, 0xAE0001), (4, 0xAF, 0xAF), (5, 0x, 0x), (6, 0x00, 0x00)
SELECT CASE WHEN 0xAE = 0xAE00 THEN 1 ELSE 0 END, CASE WHEN 0xAE < 0xAE00 THEN 1 ELSE 0 END, CASE WHEN 0xAE IN (1, 0xAE00) THEN 1 ELSE 0 END
SELECT COUNT(DISTINCT v), COUNT(DISTINCT f) FROM bins
SELECT COUNT(*) FROM bins a JOIN bins b ON a.v = b.v
SELECT COUNT(*) FROM bins a JOIN bins b ON a.v = b.f
SELECT MIN(id), COUNT(*) FROM bins GROUP BY v ORDER BY 1
SELECT id FROM bins WHERE v = 0xAE0000 ORDER BY id
SELECT id FROM bins WHERE f = 0xAE ORDER BY id
SELECT id FROM bins WHERE v > 0xAE ORDER BY id
SELECT COUNT(*) FROM (SELECT DISTINCT v FROM bins) q
SELECT COUNT(*) FROM (SELECT v FROM bins INTERSECT SELECT 0xAE00) q
SELECT id FROM bins ORDER BY v, id
----
1 | 0 | 1
4 | 4
10
10
1 | 2
3 | 1
4 | 1
5 | 2
1
2
1
2
3
4
4
1
5
6
1
2
3
4

CREATE TABLE binkey (v varbinary(8) NOT NULL PRIMARY KEY, n int)
INSERT binkey VALUES (0xAE00, 1), (0xAF, 2), (0x, 3)
INSERT binkey VALUES (0xAE, 4)
----
error 2627

INSERT binkey VALUES (0x0000, 4)
----
error 2627

SELECT n FROM binkey WHERE v = 0xAE
SELECT n FROM binkey WHERE v = 0xAE0000
SELECT n FROM binkey WHERE v >= 0xAE ORDER BY n
SELECT n FROM binkey WHERE v < 0xAE00 ORDER BY n
SELECT n FROM binkey WHERE v IN (0x00, 0xAF00) ORDER BY n
UPDATE binkey SET n = 9 WHERE v = 0xAE
SELECT n FROM binkey ORDER BY v
----
1
1
1
2
3
2
3
3
9
2

CREATE TABLE binfixed (v binary(4) NOT NULL PRIMARY KEY, n int)
INSERT binfixed VALUES (0xAE, 1), (0xAF000001, 2)
SELECT n FROM binfixed WHERE v = 0xAE
SELECT n FROM binfixed WHERE v > 0xAE ORDER BY n
SELECT n FROM binfixed WHERE v = 0xAE0000000000
----
1
2
1

-- A type without a size stays so in what is kept.
CREATE TABLE sized (v varchar(50), a AS CONVERT(decimal, v), b AS CAST(v AS decimal(18, 0)), c AS CAST(v AS varchar), d AS CONVERT(datetime2, '2024-01-02', 121))
SELECT name, definition FROM sys.computed_columns WHERE object_id = OBJECT_ID('sized') ORDER BY name
INSERT sized (v) VALUES ('2.5')
SELECT a, b FROM sized
----
a | (CONVERT([decimal],[v]))
b | (CONVERT([decimal](18,0),[v]))
c | (CONVERT([varchar],[v]))
d | (CONVERT([datetime2],'2024-01-02',(121)))
affected 1
3 | 3
