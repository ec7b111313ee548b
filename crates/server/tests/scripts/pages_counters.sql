-- Counters that grow are read twice. 2,000 rows in one statement go through a bulk writer.
CREATE TABLE dbo.c (id int NOT NULL); CREATE TABLE #before (counter_name nvarchar(128), v bigint); INSERT #before SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters WHERE object_name = 'SQLServer:Databases' AND instance_name = 'master'; INSERT dbo.c SELECT value FROM GENERATE_SERIES(1, 2000); SELECT a.cntr_value - b.v, a.cntr_type FROM sys.dm_os_performance_counters a JOIN #before b ON b.counter_name = a.counter_name WHERE a.counter_name = 'Bulk Copy Rows/sec' AND a.instance_name = 'master'
----
2000 | 272696576

SELECT DISTINCT RTRIM(object_name) FROM sys.dm_os_performance_counters ORDER BY 1
----
SQLServer:Buffer Manager
SQLServer:Databases
SQLServer:General Statistics
SQLServer:Locks
SQLServer:SQL Errors
SQLServer:SQL Statistics

SELECT RTRIM(instance_name), COUNT(*) FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Flushes/sec' GROUP BY instance_name ORDER BY 1
----
_Total | 1
master | 1
model | 1
msdb | 1

-- A ratio is divided by its base; neither is more than the other.
SELECT CASE WHEN hit.cntr_value BETWEEN 0 AND base.cntr_value THEN 'a share' END, hit.cntr_type, base.cntr_type FROM sys.dm_os_performance_counters hit JOIN sys.dm_os_performance_counters base ON RTRIM(base.counter_name) = RTRIM(hit.counter_name) + ' base'
----
a share | 537003264 | 1073939712

-- Writes to the data file are those of its pages: whole ones.
SELECT file_id, num_of_bytes_written % 512, CASE WHEN io_stall = io_stall_read_ms + io_stall_write_ms THEN 'sum' END, CASE WHEN num_of_writes > 0 THEN 'written' END FROM sys.dm_io_virtual_file_stats(DB_ID('master'), NULL) ORDER BY file_id
----
1 | 0 | sum | written
2 | 0 | sum | written

SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(NULL, 2)
----
3

SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(DB_ID('tempdb'), NULL)
----
0

-- Locks of an open transaction, by its own session.
CREATE TABLE dbo.l (id int); BEGIN TRANSACTION; INSERT dbo.l VALUES (1); SELECT resource_type, DB_NAME(resource_database_id), request_mode, request_type, request_status, request_owner_type FROM sys.dm_tran_locks WHERE request_session_id = @@SPID AND resource_associated_entity_id = OBJECT_ID('l'); ROLLBACK; SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_associated_entity_id = OBJECT_ID('l')
----
OBJECT | master | IX | LOCK | GRANT | TRANSACTION
0

SELECT session_id - @@SPID, status, blocking_session_id FROM sys.dm_exec_requests
----
0 | running | 0

-- Pages that are as on disk leave the cache and are read again.
CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS; SELECT CASE WHEN cntr_value < 20 THEN 'few' END FROM sys.dm_os_performance_counters WHERE counter_name = 'Database pages'
----
few

SELECT COUNT(*), SUM(id) FROM dbo.c
----
2000 | 2001000
