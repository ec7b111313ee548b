CREATE TABLE orders (vendor int, employee varchar(5), month int, n int)
INSERT orders VALUES (1, 'e1', 1, 4), (1, 'e1', 2, 3), (1, 'e2', 1, 5), (2, 'e1', 1, 4), (2, 'e3', 2, 1)
----

SELECT vendor, [e1], [e2], [e3] FROM (SELECT vendor, employee, n FROM orders) AS o
PIVOT (SUM(n) FOR employee IN ([e1], [e2], [e3])) AS p ORDER BY vendor
----
1 | 7 | 5 | NULL
2 | 4 | NULL | 1

SELECT * FROM (SELECT vendor, month FROM orders) AS o PIVOT (COUNT(vendor) FOR month IN ([1], [2])) AS p
----
3 | 2

SELECT vendor, [1] + [2] AS both FROM (SELECT vendor, month, n FROM orders) o PIVOT (MAX(n) FOR month IN ([1], [2])) p WHERE vendor = 1
----
1 | 8

SELECT * FROM (SELECT vendor, employee, n FROM orders) o PIVOT (SUM(n) FOR nosuch IN ([1])) p
----
error 207: Invalid column name 'nosuch'.

SELECT * FROM (SELECT vendor, employee, n FROM orders) o PIVOT (SUM(n) FOR employee IN ([e1], [E1])) p
----
error 8156

CREATE TABLE wide (id int, a int, b int, c int)
INSERT wide VALUES (1, 10, NULL, 30), (2, 40, 50, 60)
----

SELECT id, name, value FROM wide UNPIVOT (value FOR name IN (a, b, c)) AS u ORDER BY id, name
----
[id int null, name nvarchar(128), value int null]
1 | a | 10
1 | c | 30
2 | a | 40
2 | b | 50
2 | c | 60

SELECT SUM(v) FROM (SELECT id, a, b FROM wide) AS w UNPIVOT (v FOR n IN (a, b)) AS u
----
100

SELECT * FROM wide UNPIVOT (v FOR n IN (a, nosuch)) u
----
error 207: Invalid column name 'nosuch'.

SELECT * FROM (SELECT id, a, 'x' AS t FROM wide) w UNPIVOT (v FOR n IN (a, t)) u
----
error 8167
