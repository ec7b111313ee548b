-- Each database has a recovery model of its own; a new one has that of model.
CREATE DATABASE sales; ALTER DATABASE sales SET RECOVERY FULL; ALTER DATABASE model SET RECOVERY BULK_LOGGED; CREATE DATABASE [Größe. \ "5"]; SELECT name, recovery_model_desc FROM sys.databases ORDER BY database_id
----
master | SIMPLE
tempdb | SIMPLE
model | BULK_LOGGED
msdb | SIMPLE
sales | FULL
Größe. \ "5" | BULK_LOGGED

ALTER DATABASE model SET RECOVERY SIMPLE; ALTER DATABASE [Größe. \ "5"] SET RECOVERY SIMPLE; SELECT DATABASEPROPERTYEX('sales', 'Recovery'), DATABASEPROPERTYEX('GRÖSSE. \ "5"', 'Recovery'), DATABASEPROPERTYEX('größe. \ "5"', 'Recovery')
----
FULL | NULL | SIMPLE

CREATE DATABASE SALES
----
error 1801: Database 'SALES' already exists. Choose a different database name.

-- Three-part names, joins and loads through several of them.
CREATE TABLE sales.dbo.orders (id int NOT NULL PRIMARY KEY, amount money NOT NULL); CREATE TABLE [Größe. \ "5"]..orders (id int NOT NULL); CREATE TABLE dbo.orders (id int); INSERT sales..orders SELECT value, value FROM GENERATE_SERIES(1, 1000); INSERT [größe. \ "5"].dbo.orders SELECT id FROM sales.dbo.orders WHERE id <= 10; INSERT dbo.orders SELECT g.id FROM [Größe. \ "5"]..orders g JOIN sales..orders s ON s.id = g.id + 5 WHERE s.amount > 12; SELECT COUNT(*), MIN(id) FROM dbo.orders
----
3 | 8

SELECT (SELECT COUNT(*) FROM sales.sys.tables), (SELECT COUNT(*) FROM [Größe. \ "5"].sys.tables), (SELECT COUNT(*) FROM msdb.sys.tables)
----
1 | 1 | 0

-- A transaction over three of them, committed, undone, and undone in part.
BEGIN TRANSACTION; DELETE sales..orders WHERE id > 5; UPDATE [Größe. \ "5"]..orders SET id = -id; INSERT dbo.orders VALUES (77); COMMIT; SELECT (SELECT COUNT(*) FROM sales..orders), (SELECT MIN(id) FROM [Größe. \ "5"]..orders), (SELECT MAX(id) FROM dbo.orders)
----
5 | -10 | 77

BEGIN TRANSACTION; DELETE sales..orders; SAVE TRANSACTION here; TRUNCATE TABLE [Größe. \ "5"]..orders; INSERT sales..orders VALUES (9, 9); CREATE TABLE msdb.dbo.made (id int); ROLLBACK TRANSACTION here; SELECT (SELECT COUNT(*) FROM sales..orders), (SELECT COUNT(*) FROM [Größe. \ "5"]..orders), OBJECT_ID('msdb.dbo.made'); ROLLBACK; SELECT COUNT(*) FROM sales..orders
----
0 | 10 | NULL
5

-- A statement that fails in one is undone in that one, and the transaction goes on.
BEGIN TRANSACTION; INSERT dbo.orders VALUES (78); INSERT sales..orders VALUES (6, 6), (1, 1); COMMIT; SELECT (SELECT COUNT(*) FROM sales..orders), (SELECT MAX(id) FROM dbo.orders)
----
error 2627
5 | 78

-- Only a database that is not SIMPLE can back its log up.
BEGIN TRY BACKUP LOG master TO DISK = 'NUL' END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
----
3013

-- Files, groups and space are those of the database that is asked.
ALTER DATABASE sales ADD FILEGROUP archive; ALTER DATABASE sales ADD FILE (NAME = old_orders, SIZE = 3MB) TO FILEGROUP archive; SELECT (SELECT COUNT(*) FROM sales.sys.filegroups), (SELECT COUNT(*) FROM sys.filegroups), (SELECT COUNT(*) FROM sys.master_files WHERE database_id = DB_ID('sales')), (SELECT COUNT(*) FROM sys.database_files)
----
2 | 1 | 3 | 2

CREATE TABLE dbo.misplaced (id int) ON archive
----
error 1921

-- 1,500 pages of rows are in sales alone: more than 11 MB.
USE sales; CREATE TABLE dbo.wide (id int NOT NULL, filler char(96) NOT NULL) ON archive; INSERT dbo.wide SELECT value, 'x' FROM GENERATE_SERIES(1, 111000); USE master; SELECT d.name FROM sys.master_files f JOIN sys.databases d ON d.database_id = f.database_id WHERE f.type = 0 GROUP BY d.name HAVING SUM(f.size) > 1500
----
sales

-- What the load has logged, each of the pages at least, is in the log of its database alone.
SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE AllocUnitName = 'dbo.wide'; USE sales; SELECT CASE WHEN COUNT(*) >= 1500 THEN 'all pages' END FROM fn_dblog(NULL, NULL) WHERE AllocUnitName = 'dbo.wide' AND Operation = 'LOP_FORMAT_PAGE'; USE master
----
0
all pages

SELECT DB_NAME(database_id), SUM(page_count) FROM sys.dm_db_index_physical_stats(NULL, NULL, NULL, NULL, 'LIMITED') WHERE page_count > 100 GROUP BY database_id
----
sales | 1500

SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(DB_ID('sales'), NULL)
----
3

DBCC CHECKDB (sales) WITH NO_INFOMSGS; DBCC CHECKDB WITH NO_INFOMSGS
----

-- A tier holds one database.
ALTER DATABASE sales MODIFY (SERVICE_OBJECTIVE = 'S2'); SELECT d.name, s.edition, s.service_objective FROM sys.database_service_objectives s JOIN sys.databases d ON d.database_id = s.database_id; SELECT DATABASEPROPERTYEX('sales', 'ServiceObjective'), DATABASEPROPERTYEX('master', 'ServiceObjective')
----
sales | Standard | S2
S2 | NULL

ALTER DATABASE sales MODIFY (SERVICE_OBJECTIVE = 'None'); SELECT COUNT(*) FROM sys.database_service_objectives
----
0

-- A lock says which database it is in.
BEGIN TRANSACTION; UPDATE sales..orders SET amount = 0 WHERE id = 1; INSERT dbo.orders VALUES (1); SELECT DISTINCT DB_NAME(resource_database_id) FROM sys.dm_tran_locks WHERE resource_type = 'OBJECT' AND request_session_id = @@SPID AND resource_associated_entity_id IN (OBJECT_ID('sales..orders'), OBJECT_ID('orders')) ORDER BY 1; ROLLBACK
----
master
sales

-- A database in use is not dropped; another goes with all that is in it, and its name is free.
BEGIN TRANSACTION; DROP DATABASE sales
----
error 574: DROP DATABASE statement cannot be used inside a user transaction.

ROLLBACK; USE sales; DROP DATABASE sales
----
error 3702: Cannot drop database "sales" because it is currently in use.

USE master; DROP DATABASE sales, [Größe. \ "5"]; SELECT name FROM sys.databases; SELECT COUNT(*) FROM sales..orders
----
master
tempdb
model
msdb
error 208

CREATE DATABASE Sales; SELECT COUNT(*) FROM sales.sys.tables; CREATE TABLE sales..orders (id int); SELECT COUNT(*) FROM Sales..orders; DROP DATABASE sales
----
0
0
