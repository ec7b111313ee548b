CREATE TABLE emp (id int NOT NULL, name varchar(20) NOT NULL, dept int, pay money); CREATE TABLE dept (id int NOT NULL, name nvarchar(20) NOT NULL)
----

INSERT dept VALUES (1, N'Sales'), (2, N'Tools'), (3, N'Empty'); INSERT emp VALUES (1, 'Ann', 1, 100), (2, 'bob', 1, 200), (3, 'Cid', 2, 50), (4, 'ann', NULL, 70)
----

SELECT * FROM emp e JOIN dept d ON e.dept = d.id ORDER BY e.id
----
[id int, name varchar(20), dept int null, pay money null, id int, name nvarchar(20)]
1 | Ann | 1 | 100.00 | 1 | Sales
2 | bob | 1 | 200.00 | 1 | Sales
3 | Cid | 2 | 50.00 | 2 | Tools

SELECT e.name, d.name AS department FROM emp e LEFT JOIN dept d ON d.id = e.dept ORDER BY e.id
----
[name varchar(20), department nvarchar(20) null]
Ann | Sales
bob | Sales
Cid | Tools
ann | NULL

SELECT d.name, COUNT(e.id) AS people, SUM(e.pay) AS pay, AVG(e.pay) FROM dept d LEFT JOIN emp e ON e.dept = d.id GROUP BY d.name ORDER BY d.name
----
Empty | 0 | NULL | NULL
Sales | 2 | 300.00 | 150.00
Tools | 1 | 50.00 | 50.00

SELECT name, COUNT(*) FROM emp GROUP BY name ORDER BY name
----
Ann | 2
bob | 1
Cid | 1

SELECT DISTINCT UPPER(name) FROM emp ORDER BY 1 DESC
----
CID
BOB
ANN

SELECT dept, COUNT(*) AS n FROM emp GROUP BY dept HAVING COUNT(*) > 1
----
[dept int null, n int]
1 | 2

SELECT name, dept FROM emp GROUP BY dept
----
error 8120: Column 'emp.name' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.

SELECT COUNT(*), COUNT(dept), COUNT(DISTINCT dept), MIN(name), MAX(name), SUM(id), AVG(id) FROM emp
----
4 | 3 | 2 | Ann | Cid | 10 | 2

SELECT SUM(id) FROM emp WHERE 1 = 0
----
NULL

SELECT TOP 2 name FROM emp ORDER BY pay DESC
----
bob
Ann

SELECT TOP (1) id FROM emp ORDER BY name DESC, id DESC
----
3

SELECT id FROM emp ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
----
2
3

SELECT id, pay * 2 AS twice FROM emp ORDER BY twice
----
3 | 100.00
4 | 140.00
1 | 200.00
2 | 400.00

SELECT id FROM emp WHERE dept IN (SELECT id FROM dept WHERE name LIKE N's%') ORDER BY id
----
1
2

SELECT name FROM dept d WHERE NOT EXISTS (SELECT * FROM emp WHERE emp.dept = d.id)
----
Empty

SELECT d.name, (SELECT MAX(pay) FROM emp e WHERE e.dept = d.id) AS best FROM dept d ORDER BY d.id
----
[name nvarchar(20), best money null]
Sales | 200.00
Tools | 50.00
Empty | NULL

SELECT (SELECT name FROM dept)
----
error 512

SELECT (SELECT name FROM dept WHERE id = 2), (SELECT name FROM dept WHERE id = 99)
----
Tools | NULL

SELECT id FROM emp WHERE pay = (SELECT MAX(pay) FROM emp)
----
2

SELECT 1 AS a UNION ALL SELECT 2 UNION SELECT 1 ORDER BY a
----
1
2

SELECT d.id, d.id + 1 AS more FROM dept d WHERE d.id < 3 UNION SELECT 5, 6 ORDER BY D.id DESC
----
5 | 6
2 | 3
1 | 2

SELECT d.id FROM dept d UNION SELECT e.id FROM emp e ORDER BY e.id
----
error 104

SELECT UPPER(v) FROM (SELECT 'x' AS v UNION SELECT 'X') u
----
X

SELECT id FROM dept EXCEPT SELECT dept FROM emp
----
3

SELECT id FROM dept INTERSECT SELECT dept FROM emp ORDER BY id
----
1
2

SELECT 1, 2 UNION SELECT 1
----
error 205

