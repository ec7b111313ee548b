CREATE SCHEMA sales
----

CREATE TABLE dbo.customer (id int IDENTITY(10,5) NOT NULL CONSTRAINT pk_customer PRIMARY KEY, code char(3) NOT NULL CONSTRAINT uq_customer UNIQUE, born date CONSTRAINT df_born DEFAULT GETDATE(), rating tinyint CONSTRAINT ck_rating CHECK (rating BETWEEN 1 AND 5), score AS rating * 2);
CREATE TABLE sales.orders (id bigint NOT NULL CONSTRAINT pk_orders PRIMARY KEY, customer_id int NOT NULL CONSTRAINT fk_orders_customer REFERENCES dbo.customer (id), note nvarchar(max) NULL);
CREATE UNIQUE INDEX ix_note ON sales.orders (customer_id) INCLUDE (note) WHERE customer_id > 0
----

SELECT s.name, t.name, t.object_id - OBJECT_ID(s.name + N'.' + t.name), t.temporal_type, t.is_memory_optimized, t.history_table_id FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id ORDER BY t.name
----
dbo | customer | 0 | 0 | 0 | NULL
sales | orders | 0 | 0 | 0 | NULL

SELECT definition, is_persisted FROM sys.computed_columns
----
[definition nvarchar(max) null, is_persisted bit]
([rating]*(2)) | 0

SELECT name, definition, COL_NAME(parent_object_id, parent_column_id) FROM sys.default_constraints
----
df_born | (getdate()) | born

SELECT name, definition, COL_NAME(parent_object_id, parent_column_id) FROM sys.check_constraints
----
ck_rating | ([rating]>=(1) AND [rating]<=(5)) | rating

SELECT name, column_id, seed_value, increment_value FROM sys.identity_columns
----
id | 1 | 10 | 5

SELECT fk.name, OBJECT_NAME(fk.parent_object_id), OBJECT_NAME(fk.referenced_object_id), fk.delete_referential_action_desc, COL_NAME(c.parent_object_id, c.parent_column_id), COL_NAME(c.referenced_object_id, c.referenced_column_id) FROM sys.foreign_keys fk JOIN sys.foreign_key_columns c ON c.constraint_object_id = fk.object_id
----
fk_orders_customer | orders | customer | NO_ACTION | customer_id | id

SELECT i.name, i.has_filter, i.filter_definition, ic.is_included_column, COL_NAME(ic.object_id, ic.column_id) FROM sys.indexes i JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id WHERE i.name = 'ix_note' ORDER BY ic.index_column_id
----
ix_note | 1 | ([customer_id]>(0)) | 0 | customer_id
ix_note | 1 | ([customer_id]>(0)) | 1 | note

SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('sales.orders') ORDER BY stats_id
----
pk_orders
ix_note

SELECT name FROM sys.system_views WHERE name IN ('dm_exec_sessions', 'dm_pdw_nodes_exec_sessions')
----
dm_exec_sessions

SELECT CASE transaction_isolation_level WHEN 0 THEN NULL WHEN 1 THEN 'READ UNCOMMITTED' WHEN 2 THEN 'READ COMMITTED' WHEN 3 THEN 'REPEATABLE READ' WHEN 4 THEN 'SERIALIZABLE' WHEN 5 THEN 'SNAPSHOT' END AS transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID
----
READ COMMITTED

SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID; SET TRANSACTION ISOLATION LEVEL READ COMMITTED
----
4

SELECT login_name, host_name, program_name FROM sys.dm_exec_sessions
----
sa | host | scripts

SELECT name, type, xtype, OBJECT_NAME(parent_obj) FROM sysobjects WHERE name LIKE '%customer' ORDER BY name
----
customer | U  | U  | NULL
fk_orders_customer | F  | F  | orders
pk_customer | K  | PK | customer
uq_customer | K  | UQ | customer

SELECT name, colid, isnullable, colstat, prec FROM syscolumns WHERE id = OBJECT_ID('customer') AND colid < 3
----
id | 1 | 0 | 1 | 10
code | 2 | 0 | 0 | 3

