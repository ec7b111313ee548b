CREATE TABLE dbo.parent (id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(20) NOT NULL CONSTRAINT uq_code UNIQUE);
CREATE TABLE dbo.child (parent_id int NOT NULL CONSTRAINT fk_child FOREIGN KEY REFERENCES parent (id), line smallint NOT NULL, v rowversion, note nvarchar(max), CONSTRAINT pk_child PRIMARY KEY (parent_id, line));
CREATE INDEX ix_line ON child (line DESC);
CREATE TABLE dbo.every (a int IDENTITY NOT NULL, b tinyint, c bit, d decimal(10,2) DEFAULT 1.5, e money, f float, g real, h date, i time(3), j datetime2(0), k datetimeoffset(7), l datetime, m smalldatetime, n char(5), o varchar(max), p nchar(5), q nvarchar(50), r varbinary(16), s uniqueidentifier, t xml, u sql_variant, w text, x bigint)
----

EXEC sp_pkeys 'child'
----
[TABLE_QUALIFIER nvarchar(128) null, TABLE_OWNER nvarchar(128) null, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128), KEY_SEQ smallint, PK_NAME nvarchar(128) null]
master | dbo | child | parent_id | 1 | pk_child
master | dbo | child | line | 2 | pk_child

EXEC sp_pkeys @table_name = N'CHILD', @table_owner = N'dbo', @table_qualifier = N'master'
----
master | dbo | child | parent_id | 1 | pk_child
master | dbo | child | line | 2 | pk_child

EXEC sp_pkeys 'child', 'dbo', 'tempdb'
----
error 15250

EXEC sp_pkeys
----
error 201: Procedure or function 'sp_pkeys' expects parameter '@table_name', which was not supplied.

EXEC sp_pkeys 'child', @nosuch = 1
----
error 8145: @nosuch is not a parameter for procedure sp_pkeys.

EXEC sp_pkeys 'a', 'b', 'c', 'd'
----
error 8144: Procedure or function sp_pkeys has too many arguments specified.

EXEC sp_fkeys 'parent'
----
[PKTABLE_QUALIFIER nvarchar(128) null, PKTABLE_OWNER nvarchar(128) null, PKTABLE_NAME nvarchar(128), PKCOLUMN_NAME nvarchar(128), FKTABLE_QUALIFIER nvarchar(128) null, FKTABLE_OWNER nvarchar(128) null, FKTABLE_NAME nvarchar(128), FKCOLUMN_NAME nvarchar(128), KEY_SEQ smallint, UPDATE_RULE smallint null, DELETE_RULE smallint null, FK_NAME nvarchar(128) null, PK_NAME nvarchar(128) null, DEFERRABILITY smallint null]
master | dbo | parent | id | master | dbo | child | parent_id | 1 | 1 | 1 | fk_child | pk_parent | 7

EXEC sp_fkeys NULL, NULL, NULL, 'child', NULL, NULL
----
master | dbo | parent | id | master | dbo | child | parent_id | 1 | 1 | 1 | fk_child | pk_parent | 7

EXEC sp_fkeys
----
error 15252: The primary or foreign key table name must be given.

EXEC sp_statistics_100 'child', NULL, NULL, '%', 'N', 'Q'
----
[TABLE_QUALIFIER nvarchar(128) null, TABLE_OWNER nvarchar(128) null, TABLE_NAME nvarchar(128), NON_UNIQUE smallint null, INDEX_QUALIFIER nvarchar(128) null, INDEX_NAME nvarchar(128) null, TYPE smallint, SEQ_IN_INDEX smallint null, COLUMN_NAME nvarchar(128) null, COLLATION char(1) null, CARDINALITY int null, PAGES int null, FILTER_CONDITION varchar(128) null]
master | dbo | child | NULL | NULL | NULL | 0 | NULL | NULL | NULL | 0 | NULL | NULL
master | dbo | child | 0 | child | pk_child | 1 | 1 | parent_id | A | 0 | NULL | NULL
master | dbo | child | 0 | child | pk_child | 1 | 2 | line | A | 0 | NULL | NULL
master | dbo | child | 1 | child | ix_line | 3 | 1 | line | D | NULL | NULL | NULL

