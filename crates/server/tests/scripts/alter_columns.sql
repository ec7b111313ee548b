-- Columns of a table that has rows: what they get, what may be changed, and what stands in the way.
CREATE TABLE t (id int NOT NULL IDENTITY (10, 5) CONSTRAINT pk_t PRIMARY KEY, a varchar(5) NULL, b int NOT NULL CONSTRAINT ck_b CHECK (b > 0), c AS b * 2, v rowversion)
INSERT t (a, b) VALUES ('x', 1), ('y', 2), (NULL, 3)
CREATE INDEX ix_a ON t (a) INCLUDE (b)
SELECT CAST(v AS binary(8)) AS v INTO versions FROM t
----
affected 3
affected 3

-- A default is for rows to come, unless the column cannot be NULL or WITH VALUES is written.
ALTER TABLE t ADD d int NULL DEFAULT 7, e int NULL CONSTRAINT df_e DEFAULT 8 WITH VALUES, f int NOT NULL CONSTRAINT df_f DEFAULT 9, g varchar(10)
INSERT t (a, b) VALUES ('z', 4)
SELECT id, a, b, c, d, e, f, g FROM t ORDER BY id
----
[id int, a varchar(5) null, b int, c int null, d int null, e int null, f int, g varchar(10) null]
10 | x | 1 | 2 | NULL | 8 | 9 | NULL
15 | y | 2 | 4 | NULL | 8 | 9 | NULL
20 | NULL | 3 | 6 | NULL | 8 | 9 | NULL
25 | z | 4 | 8 | 7 | 8 | 9 | NULL

-- Rows that stay what they are keep their versions, and are found by their indexes.
SELECT COUNT(*) FROM t JOIN versions ON versions.v = CAST(t.v AS binary(8))
SELECT id, b FROM t WHERE a = 'y'
SELECT id FROM t WHERE id = 20
----
3
15 | 2
20

-- Values that are computed for each row.
ALTER TABLE t ADD h AS e * 2, k uniqueidentifier NOT NULL DEFAULT NEWID()
SELECT COUNT(DISTINCT k), MIN(h), MAX(h) FROM t
----
4 | 16 | 16

-- The type, the length, and whether it may be NULL.
ALTER TABLE t ALTER COLUMN g nvarchar(12) NULL
ALTER TABLE t ALTER COLUMN f bigint NOT NULL
----
error 5074: The object 'df_f' is dependent on column 'f'.
error 4922

ALTER TABLE t DROP CONSTRAINT df_f
ALTER TABLE t ALTER COLUMN f bigint NOT NULL
----

UPDATE t SET g = N'ä' + a, f = f + id WHERE a IS NOT NULL
SELECT id, g, f FROM t ORDER BY id
----
affected 3
[id int, g nvarchar(12) null, f bigint]
10 | äx | 19
15 | äy | 24
20 | NULL | 9
25 | äz | 34

ALTER TABLE t ALTER COLUMN g nvarchar(12) NOT NULL
----
error 515: Cannot insert the value NULL into column 'g', table 'master.dbo.t'; column does not allow nulls. UPDATE fails.

ALTER TABLE t ALTER COLUMN g nvarchar(1) NULL
----
error 2628

ALTER TABLE t ALTER COLUMN g int NULL
----
error 245

UPDATE t SET g = CAST(id AS nvarchar(12))
ALTER TABLE t ALTER COLUMN g int NOT NULL
SELECT SUM(g) FROM t
----
affected 4
[ int null]
70

-- What uses a column stands in the way; of what has a variable length, more may be allowed.
ALTER TABLE t DROP COLUMN a
----
error 5074: The index 'ix_a' is dependent on column 'a'.
error 4922

ALTER TABLE t DROP COLUMN b
----
error 5074: The index 'ix_a' is dependent on column 'b'.
error 4922

ALTER TABLE t ALTER COLUMN id bigint NOT NULL
----
error 5074: The object 'pk_t' is dependent on column 'id'.
error 4922

ALTER TABLE t ALTER COLUMN a char(5) NULL
----
error 5074: The index 'ix_a' is dependent on column 'a'.
error 4922

