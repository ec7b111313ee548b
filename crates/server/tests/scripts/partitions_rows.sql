-- Rows of a partitioned table: a heap, a clustered tree, NULLs, and rows that change their partition.
CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (100, 200, 300); CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])
----
info: Partition scheme 'ps' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps'.

CREATE TABLE heap (id int NULL, note varchar(20) NULL) ON ps(id); CREATE TABLE tree (id int NOT NULL, day date NOT NULL, n int NULL, CONSTRAINT pk_tree PRIMARY KEY (day, id)) ON ps(id); CREATE INDEX i_n ON tree (n) INCLUDE (id)
----

INSERT heap VALUES (NULL, 'null'), (99, 'a'), (100, 'b'), (199, 'c'), (200, 'd'), (300, 'e'), (400, 'f'); INSERT tree SELECT value, '2024-01-01', value % 10 FROM GENERATE_SERIES(50, 349)
----

SELECT OBJECT_NAME(object_id), index_id, partition_number, rows FROM sys.partitions WHERE object_id IN (OBJECT_ID('heap'), OBJECT_ID('tree')) ORDER BY 1, 2, 3
----
heap | 0 | 1 | 2
heap | 0 | 2 | 2
heap | 0 | 3 | 1
heap | 0 | 4 | 2
tree | 1 | 1 | 50
tree | 1 | 2 | 100
tree | 1 | 3 | 100
tree | 1 | 4 | 50
tree | 2 | 1 | 50
tree | 2 | 2 | 100
tree | 2 | 3 | 100
tree | 2 | 4 | 50

SELECT COUNT(DISTINCT partition_id), COUNT(DISTINCT hobt_id), COUNT(*) FROM sys.partitions WHERE object_id IN (OBJECT_ID('heap'), OBJECT_ID('tree'))
----
12 | 12 | 12

-- Pages are shared out by rows: the sums are those of the table.
SELECT p.index_id, COUNT(*), SUM(s.row_count), MIN(s.used_page_count), CASE WHEN SUM(s.used_page_count) = (SELECT SUM(a.used_pages) FROM sys.allocation_units a JOIN sys.partitions q ON a.container_id = q.hobt_id WHERE q.object_id = p.object_id AND q.index_id = p.index_id) THEN 'same' END FROM sys.partitions p JOIN sys.dm_db_partition_stats s ON s.partition_id = p.partition_id WHERE p.object_id = OBJECT_ID('tree') GROUP BY p.object_id, p.index_id ORDER BY 1
----
1 | 4 | 300 | 0 | same
2 | 4 | 300 | 0 | same

SELECT COUNT(*), COUNT(DISTINCT allocation_unit_id) FROM sys.allocation_units a JOIN sys.partitions p ON p.hobt_id = a.container_id WHERE p.object_id = OBJECT_ID('tree')
----
8 | 8

UPDATE heap SET id = 250 WHERE note IN ('a', 'null'); UPDATE tree SET id = id + 1000 WHERE n = 3; DELETE heap WHERE note = 'f'; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap'); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('tree') AND index_id = 1
----
1 | 0
2 | 2
3 | 3
4 | 1
1 | 45
2 | 90
3 | 90
4 | 75

-- What a transaction has done counts for it alone.
BEGIN TRAN; INSERT heap VALUES (1, 'x'), (2, 'y'); SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap') AND partition_number = 1; ROLLBACK; SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap') AND partition_number = 1
----
2
0

MERGE heap AS t USING (VALUES (100, 'merged'), (50, 'new')) s(id, note) ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 350, note = s.note WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.note); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
1 | 1
2 | 1
3 | 3
4 | 2

SELECT id, note FROM heap WHERE $PARTITION.pf(id) = 3 ORDER BY note
----
250 | a
200 | d
250 | null

-- Loads of files, views over partitions, and foreign keys.
CREATE TABLE child (id int NOT NULL, day date NOT NULL, CONSTRAINT fk FOREIGN KEY (day, id) REFERENCES tree (day, id) ON DELETE CASCADE) ON ps(id); INSERT child SELECT id, day FROM tree WHERE id < 120; DELETE tree WHERE id < 60; SELECT COUNT(*) FROM child; SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('child') ORDER BY partition_number
----
54
36
18
0
0

