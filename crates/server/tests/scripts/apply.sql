CREATE TABLE customer (id int PRIMARY KEY, name varchar(10), tags varchar(30))
CREATE TABLE purchase (id int PRIMARY KEY, customer_id int, amount int)
INSERT customer VALUES (1, 'ann', 'x,y'), (2, 'bob', 'z'), (3, 'cy', NULL)
INSERT purchase VALUES (10, 1, 5), (11, 1, 9), (12, 1, 7), (13, 2, 4)
----

SELECT c.name, p.id, p.amount FROM customer AS c
CROSS APPLY (SELECT TOP 2 id, amount FROM purchase WHERE customer_id = c.id ORDER BY amount DESC) AS p
ORDER BY c.id, p.amount DESC
----
[name varchar(10) null, id int, amount int null]
ann | 11 | 9
ann | 12 | 7
bob | 13 | 4

SELECT c.name, p.amount FROM customer c OUTER APPLY (SELECT TOP (1) amount FROM purchase WHERE customer_id = c.id ORDER BY id) p ORDER BY c.id
----
ann | 5
bob | 4
cy | NULL

SELECT c.id, t.value FROM customer AS c CROSS APPLY STRING_SPLIT(c.tags, ',') AS t ORDER BY c.id, t.value
----
1 | x
1 | y
2 | z

SELECT c.id, t.part FROM customer AS c OUTER APPLY STRING_SPLIT(c.tags, ',') AS t (part) ORDER BY c.id, t.part
----
1 | x
1 | y
2 | z
3 | NULL

SELECT c.id, v.k, v.n FROM customer AS c CROSS APPLY (VALUES ('id', c.id), ('len', LEN(c.name))) AS v (k, n) WHERE c.id < 3 ORDER BY c.id, v.k
----
1 | id | 1
1 | len | 3
2 | id | 2
2 | len | 3

SELECT c.id, a.total, b.twice FROM customer c
CROSS APPLY (SELECT SUM(amount) AS total FROM purchase WHERE customer_id = c.id) a
CROSS APPLY (SELECT a.total * 2 AS twice) b ORDER BY c.id
----
1 | 21 | 42
2 | 4 | 8
3 | NULL | NULL

SELECT name, (SELECT TOP 1 amount FROM purchase WHERE customer_id = c.id ORDER BY amount) AS least FROM customer c ORDER BY id
----
ann | 5
bob | 4
cy | NULL

SELECT name FROM customer c WHERE (SELECT COUNT(*) FROM purchase p WHERE p.customer_id < c.id) = 3
----
bob

SELECT name FROM customer c WHERE EXISTS (SELECT 1 FROM purchase p WHERE p.customer_id = c.id OR p.amount = c.id + 1) ORDER BY id
----
ann
bob
cy

SELECT name FROM customer c WHERE c.id NOT IN (SELECT TOP 1 p.customer_id FROM purchase p WHERE p.amount > c.id * 4 ORDER BY p.id) ORDER BY id
----
bob
cy

SELECT (SELECT amount FROM purchase WHERE customer_id = c.id) FROM customer c
----
error 512

SELECT id FROM purchase WHERE amount > ALL (SELECT amount FROM purchase WHERE customer_id = 2) ORDER BY id
----
10
11
12

SELECT id FROM purchase WHERE amount >= ALL (SELECT amount FROM purchase)
----
11

SELECT id FROM purchase WHERE amount < ANY (SELECT amount FROM purchase WHERE customer_id = 1) ORDER BY id
----
10
12
13

SELECT id FROM purchase WHERE amount <> SOME (SELECT 5) ORDER BY id
----
11
12
13

SELECT id FROM purchase WHERE amount = ALL (SELECT 5 WHERE 1 = 0) ORDER BY id
----
10
11
12
13

SELECT id FROM purchase WHERE amount > ALL (SELECT amount FROM (VALUES (1), (NULL)) AS v (amount))
----

SELECT p.id FROM purchase p WHERE p.amount >= ALL (SELECT q.amount FROM purchase q WHERE q.customer_id = p.customer_id) ORDER BY p.id
----
11
13

SELECT TOP 50 PERCENT id FROM purchase ORDER BY id
----
10
11

SELECT TOP 30 PERCENT id FROM purchase ORDER BY id
----
10
11

SELECT TOP (0) PERCENT id FROM purchase
----

SELECT TOP (101) PERCENT id FROM purchase
----
error 1031: Percent values must be between 0 and 100.

SELECT TOP 2 WITH TIES v FROM (VALUES (1), (2), (2), (2), (3)) AS t (v) ORDER BY v
----
1
2
2
2