ALTER TABLE t ALTER COLUMN a varchar(50) NULL
UPDATE t SET a = REPLICATE('w', 50) WHERE id = 25
SELECT id FROM t WHERE a = REPLICATE('w', 50)
----
affected 1
[id int]
25

ALTER TABLE t DROP COLUMN e
----
error 5074: The column 'h' is dependent on column 'e'.
error 4922

ALTER TABLE t DROP COLUMN h
ALTER TABLE t DROP COLUMN e
----
error 5074: The object 'df_e' is dependent on column 'e'.
error 4922

ALTER TABLE t DROP CONSTRAINT df_e
ALTER TABLE t DROP COLUMN e, k
----
error 5074
error 4922

ALTER TABLE t ALTER COLUMN c int
----
error 4928: Cannot alter column 'c' because it is 'COMPUTED'.

ALTER TABLE t ALTER COLUMN v binary(8)
----
error 4928: Cannot alter column 'v' because it is 'timestamp'.

ALTER TABLE t ALTER COLUMN nothing int
----
error 4924: ALTER TABLE ALTER COLUMN failed because column 'nothing' does not exist in table 't'.

CREATE TABLE one (a int, b AS a + 1)
ALTER TABLE one DROP COLUMN b
ALTER TABLE one DROP COLUMN a
----
error 4923: ALTER TABLE DROP COLUMN failed because 'a' is the only data column in table 'one'. A table must have at least one data column.

-- A rollback takes all of it back, rows and columns; a statement that fails takes the transaction with it.
BEGIN TRANSACTION
ALTER TABLE t ADD l int NOT NULL DEFAULT 1
ALTER TABLE t ALTER COLUMN l bigint NOT NULL
----
error 5074
error 4922

SELECT @@TRANCOUNT, COL_LENGTH('t', 'l')
ALTER TABLE t ADD m char(3) NOT NULL DEFAULT 'm' CONSTRAINT uq_m UNIQUE
----
0 | NULL
error 1505

BEGIN TRANSACTION
ALTER TABLE t ADD l int NOT NULL DEFAULT 1
UPDATE t SET b = b + 100
SELECT SUM(l), SUM(b) FROM t
ALTER TABLE t DROP COLUMN e
ROLLBACK
SELECT SUM(b), SUM(e), COUNT(*) FROM t
SELECT l FROM t
----
affected 4
4 | 410
10 | 32 | 4
error 207: Invalid column name 'l'.

-- New constraints are checked for the rows that are there; old ones are not looked at again.
ALTER TABLE t NOCHECK CONSTRAINT ck_b
UPDATE t SET b = -1 WHERE id = 10
ALTER TABLE t CHECK CONSTRAINT ck_b
ALTER TABLE t ADD n int NOT NULL CONSTRAINT df_n DEFAULT 5 CONSTRAINT ck_n CHECK (n < 5)
----
affected 1
error 547: The ALTER TABLE statement conflicted with the CHECK constraint "ck_n". The conflict occurred in database "master", table "dbo.t", column 'n'.

ALTER TABLE t WITH NOCHECK ADD n int NOT NULL CONSTRAINT df_n DEFAULT 5 CONSTRAINT ck_n CHECK (n < 5)
SELECT name, is_not_trusted FROM sys.check_constraints WHERE name IN ('ck_b', 'ck_n') ORDER BY name
INSERT t (b, f, g, n) VALUES (1, 1, 1, 5)
----
[name nvarchar(128), is_not_trusted bit]
ck_b | 1
ck_n | 1
error 547

CREATE TABLE parent (id int NOT NULL PRIMARY KEY)
INSERT parent VALUES (1)
ALTER TABLE t ADD p int NOT NULL DEFAULT 2 CONSTRAINT fk_p REFERENCES parent (id)
----
affected 1
error 547: The ALTER TABLE statement conflicted with the FOREIGN KEY constraint "fk_p". The conflict occurred in database "master", table "dbo.parent", column 'id'.

