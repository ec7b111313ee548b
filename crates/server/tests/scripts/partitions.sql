-- Partition functions: boundaries in order, of the type of the parameter.
CREATE PARTITION FUNCTION pf_left (int) AS RANGE LEFT FOR VALUES (10, 20, 30); CREATE PARTITION FUNCTION pf_right (int) AS RANGE RIGHT FOR VALUES (10, 20, 30); CREATE PARTITION FUNCTION pf_default (int) AS RANGE FOR VALUES (1)
----

SELECT v, $PARTITION.pf_left(v), $PARTITION.pf_right(v), master.$PARTITION.pf_left(v), $partition.[PF_LEFT](v + 1) FROM (VALUES (NULL), (9), (10), (11), (20), (21), (30), (31)) t(v)
----
[v int null,  int null,  int null,  int null,  int null]
NULL | 1 | 1 | 1 | 1
9 | 1 | 1 | 1 | 1
10 | 1 | 2 | 1 | 2
11 | 2 | 2 | 2 | 2
20 | 2 | 3 | 2 | 3
21 | 3 | 3 | 3 | 3
30 | 3 | 4 | 3 | 4
31 | 4 | 4 | 4 | 4

SELECT $PARTITION.pf_left('15'), $PARTITION.pf_left(NULL), (SELECT COUNT(*) FROM GENERATE_SERIES(1, 100) WHERE $PARTITION.pf_right(value) = 3)
----
2 | 1 | 10

SELECT $PARTITION.nosuch(1)
----
error 208: Invalid object name 'nosuch'.

SELECT $PARTITION.pf_left(1, 2)
----
error 8144

SELECT name, type, type_desc, fanout, boundary_value_on_right, is_system FROM sys.partition_functions ORDER BY function_id
----
[name nvarchar(128), type char(2), type_desc nvarchar(60) null, fanout int, boundary_value_on_right bit, is_system bit]
pf_left | R  | RANGE | 4 | 0 | 0
pf_right | R  | RANGE | 4 | 1 | 0
pf_default | R  | RANGE | 2 | 0 | 0

SELECT f.name, f.function_id, v.boundary_id, v.parameter_id, v.value, SQL_VARIANT_PROPERTY(v.value, 'BaseType') FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = v.function_id WHERE f.name <> 'pf_right' ORDER BY 2, 3
----
pf_left | 65536 | 1 | 1 | 10 | int
pf_left | 65536 | 2 | 1 | 20 | int
pf_left | 65536 | 3 | 1 | 30 | int
pf_default | 65538 | 1 | 1 | 1 | int

CREATE PARTITION FUNCTION pf_left (int) AS RANGE LEFT FOR VALUES (1)
----
error 2714: There is already an object named 'pf_left' in the database.

CREATE PARTITION FUNCTION pf_a (int, int) AS RANGE LEFT FOR VALUES (1)
----
error 7703: Can not create RANGE partition function with multiple parameter types.

CREATE PARTITION FUNCTION pf_a () AS RANGE LEFT FOR VALUES (1)
----
error 7702

CREATE PARTITION FUNCTION pf_a (varchar(max)) AS RANGE LEFT FOR VALUES ('a')
----
error 7704: The type 'varchar(max)' is not valid for this operation.

CREATE PARTITION FUNCTION pf_a (xml) AS RANGE LEFT FOR VALUES ('a')
----
error 7704

CREATE PARTITION FUNCTION pf_a (sql_variant) AS RANGE LEFT FOR VALUES (1)
----
error 40515

CREATE PARTITION FUNCTION pf_a (int) AS RANGE LEFT FOR VALUES (1, 2, 1)
----
error 7708: Duplicate range boundary values are not allowed in partition function boundary values list. Partition boundary values at ordinal 1 and 3 are equal.

CREATE PARTITION FUNCTION pf_a (int) AS RANGE LEFT FOR VALUES (1, 'x')
----
error 7705: Could not implicitly convert range values type specified at ordinal 2 to partition function parameter type.

CREATE PARTITION FUNCTION pf_a (tinyint) AS RANGE LEFT FOR VALUES (256)
----
error 7705

CREATE PARTITION FUNCTION pf_a (date) AS RANGE LEFT FOR VALUES (1)
----
error 7705