SELECT TOP 1 WITH TIES v FROM (VALUES (CAST('00000000-0000-0000-0000-000000000002' AS uniqueidentifier)), ('00000000-0000-0000-0000-000000000001')) AS t (v) ORDER BY v; SELECT TOP 1 WITH TIES v FROM (VALUES (CAST('2020-01-01 10:00 +00:00' AS datetimeoffset(0))), ('2020-01-01 11:00 +01:00'), ('2020-01-01 11:00 +00:00')) AS t (v) ORDER BY v
----
[v uniqueidentifier]
00000000-0000-0000-0000-000000000001
[v datetimeoffset(0)]
2020-01-01 10:00:00 +00:00
2020-01-01 11:00:00 +01:00

SELECT TOP 1 WITH TIES v FROM (VALUES (1)) AS t (v)
----
error 1062

SELECT 'a' AS x UNION ALL SELECT 'b' EXCEPT SELECT 'A'
----
b

SELECT v FROM (VALUES ('a'), ('B'), (NULL), ('a')) AS t (v) INTERSECT SELECT v FROM (VALUES ('A'), ('b '), (NULL), ('c')) AS u (v) ORDER BY v
----
NULL
a
B

SELECT v FROM (VALUES (1), (2), (2), (NULL)) AS t (v) EXCEPT SELECT 1 ORDER BY v
----
NULL
2

SELECT d.v FROM (SELECT v FROM (VALUES (1)) AS t (v) ORDER BY v) AS d
----
error 1033

SELECT name FROM customer c WHERE 4 IN (SELECT d.amount FROM (SELECT amount FROM purchase WHERE customer_id = c.id) AS d)
----
bob

-- TOP, OFFSET and FETCH that look at the outer row, and APPLY in a join whose ON comes later.
CREATE TABLE #o_outer (id int)
CREATE TABLE #o_inner (cid int, v int)
INSERT #o_outer VALUES (1), (2)
INSERT #o_inner VALUES (1, 10), (1, 20), (2, 30), (2, 40), (2, 50)
SELECT c.id, x.v FROM #o_outer c CROSS APPLY (SELECT v FROM #o_inner o WHERE o.cid = c.id ORDER BY v OFFSET c.id - 1 ROWS FETCH NEXT 1 ROWS ONLY) x ORDER BY c.id, x.v
SELECT c.id, x.v FROM #o_outer c CROSS APPLY (SELECT v FROM #o_inner o WHERE o.cid = c.id ORDER BY v OFFSET 0 ROWS FETCH NEXT c.id ROWS ONLY) x ORDER BY c.id, x.v
SELECT c.id, (SELECT v FROM #o_inner o WHERE o.cid = c.id ORDER BY v DESC OFFSET c.id - 1 ROWS FETCH NEXT 1 ROWS ONLY) FROM #o_outer c ORDER BY c.id
SELECT c.id, x.v FROM #o_outer c CROSS APPLY (SELECT TOP (c.id) v FROM #o_inner o WHERE o.cid = c.id ORDER BY v) x ORDER BY c.id, x.v
SELECT c.id, x.v FROM #o_outer c OUTER APPLY (SELECT TOP (c.id - 1) WITH TIES v FROM #o_inner o WHERE o.cid = c.id ORDER BY v) x ORDER BY c.id, x.v
SELECT TOP (SELECT MAX(id) FROM #o_outer) v FROM #o_inner ORDER BY v
SELECT a.id, b.id, x.v FROM #o_outer a JOIN #o_outer b CROSS APPLY (SELECT MAX(v) v FROM #o_inner o WHERE o.cid = b.id) x ON a.id = b.id ORDER BY a.id
SELECT a.id, b.id, x.v FROM #o_outer a LEFT JOIN #o_outer b OUTER APPLY (SELECT MAX(v) v FROM #o_inner o WHERE o.cid = b.id) x JOIN #o_inner o2 ON o2.v = x.v ON a.id = b.id ORDER BY a.id
----
1 | 10
2 | 40
1 | 10
2 | 30
2 | 40
1 | 20
2 | 40
1 | 10
2 | 30
2 | 40
1 | NULL
2 | 30
10
20
1 | 1 | 20
2 | 2 | 50
1 | 1 | 20
2 | 2 | 50

SELECT c.id, x.v FROM #o_outer c CROSS APPLY (SELECT TOP (c.id - 2) v FROM #o_inner o WHERE o.cid = c.id ORDER BY v) x
----
error 127: A TOP N or FETCH rowcount value may not be negative.
