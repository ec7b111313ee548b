-- Segments have no pages, no log records and no locks to show: what is not there is not made up.
CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, name varchar(20)); INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 1000)
----

SELECT index_id, used_page_count, reserved_page_count, row_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('t'); SELECT rows, data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID('t')
----
1 | 0 | 0 | 1000
1000 | NONE

SELECT COUNT(*) FROM sys.allocation_units; SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'DETAILED'); SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL); SELECT COUNT(*) FROM sys.dm_db_log_info(NULL); SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(NULL, NULL); SELECT COUNT(*) FROM sys.dm_db_log_space_usage; SELECT COUNT(*) FROM sys.dm_tran_locks; SELECT COUNT(*) FROM sys.dm_os_wait_stats; SELECT COUNT(*) FROM sys.dm_db_resource_stats; SELECT COUNT(*) FROM sys.dm_db_file_space_usage
----
0
0
0
0
0
0
0
0
0
0

SELECT RTRIM(counter_name) FROM sys.dm_os_performance_counters; SELECT session_id - @@SPID, status FROM sys.dm_exec_requests
----
User Connections
0 | running

EXEC sp_spaceused 't'
----
t | 1000                 | 0 KB | 0 KB | 0 KB | 0 KB

EXEC sp_estimate_data_compression_savings 'dbo', 't', NULL, NULL, 'PAGE'
----

ALTER DATABASE CURRENT SET RECOVERY FULL; SELECT recovery_model_desc FROM sys.databases WHERE name = 'master'
----
info: The recovery model stays SIMPLE: this server keeps rows in segments, which have no log of changes (see --storage pages).
SIMPLE

ALTER DATABASE CURRENT SET RECOVERY SIMPLE; CHECKPOINT
----

ALTER DATABASE CURRENT MODIFY (SERVICE_OBJECTIVE = 'S1')
----
error 40515
error 5069

BACKUP LOG master TO DISK = 'x.trn'
----
error 4208
error 3013

-- A check reads all rows.
DBCC CHECKTABLE (t); DBCC CHECKDB WITH NO_INFOMSGS
----
info: DBCC results for 't'.
info: There are 1000 rows in 0 pages for object "t".
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

DBCC SHOWCONTIG (t) WITH TABLERESULTS, NO_INFOMSGS; DBCC SQLPERF (LOGSPACE) WITH NO_INFOMSGS; DBCC LOGINFO WITH NO_INFOMSGS; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS; DBCC FREEPROCCACHE WITH NO_INFOMSGS
----

BEGIN TRANSACTION; DBCC CHECKTABLE (t)
----
error 8920: Cannot perform a CHECKTABLE operation inside a user transaction. Terminate the transaction and reissue the statement.

ROLLBACK; DBCC CHECKTABLE (t, REPAIR_REBUILD)
----
error 7919

DBCC CHECKTABLE (t) WITH FAST
----
error 2532

DBCC CHECKDB (nosuch)
----
error 2520

ALTER DATABASE CURRENT ADD FILEGROUP archive; SELECT name FROM sys.filegroups; SELECT file_id, name FROM sys.database_files
----
info: No file or file group is changed: this server keeps rows in segments (see --storage pages).
PRIMARY
1 | master
