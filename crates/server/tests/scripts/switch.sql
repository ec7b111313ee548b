-- A table's rows become those of another, which keeps its names.
CREATE TABLE dbo.target (id int NOT NULL CONSTRAINT pk_target PRIMARY KEY, name varchar(20) NULL, price decimal(9, 2) NOT NULL CONSTRAINT positive CHECK (price > 0)); CREATE INDEX by_name ON dbo.target (name) INCLUDE (price)
----

CREATE TABLE dbo.stage (id int NOT NULL CONSTRAINT pk_stage PRIMARY KEY, name varchar(20) NULL, price decimal(9, 2) NOT NULL CONSTRAINT positive_too CHECK (price > 0)); CREATE INDEX stage_by_name ON dbo.stage (name) INCLUDE (price) WITH (FILLFACTOR = 70); CREATE INDEX extra ON dbo.stage (price)
----

INSERT dbo.stage SELECT value, CONCAT('name ', value % 7), value FROM GENERATE_SERIES(1, 5000)
----

ALTER TABLE dbo.stage SWITCH TO dbo.target; SELECT COUNT(*), SUM(id) FROM dbo.target; SELECT COUNT(*) FROM dbo.stage
----
5000 | 12502500
0

-- The trees go on working under their own names.
SELECT COUNT(*) FROM dbo.target WITH (INDEX(by_name)) WHERE name = 'name 3'
----
714

INSERT dbo.target VALUES (7, 'x', 1)
----
error 2627: Violation of PRIMARY KEY constraint 'pk_target'. Cannot insert duplicate key in object 'dbo.target'. The duplicate key value is (7).

INSERT dbo.target VALUES (5001, 'x', 1); DELETE dbo.target WHERE id < 1000; UPDATE dbo.target SET name = 'all' WHERE id < 2000; SELECT COUNT(*) FROM dbo.target WHERE name = 'all'
----
1000

INSERT dbo.stage VALUES (1, 'a', 1), (2, 'b', 2); SELECT COUNT(*) FROM dbo.stage WHERE price > 1; SELECT name, type_desc, fill_factor FROM sys.indexes WHERE object_id = OBJECT_ID('stage') ORDER BY index_id
----
1
pk_stage | CLUSTERED | 0
stage_by_name | NONCLUSTERED | 70
extra | NONCLUSTERED | 0

DBCC CHECKDB WITH NO_INFOMSGS
----

SELECT OBJECT_NAME(object_id), row_count FROM sys.dm_db_partition_stats WHERE index_id = 1 AND object_id IN (OBJECT_ID('stage'), OBJECT_ID('target')) ORDER BY 1
----
stage | 2
target | 4002

-- Not into rows, unless they go first.
ALTER TABLE dbo.stage SWITCH TO dbo.target
----
error 4905: ALTER TABLE SWITCH statement failed. The target table 'master.dbo.target' must be empty.

-- In a transaction: replaced at once, and undone at once.
BEGIN TRAN; TRUNCATE TABLE dbo.target; ALTER TABLE dbo.stage SWITCH TO dbo.target; SELECT COUNT(*) FROM dbo.target; INSERT dbo.target VALUES (3, 'c', 3); ROLLBACK; SELECT COUNT(*), SUM(id) FROM dbo.target; SELECT COUNT(*) FROM dbo.stage
----
2
4002 | 12008001
2

-- Two swaps within one transaction, and rows that were inserted in it.
BEGIN TRAN; CREATE TABLE dbo.old (id int NOT NULL PRIMARY KEY, name varchar(20) NULL, price decimal(9, 2) NOT NULL); CREATE INDEX i ON dbo.old (name) INCLUDE (price); INSERT dbo.stage VALUES (9, 'i', 9); ALTER TABLE dbo.target SWITCH TO dbo.old; ALTER TABLE dbo.stage SWITCH TO dbo.target; COMMIT; SELECT (SELECT COUNT(*) FROM dbo.old), (SELECT COUNT(*) FROM dbo.target), (SELECT COUNT(*) FROM dbo.stage)
----
4002 | 3 | 0