WITH rich AS (SELECT id, pay FROM emp WHERE pay >= 100), r2 (i) AS (SELECT id FROM rich) SELECT i FROM r2 ORDER BY i
----
1
2

SELECT x.n FROM (SELECT id * 10 AS n FROM dept) AS x WHERE x.n > 10 ORDER BY x.n
----
20
30

SELECT v.a, v.b FROM (VALUES (1, 'one'), (2, 'two')) AS v (a, b) ORDER BY v.a DESC
----
2 | two
1 | one

SELECT a.id, b.id FROM dept a CROSS JOIN dept b WHERE a.id < b.id ORDER BY 1, 2
----
1 | 2
1 | 3
2 | 3

SELECT id, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY pay DESC) AS rn, SUM(pay) OVER (PARTITION BY dept) AS total FROM emp WHERE dept IS NOT NULL ORDER BY id
----
[id int, rn bigint null, total money null]
1 | 2 | 300.00
2 | 1 | 300.00
3 | 1 | 50.00

SELECT id, LAG(pay) OVER (ORDER BY id), RANK() OVER (ORDER BY dept) FROM emp ORDER BY id
----
1 | NULL | 2
2 | 100.00 | 2
3 | 200.00 | 4
4 | 50.00 | 1

SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY id DESC) FROM emp
----
ann,Cid,bob,Ann

SELECT name FROM emp e JOIN dept d ON e.dept = d.id
----
error 209: Ambiguous column name 'name'.

SELECT x.id FROM emp
----
error 4104: The multi-part identifier "x.id" could not be bound.

SELECT e.nosuch FROM emp e
----
error 207: Invalid column name 'nosuch'.

SELECT * FROM nosuch
----
error 208: Invalid object name 'nosuch'.

SELECT EMP.ID, [Name] FROM DBO.Emp WHERE NAME = 'BOB'
----
[ID int, Name varchar(20)]
2 | bob

SELECT emp.* FROM emp, dept WHERE emp.dept = dept.id AND dept.name = 'tools'
----
3 | Cid | 2 | 50.00

SELECT id FROM emp WITH (NOLOCK) WHERE dept IS NULL OPTION (MAXDOP 1)
----
4

SELECT COUNT(*) FROM emp WHERE name > 'B'
----
2

SELECT id FROM emp ORDER BY nosuch
----
error 207: Invalid column name 'nosuch'.

SELECT id FROM emp ORDER BY 5
----
error 108

SELECT 1 WHERE 1
----
error 4145

SELECT SUM(name) FROM emp
----
error 8117: Operand data type varchar is invalid for sum operator.

SELECT id FROM emp WHERE COUNT(*) > 1
----
error 147

SELECT value FROM STRING_SPLIT('a,b,c', ',')
----
a
b
c

SELECT AVG(CAST(id AS decimal(5,2))), STDEV(id), VAR(id) FROM dept
----
2.000000 | 1 | 1

SELECT d.id FROM dept d WHERE d.id = ANY (SELECT dept FROM emp) ORDER BY d.id DESC
----
2
1

SELECT id, CASE WHEN EXISTS (SELECT * FROM emp e WHERE e.dept = d.id) THEN 'used' ELSE 'free' END FROM dept d ORDER BY id
----
1 | used
2 | used
3 | free

IF NOT EXISTS (SELECT 1 FROM emp WHERE id = 99) AND EXISTS (SELECT 1 FROM emp WHERE id = 1) SELECT 'both'
----
both

IF 2 IN (SELECT id FROM dept) SELECT 'in'
----
in

IF (SELECT COUNT(*) FROM emp) > 3 SELECT 'many'
----
many

-- Without ORDER BY, what is written first comes first.
SELECT v.n * 10 FROM (VALUES (5), (1), (4), (2), (3)) AS v (n) WHERE v.n <> 4
----
50
10
20
30

SELECT d.id FROM dept d UNION ALL SELECT 90 UNION ALL SELECT d.id + 10 FROM dept d UNION ALL SELECT 80
----
1
2
3
90
11
12
13
80

SELECT TOP (3) n FROM (SELECT 7 AS n UNION ALL SELECT 9 UNION ALL SELECT 8 UNION ALL SELECT 6) AS u
----
7
9
8

CREATE TABLE numbered (id int IDENTITY, v varchar(3)) INSERT INTO numbered (v) SELECT 'c' UNION ALL SELECT 'a' UNION ALL SELECT 'b' SELECT id, v FROM numbered
----
affected 3
1 | c
2 | a
3 | b
