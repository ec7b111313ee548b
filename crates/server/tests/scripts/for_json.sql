CREATE TABLE customer (id int PRIMARY KEY, name nvarchar(20) NULL, born date NULL)
CREATE TABLE purchase (id int PRIMARY KEY, customer_id int, amount decimal(9,2) NULL)
INSERT customer VALUES (1, 'Ann "A" /x\', '1984-02-29'), (2, NULL, NULL), (3, N'Zoë', '2000-01-01')
INSERT purchase VALUES (10, 1, 5), (11, 1, 9.5), (12, 3, NULL)
----

SELECT id, name, born FROM customer ORDER BY id DESC FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"id":3,"name":"Zoë","born":"2000-01-01"},{"id":2},{"id":1,"name":"Ann \"A\" \/x\\","born":"1984-02-29"}]

SELECT id, name FROM customer WHERE id = 2 FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER
----
{"id":2,"name":null}

SELECT id AS [key.id], born AS [key.born], name AS label FROM customer WHERE id = 3 FOR JSON PATH, ROOT('all')
----
{"all":[{"key":{"id":3,"born":"2000-01-01"},"label":"Zoë"}]}

SELECT id FROM customer WHERE id > 3 FOR JSON PATH
----

SELECT c.id, (SELECT p.amount FROM purchase p WHERE p.customer_id = c.id ORDER BY p.id DESC FOR JSON PATH) AS bought FROM customer c ORDER BY c.id FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"id":1,"bought":[{"amount":9.50},{"amount":5.00}]},{"id":2},{"id":3,"bought":[{}]}]

SELECT (SELECT 1 AS a FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS text, JSON_QUERY('{"b":2}') AS piece FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"text":"{\"a\":1}","piece":{"b":2}}]

SELECT c.id, c.name, p.id AS number, p.amount FROM customer AS c JOIN purchase AS p ON p.customer_id = c.id ORDER BY c.id, p.id FOR JSON AUTO
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"id":1,"name":"Ann \"A\" \/x\\","p":[{"number":10,"amount":5.00},{"number":11,"amount":9.50}]},{"id":3,"name":"Zoë","p":[{"number":12}]}]

SELECT TOP 2 id FROM customer ORDER BY id FOR JSON AUTO
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"id":1},{"id":2}]

SELECT CAST(1 AS bit) AS b, CAST(1.5 AS float) AS f, CAST(2 AS money) AS m, CAST('2020-01-02 03:04:05.6' AS datetime2(3)) AS d, 0x0102FF AS x, CAST(NULL AS int) AS n FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"b":true,"f":1.500000000000000e+000,"m":2.0000,"d":"2020-01-02T03:04:05.600","x":"AQL\/"}]

SELECT id FROM customer UNION ALL SELECT 7 ORDER BY id DESC FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"id":7},{"id":3},{"id":2},{"id":1}]

DECLARE @j nvarchar(max) = (SELECT id FROM customer ORDER BY id FOR JSON PATH) SELECT LEN(@j) AS n
----
28

SELECT COUNT(*) AS n FOR JSON PATH
----
[JSON_F52E2B61-18A1-11d1-B105-00805F49916B nvarchar(max) null]
[{"n":1}]

SELECT 1 FOR JSON PATH
----
error 13605

SELECT 1 AS a, 2 AS [a.b] FOR JSON PATH
----
error 13601

SELECT 1 AS [a.b], 2 AS c, 3 AS [a.d] FOR JSON PATH
----
error 13601

SELECT 1 AS a FOR JSON PATH, ROOT, WITHOUT_ARRAY_WRAPPER
----
error 13620

SELECT JSON_OBJECT('a':1, 'b':'x', 'c':NULL) AS o, JSON_OBJECT('a':NULL, 'b':2 ABSENT ON NULL) AS p, JSON_OBJECT() AS e
----
{"a":1,"b":"x","c":null} | {"b":2} | {}

SELECT JSON_ARRAY(1, 'x', NULL, 2.50) AS a, JSON_ARRAY(1, NULL NULL ON NULL) AS b, JSON_ARRAY() AS e, JSON_ARRAY(JSON_OBJECT('k':JSON_ARRAY(1))) AS n
----
[a nvarchar(max), b nvarchar(max), e nvarchar(max), n nvarchar(max)]
[1,"x",2.50] | [1,null] | [] | [{"k":[1]}]

SELECT JSON_MODIFY('{"a":1,"b":[1]}', '$.a', 'x') AS a, JSON_MODIFY('{"a":1,"b":[1]}', '$.a', NULL) AS b, JSON_MODIFY('{"a":1,"b":[1]}', 'append $.b', 2) AS c
----
{"a":"x","b":[1]} | {"b":[1]} | {"a":1,"b":[1,2]}

SELECT JSON_MODIFY('{}', '$.a', JSON_QUERY('[1]')) AS a, JSON_MODIFY('{"a":1}', 'strict $.a', NULL) AS b, JSON_MODIFY(NULL, '$.a', 1) AS c
----
{"a":[1]} | {"a":null} | NULL

SELECT JSON_MODIFY('{"a":1}', 'strict $.x', 1)
----
error 13608

SELECT JSON_MODIFY('{', '$.x', 1)
----
error 13609

SELECT 1 << 4 AS a, 256 >> 4 AS b, 1 + 1 << 2 AS c, CAST(1 AS bigint) << 40 AS d, 5 << -1 AS e
----
16 | 16 | 8 | 1099511627776 | 2