DROP TABLE dbo.stage; DROP TABLE dbo.old; INSERT dbo.target SELECT value, 'more', 1 FROM GENERATE_SERIES(100, 3000); SELECT COUNT(*) FROM dbo.target
----
2904

DBCC CHECKDB WITH NO_INFOMSGS
----

-- A heap, text of any length, and an identity that goes on after the rows.
CREATE TABLE h1 (id int IDENTITY, t nvarchar(max)); CREATE TABLE h2 (id int IDENTITY, t nvarchar(max)); INSERT h1 SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 9000) FROM GENERATE_SERIES(1, 20); ALTER TABLE h1 SWITCH TO h2; INSERT h2 VALUES (N'y'); SELECT COUNT(*), MAX(id), SUM(LEN(t)) FROM h2; INSERT h1 VALUES (N'z'); SELECT id FROM h1
----
21 | 21 | 180001
1

-- What both tables must have alike.
CREATE TABLE s (a int NOT NULL, b varchar(10) NULL)
----

ALTER TABLE s SWITCH TO s
----
error 4955: ALTER TABLE SWITCH statement failed. The source table 'master.dbo.s' and target table 'master.dbo.s' are same.

ALTER TABLE s SWITCH TO nosuch
----
error 4902

CREATE TABLE d1 (a int NOT NULL); ALTER TABLE s SWITCH TO d1
----
error 4943: ALTER TABLE SWITCH statement failed because table 'master.dbo.s' has 2 columns and table 'master.dbo.d1' has 1 columns.

CREATE TABLE d2 (a int NOT NULL, c varchar(10) NULL); ALTER TABLE s SWITCH TO d2
----
error 4942: ALTER TABLE SWITCH statement failed because column 'b' at ordinal 2 in table 'master.dbo.s' has a different name than the column 'c' at the same ordinal in table 'master.dbo.d2'.

CREATE TABLE d3 (a int NOT NULL, b varchar(11) NULL); ALTER TABLE s SWITCH TO d3
----
error 4944: ALTER TABLE SWITCH statement failed because column 'b' has data type varchar(10) in source table 'master.dbo.s' which is different from its type varchar(11) in target table 'master.dbo.d3'.

CREATE TABLE d4 (a int NOT NULL, b varchar(10) COLLATE Latin1_General_BIN2 NULL); ALTER TABLE s SWITCH TO d4
----
error 4945: ALTER TABLE SWITCH statement failed because column 'b' does not have the same collation in tables 'master.dbo.s' and 'master.dbo.d4'.

CREATE TABLE d5 (a int NOT NULL, b varchar(10) NOT NULL); ALTER TABLE s SWITCH TO d5
----
error 4985: ALTER TABLE SWITCH statement failed because column 'b' does not have the same nullability attribute in tables 'master.dbo.s' and 'master.dbo.d5'.

CREATE TABLE d6 (a int NOT NULL, b AS CAST(a AS varchar(10))); ALTER TABLE s SWITCH TO d6
----
error 4965

CREATE TABLE c1 (a int NOT NULL, b AS a + 1); CREATE TABLE c2 (a int NOT NULL, b AS a + 2); ALTER TABLE c1 SWITCH TO c2
----
error 4966: ALTER TABLE SWITCH statement failed. Computed column 'b' defined as 'a + 1' in table 'master.dbo.c1' is different from the same column in table 'master.dbo.c2' defined as 'a + 2'.

CREATE TABLE d7 (a int NOT NULL PRIMARY KEY, b varchar(10) NULL); ALTER TABLE s SWITCH TO d7
----
error 4913

CREATE TABLE d8 (a int NOT NULL, b varchar(10) NULL); CREATE INDEX i8 ON d8 (a); ALTER TABLE s SWITCH TO d8
----
error 4947: ALTER TABLE SWITCH statement failed. There is no identical index in source table 'master.dbo.s' for the index 'i8' in target table 'master.dbo.d8' .

CREATE TABLE d9 (a int NOT NULL, b varchar(10) NULL) WITH (DATA_COMPRESSION = PAGE); ALTER TABLE s SWITCH TO d9
----
error 11406

