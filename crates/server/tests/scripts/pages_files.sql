ALTER DATABASE CURRENT ADD FILEGROUP archive; SELECT name, data_space_id, is_default FROM sys.filegroups ORDER BY data_space_id
----
PRIMARY | 1 | 1
archive | 2 | 0

-- Without files it holds nothing, and cannot be the default.
ALTER DATABASE CURRENT MODIFY FILEGROUP archive DEFAULT
----
error 622
error 5069

ALTER DATABASE CURRENT ADD FILEGROUP ARCHIVE
----
error 5035
error 5069

ALTER DATABASE CURRENT ADD FILE (NAME = old_rows, FILENAME = 'D:\old.ndf', SIZE = 5MB, MAXSIZE = 20 MB, FILEGROWTH = 10%), (NAME = more_rows, SIZE = 2048 KB, FILEGROWTH = 1024 KB) TO FILEGROUP archive
----
info: File 'old_rows' is kept in the database's folder as data-2.pages.

-- The log is number 2: the engine's second data file is SQL Server's third file. 5 MB are 640 pages, 20 MB 2,560.
SELECT file_id, data_space_id, name, physical_name, size, max_size, growth, is_percent_growth FROM sys.database_files WHERE file_id > 2 ORDER BY file_id
----
3 | 2 | old_rows | data-2.pages | 640 | 2560 | 10 | 1
4 | 2 | more_rows | data-3.pages | 256 | -1 | 128 | 0

ALTER DATABASE CURRENT ADD FILE (NAME = old_rows)
----
error 1828
error 5069

ALTER DATABASE CURRENT ADD FILE (NAME = x) TO FILEGROUP nosuch
----
error 1921
error 5069

ALTER DATABASE CURRENT MODIFY FILE (NAME = more_rows, MAXSIZE = 40MB, FILEGROWTH = 0); SELECT max_size, growth FROM sys.database_files WHERE name = 'more_rows'
----
5120 | 0

ALTER DATABASE CURRENT MODIFY FILE (NAME = nosuch, MAXSIZE = UNLIMITED)
----
error 5041
error 5069

ALTER DATABASE CURRENT MODIFY FILE (NAME = old_rows, SIZE = 10MB)
----
error 40515
error 5069

-- A table of 100 pages goes to the group that it names, half to each file; its large values to another.
CREATE TABLE dbo.wide (id int NOT NULL, filler char(96) NOT NULL) ON archive; INSERT dbo.wide SELECT value, 'x' FROM GENERATE_SERIES(1, 7400); CREATE TABLE dbo.mixed (id int NOT NULL PRIMARY KEY, body varchar(max)) ON [PRIMARY] TEXTIMAGE_ON archive; INSERT dbo.mixed VALUES (1, REPLICATE(CAST('a' AS varchar(max)), 20000))
----

SELECT OBJECT_NAME(p.object_id), u.type_desc, g.name FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id JOIN sys.filegroups g ON g.data_space_id = u.data_space_id WHERE u.used_pages > 0 ORDER BY 1, 2
----
mixed | IN_ROW_DATA | PRIMARY
mixed | LOB_DATA | archive
wide | IN_ROW_DATA | archive

SELECT name, data_space_id FROM sys.indexes WHERE object_id = OBJECT_ID('wide')
----
NULL | 2

-- 13 extents of one table and one of the other's values.
SELECT filegroup_id, SUM(user_object_reserved_page_count), COUNT(*) FROM sys.dm_db_file_space_usage WHERE filegroup_id = 2 GROUP BY filegroup_id
----
2 | 112 | 2

CREATE TABLE dbo.nowhere (id int) ON nosuch
----
error 1921

