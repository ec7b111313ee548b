-- SWITCH into a partition, out of one, and between two.
CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (100, 200, 300); CREATE PARTITION SCHEME ps AS PARTITION pf TO ([PRIMARY], [PRIMARY], [PRIMARY], [PRIMARY])
----

CREATE TABLE target (id int NOT NULL, v varchar(20) NULL, CONSTRAINT pk_target PRIMARY KEY (id)) ON ps(id); CREATE INDEX by_v ON target (v); CREATE TABLE stage (id int NOT NULL, v varchar(20) NULL, CONSTRAINT pk_stage PRIMARY KEY (id)); CREATE INDEX stage_by_v ON stage (v)
----

INSERT target SELECT value, CONCAT('t', value % 5) FROM GENERATE_SERIES(0, 99); INSERT stage SELECT value, CONCAT('s', value % 5) FROM GENERATE_SERIES(100, 199)
----

ALTER TABLE stage SWITCH TO target
----
error 4911: Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement. The table 'master.dbo.target' is partitioned.

ALTER TABLE stage SWITCH TO target PARTITION 2
----
error 4982: ALTER TABLE SWITCH statement failed. Check constraints of source table 'master.dbo.stage' allow values that are not allowed by range defined by partition 2 on target table 'master.dbo.target'.

-- A check must be true of all rows, and keep all of them in the range.
ALTER TABLE stage WITH NOCHECK ADD CONSTRAINT c1 CHECK (id >= 100 AND id < 200); ALTER TABLE stage SWITCH TO target PARTITION 2
----
error 4982

ALTER TABLE stage DROP CONSTRAINT c1; ALTER TABLE stage ADD CONSTRAINT c1 CHECK (id >= 100 AND id <= 200); ALTER TABLE stage SWITCH TO target PARTITION 2
----
error 4982

ALTER TABLE stage DROP CONSTRAINT c1; ALTER TABLE stage ADD CONSTRAINT c1 CHECK (id >= 100), CONSTRAINT c2 CHECK (200 > id); ALTER TABLE stage SWITCH TO target PARTITION 5
----
error 4950: ALTER TABLE SWITCH statement failed because partition number 5 does not exist in table 'master.dbo.target'.

ALTER TABLE stage SWITCH TO target PARTITION 1
----
error 4982

BEGIN TRAN; ALTER TABLE stage SWITCH TO target PARTITION 2; SELECT COUNT(*) FROM target; ROLLBACK; SELECT COUNT(*) FROM target; SELECT COUNT(*) FROM stage
----
200
100
100

ALTER TABLE stage SWITCH TO target PARTITION $PARTITION.pf(150); SELECT COUNT(*), SUM(id) FROM target; SELECT COUNT(*) FROM stage; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('target') AND index_id = 1; SELECT COUNT(*) FROM target WITH (INDEX(by_v)) WHERE v = 's3'
----
200 | 19900
0
1 | 100
2 | 100
3 | 0
4 | 0
20

INSERT stage VALUES (150, 'again'); ALTER TABLE stage SWITCH TO target PARTITION 2
----
error 4904: ALTER TABLE SWITCH statement failed. The specified partition 2 of target table 'master.dbo.target' must be empty.

-- Out of a partition; the target says nothing of rows, or what is true of the partition.
TRUNCATE TABLE stage; ALTER TABLE target SWITCH PARTITION 2 TO stage; SELECT COUNT(*), MIN(id), MAX(id) FROM stage; SELECT COUNT(*), MAX(id) FROM target; SELECT COUNT(*) FROM stage WITH (INDEX(stage_by_v)) WHERE v = 's3'
----
100 | 100 | 199
100 | 99
20

ALTER TABLE target SWITCH PARTITION 1 TO stage
----
error 4972: ALTER TABLE SWITCH statement failed. Check constraints or partition function of source table 'master.dbo.target' allows values that are not allowed by check constraints or partition function on target table 'master.dbo.stage'.

ALTER TABLE target SWITCH PARTITION 2 TO stage
----
error 4905: ALTER TABLE SWITCH statement failed. The target table 'master.dbo.stage' must be empty.

ALTER TABLE target SWITCH TO stage
----
error 4911

ALTER TABLE stage SWITCH PARTITION 3 TO target PARTITION 2; SELECT COUNT(*) FROM target
----
info: Warning: The specified partition 3 for the table 'master.dbo.stage' was ignored in ALTER TABLE SWITCH statement because the table is not partitioned.
200

-- Between partitioned tables: of one range, or of a narrower one.
CREATE TABLE second (id int NOT NULL, v varchar(20) NULL, CONSTRAINT pk_second PRIMARY KEY (id)) ON ps(id); CREATE INDEX by_v ON second (v); ALTER TABLE target SWITCH PARTITION 1 TO second PARTITION 1; SELECT COUNT(*) FROM second; ALTER TABLE target SWITCH PARTITION 2 TO second PARTITION 2; SELECT COUNT(*) FROM second; SELECT COUNT(*) FROM target
----
100
200
0