EXEC sp_statistics 'child', @is_unique = 'Y'
----
master | dbo | child | NULL | NULL | NULL | 0 | NULL | NULL | NULL | 0 | NULL | NULL
master | dbo | child | 0 | child | pk_child | 1 | 1 | parent_id | A | 0 | NULL | NULL
master | dbo | child | 0 | child | pk_child | 1 | 2 | line | A | 0 | NULL | NULL

EXEC sp_special_columns_100 'parent', NULL, NULL, 'R', 'T', 'U', @ODBCVer = 3
----
[SCOPE smallint null, COLUMN_NAME nvarchar(128), DATA_TYPE smallint, TYPE_NAME nvarchar(128), PRECISION int null, LENGTH int null, SCALE smallint null, PSEUDO_COLUMN smallint null]
1 | id | 4 | int | 10 | 4 | 0 | 1

EXEC sp_special_columns_100 'child', NULL, NULL, 'V', 'T', 'U', @ODBCVer = 3
----
NULL | v | -2 | timestamp | 8 | 8 | NULL | 1

EXEC [sys].sp_tables N'par%', N'%', NULL, N'''TABLE''', @fUsePattern = 1
----
[TABLE_QUALIFIER nvarchar(128) null, TABLE_OWNER nvarchar(128) null, TABLE_NAME nvarchar(128) null, TABLE_TYPE varchar(32) null, REMARKS varchar(254) null]
master | dbo | parent | TABLE | NULL

EXEC [sys].sp_tableswc N'%', N'dbo', N'%', NULL, @fUsePattern = 1
----
master | dbo | child | TABLE | NULL
master | dbo | every | TABLE | NULL
master | dbo | parent | TABLE | NULL

EXEC sp_tables '', '', '%'
----
master | NULL | NULL | NULL | NULL
tempdb | NULL | NULL | NULL | NULL
model | NULL | NULL | NULL | NULL
msdb | NULL | NULL | NULL | NULL

EXEC sp_tables ' ', ' ', ' ', '%'
----
NULL | NULL | NULL | SYSTEM TABLE | NULL
NULL | NULL | NULL | TABLE | NULL
NULL | NULL | NULL | VIEW | NULL

EXEC sp_tables '', '%', ''
----
NULL | dbo | NULL | NULL | NULL
NULL | guest | NULL | NULL | NULL
NULL | INFORMATION_SCHEMA | NULL | NULL | NULL
NULL | sys | NULL | NULL | NULL

EXEC sp_tables 'par_nt', @fUsePattern = 0
----

EXEC sp_tables 'tables', 'sys', NULL, '''VIEW'''
----
master | sys | tables | VIEW | NULL

EXEC sp_columns_100 N'child', N'dbo', NULL, NULL, @ODBCVer = 3
----
[TABLE_QUALIFIER nvarchar(128) null, TABLE_OWNER nvarchar(128) null, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128) null, DATA_TYPE smallint, TYPE_NAME nvarchar(128) null, PRECISION int null, LENGTH int null, SCALE smallint null, RADIX smallint null, NULLABLE smallint null, REMARKS varchar(254) null, COLUMN_DEF nvarchar(4000) null, SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint null, CHAR_OCTET_LENGTH int null, ORDINAL_POSITION int, IS_NULLABLE varchar(254) null, SS_IS_SPARSE smallint null, SS_IS_COLUMN_SET smallint null, SS_IS_COMPUTED smallint null, SS_IS_IDENTITY smallint null, SS_UDT_CATALOG_NAME nvarchar(128) null, SS_UDT_SCHEMA_NAME nvarchar(128) null, SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(max) null, SS_XML_SCHEMACOLLECTION_CATALOG_NAME nvarchar(128) null, SS_XML_SCHEMACOLLECTION_SCHEMA_NAME nvarchar(128) null, SS_XML_SCHEMACOLLECTION_NAME nvarchar(128) null, SS_DATA_TYPE tinyint null]
master | dbo | child | parent_id | 4 | int | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 1 | NO | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 56
master | dbo | child | line | 5 | smallint | 5 | 2 | 0 | 10 | 0 | NULL | NULL | 5 | NULL | NULL | 2 | NO | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 52
master | dbo | child | v | -2 | timestamp | 8 | 8 | NULL | NULL | 0 | NULL | NULL | -2 | NULL | 8 | 3 | NO | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 45
master | dbo | child | note | -9 | nvarchar | 0 | 0 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 0 | 4 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 39