SELECT name, usertype, type FROM systypes WHERE name IN ('int', 'sysname', 'nvarchar') ORDER BY name
----
int | 7 | 56
nvarchar | 0 | 231
sysname | 18 | 231

SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_SCHEMA, UNIQUE_CONSTRAINT_NAME, MATCH_OPTION, UPDATE_RULE, DELETE_RULE FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS
----
[CONSTRAINT_NAME nvarchar(128), UNIQUE_CONSTRAINT_SCHEMA nvarchar(128) null, UNIQUE_CONSTRAINT_NAME nvarchar(128) null, MATCH_OPTION varchar(7) null, UPDATE_RULE varchar(11) null, DELETE_RULE varchar(11) null]
fk_orders_customer | dbo | pk_customer | SIMPLE | NO ACTION | NO ACTION

SELECT TABLE_NAME, CONSTRAINT_NAME, CONSTRAINT_TYPE FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS ORDER BY CONSTRAINT_NAME
----
customer | ck_rating | CHECK
orders | fk_orders_customer | FOREIGN KEY
customer | pk_customer | PRIMARY KEY
orders | pk_orders | PRIMARY KEY
customer | uq_customer | UNIQUE

SELECT CONSTRAINT_NAME, TABLE_SCHEMA, COLUMN_NAME, ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE WHERE TABLE_NAME = 'orders' ORDER BY CONSTRAINT_NAME
----
fk_orders_customer | sales | customer_id | 1
pk_orders | sales | id | 1

SELECT TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE WHERE CONSTRAINT_NAME IN ('ck_rating', 'fk_orders_customer') ORDER BY TABLE_NAME
----
customer | rating
orders | customer_id

SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS
----
ck_rating | ([rating]>=(1) AND [rating]<=(5))

SELECT COLUMN_NAME, COLUMN_DEFAULT FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_DEFAULT IS NOT NULL
----
born | (getdate())

SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY SCHEMA_NAME
----
db_accessadmin
db_backupoperator
db_datareader
db_datawriter
db_ddladmin
db_denydatareader
db_denydatawriter
db_owner
db_securityadmin
dbo
guest
INFORMATION_SCHEMA
sales
sys

SELECT COUNT(*) FROM sys.views UNION ALL SELECT COUNT(*) FROM sys.procedures UNION ALL SELECT COUNT(*) FROM sys.sequences UNION ALL SELECT COUNT(*) FROM sys.synonyms UNION ALL SELECT COUNT(*) FROM sys.extended_properties UNION ALL SELECT COUNT(*) FROM sys.parameters UNION ALL SELECT COUNT(*) FROM INFORMATION_SCHEMA.VIEWS
----
0
0
0
0
0
0
0

IF EXISTS (SELECT TOP 1 * FROM sys.all_columns WHERE [object_id] = OBJECT_ID('sys.all_columns') AND [name] = 'graph_type') SELECT 1 ELSE SELECT 0
----
1

SELECT name, type_desc FROM sys.database_principals WHERE type IN ('S', 'R') ORDER BY principal_id
----
public | DATABASE_ROLE
dbo | SQL_USER
guest | SQL_USER
INFORMATION_SCHEMA | SQL_USER
sys | SQL_USER
db_owner | DATABASE_ROLE
db_accessadmin | DATABASE_ROLE
db_securityadmin | DATABASE_ROLE
db_ddladmin | DATABASE_ROLE
db_backupoperator | DATABASE_ROLE
db_datareader | DATABASE_ROLE
db_datawriter | DATABASE_ROLE
db_denydatareader | DATABASE_ROLE
db_denydatawriter | DATABASE_ROLE

select maximum from sys.configurations where name = 'user connections'
----
32767

SELECT o.name FROM sys.all_objects o WHERE o.object_id = OBJECT_ID('sys.tables')
----
tables

SELECT * FROM sys.nosuch
----
error 208: Invalid object name 'sys.nosuch'.

SELECT * FROM nosuch_view
----
error 208: Invalid object name 'nosuch_view'.