INSERT child VALUES (9999, '2024-01-01')
----
error 547

INSERT tree VALUES (100, '2024-01-01', 1)
----
error 2627: Violation of PRIMARY KEY constraint 'pk_tree'. Cannot insert duplicate key in object 'dbo.tree'. The duplicate key value is (2024-01-01, 100).

-- TRUNCATE of partitions.
TRUNCATE TABLE tree WITH (PARTITIONS (1))
----
error 4712

DROP TABLE child; TRUNCATE TABLE tree WITH (PARTITIONS (1, 3 TO 3)); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('tree') AND index_id = 2; SELECT COUNT(*), MIN(id) FROM tree WITH (INDEX(i_n)) WHERE n = 5
----
1 | 0
2 | 90
3 | 0
4 | 75
15 | 105

DECLARE @n int = 4; BEGIN TRAN; TRUNCATE TABLE tree WITH (PARTITIONS (2 TO @n)); SELECT COUNT(*) FROM tree; ROLLBACK; SELECT COUNT(*) FROM tree
----
0
165

TRUNCATE TABLE tree WITH (PARTITIONS ($PARTITION.pf(150))); SELECT COUNT(*), MIN(id) FROM tree
----
75 | 300

TRUNCATE TABLE tree WITH (PARTITIONS (5))
----
error 7722: Invalid partition number 5 specified for table 'tree', partition number can range from 1 to 4.

TRUNCATE TABLE tree WITH (PARTITIONS (3 TO 2))
----
error 7728: Invalid partition range: 3 TO 2. Lower bound must not be greater than upper bound.

TRUNCATE TABLE tree WITH (PARTITIONS (1, 1 TO 2))
----
error 7711

TRUNCATE TABLE tree WITH (PARTITIONS ('x'))
----
error 4957

CREATE TABLE plain (a int); TRUNCATE TABLE plain WITH (PARTITIONS (1))
----
error 7729: Cannot specify partition number in the truncate table statement as the table 'plain' is not partitioned.

CREATE INDEX i_away ON heap (note) ON [PRIMARY]; TRUNCATE TABLE heap WITH (PARTITIONS (1))
----
error 3756

