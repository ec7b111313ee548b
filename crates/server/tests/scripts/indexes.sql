CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY WITH (FILLFACTOR = 80, PAD_INDEX = ON), name varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS NULL, note nvarchar(50) NULL) WITH (DATA_COMPRESSION = PAGE)
CREATE UNIQUE NONCLUSTERED INDEX ux_name ON p (name) INCLUDE (note) WITH (FILLFACTOR = 70, DATA_COMPRESSION = ROW)
CREATE INDEX ix_note ON p (note DESC, id)
SELECT name, index_id, type_desc, is_unique, is_primary_key, fill_factor, is_padded, is_disabled FROM sys.indexes WHERE object_id = OBJECT_ID('p') ORDER BY index_id
SELECT index_id, data_compression, data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID('p') ORDER BY index_id
----
pk_p | 1 | CLUSTERED | 1 | 1 | 80 | 1 | 0
ux_name | 2 | NONCLUSTERED | 1 | 0 | 70 | 0 | 0
ix_note | 3 | NONCLUSTERED | 0 | 0 | 0 | 0 | 0
1 | 2 | PAGE
2 | 1 | ROW
3 | 0 | NONE

INSERT INTO p VALUES (3, 'three', N'c'), (1, 'one', N'a'), (2, NULL, NULL)
SELECT id, name FROM p ORDER BY id
----
1 | one
2 | NULL
3 | three

INSERT INTO p VALUES (4, 'four', NULL), (1, 'uno', NULL)
----
error 2627: Violation of PRIMARY KEY constraint 'pk_p'. Cannot insert duplicate key in object 'dbo.p'. The duplicate key value is (1).

INSERT INTO p VALUES (5, 'ONE  ', NULL)
----
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_name'. The duplicate key value is (ONE  ).

INSERT INTO p VALUES (6, NULL, NULL)
----
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_name'. The duplicate key value is (<NULL>).

SELECT COUNT(*) FROM p
----
3

SELECT id FROM p WHERE name = 'ONE'
SELECT id FROM p WHERE id = 2
SELECT id FROM p WHERE id >= 2 AND id < 3
SELECT id FROM p WHERE id BETWEEN 2 AND 9 ORDER BY id DESC
SELECT id FROM p WHERE 2 < id
SELECT id FROM p WHERE id = 3000000000
SELECT id FROM p WHERE note = N'C ' AND id = 3
SELECT id FROM p WHERE name = N'日本'
SELECT id FROM p WHERE name = 'a name that is longer than the column'
----
1
2
2
3
2
3
3

DECLARE @id bigint = 3, @name nvarchar(40) = N'One'
SELECT name FROM p WHERE id = @id
SELECT id FROM p WHERE name = @name
SELECT a.id, b.id FROM p a JOIN p b ON b.id = a.id + 1 WHERE a.id = 1
SELECT (SELECT note FROM p b WHERE b.id = a.id) FROM p a WHERE a.id = 3
----
three
1
1 | 2
c

-- Keys that change places within a statement, and keys that do not.
UPDATE p SET id = 4 - id WHERE id IN (1, 3)
UPDATE p SET name = CASE id WHEN 1 THEN 'one' ELSE 'three' END WHERE id <> 2
SELECT id, name, note FROM p ORDER BY id
----
1 | one | c
2 | NULL | NULL
3 | three | a

UPDATE p SET id = 3 WHERE id = 2
----
error 2627: Violation of PRIMARY KEY constraint 'pk_p'. Cannot insert duplicate key in object 'dbo.p'. The duplicate key value is (3).

UPDATE p SET name = 'Three' WHERE id = 2
----
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_name'. The duplicate key value is (Three).

BEGIN TRANSACTION
DELETE FROM p WHERE id = 1
INSERT INTO p VALUES (1, 'new', N'n')
UPDATE p SET note = N'x' WHERE name = 'THREE'
SAVE TRANSACTION s
DELETE FROM p WHERE id > 1
SELECT COUNT(*) FROM p
ROLLBACK TRANSACTION s
SELECT id, name, note FROM p ORDER BY id
ROLLBACK
SELECT id, name, note FROM p ORDER BY id
SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('p') AND index_id = 1
----
1
1 | new | n
2 | NULL | NULL
3 | three | x
1 | one | c
2 | NULL | NULL
3 | three | a
3

-- A statement that fails leaves no row, and the transaction goes on.
BEGIN TRANSACTION
UPDATE p SET note = N'kept' WHERE id = 1
INSERT INTO p SELECT id + 10, name, note FROM p
COMMIT
SELECT id, note FROM p ORDER BY id
----
error 2601
1 | kept
2 | NULL
3 | a