CREATE PARTITION FUNCTION pf_a (int) AS RANGE LEFT FOR VALUES (1, 2.5)
----
error 7720: Data truncated when converting range values to the partition function parameter type. The range value at ordinal 2 requires data truncation.

CREATE PARTITION FUNCTION pf_a (varchar(3)) AS RANGE LEFT FOR VALUES ('abcd')
----
error 7720

-- Out of order: sorted, with a warning. Values may be computed; one function has no boundary at all.
DECLARE @d date = '2024-01-01'; CREATE PARTITION FUNCTION pf_date (date) AS RANGE RIGHT FOR VALUES (@d, '20230101', DATEADD(year, 1, @d)); CREATE PARTITION FUNCTION pf_none (bigint) AS RANGE LEFT FOR VALUES (); SELECT v.boundary_id, v.value FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = v.function_id WHERE f.name = 'pf_date' ORDER BY 1; SELECT $PARTITION.pf_none(5), $PARTITION.pf_date('2023-12-31'), $PARTITION.pf_date('2024-01-01')
----
info: Warning: Range value list for partition function 'pf_date' is not sorted by value. Mapping of partitions to filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function 'pf_date' is referenced in CREATE PARTITION SCHEME.
1 | 2023-01-01
2 | 2024-01-01
3 | 2025-01-01
1 | 2 | 3

-- NULL as a boundary: the least of all.
CREATE PARTITION FUNCTION pf_null_left (int) AS RANGE LEFT FOR VALUES (NULL, 5); CREATE PARTITION FUNCTION pf_null_right (int) AS RANGE RIGHT FOR VALUES (NULL, 5); SELECT $PARTITION.pf_null_left(v), $PARTITION.pf_null_right(v) FROM (VALUES (NULL), (0), (5), (6)) t(v)
----
1 | 2
2 | 2
2 | 3
3 | 3

SELECT value FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = v.function_id WHERE f.name = 'pf_null_left'
----
NULL
5

-- Text by its collation, numbers by their values, moments to their last digit.
CREATE PARTITION FUNCTION pf_ci (varchar(10)) AS RANGE RIGHT FOR VALUES ('b', 'C'); CREATE PARTITION FUNCTION pf_cs (varchar(10) COLLATE Latin1_General_BIN2) AS RANGE RIGHT FOR VALUES ('C', 'b'); SELECT v, $PARTITION.pf_ci(v), $PARTITION.pf_cs(v) FROM (VALUES ('A'), ('B'), ('b  '), ('c'), ('Z'), ('')) t(v)
----
A | 1 | 1
B | 2 | 1
b   | 2 | 3
c | 3 | 3
Z | 3 | 2
 | 1 | 1

SELECT system_type_id, max_length, precision, scale, collation_name FROM sys.partition_parameters p JOIN sys.partition_functions f ON f.function_id = p.function_id WHERE f.name IN ('pf_cs', 'pf_ci', 'pf_date') ORDER BY f.function_id
----
40 | 3 | 10 | 0 | NULL
167 | 10 | 0 | 0 | SQL_Latin1_General_CP1_CI_AS
167 | 10 | 0 | 0 | Latin1_General_BIN2

CREATE PARTITION FUNCTION pf_moment (datetime2(7)) AS RANGE LEFT FOR VALUES ('2024-01-01T23:59:59.9999999'); CREATE PARTITION FUNCTION pf_money (decimal(19, 4)) AS RANGE RIGHT FOR VALUES (-1.5, 0, 1000000000000.0001); CREATE PARTITION FUNCTION pf_offset (datetimeoffset(0)) AS RANGE RIGHT FOR VALUES ('2024-01-01T00:00:00+02:00'); CREATE PARTITION FUNCTION pf_binary (varbinary(4)) AS RANGE LEFT FOR VALUES (0x01, 0x0200); CREATE PARTITION FUNCTION pf_guid (uniqueidentifier) AS RANGE LEFT FOR VALUES ('00000000-0000-0000-0000-010000000000'); CREATE PARTITION FUNCTION pf_char (nchar(3)) AS RANGE LEFT FOR VALUES (N'ä'); CREATE PARTITION FUNCTION pf_float (float) AS RANGE LEFT FOR VALUES (0.1, 1e300)
----