DROP INDEX i_away ON heap; TRUNCATE TABLE heap WITH (PARTITIONS (1, 4)); SELECT COUNT(*) FROM heap; TRUNCATE TABLE heap; SELECT SUM(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
4
0

-- Identity values go on after TRUNCATE of partitions.
CREATE TABLE numbered (id int IDENTITY, part int NOT NULL) ON ps(part); INSERT numbered VALUES (1), (150), (2); TRUNCATE TABLE numbered WITH (PARTITIONS (1)); INSERT numbered VALUES (3); SELECT id, part FROM numbered ORDER BY id
----
2 | 150
4 | 3

-- SPLIT and MERGE: rows belong where the boundaries say.
INSERT heap SELECT value, NULL FROM GENERATE_SERIES(0, 399); ALTER PARTITION FUNCTION pf () SPLIT RANGE (250); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
1 | 100
2 | 100
3 | 50
4 | 50
5 | 100

ALTER PARTITION FUNCTION pf () SPLIT RANGE (350)
----
error 7710: Warning: The partition scheme 'ps' does not have any next used filegroup. Partition scheme has not been changed.

ALTER DATABASE CURRENT ADD FILEGROUP fg2; ALTER PARTITION SCHEME ps NEXT USED fg2; ALTER PARTITION FUNCTION pf () SPLIT RANGE (250)
----
error 7721: Duplicate range boundary values are not allowed in partition function boundary values list. The boundary value being added is already present at ordinal 3 of the boundary value list.

ALTER PARTITION FUNCTION pf () SPLIT RANGE (50); SELECT destination_id, data_space_id FROM sys.destination_data_spaces; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
1 | 1
2 | 2
3 | 1
4 | 1
5 | 1
6 | 1
1 | 50
2 | 50
3 | 100
4 | 50
5 | 50
6 | 100

ALTER PARTITION FUNCTION pf () MERGE RANGE (60)
----
error 7715: The specified partition range value could not be found.

ALTER PARTITION FUNCTION pf () MERGE RANGE ()
----
error 7714

ALTER PARTITION FUNCTION nosuch () MERGE RANGE (1)
----
error 15151

BEGIN TRAN; ALTER PARTITION FUNCTION pf () MERGE RANGE (100); SELECT COUNT(*) FROM sys.partitions WHERE object_id = OBJECT_ID('heap'); SELECT $PARTITION.pf(150); ROLLBACK; SELECT COUNT(*) FROM sys.partitions WHERE object_id = OBJECT_ID('heap'); SELECT $PARTITION.pf(150)
----
5
2
6
3

ALTER PARTITION FUNCTION pf () MERGE RANGE (50); ALTER PARTITION FUNCTION pf () MERGE RANGE (300); SELECT destination_id, data_space_id FROM sys.destination_data_spaces; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('heap'); SELECT fanout FROM sys.partition_functions
----
1 | 1
2 | 1
3 | 1
4 | 1
1 | 100
2 | 100
3 | 50
4 | 150
4

-- Of a LEFT function the new partition is the one below its boundary.
CREATE PARTITION FUNCTION pl (int) AS RANGE LEFT FOR VALUES (10); CREATE PARTITION SCHEME sl AS PARTITION pl TO ([PRIMARY], [PRIMARY], fg2); ALTER PARTITION FUNCTION pl () SPLIT RANGE (20); SELECT destination_id, data_space_id FROM sys.destination_data_spaces WHERE partition_scheme_id = 65602; ALTER PARTITION FUNCTION pl () MERGE RANGE (20); ALTER PARTITION FUNCTION pl () MERGE RANGE (10); SELECT $PARTITION.pl(100); SELECT destination_id, data_space_id FROM sys.destination_data_spaces WHERE partition_scheme_id = 65602
----
info: Partition scheme 'sl' has been created successfully. 'fg2' is marked as the next used filegroup in partition scheme 'sl'.
1 | 1
2 | 2
3 | 1
1
1 | 1

-- REBUILD and REORGANIZE know the partitions; a tree is compressed as a whole.
ALTER TABLE heap REBUILD PARTITION = 2; ALTER TABLE heap REBUILD PARTITION = ALL WITH (DATA_COMPRESSION = PAGE); SELECT partition_number, data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID('heap'); ALTER INDEX i_n ON tree REBUILD PARTITION = 4; ALTER INDEX ALL ON tree REORGANIZE PARTITION = 1; ALTER TABLE heap REBUILD PARTITION = 1 WITH (DATA_COMPRESSION = PAGE)
----
1 | PAGE
2 | PAGE
3 | PAGE
4 | PAGE

ALTER TABLE heap REBUILD PARTITION = 1 WITH (DATA_COMPRESSION = NONE)
----
error 40515: DATA_COMPRESSION of a single partition is not supported by this server.

CREATE TABLE x (a int) ON ps(a) WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO 2))
----
error 40515

ALTER INDEX i_n ON tree REBUILD PARTITION = 5
----
error 7730: Alter index statement failed because partition number 5 does not exist in index 'i_n'.

ALTER TABLE heap REBUILD PARTITION = 9
----
error 7730: Alter table statement failed because partition number 9 does not exist in table 'heap'.

ALTER TABLE plain REBUILD PARTITION = 2
----
error 7735

-- DBCC and the procedures about space see one table.
EXEC sp_spaceused 'tree'
----
tree | 75                   | 144 KB | 8 KB | 24 KB | 112 KB

DBCC CHECKDB WITH NO_INFOMSGS
----

DBCC CHECKCONSTRAINTS WITH NO_INFOMSGS
----

-- Other sessions see counts of what is committed.
BEGIN TRAN; INSERT heap VALUES (7, 'own')
----

-- @other
SELECT SUM(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
400

-- @other
SET LOCK_TIMEOUT 50; ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf () SPLIT RANGE (1000)
----
error 1222

COMMIT
----

-- @other
ALTER PARTITION FUNCTION pf () SPLIT RANGE (1000); SELECT COUNT(*), SUM(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('heap')
----
5 | 401
