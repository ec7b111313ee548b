-- A row is 4 + 100 fixed + 3 bitmap = 107 bytes and a slot of 2: 74 in a page of 8,096. So 7,400 rows take 100 pages,
-- 13 extents (104 pages), and a map.
CREATE TABLE dbo.wide (id int NOT NULL, filler char(96) NOT NULL); INSERT dbo.wide SELECT value, 'x' FROM GENERATE_SERIES(1, 7400)
----

EXEC sp_spaceused 'dbo.wide'
----
[name nvarchar(128) null, rows char(20) null, reserved varchar(18) null, data varchar(18) null, index_size varchar(18) null, unused varchar(18) null]
wide | 7400                 | 840 KB | 800 KB | 8 KB | 32 KB

SELECT index_id, in_row_data_page_count, in_row_used_page_count, in_row_reserved_page_count, lob_used_page_count, used_page_count, reserved_page_count, row_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('wide')
----
0 | 100 | 101 | 105 | 0 | 101 | 105 | 7400

SELECT u.type_desc, u.total_pages, u.used_pages, u.data_pages, p.rows, p.data_compression_desc FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id WHERE p.object_id = OBJECT_ID('wide')
----
IN_ROW_DATA | 105 | 101 | 100 | 7400 | NONE

-- All pages are full: 74 * 109 of 8,096 bytes.
SELECT database_id, index_id, partition_number, index_type_desc, alloc_unit_type_desc, index_depth, index_level, page_count, record_count, min_record_size_in_bytes, max_record_size_in_bytes, avg_record_size_in_bytes, ROUND(avg_page_space_used_in_percent, 3), ghost_record_count, forwarded_record_count, compressed_page_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('wide'), NULL, NULL, 'DETAILED')
----
1 | 0 | 1 | HEAP | IN_ROW_DATA | 1 | 0 | 100 | 7400 | 107 | 107 | 107 | 99.629 | 0 | 0 | 0

-- LIMITED reads no data pages.
SELECT page_count, fragment_count, avg_fragmentation_in_percent, record_count, avg_page_space_used_in_percent, min_record_size_in_bytes, compressed_page_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('wide'), 0, 1, NULL)
----
100 | 1 | 0 | NULL | NULL | NULL | NULL

-- Nothing is known of a heap's order from a sample.
SELECT page_count, fragment_count, avg_fragmentation_in_percent, record_count FROM sys.dm_db_index_physical_stats(1, OBJECT_ID('wide'), NULL, NULL, 'SAMPLED')
----
100 | NULL | NULL | 7400

SELECT * FROM sys.dm_db_index_physical_stats(999, NULL, NULL, NULL, NULL)
----
error 2561: Parameter 1 is incorrect for this statement.

SELECT * FROM sys.dm_db_index_physical_stats(1, NULL, NULL, NULL, 'ALL')
----
error 2561: Parameter 5 is incorrect for this statement.

SELECT * FROM sys.dm_db_index_physical_stats(1)
----
error 313

DBCC SHOWCONTIG ('dbo.wide') WITH TABLERESULTS
----
[ObjectName nvarchar(128) null, ObjectId int null, IndexName nvarchar(128) null, IndexId int null, Level int null, Pages bigint null, Rows bigint null, MinimumRecordSize int null, MaximumRecordSize int null, AverageRecordSize float null, ForwardedRecords int null, Extents int null, ExtentSwitches bigint null, AverageFreeBytes float null, AveragePageDensity float null, ScanDensity float null, BestCount bigint null, ActualCount bigint null, LogicalFragmentation float null, ExtentFragmentation float null]
wide | 581577111 | NULL | 0 | 0 | 100 | 7400 | 107 | 107 | 107 | 0 | 13 | 12 | 30 | 99.6294 | 100 | 13 | 13 | 0 | 0
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

DBCC SHOWCONTIG (wide) WITH FAST, TABLERESULTS, ALL_INDEXES, NO_INFOMSGS
----
wide | 581577111 | NULL | 0 | 0 | 100 | NULL | NULL | NULL | NULL | NULL | NULL | 12 | NULL | NULL | 100 | 13 | 13 | 0 | NULL