SELECT $PARTITION.pf_moment('2024-01-02'), $PARTITION.pf_moment('2024-01-01T23:59:59.9999999'), $PARTITION.pf_money(-1.5), $PARTITION.pf_money(-1.5001), $PARTITION.pf_money(1000000000000.0001), $PARTITION.pf_offset('2023-12-31T22:00:00Z'), $PARTITION.pf_offset('2023-12-31T21:59:59Z'), $PARTITION.pf_binary(0x02), $PARTITION.pf_guid('FFFFFFFF-FFFF-FFFF-FFFF-00FFFFFFFFFF'), $PARTITION.pf_char(N'Ä'), $PARTITION.pf_float(0.1), $PARTITION.pf_float(2)
----
2 | 1 | 2 | 1 | 4 | 2 | 1 | 2 | 1 | 1 | 1 | 2

SELECT f.name, v.value, SQL_VARIANT_PROPERTY(v.value, 'BaseType') FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = v.function_id WHERE f.name IN ('pf_moment', 'pf_money', 'pf_char', 'pf_binary') ORDER BY f.function_id, v.boundary_id
----
pf_moment | 2024-01-01 23:59:59.9999999 | datetime2
pf_money | -1.5000 | decimal
pf_money | 0.0000 | decimal
pf_money | 1000000000000.0001 | decimal
pf_binary | 0x01 | varbinary
pf_binary | 0x0200 | varbinary
pf_char | ä   | nchar

-- At most 15000 partitions.
DECLARE @v varchar(max) = (SELECT STRING_AGG(CAST(value AS varchar(max)), ',') FROM GENERATE_SERIES(1, 14999)); EXEC ('CREATE PARTITION FUNCTION pf_many (int) AS RANGE LEFT FOR VALUES (' + @v + ')'); SELECT fanout, $PARTITION.pf_many(14999), $PARTITION.pf_many(20000) FROM sys.partition_functions WHERE name = 'pf_many'
----
15000 | 14999 | 15000

CREATE PARTITION SCHEME ps_many AS PARTITION pf_many ALL TO ([PRIMARY]); ALTER PARTITION FUNCTION pf_many () SPLIT RANGE (0)
----
info: Partition scheme 'ps_many' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_many'.
error 7719: CREATE/ALTER partition function failed as only a maximum of 15000 partitions can be created.

DECLARE @v varchar(max) = (SELECT STRING_AGG(CAST(value AS varchar(max)), ',') FROM GENERATE_SERIES(1, 15000)); EXEC ('CREATE PARTITION FUNCTION pf_more (int) AS RANGE LEFT FOR VALUES (' + @v + ')')
----
error 7719

CREATE TABLE many (a int NOT NULL, CONSTRAINT pk_many PRIMARY KEY (a)) ON ps_many(a); INSERT many SELECT value FROM GENERATE_SERIES(1, 20000); SELECT COUNT(*), SUM(rows), MAX(rows), SUM(CASE WHEN rows = 1 THEN 1 END) FROM sys.partitions WHERE object_id = OBJECT_ID('many')
----
15000 | 20000 | 5001 | 14999

DROP TABLE many; DROP PARTITION SCHEME ps_many; DROP PARTITION FUNCTION pf_many
----

-- Partition schemes.
ALTER DATABASE CURRENT ADD FILEGROUP fg2; ALTER DATABASE CURRENT ADD FILE (NAME = two, FILENAME = 'two.ndf') TO FILEGROUP fg2; CREATE PARTITION SCHEME ps_three AS PARTITION pf_left TO ([PRIMARY], fg2, [PRIMARY])
----
info: File 'two' is kept in the database's folder as data-2.pages.
error 7707: The associated partition function 'pf_left' generates more partitions than there are file groups mentioned in the scheme 'ps_three'.

CREATE PARTITION SCHEME ps AS PARTITION pf_left TO ([PRIMARY], fg2, [PRIMARY], fg2); CREATE PARTITION SCHEME ps_next AS PARTITION pf_default TO (fg2, fg2, [PRIMARY], fg2, fg2); CREATE PARTITION SCHEME ps_right AS PARTITION pf_right ALL TO ("default")
----
info: Partition scheme 'ps_next' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_next'.
info: 2 filegroups specified after the next used filegroup are ignored.
info: Partition scheme 'ps_right' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_right'.

CREATE PARTITION SCHEME ps AS PARTITION pf_left ALL TO ([PRIMARY])
----
error 2714

