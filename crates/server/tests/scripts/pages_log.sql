SELECT recovery_model, recovery_model_desc, log_reuse_wait_desc, DATABASEPROPERTYEX('master', 'Recovery') FROM sys.databases WHERE name = 'master'
----
3 | SIMPLE | NOTHING | SIMPLE

ALTER DATABASE CURRENT SET RECOVERY FULL
----

SELECT name, recovery_model_desc FROM sys.databases ORDER BY database_id
----
master | FULL
tempdb | SIMPLE
model | SIMPLE
msdb | SIMPLE

ALTER DATABASE master SET RECOVERY BULK_LOGGED WITH ROLLBACK IMMEDIATE; SELECT DATABASEPROPERTYEX('master', 'Recovery'); ALTER DATABASE master SET PAGE_VERIFY CHECKSUM, RECOVERY SIMPLE SELECT DATABASEPROPERTYEX('master', 'Recovery')
----
BULK_LOGGED
SIMPLE

ALTER DATABASE nosuch SET RECOVERY FULL
----
error 5011: User does not have permission to alter database 'nosuch', the database does not exist, or the database is not in a state that allows access checks.
error 5069: ALTER DATABASE statement failed.

ALTER DATABASE tempdb SET RECOVERY FULL
----
error 5058: Option 'RECOVERY' cannot be set in database 'tempdb'.
error 5069: ALTER DATABASE statement failed.

BEGIN TRANSACTION; ALTER DATABASE CURRENT SET RECOVERY FULL; ROLLBACK
----
error 226: ALTER DATABASE statement not allowed within multi-statement transaction.
error 5069: ALTER DATABASE statement failed.

BEGIN TRY ALTER DATABASE tempdb SET RECOVERY FULL END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
----
5069

ALTER DATABASE CURRENT SET RECOVERY MINIMAL
----
error 102

CREATE TABLE dbo.source (id int NOT NULL, filler char(96) NOT NULL); INSERT dbo.source SELECT value, 'x' FROM GENERATE_SERIES(1, 29600); CREATE TABLE dbo.marks (step varchar(20), written bigint)
----

-- The same 400 pages into a heap: with everything logged, and with extents alone. What is logged of each page is the page, which is
-- at least 3 MB; what is logged of extents is less than a fiftieth of it.
CHECKPOINT; ALTER DATABASE CURRENT SET RECOVERY FULL; SELECT id, filler INTO dbo.target FROM dbo.source; DECLARE @full bigint = (SELECT SUM(CAST([Log Record Length] AS bigint)) FROM sys.fn_dblog(NULL, NULL) WHERE AllocUnitName = 'dbo.target'); INSERT dbo.marks VALUES ('full', @full); DROP TABLE dbo.target; ALTER DATABASE CURRENT SET RECOVERY SIMPLE; CHECKPOINT; SELECT CASE WHEN written > 3000000 THEN 'all pages' END FROM dbo.marks
----
all pages

DECLARE @from nvarchar(25) = (SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)); SELECT id, filler INTO dbo.target FROM dbo.source; SET @from = '0x' + @from; SELECT CASE WHEN SUM(CAST([Log Record Length] AS bigint)) * 50 < (SELECT written FROM dbo.marks) THEN 'extents alone' END, SUM(CASE WHEN Context = 'LCX_HEAP' AND AllocUnitName = 'dbo.target' THEN 1 ELSE 0 END) FROM sys.fn_dblog(@from, NULL)
----
extents alone | 0

SELECT DISTINCT Operation FROM fn_dblog(NULL, NULL) WHERE Operation IN ('LOP_BEGIN_XACT', 'LOP_COMMIT_XACT', 'LOP_SET_BITS') ORDER BY Operation
----
LOP_BEGIN_XACT
LOP_COMMIT_XACT
LOP_SET_BITS

SELECT COUNT(*) FROM fn_dblog('1:2', NULL)
----
error 9005: Either start LSN or end LSN specified in OpenRowset(DBLog, ...) is invalid.