DBCC SHOWCONTIG (wide)
----
info: DBCC SHOWCONTIG scanning 'wide' table...
info: Table: 'wide' (581577111); index ID: 0, database ID: 1
info: TABLE level scan performed.
info: - Pages Scanned................................: 100
info: - Extents Scanned..............................: 13
info: - Extent Switches..............................: 12
info: - Avg. Pages per Extent........................: 7.7
info: - Scan Density [Best Count:Actual Count].......: 100.00% [13:13]
info: - Extent Scan Fragmentation ...................: 0.00%
info: - Avg. Bytes Free per Page.....................: 30.0
info: - Avg. Page Density (full).....................: 99.63%
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

-- A value over 8,000 bytes leaves its row: 20,000 bytes in fragments of 8,040 are three pages of text.
CREATE TABLE dbo.large (id int NOT NULL, body varchar(max)); INSERT dbo.large VALUES (1, REPLICATE(CAST('a' AS varchar(max)), 20000))
----

SELECT u.type_desc, u.used_pages FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id WHERE p.object_id = OBJECT_ID('large') ORDER BY u.type
----
IN_ROW_DATA | 2
LOB_DATA | 4

SELECT alloc_unit_type_desc, page_count, fragment_count, forwarded_record_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('large'), NULL, NULL, 'DETAILED') ORDER BY 1
----
IN_ROW_DATA | 1 | 1 | 0
LOB_DATA | 3 | NULL | NULL

-- A trailing NULL of variable length takes no room; what is not committed has no pages yet.
BEGIN TRANSACTION; CREATE TABLE dbo.unborn (a int); SELECT used_page_count, row_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('unborn'); ROLLBACK
----
0 | 0

EXEC sp_spaceused 'nosuch'
----
error 15009: The object 'nosuch' does not exist in database 'master' or is invalid for this operation.

EXEC sp_spaceused 'wide', 'maybe'
----
error 15143

EXEC sp_spaceused @objname = 'wide', @updateusage = 'true'
----
wide | 7400                 | 840 KB | 800 KB | 8 KB | 32 KB

DBCC UPDATEUSAGE (0) WITH NO_INFOMSGS; DBCC UPDATEUSAGE (master, 'wide')
----
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.

-- What the tables say together is what the database says: 105 pages and, of the other table, an extent and a map for its rows and for
-- its values each.
CREATE TABLE #used (name sysname, size varchar(18), free varchar(18), reserved varchar(18), data varchar(18), index_size varchar(18), unused varchar(18)); INSERT #used EXEC sp_spaceused @oneresultset = 1; SELECT name, reserved, data, index_size, unused, CASE WHEN size LIKE '%.__ MB' AND free LIKE '%.__ MB' THEN 'MB' END FROM #used
----
master | 984 KB | 840 KB | 16 KB | 128 KB | MB

-- With the compression that it has, a table stays as it is.
EXEC sp_estimate_data_compression_savings 'dbo', 'wide', NULL, NULL, 'NONE'
----
[object_name nvarchar(128), schema_name nvarchar(128), index_id int, partition_number int, size_with_current_compression_setting(KB) bigint null, size_with_requested_compression_setting(KB) bigint null, sample_size_with_current_compression_setting(KB) bigint null, sample_size_with_requested_compression_setting(KB) bigint null]
wide | dbo | 0 | 1 | 800 | 800 | 800 | 800

EXEC sp_estimate_data_compression_savings 'nosuch', 'wide', NULL, NULL, 'ROW'
----
error 15659: The schema 'nosuch' specified for parameter schema_name does not exist.

EXEC sp_estimate_data_compression_savings 'dbo', '#of', NULL, NULL, 'ROW'
----
error 15661

-- Files: one of data, the log is number 2.
SELECT file_id, type_desc, name, physical_name, data_space_id, state_desc FROM sys.database_files ORDER BY file_id
----
1 | ROWS | data-1 | data-1.pages | 1 | ONLINE
2 | LOG | mastlog | log-*.vlf | 0 | ONLINE

SELECT COUNT(DISTINCT database_id), MIN(file_id), MAX(file_id) FROM sys.master_files
----
4 | 1 | 2

-- The file has at least the pages of both tables, in whole extents, and what is free is not theirs.
SELECT total_page_count % 8, allocated_extent_page_count + unallocated_extent_page_count - total_page_count, CASE WHEN allocated_extent_page_count >= user_object_reserved_page_count AND user_object_reserved_page_count >= 104 THEN 'enough' END FROM sys.dm_db_file_space_usage
----
0 | 0 | enough

SELECT name, type_desc, data_space_id FROM sys.filegroups
----
PRIMARY | ROWS_FILEGROUP | 1
