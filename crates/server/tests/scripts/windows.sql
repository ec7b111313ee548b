-- MIN and MAX of what is compared by a key
CREATE TABLE w (id int PRIMARY KEY, part int NOT NULL, name varchar(10) NULL, exact nvarchar(10) COLLATE Latin1_General_BIN2 NULL, at datetimeoffset(0) NULL)
INSERT w VALUES (1, 1, 'b', N'b', '2024-01-01 12:00 +02:00'), (2, 1, 'A', N'A', '2024-01-01 11:00 +00:00'), (3, 1, NULL, NULL, NULL), (4, 1, 'C', N'C', '2024-01-01 09:00 -01:30'), (5, 2, NULL, NULL, NULL), (6, 2, NULL, NULL, NULL)
----

SELECT id, MIN(name) OVER (PARTITION BY part) AS least, MAX(name) OVER (PARTITION BY part) AS most, MAX(exact) OVER (PARTITION BY part) AS exact_most, MIN(at) OVER (PARTITION BY part) AS first_at FROM w ORDER BY id
----
[id int, least varchar(10) null, most varchar(10) null, exact_most nvarchar(10) null, first_at datetimeoffset(0) null]
1 | A | C | b | 2024-01-01 12:00:00 +02:00
2 | A | C | b | 2024-01-01 12:00:00 +02:00
3 | A | C | b | 2024-01-01 12:00:00 +02:00
4 | A | C | b | 2024-01-01 12:00:00 +02:00
5 | NULL | NULL | NULL | NULL
6 | NULL | NULL | NULL | NULL

-- A window that grows, and windows that leave rows behind
SELECT id, MAX(name) OVER (ORDER BY id) AS so_far, MIN(name) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS of_two, MAX(name) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS ahead, MIN(name) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) AS later FROM w ORDER BY id
----
1 | b | b | b | C
2 | b | A | C | C
3 | b | A | C | NULL
4 | C | C | C | NULL
5 | C | C | NULL | NULL
6 | C | NULL | NULL | NULL

SELECT DISTINCT part, MIN(CAST('00000000-0000-0000-0000-00000000000' + CAST(id AS char(1)) AS uniqueidentifier)) OVER (PARTITION BY part) AS least FROM w ORDER BY part
----
1 | 00000000-0000-0000-0000-000000000001
2 | 00000000-0000-0000-0000-000000000005

SELECT MAX(name, 1) OVER () FROM w
----
error 174

-- NULLs that are left out, offsets and defaults that differ from row to row, and windows that refer to later ones.
CREATE TABLE #oo (cid int, v int)
INSERT #oo VALUES (1, 10), (1, 20), (2, 30), (2, 40), (2, 50)
SELECT v, FIRST_VALUE(NULLIF(v, 10)) IGNORE NULLS OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), LAST_VALUE(NULLIF(v, 30)) IGNORE NULLS OVER (ORDER BY v), LAG(NULLIF(v, 20)) IGNORE NULLS OVER (ORDER BY v), LEAD(NULLIF(v, 40), 1, -1) IGNORE NULLS OVER (ORDER BY v), LAG(v) RESPECT NULLS OVER (ORDER BY v) FROM #oo ORDER BY v
SELECT v, LAG(v, cid) OVER (ORDER BY v), LEAD(v, cid, 0) OVER (ORDER BY v), LAG(v, 1, cid) OVER (PARTITION BY cid ORDER BY v), LAG(v, 0) OVER (ORDER BY v) FROM #oo ORDER BY v
SELECT v, LAG(v, (SELECT MAX(cid) FROM #oo)) OVER (ORDER BY v) FROM #oo ORDER BY v
SELECT v, SUM(v) OVER w1 FROM #oo WINDOW w1 AS (w2 ORDER BY v), w2 AS (w3), w3 AS (PARTITION BY cid) ORDER BY v
----
10 | 20 | 10 | NULL | 20 | NULL
20 | 20 | 20 | 10 | 30 | 10
30 | 20 | 20 | 10 | 50 | 20
40 | 20 | 40 | 30 | 50 | 30
50 | 20 | 50 | 40 | -1 | 40
10 | NULL | 20 | 1 | 10
20 | 10 | 30 | 10 | 20
30 | 10 | 50 | 2 | 30
40 | 20 | 0 | 30 | 40
50 | 30 | 0 | 40 | 50
10 | NULL
20 | NULL
30 | 10
40 | 20
50 | 30
10 | 10
20 | 30
30 | 30
40 | 70
50 | 120

SELECT LAG(v, -1) OVER (ORDER BY v) FROM #oo
----
error 8730: Offset parameter for Lag and Lead functions cannot be a negative value.

SELECT LAG(v, cid - 2) OVER (ORDER BY v) FROM #oo
----
error 8730: Offset parameter for Lag and Lead functions cannot be a negative value.

SELECT SUM(v) OVER w1 FROM #oo WINDOW w1 AS (w2 ORDER BY v), w2 AS (w1)
----
error 5365: Cyclic window references are not permitted.

SELECT SUM(v) IGNORE NULLS OVER (ORDER BY v) FROM #oo
----
error 102: Incorrect syntax near 'NULLS'.

-- Windows that become alike when constants are folded.
SELECT RANK() OVER (ORDER BY v), RANK() OVER (ORDER BY CASE WHEN CAST(NULL AS int) IS NULL THEN v ELSE LEN('c') END), RANK() OVER (ORDER BY CASE WHEN 1 = 1 THEN v ELSE LEN('d') END) + LEN('e') FROM #oo ORDER BY v
----
1 | 1 | 2
2 | 2 | 3
3 | 3 | 4
4 | 4 | 5
5 | 5 | 6