CREATE PARTITION SCHEME ps2 AS PARTITION nosuch ALL TO ([PRIMARY])
----
error 208: Invalid object name 'nosuch'.

CREATE PARTITION SCHEME ps2 AS PARTITION pf_left ALL TO (nosuch)
----
error 208: Invalid object name 'nosuch'.

CREATE PARTITION SCHEME ps2 AS PARTITION pf_left ALL TO ([PRIMARY], fg2)
----
error 7723

SELECT s.name, s.data_space_id, s.type, s.type_desc, s.is_default, f.name FROM sys.partition_schemes s JOIN sys.partition_functions f ON f.function_id = s.function_id ORDER BY 2
----
ps | 65601 | PS | PARTITION_SCHEME | 0 | pf_left
ps_next | 65602 | PS | PARTITION_SCHEME | 0 | pf_default
ps_right | 65603 | PS | PARTITION_SCHEME | 0 | pf_right

SELECT s.name, d.destination_id, g.name FROM sys.destination_data_spaces d JOIN sys.partition_schemes s ON s.data_space_id = d.partition_scheme_id JOIN sys.filegroups g ON g.data_space_id = d.data_space_id WHERE s.name <> 'ps_right' ORDER BY 1, 2
----
ps | 1 | PRIMARY
ps | 2 | fg2
ps | 3 | PRIMARY
ps | 4 | fg2
ps_next | 1 | fg2
ps_next | 2 | fg2
ps_next | 3 | PRIMARY

SELECT name, type, type_desc FROM sys.data_spaces ORDER BY data_space_id
----
PRIMARY | FG | ROWS_FILEGROUP
fg2 | FG | ROWS_FILEGROUP
ps | PS | PARTITION_SCHEME
ps_next | PS | PARTITION_SCHEME
ps_right | PS | PARTITION_SCHEME

ALTER PARTITION SCHEME ps NEXT USED; ALTER PARTITION SCHEME ps NEXT USED fg2; ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; SELECT COUNT(*) FROM sys.destination_data_spaces WHERE partition_scheme_id = 65601; ALTER PARTITION SCHEME ps NEXT USED; SELECT COUNT(*) FROM sys.destination_data_spaces WHERE partition_scheme_id = 65601
----
info: Warning: The partition scheme 'ps' does not have any next used filegroup. Partition scheme has not been changed.
5
4

ALTER PARTITION SCHEME nosuch NEXT USED fg2
----
error 15151: Cannot alter the partition scheme 'nosuch', because it does not exist or you do not have permission.

ALTER PARTITION SCHEME ps NEXT USED nosuch
----
error 208

DROP PARTITION FUNCTION pf_left
----
error 7706: Partition function 'pf_left' is being used by one or more partition schemes.

DROP PARTITION FUNCTION nosuch
----
error 15151: Cannot drop the partition function 'nosuch', because it does not exist or you do not have permission.

DROP PARTITION SCHEME nosuch
----
error 15151

DROP PARTITION FUNCTION IF EXISTS pf_left
----
error 156

-- Partitioned tables: keys are aligned.
CREATE TABLE t (id int NOT NULL, c varchar(10) NULL, CONSTRAINT pk_t PRIMARY KEY (id)) ON ps(id)
----

CREATE INDEX i_c ON t (c); CREATE INDEX i_away ON t (c, id) ON fg2; CREATE UNIQUE INDEX i_both ON t (c, id)
----

CREATE UNIQUE INDEX i_c_alone ON t (c)
----
error 1908: Column 'id' is partitioning column of the index 'i_c_alone'. Partition columns for a unique index must be a subset of the index key.

CREATE TABLE t2 (id int NOT NULL, c int NOT NULL, PRIMARY KEY (id)) ON ps(c)
----
error 1908

CREATE TABLE t2 (id int NOT NULL, c int NOT NULL UNIQUE) ON ps(id)
----
error 1908

-- A key that is not partitioned may do without.
CREATE TABLE t2 (id int NOT NULL CONSTRAINT pk_t2 PRIMARY KEY NONCLUSTERED ON [PRIMARY], c int NOT NULL, UNIQUE (c, id)) ON ps(c)
----

SELECT i.name, d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE i.object_id IN (OBJECT_ID('t'), OBJECT_ID('t2')) AND i.name NOT LIKE 'UQ%' OR i.object_id = OBJECT_ID('t2') AND i.index_id = 0 ORDER BY i.object_id, i.index_id
----
pk_t | ps
i_c | ps
i_away | fg2
i_both | ps
NULL | ps
pk_t2 | PRIMARY

