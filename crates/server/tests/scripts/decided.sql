CREATE TABLE g (i int, f float) INSERT g VALUES (1, 1.5), (1, 2.5), (2, 3.5)
----

-- What constants decide need not be grouped by.
SELECT COALESCE(50, COUNT(*) * f) FROM g GROUP BY i
----
50
50

SELECT i, COALESCE(NULL, 7, f, SUM(i) + f) FROM g GROUP BY i ORDER BY i
----
1 | 7
2 | 7

SELECT NULLIF(CAST(NULL AS int), f), ISNULL(1, f), IIF(1 = 1, i, f) FROM g GROUP BY i ORDER BY i
----
NULL | 1 | 1
NULL | 1 | 2

SELECT COUNT(*) FROM g GROUP BY i HAVING NULL < f
----

SELECT COUNT(*) FROM g GROUP BY i HAVING 1 = 0 AND f > 1
----

SELECT i FROM g GROUP BY i HAVING f > 1 OR 1 = 1 ORDER BY i
----
1
2

SELECT i FROM g GROUP BY i ORDER BY COALESCE(1, f), i
----
1
2

-- What they do not decide must be.
SELECT COALESCE(i, f) FROM g GROUP BY i
----
error 8120: Column 'g.f' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.

SELECT i FROM g GROUP BY i HAVING 1 = 1 AND f > 1
----
error 8121: Column 'g.f' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause.

SELECT i FROM g GROUP BY i HAVING NULL < nosuch
----
error 207: Invalid column name 'nosuch'.