EXEC sp_columns_100 'every', @ODBCVer = 3, @column_name = '[a-g]'
----
master | dbo | every | a | 4 | int identity | 10 | 4 | 0 | 10 | 0 | NULL | NULL | 4 | NULL | NULL | 1 | NO | 0 | 0 | 0 | 1 | NULL | NULL | NULL | NULL | NULL | NULL | 56
master | dbo | every | b | -6 | tinyint | 3 | 1 | 0 | 10 | 1 | NULL | NULL | -6 | NULL | NULL | 2 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 38
master | dbo | every | c | -7 | bit | 1 | 1 | NULL | NULL | 1 | NULL | NULL | -7 | NULL | NULL | 3 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 50
master | dbo | every | d | 3 | decimal | 10 | 12 | 2 | 10 | 1 | NULL | ((1.5)) | 3 | NULL | NULL | 4 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 106
master | dbo | every | e | 3 | money | 19 | 21 | 4 | 10 | 1 | NULL | NULL | 3 | NULL | NULL | 5 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 110
master | dbo | every | f | 6 | float | 53 | 8 | NULL | 2 | 1 | NULL | NULL | 6 | NULL | NULL | 6 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 109
master | dbo | every | g | 7 | real | 24 | 4 | NULL | 2 | 1 | NULL | NULL | 7 | NULL | NULL | 7 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 109

EXEC sp_columns 'every', NULL, NULL, '[f-q]'
----
master | dbo | every | f | 6 | float | 15 | 8 | NULL | 10 | 1 | NULL | NULL | 6 | NULL | NULL | 6 | YES | 109
master | dbo | every | g | 7 | real | 7 | 4 | NULL | 10 | 1 | NULL | NULL | 7 | NULL | NULL | 7 | YES | 109
master | dbo | every | h | -9 | date | 10 | 20 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 20 | 8 | YES | 0
master | dbo | every | i | -9 | time | 12 | 24 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 24 | 9 | YES | 0
master | dbo | every | j | -9 | datetime2 | 19 | 38 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 38 | 10 | YES | 0
master | dbo | every | k | -9 | datetimeoffset | 34 | 68 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 68 | 11 | YES | 0
master | dbo | every | l | 11 | datetime | 23 | 16 | 3 | NULL | 1 | NULL | NULL | 9 | 3 | NULL | 12 | YES | 111
master | dbo | every | m | 11 | smalldatetime | 16 | 16 | 0 | NULL | 1 | NULL | NULL | 9 | 3 | NULL | 13 | YES | 111
master | dbo | every | n | 1 | char | 5 | 5 | NULL | NULL | 1 | NULL | NULL | 1 | NULL | 5 | 14 | YES | 39
master | dbo | every | o | -1 | varchar | 2147483647 | 2147483647 | NULL | NULL | 1 | NULL | NULL | -1 | NULL | 2147483647 | 15 | YES | 39
master | dbo | every | p | -8 | nchar | 5 | 10 | NULL | NULL | 1 | NULL | NULL | -8 | NULL | 10 | 16 | YES | 39
master | dbo | every | q | -9 | nvarchar | 50 | 100 | NULL | NULL | 1 | NULL | NULL | -9 | NULL | 100 | 17 | YES | 39

