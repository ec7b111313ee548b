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
