CREATE TABLE customer (id int PRIMARY KEY, name nvarchar(20) NULL)
CREATE TABLE purchase (id int PRIMARY KEY, customer_id int, amount decimal(9,2) NULL)
INSERT customer VALUES (1, 'A & <B>'), (2, NULL)
INSERT purchase VALUES (10, 1, 5), (11, 1, 9.5)
----

SELECT id, name FROM customer ORDER BY id FOR XML RAW
----
[XML_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
<row id="1" name="A &amp; &lt;B&gt;"/><row id="2"/>

SELECT id, name FROM customer ORDER BY id FOR XML RAW('c'), ELEMENTS, ROOT('all')
----
<all><c><id>1</id><name>A &amp; &lt;B&gt;</name></c><c><id>2</id></c></all>

SELECT id, name FROM customer WHERE id = 2 FOR XML RAW, ELEMENTS XSINIL
----
<row xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id>2</id><name xsi:nil="true"/></row>

SELECT c.id, p.id AS number, p.amount FROM customer c JOIN purchase p ON p.customer_id = c.id ORDER BY c.id, p.id FOR XML AUTO
----
<c id="1"><p number="10" amount="5.00"/><p number="11" amount="9.50"/></c>

SELECT id AS [@id], name AS [who/name], 'x' AS [who/@kind] FROM customer WHERE id = 1 FOR XML PATH('c')
----
error 6852

SELECT id AS [@id], 'x' AS [who/@kind], name AS [who/name], name AS [text()], 1 AS [comment()] FROM customer WHERE id = 1 FOR XML PATH('c'), ROOT
----
<root><c id="1"><who kind="x"><name>A &amp; &lt;B&gt;</name></who>A &amp; &lt;B&gt;<!--1--></c></root>

SELECT STUFF((SELECT ',' + CAST(amount AS varchar(10)) FROM purchase ORDER BY id FOR XML PATH('')), 1, 1, '') AS list
----
5.00,9.50

SELECT c.id, (SELECT p.id AS n FROM purchase p WHERE p.customer_id = c.id ORDER BY p.id FOR XML PATH('p'), TYPE) FROM customer c ORDER BY c.id FOR XML PATH('c'), TYPE
----
<c><id>1</id><p><n>10</n></p><p><n>11</n></p></c><c><id>2</id></c>

SELECT id FROM customer WHERE id > 5 FOR XML PATH
----

SELECT 1 AS [@a] FOR XML PATH('')
----
error 6864

SELECT 1 FOR XML RAW
----
error 6809

SELECT 1 AS a FOR XML EXPLICIT
----
error 40515

SELECT CAST('<a x="1"><b/>t</a> u <c/>' AS xml) AS x, CAST('' AS xml) AS e, CAST('<?xml version="1.0" encoding="utf-8"?> <a/>' AS xml) AS d
----
<a x="1"><b/>t</a> u <c/> |  | <a/>

SELECT CAST('<a' AS xml)
----
error 9400

SELECT CAST('<a><b></a>' AS xml)
----
error 9436

SELECT CAST('<a>' AS xml)
----
error 9400

SELECT CAST('<a x="1" x="2"/>' AS xml)
----
error 9437

SELECT CAST('<a>&nosuch;</a>' AS xml)
----
error 9448

SELECT CAST(N'<?xml version="1.0" encoding="utf-8"?><a/>' AS xml)
----
error 9402

SELECT TRY_CAST('<a' AS xml) AS x
----
NULL

-- A list of names in a derived table, in an order: tools read the columns of indexes so.
CREATE TABLE listed (b int, a int)
SELECT t.name, d.c FROM sys.tables t CROSS APPLY (SELECT name + ',' FROM sys.columns c WHERE c.object_id = t.object_id ORDER BY c.name FOR XML PATH('')) d (c) WHERE t.name = 'listed'
SELECT name, masking_function FROM sys.masked_columns
----
listed | a,b,
