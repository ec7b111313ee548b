CREATE TABLE c (a int, b varchar(5), d varchar(5))
INSERT c VALUES (1, 'x', 'y'), (1, 'X', 'y'), (1, 'y', 'x'), (NULL, NULL, NULL)
----

SELECT COUNT(DISTINCT CHECKSUM(*)) AS x, COUNT(DISTINCT BINARY_CHECKSUM(*)) AS y FROM c
----
[x int, y int]
3 | 4

SELECT COUNT(*) FROM c WHERE CHECKSUM(*) <> CHECKSUM(a, b, d) OR BINARY_CHECKSUM(*) <> BINARY_CHECKSUM(a, b, d)
----
0

SELECT COUNT(DISTINCT x) FROM (SELECT BINARY_CHECKSUM(*) AS x FROM c GROUP BY a, b, d) AS grouped
----
3

SELECT CHECKSUM(*) FROM c GROUP BY a
----
error 8120

SELECT LEN(*) FROM c
----
error 102
