CREATE TABLE cs (s varchar(10), n AS s COLLATE Latin1_General_CS_AS, p AS s COLLATE Latin1_General_CS_AS PERSISTED); INSERT cs (s) VALUES ('a'), ('A')
----

SELECT s FROM cs WHERE n = 'a'; SELECT COUNT(DISTINCT n), COUNT(DISTINCT p), COUNT(DISTINCT s) FROM cs
----
a
2 | 2 | 1

SELECT name, collation_name FROM sys.columns WHERE object_id = OBJECT_ID('cs') ORDER BY column_id
----
s | SQL_Latin1_General_CP1_CI_AS
n | Latin1_General_CS_AS
p | Latin1_General_CS_AS

CREATE UNIQUE INDEX ux ON cs (p)
----

CREATE TABLE src (id int IDENTITY(10, 5) NOT NULL, v varchar(5)); INSERT src VALUES ('x'), ('y'); CREATE TABLE other (k int)
----

SELECT * INTO whole FROM src; SELECT id, v INTO #part FROM src WHERE v = 'y'; SELECT d.id INTO derived FROM (SELECT id FROM src) AS d
----

SELECT id + 0 AS id INTO expression FROM src; SELECT id, id AS again INTO twice FROM src; SELECT s.id INTO joined FROM src s CROSS JOIN (VALUES (1)) AS o (k); SELECT id INTO united FROM src UNION ALL SELECT 1; SELECT DISTINCT id INTO distinguished FROM src; SELECT id INTO grouped FROM src GROUP BY id
----

SELECT OBJECT_NAME(object_id), seed_value, increment_value, last_value FROM sys.identity_columns ORDER BY 1
----
derived | 10 | 5 | 15
src | 10 | 5 | 15
whole | 10 | 5 | 15

INSERT whole VALUES ('z'); INSERT #part VALUES ('q'); SELECT MAX(id) FROM whole; SELECT MAX(id) FROM #part
----
20
20

SELECT IDENTITY(int, 100, 10) AS n, v INTO numbered FROM src ORDER BY v DESC; SELECT n, v FROM numbered ORDER BY n; INSERT numbered VALUES ('w'); SELECT MAX(n) FROM numbered
----
100 | y
110 | x
120

SELECT IDENTITY(int, 1, 1) AS n, id INTO both FROM src
----
error 8108: Cannot add identity column, using the SELECT INTO statement, to table 'both', which already has column 'id' that inherits the identity property.

SELECT IDENTITY(int) AS n FROM src
----
error 177: The IDENTITY function can only be used when the SELECT statement has an INTO clause.

SELECT IDENTITY(float, 1, 1) AS n, v INTO f FROM src
----
error 2749

CREATE TABLE sp (a int SPARSE NULL, b int NULL); SELECT name, is_sparse, COLUMNPROPERTY(object_id, name, 'IsSparse') FROM sys.columns WHERE object_id = OBJECT_ID('sp')
----
a | 1 | 1
b | 0 | 0

CREATE TABLE sp2 (a int SPARSE NOT NULL)
----
error 1731

CREATE TABLE nn (a int NOT NULL, b AS ISNULL(a, 0), c AS CONCAT(a, 'x'), d AS a, e AS a + 1, f sysname, g sysname NULL, CHECK (a > 0), CONSTRAINT two CHECK (a < 100 AND g <> 'x')); SELECT name, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('nn') ORDER BY column_id
----
a | 0
b | 0
c | 0
d | 0
e | 1
f | 0
g | 1

SELECT parent_column_id, is_system_named FROM sys.check_constraints WHERE parent_object_id = OBJECT_ID('nn') ORDER BY parent_column_id
----
0 | 0
1 | 1

CREATE TABLE k1 (n nvarchar(10) NULL, a int NOT NULL CONSTRAINT pk_k PRIMARY KEY (a)); CREATE TABLE k2 (a int NULL, PRIMARY KEY (a))
----
error 8111: Cannot define PRIMARY KEY constraint on nullable column in table 'k2'.
error 1750: Could not create constraint or index. See previous errors.

CREATE TABLE k3 (a int NOT NULL, b int NOT NULL, n nvarchar(10) NULL CONSTRAINT pk_3 PRIMARY KEY (a, b)); SELECT is_system_named FROM sys.key_constraints WHERE name IN ('pk_3', 'pk_k')
----
0
0

CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE a (id int PRIMARY KEY, r int REFERENCES b ON DELETE SET NULL); CREATE TABLE ab (a int REFERENCES a ON DELETE CASCADE, b int REFERENCES b ON DELETE CASCADE); SELECT COUNT(*) FROM sys.foreign_keys WHERE is_system_named = 1
----
3

INSERT b VALUES (1), (2); INSERT a VALUES (1, 1), (2, 2); INSERT ab VALUES (1, 2), (2, 1); DELETE b WHERE id = 1; SELECT id, r FROM a ORDER BY id; SELECT a, b FROM ab
----
1 | NULL
2 | 2
1 | 2

CREATE TABLE a2 (id int PRIMARY KEY, r int REFERENCES b ON DELETE SET NULL, r2 int REFERENCES b ON DELETE SET NULL)
----
error 1785
error 1750

CREATE TABLE lv (i int PRIMARY KEY); CREATE TABLE us (l int NULL REFERENCES lv, c int NULL CHECK (c > 0)); ALTER TABLE us ALTER COLUMN l int NOT NULL; ALTER TABLE us ALTER COLUMN c int NOT NULL; SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('us')
----
0
0

ALTER TABLE us ALTER COLUMN l bigint NOT NULL
----
error 5074
error 4922

CREATE TABLE inl (a int NOT NULL INDEX ix_a, INDEX ix_b UNIQUE (a DESC))
SELECT name, type_desc, is_unique FROM sys.indexes WHERE object_id = OBJECT_ID('inl') ORDER BY index_id
----
NULL | HEAP | 0
ix_a | NONCLUSTERED | 0
ix_b | NONCLUSTERED | 1