CREATE INDEX ux_name ON p (id)
----
error 1913: The operation failed because an index or statistics with name 'ux_name' already exists on table 'p'.

CREATE UNIQUE INDEX ux_name ON p (name, id) WITH (DROP_EXISTING = ON, FILLFACTOR = 60)
SELECT index_id, fill_factor FROM sys.indexes WHERE name = 'ux_name'
SELECT COUNT(*) FROM sys.index_columns WHERE object_id = OBJECT_ID('p') AND index_id = 2
INSERT INTO p VALUES (6, NULL, NULL), (7, 'one', NULL)
----
2 | 60
2

CREATE INDEX nothing ON p (id) WITH (DROP_EXISTING = ON)
----
error 7999: Could not find any index named 'nothing' for table 'p'.

CREATE UNIQUE INDEX ux_twice ON p (name)
----
error 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.p' and the index name 'ux_twice'. The duplicate key value is (<NULL>).

CREATE INDEX pk_p ON p (id) WITH (DROP_EXISTING = ON)
----
error 1907: Cannot recreate index 'pk_p'. The new index definition does not match the constraint being enforced by the existing index.

CREATE UNIQUE CLUSTERED INDEX pk_p ON p (id) WITH (DROP_EXISTING = ON, FILLFACTOR = 50)
SELECT name, fill_factor, is_primary_key FROM sys.indexes WHERE object_id = OBJECT_ID('p') AND index_id = 1
----
pk_p | 50 | 1

CREATE CLUSTERED INDEX second ON p (name)
----
error 1902: Cannot create more than one clustered index on table 'p'. Drop the existing clustered index before creating another.

CREATE INDEX bad ON p (nothing)
----
error 1911

CREATE INDEX bad ON p (id, id)
----
error 1909

CREATE INDEX bad ON p (id) WITH (FILLFACTOR = 101)
----
error 129

CREATE INDEX bad ON p (id) WITH (FILFACTOR = 90)
----
error 155: 'FILFACTOR' is not a recognized CREATE INDEX option.

CREATE INDEX bad ON p (id) WITH (IGNORE_DUP_KEY = ON)
----
error 1916: CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.

DROP INDEX pk_p ON p
----
error 3723: An explicit DROP INDEX is not allowed on index 'p.pk_p'. It is being used for PRIMARY KEY constraint enforcement.

ALTER INDEX nothing ON p REBUILD
----
error 2727: Cannot find index 'nothing'.

-- A disabled index neither refuses nor finds anything; building it again does.
CREATE UNIQUE INDEX ux_note ON p (note) WHERE note IS NOT NULL
DROP INDEX ux_note ON p
DELETE FROM p WHERE id > 3
UPDATE p SET note = N'b' WHERE id = 2
CREATE UNIQUE INDEX ux_note ON p (note)
ALTER INDEX ux_note ON p DISABLE
SELECT is_disabled FROM sys.indexes WHERE name = 'ux_note'
INSERT INTO p VALUES (8, 'eight', N'B')
SELECT id FROM p WHERE note = N'b' ORDER BY id
ALTER INDEX ux_note ON p REBUILD
----
1
2
8
error 1505

DELETE FROM p WHERE id = 8
ALTER INDEX ux_note ON p REBUILD WITH (FILLFACTOR = 90, DATA_COMPRESSION = PAGE)
SELECT is_disabled, fill_factor FROM sys.indexes WHERE name = 'ux_note'
INSERT INTO p VALUES (8, 'eight', N'B')
----
0 | 90
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_note'. The duplicate key value is (B).

ALTER INDEX ALL ON p REBUILD
ALTER INDEX ALL ON p REORGANIZE
ALTER INDEX ix_note ON p REBUILD PARTITION = ALL WITH (PAD_INDEX = ON, ONLINE = OFF, MAXDOP = 1)
ALTER TABLE p REBUILD
ALTER TABLE p REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = ROW)
SELECT index_id, data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID('p') ORDER BY index_id
SELECT id, name, note FROM p ORDER BY id
SELECT id FROM p WHERE note = N'B'
----
1 | ROW
2 | NONE
3 | NONE
4 | PAGE
1 | one | kept
2 | NULL | b
3 | three | a
2

EXEC sp_rename 'p.ux_note', 'ux_text', 'INDEX'
INSERT INTO p VALUES (8, 'eight', N'B')
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_text'. The duplicate key value is (B).

