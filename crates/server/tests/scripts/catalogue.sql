CREATE TABLE dbo.Item (id int IDENTITY(1,1) NOT NULL CONSTRAINT pk_item PRIMARY KEY, name nvarchar(50) COLLATE Latin1_General_BIN2 NOT NULL, price decimal(10,2) NULL CONSTRAINT df_price DEFAULT (1.5), made datetime2(3), twice AS price * 2, CONSTRAINT ck CHECK (price > 0), CONSTRAINT uq UNIQUE (name)); CREATE INDEX ix_made ON Item (made DESC) INCLUDE (price)
----

SELECT name, type, type_desc FROM sys.tables
----
[name nvarchar(128), type char(2) null, type_desc nvarchar(60) null]
Item | U  | USER_TABLE

SELECT OBJECT_NAME(OBJECT_ID('dbo.item')), OBJECT_ID('nosuch'), OBJECT_ID('[dbo].[Item]', 'U') - OBJECT_ID(N'Item')
----
Item | NULL | 0

SELECT name, column_id, TYPE_NAME(system_type_id), max_length, precision, scale, collation_name, is_nullable, is_identity, is_computed FROM sys.columns WHERE object_id = OBJECT_ID('Item') ORDER BY column_id
----
id | 1 | int | 4 | 10 | 0 | NULL | 0 | 1 | 0
name | 2 | nvarchar | 100 | 0 | 0 | Latin1_General_BIN2 | 0 | 0 | 0
price | 3 | decimal | 9 | 10 | 2 | NULL | 1 | 0 | 0
made | 4 | datetime2 | 7 | 23 | 3 | NULL | 1 | 0 | 0
twice | 5 | numeric | 9 | 12 | 2 | NULL | 1 | 0 | 1

SELECT name, encryption_type, encryption_type_desc, encryption_algorithm_name, column_encryption_key_id, column_encryption_key_database_name FROM sys.columns WHERE object_id = OBJECT_ID('Item') AND column_id = 1
----
[name nvarchar(128) null, encryption_type int null, encryption_type_desc nvarchar(64) null, encryption_algorithm_name nvarchar(128) null, column_encryption_key_id int null, column_encryption_key_database_name nvarchar(128) null]
id | NULL | NULL | NULL | NULL | NULL

SELECT (SELECT COUNT(*) FROM sys.column_encryption_keys) AS keys, (SELECT COUNT(*) FROM sys.column_master_keys) AS masters, (SELECT COUNT(*) FROM sys.column_encryption_key_values) AS key_values
----
0 | 0 | 0

SELECT c.name, k.name FROM sys.columns AS c JOIN sys.column_encryption_keys AS k ON k.column_encryption_key_id = c.column_encryption_key_id
----
[name nvarchar(128) null, name nvarchar(128)]

SELECT m.allow_enclave_computations, m.signature FROM sys.column_master_keys AS m JOIN sys.column_encryption_key_values AS v ON v.column_master_key_id = m.column_master_key_id WHERE v.encrypted_value IS NOT NULL
----

SELECT name, index_id, type_desc, is_unique, is_primary_key, is_unique_constraint FROM sys.indexes WHERE object_id = OBJECT_ID('Item') ORDER BY index_id
----
pk_item | 1 | CLUSTERED | 1 | 1 | 0
uq | 2 | NONCLUSTERED | 1 | 0 | 1
ix_made | 3 | NONCLUSTERED | 0 | 0 | 0

SELECT i.name, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column FROM sys.index_columns ic JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id JOIN sys.indexes i ON i.object_id = ic.object_id AND i.index_id = ic.index_id ORDER BY ic.index_id, ic.index_column_id
----
pk_item | id | 1 | 0 | 0
uq | name | 1 | 0 | 0
ix_made | made | 1 | 1 | 0
ix_made | price | 0 | 0 | 1

SELECT name, type FROM sys.objects WHERE parent_object_id = OBJECT_ID('Item') ORDER BY name
----
ck | C
df_price | D
pk_item | PK
uq | UQ

SELECT name, definition, is_not_trusted FROM sys.check_constraints
----
ck | ([price]>(0)) | 0

SELECT name, definition FROM sys.default_constraints
----
df_price | ((1.5))

-- However it was written: one pair of parentheses, and two around a number.
CREATE TABLE shown (a int DEFAULT 1, b int DEFAULT ((-2)), c varchar(9) DEFAULT ('(x)'), d datetime DEFAULT (getdate()), e int DEFAULT (1) + (2)); SELECT REPLACE(definition, ' ', '') FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('shown') ORDER BY parent_column_id; DROP TABLE shown
----
((1))
((-2))
('(x)')
(getdate())
((1)+(2))