ALTER TABLE second SWITCH PARTITION 1 TO target PARTITION 2
----
error 4973: ALTER TABLE SWITCH statement failed. Range defined by partition 1 in table 'master.dbo.second' is not a subset of range defined by partition 2 in table 'master.dbo.target'.

ALTER TABLE second SWITCH PARTITION 1 TO second PARTITION 3
----
error 4955

CREATE PARTITION FUNCTION pf_wide (int) AS RANGE LEFT FOR VALUES (99, 299); CREATE PARTITION SCHEME ps_wide AS PARTITION pf_wide ALL TO ([PRIMARY]); CREATE TABLE wide (id int NOT NULL, v varchar(20) NULL, CONSTRAINT pk_wide PRIMARY KEY (id)) ON ps_wide(id); ALTER TABLE second SWITCH PARTITION 2 TO wide PARTITION 2
----
info: Partition scheme 'ps_wide' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_wide'.

SELECT COUNT(*), MIN(id) FROM wide; ALTER TABLE wide SWITCH PARTITION 2 TO second PARTITION 2
----
100 | 100
error 4947

CREATE INDEX by_v ON wide (v); ALTER TABLE wide SWITCH PARTITION 2 TO second PARTITION 2
----
error 4973

-- The checks of the source count as well.
ALTER TABLE wide ADD CHECK (id BETWEEN 100 AND 199 OR id IN (20, 30)); ALTER TABLE wide SWITCH PARTITION 2 TO second PARTITION 2; SELECT COUNT(*) FROM second; SELECT COUNT(*) FROM wide
----
200
0

CREATE TABLE other_column (id int NOT NULL, v varchar(20) NULL, w int NOT NULL) ON ps(id); CREATE TABLE by_w (id int NOT NULL, v varchar(20) NULL, w int NOT NULL) ON ps(w); ALTER TABLE other_column SWITCH PARTITION 1 TO by_w PARTITION 1
----
error 4953

-- Indexes must be partitioned as their tables are.
CREATE INDEX away ON second (v, id) ON [PRIMARY]; ALTER TABLE second SWITCH PARTITION 2 TO target PARTITION 2
----
error 7733: 'ALTER TABLE SWITCH' statement failed. The table 'master.dbo.second' is partitioned while index 'away' is not partitioned.

DROP INDEX away ON second; CREATE INDEX away ON second (v, id) ON ps_wide(id); ALTER TABLE second SWITCH PARTITION 2 TO target PARTITION 2
----
error 4907: 'ALTER TABLE SWITCH' statement failed. The table 'master.dbo.second' has 4 partitions while index 'away' has 3 partitions.

DROP INDEX away ON second
----

-- File groups are those that the scheme names.
ALTER DATABASE CURRENT ADD FILEGROUP fg2; CREATE PARTITION SCHEME ps_fg AS PARTITION pf TO ([PRIMARY], fg2, fg2, [PRIMARY]); CREATE TABLE grouped (id int NOT NULL, v varchar(20) NULL) ON ps_fg(id); CREATE TABLE single (id int NOT NULL, v varchar(20) NULL); ALTER TABLE grouped SWITCH PARTITION 2 TO single
----
error 4939: ALTER TABLE SWITCH statement failed. table 'master.dbo.single' is in filegroup 'PRIMARY' and partition 2 of table 'master.dbo.grouped' is in filegroup 'fg2'.

CREATE TABLE grouped_too (id int NOT NULL, v varchar(20) NULL) ON ps(id); ALTER TABLE grouped SWITCH PARTITION 2 TO grouped_too PARTITION 2
----
error 4938

INSERT grouped VALUES (1, 'a'), (150, 'b'); ALTER TABLE grouped SWITCH PARTITION 1 TO grouped_too PARTITION 1; SELECT (SELECT COUNT(*) FROM grouped), (SELECT COUNT(*) FROM grouped_too)
----
1 | 1

-- NULLs are in the first partition: anywhere else the check must keep them out.
CREATE TABLE n (id int NULL) ON ps(id); CREATE TABLE n_stage (id int NULL, CONSTRAINT c CHECK (id >= 200 AND id < 300)); INSERT n_stage VALUES (250); ALTER TABLE n_stage SWITCH TO n PARTITION 3
----
error 4982

ALTER TABLE n_stage DROP CONSTRAINT c; ALTER TABLE n_stage ADD CONSTRAINT c CHECK (id IS NOT NULL AND id >= 200 AND id < 300); ALTER TABLE n_stage SWITCH TO n PARTITION 3; SELECT COUNT(*) FROM n
----
1

ALTER TABLE n_stage DROP CONSTRAINT c; ALTER TABLE n_stage ADD CONSTRAINT c CHECK (id < 100); INSERT n_stage VALUES (NULL), (5); ALTER TABLE n_stage SWITCH TO n PARTITION 1; SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('n')
----
1 | 2
2 | 0
3 | 1
4 | 0

