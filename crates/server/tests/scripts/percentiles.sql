CREATE TABLE pay (dept varchar(5), amount int NULL)
INSERT pay VALUES ('a', 10), ('a', 20), ('a', 40), ('a', NULL), ('b', 7), ('b', 8)
----

SELECT DISTINCT dept, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) OVER (PARTITION BY dept) AS c, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY amount) OVER (PARTITION BY dept) AS d FROM pay ORDER BY dept
----
[dept varchar(5) null, c float null, d int null]
a | 20 | 20
b | 7.5 | 7

SELECT DISTINCT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY amount DESC) OVER () AS c, PERCENTILE_DISC(1) WITHIN GROUP (ORDER BY amount DESC) OVER () AS d FROM pay
----
20 | 7

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) FROM pay
----
error 10753

SELECT PERCENTILE_CONT(0.5) OVER () FROM pay
----
error 10754

SELECT CHECKSUM_AGG(amount) AS x, CHECKSUM_AGG(DISTINCT amount) AS y FROM pay WHERE dept = 'a'
----
[x int null, y int null]
54 | 54

SELECT CHECKSUM_AGG(dept) FROM pay
----
error 8117