CREATE TABLE d10 (a int NOT NULL CHECK (a > 0), b varchar(10) NULL); ALTER TABLE s SWITCH TO d10
----
error 4971

CREATE TABLE d11 (a int NOT NULL, b varchar(10) NULL, CHECK (a > 0)); ALTER TABLE s SWITCH TO d11
----
error 4971

CREATE TABLE s12 (a int NOT NULL, b varchar(10) NULL); ALTER TABLE s12 WITH NOCHECK ADD CONSTRAINT own CHECK (a > 0); ALTER TABLE s12 SWITCH TO d11
----
error 4960

CREATE TABLE parent (id int NOT NULL PRIMARY KEY); CREATE TABLE d13 (a int NOT NULL REFERENCES parent, b varchar(10) NULL); ALTER TABLE s SWITCH TO d13
----
error 4968

CREATE TABLE s13 (a int NOT NULL, b varchar(10) NULL); ALTER TABLE s13 WITH NOCHECK ADD CONSTRAINT fk13 FOREIGN KEY (a) REFERENCES parent; ALTER TABLE s13 SWITCH TO d13
----
error 4974

ALTER TABLE s13 NOCHECK CONSTRAINT fk13; ALTER TABLE s13 SWITCH TO d13
----
error 4969

ALTER TABLE s13 WITH CHECK CHECK CONSTRAINT fk13; INSERT parent VALUES (1); INSERT s13 VALUES (1, 'x'); ALTER TABLE s13 SWITCH TO d13; SELECT COUNT(*) FROM d13; DELETE parent
----
1
error 547

CREATE TABLE twin (id int NOT NULL PRIMARY KEY); ALTER TABLE parent SWITCH TO twin
----
error 4967

CREATE VIEW v AS SELECT 1 AS a
----

ALTER TABLE s SWITCH TO v
----
error 4902

ALTER TABLE s SWITCH PARTITION 1 TO d1
----
error 4943

ALTER TABLE s SWITCH TO d1 WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1, ABORT_AFTER_WAIT = NONE))
----
error 40515

-- Tables of a session, too.
CREATE TABLE #a (id int); CREATE TABLE #b (id int); INSERT #a VALUES (1), (2); ALTER TABLE #a SWITCH TO #b; SELECT COUNT(*) FROM #b; ALTER TABLE #b SWITCH TO s
----
2
error 4948

-- TRUNCATE TABLE and sp_rename in a transaction that is rolled back.
CREATE TABLE live (id int NOT NULL PRIMARY KEY); CREATE TABLE fresh (id int NOT NULL PRIMARY KEY); INSERT live VALUES (1); INSERT fresh VALUES (2), (3)
----

BEGIN TRAN; EXEC sp_rename 'live', 'gone'; EXEC sp_rename 'fresh', 'live'; SELECT COUNT(*) FROM live; ROLLBACK; SELECT COUNT(*) FROM live; SELECT COUNT(*) FROM fresh; SELECT OBJECT_ID('gone')
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
2
1
2
NULL

BEGIN TRAN; TRUNCATE TABLE live; EXEC sp_rename 'live', 'gone'; EXEC sp_rename 'fresh', 'live'; DROP TABLE gone; COMMIT; SELECT COUNT(*) FROM live; SELECT OBJECT_ID('fresh')
----
info: Caution: Changing any part of an object name could break scripts and stored procedures.
info: Caution: Changing any part of an object name could break scripts and stored procedures.
2
NULL

-- Definitions and collations count as the catalogue shows them, however they were written.
CREATE TABLE written (id int NOT NULL, v varchar(5), twice AS id * 2, CONSTRAINT ck_written CHECK (id > 0)); CREATE INDEX ix ON written (v) WHERE id > 1
----

CREATE TABLE shown (id int NOT NULL, v varchar(5) COLLATE SQL_Latin1_General_CP1_CI_AS, twice AS ([id]*(2)), CONSTRAINT ck_shown CHECK (([id]>(0)))); CREATE INDEX ix ON shown (v) WHERE ([id]>(1)); INSERT shown (id) VALUES (7)
----

ALTER TABLE shown SWITCH TO written; SELECT id, twice FROM written
----
7 | 14