-- Columns come, change and go; the trees stay.
ALTER TABLE p ADD more int NULL, given int NOT NULL DEFAULT 7
ALTER TABLE p ALTER COLUMN name varchar(30) NULL
UPDATE p SET more = id * 2 WHERE id >= 2
SELECT id, name, more, given FROM p WHERE id = 3
INSERT INTO p (id, name, note) VALUES (9, N'ONE', N'A')
----
3 | three | 6 | 7
error 2601: Cannot insert duplicate key row in object 'dbo.p' with unique index 'ux_text'. The duplicate key value is (A).

ALTER TABLE p DROP COLUMN more
INSERT INTO p (id, name, note) VALUES (3, N'x', N'z')
----
error 2627: Violation of PRIMARY KEY constraint 'pk_p'. Cannot insert duplicate key in object 'dbo.p'. The duplicate key value is (3).

-- A heap gets a clustered key and loses it; another key is found through it meanwhile.
CREATE TABLE h (a int NOT NULL, b varchar(10) NOT NULL, CONSTRAINT uq_h UNIQUE (b))
INSERT INTO h VALUES (2, 'two'), (1, 'one'), (2, 'zwei')
CREATE CLUSTERED INDEX cx ON h (a DESC)
SELECT a FROM h WHERE b = 'zwei'
SELECT COUNT(*) FROM h WHERE a = 2
SELECT COUNT(*) FROM h WHERE a > 1
SELECT COUNT(*) FROM h WHERE a <= 1
DROP INDEX cx ON h
SELECT type_desc FROM sys.indexes WHERE object_id = OBJECT_ID('h') ORDER BY index_id
SELECT a FROM h WHERE b = 'ZWEI'
----
2
2
2
1
HEAP
NONCLUSTERED
2

INSERT INTO h VALUES (3, 'Two')
----
error 2627: Violation of UNIQUE KEY constraint 'uq_h'. Cannot insert duplicate key in object 'dbo.h'. The duplicate key value is (Two).

ALTER TABLE h ADD CONSTRAINT pk_h PRIMARY KEY (a)
----
error 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.h' and the index name 'pk_h'. The duplicate key value is (2).

DELETE FROM h WHERE b = 'zwei'
ALTER TABLE h ADD CONSTRAINT pk_h PRIMARY KEY (a)
ALTER TABLE h DROP CONSTRAINT uq_h
INSERT INTO h VALUES (3, 'Two')
TRUNCATE TABLE h
INSERT INTO h VALUES (2, 'x'), (1, 'y')
SELECT a, b FROM h WHERE a < 5 ORDER BY a
----
1 | y
2 | x

-- Keys of many types are found by values of many types.
CREATE TABLE k (g uniqueidentifier NOT NULL PRIMARY KEY, d date NOT NULL UNIQUE, o datetimeoffset(3) NOT NULL UNIQUE, c char(5) NOT NULL UNIQUE, m decimal(9,2) NOT NULL UNIQUE, b varbinary(4) NOT NULL UNIQUE, t datetime NOT NULL UNIQUE, n nchar(3) NOT NULL UNIQUE, y tinyint NOT NULL UNIQUE)
INSERT INTO k VALUES ('00112233-4455-6677-8899-AABBCCDDEEFF', '2024-02-29', '2024-02-29 12:00:00 +02:00', 'ab', 1.50, 0x01, '2024-02-29 12:00:00.003', N'é', 200), ('00112233-4455-6677-8899-AABBCCDDEEFE', '2024-03-01', '2024-03-01 12:00:00 +00:00', 'cd', -1.50, 0x0102, '2024-03-01', N'f', 7)
SELECT c FROM k WHERE g = '00112233-4455-6677-8899-aabbccddeeff'
SELECT c FROM k WHERE g < '00112233-4455-6677-8899-aabbccddeeff'
SELECT c FROM k WHERE d = '20240229'
SELECT c FROM k WHERE o = '2024-02-29 10:00:00 +00:00'
SELECT c FROM k WHERE c = 'AB   '
SELECT c FROM k WHERE m = 1.5
SELECT c FROM k WHERE m < 0
SELECT c FROM k WHERE b = 0x01
SELECT c FROM k WHERE t = '2024-02-29T12:00:00.003'
SELECT c FROM k WHERE n = N'É'
SELECT c FROM k WHERE y = 200
SELECT c FROM k WHERE y = 456
SELECT c FROM k WHERE c = NULL
----
ab   
cd   
ab   
ab   
ab   
ab   
cd   
ab   
ab   
ab   
ab   