SELECT i.name, ic.index_column_id, c.name, ic.key_ordinal, ic.partition_ordinal, ic.is_included_column FROM sys.index_columns ic JOIN sys.indexes i ON i.object_id = ic.object_id AND i.index_id = ic.index_id JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = OBJECT_ID('t') ORDER BY i.index_id, ic.index_column_id
----
pk_t | 1 | id | 1 | 1 | 0
i_c | 1 | c | 1 | 0 | 0
i_c | 2 | id | 0 | 1 | 0
i_away | 1 | c | 1 | 0 | 0
i_away | 2 | id | 2 | 0 | 0
i_both | 1 | c | 1 | 0 | 0
i_both | 2 | id | 2 | 1 | 0

SELECT index_id, index_column_id, column_id, key_ordinal, partition_ordinal FROM sys.index_columns WHERE object_id = OBJECT_ID('t2') AND index_id = 0
----
0 | 1 | 2 | 0 | 1

-- What does not fit is refused.
CREATE TABLE x (a bigint) ON ps(a)
----
error 7726: Partition column 'a' has data type bigint which is different from the partition function 'pf_left' parameter data type int.

CREATE TABLE x (a int) ON ps(b)
----
error 1911: Column name 'b' does not exist in the target table or view.

CREATE TABLE x (a int) ON nosuch(a)
----
error 1921: Invalid partition scheme 'nosuch' specified.

CREATE TABLE x (a int) ON [PRIMARY](a)
----
error 1921

CREATE TABLE x (a int, b int) ON ps(a, b)
----
error 2726

CREATE TABLE x (a int) ON ps
----
error 2726: Partition function 'pf_left' uses 1 columns which does not match with the number of partition columns used to partition the table or index.

CREATE INDEX i_bare ON t (c) ON ps
----
error 2726

ALTER DATABASE CURRENT REMOVE FILEGROUP fg2
----
error 5042: The filegroup 'fg2' cannot be removed because it is not empty.
error 5069: ALTER DATABASE statement failed.

CREATE TABLE x (a int, b AS a + 1) ON ps(b)
----
error 7724: Computed column cannot be used as a partition key if it is not persisted. Partition key column 'b' in table 'x' is not persisted.

CREATE TABLE x (a int, b varchar(max)) ON ps(a) TEXTIMAGE_ON [PRIMARY]
----
error 1707: Cannot specify TEXTIMAGE_ON filegroup for a partitioned table.

CREATE PARTITION SCHEME ps_cs AS PARTITION pf_cs ALL TO ([PRIMARY]); CREATE TABLE x (a varchar(10)) ON ps_cs(a)
----
info: Partition scheme 'ps_cs' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_cs'.
error 7727: Collation of partition column 'a' does not match collation of corresponding parameter in partition function 'pf_cs'.

CREATE TABLE x (a varchar(10) COLLATE Latin1_General_BIN2) ON ps_cs(a); INSERT x VALUES ('A'), ('C'), ('b'), ('a'), (NULL); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('x'); DROP TABLE x
----
1 | 2
2 | 2
3 | 1

-- A persisted computed column.
CREATE TABLE x (a int, b AS a * 10 PERSISTED) ON ps(b); INSERT x VALUES (1), (2), (3), (4), (NULL); UPDATE x SET a = 9 WHERE a = 1; SELECT $PARTITION.pf_left(b), COUNT(*) FROM x GROUP BY $PARTITION.pf_left(b) ORDER BY 1; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('x'); DROP TABLE x
----
1 | 1
2 | 1
3 | 1
4 | 2
1 | 1
2 | 1
3 | 1
4 | 2

-- What partitions depend on stays.
ALTER TABLE t DROP CONSTRAINT pk_t; ALTER TABLE t ALTER COLUMN id bigint NOT NULL
----
error 5074: The object 'ps' is dependent on column 'id'.
error 4922

ALTER TABLE t2 DROP COLUMN c
----
error 5074: The object 'ps' is dependent on column 'c'.
error 4922

DROP PARTITION SCHEME ps
----
error 7717: The partition scheme "ps" is currently being used to partition one or more tables.