SELECT name, seed_value, increment_value, last_value FROM sys.identity_columns
----
id | 1 | 1 | NULL

SELECT name FROM sys.computed_columns
----
twice

INSERT Item (name) VALUES (N'a'), (N'A'); SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('Item') AND index_id IN (0, 1)
----
2

SELECT IDENT_CURRENT('Item'), COL_LENGTH('Item', 'name'), COLUMNPROPERTY(OBJECT_ID('Item'), 'id', 'IsIdentity'), OBJECTPROPERTY(OBJECT_ID('Item'), 'TableHasIdentity')
----
2 | 100 | 1 | 1

SELECT name FROM Item WHERE name = N'A'
----
A

SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES
----
dbo | Item | BASE TABLE

SELECT COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'item' ORDER BY ORDINAL_POSITION
----
id | 1 | NO | int | NULL | 10 | 0 | NULL
name | 2 | NO | nvarchar | 50 | NULL | NULL | NULL
price | 3 | YES | decimal | NULL | 10 | 2 | NULL
made | 4 | YES | datetime2 | NULL | NULL | NULL | 3
twice | 5 | YES | numeric | NULL | 12 | 2 | NULL

SELECT name, database_id FROM sys.databases ORDER BY database_id
----
master | 1
tempdb | 2
model | 3
msdb | 4

SELECT name, schema_id FROM sys.schemas ORDER BY schema_id
----
dbo | 1
guest | 2
INFORMATION_SCHEMA | 3
sys | 4
db_owner | 16384
db_accessadmin | 16385
db_securityadmin | 16386
db_ddladmin | 16387
db_backupoperator | 16389
db_datareader | 16390
db_datawriter | 16391
db_denydatareader | 16392
db_denydatawriter | 16393

SELECT name, system_type_id, user_type_id FROM sys.types WHERE name IN ('int', 'sysname', 'datetime2') ORDER BY name
----
datetime2 | 42 | 42
int | 56 | 56
sysname | 231 | 256

SELECT COUNT(*) FROM sys.triggers
----
0

SELECT SCHEMA_NAME(schema_id) FROM sys.tables
----
dbo

EXEC sp_tablecollations_100 N'[dbo].[Item]'
----
[colid int null, name nvarchar(128) null, tds_collation binary(5) null, collation nvarchar(128) null]
1 | id | NULL | NULL
2 | name | 0x0904000200 | Latin1_General_BIN2
3 | price | NULL | NULL
4 | made | NULL | NULL
5 | twice | NULL | NULL

EXEC sp_pkeys 'Item'
----
master | dbo | Item | id | 1 | pk_item

SELECT s.name AS schema_name, o.name AS table_name, o.type AS object_type FROM [master].sys.objects AS o JOIN [master].sys.schemas AS s ON s.schema_id = o.schema_id WHERE o.object_id = OBJECT_ID(N'[master]..[Item]')
----
dbo | Item | U

SELECT c.column_id, c.name, t.name AS type_name, c.is_nullable, c.is_identity, c.is_computed, c.collation_name, c.default_object_id * 0 AS z FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID(N'[dbo].[Item]') ORDER BY c.column_id
----
1 | id | int | 0 | 1 | 0 | NULL | 0
2 | name | nvarchar | 0 | 0 | 0 | Latin1_General_BIN2 | 0
3 | price | decimal | 1 | 0 | 0 | NULL | 0
4 | made | datetime2 | 1 | 0 | 0 | NULL | 0
5 | twice | numeric | 1 | 0 | 1 | NULL | 0

SELECT index_id, name, type, is_unique, is_primary_key, is_unique_constraint, is_disabled, ignore_dup_key FROM sys.indexes WHERE object_id = OBJECT_ID(N'[dbo].[Item]') ORDER BY index_id
----
1 | pk_item | 1 | 1 | 1 | 0 | 0 | 0
2 | uq | 2 | 1 | 0 | 1 | 0 | 0
3 | ix_made | 2 | 0 | 0 | 0 | 0 | 0

SELECT index_id, partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID(N'Item') AND index_id IN (0, 1, 5)
----
1 | 1 | 2

SELECT name, recovery_model, collation_name, compatibility_level FROM sys.databases WHERE name = DB_NAME()
----
master | 3 | SQL_Latin1_General_CP1_CI_AS | 160

SELECT CONVERT(binary(5), COLLATIONPROPERTY('SQL_Latin1_General_CP1_CI_AS', 'tdscollation')), COLLATIONPROPERTY('Latin1_General_BIN2', 'CodePage'), HAS_PERMS_BY_NAME('Item', 'OBJECT', 'INSERT'), DATABASEPROPERTYEX('master', 'Collation')
----
0x0904D00034 | 1252 | 1 | SQL_Latin1_General_CP1_CI_AS