-- Every record of a transaction leads to the one before it.
SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) a WHERE a.[Previous LSN] <> '00000000:00000000:0000' AND a.[Previous LSN] >= (SELECT MIN([Current LSN]) FROM sys.fn_dblog(NULL, NULL)) AND NOT EXISTS (SELECT 1 FROM sys.fn_dblog(NULL, NULL) b WHERE b.[Current LSN] = a.[Previous LSN] AND b.[Transaction ID] = a.[Transaction ID])
----
0

SELECT CASE WHEN used_log_space_in_bytes BETWEEN 1 AND total_log_size_in_bytes THEN 'in use' END, ROUND(used_log_space_in_percent - 100.0 * used_log_space_in_bytes / total_log_size_in_bytes, 2), database_id FROM sys.dm_db_log_space_usage
----
in use | 0 | 1

CHECKPOINT
----

SELECT CASE WHEN log_bytes_since_checkpoint BETWEEN 0 AND 10000 THEN 'just made' END, CASE WHEN checkpoint_log_bytes > 1000000 THEN 'not every megabyte' END, database_id FROM sys.dm_bulkwire_checkpoints
----
just made | not every megabyte | 1

SELECT CASE WHEN COUNT(*) >= 1 THEN 'files' END, MIN(vlf_status), MIN(CAST(vlf_active AS int)), CASE WHEN MAX(vlf_sequence_number) - MIN(vlf_sequence_number) = COUNT(*) - 1 THEN 'one after the other' END FROM sys.dm_db_log_info(NULL)
----
files | 2 | 1 | one after the other

SELECT s.name FROM sys.databases s CROSS APPLY sys.dm_db_log_info(s.database_id) l GROUP BY s.name ORDER BY s.name
----
master
model
msdb

CREATE TABLE #space (name nvarchar(128), size real, used real, status int); INSERT #space EXEC ('DBCC SQLPERF (LOGSPACE) WITH NO_INFOMSGS'); SELECT s.name, s.status, CASE WHEN ABS(s.size - u.total_log_size_in_bytes / 1048576.0) < 0.01 THEN 'the same size' END FROM #space s CROSS JOIN sys.dm_db_log_space_usage u WHERE s.name = 'master'
----
master | 0 | the same size

DBCC SQLPERF (NOTHING)
----
error 2526

CREATE TABLE #files (unit int, file_id int, size bigint, start bigint, number int, status int, parity tinyint, lsn numeric(25,0)); INSERT #files EXEC ('DBCC LOGINFO'); SELECT COUNT(*) - (SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())), MIN(file_id) FROM #files
----
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
0 | 2

-- Backups of the log: none under SIMPLE, none of a database that is not there, none in a transaction.
BACKUP LOG master TO DISK = 'master.trn'
----
error 4208: The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE.
error 3013: BACKUP LOG is terminating abnormally.

ALTER DATABASE CURRENT SET RECOVERY FULL; BACKUP LOG nosuch TO DISK = 'x.trn'
----
error 911
error 3013: BACKUP LOG is terminating abnormally.

BEGIN TRANSACTION; BACKUP LOG master TO DISK = 'x.trn'; ROLLBACK
----
error 3021: Cannot perform a backup or restore operation within a transaction.
error 3013: BACKUP LOG is terminating abnormally.

BACKUP LOG master TO DISK = '../outside.trn'
----
error 3201
error 3013

BACKUP DATABASE master TO DISK = '../x.bak'
----
error 3201
error 3013

BACKUP DATABASE tempdb TO DISK = 'x.bak'
----
error 3147: Backup and restore operations are not allowed on database tempdb.
error 3013: BACKUP DATABASE is terminating abnormally.

-- Under FULL what was logged is kept for the backup, which gives it up.
SELECT id, filler INTO dbo.copy FROM dbo.source; CHECKPOINT; SELECT log_reuse_wait_desc, log_reuse_wait FROM sys.databases WHERE name = 'master'
----
LOG_BACKUP | 2

RESTORE LOG master FROM DISK = 'x.trn'
----
error 40515
error 3013: RESTORE LOG is terminating abnormally.