INSERT INTO k SELECT NEWID(), '2025-01-01', '2024-02-29 11:00:00 +01:00', 'x', 0, 0x, '2025-01-01', N'x', 1
----
error 2627

-- A key that is declared wider than an entry may be is kept unique.
CREATE TABLE w (t nvarchar(800) NOT NULL CONSTRAINT uq_w UNIQUE CLUSTERED, n int NOT NULL)
INSERT INTO w VALUES (REPLICATE(N'x', 450), 1), (N'y', 2)
INSERT INTO w VALUES (N'Y', 3)
UPDATE w SET t = N'z' WHERE n = 2
INSERT INTO w VALUES (N'Y', 3)
UPDATE w SET t = t + N'' WHERE n > 0
SELECT n FROM w ORDER BY n
----
error 2627
1
2
3

UPDATE w SET t = N'Z' WHERE n = 3
----
error 2627

MERGE p AS t USING (VALUES (1, N'eins', N'm1'), (20, N'zwanzig', N'm2')) AS s (id, name, note) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, note = s.note
WHEN NOT MATCHED BY TARGET THEN INSERT (id, name, note) VALUES (s.id, s.name, s.note)
WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE
OUTPUT $action, deleted.id, inserted.id;
SELECT id, name FROM p ORDER BY id
----
unordered
INSERT | NULL | 20
DELETE | 3 | NULL
UPDATE | 1 | 1
1 | eins
2 | NULL
20 | zwanzig

-- What refers to a key follows it.
CREATE TABLE parent (id int PRIMARY KEY, code char(3) NOT NULL UNIQUE)
CREATE TABLE child (id int PRIMARY KEY, parent int NULL REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE, code varchar(10) NULL REFERENCES parent (code))
INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c')
INSERT INTO child VALUES (10, 1, 'A'), (11, 2, NULL), (12, 2, NULL)
UPDATE parent SET id = 20 WHERE id = 2
DELETE FROM parent WHERE id = 20
SELECT id, parent, code FROM child ORDER BY id
INSERT INTO child VALUES (13, 99, NULL)
----
10 | 1 | A
11 | NULL | NULL
12 | NULL | NULL
error 547

DELETE FROM parent WHERE id = 1
----
error 547

-- A range of instants, which are compared without their offsets.
CREATE TABLE instants (k datetimeoffset(3) NOT NULL PRIMARY KEY)
INSERT INTO instants VALUES ('2024-01-01 12:00 +14:00'), ('2024-01-02 12:00 -14:00'), ('2024-01-04 12:00 +00:00')
SELECT DATEPART(day, MAX(k)) FROM instants WHERE k < '2024-01-03 02:00 +00:00'
SELECT DATEPART(day, MAX(k)) FROM instants WHERE k <= '2024-01-03 02:00 +00:00'
SELECT DATEPART(day, MIN(k)), COUNT(*) FROM instants WHERE k > '2023-12-31 22:00 +00:00'
----
1
2
2 | 2

-- Columnstore indexes have columns without an order, and a clustered one has all columns.
CREATE TABLE stores (a int, b int, c int, d AS a + b)
CREATE NONCLUSTERED COLUMNSTORE INDEX [some] ON stores (a, b)
CREATE TABLE whole (a int, b int, INDEX all_columns CLUSTERED COLUMNSTORE)
SELECT i.name, c.index_column_id, c.column_id, c.key_ordinal, c.is_included_column FROM sys.index_columns c JOIN sys.indexes i ON i.object_id = c.object_id AND i.index_id = c.index_id WHERE i.name IN ('some', 'all_columns') ORDER BY i.name, c.index_column_id
SELECT OBJECT_NAME(object_id) AS t, stats_column_id, column_id FROM sys.stats_columns WHERE object_id IN (OBJECT_ID('stores'), OBJECT_ID('whole')) ORDER BY t, stats_column_id
----
all_columns | 1 | 1 | 0 | 1
all_columns | 2 | 2 | 0 | 1
some | 1 | 1 | 0 | 1
some | 2 | 2 | 0 | 1
stores | 1 | 1
stores | 2 | 2
whole | 1 | 1
whole | 2 | 2

ALTER INDEX [some] ON stores REORGANIZE WITH (COMPRESS_ALL_ROW_GROUPS = ON)
ALTER INDEX [some] ON stores REBUILD
ALTER INDEX ALL ON stores REORGANIZE
ALTER INDEX all_columns ON whole REORGANIZE
INSERT whole VALUES (1, 2)
SELECT a, b FROM whole
----
1 | 2
