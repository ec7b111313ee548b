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

-- As aggregates, which are exact here.
CREATE TABLE #of_groups (g int, v int)
INSERT #of_groups VALUES (1, 10), (1, 20), (2, 30), (2, 40), (2, 50), (2, NULL)
SELECT APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v), APPROX_PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v) FROM #of_groups
SELECT g, APPROX_PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY v), APPROX_PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v DESC), SUM(v) FROM #of_groups GROUP BY g ORDER BY g
SELECT APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v) FROM #of_groups WHERE v > 99
SELECT DISTINCT g, (SELECT APPROX_PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY i.v) FROM #of_groups i WHERE i.g = o.g) FROM #of_groups o ORDER BY g
----
30 | 30
1 | 12.5 | 20 | 30
2 | 35 | 40 | 120
NULL
1 | 10
2 | 40

SELECT APPROX_PERCENTILE_CONT(0.5) FROM #of_groups
----
error 10754: The function 'APPROX_PERCENTILE_CONT' must have a WITHIN GROUP clause.

SELECT APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v) OVER () FROM #of_groups
----
error 4113: The function 'APPROX_PERCENTILE_CONT' is not a valid windowing function, and cannot be used with the OVER clause.