-- A partition that is emptied one row at a time, rows that wait for the commit, and large values.
CREATE TABLE big (id int NOT NULL, t nvarchar(max) NULL, n int IDENTITY) ON ps(id); CREATE TABLE big_stage (id int NOT NULL, t nvarchar(max) NULL, n int IDENTITY, CHECK (id >= 300)); INSERT big (id, t) VALUES (1, N'one'); INSERT big_stage (id, t) SELECT value, REPLICATE(CAST(N'x' AS nvarchar(max)), 9000) FROM GENERATE_SERIES(300, 320); BEGIN TRAN; INSERT big_stage (id, t) VALUES (400, N'last'); ALTER TABLE big_stage SWITCH TO big PARTITION 4; INSERT big (id, t) VALUES (401, N'own'); COMMIT; SELECT COUNT(*), SUM(LEN(t)), MAX(n) FROM big; SELECT COUNT(*) FROM big_stage
----
24 | 189010 | 23
0

ALTER TABLE big SWITCH PARTITION 4 TO big_stage; SELECT COUNT(*), SUM(LEN(t)) FROM big_stage; SELECT id, t FROM big
----
23 | 189007
1 | one

-- Sliding window: the oldest partition goes, a new one comes.
CREATE PARTITION FUNCTION pf_day (date) AS RANGE RIGHT FOR VALUES ('2024-01-01', '2024-01-02', '2024-01-03'); CREATE PARTITION SCHEME ps_day AS PARTITION pf_day ALL TO ([PRIMARY]); CREATE TABLE facts (day date NOT NULL, n int NOT NULL, CONSTRAINT pk_facts PRIMARY KEY (day, n)) ON ps_day(day); CREATE TABLE outgoing (day date NOT NULL, n int NOT NULL, CONSTRAINT pk_out PRIMARY KEY (day, n)) ON ps_day(day); CREATE TABLE incoming (day date NOT NULL CHECK (day = '2024-01-04'), n int NOT NULL, CONSTRAINT pk_in PRIMARY KEY (day, n))
----
info: Partition scheme 'ps_day' has been created successfully. 'PRIMARY' is marked as the next used filegroup in partition scheme 'ps_day'.

INSERT facts SELECT DATEADD(day, value % 3, '2024-01-01'), value FROM GENERATE_SERIES(0, 2999); INSERT incoming SELECT '2024-01-04', value FROM GENERATE_SERIES(1, 1000); ALTER PARTITION FUNCTION pf_day () SPLIT RANGE ('2024-01-04'); ALTER TABLE facts SWITCH PARTITION 2 TO outgoing PARTITION 2; ALTER TABLE incoming SWITCH TO facts PARTITION $PARTITION.pf_day('2024-01-04'); ALTER PARTITION FUNCTION pf_day () MERGE RANGE ('2024-01-01'); SELECT day, COUNT(*) FROM facts GROUP BY day ORDER BY day; SELECT OBJECT_NAME(object_id), partition_number, rows FROM sys.partitions WHERE object_id IN (OBJECT_ID('facts'), OBJECT_ID('outgoing')) ORDER BY 1, 2
----
2024-01-02 | 1000
2024-01-03 | 1000
2024-01-04 | 1000
facts | 1 | 0
facts | 2 | 1000
facts | 3 | 1000
facts | 4 | 1000
outgoing | 1 | 1000
outgoing | 2 | 0
outgoing | 3 | 0
outgoing | 4 | 0

DBCC CHECKDB WITH NO_INFOMSGS
----

-- A switch that fails leaves nothing behind, and one that is undone to a savepoint neither.
BEGIN TRAN; SAVE TRAN s; ALTER TABLE facts SWITCH PARTITION 2 TO outgoing PARTITION 2; ALTER TABLE facts SWITCH PARTITION 3 TO outgoing PARTITION 3; SELECT COUNT(*) FROM outgoing; ROLLBACK TRAN s; SELECT COUNT(*) FROM outgoing; SELECT COUNT(*) FROM facts; COMMIT; SELECT COUNT(*) FROM facts
----
3000
1000
3000
3000

-- Others wait for both tables.
BEGIN TRAN; ALTER TABLE facts SWITCH PARTITION 2 TO outgoing PARTITION 2
----

-- @other
SET LOCK_TIMEOUT 50; INSERT facts VALUES ('2024-02-01', 1)
----
error 1222

-- @other
SELECT COUNT(*) FROM facts; SELECT COUNT(*) FROM outgoing
----
3000
1000

COMMIT; SELECT COUNT(*) FROM facts; SELECT COUNT(*) FROM outgoing
----
2000
2000

-- @other
SELECT COUNT(*) FROM facts; SELECT COUNT(*) FROM outgoing
----
2000
2000