EXEC sp_columns_100 'every', NULL, NULL, '[hijklorstuwx]', 2, 3
----
master | dbo | every | h | 91 | date | 10 | 6 | 0 | NULL | 1 | NULL | NULL | 9 | 1 | NULL | 8 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 0
master | dbo | every | i | -154 | time | 12 | 12 | 3 | NULL | 1 | NULL | NULL | -154 | 0 | NULL | 9 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 0
master | dbo | every | j | 93 | datetime2 | 19 | 16 | 0 | NULL | 1 | NULL | NULL | 9 | 3 | NULL | 10 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 0
master | dbo | every | k | -155 | datetimeoffset | 34 | 20 | 7 | NULL | 1 | NULL | NULL | -155 | 0 | NULL | 11 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 0
master | dbo | every | l | 93 | datetime | 23 | 16 | 3 | NULL | 1 | NULL | NULL | 9 | 3 | NULL | 12 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 111
master | dbo | every | o | 12 | varchar | 0 | 0 | NULL | NULL | 1 | NULL | NULL | 12 | NULL | 0 | 15 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 39
master | dbo | every | r | -3 | varbinary | 16 | 16 | NULL | NULL | 1 | NULL | NULL | -3 | NULL | 16 | 18 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 37
master | dbo | every | s | -11 | uniqueidentifier | 36 | 16 | NULL | NULL | 1 | NULL | NULL | -11 | NULL | NULL | 19 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 37
master | dbo | every | t | -152 | xml | 0 | 0 | NULL | NULL | 1 | NULL | NULL | -152 | NULL | 0 | 20 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 0
master | dbo | every | u | -150 | sql_variant | 8000 | 8000 | NULL | NULL | 1 | NULL | NULL | -150 | NULL | NULL | 21 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 39
master | dbo | every | w | -1 | text | 2147483647 | 2147483647 | NULL | NULL | 1 | NULL | NULL | -1 | NULL | 2147483647 | 22 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 35
master | dbo | every | x | -5 | bigint | 19 | 8 | 0 | 10 | 1 | NULL | NULL | -5 | NULL | NULL | 23 | YES | 0 | 0 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | 108

EXEC sp_datatype_info_100 12, @ODBCVer = 4
----
[TYPE_NAME nvarchar(128), DATA_TYPE smallint, PRECISION int null, LITERAL_PREFIX varchar(32) null, LITERAL_SUFFIX varchar(32) null, CREATE_PARAMS varchar(32) null, NULLABLE smallint, CASE_SENSITIVE smallint, SEARCHABLE smallint, UNSIGNED_ATTRIBUTE smallint null, MONEY smallint, AUTO_INCREMENT smallint null, LOCAL_TYPE_NAME nvarchar(128) null, MINIMUM_SCALE smallint null, MAXIMUM_SCALE smallint null, SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint null, NUM_PREC_RADIX int null, INTERVAL_PRECISION smallint null, USERTYPE smallint]
varchar | 12 | 8000 | ' | ' | max length | 1 | 0 | 3 | NULL | 0 | NULL | varchar | NULL | NULL | 12 | NULL | NULL | NULL | 2

EXEC sp_datatype_info_100 @data_type = 93, @ODBCVer = 3
----
datetime2 | 93 | 27 | ' | ' | scale | 1 | 0 | 3 | NULL | 0 | NULL | datetime2 | 0 | 7 | 9 | 3 | NULL | NULL | 0
datetime | 93 | 23 | ' | ' | NULL | 1 | 0 | 3 | NULL | 0 | NULL | datetime | 3 | 3 | 9 | 3 | NULL | NULL | 12
smalldatetime | 93 | 16 | ' | ' | NULL | 1 | 0 | 3 | NULL | 0 | NULL | smalldatetime | 0 | 0 | 9 | 3 | NULL | NULL | 22

EXEC sp_datatype_info_100 -9, 3
----
nvarchar | -9 | 4000 | N' | ' | max length | 1 | 0 | 3 | NULL | 0 | NULL | nvarchar | NULL | NULL | -9 | NULL | NULL | NULL | 0
sysname | -9 | 128 | N' | ' | NULL | 0 | 0 | 3 | NULL | 0 | NULL | sysname | NULL | NULL | -9 | NULL | NULL | NULL | 18

EXEC sp_datatype_info_100 4
----
int | 4 | 10 | NULL | NULL | NULL | 1 | 0 | 2 | 0 | 0 | 0 | int | 0 | 0 | 4 | NULL | 10 | NULL | 7
int identity | 4 | 10 | NULL | NULL | NULL | 0 | 0 | 2 | 0 | 0 | 1 | int identity | 0 | 0 | 4 | NULL | 10 | NULL | 7

