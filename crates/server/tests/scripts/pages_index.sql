-- Rows of 107 bytes and a slot. With a fill factor of 50 the estimate leaves floor(8096 * 0.5 / 109) = 37 of 74 rows out of each page:
-- 7,400 rows take 200 leaves. An upper entry has 1 + 4 + 6 bytes and a slot of 2: all 200 are in one page.
CREATE TABLE dbo.half (id int NOT NULL, filler char(96) NOT NULL); INSERT dbo.half SELECT value, 'x' FROM GENERATE_SERIES(1, 7400); CREATE UNIQUE CLUSTERED INDEX cx_half ON dbo.half (id) WITH (FILLFACTOR = 50)
----

SELECT index_id, index_type_desc, index_depth, index_level, page_count, record_count, min_record_size_in_bytes, ROUND(avg_page_space_used_in_percent, 2), forwarded_record_count, fragment_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('half'), 1, NULL, 'DETAILED') ORDER BY index_level
----
1 | CLUSTERED INDEX | 2 | 0 | 200 | 7400 | 107 | 49.81 | NULL | 1
1 | CLUSTERED INDEX | 2 | 1 | 1 | 200 | 11 | 32.11 | NULL | NULL

-- Upper levels are shown if all pages are looked at.
SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('half'), NULL, NULL, 'LIMITED')
----
1

-- Leaves are data; the root and the map are index.
SELECT in_row_data_page_count, in_row_used_page_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('half')
----
200 | 202

CREATE TABLE #used (name sysname, rows char(20), reserved varchar(18), data varchar(18), index_size varchar(18), unused varchar(18)); INSERT #used EXEC sp_spaceused 'half'; SELECT data, index_size FROM #used
----
1600 KB | 16 KB

-- An index entry of a heap: 1 + 4 fixed, 3 bitmap, 4 for the place of 8 bytes of address: 20 and a slot, 368 in a page.
CREATE TABLE dbo.heap (id int NOT NULL, filler char(96) NOT NULL); INSERT dbo.heap SELECT value, 'x' FROM GENERATE_SERIES(1, 7400); CREATE INDEX ix_heap ON dbo.heap (id)
----

SELECT i.name, s.index_type_desc, s.index_level, s.page_count, s.record_count, s.max_record_size_in_bytes FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('heap'), NULL, NULL, 'DETAILED') s JOIN sys.indexes i ON i.object_id = s.object_id AND i.index_id = s.index_id WHERE s.index_level = 0 ORDER BY s.index_id
----
NULL | HEAP | 0 | 100 | 7400 | 107
ix_heap | NONCLUSTERED INDEX | 0 | 21 | 7400 | 20

SELECT i.name, u.type_desc, u.data_pages FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id WHERE p.object_id = OBJECT_ID('heap') ORDER BY p.index_id
----
NULL | IN_ROW_DATA | 100
ix_heap | IN_ROW_DATA | 21

DBCC SHOWCONTIG ('heap', 'ix_heap') WITH TABLERESULTS, NO_INFOMSGS, FAST
----
heap | 581577113 | ix_heap | 2 | 0 | 21 | NULL | NULL | NULL | NULL | NULL | NULL | 2 | NULL | NULL | 100 | 3 | 3 | 0 | NULL

SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) WHERE AllocUnitName = 'dbo.heap.ix_heap' AND Context NOT IN ('LCX_INDEX_LEAF', 'LCX_INDEX_INTERIOR', 'LCX_IAM')
----
0

-- Compressed rows: 1 + 1 + 1 header, 2 bytes of id at most, 1 of 'x'; pages are compressed as a whole.
ALTER TABLE dbo.heap REBUILD WITH (DATA_COMPRESSION = PAGE); SELECT data_compression, data_compression_desc, index_id FROM sys.partitions WHERE object_id = OBJECT_ID('heap') ORDER BY index_id; SELECT CASE WHEN compressed_page_count BETWEEN 1 AND page_count AND page_count < 20 THEN 'compressed' END FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('heap'), 0, NULL, 'DETAILED')
----
2 | PAGE | 0
0 | NONE | 2
compressed

DBCC CHECKTABLE (heap) WITH NO_INFOMSGS; DBCC CHECKTABLE (half) WITH NO_INFOMSGS; DBCC CHECKDB WITH NO_INFOMSGS; DBCC CHECKALLOC
----
info: DBCC results for 'master'.
info: CHECKALLOC found 0 allocation errors and 0 consistency errors in database 'master'.
info: DBCC execution completed. If DBCC printed error messages, contact your system administrator.