-- Without its key the table is a heap on the same scheme; a key that names no place goes there too.
DROP INDEX i_away ON t; DROP INDEX i_both ON t; SELECT i.type_desc, d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE i.object_id = OBJECT_ID('t'); ALTER TABLE t ADD CONSTRAINT pk_t PRIMARY KEY (id); SELECT i.type_desc, d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE i.object_id = OBJECT_ID('t')
----
HEAP | ps
NONCLUSTERED | ps
CLUSTERED | ps
NONCLUSTERED | ps

-- A clustered index takes a table to a scheme, and to a file group.
CREATE TABLE moved (a int NOT NULL, b int NOT NULL); INSERT moved VALUES (5, 1), (15, 2), (25, 3), (26, 4); CREATE CLUSTERED INDEX i ON moved (b) ON ps(a); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('moved'); CREATE CLUSTERED INDEX i ON moved (b) WITH (DROP_EXISTING = ON) ON [PRIMARY]; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('moved')
----
1 | 1
2 | 1
3 | 2
4 | 0
1 | 4

-- A column that is renamed, a table that is renamed.
EXEC sp_rename 't2.c', 'part', 'COLUMN'; EXEC sp_rename 't2', 'renamed'; INSERT renamed VALUES (1, 1), (2, 15); SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('renamed') AND index_id = 0; SELECT c.name FROM sys.index_columns ic JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = OBJECT_ID('renamed') AND ic.partition_ordinal = 1 AND ic.index_id = 0
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
1 | 1
2 | 1
3 | 0
4 | 0
part

EXEC sp_helpindex 't'
----
i_c | nonclustered located on ps | c
pk_t | clustered, unique, primary key located on ps | id

-- An expression that is kept holds the function as it is.
CREATE TABLE e (a int, p AS $PARTITION.pf_default(a)); INSERT e VALUES (1), (2); SELECT * FROM e; ALTER PARTITION FUNCTION pf_default () SPLIT RANGE (0)
----
1 | 1
2 | 2
error 3729: Cannot ALTER PARTITION FUNCTION 'pf_default' because it is being referenced by object 'e'.

DROP TABLE e; DROP PARTITION SCHEME ps_next; DROP PARTITION FUNCTION pf_default; SELECT COUNT(*) FROM sys.partition_functions WHERE name = 'pf_default'
----
0

-- LOCK_ESCALATION is kept.
ALTER TABLE t SET (LOCK_ESCALATION = AUTO); SELECT lock_escalation, lock_escalation_desc FROM sys.tables WHERE name = 't'; ALTER TABLE t SET (LOCK_ESCALATION = TABLE); SELECT lock_escalation, lock_escalation_desc FROM sys.tables WHERE name = 't'
----
2 | AUTO
0 | TABLE

ALTER TABLE t SET (LOCK_ESCALATION = DISABLE)
----
error 40515: LOCK_ESCALATION = DISABLE is not supported by this server.

-- Transactions: functions, schemes and tables come and go with them.
BEGIN TRAN; CREATE PARTITION FUNCTION pf_tran (int) AS RANGE LEFT FOR VALUES (1); CREATE PARTITION SCHEME ps_tran AS PARTITION pf_tran TO ([PRIMARY], [PRIMARY]); CREATE TABLE tran_t (a int) ON ps_tran(a); INSERT tran_t VALUES (1), (2); SELECT $PARTITION.pf_tran(a) FROM tran_t; ROLLBACK; SELECT COUNT(*) FROM sys.partition_functions WHERE name = 'pf_tran'; SELECT COUNT(*) FROM sys.partition_schemes WHERE name = 'ps_tran'; SELECT OBJECT_ID('tran_t')
----
1
2
0
0
NULL

-- Databases have functions of their own.
CREATE DATABASE other; USE other; SELECT COUNT(*) FROM sys.partition_functions; SELECT $PARTITION.pf_left(1)
----
0
error 208

USE other; CREATE PARTITION FUNCTION pf_left (int) AS RANGE LEFT FOR VALUES (7); SELECT $PARTITION.pf_left(15), master.$PARTITION.pf_left(15), other.$PARTITION.pf_left(7); USE master; SELECT other.$PARTITION.pf_left(8), name FROM other.sys.partition_functions; DROP DATABASE other
----
2 | 2 | 1
2 | pf_left

DBCC CHECKDB WITH NO_INFOMSGS
----
