CREATE TABLE inl (id int NOT NULL CONSTRAINT pk PRIMARY KEY, a int INDEX ix_a, b int, c varchar(10), INDEX ix_b UNIQUE NONCLUSTERED (b, a DESC), INDEX ix_c CLUSTERED (c), INDEX ix_f (b) INCLUDE (c) WHERE a > 1)
SELECT name, type_desc, is_unique, has_filter FROM sys.indexes WHERE object_id = OBJECT_ID('inl') ORDER BY name
----
ix_a | NONCLUSTERED | 0 | 0
ix_b | NONCLUSTERED | 1 | 0
ix_c | CLUSTERED | 0 | 0
ix_f | NONCLUSTERED | 0 | 1
pk | NONCLUSTERED | 1 | 0

INSERT inl VALUES (1, 1, 1, 'x'), (2, 2, 1, 'y')
INSERT inl VALUES (3, 2, 1, 'z')
----
error 2601

SELECT id FROM inl WHERE a = 2
----
2

CREATE TABLE #t (a int INDEX ix_a UNIQUE, b int NULL)
INSERT #t VALUES (1, 1)
INSERT #t VALUES (1, 2)
----
error 2601

DECLARE @t TABLE (a int INDEX ix_a CLUSTERED, b int NULL, INDEX ix_b UNIQUE (b) WHERE b IS NOT NULL)
INSERT @t VALUES (2, NULL), (1, NULL), (3, 5)
SELECT a, b FROM @t WHERE a > 1 ORDER BY a
INSERT @t VALUES (4, 5)
----
2 | NULL
3 | 5
error 2601

CREATE TYPE list AS TABLE (a int, b int, INDEX ix UNIQUE (a))
----

DECLARE @l list
INSERT @l VALUES (1, 2)
INSERT @l VALUES (1, 3)
SELECT COUNT(*) FROM @l
----
error 2601
1

CREATE FUNCTION numbers() RETURNS @r TABLE (n int, INDEX ix CLUSTERED (n)) AS BEGIN INSERT @r VALUES (2), (1) RETURN END
----

SELECT n FROM numbers() ORDER BY n
----
1
2

CREATE TABLE cci (a int, b int, INDEX cc CLUSTERED COLUMNSTORE)
CREATE TABLE cco (a int, INDEX cc CLUSTERED COLUMNSTORE ORDER (a))
CREATE TABLE ncc (a int, INDEX nc NONCLUSTERED COLUMNSTORE (a))
SELECT OBJECT_NAME(object_id), type_desc FROM sys.indexes WHERE name IN ('cc', 'nc') ORDER BY 1
----
cci | CLUSTERED COLUMNSTORE
cco | CLUSTERED COLUMNSTORE
ncc | NONCLUSTERED COLUMNSTORE

CREATE TABLE bad (a int, INDEX x CLUSTERED (a), INDEX y CLUSTERED (a))
----
error 1902

CREATE TABLE bad (a int, INDEX x (a), INDEX x (a))
----
error 1913

CREATE TABLE bad (a int, INDEX x (nosuch))
----
error 1911
error 1750

CREATE TABLE bad (a int, INDEX x CLUSTERED (a) WHERE a > 1)
----
error 10622

CREATE TABLE bad (a int, b int, INDEX x CLUSTERED (a) INCLUDE (b))
----
error 10601

CREATE TABLE bad (a int, INDEX x (a) WITH (IGNORE_DUP_KEY = ON))
----
error 1916

ALTER TABLE inl ADD INDEX more (a)
----
error 40515: ALTER TABLE … ADD INDEX is not supported by this server.