ALTER TABLE t ADD p int NOT NULL DEFAULT 1 CONSTRAINT fk_p REFERENCES parent (id)
ALTER TABLE parent ALTER COLUMN id bigint NOT NULL
----
error 5074
error 4922

ALTER TABLE t DROP COLUMN p
----
error 5074: The object 'fk_p' is dependent on column 'p'.
error 4922

-- An identity is counted in the order of the rows, goes on, and goes with its column.
CREATE TABLE numbered (a char(1) NOT NULL)
INSERT numbered VALUES ('a'), ('b'), ('c')
ALTER TABLE numbered ADD id tinyint IDENTITY (7, 2) NOT NULL
INSERT numbered VALUES ('d')
SELECT a, id FROM numbered ORDER BY id
ALTER TABLE numbered ALTER COLUMN id smallint NOT NULL
INSERT numbered VALUES ('e')
SELECT MAX(id), IDENT_CURRENT('numbered') FROM numbered
ALTER TABLE numbered DROP COLUMN id
ALTER TABLE numbered ADD id int IDENTITY
SELECT MIN(id), MAX(id) FROM numbered
----
affected 3
affected 1
a | 7
b | 9
c | 11
d | 13
affected 1
15 | 15
1 | 5

ALTER TABLE numbered ALTER COLUMN id varchar(5) NOT NULL
----
error 2749

-- Texts of code pages, values that lie outside of their rows, keys that are not unique, compression.
CREATE TABLE mixed (k int NOT NULL, s varchar(20) COLLATE Cyrillic_General_CI_AS NULL, w varchar(max) NULL, n int NULL) WITH (DATA_COMPRESSION = ROW)
CREATE CLUSTERED INDEX cx ON mixed (k)
INSERT mixed VALUES (1, N'Я', REPLICATE(CAST('w' AS varchar(max)), 20000), 5), (1, N'Ж', NULL, 6), (2, N'Д', 'short', NULL)
ALTER TABLE mixed ALTER COLUMN s nvarchar(20) NULL
ALTER TABLE mixed ADD z bit NULL
ALTER TABLE mixed ALTER COLUMN n decimal(9, 1) NULL
SELECT k, s, LEN(w), n, z FROM mixed ORDER BY k, n
ALTER TABLE mixed ALTER COLUMN s varchar(30) COLLATE Cyrillic_General_CI_AS NULL
ALTER TABLE mixed ALTER COLUMN s varchar(30) COLLATE Latin1_General_100_CI_AS_SC_UTF8 NULL
EXEC sp_rename 'mixed.n', 'number', 'COLUMN'
SELECT k, s, LEN(w), number FROM mixed WHERE k = 1 ORDER BY number
SELECT data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID('mixed')
----
affected 3
1 | Я | 20000 | 5.0 | NULL
1 | Ж | NULL | 6.0 | NULL
2 | Д | 5 | NULL | NULL
info: Caution: Changing any part of an object name could break scripts and stored procedures.
1 | Я | 20000 | 5.0
1 | Ж | NULL | 6.0
ROW

-- Columns and constraints in one statement, all or nothing.
CREATE TABLE both (a int, b int CONSTRAINT df_both DEFAULT 1, c int CONSTRAINT ck_both CHECK (c > 0), d int)
ALTER TABLE both DROP COLUMN b, nothing, CONSTRAINT df_both
----
error 4924

ALTER TABLE both DROP COLUMN b, CONSTRAINT df_both, ck_both, COLUMN IF EXISTS c, nothing
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('both') ORDER BY column_id
SELECT COUNT(*) FROM sys.default_constraints WHERE name = 'df_both'
----
a
d
0

-- Temporary tables alike.
CREATE TABLE #t (a int NOT NULL, b varchar(3))
INSERT #t VALUES (1, 'b'), (2, NULL)
ALTER TABLE #t ADD c int NOT NULL DEFAULT 4
ALTER TABLE #t ALTER COLUMN a varchar(10) NOT NULL
ALTER TABLE #t DROP COLUMN b
SELECT * FROM #t ORDER BY a
----
affected 2
[a varchar(10), c int]
1 | 4
2 | 4