EXEC sp_datatype_info_100 3
----
decimal | 3 | 38 | NULL | NULL | precision,scale | 1 | 0 | 2 | 0 | 0 | 0 | decimal | 0 | 38 | 3 | NULL | 10 | NULL | 24
money | 3 | 19 | $ | NULL | NULL | 1 | 0 | 2 | 0 | 1 | 0 | money | 4 | 4 | 3 | NULL | 10 | NULL | 11
smallmoney | 3 | 10 | $ | NULL | NULL | 1 | 0 | 2 | 0 | 1 | 0 | smallmoney | 4 | 4 | 3 | NULL | 10 | NULL | 21
decimal() identity | 3 | 38 | NULL | NULL | precision | 0 | 0 | 2 | 0 | 0 | 1 | decimal() identity | 0 | 0 | 3 | NULL | 10 | NULL | 24

EXEC sp_table_privileges 'parent'
----
master | dbo | parent | dbo | dbo | DELETE | YES
master | dbo | parent | dbo | dbo | INSERT | YES
master | dbo | parent | dbo | dbo | REFERENCES | YES
master | dbo | parent | dbo | dbo | SELECT | YES
master | dbo | parent | dbo | dbo | UPDATE | YES

EXEC sp_column_privileges 'parent', 'dbo', NULL, 'id'
----
[TABLE_QUALIFIER nvarchar(128) null, TABLE_OWNER nvarchar(128) null, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128), GRANTOR nvarchar(128) null, GRANTEE nvarchar(128) null, PRIVILEGE varchar(32), IS_GRANTABLE varchar(3) null]
master | dbo | parent | id | dbo | dbo | INSERT | YES
master | dbo | parent | id | dbo | dbo | REFERENCES | YES
master | dbo | parent | id | dbo | dbo | SELECT | YES
master | dbo | parent | id | dbo | dbo | UPDATE | YES

EXEC sp_stored_procedures N'sp_pk%', N'%', NULL, @fUsePattern = 1
----
[PROCEDURE_QUALIFIER nvarchar(128) null, PROCEDURE_OWNER nvarchar(128) null, PROCEDURE_NAME nvarchar(134), NUM_INPUT_PARAMS int null, NUM_OUTPUT_PARAMS int null, NUM_RESULT_SETS int null, REMARKS varchar(254) null, PROCEDURE_TYPE smallint null]
master | sys | sp_pkeys;1 | -1 | -1 | -1 | NULL | 2

EXEC sp_sproc_columns_100 N'nosuch', N'%', NULL, N'%', @ODBCVer = 3, @fUsePattern = 1
----

EXEC sp_server_info 101
----
101 | QUALIFIER_TERM | database

EXEC sp_databases
----
master | NULL | NULL
model | NULL | NULL
msdb | NULL | NULL
tempdb | NULL | NULL

EXEC sp_nosuch 1
----
error 2812: Could not find stored procedure 'sp_nosuch'.

EXEC sp_describe_undeclared_parameters N'insert into every (d, q, k) values (@P1, @P2, @P3)'
----
[parameter_ordinal int, name nvarchar(128), suggested_system_type_id int, suggested_system_type_name nvarchar(256) null, suggested_max_length smallint, suggested_precision tinyint, suggested_scale tinyint, suggested_user_type_id int null, suggested_user_type_database nvarchar(128) null, suggested_user_type_schema nvarchar(128) null, suggested_user_type_name nvarchar(128) null, suggested_assembly_qualified_type_name nvarchar(4000) null, suggested_xml_collection_id int null, suggested_xml_collection_database nvarchar(128) null, suggested_xml_collection_schema nvarchar(128) null, suggested_xml_collection_name nvarchar(128) null, suggested_is_xml_document bit, suggested_is_case_sensitive bit, suggested_is_fixed_length_clr_type bit, suggested_is_input bit, suggested_is_output bit, formal_parameter_name nvarchar(128) null, suggested_tds_type_id int, suggested_tds_length int]
1 | @P1 | 106 | decimal(10,2) | 9 | 10 | 2 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 106 | 17
2 | @P2 | 231 | nvarchar(50) | 100 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 231 | 100
3 | @P3 | 43 | datetimeoffset(7) | 10 | 34 | 7 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 43 | 10