-- An index is where it says, its table where the clustered key says. TEXTIMAGE_ON wants large values.
CREATE TABLE dbo.placed (id int NOT NULL CONSTRAINT pk_placed PRIMARY KEY CLUSTERED ON archive, a int NULL CONSTRAINT uq_placed UNIQUE WITH (FILLFACTOR = 90) ON [PRIMARY], b int NULL, c int NULL) ON [PRIMARY]
INSERT dbo.placed VALUES (1, 1, 1, 1), (2, 2, 2, 2)
CREATE INDEX ix_beside ON dbo.placed (b)
CREATE INDEX ix_apart ON dbo.placed (c) INCLUDE (b) WITH (FILLFACTOR = 80) ON [PRIMARY]
CREATE INDEX ix_default ON dbo.placed (c, b) ON "default"
SELECT i.name, g.name FROM sys.indexes i JOIN sys.filegroups g ON g.data_space_id = i.data_space_id WHERE i.object_id = OBJECT_ID('placed') ORDER BY i.index_id
SELECT i.name, g.name FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id JOIN sys.filegroups g ON g.data_space_id = u.data_space_id WHERE u.used_pages > 0 AND p.object_id = OBJECT_ID('placed') ORDER BY i.index_id
SELECT id FROM dbo.placed WHERE c = 2
----
pk_placed | archive
uq_placed | PRIMARY
ix_beside | archive
ix_apart | PRIMARY
ix_default | PRIMARY
pk_placed | archive
uq_placed | PRIMARY
ix_beside | archive
ix_apart | PRIMARY
ix_default | PRIMARY
2

-- Made anew in another group; the clustered one takes the rows along, and leaves them there when it goes.
CREATE INDEX ix_apart ON dbo.placed (c) INCLUDE (b) WITH (DROP_EXISTING = ON) ON archive
CREATE TABLE dbo.moving (id int NOT NULL, a varchar(max) NULL) ON [PRIMARY]
INSERT dbo.moving VALUES (1, REPLICATE(CAST('a' AS varchar(max)), 20000))
CREATE INDEX ix_moving ON dbo.moving (id)
CREATE CLUSTERED INDEX cx_moving ON dbo.moving (id) ON archive
DROP INDEX cx_moving ON dbo.moving
SELECT OBJECT_NAME(i.object_id), i.name, g.name FROM sys.indexes i JOIN sys.filegroups g ON g.data_space_id = i.data_space_id WHERE i.object_id = OBJECT_ID('moving') OR i.name = 'ix_apart' ORDER BY i.object_id, i.index_id
SELECT u.type_desc, g.name FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id JOIN sys.filegroups g ON g.data_space_id = u.data_space_id WHERE u.type = 2 AND p.object_id = OBJECT_ID('moving')
----
placed | ix_apart | archive
moving | NULL | archive
moving | ix_moving | PRIMARY
LOB_DATA | PRIMARY

SELECT id, a INTO dbo.into_archive ON archive FROM dbo.placed
SELECT data_space_id FROM sys.indexes WHERE object_id = OBJECT_ID('into_archive')
SELECT id INTO dbo.into_nowhere ON nosuch FROM dbo.placed
----
affected 2
2
error 1921

CREATE INDEX ix_nowhere ON dbo.placed (a) ON nosuch
----
error 1921

CREATE TABLE dbo.plain (id int) TEXTIMAGE_ON archive
----
error 1709

DBCC CHECKDB WITH NO_INFOMSGS
----

-- A group that has files stays.
ALTER DATABASE CURRENT REMOVE FILEGROUP archive
----
error 5042
error 5069

ALTER DATABASE CURRENT ADD FILEGROUP empty; ALTER DATABASE CURRENT REMOVE FILEGROUP empty; SELECT COUNT(*) FROM sys.filegroups
----
2

-- What names no group goes to the default.
ALTER DATABASE CURRENT MODIFY FILEGROUP archive DEFAULT; CREATE TABLE dbo.later (id int); INSERT dbo.later VALUES (1); CREATE TABLE dbo.first_group (id int) ON [PRIMARY]; SELECT OBJECT_NAME(object_id), data_space_id FROM sys.indexes WHERE object_id IN (OBJECT_ID('later'), OBJECT_ID('first_group')) ORDER BY 1; ALTER DATABASE CURRENT MODIFY FILEGROUP [PRIMARY] DEFAULT
----
first_group | 1
later | 2

ALTER DATABASE CURRENT ADD LOG FILE (NAME = l2)
----
error 40515

ALTER DATABASE CURRENT REMOVE FILE more_rows
----
error 40515

CREATE TABLE dbo.filled (id int NOT NULL, CONSTRAINT pk_filled PRIMARY KEY CLUSTERED (id) WITH (FILLFACTOR = 70, PAD_INDEX = ON) ON [PRIMARY]); SELECT fill_factor, is_padded, is_disabled FROM sys.indexes WHERE name = 'pk_filled'
----
70 | 1 | 0
