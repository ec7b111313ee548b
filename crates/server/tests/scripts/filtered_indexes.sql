CREATE TABLE fu (n varchar(10) NOT NULL, p int NULL)
CREATE UNIQUE INDEX ux ON fu(n) WHERE p IS NULL
INSERT fu VALUES ('b', NULL)
INSERT fu VALUES ('B', NULL)
----
affected 1
error 2601: Cannot insert duplicate key row in object 'dbo.fu' with unique index 'ux'. The duplicate key value is (B).

INSERT fu VALUES ('b', 1), ('b', 2)
UPDATE fu SET p = NULL WHERE p = 1
----
affected 2
error 2601

DELETE fu WHERE p IS NULL
UPDATE fu SET p = NULL WHERE p = 1
INSERT fu VALUES ('b', NULL)
SELECT n, p FROM fu ORDER BY p
----
affected 1
affected 1
error 2601
b | NULL
b | 2

CREATE TABLE fv (id int PRIMARY KEY, e nvarchar(50) NULL, a bit, s char(3), d date)
CREATE UNIQUE INDEX u1 ON fv(e) WHERE e IS NOT NULL
CREATE UNIQUE INDEX u2 ON fv(s) INCLUDE (e) WHERE a = 1 AND d >= '2020-01-01' AND s IN ('abc', 'DEF')
INSERT fv VALUES (1, NULL, 1, 'abc', '2021-01-01'), (2, NULL, 1, 'abc', '2019-01-01'), (3, 'x', 0, 'abc', '2022-01-01')
INSERT fv VALUES (4, 'X', 0, 'q', '2022-01-01')
INSERT fv VALUES (4, 'y', 1, 'ABC', '2022-01-01')
UPDATE fv SET d = '2020-01-01' WHERE id = 2
UPDATE fv SET a = 1 WHERE id = 3
UPDATE fv SET d = '2018-01-01' WHERE id = 1
UPDATE fv SET a = 1 WHERE id = 3
SELECT id FROM fv WHERE e = N'x' AND s = 'abc'
----
affected 3
error 2601: Cannot insert duplicate key row in object 'dbo.fv' with unique index 'u1'. The duplicate key value is (X).
error 2601: Cannot insert duplicate key row in object 'dbo.fv' with unique index 'u2'. The duplicate key value is (ABC).
error 2601
error 2601
affected 1
affected 1
3

ALTER TABLE fv DROP COLUMN d
----
error 5074: The index 'u2' is dependent on column 'd'.
error 4922

CREATE INDEX bad ON fv(e) WHERE e LIKE 'a%'
----
error 10735: Incorrect WHERE clause for filtered index 'bad' on table 'fv'.

CREATE INDEX bad ON fv(e) WHERE nosuch = 1
----
error 207

CREATE UNIQUE INDEX u3 ON fv(s) WHERE a = 1
----
error 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.fv' and the index name 'u3'. The duplicate key value is (abc).

CREATE TABLE child (s char(3) REFERENCES fv(s))
----
error 1776
error 1750: Could not create constraint or index. See previous errors.

ALTER TABLE fv ADD x int NULL
INSERT fv VALUES (9, NULL, 1, 'abc', '2020-01-01', 1)
DBCC CHECKTABLE ('fv') WITH NO_INFOMSGS
----
error 2601

CREATE TABLE #f (n varchar(10) NOT NULL, p int NULL)
CREATE UNIQUE INDEX ux ON #f(n) WHERE p > 0
INSERT #f VALUES ('b', NULL), ('b', 0), ('b', 1)
INSERT #f VALUES ('b', 2)
----
affected 3
error 2601

CREATE TABLE fi (n int, p int)
CREATE UNIQUE INDEX ux ON fi(n) WHERE p = 1 WITH (IGNORE_DUP_KEY = ON)
INSERT fi VALUES (1, 1), (1, 1), (1, 2), (1, 2)
SELECT n, p FROM fi
----
info: Duplicate key was ignored.
affected 3
1 | 1
1 | 2
1 | 2