EXEC sp_describe_undeclared_parameters N'UPDATE e SET q = @a, b = b + @b FROM every AS e JOIN parent p ON p.id = e.a AND p.code = @c WHERE e.h BETWEEN @d AND @e AND e.s IN (@f) AND e.n LIKE @g'
----
1 | @a | 231 | nvarchar(50) | 100 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 231 | 100
2 | @b | 48 | tinyint | 1 | 3 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 38 | 1
3 | @c | 167 | varchar(20) | 20 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 167 | 20
4 | @d | 40 | date | 3 | 10 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 40 | 3
5 | @e | 40 | date | 3 | 10 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 40 | 3
6 | @f | 36 | uniqueidentifier | 16 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 36 | 16
7 | @g | 167 | varchar(8000) | 8000 | 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 167 | 8000

EXEC sp_describe_undeclared_parameters N'SELECT TOP (@n) * FROM child WHERE line = @x AND parent_id = @known', N'@known int'
----
1 | @n | 127 | bigint | 8 | 19 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 38 | 8
2 | @x | 52 | smallint | 2 | 5 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | 0 | 0 | 0 | 1 | 0 | NULL | 38 | 2

EXEC sp_describe_undeclared_parameters N'SELECT * FROM parent WHERE id = @a OR id + 1 = @a'
----
error 11508: The undeclared parameter '@a' is used more than once in the batch being analyzed.

EXEC sp_describe_undeclared_parameters N'SELECT * FROM parent WHERE @a = @b'
----
error 11503: The parameter type cannot be deduced because a single expression contains two untyped parameters, '@a' and '@b'.

CREATE TABLE described (id int NOT NULL, name varchar(20), amount decimal(9, 2))
----

SELECT column_ordinal, name, is_nullable, system_type_name, max_length, precision, scale, error_number
FROM sys.dm_exec_describe_first_result_set(N'SELECT id, name, amount FROM described WHERE id = @p', N'@p int', 0)
----
1 | id | 0 | int | 4 | 10 | 0 | NULL
2 | name | 1 | varchar(20) | 20 | 0 | 0 | NULL
3 | amount | 1 | decimal(9,2) | 5 | 9 | 2 | NULL

DECLARE @body nvarchar(max) = N'SELECT nothing FROM missing'
SELECT is_hidden, name, error_number, error_severity, error_state, error_message, error_type, error_type_desc
FROM sys.dm_exec_describe_first_result_set(@body, NULL, 0)
----
NULL | NULL | 208 | 16 | 1 | Invalid object name 'missing'. | 13 | OBJECT_DOES_NOT_EXIST

SELECT error_number, error_type_desc FROM sys.dm_exec_describe_first_result_set(N'SELECT FROM', NULL, 0)
SELECT COUNT(*) FROM sys.dm_exec_describe_first_result_set(N'DECLARE @n int = 1', NULL, 0)
SELECT source_table, source_column FROM sys.dm_exec_describe_first_result_set(N'SELECT id FROM described', NULL, 1)
----
156 | SYNTAX
0
described | id

SELECT * FROM dm_exec_describe_first_result_set(N'SELECT 1', NULL, 0)
----
error 208

CREATE VIEW shown AS SELECT id, name FROM described
----

SELECT COUNT(*) FROM (
  SELECT column_ordinal, name, system_type_id, max_length, collation_name
  FROM sys.dm_exec_describe_first_result_set(N'SELECT id, name FROM described', NULL, 0) WHERE is_hidden = 0 OR error_number IS NOT NULL
) AS a FULL OUTER JOIN (
  SELECT ROW_NUMBER() OVER (ORDER BY column_id) AS column_ordinal, name, system_type_id, max_length, collation_name
  FROM sys.columns WHERE object_id = OBJECT_ID('shown')
) AS b ON a.column_ordinal = b.column_ordinal AND a.name COLLATE DATABASE_DEFAULT = b.name COLLATE DATABASE_DEFAULT
  AND a.system_type_id = b.system_type_id AND a.max_length = b.max_length
  AND ISNULL(a.collation_name, '') = ISNULL(b.collation_name, '')
WHERE a.name IS NULL OR b.name IS NULL
----
0

GRANT SELECT ON described TO public
SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLE_PRIVILEGES WHERE TABLE_NAME = 'described'
----
0
